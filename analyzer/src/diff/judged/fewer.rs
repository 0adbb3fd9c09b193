//! A service that asks another one far less often per answer, and answers sooner: then what is left of those requests are others, as are the packets that carry them, and their
//! longer times are nobody's harm, nor are those of a device by which far fewer packets come. What lies in no stage, where nothing else changed. And parts of answers that are shorter where the answers are not.
//!
//! In: judged metrics and rates, with what their units differ in; attempts to connect and requests by UDP that were refused. Out: the same, with what is worse called changed, where *all* that is worse is of this kind; else
//! nothing is touched, so that no harm of another kind hides behind it.

use super::compare::Metric;
use super::rates::Rate;
use crate::analyses::not_recorded;
use crate::diff::said::verdict::Outcome;
use crate::diff::servers::{answers::LEDGER, asks::Asks, clients::server_of};
use crate::diff::sides::options::Recording;
use crate::reconstruct::datagrams::tables::TurnEnd;
use crate::reconstruct::opens::tables::OpenEnd;

/// Requests per answer, after by before, at most.
const LESS: f64 = 0.5;
/// Two parts are alike within so many times.
const ALIKE: f64 = 2.0;
/// Ledgers of packets.
const PACKETS: [&str; 2] = ["rx", "tx"];
/// Datagrams and segments for ports that nobody has: who sends them asks nobody here, as long as no more of those that ask are refused.
const CLOSED_PORTS: &str = "drops.NO_SOCKET";
/// What tells of who was refused.
const EVENTS: [&str; 3] = [
    "sock:inet_sock_set_state",
    "tcp:tcp_send_reset",
    "sock:sock_send_length",
];

/// What lies in no stage, alone, is no harm to anyone.
pub(in crate::diff) fn in_no_stage(metrics: &mut [Metric], rates: &[Rate]) {
    let judged = |r: &Rate| matches!(r.outcome, Outcome::Worse | Outcome::Better);
    let other = |m: &Metric| match m.outcome {
        Outcome::Worse => m.which.stage != "unattributed",
        o => o == Outcome::Better,
    };
    if metrics.iter().any(other) || rates.iter().any(judged) {
        return;
    }
    changed(metrics);
}

/// Requests that lie unread less long, or a server that itself takes less long, alone: nobody is answered sooner.
pub(in crate::diff) fn in_part(metrics: &mut [Metric]) {
    let of = |m: &Metric| m.which.ledger == LEDGER && m.which.dev.is_none();
    let answers = metrics.iter().filter(|m| of(m) && m.which.stage == "response");
    let answers: Vec<(Option<String>, Outcome)> = answers.map(|m| (m.which.service.clone(), m.outcome)).collect();
    let same = |m: &Metric| {
        let own = answers.iter().find(|a| a.0 == m.which.service);
        own.is_some_and(|a| matches!(a.1, Outcome::Same | Outcome::Worse))
    };
    let part = |m: &&mut Metric| {
        m.outcome == Outcome::Better && of(m) && matches!(m.which.stage, "unread" | "turnaround") && same(m)
    };
    metrics
        .iter_mut()
        .filter(part)
        .for_each(|m| m.becomes_changed(Outcome::Better));
}

/// Calls changed what is worse.
fn changed(metrics: &mut [Metric]) {
    for m in metrics.iter_mut().filter(|m| m.outcome == Outcome::Worse) {
        m.becomes_changed(Outcome::Worse);
    }
}

