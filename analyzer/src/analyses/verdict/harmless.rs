//! Which packets that this host dropped nobody is known to miss, by what each group of them is.

use super::Tone;
use crate::analyses::drops::reasons::{
    NO_PORT, NO_ROUTE, NO_ROUTE_IN, OTHERHOST, QUEUE_FULL, RULES, SOCKET_FULL, STP, UNRESOLVED,
};
use crate::analyses::drops::{Arp, Drops, Group, Lost, REFUSED, Steady};
use crate::reconstruct::drops::in_words;
use crate::reconstruct::xmits::NOQUEUE;

/// So many packets without a route, or of nobody known, are nothing that is wrong by itself.
pub(super) const FEW: u64 = 2;
/// So many of a queue that is full.
const NOW_AND_THEN: u64 = 5;
/// So many without data that a queue of which nothing is known refused.
const OF_ONE_GONE: u64 = 20;
/// Packets whose neighbour did not answer: so many are more than somebody's try.
const MANY: u64 = 100;
/// One in so many that came to a full socket is much.
const PART: u64 = 10;
/// Beginnings of what is said of a drop by a rule that is nothing else.
const BY_RULE: [&str; 2] = ["an nftables rule or policy", "a netfilter hook"];

/// Nobody is known to miss them: no data of connections, and of all whose they were is known, but one or two, that nobody waited for them.
fn nobodys(g: &Group) -> bool {
    let data = g.of.iter().any(|o| o.carries == "data");
    !data && g.owned.saturating_sub(g.aside) <= FEW && whole(g)
}

/// A TTL that ran out on no loop, of what nobody is known to have missed, as a probe of routes is made; addresses that nobody has, where no
/// connection's data waited for them.
fn asked_for(g: &Group) -> bool {
    let probe = g.passes.as_ref().is_some_and(|p| p.looped == 0 && !p.missed);
    probe || g.reason == UNRESOLVED && nobodys(g) && g.count.saturating_sub(g.aside) < MANY
}

/// Of transfers that were under way all along, and of nobody else who is known to miss them.
fn all_along(g: &Group) -> bool {
    let others = |s: &Steady| g.owned.saturating_sub(g.aside).saturating_sub(s.count);
    g.steady.as_ref().is_some_and(|s| others(s) <= FEW) && !says_why(g) && whole(g)
}

/// Of attempts that nobody is known to have waited for, to ends that nobody reached, or of scans; datagrams that asked for nothing.
fn beside_work(g: &Group) -> bool {
    g.aside > 0 && nobodys(g) && g.count.saturating_sub(g.aside) <= FEW
}

/// No route, for IPv6 packets of nobody known, as where a host has an address of it and no way; no other port of a bridge, likewise; or for one or two without data, flooded ones among these.
fn no_way(g: &Group) -> bool {
    let data = g.of.iter().any(|o| o.carries == "data");
    let reason = |of: &[&str]| of.contains(&g.reason.as_str());
    let no_port = reason(&[NO_PORT]) && g.location.starts_with("br_");
    let none = (no_port || reason(&[NO_ROUTE, NO_ROUTE_IN, OTHERHOST])) && !data && whole(g);
    let nobodys = g.location.starts_with("ip6_") || no_port;
    none && (g.count <= FEW || nobodys && g.owned == g.aside && g.count < MANY)
}

/// At a port of a bridge that does not forward yet, as a new one of a spanning tree: wrong where somebody is known to have waited for it,
/// and not known where IPv4 packets of nobody known are among them, such as requests for a lease.
fn new_port(g: &Group) -> bool {
    g.reason == STP && g.owned == g.aside && g.ipv4 == 0 && g.count < MANY && !says_why(g) && whole(g)
}

/// One or two datagrams, each of which was answered by an ICMP message.
fn answered_at_once(g: &Group) -> bool {
    let told: u64 = g.answered.iter().map(|a| a.count).sum();
    let datagrams: u64 = g.of.iter().filter(|o| o.carries == "datagram").map(|o| o.count).sum();
    g.count <= FEW && told == g.count && datagrams == g.count
}

/// Refused by a route of this host that is meant to refuse, and nothing tells whose they were.
fn refused_strangers(g: &Group) -> bool {
    let by_route = in_words(&g.reason, &g.location, g.why).starts_with(REFUSED);
    by_route && g.owned == 0 && g.of.is_empty() && g.count < MANY && whole(g)
}

/// Dropped by a rule, and nothing tells whose, nor what for.
pub(super) fn strangers(g: &Group) -> bool {
    let by_rule = BY_RULE.iter().any(|words| g.why.starts_with(words));
    g.reason == RULES && by_rule && g.owned == 0 && g.of.is_empty() && !says_why(g) && whole(g)
}

/// Something is known of why they were dropped, or by which way they came.
fn says_why(g: &Group) -> bool {
    let cause =
        silenced(g) || g.full.is_some() || g.membership.is_some() || g.inside.is_some() || g.meanwhile.is_some();
    cause || g.forgotten.is_some() || g.redirected.is_some() || g.came_back.is_some() || g.cut.is_some()
}

/// All are ARP, and all that ask meanwhile are sockets that nobody has.
fn of_the_left_behind(g: &Group) -> bool {
    let alone = |a: &Arp| a.left_behind > 0 && a.frames == g.count && a.silent.is_none() && a.nobody == 0;
    g.arp.as_ref().is_some_and(alone) && whole(g)
}

/// Most are ARP, and somebody was not resolved meanwhile.
pub(super) fn silenced(g: &Group) -> bool {
    let silent = g.arp.as_ref().filter(|a| a.silent.is_some());
    silent.is_some_and(|a| a.frames.saturating_mul(2) >= g.count)
}

