//! A program that tries many ports, and is refused, a few times each, or has no answer and does not wait for one: a port scan.
//!
//! Needs `opens`. Must not take for one: a program whose few servers are down, however often it tries, or whose many servers are, each at the
//! same port; who waits longer than a SYN takes to be sent again, unless the ports are those of logins, several of one host, or many of one host tried in rounds, of which some refuse, a login among them; a host that answers nobody; ports that did answer, and ports tried again and again: somebody wants what was there.
//! Of far more ports of one address, tried in turns and given up at once, it does not matter how often that is.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Failed, checks, strangers};
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::opens::tables::{End, OpenEnd, OpenRow};

/// Fewest ports, those of each address by themselves, and fewest port numbers.
const PORTS: usize = 20;
/// Most attempts at each.
const EACH: u64 = 3;
/// Fewest ports of one address that has other connections, where nobody answered and none was waited for longer than [`SOON_NS`].
const SILENT: usize = 10;
/// Their numbers lie so far apart: those of a cluster's nodes do not.
const APART: u16 = 1000;
/// Programs that want an answer wait for longer.
const SOON_NS: i64 = 100_000_000;
/// Fewest ports of one address that are tried in turns, none with more than one in so many of the attempts.
const SWEPT: usize = 30;
const PART: u64 = 20;

/// Ports of logins: who tries several of one host a few times each, telnet's among them, and has an answer from none, is a stranger.
pub(super) const LOGINS: [u16; 10] = [21, 22, 23, 2323, 3389, 5800, 5900, 5901, 5902, 8291];
pub(super) const TELNET: [u16; 2] = [23, 2323];
const KNOCKS: usize = 3;
/// Fewest ports of one address, a login among them, some refused and some without an answer, that are tried in rounds: each so often at least, and none more than
/// once more than another.
const ROUND: usize = 8;
const ROUNDS: u64 = 2;
pub(super) const NO_ANSWER: [OpenEnd; 3] = [OpenEnd::GivenUp, OpenEnd::TimedOut, OpenEnd::Waiting];

/// Attempts of one program that were refused at many ports, or had no answer there.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Scan {
    /// `task/thread` of the first.
    pub task: String,
    /// Attempts.
    pub attempts: u64,
    /// Ports, those of each address by themselves.
    pub ports: u64,
    /// Addresses.
    pub addresses: u64,
    /// The address, where it is one.
    pub address: Option<String>,
    /// Most attempts at one port.
    pub each: u64,
    /// Begin of the first.
    pub first_ns: i64,
    /// They were refused; else they had no answer.
    pub refused: bool,
    /// None was waited for longer than 100 ms.
    pub at_once: bool,
    /// A monitor that checks logins may do the same.
    pub or_monitor: bool,
}