/// Refused attempts to connect and requests by UDP of a side, RSTs sent for want of a socket, and its length, ns; `None`: that was not recorded, or not all of it.
fn refused(all: &[Recording<'_>]) -> Option<(u128, u128)> {
    let of = |r: &Recording<'_>| {
        if not_recorded(r.facts, &EVENTS).is_some() || !r.facts.gaps.is_empty() {
            return None;
        }
        let opens = r.facts.opens.iter();
        let opens = opens.filter(|o| o.end == OpenEnd::Refused && r.has(o.end_ns)).count();
        let turns = r.facts.udp_turns.iter();
        let turns = turns.filter(|t| t.end == TurnEnd::Refused && r.has(t.end_ns)).count();
        let long = u128::try_from(r.duration_ns()).unwrap_or(0);
        // Who asked may be no host of the recording.
        let resets = r.facts.resets.iter().filter(|x| !x.received && x.connection.is_none());
        let resets = resets.filter(|x| x.to.is_some() && r.has(x.time_ns)).count();
        Some((opens.saturating_add(turns).saturating_add(resets) as u128, long))
    };
    let add = |a: (u128, u128), b: (u128, u128)| (a.0.saturating_add(b.0), a.1.saturating_add(b.1));
    all.iter().map(of).try_fold((0, 0), |sum, of| Some(add(sum, of?)))
}

/// Whether more was refused in the same time after, or may have been: then somebody asked where nobody is any more.
pub(in crate::diff) fn refused_more(before: &[Recording<'_>], after: &[Recording<'_>]) -> bool {
    let more = refused(before).zip(refused(after));
    more.is_none_or(|((b, b_ns), (a, a_ns))| a.saturating_mul(b_ns) > b.saturating_mul(a_ns))
}

/// Whether it is worse, and harms someone.
pub(in crate::diff) fn harms(r: &Rate, refused_more: bool) -> bool {
    r.outcome == Outcome::Worse && (r.metric != CLOSED_PORTS || refused_more)
}

/// Whether units of a device became fewer as these requests did, for as many answers of who asks: they are what carries them.
fn as_much_less(m: &Metric, x: &Asks) -> bool {
    let per = |n: u64, answers: u64| n as f64 / answers.max(1) as f64;
    let units = per(m.after.n, x.after.answers) / per(m.before.n, x.before.answers).max(f64::MIN_POSITIVE);
    let asked = x.after.per_answer / x.before.per_answer.max(f64::MIN_POSITIVE);
    units <= LESS && units <= ALIKE * asked && units * ALIKE >= asked
}

/// Requests that are others.
pub(in crate::diff) fn moderate(metrics: &mut [Metric], rates: &mut [Rate], asks: &[Asks], refused_more: bool) {
    let better = |server: &str| {
        let of = |m: &&Metric| m.which.ledger == LEDGER && m.which.service.as_deref().map(server_of) == Some(server);
        let mut answers = metrics
            .iter()
            .filter(of)
            .filter(|m| m.which.stage == "response")
            .peekable();
        answers.peek().is_some() && answers.all(|m| m.outcome == Outcome::Better)
    };
    let less = asks
        .iter()
        .filter(|x| x.is_other() && x.after.per_answer <= LESS * x.before.per_answer);
    let less: Vec<&Asks> = less.filter(|x| better(&x.server)).collect();
    let fewer: Vec<String> = less.iter().map(|x| x.asked.clone()).collect();
    if fewer.is_empty() {
        return;
    }
    let mixed = |ledger: &str| metrics.iter().any(|m| m.which.ledger == ledger && m.mix.is_some());
    let packets = PACKETS.iter().any(|l| mixed(l));
    let explained = |m: &Metric| match m.which.ledger {
        LEDGER => {
            m.mix.is_some()
                && m.which
                    .service
                    .as_deref()
                    .is_some_and(|s| fewer.iter().any(|f| f == server_of(s)))
        }
        "rx" | "tx" => m.mix.is_some() || m.which.dev.is_some() && less.iter().any(|x| as_much_less(m, x)),
        "lifetime" => packets,
        _ => false,
    };
    let worse = |m: &&Metric| m.outcome == Outcome::Worse;
    if !metrics.iter().filter(worse).all(explained) || rates.iter().any(|r| harms(r, refused_more)) {
        return;
    }
    changed(metrics);
    for r in rates.iter_mut().filter(|r| r.outcome == Outcome::Worse) {
        r.outcome = Outcome::Changed;
    }
}
