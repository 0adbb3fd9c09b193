//! Questions of a program to a place outside of the recording of which a part has no answer for a time, while others there have: a name server that drops some, a lossy way.
//!
//! ```text
//! to 198.51.100.53:53   answered  answered │ in vain  answered  in vain  ... │ answered  answered
//!                                         from                             to
//! ```
//! Needs `udp_turns`, `udp_sockets`, `drops`. A question that was asked again, or given up, before it had the time of a late answer counts for nothing: streams in both directions are no
//! questions. Not said of what came to a socket of this recording or was dropped by this host: other findings tell of these.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;

use rustc_hash::FxHashSet;

use super::who;
use crate::facts::{Facts, SkbId};
use crate::reconstruct::datagrams::sockets::SocketRow;
use crate::reconstruct::datagrams::tables::{TurnEnd, TurnRow};
use crate::stat::nearest_rank;

/// Fewest without an answer, and with one.
const FEWEST: usize = 10;
const ANSWERED: usize = 20;
/// Of those in that time one in so many at least.
const PART: usize = 20;
/// Ports of what is asked and answered. At others the last message of an exchange has no answer by nature (QUIC acknowledges): there as many as above must be answered before and behind,
/// and these be one in so many at most.
const MESSAGES: usize = 3;
const ASKED: [u16; 5] = [53, 123, 161, 1812, 1813];
/// One in so many of what others wait for is wrong.
const WRONG: u64 = 10;
/// So many times as long as nine in ten answers take, and at least so long, ns, has it waited.
const LATE: i64 = 4;
const LATE_NS: i64 = 100_000_000;

/// Where a program's questions have no answer in part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partly {
    /// `task/process`.
    pub task: String,
    /// Which place.
    pub to: SocketAddr,
    /// Without an answer, of so many in that time.
    pub unanswered: u64,
    /// As said.
    pub of: u64,
    /// When the first and the last of these were sent, ns since the start of the recording.
    pub within_ns: (i64, i64),
    /// Answered before and behind.
    pub around: (u64, u64),
    /// How long it waited for each until it asked again or gave up, median, ns.
    pub waited_ns: i64,
    /// Another place that it asked most in that time: where, how many were answered, of how many.
    pub other: Option<(SocketAddr, u64, u64)>,
    /// It serves others.
    pub serves: bool,
    /// That place asked this program, too: so many answers went there between the first and the last of these, and so many before, in as long a time.
    pub asks_back: (u64, u64),
}

impl Partly {
    /// Others wait for a good part of them.
    pub fn wrong(&self) -> bool {
        let asked = ASKED.contains(&self.to.port());
        let contrast = self.around.0.saturating_add(self.around.1) >= ANSWERED as u64;
        self.serves && asked && contrast && self.unanswered.saturating_mul(WRONG) >= self.of
    }
}

fn late(turns: &[&TurnRow]) -> Option<i64> {
    let answered = turns.iter().filter(|t| t.end == TurnEnd::Answered);
    let mut took: Vec<i64> = answered
        .filter_map(|t| Some(t.ready_ns.or(t.read_ns)?.saturating_sub(t.start_ns)))
        .collect();
    let slow = nearest_rank(&mut took, 90).filter(|_| took.len() >= ANSWERED)?;
    Some(slow.saturating_mul(LATE).max(LATE_NS))
}

/// What a program sent by the socket that it serves others with to the address of a place that it asks, at other ports: in a time, and in as long a time before.
fn asks_back(facts: &Facts, (process, to): (i32, SocketAddr), within: RangeInclusive<i64>) -> (u64, u64) {
    let (mut since, mut before) = (0, 0u64);
    let port = to.port().to_string();
    for t in facts.udp_turns.iter().filter(|t| facts.process(t.pid) == process) {
        let own = |s: &SocketRow| s.served || s.local.rsplit(':').next() == Some(port.as_str());
        let served = facts.udp_sockets.get(t.socket as usize).is_some_and(own);
        let went = t.whither(&facts.udp_sockets).filter(|_| served);
        if went.is_some_and(|w| w.ip() == to.ip() && w.port() != to.port()) {
            match within.contains(&t.start_ns) {
                true => since += 1,
                false if t.start_ns < *within.start() => before += 1,
                false => {}
            }
        }
    }
    // As if it had lasted as long.
    let early = within.start().saturating_sub(facts.capture.start_ns.unwrap_or(0));
    let long = within.end().saturating_sub(*within.start());
    (since, (before as f64 * long as f64 / early.max(1) as f64).ceil() as u64)
}

