//! Multicast that its sender goes on sending, and that comes to none of its receivers any more, though they are in its group still: a switch that forgot who joined it.
//!
//! Needs `udp_sockets`, `udp_turns`, `tx`, `drops`, `hops`, `skbs`, the lists of groups. Told of an `address:port` that one thread of this recording sends to, and to nowhere else, of which all
//! came to some sockets, and then nothing until the recording ended, for long.
//! Must not be said where a socket was closed, a host left or joined the group, the sender stopped or slowed down, one of the receivers gets it still (`silent.rs` asks that), or this host dropped
//! about as much meanwhile. Of hosts that are not in the recording nothing is known, and nothing said. That a switch forgot is inferred, and not said of a bridge by whose port nothing else leaves since; which ports a bridge of this recording
//! handed it on to is seen (`ports.rs`).
//!
//! Source: net/bridge/br_multicast.c (`br_multicast_port_group_expired`: no report for `multicast_membership_interval`, as where no querier asks for any).

mod ports;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use super::silent::{Gap, alike, distance, drops, least, multicast, port};
use super::{holder, who};
use crate::facts::Facts;
use crate::reconstruct::datagrams::sockets::SocketRow;
use crate::reconstruct::drops::UNJOINED;
use crate::reconstruct::transmit::tables::TxKind;
use ports::Frames;
pub use ports::Ports;

/// Fewest datagrams that came to a receiver, and that were sent after the last one of all.
const CAME: u64 = 100;
const SENT: u64 = 50;
/// So much of what was sent to it came until then, and at least so much of the rate before is sent after, of 100.
const NEARLY: u64 = 95;
const AS_OFTEN: u64 = 50;
/// What this host dropped meanwhile, as a part of what was sent: one in so many at most.
const DROPPED: u64 = 10;

/// A stream that nobody gets any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ceased {
    /// `address:port`.
    pub to: String,
    /// `task/thread` that sends it.
    pub sender: String,
    /// Its address; empty: not known.
    pub from: String,
    /// `task/thread` of each receiver, and when the last came to it, ns since the start of the recording.
    pub readers: Vec<(String, i64)>,
    /// Datagrams sent since the last of these, in so many ns.
    pub sent: (u64, i64),
    /// Hosts that are in the group at both ends of the recording.
    pub members: Vec<String>,
    /// The bridge of this recording that handed it on.
    pub ports: Option<Ports>,
}

/// Who sends to one place: thread, when.
struct Sender<'f> {
    pid: i32,
    name: String,
    from: &'f str,
    sent: Vec<i64>,
}

/// The threads that alone send to a group, and to nothing else.
fn senders(facts: &Facts) -> BTreeMap<String, Sender<'_>> {
    let mut to: BTreeMap<i32, BTreeSet<String>> = BTreeMap::new();
    let mut of: BTreeMap<String, BTreeSet<i32>> = BTreeMap::new();
    for t in &facts.udp_turns {
        let peer = t.peer(&facts.udp_sockets);
        to.entry(t.pid).or_default().insert(peer.clone());
        if multicast(&peer) {
            of.entry(peer).or_default().insert(t.pid);
        }
    }
    let mut out = BTreeMap::new();
    for (peer, pids) in of {
        let [pid] = pids.into_iter().collect::<Vec<_>>()[..] else {
            continue;
        };
        let turn = facts.udp_turns.iter().find(|t| t.pid == pid);
        if let Some(turn) = turn.filter(|_| to.get(&pid).is_some_and(|all| all.len() == 1)) {
            let from = facts.udp_sockets.get(turn.socket as usize);
            let from = from.and_then(|s| s.local.rsplit_once(':')).map_or("", |l| l.0);
            let tx = facts.tx.iter().filter(|t| t.kind == TxKind::Udp && t.pid == pid);
            let mut sent: Vec<i64> = tx.map(|t| t.start_ns).collect();
            sent.sort_unstable();
            let name = who(&turn.task, pid);
            out.insert(peer, Sender { pid, name, from, sent });
        }
    }
    out
}

/// Sockets to which a stream came: those of its address, and those to which what was sent there is known to have come.
fn receivers<'f>(facts: &'f Facts, to: &str, sender: &Sender<'_>) -> Vec<&'f SocketRow> {
    let theirs = facts.udp_turns.iter().filter(|t| t.pid == sender.pid);
    let there: BTreeSet<u32> = theirs.filter_map(|t| t.there).collect();
    let of = |(n, s): &(u32, &SocketRow)| s.local == to || s.local.is_empty() && there.contains(n);
    let all = (0u32..).zip(&facts.udp_sockets).filter(of).map(|(_, s)| s);
    all.filter(|s| s.arrived > 0).collect()
}

/// Whether a socket of which nobody knows the address gets as much, and until the end: it may be a receiver, too.
fn gets_it_still(facts: &Facts, receivers: &[&SocketRow], end: i64) -> bool {
    let like = |s: &SocketRow| receivers.iter().any(|r| r.sk != s.sk && alike(r, s));
    let goes_on = |s: &SocketRow| {
        let recent = s.last_arrived_ns.zip(distance(s));
        recent.is_some_and(|(last, usual)| end.saturating_sub(last) < least(usual))
    };
    let mut unnamed = facts
        .udp_sockets
        .iter()
        .filter(|s| s.local.is_empty() && s.arrived >= CAME);
    unnamed.any(|s| goes_on(s) && like(s))
}

