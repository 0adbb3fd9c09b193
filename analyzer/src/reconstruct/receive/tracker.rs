//! The machine.

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
use netmortem_formats::tracepoints::netif_receive_skb::NetifReceiveSkb;
use netmortem_formats::tracepoints::netif_rx::NetifRx;
use netmortem_formats::tracepoints::netif_rx_entry::NetifRxEntry;
use netmortem_formats::tracepoints::sk_data_ready::SkDataReady;
use netmortem_formats::tracepoints::skb_copy_datagram_iovec::SkbCopyDatagramIovec;
use netmortem_formats::tracepoints::sock_recv_length::SockRecvLength;
use netmortem_formats::tracepoints::softirq_entry::SoftirqEntry;
use netmortem_formats::tracepoints::softirq_exit::SoftirqExit;
use netmortem_formats::tracepoints::softirq_raise::SoftirqRaise;
use netmortem_formats::tracepoints::sys_exit::SysExit;
use netmortem_formats::tracepoints::tcp_probe::TcpProbe;
use rustc_hash::FxHashMap;

use super::fifo::Fifo;
use super::ledger;
use super::tables::{RxEnd, RxRow, RxStart};
use super::unit::{Unit, payload};
use crate::analyses::napi::NET_RX;
use crate::confidence::Confidence;
use crate::facts::{ConnectionId, SkbId};
use crate::ingest::{Event, GapRow, Trace};
use crate::name::Name;
use crate::reconstruct::comms::Comms;
use crate::reconstruct::context::Cpus;
use crate::reconstruct::dispatch::{Routes, Tracker};
use crate::reconstruct::skb::Identity;
use crate::reconstruct::tcp::{MSG_PEEK, Tcp};
use crate::reconstruct::thread::Threads;

/// IPPROTO_TCP and IPPROTO_MPTCP: sockets whose units are claimed by tcp_probe.
const TCP_PROTOCOLS: [u16; 2] = [6, 262];
/// Address families whose sockets receive packets of devices: AF_INET, AF_INET6.
const FAMILIES: [u16; 2] = [2, 10];
/// IP and TCP headers of a segment: smallest and largest sum.
const HEADERS: std::ops::RangeInclusive<u32> = 40..=140;
/// System calls whose return ends a read of a socket.
const READ_CALLS: [&str; 6] = ["read", "readv", "recvfrom", "recvmsg", "recvmmsg", "splice"];

/// What the tracker found.
#[derive(Debug, Default)]
pub struct Receive {
    /// View `rx`, by start.
    pub rows: Vec<RxRow>,
    /// Payload that TCP dropped after tcp_probe had counted it, bytes by connection.
    pub dropped_bytes: FxHashMap<ConnectionId, u64>,
    /// What the capture lacks.
    pub missing: Vec<String>,
}

/// A socket as a reader names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Tcp(ConnectionId),
    Other(u64),
}

#[derive(Debug, Clone, Copy)]
struct Copied {
    ts: i64,
    skb: Option<SkbId>,
    bytes: u32,
}

#[derive(Default)]
struct CpuState {
    /// Units received in the current softirq run that no socket has claimed.
    unclaimed: Vec<usize>,
    /// Unit of the last tcp_probe, while it waits for its sk_data_ready.
    probed: Option<usize>,
}

struct Ledger<'f> {
    identity: &'f Identity,
    tcp: &'f Tcp,
    threads: &'f Threads,
    comms: &'f Comms,
    cpus: Cpus,
    states: Vec<CpuState>,
    units: Vec<Unit>,
    open: FxHashMap<SkbId, usize>,
    fifos: FxHashMap<Key, Fifo>,
    copies: FxHashMap<i32, Vec<Copied>>,
    returning: FxHashMap<i32, Vec<usize>>,
    probe_at: usize,
    has_ready: bool,
    has_length: bool,
    out: Receive,
}

