//! What is said of requests that their client gave up.

use super::sentences::{counted, duration, or_dash, per_second};
use super::turns::worst;
use super::waited::chain;
use super::{acknowledged, incomplete, left_early};
use crate::analyses::application::{Application, GivenUp, GoneIdle};

/// Of a program's requests to a server one in so many is worth a word.
const ONE_IN: u64 = 100;
/// Fewest of which most is wrong.
const MANY: u64 = 10;
/// Share by which more connections a second were opened than before.
const MORE: f64 = 1.5;
/// Until the end: the last was closed at most so many waits before it.
const WAITS: i64 = 4;

/// The group with most of them that is worth a word.
fn first(a: &Application) -> Option<&GivenUp> {
    let worth = || a.given_up.iter().filter(|g| g.requests.saturating_mul(ONE_IN) >= g.of);
    let waited = || worth().filter(|g| !hedged(g) && !g.hasty);
    (waited().find(|g| !left_early::left(a, g)))
        .or_else(|| waited().next())
        .or_else(|| worth().find(|g| !hedged(g)))
        .or_else(|| worth().next())
}

/// `; that one waited for the answer from 10.0.0.9:7000 (...), p50 2.260 s`: what the server of these waited for, where it is asked on others' behalf.
fn behind(a: &Application, server: &str) -> String {
    let all = a.servers.iter().flat_map(|s| s.slow.iter().chain(&s.whole));
    let chains = all.filter_map(|s| s.waited.as_ref());
    let mut each = chains.flat_map(|w| std::iter::successors(Some(w), |w| w.next.as_deref()));
    let next = each.find_map(|w| w.next.as_deref().filter(|n| w.of == server && n.kind == "answer"));
    next.map_or_else(
        || answered(a, server).unwrap_or_default(),
        |n| {
            let p50 = a
                .servers
                .iter()
                .find(|s| s.server == n.of)
                .and_then(|s| s.response.p50_ns);
            let p50 = p50.map_or_else(String::new, |ns| format!(", p50 {} of all its answers", duration(ns)));
            format!(
                "; where it answers others it waited for the answer from {}{p50}, as here, most likely (inferred)",
                chain(n)
            )
        },
    )
}

/// `; 52 of its 157 answers, p50 2.371 s, waited for that of 10.0.0.9:8443; 19 of 39 answers from 10.0.0.9:8443 took p50 2.470 s, ...`: what those that it did
/// give waited for, and how late that was where its host had the questions soon.
fn answered(a: &Application, server: &str) -> Option<String> {
    let s = a.servers.iter().find(|s| s.server == server)?;
    let mut slow = s.slow.iter().chain(&s.whole);
    let (slow, w) = slow.find_map(|slow| Some((slow, slow.waited.as_ref().filter(|w| w.kind == "answer")?)))?;
    let last = std::iter::successors(Some(w), |w| w.next.as_deref().filter(|n| n.kind == "answer")).last()?;
    let theirs = a.servers.iter().find(|s| s.server == last.of);
    let late = theirs.and_then(|s| acknowledged::of(a, s));
    Some(format!(
        "; {} of its {} answers, p50 {}, waited for that of {}{}",
        slow.n,
        s.response.n,
        duration(slow.p50_ns),
        chain(w),
        late.map_or_else(String::new, |l| format!("; {l}"))
    ))
}

/// Share of them from which all were hedged.
const HEDGED: f64 = 0.8;

/// Whether its client means to: it asked another server, too, and took what came first.
pub(crate) fn hedged(g: &GivenUp) -> bool {
    g.requests > 0 && g.hedged as f64 >= HEDGED * g.requests as f64
}

/// Most requests of that program and server at that time were, and it had waited for them.
pub(super) fn most_given_up(a: &Application) -> bool {
    let most = |g: &GivenUp| g.requests >= MANY && g.requests.saturating_mul(2) > g.of;
    first(a).is_some_and(|g| !hedged(g) && !g.hasty && !left_early::left(a, g) && most(g))
}

/// It is known to have waited for them, or may have.
pub(super) fn names_cause(a: &Application) -> bool {
    first(a).is_some_and(|g| !left_early::left(a, g))
}

/// That something on the way forgot connections to the server of these.
pub(super) fn gone_idle(a: &Application) -> Option<&GoneIdle> {
    let g = first(a)?;
    a.gone_idle
        .as_ref()
        .filter(|idle| idle.to == g.server || a.unanswered.is_empty())
}

/// The server with most time over its median is that of these.
pub(super) fn of_the_given_up(a: &Application) -> bool {
    let of = first(a).zip(worst(a));
    of.is_some_and(|(g, s)| g.server == s.server)
}

/// The sentence, without its point.
pub(super) fn given_up(a: &Application) -> Option<String> {
    let g = first(a)?;
    let s = |ns: i64| format!("{:.1} s", ns as f64 / 1e9);
    let end = g
        .wait
        .p50_ns
        .unwrap_or(0)
        .saturating_mul(WAITS)
        .saturating_add(g.last_ns);
    let when = match end >= a.duration_ns {
        true => format!("from {} on", s(g.first_ns)),
        false => format!("from {} to {}", s(g.first_ns), s(g.last_ns)),
    };
    let left = left_early::how(g).filter(|_| left_early::left(a, g));
    let how = match g.timeout {
        _ if hedged(g) => format!(
            ", right when another server, which it had asked later, had answered ({} of them): hedged requests, the slower of which nobody waits for (inferred)",
            g.hedged
        ),
        _ if g.hasty => format!(
            " (it waited longer for {} that were answered: no time-out, it wanted these no more, as when somebody types on; inferred)",
            g.longer
        ),
        _ if left.is_some() => left.unwrap_or_default(),
        true => " (its own time-out, inferred: all alike)".to_owned(),
        false => format!(", max {}", or_dash(g.wait.max_ns)),
    };
    let task = match g.task.as_str() {
        "" => "a client",
        task => task,
    };
    let again = match (g.opened_before, g.opened_meanwhile) {
        _ if hedged(g) => String::new(),
        (Some(before), Some(meanwhile)) if before > 0.0 && meanwhile >= before * MORE => {
            let (before, meanwhile) = (per_second(before), per_second(meanwhile));
            format!("; it asked again: {before} connections a second before, {meanwhile} then")
        }
        _ => String::new(),
    };
    let later = match g.later {
        0 => String::new(),
        n if n == g.requests => "; all of them were answered later, when nobody was still waiting".into(),
        n => format!("; {n} of them were answered later, when nobody was still waiting"),
    };
    let of = match g.requests == g.of {
        true => format!("all {}", counted(g.of, "request", "requests")),
        false => format!("{} of {}", g.requests, counted(g.of, "request", "requests")),
    };
    let wait = g.wait.p50_ns.map_or_else(|| "-".into(), duration);
    let ended = match g.ended {
        None | Some(0) => String::new(),
        Some(1) if g.requests == 1 => ", and the thread that had asked then ended (exit or kill)".to_owned(),
        Some(n) if n == g.requests => ", and the threads that had asked then ended (exit or kill)".to_owned(),
        Some(n) => format!(", and {n} of the threads that had asked then ended (exit or kill)"),
    };
    let idle = gone_idle(a).map_or_else(String::new, incomplete::gone_idle);
    Some(format!(
        "{when} {task} gave up {of} to {} without an answer, closing their connections after p50 {wait}{how}{ended}{again}{later}{idle}{}",
        g.server,
        behind(a, &g.server)
    ))
}
