//! The verdict's line on packets that this host dropped.

use std::collections::BTreeMap;

use super::dropped::{group, on, place};
use super::harmless::{FEW, missed, silenced, strangers, unmissed};
use super::sentences::{capital, counted};
use super::spells::{TOGETHER, merged, spells};
use super::whose::whose;
use super::{SENDER_NOTICE_NS, Tone, untold, ways};
use crate::analyses::drops::reasons::{NO_ROUTE, QUEUE_FULL, RULES, SOCKET_FULL};
use crate::analyses::drops::{Drops, Group, OWNED};
use crate::analyses::transmit::Transmit;
use crate::reconstruct::drops::{OBEYED, in_words};

/// A group that is less than this part of all drops: one in so many.
const SMALL: u64 = 10;
/// Groups of drops named one by one.
const NAMED: usize = 3;

/// A group that is a routing loop and nothing else.
fn routing_loop(g: &Group) -> Option<String> {
    let p = g.passes.as_ref().filter(|p| p.looped == g.count)?;
    let theirs = whose(g).map_or_else(String::new, |w| format!(" ({w})"));
    let told: u64 = g.answered.iter().map(|a| a.count).sum();
    let told = match told {
        0 => String::new(),
        n if n == g.count => ", their senders were told by ICMP".to_owned(),
        n => format!(", the senders of {n} were told by ICMP"),
    };
    Some(format!(
        "a routing loop: {}{theirs} passed {} up to {} times before their TTL ran out (dropped for {}){told}",
        counted(g.count, "packet", "packets"),
        p.dev,
        p.most,
        place(g)
    ))
}

/// What packets waited in a queue in all is far more than what its drops cost from so many times on.
const FAR_MORE: i64 = 10;

/// One or two packets that a full queue refused do not stand before the wait in it that cost far more: what was sent again
/// waited for that less than a tenth of the time that packets lay in that queue in all.
pub(super) fn beside_the_queues((tone, s): (Tone, String), d: &Drops, t: Option<&Transmit>) -> (Tone, String) {
    let lost = || d.lost_groups();
    let repair = |t: &Transmit| t.recovery.values().fold(0i64, |all, r| all.saturating_add(r.sum_ns));
    // Of two queues of one name it is not known which dropped.
    let waited = |g: &Group, t: &Transmit| {
        let mut of = t.queues.iter().filter(|q| q.dev == g.dev);
        let one = of.next().filter(|_| of.next().is_none());
        one.filter(|q| q.wait.p99_ns >= Some(SENDER_NOTICE_NS))
            .map_or(0, |q| q.wait.sum_ns)
    };
    // Only TCP sends again what was lost: of other packets no cost is known.
    let of_tcp = |g: &Group| {
        let known: u64 = (g.of.iter().filter(|l| l.carries == "data" && l.whose.contains(" > ")))
            .map(|l| l.count)
            .sum();
        known == g.count
    };
    let small = d.lost <= FEW
        && lost().all(of_tcp)
        && t.is_some_and(|t| {
            let cost = repair(t).saturating_mul(FAR_MORE);
            lost().all(|g| g.reason == QUEUE_FULL && waited(g, t) > cost.max(SENDER_NOTICE_NS))
        });
    (if small && tone == Tone::Bad { Tone::Notice } else { tone }, s)
}

/// Which groups, of so many packets in all, most first: no one is called most that is not more than half.
fn named(groups: &[Group], all: u64, when: impl Fn(&Group) -> String) -> String {
    let theirs = |g: &Group| whose(g).map_or_else(String::new, |w| format!(" ({w})"));
    // Behind the number: at the end it would read as if it were of all.
    let each = |g: &Group| {
        let when = when(g);
        let when = when.strip_prefix(", ").map_or_else(String::new, |w| format!(" ({w})"));
        format!("{}{when} for {}{}", g.count, group(g), theirs(g))
    };
    match groups {
        [] => String::new(),
        [one] => {
            let theirs = whose(one).map_or_else(String::new, |w| format!(": {w}"));
            format!(" for {}{theirs}{}", group(one), when(one))
        }
        [a, b] => format!(": {}, {}", each(a), each(b)),
        [most, ..] if most.count.saturating_mul(2) > all => {
            let (of, n) = (group(most), most.count);
            format!(", most for {of} ({n}){}{}", theirs(most), when(most))
        }
        _ => {
            let said: Vec<String> = groups.iter().take(NAMED).map(each).collect();
            let rest: u64 = groups.iter().skip(NAMED).map(|g| g.count).sum();
            let rest = if rest > 0 {
                format!(", {rest} for others")
            } else {
                String::new()
            };
            format!(": {}{rest}", said.join(", "))
        }
    }
}

