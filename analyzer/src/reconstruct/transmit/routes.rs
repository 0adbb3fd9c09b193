//! Which events feed the ledger, and its start.

use netmortem_formats::kallsyms::Kallsyms;
use netmortem_formats::tracepoints::Tracepoint;
use netmortem_formats::tracepoints::neigh_event_send_done::NeighEventSendDone;
use netmortem_formats::tracepoints::neigh_update::NeighUpdate;
use netmortem_formats::tracepoints::neigh_update_done::NeighUpdateDone;
use netmortem_formats::tracepoints::net_dev_queue::NetDevQueue;
use netmortem_formats::tracepoints::net_dev_start_xmit::NetDevStartXmit;
use netmortem_formats::tracepoints::net_dev_xmit::NetDevXmit;
use netmortem_formats::tracepoints::netif_receive_skb::NetifReceiveSkb;
use netmortem_formats::tracepoints::sched_wakeup_new::SchedWakeupNew;
use netmortem_formats::tracepoints::sched_waking::SchedWaking;
use netmortem_formats::tracepoints::sock_send_length::SockSendLength;
use netmortem_formats::tracepoints::softirq_entry::SoftirqEntry;
use netmortem_formats::tracepoints::softirq_exit::SoftirqExit;
use netmortem_formats::tracepoints::sys_enter::SysEnter;
use netmortem_formats::tracepoints::sys_exit::SysExit;
use netmortem_formats::tracepoints::tasklet_entry::TaskletEntry;
use netmortem_formats::tracepoints::tasklet_exit::TaskletExit;
use netmortem_formats::tracepoints::tcp_probe::TcpProbe;
use netmortem_formats::tracepoints::tcp_rcv_space_adjust::TcpRcvSpaceAdjust;
use netmortem_formats::tracepoints::tcp_retransmit_skb::TcpRetransmitSkb;
use netmortem_formats::tracepoints::tcp_sendmsg_locked::TcpSendmsgLocked;
use netmortem_formats::tracepoints::workqueue_execute_end::WorkqueueExecuteEnd;
use netmortem_formats::tracepoints::workqueue_execute_start::WorkqueueExecuteStart;
use rustc_hash::FxHashMap;

use super::behind::BehindRow;
use super::descriptors::{Descriptors, Told, Use};
use super::ends::Returned;
use super::full::{LeftFull, RefusedSend};
use super::halts::Halt;
use super::held::Once;
use super::ledger;
use super::room::WAIT_CALLS;
use super::sends::{LastSend, SEND_CALLS, Send};
use super::tables::TxRow;
use super::tracker::Transmits;
use crate::facts::ConnectionId;
use crate::ingest::Trace;
use crate::name::Name;
use crate::reconstruct::comms::Comms;
use crate::reconstruct::dispatch::{Lost, Routes, Walk, ready};
use crate::reconstruct::skb::Identity;
use crate::reconstruct::tcp::Tcp;
use crate::reconstruct::tcp::states::SYN_SENT;
use crate::reconstruct::thread::Threads;
use crate::reconstruct::timers::Timers;
use crate::reconstruct::xmits::Passes;

/// `NET_XMIT_MASK` (include/linux/netdevice.h): below it the driver took the packet, or dropped it itself.
const NET_XMIT_MASK: i32 = 0x0f;
/// Bytes that a dynamic linker reads of a library at first: glibc's (`struct filebuf` in elf/dl-load.h), musl's (`map_library` in ldso/dynlink.c).
const LIBRARY_HEADS: [i32; 2] = [832, 960];
/// AF_INET.
const AF_INET: u32 = 2;
/// NUD_REACHABLE, NUD_PROBE, NUD_STALE, NUD_DELAY, NUD_NOARP, NUD_PERMANENT (include/uapi/linux/neighbour.h): it has an address.
const NUD_VALID: u8 = 0x02 | 0x10 | 0x04 | 0x08 | 0x40 | 0x80;

/// What the ledger asks.
#[derive(Clone, Copy)]
pub struct Inputs<'f> {
    /// Lives.
    pub identity: &'f Identity,
    /// Sockets and samples.
    pub tcp: &'f Tcp,
    /// Timers of sockets.
    pub timers: &'f Timers,
    /// Thread states.
    pub threads: &'f Threads,
    /// Names.
    pub comms: &'f Comms,
    /// Passes over devices.
    pub passes: &'f Passes,
    /// Last event of the recording, ns.
    pub end_ns: i64,
    /// Whether a packet that comes to an established socket would be seen (`tcp_probe`).
    pub acks_recorded: bool,
    /// Whether it is known when in a send call its bytes were taken (`tcp_sendmsg_locked`).
    pub rounds_told: bool,
}

