//! Addresses that were taken from a host and came back while it was recorded, and what may be why: two hosts that have one in turns, a DHCP lease that could not be renewed.
//!
//! ```text
//! host A  given ──── taken ..... given ──────────── taken ..... given ───
//! host B  ─── taken ..... given ──────────── taken ..... given ──────────   in turns: each of both lost it and had it again
//! dhclient   ask ─ ask ─ ask (no answer) ── taken ..... ask, answer ── given   a lease that ran out
//! ```
//! Needs `changes`, `udp_turns`, `drops`. Why is inferred. Must not take for it: an address of a container that came and went with it.

use std::collections::{BTreeMap, BTreeSet};

use crate::analyses::drops::place;
use crate::announced::tables::ChangeRow;
use crate::facts::Facts;
use crate::reconstruct::datagrams::tables::TurnEnd;

/// Shortest time without it that is told, ns: an address that is set anew is away for less.
const AWAY_NS: i64 = 50_000_000;
/// Times that are kept.
const MOST: usize = 64;
/// Addresses that every host has, or that come and go with a link: of loopback, link-local.
const OF_LINKS: [&str; 4] = ["127.", "::1/", "fe80:", "169.254."];
/// Ports of DHCP servers (RFC 2131, RFC 8415).
const DHCP: [u16; 2] = [67, 547];
/// Fewest requests without an answer.
const ASKED: u64 = 2;

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
    /// Of its datagrams, those that this host dropped where most were, and where that is: `NETFILTER_DROP at nft_do_chain on rtq`.
    pub dropped: Option<(u64, String)>,
}

/// All of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize)]
pub struct Away {
    /// In order of time; the first of very many.
    pub spells: Vec<Spell>,
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

pub(super) fn away(facts: &Facts) -> Away {
    let start = facts.capture.start_ns.unwrap_or(0);
    let mut taken: BTreeMap<(u64, &str), i64> = BTreeMap::new();
    let mut spells: Vec<(&ChangeRow, i64)> = vec![];
    let own = |r: &&ChangeRow| r.what == "address" && !OF_LINKS.iter().any(|of| r.of.starts_with(of));
    for row in facts.announced.rows.iter().filter(own) {
        let key = (row.netns, row.of.as_str());
        match row.took {
            true => {
                taken.insert(key, row.at_ns);
            }
            false => {
                let from = taken.remove(&key);
                let long = from.filter(|from| row.at_ns.saturating_sub(*from) >= AWAY_NS);
                spells.extend(long.map(|from| (row, from)));
            }
        }
    }
    spells.truncate(MOST);
    let lease = lease(facts, &spells);
    Away {
        in_turns: in_turns(&spells),
        lease,
        spells: (spells.iter())
            .map(|(row, from)| Spell {
                address: row.of.clone(),
                host: row.host.clone(),
                from_ns: from.saturating_sub(start),
                to_ns: row.at_ns.saturating_sub(start),
            })
            .collect(),
    }
}

/// The address that most hosts were without for a time.
fn in_turns(spells: &[(&ChangeRow, i64)]) -> Option<InTurns> {
    let mut by: BTreeMap<&str, BTreeMap<&str, u64>> = BTreeMap::new();
    for (row, _) in spells {
        let of = by.entry(row.of.as_str()).or_default();
        *of.entry(row.host.as_str()).or_default() += 1;
    }
    let (address, hosts) = by.into_iter().max_by_key(|(_, hosts)| hosts.len())?;
    if hosts.len() < 2 {
        return None;
    }
    let programs: BTreeSet<&str> = (spells.iter())
        .filter(|(row, _)| row.of == address)
        .map(|(row, _)| row.program.as_deref().unwrap_or(""))
        .collect();
    Some(InTurns {
        address: address.to_owned(),
        hosts: hosts.into_iter().map(|(host, n)| (host.to_owned(), n)).collect(),
        program: match programs.into_iter().collect::<Vec<_>>().as_slice() {
            [one] => (*one).to_owned(),
            _ => String::new(),
        },
    })
}

/// Who asked for addresses and had no answer while they were still there.
fn lease(facts: &Facts, spells: &[(&ChangeRow, i64)]) -> Option<Lease> {
    let last = spells.iter().map(|(_, from)| *from).max()?;
    let unanswered = |end: TurnEnd| matches!(end, TurnEnd::AskedAgain | TurnEnd::OtherThread | TurnEnd::Closed);
    let asked = facts.udp_turns.iter().filter(|t| {
        let dhcp = t.to.is_some_and(|to| DHCP.contains(&to.port()));
        dhcp && unanswered(t.end) && t.start_ns < last
    });
    let mut by: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for turn in asked {
        by.entry(turn.task.text().into_owned()).or_default().push(turn);
    }
    let (task, turns) = by.into_iter().max_by_key(|(_, of)| of.len())?;
    if (turns.len() as u64) < ASKED {
        return None;
    }
    let servers: BTreeSet<_> = turns.iter().filter_map(|t| t.to).collect();
    let pids: BTreeSet<i32> = turns.iter().map(|t| t.pid).collect();
    let mut places: BTreeMap<String, u64> = BTreeMap::new();
    for d in facts.drops.iter().filter(|d| d.is_loss() && d.time_ns < last) {
        if d.owner.as_ref().is_some_and(|o| pids.contains(&o.pid)) {
            *places.entry(place(facts, d)).or_default() += 1;
        }
    }
    let most = places.into_iter().max_by_key(|(_, n)| *n);
    Some(Lease {
        task,
        to: match servers.into_iter().collect::<Vec<_>>().as_slice() {
            [one] => one.to_string(),
            _ => String::new(),
        },
        unanswered: turns.len() as u64,
        dropped: most.map(|(place, n)| (n, place)),
    })
}
