//! What this host answered to packets that it dropped, and whether packets whose TTL had run out went round in a loop.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::facts::{Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::datagrams::tables::{Awaited, TurnEnd};
use crate::reconstruct::drops::ran_out;
use crate::reconstruct::drops::tables::{DropRow, icmp_words};
use crate::reconstruct::skb::tables::{BirthKind, SkbClass};
use crate::reconstruct::whose::Carries;

/// What packets get whose sender asks for nothing else.
const DEFAULT_TTL: &str = "net.ipv4.ip_default_ttl";
/// ICMP type of a redirect.
const REDIRECT: i32 = 5;

/// Arrivals at devices of one name that are a loop. Twice may be two devices: each namespace may have its `eth0`.
const LOOP: u64 = 3;

/// ICMP messages of one kind that a group's packets were answered with.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Answered {
    /// What they say.
    pub says: &'static str,
    /// How many.
    pub count: u64,
}

/// Messages made for these, most first.
pub(super) fn answered(rows: &[&DropRow]) -> Vec<Answered> {
    let mut by: BTreeMap<&str, u64> = BTreeMap::new();
    // A redirect comes with a packet that is passed on.
    for says in rows.iter().filter_map(|r| r.icmp).filter(|(kind, _)| *kind != REDIRECT) {
        *by.entry(icmp_words(says)).or_default() += 1;
    }
    let mut all: Vec<Answered> = by.into_iter().map(|(says, count)| Answered { says, count }).collect();
    all.sort_by_key(|a| std::cmp::Reverse(a.count));
    all
}

/// Packets on whose way a router told their sender by ICMP to send them by another one from then on.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Redirected {
    /// How many of the dropped ones.
    pub count: u64,
    /// When the first was, ns since the start of the recording.
    pub first_ns: i64,
    /// Dropped ones behind it.
    pub behind: u64,
}

/// Of a group's packets.
pub(super) fn redirected(facts: &Facts, rows: &[&DropRow]) -> Option<Redirected> {
    let told = || rows.iter().filter(|r| r.icmp.is_some_and(|(kind, _)| kind == REDIRECT));
    let first_ns = told().map(|r| r.time_ns).min()?;
    Some(Redirected {
        count: told().count() as u64,
        first_ns: first_ns.saturating_sub(facts.capture.start_ns.unwrap_or(0)),
        behind: rows.iter().filter(|r| r.time_ns > first_ns).count() as u64,
    })
}

/// How often packets whose TTL had run out came by.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Passes {
    /// Packets that went round: they came to the same device three times or more.
    pub looped: u64,
    /// How often the one that passed most had left the device, before it was dropped.
    pub most: u64,
    /// That device.
    pub dev: String,
    /// None of them came to a device of this recording twice, and the way of all is known.
    pub once: bool,
    /// Somebody missed one: it was TCP's, or its thread waited for an answer in vain.
    pub missed: bool,
    /// The TTL with which they left their sender, where that is in the recording and all had the same: one for each router that they came to. Inferred.
    pub ttl: Option<u64>,
    /// `net.ipv4.ip_default_ttl = 3`, of a namespace that gives its packets this one.
    pub set_by: Option<String>,
}

