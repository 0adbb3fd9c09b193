//! Receivers to which nothing came for long, of a stream that went on: a switch that forgot who joined a multicast group, a filter that came later.
//!
//! By the view `udp_sockets`, `udp_turns`, `tx`. Told of a socket to which datagrams came steadily, and then none for [`LEAST_NS`] and [`TIMES`] the usual
//! distance, only where the stream is seen to go on meanwhile: another process' socket of the same port got it as steadily as before, or
//! the one sender of the socket's datagrams sent on. Limits: that a sender outside the recording went on, nothing tells where no other socket gets the same.

use std::collections::BTreeMap;

use super::{GROUPS, holder};
use crate::facts::Facts;
use crate::reconstruct::datagrams::sockets::SocketRow;
use crate::reconstruct::transmit::tables::TxKind;

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

/// When nothing came to a socket.
#[derive(Clone, Copy)]
struct Gap {
    socket: usize,
    from: i64,
    to: i64,
}

/// Its address; who went on; whether that one sent it.
type Stream<'f> = (&'f str, String, bool);

/// The place of an `address:port`.
fn port(of: &str) -> Option<&str> {
    of.rsplit_once(':').map(|p| p.1)
}

fn multicast(of: &str) -> bool {
    let at = of.parse::<std::net::SocketAddr>();
    at.is_ok_and(|a| a.ip().to_canonical().is_multicast())
}

/// Distance between two datagrams of a socket outside its longest silence, ns.
fn distance(s: &SocketRow) -> Option<i64> {
    let span = s.last_arrived_ns?.saturating_sub(s.first_arrived_ns?);
    let rest = span.saturating_sub(s.silent_ns).max(0);
    Some(rest / i64::try_from(s.arrived).ok()?.saturating_sub(2).max(1))
}

struct Streams<'f> {
    facts: &'f Facts,
    /// Address and port of what each thread reads, where that is one.
    local: BTreeMap<i32, Option<&'f str>>,
    end: i64,
}

