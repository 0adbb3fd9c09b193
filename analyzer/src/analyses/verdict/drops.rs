//! The verdict's line on packets that this host dropped.

use super::sentences::{counted, rate};
use super::{SENDER_NOTICE_NS, Tone};
use crate::analyses::drops::{Drops, Group, Lost};
use crate::analyses::transmit::Transmit;
use crate::reconstruct::drops::black_hole;

/// Who drops at a place, where that says more than its name (net/netfilter/core.c; since Linux 6.7 nf_tables_core.c frees itself).
const PLACES: [(&str, &str); 2] = [
    ("nft_do_chain", "a rule or policy of nftables"),
    (
        "nf_hook_slow",
        "a netfilter hook: connection tracking, such as a full table, iptables-legacy or another, before Linux 6.7 nftables too",
    ),
];
/// Reason of a packet without a route; so many of them, of nobody known, are nothing that is wrong by itself.
const NO_ROUTE: &str = "IP_OUTNOROUTES";
const FEW: u64 = 2;
/// Kinds of packets of a group of which it is said whose they were.
const WHOSE: usize = 2;
/// Groups of drops named one by one.
const NAMED: usize = 3;
/// Part of the recording within which lost packets lie together.
const TOGETHER: i64 = 4;

fn group(g: &Group) -> String {
    let part = |word, text: &str| match text {
        "" => String::new(),
        _ => format!(" {word} {text}"),
    };
    let qdisc = g
        .qdisc
        .as_deref()
        .map_or_else(String::new, |q| format!(" (its qdisc: {q})"));
    let mtu = black_hole(g.why).map_or_else(String::new, |w| format!(" ({w})"));
    let place = PLACES.iter().find(|(at, _)| *at == g.location);
    let place = place.map_or_else(String::new, |(_, who)| format!(" ({who})"));
    format!(
        "{}{}{place}{}{qdisc}{mtu}",
        g.reason,
        part("at", &g.location),
        part("on", &g.dev)
    )
}

/// Reason of a packet that a full queue refused.
const QUEUE_FULL: &str = "QDISC_DROP";
/// What packets waited in a queue in all is far more than what its drops cost from so many times on.
const FAR_MORE: i64 = 10;

/// One or two packets that a full queue refused do not stand before the wait in it that cost far more: what was sent again
/// waited for that less than a tenth of the time that packets lay in that queue in all.
pub(super) fn beside_the_queues((tone, s): (Tone, String), d: &Drops, t: Option<&Transmit>) -> (Tone, String) {
    let lost = || d.groups.iter().filter(|g| g.expected == Some(false) && !g.background);
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

/// Whose the packets of a group were, how many of how many, in which pattern. No pause in it: the head of the page has all of it.
fn whose(g: &Group) -> Option<String> {
    let said = |l: &Lost| {
        // A connection has no preposition of its own.
        let of = l.whose.contains(" > ");
        let what = match l.carries {
            "data" if of => "TCP data of ",
            "data" => "TCP data ",
            "syn" if of => "SYNs of ",
            "syn" => "SYNs ",
            "datagram" => "UDP packets ",
            _ => "for the socket ",
        };
        let share = match l.came {
            Some(1) => ", the only one that came there".to_owned(),
            Some(came) if came == l.count => format!(", all of the {came} that came there"),
            Some(came) if l.count < g.count => format!(", {} of these, {came} such came there", l.count),
            Some(came) => format!(", {} of the {came} that came there", l.count),
            None if l.count < g.count => format!(", {} of these", l.count),
            None => String::new(),
        };
        let every = l.every.map_or_else(String::new, |n| format!(", one in {n} exactly"));
        let rate = l.passed_bit_s.map_or_else(String::new, |bits| {
            format!(", while {} of them went on", rate(bits / 1e6))
        });
        format!("{what}{}{share}{every}{rate}", l.whose)
    };
    let of: Vec<String> = g.of.iter().take(WHOSE).map(said).collect();
    (!of.is_empty()).then(|| of.join(", "))
}

/// Which groups, of so many packets in all, most first: no one is called most that is not more than half.
fn named(groups: &[&Group], all: u64) -> String {
    let theirs = |g: &Group| whose(g).map_or_else(String::new, |w| format!(" ({w})"));
    let each = |g: &&Group| format!("{} for {}{}", g.count, group(g), theirs(g));
    match groups {
        [] => String::new(),
        [one] => {
            let theirs = whose(one).map_or_else(String::new, |w| format!(": {w}"));
            format!(" for {}{theirs}", group(one))
        }
        [a, b] => format!(": {}, {}", each(a), each(b)),
        [most, ..] if most.count.saturating_mul(2) > all => {
            format!(", most for {} ({}){}", group(most), most.count, theirs(most))
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
fn when(d: &Drops) -> String {
    let Some((from, to)) = d.lost_within_ns else {
        return String::new();
    };
    let seconds = |ns: i64| format!("{:.3}", ns as f64 / 1e9);
    match d.lost {
        1 => format!(", {} s after the start", seconds(from)),
        _ if seconds(from) == seconds(to) => format!(", all at {} s of {} s", seconds(from), seconds(d.duration_ns)),
        _ if to.saturating_sub(from).saturating_mul(TOGETHER) <= d.duration_ns => {
            format!(
                ", all from {} s to {} s of {} s",
                seconds(from),
                seconds(to),
                seconds(d.duration_ns)
            )
        }
        _ => String::new(),
    }
}

pub(super) fn drops(d: &Drops) -> (Tone, String) {
    let rest = format!(
        "{} normal, {} unclear",
        counted(d.expected, "free was", "frees were"),
        d.unclear
    );
    if d.total == 0 && !d.recorded {
        let s = "Drops are not known: there is no kfree_skb in the recording, and nothing says that it was recorded.";
        return (Tone::Unknown, s.into());
    }
    let of = |background| -> Vec<&Group> {
        let lost = d.groups.iter().filter(move |g| g.expected == Some(false));
        lost.filter(move |g| g.background == background).collect()
    };
    let (lost, own) = (of(false), of(true));
    let rest = match own.first() {
        None => rest,
        Some(g) => format!(
            "{} dropped{} (from drop:{}); {rest}",
            counted(
                d.background,
                "packet of the kernel's own traffic was",
                "packets of the kernel's own traffic were"
            ),
            named(&own, d.background),
            g.first_drop
        ),
    };
    match lost.first() {
        None if d.unclear > 0 || d.background > 0 => (
            Tone::Notice,
            format!("No packet of a program is known to be lost in this host; {rest}."),
        ),
        None => (Tone::Ok, format!("No packet was dropped in this host; {rest}.")),
        Some(most) => {
            let s = format!(
                "{} dropped in this host{}{} (from drop:{}); {rest}.",
                counted(d.lost, "packet was", "packets were"),
                named(&lost, d.lost),
                when(d),
                lost.iter().map(|g| g.first_drop).min().unwrap_or(most.first_drop)
            );
            // One or two segments of sockets whose route went: what tears a network down does that.
            let torn_down = d.lost <= FEW
                && lost
                    .iter()
                    .all(|g| g.reason == NO_ROUTE && g.dev.is_empty() && g.of.is_empty());
            (if torn_down { Tone::Notice } else { Tone::Bad }, s)
        }
    }
}
