//! A path MTU black hole (RFC 2923): to one peer no large segment is acknowledged, however often it is sent again, while the small ones are.
//!
//! Needs `tx`, `skbs`, `connections`, `retransmits`, `drops`, `hops`, `lineage`, settings. Inferred: what loses them is not in this recording.
//! Of all that a host sends to another one from the first of these on. A path that loses everything loses the small ones, too, and one that
//! loses at random lets some of the large ones through; what is lost of single connections (by the hash of their ports) is not told by others: small packets
//! of the very connections, or handshakes that this end accepted, must have come through meanwhile: a SYN-ACK alone may be of a proxy, or of a listener whose accept queue is full.
//! Not said where this host may have dropped segments of theirs, where an ICMP message made TCP send smaller ones, or events were lost.
//!
//! ```text
//! to 10.0.0.2     SYN-ACK ok | 1448 lost, lost, lost ...          SYN-ACK ok | 1448 lost, lost ...
//!                                     180 ok          180 ok                            180 ok
//! to others                       1448 ok                    1448 ok
//! ```

use std::collections::BTreeMap;
use std::net::IpAddr;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analyses::tcp::label;
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::lineage::tables::LineageKind;
use crate::reconstruct::skb::tables::HopRow;
use crate::reconstruct::tcp::role::{Role, RoleBy};
use crate::reconstruct::tcp::tables::{ConnectionRow, RetransmitClass};
use crate::reconstruct::transmit::tables::{TxEnd, TxKind, TxRow};
use crate::settings::OTHERS;

/// Fewest segments that were lost so, and connections of these.
const FEWEST: usize = 3;
/// Fewest times that one was sent again.
const AGAIN: u16 = 2;
/// Least payload of the smallest of them, bytes: each link of IPv6 takes packets of 1280 (RFC 8200), which leaves 1208 behind headers and timestamps.
/// Links of IPv4 may take less; what loses segments smaller than that is not told from what loses requests for another reason.
const LARGE: u32 = 1200;
/// Fewest small ones that were acknowledged at once; and so many times as many as were sent again.
const SMALL: u64 = 5;
const TIMES: u64 = 10;
/// Whether TCP looks for a smaller MTU by itself.
const PROBING: &str = "net.ipv4.tcp_mtu_probing";
/// Part of what is lost that must have been seen last where it is said to be.
const MOST: f64 = 2.0 / 3.0;

/// The peer to which most were lost.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct BlackHole {
    /// `address:port` of a server; of others the address.
    pub from: String,
    /// Address of the peer.
    pub to: String,
    /// Segments larger than `small_bytes` that were sent from the first loss on and never acknowledged.
    pub of: u64,
    /// Of these, those that were sent again.
    pub lost: u64,
    /// Times that these were sent again.
    pub again: u64,
    /// Payload of the smallest and of the largest of them (of what a device cuts, of each piece), bytes.
    pub bytes: (u32, u32),
    /// Connections of these.
    pub connections: u64,
    /// Of them, those that this end accepted, or of which a small segment was acknowledged at once, after the first loss.
    pub alive: u64,
    /// Segments of at most `small_bytes` that were acknowledged at once meanwhile, that were after they were sent again, and that were sent again and
    /// never acknowledged, though none of those larger was open before them on their connection.
    pub small: (u64, u64, u64),
    /// Payload of the largest that was acknowledged, bytes.
    pub small_bytes: u32,
    /// The first of them was sent, ns since the start of the recording; `None`: no large one had been acknowledged before.
    pub since_ns: Option<i64>,
    /// Segments as large that other peers acknowledged meanwhile.
    pub elsewhere: u64,
    /// The first of these peers, by address.
    pub others: Vec<String>,
    /// Device that they left by when they were seen last; empty: several, or they were not seen to leave.
    pub dev: String,
    /// Its MTU, by the lists of links.
    pub mtu: Option<u32>,
    /// `net.ipv4.tcp_mtu_probing`, where all namespaces that were read have the same.
    pub probing: Option<u8>,
    /// Whether the recording would tell of an ICMP message that made TCP send smaller ones: none did.
    pub icmp_told: bool,
    /// Calls of `tcp_retransmit_skb` that sent frames as large to this peer, of connections that are older, too.
    pub calls: u64,
}

