//! What the line on UDP says of answers that came late, and of questions one after the other before a call.

use super::OUTLIER_NOTICE_NS;
use super::evidence::slowest;
use super::sentences::{counted, duration, or_dash};
use crate::analyses::datagrams::{AtServer, Chains, Datagrams, Questions, SLOW_NS, SLOW_TIMES};
use crate::stat::Distribution;

/// Fewest calls, answers, and answers that are slow, that are told.
const CALLS: u64 = 3;
const ANSWERS: u64 = 5;
const FEW_SLOW: u64 = 3;
/// Questions one after the other that are many, and their time, ns; of fewer the time must be [`LONG_NS`].
const MANY: u64 = 3;
const MANY_NS: i64 = 10_000_000;
const LONG_NS: i64 = 50_000_000;
/// Parts of the time of answers: most of it, hardly any.
const HALF: f64 = 0.5;
const HARDLY: f64 = 0.1;

/// How the name of a call begins that is an answer.
const ANSWER: &str = "answer ";

/// A place to which questions went.
fn place(q: &Questions) -> String {
    match (q.to.as_str(), q.holder.as_str()) {
        ("", "") => "an address that is not recorded".into(),
        ("", holder) => format!("a socket of {holder} (its address is not recorded)"),
        (to, _) => super::datagrams::address(to),
    }
}

fn p50(of: &Distribution) -> String {
    format!("p50 {}", or_dash(of.p50_ns))
}

/// Where most of that passed, where a server of this recording had it.
fn at_server(q: &Questions) -> Option<String> {
    let s: &AtServer = q.server.as_ref()?;
    // By sums: where a few of many took long, no median is of these.
    let share = |of: &Distribution| of.sum_ns as f64 / q.response.sum_ns.max(1) as f64;
    // Of most of that time nothing is known.
    if s.of_ns.saturating_mul(2) < q.response.sum_ns {
        return None;
    }
    let said = |of: &Distribution, wh: String| {
        let (p50, max) = (or_dash(of.p50_ns), or_dash(of.max_ns));
        format!("{:.0} % of that {wh} (p50 {p50}, max {max})", share(of) * 100.0)
    };
    let who = if q.holder.is_empty() { "the server" } else { &q.holder };
    if share(&s.work) >= HALF {
        return Some(said(&s.work, format!("between the read and the answer of {who}")));
    }
    if share(&s.unread) >= HALF {
        return Some(said(&s.unread, format!("unread in the queue of {who}")));
    }
    (share(&s.work) + share(&s.unread) <= HARDLY)
        .then(|| format!("hardly any of that at {who}, which had it on this host"))
}

/// Most of that passed at home.
fn parked(q: &Questions) -> Option<String> {
    let share = q.parked_ns as f64 / q.response.sum_ns.max(1) as f64;
    (share >= HALF).then(|| {
        format!(
            "{:.0} % of that they were parked at home, until the link-layer address of their next hop was resolved (ARP, neighbour discovery)",
            share * 100.0
        )
    })
}

/// ` (DNS)`, by the port.
fn dns(q: &Questions) -> &'static str {
    match q.to.ends_with(":53") {
        true => " (DNS)",
        false => "",
    }
}

/// Questions that a call waited for, longer than for itself.
fn matters(c: &Chains) -> bool {
    let took = c.took.p50_ns.unwrap_or(0);
    let many = c.questions >= MANY && took >= MANY_NS;
    // A request's time has that of the questions in it.
    let most = match c.then.starts_with(ANSWER) {
        true => c.took.sum_ns.saturating_mul(2) >= c.call.sum_ns,
        false => c.took.sum_ns >= c.call.sum_ns,
    };
    c.calls >= CALLS && (many || took >= LONG_NS) && most
}

