//! What the line on requests and answers says of a server whose answers all take long, and of times in which one answered nobody.

use super::application::tone_of;
use super::doing::doing;
use super::sentences::{counted, duration, moment, or_dash};
use super::turns::{busy, place};
use super::{APPLICATION_NOTICE_NS, APPLICATION_ROWS, APPLICATION_STANDS_OUT, OUTLIER_NOTICE_NS, Tone};
use crate::analyses::application::{
    Apart, Application, Awaited, Kept, Metered, Opening, Released, Server, Slow, Stood,
};
use crate::reconstruct::thread::UNRECORDED;

/// Share that makes time this one's.
const MOSTLY: f64 = 0.5;
/// Of fewer answers a client is told apart only where the server was at rest.
const FEW: u64 = 10;
/// Standstills said one by one.
const TIMES: usize = 4;

/// Part of the time of these answers for which their threads were held up by what nobody means; `None`: by nothing of that kind.
fn held_up(w: &Slow, stood: bool) -> Option<f64> {
    if for_work(w) {
        return None;
    }
    if let Some(k) = &w.kept {
        return Some(k.n as f64 / k.of.max(1) as f64);
    }
    match (&w.waited, w.parts.first()) {
        (_, Some(most)) if !most.meant(stood) => Some(most.share),
        (Some(waited), _) => match (waited.kind, &waited.there) {
            ("answer", Some((_, did))) => (!did.meant(false)).then_some(waited.share * did.share),
            ("answer", None) => None,
            _ => Some(waited.share),
        },
        _ => None,
    }
}

/// The server whose answers all take long for no reason that may be meant, where that is more time than others' slow ones have.
pub(super) fn always(a: &Application) -> Option<(&Server, &Slow)> {
    let of = busy(a).into_iter().filter_map(|s| {
        let w = s.whole.as_ref().filter(|w| w.at == "server")?;
        let share = held_up(w, !s.stood.is_empty())? * w.share;
        Some((s, w, (w.sum_ns as f64 * share) as i64))
    });
    let (s, w, held_ns) = of.max_by_key(|of| of.2)?;
    let over = a
        .servers
        .iter()
        .filter(|o| o.server != s.server)
        .map(|o| o.over_ns)
        .max();
    (held_ns >= over.unwrap_or(0)).then_some((s, w))
}

/// Calls that sleep for a time.
pub(super) const TIMERS: [&str; 2] = ["nanosleep", "clock_nanosleep"];

/// Whether its threads slept by a timer, which is their own wish. In `epoll_wait` it may be for what it asked elsewhere, unseen.
fn by_its_own_wish(w: &Slow) -> bool {
    let call = |c: &str| TIMERS.contains(&c);
    let most = w.parts.first().filter(|p| p.state == "asleep_in" && p.share >= MOSTLY);
    w.at == "server" && w.waited.is_none() && most.is_some_and(|p| p.call.as_deref().is_some_and(call))
}

/// Of all answers; but those of a server that sleeps before each stand out from quick ones of others, and say nothing.
pub(super) fn tone_of_each(a: &Application, c: &Awaited, no_cpu: bool) -> Tone {
    let (waits, others): (Vec<&Server>, Vec<&Server>) = a
        .servers
        .iter()
        .partition(|s| s.whole.as_ref().is_some_and(by_its_own_wish) || consumers(s));
    let apart = |s: &Server| s.apart.iter().map(|c| c.n).sum::<u64>();
    let known: u64 = a.servers.iter().map(|s| s.response.n + apart(s)).sum();
    let alike = waits.is_empty() && a.servers.iter().all(|s| s.apart.is_empty());
    if alike || no_cpu || known != c.response.n {
        return tone_of(&c.response, no_cpu);
    }
    let of_each = a.servers.iter().filter(|s| !consumers(s));
    match differ(&others) || of_each.into_iter().any(|s| tone_of(&s.response, false) != Tone::Ok) {
        true => Tone::Notice,
        false => Tone::Ok,
    }
}

/// `all 79 answers from 10.41.9.10:8081 to 10.41.3.10 took long alike, p50 92.76 ms, max 109.68 ms (the others p50 10.49 ms), 99.9 % of it in the server: ...`
pub(super) fn apart(a: &Application) -> Vec<String> {
    let each: Vec<(&Server, &Apart)> = a
        .servers
        .iter()
        .flat_map(|s| s.apart.iter().map(move |c| (s, c)))
        .collect();
    let words = |(s, c): (&Server, &Apart)| {
        let whose = match c.server >= MOSTLY {
            true => {
                let doing = doing((&c.parts, &c.task), None, None, c.n);
                let poll = if c.n < FEW {
                    ", as for a long poll (inferred)"
                } else {
                    ""
                };
                format!("{:.1} % of it in the server: {doing}{poll}", c.server * 100.0)
            }
            false => format!(
                "{:.1} % of it on the way there and {:.1} % back, whose round trip TCP measured as {} (p50): a long way",
                c.there * 100.0,
                c.back * 100.0,
                or_dash(c.rtt_ns)
            ),
        };
        format!(
            "all {} answers from {} to {} took long alike, p50 {}, max {} (the others p50 {}), {whose}",
            c.n,
            s.server,
            c.client,
            duration(c.p50_ns),
            duration(c.max_ns),
            or_dash(s.response.p50_ns)
        )
    };
    let more = each.len().saturating_sub(TIMES);
    let more = (more > 0).then(|| format!("so did all of {}", counted(more as u64, "more client", "more clients")));
    each.into_iter().take(TIMES).map(words).chain(more).collect()
}