/// What the tracker found.
#[derive(Debug, Default)]
pub struct Transmit {
    /// View `tx`, by start.
    pub rows: Vec<TxRow>,
    /// Sends of applications on TCP sockets, in no order.
    pub sends: Vec<Send>,
    /// The last of them on each socket.
    pub last_sends: FxHashMap<ConnectionId, LastSend>,
    /// Sends that a full buffer refused.
    pub refused: Vec<RefusedSend>,
    /// Sockets whose last send it refused.
    pub left_full: Vec<LeftFull>,
    /// What held each socket, each moment counted once.
    pub once: FxHashMap<ConnectionId, Once>,
    /// (row of `retransmits`, segments of its frame), ascending.
    pub again: Vec<(u32, u32)>,
    /// Small messages behind large ones, by socket, in the order in which they were written.
    pub behind: Vec<BehindRow>,
    /// When each socket could not send on, where that was long.
    pub halts: FxHashMap<ConnectionId, Vec<Halt>>,
    /// What the capture lacks.
    pub missing: Vec<String>,
}

/// What a walk found; rows can be made of it once the passes over devices are known.
pub struct Walked<'f> {
    found: Transmits<'f>,
    lost: Lost,
    missing: Vec<String>,
}

/// Reads the trace.
pub fn walk<'f>(
    trace: &'f Trace<'_>,
    identity: &'f Identity,
    tcp: &'f Tcp,
    timers: &'f Timers,
    (comms, symbols): (&'f Comms, &'f Kallsyms),
) -> impl Walk<Out = Walked<'f>> {
    let mut t = Transmits::new(identity, tcp, timers, (comms, symbols));
    t.packets = trace.room(&["net:net_dev_queue"]);
    if trace.schema.format("sock", SockSendLength::NAME).is_none() {
        t.descriptors = Some(Descriptors::new(Told {
            injected: trace.info.recorded("net:netif_receive_skb"),
            loads: trace.info.recorded("syscalls:sys_enter_read"),
        }));
    }
    let lost = Lost::of(&trace.gaps);
    ready(trace, routes(trace), t, |found, missing| Walked {
        found,
        lost,
        missing,
    })
}

impl Walked<'_> {
    /// The rows.
    pub fn rows(self, inputs: &Inputs<'_>) -> Transmit {
        Transmit {
            missing: self.missing,
            ..ledger::rows(self.found, inputs, &self.lost)
        }
    }
}

fn routes<'f>(trace: &Trace<'_>) -> Routes<Transmits<'f>> {
    let s = &trace.schema;
    let mut r = Routes::<Transmits<'f>>::new("tx");
    r.on::<NetDevQueue<'static>>(s, |t, e, p| t.queue(e, p.skbaddr, p.len, Name::new(p.name)));
    r.on::<NetDevStartXmit<'static>>(s, |t, e, p| t.started(e, &p));
    r.on::<NetDevXmit<'static>>(s, |t, e, p| t.xmitted(e, p.rc & !NET_XMIT_MASK == 0));
    r.on::<TcpProbe<'static>>(s, |t, e, _| t.probe(e));
    r.on::<TcpRetransmitSkb<'static>>(s, |t, e, p| t.retransmit(e, p.skbaddr, p.skaddr, p.err));
    r.on::<SoftirqEntry<'static>>(s, |t, e, p| t.softirq(e, Some(p.vec)));
    r.on::<SoftirqExit<'static>>(s, |t, e, _| t.softirq(e, None));
    r.on::<SockSendLength<'static>>(s, |t, e, p| t.sent(e, p.sk, p.protocol, p.ret));
    // What follows exists on some kernels only, or is filtered to TCP's own: without it fewer waits have a name.
    let missing = std::mem::take(&mut r.missing);
    r.on::<TcpSendmsgLocked<'static>>(s, |t, e, p| {
        t.mark(e, p.msg_left, u32::try_from(p.size_goal).unwrap_or(0))
    });
    r.on::<WorkqueueExecuteStart<'static>>(s, |t, e, p| t.tsq(e, p.function, true));
    r.on::<WorkqueueExecuteEnd<'static>>(s, |t, e, p| t.tsq(e, p.function.unwrap_or(0), false));
    r.on::<TaskletEntry<'static>>(s, |t, e, p| t.tsq(e, p.func, true));
    r.on::<TaskletExit<'static>>(s, |t, e, p| t.tsq(e, p.func, false));
    r.on::<NeighEventSendDone<'static>>(s, |t, e, p| {
        let key = if p.family == AF_INET {
            p.primary_key4
        } else {
            p.primary_key6
        };
        if p.err == 1 {
            t.park(e, Name::new(p.dev), key);
        }
    });
    r.on::<NeighUpdate<'static>>(s, |t, e, p| {
        let key = if p.family == AF_INET {
            p.primary_key4
        } else {
            p.primary_key6
        };
        if p.new_state & NUD_VALID != 0 {
            t.resolved(e, Name::new(p.dev), key);
        }
    });
    r.on::<SchedWaking<'static>>(s, |t, e, p| t.woken(e, p.pid));
    r.on::<NeighUpdateDone<'static>>(s, |t, e, _| t.released(e));
    r.on::<NetifReceiveSkb<'static>>(s, |t, e, _| {
        if e.in_task() {
            t.sends.injects(e.pid);
            if let Some(d) = &mut t.descriptors {
                d.leave(e.pid);
            }
        } else {
            t.came_in(e);
        }
    });
    if s.format("sock", SockSendLength::NAME).is_none() {
        // A packet that comes in from inside a call changes the states of any socket; only the caller's own begins to connect.
        r.on_states(s, |t, e, p| {
            if p.newstate == SYN_SENT {
                t.named(e, p.skaddr);
            }
        });
        r.on::<TcpRcvSpaceAdjust<'static>>(s, |t, e, p| t.named(e, p.skaddr));
        r.on::<SchedWakeupNew<'static>>(s, |t, e, p| {
            let comms = t.comms;
            if let Some(d) = &mut t.descriptors {
                d.born(e.pid, p.pid, comms.renamed(p.pid, e.ts, comms.at(e.pid, e.ts)));
            }
        });
    }
    r.missing = missing;
    calls(&mut r, trace);
    r
}