/// When the lost packets were, where that is a small part of the recording.
fn when(d: &Drops, lost: u64, within_ns: Option<(i64, i64)>) -> String {
    let Some((from, to)) = within_ns else {
        return String::new();
    };
    let seconds = |ns: i64| format!("{:.3}", ns as f64 / 1e9);
    match lost {
        1 => format!(", {} s after the start", seconds(from)),
        _ if seconds(from) == seconds(to) => format!(", all at {} s", seconds(from)),
        _ if to.saturating_sub(from).saturating_mul(TOGETHER) <= d.duration_ns => {
            format!(", all from {} s to {} s", seconds(from), seconds(to))
        }
        _ => String::new(),
    }
}

/// What most of the frees are of which nothing tells whether a packet was lost.
fn unclear(d: &Drops) -> String {
    let most = d.groups.iter().filter(|g| g.expected.is_none());
    most.max_by_key(|g| g.count).map_or_else(String::new, |g| {
        let words = match in_words(&g.reason, &g.location, g.why) {
            none if none.is_empty() => none,
            words => format!(": {words}"),
        };
        format!(" ({} for {}{words})", g.count, place(g))
    })
}

/// What is unclear was mostly obeyed and freed.
fn obeyed(d: &Drops) -> bool {
    let mut unclear = d.groups.iter().filter(|g| g.expected.is_none());
    unclear.all(|g| in_words(&g.reason, &g.location, g.why).ends_with(OBEYED))
}

/// What is lost and may be missed, or all that is lost where nothing is, and how many packets that is.
pub(super) fn told(d: &Drops) -> (Vec<&Group>, u64) {
    let groups = match missed(d) {
        none if none.is_empty() => d.lost_groups().collect(),
        of => of,
    };
    let n = groups.iter().map(|g| g.count).sum();
    (groups, n)
}

/// What changed meanwhile that may be why at least half of them were dropped.
fn changed(d: &Drops) -> Option<&String> {
    let mut by: BTreeMap<&String, u64> = BTreeMap::new();
    let (lost, all) = told(d);
    for (says, n) in lost.into_iter().filter_map(|g| Some((g.meanwhile.as_ref()?, g.count))) {
        let of = by.entry(says).or_default();
        *of = of.saturating_add(n);
    }
    let (says, n) = by.into_iter().max_by_key(|(_, n)| *n)?;
    (n.saturating_mul(2) >= all).then_some(says)
}

/// Most were for hosts that a new route covers: all else that these meet follows from it.
pub(super) fn covered(d: &Drops) -> bool {
    let (lost, all) = told(d);
    let n: u64 = lost.iter().filter(|g| g.covered).map(|g| g.count).sum();
    n > 0 && n.saturating_mul(2) >= all
}

/// Fragments after the first, and not one of their datagrams came.
fn never_whole(g: &Group) -> bool {
    let of = g.of.iter().filter_map(|l| l.fragments.as_ref());
    g.reason == RULES
        && of
            .filter(|f| f.behind && f.beside.is_some())
            .map(|f| f.packets)
            .sum::<u64>()
            * 2
            >= g.count
}