/// Takes them out of what failed; most attempts first. `served` are the ends, `address:port`, that connections came to be with; `up` are addresses of hosts that
/// answer somebody.
pub(super) fn scans(failed: &mut Vec<Failed>, served: &BTreeSet<String>, up: &FxHashSet<IpAddr>) -> Vec<Scan> {
    let is_up = |to: &str| to.parse::<SocketAddr>().is_ok_and(|a| up.contains(&a.ip()));
    let name = |f: &Failed| {
        f.task
            .rsplit_once('/')
            .map_or(f.task.as_str(), |(task, _)| task)
            .to_owned()
    };
    let named = |f: &Failed| !f.to.is_empty() && !f.task.is_empty();
    let ends = |to: &str| {
        to.rsplit_once(':')
            .map_or((String::new(), to.to_owned()), |(a, p)| (a.to_owned(), p.to_owned()))
    };
    let refused = |f: &Failed| f.end == OpenEnd::Refused.word() && named(f);
    let at_once = |f: &Failed| {
        let short = f.end == OpenEnd::GivenUp.word() && f.longest_ns <= SOON_NS;
        short && named(f) && !served.contains(&f.to)
    };
    let few = |f: &Failed| f.attempts <= EACH;
    let silent = |f: &Failed| at_once(f) && few(f) && is_up(&f.to);
    let place = |f: &Failed| (name(f), ends(&f.to).0);
    let tried = failed.iter().filter(|f| at_once(f) && is_up(&f.to));
    let swept = swept(tried.map(|f| (place(f), f.attempts)));
    // Port numbers of each program; of each program and address.
    let mut ports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut unheard: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for f in failed.iter().filter(|f| few(f)) {
        if refused(f) {
            ports.entry(name(f)).or_default().insert(ends(&f.to).1);
        } else if silent(f) {
            unheard.entry(place(f)).or_default().insert(ends(&f.to).1);
        }
    }
    let by_refusal = ports
        .into_iter()
        .filter(|(_, to)| to.len() >= PORTS)
        .map(|(task, _)| task);
    let by_silence = unheard
        .into_iter()
        .filter(|(_, to)| to.len() >= SILENT && apart(to.iter().filter_map(|port| port.parse().ok())))
        .map(|((task, _), _)| task);
    let scanners: BTreeSet<(String, bool)> = (by_refusal.map(|t| (t, true)))
        .chain(by_silence.map(|t| (t, false)))
        .collect();
    let no_answer = NO_ANSWER.map(OpenEnd::word);
    let unanswered = |f: &Failed| {
        let silent = no_answer.contains(&f.end) && !f.message && few(f);
        silent && named(f) && !served.contains(&f.to) && is_up(&f.to)
    };
    let tried = failed.iter().filter(|f| unanswered(f));
    let knocking = knocking(tried.filter_map(|f| Some((place(f), ends(&f.to).1.parse().ok()?))));
    let mixed = |f: &Failed| {
        let silent = no_answer.contains(&f.end) && !f.message && named(f);
        let refused = refused(f);
        // As checks of servers that are down.
        let tried = (silent || refused) && f.check_ns.is_none() && !served.contains(&f.to) && is_up(&f.to);
        Some((place(f), ends(&f.to).1.parse().ok()?, f.attempts, refused)).filter(|_| tried)
    };
    let rounds = in_rounds(failed.iter().filter_map(mixed));
    if scanners.is_empty() && swept.is_empty() && knocking.is_empty() && rounds.is_empty() {
        return vec![];
    }
    let of_one = |f: &Failed| {
        let one = few(f) && refused(f) || silent(f);
        let knocks = unanswered(f) && knocking.contains(&place(f));
        let round = mixed(f).is_some_and(|(place, ..)| rounds.contains(&place));
        one && scanners.contains(&(name(f), refused(f))) || at_once(f) && swept.contains(&place(f)) || knocks || round
    };
    let (mut theirs, others): (Vec<Failed>, Vec<Failed>) = std::mem::take(failed).into_iter().partition(of_one);
    *failed = others;
    theirs.sort_by_key(|f| f.first_ns);
    let mut found: BTreeMap<(String, bool), (Scan, BTreeSet<String>)> = BTreeMap::new();
    for f in &theirs {
        let (scan, addresses) = found.entry((name(f), refused(f))).or_insert_with(|| {
            let scan = Scan {
                task: f.task.clone(),
                attempts: 0,
                ports: 0,
                addresses: 0,
                address: None,
                each: 0,
                first_ns: f.first_ns,
                refused: refused(f),
                at_once: true,
                or_monitor: false,
            };
            (scan, BTreeSet::new())
        });
        scan.attempts = scan.attempts.saturating_add(f.attempts);
        scan.ports += 1;
        scan.at_once &= f.longest_ns <= SOON_NS;
        scan.each = scan.each.max(f.attempts);
        addresses.insert(f.to.rsplit_once(':').map_or(f.to.as_str(), |(a, _)| a).to_owned());
        scan.addresses = addresses.len() as u64;
        scan.address = addresses.first().filter(|_| addresses.len() == 1).cloned();
    }
    let mut all: Vec<Scan> = found.into_values().map(|f| f.0).collect();
    all.sort_by(|a, b| (b.attempts, &a.task).cmp(&(a.attempts, &b.task)));
    all
}

/// Who tries nothing but logins of an address, several of them.
fn knocking<K: Ord>(each: impl Iterator<Item = (K, u16)>) -> BTreeSet<K> {
    let mut of: BTreeMap<K, BTreeSet<u16>> = BTreeMap::new();
    for (key, port) in each {
        of.entry(key).or_default().insert(port);
    }
    let logins = |ports: &BTreeSet<u16>| {
        let all = ports.iter().all(|p| LOGINS.contains(p));
        all && ports.len() >= KNOCKS && TELNET.iter().any(|p| ports.contains(p))
    };
    of.into_iter()
        .filter(|(_, ports)| logins(ports))
        .map(|(key, _)| key)
        .collect()
}

/// Who tries many ports of an address as often each, of which some refuse and some do not answer; given with their attempts, and whether they refused.
fn in_rounds<K: Ord>(each: impl Iterator<Item = (K, u16, u64, bool)>) -> BTreeSet<K> {
    let mut of: BTreeMap<K, BTreeMap<u16, (u64, bool)>> = BTreeMap::new();
    for (key, port, n, refused) in each {
        let port = of.entry(key).or_default().entry(port).or_default();
        *port = (port.0.saturating_add(n), port.1 | refused);
    }
    let round = |ports: &BTreeMap<u16, (u64, bool)>| {
        let tries = || ports.values().map(|p| p.0);
        let least = tries().min().unwrap_or(0);
        let even = least >= ROUNDS && tries().all(|n| n <= least.saturating_add(1));
        let login = ports.keys().any(|port| LOGINS.contains(port));
        let refused = ports.values().filter(|p| p.1).count();
        ports.len() >= ROUND && even && login && apart(ports.keys().copied()) && (1..ports.len()).contains(&refused)
    };
    let of = of.into_iter().filter(|(_, ports)| round(ports));
    of.map(|(key, _)| key).collect()
}

