//! What those who were asked in vain asked elsewhere meanwhile, and were not answered either, where nothing ties one question to the other: a resolver that joins equal questions to the one that it has asked already.
//!
//! ```text
//! askers     ask ───────────── wait in vain ──── ...            none before `since`, or hardly any
//! asked      ask ▏ answered  ask ▏ answered │ ask  ask  ask     the process that read them, at another place
//!                                         since: from here on many of these have no answer, none before
//! ```
//! Needs `udp_turns`, `udp_sockets`. Inferred. Must not be said where it asked there in vain before, too, or the askers waited in vain before that.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use super::who;
use crate::facts::Facts;
use crate::reconstruct::datagrams::sockets::SocketRow;
use crate::reconstruct::datagrams::tables::TurnRow;

/// Fewest of its questions without an answer, and with one before; and of those since then one in so many at least.
const FEWEST: usize = 10;
const PART: usize = 4;
/// Of those who waited in vain all but one in so many began to after that.
const BUT: usize = 10;
/// They may have been sent so much earlier, ns.
const BEFORE_NS: i64 = 100_000_000;

/// Whom the asked one asked in vain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beyond {
    /// `task/process` that was asked.
    pub task: String,
    /// Where it asked itself.
    pub to: String,
    /// Its questions there from `since_ns` on, and those of them without an answer.
    pub of: u64,
    /// As said.
    pub unanswered: u64,
    /// When the first of them was sent, ns since the start of the recording.
    pub since_ns: i64,
    /// Questions before that, all of them answered.
    pub before: u64,
    /// Who answered before, who has the socket there since, and when that was first used, ns since the start.
    pub replaced: Option<(String, String, i64)>,
}

/// Of questions in vain that came to sockets of one process.
pub(super) fn beyond(facts: &Facts, vain: &[&TurnRow]) -> Option<Beyond> {
    let socket = |n: u32| facts.udp_sockets.get(n as usize);
    let process_of = |s: &SocketRow| match s.holder {
        0 => facts.process(s.pid),
        holder => holder,
    };
    let there: BTreeSet<i32> = (vain.iter())
        .filter_map(|t| Some(process_of(socket(t.there?)?)))
        .collect();
    let mut there = there.into_iter();
    let process = there.next().filter(|pid| *pid != 0 && there.next().is_none())?;
    // Who asks itself asks nobody beyond it.
    if vain.iter().any(|t| facts.process(t.pid) == process) {
        return None;
    }
    let mut by: BTreeMap<SocketAddr, Vec<&TurnRow>> = BTreeMap::new();
    for t in facts.udp_turns.iter().filter(|t| facts.process(t.pid) == process) {
        let asks = socket(t.socket).is_some_and(|s| !s.served) && t.confidence.is_solid();
        // What may still come is no news.
        if let Some(to) = t.whither(&facts.udp_sockets).filter(|_| asks && t.is_decided()) {
            by.entry(to).or_default().push(t);
        }
    }
    let none = |t: &TurnRow| !t.has_answer();
    let (to, mut turns) = by
        .into_iter()
        .max_by_key(|(_, of)| of.iter().filter(|t| none(t)).count())?;
    turns.sort_by_key(|t| t.start_ns);
    let first = turns.iter().position(|t| none(t))?;
    let (before, since) = turns.split_at(first);
    let since_ns = since.first()?.start_ns;
    let unanswered = since.iter().filter(|t| none(t)).count();
    let early = vain
        .iter()
        .filter(|t| t.start_ns < since_ns.saturating_sub(BEFORE_NS))
        .count();
    let many = unanswered >= FEWEST && unanswered.saturating_mul(PART) >= since.len();
    if !many || before.len() < FEWEST || early.saturating_mul(BUT) > vain.len() {
        return None;
    }
    let start = facts.capture.start_ns.unwrap_or(0);
    // The sockets to which its questions came, before and since.
    let sockets = |of: &[&TurnRow]| -> BTreeSet<u32> { of.iter().filter_map(|t| t.there).collect() };
    let (old, new) = (sockets(before), sockets(since));
    let replaced = match (old.last().and_then(|n| socket(*n)), new.last().and_then(|n| socket(*n))) {
        (Some(a), Some(b)) if process_of(a) != process_of(b) && new.is_disjoint(&old) => Some((
            who(&a.task, a.pid),
            who(&b.task, b.pid),
            b.first_ns.saturating_sub(start),
        )),
        _ => None,
    };
    let name = facts.processes.get(&process).map(|p| p.1);
    Some(Beyond {
        task: name.map_or_else(|| process.to_string(), |n| who(&n, process)),
        to: to.to_string(),
        of: since.len() as u64,
        unanswered: unanswered as u64,
        since_ns: since_ns.saturating_sub(start),
        before: before.len() as u64,
        replaced,
    })
}