/// Of most packets that were lost it is known why, beyond where: a table or a NAT that was full by the kernel's own counters, a line that damages, hosts that have one address,
/// many that answer at once, questions by ARP, another way, a rule that lets first fragments through alone.
pub(super) fn names_cause(d: &Drops) -> bool {
    let (untold, of_known_cause) = untold::of_known_cause(&d.untold);
    let known = |g: &&Group| {
        let full = g.full.as_ref().is_some_and(|f| f.counted);
        full || g.damaged.as_ref().is_some_and(|d| d.others > 0)
            || g.same_mac.is_some()
            || silenced(g)
            || g.incast.is_some()
            || g.forgotten.is_some()
            || g.cut.is_some()
            || g.rerouted
            || g.covered
            || g.came_back.is_some()
            || g.membership.is_some()
            || g.no_router.is_some()
            || never_whole(g)
    };
    let (lost, all) = told(d);
    let n: u64 = lost.into_iter().filter(known).map(|g| g.count).sum();
    let n = n.saturating_add(of_known_cause);
    n > 0 && n.saturating_mul(2) >= all.saturating_add(untold)
}

pub(super) fn drops(d: &Drops) -> (Tone, String) {
    let rest = match (d.expected, d.unclear) {
        (0, 0) => String::new(),
        _ => format!(
            "; {} normal, {} unclear{}",
            counted(d.expected, "free was", "frees were"),
            d.unclear,
            unclear(d)
        ),
    };
    if d.total == 0 && !d.recorded {
        let s = "Drops are not known: there is no kfree_skb in the recording, and nothing says that it was recorded.";
        return (Tone::Unknown, s.into());
    }
    let of = |background| -> Vec<Group> {
        let lost = d.groups.iter().filter(move |g| g.expected == Some(false));
        merged(lost.filter(move |g| g.background == background))
    };
    let (lost, own) = (of(false), of(true));
    let rest = match own.first() {
        None => rest,
        Some(g) => format!(
            "; {} dropped{} (from drop:{}){rest}",
            counted(
                d.background,
                "packet of the kernel's own traffic was",
                "packets of the kernel's own traffic were"
            ),
            named(&own, d.background, |_| String::new()),
            g.first_drop
        ),
    };
    match lost.first() {
        None if d.unclear > 0 || d.background > 0 => (
            if d.background == 0 && obeyed(d) {
                Tone::Ok
            } else {
                Tone::Notice
            },
            format!("No packet of a program is known to be lost on this host{rest}."),
        ),
        None => (Tone::Ok, format!("No packet was dropped by this host{rest}.")),
        Some(_) => said_of_lost(d, &lost, &rest),
    }
}

/// What is said of lost packets: of those that are or may be missed, and how many more there are.
fn said_of_lost(d: &Drops, lost: &[Group], rest: &str) -> (Tone, String) {
    let asked = ways::asked_for(lost, d.duration_ns);
    // What rules drop of packets whose senders and receivers are not known here may be what they are for.
    let all = || d.lost_groups();
    let rules = all().count() <= OWNED && lost.iter().all(strangers);
    let missed = missed(d);
    let none = missed.is_empty();
    let (of, n) = told(d);
    // Beside what nobody misses.
    let beside = !none && !asked && n < d.lost;
    let of = if beside { merged(of.into_iter()) } else { lost.to_vec() };
    let n = if beside { n } else { d.lost };
    let within = match beside {
        true => within(&of),
        false => d.lost_within_ns,
    };
    let together = when(d, n, within);
    // When a few of many were is no pattern of the loss.
    let small = |g: &Group| g.count.saturating_mul(SMALL) < n;
    let each = |g: &Group| match together.is_empty() && !small(g) {
        true => spells(&g.times, d.duration_ns),
        false => String::new(),
    };
    let round = of.first().filter(|_| of.len() == 1);
    let said = match round.and_then(|g| Some((routing_loop(g)?, each(g)))) {
        Some((said, when)) => format!("{said}{when}"),
        None => format!(
            "{} dropped by this host{}",
            match beside {
                true => counted(n, "packet that may be missed was", "packets that may be missed were"),
                false => counted(n, "packet was", "packets were"),
            },
            named(&of, n, each)
        ),
    };
    let said = match asked {
        true => format!(
            "{said}, as traceroute and mtr make them, of which a router answers only so many a second (inferred)"
        ),
        false => said,
    };
    let said = match &d.unmissed {
        Some(u) if !beside => {
            let all = lost.iter().all(|g| g.reason == RULES);
            let of = if all { "them" } else { "what a rule dropped" };
            format!("{said}, and {} to miss {of}: {}", ways::nobody(u), ways::unmissed(u))
        }
        None if rules => format!(
            "{said}{together}, and nothing tells whose {}",
            if d.lost == 1 { "it was" } else { "they were" }
        ),
        _ => said,
    };
    // Behind that it would be when nobody knew.
    let together = if rules { String::new() } else { together };
    let more = if beside { more(d) } else { String::new() };
    let s = format!(
        "{said}{together} (from drop:{}){more}{rest}.",
        of.iter().map(|g| g.first_drop).min().unwrap_or(0)
    );
    // What changed meanwhile comes first: the rest follows from it.
    let s = match changed(d) {
        Some(changed) => format!("{}: {s}", capital(changed)),
        None => s,
    };
    // One or two segments of sockets whose route went: what tears a network down does that.
    let torn_down = n <= FEW
        && of
            .iter()
            .all(|g| g.reason == NO_ROUTE && g.dev.is_empty() && g.of.is_empty());
    // One alone is nothing that is wrong by itself.
    let few = torn_down || rules || n == 1;
    let tone = match () {
        () if asked => Tone::Ok,
        () if few || none => Tone::Notice,
        () => Tone::Bad,
    };
    (tone, capital(&s))
}

