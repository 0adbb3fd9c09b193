//! Which other server had answered when a request was given up: who asks a second one after a while, and takes what comes first, gives up the slower one.
//!
//! Needs `responses`, `connections`. Must not take for one: an answer to what was asked before, one that came long before the close, one of another service, or those that
//! a busy program has in any millisecond: as often some time before and behind the close as right before it.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use crate::facts::Facts;
use crate::name::Name;
use crate::reconstruct::opens::tables::End;

/// From such an answer to the close, at most, ns.
const SOON_NS: i64 = 3_000_000;
/// So far from the close is chance looked at, times [`BESIDE`], ns.
const STEP_NS: i64 = 7_000_000;
const BESIDE: [i64; 8] = [-4, -3, -2, -1, 1, 2, 3, 4];
/// Of what is right before the closes so much may be chance.
const BY_CHANCE: f64 = 0.5;
/// Answers looked at.
const NEAR: usize = 16;

/// Answers by task of its client, by when they were read: with when they were asked for and where.
pub(super) struct Answers(BTreeMap<Name, Vec<(i64, i64, End)>>);

impl Answers {
    /// Of these tasks.
    pub(super) fn of(facts: &Facts, tasks: impl Iterator<Item = Name>) -> Answers {
        let tasks: FxHashSet<Name> = tasks.collect();
        let mut all: BTreeMap<Name, Vec<(i64, i64, End)>> = BTreeMap::new();
        for r in facts.responses.iter().filter(|r| !r.overlap && tasks.contains(&r.task)) {
            let row = facts.connections.get(r.connection.0 as usize);
            if let Some((row, to)) = row.and_then(|row| Some((row, row.daddr?.to_canonical()))) {
                all.entry(r.task)
                    .or_default()
                    .push((r.read_ns, r.send_ns, (to, row.dport)));
            }
        }
        all.values_mut().for_each(|of| of.sort_unstable());
        Answers(all)
    }

    /// How many of these requests, by when they were sent and closed upon, such an answer explains; none where chance does.
    pub(super) fn explain(&self, task: Name, server: End, given: impl Iterator<Item = (i64, i64)>) -> u64 {
        let (mut n, mut explained, mut by_chance) = (0u64, 0u64, 0.0);
        for (sent, closed) in given {
            n += 1;
            explained += u64::from(self.answered(task, server, sent, closed));
            let beside = BESIDE.iter().map(|k| closed.saturating_add(k * STEP_NS));
            let beside: Vec<i64> = beside.filter(|at| *at > sent.saturating_add(SOON_NS)).collect();
            let had = beside
                .iter()
                .filter(|at| self.answered(task, server, sent, **at))
                .count();
            by_chance += had as f64 / beside.len().max(1) as f64;
        }
        if n > 0 && by_chance > BY_CHANCE * explained as f64 {
            return 0;
        }
        explained
    }

    /// Whether another server than that one, at the same port, answered right before the close what was asked for later.
    fn answered(&self, task: Name, server: End, sent_ns: i64, closed_ns: i64) -> bool {
        let of = self.0.get(&task).map_or(&[][..], Vec::as_slice);
        let before = of.get(..of.partition_point(|r| r.0 <= closed_ns)).unwrap_or_default();
        let soon = before
            .iter()
            .rev()
            .take(NEAR)
            .take_while(|r| r.0 >= closed_ns.saturating_sub(SOON_NS));
        soon.into_iter()
            .any(|(_, asked, to)| *asked > sent_ns && to.1 == server.1 && to.0 != server.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_other_one_was_asked_later_and_answered_just_now() {
        let end = |last: u8| (std::net::IpAddr::from([10, 0, 0, last]), 9200);
        let task = Name::new(b"search");
        let ms = 1_000_000;
        let of = Answers(BTreeMap::from([(
            task,
            vec![
                (5 * ms, ms, end(2)),
                (20 * ms, 15 * ms, end(2)),
                // A store that it asks as well.
                (40 * ms, 39 * ms, (end(3).0, 6379)),
            ],
        )]));
        assert!(of.answered(task, end(1), 0, 20 * ms + 50_000));
        assert!(!of.answered(task, end(2), 0, 20 * ms + 50_000), "it answered itself");
        assert!(
            !of.answered(task, end(1), 16 * ms, 20 * ms + 50_000),
            "asked for before"
        );
        assert!(!of.answered(task, end(1), 0, 25 * ms), "long ago");
        assert!(!of.answered(Name::new(b"other"), end(1), 0, 20 * ms));
        assert!(!of.answered(task, end(1), 0, 40 * ms + 50_000), "another service");
    }

    /// Requests to 10.0.0.1 that are closed upon after a second each; another server answers `every` so many ms, or right before each close.
    #[test]
    fn what_answers_all_the_time_explains_nothing() {
        let end = |last: u8| (std::net::IpAddr::from([10, 0, 0, last]), 9200);
        let (task, ms) = (Name::new(b"proxy"), 1_000_000);
        let given = || (0..20).map(|n| (n * 2000 * ms, (n * 2000 + 1000) * ms + 77));
        let answers = |at: &mut dyn Iterator<Item = i64>| {
            let rows = at.map(|read| (read, read - ms / 2, end(2)));
            Answers(BTreeMap::from([(task, rows.collect::<Vec<_>>())]))
        };
        let busy = answers(&mut (0..20_000).map(|n| n * 2 * ms));
        assert_eq!(busy.explain(task, end(1), given()), 0);
        let hedged = answers(&mut given().map(|(_, closed)| closed - ms));
        assert_eq!(hedged.explain(task, end(1), given()), 20);
        // With others beside: one in 20 ms.
        let mut both: Vec<i64> = (0..2000)
            .map(|n| n * 20 * ms)
            .chain(given().map(|g| g.1 - ms))
            .collect();
        both.sort_unstable();
        assert_eq!(answers(&mut both.into_iter()).explain(task, end(1), given()), 20);
    }
}
