//! Attempts that fail at once where their process takes an address of the other family in place of it: a name with an IPv6 and an IPv4 address, of which one
//! has no listener, as `localhost` of a program that listens on 127.0.0.1 alone. Those that waited are told by [`super::fallback`].
//!
//! ```text
//! connect [::1]:8000 ─ refused, or no route
//!                     └ AT_ONCE_NS at most ─ connect 127.0.0.1:8000 ─ established
//! ```
//! Needs `opens`. That both are of one name is inferred: one process, one port, right behind one another, each time but once. Must not take for one: an end
//! of which some attempts are followed by no other.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::facts::Facts;
use crate::reconstruct::opens::tables::{End, OpenEnd, OpenRow};

/// Longest attempt that hardly anybody waited for, and longest time from its end to the begin of the other, ns.
const SHORT_NS: i64 = 300_000_000;
const AT_ONCE_NS: i64 = 20_000_000;
/// Fewest that did; of so many one may have been left, or late.
const FEWEST: usize = 2;
const MANY: usize = 10;
/// Others of the process within [`AT_ONCE_NS`], of which one in so many may be by chance: of more only its thread's own count.
const CHANCE: i64 = 10;

/// Attempts of a process that stood, at a port, of one family (IPv4: true), by begin.
type Stood<'f> = FxHashMap<(i32, u16, bool), Vec<&'f OpenRow>>;

/// What was taken in place of an end, and the longest time from the begin of an attempt there until that stood, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) then: End,
    pub(super) within_ns: i64,
}

fn at_once(o: &OpenRow) -> bool {
    matches!(o.end, OpenEnd::Refused | OpenEnd::Unreachable) && o.total_ns() <= SHORT_NS
}

fn stood(facts: &Facts) -> Stood<'_> {
    let mut all: Stood<'_> = FxHashMap::default();
    for o in facts
        .opens
        .iter()
        .filter(|o| o.end == OpenEnd::Established && o.pid > 0)
    {
        if let Some((to, port)) = o.to {
            let of = (facts.process(o.pid), port, to.to_canonical().is_ipv4());
            all.entry(of).or_default().push(o);
        }
    }
    for of in all.values_mut() {
        of.sort_by_key(|o| o.start_ns);
    }
    all
}

/// Of the attempts at ends that failed, by process, in order of their begin.
pub(super) fn taken(facts: &Facts, tried: &BTreeMap<(End, i32), Vec<&OpenRow>>) -> BTreeMap<(End, i32), Taken> {
    let stood = stood(facts);
    let of = |((to, process), rows): (&(End, i32), &Vec<&OpenRow>)| {
        let but = usize::from(rows.len() >= MANY);
        if rows.len() < FEWEST || rows.iter().filter(|o| !at_once(o)).count() > but {
            return None;
        }
        let others = stood.get(&(*process, to.1, !to.0.is_ipv4()))?;
        let often = (others.len() as i64).saturating_mul(AT_ONCE_NS).saturating_mul(CHANCE) > facts.capture.duration_ns;
        let mut rows = rows.clone();
        rows.sort_by_key(|o| o.end_ns);
        // Each is the other of one attempt.
        let (mut next, mut within_ns, mut then) = (0, 0i64, BTreeMap::<End, usize>::new());
        for o in rows.iter().copied().filter(|o| at_once(o)) {
            next += others.get(next..)?.partition_point(|s| s.start_ns < o.end_ns);
            let until = o.end_ns.saturating_add(AT_ONCE_NS);
            let own = |s: &&&OpenRow| s.start_ns <= until && (!often || s.pid == o.pid);
            if let Some(s) = others.get(next).filter(own) {
                *then.entry(s.to?).or_default() += 1;
                within_ns = within_ns.max(s.end_ns.saturating_sub(o.start_ns));
                next += 1;
            }
        }
        let most = then.iter().max_by_key(|(end, n)| (**n, std::cmp::Reverse(**end)))?;
        let left = rows.len().saturating_sub(*most.1);
        (*most.1 >= FEWEST && left <= but).then_some((
            (*to, *process),
            Taken {
                then: *most.0,
                within_ns,
            },
        ))
    };
    tried.iter().filter_map(of).collect()
}
