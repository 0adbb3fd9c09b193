//! A program that sends its requests to a server in one piece on one side, and with a pause between two parts of them on the other: that time is
//! in no answer's. No test of chance is asked: none of many on one side, most of many on the other is no chance. Counted on connections whose first
//! request is known (`paused::tells`): a client that thinks between its requests and sends a word behind each sends that one at once.

use std::collections::BTreeMap;

use super::answers::server;
use crate::analyses::application::{Role, RoleBy, Socket, paused, sockets, tells};
use crate::analyses::verdict::duration;
use crate::diff::sides::options::Recording;
use crate::name::Name;
use crate::stat::nearest_rank;

/// Fewest requests of a side, and fewest with a pause of the other.
const LEAST: usize = 10;
/// Part of the requests of the side that pauses.
const MOSTLY: f64 = 0.5;

/// A program that pauses on one side.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::diff) struct Pauses {
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

/// Part of a pause that those of the other side do not reach: a step, no pause that grew a little.
const STEP: i64 = 5;

/// Requests of a program to a server.
#[derive(Default)]
struct Asked {
    n: usize,
    /// The longest time between two sends of each.
    all: Vec<i64>,
    /// Of those with a pause.
    paused: Vec<i64>,
}

type Side = BTreeMap<(Name, String), Asked>;

fn side(all: &[Recording<'_>]) -> Side {
    let mut out = Side::new();
    for r in all {
        let here = r.connections();
        let sockets = sockets(r.facts);
        let opened = |s: &&Socket<'_>| (s.role, s.role_by) == (Role::Client, RoleBy::Handshake);
        let clients = sockets.iter().filter(|s| s.in_turns).filter(opened);
        for s in clients.filter(|s| here.as_ref().is_none_or(|h| h.contains(&s.connection))) {
            let Some(to) = server(r, s.connection, s.role) else {
                continue;
            };
            let tells = tells(s);
            for (_, row) in s.judged_responses().filter(|(_, row)| r.has(row.send_ns)) {
                let of = out.entry((row.task, to.clone())).or_default();
                of.n += 1;
                let first = s.responses.first().is_some_and(|f| f.send_ns == row.send_ns);
                of.all.extend((tells || first).then_some(row.pause_ns));
                if tells && paused(row) {
                    of.paused.push(row.pause_ns);
                }
            }
        }
    }
    out
}

/// Those with most time first; none where names are pseudonyms.
pub(in crate::diff) fn of(before: &[Recording<'_>], after: &[Recording<'_>], hidden: bool) -> Vec<Pauses> {
    if hidden {
        return vec![];
    }
    let (before, after) = (side(before), side(after));
    let mut found: Vec<(i64, Pauses)> = vec![];
    for (key, b) in &before {
        let Some(a) = after.get(key) else { continue };
        let worse = b.paused.is_empty();
        let (without, with) = if worse { (b, a) } else { (a, b) };
        let most = with.paused.len() as f64 >= MOSTLY * with.n as f64;
        if !without.paused.is_empty() || without.n < LEAST || with.paused.len() < LEAST || !most {
            continue;
        }
        let p50 = nearest_rank(&mut with.paused.clone(), 50).unwrap_or(0);
        let longest = nearest_rank(&mut without.all.clone(), 90).unwrap_or(0);
        if longest.saturating_mul(STEP) > p50 {
            continue;
        }
        let (task, server) = (key.0.text(), &key.1);
        let said = |of: &Asked| format!("{} of {}", of.paused.len(), of.n);
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
        found.push((
            with.paused.iter().fold(0i64, |sum, ns| sum.saturating_add(*ns)),
            found_here,
        ));
    }
    found.sort_by(|x, y| y.0.cmp(&x.0).then_with(|| x.1.server.cmp(&y.1.server)));
    found.into_iter().map(|f| f.1).collect()
}
