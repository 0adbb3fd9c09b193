//! What is known of the first groups of lost packets of programs: whose they were, when they were dropped, what this host answered, what was behind it.
//!
//! Where a part of a group is what nobody is known to miss ([`super::aside`]), the others are described by themselves too: what is said of all of them would be said of noise.

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;

use super::aside::Asides;
use super::group::Group;
use super::reasons;
use super::{
    NOBODY, OWNED, REFUSED, answered, arp, bridged, by_counter, came_back, covered, cut, damaged, ends, finds_rate,
    flood, forgotten, full, given_up, incast, inside, line_full, meanwhile, membership, next_link, places, receiver,
    repairs, rerouted, same_mac, sizes, steady, text, unmapped, unresolved, untranslated, whose,
};
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::ETH_P_IP;
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::drops::{CHECKSUM, in_words};
use crate::reconstruct::whose::{Carries, Whose};

/// The others are told apart where what nobody misses is at least one in so many.
const PART: u64 = 10;

/// The route that refused them, where the destinations of their connections have one and no other, and the namespace that has it, where it is one.
fn refused_by(facts: &Facts, group: &Group, rows: &[&DropRow]) -> Option<(String, Option<u64>)> {
    let refuses = in_words(&group.reason, &group.location, group.why).starts_with(REFUSED);
    let of = rows
        .iter()
        .filter(|_| refuses)
        .filter_map(|d| d.owner.as_ref()?.connection);
    let connections: BTreeSet<ConnectionId> = of.collect();
    let to = connections
        .iter()
        .filter_map(|c| facts.connections.get(c.0 as usize)?.daddr);
    let routes: BTreeSet<(String, u64)> = to
        .flat_map(|a| facts.routes.refusing(a))
        .filter_map(|r| Some((r.refuses()?, r.netns)))
        .collect();
    let (route, netns) = routes.first()?;
    let one = routes.iter().all(|r| r.0 == *route);
    one.then(|| (route.clone(), Some(*netns).filter(|_| routes.len() == 1)))
}

/// No program read a packet of a tap or TUN device.
fn unread(facts: &Facts, dev: &str) -> bool {
    let mut of = facts.by_program.iter().filter(|p| p.dev.text() == dev);
    // Reads are told by the frees of what was read.
    let told = facts.gaps.is_empty() && facts.capture.recorded("skb:consume_skb");
    told && !dev.is_empty() && of.all(|p| p.took.packets == 0)
}

/// What is looked up once for all groups.
struct Described<'f> {
    facts: &'f Facts,
    whose: Option<Whose<'f>>,
    aside: Option<Asides>,
    passed: Option<cut::Passed>,
}

/// Of the first groups.
pub(super) fn described(facts: &Facts, groups: &mut [Group]) {
    let mut of = Described {
        facts,
        whose: None,
        aside: None,
        passed: None,
    };
    let lost = |g: &&mut Group| g.expected == Some(false) && !g.background;
    for group in groups.iter_mut().filter(lost).take(OWNED) {
        let is_of = |d: &DropRow| {
            (d.expected, d.background, d.why) == (group.expected, group.background, group.why)
                && text(facts.names.drop_reason(d.reason)) == group.reason
                && text(facts.names.location(d.location)) == group.location
                && d.dev.text() == group.dev
        };
        let all = (0u64..).zip(&facts.drops).filter(|(_, d)| is_of(d));
        let all: Vec<(u64, &DropRow)> = all.collect();
        let bare = group.clone();
        of.describe(group, all.iter().map(|(_, d)| *d).collect());
        group.missed = of.missed(bare, group, &all);
    }
}

