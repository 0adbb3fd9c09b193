//! How many events lie between two times, on a CPU or of a thread.

use rustc_hash::FxHashMap;

use super::cost::per_event;
use crate::ingest::{Merged, Trace};
use crate::nearby::{place_between, place_near};

/// Counts events and says what they cost.
pub struct Observer<'t> {
    recs: &'t Merged,
    /// The records of each thread, by time.
    of_thread: FxHashMap<i32, Vec<Part>>,
    /// Times of the records of the threads in which more than [`DEEP`] parts overlap, sorted.
    tangled: FxHashMap<i32, Vec<i64>>,
    per_event: Option<i64>,
}

/// So many parts before a time may end after it: clocks of CPUs differ by less. One record far in the future makes it all of them.
const DEEP: usize = 64;

/// Records of one thread, one behind the other on one CPU.
#[derive(Debug, Clone, Copy)]
struct Part {
    /// Places of the first and behind the last.
    from: u32,
    to: u32,
    /// Time of the first.
    start_ns: i64,
    /// Latest time of a last one of this part and those before it.
    end_ns: i64,
    /// Records in the parts before.
    before: u64,
}

/// Where the answer to the last question of each CPU was: rows are in order of time, so the next is not far.
#[derive(Debug, Default)]
pub struct Near(Vec<Option<usize>>);

impl Near {
    fn of(&mut self, cpu: u16) -> Option<&mut Option<usize>> {
        let cpu = usize::from(cpu);
        if self.0.len() <= cpu {
            self.0.resize(cpu + 1, None);
        }
        self.0.get_mut(cpu)
    }
}

/// How many of `len` records in order of time lie before each of `times`. Times of one unit lie close together, so each is
/// looked for from where the one before it was found. Where times go back it is one of several places.
fn before<const N: usize>(
    len: usize,
    at: impl Fn(usize) -> i64,
    times: [i64; N],
    mut near: Option<usize>,
) -> [usize; N] {
    let mut last = None;
    times.map(|ts| {
        // A stage that took no time ends where it began.
        let place = match (last.filter(|(of, _)| *of == ts), near.filter(|n| *n <= len)) {
            (Some((_, place)), _) => place,
            (None, None) => place_between(0, len, |i| at(i) < ts),
            (None, Some(from)) => place_near(from, len, |i| at(i) < ts),
        };
        last = Some((ts, place));
        near = Some(place);
        place
    })
}

