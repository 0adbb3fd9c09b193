//! An address whose programs try the logins of several hosts, have no answer from any, and do nothing else: a stranger that looks for an open one. Or one, whatever else
//! it does, that tries ports of one host in rounds, with logins among them of which hardly a host has both, SSH and RDP: that may be a
//! monitor, too, which is said. Or one that knocks at many doors (`doors.rs`).
//!
//! Needs `opens`, `connections`. Each attempt may be of another process, so the address tells them together. Must not take for one: an address
//! that ever had a connection, that tries a port of another kind, one host only (but for those rounds), or a port that others were answered at; who waits until a SYN is sent again.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use rustc_hash::FxHashSet;

use super::scans::{LOGINS, Scan, TELNET, up};
use super::{doors, task};
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::opens::tables::{End, FIRST_SYN_NS, OpenEnd, OpenRow};
use crate::reconstruct::tcp::tables::ConnectionRow;

/// Fewest attempts, ports and hosts.
const ATTEMPTS: usize = 6;
const SEVERAL: usize = 2;

/// Fewest ports of one host that are tried in rounds, and how often each at least.
const ROUND: usize = 3;
const ROUNDS: usize = 2;
/// Logins of which hardly a host has both.
const SSH: u16 = 22;
const RDP: u16 = 3389;

/// Attempts of one.
pub(super) struct Stranger<'f> {
    pub of: Vec<&'f OpenRow>,
    /// They were refused; else they had no answer.
    pub refused: bool,
    /// A monitor that checks logins does the same.
    pub or_monitor: bool,
}

/// All of them.
pub(super) fn strangers(facts: &Facts) -> Vec<Stranger<'_>> {
    let mut by: BTreeMap<IpAddr, Vec<&OpenRow>> = BTreeMap::new();
    for r in &facts.opens {
        if let Some(from) = r.from {
            by.entry(from.0.to_canonical()).or_default().push(r);
        }
    }
    let up = up(facts);
    let served: FxHashSet<End> = (facts.opens.iter())
        .filter(|r| r.end == OpenEnd::Established)
        .filter_map(|r| r.to)
        .collect();
    let speaks: FxHashSet<IpAddr> = (facts.connections.iter())
        .filter(|c| c.bytes_in > 0 || c.bytes_out > 0)
        .filter_map(|c| c.saddr.map(|a| a.to_canonical()))
        .collect();
    let silent = |r: &&OpenRow| {
        let silent = [OpenEnd::GivenUp, OpenEnd::Waiting].contains(&r.end) && !r.message && r.connection.is_some();
        let soon = r.total_ns() < FIRST_SYN_NS && r.syns_again.unwrap_or(0) == 0;
        let there = |to: End| up.contains(&to.0) && !served.contains(&to);
        silent && soon && r.confidence.is_solid() && r.to.is_some_and(there)
    };
    let knock = |r: &&OpenRow| silent(r) && r.to.is_some_and(|to| LOGINS.contains(&to.1));
    let mut in_rounds: BTreeMap<(IpAddr, IpAddr), Vec<&OpenRow>> = BTreeMap::new();
    for (from, of) in &by {
        for r in of.iter().filter(|r| silent(r)) {
            if let Some(to) = r.to {
                in_rounds.entry((*from, to.0)).or_default().push(r);
            }
        }
    }
    // Attempts at a port that end otherwise are somebody's who wants what is there.
    let mut tried: BTreeMap<(IpAddr, End), usize> = BTreeMap::new();
    for (from, of) in &by {
        for to in of.iter().filter_map(|r| r.to) {
            *tried.entry((*from, to)).or_default() += 1;
        }
    }
    in_rounds.retain(|(from, host), of| {
        let at = |port: u16| tried.get(&(*from, (*host, port))).copied().unwrap_or(0);
        rounds(of, at)
    });
    by.retain(|from, of| {
        let ends = of.iter().filter_map(|r| r.to);
        let hosts: BTreeSet<IpAddr> = ends.clone().map(|to| to.0).collect();
        let ports: BTreeSet<u16> = ends.map(|to| to.1).collect();
        let many = of.len() >= ATTEMPTS && hosts.len() >= SEVERAL && ports.len() >= SEVERAL;
        let telnet = TELNET.iter().any(|p| ports.contains(p));
        many && telnet && !speaks.contains(from) && of.iter().all(knock)
    });
    in_rounds.retain(|(from, _), _| !by.contains_key(from));
    let each = |or_monitor, refused| {
        move |of| Stranger {
            of,
            refused,
            or_monitor,
        }
    };
    let mut all: Vec<Stranger<'_>> = (by.into_values().map(each(false, false)))
        .chain(in_rounds.into_values().map(each(true, false)))
        .collect();
    // Refused or not answered: each by itself.
    let told: FxHashSet<_> = all.iter().flat_map(|s| &s.of).map(|r| r.connection).collect();
    for of in doors::doors(facts) {
        let others = of.into_iter().filter(|r| !told.contains(&r.connection));
        let (refused, silent): (Vec<_>, Vec<_>) = others.partition(|r| r.end == OpenEnd::Refused);
        let parts = [(refused, true), (silent, false)].into_iter();
        all.extend(
            parts
                .filter(|(of, _)| !of.is_empty())
                .map(|(of, refused)| each(false, refused)(of)),
        );
    }
    all
}

