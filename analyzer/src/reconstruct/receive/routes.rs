//! Which events feed the ledger, and its start.

use std::collections::VecDeque;

use netmortem_formats::Capture;
use netmortem_formats::tracepoints::Tracepoint;
use netmortem_formats::tracepoints::consume_skb::ConsumeSkb;
use netmortem_formats::tracepoints::irq_handler_entry::IrqHandlerEntry;
use netmortem_formats::tracepoints::irq_handler_exit::IrqHandlerExit;
use netmortem_formats::tracepoints::kfree_skb::KfreeSkb;
use netmortem_formats::tracepoints::napi_gro_frags_entry::NapiGroFragsEntry;
use netmortem_formats::tracepoints::napi_gro_frags_exit::NapiGroFragsExit;
use netmortem_formats::tracepoints::napi_gro_receive_entry::NapiGroReceiveEntry;
use netmortem_formats::tracepoints::napi_gro_receive_exit::NapiGroReceiveExit;
use netmortem_formats::tracepoints::napi_poll::NapiPoll;
use netmortem_formats::tracepoints::net_dev_queue::NetDevQueue;
use netmortem_formats::tracepoints::net_dev_xmit::NetDevXmit;
use netmortem_formats::tracepoints::netif_receive_skb::NetifReceiveSkb;
use netmortem_formats::tracepoints::netif_receive_skb_entry::NetifReceiveSkbEntry;
use netmortem_formats::tracepoints::netif_rx::NetifRx;
use netmortem_formats::tracepoints::netif_rx_entry::NetifRxEntry;
use netmortem_formats::tracepoints::sched_waking::SchedWaking;
use netmortem_formats::tracepoints::sk_data_ready::SkDataReady;
use netmortem_formats::tracepoints::skb_copy_datagram_iovec::SkbCopyDatagramIovec;
use netmortem_formats::tracepoints::sock_recv_length::SockRecvLength;
use netmortem_formats::tracepoints::softirq_entry::SoftirqEntry;
use netmortem_formats::tracepoints::softirq_exit::SoftirqExit;
use netmortem_formats::tracepoints::softirq_raise::SoftirqRaise;
use netmortem_formats::tracepoints::sys_enter::SysEnter;
use netmortem_formats::tracepoints::sys_exit::SysExit;
use netmortem_formats::tracepoints::tcp_probe::TcpProbe;
use netmortem_formats::tracepoints::tcp_rcv_space_adjust::TcpRcvSpaceAdjust;
use rustc_hash::{FxHashMap, FxHashSet};

use super::acks::Acks;
use super::first::Headers;
use super::ledger::Asks;
use super::tracker::{CROWDED, Ledger, Receive, TCP_PROTOCOLS};
use super::units::Units;
use crate::ingest::Trace;
use crate::name::Name;
use crate::reconstruct::context::Cpus;
use crate::reconstruct::dispatch::{Routes, Walk, ready};
use crate::reconstruct::skb::Identity;
use crate::reconstruct::tcp::Tcp;
use crate::reconstruct::tcp::states::{ESTABLISHED, SYN_RECV};

/// System calls whose return ends a read of a socket.
const READ_CALLS: [&str; 6] = ["read", "readv", "recvfrom", "recvmsg", "recvmmsg", "splice"];

/// Reads the trace.
pub fn walk<'f>(
    trace: &'f Trace<'_>,
    capture: &'f Capture,
    identity: &'f Identity,
    tcp: &'f Tcp,
    asks: Asks<'f>,
) -> impl Walk<Out = Receive> {
    let s = &trace.schema;
    let t = Ledger {
        identity,
        tcp,
        asks,
        symbols: &capture.kallsyms,
        acks: Acks::read(identity, tcp),
        cpus: Cpus::default(),
        states: vec![],
        units: Units::default(),
        open: FxHashMap::default(),
        crowded: CROWDED,
        fifos: FxHashMap::default(),
        copies: FxHashMap::default(),
        returning: FxHashMap::default(),
        progress: FxHashMap::default(),
        copying: FxHashMap::default(),
        asked: FxHashMap::default(),
        followed: FxHashSet::default(),
        consumed: FxHashMap::default(),
        consume_udp: FxHashMap::default(),
        passed: Vec::new(),
        aside: VecDeque::new(),
        looks: FxHashMap::default(),
        through: FxHashMap::default(),
        after_gap: false,
        headers: FxHashMap::default(),
        any_header: Headers::default(),
        lost_until: i64::MIN,
        now: i64::MAX,
        end_ns: trace.info.end_ns.unwrap_or(i64::MIN),
        cut: None,
        probe_at: 0,
        has_ready: s.bind::<SkDataReady<'static>>().is_ok(),
        has_length: s.bind::<SockRecvLength<'static>>().is_ok(),
        has_probe: s.bind::<TcpProbe<'static>>().is_ok(),
        has_softirq: s.bind::<SoftirqEntry<'static>>().is_ok() && s.bind::<SoftirqExit<'static>>().is_ok(),
        out: Receive {
            rows: trace.room(&["net:netif_receive_skb"]),
            ..Receive::default()
        },
    };
    ready(trace, routes(trace), t, |mut t, missing| {
        t.out.missing = missing;
        t.finish()
    })
}

