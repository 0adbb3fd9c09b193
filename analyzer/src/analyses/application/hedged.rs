//! Which other server had answered when a request was given up: who asks a second one after a while, and takes what comes first, gives up the slower one.
//!
//! Needs `responses`, `connections`. Must not take for one: an answer to what was asked before, one that came long before the close, or one of another service, of which
//! a busy program has some in any millisecond.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use crate::facts::Facts;
use crate::name::Name;
use crate::reconstruct::opens::tables::End;

/// From such an answer to the close, at most, ns.
const SOON_NS: i64 = 3_000_000;
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

    /// Whether another server than that one, at the same port, answered right before the close what was asked for later.
    pub(super) fn answered(&self, task: Name, server: End, sent_ns: i64, closed_ns: i64) -> bool {
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
            vec![(5 * ms, ms, end(2)), (20 * ms, 15 * ms, end(2))],
        )]));
        assert!(of.answered(task, end(1), 0, 20 * ms + 50_000));
        assert!(!of.answered(task, end(2), 0, 20 * ms + 50_000), "it answered itself");
        assert!(
            !of.answered(task, end(1), 16 * ms, 20 * ms + 50_000),
            "asked for before"
        );
        assert!(!of.answered(task, end(1), 0, 25 * ms), "long ago");
        assert!(!of.answered(Name::new(b"other"), end(1), 0, 20 * ms));
    }
}