impl<'f> Streams<'f> {
    fn of(facts: &'f Facts) -> Option<Streams<'f>> {
        let mut local: BTreeMap<i32, Option<&str>> = BTreeMap::new();
        for s in facts
            .udp_sockets
            .iter()
            .filter(|s| s.arrived > 0 && !s.local.is_empty())
        {
            let at = local.entry(s.pid).or_insert(Some(&s.local));
            *at = at.filter(|at| *at == s.local);
        }
        Some(Streams {
            facts,
            local,
            end: facts.capture.end_ns?,
        })
    }

    fn steady(s: &SocketRow) -> bool {
        s.pid > 0 && s.served && s.sent == 0 && s.arrived >= FEWEST && s.confidence.is_solid()
    }

    /// Its own, else that of what its thread reads besides: one that is closed before the snapshot has none.
    fn local(&self, s: &'f SocketRow) -> &'f str {
        match s.local.is_empty() {
            true => self.local.get(&s.pid).copied().flatten().unwrap_or(""),
            false => &s.local,
        }
    }

    /// Shortest silence of a stream.
    fn least(&self, usual: i64) -> i64 {
        LEAST_NS.max(usual.saturating_mul(TIMES))
    }

    /// Between two datagrams, and behind the last.
    fn gaps(&self, socket: usize, s: &SocketRow) -> Vec<Gap> {
        let Some((usual, last)) = distance(s).zip(s.last_arrived_ns) else {
            return vec![];
        };
        let least = self.least(usual);
        // Of one that is not in the snapshot at the end nobody saw the close: its program may have ended.
        let until = match (s.closed, s.named_by) {
            (true, _) => s.last_ns,
            (false, "") => last,
            (false, _) => self.end,
        };
        let within = s.silent_from_ns.map(|from| (from, from.saturating_add(s.silent_ns)));
        let both = within.into_iter().chain([(last, until)]);
        let long = both.filter(|(from, to)| to.saturating_sub(*from) >= least);
        long.map(|(from, to)| Gap { socket, from, to }).collect()
    }

    /// Another process' socket that gets the same, and got it meanwhile: how much, and until when.
    fn beside(&self, gap: &Gap, s: &'f SocketRow) -> Option<(String, u64, i64)> {
        let local = self.local(s);
        let usual = distance(s)?;
        let same = |o: &SocketRow| {
            let theirs = self.local(o);
            let alike = || distance(o).is_some_and(|d| (d.abs_diff(usual) as f64) <= ALIKE * d.max(usual) as f64);
            match multicast(local) {
                true => theirs == local,
                // Of one port on several hosts, or of several sockets on one, each may have its own senders.
                false => port(local).is_some() && port(theirs) == port(local) && alike(),
            }
        };
        let went_on = |o: &&SocketRow| {
            let until = o.last_arrived_ns.map_or(i64::MIN, |at| at.min(gap.to));
            let long = until.saturating_sub(gap.from);
            let before = o.first_arrived_ns.is_some_and(|at| at <= gap.from);
            let enough = long >= self.least(usual) && o.silent_ns <= long / WENT_ON;
            Self::steady(o) && o.holder_or_pid() != s.holder_or_pid() && before && enough && same(o)
        };
        let o = self
            .facts
            .udp_sockets
            .iter()
            .filter(went_on)
            .max_by_key(|o| o.arrived)?;
        let until = o.last_arrived_ns?.min(gap.to);
        let n = until.saturating_sub(gap.from) / distance(o)?.max(1);
        Some((holder(o), u64::try_from(n).unwrap_or(0), until))
    }

    /// The one sender of what came to it, which sends to nobody else, and went on.
    fn sender(&self, gap: &Gap, s: &SocketRow) -> Option<(String, u64, i64)> {
        let facts = self.facts;
        let ours = |n: u32| {
            let at = facts.udp_sockets.get(n as usize);
            at.is_some_and(|o| o.pid == s.pid)
        };
        let to_us = |n: u32| n as usize == gap.socket;
        let mut senders = facts.udp_turns.iter().filter(|t| t.there.is_some_and(to_us));
        let one = senders.next()?;
        if senders.any(|t| t.pid != one.pid) {
            return None;
        }
        let own = || facts.udp_turns.iter().filter(|t| t.pid == one.pid);
        if own().any(|t| t.there.is_some_and(|n| !ours(n))) {
            return None;
        }
        let sent = facts.tx.iter().filter(|t| t.kind == TxKind::Udp && t.pid == one.pid);
        let sent = sent.map(|t| t.start_ns).filter(|at| (gap.from..gap.to).contains(at));
        let (meanwhile, until) = sent.fold((0u64, gap.from), |(n, until), at| (n + 1, at.max(until)));
        let (usual, long) = (distance(s)?.max(1), until.saturating_sub(gap.from));
        let went_on = long >= self.least(usual)
            && meanwhile >= FEWEST / 2
            && meanwhile.saturating_mul(2) >= u64::try_from(long / usual).ok()?;
        went_on.then(|| (super::who(&one.task, one.pid), meanwhile, until))
    }
}

/// By stream, the longest first.
pub(super) fn silent(facts: &Facts) -> Vec<Silent> {
    // Where events were lost arrivals were.
    let streams = Streams::of(facts).filter(|_| facts.gaps.is_empty());
    let Some((streams, start)) = streams.zip(facts.capture.start_ns) else {
        return vec![];
    };
    let mut by: BTreeMap<Stream<'_>, Vec<(Gap, u64)>> = BTreeMap::new();
    let steady = facts.udp_sockets.iter().enumerate().filter(|(_, s)| Streams::steady(s));
    let mut gaps: Vec<Gap> = steady.flat_map(|(n, s)| streams.gaps(n, s)).collect();
    gaps.sort_by_key(|g| (std::cmp::Reverse(g.to.saturating_sub(g.from)), g.socket, g.from));
    gaps.truncate(LOOKED_AT);
    for gap in gaps {
        if let Some(s) = facts.udp_sockets.get(gap.socket) {
            let beside = streams.beside(&gap, s).map(|(who, n, to)| (who, false, n, to));
            let found = beside.or_else(|| streams.sender(&gap, s).map(|(who, n, to)| (who, true, n, to)));
            if let Some((who, sent, meanwhile, to)) = found {
                let gap = Gap { to, ..gap };
                by.entry((streams.local(s), who, sent))
                    .or_default()
                    .push((gap, meanwhile));
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
