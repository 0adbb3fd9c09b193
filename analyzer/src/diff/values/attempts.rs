//! Attempts of clients to open connections, and those that failed: refused, or no answer to any SYN.
//!
//! In: `opens`. Out: attempts; a rate of those that failed, by server. An attempt that its program gave up, or that waits when the recording ends, has failed where a
//! SYN was retransmitted, as no answer came in a second, or where it lasted longer than openings of connections to that server take ([`super::usual`]), or, given up, three
//! quarters as long as nearly all take, and those to that server do not as a rule race with others of their program that stand in their place; else nothing is known of it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use super::counted::{Counted, Exposure, Key, Kind};
use super::usual::{OPENING_LEAST, USUAL};
use crate::diff::servers::answers::LEDGER;
use crate::diff::sides::options::Recording;
use crate::facts::ConnectionId;
use crate::name::Name;
use crate::reconstruct::opens::tables::{OpenEnd, OpenRow};

/// Name of the rate.
pub(in crate::diff) const FAILED_RATE: &str = "failed_opens";
/// Attempts that a server must have on each side for those that failed to be compared.
pub(in crate::diff) const LEAST: f64 = 10.0;

/// An attempt that its program gave up is in vain when it lasted for this part of what nearly all take.
const NEARLY: (i64, i64) = (3, 4);
/// Openings looked at for one that was given up.
const LOOKED_AT: usize = 1_000;

/// What came of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::diff) enum Came {
    Stood,
    Refused,
    NoAnswer,
    /// Unreachable, no port, another error.
    Failed,
    /// Its program gave it up so soon that an answer may have been on its way.
    GivenUp,
    /// Under way when the recording ended.
    UnderWay,
}

impl Came {
    /// Whether it failed; `None`: that is not known.
    pub(in crate::diff) fn failed(self) -> Option<bool> {
        match self {
            Came::Stood => Some(false),
            Came::Refused | Came::NoAnswer | Came::Failed => Some(true),
            Came::GivenUp | Came::UnderWay => None,
        }
    }
}

/// An attempt.
pub(in crate::diff) struct Attempt {
    /// `address:port`.
    pub server: String,
    pub at_ns: i64,
    pub took_ns: i64,
    pub came: Came,
}

/// `address:port` that it was to open a connection to.
pub(in crate::diff) fn opening(o: &OpenRow) -> Option<String> {
    let (address, port) = o.to?;
    Some(SocketAddr::new(address.to_canonical(), port).to_string())
}

fn came(o: &OpenRow, usual_ns: Option<i64>, races: bool) -> Came {
    let again = o.syns_again.is_some_and(|n| n > 0);
    // What is usual is twice as long as nearly all take.
    let enough = |ns: i64| match o.end {
        OpenEnd::GivenUp if !races => (ns / USUAL / NEARLY.1 * NEARLY.0).max(OPENING_LEAST),
        _ => ns,
    };
    let long = again || usual_ns.is_some_and(|ns| o.total_ns() > enough(ns));
    match o.end {
        OpenEnd::Established => Came::Stood,
        OpenEnd::Refused => Came::Refused,
        OpenEnd::TimedOut => Came::NoAnswer,
        OpenEnd::GivenUp | OpenEnd::Waiting if long => Came::NoAnswer,
        OpenEnd::GivenUp => Came::GivenUp,
        OpenEnd::Waiting => Came::UnderWay,
        OpenEnd::Unreachable | OpenEnd::NoPort | OpenEnd::Failed => Came::Failed,
    }
}

/// Ends of which most attempts that were given up raced: another one of the process, to another address of that port, stood meanwhile.
fn raced(r: &Recording<'_>) -> BTreeSet<String> {
    let opens = || r.facts.opens.iter().filter(|o| o.confidence.is_solid());
    let mut stood: BTreeMap<(i32, u16), Vec<&OpenRow>> = BTreeMap::new();
    for o in opens().filter(|o| o.end == OpenEnd::Established) {
        if let Some((_, port)) = o.to {
            stood.entry((r.facts.process(o.pid), port)).or_default().push(o);
        }
    }
    let mut longest: BTreeMap<(i32, u16), i64> = BTreeMap::new();
    for (key, of) in &mut stood {
        of.sort_by_key(|o| o.start_ns);
        longest.insert(*key, of.iter().map(|o| o.total_ns()).max().unwrap_or(0));
    }
    let mut by: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for o in opens().filter(|o| o.end == OpenEnd::GivenUp) {
        let (Some(server), Some((_, port))) = (opening(o), o.to) else {
            continue;
        };
        let key = (r.facts.process(o.pid), port);
        let of = stood.get(&key).map_or(&[][..], Vec::as_slice);
        let until = o.start_ns.saturating_add(o.total_ns());
        let before = longest.get(&key).copied().unwrap_or(0);
        let from = o.start_ns.saturating_sub(before);
        let last = of.partition_point(|s| s.start_ns <= until);
        let meanwhile = of.iter().take(last).rev().take_while(|s| s.start_ns >= from);
        let meanwhile = meanwhile.take(LOOKED_AT);
        let ends = |s: &OpenRow| s.start_ns.saturating_add(s.total_ns()) >= o.start_ns;
        let other = meanwhile.filter(|s| ends(s)).any(|s| s.to != o.to);
        let of = by.entry(server).or_default();
        *of = (of.0 + u64::from(other), of.1 + 1);
    }
    let most = |(n, of): &(u64, u64)| n.saturating_mul(2) >= *of;
    by.into_iter().filter(|(_, of)| most(of)).map(|(s, _)| s).collect()
}

