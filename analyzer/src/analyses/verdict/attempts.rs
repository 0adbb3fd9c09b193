//! Attempts to connect that failed, in words, and which of them somebody may have missed.

use super::aside::aside;
use super::evidence::from;
use super::sentences::{counted, duration, moment, times};
use super::spells::{listed, spells_or_all_along};
use super::{OPEN_NOTICE_NS, listens};
use crate::analyses::opens::{Failed, Only, Scan, Twice};
use crate::reconstruct::opens::tables::FIRST_SYN_NS;

/// So many have a time that tells.
const MANY: usize = 10;

/// One that nobody meant to fail, and that somebody may have missed.
pub(super) fn unmeant(f: &Failed) -> bool {
    fails(f) && !nobodys(f)
}

/// Nobody is known to have waited for it.
pub(super) fn nobodys(f: &Failed) -> bool {
    f.check_ns.is_some() || f.aside.is_some()
}

/// No port, no route, nobody who listens, or no answer for as long as a SYN waits for one.
fn fails(f: &Failed) -> bool {
    let by_end = match f.end {
        "no_port" | "unreachable" | "timed_out" => true,
        // Where a server begins or ends its work who asks too early or too late is refused.
        "refused" => f.unheard.is_none() && (f.nobody || f.twice.is_some()),
        "given_up" if f.message => true,
        "given_up" | "waiting" => f.longest_ns >= OPEN_NOTICE_NS || f.syns_again > 0,
        _ => false,
    };
    // Of a call without a socket not even the protocol is known: looking up an address tries routes.
    by_end && f.sure && !f.to.is_empty()
}

/// `; since 4.921 s none of 10.0.0.7 got through (123 did before), while 402 of others did: what it drops comes from there (inferred)`
fn only(o: &Only) -> String {
    let before = match o.before {
        0 => String::new(),
        n => format!(" ({n} did before)"),
    };
    format!(
        "; since {} none of {} got through{before}, while {} of others did: it drops what comes from there (inferred)",
        moment(o.since_ns),
        listed(&o.of),
        o.others
    )
}

/// What the place of a drop means, where that is known, behind a mark.
fn meaning(mark: &str, why: &str) -> String {
    match why {
        "" => String::new(),
        why => format!("{mark}{why}"),
    }
}

/// When these were, of more than a few.
fn since_when(f: &Failed) -> String {
    match f.times.len() {
        MANY.. if f.duration_ns > 0 => spells_or_all_along(&f.times, f.duration_ns),
        _ => String::new(),
    }
}

pub(super) fn what(f: &Failed) -> String {
    let error = f.error.map_or_else(String::new, |e| format!(" ({e})"));
    if f.to.is_empty() {
        let n = counted(f.attempts, "call of connect", "calls of connect");
        return format!(
            "{n} by {}, of a protocol that no event tells, failed at once{error}",
            f.task
        );
    }
    let n = counted(f.attempts, "attempt", "attempts");
    let by = match f.task.as_str() {
        "" => String::new(),
        by => format!(" by {by}"),
    };
    let of = format!("{n} to connect to {}{by}", f.to);
    let longest = match f.attempts {
        1 => duration(f.longest_ns),
        _ => format!("{} at most", duration(f.longest_ns)),
    };
    // Closed before a SYN was due again: whether an answer would have come is not known.
    let early = f.longest_ns < FIRST_SYN_NS && f.syns_again == 0;
    let said = match f.end {
        "unreachable" | "refused" | "failed" if f.message => {
            format!("{of} {} refused by an ICMP message{error}", was(f.attempts))
        }
        "given_up" if f.message => {
            format!(
                "{of} {} given up by the program upon an ICMP message, after {longest}",
                was(f.attempts)
            )
        }
        // That of none an answer came is known where all their SYNs were dropped here.
        "given_up" if early => format!(
            "{of} {}{} given up by the program after {longest}",
            if met(f) { "had no answer and " } else { "" },
            was(f.attempts)
        ),
        "refused" => {
            let since = f.unheard.as_ref().map_or_else(|| since_when(f), listens::unheard);
            format!("{of} {} refused{since}", was(f.attempts))
        }
        "timed_out" => format!("{of} timed out{error}, after {longest}"),
        "unreachable" => format!("{of} found no route{error}"),
        "no_port" => format!("{of} found no free local port{error}"),
        "given_up" => format!(
            "{of} had no answer and {} given up after {longest}{}",
            was(f.attempts),
            since_when(f)
        ),
        "waiting" => format!("{of} had no answer when the recording ended, for {longest}"),
        _ => format!("{of} failed{error}"),
    };
    let said = match f.after_udp {
        0 => said,
        n => {
            let of = if n == f.attempts {
                String::new()
            } else {
                format!("{n} of them ")
            };
            format!(
                "{said}, {of}right behind an answer by UDP to the same thread: one that was too long and cut, most likely, so that the name is asked for again by TCP (inferred)"
            )
        }
    };
    let said = match &f.back {
        None => said,
        Some(b) => {
            let why = meaning(": ", &b.why);
            format!(
                "{said}: their SYNs came, and the answers are lost on the way back: of {} SYN-ACKs that {} sent again {} were dropped by this host at once, for {}{why} (inferred by their times)",
                b.synacks, f.to, b.dropped, b.place
            )
        }
    };
    let said = match &f.answered_by {
        None => said,
        Some((by, n)) => {
            let of = if *n == f.attempts {
                "all".to_owned()
            } else {
                n.to_string()
            };
            format!(
                "{said}, {of} of them answered from {by}, which no socket here had asked, so that this host itself refused the answer by a RST: an address translation (NAT) that was not undone on the way back (inferred)"
            )
        }
    };
    let said = match f.check_ns {
        None => said,
        Some(ns) => format!(
            "{said}, one every {}, as a check of servers tries one that is down, while its other work goes on (inferred)",
            duration(ns)
        ),
    };
    let said = match f.listens {
        true => format!("{said}, though a socket listens there"),
        false => said,
    };
    let said = match &f.shut {
        None => said,
        Some(s) => {
            let why = meaning(", ", &s.why);
            let n = counted(s.syns, "SYN", "SYNs");
            let of = match s.attempts {
                n if n < f.attempts => format!(" of {n} of them"),
                _ => String::new(),
            };
            format!(
                "{said}: {n}{of} {} dropped by this host for {}{why}{}",
                was(s.syns),
                s.place,
                s.only.as_ref().map_or_else(String::new, only)
            )
        }
    };
    let said = match &f.twice {
        None => said,
        Some(t) => format!("{said}: {}", taken(t)),
    };
    let said = match &f.before {
        None => said,
        Some(b) => format!(
            "{said}; before, until {:.3} s, it connected to {} ({}), and never since: another address of a name, or another entry of its list, most likely (inferred)",
            b.last_ns as f64 / 1e9,
            b.to,
            times(b.connections)
        ),
    };
    let said = match &f.source {
        None => said,
        Some(s) => format!(
            "{said}; they come from {}, where {} from {} stood before, the last at {}: another source address than before, as by a route's `src` or an address that was added, which is not let through there (inferred)",
            s.now,
            counted(s.stood, "connection", "connections"),
            s.before,
            moment(s.last_ns)
        ),
    };
    let said = match &f.aside {
        Some(beside) if fails(f) && f.check_ns.is_none() => format!("{said}, {}", aside(beside)),
        _ => said,
    };
    match f.sure {
        true => said,
        false => format!("{said} (events were lost meanwhile)"),
    }
}

