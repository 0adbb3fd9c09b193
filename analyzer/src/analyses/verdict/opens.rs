//! The verdict's line on connections: did they come to be, how fast, and which were reset?

use super::attempts::{self, nobodys, scan, unmeant, what};
use super::evidence::{from, slowest};
use super::resets::{between_words, closed_before, not_by_peer, reset, unread};
use super::sentences::{apart, capital, counted, duration, or_dash};
use super::{SETUP_NOTICE_NS, Tone, accepts, ended, full_queues, handshakes, instead, listens};
use crate::analyses::opens::{Failed, Opens};

/// Groups that are named.
const NAMED: usize = 2;

/// So many connections beside one attempt that failed make it nothing that is wrong by itself.
const MANY: u64 = 100;
/// Unless it was waited for so long, ns.
const LONG_NS: i64 = 5_000_000_000;

/// Attempts that somebody may have missed.
fn missed(o: &Opens) -> u64 {
    let of = o.failed.iter().filter(|f| unmeant(f) && !instead::soon(o, f));
    of.map(|f| f.attempts).sum()
}

/// One of them was waited for.
fn long(o: &Opens) -> bool {
    let of = o.failed.iter().filter(|f| unmeant(f));
    of.map(|f| f.longest_ns).max() >= Some(LONG_NS)
}

fn slow(o: &Opens) -> bool {
    o.setup.max_ns.is_some_and(|ns| ns >= SETUP_NOTICE_NS)
}

fn delayed(o: &Opens) -> Option<String> {
    (o.delayed > 0).then(|| {
        format!(
            "{} of them only when a SYN was retransmitted{}",
            if o.delayed == o.setup.n {
                "all".into()
            } else {
                o.delayed.to_string()
            },
            handshakes::refused(o)
        )
    })
}

pub(super) fn opens(o: &Opens) -> (Tone, String) {
    let causes = causes(o);
    let tone = match () {
        () if o.half_open.is_some()
            || !o.not_accepted.is_empty()
            || full_queues::full(o)
            || o.to_itself.is_some()
            || o.inherited.is_some()
            || o.orphans.is_some()
            || o.cut_off.is_some()
            || o.refuses.is_some()
            || o.limited.is_some()
            || !o.piled.is_empty()
            || o.taken_over.is_some()
            || o.raced.is_some()
            || !o.turned_away.is_empty()
            || missed(o) > u64::from(o.setup.n >= MANY && !long(o))
            || o.resets.iter().any(not_by_peer) =>
        {
            Tone::Bad
        }
        () if o.failed.iter().any(|f| !f.to.is_empty())
            || slow(o)
            || !o.scans.is_empty()
            || !causes.is_empty()
            || o.resets.iter().any(|r| r.received && !r.complete || unread(r)) =>
        {
            Tone::Notice
        }
        () => Tone::Ok,
    };
    let stood = match o.setup.n {
        0 => None,
        n => {
            let again = delayed(o).map_or_else(String::new, |d| format!(", {d}"));
            let worst = slowest(o.setup_worst.filter(|_| slow(o))).map_or_else(String::new, |s| format!("; {s}"));
            let times = match (n, o.setup.max_ns) {
                (1, Some(ns)) => duration(ns),
                _ => format!(
                    "p50 {}, p99 {}, max {}",
                    or_dash(o.setup.p50_ns),
                    or_dash(o.setup.p99_ns),
                    or_dash(o.setup.max_ns)
                ),
            };
            Some(format!(
                "{} opened in {times}{again}{worst}",
                counted(n, "connection was", "connections were")
            ))
        }
    };
    let under_way = (o.under_way > 0).then(|| {
        format!(
            "{} being opened when the recording ended, for less than twice as long as others took",
            counted(o.under_way, "more was", "more were")
        )
    });
    let others = || o.failed.iter().filter(|f| !instead::told(o, f));
    let told = o
        .failed
        .iter()
        .filter(|f| instead::told(o, f))
        .map(|f| f.attempts)
        .sum();
    // What somebody may have missed stands before noise, however much of that is there.
    let mut listed: Vec<&Failed> = others().collect();
    listed.sort_by_key(|f| (!unmeant(f), nobodys(f), !attempts::named(f, &o.failed)));
    // Behind the first ones, of those that met a drop of this host the one with most.
    if let Some(at) = (listed.iter().skip(NAMED)).position(|f| f.end == "given_up" && attempts::met(f)) {
        let met = listed.remove(NAMED + at);
        listed.insert(NAMED, met);
    }
    let n = match listed.get(NAMED) {
        Some(f) if f.end == "given_up" && attempts::met(f) => NAMED + 1,
        _ => NAMED,
    };
    let failures = named(
        n,
        listed
            .into_iter()
            .map(|f| (format!("{}{}", what(f), from(f.first)), f.attempts)),
        (o.attempts.saturating_sub(o.setup.n))
            .saturating_add(o.without_socket)
            .saturating_sub(told)
            .saturating_sub(o.under_way)
            .saturating_sub(o.scans.iter().map(|s| s.attempts).sum()),
        ("failed attempt", "failed attempts"),
    );
    let by_others = o.resets.iter().any(not_by_peer);
    let told = o.resets.iter().filter(|r| !by_others || not_by_peer(r));
    let sent = closed_before(o).map_or(0, |(_, n)| n);
    let complete = ended::complete(o);
    let quiet = complete.as_ref().map_or(0, |c| c.1);
    let resets = named(
        NAMED,
        told.filter_map(|r| Some((format!("{}{}", reset(r)?, from(r.first)), r.resets)))
            .chain(closed_before(o)),
        (o.received.unwrap_or(0).saturating_sub(quiet)).saturating_add(sent),
        match sent {
            0 => ("received RST", "received RSTs"),
            _ => ("RST", "RSTs"),
        },
    );
    let stood = stood.into_iter().chain(under_way);
    let ended = failures
        .into_iter()
        .chain(o.scans.iter().map(scan))
        .chain(resets)
        .chain(complete.map(|c| c.0));
    // What is well stands behind what is not.
    let well = tone != Tone::Ok && !slow(o) && o.delayed == 0;
    let said: Vec<String> = match well {
        true => ended.chain(stood).collect(),
        false => stood.chain(ended).collect(),
    };
    let sentence = match said.is_empty() {
        true => "No connection was opened by this host, none was reset.".into(),
        false => format!("{}.", said.join("; ")),
    };
    let causes: Vec<String> = causes.iter().map(|c| format!("{}.", capital(c))).collect();
    let parts = match well {
        true => [causes, vec![sentence]],
        false => [vec![sentence], causes],
    };
    (tone, parts.concat().join(" "))
}