/// The events that tell that an ICMP message made TCP send smaller ones.
const ICMP: [&str; 2] = ["tcp:tcp_cong_state_set", "tcp:tcp_retransmit_skb"];
/// Peers named.
const PEERS: usize = 2;

type Pair = (IpAddr, IpAddr);

/// Segments of one host for another, by what became of them.
#[derive(Default)]
struct Sent<'f> {
    /// Sent again, [`AGAIN`] times or more.
    lost: Vec<&'f TxRow>,
    /// Not acknowledged; these, too.
    open: Vec<&'f TxRow>,
    acked: Vec<&'f TxRow>,
    /// Acknowledged after it was sent again.
    repaired: Vec<&'f TxRow>,
}

fn pair(facts: &Facts, c: ConnectionId) -> Option<(Pair, &ConnectionRow)> {
    let row = facts.connections.get(c.0 as usize)?;
    Some(((row.saddr?, row.daddr?), row))
}

/// What a device sends of it at once.
fn piece(facts: &Facts, t: &TxRow) -> u32 {
    let gso = facts.skbs.get(t.skb_id.0 as usize).map_or(0, |s| u32::from(s.gso_size));
    let bytes = t.bytes.unwrap_or(0);
    if gso > 0 { bytes.min(gso) } else { bytes }
}

pub(super) fn black_hole(facts: &Facts) -> Option<BlackHole> {
    let whole = facts.gaps.is_empty() && facts.capture.recorded("skb:kfree_skb");
    let data = || facts.tx.iter().filter(|t| t.kind == TxKind::Tcp);
    let lost = |t: &TxRow| t.retransmits >= AGAIN && t.end == TxEnd::Open && t.confidence.is_solid();
    if !whole || data().filter(|t| lost(t)).count() < FEWEST {
        return None;
    }
    let mut by: BTreeMap<Pair, Sent<'_>> = BTreeMap::new();
    for t in data() {
        let Some((pair, _)) = t.connection.and_then(|c| pair(facts, c)) else {
            continue;
        };
        let of = by.entry(pair).or_default();
        if lost(t) {
            of.lost.push(t);
        }
        match (t.end, t.retransmits) {
            (TxEnd::Open, _) => of.open.push(t),
            (TxEnd::Acked, 0) => of.acked.push(t),
            (TxEnd::Acked, _) => of.repaired.push(t),
            _ => {}
        }
    }
    let told = told_otherwise(facts);
    let cases = by.iter().filter_map(|(pair, of)| Case::of(facts, *pair, of, &told));
    let most = cases.max_by_key(|c| (c.again.len(), c.times()))?;
    most.found(facts, &by)
}

/// Connections of which this host dropped something, or may have, or whose data an ICMP message made TCP send in smaller segments.
fn told_otherwise(facts: &Facts) -> FxHashSet<ConnectionId> {
    // A kernel without drop reasons does not say whether it had to.
    let dropped = facts.drops.iter().filter(|d| d.expected != Some(true));
    let dropped = dropped.filter_map(|d| d.owner.as_ref()?.connection);
    let pmtu = facts.retransmits.iter().filter(|r| r.class == RetransmitClass::Pmtu);
    dropped.chain(pmtu.filter_map(|r| r.connection)).collect()
}

/// One host's for another one, where they are as in a black hole.
struct Case<'f> {
    pair: Pair,
    sent: &'f Sent<'f>,
    /// When the first of the lost was sent.
    first: i64,
    /// The smallest of these, bytes.
    least: u32,
    small: (u64, u64, u64),
    small_bytes: u32,
    /// Larger ones never acknowledged.
    of: u64,
    /// Of these, those that were sent again.
    again: Vec<&'f TxRow>,
    connections: FxHashSet<ConnectionId>,
    alive: u64,
}

