//! Attempts of a server's process at one of its own servers that is down for a time, while it works by others of that port: a balancer's checks of what is restarted.
//!
//! ```text
//! balancer  checks B: ok  ok  refused  refused  refused  refused  ok  ok      works by A meanwhile; no answer of its own waits for these
//! ```
//! Needs `opens`, `turnarounds`, `responses`; no lost events. Inferred. It is one where all of these hold: its process serves somebody; all attempts at that end that failed were refused and come at even distances, as checks do; it opened
//! twice as many connections, and had answers on them, to another end of that port meanwhile; that end was reached again behind them; and no answer waited for one. Must not take for one: requests that a proxy sends there, a client, an end that others try, too, and are refused, one that stays down.
//! Where that other end is of another pool than this one nothing tells it: a balancer that answers by itself meanwhile is said so of (`application/itself.rs`).

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};

use super::checks::every;
use super::probers::Probers;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::opens::tables::{End, OpenEnd, OpenRow};

/// Connections with an answer that it opened to another end meanwhile, for each attempt here: checks of that one come as often as of this.
const MORE: usize = 2;

/// Of attempts at ends that somebody has reached: those of such checks, and by which other end their process worked meanwhile.
pub(super) fn restarted(
    facts: &Facts,
    tried: &BTreeMap<(End, i32), Vec<&OpenRow>>,
    waited: &FxHashMap<(End, i32), usize>,
    probers: &Probers<'_>,
) -> BTreeMap<(End, i32), End> {
    let spoke: FxHashSet<ConnectionId> = facts.responses.iter().map(|r| r.connection).collect();
    let mut opened: FxHashMap<(i32, u16), Vec<(End, i64)>> = FxHashMap::default();
    let mut stood: BTreeMap<End, i64> = BTreeMap::new();
    for o in facts.opens.iter().filter(|o| o.end == OpenEnd::Established) {
        let Some((address, port)) = o.to else { continue };
        let end = (address.to_canonical(), port);
        stood.insert(end, o.start_ns);
        if o.connection.is_some_and(|c| spoke.contains(&c)) {
            opened
                .entry((facts.process(o.pid), port))
                .or_default()
                .push((end, o.start_ns));
        }
    }
    let meanwhile = |(to, pid): (End, i32), rows: &[&OpenRow]| {
        let first = rows.iter().map(|o| o.start_ns).min()?;
        let last = rows.iter().map(|o| o.end_ns).max()?;
        let mut by: BTreeMap<End, usize> = BTreeMap::new();
        let of = opened.get(&(pid, to.1)).map_or(&[][..], Vec::as_slice);
        for (end, at) in of.iter().filter(|(end, _)| *end != to) {
            if (first..=last).contains(at) {
                *by.entry(*end).or_default() += 1;
            }
        }
        let (most, n) = by.into_iter().max_by_key(|(end, n)| (*n, std::cmp::Reverse(*end)))?;
        // More than its checks of that one; and this one came back.
        let back = stood.get(&to).is_some_and(|at| *at > last);
        (back && n >= rows.len().saturating_mul(MORE)).then_some(most)
    };
    let (mut out, mut not) = (BTreeMap::new(), BTreeSet::new());
    for (key, rows) in tried {
        let refused = rows.iter().all(|o| o.end == OpenEnd::Refused && !o.message);
        let check = refused && !waited.contains_key(key) && probers.serves(key.1) && every(rows).is_some();
        match meanwhile(*key, rows).filter(|_| check) {
            Some(other) => {
                out.insert(*key, other);
            }
            None => {
                not.insert(key.0);
            }
        }
    }
    out.retain(|(to, _), _| !not.contains(to));
    out
}
