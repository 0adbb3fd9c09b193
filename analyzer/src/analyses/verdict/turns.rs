//! What the line on requests and answers says of servers and threads one by one: where most of the time over the median is, who waited
//! behind whom, and what those that ask did themselves.

use super::acknowledged::acknowledged;
use super::always::{all_at_once, all_late, always, consumers, standstills};
use super::application::tone_of;
use super::awaited_end::awaited_end;
use super::awaited_peer::awaited_peer;
use super::behind;
use super::doing::doing;
use super::itself::itself;
use super::left_unread::left_unread;
use super::one_line::one_line;
use super::paused::paused;
use super::place::{let_go_too, place_words};
use super::replaced::replaced;
use super::sentences::{counted, duration, moment, or_dash};
use super::spells::{listed, shifted, spells, spells_or_all_along};
use super::waits_for_itself::waits_for_itself;
use super::{APPLICATION_NOTICE_NS, APPLICATION_ROWS, Tone};
use crate::analyses::application::{Application, Asker, HELD_OFF_NS, Limit, Server, Service, Slow, SlowTurns, Waited};
use crate::reconstruct::thread::IDLE;

/// Share that makes time this one's.
pub(super) const MOSTLY: f64 = 0.5;
/// Share of a server's time over the median from which slow answers of another place are said, too.
const OTHERS: f64 = 0.05;
/// Times by which medians of servers differ that one median does not speak for.
const DIFFER: i64 = 2;
/// Servers said one by one.
const SERVERS: usize = 3;
/// Share of the time in which a connection has a request under way, to be the one that others wait for.
const BUSY: f64 = 0.9;
/// Share of its time for which an asker was held off its CPU, worth a look, and that time, ns.
const HELD_OFF_SHARE: f64 = 0.2;
const HELD_OFF_LEAST_NS: i64 = 100_000_000;
/// Of a thread that was runnable for long while its CPU ran the idle task. Inferred: no event says why it was not run.
pub(super) const HELD_OFF: &str = "while its CPU was idle: its CPU quota (cgroup cpu.max), or it was frozen, or the hypervisor did not run that CPU (inferred)";

pub(super) fn share(part: i64, whole: i64) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// The service of this host with most time over its median, of those worth a look.
fn served(a: &Application) -> Option<(&Service, &SlowTurns)> {
    let noticed = a
        .services
        .iter()
        .filter(|s| s.turnaround.n >= APPLICATION_ROWS && tone_of(&s.turnaround, false) != Tone::Ok);
    let worst = noticed.rev().max_by_key(|s| s.over_ns)?;
    worst.slow.as_ref().map(|slow| (worst, slow))
}

/// `8 of 97 requests to 10.20.1.1:7613 were answered after p50 1.280 s (overall p50 3.75 ms), all from 1.677 s to 1.883 s: python3/191 ...`
pub(super) fn served_late(a: &Application) -> Option<String> {
    let (s, slow) = served(a)?;
    let doing = doing(
        (&slow.parts, &slow.task),
        slow.behind.as_ref(),
        slow.waited.as_ref(),
        slow.n,
    );
    let doing = if doing.is_empty() { doing } else { format!(": {doing}") };
    Some(format!(
        "{} of {} requests to {} were answered p50 {} after they were readable (overall p50 {}){}{doing}{}",
        slow.n,
        s.turnaround.n,
        s.server,
        duration(slow.p50_ns),
        or_dash(s.turnaround.p50_ns),
        spells(&slow.times, a.duration_ns),
        no_network(slow.waited.as_ref()),
    ))
}

/// Of turnarounds whose threads waited for nothing that comes over a network.
pub(super) fn no_network(waited: Option<&Waited>) -> &'static str {
    match waited {
        None => "; none of that is network time",
        Some(w) if w.kind == "others" => "; none of that is network time",
        Some(_) => "; none of that is network time towards those who asked",
    }
}

/// Those with enough answers.
pub(super) fn busy(a: &Application) -> Vec<&Server> {
    a.servers.iter().filter(|s| s.response.n >= APPLICATION_ROWS).collect()
}

