//! Clients of a server all of whose answers take long, alike, where others' do not: they ask for something else, or live far away. They do not make
//! the others' answers slow, so that they are told apart from those.
//!
//! What holds them may still be a fault: a queue on the way, a timer of TCP, a lock, a limit for their address. Then they stay among the others.

use std::collections::BTreeMap;
use std::net::IpAddr;

use rustc_hash::FxHashSet;

use super::Part;
use super::cut::least_of_slow;
use super::nature::AT_REST;
use super::servers::{Answer, Slow, all_at};
use super::waited::Waits;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::application::tables::Peer;
use crate::stat::nearest_rank;

/// Fewest answers of such a client, and of the others, of whom they are no more than a part.
const LEAST: usize = 10;
const OTHERS: usize = 20;
const PART: f64 = 1.0 / 3.0;
/// A few are enough where the server was at rest for them: all so long, ns, so many times what others take, and of such times the longest.
const FEW: usize = 4;
const REST_NS: i64 = 1_000_000_000;
const FAR: i64 = 20;
const REST_ALIKE: f64 = 2.5;
/// Share of the server's time in which its thread slept by its own wish then.
const ASLEEP: f64 = 0.9;
/// Times the time that 5 % of its answers take less than, of which 95 % take less.
const ALIKE: f64 = 1.5;
/// Share of the time of the server's answers over which its own are spread.
const SPREAD: f64 = 0.5;
/// Part of their time that makes a place theirs, and part of their answers whose server's part must be known.
const MOSTLY: f64 = 0.5;
const KNOWN: f64 = 0.9;

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
    /// Median round trip that TCP measured on their connections, ns; `None`: no sample.
    pub rtt_ns: Option<i64>,
    /// What the server's threads did, largest first, and the task with most of it.
    pub parts: Vec<Part>,
    /// As said.
    pub task: (String, f64),
}

/// Whether the server's threads were at work, or asleep in a call by their own wish, and waited for nobody.
fn own_wish(s: &Slow) -> bool {
    let waits = s.waited.is_none() && s.released.is_none() && s.for_work.is_none();
    let kept = s.kept.is_none() && s.metered.is_none() && s.opening.is_none();
    // What no event tells of is nobody's wish.
    let told = |p: &&Part| p.share >= MOSTLY && matches!(p.state, "running" | "asleep_in");
    let own = s.parts.first().filter(told).is_some_and(|p| {
        let waker = p.waker_held.is_some() || p.waker_read.is_some() || p.waker_in_state_d.is_some();
        p.meant(true) && !waker
    });
    waits && kept && own
}

/// Median round trip of these connections, as TCP measured it.
fn rtt(facts: &Facts, rows: &[Answer<'_>]) -> Option<i64> {
    let of: FxHashSet<ConnectionId> = rows.iter().map(|r| r.1.connection).collect();
    let samples = facts
        .tcp_samples
        .iter()
        .filter(|s| s.srtt_us > 0 && of.contains(&s.connection));
    let mut all: Vec<i64> = samples.map(|s| i64::from(s.srtt_us).saturating_mul(1_000)).collect();
    nearest_rank(&mut all, 50)
}

/// One client's, where nothing that has a name made them long.
fn one(facts: &Facts, waits: &Waits<'_>, client: IpAddr, rows: &[Answer<'_>]) -> Option<Apart> {
    let known = rows.iter().filter(|r| r.1.peer.is_some()).count();
    if (known as f64) < KNOWN * rows.len() as f64 {
        return None;
    }
    let server = all_at(facts, waits, "server", rows);
    let way = |of: fn(&Peer) -> i64| {
        let ns = rows.iter().filter_map(|r| r.1.peer.as_ref()).map(of);
        ns.fold(0i64, i64::saturating_add) as f64 / server.sum_ns.max(1) as f64
    };
    let (there, back, rtt_ns) = (way(|p| p.there_ns), way(|p| p.back_ns), rtt(facts, rows));
    let meant = match server.share >= MOSTLY {
        true => own_wish(&server),
        // What the round trip is not long by is held by somebody: a timer of TCP, a program, a window.
        false => {
            let ns = (there + back) * server.p50_ns as f64;
            let far = there + back >= MOSTLY && rtt_ns.is_some_and(|rtt| rtt as f64 >= MOSTLY * ns);
            let free =
                |at| Some(all_at(facts, waits, at, rows)).filter(|way| way.held.is_none() && way.place.is_none());
            far && free("there").and(free("back")).is_some()
        }
    };
    if !meant {
        return None;
    }
    Some(Apart {
        client: client.to_string(),
        n: server.n,
        p50_ns: server.p50_ns,
        max_ns: server.max_ns,
        server: server.share,
        there,
        back,
        rtt_ns,
        parts: server.parts,
        task: server.task,
    })
}

