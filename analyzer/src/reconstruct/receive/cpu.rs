//! What the ledger keeps of one CPU besides its softirq run.

use super::units::UnitId;
use crate::ingest::Event;

/// One CPU.
#[derive(Debug, Default)]
pub struct CpuState {
    /// Units received here that no socket has claimed, of the burst being processed.
    pub unclaimed: Vec<UnitId>,
    /// Unit of the last tcp_probe while it waits for its sk_data_ready: in a task (a socket's backlog), in softirq.
    probed: [Option<UnitId>; 2],
    /// The last segment with payload that TCP processed here; likewise.
    last: [Option<UnitId>; 2],
    /// Units that the current poll began with.
    pub in_poll: u32,
    /// Units that entered GRO in the current poll, for the time it ends.
    pub in_gro: Vec<UnitId>,
    /// The last event of a unit's processing, of those received before.
    pub processed: Option<i64>,
    /// Softirq time so far, ns; only differences mean something.
    softirq_ns: i64,
}

/// A CPU's softirq clock at a moment.
#[derive(Debug, Clone, Copy)]
pub struct SoftirqClock {
    cpu: u16,
    ns: i64,
}

impl CpuState {
    /// The slot of the context that an event is in.
    pub fn probed(&mut self, e: &Event<'_>) -> &mut Option<UnitId> {
        let [task, softirq] = &mut self.probed;
        if e.in_softirq() { softirq } else { task }
    }
    /// Likewise.
    pub fn last(&mut self, e: &Event<'_>) -> &mut Option<UnitId> {
        let [task, softirq] = &mut self.last;
        if e.in_softirq() { softirq } else { task }
    }
    /// A softirq ended: what was under way in it is over. Returns what nobody claimed.
    pub fn softirq_over(&mut self) -> Vec<UnitId> {
        self.in_gro.clear();
        self.in_poll = 0;
        (self.probed[1], self.last[1]) = (None, None);
        std::mem::take(&mut self.unclaimed)
    }
    /// A softirq ran.
    pub fn ran(&mut self, ns: i64) {
        self.softirq_ns = self.softirq_ns.wrapping_add(ns);
    }
    /// Reads the clock; the CPU is the event's.
    pub fn clock(&self, cpu: u16) -> SoftirqClock {
        SoftirqClock {
            cpu,
            ns: self.softirq_ns,
        }
    }
}

impl SoftirqClock {
    /// Whose it is.
    pub fn cpu(&self) -> u16 {
        self.cpu
    }
    /// Softirq time since an earlier reading, ns; `None`: the thread moved to another CPU.
    pub fn since(&self, earlier: &SoftirqClock) -> Option<i64> {
        (self.cpu == earlier.cpu).then(|| self.ns.wrapping_sub(earlier.ns))
    }
}