impl<'t> Observer<'t> {
    /// Of a trace.
    pub fn new(trace: &'t Trace<'_>) -> Observer<'t> {
        let (per_event, of_thread) = rayon::join(|| per_event(trace), || threads(trace));
        let times = |parts: &[Part]| {
            let places = parts.iter().flat_map(|p| p.from..p.to);
            let mut times: Vec<i64> = places.filter_map(|place| trace.recs.at(place).map(|r| r.ts)).collect();
            times.sort_unstable();
            times
        };
        let tangled = of_thread.iter().filter(|(_, parts)| depth(parts) > DEEP);
        let tangled = tangled.map(|(pid, parts)| (*pid, times(parts))).collect();
        Observer {
            recs: &trace.recs,
            of_thread,
            tangled,
            per_event,
        }
    }
    /// ns that one event adds; `None` when the recording does not tell.
    pub fn per_event_ns(&self) -> Option<i64> {
        self.per_event
    }
    /// Events on a CPU before each of some times.
    pub fn before_on_cpu<const N: usize>(&self, cpu: u16, times: [i64; N], near: &mut Near) -> [u64; N] {
        let mut sums = [0u64; N];
        // Of its first stream: almost always the only one.
        let mut near = near.of(cpu);
        for records in self.recs.of_cpu(cpu) {
            let time = |i: usize| records.get(i).map_or(i64::MAX, |r| r.ts);
            let near = near.take();
            let counts = before(records.len(), time, times, near.as_ref().and_then(|n| **n));
            if let (Some(near), Some(first)) = (near, counts.first()) {
                *near = Some(*first);
            }
            sums.iter_mut().zip(counts).for_each(|(sum, n)| *sum += n as u64);
        }
        sums
    }
    /// Events while a thread ran, interrupts on top of it included, before each of some times.
    pub fn before_in_thread<const N: usize>(&self, pid: i32, times: [i64; N]) -> [u64; N] {
        if let Some(of) = self.tangled.get(&pid) {
            return times.map(|ts| of.partition_point(|t| *t < ts) as u64);
        }
        let Some(of) = self.of_thread.get(&pid) else {
            return [0; N];
        };
        let start = |i: usize| of.get(i).map_or(i64::MAX, |p: &Part| p.start_ns);
        let begun = before(of.len(), start, times, None);
        let mut counts = [0; N];
        let mut known = None;
        for ((count, n), ts) in counts.iter_mut().zip(begun).zip(times) {
            if let Some((_, same)) = known.filter(|(of, _)| *of == ts) {
                *count = same;
                continue;
            }
            let mut parts = of.get(..n).unwrap_or(&[]).iter().rev();
            let Some(last) = parts.next() else { continue };
            *count = last.before + self.within(last, ts);
            // Where clocks of CPUs differ, parts overlap.
            for p in parts.take_while(|p| p.end_ns >= ts) {
                *count -= u64::from(p.to - p.from) - self.within(p, ts);
            }
            known = Some((ts, *count));
        }
        counts
    }
    /// Records of a part before a time.
    fn within(&self, p: &Part, ts: i64) -> u64 {
        let early = |i: usize| self.recs.at(i as u32).is_some_and(|r| r.ts < ts);
        let (from, to) = (p.from as usize, p.to as usize);
        (place_between(from, to, early) - from) as u64
    }
    /// Events on a CPU in `[from, to)`.
    pub fn on_cpu(&self, cpu: u16, from: i64, to: i64, near: &mut Near) -> u64 {
        let [from, to] = self.before_on_cpu(cpu, [from, to], near);
        to.saturating_sub(from)
    }
    /// Events while a thread ran, interrupts on top of it included, in `[from, to)`.
    pub fn of_thread(&self, pid: i32, from: i64, to: i64) -> u64 {
        let [from, to] = self.before_in_thread(pid, [from, to]);
        to.saturating_sub(from)
    }
    /// What so many events cost, ns; `None` when the recording does not tell what one costs.
    pub fn ns(&self, events: u64) -> Option<i64> {
        let n = i64::try_from(events).unwrap_or(i64::MAX);
        self.per_event.map(|ns| ns.saturating_mul(n))
    }
}

/// How many parts have to be looked at for one time, at most.
fn depth(parts: &[Part]) -> usize {
    let (mut first, mut most) = (0, 0);
    for (i, p) in parts.iter().enumerate() {
        // Both ends grow from part to part.
        while first < i && parts.get(first).is_some_and(|f| f.end_ns < p.start_ns) {
            first += 1;
        }
        most = most.max(i - first);
    }
    most
}

/// The records of each thread; idle has none.
fn threads(trace: &Trace<'_>) -> FxHashMap<i32, Vec<Part>> {
    let mut of: FxHashMap<i32, Vec<Part>> = FxHashMap::default();
    let ts = |place: u32| trace.recs.at(place).map(|r| r.ts);
    for s in trace.stretches.iter().filter(|s| s.pid > 0) {
        if let (Some(start_ns), Some(end_ns)) = (ts(s.from), ts(s.to - 1)) {
            let part = Part {
                from: s.from,
                to: s.to,
                start_ns,
                end_ns,
                before: 0,
            };
            of.entry(s.pid).or_default().push(part);
        }
    }
    for parts in of.values_mut() {
        parts.sort_by_key(|p| p.start_ns);
        let (mut before, mut end_ns) = (0, i64::MIN);
        for p in parts {
            end_ns = end_ns.max(p.end_ns);
            (p.before, p.end_ns) = (before, end_ns);
            before += u64::from(p.to - p.from);
        }
    }
    of
}
