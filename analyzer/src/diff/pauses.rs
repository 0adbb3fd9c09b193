//! A program that sends its requests to a server in one piece on one side, and with a pause between two parts of them on the other: that time is
//! in no answer's. No test of chance is asked: none of many on one side, most of many on the other is no chance.

use std::collections::BTreeMap;

use super::answers::server;
use super::options::Recording;
use crate::analyses::application::{Role, paused, sockets};
use crate::analyses::verdict::duration;
use crate::name::Name;
use crate::stat::nearest_rank;

/// Fewest requests of a side, and fewest with a pause of the other.
const LEAST: usize = 10;
/// Part of the requests of the side that pauses.
const MOSTLY: f64 = 0.5;

/// A program that pauses on one side.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pauses {
    pub server: String,
    /// It pauses after, and did not before.
    pub worse: bool,
    sentence: String,
}

impl Pauses {
    /// Without its end.
    pub fn sentence(&self) -> String {
        self.sentence.clone()
    }
}

/// Requests, and pauses of those with one.
type Side = BTreeMap<(Name, String), (usize, Vec<i64>)>;

fn side(all: &[Recording<'_>]) -> Side {
    let mut out = Side::new();
    for r in all {
        let here = r.connections();
        let sockets = sockets(r.facts);
        let clients = sockets.iter().filter(|s| s.in_turns && s.role == Role::Client);
        for s in clients.filter(|s| here.as_ref().is_none_or(|h| h.contains(&s.connection))) {
            let Some(to) = server(r.facts, s.connection, s.role) else {
                continue;
            };
            for (_, row) in s.judged_responses().filter(|(_, row)| r.has(row.send_ns)) {
                let of = out.entry((row.task, to.clone())).or_default();
                of.0 += 1;
                if paused(row) {
                    of.1.push(row.pause_ns);
                }
            }
        }
    }
    out
}

/// Those with most time first; none where names are pseudonyms.
pub(super) fn of(before: &[Recording<'_>], after: &[Recording<'_>], hidden: bool) -> Vec<Pauses> {
    if hidden {
        return vec![];
    }
    let (before, after) = (side(before), side(after));
    let mut found: Vec<(i64, Pauses)> = vec![];
    for (key, b) in &before {
        let Some(a) = after.get(key) else { continue };
        let worse = b.1.is_empty();
        let (without, with) = if worse { (b, a) } else { (a, b) };
        let most = with.1.len() as f64 >= MOSTLY * with.0 as f64;
        if !without.1.is_empty() || without.0 < LEAST || with.1.len() < LEAST || !most {
            continue;
        }
        let p50 = nearest_rank(&mut with.1.clone(), 50).unwrap_or(0);
        let (task, server) = (key.0.text(), &key.1);
        let said = |of: &(usize, Vec<i64>)| format!("{} of {}", of.1.len(), of.0);
        let found_here = Pauses {
            server: server.clone(),
            worse,
            sentence: format!(
                "{task} sends its requests to {server} in parts with a pause between them, p50 {} {}: {} -> {}; that is in no answer's time",
                duration(p50),
                if worse { "after" } else { "before" },
                said(b),
                said(a)
            ),
        };
        found.push((with.1.iter().fold(0i64, |sum, ns| sum.saturating_add(*ns)), found_here));
    }
    found.sort_by(|x, y| y.0.cmp(&x.0).then_with(|| x.1.server.cmp(&y.1.server)));
    found.into_iter().map(|f| f.1).collect()
}