impl<'f> Case<'f> {
    fn of(facts: &'f Facts, pair: Pair, sent: &'f Sent<'f>, told: &FxHashSet<ConnectionId>) -> Option<Case<'f>> {
        let first = sent.lost.iter().map(|t| t.t_sched_ns).min()?;
        let size = |t: &TxRow| piece(facts, t);
        let least = sent.lost.iter().map(|t| size(t)).min()?;
        let since = |t: &&&TxRow| t.t_sched_ns >= first;
        let acked: Vec<u32> = sent.acked.iter().filter(since).map(|t| size(t)).collect();
        let repaired: Vec<u32> = sent.repaired.iter().filter(since).map(|t| size(t)).collect();
        let small_bytes = acked.iter().chain(&repaired).copied().max()?;
        let later = |t: &&TxRow| t.t_ack_ns >= Some(first) && size(t) >= least;
        if least < LARGE || small_bytes >= least || sent.repaired.iter().any(later) {
            return None;
        }
        let open = || sent.open.iter().filter(since).copied();
        let large = || open().filter(|t| size(t) > small_bytes);
        let lost = |t: &&TxRow| t.retransmits > 0 && size(t) >= least && t.confidence.is_solid();
        let again: Vec<&TxRow> = large().filter(lost).collect();
        // What was sent behind a large one is acknowledged with it only.
        let mut held: FxHashMap<ConnectionId, i64> = FxHashMap::default();
        for (c, at) in large().filter_map(|t| Some((t.connection?, t.t_sched_ns))) {
            let from = held.entry(c).or_insert(at);
            *from = at.min(*from);
        }
        let behind = |t: &TxRow| {
            t.connection
                .and_then(|c| held.get(&c))
                .is_some_and(|at| *at <= t.t_sched_ns)
        };
        let vain = open().filter(|t| size(t) <= small_bytes && t.retransmits > 0 && !behind(t));
        let small = (acked.len() as u64, repaired.len() as u64, vain.count() as u64);
        let connections: FxHashSet<ConnectionId> = again.iter().filter_map(|t| t.connection).collect();
        let came: FxHashSet<ConnectionId> = sent.acked.iter().filter(since).filter_map(|t| t.connection).collect();
        // Of a server the last of the handshake came from the peer.
        let accepted = |c: ConnectionId| {
            let row = facts.connections.get(c.0 as usize);
            row.is_some_and(|r| r.role() == (Role::Server, RoleBy::Handshake) && r.first_ns >= first)
        };
        let alive = connections.iter().filter(|c| came.contains(c) || accepted(**c)).count();
        let enough = connections.len() >= FEWEST && small.0 >= SMALL && small.0 >= TIMES * (small.1 + small.2);
        // The first of them was opened before its loss.
        let alive_most = 2 * (alive + 1) >= connections.len() && alive + 1 >= FEWEST;
        (enough && alive_most && connections.is_disjoint(told)).then(|| Case {
            pair,
            sent,
            first,
            least,
            small,
            small_bytes,
            of: large().count() as u64,
            again,
            connections,
            alive: alive as u64,
        })
    }

    /// Times that they were sent again.
    fn times(&self) -> u64 {
        self.again.iter().map(|t| u64::from(t.retransmits)).sum()
    }

    fn found(&self, facts: &Facts, by: &BTreeMap<Pair, Sent<'_>>) -> Option<BlackHole> {
        let (from, to) = self.pair;
        let large = |t: &&&TxRow| piece(facts, t) >= self.least;
        let arrived = |of: &Sent<'_>| {
            let since = of.acked.iter().filter(|t| t.t_sched_ns >= self.first);
            since.filter(large).count() as u64
        };
        let elsewhere = by.iter().filter(|(p, _)| p.0 == from && p.1 != to);
        let elsewhere: Vec<(IpAddr, u64)> = elsewhere.map(|(p, of)| (p.1, arrived(of))).collect();
        // The figure is of those that are named: those with most.
        let mut others: Vec<(IpAddr, u64)> = elsewhere.into_iter().filter(|(_, n)| *n > 0).collect();
        others.sort_by_key(|(to, n)| (std::cmp::Reverse(*n), *to));
        others.truncate(PEERS);
        let mut before = self.sent.acked.iter().chain(&self.sent.repaired);
        let dev = last_dev(facts, &self.again);
        let theirs = |c: ConnectionId| pair(facts, c).is_some_and(|(p, _)| p == self.pair);
        let calls = facts.retransmits.iter().filter(|r| r.bytes >= Some(self.least));
        let start = facts.capture.start_ns.unwrap_or(0);
        Some(BlackHole {
            from: from_words(facts, &self.connections)?,
            to: to.to_string(),
            of: self.of,
            lost: self.again.len() as u64,
            again: self.times(),
            bytes: (self.least, self.again.iter().map(|t| piece(facts, t)).max()?),
            connections: self.connections.len() as u64,
            alive: self.alive,
            small: self.small,
            small_bytes: self.small_bytes,
            since_ns: before.find(large).map(|_| self.first.saturating_sub(start)),
            elsewhere: others.iter().map(|(_, n)| n).sum(),
            others: others.iter().map(|(to, _)| to.to_string()).collect(),
            // Where devices of that name have several, it is no number.
            mtu: dev.and_then(|dev| facts.settings.0.get(&format!("{} mtu", dev.text()))?.parse().ok()),
            dev: dev.map_or_else(String::new, |dev| dev.text().into_owned()),
            probing: probing(facts),
            icmp_told: ICMP.iter().all(|event| facts.capture.recorded(event)),
            calls: calls.filter(|r| r.connection.is_some_and(theirs)).count() as u64,
        })
    }
}

