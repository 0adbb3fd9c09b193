//! The verdict's line on received packets.

use super::sent::size;
use super::sentences::{capital, certainty, counted, duration, less_certain, or_dash, pick, speak, stands_out};
use super::turns::HELD_OFF;
use super::{RCVQ_NOTICE_NS, Tone, UNREAD_NOTICE_NS, UNTOLD_SHARE, readers};
use crate::analyses::application::HELD_OFF_NS;
use crate::analyses::receive::{Blamed, Holes, LowWater, Receive};
use crate::analyses::waits::StageTimes;
use crate::reconstruct::context::Part;
use crate::reconstruct::receive::tables::Stage;
use crate::reconstruct::thread::IDLE;

/// Tasks named that had the CPU for which packets waited, and readers of which that is told.
const NAMED: usize = 2;
/// Share of a run queue's time from which its reader is told apart.
const READER: f64 = 0.05;

/// So long something lay there that its reader's wait is a cause of its own, ns.
const WAITED_NS: i64 = 100_000_000;

/// One hole in so many units, or more, is worth a look.
const FEW_HOLES: u64 = 200;
/// Share of a run queue's time while the CPU idled that makes it that.
const MOSTLY: f64 = 0.5;

/// The stage with most of the time of the units that the sentence speaks of, and its share.
fn top(r: &Receive, sure: bool) -> Option<(&StageTimes, f64)> {
    let whole = pick(&r.total, sure).sum_ns;
    let stages = r.stages.iter().chain([&r.unattributed]);
    let top = stages.max_by_key(|s| pick(s, sure).sum_ns).filter(|_| whole > 0)?;
    let share = pick(top, sure).sum_ns as f64 / whole as f64;
    ((share * 100.0).round() >= 1.0).then_some((top, share))
}

/// The name of the stage with most of the time that the line speaks of.
pub(super) fn top_stage(r: &Receive) -> Option<&'static str> {
    Some(top(r, speak(&r.total))?.0.stage)
}

/// What a stage means, and who had most of it; of a run queue in which readers stood for long while their CPU idled, that.
fn meaning(r: &Receive, stage: &StageTimes) -> String {
    if let Some(said) = readers::words(r, stage.stage) {
        return said;
    }
    let kept = [Stage::OutOfOrder.name(), Stage::Ready.name()].contains(&stage.stage);
    if let Some(of) = r.low_water.as_ref().filter(|_| kept) {
        return low_water(of);
    }
    let of = || r.blamed.iter().filter(|b| b.stage == stage.stage);
    let idle = || of().filter(|b| b.part == Part::Idle.word() && stage.stage == Stage::RunQueue.name());
    let (ns, units) = (sum(idle()), idle().map(|b| b.units).sum::<u64>());
    let long = ns / units.max(1) as i64 >= HELD_OFF_NS && ns as f64 >= MOSTLY * sum(of()) as f64;
    match long && ns > 0 {
        true => {
            let percent = ns as f64 * 100.0 / sum(of()).max(1) as f64;
            format!("reader runnable but not run, in {percent:.0} % of it {HELD_OFF}")
        }
        false => format!("{}{}", stage.meaning, who(r, stage)),
    }
}

/// Most of the time of what was received is that: it has a name, and what waits for its reader waits for it.
pub(super) fn kept_back(r: &Receive) -> bool {
    let kept = [Stage::OutOfOrder.name(), Stage::Ready.name()];
    let stage = top(r, speak(&r.total)).map(|(s, _)| s.stage);
    r.low_water.is_some() && stage.is_some_and(|s| kept.contains(&s))
}

/// `held back by TCP though nothing was missing: desk1/7 at 10.0.0.3:40000 is woken ...`
fn low_water(of: &LowWater) -> String {
    let task = match of.task.as_str() {
        "" => String::new(),
        task => format!("{task} at "),
    };
    format!(
        "held back by TCP, for p50 {} and up to {}, though nothing was missing: {task}{} is not woken for fewer bytes than it asked for (SO_RCVLOWAT, inferred)",
        duration(of.held_ns),
        duration(of.longest_ns),
        of.at
    )
}