/// A few that a queue had no room for, as any queue has now and then.
fn queued(g: &Group) -> bool {
    let syns = g.of.iter().any(|l| l.carries == "syn");
    let down = g.qdisc.as_deref() == Some(NOQUEUE);
    g.reason == QUEUE_FULL && !syns && !down && g.full.is_none() && whole(g)
}

/// A host that is gone sends a few more by a device that is down, of which nothing tells whose they are.
fn gone(g: &Group) -> bool {
    let down = g.reason == QUEUE_FULL && g.qdisc.as_deref() == Some(NOQUEUE);
    // Of devices of one name it is not known which.
    let unknown = g.reason == QUEUE_FULL && g.qdisc.is_none() && g.several;
    (down || unknown) && g.owned == 0 && g.of.is_empty() && g.count < OF_ONE_GONE && !says_why(g) && whole(g)
}

/// A few ends of connections, without data, for a host that is no longer there.
fn ends(g: &Group) -> bool {
    let fins: u64 = g.of.iter().filter(|o| o.carries == "fin").map(|o| o.count).sum();
    g.reason == OTHERHOST && fins == g.count && g.count < OF_ONE_GONE && g.meanwhile.is_none() && whole(g)
}

/// No event was lost: there are no more of them (`analyses::drops` has no times else).
fn whole(g: &Group) -> bool {
    !g.times.is_empty()
}

/// Of threads that send on and wait for no answer, which a full socket refused: what reads it lacks them, and nobody waits. Not where it lacks a tenth and more.
fn sent_one_way(g: &Group) -> bool {
    let much = |o: &Lost| o.count >= MANY && o.came.is_some_and(|came| o.count.saturating_mul(PART) >= came);
    let one_way = g.reason == SOCKET_FULL && g.one_way > 0 && g.count.saturating_sub(g.one_way) <= FEW;
    one_way && whole(g) && !g.of.iter().any(much)
}

/// Nobody waits for them, but who reads that socket lacks them: said before what else is worth a look.
pub(super) fn lacked(d: &Drops, tone: Tone) -> bool {
    let of: u64 = d.groups.iter().filter(|g| sent_one_way(g)).map(|g| g.count).sum();
    tone == Tone::Notice && of.saturating_mul(2) >= d.lost && of > 0
}

/// Of the groups that were lost, what is or may be missed, each group by itself: where a part of one is noise, the others of it. Those that stand behind the first ones have no times, and are not known to be harmless.
pub(super) fn missed(d: &Drops) -> Vec<&Group> {
    let noise = noise(d);
    let whole = d.lost_groups().filter(|g| !noise(g));
    let parts = whole.map(|g| g.missed.as_deref().unwrap_or(g));
    let missed: Vec<&Group> = parts.filter(|g| !noise(g)).collect();
    // One or two by themselves are nothing, but belong to what else may be missed.
    let few = few(d);
    match missed.iter().all(|g| few(g)) {
        true => vec![],
        false => missed,
    }
}

/// The rest, with the number of each that is noise.
pub(super) fn unmissed(d: &Drops) -> Vec<Group> {
    let noise = noise(d);
    let rest = |g: &Group| {
        let missed = match g.missed.as_deref() {
            _ if noise(g) => 0,
            Some(part) if noise(part) => 0,
            Some(part) => part.count,
            None => g.count,
        };
        g.count.saturating_sub(missed)
    };
    let given_up = |g: &Group| {
        let missed = g.missed.as_deref().filter(|part| !noise(g) && !noise(part));
        g.given_up
            .saturating_sub(missed.map_or(0, |part| part.given_up))
            .min(rest(g))
    };
    // Without what is long: their number, place and device are told.
    let of = d.lost_groups().map(|g| Group {
        count: rest(g),
        given_up: given_up(g),
        reason: g.reason.clone(),
        reason_inferred: g.reason_inferred,
        location: g.location.clone(),
        dev: g.dev.clone(),
        expected: g.expected,
        why: g.why,
        qdisc: g.qdisc.clone(),
        full: g.full.clone(),
        ..Group::default()
    });
    of.filter(|g| g.count > 0).collect()
}

/// Whether a group of these is no more than a few that every host loses.
fn few(d: &Drops) -> impl Fn(&Group) -> bool {
    let answered: u64 = d.lost_groups().filter(|g| answered_at_once(g)).map(|g| g.count).sum();
    let full: u64 = d.lost_groups().filter(|g| queued(g)).map(|g| g.count).sum();
    move |g| full <= NOW_AND_THEN && queued(g) || answered <= FEW && answered_at_once(g)
}

/// Whether nobody is known to miss a group of these.
fn noise(d: &Drops) -> impl Fn(&Group) -> bool {
    let by_rule = d.unmissed.is_some();
    // Where somebody waited for one port of a bridge, those of its other ports are of the same kind.
    let ports = d.lost_groups().filter(|g| g.reason == STP).all(new_port);
    move |g| {
        // Behind a port that does not forward it is that neighbour that somebody waited for.
        let asked_for = asked_for(g) && (ports || g.reason != UNRESOLVED);
        let nobodys = asked_for
            || beside_work(g)
            || strangers(g)
            || refused_strangers(g)
            || no_way(g)
            || ports && g.reason == STP;
        let rate = g.finds_rate.is_some() || g.line_full.is_some();
        let theirs = all_along(g)
            || sent_one_way(g)
            || gone(g)
            || ends(g)
            || g.unread && g.count < MANY && g.owned == 0 && whole(g)
            || of_the_left_behind(g);
        nobodys || g.reason == RULES && by_rule && g.cut.is_none() || rate || theirs
    }
}
