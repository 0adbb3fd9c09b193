//! Attempts to connect to port 53 by a thread that had an answer by UDP just before: a resolver that asks again by TCP, as it must when an answer did not fit and was cut (TC bit).
//!
//! Needs `udp_turns`. That the answer was cut is inferred: no event has its bytes.

use rustc_hash::FxHashMap;

use crate::facts::Facts;
use crate::reconstruct::datagrams::tables::TurnEnd;
use crate::reconstruct::opens::tables::OpenRow;

/// From the read of the answer to the attempt, at most, ns.
const NEAR_NS: i64 = 20_000_000;
/// Names are asked for there.
const DOMAIN: u16 = 53;

/// When each thread read an answer by UDP.
pub(super) struct Answers(FxHashMap<i32, Vec<i64>>);

impl Answers {
    pub(super) fn of(facts: &Facts) -> Answers {
        let mut by: FxHashMap<i32, Vec<i64>> = FxHashMap::default();
        for t in facts.udp_turns.iter().filter(|t| t.end == TurnEnd::Answered) {
            if let Some(at) = t.last_read_ns.or(t.read_ns) {
                by.entry(t.pid).or_default().push(at);
            }
        }
        by.values_mut().for_each(|of| of.sort_unstable());
        Answers(by)
    }

    pub(super) fn before(&self, r: &OpenRow) -> bool {
        let to_names = r.to.is_some_and(|to| to.1 == DOMAIN);
        let last = || {
            let of = self.0.get(&r.pid)?;
            of.get(of.partition_point(|at| *at <= r.start_ns).checked_sub(1)?)
        };
        to_names && last().is_some_and(|at| r.start_ns.saturating_sub(*at) <= NEAR_NS)
    }
}
