//! Answers that wait while their thread's own attempt to connect to somebody else fails: a proxy that tries a server which is gone, and then another one.
//!
//! Needs `turnarounds`, `opens`. Must not take for one: attempts that another thread makes, or that take a small part of the wait.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::waited::Spans;
use crate::analyses::opens::end;
use crate::facts::Facts;
use crate::reconstruct::application::tables::TurnaroundRow;
use crate::reconstruct::opens::tables::{OpenEnd, OpenRow};

/// Part of an answer's time for which the attempt was under way.
const MOSTLY: f64 = 0.5;
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
    let mut failed: FxHashMap<i32, Vec<&OpenRow>> = FxHashMap::default();
    for r in facts
        .opens
        .iter()
        .filter(|r| r.end != OpenEnd::Established && r.pid > 0)
    {
        failed.entry(r.pid).or_default().push(r);
    }
    let mut by: BTreeMap<String, (u64, &'static str, i64)> = BTreeMap::new();
    for t in slow {
        let (start, total) = (t.start_ns(), t.total_ns());
        let theirs = failed.get(&t.sender_pid).into_iter().flatten();
        let longest = theirs.max_by_key(|r| Spans::of(vec![(r.start_ns, r.end_ns)]).within(start, t.send_ns));
        if let Some(r) = longest {
            let ns = Spans::of(vec![(r.start_ns, r.end_ns)]).within(start, t.send_ns);
            if ns as f64 >= MOSTLY * total as f64 {
                let of = by.entry(end(r.to)).or_insert((0, r.end.word(), 0));
                *of = (of.0 + 1, r.end.word(), of.2.max(r.total_ns()));
            }
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
