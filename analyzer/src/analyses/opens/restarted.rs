//! Attempts of a server's process at one of its own servers that is down for a time, while it works by others of that port: a balancer's checks of what is restarted.
//!
//! ```text
//! balancer  checks B: ok  ok  refused  refused  refused  refused  ok  ok      works by A meanwhile; no answer of its own waits for these
//! ```
//! Needs `opens`, `turnarounds`, `responses`; no lost events. Inferred. It is one where all of these hold: its process serves somebody; all attempts at that end that failed were refused and come at even distances, as checks do; it opened
//! at least as many connections to another end of that port meanwhile; and no answer waited for one. Must not take for one: requests that a proxy sends there, a client, an end that others try, too, and are refused.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::checks::every;
use super::probers::Probers;
use crate::facts::Facts;
use crate::reconstruct::opens::tables::{End, OpenEnd, OpenRow};

/// Of attempts at ends that somebody has reached: those of such checks, and by which other end their process worked meanwhile.
pub(super) fn restarted(
    facts: &Facts,
    tried: &BTreeMap<(End, i32), Vec<&OpenRow>>,
    waited: &FxHashMap<(End, i32), usize>,
    probers: &Probers<'_>,
) -> BTreeMap<(End, i32), End> {
    let mut opened: FxHashMap<(i32, u16), Vec<(End, i64)>> = FxHashMap::default();
    for o in facts.opens.iter().filter(|o| o.end == OpenEnd::Established) {
        if let Some((address, port)) = o.to {
            let of = opened.entry((facts.process(o.pid), port)).or_default();
            of.push(((address.to_canonical(), port), o.start_ns));
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
        (n >= rows.len()).then_some(most)
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
