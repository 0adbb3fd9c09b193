//! Receivers to which nothing came for long, of a stream that went on: a switch that forgot who joined a multicast group, a filter that came later.
//!
//! By the views `udp_sockets`, `udp_turns`, `tx`, `drops`. Told of a socket to which datagrams came steadily, and then none for [`LEAST_NS`] and [`TIMES`] the usual
//! distance, only where the stream is seen to go on meanwhile: another process' socket of the same group got it as steadily as before, one of another address' same
//! port got just so many as are missing here, or the one sender of the socket's datagrams sent on. Not where a datagram was dropped meanwhile at a socket that may be
//! this one: it came. Limits: that a sender outside the recording went on, nothing tells where no other socket gets the same; that what the one sender
//! sent meanwhile went there is inferred.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{GROUPS, holder};
use crate::facts::Facts;
use crate::reconstruct::datagrams::sockets::SocketRow;

pub(super) mod drops;
mod senders;

/// Fewest datagrams of a stream.
const FEWEST: u64 = 100;
/// Shortest silence, ns.
const LEAST_NS: i64 = 1_000_000_000;
/// The same in distances between two datagrams.
const TIMES: i64 = 50;
/// Another socket's longest silence, of this one's, at most.
const WENT_ON: i64 = 10;
/// How far the rates of two sockets of one stream may lie apart, of the larger.
const ALIKE: f64 = 0.05;
/// How far what came to one of another address may lie from what is expected of the same stream.
const SAME: f64 = 0.02;
/// Silences looked at, the longest first.
const LOOKED_AT: usize = 200;

/// Receivers of one stream.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Silent {
    /// `task/thread` of each that got nothing, those with the longest silence first.
    pub readers: Vec<String>,
    /// `address:port` of the stream; empty: not known.
    pub local: String,
    /// How often.
    pub times: u64,
    /// The longest, ns.
    pub longest_ns: i64,
    /// Begin of the first, ns since the start of the recording.
    pub first_ns: i64,
    /// `task/thread` of the socket that got the same stream meanwhile, or of the thread that sent it.
    pub went_on: String,
    /// Whether that one sent it.
    pub sent: bool,
    /// Datagrams that it got, or sent, in the longest.
    pub meanwhile: u64,
}

impl Silent {
    /// Whether one stream comes to all sockets of its address; else they have no more than their port in common.
    pub fn is_of_a_group(&self) -> bool {
        multicast(&self.local)
    }
}

/// When nothing came to a socket.
#[derive(Clone, Copy)]
pub(super) struct Gap {
    socket: usize,
    from: i64,
    to: i64,
}

impl Gap {
    /// Of no one socket.
    pub(super) fn of(from: i64, to: i64) -> Gap {
        let socket = usize::MAX;
        Gap { socket, from, to }
    }
}

/// Its address; who went on; whether that one sent it.
type Stream<'f> = (&'f str, String, bool);

/// The place of an `address:port`.
pub(super) fn port(of: &str) -> Option<&str> {
    of.rsplit_once(':').map(|p| p.1)
}

fn is(of: &str, what: fn(&std::net::IpAddr) -> bool) -> bool {
    let at = of.parse::<std::net::SocketAddr>();
    at.is_ok_and(|a| what(&a.ip().to_canonical()))
}

pub(super) fn multicast(of: &str) -> bool {
    is(of, std::net::IpAddr::is_multicast)
}

/// Distance between two datagrams of a socket outside its longest silence, ns.
pub(super) fn distance(s: &SocketRow) -> Option<i64> {
    let span = s.last_arrived_ns?.saturating_sub(s.first_arrived_ns?);
    let rest = span.saturating_sub(s.silent_ns).max(0);
    Some(rest / i64::try_from(s.arrived).ok()?.saturating_sub(2).max(1))
}

/// Shortest silence of a stream.
pub(super) fn least(usual: i64) -> i64 {
    LEAST_NS.max(usual.saturating_mul(TIMES))
}

/// Whether datagrams came to both as often.
pub(super) fn alike(a: &SocketRow, b: &SocketRow) -> bool {
    let both = distance(a).zip(distance(b));
    both.is_some_and(|(a, b)| (a.abs_diff(b) as f64) <= ALIKE * a.max(b) as f64)
}

