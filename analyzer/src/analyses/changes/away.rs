//! Addresses that were taken from a host and came back while it was recorded, and what may be why: two hosts that have one in turns, a DHCP lease that could not be renewed.
//!
//! ```text
//! host A  given ──── taken ..... given ──────────── taken ..... given ───
//! host B  ─── taken ..... given ──────────── taken ..... given ──────────   in turns: each of both lost it and had it again
//! dhclient   ask ─ ask ─ ask (no answer) ── taken ..... ask, answer ── given   a lease that ran out
//! ```
//! Needs `changes`, `udp_turns`, `drops`, and which network namespace a process is in, where snapshots tell. Why is inferred. Must not take for it: an address of a
//! container that came and went with it; that of Docker's own bridge, which each host has; what was read late, or beside
//! lost notices.

use std::collections::{BTreeMap, BTreeSet};

use crate::analyses::application::Spans;
use crate::analyses::drops::place;
use crate::announced::tables::ChangeRow;
use crate::facts::Facts;
use crate::reconstruct::datagrams::tables::{TurnEnd, TurnRow};

/// Shortest time without it that is told, ns: an address that is set anew is away for less.
const AWAY_NS: i64 = 50_000_000;
/// Times that are kept.
const MOST: usize = 64;
/// Addresses that every host has, or that come and go with a link: of loopback, link-local, of Docker's own bridge.
const OF_LINKS: [&str; 5] = ["127.", "::1/", "fe80:", "169.254.", "172.17.0.1/"];
/// Ports of DHCP servers for IPv4 (RFC 2131) and IPv6 (RFC 8415).
const DHCP: [(bool, u16); 2] = [(true, 67), (false, 547)];
/// Fewest requests without an answer.
const ASKED: usize = 2;
/// Fewest times one behind the other at which another host is without the address: A, B, A.
const TURNS: usize = 3;

/// A host was without one of its addresses.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Spell {
    /// With its prefix length.
    pub address: String,
    /// Network namespace; empty: the recorder's own.
    pub host: String,
    /// From when to when, ns since the start of the recording.
    pub from_ns: i64,
    /// See there.
    pub to_ns: i64,
}

/// An address that several hosts have in turns.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct InTurns {
    /// With its prefix length.
    pub address: String,
    /// Each host, and how often it was without it.
    pub hosts: Vec<(String, u64)>,
    /// Program that gave it, one of all; empty: not known.
    pub program: String,
}

/// Requests for addresses that had no answer before some of these were away.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Lease {
    /// Program that asked.
    pub task: String,
    /// Server, where it is one; empty: not known.
    pub to: String,
    /// Requests without an answer.
    pub unanswered: u64,
    /// Packets that this host dropped meanwhile of those processes, where most were, and where that is: `NETFILTER_DROP at nft_do_chain on rtq`.
    pub dropped: Option<(u64, String)>,
}

/// All of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize)]
pub struct Away {
    /// In order of time; the first of very many.
    pub spells: Vec<Spell>,
    /// So many more.
    pub more: u64,
    /// See there.
    pub in_turns: Option<InTurns>,
    /// See there.
    pub lease: Option<Lease>,
}

impl Away {
    /// Something is known that may be why.
    pub fn has_cause(&self) -> bool {
        self.in_turns.is_some() || self.lease.is_some()
    }
}

/// Of a host, one of its addresses, on a device.
fn key(row: &ChangeRow) -> (u64, &str, &str) {
    let device = row.says.rsplit(' ').next().unwrap_or("");
    (row.netns, row.of.as_str(), device)
}

pub(super) fn away(facts: &Facts) -> Away {
    let start = facts.capture.start_ns.unwrap_or(0);
    let mut taken: BTreeMap<_, i64> = BTreeMap::new();
    let mut all: Vec<(&ChangeRow, i64)> = vec![];
    let own = |r: &&ChangeRow| r.what == "address" && !OF_LINKS.iter().any(|of| r.of.starts_with(of));
    // Beside lost notices one that was given may be another than the one that was taken.
    let whole = facts.announced.lost == 0;
    for row in facts.announced.rows.iter().filter(own).filter(|r| whole && !r.late) {
        if row.took {
            taken.insert(key(row), row.at_ns);
        } else if let Some(from) = taken.remove(&key(row)) {
            let long = row.at_ns.saturating_sub(from) >= AWAY_NS;
            all.extend(long.then_some((row, from)));
        }
    }
    let spell = |(row, from): &(&ChangeRow, i64)| Spell {
        address: row.of.clone(),
        host: row.host.clone(),
        from_ns: from.saturating_sub(start),
        to_ns: row.at_ns.saturating_sub(start),
    };
    Away {
        in_turns: in_turns(&all),
        lease: lease(facts, &all),
        spells: all.iter().take(MOST).map(spell).collect(),
        more: all.len().saturating_sub(MOST) as u64,
    }
}