/// Whether the ports are tried as often each, all attempts are among these (`all` says how many there are), and both logins are among them.
fn rounds(of: &[&OpenRow], all: impl Fn(u16) -> usize) -> bool {
    let mut ports: BTreeMap<u16, usize> = BTreeMap::new();
    for (_, port) in of.iter().filter_map(|r| r.to) {
        *ports.entry(port).or_default() += 1;
    }
    let has = |port: u16| ports.contains_key(&port);
    let both = has(SSH) && has(RDP);
    let least = ports.values().copied().min().unwrap_or(0);
    let even = least >= ROUNDS && ports.iter().all(|(port, n)| *n <= least + 1 && all(*port) == *n);
    ports.len() >= ROUND && both && even
}

/// `16 processes of 10.8.0.66`: each attempt may be of another.
fn whose(of: &[&OpenRow], first: &OpenRow) -> Option<String> {
    let pids: BTreeSet<i32> = of.iter().map(|r| r.pid).collect();
    let from = first.from?.0.to_canonical();
    Some(match pids.len() {
        1 => format!("{} of {from}", task(first)),
        n => format!("{n} processes of {from}"),
    })
}

/// As a scan.
pub(super) fn scan(stranger: &Stranger<'_>) -> Option<Scan> {
    let of = &stranger.of;
    let first = of.iter().min_by_key(|r| r.start_ns)?;
    let mut ends: BTreeMap<End, u64> = BTreeMap::new();
    for to in of.iter().filter_map(|r| r.to) {
        *ends.entry(to).or_default() += 1;
    }
    let hosts: BTreeSet<IpAddr> = ends.keys().map(|to| to.0).collect();
    Some(Scan {
        task: whose(of, first)?,
        attempts: of.len() as u64,
        ports: ends.len() as u64,
        addresses: hosts.len() as u64,
        address: hosts.first().filter(|_| hosts.len() == 1).map(IpAddr::to_string),
        each: ends.values().copied().max().unwrap_or(0),
        first_ns: first.start_ns,
        refused: stranger.refused,
        at_once: false,
        or_monitor: stranger.or_monitor,
    })
}

/// All of them, and those that began before the recording, of who is as strange at these ends.
pub(super) fn knocks(facts: &Facts) -> impl Iterator<Item = ConnectionId> {
    let strangers = strangers(facts);
    let of = || strangers.iter().flat_map(|s| &s.of);
    let mut all: Vec<ConnectionId> = of().filter_map(|r| r.connection).collect();
    let tried: FxHashSet<(IpAddr, End)> = of().filter_map(|r| Some((r.from?.0.to_canonical(), r.to?))).collect();
    let tries = |c: &&ConnectionRow| {
        let (from, to) = (c.saddr.map(|a| a.to_canonical()), c.daddr.map(|a| (a, c.dport)));
        let unheard = c.bytes_in == 0 && c.bytes_out == 0;
        unheard && from.zip(to).is_some_and(|key| tried.contains(&key))
    };
    let known: FxHashSet<ConnectionId> = (facts.opens.iter()).filter_map(|r| r.connection).collect();
    let before = facts.connections.iter().filter(|_| !tried.is_empty()).filter(tries);
    all.extend(before.map(|c| c.connection).filter(|c| !known.contains(c)));
    all.into_iter()
}

/// Those that a monitor may have made.
pub(crate) fn monitored(facts: &Facts) -> FxHashSet<ConnectionId> {
    let of = strangers(facts).into_iter().filter(|s| s.or_monitor).flat_map(|s| s.of);
    of.filter_map(|r| r.connection).collect()
}
