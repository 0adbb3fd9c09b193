//! Attempts of a server's process at one of its own servers that is out from the begin of the recording to its end, while it works by others of that port: a balancer's checks of what is down, whatever their number and distances.
//!
//! ```text
//! balancer  works by A    tries B, in vain    works by A    tries B seven times at once, in vain ...    and no answer of its own waited for most of these
//! ```
//! Needs `opens`, `responses`, `turnarounds`. Inferred. It is one where all of these hold: its process serves somebody; it asked and was answered by others of that port at least as often as it tried this one; nobody has reached that end, nor listens there; all others that try it
//! are such, too, or check it; from the begin of the recording to its end; and at most every second attempt could have been waited for by an answer. Must not take for one: a server that goes down while it is recorded, one to which a proxy
//! sends requests again and again (each of them waits), a client or a worker, of whom nothing tells who waits for it.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::checks::Checks;
use super::probers::{Probers, all_along};
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::opens::tables::{End, OpenEnd, OpenRow};

/// An answer waited for at most one attempt in so many.
const WAITED: usize = 2;
/// EHOSTUNREACH: no neighbour answered, or a router said so; no socket but of IP is told it.
pub(super) const UNANSWERED: i32 = 113;

/// What processes did by others than this end, by process and port: connections opened and requests answered.
struct Pools {
    works: FxHashMap<(i32, u16), Vec<(End, usize)>>,
}

impl Pools {
    fn of(facts: &Facts) -> Pools {
        let mut works: FxHashMap<(i32, u16), FxHashMap<End, usize>> = FxHashMap::default();
        let mut count = |pid: i32, (address, port): End| {
            let of = works.entry((facts.process(pid), port)).or_default();
            *of.entry((address.to_canonical(), port)).or_default() += 1;
        };
        let stood = facts.opens.iter().filter(|o| o.end == OpenEnd::Established);
        stood
            .filter_map(|o| Some((o.pid, o.to?)))
            .for_each(|(pid, to)| count(pid, to));
        let at = |c: ConnectionId| facts.connections.get(c.0 as usize);
        let asked = facts
            .responses
            .iter()
            .filter_map(|r| at(r.connection).map(|c| (r.pid, c)));
        asked
            .filter_map(|(pid, c)| Some((pid, (c.daddr?, c.dport))))
            .for_each(|(pid, to)| count(pid, to));
        let works = works.into_iter().map(|(of, ends)| (of, ends.into_iter().collect()));
        Pools { works: works.collect() }
    }

    /// The other end by which a process works most, where its attempts at this one are those of a server that is out all along; `waited`: attempts for which an answer of its own waited.
    fn instead(&self, (to, process): (End, i32), tried: &[&OpenRow], waited: usize, by: &Probers<'_>) -> Option<End> {
        let others = self.works.get(&(process, to.1))?.iter().filter(|(end, _)| *end != to);
        let (most, n) = others.max_by_key(|(end, n)| (*n, std::cmp::Reverse(*end)))?;
        let steady = by.serves(process) && all_along(by.facts(), tried);
        (steady && *n >= tried.len() && waited.saturating_mul(WAITED) <= tried.len()).then_some(*most)
    }
}

/// Of attempts at ends that nobody has reached: those of servers that are out, and by which other end their process works; of all that try an end, or of none.
pub(super) fn out(
    facts: &Facts,
    tried: &BTreeMap<(End, i32), &[&OpenRow]>,
    waited: &FxHashMap<(End, i32), usize>,
    (probers, checks): (&Probers<'_>, &Checks<'_>),
) -> BTreeMap<(End, i32), End> {
    let pools = Pools::of(facts);
    let (mut out, mut not) = (BTreeMap::new(), BTreeSet::new());
    for (key, rows) in tried {
        let waited = waited.get(key).copied().unwrap_or(0);
        match pools.instead(*key, rows, waited, probers) {
            Some(other) => {
                out.insert(*key, other);
            }
            None if checks.serving(key.0).any(|p| p == key.1) => {}
            None => {
                not.insert(key.0);
            }
        }
    }
    out.retain(|(to, _), _| !not.contains(to));
    out
}

/// Processes all of whose attempts for which no neighbour answered are at such servers: a call of theirs that fails so before its socket has a state is one more.
pub(super) fn unanswered(
    tried: &BTreeMap<(End, i32), Vec<&OpenRow>>,
    out: &BTreeMap<(End, i32), End>,
) -> FxHashMap<i32, End> {
    let (mut all, mut others) = (FxHashMap::default(), BTreeSet::new());
    for (key, rows) in tried {
        match out.get(key) {
            Some(other) => {
                all.insert(key.1, *other);
            }
            None if rows.iter().any(|o| o.error == Some(UNANSWERED)) => {
                others.insert(key.1);
            }
            None => {}
        }
    }
    all.retain(|process, _| !others.contains(process));
    all
}