/// System calls: their begins and ends, what they write to, and what that returned.
fn calls(r: &mut Routes<Transmits<'_>>, trace: &Trace<'_>) {
    let s = &trace.schema;
    for f in s.formats().iter().filter(|f| f.system == SysEnter::SYSTEM) {
        if let Some(name) = f.name.strip_prefix("sys_enter_") {
            let (sends, uring) = (SEND_CALLS.contains(&name), name == "io_uring_enter");
            let of = used(name);
            let waits = WAIT_CALLS.contains(&name);
            match of.zip(SysEnter::bind(f, s.endian).ok()) {
                Some((of, b)) => r.raw(f.id, move |t, e| {
                    t.rooms.enter(e.pid, e.ts, waits);
                    t.boundary(e, sends);
                    if let Some(d) = &mut t.descriptors {
                        d.enter(e.pid, SysEnter::read(&b, e.payload).map_or(Use::Other, |x| of(&x)));
                    }
                }),
                None => r.raw(f.id, move |t, e| {
                    t.rooms.enter(e.pid, e.ts, waits);
                    t.boundary(e, sends);
                    if uring {
                        t.sends.thread(e.pid).uring = true;
                    }
                    if let Some(d) = &mut t.descriptors {
                        d.enter(e.pid, Use::Other);
                    }
                }),
            }
        } else if let Some(name) = f.name.strip_prefix("sys_exit_") {
            let (sends, accepts) = (SEND_CALLS.contains(&name), name.starts_with("accept"));
            // sendmmsg returns the number of messages; the calls of io_uring_enter may be of any socket.
            let (bytes, one) = (name != "sendmmsg", name != "io_uring_enter");
            let sockets_only = name.starts_with("send") && name != "sendfile64";
            let b = SysExit::bind(f, s.endian).ok();
            r.raw(f.id, move |t, e| {
                if t.descriptors.is_some() && (sends || accepts) {
                    let ret = b.as_ref().and_then(|b| SysExit::read(b, e.payload)).map(|x| x.ret);
                    if sends && one {
                        let ret = match (ret, bytes) {
                            (Some(ret), true) => Returned::Bytes(ret),
                            (Some(ret), false) => Returned::Messages(ret),
                            (None, _) => Returned::Unknown,
                        };
                        t.returned(e, sockets_only, ret);
                    }
                    if let (true, Some(d), Some(fd)) = (accepts, &mut t.descriptors, ret) {
                        d.accepted(e.pid, fd);
                    }
                }
                t.sends.exit(e);
                t.boundary(e, false);
                if let Some(d) = &mut t.descriptors {
                    d.leave(e.pid);
                }
            });
        }
    }
}

/// What a system call does with which of its arguments.
fn used(name: &str) -> Option<fn(&SysEnter) -> Use> {
    fn arg(x: &SysEnter, at: usize) -> Option<i32> {
        x.args.get(at).copied().flatten().map(|fd| fd as i32)
    }
    Some(match name {
        "close" => |x| arg(x, 0).map_or(Use::Other, Use::Close),
        "sendfile64" => |x| arg(x, 0).map_or(Use::Other, Use::Into),
        "splice" => |x| arg(x, 2).map_or(Use::Other, Use::Into),
        "read" => |x| match (arg(x, 0), arg(x, 2)) {
            (Some(fd), Some(n)) if LIBRARY_HEADS.contains(&n) => Use::Load(fd),
            (fd, _) => fd.map_or(Use::Other, Use::Socket),
        },
        "write" | "writev" => |x| arg(x, 0).map_or(Use::Other, Use::Write),
        "readv" | "recvfrom" | "recvmsg" | "recvmmsg" | "sendto" | "sendmsg" | "sendmmsg" | "connect" => {
            |x| arg(x, 0).map_or(Use::Other, Use::Socket)
        }
        _ => return None,
    })
}
