//! Pieces of time in which a write queue was held, and their sums over any interval.

use super::largest::FullSegment;
use super::spent::Spent;
use super::stages::Stage;
use crate::nearby::place_near;

/// A piece of time in which the write queue was held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) from: i64,
    pub(super) to: i64,
    pub(super) stage: Stage,
    pub(super) weak: bool,
}

/// Stages of pieces.
pub(super) const HELD: [Stage; 7] = [
    Stage::Rwnd,
    Stage::Cwnd,
    Stage::Nagle,
    Stage::Pacing,
    Stage::PacingSlip,
    Stage::Tsq,
    Stage::Refused,
];
/// Where the ns of weak pieces are in [`Sums`].
const WEAK: usize = HELD.len();
/// ns by [`HELD`], then ns of weak pieces.
pub(super) type Sums = [i64; 8];

/// What held a socket in the whole recording.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Once {
    queue: Sums,
    /// Of the peer's window: while the pacing timer was pending, or late, too, ns.
    pub rwnd_paced_ns: i64,
    /// Its writers slept for room outside of send calls, ns.
    pub room_ns: i64,
    /// All that held it, each moment once.
    pub spent: Spent,
    /// Its largest segments, where events tell their size.
    pub full: Option<FullSegment>,
}

impl Once {
    /// ns of a wait of the write queue, each moment counted once; 0 of others.
    pub fn of(&self, stage: Stage) -> i64 {
        let at = HELD.iter().position(|h| *h == stage);
        at.and_then(|i| self.queue.get(i)).copied().unwrap_or(0)
    }
}

/// All pieces of a socket, in order, and their sums.
#[derive(Debug, Default)]
pub(super) struct Limits {
    pub(super) pieces: Vec<Piece>,
    /// ns of the peer's window while the pacing timer was pending, too.
    pub(super) rwnd_paced_ns: i64,
    before: Vec<Sums>,
    total: Sums,
}

impl Limits {
    pub(super) fn push(&mut self, from: i64, to: i64, stage: Stage, weak: bool) {
        // Pieces do not overlap, whatever a damaged recording says.
        let from = self.pieces.last().map_or(from, |p| from.max(p.to));
        if to <= from {
            return;
        }
        self.before.push(self.total);
        add(&mut self.total, stage, to.saturating_sub(from), weak);
        self.pieces.push(Piece { from, to, stage, weak });
    }
    /// All of them, with what else held the socket.
    pub(super) fn once(&self, rooms: &[(i64, i64)], spent: Spent, full: Option<FullSegment>) -> Once {
        let slept = rooms.iter().map(|(from, to)| to.saturating_sub(*from));
        Once {
            queue: self.total,
            rwnd_paced_ns: self.rwnd_paced_ns,
            room_ns: slept.fold(0i64, i64::saturating_add),
            spent,
            full,
        }
    }
    /// Sums up to a time.
    fn until(&self, t: i64, near: &mut usize) -> Sums {
        let early = |i: usize| self.pieces.get(i).is_some_and(|p| p.from < t);
        let n = place_near(*near, self.pieces.len(), early);
        *near = n;
        let Some((i, p)) = n.checked_sub(1).and_then(|i| Some((i, self.pieces.get(i)?))) else {
            return Sums::default();
        };
        let mut s = self.before.get(i).copied().unwrap_or_default();
        add(&mut s, p.stage, t.min(p.to).saturating_sub(p.from), p.weak);
        s
    }
    /// ns by wait inside `[from, to)`. `near`: where the last was.
    pub(super) fn over(&self, from: i64, to: i64, near: &mut usize) -> Sums {
        let (a, b) = (self.until(from, near), self.until(to, near));
        std::array::from_fn(|i| b[i].saturating_sub(a[i]))
    }
}

fn add(s: &mut Sums, stage: Stage, ns: i64, weak: bool) {
    let at = HELD.iter().position(|h| *h == stage).unwrap_or(WEAK);
    for (i, slot) in s.iter_mut().enumerate() {
        if i == at || (i == WEAK && weak) {
            *slot = slot.saturating_add(ns);
        }
    }
}

/// A piece that is certain.
#[cfg(test)]
pub(super) fn piece(from: i64, to: i64, stage: Stage) -> Piece {
    Piece {
        from,
        to,
        stage,
        weak: false,
    }
}