/// What has a name.
fn causes(o: &Opens) -> Vec<String> {
    let own = super::refuses::causes(o).into_iter().chain(super::limited::causes(o));
    own.chain(listens::causes(o))
        .chain(super::cut_off::causes(o))
        .chain(accepts::causes(o))
        .chain(full_queues::causes(o))
        .chain(super::left_full::causes(o))
        .chain(instead::causes(o))
        .chain(handshakes::causes(o))
        .chain(super::resets::causes(o))
        .chain(super::closes::causes(o))
        .collect()
}

/// What is said of it first has a name. Where drops have one by themselves, that attempts met them is what follows.
pub(super) fn names_cause(o: &Opens, drops: bool) -> bool {
    let named = |f: &Failed| attempts::named(f, &o.failed) && !(drops && f.shut.is_some());
    let first = || o.failed.iter().filter(|f| !instead::told(o, f)).any(named);
    !causes(o).is_empty() || first() || o.delayed > 0 && o.paws_timewait.is_some() && slow(o)
}

/// The first `n` of them, and how many more there are.
fn named(n: usize, of: impl Iterator<Item = (String, u64)>, all: u64, (one, many): (&str, &str)) -> Vec<String> {
    let first: Vec<(String, u64)> = of.take(n).collect();
    let more = all.saturating_sub(first.iter().map(|f| f.1).sum());
    let mut said: Vec<String> = first.into_iter().map(|f| f.0).collect();
    if more > 0 && !said.is_empty() {
        said.push(format!("{} more", counted(more, one, many)));
    }
    said
}

/// All that is worth a look is one connection that ended by a RST, as many do.
pub(super) fn one_reset(o: &Opens) -> bool {
    let resets = o.resets.iter().filter(|r| r.received && !r.complete || unread(r));
    let between = o.resets.iter().any(not_by_peer);
    !between && o.failed.is_empty() && o.scans.is_empty() && !slow(o) && resets.map(|r| r.resets).sum::<u64>() == 1
}