fn routes<'f>(trace: &Trace<'_>) -> Routes<Ledger<'f>> {
    let s = &trace.schema;
    let mut r = Routes::<Ledger<'f>>::new("rx");
    r.on::<IrqHandlerEntry<'static>>(s, |t, e, p| t.cpus.at(e.cpu).irq_entry(e, p.name));
    r.on::<IrqHandlerExit<'static>>(s, |t, e, _| t.cpus.at(e.cpu).irq_exit(e));
    r.on::<SoftirqRaise<'static>>(s, |t, e, p| t.cpus.at(e.cpu).raise(e, p.vec));
    r.on::<SoftirqEntry<'static>>(s, |t, e, p| {
        t.cpus.at(e.cpu).softirq_entry(e, p.vec);
    });
    r.on::<SoftirqExit<'static>>(s, |t, e, p| t.softirq_exit(e, p.vec));
    r.on::<NapiPoll<'static>>(s, |t, e, _| t.poll_end(e));
    r.on::<NetifRxEntry<'static>>(s, |t, e, p| {
        t.queued(e, Name::new(p.name));
        t.hashed(e, p.hash);
    });
    r.on::<NetifRx<'static>>(s, |t, e, p| t.queued(e, Name::new(p.name)));
    r.on::<NapiGroReceiveEntry<'static>>(s, |t, e, p| {
        t.gro(e, Name::new(p.name));
        t.hashed(e, p.hash);
    });
    r.on::<NapiGroFragsEntry<'static>>(s, |t, e, p| t.gro(e, Name::new(p.name)));
    r.on::<NapiGroReceiveExit<'static>>(s, |t, e, p| t.gro_exit(e, p.ret));
    r.on::<NapiGroFragsExit<'static>>(s, |t, e, p| t.gro_exit(e, p.ret));
    // Where they are not recorded a unit begins at netif_receive_skb: nothing else is missed.
    let told = r.missing.len();
    r.on::<NetifReceiveSkbEntry<'static>>(s, |t, e, p| t.handed_in(e, Name::new(p.name)));
    r.missing.truncate(told);
    r.on::<NetifReceiveSkb<'static>>(s, |t, e, p| t.receive(e, Name::new(p.name), p.len));
    r.on::<NetDevQueue<'static>>(s, |t, e, _| {
        t.processed(e);
        t.sent(e);
    });
    r.on::<NetDevXmit<'static>>(s, |t, e, _| t.processed(e));
    r.on::<SchedWaking<'static>>(s, |t, e, _| t.processed(e));
    // Only a help: data in the segment that completes a handshake.
    let told = r.missing.len();
    r.on_states(s, |t, e, p| {
        if (p.oldstate, p.newstate) == (SYN_RECV, ESTABLISHED) && TCP_PROTOCOLS.contains(&p.protocol) {
            t.established(e, p.skaddr);
        }
    });
    r.missing.truncate(told);
    r.on::<TcpProbe<'static>>(s, |t, e, p| t.probe(e, p.data_len));
    r.on::<SkDataReady<'static>>(s, |t, e, p| t.ready(e, p.skaddr, p.family, p.protocol));
    r.on::<SkbCopyDatagramIovec<'static>>(s, |t, e, p| t.copy(e, p.len));
    r.on::<TcpRcvSpaceAdjust<'static>>(s, |t, e, p| t.space_adjusted(e, p.skaddr));
    r.on::<SockRecvLength<'static>>(s, |t, e, p| t.read(e, p.sk, p.protocol, p.ret, p.flags));
    r.on::<KfreeSkb<'static>>(s, |t, e, _| {
        t.processed(e);
        t.dropped(e);
    });
    r.on::<ConsumeSkb<'static>>(s, |t, e, p| {
        t.processed(e);
        t.consumed_by(e, p.location.unwrap_or(0));
        t.forget(e);
    });
    // Without sock_recv_length (before 6.3) only the return tells how long a copy lasted. It may be of several reads.
    if let Some((f, b)) = s
        .format("syscalls", "sys_exit_io_uring_enter")
        .and_then(|f| Some((f, SysExit::bind(f, s.endian).ok()?)))
    {
        r.raw(f.id, move |t, e| {
            if !t.has_length && SysExit::read(&b, e.payload).is_some() {
                t.returned(e, None);
            }
        });
    }
    for call in READ_CALLS {
        let format = s.format("syscalls", &format!("sys_enter_{call}"));
        if let Some((f, b)) = format.and_then(|f| Some((f, SysEnter::bind(f, s.endian).ok()?))) {
            r.raw(f.id, move |t, e| {
                // What the call before copied without saying how much it read is none of this one: reads of a TUN device are no socket's.
                t.copies.remove(&e.pid);
                t.consumed.remove(&e.pid);
                let len = SysEnter::read(&b, e.payload).and_then(|x| x.len);
                match len.filter(|_| call != "splice") {
                    Some(len) => _ = t.asked.insert(e.pid, len),
                    None => _ = t.asked.remove(&e.pid),
                }
            });
        }
        let format = s.format("syscalls", &format!("sys_exit_{call}"));
        if let Some((f, b)) = format.and_then(|f| Some((f, SysExit::bind(f, s.endian).ok()?))) {
            r.raw(f.id, move |t, e| {
                if let Some(x) = SysExit::read(&b, e.payload) {
                    // recvmmsg returns the number of messages.
                    let ret = (call != "recvmmsg").then_some(x.ret);
                    match call {
                        "splice" => t.spliced(e, x.ret),
                        _ => t.call_over(e, ret),
                    }
                    t.returned(e, ret);
                }
            });
        }
    }
    r
}