/// Whether what came to another beyond what came to this one is what is missing here, where nothing came or the socket was not yet, or no more.
fn just_the_rest(o: &SocketRow, s: &SocketRow) -> Option<bool> {
    let usual = distance(s)?.max(1);
    let before = s.first_arrived_ns?.saturating_sub(o.first_arrived_ns?);
    let behind = o.last_arrived_ns?.saturating_sub(s.last_arrived_ns?);
    let silent = if s.silent_ns >= least(usual) { s.silent_ns } else { 0 };
    let alone = before.saturating_add(behind).saturating_add(silent) / usual;
    let expect = i64::try_from(s.arrived).ok()?.saturating_add(alone);
    let off = i64::try_from(o.arrived).ok()?.abs_diff(expect);
    Some(off as f64 <= SAME * o.arrived as f64)
}

struct Streams<'f> {
    facts: &'f Facts,
    /// The address of each socket, and whether that is of the one which its thread opened in its place.
    at: Vec<(&'f str, bool)>,
    /// Sockets in whose place their thread opened another at once, to which as much came.
    reopened: FxHashSet<usize>,
    /// Steady ones by port.
    by_port: FxHashMap<&'f str, Vec<usize>>,
    end: i64,
}

impl<'f> Streams<'f> {
    fn of(facts: &'f Facts) -> Option<Streams<'f>> {
        let mut out = Streams {
            facts,
            at: facts.udp_sockets.iter().map(|s| (s.local.as_str(), false)).collect(),
            reopened: FxHashSet::default(),
            by_port: FxHashMap::default(),
            end: facts.capture.end_ns?,
        };
        out.reopen();
        for (n, _) in out.steady() {
            if let Some(port) = out.at.get(n).and_then(|at| port(at.0)) {
                out.by_port.entry(port).or_default().push(n);
            }
        }
        Some(out)
    }

    fn steady(&self) -> impl Iterator<Item = (usize, &'f SocketRow)> + use<'f> {
        let steady =
            |s: &SocketRow| s.pid > 0 && s.served && s.sent == 0 && s.arrived >= FEWEST && s.confidence.is_solid();
        self.facts
            .udp_sockets
            .iter()
            .enumerate()
            .filter(move |(_, s)| steady(s))
    }

    /// Who joins again closes its socket and opens another: only the last of these is in the snapshot and has an address.
    fn reopen(&mut self) {
        let mut by: BTreeMap<i32, Vec<(usize, &SocketRow)>> = BTreeMap::new();
        for (n, s) in self.steady() {
            by.entry(s.pid).or_default().push((n, s));
        }
        for of in by.values_mut() {
            of.sort_by_key(|(n, s)| (s.first_ns, *n));
            for (n, s) in of.iter().rev().filter(|(_, s)| s.closed) {
                let next = of.get(of.partition_point(|(_, o)| o.first_ns < s.last_ns));
                let at_once = |o: &SocketRow| o.first_ns.saturating_sub(s.last_ns) <= LEAST_NS && alike(s, o);
                let Some((next, _)) = next.filter(|(of, o)| of != n && at_once(o)) else {
                    continue;
                };
                self.reopened.insert(*n);
                let theirs = self.at.get(*next).map_or("", |at| at.0);
                if let Some(own) = self.at.get_mut(*n).filter(|own| own.0.is_empty()) {
                    *own = (theirs, true);
                }
            }
        }
    }

    /// Between two datagrams, and behind the last.
    fn gaps(&self, socket: usize, s: &SocketRow) -> Vec<Gap> {
        let Some((usual, last)) = distance(s).zip(s.last_arrived_ns) else {
            return vec![];
        };
        let until = match (s.closed, s.named_by) {
            (true, _) if self.reopened.contains(&socket) => s.last_ns,
            // Who closes it for good may have left the group before.
            (true, _) => last,
            // Of one that is not in the snapshot at the end nobody saw the close: its program may have ended.
            (false, "") => last,
            (false, _) => self.end,
        };
        let within = s.silent_from_ns.map(|from| (from, from.saturating_add(s.silent_ns)));
        let both = within.into_iter().chain([(last, until)]);
        let long = both.filter(|(from, to)| to.saturating_sub(*from) >= least(usual));
        long.map(|(from, to)| Gap { socket, from, to }).collect()
    }

    /// Another process' socket that gets the same, and got it meanwhile: how much, and until when.
    fn beside(&self, gap: &Gap, s: &'f SocketRow) -> Option<(String, u64, i64)> {
        let (local, _) = *self.at.get(gap.socket)?;
        let usual = distance(s)?;
        let same = |n: usize, o: &SocketRow| {
            let (theirs, _) = self.at.get(n).copied().unwrap_or_default();
            match multicast(local) {
                // Isolated networks may have the same group.
                true => theirs == local && alike(o, s),
                // What is for one host comes to one: two are sent the same by who sends to both. Sockets that share an address divide what comes.
                false => {
                    let on_net = |at: &str| !is(at, std::net::IpAddr::is_loopback);
                    theirs != local && on_net(local) && on_net(theirs) && just_the_rest(o, s) == Some(true)
                }
            }
        };
        let went_on = |(n, o): &(usize, &SocketRow)| {
            let until = o.last_arrived_ns.map_or(i64::MIN, |at| at.min(gap.to));
            let long = until.saturating_sub(gap.from);
            let before = o.first_arrived_ns.is_some_and(|at| at <= gap.from);
            let enough = long >= least(usual) && o.silent_ns <= long / WENT_ON;
            o.holder_or_pid() != s.holder_or_pid() && before && enough && same(*n, o)
        };
        let of = self.by_port.get(port(local)?)?.iter();
        let of = of.filter_map(|n| Some((*n, self.facts.udp_sockets.get(*n)?)));
        let (_, o) = of.filter(went_on).max_by_key(|(_, o)| o.arrived)?;
        let until = o.last_arrived_ns?.min(gap.to);
        let n = until.saturating_sub(gap.from) / distance(o)?.max(1);
        Some((holder(o), u64::try_from(n).unwrap_or(0), until))
    }
}

/// By stream, the longest first.
pub(super) fn silent(facts: &Facts) -> Vec<Silent> {
    // Where events were lost arrivals were; where no drop is recorded, what came to a full queue is not seen.
    let told = facts.gaps.is_empty() && facts.capture.recorded("skb:kfree_skb");
    let streams = Streams::of(facts).filter(|_| told);
    let Some((streams, start)) = streams.zip(facts.capture.start_ns) else {
        return vec![];
    };
    let mut by: BTreeMap<Stream<'_>, Vec<(Gap, u64)>> = BTreeMap::new();
    let mut gaps: Vec<Gap> = streams.steady().flat_map(|(n, s)| streams.gaps(n, s)).collect();
    gaps.sort_by_key(|g| (std::cmp::Reverse(g.to.saturating_sub(g.from)), g.socket, g.from));
    gaps.truncate(LOOKED_AT);
    let dropped = drops::Dropped::of(facts);
    gaps.retain(|g| !dropped.within(g, streams.at.get(g.socket).and_then(|at| port(at.0))));
    let senders = senders::Senders::of(facts, &gaps);
    for gap in gaps {
        if let Some(s) = facts.udp_sockets.get(gap.socket) {
            let beside = streams.beside(&gap, s).map(|(who, n, to)| (who, false, n, to));
            let sent = || senders.went_on(&gap, s, &streams.gaps(gap.socket, s));
            let found = beside.or_else(|| sent().map(|(who, n, to)| (who, true, n, to)));
            if let Some((who, sent, meanwhile, to)) = found {
                let gap = Gap { to, ..gap };
                let local = streams.at.get(gap.socket).map_or("", |at| at.0);
                by.entry((local, who, sent)).or_default().push((gap, meanwhile));
            }
        }
    }
    let of = |((local, went_on, sent), mut gaps): (Stream<'_>, Vec<(Gap, u64)>)| {
        let long = |g: &Gap| g.to.saturating_sub(g.from);
        gaps.sort_by_key(|(g, _)| (std::cmp::Reverse(long(g)), g.from));
        let (longest, meanwhile) = *gaps.first()?;
        let mut readers: Vec<String> = vec![];
        for (g, _) in &gaps {
            let who = facts.udp_sockets.get(g.socket).map_or_else(String::new, holder);
            if !readers.contains(&who) {
                readers.push(who);
            }
        }
        readers.truncate(GROUPS);
        Some(Silent {
            readers,
            local: local.to_owned(),
            times: gaps.len() as u64,
            longest_ns: long(&longest),
            first_ns: gaps.iter().map(|(g, _)| g.from).min()?.saturating_sub(start),
            went_on,
            sent,
            meanwhile,
        })
    };
    let mut all: Vec<Silent> = by.into_iter().filter_map(of).collect();
    all.sort_by_key(|s| (std::cmp::Reverse(s.longest_ns), s.first_ns));
    all.truncate(GROUPS);
    all
}
