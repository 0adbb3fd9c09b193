//! From the first event of a unit to `netif_receive_skb`.

use super::tables::RxStart;
use super::tracker::Ledger;
use super::unit::Unit;
use super::units::UnitId;
use crate::confidence::Confidence;
use crate::ingest::Event;
use crate::name::Name;
use crate::reconstruct::context::Run;
use crate::reconstruct::softirq::tables::NET_RX;

/// Units of one burst whose sockets are looked for, at most.
const BURST: usize = 4096;

impl Ledger<'_> {
    pub(super) fn begin(&mut self, e: &Event<'_>, dev: Name, kind: RxStart) -> Option<UnitId> {
        let skb = self.identity.of(e.index)?;
        self.sweep(e.ts);
        self.now = e.ts;
        let id = self.units.add(Unit::begin(skb, dev, e.cpu, e.ts, kind));
        // The same packet by another device (a tunnel, a veth): before that it waited in no backlog.
        if let Some(before) = self.open.insert(skb, id) {
            self.close(before);
        }
        Some(id)
    }

    /// The flow hash of an skb, which an entry event shows.
    pub(super) fn hashed(&mut self, e: &Event<'_>, hash: u32) {
        if let Some(u) = self.unit_of(e).and_then(|id| self.units.get_mut(id)) {
            u.hash = hash;
        }
    }

    pub(super) fn queued(&mut self, e: &Event<'_>, dev: Name) {
        // netif_rx follows netif_rx_entry of the same unit
        let again = self.unit_of(e).and_then(|u| self.units.get(u));
        if again.is_none_or(|u| u.recv.is_some() || u.dev != dev) {
            self.begin(e, dev, RxStart::NetifRx);
        }
    }

    /// `netif_receive_skb_entry`: before RPS chooses a CPU.
    pub(super) fn handed_in(&mut self, e: &Event<'_>, dev: Name) {
        if self.unit_of(e).is_none() {
            self.begin(e, dev, RxStart::Receive);
        }
    }

    pub(super) fn gro(&mut self, e: &Event<'_>, dev: Name) {
        let run = self.net_rx(e);
        let Some(id) = self.begin(e, dev, RxStart::Gro) else {
            return;
        };
        let nth = self.next_in_poll(e.cpu);
        self.state(e.cpu).in_gro.push(id);
        let Some(u) = self.units.get_mut(id) else { return };
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
    pub(super) fn net_rx(&mut self, e: &Event<'_>) -> Option<Run> {
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
        let merged = self.identity.of(e.index).filter(|_| ret == 0 || ret == 1);
        if let Some(id) = merged.and_then(|skb| self.open.remove(&skb)) {
            self.close(id);
            let st = self.state(e.cpu);
            st.in_poll = st.in_poll.saturating_sub(1);
        }
    }

    /// A poll ended: what it left in GRO or in its list was delivered by now, to this CPU or to another.
    pub(super) fn poll_end(&mut self, e: &Event<'_>) {
        self.cpus.at(e.cpu).poll_end(e);
        let st = self.state(e.cpu);
        st.in_poll = 0;
        for id in std::mem::take(&mut st.in_gro) {
            if let Some(u) = self.units.get_mut(id).filter(|u| u.recv.is_none()) {
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
        let over = st.softirq_over();
        self.put_aside(over, e.ts);
    }

    pub(super) fn receive(&mut self, e: &Event<'_>, dev: Name, len: u32) {
        let run = self.net_rx(e);
        let id = match self.unit_of(e) {
            Some(id) => id,
            None => match self.begin(e, dev, RxStart::Receive) {
                Some(id) => id,
                None => return,
            },
        };
        let Some(u) = self.units.get_mut(id) else { return };
        (u.cpu, u.dev, u.recv_len) = (e.cpu, dev, Some(len));
        // Traced again when a bridge or a tunnel re-injects it.
        let again = u.recv.is_some();
        let counted = again || u.unit_nth.is_some();
        if !again {
            u.recv = Some(e.ts);
            u.recv_in_task = e.in_task();
            u.recv_softirq = run.map(|r| r.start);
        }
        u.unclaimed = true;
        let nth = if counted { 0 } else { self.next_in_poll(e.cpu) };
        if let (Some(run), Some(u), false) = (run, self.units.get_mut(id), counted) {
            (u.poll_nth, u.unit_nth) = (Some(run.polls), Some(nth));
        }
        let st = self.state(e.cpu);
        // Bursts are received whole, then processed: those before are through, claimed or not. More than a burst: a softirq
        // exit was lost.
        if (!again && st.processed.take().is_some()) || st.unclaimed.len() >= BURST {
            let over = std::mem::take(&mut st.unclaimed);
            self.put_aside(over, e.ts);
        }
        let st = self.state(e.cpu);
        if !again || !st.unclaimed.contains(&id) {
            st.unclaimed.push(id);
        }
    }

    /// Something happened to a packet that was received before on this CPU: sent on, freed, announced, a reader woken.
    pub(super) fn processed(&mut self, e: &Event<'_>) {
        if !e.in_hardirq() {
            self.state(e.cpu).processed = Some(e.ts);
        }
    }
}
