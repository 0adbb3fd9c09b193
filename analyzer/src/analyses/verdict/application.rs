//! The verdict's line on requests and answers: the network or the application?

use super::acknowledged::acknowledged;
use super::always::{always, apart, tone_of_each};
use super::doing::doing;
use super::evidence::with_worst;
use super::given_up::{given_up, most_given_up, of_the_given_up};
use super::incomplete::{Vain, both_ways, in_parts, silence, slow_parts, streams, unanswered};
use super::nature::nature;
use super::one::{of_whom, stood_still, when_slow};
use super::paths::NOT_RECORDED;
use super::place::place_words;
use super::sentences::{apart as bullets, capital, counted, duration, or_dash, stands_out, words};
use super::turns::{by_server, causes, larger, most_of_it, no_network, of_one, of_threads, served_late};
use super::waker::names_a_hold;
use super::{APPLICATION_NOTICE_NS, APPLICATION_ROWS, APPLICATION_STANDS_OUT, OUTLIER_NOTICE_NS, Tone, slow_ones};
use crate::analyses::application::{Answered, Application, Awaited};
use crate::stat::Distribution;

/// Share of the slowest requests' time that makes it this one's.
const MOSTLY: f64 = 0.5;

/// Longest answer of a recording in which answers are told last, ns.
const SMALL_NS: i64 = 10_000_000;

/// The line: the answers, those that came in parts, and requests without one.
pub(super) fn application(a: &Application) -> (Tone, String) {
    let (mut tone, sentence) = answers(a);
    let mut sentence = with_worst(sentence, a);
    if let Some(parts) = a.awaited.as_ref().and_then(in_parts) {
        sentence = format!("{} {parts}.", sentence);
        if tone == Tone::Ok && slow_parts(a) {
            tone = Tone::Notice;
        }
    }
    // What is not known of them stands here, and changes no tone.
    for said in [both_ways(a), streams(a)].into_iter().flatten() {
        sentence = format!("{sentence} {said}.");
    }
    for said in of_threads(a) {
        sentence = format!("{sentence} {}.", capital(&said));
    }
    if tone == Tone::Ok && !causes(a).is_empty() {
        tone = Tone::Notice;
    }
    // One client of several that is gone: who waits there is nobody of this recording.
    let gone = a.silence.as_ref().is_some_and(|s| s.one_client);
    let silent = silence(a).map(|says| Vain { says, hurt: !gone });
    for none in silent.into_iter().chain(unanswered(a)) {
        sentence = format!("{sentence} {}.", capital(&none.says));
        tone = match none.hurt {
            true => Tone::Bad,
            false if tone == Tone::Ok => Tone::Notice,
            false => tone,
        };
    }
    // Why others were slow too is behind it.
    if let Some(given) = given_up(a) {
        sentence = format!("{}. {sentence}", capital(&given));
        tone = match tone {
            Tone::Bad => Tone::Bad,
            _ if most_given_up(a) => Tone::Bad,
            _ => Tone::Notice,
        };
    }
    (tone, sentence)
}

fn answers(a: &Application) -> (Tone, String) {
    match (&a.answered, &a.awaited) {
        (None, None) => (Tone::Ok, without(a)),
        (Some(s), None) => {
            let late = served_late(a);
            let tone = match tone_of(&s.turnaround, no_cpu(s)) {
                Tone::Ok if late.is_some() => Tone::Notice,
                tone => tone,
            };
            let inside = late.map_or_else(|| inside(s), |late| format!("; {late}"));
            (tone, format!("{}{inside}.", took(s)))
        }
        (s, Some(c)) if c.paired == 0 => alone(a, s.as_ref(), c),
        (s, Some(c)) => both(a, s.as_ref(), c),
    }
}

/// No socket in turns.
fn without(a: &Application) -> String {
    let streams = match a.both_ways {
        0 => String::new(),
        n => format!("; {} and received at once", counted(n, "socket sent", "sockets sent")),
    };
    format!("No TCP connection had a request-response pattern{streams}: there are no response times to judge.")
}