/// All attempts that failed are such as nobody is known to have waited for, and nothing else would be said of it first.
pub(super) fn noise(o: &Opens) -> bool {
    let mut failed = o.failed.iter().filter(|f| !f.to.is_empty());
    failed.all(nobodys) && !o.failed.is_empty() && causes(o).is_empty() && !slow(o) && !o.resets.iter().any(not_by_peer)
}

/// Where the slowest was opened to, where that is another end than the one of attempts that never left this host for want of a port: nothing of these slowed it.
fn slow_elsewhere<'o>(o: &'o Opens, worst: Option<&Failed>) -> Option<&'o str> {
    let failed = worst.filter(|f| f.end == "no_port" && unmeant(f))?;
    let slowest = o.slowest.iter().find(|s| s.id.is_some() && s.id == o.setup_worst)?;
    (slow(o) && causes(o).is_empty() && slowest.to != failed.to).then_some(slowest.to.as_str())
}

/// What is worth a look, for the head of the page: what went wrong, else what was slow.
pub(super) fn headline(o: &Opens) -> String {
    let others = || o.failed.iter().filter(|f| !instead::told(o, f));
    let worst = others()
        .find(|f| attempts::named(f, &o.failed))
        .or(others().find(|f| unmeant(f)));
    let named = || others().filter(|f| !f.to.is_empty());
    let worst = worst.or(named().find(|f| !nobodys(f))).or(named().next());
    let between = o.resets.iter().find(|r| not_by_peer(r));
    let received = o.resets.iter().find(|r| r.received && !r.complete);
    let elsewhere = slow_elsewhere(o, worst);
    let slow = slow(o).then(|| {
        let again = delayed(o).map_or_else(String::new, |d| format!(", {d}"));
        let to = elsewhere.map_or_else(String::new, |to| format!(" (the slowest to {to})"));
        format!("connections took up to {} to open{again}{to}", or_dash(o.setup.max_ns))
    });
    let first = match (worst.filter(|f| unmeant(f)), between) {
        (Some(f), _) => Some(what(f)),
        (None, Some(r)) => Some(between_words(r)),
        (None, None) => None,
    };
    // One that is refused beside what is wrong, and that somebody may have missed.
    let told = |f: &Failed| worst.is_some_and(|w| std::ptr::eq(w, f));
    let again = |f: &Failed| f.twice.is_some() && worst.is_some_and(|w| w.twice == f.twice);
    let refused = others().find(|f| f.end == "refused" && !nobodys(f) && !told(f) && !again(f));
    let refused = refused.filter(|_| first.is_some()).map(what);
    let causes = causes(o).into_iter();
    let said = apart(causes.chain(first).chain(refused));
    match (said.is_empty(), slow, elsewhere) {
        (true, Some(slow), _) => return slow,
        (false, Some(slow), Some(_)) => return apart([said, slow]),
        (false, Some(slow), None) => return format!("{said}; {slow}"),
        (false, None, _) => return said,
        (true, None, _) => {}
    }
    let closed = || closed_before(o).map(|(said, _)| said);
    worst
        .map(what)
        .or(received.and_then(reset))
        .or_else(|| o.scans.first().map(scan))
        .or_else(closed)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyses::opens::Reset;

    #[test]
    fn one_reset_of_one_connection_is_minor() {
        let reset = |resets, received| Reset {
            received,
            sender: if received { "peer" } else { "here" },
            label: "10.0.0.1:80 > 10.0.0.2:40000".into(),
            reason: if received { "" } else { "TCP_ABORT_ON_DATA" }.into(),
            resets,
            first: None,
            first_ns: 0,
            sure: true,
            twin: false,
            listens: false,
            moved: vec![],
            flapped: 0,
            elsewhere: false,
            untranslated: String::new(),
            times: vec![],
            aborted: None,
            rejected: None,
            duration_ns: 0,
            complete: false,
            by: String::new(),
        };
        let of = |resets: &[Reset]| Opens {
            resets: resets.to_vec(),
            ..Opens::default()
        };
        assert!(one_reset(&of(&[reset(1, true)])));
        assert!(one_reset(&of(&[reset(1, false)])));
        assert!(!one_reset(&of(&[reset(1, true), reset(1, false)])));
        assert!(!one_reset(&of(&[reset(24, false)])));
        assert!(!one_reset(&of(&[])));
        // By neither end: somebody else's.
        let between = Reset {
            sender: "between",
            ..reset(1, true)
        };
        assert!(!one_reset(&of(&[between])));
    }
}