impl Tracker for Ledger<'_> {
    fn gap(&mut self, gap: &GapRow) {
        // Reads and arrivals may be missing: what waits is no longer known to wait, what is in flight no longer to be so.
        let fifos = std::mem::take(&mut self.fifos);
        let mut waiting: Vec<usize> = fifos.into_values().flat_map(Fifo::drain).collect();
        waiting.sort_unstable();
        for u in waiting {
            self.emit(u, RxEnd::Queued, Confidence::Unknown);
        }
        self.open.clear();
        self.copies.clear();
        self.states.clear();
        self.cpus.at(gap.cpu as u16).forget();
    }
}

/// Reads the trace.
pub fn run(trace: &Trace<'_>, identity: &Identity, tcp: &Tcp, threads: &Threads, comms: &Comms) -> Receive {
    let s = &trace.schema;
    let mut t = Ledger {
        identity,
        tcp,
        threads,
        comms,
        cpus: Cpus::default(),
        states: vec![],
        units: vec![],
        open: FxHashMap::default(),
        fifos: FxHashMap::default(),
        copies: FxHashMap::default(),
        returning: FxHashMap::default(),
        probe_at: 0,
        has_ready: s.bind::<SkDataReady<'static>>().is_ok(),
        has_length: s.bind::<SockRecvLength<'static>>().is_ok(),
        out: Receive::default(),
    };
    let routes = routes(trace);
    routes.run(trace, &mut t);
    t.out.missing = routes.missing;
    t.finish()
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
    r.on::<SoftirqExit<'static>>(s, |t, e, p| {
        t.cpus.at(e.cpu).softirq_exit(p.vec);
        t.state(e.cpu).unclaimed.clear();
    });
    r.on::<NapiPoll<'static>>(s, |t, e, _| {
        t.cpus.at(e.cpu).poll_end(e);
    });
    r.on::<NetifRxEntry<'static>>(s, |t, e, p| t.queued(e, Name::new(p.name)));
    r.on::<NetifRx<'static>>(s, |t, e, p| t.queued(e, Name::new(p.name)));
    r.on::<NapiGroReceiveEntry<'static>>(s, |t, e, p| t.gro(e, Name::new(p.name)));
    r.on::<NapiGroFragsEntry<'static>>(s, |t, e, p| t.gro(e, Name::new(p.name)));
    r.on::<NapiGroReceiveExit<'static>>(s, |t, e, p| t.gro_exit(e, p.ret));
    r.on::<NapiGroFragsExit<'static>>(s, |t, e, p| t.gro_exit(e, p.ret));
    r.on::<NetifReceiveSkb<'static>>(s, |t, e, p| t.receive(e, Name::new(p.name), p.len));
    r.on::<NetDevQueue<'static>>(s, |t, e, _| t.forget(e));
    r.on::<TcpProbe<'static>>(s, |t, e, p| t.probe(e, p.data_len));
    r.on::<SkDataReady<'static>>(s, |t, e, p| t.ready(e, p.skaddr, p.family, p.protocol));
    r.on::<SkbCopyDatagramIovec<'static>>(s, |t, e, p| t.copy(e, p.len));
    r.on::<SockRecvLength<'static>>(s, |t, e, p| t.read(e, p.sk, p.protocol, p.ret, p.flags));
    r.on::<KfreeSkb<'static>>(s, |t, e, _| t.dropped(e));
    r.on::<ConsumeSkb<'static>>(s, |t, e, _| t.forget(e));
    for call in READ_CALLS {
        let format = s.format("syscalls", &format!("sys_exit_{call}"));
        if let Some((f, b)) = format.and_then(|f| Some((f, SysExit::bind(f, s.endian).ok()?))) {
            r.raw(f.id, move |t, e| {
                if SysExit::read(&b, e.payload).is_some() {
                    t.returned(e);
                }
            });
        }
    }
    r
}