/// The one with most of them, but for places of which something else tells that nobody answers there.
pub(super) fn partly(facts: &Facts, told: &FxHashSet<String>) -> Option<Partly> {
    let socket = |n: u32| facts.udp_sockets.get(n as usize);
    let mut by: BTreeMap<(i32, SocketAddr), Vec<&TurnRow>> = BTreeMap::new();
    for t in facts.udp_turns.iter().filter(|t| t.pid > 0 && t.confidence.is_solid()) {
        let asks = t.there.is_none() && socket(t.socket).is_some_and(|s| !s.served);
        let one = |to: &SocketAddr| !to.ip().is_multicast() && to.ip() != IpAddr::V4(Ipv4Addr::BROADCAST);
        if let Some(to) = t
            .whither(&facts.udp_sockets)
            .filter(|to| asks && t.is_decided() && one(to))
        {
            by.entry((facts.process(t.pid), to)).or_default().push(t);
        }
    }
    let dropped: FxHashSet<SkbId> = (facts.drops.iter())
        .filter(|d| d.expected == Some(false))
        .filter_map(|d| d.skb_id)
        .collect();
    let here = |t: &TurnRow| t.skb_id.is_some_and(|skb| dropped.contains(&skb));
    let start = facts.capture.start_ns.unwrap_or(0);
    let of = |((process, to), turns): (&(i32, SocketAddr), &Vec<&TurnRow>)| {
        let late = late(turns).filter(|_| !told.contains(&to.to_string()))?;
        let in_vain = |t: &&&TurnRow| !t.has_answer() && t.end_ns.saturating_sub(t.sent_ns) >= late && !here(t);
        let vain: Vec<&&TurnRow> = turns.iter().filter(in_vain).collect();
        let from = vain.iter().map(|t| t.start_ns).min()?;
        let until = vain.iter().map(|t| t.start_ns).max()?;
        let within = |t: &TurnRow| (from..=until).contains(&t.start_ns);
        // Of those that had no time for an answer nothing is known.
        let counts = |t: &&&TurnRow| t.has_answer() || in_vain(t);
        let all = turns.iter().filter(|t| within(t)).filter(counts).count();
        if vain.len() < FEWEST || vain.len().saturating_mul(PART) < all {
            return None;
        }
        let before = turns.iter().filter(|t| t.start_ns < from && t.has_answer()).count();
        let behind = turns.iter().filter(|t| t.start_ns > until && t.has_answer()).count();
        let few = before.saturating_add(behind) >= ANSWERED && vain.len().saturating_mul(MESSAGES) <= all;
        if !ASKED.contains(&to.port()) && !few {
            return None;
        }
        let mut waited: Vec<i64> = vain.iter().map(|t| t.end_ns.saturating_sub(t.sent_ns)).collect();
        let name = facts.processes.get(process).map(|p| p.1);
        let serves = |s: &SocketRow| s.served && [s.holder, facts.process(s.pid)].contains(process);
        Some(Partly {
            task: name.map_or_else(|| process.to_string(), |n| who(&n, *process)),
            to: *to,
            unanswered: vain.len() as u64,
            of: all as u64,
            within_ns: (from.saturating_sub(start), until.saturating_sub(start)),
            around: (before as u64, behind as u64),
            waited_ns: nearest_rank(&mut waited, 50)?,
            other: None,
            serves: facts.udp_sockets.iter().any(serves),
            asks_back: (0, 0),
        })
    };
    let found = by.iter().filter_map(|of_one| Some((of(of_one)?, of_one.0)));
    let (mut found, (process, to)) = found.max_by_key(|(p, _)| p.unanswered)?;
    let within = found.within_ns.0.saturating_add(start)..=found.within_ns.1.saturating_add(start);
    let others = by.iter().filter(|((p, other), _)| p == process && other != to);
    let others = others.map(|((_, other), of)| {
        let of = of.iter().filter(|t| within.contains(&t.start_ns));
        let (n, had) = of.fold((0u64, 0u64), |(n, had), t| (n + 1, had + u64::from(t.has_answer())));
        (n, had, other)
    });
    let other = others.max_by_key(|(n, had, other)| (*n, *had, std::cmp::Reverse(**other)));
    found.asks_back = asks_back(facts, (*process, *to), within);
    found.other = other.filter(|(n, ..)| *n > 0).map(|(n, had, to)| (*to, had, n));
    Some(found)
}
