//! The profiles as data: which groups of events each enables. What each costs: `docs/recording.md`, made by
//! `recorder/examples/profile_cost.rs`.

use super::{Kept, Wanted};
use crate::options::Profile;

const fn all(system: &'static str, names: &'static [&'static str]) -> Wanted {
    Wanted {
        system,
        names,
        all: true,
        kept: Kept::All,
    }
}
const fn only(system: &'static str, names: &'static [&'static str]) -> Wanted {
    Wanted {
        system,
        names,
        all: false,
        kept: Kept::All,
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
        kept: Kept::Functions(field, functions),
    }
}

const fn some(system: &'static str, names: &'static [&'static str], filter: &'static str) -> Wanted {
    Wanted {
        system,
        names,
        all: false,
        kept: Kept::Where(filter),
    }
}

/// Groups of a profile. An event that several of them name is enabled once, as the first says.
pub fn groups(profile: Profile) -> &'static [&'static [Wanted]] {
    match profile {
        Profile::Lean => &[DROPS, LEAN],
        Profile::Drops => &[DROPS, RESETS],
        Profile::Tcp => &[DROPS, TCP, TIMERS],
        Profile::Rx => &[DROPS, RX, CAME, CONTEXT, SCHED, TCP_RX, RX_CALLS],
        Profile::Tx => &[DROPS, TX, CONTEXT, SCHED, TCP_TX, TIMERS, TSQ, TX_CALLS],
        Profile::Full => &[
            DROPS,
            RESETS,
            TCP,
            RX,
            TCP_RX,
            SENT_AND_CAME,
            TX,
            REST,
            CONTEXT,
            TIMERS,
            TSQ,
            SCHED,
            RX_CALLS,
            TX_CALLS,
            OTHER_CALLS,
        ],
    }
}

/// Whatever says that a packet, a segment or memory for it was refused. `kfree_skb` holds the reason.
const DROPS: &[Wanted] = &[
    only("skb", &["kfree_skb"]),
    only("net", &["net_dev_xmit_timeout"]),
    only("napi", &["dql_stall_detected"]),
    only("tcp", &["tcp_retransmit_skb", "tcp_retransmit_synack", "tcp_bad_csum"]),
    only(
        "sock",
        &["sock_rcvqueue_full", "sock_exceed_buf_limit", "inet_sk_error_report"],
    ),
    only("udp", &["udp_fail_queue_rcv_skb"]),
    only("icmp", &["icmp_send"]),
];

const RESETS: &[Wanted] = &[
    only("tcp", &["tcp_send_reset", "tcp_receive_reset"]),
    only("neigh", &["neigh_cleanup_and_release", "neigh_event_send_dead"]),
];

/// Per segment: probe, reader told, copy, poll, and in and out of a qdisc. Of timers only the expiry: it is rare.
const LEAN: &[Wanted] = &[
    only(
        "tcp",
        &["tcp_probe", "tcp_cong_state_set", "tcp_send_reset", "tcp_receive_reset"],
    ),
    only("sock", &["inet_sock_set_state", "sk_data_ready"]),
    only("skb", &["skb_copy_datagram_iovec"]),
    only("napi", &["napi_poll"]),
    only("qdisc", &["qdisc_enqueue", "qdisc_dequeue"]),
    calls("timer", &["timer_expire_entry"], "function", TCP_TIMERS),
];

const TCP: &[Wanted] = &[
    all(
        "tcp",
        &[
            "tcp_probe",
            "tcp_cong_state_set",
            "tcp_destroy_sock",
            "tcp_rcv_space_adjust",
            "tcp_sendmsg_locked",
        ],
    ),
    all(
        "sock",
        &[
            "inet_sock_set_state",
            "sk_data_ready",
            "sock_send_length",
            "sock_recv_length",
        ],
    ),
];

/// From the card to the reader.
const RX: &[Wanted] = &[
    only("skb", &["consume_skb", "skb_copy_datagram_iovec"]),
    only(
        "net",
        &[
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
    only("sock", &["sk_data_ready", "sock_recv_length", "inet_sock_set_state"]),
];
const TCP_RX: &[Wanted] = &[only("tcp", &["tcp_probe", "tcp_rcv_space_adjust", "tcp_rcvbuf_grow"])];

/// From the writer to the card, and the end of its segments.
const TX: &[Wanted] = &[
    only("skb", &["consume_skb"]),
    only("net", &["net_dev_queue", "net_dev_start_xmit", "net_dev_xmit"]),
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
    only(
        "neigh",
        &[
            "neigh_create",
            "neigh_update",
            "neigh_update_done",
            "neigh_timer_handler",
            "neigh_event_send_done",
        ],
    ),
    only("sock", &["sock_send_length", "inet_sock_set_state"]),
    // Where a datagram goes to: no other event says. One of a send that is not on a connected socket, and of a connect.
    some("fib", &["fib_table_lookup"], UDP),
    some("fib6", &["fib6_table_lookup"], UDP),
];
/// Look-ups for what is received say no protocol (IPv4), or no port (IPv6); those for TCP are told by other events.
const UDP: &str = "proto == 17 && dport != 0";

/// From where to where a received packet went that is dropped then: of one that is forwarded, or comes to no socket, no other event says. For what comes to an established TCP
/// socket no route is looked up.
const CAME: &[Wanted] = &[
    some("fib", &["fib_table_lookup"], RECEIVED),
    some("fib6", &["fib6_table_lookup"], RECEIVED),
];
/// What this host sends itself, and loopback, has the device 1. Kernels whose event has no protocol are not read: it stays off there.
const RECEIVED: &str = "iif > 1 && proto >= 0";
const SENT_AND_CAME: &[Wanted] = &[
    some("fib", &["fib_table_lookup"], UDP_OR_RECEIVED),
    some("fib6", &["fib6_table_lookup"], UDP_OR_RECEIVED),
];
const UDP_OR_RECEIVED: &str = "(proto == 17 && dport != 0) || iif > 1";
const TCP_TX: &[Wanted] = &[only("tcp", &["tcp_probe", "tcp_cong_state_set", "tcp_sendmsg_locked"])];

/// Who had the CPU: interrupts, softirqs, polls.
const CONTEXT: &[Wanted] = &[
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
    only("napi", &["napi_poll"]),
];
const SCHED: &[Wanted] = &[only(
    "sched",
    &[
        "sched_switch",
        "sched_waking",
        "sched_wakeup",
        "sched_wakeup_new",
        "sched_migrate_task",
    ],
)];

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
const TIMERS: &[Wanted] = &[
    calls("timer", &["timer_start", "timer_expire_entry"], "function", TCP_TIMERS),
    calls(
        "timer",
        &["hrtimer_start", "hrtimer_expire_entry"],
        "function",
        TCP_HRTIMERS,
    ),
];
/// TCP small queues: a tasklet, since 6.17 a work item.
const TSQ: &[Wanted] = &[
    calls("irq", &["tasklet_entry", "tasklet_exit"], "func", &["tcp_tasklet_func"]),
    calls(
        "workqueue",
        &["workqueue_execute_start", "workqueue_execute_end"],
        "function",
        &["tcp_tsq_workfn"],
    ),
];

/// System calls that read or wait for sockets; the others that write; and what is of both or bounds the life of a file
/// descriptor number (`close`, `accept4`: rare next to the reads). `nanosleep` is how a program that "does not read" often
/// spends its time.
const RX_CALLS: &[Wanted] = &[only(
    "syscalls",
    &[
        "recvfrom",
        "recvmsg",
        "recvmmsg",
        "read",
        "readv",
        "splice",
        "poll",
        "ppoll",
        "select",
        "pselect6",
        "epoll_wait",
        "epoll_pwait",
        "epoll_pwait2",
        "io_uring_enter",
    ],
)];
const TX_CALLS: &[Wanted] = &[only(
    "syscalls",
    &[
        "sendto",
        "sendmsg",
        "sendmmsg",
        "write",
        "writev",
        "sendfile64",
        "splice",
        "io_uring_enter",
    ],
)];
const OTHER_CALLS: &[Wanted] = &[only(
    "syscalls",
    &[
        "connect",
        "accept",
        "accept4",
        "shutdown",
        "close",
        "nanosleep",
        "clock_nanosleep",
    ],
)];

/// What else the stack's own systems have here, also what kernels to come may add.
const REST: &[Wanted] = &[
    all("skb", &[]),
    all("net", &[]),
    all("napi", &[]),
    all("qdisc", &[]),
    all("udp", &[]),
    all("neigh", &[]),
    all("icmp", &[]),
];