/// Long, and longer than others of the same: what is always slow may be meant to be.
pub(super) fn tone_of(d: &Distribution, no_cpu: bool) -> Tone {
    let (Some(p50), Some(p99)) = (d.p50_ns, d.p99_ns) else {
        return Tone::Ok;
    };
    let out = no_cpu || p99 >= p50.saturating_mul(APPLICATION_STANDS_OUT);
    let slow = out && p99 >= APPLICATION_NOTICE_NS && d.n >= APPLICATION_ROWS;
    // A single one that took very long is in no p99.
    match slow || stands_out(d, OUTLIER_NOTICE_NS) {
        true => Tone::Notice,
        false => Tone::Ok,
    }
}

/// Most of the slowest requests' time their threads were runnable and had no CPU, which nobody means.
fn no_cpu(s: &Answered) -> bool {
    let of = s
        .slowest_parts
        .iter()
        .filter(|p| matches!(p.state, "run_queue" | "wakeup"));
    of.map(|p| p.share).sum::<f64>() >= MOSTLY
}

fn times(d: &Distribution) -> String {
    format!(
        "p50 {}, p99 {}, max {} (n {}",
        or_dash(d.p50_ns),
        or_dash(d.p99_ns),
        or_dash(d.max_ns),
        d.n
    )
}

fn weak(of: &Distribution, solid: bool, less_certain: u64) -> String {
    match (solid, less_certain) {
        (false, n) if n == of.n => "; all of them less certain".into(),
        (false, n) => format!("; {n} of them less certain"),
        (true, 0) => String::new(),
        (true, n) => format!("; {n} less certain, not among them"),
    }
}

fn took(s: &Answered) -> String {
    format!(
        "The application answered {}, {}{}), from request readable to send",
        times(&s.turnaround),
        counted(s.connections, "connection", "connections"),
        weak(&s.turnaround, s.solid, s.less_certain)
    )
}

/// What the slowest requests' threads did.
fn slowest(s: &Answered) -> String {
    let of = (s.slowest_parts.as_slice(), &s.slowest_task);
    doing(of, s.slowest_behind.as_ref(), s.slowest_waited.as_ref(), s.slowest)
}

fn inside(s: &Answered) -> String {
    let doing = slowest(s);
    match doing.is_empty() {
        true => String::new(),
        false => format!(
            "; in the slowest 1 % ({}): {doing}{}",
            s.slowest,
            no_network(s.slowest_waited.as_ref())
        ),
    }
}

/// The client alone is in the recording, or no end is known to be the other's.
fn alone(a: &Application, s: Option<&Answered>, c: &Awaited) -> (Tone, String) {
    // As many that were answered here, on as many connections, are most likely these.
    let renamed = s.is_some_and(|s| (s.turnaround.n, s.connections) == (c.response.n, c.connections));
    let mut sentence = format!(
        "Answers came {}, {}{}) after the request was sent; {}{}",
        times(&c.response),
        counted(c.connections, "connection", "connections"),
        weak(&c.response, c.solid, c.less_certain),
        match renamed {
            true =>
                "as many were given by sockets of this recording to others: these, where addresses were translated (NAT), or those behind a proxy",
            false => NOT_RECORDED,
        },
        match c.rtt_min_ns {
            Some(ns) => format!(", the fastest round trip took {}", duration(ns)),
            None => String::new(),
        }
    );
    if let Some(acks) = acknowledged(a) {
        sentence = format!("{sentence}; {acks}");
    }
    let mut tone = tone_of(&c.response, false);
    if let Some(s) = s {
        let late = served_late(a);
        let own = match tone_of(&s.turnaround, no_cpu(s)) {
            Tone::Ok if late.is_some() => Tone::Notice,
            own => own,
        };
        let inside = late.map_or_else(|| inside(s), |late| format!("; {late}"));
        sentence = format!("{sentence}. {}{inside}", took(s));
        tone = match own {
            Tone::Ok => tone,
            other => other,
        };
    }
    (tone, format!("{sentence}."))
}

