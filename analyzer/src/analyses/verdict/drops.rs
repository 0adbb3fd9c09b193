//! The verdict's line on packets that this host dropped.

use super::sentences::{counted, duration, rate};
use super::spells::{TOGETHER, listed, merged, spells};
use super::{SENDER_NOTICE_NS, Tone};
use crate::analyses::drops::{Drops, Group, Lost, REFUSED};
use crate::analyses::transmit::Transmit;
use crate::reconstruct::drops::in_words;

/// Reason of a packet that came and has no route.
const NO_ROUTE_ON: &str = "IP_INNOROUTES";
/// Reason of a packet without a route; so many of them, of nobody known, are nothing that is wrong by itself.
const NO_ROUTE: &str = "IP_OUTNOROUTES";
const FEW: u64 = 2;
/// Kinds of packets of a group of which it is said whose they were.
const WHOSE: usize = 2;
/// Groups of drops named one by one.
const NAMED: usize = 3;

/// What a place means, what became of packets whose TTL had run out, what this host answered. No pause in it.
fn meaning(g: &Group) -> String {
    let down = g.reason == QUEUE_FULL && g.qdisc.as_deref() == Some(NO_QUEUE);
    let words = in_words(&g.reason, &g.location, g.why);
    let by_route = g
        .refused_by
        .as_ref()
        .map_or_else(String::new, |r| format!("refused by a route of this host, `{r}`"));
    let counted_full = g.full.as_ref().filter(|f| f.counted).map(|f| f.says.as_str());
    let size = g.full.as_ref().filter(|f| !f.counted).map(|f| f.says.clone());
    let said = match g.answered.as_slice() {
        // Only the qdisc of a device that does not run refuses there (net/sched/sch_generic.c `noop_enqueue`).
        _ if down => "it has no queue, so the device was down or had no carrier",
        _ if g.refused_by.is_some() => by_route.as_str(),
        _ if counted_full.is_some() => counted_full.unwrap_or_default(),
        [one] if words.starts_with(REFUSED) && one.says.ends_with("prohibited") => {
            "refused by a `prohibit` route of this host"
        }
        [one] if words.starts_with(REFUSED) && one.says == "host unreachable" => {
            "refused by an `unreachable` route of this host"
        }
        _ => words.as_str(),
    };
    let ended = g.passes.as_ref().map(|p| match (p.looped, p.once) {
        (0, true) => "none of them came to a device twice: no loop".to_owned(),
        (0, false) => String::new(),
        (n, _) => format!("a routing loop: {n} of them passed {} up to {} times", p.dev, p.most),
    });
    let told: u64 = g.answered.iter().map(|a| a.count).sum();
    let says = g.answered.first().filter(|_| g.reason != TOO_BIG).map(|a| {
        let of = if told < g.count {
            format!(" for {told} of them")
        } else {
            String::new()
        };
        let more = if g.answered.len() > 1 { " and others" } else { "" };
        format!("its sender was told by ICMP{of}: {}{more}", a.says)
    });
    let all = [Some(said.to_owned()), size, g.same_mac.clone(), ended, says]
        .into_iter()
        .flatten();
    let all: Vec<String> = all.filter(|s| !s.is_empty()).collect();
    if all.is_empty() {
        String::new()
    } else {
        format!(" ({})", all.join(", "))
    }
}

fn place(g: &Group) -> String {
    match g.location.as_str() {
        "" => g.reason.clone(),
        at => format!("{} at {at}", g.reason),
    }
}

fn group(g: &Group) -> String {
    let dev = match g.dev.as_str() {
        "" => String::new(),
        dev => format!(" on {dev}"),
    };
    let qdisc = g
        .qdisc
        .as_deref()
        .map_or_else(String::new, |q| format!(" (its qdisc: {q})"));
    match g.reason.as_str() {
        TOO_BIG => format!("{}{dev}{qdisc}{}", place(g), meaning(g)),
        _ => format!("{}{}{dev}{qdisc}", place(g), meaning(g)),
    }
}

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
        "A routing loop: {}{theirs} passed {} up to {} times before their TTL ran out (dropped for {}){told}",
        counted(g.count, "packet", "packets"),
        p.dev,
        p.most,
        place(g)
    ))
}

/// Reason of a packet that a full queue refused.
const QUEUE_FULL: &str = "QDISC_DROP";
/// Qdisc of a device without a queue.
const NO_QUEUE: &str = "noqueue";
/// Reason of which its words say what became of the ICMP messages.
const TOO_BIG: &str = "PKT_TOO_BIG";
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

/// Which fragments of which datagrams.
fn fragments(l: &Lost) -> String {
    let Some(f) = &l.fragments else { return String::new() };
    let which = match f.nth {
        Some(1) => "the first fragments",
        Some(2) => "the second fragments",
        Some(3) => "the third fragments",
        _ => "fragments",
    };
    let bytes = f.bytes.map_or_else(String::new, |n| format!(" of {n} bytes"));
    let all = match f.fragmented == f.datagrams {
        true => ", all that were fragmented".to_owned(),
        false => format!(", {} were fragmented", f.fragmented),
    };
    format!(
        ", {which} of {}{bytes}{all}",
        counted(f.datagrams, "datagram", "datagrams")
    )
}