/// Who had most of the CPU in a stage in which units wait for one, and in how much of all units' time there that was so; of a run queue
/// that several readers waited in, of each by itself; in which calls readers slept, where no kind of call is in the meaning. Empty in others.
fn who(r: &Receive, stage: &StageTimes) -> String {
    // The words for a sleep in one kind of call name it.
    let (asleep, in_one) = (Stage::ReaderAsleep, stage.meaning != Stage::ReaderAsleep.meaning());
    let of: Vec<&Blamed> = r
        .blamed
        .iter()
        .filter(|b| b.stage == stage.stage && !(in_one && b.stage == asleep.name()))
        .collect();
    let whole = sum(of.iter().copied());
    let readers = of.chunk_by(|a, b| a.reader == b.reader);
    let readers: Vec<&[&Blamed]> = readers.filter(|of| share(of, whole) >= READER).take(NAMED).collect();
    match readers.as_slice() {
        [_, _, ..] => {
            let each = readers.iter().enumerate().map(|(nth, of)| {
                let had = named(of);
                let behind = if had.is_empty() {
                    String::new()
                } else {
                    format!(", behind {had}")
                };
                let reader = of.first().map_or("", |b| b.reader.as_str());
                let of_it = if nth == 0 { " of it" } else { "" };
                format!("{reader} {:.0} %{of_it}{behind}", share(of, whole) * 100.0)
            });
            let each: Vec<String> = each.collect();
            format!(" ({})", each.join("; "))
        }
        _ => match named(&of) {
            had if had.is_empty() => had,
            // All of it is no most.
            had if had.ends_with(" in 100 %") && !had.contains(", ") => format!(" ({had} of it)"),
            had => format!(" (mostly {had} of it)"),
        },
    }
}

fn sum<'b>(of: impl Iterator<Item = &'b Blamed>) -> i64 {
    of.fold(0, |sum, b| sum.saturating_add(b.ns))
}

fn share(of: &[&Blamed], whole: i64) -> f64 {
    sum(of.iter().copied()) as f64 / whole.max(1) as f64
}

/// Tasks that had most, each with its share of all of these.
fn named(of: &[&Blamed]) -> String {
    let whole = sum(of.iter().copied());
    let mut by: Vec<(&str, i64)> = vec![];
    for b in of.iter().filter(|b| !b.who.is_empty()) {
        match by.iter_mut().find(|(who, _)| *who == b.who) {
            Some((_, ns)) => *ns = ns.saturating_add(b.ns),
            None => by.push((&b.who, b.ns)),
        }
    }
    by.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
    let percent = |ns: i64| ns as f64 * 100.0 / whole.max(1) as f64;
    let most = by.iter().filter(|(_, ns)| percent(*ns) >= 1.0).take(NAMED);
    let most: Vec<String> = most
        .map(|(who, ns)| match *who {
            IDLE => format!("nobody, as it idled, in {:.0} %", percent(*ns)),
            who => format!("{who} in {:.0} %", percent(*ns)),
        })
        .collect();
    most.join(", ")
}

/// A reader that makes far more calls than it need.
fn small_reads(r: &Receive) -> Option<String> {
    let s = r.small_reads.as_ref()?;
    Some(format!(
        "{} read {} per call (p50 of {} calls on {}) of packets that bring {} (p50)",
        s.task,
        counted(s.p50_bytes.into(), "byte", "bytes"),
        s.calls,
        s.label,
        counted(s.packet_bytes.into(), "byte", "bytes"),
    ))
}

