//! State changes of one thread, summed so that any interval is divided without walking through it.

use crate::nearby::{place_between, place_near};

/// What a thread does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// No event tells.
    Unknown,
    /// On a CPU.
    Running,
    /// Runnable, and its CPU runs something else.
    RunQueue,
    /// Runnable, and its CPU has not left idle yet.
    IdleExit,
    /// Woken, not yet runnable.
    Waking,
    /// Asleep.
    Asleep,
}

/// Number of states.
const STATES: usize = 6;
/// Changes between two stored sums.
const STRIDE: usize = 32;

/// An interval divided by thread state; the parts sum to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Split {
    /// Asleep.
    pub asleep_ns: i64,
    /// Woken, not yet runnable.
    pub waking_ns: i64,
    /// Runnable, its CPU leaving idle.
    pub idle_exit_ns: i64,
    /// Runnable, its CPU running something else.
    pub run_queue_ns: i64,
    /// Running.
    pub running_ns: i64,
    /// No event tells.
    pub unknown_ns: i64,
}

impl Split {
    /// All parts: the interval.
    pub fn sum(&self) -> i64 {
        let parts = [
            self.waking_ns,
            self.idle_exit_ns,
            self.run_queue_ns,
            self.running_ns,
            self.unknown_ns,
        ];
        parts.into_iter().fold(self.asleep_ns, i64::wrapping_add)
    }
}

/// One thread's changes, ascending by time.
#[derive(Debug, Default)]
pub struct Timeline {
    changes: Vec<(i64, State)>,
    /// Time spent in each state before change 0, [`STRIDE`], 2 [`STRIDE`], ...
    sums: Vec<[i64; STATES]>,
}

impl Timeline {
    /// The state now.
    pub fn last(&self) -> Option<State> {
        self.changes.last().map(|c| c.1)
    }
    /// Since when.
    pub fn since(&self) -> Option<i64> {
        self.changes.last().map(|c| c.0)
    }
    /// A change. Where times of a CPU go back it counts from the change before.
    pub fn push(&mut self, ts: i64, state: State) {
        let at = self.since().map_or(ts, |last| last.max(ts));
        self.changes.push((at, state));
    }
    /// Says what the last state was after all.
    pub fn correct(&mut self, state: State) {
        if let Some(c) = self.changes.last_mut() {
            c.1 = state;
        }
    }
    /// No change will follow. What was lost after a change (`gaps`: merged, ascending) may have changed the state: from
    /// there to the next change nothing is known.
    pub fn finish(&mut self, gaps: &[(i64, i64)]) {
        if !gaps.is_empty() {
            let of = std::mem::take(&mut self.changes);
            let mut next = of.iter().skip(1).map(|c| c.0).chain([i64::MAX]);
            for (since, state) in of.iter().copied() {
                let end = next.next().unwrap_or(i64::MAX);
                let g = gaps.partition_point(|g| g.1 <= since);
                let sure = gaps.get(g).map_or(end, |g| g.0.clamp(since, end));
                if sure > since || end == since {
                    self.changes.push((since, state));
                }
                if sure < end {
                    self.changes.push((sure, State::Unknown));
                }
            }
        }
        self.changes.shrink_to_fit();
        let mut sum = [0i64; STATES];
        let mut before: Option<(i64, State)> = None;
        self.sums = Vec::with_capacity(self.changes.len() / STRIDE + 1);
        for (i, c) in self.changes.iter().enumerate() {
            if let Some((since, state)) = before {
                add(&mut sum, state, c.0.wrapping_sub(since));
            }
            if i % STRIDE == 0 {
                self.sums.push(sum);
            }
            before = Some(*c);
        }
    }
    /// How many changes there are up to a time.
    fn changes(&self, ts: i64, near: Option<usize>) -> usize {
        let early = |i: usize| self.changes.get(i).is_some_and(|c| c.0 <= ts);
        match near {
            Some(near) => place_near(near, self.changes.len(), early),
            None => place_between(0, self.changes.len(), early),
        }
    }
    /// Time spent in each state from the first change to `ts`, up to which there are so many changes; before the first,
    /// unknown time counts backwards.
    fn until(&self, ts: i64, changes: usize) -> [i64; STATES] {
        let Some(k) = changes.checked_sub(1) else {
            let mut sum = [0; STATES];
            let first = self.changes.first().map_or(ts, |c| c.0);
            add(&mut sum, State::Unknown, ts.wrapping_sub(first));
            return sum;
        };
        let mut sum = self.sums.get(k / STRIDE).copied().unwrap_or_default();
        let mut before: Option<(i64, State)> = None;
        let from = k / STRIDE * STRIDE;
        for c in self.changes.get(from..=k).unwrap_or_default() {
            if let Some((since, state)) = before {
                add(&mut sum, state, c.0.wrapping_sub(since));
            }
            before = Some(*c);
        }
        if let Some((since, state)) = before {
            add(&mut sum, state, ts.wrapping_sub(since));
        }
        sum
    }
    /// From when to when it slept, ascending; the last without an end.
    pub fn asleep(&self) -> impl Iterator<Item = (i64, i64)> + '_ {
        let ends = self.changes.iter().skip(1).map(|c| c.0).chain([i64::MAX]);
        let spans = self.changes.iter().zip(ends).filter(|(c, _)| c.1 == State::Asleep);
        spans.map(|(c, end)| (c.0, end))
    }
    /// Divides `[from, to)`.
    pub fn split(&self, from: i64, to: i64) -> Split {
        let begun = self.changes(from, None);
        let over = self.changes(to, Some(begun));
        let (a, b) = (self.until(from, begun), self.until(to, over));
        let of = |s: State| {
            let at = |sum: &[i64; STATES]| sum.get(s as usize).copied().unwrap_or(0);
            at(&b).wrapping_sub(at(&a))
        };
        Split {
            asleep_ns: of(State::Asleep),
            waking_ns: of(State::Waking),
            idle_exit_ns: of(State::IdleExit),
            run_queue_ns: of(State::RunQueue),
            running_ns: of(State::Running),
            unknown_ns: of(State::Unknown),
        }
    }
}

fn add(sum: &mut [i64; STATES], state: State, ns: i64) {
    if let Some(slot) = sum.get_mut(state as usize) {
        *slot = slot.wrapping_add(ns);
    }
}