/// How many of these are in `from..to`.
fn within(of: &[i64], from: i64, to: i64) -> u64 {
    let (from, to) = (of.partition_point(|at| *at < from), of.partition_point(|at| *at < to));
    to.saturating_sub(from) as u64
}

/// When the last came to a socket, if nothing came any more for long, and nearly all that was sent had come.
fn last(s: &SocketRow, sender: &Sender<'_>, end: i64) -> Option<i64> {
    let (first, last, usual) = (s.first_arrived_ns?, s.last_arrived_ns?, distance(s)?);
    let sent = within(&sender.sent, first.saturating_sub(usual), last);
    let nearly = |a: u64, of: u64| a.saturating_mul(100) >= of.saturating_mul(NEARLY);
    let steady = s.arrived >= CAME && s.silent_ns < least(usual) && s.sent == 0 && s.confidence.is_solid();
    let ceased = end.saturating_sub(last) >= least(usual) && !s.closed;
    (steady && ceased && nearly(s.arrived, sent) && nearly(sent, s.arrived)).then_some(last)
}

/// Whether this host dropped so much in that time that it may be what is missing.
fn dropped(facts: &Facts, from: i64, sent: u64) -> bool {
    let table = facts.names.drop_reasons.iter().flat_map(|t| &t.entries);
    // What a bridge has no port for is what is looked for.
    let none = table
        .filter(|(_, name)| name.ends_with("NO_TX_TARGET"))
        .map(|(n, _)| *n);
    let none: BTreeSet<u64> = none.collect();
    let lost = facts
        .drops
        .iter()
        .filter(|d| d.time_ns >= from && d.expected == Some(false));
    let lost = lost.filter(|d| d.why != UNJOINED && d.reason.is_none_or(|r| !none.contains(&u64::from(r))));
    // Segments of a connection are none of these.
    let lost = lost.filter(|d| d.owner.is_none_or(|o| o.connection.is_none())).count() as u64;
    lost.saturating_mul(DROPPED) > sent
}

fn ceased_of(facts: &Facts, to: &str, sender: &Sender<'_>) -> Option<Ceased> {
    let (start, end) = facts.capture.start_ns.zip(facts.capture.end_ns)?;
    let group = match to.parse::<SocketAddr>().ok()?.ip().to_canonical() {
        IpAddr::V4(group) => group,
        IpAddr::V6(_) => return None,
    };
    let members = facts.multicast.kept(group).filter(|of| !of.is_empty())?;
    let receivers = receivers(facts, to, sender);
    if gets_it_still(facts, &receivers, end) {
        return None;
    }
    let mut readers = vec![];
    for s in &receivers {
        readers.push((holder(s), last(s, sender, end)?));
    }
    readers.sort_by(|a, b| (a.1, &a.0).cmp(&(b.1, &b.0)));
    let (first, latest) = (readers.first()?.1, readers.last()?.1);
    let usual = receivers.iter().filter_map(|s| distance(s)).max()?;
    let sent = within(&sender.sent, latest.saturating_add(1), end);
    let until = *sender.sent.last()?;
    let before = within(&sender.sent, *sender.sent.first()?, first);
    let per = |n: u64, ns: i64| n as f64 / ns.max(1) as f64;
    let rate_before = per(before, first.saturating_sub(*sender.sent.first()?));
    let rate_after = per(sent, end.saturating_sub(latest));
    let goes_on = sent >= SENT
        && end.saturating_sub(until) <= least(usual)
        && rate_after * 100.0 >= rate_before * AS_OFTEN as f64;
    let gap = Gap::of(first, end);
    let at_socket = drops::Dropped::of(facts).within(&gap, port(to));
    if !goes_on || at_socket || dropped(facts, latest, sent) {
        return None;
    }
    let places = members.into_iter();
    let hosts: BTreeSet<String> = places.map(|p| facts.multicast.host(p)).collect();
    readers.iter_mut().for_each(|r| r.1 = r.1.saturating_sub(start));
    Some(Ceased {
        to: to.to_owned(),
        sender: sender.name.clone(),
        from: sender.from.to_owned(),
        readers,
        sent: (sent, until.saturating_sub(latest)),
        members: hosts.into_iter().collect(),
        ports: Frames::of(facts, sender.pid).ports(facts, first, latest),
    })
}

/// By stream, those that ceased first before others.
pub(super) fn ceased(facts: &Facts) -> Vec<Ceased> {
    // Where events were lost arrivals were; where no drop is recorded, what came to a full queue is not seen.
    let told = facts.gaps.is_empty() && facts.capture.recorded("skb:kfree_skb") && facts.multicast.known();
    if !told || !facts.udp_sockets.iter().any(|s| s.arrived >= CAME) {
        return vec![];
    }
    let senders = senders(facts);
    let mut all: Vec<Ceased> = senders.iter().filter_map(|(to, s)| ceased_of(facts, to, s)).collect();
    all.sort_by_key(|c| c.readers.first().map(|r| r.1));
    all.truncate(super::GROUPS);
    all
}