/// For how long nothing of it went on: at least from the first drop to the last, at most from the packet before to the one after.
fn stopped(g: &Group, l: &Lost) -> String {
    let seconds = |ns: i64| ns as f64 / 1e9;
    let each = l.stopped_ns.iter();
    let each = each.map(|(least, most)| format!("{:.3} to {:.3} s", seconds(*least), seconds(*most)));
    let each: Vec<String> = each.collect();
    match each.as_slice() {
        [] => String::new(),
        [one] if g.reason == NO_ROUTE_ON => format!(", the route was gone once, for {one}"),
        [one] => format!(", none of them went on for {one}"),
        all if g.reason == NO_ROUTE_ON => {
            format!(", the route was gone {} times, for {}", all.len(), listed(all))
        }
        all => format!(", {} times none of them went on, for {}", all.len(), listed(all)),
    }
}

/// How many of a group, where not all.
fn of_these(g: &Group, l: &Lost) -> String {
    match l.count < g.count {
        true => format!(" ({} of these)", l.count),
        false => String::new(),
    }
}

/// Whose the packets of a group were, how many of how many, in which pattern. No pause in it: the head of the page has all of it.
fn whose(g: &Group) -> Option<String> {
    let said = |l: &Lost| {
        // A connection has no preposition of its own.
        let of = l.whose.contains(" > ");
        let tunnel = l.made_by.as_deref().unwrap_or("a tunnel");
        let icmp = || format!("the ICMP messages \"too big\" that {tunnel} made of TCP segments ");
        let what = match l.carries {
            "too_big" if of => {
                return format!("{}of {}{}, which are too large for it", icmp(), l.whose, of_these(g, l));
            }
            "too_big" => return format!("{}{}{}, which are too large for it", icmp(), l.whose, of_these(g, l)),
            "data" if of => "TCP data of ",
            "data" => "TCP data ",
            "syn" if of => "SYNs of ",
            "syn" => "SYNs ",
            "datagram" => "UDP packets ",
            "sent" => "packets ",
            _ => "for the socket ",
        };
        let share = match l.came {
            _ if l.fragments.is_some() => fragments(l),
            Some(1) => ", the only one that came there".to_owned(),
            Some(came) if came == l.count => format!(", all of the {came} that came there"),
            Some(came) if l.count < g.count => format!(", {} of these, {came} such came there", l.count),
            Some(came) => format!(", {} of the {came} that came there", l.count),
            None if l.count < g.count => format!(", {} of these", l.count),
            None => String::new(),
        };
        let every = l.every.filter(|_| l.fragments.is_none());
        let every = every.map_or_else(String::new, |n| format!(", one in {n} exactly"));
        let stopped = stopped(g, l);
        let rate = l
            .passed_bit_s
            .filter(|_| stopped.is_empty())
            .map_or_else(String::new, |bits| {
                format!(", while {} of them went on", rate(bits / 1e6))
            });
        format!("{what}{}{share}{every}{stopped}{rate}", l.whose)
    };
    let of: Vec<String> = g.of.iter().take(WHOSE).map(said).collect();
    let forgotten = g.forgotten.map_or_else(String::new, |f| {
        format!(
            ", the first after a silence of {} or longer on each of {} connections (after {} at most it passed): a firewall that has forgotten them (conntrack time-out, inferred)",
            duration(f.silent_least_ns),
            f.connections,
            duration(f.passed_most_ns)
        )
    });
    (!of.is_empty()).then(|| format!("{}{forgotten}", of.join(", ")))
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

pub(super) fn drops(d: &Drops) -> (Tone, String) {
    let rest = format!(
        "{} normal, {} unclear{}",
        counted(d.expected, "free was", "frees were"),
        d.unclear,
        unclear(d)
    );
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
            "{} dropped{} (from drop:{}); {rest}",
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
            Tone::Notice,
            format!("No packet of a program is known to be lost in this host; {rest}."),
        ),
        None => (Tone::Ok, format!("No packet was dropped in this host; {rest}.")),
        Some(most) => {
            let together = when(d);
            let each = |g: &Group| match together.is_empty() {
                true => spells(&g.times, d.duration_ns),
                false => String::new(),
            };
            let round = lost.first().filter(|_| lost.len() == 1).and_then(routing_loop);
            let said = match round {
                Some(said) => format!("{said}{}", each(most)),
                None => format!(
                    "{} dropped in this host{}",
                    counted(d.lost, "packet was", "packets were"),
                    named(&lost, d.lost, each)
                ),
            };
            let s = format!(
                "{said}{together} (from drop:{}); {rest}.",
                lost.iter().map(|g| g.first_drop).min().unwrap_or(most.first_drop)
            );
            // A TTL that ran out on no loop, of what nobody is known to have missed: a probe of routes is made so.
            let probes = lost
                .iter()
                .all(|g| g.passes.as_ref().is_some_and(|p| p.looped == 0 && !p.missed));
            // One or two segments of sockets whose route went: what tears a network down does that.
            let torn_down = d.lost <= FEW
                && lost
                    .iter()
                    .all(|g| g.reason == NO_ROUTE && g.dev.is_empty() && g.of.is_empty());
            (if torn_down || probes { Tone::Notice } else { Tone::Bad }, s)
        }
    }
}