/// Data that came behind something missing, on the connection with most time of that.
fn holes(r: &Receive) -> Option<String> {
    let h = r.holes.first()?;
    let of = format!(
        "{} by {}",
        size(i64::try_from(h.bytes).unwrap_or(i64::MAX)),
        counted(h.units, "unit", "units")
    );
    let more = match r.holes.len() - 1 {
        0 => String::new(),
        n => format!("; {} too", counted(n as u64, "other connection", "other connections")),
    };
    let rate = format!(", one in {} units", h.units / h.lost.max(h.late).max(1));
    let count = |n| counted(n, "hole", "holes");
    Some(match h.lost >= h.late {
        true => {
            let place = match (h.dropped, h.dropped_unknown) {
                (0, None) => "lost on the way to this host, or in it (what it drops was not recorded)".to_owned(),
                (n @ 1.., _) => format!(
                    "lost ({} dropped by this host, see drops)",
                    counted(n, "packet was", "packets were")
                ),
                (0, Some(n)) if n.saturating_mul(2) >= h.lost => format!(
                    "lost on the way to this host, or in it ({} dropped here and nothing tells whose, see drops and counters)",
                    counted(n, "packet was", "packets were")
                ),
                _ => "lost on the way to this host".to_owned(),
            };
            format!(
                "what came on {} ({of}) had {}{rate}, filled after p50 {}, a round trip or more later: {place} and sent again by the peer (inferred){more}",
                h.label,
                count(h.lost),
                or_dash(h.lost_p50_ns),
            )
        }
        false => format!(
            "what came on {} ({of}) had {}{rate}, filled sooner than within a round trip ({}): it came late or in another order (inferred){more}",
            h.label,
            count(h.late),
            duration(h.rtt_ns),
        ),
    })
}

/// Whether they are many for what came.
fn many_holes(r: &Receive) -> bool {
    let many = |h: &Holes| h.lost.max(h.late).saturating_mul(FEW_HOLES) >= h.units;
    r.holes.first().is_some_and(many)
}

/// What has a name.
pub(super) fn cause(r: &Receive) -> Option<String> {
    let uneven = || r.uneven.as_ref().map(super::uneven::words);
    small_reads(r)
        .or_else(uneven)
        .or_else(|| holes(r).filter(|_| many_holes(r)))
}

/// Most of it lay there for long because its reader waited for somebody who has a name.
pub(super) fn waited_for(r: &Receive) -> bool {
    let sure = speak(&r.total);
    let asleep = top(r, sure).is_some_and(|(s, _)| s.stage == Stage::ReaderAsleep.name());
    let long = pick(&r.total, sure).max_ns.is_some_and(|ns| ns >= WAITED_NS);
    long && asleep && (r.children.is_some() || r.asked_meanwhile.is_some())
}

/// Nothing but that readers waited for a CPU, and none of them long: whom that hurt says so of its answers.
pub(super) fn only_busy(r: &Receive) -> bool {
    let total = pick(&r.total, speak(&r.total));
    let short = total.max_ns.is_some_and(|ns| ns < UNREAD_NOTICE_NS);
    let waits = || top(r, speak(&r.total)).is_some_and(|(s, _)| s.stage == Stage::RunQueue.name());
    cause(r).is_none() && !stuck(r) && short && waits()
}

/// What is worth a look, for the head of the page.
pub(super) fn headline(r: &Receive) -> String {
    // That packets waited for the missing ones is said with these.
    let same = many_holes(r) && top(r, speak(&r.total)).is_some_and(|(s, _)| s.stage == Stage::OutOfOrder.name());
    let more = if same { String::new() } else { top_of(r) };
    match (cause(r), more) {
        (Some(cause), more) if more.is_empty() => cause,
        (Some(cause), more) => format!("{cause}; {more}"),
        (None, more) => more,
    }
}

/// `, 96 % of it those of redis-server/1043 at 10.60.0.30:6379`
fn reader(r: &Receive) -> String {
    let Some(of) = r.reader.as_ref() else {
        return String::new();
    };
    let who = match (of.task.as_str(), of.at.as_str()) {
        ("", at) => format!("at {at}"),
        (task, "") => format!("in {task}"),
        (task, at) => format!("in {task} at {at}"),
    };
    format!(" ({:.0} % of the total delay {who})", of.share * 100.0)
}

