//! Which events a profile wants, and enabling what of it this kernel has.
//!
//! Sources: the availability and cost tables of our notes on the kernel's events; kernel/trace/trace_events_filter.c for
//! the two spellings of "this field is that function".

use netmortem_formats::bundle::{AbsentEvent, PlannedEvent};

use crate::error::RecordError;
use crate::instance::Instance;
use crate::options::Profile;

/// A group of wanted events.
struct Wanted {
    system: &'static str,
    /// Names known to exist on some kernel; those that are not on this one are reported absent.
    names: &'static [&'static str],
    /// Whether events of the system that this table does not name are wanted too (newer kernels add some).
    all: bool,
    /// Only records whose field holds one of these functions.
    function: Option<(&'static str, &'static [&'static str])>,
}

const fn all(system: &'static str, names: &'static [&'static str]) -> Wanted {
    Wanted {
        system,
        names,
        all: true,
        function: None,
    }
}
const fn only(system: &'static str, names: &'static [&'static str]) -> Wanted {
    Wanted {
        system,
        names,
        all: false,
        function: None,
    }
}
const fn calls(
    system: &'static str,
    names: &'static [&'static str],
    field: &'static str,
    functions: &'static [&'static str],
) -> Wanted {
    Wanted {
        system,
        names,
        all: false,
        function: Some((field, functions)),
    }
}

/// Timer callbacks that belong to a TCP socket, a NAPI or a qdisc. `timer_cancel`, `timer_expire_exit` and
/// `hrtimer_cancel`, `hrtimer_expire_exit` name no function, so they cannot be filtered and are left out: a re-arm or an
/// expiry ends what an arm began.
const TCP_TIMERS: &[&str] = &["tcp_write_timer", "tcp_delack_timer", "tcp_keepalive_timer"];
const TCP_HRTIMERS: &[&str] = &[
    "tcp_pace_kick",
    "tcp_compressed_ack_kick",
    "qdisc_watchdog",
    "napi_watchdog",
];

/// System calls that read, write or wait on sockets. `close` and `accept4` bound the life of a file descriptor number;
/// they are rare next to the reads. `nanosleep` is how a program that "does not read" often spends its time.
const SYSCALLS: &[&str] = &[
    "sendto",
    "sendmsg",
    "sendmmsg",
    "recvfrom",
    "recvmsg",
    "recvmmsg",
    "read",
    "write",
    "readv",
    "writev",
    "sendfile64",
    "splice",
    "poll",
    "ppoll",
    "select",
    "pselect6",
    "epoll_wait",
    "epoll_pwait",
    "epoll_pwait2",
    "io_uring_enter",
    "connect",
    "accept",
    "accept4",
    "shutdown",
    "close",
    "nanosleep",
    "clock_nanosleep",
];

const FULL: &[Wanted] = &[
    all("skb", &["kfree_skb", "consume_skb", "skb_copy_datagram_iovec"]),
    all(
        "net",
        &[
            "net_dev_queue",
            "net_dev_start_xmit",
            "net_dev_xmit",
            "net_dev_xmit_timeout",
            "netif_receive_skb",
            "netif_rx",
            "napi_gro_receive_entry",
            "napi_gro_receive_exit",
            "napi_gro_frags_entry",
            "napi_gro_frags_exit",
            "netif_receive_skb_entry",
            "netif_receive_skb_exit",
            "netif_receive_skb_list_entry",
            "netif_receive_skb_list_exit",
            "netif_rx_entry",
            "netif_rx_exit",
        ],
    ),
    all("napi", &["napi_poll", "dql_stall_detected"]),
    all(
        "tcp",
        &[
            "tcp_probe",
            "tcp_cong_state_set",
            "tcp_retransmit_skb",
            "tcp_retransmit_synack",
            "tcp_send_reset",
            "tcp_receive_reset",
            "tcp_destroy_sock",
            "tcp_rcv_space_adjust",
            "tcp_bad_csum",
            "tcp_sendmsg_locked",
            "tcp_rcvbuf_grow",
        ],
    ),
    all(
        "sock",
        &[
            "inet_sock_set_state",
            "inet_sk_error_report",
            "sk_data_ready",
            "sock_send_length",
            "sock_recv_length",
            "sock_rcvqueue_full",
            "sock_exceed_buf_limit",
        ],
    ),
    all(
        "qdisc",
        &[
            "qdisc_enqueue",
            "qdisc_dequeue",
            "qdisc_reset",
            "qdisc_destroy",
            "qdisc_create",
        ],
    ),
    all("udp", &["udp_fail_queue_rcv_skb"]),
    all(
        "neigh",
        &[
            "neigh_create",
            "neigh_update",
            "neigh_update_done",
            "neigh_timer_handler",
            "neigh_event_send_done",
        ],
    ),
    all("icmp", &["icmp_send"]),
    only(
        "irq",
        &[
            "irq_handler_entry",
            "irq_handler_exit",
            "softirq_raise",
            "softirq_entry",
            "softirq_exit",
        ],
    ),
    calls("irq", &["tasklet_entry", "tasklet_exit"], "func", &["tcp_tasklet_func"]),
    only(
        "sched",
        &[
            "sched_switch",
            "sched_waking",
            "sched_wakeup",
            "sched_wakeup_new",
            "sched_migrate_task",
        ],
    ),
    calls("timer", &["timer_start", "timer_expire_entry"], "function", TCP_TIMERS),
    calls(
        "timer",
        &["hrtimer_start", "hrtimer_expire_entry"],
        "function",
        TCP_HRTIMERS,
    ),
    calls(
        "workqueue",
        &["workqueue_execute_start", "workqueue_execute_end"],
        "function",
        &["tcp_tsq_workfn"],
    ),
];

/// What was enabled and what could not be.
#[derive(Debug, Default)]
pub struct Enabled {
    /// Enabled events, in the order of the profile.
    pub events: Vec<PlannedEvent>,
    /// Wanted events that are not recorded, and why.
    pub absent: Vec<AbsentEvent>,
}

/// Enables the profile in the instance (tracing stays off). `symbols` is the text of /proc/kallsyms.
pub fn enable(instance: &Instance, profile: Profile, symbols: &[u8]) -> Result<Enabled, RecordError> {
    let mut out = Enabled::default();
    match profile {
        Profile::Full => {
            let symbols = lines_with(symbols, FULL.iter().filter_map(|w| w.function).flat_map(|(_, f)| f));
            for wanted in FULL {
                enable_group(instance, wanted, &symbols, &mut out)?;
            }
            let has_syscalls = instance.join("events/syscalls").is_dir();
            if has_syscalls {
                for name in SYSCALLS
                    .iter()
                    .flat_map(|s| [format!("sys_enter_{s}"), format!("sys_exit_{s}")])
                {
                    enable_event(instance, "syscalls", &name, "", &mut out)?;
                }
            } else {
                let because = "this kernel has no syscalls events (CONFIG_FTRACE_SYSCALLS)".to_owned();
                out.absent.push(AbsentEvent {
                    name: "syscalls:*".into(),
                    because,
                });
            }
        }
    }
    if out.events.is_empty() {
        Err(RecordError::NothingToRecord)
    } else {
        Ok(out)
    }
}

/// The few lines of kallsyms that hold one of the names: it is read once, not once for each event and function.
pub fn lines_with<'a>(symbols: &[u8], names: impl Iterator<Item = &'a &'static str>) -> String {
    let names: Vec<&str> = names.copied().collect();
    let symbols = String::from_utf8_lossy(symbols);
    // "address type name": the name begins after the second space.
    let name = |l: &str| {
        l.splitn(3, ' ')
            .nth(2)
            .is_some_and(|n| names.iter().any(|w| n.starts_with(w)))
    };
    symbols.split_inclusive('\n').filter(|l| name(l)).collect()
}

