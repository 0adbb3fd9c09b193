//! A program that knocks at many doors of others and gets in at (nearly) none, whether it is refused or not answered: a port scan. How often it knocks at each does not
//! matter, nor how long it waits.
//!
//! Needs `opens`, `connections`, and the lists of sockets that listen, where there are any. By address and program.
//!
//! ```text
//! many      eight port numbers or more that are no row of neighbours, three of one host at least: a program needs a few servers, each at its own port
//! nobody's  at half of the ends nobody listens, and at most one in four is somebody's: who wants a service asks where it is, or was
//! strange   a port of logins or of shared files among them, which no program needs that needs the others
//! outside   it reaches one end in ten at most, and is nobody's server
//! ```
//! Must not take for one: a client that cannot reach the few ports that it needs, however often it tries; a monitor or a mesh that reaches most of what it tries;
//! a monitor that is cut off from servers that are there; attempts at even distances (a check's); ends that it did reach, before or behind; a gateway that has lost all its servers.
//! What it tries may be somebody's as well: that one is not told from its other doors.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use rustc_hash::FxHashSet;

use super::checks::every;
use super::listens;
use super::scans::{LOGINS, NO_ANSWER, apart, up};
use crate::facts::Facts;
use crate::name::Name;
use crate::reconstruct::opens::tables::{End, OpenEnd, OpenRow};

/// Fewest port numbers, and fewest ports of one of the hosts.
const PORTS: usize = 8;
const OF_ONE: usize = 3;
/// Ports of shared files (SMB, NetBIOS, RPC); nobody asks for these and for logins on other people's hosts by one program.
const SHARES: [u16; 3] = [135, 139, 445];
const LDAP: [u16; 2] = [389, 636];
/// Part of the ends at which nobody is known to listen, at least; at which somebody is, at most; that it reaches, at most: one in so many.
const NOBODYS: usize = 2;
const SOMEBODYS: usize = 4;
const REACHED: usize = 10;

#[derive(Default)]
struct Tried<'f> {
    failed: Vec<&'f OpenRow>,
    reached: FxHashSet<End>,
}

fn canonical(end: End) -> End {
    (end.0.to_canonical(), end.1)
}

/// Attempts of each, in the order of `opens`.
pub(super) fn doors<'f>(facts: &'f Facts) -> Vec<Vec<&'f OpenRow>> {
    let mut by: BTreeMap<(IpAddr, Name), Tried<'f>> = BTreeMap::new();
    let knock = |r: &&OpenRow| {
        let none = r.end == OpenEnd::Refused || NO_ANSWER.contains(&r.end) && !r.message;
        none && r.connection.is_some() && r.confidence.is_solid()
    };
    for r in facts.opens.iter().filter(knock) {
        if let (Some(from), Some(_)) = (r.from, r.to) {
            by.entry((from.0.to_canonical(), r.task)).or_default().failed.push(r);
        }
    }
    by.retain(|_, tried| many(&tried.failed));
    // What events were lost of may have been reached.
    if by.is_empty() || !facts.gaps.is_empty() {
        return vec![];
    }
    for r in facts.opens.iter().filter(|r| r.end == OpenEnd::Established) {
        let of = r.from.and_then(|from| by.get_mut(&(from.0.to_canonical(), r.task)));
        if let Some((of, to)) = of.zip(r.to) {
            of.reached.insert(canonical(to));
        }
    }
    let mut served: FxHashSet<End> = (facts.opens.iter())
        .filter(|r| r.end == OpenEnd::Established)
        .filter_map(|r| r.to.map(canonical))
        .collect();
    let sources: FxHashSet<IpAddr> = by.keys().map(|(address, _)| *address).collect();
    // Clients of a server are ends that it reaches, too.
    for c in facts.connections.iter().filter(|c| c.bytes_in > 0 || c.bytes_out > 0) {
        let (Some(from), Some(to)) = (c.saddr, c.daddr) else {
            continue;
        };
        let to = canonical((to, c.dport));
        served.insert(to);
        if !sources.contains(&from.to_canonical()) {
            continue;
        }
        for ((address, task), tried) in &mut by {
            // Whose it is is not known of all.
            if *address == from.to_canonical() && (*task == c.task || c.task == Name::default()) {
                tried.reached.insert(to);
            }
        }
    }
    let up = up(facts);
    let opened: FxHashSet<u16> = facts.listens.iter().map(|l| l.at.1).collect();
    let somebodys = |end: &End| {
        let at = SocketAddr::from(*end);
        let closed = || opened.contains(&end.1) && listens::unheard(facts, &at.to_string()).is_some();
        served.contains(end) || facts.spaces.listens(at) || closed()
    };
    let outside = |tried: &Tried<'_>| {
        let all: BTreeSet<End> = tried.failed.iter().filter_map(|r| r.to.map(canonical)).collect();
        let reached = tried.reached.len();
        let refused: BTreeSet<End> = (tried.failed.iter())
            .filter(|r| r.end == OpenEnd::Refused)
            .filter_map(|r| r.to.map(canonical))
            .filter(|to| up.contains(&to.0))
            .collect();
        let theirs: BTreeSet<End> = all.iter().copied().filter(|end| somebodys(end)).collect();
        let nobodys = refused.difference(&theirs).count();
        let mut at: BTreeMap<End, Vec<&OpenRow>> = BTreeMap::new();
        for (to, r) in tried.failed.iter().filter_map(|r| Some((canonical(r.to?), *r))) {
            at.entry(to).or_default().push(r);
        }
        let a_check = at.values().any(|of| every(of).is_some());
        let closed =
            nobodys.saturating_mul(NOBODYS) >= all.len() && theirs.len().saturating_mul(SOMEBODYS) <= all.len();
        let none = reached.saturating_mul(REACHED) <= all.len();
        closed && none && !a_check
    };
    let theirs = |tried: Tried<'f>| -> Vec<&'f OpenRow> {
        let Tried { mut failed, reached } = tried;
        failed.retain(|r| r.to.is_some_and(|to| !reached.contains(&canonical(to))));
        failed
    };
    let strangers = by.into_values().filter(outside);
    strangers.map(theirs).filter(|of| many(of)).collect()
}

/// Whether they are at many ports, such as no program needs together.
fn many(of: &[&OpenRow]) -> bool {
    let mut hosts: BTreeMap<IpAddr, BTreeSet<u16>> = BTreeMap::new();
    for to in of.iter().filter_map(|r| r.to) {
        hosts.entry(to.0.to_canonical()).or_default().insert(to.1);
    }
    let ports: BTreeSet<u16> = hosts.values().flatten().copied().collect();
    // Who asks a directory (Kerberos, LDAP) needs shares and many more ports of its controllers.
    let directory = ports.contains(&88) && LDAP.iter().any(|p| ports.contains(p));
    let shares = !directory && SHARES.iter().any(|p| ports.contains(p));
    let strange = shares || LOGINS.iter().any(|p| ports.contains(p));
    let of_one = hosts.values().map(BTreeSet::len).max().unwrap_or(0);
    ports.len() >= PORTS && of_one >= OF_ONE && strange && apart(ports.iter().copied())
}
