//! Answers that wait while their thread's own attempt to connect to somebody else fails: a proxy that tries a server which is gone, and then another one.
//!
//! Needs `turnarounds`, `opens`. Must not take for one: attempts that another thread makes, that were under way
//! before, or that take a small part of the wait; a thread's attempts at an even pace (health checks, a client that connects again), which begin as well while nobody waits, and of which
//! one is under way for many answers. A thread that serves many at a time may make them for another: inferred.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use crate::analyses::opens::end;
use crate::facts::Facts;
use crate::reconstruct::application::tables::TurnaroundRow;
use crate::reconstruct::opens::tables::{OpenEnd, OpenRow};

/// Part of an answer's time for which the attempt was under way.
const MOSTLY: f64 = 0.5;
/// Attempts looked at for one answer.
const NEAR: usize = 64;
/// Part of the answers; part of them that have an attempt of their own; part of their threads' failed attempts there that began while one was asked for.
const NEARLY_ALL: f64 = 0.75;

/// What they waited for.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Opening {
    /// Whom their thread tried to reach, most of them.
    pub to: String,
    /// Answers that waited so.
    pub n: u64,
    /// Of so many.
    pub of: u64,
    /// What came of most of the attempts, as in `opens`.
    pub end: &'static str,
    /// The longest of them, ns.
    pub longest_ns: i64,
}

/// Of these slow answers.
pub(super) fn opening(facts: &Facts, slow: &[&TurnaroundRow]) -> Option<Opening> {
    let mut failed: FxHashMap<i32, Vec<&OpenRow>> = slow.iter().map(|t| (t.sender_pid, vec![])).collect();
    let ended = |r: &&OpenRow| !matches!(r.end, OpenEnd::Established | OpenEnd::Waiting) && r.pid > 0;
    for r in facts.opens.iter().filter(ended) {
        if let Some(of) = failed.get_mut(&r.pid) {
            of.push(r);
        }
    }
    failed.values_mut().for_each(|of| of.sort_by_key(|r| r.start_ns));
    let mut by: BTreeMap<String, To> = BTreeMap::new();
    for t in slow {
        let (start, theirs) = (t.start_ns(), failed.get(&t.sender_pid).map_or(&[][..], Vec::as_slice));
        // Begun for it, or for another that came meanwhile: what was under way before is none of its own.
        let from = theirs.partition_point(|r| r.start_ns < start);
        let begun = theirs
            .iter()
            .skip(from)
            .take(NEAR)
            .take_while(|r| r.start_ns < t.send_ns);
        let held = |r: &OpenRow| r.end_ns.min(t.send_ns).saturating_sub(r.start_ns);
        let Some(r) = begun.max_by_key(|r| held(r)) else {
            continue;
        };
        if held(r) as f64 >= MOSTLY * t.total_ns() as f64 {
            let of = by.entry(end(r.to)).or_default();
            of.answers += 1;
            *of.ends.entry(r.end.word()).or_default() += 1;
            of.own.insert((r.pid, r.start_ns));
            of.longest_ns = of.longest_ns.max(r.total_ns());
        }
    }
    let (to, of) = by.into_iter().max_by_key(|(_, of)| of.answers)?;
    let nearly_all = |part: u64, all: u64| part as f64 >= NEARLY_ALL * all as f64;
    let own = of.own.len() as u64;
    let threads: BTreeSet<i32> = of.own.iter().map(|o| o.0).collect();
    let there = failed.iter().filter(|(pid, _)| threads.contains(pid));
    let there = there.flat_map(|(_, all)| all).filter(|r| end(r.to) == to);
    // Spans of these threads' answers, slow or not.
    let theirs = facts.turnarounds.iter().filter(|t| threads.contains(&t.sender_pid));
    let mut spans: Vec<(i64, i64)> = theirs.map(|t| (t.start_ns(), t.send_ns)).collect();
    spans.sort_unstable();
    let mut last = i64::MIN;
    for span in &mut spans {
        last = last.max(span.1);
        span.1 = last;
    }
    let inside = |r: &&&OpenRow| {
        let before = spans.partition_point(|s| s.0 <= r.start_ns).checked_sub(1);
        before.and_then(|n| spans.get(n)).is_some_and(|s| r.start_ns < s.1)
    };
    let (all, within) = (there.clone().count() as u64, there.filter(inside).count() as u64);
    let ends = of
        .ends
        .into_iter()
        .max_by_key(|(word, n)| (*n, std::cmp::Reverse(*word)));
    let told = nearly_all(of.answers, slow.len() as u64) && nearly_all(own, of.answers) && nearly_all(within, all);
    told.then_some(Opening {
        to,
        n: of.answers,
        of: slow.len() as u64,
        end: ends?.0,
        longest_ns: of.longest_ns,
    })
}

/// One whom threads tried to reach.
#[derive(Default)]
struct To {
    answers: u64,
    ends: BTreeMap<&'static str, u64>,
    /// Attempts, by thread and begin.
    own: BTreeSet<(i32, i64)>,
    longest_ns: i64,
}
