//! Questions in vain that were asked right behind another one, which was answered: the way and the server are there, and some questions get no answer
//! (the AAAA of a name whose A is answered).
//!
//! Needs `udp_turns`. Must not be said where what is lost now and then looks the same: it would hit the first of a pair as often as the second, and of many
//! questions in a row a few. So half or more of what those threads asked right behind an answered one is in vain.

use std::collections::{BTreeMap, BTreeSet};

use super::TurnRow;
use crate::facts::Facts;
use crate::reconstruct::datagrams::tables::TurnEnd;

/// From an answer to the next question, at most, ns; and how many times sooner than the wait it came.
const NEXT_NS: i64 = 20_000_000;
const SOONER: i64 = 10;
/// Fewest turns; where not all of them are known to have been read there.
const LEAST: usize = 3;
const LEAST_UNSEEN: usize = 6;
/// All but one in so many are such.
const BUT: usize = 10;

/// Turns right behind one that was answered.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Beside {
    /// How many.
    pub turns: u64,
    /// The longest that such an answer took, ns.
    pub longest_ns: i64,
    /// All datagrams in vain came to a socket of this recording and were read.
    pub read: bool,
}

/// Turns of each thread by time, places in `udp_turns`.
pub(super) type ByThread<'f> = BTreeMap<i32, Vec<&'f TurnRow>>;

pub(super) fn by_thread(facts: &Facts) -> ByThread<'_> {
    let mut by = ByThread::new();
    for t in &facts.udp_turns {
        by.entry(t.pid).or_default().push(t);
    }
    by.values_mut().for_each(|of| of.sort_by_key(|t| t.start_ns));
    by
}

/// Of turns to one place, where nearly all of them are such.
pub(super) fn beside(facts: &Facts, by: &ByThread<'_>, turns: &[&TurnRow]) -> Option<Beside> {
    let remote = |t: &TurnRow| t.peer(&facts.udp_sockets);
    let same = |a: &TurnRow, b: &TurnRow| match (a.there, b.there) {
        (None, None) => !remote(a).is_empty() && remote(a) == remote(b),
        (a, b) => a == b,
    };
    // The time that the answer right before it took.
    let behind = |t: &TurnRow| {
        let of = by.get(&t.pid)?;
        let p = *of.get(of.partition_point(|p| p.start_ns < t.start_ns).checked_sub(1)?)?;
        let ready = p.ready_ns.filter(|_| p.confidence.is_solid() && p.sends == 1)?;
        let soon = t.start_ns.saturating_sub(ready) <= NEXT_NS;
        (soon && same(p, t)).then(|| ready.saturating_sub(p.start_ns))
    };
    let sooner = |t: &&&TurnRow| behind(t).filter(|ns| *ns <= t.waited_ns / SOONER);
    let took: Vec<i64> = turns.iter().filter_map(|t| sooner(&t)).collect();
    let threads: BTreeSet<i32> = turns.iter().map(|t| t.pid).collect();
    let theirs = threads.iter().filter_map(|pid| by.get(pid)).flatten();
    let well = theirs.filter(|t| t.end == TurnEnd::Answered && turns.first().is_some_and(|v| same(v, t)));
    let well = well.filter(|t| behind(t).is_some()).count();
    let sum = |of: fn(&TurnRow) -> u32| turns.iter().map(|t| u64::from(of(t))).sum::<u64>();
    let read = sum(|t| t.landed) == sum(|t| t.sends) && sum(|t| t.unread) == 0;
    let least = if read { LEAST } else { LEAST_UNSEEN };
    let nearly_all = turns.len().saturating_sub(took.len()).saturating_mul(BUT) <= turns.len();
    (took.len() >= least && nearly_all && well <= took.len()).then(|| Beside {
        turns: took.len() as u64,
        longest_ns: took.into_iter().max().unwrap_or(0),
        read,
    })
}