/// An address that another host took.
fn taken(t: &Twice) -> String {
    let back = if t.back { ", and back" } else { "" };
    let holders = match t.holders {
        0 | 1 => String::new(),
        n => format!(", and {n} network namespaces of this recording have it"),
    };
    format!(
        "from {} on neighbours took {} to be at {} in place of {}{back}{holders}: another host than before answers there, or none; one address given to two hosts, or a failover (inferred){}",
        moment(t.at_ns),
        t.address,
        t.after,
        t.before,
        from(t.first)
    )
}

/// Each met a drop of this host, at an end where a socket listens: told, whoever waited.
pub(super) fn met(f: &Failed) -> bool {
    f.listens && f.shut.as_ref().is_some_and(|s| s.attempts >= f.attempts)
}

/// More is known of them than what dropped their SYNs.
pub(super) fn say_more(f: &Failed) -> bool {
    let only = f.shut.as_ref().is_some_and(|s| s.only.is_some());
    only || f.after_udp > 0 || f.twice.is_some() || f.before.is_some() || f.source.is_some() || f.answered_by.is_some()
}

/// What is said of them before what dropped their SYNs.
pub(super) fn without_the_drops(said: &str) -> &str {
    let end = said.find(" dropped by this host for ");
    let before = end.and_then(|end| said.get(..end)?.rsplit_once(": "));
    before.map_or(said, |(before, _)| before)
}

/// What became of them has a name, and they are no few beside others that have none.
pub(super) fn named(f: &Failed, all: &[Failed]) -> bool {
    let most = all.iter().filter(|o| unmeant(o)).map(|o| o.attempts).max();
    let many = f.attempts.saturating_mul(2) >= most.unwrap_or(0);
    many && unmeant(f) && (f.shut.is_some() || f.twice.is_some())
}

/// Of one that was refused at many ports.
pub(super) fn scan(s: &Scan) -> String {
    let whose = match &s.address {
        Some(one) => one.clone(),
        None => counted(s.addresses, "address", "addresses"),
    };
    format!(
        "{} by {} to {} of {whose} {}, {} at most at each: a port scan{} (inferred)",
        counted(s.attempts, "attempt", "attempts"),
        s.task,
        counted(s.ports, "port", "ports"),
        match s.refused {
            true => "were refused",
            false if s.at_once => "had no answer and were given up at once",
            false => "had no answer",
        },
        s.each,
        if s.or_monitor {
            ", or a monitor that checks logins"
        } else {
            ""
        }
    )
}

pub(super) fn was(n: u64) -> &'static str {
    if n == 1 { "was" } else { "were" }
}
