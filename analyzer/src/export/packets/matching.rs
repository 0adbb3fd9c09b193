//! Which sight of the kernel a recorded packet is. A wrong match is worse than none: where two fit, none is taken.

use std::collections::BTreeSet;
use std::net::IpAddr;

use rustc_hash::{FxHashMap, FxHashSet};

use super::headers::Ends;
use super::sights::Sight;
use crate::facts::{Facts, SkbId};
use crate::reconstruct::lineage::tables::LineageKind;

/// A packet socket and an event see the same packet within this, ns.
pub const WINDOW_NS: i64 = 100_000;
/// And most often within this.
pub const CLOSE_NS: i64 = 10_000;

/// A packet to be matched.
#[derive(Debug, Clone, Copy)]
pub struct Seen {
    /// Trace clock.
    pub ts: i64,
    /// Bytes as a sight counts them.
    pub bytes: u32,
    /// Who sent it to whom, where its headers tell.
    pub ends: Option<Ends>,
}

/// What a packet is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    /// This sight (its place). True: no other fits, and the packet's addresses and ports are those of the skb's socket.
    One(usize, bool),
    /// None within the window.
    None,
    /// So many within the window could be it, and none is known to be: other network namespaces have a device of that name, and
    /// no socket tells whose these are (of a handshake, a bare ACK, a FIN).
    Unsure(usize),
    /// So many that cannot be told apart.
    Several(usize),
}

/// Sockets of skbs: local and remote end.
pub struct Sockets(FxHashMap<SkbId, (IpAddr, u16, IpAddr, u16)>);

impl Sockets {
    /// Of units and segments whose connection is known, and of what was cut from them.
    pub fn of(facts: &Facts) -> Sockets {
        let mut of = FxHashMap::default();
        let end = |c: Option<crate::ConnectionId>| {
            let c = facts.connections.get(c?.0 as usize)?;
            Some((c.saddr?, c.sport, c.daddr?, c.dport))
        };
        // What is sent on veth or loopback is received as the same skb, by the other end: sent ones are kept.
        let rx = facts
            .rx
            .iter()
            .filter_map(|r| Some((r.skb_id, flip(end(r.connection)?))));
        let tx = facts.tx.iter().filter_map(|r| Some((r.skb_id, end(r.connection)?)));
        of.extend(rx);
        of.extend(tx);
        for l in &facts.lineage {
            if matches!(l.kind, LineageKind::Gso | LineageKind::QdiscSegment)
                && let Some(end) = of.get(&l.parent).copied()
            {
                of.entry(l.child).or_insert(end);
            }
        }
        Sockets(of)
    }

    /// Whether the ends of a packet are those of the skb's sender; `None`: not known.
    fn agree(&self, skb: Option<SkbId>, ends: Option<Ends>) -> Option<bool> {
        let (saddr, sport, daddr, dport) = *self.0.get(&skb?)?;
        let e = ends?;
        let same = |a: IpAddr, b: IpAddr| a.to_canonical() == b.to_canonical();
        Some(e.source.1 == sport && e.destination.1 == dport && same(e.source.0, saddr) && same(e.destination.0, daddr))
    }
}

/// The receiver's socket as its sender's: the ends change places.
fn flip(s: (IpAddr, u16, IpAddr, u16)) -> (IpAddr, u16, IpAddr, u16) {
    (s.2, s.3, s.0, s.1)
}