fn chain(q: &Questions) -> Option<String> {
    let c = q.chains.as_ref().filter(|c| matters(c))?;
    let asked = match c.most_questions {
        1 => String::new(),
        most if most > c.questions => format!(" p50 {}, at most {most} times, one after the other", c.questions),
        n => format!(" {n} times, one after the other"),
    };
    // Where a few have most of it, the median of each says nothing of all.
    let alike = i64::try_from(c.questions).unwrap_or(i64::MAX);
    let alike = alike.saturating_mul(q.response.p50_ns.unwrap_or(0)).saturating_mul(2) >= c.took.p50_ns.unwrap_or(0);
    let each = match c.most_questions {
        1 => String::new(),
        _ if alike => format!(", {} each", p50(&q.response)),
        _ => slow_ones(q).map_or_else(String::new, |slow| format!(", {slow}")),
    };
    let (kind, to) = c.then.split_once(' ').unwrap_or((&c.then, ""));
    let of_it = match c.then.starts_with(ANSWER) {
        true => format!("of {} from the request to that answer", p50(&c.call)),
        false => format!("the {kind} itself {}", p50(&c.call)),
    };
    Some(format!(
        "before {} {to}, {} asked {} by UDP{}{asked}: that took {} together{each}, {of_it}",
        counted(c.calls, kind, &format!("{kind}s")),
        q.task,
        place(q),
        dns(q),
        p50(&c.took),
    ))
}

/// From which on an answer is slow.
fn least_of_slow(q: &Questions) -> i64 {
    q.response.p50_ns.unwrap_or(0).saturating_mul(SLOW_TIMES).max(SLOW_NS)
}

fn slow_ones(q: &Questions) -> Option<String> {
    let least = duration(least_of_slow(q));
    (q.slow > 0).then(|| format!("{} of {} answers {least} or longer", q.slow, q.response.n))
}

fn slow(q: &Questions) -> Option<String> {
    let n = q.response.n;
    let all = n >= ANSWERS && q.response.p50_ns.unwrap_or(0) >= OUTLIER_NOTICE_NS;
    if all {
        return Some(format!(
            "UDP answers from {} to {} came {} after the question (n {n}, max {})",
            place(q),
            q.task,
            p50(&q.response),
            or_dash(q.response.max_ns)
        ));
    }
    (q.slow >= FEW_SLOW && n >= ANSWERS).then(|| {
        format!(
            "{} of {n} UDP answers from {} to {} came {} or longer after the question ({}, max {})",
            q.slow,
            place(q),
            q.task,
            duration(least_of_slow(q)),
            p50(&q.response),
            or_dash(q.response.max_ns)
        )
    })
}

/// Whether late answers are what the line on UDP begins with.
pub(super) fn name_the_cause(d: &Datagrams) -> bool {
    d.in_vain.is_empty() && !late(d).is_empty()
}

/// What is worth a look, one of each kind.
pub(super) fn late(d: &Datagrams) -> Vec<String> {
    let with_server = |q: &Questions, said: String| {
        let asked = (!q.waited_for.is_empty()).then(|| {
            let who = if q.holder.is_empty() { "the server" } else { &q.holder };
            format!(
                "most of that time {who} itself waited for the UDP answer from {}",
                q.waited_for
            )
        });
        let where_it_was = parked(q).or_else(|| at_server(q));
        let more = [where_it_was, asked, slowest(q.worst)].into_iter().flatten();
        more.fold(said, |said, more| format!("{said}; {more}"))
    };
    let chained = d.answered.iter().filter(|q| q.chains.as_ref().is_some_and(matters));
    let chained = chained.max_by_key(|q| q.chains.as_ref().map(|c| c.took.sum_ns));
    let first = chained.and_then(|q| Some(with_server(q, chain(q)?)));
    // Not the same a second time.
    let others = d.answered.iter().filter(|q| chained.is_none_or(|c| *q != c));
    let second = others.clone().find_map(|q| Some(with_server(q, slow(q)?)));
    first.into_iter().chain(second).collect()
}
