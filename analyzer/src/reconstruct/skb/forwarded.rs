//! What the host's forwarding path took of a CPU for a packet: routing, netfilter, bridging (net/ipv4/ip_forward.c, net/bridge/br_forward.c).
//!
//! ```text
//! CPU 1, one softirq run: netif_receive_skb(wan0) A ─ netif_receive_skb(wan0) B ─┬─ net_dev_queue(dmz0) A ─ .. xmit A .. ─┬─ net_dev_queue(dmz0) B
//!                                                                               └ A's                                    └ B's
//! ```
//! From the reception to the queue of the device that it leaves by, less what other packets had of the CPU meanwhile: its time begins with the last event of
//! another packet on that CPU (packets of a batch are all received before the first goes on, so what is done for the batch is the first one's).
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
    /// Time that was its own, ns; hard interrupts are in it.
    pub ns: i64,
}

/// The last packets of a CPU's events.
#[derive(Debug, Clone, Copy)]
struct OnCpu {
    last: Option<SkbId>,
    last_ns: i64,
    /// Last event of another one before it.
    other_ns: i64,
}

/// Of all CPUs.
#[derive(Debug, Default)]
pub(super) struct Forwards {
    cpus: Vec<OnCpu>,
    /// In time order.
    pub(super) rows: Vec<Forwarded>,
}

const NOTHING: OnCpu = OnCpu {
    last: None,
    last_ns: i64::MIN,
    other_ns: i64::MIN,
};

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
        let other_ns = self.on(e.cpu).map_or(i64::MIN, |of| of.other_ns);
        self.rows.push(Forwarded {
            skb,
            cpu: e.cpu,
            from,
            to,
            at_ns: e.ts,
            ns: e.ts.saturating_sub(received_ns.max(other_ns)),
        });
    }
    /// Events of a CPU were lost.
    pub(super) fn forget(&mut self, cpu: u16) {
        if let Some(of) = self.on(cpu) {
            *of = NOTHING;
        }
    }
}