impl Ledger<'_> {
    fn state(&mut self, cpu: u16) -> &mut CpuState {
        let at = usize::from(cpu);
        if self.states.len() <= at {
            self.states.resize_with(at + 1, CpuState::default);
        }
        &mut self.states[at]
    }

    fn unit_of(&self, e: &Event<'_>) -> Option<usize> {
        self.open.get(&self.identity.of(e.index)?).copied()
    }

    fn begin(&mut self, e: &Event<'_>, dev: Name, kind: RxStart) -> Option<usize> {
        let id = self.identity.of(e.index)?;
        let i = self.units.len();
        self.units.push(Unit::begin(id, dev, e.cpu, e.ts, kind));
        self.open.insert(id, i);
        Some(i)
    }

    fn queued(&mut self, e: &Event<'_>, dev: Name) {
        // netif_rx follows netif_rx_entry of the same unit
        let again = self.unit_of(e).and_then(|u| self.units.get(u));
        if again.is_none_or(|u| u.recv.is_some() || u.dev != dev) {
            self.begin(e, dev, RxStart::NetifRx);
        }
    }

    fn gro(&mut self, e: &Event<'_>, dev: Name) {
        let run = self.cpus.at(e.cpu).run;
        let Some(i) = self.begin(e, dev, RxStart::Gro) else {
            return;
        };
        let Some(u) = self.units.get_mut(i) else { return };
        u.gro = Some(e.ts);
        let Some(run) = run.filter(|r| r.vec == NET_RX) else {
            return;
        };
        u.softirq = Some(run.start);
        // Only the first poll of a run is known to be the one that the interrupt asked for.
        if let Some((raise, irq)) = run.raise.and_then(|r| Some((r, r.irq?))).filter(|_| run.polls == 0) {
            (u.start, u.start_kind, u.raise) = (irq.entry_ns, RxStart::Irq, Some(raise.ts));
            u.link(Confidence::Strong);
        }
    }

    fn gro_exit(&mut self, e: &Event<'_>, ret: i32) {
        // 0 and 1: merged into another unit, which tells the rest of the story
        if let Some(id) = self.identity.of(e.index).filter(|_| ret == 0 || ret == 1) {
            self.open.remove(&id);
        }
    }

    fn receive(&mut self, e: &Event<'_>, dev: Name, len: u32) {
        let run = self.cpus.at(e.cpu).run.filter(|r| r.vec == NET_RX && e.in_softirq());
        let i = match self.unit_of(e) {
            Some(i) => i,
            None => match self.begin(e, dev, RxStart::Receive) {
                Some(i) => i,
                None => return,
            },
        };
        let Some(u) = self.units.get_mut(i) else { return };
        (u.cpu, u.dev, u.recv_len) = (e.cpu, dev, Some(len));
        if u.recv.is_none() {
            u.recv = Some(e.ts);
            u.softirq = u.softirq.or(run.map(|r| r.start));
        }
        u.unclaimed = true;
        let st = self.state(e.cpu);
        if st.unclaimed.len() >= 4096 {
            st.unclaimed.clear(); // a softirq exit was lost
        }
        st.unclaimed.push(i);
    }

    /// Sent on, or freed: no longer a unit that a socket will read, unless a socket has it already.
    fn forget(&mut self, e: &Event<'_>) {
        if let Some(id) = self.identity.of(e.index)
            && let Some(u) = self.open.remove(&id)
            && let Some(u) = self.units.get_mut(u)
        {
            u.unclaimed = false;
        }
    }

    fn dropped(&mut self, e: &Event<'_>) {
        let Some(i) = self.unit_of(e) else { return };
        self.forget(e);
        let Some(u) = self.units.get(i) else { return };
        if let (Some(c), true) = (u.connection, u.left > 0) {
            *self.out.dropped_bytes.entry(c).or_insert(0) += u64::from(u.left);
            if let Some(f) = self.fifos.get_mut(&Key::Tcp(c)) {
                f.remove(i);
            }
        }
    }

    /// Units received in this run that nobody claimed, still alive.
    fn candidates(&mut self, cpu: u16, fits: impl Fn(&Unit) -> bool) -> Vec<usize> {
        let of = std::mem::take(&mut self.state(cpu).unclaimed);
        let found = of
            .iter()
            .copied()
            .filter(|i| self.units.get(*i).is_some_and(|u| u.unclaimed && fits(u)))
            .collect();
        self.state(cpu).unclaimed = of;
        found
    }

    fn probe(&mut self, e: &Event<'_>, data_len: u16) {
        let probes = &self.tcp.probes;
        while probes.get(self.probe_at).is_some_and(|p| p.0 < e.index) {
            self.probe_at += 1;
        }
        let connection = probes.get(self.probe_at).filter(|p| p.0 == e.index).map(|p| p.1);
        let known = self.unit_of(e);
        let (i, link) = match known {
            Some(i) => (i, Confidence::Certain),
            None if self.identity.of(e.index).is_some() => return,
            // No skb address in the event (before 6.9): the first unclaimed segment of that length in this run.
            None => {
                let fits = |u: &Unit| {
                    u.recv_len
                        .is_some_and(|l| HEADERS.contains(&l.wrapping_sub(payload(data_len, Some(l)))))
                };
                match self.candidates(e.cpu, fits).as_slice() {
                    [] => return,
                    [one] => (*one, Confidence::Strong),
                    [first, ..] => (*first, Confidence::Weak),
                }
            }
        };
        let backlog = e.in_task();
        let Some(u) = self.units.get_mut(i) else { return };
        let bytes = payload(data_len, u.recv_len);
        (u.proto, u.backlog, u.connection, u.unclaimed) = (Some(e.ts), backlog, connection, false);
        (u.bytes, u.left) = (Some(bytes), bytes);
        u.link(link);
        if bytes == 0 {
            self.emit(i, RxEnd::Protocol, Confidence::Certain);
            return;
        }
        let waits_still = self.state(e.cpu).probed.replace(i);
        let Some(c) = connection else { return };
        // The previous segment of this socket was not announced: it may be out of order.
        let unannounced = waits_still
            .and_then(|w| self.units.get(w))
            .is_some_and(|w| w.connection == Some(c) && w.ready.is_none() && w.left > 0);
        let has_ready = self.has_ready;
        let fifo = self.fifos.entry(Key::Tcp(c)).or_default();
        fifo.push(i);
        if unannounced && has_ready {
            fifo.doubt();
        }
    }

    fn ready(&mut self, e: &Event<'_>, sk: u64, family: u16, protocol: u16) {
        if !FAMILIES.contains(&family) {
            return;
        }
        if TCP_PROTOCOLS.contains(&protocol) {
            let connection = self.tcp.sockets.at(sk, e.ts);
            if let Some(i) = self.state(e.cpu).probed.take()
                && let Some(u) = self.units.get_mut(i)
                && u.connection == connection
                && u.ready.is_none()
            {
                u.ready = Some(e.ts);
            }
            return;
        }
        let (i, link) = match self.candidates(e.cpu, |_| true).as_slice() {
            [] => return,
            [one] => (*one, Confidence::Strong),
            [first, ..] => (*first, Confidence::Weak),
        };
        if let Some(u) = self.units.get_mut(i) {
            (u.ready, u.unclaimed) = (Some(e.ts), false);
            u.link(link);
        }
        self.fifos.entry(Key::Other(sk)).or_default().push(i);
    }

    fn copy(&mut self, e: &Event<'_>, len: i32) {
        let c = Copied {
            ts: e.ts,
            skb: self.identity.of(e.index),
            bytes: u32::try_from(len).unwrap_or(0),
        };
        if self.has_length {
            let of = self.copies.entry(e.pid).or_default();
            if of.len() < 65536 {
                of.push(c);
            }
        } else {
            self.settle(e, None, vec![c], None);
        }
    }

    fn read(&mut self, e: &Event<'_>, sk: u64, protocol: u16, ret: i32, flags: i32) {
        let copies = self.copies.remove(&e.pid).unwrap_or_default();
        self.finish_returning(e.pid, None);
        if flags & MSG_PEEK != 0 {
            return;
        }
        let key = match TCP_PROTOCOLS.contains(&protocol) {
            true => self.tcp.sockets.at(sk, e.ts).map(Key::Tcp),
            false => Some(Key::Other(sk)),
        };
        match (key, copies.is_empty(), u32::try_from(ret)) {
            // Taken without a copy event: splice, zero-copy receive.
            (Some(Key::Tcp(_)), true, Ok(bytes)) if bytes > 0 => {
                let whole = vec![Copied {
                    ts: e.ts,
                    skb: None,
                    bytes,
                }];
                self.settle(e, key, whole, Some(e.ts));
            }
            (Some(Key::Other(_)), _, Ok(bytes)) => self.datagram(e, key, bytes, copies.first().map(|c| c.ts)),
            (_, false, _) => self.settle(e, key, copies, Some(e.ts)),
            _ => {}
        }
    }

    /// One read of a datagram socket takes one unit.
    fn datagram(&mut self, e: &Event<'_>, key: Option<Key>, bytes: u32, copy: Option<i64>) {
        let Some(i) = key.and_then(|k| self.fifos.get_mut(&k)).and_then(Fifo::take_first) else {
            return;
        };
        if let Some(u) = self.units.get_mut(i) {
            (u.bytes, u.copy, u.read, u.pid) = (Some(bytes), copy, Some(e.ts), e.pid);
            u.link(Confidence::Strong);
        }
        self.returning.entry(e.pid).or_default().push(i);
    }

    /// Copies of one read of a stream socket take units by their bytes.
    fn settle(&mut self, e: &Event<'_>, key: Option<Key>, copies: Vec<Copied>, read: Option<i64>) {
        for c in copies {
            let named = c.skb.and_then(|id| self.open.get(&id).copied());
            let of_unit = named
                .and_then(|u| self.units.get(u))
                .and_then(|u| u.connection)
                .map(Key::Tcp);
            let Some(fifo) = key.or(of_unit).and_then(|k| self.fifos.get_mut(&k)) else {
                continue;
            };
            let skipped = named.map_or(vec![], |u| fifo.named(u));
            let done = fifo.take(c.bytes, c.ts, &mut self.units);
            for s in skipped {
                self.emit(s, RxEnd::Queued, Confidence::Unknown);
            }
            for i in done {
                if let Some(u) = self.units.get_mut(i) {
                    (u.read, u.pid) = (read, e.pid);
                    // Which bytes a copy took follows from order; only the head is named.
                    u.link(if named == Some(i) {
                        Confidence::Certain
                    } else {
                        Confidence::Strong
                    });
                }
                self.returning.entry(e.pid).or_default().push(i);
            }
        }
    }

    fn returned(&mut self, e: &Event<'_>) {
        self.finish_returning(e.pid, Some(e.ts));
    }

    fn finish_returning(&mut self, pid: i32, exit: Option<i64>) {
        for i in self.returning.remove(&pid).unwrap_or_default() {
            if let Some(u) = self.units.get_mut(i) {
                u.exit = exit;
            }
            self.emit(i, RxEnd::Read, Confidence::Certain);
        }
    }

    fn emit(&mut self, i: usize, end: RxEnd, link: Confidence) {
        let Some(u) = self.units.get_mut(i) else { return };
        u.link(link);
        if let Some(life) = self.identity.life(u.skb) {
            u.link(life.links);
        }
        self.out.rows.push(ledger::row(u, end, self.threads, self.comms));
    }

    fn finish(mut self) -> Receive {
        let mut pids: Vec<i32> = self.returning.keys().copied().collect();
        pids.sort_unstable();
        for pid in pids {
            self.finish_returning(pid, None);
        }
        let fifos = std::mem::take(&mut self.fifos);
        let mut waiting: Vec<usize> = fifos.into_values().flat_map(Fifo::drain).collect();
        waiting.sort_unstable();
        for i in waiting {
            self.emit(i, RxEnd::Queued, Confidence::Certain);
        }
        self.out.rows.sort_by_key(|r| (r.start_ns, r.skb_id));
        self.out
    }
}
