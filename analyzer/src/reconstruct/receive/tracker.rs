//! The machine: how units arrive and which socket claims them.

use rustc_hash::FxHashMap;

use super::cpu::{CpuState, SoftirqClock};
use super::fifo::Fifo;
use super::ledger::{self, Asks};
use super::tables::{ReadBy, RxEnd, RxRow, RxStart};
use super::unit::{Unit, payload};
use crate::confidence::Confidence;
use crate::facts::{ConnectionId, SkbId};
use crate::ingest::{Event, GapRow};
use crate::name::Name;
use crate::reconstruct::context::{Cpus, Run};
use crate::reconstruct::dispatch::Tracker;
use crate::reconstruct::skb::Identity;
use crate::reconstruct::softirq::tables::NET_RX;
use crate::reconstruct::tcp::Tcp;

/// IPPROTO_TCP and IPPROTO_MPTCP: sockets whose units are claimed by tcp_probe.
pub(super) const TCP_PROTOCOLS: [u16; 2] = [6, 262];
/// Address families whose sockets receive packets of devices: AF_INET, AF_INET6.
const FAMILIES: [u16; 2] = [2, 10];
/// IP and TCP headers of a segment: smallest and largest sum.
const HEADERS: std::ops::RangeInclusive<u32> = 40..=140;

/// Longer than a softirq run lasts (net.core.netdev_budget_usecs), where its end is not recorded.
const RUN_NS: i64 = 20_000_000;

/// What the tracker found.
#[derive(Debug, Default)]
pub struct Receive {
    /// View `rx`, by start.
    pub rows: Vec<RxRow>,
    /// Payload that TCP dropped after tcp_probe had counted it, bytes by connection.
    pub dropped_bytes: FxHashMap<ConnectionId, u64>,
    /// Payload that tcp_probe's 16 bits of length do not show, bytes by connection.
    pub unshown_bytes: FxHashMap<ConnectionId, u64>,
    /// What the capture lacks.
    pub missing: Vec<String>,
}

/// A socket as a reader names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Key {
    Tcp(ConnectionId),
    Other(u64),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Copied {
    pub(super) ts: i64,
    /// The softirq clock of the CPU then.
    pub(super) clock: Option<SoftirqClock>,
    pub(super) by: ReadBy,
    /// The unit named; `None`: no copy event, the whole read in one.
    pub(super) unit: Option<NamedUnit>,
    pub(super) bytes: u32,
}

/// The unit that a copy event names, when there is one: as of the copy, since by the time the read returns the skb may
/// have been freed on the CPU that allocated it.
pub(super) type NamedUnit = Option<usize>;

/// Units read whose system call has not returned.
#[derive(Debug, Default)]
pub(super) struct Returning {
    /// What it will return, bytes.
    pub(super) ret: i64,
    pub(super) units: Vec<usize>,
}

/// The machine's state.
pub(super) struct Ledger<'f> {
    pub(super) identity: &'f Identity,
    pub(super) tcp: &'f Tcp,
    pub(super) asks: Asks<'f>,
    pub(super) cpus: Cpus,
    pub(super) states: Vec<CpuState>,
    pub(super) units: Vec<Unit>,
    pub(super) open: FxHashMap<SkbId, usize>,
    pub(super) fifos: FxHashMap<Key, Fifo>,
    pub(super) copies: FxHashMap<i32, Vec<Copied>>,
    pub(super) returning: FxHashMap<i32, Returning>,
    /// Units taken for read because a later one was, on kernels that do not say which were held.
    pub(super) passed: Vec<usize>,
    /// Events were lost: sockets may hold what was not seen to arrive.
    pub(super) after_gap: bool,
    pub(super) probe_at: usize,
    pub(super) has_ready: bool,
    pub(super) has_length: bool,
    /// softirq_entry and softirq_exit are recorded.
    pub(super) has_softirq: bool,
    pub(super) out: Receive,
}

