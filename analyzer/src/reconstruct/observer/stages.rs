//! Events inside each stage of the ledgers.

use rayon::prelude::*;

use super::counts::Observer;
use super::tables::ObserverRow;
use crate::reconstruct::receive::tables::{RxEnd, RxRow, STAGES, Stage};
use crate::reconstruct::transmit::Stage as TxStage;
use crate::reconstruct::transmit::tables::TxRow;

/// Where the time of a stage is spent.
enum On {
    /// The unit's CPU.
    Cpu,
    /// The reader's thread.
    Reader,
    /// Something else: another CPU, a wait that no event on the way makes longer.
    Elsewhere,
}

fn on(stage: Stage) -> On {
    match stage {
        Stage::Irq | Stage::SoftirqWait | Stage::PollWait | Stage::Gro => On::Cpu,
        Stage::BatchWait | Stage::Protocol | Stage::Ready | Stage::Wakeup => On::Cpu,
        Stage::ReaderRunning | Stage::Copy | Stage::Return => On::Reader,
        Stage::Rps | Stage::Backlog | Stage::OutOfOrder => On::Elsewhere,
        Stage::ReaderAsleep | Stage::IdleExit | Stage::RunQueue => On::Elsewhere,
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    rows: u64,
    ns: i64,
    events: u64,
}

impl Sum {
    fn join(&mut self, other: Sum) {
        self.rows += other.rows;
        self.ns = self.ns.saturating_add(other.ns);
        self.events = self.events.saturating_add(other.events);
    }
    fn add(&mut self, ns: i64, events: u64) {
        self.rows += 1;
        self.ns = self.ns.saturating_add(ns);
        self.events = self.events.saturating_add(events);
    }
}

/// Rows that one thread takes at a time.
const ROWS: usize = 4096;

/// Visits all rows, several at a time, and adds up their sums.
fn summed<R: Send, const N: usize>(rows: &mut [R], fill: impl Fn(&mut R, &mut [Sum; N]) + Sync) -> [Sum; N] {
    let parts = rows.par_chunks_mut(ROWS).map(|rows| {
        let mut sums = [Sum::default(); N];
        rows.iter_mut().for_each(|r| fill(r, &mut sums));
        sums
    });
    parts.reduce(
        || [Sum::default(); N],
        |mut a, b| {
            a.iter_mut().zip(b).for_each(|(a, b)| a.join(b));
            a
        },
    )
}

/// Fills the rows' `observer_ns` and sums up the stages.
pub fn receive(observer: &Observer<'_>, rows: &mut [RxRow]) -> Vec<ObserverRow> {
    if observer.per_event_ns().is_none() {
        return vec![];
    }
    let fill = |r: &mut RxRow, sums: &mut [Sum; STAGES]| {
        let end = r.start_ns.wrapping_add(r.total_ns);
        let of = |s: Stage| r.stage(s).unwrap_or(0);
        let read = r.end == RxEnd::Read;
        // From its end backwards, since what is in no stage lies before the receive queue.
        let taken = end.wrapping_sub(of(Stage::Copy)).wrapping_sub(of(Stage::Return));
        let queued = match r.rcvq_ns.filter(|_| read) {
            Some(ns) => taken.wrapping_sub(ns),
            None => end,
        };
        let arriving = observer.on_cpu(r.cpu, r.start_ns, queued);
        let reading = if read {
            observer.of_thread(r.pid, queued, end)
        } else {
            0
        };
        let observer_ns = observer.ns(arriving + reading);
        // With time in no stage before it is readable, or on another CPU, it is not known where a stage lies.
        let before = Stage::ALL.into_iter().take_while(|s| *s <= Stage::Ready);
        let known = before.map(of).fold(0i64, i64::wrapping_add);
        let placed = known == queued.wrapping_sub(r.start_ns) && r.stage(Stage::Rps).is_none();
        let mut at = r.start_ns;
        for (stage, sum) in Stage::ALL.into_iter().zip(sums) {
            let Some(ns) = r.stage(stage) else { continue };
            let from = at;
            at = at.wrapping_add(ns);
            let events = match on(stage) {
                On::Cpu if placed => observer.on_cpu(r.cpu, from, at),
                // The states of the reader alternate: what it ran is found by its thread.
                On::Reader if stage == Stage::ReaderRunning => observer.of_thread(r.pid, queued, taken),
                On::Reader if stage == Stage::Copy => observer.of_thread(r.pid, taken, taken.wrapping_add(ns)),
                On::Reader => observer.of_thread(r.pid, end.wrapping_sub(ns), end),
                On::Cpu | On::Elsewhere => continue,
            };
            sum.add(ns, events);
        }
        r.observer_ns = observer_ns;
    };
    let sums = summed(rows, fill);
    let all = Stage::ALL.into_iter().zip(sums).filter(|(_, s)| s.rows > 0);
    all.map(|(stage, sum)| row(observer, "rx", stage.name(), sum)).collect()
}

/// The same for the transmit ledger.
pub fn transmit(observer: &Observer<'_>, rows: &mut [TxRow]) -> Vec<ObserverRow> {
    if observer.per_event_ns().is_none() {
        return vec![];
    }
    let fill = |r: &mut TxRow, [send, driver]: &mut [Sum; 2]| {
        let mut all = 0u64;
        if let Some(ns) = r.stage(TxStage::Send).filter(|_| r.pid > 0) {
            // What the thread does while the segment waits in the write queue is on no way of the segment.
            let asleep = r.stage(TxStage::Sndbuf).unwrap_or(0);
            let handed = r.start_ns.saturating_add(asleep).saturating_add(ns);
            let events = observer.of_thread(r.pid, r.start_ns, handed.min(r.t_sched_ns));
            send.add(ns, events);
            all += events;
        }
        if let (Some(ns), Some(at)) = (r.stage(TxStage::Driver), r.t_snd_ns) {
            let events = observer.on_cpu(r.cpu, at, at.saturating_add(ns));
            driver.add(ns, events);
            all += events;
        }
        r.observer_ns = observer.ns(all);
    };
    let [send, driver] = summed(rows, fill);
    let all = [(TxStage::Send, send), (TxStage::Driver, driver)];
    let all = all.into_iter().filter(|(_, s)| s.rows > 0);
    all.map(|(stage, sum)| row(observer, "tx", stage.name(), sum)).collect()
}

fn row(observer: &Observer<'_>, ledger: &'static str, stage: &'static str, sum: Sum) -> ObserverRow {
    let observer_ns = observer.ns(sum.events).unwrap_or(0);
    ObserverRow {
        ledger,
        stage,
        rows: sum.rows,
        ns: sum.ns,
        events: sum.events,
        observer_ns,
        share: share_of(observer_ns, sum.ns),
    }
}

/// The recording's share of a time; `None` of no time.
pub fn share_of(observer_ns: i64, ns: i64) -> Option<f64> {
    (ns > 0).then(|| observer_ns as f64 / ns as f64)
}