fn top_of(r: &Receive) -> String {
    let sure = speak(&r.total);
    let total = pick(&r.total, sure);
    match (r.read, top(r, sure)) {
        (1.., Some((stage, share))) if slow(r) => format!(
            "received packets took up to {}{} to be read{}, {:.0} % of the total delay: {}",
            or_dash(total.max_ns),
            certainty(sure),
            reader(r),
            share * 100.0,
            meaning(r, stage)
        ),
        (1.., _) if !r.lacks.is_empty() => "of received packets not all is known".into(),
        (1.., _) if stuck(r) => format!(
            "{} not seen read at the end, one for at least {}",
            counted(r.queued, "received packet was", "received packets were"),
            or_dash(r.unread_at_least_ns)
        ),
        // That nobody here reads is no news for the head of a page.
        (0, _) if r.lacks.is_empty() && r.queued + r.closed == 0 => String::new(),
        // That no stage has most of a short time is no news for the head of a page.
        (1.., _) if sure => String::new(),
        _ => super::sentences::first_words(&receive(r).1),
    }
}

/// Whether the packets, or one of them, took long to be read.
fn slow(r: &Receive) -> bool {
    let total = pick(&r.total, speak(&r.total));
    let late = |p99: Option<i64>| p99.is_some_and(|v| v >= RCVQ_NOTICE_NS);
    late(r.rcvq.solid.p99_ns) || late(total.p99_ns) || stands_out(total, UNREAD_NOTICE_NS)
}

/// Packets waited unread for long when the recording ended.
fn stuck(r: &Receive) -> bool {
    r.unread_at_least_ns.is_some_and(|ns| ns >= UNREAD_NOTICE_NS)
}

pub(super) fn receive(r: &Receive) -> (Tone, String) {
    let waits = match (r.queued, r.unread_at_least_ns) {
        (0, _) => String::new(),
        (n, Some(ns)) => format!("; {n} not seen read at the end, one for at least {}", duration(ns)),
        (n, None) => format!("; {n} not seen read at the end"),
    };
    let closed = match r.closed {
        0 => String::new(),
        1 => "; 1 not seen read until its socket was closed".into(),
        n => format!("; {n} not seen read until their sockets were closed"),
    };
    let waits = waits + &closed;
    let stuck = stuck(r);
    if r.read == 0 {
        if !r.lacks.is_empty() {
            let s = format!(
                "How long received packets waited for their reader is not known, because {}; {} processed{waits}.",
                r.lacks.join("; "),
                counted(r.protocol_only, "was", "were")
            );
            return (Tone::Unknown, s);
        }
        let s = format!(
            "No received packet was read by a task; {} processed{waits}.",
            counted(r.protocol_only, "was", "were")
        );
        return (Tone::Notice, s);
    }
    // Where few are sure, what is less so is said, and that it is.
    let sure = speak(&r.total);
    let total = pick(&r.total, sure);
    // Of the same units as the percentiles: `share` is of all, and the weak ones may be slow for another reason.
    let top = top(r, sure).map_or_else(String::new, |(s, share)| {
        format!("; {:.0} % of that time: {}", share * 100.0, meaning(r, s))
    });
    let weak = less_certain(&r.total, sure);
    let whose = match reader(r) {
        of if of.is_empty() || !slow(r) => String::new(),
        of => format!(";{}", of.trim_matches([')']).replacen('(', "", 1)),
    };
    let lacks = match r.lacks.is_empty() {
        true => String::new(),
        false => format!("; not all of them are here, because {}", r.lacks.join("; ")),
    };
    // Where most of the time is in no stage, the question is not answered.
    let in_none = total.sum_ns > 0 && pick(&r.unattributed, sure).sum_ns as f64 >= UNTOLD_SHARE * total.sum_ns as f64;
    let sentence = format!(
        "Received packets were read after p50 {}, p99 {}, max {} (n {}{whose}){top}{weak}{waits}{lacks}.",
        or_dash(total.p50_ns),
        or_dash(total.p99_ns),
        or_dash(total.max_ns),
        total.n,
    );
    // Short times are no news because less is certain of them.
    let doubtful = !sure && total.max_ns >= Some(RCVQ_NOTICE_NS);
    let notice = slow(r) || in_none || doubtful || stuck || !r.lacks.is_empty() || cause(r).is_some();
    let uneven = r.uneven.as_ref().map(super::uneven::words);
    let said = small_reads(r).into_iter().chain(uneven).chain(holes(r));
    let sentence = said.fold(sentence, |all, one| format!("{all} {}.", capital(&one)));
    (if notice { Tone::Notice } else { Tone::Ok }, sentence)
}
