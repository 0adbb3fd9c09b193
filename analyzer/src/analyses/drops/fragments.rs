//! Fragments of datagrams among the packets that a group of drops lost, and what became of the datagrams.
//!
//! A datagram that one send call wrote and that left as several packets whose payloads sum to it was fragmented; its first packet, with the UDP header, is the
//! first of them in `tx`. A turn of several sends (`udp_turns`) is several such calls, where its thread made just as many. Limits: where a turn has datagrams
//! of both kinds it is not known which of them came.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use rustc_hash::{FxHashMap, FxHashSet};

use super::hurt::NEARLY_ALL;
use super::places::Places;
use crate::facts::{Facts, SkbId};
use crate::reconstruct::datagrams::tables::{TurnEnd, TurnRow};
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::transmit::tables::TxKind;

/// Fewest datagrams of one packet that came beside them.
const BESIDE: u64 = 5;

/// Fragments that were dropped.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Fragments {
    /// Datagrams that lost one.
    pub datagrams: u64,
    /// Datagrams of the same threads that were fragmented.
    pub fragmented: u64,
    /// Payload of each; empty: they differ.
    pub bytes: Option<u64>,
    /// Which was lost of each, from 1 on; empty: they differ.
    pub nth: Option<u64>,
    /// Dropped packets that are known to be fragments.
    #[serde(skip)]
    pub packets: u64,
    /// Least and most payload of a datagram.
    #[serde(skip)]
    pub sizes: (u64, u64),
    /// No first fragment is among them, which has the ports that rules ask for.
    #[serde(skip)]
    pub behind: bool,
    /// `address:port` that all of them were sent to.
    #[serde(skip)]
    pub to: Option<String>,
    /// Where the others of these threads came and these did not.
    #[serde(skip)]
    pub beside: Option<Beside>,
}

/// Datagrams in one packet that the same sockets sent to the same place, where none came of those that lost a fragment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Beside {
    /// Sent.
    pub sent: u64,
    /// That came to a socket of this recording.
    pub came: u64,
    /// Turns of them that were answered.
    pub answered: u64,
    /// First fragments of the datagrams that lost another which came to the host that they are for, and are not known to have been freed there.
    pub held: u64,
    /// By that host's counters: fragments that came, while no datagram was put together (`IpReasmReqds`, `IpReasmOKs`).
    pub counted: Option<u64>,
}

/// The packets of one send call, by size.
type Call = Vec<(SkbId, u64)>;

/// Send calls of threads, each with its packets.
struct Calls {
    by_thread: FxHashMap<i32, Vec<Call>>,
    /// Thread and place of the call whose first packet it is.
    first: FxHashMap<SkbId, (i32, usize)>,
}

impl Calls {
    fn of(facts: &Facts, pids: &FxHashSet<i32>) -> Calls {
        let mut by: BTreeMap<(i32, i64), Call> = BTreeMap::new();
        let of = |kind: TxKind, pid: i32| kind == TxKind::Udp && pids.contains(&pid);
        for t in facts.tx.iter().filter(|t| of(t.kind, t.pid)) {
            // Of an unknown length no sum is right.
            let bytes = t.bytes.map_or(u64::MAX, u64::from);
            by.entry((t.pid, t.start_ns)).or_default().push((t.skb_id, bytes));
        }
        let mut by_thread: FxHashMap<i32, Vec<Call>> = FxHashMap::default();
        let mut first: FxHashMap<SkbId, (i32, usize)> = FxHashMap::default();
        for ((pid, _), call) in by {
            let all = by_thread.entry(pid).or_default();
            if let Some((skb, _)) = call.first() {
                first.insert(*skb, (pid, all.len()));
            }
            all.push(call);
        }
        Calls { by_thread, first }
    }

    /// Those of a turn, where they are known to have written a datagram each.
    fn of_turn(&self, t: &TurnRow) -> Option<&[Call]> {
        let (pid, at) = self.first.get(&t.skb_id?)?;
        let of = self.by_thread.get(pid)?.get(*at..)?.get(..t.sends as usize)?;
        let sum = of.iter().flatten().fold(0u64, |sum, p| sum.saturating_add(p.1));
        (sum == t.bytes).then_some(of)
    }
}

/// Where a fragment is of: the datagram, from 1 on which of its packets, its payload.
#[derive(Clone, Copy)]
struct Piece {
    of: usize,
    nth: u64,
    bytes: u64,
}

/// A datagram that was fragmented.
struct Whole<'a> {
    turn: &'a TurnRow,
    first: SkbId,
    /// The turn has no other datagram.
    alone: bool,
}