impl Tracker for Ledger<'_> {
    fn gap(&mut self, gap: &GapRow) {
        // Reads and arrivals may be missing: what waits is no longer known to wait, what is in flight no longer to be so.
        let fifos = std::mem::take(&mut self.fifos);
        let mut waiting: Vec<(usize, Confidence)> = fifos.into_values().flat_map(Fifo::drain).collect();
        waiting.sort_unstable();
        for (u, _) in waiting {
            self.emit(u, RxEnd::Queued, Confidence::Unknown);
        }
        self.flush_returning();
        self.after_gap = true;
        self.open.clear();
        self.copies.clear();
        self.states.clear();
        self.cpus.at(gap.cpu as u16).forget();
    }
}

impl Ledger<'_> {
    pub(super) fn state(&mut self, cpu: u16) -> &mut CpuState {
        let at = usize::from(cpu);
        if self.states.len() <= at {
            self.states.resize_with(at + 1, CpuState::default);
        }
        &mut self.states[at]
    }

    pub(super) fn unit_of(&self, e: &Event<'_>) -> Option<usize> {
        self.open.get(&self.identity.of(e.index)?).copied()
    }

    pub(super) fn begin(&mut self, e: &Event<'_>, dev: Name, kind: RxStart) -> Option<usize> {
        let id = self.identity.of(e.index)?;
        let i = self.units.len();
        self.units.push(Unit::begin(id, dev, e.cpu, e.ts, kind));
        self.open.insert(id, i);
        Some(i)
    }

    pub(super) fn queued(&mut self, e: &Event<'_>, dev: Name) {
        // netif_rx follows netif_rx_entry of the same unit
        let again = self.unit_of(e).and_then(|u| self.units.get(u));
        if again.is_none_or(|u| u.recv.is_some() || u.dev != dev) {
            self.begin(e, dev, RxStart::NetifRx);
        }
    }

    pub(super) fn gro(&mut self, e: &Event<'_>, dev: Name) {
        let run = self.net_rx(e);
        let Some(i) = self.begin(e, dev, RxStart::Gro) else {
            return;
        };
        let nth = self.next_in_poll(e.cpu);
        self.state(e.cpu).in_gro.push(i);
        let Some(u) = self.units.get_mut(i) else { return };
        u.gro = Some(e.ts);
        let Some(run) = run else { return };
        (u.softirq, u.poll_nth, u.unit_nth) = (Some(run.start), Some(run.polls), Some(nth));
        // Only the first poll of a run is known to be the one that the interrupt asked for.
        if let Some((raise, irq)) = run.raise.and_then(|r| Some((r, r.irq?))).filter(|_| run.polls == 0) {
            (u.start, u.start_kind, u.raise) = (irq.entry_ns, RxStart::Irq, Some(raise.ts));
            u.link(Confidence::Strong);
        }
    }

    /// The NET_RX run that an event is in.
    fn net_rx(&mut self, e: &Event<'_>) -> Option<Run> {
        let run = self.cpus.at(e.cpu).run;
        run.filter(|r| r.vec == NET_RX && e.in_softirq())
    }

    fn next_in_poll(&mut self, cpu: u16) -> u32 {
        let st = self.state(cpu);
        let nth = st.in_poll;
        st.in_poll = nth.saturating_add(1);
        nth
    }

    pub(super) fn gro_exit(&mut self, e: &Event<'_>, ret: i32) {
        // 0 and 1: merged into another unit, which tells the rest of the story
        if let Some(id) = self.identity.of(e.index).filter(|_| ret == 0 || ret == 1) {
            self.open.remove(&id);
            let st = self.state(e.cpu);
            st.in_poll = st.in_poll.saturating_sub(1);
        }
    }

    /// A poll ended: what it left in GRO or in its list was delivered by now, to this CPU or to another.
    pub(super) fn poll_end(&mut self, e: &Event<'_>) {
        self.cpus.at(e.cpu).poll_end(e);
        let st = self.state(e.cpu);
        st.in_poll = 0;
        for i in std::mem::take(&mut st.in_gro) {
            if let Some(u) = self.units.get_mut(i).filter(|u| u.recv.is_none()) {
                u.poll_end = Some(e.ts);
            }
        }
    }

    pub(super) fn softirq_exit(&mut self, e: &Event<'_>, vec: u32) {
        let run = self.cpus.at(e.cpu).softirq_exit(vec);
        let st = self.state(e.cpu);
        if let Some(run) = run {
            st.ran(e.ts.wrapping_sub(run.start));
        }
        st.unclaimed.clear();
        st.in_gro.clear();
        st.in_poll = 0;
    }

    pub(super) fn receive(&mut self, e: &Event<'_>, dev: Name, len: u32) {
        let run = self.net_rx(e);
        let i = match self.unit_of(e) {
            Some(i) => i,
            None => match self.begin(e, dev, RxStart::Receive) {
                Some(i) => i,
                None => return,
            },
        };
        let Some(u) = self.units.get_mut(i) else { return };
        (u.cpu, u.dev, u.recv_len) = (e.cpu, dev, Some(len));
        // Traced again when a bridge or a tunnel re-injects it.
        let again = u.recv.is_some();
        let counted = u.unit_nth.is_some();
        if !again {
            u.recv = Some(e.ts);
            u.recv_in_task = e.in_task();
            u.recv_softirq = run.map(|r| r.start);
        }
        u.unclaimed = true;
        let nth = if again || counted { 0 } else { self.next_in_poll(e.cpu) };
        if let (Some(run), Some(u), false) = (run, self.units.get_mut(i), again || counted) {
            (u.poll_nth, u.unit_nth) = (Some(run.polls), Some(nth));
        }
        let st = self.state(e.cpu);
        if !again && st.processed.take().is_some() {
            // Bursts are received whole, then processed: those before are through, claimed or not.
            st.unclaimed.clear();
        }
        if st.unclaimed.len() >= 4096 {
            st.unclaimed.clear(); // a softirq exit was lost
        }
        if !again || !st.unclaimed.contains(&i) {
            st.unclaimed.push(i);
        }
    }

    /// Something happened to a packet that was received before on this CPU: sent on, freed, announced, a reader woken.
    pub(super) fn processed(&mut self, e: &Event<'_>) {
        if !e.in_hardirq() {
            self.state(e.cpu).processed = Some(e.ts);
        }
    }

    /// Sent on, or freed: no longer a unit that a socket will read, unless a socket has it already.
    pub(super) fn forget(&mut self, e: &Event<'_>) {
        if let Some(id) = self.identity.of(e.index)
            && let Some(u) = self.open.remove(&id)
            && let Some(u) = self.units.get_mut(u)
        {
            u.unclaimed = false;
        }
    }

    pub(super) fn dropped(&mut self, e: &Event<'_>) {
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
    pub(super) fn candidates(&mut self, e: &Event<'_>, fits: impl Fn(&Unit) -> bool) -> Vec<usize> {
        let cpu = e.cpu;
        let fits = |u: &Unit| u.recv.is_some_and(|t| e.ts - t <= RUN_NS) && fits(u);
        let of = std::mem::take(&mut self.state(cpu).unclaimed);
        let found = of
            .iter()
            .copied()
            .filter(|i| self.units.get(*i).is_some_and(|u| u.unclaimed && fits(u)))
            .collect();
        self.state(cpu).unclaimed = of;
        found
    }

    pub(super) fn probe(&mut self, e: &Event<'_>, data_len: u16) {
        let probes = &self.tcp.probes;
        while probes.get(self.probe_at).is_some_and(|p| p.0 < e.index) {
            self.probe_at += 1;
        }
        let connection = probes.get(self.probe_at).filter(|p| p.0 == e.index).map(|p| p.1);
        let before = self.state(e.cpu).processed.replace(e.ts);
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
                match self.candidates(e, fits).as_slice() {
                    [] => return,
                    [one] => (*one, Confidence::Strong),
                    [first, ..] => (*first, Confidence::Weak),
                }
            }
        };
        let Some(u) = self.units.get_mut(i) else { return };
        let backlog = e.in_task() && !u.recv_in_task;
        if !backlog && u.cpu == e.cpu {
            u.through = before.filter(|t| u.recv.is_some_and(|r| *t > r));
        }
        let bytes = payload(data_len, u.recv_len);
        (u.proto, u.backlog, u.connection, u.unclaimed) = (Some(e.ts), backlog, connection, false);
        (u.bytes, u.left) = (Some(bytes), bytes);
        let unshown = u64::from(bytes.saturating_sub(u32::from(data_len)));
        if let (Some(c), 1..) = (connection, unshown) {
            *self.out.unshown_bytes.entry(c).or_insert(0) += unshown;
        }
        let Some(u) = self.units.get_mut(i) else { return };
        u.link(link);
        if bytes == 0 {
            self.emit(i, RxEnd::Protocol, Confidence::Certain);
            return;
        }
        *self.state(e.cpu).probed(e) = Some(i);
        let Some(c) = connection else { return };
        let (has_ready, aligned) = (self.has_ready, !self.after_gap);
        let fifo = self.fifos.entry(Key::Tcp(c)).or_insert_with(|| Fifo::new(aligned));
        // The segment before it was not announced: it may be out of order.
        let before = fifo.last().and_then(|w| self.units.get(w));
        let unannounced = before.is_some_and(|w| w.ready.is_none() && w.left > 0);
        fifo.push(i);
        if has_ready {
            fifo.expect(i);
        }
        if unannounced && has_ready {
            fifo.doubt();
        }
    }

    pub(super) fn ready(&mut self, e: &Event<'_>, sk: u64, family: u16, protocol: u16) {
        if !FAMILIES.contains(&family) {
            return;
        }
        let before = self.state(e.cpu).processed.replace(e.ts);
        if TCP_PROTOCOLS.contains(&protocol) {
            let connection = self.tcp.sockets.at(sk, e.ts);
            // Another socket's announcement (a listener, a second connection) is not this segment's.
            let probed = *self.state(e.cpu).probed(e);
            let of = |i: usize| self.units.get(i).and_then(|u| u.connection);
            let (Some(i), Some(c)) = (probed.filter(|i| of(*i) == connection), connection) else {
                return;
            };
            *self.state(e.cpu).probed(e) = None;
            // Segments that came before this one and were not announced then waited for it.
            let announced = self.fifos.get_mut(&Key::Tcp(c)).map_or(vec![], Fifo::announce);
            for a in announced {
                if let Some(u) = self.units.get_mut(a).filter(|u| u.ready.is_none()) {
                    (u.ready, u.held) = (Some(e.ts), a != i);
                }
            }
            return;
        }
        let (i, link) = match self.candidates(e, |_| true).as_slice() {
            [] => return,
            [one] => (*one, Confidence::Strong),
            [first, ..] => (*first, Confidence::Weak),
        };
        if let Some(u) = self.units.get_mut(i) {
            (u.ready, u.unclaimed) = (Some(e.ts), false);
            u.through = before.filter(|t| u.recv.is_some_and(|r| *t > r));
            u.link(link);
        }
        let aligned = !self.after_gap;
        let fifo = self.fifos.entry(Key::Other(sk)).or_insert_with(|| Fifo::new(aligned));
        fifo.push(i);
    }

    pub(super) fn emit(&mut self, i: usize, end: RxEnd, link: Confidence) {
        let Some(u) = self.units.get_mut(i) else { return };
        u.link(link);
        if let Some(life) = self.identity.life(u.skb) {
            u.link(life.links);
        }
        self.out.rows.push(ledger::row(u, end, &self.asks));
    }
}
