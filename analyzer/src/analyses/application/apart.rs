//! Clients of a server all of whose answers take long, alike, where others' do not: they ask for something else, or live far away. They do not make
//! the others' answers slow, so that they are told apart from those.
//!
//! What holds them may still be a fault: a queue on the way, a timer of TCP, a lock, a limit for their address. Then they stay among the others.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::Part;
use super::servers::{Answer, Slow, all_at, least_of_slow};
use super::waited::Waits;
use crate::facts::Facts;
use crate::reconstruct::thread::{STOPPED, TRACED, UNINTERRUPTIBLE, UNRECORDED};
use crate::stat::nearest_rank;

/// Fewest answers of such a client, and of the others.
const LEAST: usize = 10;
/// Times the time that 5 % of its answers take less than, of which 95 % take less.
const ALIKE: f64 = 1.5;
/// Share of the time of the server's answers over which its own are spread.
const SPREAD: f64 = 0.5;
/// Part of their time that makes a place theirs.
const MOSTLY: f64 = 0.5;

/// A client's address and its answers.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Apart {
    /// Whose.
    pub client: String,
    /// Answers.
    pub n: u64,
    /// Their median, ns.
    pub p50_ns: i64,
    /// The longest, ns.
    pub max_ns: i64,
    /// Share of their time that was in the server, on the way there, and on the way back.
    pub server: f64,
    /// As said.
    pub there: f64,
    /// As said.
    pub back: f64,
    /// What the server's threads did, largest first, and the task with most of it.
    pub parts: Vec<Part>,
    /// As said.
    pub task: (String, f64),
}

/// Whether nothing on the way held them that is somebody's.
fn only_far(way: &Slow) -> bool {
    way.held.is_none() && way.place.is_none()
}

/// Whether the server's threads were at work, or asleep in a call by their own wish, and waited for nobody.
fn own_wish(s: &Slow) -> bool {
    let waits = s.waited.is_none() && s.released.is_none() && s.for_work.is_none();
    let kept = s.kept.is_none() && s.metered.is_none() && s.opening.is_none();
    let held = |call: &str| [UNINTERRUPTIBLE, STOPPED, TRACED, UNRECORDED].contains(&call);
    let own = s.parts.first().is_some_and(|p| match p.state {
        "running" => true,
        "asleep_in" => p.call.as_deref().is_some_and(|call| !held(call)),
        _ => false,
    });
    waits && kept && own
}

/// One client's, where nothing that has a name made them long.
fn one(facts: &Facts, waits: &Waits<'_>, client: IpAddr, rows: &[Answer<'_>]) -> Option<Apart> {
    let [server, there, back] = ["server", "there", "back"].map(|at| all_at(facts, waits, at, rows));
    let in_server = server.share >= MOSTLY;
    let meant = match in_server {
        true => own_wish(&server),
        false => there.share + back.share >= MOSTLY && only_far(&there) && only_far(&back),
    };
    meant.then(|| Apart {
        client: client.to_string(),
        n: server.n,
        p50_ns: server.p50_ns,
        max_ns: server.max_ns,
        server: server.share,
        there: there.share,
        back: back.share,
        parts: server.parts,
        task: server.task,
    })
}

/// Takes the answers of such clients out of `rows`.
pub(super) fn apart<'f>(facts: &'f Facts, waits: &Waits<'_>, rows: &mut Vec<Answer<'f>>) -> Vec<Apart> {
    let client = |a: &Answer<'_>| facts.connections.get(a.1.connection.0 as usize).and_then(|c| c.saddr);
    let mut by: BTreeMap<IpAddr, Vec<Answer<'f>>> = BTreeMap::new();
    for row in rows.iter() {
        if let Some(of) = client(row) {
            by.entry(of).or_default().push(*row);
        }
    }
    let all: Vec<(IpAddr, Vec<Answer<'f>>)> = by.into_iter().collect();
    let mut found = vec![];
    // Those that take longest first: of what is left each may stand out again.
    let mut left: Vec<&(IpAddr, Vec<Answer<'f>>)> = all.iter().collect();
    let median = |of: &[Answer<'_>]| nearest_rank(&mut of.iter().map(|r| r.0).collect::<Vec<_>>(), 50).unwrap_or(0);
    left.sort_by_key(|(_, of)| median(of));
    while let Some((of, others)) = left.split_last() {
        let others: Vec<Answer<'f>> = others.iter().flat_map(|o| o.1.iter().copied()).collect();
        if !stands_apart(&of.1, &others) {
            break;
        }
        let Some(one) = one(facts, waits, of.0, &of.1) else {
            break;
        };
        found.push((of.0, one));
        left.pop();
    }
    rows.retain(|row| !found.iter().any(|(of, _)| client(row) == Some(*of)));
    found.into_iter().map(|f| f.1).collect()
}

/// All of it take long, alike, all through the time in which the server answered.
fn stands_apart(of: &[Answer<'_>], others: &[Answer<'_>]) -> bool {
    if of.len() < LEAST || others.len() < LEAST {
        return false;
    }
    let times = |of: &[Answer<'_>]| -> Vec<i64> { of.iter().map(|r| r.0).collect() };
    let rank = |percent| nearest_rank(&mut times(of), percent).unwrap_or(0);
    let (low, high) = (rank(5), rank(95));
    let usual = nearest_rank(&mut times(others), 50).unwrap_or(0);
    let span = |of: &[Answer<'_>]| {
        let ends = || of.iter().map(|r| r.1.send_ns);
        ends()
            .max()
            .zip(ends().min())
            .map_or(0, |(last, first)| last.saturating_sub(first))
    };
    let spread = span(of) as f64 >= SPREAD * span(others) as f64;
    low >= least_of_slow(usual) && high as f64 <= ALIKE * low as f64 && spread
}