/// The wait before the device that most of the slow requests' way was.
fn held_before(c: &Awaited, way: i64) -> Option<String> {
    let (stage, ns) = c.slowest_held?;
    let most = ns <= c.slowest_there_ns && ns as f64 >= MOSTLY * way as f64;
    most.then(|| stage.replace('_', " "))
}

/// What is worth a look, for the head of the page: whose time it was, where both ends tell.
pub(super) fn headline(a: &Application) -> String {
    let parts = a.awaited.as_ref().filter(|_| slow_parts(a)).map(|c| {
        format!(
            "answers took p50 {} to their first byte, {} to their last byte",
            or_dash(c.response.p50_ns),
            or_dash(c.whole.p50_ns)
        )
    });
    let mut said: Vec<String> = silence(a)
        .into_iter()
        .chain(unanswered(a).map(|v| v.says))
        .chain(parts)
        .collect();
    let answers_too = said.is_empty() && answers(a).0 != Tone::Ok;
    said.extend(causes(a));
    if let Some(given) = given_up(a) {
        // Slow answers are another thing, but where it is known what held them up.
        let known = larger(a).is_some_and(|(_, slow)| names_a_hold(slow));
        let slow = most_of_it(a).filter(|_| (said.is_empty() || known) && answers(a).0 != Tone::Ok);
        // Of a server outside, that its host had them says whose time it was.
        let acks = acknowledged(a).filter(|_| slow.is_none() && of_the_given_up(a));
        let (why, beside) = if known { (slow, None) } else { (None, slow) };
        let first: Vec<String> = [given].into_iter().chain(why).chain(acks).collect();
        return bullets([first.join("; ")].into_iter().chain(beside).chain(said));
    }
    if said.is_empty() || answers_too {
        said.push(of_answers(a));
    }
    bullets(said)
}

/// What is said begins with a cause.
pub(super) fn names_cause(a: &Application) -> bool {
    super::given_up::names_cause(a) || !causes(a).is_empty() || super::turns::for_a_lock(a)
}

/// All answers came soon: that some took many times the median is said behind what took long.
pub(super) fn small(a: &Application) -> bool {
    let longest = a.awaited.as_ref().and_then(|c| c.whole.max_ns.max(c.response.max_ns));
    let said = unanswered(a).is_some() || silence(a).is_some() || given_up(a).is_some();
    !said && longest.is_some_and(|ns| ns < SMALL_NS)
}

fn of_answers(a: &Application) -> String {
    if let Some(said) = most_of_it(a) {
        return said;
    }
    let Some(c) = a.awaited.as_ref().filter(|c| c.paired > 0) else {
        let said: Vec<String> = served_late(a).into_iter().chain(acknowledged(a)).collect();
        return match said.is_empty() {
            true => words(&answers(a).1, 2),
            false => said.join("; "),
        };
    };
    if let Some(said) = of_one(a) {
        return said;
    }
    let head = format!(
        "answers{} took p50 {}, max {}{}",
        of_whom(a),
        or_dash(c.response.p50_ns),
        or_dash(c.response.max_ns),
        when_slow(a),
    );
    if let Some(each) = slow_ones::each(a, c.slowest) {
        return format!("{head}{each}{}", stood_still(a));
    }
    let way = c.slowest_there_ns.saturating_add(c.slowest_back_ns);
    let whole = way.saturating_add(c.slowest_peer_ns).max(1) as f64;
    let share = |ns: i64| ns as f64 / whole * 100.0;
    let (there, back, theirs) = (c.slowest_there_ns, c.slowest_back_ns, c.slowest_peer_ns);
    // The slowest of all may be one whose server's part is not known.
    let of = match c.response.n.saturating_sub(c.paired) {
        0 if when_slow(a).is_empty() => format!("of the time of the slowest 1 % ({})", c.slowest),
        0 => "of the slow ones' time".to_owned(),
        n => format!("of the time of the slowest whose server's part is known (not of {n} others)"),
    };
    let whose = if theirs as f64 >= MOSTLY * whole {
        let doing = a.answered.as_ref().map(slowest).filter(|d| !d.is_empty());
        let doing = doing.map_or_else(String::new, |d| format!(": {d}"));
        format!("{:.1} % {of} in the server{doing}", share(theirs))
    } else if there >= back {
        let held = held_before(c, way).map(|stage| format!(", held before the device by {stage}"));
        let held = held.unwrap_or_else(|| place_words(c.slowest_place.as_ref()));
        format!("{:.1} % {of} on the way there{held}", share(there))
    } else {
        let place = place_words(c.slowest_place.as_ref());
        format!("{:.1} % {of} on the way back{place}", share(back))
    };
    format!("{head}, {whose}{}", stood_still(a))
}