/// Of these rows; `None`: not nearly all of them are known to be fragments.
pub(super) fn fragments(facts: &Facts, rows: &[&DropRow]) -> Option<Fragments> {
    let pids: FxHashSet<i32> = rows.iter().filter_map(|r| Some(r.owner?.pid)).collect();
    let calls = Calls::of(facts, &pids);
    let mut place: FxHashMap<SkbId, Piece> = FxHashMap::default();
    let (mut all, mut small): (Vec<Whole<'_>>, Vec<&TurnRow>) = (vec![], vec![]);
    for turn in facts.udp_turns.iter().filter(|t| pids.contains(&t.pid)) {
        let Some(of) = calls.of_turn(turn) else { continue };
        if of.iter().all(|call| call.len() == 1) {
            small.push(turn);
        }
        for call in of.iter().filter(|call| call.len() > 1) {
            let bytes = call.iter().map(|p| p.1).fold(0, u64::saturating_add);
            for (nth, (skb, _)) in (1u64..).zip(call) {
                place.insert(
                    *skb,
                    Piece {
                        of: all.len(),
                        nth,
                        bytes,
                    },
                );
            }
            let alone = of.len() == 1;
            all.extend(call.first().map(|p| Whole {
                turn,
                first: p.0,
                alone,
            }));
        }
    }
    let lost: Vec<Piece> = rows.iter().filter_map(|r| place.get(&r.skb_id?).copied()).collect();
    if lost.is_empty() || (lost.len() as f64) < NEARLY_ALL * rows.len() as f64 {
        return None;
    }
    let same = |of: fn(&Piece) -> u64| {
        let first = lost.first().map(of);
        first.filter(|v| lost.iter().all(|l| of(l) == *v))
    };
    let datagrams: BTreeSet<usize> = lost.iter().map(|l| l.of).collect();
    let hit: Vec<&Whole<'_>> = datagrams.iter().filter_map(|n| all.get(*n)).collect();
    let to: BTreeSet<Option<SocketAddr>> = hit.iter().map(|w| w.turn.whither(&facts.udp_sockets)).collect();
    let to = to.first().copied().flatten().filter(|_| to.len() == 1);
    let sizes = || lost.iter().map(|l| l.bytes);
    Some(Fragments {
        datagrams: datagrams.len() as u64,
        fragmented: all.len() as u64,
        bytes: same(|l| l.bytes),
        nth: same(|l| l.nth),
        packets: lost.len() as u64,
        sizes: (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0)),
        behind: lost.iter().all(|l| l.nth > 1),
        to: to.map(|to| to.to_string()),
        beside: to.and_then(|to| beside(facts, to, &hit, &small)),
    })
}

/// Of turns with nothing else none came, and nearly all of the small ones that the same sockets sent there did.
fn beside(facts: &Facts, to: SocketAddr, hit: &[&Whole<'_>], small: &[&TurnRow]) -> Option<Beside> {
    let sockets: FxHashSet<u32> = hit.iter().map(|w| w.turn.socket).collect();
    let there = |t: &&&TurnRow| sockets.contains(&t.socket) && t.whither(&facts.udp_sockets) == Some(to);
    let small: Vec<&&TurnRow> = small.iter().filter(there).collect();
    let sum = |of: fn(&TurnRow) -> u32| small.iter().map(|t| u64::from(of(t))).sum::<u64>();
    let (sent, came) = (sum(|t| t.sends), sum(|t| t.landed));
    let none = hit.iter().filter(|w| w.alone).all(|w| w.turn.landed == 0);
    if !none || came < BESIDE || (came as f64) < NEARLY_ALL * sent as f64 {
        return None;
    }
    let netns = facts.spaces.of_address(to.ip());
    let places = Places::of(facts, hit.iter().map(|w| w.first));
    let dropped: FxHashSet<SkbId> = facts.drops.iter().filter_map(|d| d.skb_id).collect();
    let held = hit.iter().filter(|w| {
        let at = places.last(facts, w.first).and_then(|p| p.netns);
        netns.is_some() && at == netns && !dropped.contains(&w.first)
    });
    let rise = |name: &str| {
        let of = |c: &&crate::counters::tables::CounterRow| c.source == "snmp" && c.name == name && c.netns == netns;
        let row = facts.counters.iter().find(of);
        row.map_or(Some(0), |c| c.end?.checked_sub(c.start.unwrap_or(0)))
    };
    let reqds = netns.and_then(|_| rise("IpReasmReqds")).filter(|n| *n > 0);
    Some(Beside {
        sent,
        came,
        answered: small.iter().filter(|t| t.end == TurnEnd::Answered).count() as u64,
        held: held.count() as u64,
        counted: reqds.filter(|_| rise("IpReasmOKs") == Some(0)),
    })
}