/// All that is slow of it waits for other clients; where nothing stands out, all of it.
pub(super) fn consumers(s: &Server) -> bool {
    let whole = || s.whole.as_ref().is_some_and(for_work);
    s.slow.iter().all(for_work) && (!s.slow.is_empty() || whole())
}

/// Whether answers of some of these stand out from those of the quickest.
fn differ(servers: &[&Server]) -> bool {
    // A few answers have no median to speak of: what is slow of them counts as single answers do, by their part of all and by what took very long.
    let (many, few): (Vec<&Server>, Vec<&Server>) = servers.iter().partition(|s| s.response.n >= APPLICATION_ROWS);
    let least = |of: &[&Server]| of.iter().filter_map(|s| s.response.p50_ns).min();
    let Some(least) = least(&many).or_else(|| least(&few)) else {
        return false;
    };
    let out = |ns: Option<i64>, notice: i64| {
        ns.is_some_and(|ns| ns >= notice && ns >= least.saturating_mul(APPLICATION_STANDS_OUT))
    };
    let slow = |s: &&&Server| out(s.response.p50_ns, APPLICATION_NOTICE_NS);
    let sum = |n: u64, s: &&Server| n.saturating_add(s.response.n);
    let all = servers.iter().fold(0, sum);
    let late = few.iter().filter(slow).fold(0, sum);
    many.iter().any(|s| slow(&s))
        || all >= APPLICATION_ROWS && late.saturating_mul(100) >= all && late > 0
        || few.iter().any(|s| out(s.response.max_ns, OUTLIER_NOTICE_NS))
}

/// `answers from 10.60.0.30:6379 took p50 90.77 ms, max 383.51 ms (n 176), 99.8 % of it in the server: ...`
pub(super) fn all_late(a: &Application) -> Option<String> {
    let (s, w) = always(a)?;
    let which = match w.n == s.response.n {
        true => String::new(),
        false => format!("of {} of them ", w.n),
    };
    Some(format!(
        "answers from {} took p50 {}, max {} (n {}), {which}{}{}{}",
        s.server,
        or_dash(s.response.p50_ns),
        or_dash(s.response.max_ns),
        s.response.n,
        place(w),
        standstills(s),
        all_at_once(s, w),
    ))
}

/// `; it answered nobody 3 times, for 1.065 s to 1.510 s (at 1.209 s, ...), while up to 8 requests waited`
pub(super) fn standstills(s: &Server) -> String {
    let stood: Vec<&Stood> = s.stood.iter().collect();
    let length = |s: &&&Stood| s.to_ns.saturating_sub(s.from_ns);
    let (Some(least), Some(most)) = (
        stood.iter().map(|s| length(&s)).min(),
        stood.iter().map(|s| length(&s)).max(),
    ) else {
        return String::new();
    };
    let at: Vec<String> = stood.iter().take(TIMES).map(|s| moment(s.from_ns)).collect();
    let more = if stood.len() > TIMES { ", ..." } else { "" };
    let waiting = stood.iter().map(|s| s.waiting).max().unwrap_or(0);
    let how = match stood.len() {
        1 => format!("for {} at {}", duration(most), at.concat()),
        n => format!(
            "{n} times, for {} to {} (at {}{more})",
            duration(least),
            duration(most),
            at.join(", ")
        ),
    };
    // Of a server that was not seen, an answer may be lost on its way.
    let nobody = match s.paired == 0 {
        true => "no answer came from it",
        false => "it answered nobody",
    };
    format!(
        "; {nobody} {how}, while up to {} waited",
        counted(waiting, "request", "requests")
    )
}

/// Whether it waited for what another client brings, as who asks for it means it to.
pub(super) fn for_work(w: &Slow) -> bool {
    w.at == "server" && w.for_work.is_some()
}

/// `; 85 of 89 lay unread until one of 24 threads (apache2) was free: each kept its last connection, without a request, for p50 5.005 s, ...`
fn kept_words(k: &Kept) -> String {
    let which = match k.n == k.of {
        true => "all of these".to_owned(),
        false => format!("{} of {}", k.n, k.of),
    };
    let closed = match k.timeout {
        true => "then closed it (its own keep-alive time-out, inferred)",
        false => "until it was closed",
    };
    format!(
        "; {which} lay unread until {} ({}) was free: each kept its last connection, without a request, for p50 {}, {closed}",
        match k.threads {
            1 => "the one thread".to_owned(),
            n => format!("one of {n} threads"),
        },
        k.task,
        duration(k.kept_ns)
    )
}

