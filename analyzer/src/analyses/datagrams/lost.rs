//! Questions that were dropped on their way in this host, of threads that wait for the answers to many at once (an event loop with one socket).
//!
//! In: `udp_turns`, `tx`, `drops`. Of such a thread no event tells what it waits for, nor which question an answer is for; but to a question of which a packet was dropped,
//! and that came to no socket, there was none. Only at an address that answers what comes there: who sends on and asks nothing (a log, a metric) is not among
//! them. That one was asked again is inferred from the same number of bytes, where most of them come again after the same time.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{GROUPS, WAIT_NS, each_is_told, in_vain, who};
use crate::explain::{Id, Kind};
use crate::facts::{Facts, SkbId};
use crate::reconstruct::datagrams::tables::{Awaited, TurnEnd, TurnRow};
use crate::reconstruct::transmit::tables::TxKind;
use crate::stat::nearest_rank;

/// Fewest turns that were answered there, and the part of those that came, of so many.
const ANSWERS: u64 = 5;
const HALF: u64 = 2;
/// Most times that are counted.
const TIMES: u64 = 100;
/// Longest time that one waits before it asks again, ns.
const LONGEST_NS: i64 = 10_500_000_000;
/// Two waits are one time-out where they differ by no more than this part.
const ALIKE: i64 = 10;

/// Fewest gaps between sends of a beat, and how far each may be from the median: one part in so many.
const BEATS: usize = 20;
const REGULAR: u64 = 4;

/// Questions of a process to one address.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lost {
    /// `task/thread`, or `task` of several.
    pub task: String,
    /// Threads.
    pub threads: u64,
    /// `address:port` that they were sent to.
    pub to: String,
    /// That were dropped.
    pub sends: u64,
    /// All that these threads sent there.
    pub of: u64,
    /// Least and most payload of them.
    pub bytes: (u64, u64),
    /// Of them, those that were asked again, and after which time (median), ns; inferred.
    pub again: Option<(u64, i64)>,
    /// The most times that one of them was asked; inferred.
    pub times: u64,
    /// The first of them.
    pub first: Option<Id>,
}

/// Turns with questions that were dropped, by socket and begin.
pub(super) struct LostOnes<'f> {
    by: BTreeMap<(String, SocketAddr), Vec<&'f TurnRow>>,
    is: FxHashSet<(u32, i64)>,
}