fn enable_group(i: &Instance, w: &Wanted, symbols: &str, out: &mut Enabled) -> Result<(), RecordError> {
    let mut names: Vec<String> = w.names.iter().map(|n| (*n).to_owned()).collect();
    if w.all {
        let folder = i.join("events").join(w.system);
        let more = crate::tracefs::list(&folder)
            .into_iter()
            .filter(|n| folder.join(n).join("enable").exists());
        names.extend(more.filter(|n| !w.names.contains(&n.as_str())));
    }
    for name in names {
        let filter = match w.function {
            None => String::new(),
            Some((field, functions)) => match function_filter(i, w.system, &name, field, functions, symbols) {
                Ok(f) => f,
                Err(because) => {
                    out.absent.push(AbsentEvent {
                        name: format!("{}:{name}", w.system),
                        because,
                    });
                    continue;
                }
            },
        };
        enable_event(i, w.system, &name, &filter, out)?;
    }
    Ok(())
}

fn enable_event(i: &Instance, system: &str, event: &str, filter: &str, out: &mut Enabled) -> Result<(), RecordError> {
    let name = format!("{system}:{event}");
    if !i.join("events").join(system).join(event).is_dir() {
        out.absent.push(AbsentEvent {
            name,
            because: "not on this kernel".into(),
        });
        return Ok(());
    }
    match i.write(&format!("events/{system}/{event}/enable"), "1") {
        Ok(()) => out.events.push(PlannedEvent {
            name,
            filter: filter.to_owned(),
        }),
        Err(e @ RecordError::NoPermission { .. }) => return Err(e),
        Err(e) => out.absent.push(AbsentEvent {
            name,
            because: e.to_string(),
        }),
    }
    Ok(())
}

/// Sets a filter "field is one of these functions" and returns its text; the error is why the event stays off. Without
/// its filter a timer event would record every timer of the machine.
fn function_filter(
    instance: &Instance,
    system: &str,
    event: &str,
    field: &str,
    functions: &[&str],
    symbols: &str,
) -> Result<String, String> {
    let folder = format!("events/{system}/{event}");
    if !instance.join(&folder).is_dir() {
        return Err("not on this kernel".into());
    }
    let found: Vec<(&str, &str)> = functions.iter().filter_map(|f| find_symbol(symbols, f)).collect();
    if found.is_empty() {
        return Err(format!("this kernel has none of {}", functions.join(", ")));
    }
    let join = |parts: Vec<String>| parts.join(" || ");
    // By name (6.6 and later): readable, and right for a function that was moved. Else by address.
    let by_name = join(
        found
            .iter()
            .map(|(_, name)| format!("{field}.function == {name}"))
            .collect(),
    );
    let by_address = join(
        found
            .iter()
            .map(|(address, _)| format!("{field} == 0x{address}"))
            .collect(),
    );
    for filter in [by_name, by_address] {
        if instance.write(&format!("{folder}/filter"), &filter).is_ok() {
            return Ok(filter);
        }
    }
    Err(format!("the kernel refused a filter on {field}"))
}

/// Address and name of a function in kallsyms; compilers may append `.isra.0` and the like. None when addresses are hidden.
pub fn find_symbol<'a>(symbols: &'a str, function: &str) -> Option<(&'a str, &'a str)> {
    symbols.lines().find_map(|l| {
        let mut parts = l.split_ascii_whitespace();
        let (address, name) = (parts.next()?, parts.nth(1)?);
        let suffix = name.strip_prefix(function)?;
        let same = suffix.is_empty() || (suffix.starts_with('.') && !suffix.starts_with(".cold"));
        (same && address.bytes().any(|b| b != b'0')).then_some((address, name))
    })
}