/// The server to speak of: of those worth a look the one with most time over its median; none is: with most time over it of all, or
/// most time at all where one median does not speak for them.
pub(super) fn worst(a: &Application) -> Option<&Server> {
    let several = busy(a).len() > 1;
    let noticed = a
        .servers
        .iter()
        .filter(|s| several && !consumers(s) && tone_of(&s.response, false) != Tone::Ok);
    let noticed = noticed.rev().max_by_key(|s| s.over_ns);
    noticed
        .or_else(|| different(a).first().copied())
        .or_else(|| a.servers.iter().rev().max_by_key(|s| s.over_ns))
}

/// Its slow answers, where those of one place have most of that time and the slowest 1 % have not; of several servers whatever the
/// slowest 1 % have, since these may be of another.
pub(super) fn larger(a: &Application) -> Option<(&Server, &Slow)> {
    let s = worst(a).filter(|s| s.response.n >= APPLICATION_ROWS)?;
    let first = s.slow.first().filter(|first| first.at != "unknown")?;
    let most = share(first.over_ns, s.over_ns) >= MOSTLY && share(s.slowest_over_ns, s.over_ns) < MOSTLY;
    (most || busy(a).len() > 1).then_some((s, first))
}

/// Those waited for a lock that another's request held.
pub(super) fn for_a_lock(a: &Application) -> bool {
    larger(a).is_some_and(|(_, slow)| slow.released.as_ref().is_some_and(super::always::handed))
}

/// `99.9 % of it in the server: ...`
pub(super) fn place(s: &Slow) -> String {
    let share = s.share * 100.0;
    match s.at {
        "server" => {
            let doing = doing((&s.parts, &s.task), s.behind.as_ref(), s.waited.as_ref(), s.n);
            let doing = if doing.is_empty() { doing } else { format!(": {doing}") };
            format!("{share:.1} % of it in the server{doing}{}", super::always::released(s))
        }
        "there" => {
            let held = s.held.filter(|h| share_of(h.1, s) >= MOSTLY);
            let held = held.map(|h| format!(", held before the device by {}", h.0.replace('_', " ")));
            let held = held.unwrap_or_else(|| place_words(s.place.as_ref()));
            format!("{share:.1} % of it on the way there{held}")
        }
        "rest" => format!("{share:.1} % of it after their first byte"),
        _ => format!("{share:.1} % of it on the way back{}", place_words(s.place.as_ref())),
    }
}

/// `, all to 10.0.0.60, which had no others from there`
fn to_one(of: &Slow) -> String {
    let one = of.client.as_ref();
    one.map_or_else(String::new, |to| {
        format!(", all to {to}, which had no others from there")
    })
}

/// Of all the time of these answers.
fn share_of(ns: i64, s: &Slow) -> f64 {
    ns as f64 / (s.p50_ns.max(1) as f64 * s.n.max(1) as f64)
}

/// `55 of 223 answers from 10.9.2.2:7316 took p50 90.45 ms, ...; 4 others ...`
pub(super) fn most_of_it(a: &Application) -> Option<String> {
    if let Some(all) = all_late(a) {
        return Some(all);
    }
    let Some((s, first)) = larger(a) else {
        // Of several servers one that is not in the recording.
        return acknowledged(a).filter(|_| busy(a).len() > 1);
    };
    let others = s.slow.iter().skip(1);
    let others = others.filter(|o| o.at != "unknown" && share(o.over_ns, s.over_ns) >= OTHERS);
    let when = |of: &Slow| match &of.shift {
        Some(s) => shifted(s),
        None => spells_or_all_along(&of.times, a.duration_ns),
    };
    let others: Vec<String> = others
        .map(|o| {
            let which = counted(o.n, "other", "others");
            format!("; {which} took p50 {}{}, {}", duration(o.p50_ns), when(o), place(o))
        })
        .collect();
    let all = match busy(a).len() > 1 {
        true => format!(" (overall p50 {})", or_dash(s.response.p50_ns)),
        false => String::new(),
    };
    let p50 = if first.n == 1 { "" } else { "p50 " };
    let of_all = s.response.p50_ns.unwrap_or(0);
    let alike = of_all >= APPLICATION_NOTICE_NS && of_all.saturating_mul(2) >= first.p50_ns && first.n < s.response.n;
    let which = match alike {
        // The slowest of answers that all take long are no exception.
        true => format!(
            "answers from {} took p50 {}, max {} (n {}); {} of the slowest {p50}{}{}",
            s.server,
            duration(of_all),
            or_dash(s.response.max_ns),
            s.response.n,
            first.n,
            duration(first.p50_ns),
            when(first),
        ),
        false => format!(
            "{} of {} answers from {} took {p50}{}{all}{}{}",
            first.n,
            s.response.n,
            s.server,
            duration(first.p50_ns),
            when(first),
            to_one(first),
        ),
    };
    // Answers that were on their way came to nobody either.
    let own = |said: String| if first.at == "server" { said } else { String::new() };
    Some(format!(
        "{which}, {}{}{}{}{}",
        place(first),
        let_go_too(a, (s, first)),
        others.concat(),
        own(standstills(s)),
        own(all_at_once(s, first).to_owned()),
    ))
}