impl<'f> LostOnes<'f> {
    pub(super) fn of(facts: &'f Facts) -> LostOnes<'f> {
        let none = LostOnes {
            by: BTreeMap::new(),
            is: FxHashSet::default(),
        };
        if !each_is_told(facts) {
            return none;
        }
        let lost = facts.drops.iter().filter(|d| d.expected == Some(false));
        let lost: FxHashSet<SkbId> = lost.filter_map(|d| d.skb_id).collect();
        let tx = facts
            .tx
            .iter()
            .filter(|t| t.kind == TxKind::Udp && lost.contains(&t.skb_id));
        let calls: BTreeSet<(i32, i64)> = tx.map(|t| (t.pid, t.start_ns)).collect();
        let mut there: FxHashMap<(u32, SocketAddr), (u64, u64)> = FxHashMap::default();
        let mut all: Vec<(&TurnRow, SocketAddr)> = vec![];
        for t in facts.udp_turns.iter().filter(|_| !calls.is_empty()) {
            let Some(to) = t.whither(&facts.udp_sockets) else {
                continue;
            };
            let of = there.entry((t.socket, to)).or_default();
            if t.landed > 0 {
                (of.0, of.1) = (of.0 + 1, of.1 + u64::from(t.end == TurnEnd::Answered));
            }
            let socket = facts.udp_sockets.get(t.socket as usize);
            let asks = socket.is_some_and(|s| !s.served && !in_vain(t, s));
            let many = matches!(t.awaited, Awaited::Perhaps | Awaited::No);
            // Of several sends those that did not come, where that is all that was dropped.
            let until = t.sent_ns.max(t.start_ns);
            let dropped = calls.range((t.pid, t.start_ns)..=(t.pid, until)).count() as u32;
            if dropped > 0 && dropped.saturating_add(t.landed) == t.sends && many && asks && t.confidence.is_solid() {
                all.push((t, to));
            }
        }
        all.retain(|(t, to)| {
            let of = there.get(&(t.socket, *to)).copied().unwrap_or_default();
            of.1 >= ANSWERS && of.1 * HALF >= of.0
        });
        let mut found = none;
        for (t, to) in all {
            found.is.insert((t.socket, t.start_ns));
            found.by.entry((t.task.text().into_owned(), to)).or_default().push(t);
        }
        found
    }

    /// Whether a turn is one.
    pub(super) fn is(&self, t: &TurnRow) -> bool {
        self.is.contains(&(t.socket, t.start_ns))
    }

    pub(super) fn groups(&self, facts: &Facts) -> Vec<Lost> {
        let mut most: Vec<_> = self.by.iter().collect();
        most.sort_by_key(|(key, of)| (std::cmp::Reverse(of.len()), *key));
        most.truncate(GROUPS);
        let mut found: Vec<Lost> = (most.into_iter())
            .map(|((task, to), of)| {
                let threads: FxHashSet<i32> = of.iter().map(|t| t.pid).collect();
                let theirs = facts.udp_turns.iter().filter(|t| threads.contains(&t.pid));
                let theirs = theirs.filter(|t| t.whither(&facts.udp_sockets) == Some(*to));
                let first = of.first();
                let (again, times) = again(facts, of, *to);
                let bytes = || of.iter().filter(|t| t.sends == 1).map(|t| t.bytes);
                Lost {
                    task: match first.filter(|_| threads.len() == 1) {
                        Some(t) => who(&t.task, t.pid),
                        None => task.clone(),
                    },
                    threads: threads.len() as u64,
                    to: to.to_string(),
                    sends: of.iter().map(|t| u64::from(t.sends.saturating_sub(t.landed))).sum(),
                    of: theirs.map(|t| u64::from(t.sends)).sum(),
                    bytes: (bytes().min().unwrap_or(0), bytes().max().unwrap_or(0)),
                    again,
                    times,
                    first: first.and_then(|t| Id::of_row(Kind::UdpTurn, &facts.udp_turns, t)),
                }
            })
            .collect();
        found.sort_by_key(|l| std::cmp::Reverse(l.sends));
        found
    }
}

/// Whether their threads send at a beat, whatever is answered (a game, media): what is sent next is no question asked again.
fn is_a_stream(facts: &Facts, of: &[&TurnRow]) -> bool {
    let threads: FxHashSet<i32> = of.iter().map(|t| t.pid).collect();
    let mut sends: BTreeMap<i32, Vec<i64>> = BTreeMap::new();
    for t in &facts.tx {
        if t.kind == TxKind::Udp && threads.contains(&t.pid) {
            sends.entry(t.pid).or_default().push(t.start_ns);
        }
    }
    for of in sends.values_mut() {
        of.sort_unstable();
    }
    let with_beat = |of: &Vec<i64>| {
        let gaps = of.iter().zip(of.iter().skip(1)).map(|(a, b)| b.saturating_sub(*a));
        let gaps: Vec<i64> = gaps.collect();
        let beat = nearest_rank(&mut gaps.clone(), 50).filter(|_| gaps.len() >= BEATS);
        (gaps, beat)
    };
    let beats: BTreeMap<i32, (Vec<i64>, Option<i64>)> = sends.iter().map(|(pid, of)| (*pid, with_beat(of))).collect();
    let on_beat = |t: &&&TurnRow| {
        let (Some(sends), Some((gaps, Some(beat)))) = (sends.get(&t.pid), beats.get(&t.pid)) else {
            return false;
        };
        let at = sends.partition_point(|s| *s < t.start_ns);
        let around = [at.checked_sub(1).and_then(|n| gaps.get(n)), gaps.get(at)];
        let near = |gap: &i64| gap.abs_diff(*beat).saturating_mul(REGULAR) <= beat.unsigned_abs();
        around.into_iter().all(|gap| gap.is_some_and(near))
    };
    // The lost ones are of it, too.
    of.iter().filter(on_beat).count() * 5 >= of.len() * 4
}

/// How many of these were asked again by the same socket, and when; the most times that one was.
fn again(facts: &Facts, of: &[&TurnRow], to: SocketAddr) -> (Option<(u64, i64)>, u64) {
    if is_a_stream(facts, of) {
        return (None, 1);
    }
    let sockets: FxHashSet<u32> = of.iter().map(|t| t.socket).collect();
    let mut begins: FxHashMap<(u32, u64), Vec<i64>> = FxHashMap::default();
    let theirs = facts
        .udp_turns
        .iter()
        .filter(|t| sockets.contains(&t.socket) && t.sends == 1);
    let mut answered: Vec<&TurnRow> = vec![];
    for t in theirs.filter(|t| t.whither(&facts.udp_sockets) == Some(to)) {
        if t.end == TurnEnd::Answered {
            answered.push(t);
        }
        begins.entry((t.socket, t.bytes)).or_default().push(t.start_ns);
    }
    let next = |socket: u32, bytes: u64, at: i64| {
        let of = begins.get(&(socket, bytes))?;
        let next = *of.get(of.partition_point(|b| *b < at.saturating_add(WAIT_NS)))?;
        (next.saturating_sub(at) <= LONGEST_NS).then_some(next)
    };
    let single = || of.iter().filter(|t| t.sends == 1);
    let waits = single().filter_map(|t| Some(next(t.socket, t.bytes, t.start_ns)?.saturating_sub(t.start_ns)));
    let waits: Vec<i64> = waits.collect();
    let Some(p50) = nearest_rank(&mut waits.clone(), 50) else {
        return (None, 1);
    };
    let like = |ns: i64| ns.saturating_sub(p50).saturating_abs() <= p50 / ALIKE;
    let n = waits.iter().filter(|ns| like(**ns)).count();
    if n * 2 <= waits.len() || n < 2 {
        return (None, 1);
    }
    // What is asked as often where it was answered is asked anew each time.
    let anew = answered.iter().filter(|t| {
        let then = next(t.socket, t.bytes, t.start_ns);
        then.is_some_and(|then| like(then.saturating_sub(t.start_ns)))
    });
    if anew.count() * 2 > answered.len() {
        return (None, 1);
    }
    let times = single().map(|t| {
        let (mut at, mut times) = (t.start_ns, 1u64);
        while times < TIMES
            && let Some(then) = next(t.socket, t.bytes, at).filter(|then| like(then.saturating_sub(at)))
        {
            (at, times) = (then, times + 1);
        }
        times
    });
    (Some((n as u64, p50)), times.max().unwrap_or(1))
}