/// The server, or the address that all of them have.
fn from_words(facts: &Facts, of: &FxHashSet<ConnectionId>) -> Option<String> {
    let rows: Vec<&ConnectionRow> = of.iter().filter_map(|c| Some(pair(facts, *c)?.1)).collect();
    let row = rows.first()?;
    let one = rows.iter().all(|r| r.sport == row.sport && r.role().0 == Role::Server);
    match one {
        true => label(row).split(" > ").next().map(str::to_owned),
        false => row.saddr.map(|a| a.to_string()),
    }
}

/// The device that most left by when they were seen last: of what was cut, the first piece.
fn last_dev(facts: &Facts, lost: &[&TxRow]) -> Option<Name> {
    let mut seen: FxHashMap<SkbId, SkbId> = lost.iter().map(|t| (t.skb_id, t.skb_id)).collect();
    let cut = |kind| matches!(kind, LineageKind::Gso | LineageKind::QdiscSegment);
    let mut pieces: FxHashMap<SkbId, SkbId> = FxHashMap::default();
    for l in facts
        .lineage
        .iter()
        .filter(|l| cut(l.kind) && seen.contains_key(&l.parent))
    {
        pieces.entry(l.parent).or_insert(l.child);
    }
    seen.extend(pieces.into_iter().map(|(parent, child)| (child, parent)));
    let mut last: FxHashMap<SkbId, &HopRow> = FxHashMap::default();
    for h in &facts.hops {
        if let Some(of) = seen.get(&h.skb_id) {
            let own = last.entry(*of).or_insert(h);
            if h.time_ns >= own.time_ns {
                *own = h;
            }
        }
    }
    let mut left: BTreeMap<Name, usize> = BTreeMap::new();
    // Where leaving is recorded, what only reached a queue did not.
    let started = facts.capture.recorded("net:net_dev_start_xmit");
    let left_by = |h: &&&HopRow| h.kind != "rx" && !(started && h.kind == "queue");
    for h in last.values().filter(left_by) {
        *left.entry(h.dev).or_default() += 1;
    }
    let most = left.into_iter().max_by_key(|(dev, n)| (*n, std::cmp::Reverse(*dev)));
    most.filter(|(_, n)| *n as f64 >= MOST * lost.len() as f64).map(|m| m.0)
}

/// `net.ipv4.tcp_mtu_probing`, where all namespaces that were read have the same.
fn probing(facts: &Facts) -> Option<u8> {
    let all = &facts.settings.0;
    let own = all.get(PROBING)?;
    let others = all.get(&format!("{PROBING}{OTHERS}")).is_none_or(|v| v == own);
    own.parse().ok().filter(|_| others)
}
