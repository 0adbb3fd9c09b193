//! Events inside each stage of the ledgers.

use rayon::prelude::*;

use super::counts::{Near, Observer};
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
        Stage::Rps | Stage::Preempted | Stage::Backlog | Stage::OutOfOrder => On::Elsewhere,
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

/// Stages up to the last that may be spent on the unit's CPU.
const ON_CPU: usize = Stage::Wakeup as usize + 1;

/// Rows that one thread takes at a time.
const ROWS: usize = 4096;

/// Visits all rows, several at a time, and adds up their sums.
fn summed<R: Send, const N: usize>(rows: &mut [R], fill: impl Fn(&mut R, &mut [Sum; N], &mut Near) + Sync) -> [Sum; N] {
    let parts = rows.par_chunks_mut(ROWS).map(|rows| {
        let (mut sums, mut near) = ([Sum::default(); N], Near::default());
        rows.iter_mut().for_each(|r| fill(r, &mut sums, &mut near));
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
    let fill = |r: &mut RxRow, sums: &mut [Sum; STAGES], near: &mut Near| {
        let end = r.start_ns.wrapping_add(r.total_ns);
        let of = |s: Stage| r.stage(s).unwrap_or(0);
        let read = r.end == RxEnd::Read;
        // From its end backwards, since what is in no stage lies before the receive queue.
        let taken = end.wrapping_sub(of(Stage::Copy)).wrapping_sub(of(Stage::Return));
        let queued = match r.rcvq_ns.filter(|_| read) {
            Some(ns) => taken.wrapping_sub(ns),
            None => end,
        };
        // With time in no stage before it is readable, or on another CPU, it is not known where a stage lies.
        let before = Stage::ALL.into_iter().take_while(|s| *s <= Stage::Ready);
        let known = before.map(of).fold(0i64, i64::wrapping_add);
        let placed = known == queued.wrapping_sub(r.start_ns) && r.stage(Stage::Rps).is_none();
        // Where the stages on its CPU begin, one behind the other.
        let mut begins = [r.start_ns; ON_CPU + 1];
        let mut at = r.start_ns;
        for (begin, stage) in begins.iter_mut().skip(1).zip(Stage::ALL).filter(|_| placed) {
            at = at.wrapping_add(of(stage));
            *begin = at;
        }
        // While it was held it was on no CPU: what these did then is not its own.
        let held = of(Stage::Backlog).wrapping_add(of(Stage::OutOfOrder));
        let came = queued.wrapping_sub(held).max(r.start_ns);
        let [first, readable] = observer.before_on_cpu(r.cpu, [r.start_ns, came], near);
        let on_cpu = observer.before_on_cpu(r.cpu, begins, near);
        // The states of the reader alternate: what it ran is found by its thread.
        let copied = taken.wrapping_add(of(Stage::Copy));
        let returned = end.wrapping_sub(of(Stage::Return));
        let in_thread = match read {
            true => observer.before_in_thread(r.pid, [queued, taken, copied, returned, end]),
            false => [0; 5],
        };
        let [from, reading, copying, returning, over] = in_thread;
        let observer_ns = observer.ns(readable.saturating_sub(first) + over.saturating_sub(from));
        let mut begins = on_cpu.iter().zip(on_cpu.iter().skip(1));
        for (stage, sum) in Stage::ALL.into_iter().zip(sums) {
            let here = begins.next();
            let Some(ns) = r.stage(stage) else { continue };
            let (from, to) = match (on(stage), here) {
                (On::Cpu, Some((from, to))) if placed => (*from, *to),
                (On::Reader, _) if stage == Stage::ReaderRunning => (from, reading),
                (On::Reader, _) if stage == Stage::Copy => (reading, copying),
                (On::Reader, _) => (returning, over),
                (On::Cpu | On::Elsewhere, _) => continue,
            };
            sum.add(ns, to.saturating_sub(from));
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
    let fill = |r: &mut TxRow, [send, driver]: &mut [Sum; 2], near: &mut Near| {
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
            let events = observer.on_cpu(r.cpu, at, at.saturating_add(ns), near);
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
