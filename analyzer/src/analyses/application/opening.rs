//! Answers that wait while their thread's own attempt to connect to somebody else fails: a proxy that tries a server which is gone, and then another one.
//!
//! Needs `turnarounds`, `opens`. Must not take for one: attempts that another thread makes, that were under way
//! before, or that take a small part of the wait. A thread that serves many at a time may make them for another: inferred.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::analyses::opens::end;
use crate::facts::Facts;
use crate::reconstruct::application::tables::TurnaroundRow;
use crate::reconstruct::opens::tables::{OpenEnd, OpenRow};

/// Part of an answer's time for which the attempt was under way.
const MOSTLY: f64 = 0.5;
/// Attempts looked at for one answer.
const NEAR: usize = 64;
/// Part of the answers.
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
    /// What came of the attempts, as in `opens`.
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
    let mut by: BTreeMap<String, (u64, &'static str, i64)> = BTreeMap::new();
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
            let of = by.entry(end(r.to)).or_insert((0, r.end.word(), 0));
            *of = (of.0 + 1, r.end.word(), of.2.max(r.total_ns()));
        }
    }
    let (to, (n, word, longest_ns)) = by.into_iter().max_by_key(|(_, of)| of.0)?;
    let nearly_all = n as f64 >= NEARLY_ALL * slow.len() as f64;
    nearly_all.then_some(Opening {
        to,
        n,
        of: slow.len() as u64,
        end: word,
        longest_ns,
    })
}