/// Who asked for it.
fn client(facts: &Facts, a: &Answer<'_>) -> Option<IpAddr> {
    facts.connections.get(a.1.connection.0 as usize)?.saddr
}

/// The one client's address that these are to, where all others of the server's answers are to others.
pub(super) fn one_client(facts: &Facts, rows: &[Answer<'_>], all: &[Answer<'_>]) -> Option<String> {
    let one = client(facts, rows.first()?)?;
    let theirs = |of: &[Answer<'_>]| of.iter().filter(|a| client(facts, a) == Some(one)).count();
    let alone = rows.len() > 1 && theirs(rows) == rows.len() && theirs(all) == rows.len() && all.len() > rows.len();
    alone.then(|| one.to_string())
}

/// Takes the answers of such clients out of `rows`.
pub(super) fn apart<'f>(facts: &'f Facts, waits: &Waits<'_>, rows: &mut Vec<Answer<'f>>) -> Vec<Apart> {
    let mut by: BTreeMap<IpAddr, Vec<Answer<'f>>> = BTreeMap::new();
    for row in rows.iter() {
        if let Some(of) = client(facts, row) {
            by.entry(of).or_default().push(*row);
        }
    }
    let median = |of: &[Answer<'_>]| nearest_rank(&mut of.iter().map(|r| r.0).collect::<Vec<_>>(), 50).unwrap_or(0);
    let mut left: Vec<(i64, IpAddr, Vec<Answer<'f>>)> = by.into_iter().map(|(a, of)| (median(&of), a, of)).collect();
    left.sort_by_key(|l| (l.0, l.1));
    let mut found: Vec<(IpAddr, Apart)> = vec![];
    let mut taken = 0usize;
    // Those that take longest first: of what is left each may stand out again. A few answers tell nothing of their client, nor of others.
    while let Some((_, whose, of)) = left.pop() {
        if of.len() < FEW {
            continue;
        }
        let few = of.len() < LEAST;
        let others: Vec<Answer<'f>> = left.iter().flat_map(|l| l.2.iter().copied()).collect();
        if few && !stands_far_apart(&of, &others) {
            continue;
        }
        taken += of.len();
        if taken as f64 > PART * rows.len() as f64 || !few && !stands_apart(&of, &others) {
            break;
        }
        let one = match one(facts, waits, whose, &of) {
            Some(one) if !few || at_rest(&one) => one,
            // A few tell nothing of their client else.
            _ if few => {
                taken -= of.len();
                continue;
            }
            _ => break,
        };
        found.push((whose, one));
    }
    rows.retain(|row| !found.iter().any(|(of, _)| client(facts, row) == Some(*of)));
    found.into_iter().map(|f| f.1).collect()
}

/// The server slept for nearly all of it, and nobody woke its thread: as for a long poll.
fn at_rest(a: &Apart) -> bool {
    let first = a
        .parts
        .first()
        .filter(|p| p.state == "asleep_in" && p.woken_by.is_none() && p.share >= ASLEEP);
    let call = first.and_then(|p| p.call.as_deref());
    a.server >= ASLEEP && call.is_some_and(|call| AT_REST.contains(&call))
}

/// All of it take seconds, each far longer than what others' take, all through the time in which the server answered.
fn stands_far_apart(of: &[Answer<'_>], others: &[Answer<'_>]) -> bool {
    let least = of.iter().map(|r| r.0).min().unwrap_or(0);
    let most = of.iter().map(|r| r.0).max().unwrap_or(0);
    let usual = nearest_rank(&mut others.iter().map(|r| r.0).collect::<Vec<_>>(), 50).unwrap_or(i64::MAX);
    let long = least >= REST_NS && least >= usual.saturating_mul(FAR) && most as f64 <= REST_ALIKE * least as f64;
    long && others.len() >= OTHERS && all_through(of, others)
}

/// They are spread over the time in which others' are.
fn all_through(of: &[Answer<'_>], others: &[Answer<'_>]) -> bool {
    let span = |of: &[Answer<'_>]| {
        let ends = || of.iter().map(|r| r.1.send_ns);
        ends()
            .max()
            .zip(ends().min())
            .map_or(0, |(last, first)| last.saturating_sub(first))
    };
    span(of) as f64 >= SPREAD * span(others) as f64
}

/// All of it take long, alike, all through the time in which the server answered.
fn stands_apart(of: &[Answer<'_>], others: &[Answer<'_>]) -> bool {
    if others.len() < OTHERS {
        return false;
    }
    let times = |of: &[Answer<'_>]| -> Vec<i64> { of.iter().map(|r| r.0).collect() };
    let rank = |percent| nearest_rank(&mut times(of), percent).unwrap_or(0);
    let (low, high) = (rank(5), rank(95));
    let usual = nearest_rank(&mut times(others), 50).unwrap_or(0);
    let spread = all_through(of, others);
    low >= least_of_slow(usual) && high as f64 <= ALIKE * low as f64 && spread
}
