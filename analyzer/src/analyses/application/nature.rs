//! Slow answers of a server that only waited for another one all of whose answers take that long, at rest: long polls, and what is slow by nature, behind a front that answers the rest at once.
//!
//! Needs `responses`, `turnarounds`. Which answer waited for which is inferred by times, as in `handed`. Must not take away: answers of a server that has become slow, or that works, waits for a CPU, a lock or a disk
//! meanwhile; all slow ones of the front.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::cut::least_of_slow;
use super::servers::Answer;
use super::waited::Waits;
use crate::reconstruct::application::tables::TurnaroundRow;
use crate::stat::{Distribution, nearest_rank};

/// Answers of such a server take so long, ns (median), and there are so many.
const LONG_NS: i64 = 500_000_000;
const LEAST: u64 = 5;
/// None takes longer than so many times its median.
const TIMES: i64 = 3;
/// Slow answers that are looked at.
const MOST: usize = 2_000;
/// Servers behind the front.
const HOPS: usize = 4;
/// Of each turnaround so much was asleep, in one of these calls.
const ASLEEP: f64 = 0.9;
pub(super) const AT_REST: [&str; 6] = [
    "clock_nanosleep",
    "nanosleep",
    "epoll_wait",
    "epoll_pwait",
    "poll",
    "select",
];

/// Answers that are set apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nature {
    /// The server that they waited for.
    pub of: String,
    /// Answers.
    pub n: u64,
    /// Their median, ns.
    pub p50_ns: i64,
    /// The longest, ns.
    pub max_ns: i64,
    /// All answers of that server, and their median, ns.
    pub all: u64,
    /// As said.
    pub all_p50_ns: i64,
}

fn rests(t: &TurnaroundRow) -> bool {
    let call = t.asleep_in.text();
    t.split.asleep_ns as f64 >= ASLEEP * t.total_ns() as f64 && AT_REST.contains(&call.as_ref())
}

/// Takes them out of `rows`; `medians` are of all servers.
pub(super) fn nature<'f>(
    waits: &Waits<'f>,
    medians: &FxHashMap<String, (u64, i64)>,
    server: &str,
    rows: &mut Vec<Answer<'f>>,
) -> Vec<Nature> {
    let median = |of: &[Answer<'_>]| nearest_rank(&mut of.iter().map(|r| r.0).collect::<Vec<_>>(), 50);
    let long = |of: &str| medians.get(of).filter(|(n, p50)| *n >= LEAST && *p50 >= LONG_NS);
    let none = medians.keys().all(|of| of == server || long(of).is_none());
    let Some(p50) = median(rows).filter(|_| !none) else {
        return vec![];
    };
    let least = least_of_slow(p50);
    let slow = rows.iter().filter(|r| r.0 >= least).count();
    if slow > MOST {
        return vec![];
    }
    let whom = |(_, r): &Answer<'f>| -> Option<String> {
        let mut t = waits.turnaround(r)?;
        let mut last = None;
        for _ in 0..HOPS {
            let Some((to, next, ns)) = waits.asked_by(t) else { break };
            t = next;
            last = Some((to, ns));
        }
        let (to, ns) = last?;
        // It asked nobody itself, also none that is not in the recording.
        let usual = !waits.asked(t) && long(to).is_some_and(|(_, p50)| ns <= p50.saturating_mul(TIMES));
        (usual && rests(t)).then(|| to.to_owned())
    };
    let whose: Vec<Option<String>> = rows
        .iter()
        .map(|row| if row.0 >= least { whom(row) } else { None })
        .collect();
    // Where nothing else is slow they are what there is to tell.
    let theirs = whose.iter().flatten().count();
    if theirs == 0 || theirs == slow {
        return vec![];
    }
    let mut by: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
    for (row, of) in rows.iter().zip(&whose) {
        if let Some(of) = of {
            by.entry(of).or_default().push(row.0);
        }
    }
    let found = by.into_iter().map(|(of, times)| {
        let (all, all_p50_ns) = medians.get(of).copied().unwrap_or_default();
        Nature {
            of: of.to_owned(),
            n: times.len() as u64,
            max_ns: times.iter().copied().max().unwrap_or(0),
            p50_ns: Distribution::of(times, 0).p50_ns.unwrap_or(0),
            all,
            all_p50_ns,
        }
    });
    let found = found.collect();
    let mut apart = whose.iter();
    rows.retain(|_| apart.next().is_none_or(Option::is_none));
    found
}