/// Whose ports, given with their attempts, are tried in turns.
fn swept<K: Ord>(each: impl Iterator<Item = (K, u64)>) -> BTreeSet<K> {
    let mut of: BTreeMap<K, (usize, u64, u64)> = BTreeMap::new();
    for (key, n) in each {
        let (ports, all, most) = of.entry(key).or_default();
        (*ports, *all, *most) = (*ports + 1, all.saturating_add(n), n.max(*most));
    }
    let turns = of.into_iter();
    let turns = turns.filter(|(_, (ports, all, most))| *ports >= SWEPT && most.saturating_mul(PART) <= *all);
    turns.map(|(key, _)| key).collect()
}

pub(super) fn apart(ports: impl Iterator<Item = u16>) -> bool {
    let ends = ports.fold((u16::MAX, u16::MIN), |(least, most), p| (least.min(p), most.max(p)));
    ends.1.saturating_sub(ends.0) >= APART
}

/// Addresses with which a connection came to be, or from which one got something: their host is up.
pub(super) fn up(facts: &Facts) -> FxHashSet<IpAddr> {
    let established = facts.opens.iter().filter(|r| r.end == OpenEnd::Established);
    let got = facts.connections.iter().filter(|c| c.bytes_in > 0);
    let opened = established.filter_map(|r| Some(r.to?.0));
    opened.chain(got.filter_map(|c| c.daddr)).collect()
}

/// Attempts of such as had no answer.
pub(crate) fn scanning(facts: &Facts) -> FxHashSet<ConnectionId> {
    let established = facts.opens.iter().filter(|r| r.end == OpenEnd::Established);
    let served: FxHashSet<End> = established.filter_map(|r| r.to).collect();
    let up = up(facts);
    let mut by: FxHashMap<(Name, IpAddr), BTreeMap<u16, Vec<&OpenRow>>> = FxHashMap::default();
    let unanswered = |r: &&OpenRow| NO_ANSWER.contains(&r.end) && !r.message && r.connection.is_some();
    let there = |r: &&OpenRow| r.to.is_some_and(|to| up.contains(&to.0) && !served.contains(&to));
    let tried = || facts.opens.iter().filter(unanswered).filter(there);
    let of = |r: &OpenRow| Some((r.task, r.to?.0));
    let knocking = knocking(tried().filter_map(|r| Some((of(r)?, r.to?.1))));
    let knocks: Vec<ConnectionId> = (tried().filter(|r| of(r).is_some_and(|of| knocking.contains(&of))))
        .filter_map(|r| r.connection)
        .collect();
    let checks = checks::checks(facts);
    let refused = |r: &&OpenRow| r.end == OpenEnd::Refused && r.connection.is_some();
    let both = || (tried().chain(facts.opens.iter().filter(refused).filter(there))).filter(|r| checks.of(r).is_none());
    let rounds = in_rounds(both().filter_map(|r| Some((of(r)?, r.to?.1, 1, r.end == OpenEnd::Refused))));
    let rounds = both().filter(|r| of(r).is_some_and(|of| rounds.contains(&of)));
    let knocks: Vec<ConnectionId> = (rounds.filter_map(|r| r.connection))
        .chain(knocks)
        .chain(strangers::knocks(facts))
        .collect();
    let silent = |r: &&OpenRow| r.end == OpenEnd::GivenUp && r.connection.is_some();
    for r in facts.opens.iter().filter(silent) {
        if let Some(to) = r.to.filter(|to| !served.contains(to)) {
            by.entry((r.task, to.0)).or_default().entry(to.1).or_default().push(r);
        }
    }
    for ((_, address), ports) in &mut by {
        ports.retain(|_, all| all.iter().all(|r| r.total_ns() <= SOON_NS));
        let in_turns = || !swept(ports.values().map(|all| ((), all.len() as u64))).is_empty();
        if up.contains(address) && in_turns() {
            continue;
        }
        ports.retain(|_, all| all.len() as u64 <= EACH);
        if !up.contains(address) || ports.len() < SILENT || !apart(ports.keys().copied()) {
            ports.clear();
        }
    }
    let all = by.into_values().flat_map(|ports| ports.into_values().flatten());
    all.filter_map(|r| r.connection).chain(knocks).collect()
}