/// The address that several hosts are without in turns, of the most of them.
fn in_turns(all: &[(&ChangeRow, i64)]) -> Option<InTurns> {
    let mut by: BTreeMap<&str, Vec<&(&ChangeRow, i64)>> = BTreeMap::new();
    for spell in all {
        by.entry(spell.0.of.as_str()).or_default().push(spell);
    }
    let turns = |of: &mut Vec<&(&ChangeRow, i64)>| {
        of.sort_by_key(|(_, from)| *from);
        of.chunk_by(|a, b| a.0.host == b.0.host).count()
    };
    let each = by.into_iter().map(|(address, mut of)| (turns(&mut of), address, of));
    let (_, address, of) = each.max_by_key(|(n, ..)| *n).filter(|(n, ..)| *n >= TURNS)?;
    let mut hosts: BTreeMap<&str, u64> = BTreeMap::new();
    for (row, _) in &of {
        *hosts.entry(row.host.as_str()).or_default() += 1;
    }
    let programs: BTreeSet<&str> = of.iter().map(|(row, _)| row.program.as_deref().unwrap_or("")).collect();
    Some(InTurns {
        address: address.to_owned(),
        hosts: hosts.into_iter().map(|(host, n)| (host.to_owned(), n)).collect(),
        program: only(programs).unwrap_or("").to_owned(),
    })
}

fn only<T>(of: BTreeSet<T>) -> Option<T> {
    let mut of = of.into_iter();
    of.next().filter(|_| of.next().is_none())
}

/// Requests of a process for an address of that family, that had no answer since its last one until the address was away.
fn asked<'a>(facts: &'a Facts, row: &ChangeRow, from: i64) -> Vec<&'a TurnRow> {
    let of_family = |t: &&TurnRow| {
        let to = t.to.map(|to| (to.ip().to_canonical().is_ipv4(), to.port()));
        to.is_some_and(|to| to.0 != row.of.contains(':') && DHCP.contains(&to))
    };
    let there = |t: &&TurnRow| {
        let space = facts.spaces.of_process(facts.process(t.pid));
        space.is_none_or(|netns| netns == row.netns)
    };
    let before = |t: &&TurnRow| t.start_ns < from;
    let mut by: BTreeMap<i32, Vec<&TurnRow>> = BTreeMap::new();
    for turn in facts.udp_turns.iter().filter(before).filter(of_family).filter(there) {
        by.entry(turn.pid).or_default().push(turn);
    }
    let in_vain = |t: &&TurnRow| !t.has_answer() && (t.end == TurnEnd::AskedAgain || t.gave_up);
    let since = |mut of: Vec<&'a TurnRow>| {
        of.sort_by_key(|t| t.start_ns);
        let last = of.iter().rposition(|t| t.has_answer()).map_or(0, |at| at + 1);
        of.split_off(last).into_iter().filter(in_vain).collect::<Vec<_>>()
    };
    by.into_values().flat_map(since).collect()
}

/// Who asked for addresses and had no answer while they were still there.
fn lease(facts: &Facts, all: &[(&ChangeRow, i64)]) -> Option<Lease> {
    let mut seen = BTreeSet::new();
    let mut by: BTreeMap<String, Vec<&TurnRow>> = BTreeMap::new();
    for (row, from) in all.iter().take(MOST) {
        for turn in asked(facts, row, *from) {
            if seen.insert((turn.pid, turn.start_ns)) {
                by.entry(turn.task.text().into_owned()).or_default().push(turn);
            }
        }
    }
    let (task, turns) = by.into_iter().max_by_key(|(_, of)| of.len())?;
    if turns.len() < ASKED {
        return None;
    }
    let servers: BTreeSet<_> = turns.iter().filter_map(|t| t.to).collect();
    let mut meanwhile: BTreeMap<i32, Vec<(i64, i64)>> = BTreeMap::new();
    for t in &turns {
        let end = t.end_ns.max(t.sent_ns).saturating_add(1);
        meanwhile.entry(t.pid).or_default().push((t.start_ns, end));
    }
    let meanwhile: BTreeMap<i32, Spans> = meanwhile.into_iter().map(|(pid, of)| (pid, Spans::of(of))).collect();
    let meanwhile = |pid: i32, ns: i64| {
        meanwhile
            .get(&pid)
            .is_some_and(|of| of.within(ns, ns.saturating_add(1)) > 0)
    };
    let mut places: BTreeMap<String, u64> = BTreeMap::new();
    for d in facts.drops.iter().filter(|d| d.is_loss()) {
        if d.owner.as_ref().is_some_and(|o| meanwhile(o.pid, d.time_ns)) {
            *places.entry(place(facts, d)).or_default() += 1;
        }
    }
    let most = places.into_iter().max_by_key(|(_, n)| *n);
    Some(Lease {
        task,
        to: only(servers).map_or_else(String::new, |one| one.to_string()),
        unanswered: turns.len() as u64,
        dropped: most.map(|(place, n)| (n, place)),
    })
}
