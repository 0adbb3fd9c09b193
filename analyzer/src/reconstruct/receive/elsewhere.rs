//! What readers on a CPU did while a unit lay in the receive queue: how much of it at other sockets, and at which.
//!
//! In: rows of `rx` (whose reads are calls), sends, thread states. Out: `busy_ns`, `busy_on` of rows. Must not divide a stage: it says what
//! of one is known.
//!
//! ```text
//! reader    recv(A) ── works ── send(A)   recv(C) ── sleeps ── send(C)   recv(B)
//!           └────── at A ─────────────┘   └ C ┘                └ C ┘
//! unit of B      └──────────────── in the receive queue ────────────────┘
//! ```
//! A spell at a socket lasts from the begin of a call on it to the end of the thread's next one, if that is on the same socket and the thread did
//! not sleep in between; else to the end of the call. What follows the last call on a socket may be for it, or for nobody: it is not told.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::tables::{RxEnd, RxRow, Stage};
use crate::facts::ConnectionId;
use crate::reconstruct::thread::Threads;
use crate::reconstruct::transmit::Send;

/// Time on a CPU from which it is asked what it was for, ns.
const LEAST_NS: i64 = 10_000;
/// Spells that are looked at for one unit, at most: of more, the last ones.
const MOST: usize = 1_024;

/// When a thread was at a socket; `None`: one that is not TCP's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Spell {
    from: i64,
    to: i64,
    at: Option<ConnectionId>,
    /// Time of it on a CPU, ns.
    ran: i64,
}

impl Spell {
    fn new(from: i64, to: i64, at: Option<ConnectionId>) -> Spell {
        Spell { from, to, at, ran: 0 }
    }
}

/// When the copy of a unit's last byte began, and when it became readable.
fn queue(r: &RxRow) -> Option<(i64, i64)> {
    let after = [Stage::Copy, Stage::Return].into_iter().filter_map(|s| r.stage(s));
    let taken = after.fold(r.start_ns.wrapping_add(r.total_ns), i64::wrapping_sub);
    (r.end == RxEnd::Read && r.pid > 0).then_some((taken.wrapping_sub(r.rcvq_ns?), taken))
}

/// Says of units whose reader ran while they lay there what it did.
pub fn elsewhere(rows: &mut [RxRow], sends: &[Send], threads: &Threads) {
    let asks = |r: &RxRow| r.connection.is_some() && r.stage(Stage::ReaderRunning).is_some_and(|ns| ns >= LEAST_NS);
    let mut by: FxHashMap<i32, Vec<Spell>> = FxHashMap::default();
    for r in rows.iter().filter(|r| asks(r)) {
        by.entry(r.pid).or_default();
    }
    if by.is_empty() {
        return;
    }
    for r in rows.iter() {
        if let (Some((_, from)), Some(of)) = (queue(r), by.get_mut(&r.pid)) {
            let to = r.start_ns.wrapping_add(r.total_ns);
            of.push(Spell::new(from, to, r.connection));
        }
    }
    for s in sends {
        if let Some(of) = by.get_mut(&s.pid) {
            of.push(Spell::new(s.at_ns, s.by_ns.max(s.at_ns), Some(s.connection)));
        }
    }
    for (pid, of) in &mut by {
        *of = spells(std::mem::take(of), |from, to| {
            threads.split(*pid, from, to).asleep_ns > 0
        });
        // Asked of each spell once, not of each unit that waited meanwhile.
        for s in of {
            s.ran = threads.split(*pid, s.from, s.to).running_ns;
        }
    }
    rows.par_iter_mut().filter(|r| asks(r)).for_each(|r| {
        if let (Some(wait), Some(of)) = (queue(r), by.get(&r.pid)) {
            let running = |from: i64, to: i64| threads.split(r.pid, from, to).running_ns;
            let (all, most) = at_others(of, wait, r.connection, running);
            r.busy_ns = all.min(r.stage(Stage::ReaderRunning).unwrap_or(0));
            (r.busy_on, r.busy_on_ns) = most.map_or((None, 0), |(c, ns)| (Some(c), ns.min(r.busy_ns)));
        }
    });
}

/// Calls of a thread as spells, in order of time; `slept`: whether it did in an interval.
fn spells(mut calls: Vec<Spell>, slept: impl Fn(i64, i64) -> bool) -> Vec<Spell> {
    calls.sort_unstable_by_key(|s| (s.from, s.to));
    let mut out: Vec<Spell> = vec![];
    for c in calls {
        match out.last_mut() {
            // Units of one read, or one call after the other.
            Some(last) if last.at == c.at && (c.from <= last.to || !slept(last.to, c.from)) => {
                last.to = last.to.max(c.to)
            }
            Some(last) => {
                // A thread is in one call at a time.
                last.to = last.to.min(c.from);
                out.push(c);
            }
            None => out.push(c),
        }
    }
    out
}

/// Time of `(from, to)` in spells at other sockets than `own`, and the TCP socket with most of it.
fn at_others(
    of: &[Spell],
    (from, to): (i64, i64),
    own: Option<ConnectionId>,
    running: impl Fn(i64, i64) -> i64,
) -> (i64, Option<(ConnectionId, i64)>) {
    let (first, end) = (
        of.partition_point(|s| s.to <= from),
        of.partition_point(|s| s.from < to),
    );
    let within = of.get(first.max(end.saturating_sub(MOST))..end).unwrap_or(&[]);
    let (mut all, mut by) = (0i64, FxHashMap::<ConnectionId, i64>::default());
    for s in within.iter().filter(|s| s.at != own) {
        let whole = s.from >= from && s.to <= to;
        let ns = if whole {
            s.ran
        } else {
            running(s.from.max(from), s.to.min(to))
        };
        let ns = ns.max(0);
        all = all.saturating_add(ns);
        if let Some(c) = s.at {
            *by.entry(c).or_insert(0) += ns;
        }
    }
    let most = by
        .into_iter()
        .filter(|b| b.1 > 0)
        .max_by_key(|(c, ns)| (*ns, std::cmp::Reverse(*c)));
    (all, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Option<ConnectionId> = Some(ConnectionId(1));
    const B: Option<ConnectionId> = Some(ConnectionId(2));
    const C: Option<ConnectionId> = Some(ConnectionId(3));

    /// A thread that ran every second nanosecond, and slept in one interval.
    fn others(slept: i64, wait: (i64, i64)) -> (i64, Option<(ConnectionId, i64)>) {
        let calls = [(0, 10, A), (20, 30, A), (40, 50, B), (60, 80, C), (80, 90, None)];
        let calls = calls.map(|(from, to, at)| Spell::new(from, to, at)).to_vec();
        let running = |from: i64, to: i64| (to - from) / 2;
        let mut of = spells(calls, |from, to| from < slept && slept < to);
        of.iter_mut().for_each(|s| s.ran = running(s.from, s.to));
        at_others(&of, wait, B, running)
    }

    #[test]
    fn time_between_two_calls_on_a_socket_is_at_it() {
        let most = |c: Option<ConnectionId>, ns| c.map(|c| (c, ns));
        assert_eq!(others(100, (0, 100)), (15 + 10 + 5, most(A, 15)));
        // Only what lies within the wait.
        assert_eq!(others(100, (20, 70)), (5 + 5, most(A, 5)));
        assert_eq!(others(100, (44, 48)), (0, None));
        // It slept between the two.
        assert_eq!(others(15, (0, 100)), (5 + 5 + 10 + 5, most(A, 10)));
        assert_eq!(others(100, (82, 86)), (2, None));
    }
}