/// Of packets whose TTL had run out; `None`: it had not.
pub(super) fn passes(facts: &Facts, rows: &[&DropRow]) -> Option<Passes> {
    if !rows.first().is_some_and(|r| ran_out(r.why)) {
        return None;
    }
    // Arrivals at, and departures from, each device.
    let mut seen: FxHashMap<SkbId, BTreeMap<Name, (u64, u64)>> = rows
        .iter()
        .filter_map(|r| Some((r.skb_id?, BTreeMap::default())))
        .collect();
    for hop in &facts.hops {
        let Some(devs) = seen.get_mut(&hop.skb_id) else {
            continue;
        };
        let of = devs.entry(hop.dev).or_insert((0, 0));
        match hop.kind {
            "rx" => of.0 += 1,
            "xmit" => of.1 += 1,
            _ => {}
        }
    }
    let came = |devs: &BTreeMap<Name, (u64, u64)>| devs.values().map(|n| n.0).max().unwrap_or(0);
    let ttl = ttl(facts, &seen).filter(|_| seen.len() == rows.len());
    let looped = seen.values().filter(|devs| came(devs) >= LOOP);
    // Of the devices by which it went round, the one where it ended: it came there once more than it left.
    let ended = rows.first().map_or(Name::default(), |r| r.dev);
    let most = looped.clone().filter_map(|devs| devs.get(&ended)).map(|n| n.1).max();
    let vain = Vain::of(facts);
    let missed = |r: &&DropRow| match r.owner.map(|o| (o.carries, o.pid)) {
        Some((Carries::Datagram, pid)) => vain.at(pid, r.time_ns),
        Some((Carries::Sent | Carries::Fin, _)) => false,
        Some((Carries::Data | Carries::Syn | Carries::SynData | Carries::Received | Carries::TooBig, _)) => true,
        None => false,
    };
    Some(Passes {
        looped: looped.count() as u64,
        most: most.unwrap_or(0),
        dev: ended.text().into_owned(),
        once: seen.len() == rows.len() && seen.values().all(|devs| came(devs) == 1),
        missed: rows.iter().any(missed),
        ttl,
        set_by: ttl.and_then(|ttl| set_by(facts, ttl)),
    })
}

/// A router takes one off; a bridge's port takes none.
fn ttl(facts: &Facts, seen: &FxHashMap<SkbId, BTreeMap<Name, (u64, u64)>>) -> Option<u64> {
    let links = &facts.routes.links;
    let routers = |devs: &BTreeMap<Name, (u64, u64)>| {
        let mut all = 0;
        for (dev, n) in devs.iter().filter(|(_, n)| n.0 > 0) {
            // What comes out of a tunnel has come to its host before.
            if links.is_tunnel(&dev.text())? {
                return None;
            }
            all += if links.is_port(&dev.text())? { 0 } else { n.0 };
        }
        Some(all)
    };
    let here = |s: &SkbId| {
        let row = facts.skbs.get(s.0 as usize)?;
        (row.class != SkbClass::Rx && row.class != SkbClass::Tap && row.birth_kind == BirthKind::Seen).then_some(())
    };
    let mut all = seen.iter().map(|(s, devs)| here(s).and_then(|()| routers(devs)));
    let first = all.next()??;
    all.all(|n| n == Some(first)).then_some(first)
}

/// The setting that gives packets this TTL, where one does.
fn set_by(facts: &Facts, ttl: u64) -> Option<String> {
    let all = facts.settings.0.iter().filter(|(k, _)| k.starts_with(DEFAULT_TTL));
    let mut of = all.filter(|(_, v)| v.split(" | ").any(|v| v.trim() == ttl.to_string()));
    of.next().map(|(k, _)| format!("{k} = {ttl}"))
}

/// Turns by UDP in vain by thread, by their begin, each with the latest end of it and those before.
pub(super) struct Vain(FxHashMap<i32, Vec<(i64, i64)>>);

impl Vain {
    pub(super) fn of(facts: &Facts) -> Vain {
        let mut vain: FxHashMap<i32, Vec<(i64, i64)>> = FxHashMap::default();
        let turns = facts.udp_turns.iter();
        for t in turns.filter(|t| t.end != TurnEnd::Answered && t.awaited != Awaited::No) {
            vain.entry(t.pid).or_default().push((t.start_ns, t.end_ns));
        }
        for of in vain.values_mut() {
            of.sort_unstable();
            let mut last = i64::MIN;
            for turn in of {
                last = last.max(turn.1);
                turn.1 = last;
            }
        }
        Vain(vain)
    }

    /// Whether one was under way.
    pub(super) fn at(&self, pid: i32, ns: i64) -> bool {
        self.0.get(&pid).is_some_and(|of| {
            let before = of.partition_point(|t| t.0 <= ns).checked_sub(1);
            before.and_then(|n| of.get(n)).is_some_and(|t| t.1 >= ns)
        })
    }
}