/// `, until a request of orders came (194 of 194): they wait for what others bring, as a queue's consumers do (inferred)`
fn work_words(w: &Slow) -> String {
    let Some(f) = w.for_work.as_ref() else {
        return String::new();
    };
    let whose = match f.client.as_str() {
        "" => String::new(),
        task => format!(" of {task}"),
    };
    let others = f
        .timeout_ns
        .map_or_else(String::new, |ns| format!(", the others for {}", duration(ns)));
    format!(
        ", {} of {} until another client's request{whose} came{others}: they wait for what others bring, as consumers of a queue do (inferred)",
        f.n, f.of
    )
}

/// `; those to 192.0.2.50 (413) leave one every 50.1 ms (20.0 a second), while its other clients have theirs after p50 5.6 ms (n 236): ...`
fn metered(m: &Metered) -> String {
    format!(
        "; those to {} ({}) leave one every {} ({:.1} a second), while its other clients have theirs after p50 {} (n {}): it holds back the requests of that address at a pace of its own, as a rate limit does (inferred)",
        m.client,
        m.n,
        duration(m.each_ns),
        1e9 / m.each_ns.max(1) as f64,
        duration(m.others_p50_ns),
        m.others
    )
}

/// `; 4 of these waited while their thread tried to connect to 10.44.2.22:8080, which had no answer (for 3.001 s at most)`
fn opening(o: &Opening) -> String {
    let which = match o.n == o.of {
        true => "all of these".to_owned(),
        false => format!("{} of these", o.n),
    };
    let came = match o.end {
        "refused" => "was refused",
        "unreachable" => "was told that it cannot be reached",
        _ => "had no answer",
    };
    format!(
        "; {which} waited while their thread tried to connect to {}, and {came} (for {} at most; inferred)",
        o.to,
        duration(o.longest_ns)
    )
}

/// Half of them were handed on by others that had waited: as a lock is.
pub(super) fn handed(r: &Released) -> bool {
    r.handed.saturating_mul(2) >= r.n
}

/// `; 27 of them ended when postgres/24010 answered 3 requests of psql at 10.0.0.3:40000, 1.29 s (median) after its previous answer: ...`
pub(super) fn released(slow: &Slow) -> String {
    if let Some(k) = &slow.kept {
        return kept_words(k);
    }
    if let Some(m) = &slow.metered {
        return metered(m);
    }
    if let Some(o) = &slow.opening {
        return opening(o);
    }
    let Some(r) = &slow.released else {
        return work_words(slow);
    };
    let which = match r.n == slow.n {
        true => "all of these".to_owned(),
        false => format!("{} of these", r.n),
    };
    released_by(r, &which)
}

/// `; all of these waited until ...`
pub(in crate::analyses) fn released_by(r: &Released, which: &str) -> String {
    let requests = match r.requests {
        1 => "a request".to_owned(),
        n => format!("{n} requests"),
    };
    let median = if r.requests == 1 { "" } else { " (median)" };
    let held = match handed(r) {
        true => ": a lock it held meanwhile, as an open transaction does (inferred)",
        false => ": a lock it held meanwhile, or what these requests brought (inferred)",
    };
    let meanwhile = r.meanwhile.as_ref().map_or_else(String::new, |(to, share)| {
        format!(", {:.0} % of which it waited for the answer from {to}", share * 100.0)
    });
    let idle = r.idle_ns.filter(|ns| *ns >= APPLICATION_NOTICE_NS);
    let idle = idle.map_or_else(String::new, |ns| {
        format!(", {}{median} after its previous answer{meanwhile}{held}", duration(ns))
    });
    format!(
        "; {which} waited until {} answered {requests} of {}{idle}",
        r.by, r.client
    )
}

/// All threads that should have answered asleep at once, for no call that is recorded.
pub(super) fn all_at_once(s: &Server, slow: &Slow) -> &'static str {
    let lock = slow
        .parts
        .first()
        .is_some_and(|p| p.state == "asleep_in" && p.call.as_deref() == Some(UNRECORDED) && p.share >= MOSTLY);
    // Of standstills that are far shorter than these answers it is no reason.
    let longest = s.stood.iter().map(|t| t.to_ns.saturating_sub(t.from_ns)).max();
    let lock = lock && longest.is_some_and(|ns| ns.saturating_mul(2) >= slow.p50_ns);
    // Where it is known what the last of them waited for, nothing is to be guessed.
    let told = slow.parts.iter().any(|p| p.waker_held.is_some());
    match (!s.stood.is_empty() && lock && slow.task.1 < MOSTLY, told) {
        (true, false) => {
            ": all threads that answer stalled together, as in a garbage collection or behind one lock (inferred)"
        }
        (true, true) => ": all threads that answer stalled together",
        (false, _) => "",
    }
}
