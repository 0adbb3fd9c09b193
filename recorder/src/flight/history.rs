//! What was read in the seconds before a trigger, until they are too old.
//!
//! In: the counters of a second, and, when it comes, what was read beside them. Out: moments, the oldest first. It must not grow: of what is read
//! beside the counters it keeps [`MOST_KEPT`] bytes, packed, and lets the oldest go.

use std::collections::VecDeque;
use std::time::Duration;

use netmortem_formats::ClockPair;
use netmortem_formats::bundle::Second;

use super::pack::Reading;
use crate::snapshot::beside::{Fared, Outcome};

/// Counters of so many moments of `before` are kept.
const KEPT: u32 = 120;
/// So many bytes of what is read beside them.
pub const MOST_KEPT: usize = 8 << 20;
/// A reading may come so much too soon.
const EARLY: Duration = Duration::from_millis(500);

/// What was read together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    /// The counters.
    pub second: Second,
    /// What was read beside them.
    pub beside: Beside,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Beside {
    /// It has not come (yet).
    Waited,
    /// Each kind.
    Here(Vec<Fared>),
    /// It was let go of, for want of room.
    Gone,
}

/// Moments, the oldest first.
#[derive(Debug)]
pub struct History {
    moments: VecDeque<Moment>,
    /// How far back it reaches.
    before: Duration,
    most: usize,
    /// Bytes of what is kept beside.
    bytes: usize,
}

fn ns(d: Duration) -> i64 {
    i64::try_from(d.as_nanos()).unwrap_or(i64::MAX)
}

fn size(beside: &Beside) -> usize {
    let of = |f: &Fared| match &f.outcome {
        Outcome::Read(packed) => packed.capacity(),
        _ => 0,
    };
    match beside {
        Beside::Here(kinds) => kinds.iter().map(of).sum(),
        _ => 0,
    }
}

impl History {
    /// Begins with one moment; of what is read beside keeps `most` bytes.
    pub fn new(first: Second, before: Duration, most: usize) -> History {
        let mut history = History {
            moments: VecDeque::new(),
            before,
            most,
            bytes: 0,
        };
        history.begin(first);
        history
    }

    /// Forgets all, and begins anew.
    pub fn begin(&mut self, first: Second) {
        self.moments.clear();
        self.bytes = 0;
        self.add(first);
    }

    fn add(&mut self, second: Second) {
        let beside = Beside::Waited;
        self.moments.push_back(Moment { second, beside });
    }

    /// Takes the counters of now, unless the last are too young for a long window; whether it did. What is too old goes.
    pub fn push(&mut self, second: Second) -> bool {
        let now = second.clock.monotonic_ns;
        let apart = ns(self.before / KEPT).saturating_sub(ns(EARLY));
        let newest = self.newest().map_or(i64::MIN, |m| m.second.clock.monotonic_ns);
        let taken = now.saturating_sub(newest) >= apart;
        if taken {
            self.add(second);
        }
        // One that is as old as the window stays: it is its beginning.
        let start = now.saturating_sub(ns(self.before));
        let old = |m: &Moment| m.second.clock.monotonic_ns <= start;
        while self.moments.get(1).is_some_and(old) {
            let gone = self.moments.pop_front();
            self.bytes = self.bytes.saturating_sub(gone.map_or(0, |m| size(&m.beside)));
        }
        taken
    }

    /// Takes what was read beside the counters of a moment. One whose moment is not kept any more is of no use.
    pub fn attach(&mut self, reading: Reading) {
        let mine = |m: &&mut Moment| m.second.clock.monotonic_ns == reading.at_ns;
        let Some(moment) = self.moments.iter_mut().rev().find(mine) else {
            return;
        };
        moment.beside = Beside::Here(reading.kinds);
        self.bytes = self.bytes.saturating_add(size(&moment.beside));
        for moment in &mut self.moments {
            if self.bytes <= self.most {
                break;
            }
            let of = size(&moment.beside);
            if of > 0 {
                moment.beside = Beside::Gone;
                self.bytes = self.bytes.saturating_sub(of);
            }
        }
    }

    /// All, the oldest first.
    pub fn moments(&self) -> impl Iterator<Item = &Moment> {
        self.moments.iter()
    }

    /// The last.
    pub fn newest(&self) -> Option<&Moment> {
        self.moments.back()
    }

    /// The clock of the first.
    pub fn start(&self) -> Option<ClockPair> {
        self.moments.front().map(|m| m.second.clock)
    }

    /// The counters of the first.
    pub fn first(&self) -> Option<&Second> {
        self.moments.front().map(|m| &m.second)
    }
}