/// Servers whose medians differ so that one does not speak for them: most time first.
fn different(a: &Application) -> Vec<&Server> {
    let of = busy(a);
    let p50 = || of.iter().filter_map(|s| s.response.p50_ns);
    match (p50().min(), p50().max()) {
        (Some(least), Some(most)) if most >= APPLICATION_NOTICE_NS && most >= least.max(1).saturating_mul(DIFFER) => of,
        _ => vec![],
    }
}

/// `10.9.1.1:7313 p50 39.62 ms (n 366: 99.9 % of it in the server: python3/9 asleep in recvfrom 99 % of it), 10.9.2.2:7363 p50 8.28 ms (n 366)`
pub(super) fn by_server(a: &Application) -> Option<String> {
    let of = different(a);
    // Of one whose answers are spoken of as a whole the sentence after this one says it.
    let spoken = always(a).map(|(s, _)| s.server.as_str());
    let each = of.iter().take(SERVERS).map(|s| {
        let whole = s
            .whole
            .as_ref()
            .filter(|w| w.at != "unknown" && spoken != Some(&s.server));
        let whole = whole.map_or_else(String::new, |w| format!(": {}", place(w)));
        format!(
            "{} p50 {} (n {}{whole})",
            s.server,
            or_dash(s.response.p50_ns),
            s.response.n
        )
    });
    let each: Vec<String> = each.collect();
    let more = match of.len().saturating_sub(SERVERS) {
        0 => String::new(),
        n => format!(" and {}", counted(n as u64, "more server", "more servers")),
    };
    (!each.is_empty()).then(|| format!("{}{more}", each.join(", ")))
}

/// `answers from 10.9.1.1:7313 took p50 39.62 ms, max 48.74 ms`, where what is known of all servers' answers is not of this one.
pub(super) fn of_one(a: &Application) -> Option<String> {
    let s = worst(a).filter(|_| busy(a).len() > 1)?;
    let whole = s.whole.as_ref().filter(|w| w.at != "unknown");
    Some(format!(
        "answers from {} took p50 {}, max {}{}",
        s.server,
        or_dash(s.response.p50_ns),
        or_dash(s.response.max_ns),
        whole.map_or_else(String::new, |w| format!(", {}", place(w)))
    ))
}

/// A server to which all requests go over one connection that threads share, while threads wait for one another.
fn shared(a: &Application) -> Option<&Server> {
    let waits = a.answered.as_ref().and_then(|s| s.slowest_parts.first());
    waits.filter(|p| p.lock() && p.share >= MOSTLY)?;
    a.servers
        .iter()
        .find(|s| s.connections == 1 && s.threads > 1 && s.busy >= BUSY && s.response.n >= APPLICATION_ROWS)
}

fn shared_words(a: &Application, s: &Server) -> String {
    let waits = a.answered.as_ref().and_then(|s| s.slowest_parts.first());
    let waits = waits.map_or_else(String::new, |p| {
        let share = p.share * 100.0;
        format!(
            ", while the slowest turnarounds' threads were {} {share:.0} % of their time",
            p.words()
        )
    });
    let others = different(a).into_iter().find(|o| o.server != s.server);
    let others = others.map_or_else(String::new, |o| {
        let p50 = or_dash(o.response.p50_ns);
        format!(
            "; answers from {} took p50 {p50}, its own p50 {}",
            o.server,
            or_dash(s.response.p50_ns)
        )
    });
    format!(
        "all {} requests to {} went one after the other over one connection of {} threads, busy {:.0} % of the time{waits}{others}",
        s.response.n,
        s.server,
        s.threads,
        s.busy * 100.0
    )
}

