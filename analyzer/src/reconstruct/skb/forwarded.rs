//! What the host's forwarding path took of a CPU for a packet: routing, netfilter, bridging (net/ipv4/ip_forward.c, net/bridge/br_forward.c).
//!
//! ```text
//! CPU 1, one softirq run: netif_receive_skb(wan0) A ─ netif_receive_skb(wan0) B ─┬─ net_dev_queue(dmz0) A ─ .. xmit A .. ─┬─ net_dev_queue(dmz0) B
//!                                                                               └ A's                                    └ B's
//! ```
//! From the reception to the queue of the device that it leaves by, less what other packets had of the CPU meanwhile: its time begins with the last event of
//! another packet on that CPU. Packets of a batch (`netif_receive_skb_list`) are all received before the first goes on, and PREROUTING is walked for all of them then
//! (`ip_list_rcv`): what they took together is told evenly, a mean for each.
//! Only where both steps are in one softirq run on one CPU: what waited for a neighbour, a tunnel's worker or a program (NFQUEUE) is none.

use crate::facts::SkbId;
use crate::ingest::Event;
use crate::name::Name;

/// A packet that was received and queued on a device in one softirq run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Forwarded {
    /// Which.
    pub skb: SkbId,
    /// CPU.
    pub cpu: u16,
    /// Device that received it, the last before.
    pub from: Name,
    /// Device that it was queued on.
    pub to: Name,
    /// `net_dev_queue`.
    pub at_ns: i64,
    /// Time that was its own, or its part of its batch's, ns; hard interrupts are in it.
    pub ns: i64,
}

/// The last packets of a CPU's events.
#[derive(Debug, Clone)]
struct OnCpu {
    last: Option<SkbId>,
    last_ns: i64,
    /// Last event of another one before it.
    other_ns: i64,
    /// When the first packet of the last batch went on: what was received before is of it.
    batch_ns: i64,
    /// Places of that batch's packets in the rows.
    batch: Vec<usize>,
}

/// Of all CPUs.
#[derive(Debug, Default)]
pub(super) struct Forwards {
    cpus: Vec<OnCpu>,
    /// In time order.
    rows: Vec<Forwarded>,
}

const NOTHING: OnCpu = OnCpu {
    last: None,
    last_ns: i64::MIN,
    other_ns: i64::MIN,
    batch_ns: i64::MIN,
    batch: Vec::new(),
};

/// A batch's packets have the mean of them all; what does not divide is the first one's.
fn share(rows: &mut [Forwarded], batch: &mut Vec<usize>) {
    let own = batch.iter().filter_map(|at| rows.get(*at)).map(|r| r.ns);
    let (all, n) = (own.fold(0, i64::saturating_add), batch.len() as i64);
    for (nth, at) in batch.drain(..).enumerate() {
        if let Some(row) = rows.get_mut(at) {
            row.ns = all / n + if nth == 0 { all % n } else { 0 };
        }
    }
}

impl Forwards {
    fn on(&mut self, cpu: u16) -> Option<&mut OnCpu> {
        let at = usize::from(cpu);
        if self.cpus.len() <= at {
            self.cpus.resize(at + 1, NOTHING);
        }
        self.cpus.get_mut(at)
    }
    /// An event is a packet's.
    pub(super) fn seen(&mut self, e: &Event<'_>, id: SkbId) {
        let Some(of) = self.on(e.cpu) else { return };
        if of.last != Some(id) {
            (of.last, of.other_ns) = (Some(id), of.last_ns);
        }
        of.last_ns = e.ts;
    }
    /// A packet received at `received_ns` in this run is queued; its event was [`Forwards::seen`].
    pub(super) fn goes_on(&mut self, e: &Event<'_>, skb: SkbId, received_ns: i64, (from, to): (Name, Name)) {
        let nth = self.rows.len();
        self.rows.push(Forwarded {
            skb,
            cpu: e.cpu,
            from,
            to,
            at_ns: e.ts,
            ns: 0,
        });
        let at = usize::from(e.cpu);
        let (Some(of), Some(row)) = (self.cpus.get_mut(at), self.rows.get_mut(nth)) else {
            return;
        };
        row.ns = e.ts.saturating_sub(received_ns.max(of.other_ns));
        if received_ns >= of.batch_ns {
            share(&mut self.rows, &mut of.batch);
            of.batch_ns = e.ts;
        }
        of.batch.push(nth);
    }
    /// All of them, when nothing comes any more.
    pub(super) fn all(mut self) -> Vec<Forwarded> {
        for of in &mut self.cpus {
            share(&mut self.rows, &mut of.batch);
        }
        self.rows
    }
    /// Events of a CPU were lost.
    pub(super) fn forget(&mut self, cpu: u16) {
        if let Some(of) = self.cpus.get_mut(usize::from(cpu)) {
            share(&mut self.rows, &mut of.batch);
            *of = NOTHING;
        }
    }
}