/// Matches packets with sights; both in order of time, of one device and direction. `doubtful`: devices of several network
/// namespaces have that name, so that only a socket that agrees tells whose sight it is.
pub fn matches(packets: &[Seen], sights: &[Sight], sockets: &Sockets, doubtful: bool) -> Vec<Match> {
    let all_within = |p: &Seen, window: i64| {
        let from = sights.partition_point(|s| s.ts < p.ts.saturating_sub(window));
        let near = sights.iter().enumerate().skip(from);
        let near = near.take_while(move |(_, s)| s.ts <= p.ts.saturating_add(window));
        let fit = near.filter_map(|(i, s)| {
            let agree = sockets.agree(s.skb, p.ends);
            let fits = s.bytes == p.bytes && agree != Some(false);
            fits.then_some((i, agree == Some(true)))
        });
        fit.collect::<Vec<_>>()
    };
    let within = |p: &Seen, window: i64| {
        let mut fit = all_within(p, window);
        fit.retain(|s| !doubtful || s.1);
        fit
    };
    let found: Vec<Vec<(usize, bool)>> = packets.iter().map(|p| within(p, WINDOW_NS)).collect();
    let mut out: Vec<Match> = found
        .iter()
        .zip(alone(&found))
        .zip(packets)
        .map(|((of, alone), p)| match (of.as_slice(), alone) {
            ([], _) => match all_within(p, WINDOW_NS).len() {
                0 => Match::None,
                n => Match::Unsure(n),
            },
            ([(i, agree)], true) => Match::One(*i, *agree),
            (many, _) => Match::Several(many.len()),
        })
        .collect();
    trains(&found, &mut out, |k, s| {
        let of = packets.get(k).zip(sights.get(s));
        of.is_some_and(|(p, s)| p.ts.abs_diff(s.ts) <= CLOSE_NS.unsigned_abs())
    });
    // In a dense flow: the only one of its socket that is close, where no other packet is as close to it.
    let close: Vec<Vec<(usize, bool)>> = packets.iter().map(|p| within(p, CLOSE_NS)).collect();
    let taken: FxHashSet<usize> = out
        .iter()
        .filter_map(|m| if let Match::One(i, _) = m { Some(*i) } else { None })
        .collect();
    for ((m, of), alone) in out.iter_mut().zip(&close).zip(alone(&close)) {
        if let (Match::Several(_), [(i, true)], true) = (&m, of.as_slice(), alone)
            && !taken.contains(i)
        {
            *m = Match::One(*i, false);
        }
    }
    out
}

/// Whether a packet has one candidate that is no other packet's.
fn alone(found: &[Vec<(usize, bool)>]) -> Vec<bool> {
    let mut wanted: FxHashMap<usize, usize> = FxHashMap::default();
    for (i, _) in found.iter().flatten() {
        *wanted.entry(*i).or_default() += 1;
    }
    let is = |of: &Vec<(usize, bool)>| matches!(of.as_slice(), [(i, _)] if wanted.get(i) == Some(&1));
    found.iter().map(is).collect()
}

/// Runs of packets that want the same sights: as many packets as sights, and each packet's own by order among its candidates.
/// Both are in the order in which they passed the same place, so the n-th is the n-th, if all of them are close.
fn trains(found: &[Vec<(usize, bool)>], out: &mut [Match], close: impl Fn(usize, usize) -> bool) {
    let mut at = 0;
    while at < found.len() {
        if !matches!(out.get(at), Some(Match::Several(_))) {
            at += 1;
            continue;
        }
        // A component: packets whose candidates overlap, packets between them included.
        let mut sights: BTreeSet<usize> = BTreeSet::new();
        let mut members: Vec<usize> = vec![];
        let mut reach = found.get(at).and_then(|f| f.last()).map_or(0, |l| l.0);
        for (k, of) in found.iter().enumerate().skip(at) {
            let (Some(first), Some(last)) = (of.first(), of.last()) else {
                continue;
            };
            if first.0 > reach {
                break;
            }
            let shares = members.is_empty() || of.iter().any(|s| sights.contains(&s.0));
            if shares {
                members.push(k);
                sights.extend(of.iter().map(|s| s.0));
                reach = reach.max(last.0);
            }
            if members.len() > 4_096 {
                break;
            }
        }
        let all_agree = |k: &usize| found.get(*k).is_some_and(|of| of.iter().all(|s| s.1));
        // Were one missing on each side, the others would stand beside their places.
        let beside = members.iter().zip(&sights).all(|(k, s)| close(*k, *s));
        if members.len() == sights.len() && beside && members.iter().all(all_agree) {
            for (k, sight) in members.iter().zip(&sights) {
                let is_candidate = found.get(*k).is_some_and(|of| of.iter().any(|s| s.0 == *sight));
                if let Some(slot) = out.get_mut(*k).filter(|_| is_candidate) {
                    *slot = Match::One(*sight, false);
                }
            }
        }
        at = members.last().map_or(at, |l| *l) + 1;
    }
}
