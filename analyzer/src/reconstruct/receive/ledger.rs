//! From the times of a unit to its row: differences of neighbours, and what is in none of them.

use super::tables::{RxEnd, RxRow, RxStart, STAGES, Stage};
use super::unit::Unit;
use crate::name::Name;
use crate::reconstruct::comms::Comms;
use crate::reconstruct::thread::Threads;

/// Writes the row. A stage is `None` when it did not happen or its ends are not known; the rest is unattributed, so the
/// parts sum to the total by construction. Nothing is clamped: a negative stage is the clocks' error and is shown.
pub fn row(u: &Unit, end: RxEnd, threads: &Threads, comms: &Comms) -> RxRow {
    let mut stages = [None; STAGES];
    let mut set = |s: Stage, v: Option<i64>| {
        if let Some(slot) = stages.get_mut(s as usize) {
            *slot = v;
        }
    };
    let between = |from: Option<i64>, to: Option<i64>| from.zip(to).map(|(a, b)| b - a);
    let in_poll = u.gro.or(u.recv);
    match u.start_kind {
        RxStart::Irq => {
            set(Stage::Irq, between(Some(u.start), u.raise));
            set(Stage::SoftirqWait, between(u.raise, u.softirq));
            set(Stage::PollWait, between(u.softirq, in_poll));
        }
        RxStart::NetifRx => match u.softirq {
            Some(s) if s >= u.start => {
                set(Stage::SoftirqWait, Some(s - u.start));
                set(Stage::PollWait, between(Some(s), in_poll));
            }
            // The softirq was running when the packet was queued.
            Some(_) => set(Stage::PollWait, between(Some(u.start), in_poll)),
            None => {}
        },
        RxStart::Gro | RxStart::Receive => {}
    }
    set(Stage::Gro, between(u.gro, u.recv));
    let protocol = if u.backlog { Stage::Backlog } else { Stage::Protocol };
    set(protocol, between(u.recv, u.proto.or(u.ready)));
    let readable = if u.held { Stage::OutOfOrder } else { Stage::Ready };
    set(readable, between(u.proto, u.ready));
    let queued = u.ready.or(u.proto).or(u.recv).unwrap_or(u.start);
    let mut rcvq_ns = None;
    let mut last = queued;
    if end == RxEnd::Read {
        let taken = u.copy.or(u.read).unwrap_or(queued);
        rcvq_ns = Some(taken - queued);
        if u.pid > 0 {
            let s = threads.split(u.pid, queued, taken);
            if s.unknown_ns == 0 {
                set(Stage::ReaderAsleep, Some(s.asleep_ns));
                set(Stage::Wakeup, Some(s.waking_ns));
                set(Stage::RunQueue, Some(s.runnable_ns));
                set(Stage::ReaderRunning, Some(s.running_ns));
            }
        }
        set(Stage::Copy, between(u.copy, u.read));
        set(Stage::Return, between(u.read.or(u.copy), u.exit));
        last = u.exit.or(u.read).unwrap_or(taken);
    }
    let total_ns = last - u.start;
    // Times of a damaged recording may lie centuries apart; modulo 2^64 the parts still sum to the total.
    let attributed = stages.iter().flatten().fold(0i64, |sum, ns| sum.wrapping_add(*ns));
    RxRow {
        skb_id: u.skb,
        dev: u.dev,
        cpu: u.cpu,
        connection: u.connection,
        task: if u.pid > 0 {
            comms.at(u.pid, last)
        } else {
            Name::default()
        },
        pid: u.pid,
        bytes: u.bytes,
        start_ns: u.start,
        start: u.start_kind,
        total_ns,
        end,
        unattributed_ns: total_ns.wrapping_sub(attributed),
        stages,
        rcvq_ns,
        confidence: u.confidence,
    }
}