impl Described<'_> {
    /// Nobody is known to miss it, of a group with this reason.
    fn nobodys(&self, group: &Group) -> Option<fn(&Asides, &DropRow) -> bool> {
        // What is refused because nobody is there; not what a queue or a socket had no room for.
        let nobody = NOBODY.contains(&group.reason.as_str())
            || in_words(&group.reason, &group.location, group.why).starts_with(REFUSED);
        match group.reason == reasons::SOCKET_FULL {
            // Who sends on and waits for no answer misses none that a socket had no room for.
            true => Some(Asides::asks_nothing),
            false => nobody.then_some(Asides::is as fn(&Asides, &DropRow) -> bool),
        }
    }

    /// The group without what nobody is known to miss, where that is a part of it.
    fn missed(&mut self, bare: Group, group: &Group, all: &[(u64, &DropRow)]) -> Option<Box<Group>> {
        let noise = group.aside.max(group.one_way);
        if noise.saturating_mul(PART) < group.count || noise == group.count {
            return None;
        }
        let of = self.nobodys(group)?;
        let aside = self.aside.as_ref()?;
        let facts = self.facts;
        let to = |d: &DropRow| {
            let row = facts.connections.get(d.owner?.connection?.0 as usize)?;
            Some((row.daddr?, row.dport))
        };
        // What goes where somebody else's is missed is no noise.
        let near: FxHashSet<_> = (all.iter().filter(|(_, d)| !of(aside, d)))
            .filter_map(|(_, d)| to(d))
            .collect();
        let noise = |d: &DropRow| of(aside, d) && to(d).is_none_or(|to| !near.contains(&to));
        let others: Vec<&(u64, &DropRow)> = all.iter().filter(|(_, d)| !noise(d)).collect();
        if others.len() == all.len() {
            return None;
        }
        let (first, last) = (others.first()?, others.last()?);
        let mut missed = Group {
            first_drop: first.0,
            count: others.len() as u64,
            first_ns: first.1.time_ns,
            last_ns: last.1.time_ns,
            ..bare
        };
        self.describe(&mut missed, others.into_iter().map(|(_, d)| *d).collect());
        // These are told by the reason's rows, whatever part of them it is.
        (missed.sizes, missed.flood, missed.by_counter) = (None, None, None);
        Some(Box::new(missed))
    }

    fn describe(&mut self, group: &mut Group, rows: Vec<&DropRow>) {
        let facts = self.facts;
        let start = facts.capture.start_ns.unwrap_or(0);
        // Where events were lost what is missing makes bursts of its own.
        let told = rows.iter().filter(|_| facts.gaps.is_empty());
        group.times = told.map(|r| r.time_ns.saturating_sub(start)).collect();
        group.ipv4 = rows.iter().filter(|r| r.protocol == ETH_P_IP).count() as u64;
        group.ends = ends::ends(&rows);
        group.answered = answered::answered(&rows);
        group.redirected = answered::redirected(facts, &rows);
        group.repairs = repairs::repairs(&rows);
        group.flood = flood::flood(facts, &group.reason, &group.dev);
        group.passes = answered::passes(facts, &rows);
        let refused = refused_by(facts, group, &rows);
        group.refused_in = refused.as_ref().and_then(|r| r.1);
        group.refused_by = refused.map(|r| r.0);
        group.full = full::full(facts, group, &rows);
        let no_router = meanwhile::no_router(facts, &rows);
        group.meanwhile = no_router.as_ref().map(|(says, _)| says.clone());
        group.no_router = no_router.map(|(_, change)| change);
        if group.meanwhile.is_none() {
            group.meanwhile = meanwhile::meanwhile(facts, group, &rows);
        }
        if group.meanwhile.is_none() {
            group.meanwhile = rerouted::rerouted(facts, &rows).map(|r| r.words());
            group.rerouted = group.meanwhile.is_some();
        }
        if group.meanwhile.is_none() {
            group.meanwhile = covered::covered(facts, group);
            group.covered = group.meanwhile.is_some();
        }
        group.several = facts.routes.links.several(&group.dev);
        group.host = places::host(facts, &group.dev, &rows);
        group.forgotten = forgotten::forgotten(facts, group, &rows);
        group.sizes = sizes::sizes(facts, group);
        let by_rule = group.reason == reasons::RULES;
        group.membership = membership::membership(facts, &rows).filter(|_| by_rule);
        if by_rule {
            group.bridged = bridged::bridged(facts, &group.dev, &rows);
            let passed = self.passed.get_or_insert_with(|| cut::Passed::of(facts));
            group.cut = cut::cut(facts, passed, &rows);
        }
        group.unread = group.reason == reasons::RING_FULL
            && group.location.starts_with("tun_")
            && !group.several
            && unread(facts, &group.dev);
        group.arp = arp::arp(facts, &rows);
        group.steady = steady::steady(facts, group, &rows);
        group.same_mac = same_mac::same_mac(facts, &rows).filter(|_| group.reason == same_mac::NOT_MINE);
        group.finds_rate = finds_rate::finds_rate(facts, group, &rows);
        group.line_full = line_full::line_full(facts, group, &rows).filter(|_| group.finds_rate.is_none());
        group.incast = incast::incast(facts, group, &rows);
        group.damaged = (group.why == CHECKSUM)
            .then(|| damaged::damaged(facts, group.why))
            .flatten();
        group.came_back = came_back::came_back(facts, &group.reason, &rows);
        group.untranslated = untranslated::untranslated(facts, &group.reason, &rows)
            .or_else(|| unmapped::unmapped(facts, &group.reason, &rows));
        group.by_counter = by_counter::by_counter(facts, group);
        group.inside = inside::inside(facts, &rows);
        group.unresolved = unresolved::unresolved(facts, &group.reason, &rows);
        group.receiver = receiver::receiver(facts, &rows);
        group.given_up = given_up::given_up(facts, &rows);
        if let Some(nobodys) = self.nobodys(group) {
            let aside = self.aside.get_or_insert_with(|| Asides::of(facts));
            let n = rows.iter().filter(|r| nobodys(aside, r)).count() as u64;
            if group.reason == reasons::UNRESOLVED {
                group.checks = aside.checks(&rows);
            }
            if group.reason == reasons::SOCKET_FULL {
                group.one_way = n;
            } else {
                group.aside = n;
            }
        }
        let theirs = rows
            .iter()
            .filter_map(|r| r.owner)
            .filter(|o| o.carries != Carries::Fin);
        group.of_connections = theirs.filter(|o| o.connection.is_some()).count() as u64;
        let rows: Vec<&DropRow> = rows.into_iter().filter(|r| r.owner.is_some()).collect();
        group.owned = rows.len() as u64;
        if !rows.is_empty() {
            let whose = self.whose.get_or_insert_with(|| Whose::of(facts.into()));
            group.next_link = next_link::next_link(facts, whose, &group.reason, &rows);
            group.of = whose::lost(facts, whose, &rows);
        }
    }
}