/// `991 requests waited in haproxy for 29.8 ms each (...) while it had 2 to 172.20.0.11:8080 under way, nearly always as many: ...`
fn limit_words(l: &Limit) -> String {
    let each = l.servers.iter().take(SERVERS);
    let each: Vec<String> = each.map(|(server, n)| format!("{n} to {server}")).collect();
    let since = l.since.map_or_else(String::new, |(at, before)| {
        format!(" from {} on (up to {before} before)", moment(at))
    });
    format!(
        "{} requests waited in {} for {} each (mean, {:.0} % of their time there) while it had {} under way{since}, nearly always as many: a limit of its own (a pool, a maximum of connections, one fetch at a time; inferred){}",
        l.requests,
        l.task,
        duration(l.waited_ns),
        l.share * 100.0,
        listed(&each),
        l.holds.as_ref().map_or_else(String::new, super::kept::kept)
    )
}

/// An asker that was held off its CPU for long.
fn held_off(a: &Application) -> Option<&Asker> {
    let most = a.askers.iter().rev().max_by_key(|a| a.held_off_ns)?;
    let cycle = most.between_ns.saturating_add(most.awaiting_ns);
    let long = most.held_off_ns >= HELD_OFF_LEAST_NS && share(most.held_off_ns, cycle) >= HELD_OFF_SHARE;
    long.then_some(most)
}

/// What an asker did itself between answers and its next requests, where that is most of its time and not asleep.
fn busy_itself(a: &Application) -> Option<String> {
    let asker = a.askers.first().filter(|a| a.turns >= APPLICATION_ROWS)?;
    let cycle = asker.between_ns.saturating_add(asker.awaiting_ns);
    let most = asker.parts.first().filter(|p| share(p.ns, cycle) >= MOSTLY)?;
    let did = match most.state {
        "running" => "ran",
        "run_queue" => "waited for a CPU",
        _ => return None,
    };
    (most.ns >= HELD_OFF_LEAST_NS).then(|| {
        format!(
            "between answers and its next requests {} {did} for {} of the {} that both took",
            asker.task,
            duration(most.ns),
            duration(cycle)
        )
    })
}

fn held_off_words(a: &Asker) -> String {
    format!(
        "between answers and its next requests {} was runnable but not run for {} of {}, {HELD_OFF}",
        a.task,
        duration(a.held_off_ns),
        duration(a.between_ns)
    )
}

/// What is worth a look whatever single answers took.
pub(super) fn causes(a: &Application) -> Vec<String> {
    let gone = a.replaced.as_ref();
    let queue = behind::queue(a).map(behind::queue_words);
    let shared = shared(a).map(|s| shared_words(a, s));
    let held = held_off(a).map(held_off_words);
    // One connection that all share is such a limit.
    let limit = a.limits.first().filter(|_| shared.is_none()).map(limit_words);
    let line = a.one_line.as_ref().map(one_line);
    let peer = a.awaited_peer.as_ref().map(awaited_peer);
    let all = [
        a.waits_for_itself.as_ref().map(waits_for_itself),
        a.left_unread.as_ref().map(left_unread),
        peer,
        a.awaited_end.as_ref().map(awaited_end),
        gone.map(replaced),
        itself(a),
        paused(a),
        line,
        held,
        queue,
        shared,
        limit,
    ];
    all.into_iter().flatten().collect()
}

/// Those, and what is no news for the head of a page.
pub(super) fn of_threads(a: &Application) -> Vec<String> {
    let mut all = causes(a);
    if held_off(a).is_none() {
        all.extend(busy_itself(a));
    }
    all
}

/// Who ran while threads were runnable, and how their wait is called then.
pub(super) fn runnable(behind: &str, mean_ns: i64, part: f64) -> (&'static str, String) {
    match behind {
        IDLE if mean_ns >= HELD_OFF_NS && part < MOSTLY => {
            let part = part * 100.0;
            ("runnable but not run", format!(", {part:.0} % of that {HELD_OFF}"))
        }
        IDLE if mean_ns >= HELD_OFF_NS => ("runnable but not run", format!(", mostly {HELD_OFF}")),
        IDLE => ("waiting for a CPU", ", mostly while that CPU idled".into()),
        who => ("waiting for a CPU", format!(", mostly behind {who}")),
    }
}