/// Both ends are.
fn both(a: &Application, s: Option<&Answered>, c: &Awaited) -> (Tone, String) {
    let way = c.slowest_there_ns.saturating_add(c.slowest_back_ns);
    let whole = way.saturating_add(c.slowest_peer_ns).max(1) as f64;
    let share = |ns: i64| ns as f64 / whole * 100.0;
    let theirs = c.slowest_peer_ns as f64 / whole;
    let pairs = match c.response.n.saturating_sub(c.paired) {
        0 => String::new(),
        n => format!("; the peer's part is not known of {n}"),
    };
    let head = format!(
        "Requests were answered {}, {}{}{pairs})",
        times(&c.response),
        counted(c.connections, "connection", "connections"),
        weak(&c.response, c.solid, c.less_certain),
    );
    let said = by_server(a)
        .into_iter()
        .chain(most_of_it(a))
        .chain(apart(a))
        .chain(nature(a));
    let said: Vec<String> = said.collect();
    let head = said.iter().fold(head, |head, said| format!("{head}; {said}"));
    let slow = format!("of the slowest 1 % ({})", c.slowest);
    if theirs >= MOSTLY {
        // What was said of the slow ones is not said again.
        let doing = s.map(slowest).filter(|d| !d.is_empty() && !head.contains(d.as_str()));
        let doing = doing.map_or_else(String::new, |d| format!(": {d}"));
        let sentence = format!(
            "{head}; {slow} {:.1} % of the time was the server's, between request readable and its send{doing}; the network and both stacks took {} of each.",
            share(c.slowest_peer_ns),
            duration(way / c.slowest.max(1) as i64),
        );
        let tone = match always(a) {
            Some(_) => Tone::Notice,
            None => tone_of_each(a, c, s.is_some_and(no_cpu)),
        };
        return (tone, sentence);
    }
    let held = held_before(c, way).map(|stage| format!(", most of it held in this host before the device ({stage})"));
    let place = held.unwrap_or_else(|| place_words(c.slowest_place.as_ref()));
    let there = c.slowest_there_ns >= c.slowest_back_ns;
    let (first, second) = if there {
        (place, String::new())
    } else {
        (String::new(), place)
    };
    let sentence = format!(
        "{head}; {slow} {:.1} % of the time was the server's; the way there took {:.1} %{first}, the way back {:.1} %{second}.",
        share(c.slowest_peer_ns),
        share(c.slowest_there_ns),
        share(c.slowest_back_ns),
    );
    // A way that always takes as long as the round trip is only far.
    let far = c.rtt_min_ns.map(|ns| ns.saturating_mul(APPLICATION_STANDS_OUT));
    let slow_way = c
        .way_p50_ns
        .zip(far)
        .is_some_and(|(way, far)| way >= far && way >= APPLICATION_NOTICE_NS);
    match (tone_of_each(a, c, false), slow_way && c.paired >= APPLICATION_ROWS) {
        (Tone::Ok, false) => (Tone::Ok, sentence),
        _ => (Tone::Notice, sentence),
    }
}
