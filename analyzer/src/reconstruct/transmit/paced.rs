//! Time in which a socket's pacing timer was pending, or late, since the last probe or transmission.

use super::stages::Stage;

/// Parts of it, in order.
#[derive(Debug, Default)]
pub(super) struct Paced(Vec<(i64, i64, Stage)>);

impl Paced {
    /// Up to where it reaches.
    pub(super) fn end(&self, from: i64) -> i64 {
        self.0.last().map_or(from, |p| p.1)
    }
    pub(super) fn push(&mut self, from: i64, to: i64, stage: Stage) {
        if to > from {
            self.0.push((from, to, stage));
        }
    }
    /// Its parts, and what is between them in `[from, to)`.
    pub(super) fn split(self, (from, to): (i64, i64)) -> Split {
        let (mut at, mut out) = (from, Split::default());
        for (a, b, stage) in self.0 {
            let (a, b) = (a.max(at), b.min(to));
            if a > at {
                out.between.push((at, a));
            }
            if b > a {
                out.parts.push((a, b, stage));
            }
            at = at.max(b);
        }
        if to > at {
            out.between.push((at, to));
        }
        out
    }
}

/// An interval by what pacing did in it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Split {
    pub(super) parts: Vec<(i64, i64, Stage)>,
    pub(super) between: Vec<(i64, i64)>,
}

impl Split {
    /// ns of its parts.
    pub(super) fn paced_ns(&self) -> i64 {
        let of = self.parts.iter().map(|(from, to, _)| to.saturating_sub(*from));
        of.fold(0i64, i64::saturating_add)
    }
}