/// Which sockets' attempts are on the devices that count. A SYN alone has no row of payload, and no event tells its device: it goes the way of others between its two addresses,
/// or from its own one; of an address that nothing else is known of it is on any.
struct Ways {
    own: BTreeMap<ConnectionId, bool>,
    pairs: BTreeMap<(IpAddr, Option<IpAddr>), bool>,
}

impl Ways {
    /// `None`: all devices count.
    fn of(r: &Recording<'_>) -> Option<Ways> {
        let here = r.connections()?;
        let rows = r.facts.rx.iter().map(|x| (x.connection, x.dev));
        let rows = rows.chain(r.facts.tx.iter().map(|x| (x.connection, x.dev)));
        let named = |(c, dev): (Option<ConnectionId>, Name)| c.filter(|_| !dev.is_empty());
        let seen: BTreeSet<ConnectionId> = rows.filter_map(named).collect();
        let mut out = Ways {
            own: seen.iter().map(|c| (*c, here.contains(c))).collect(),
            pairs: BTreeMap::new(),
        };
        for c in seen {
            let Some(row) = r.facts.connections.get(c.0 as usize) else {
                continue;
            };
            let (Some(own), peer) = (row.saddr, row.daddr) else {
                continue;
            };
            for pair in [(own, peer), (own, None)] {
                *out.pairs.entry(pair).or_default() |= here.contains(&c);
            }
        }
        Some(out)
    }
    fn has(&self, connection: ConnectionId, o: &OpenRow) -> bool {
        let own = o.from.map(|e| e.0);
        let peer = o.to.map(|e| e.0);
        let of = |pair| self.pairs.get(&pair).copied();
        let by_address = || own.and_then(|own| of((own, peer)).or_else(|| of((own, None))));
        let seen = self.own.get(&connection).copied();
        seen.or_else(by_address).unwrap_or(true)
    }
}

/// All of a recording that are known to be of TCP.
pub(in crate::diff) fn attempts(r: &Recording<'_>) -> Vec<Attempt> {
    let ways = Ways::of(r);
    let raced = raced(r);
    let counts = |o: &&OpenRow| {
        let on = |c| ways.as_ref().is_none_or(|w| w.has(c, o));
        o.connection.is_some_and(on) && o.confidence.is_solid() && r.has(o.start_ns)
    };
    let one = |o: &OpenRow| {
        let server = opening(o)?;
        let usual = r.usual.and_then(|u| u.opening(&server));
        Some(Attempt {
            came: came(o, usual, raced.contains(&server)),
            server,
            at_ns: o.start_ns,
            took_ns: o.total_ns(),
        })
    };
    r.facts.opens.iter().filter(counts).filter_map(one).collect()
}

/// Counts those that failed.
pub(in crate::diff) fn failed(r: &Recording<'_>, out: &mut Counted, block: impl Fn(i64) -> Option<usize>) {
    for a in attempts(r) {
        let (Some(b), Some(failed)) = (block(a.at_ns), a.came.failed()) else {
            continue;
        };
        let per = Exposure::Attempts(a.server);
        out.expose(per.clone(), b, 1.0);
        if failed {
            out.count(key(&per), per, b, 1.0);
        }
    }
}

/// Name of the rate of these attempts.
pub(in crate::diff) fn key(of: &Exposure) -> Key {
    let meaning = "openings of connections that failed, per attempt of a client";
    let name = format!("{LEDGER}.{FAILED_RATE}{}", of.whose());
    Key::new(name, meaning, Kind::Units, true).needs(&["sock:inet_sock_set_state"])
}