/// From the first to the last of them, where all have times.
fn within(groups: &[Group]) -> Option<(i64, i64)> {
    let ends = |g: &Group| g.times.first().copied().zip(g.times.last().copied());
    let all: Option<Vec<(i64, i64)>> = groups.iter().map(ends).collect();
    let all = all?;
    all.iter()
        .map(|(from, _)| *from)
        .min()
        .zip(all.iter().map(|(_, to)| *to).max())
}

/// `; nobody is known to miss 187 more: 105 for NETFILTER_DROP at nft_do_chain on srv, ...`; what a program waited for and gave up it did miss.
fn more(d: &Drops) -> String {
    let part = |g: &Group, count: u64| Group { count, ..g.clone() };
    let mut all = unmissed(d);
    let waited: Vec<Group> = (all.iter().filter(|g| g.given_up > 0))
        .map(|g| part(g, g.given_up))
        .collect();
    all.iter_mut()
        .for_each(|g| g.count = g.count.saturating_sub(g.given_up));
    all.retain(|g| g.count > 0);
    // Nobody waits for what a full socket refused; who reads it lacks that.
    let (lacked, of): (Vec<Group>, Vec<Group>) = all.into_iter().partition(|g| g.reason == SOCKET_FULL);
    let rules = d.unmissed.as_ref().map(|u| {
        let but = if u.monitors > 0 {
            "nobody, unless a monitor, misses: "
        } else {
            ""
        };
        format!(" (of what a rule dropped: {but}{})", ways::unmissed(u))
    });
    let why = " (SYNs of attempts that were given up after a wait, see opens)";
    let said = [
        ("so were", waited, why.to_owned()),
        ("nobody is known to miss", of, rules.unwrap_or_default()),
        (
            "who reads there lacks, though nobody is known to have waited,",
            lacked,
            String::new(),
        ),
    ];
    let said = said.iter().filter(|(_, of, _)| !of.is_empty());
    said.map(|(what, of, rules)| format!("; {what} {}{rules}", numbers(of)))
        .collect()
}

/// `187 more: 105 for NETFILTER_DROP at nft_do_chain on srv, ...`
fn numbers(of: &[Group]) -> String {
    let of = merged(of.iter());
    let n: u64 = of.iter().map(|g| g.count).sum();
    let each = |g: &Group| format!("{} for {}{}", g.count, place(g), on(g));
    let mut said: Vec<String> = of.iter().take(NAMED).map(each).collect();
    let others: u64 = of.iter().skip(NAMED).map(|g| g.count).sum();
    if others > 0 {
        said.push(format!("{others} for others"));
    }
    format!("{n} more: {}", said.join(", "))
}
