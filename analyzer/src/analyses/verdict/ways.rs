//! By which way dropped packets came to where they were dropped, and who waited for them, in words.

use super::sentences::{counted, duration, moment, rate};
use crate::analyses::drops::{Damaged, Group, Incast, Unmissed};
use crate::reconstruct::whose::Carries;

/// `a router passed 5 of them on and told their sender by an ICMP redirect, first at 6.026 s, ...`
pub(super) fn redirected(g: &Group) -> Option<String> {
    let r = g.redirected.as_ref()?;
    Some(format!(
        "a router passed {} of them on and told their sender by an ICMP redirect, first at {}, to send what is for there this way by itself: who accepts that (net.ipv4.conf.*.accept_redirects, secure_redirects) keeps to it for minutes, also when the router has its own way back",
        r.count,
        moment(r.first_ns)
    ))
}

/// `between 10.0.0.1 and 10.0.0.2, 628 to the one and 197 to the other, of 15345 units with payload that came so, and hardly any of 9210 ...`
pub(super) fn damaged(d: &Damaged) -> String {
    let (a, b) = &d.hosts;
    let to = match d.damaged {
        (n, 0) => format!("{n} from {b} to {a}"),
        (n, m) => format!("between {a} and {b}, {n} to the one and {m} to the other"),
    };
    let all = (d.damaged.0 + d.damaged.1).saturating_mul(10) >= d.came.saturating_mul(9);
    let between = match d.others {
        _ if all => ", nearly all: a checksum that is computed wrong, by an offload, or by a NAT or a tunnel that rewrites, rather than damage (inferred)".to_owned(),
        0 => String::new(),
        n => format!(
            ", and hardly any of {n} that came to them from others: what lies between these two damages them, which no router on the way notices (memory of a device, a card or its checksum offload, as the frame's own CRC catches what a cable does; inferred)"
        ),
    };
    format!("{to}, of {} units with payload that came so{between}", d.came)
}

/// Of transfers that fill a queue by themselves, and how many are of others.
pub(super) fn finds_rate(others: u64) -> String {
    let but = match others {
        0 => "few",
        1 => "one is another's, or it is not known whose; the others are few",
        n => &format!("{n} are others', or it is not known whose; the rest are few"),
    };
    format!(
        "{but} of a transfer that has most of this queue, on which nobody awaits answers, and repaired before a timer ran out: TCP probes for its rate (inferred)"
    )
}

/// Of transfers that keep a line full.
pub(super) fn line_full(share: f64) -> String {
    format!(
        "lost by transfers that had packets in this queue for {:.0} % of the time they had data in flight, and repaired before a timer ran out: the line is full and TCP probes for its rate (inferred)",
        share * 100.0
    )
}

/// `in 122 moments of p50 6.10 ms, in each of which p50 9 of 12 hosts ...`
pub(super) fn incast(i: &Incast) -> String {
    format!(
        "in {} moments of p50 {}, in each of which p50 {} of the {} hosts that lost some on their way to {} did, when {} left by it, where {} do on average: they send at the same time, and the queue has no room for it all (incast, inferred)",
        i.bursts,
        duration(i.lasted_ns),
        i.senders,
        i.of,
        i.to,
        rate(i.burst_bit_s / 1e6),
        rate(i.average_bit_s / 1e6)
    )
}

/// `2909 of the 3020 packets that left by it came to a host that they are not for: ...`
pub(super) fn flooded(g: &Group) -> Option<String> {
    let f = g.flood?;
    Some(format!(
        "{} of the {} packets that left by it came to a host that they are not for: a bridge or switch sends them to every port, not knowing where their address is (flooding), or a mirror copies them there (inferred)",
        f.others, f.of
    ))
}

/// Who misses them.
pub(super) fn nobody(u: &Unmissed) -> &'static str {
    match u.monitors {
        0 => "nobody is known",
        _ => "nobody, unless a monitor, is known",
    }
}

/// `768 FINs, 375 SYNs of a port scan`
pub(super) fn unmissed(u: &Unmissed) -> String {
    let all = [
        (u.fins, "FIN", "FINs"),
        (u.scans, "SYN of a port scan", "SYNs of a port scan"),
        (
            u.monitors,
            "SYN of a port scan or of a monitor that checks logins",
            "SYNs of a port scan or of a monitor that checks logins",
        ),
        (
            u.datagrams,
            "datagram of a thread that waited for no answer",
            "datagrams of threads that waited for no answer",
        ),
        (u.short, "too short for data", "too short for data"),
        (u.others, "other", "others"),
    ];
    let said = all
        .iter()
        .filter(|(n, ..)| *n > 0)
        .map(|(n, one, many)| counted(*n, one, many));
    said.collect::<Vec<_>>().join(", ")
}

/// Most probes of ways a second: a loop by routers that are not in the recording loses far more.
const PROBES: u64 = 50;

/// The TTL ran out at several devices, on no loop, of what is no connection's and nobody missed: who asks for the routers on a way lets it run out at each.
pub(super) fn asked_for(lost: &[Group], duration_ns: i64) -> bool {
    let all: u64 = lost.iter().map(|g| g.count).sum();
    let few = all as f64 <= PROBES as f64 * (duration_ns as f64 / 1e9).max(1.0);
    let probe = |g: &Group| {
        let of = g.passes.as_ref().is_some_and(|p| p.once && p.looped == 0 && !p.missed);
        // Before 6.3 the task alone is known that sent them.
        of && g.of.iter().all(|o| o.carries == Carries::Sent.word()) && !g.answered.is_empty()
    };
    few && lost.len() > 1 && lost.iter().all(probe)
}
