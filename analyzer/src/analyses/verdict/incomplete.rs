//! What is said of answers that came in parts, and of requests without one.

use super::held;
use super::sentences::{counted, duration, moment, or_dash, times};
use super::{APPLICATION_NOTICE_NS, APPLICATION_ROWS, APPLICATION_STANDS_OUT, OUTLIER_NOTICE_NS};
use crate::analyses::application::{
    Apart, Application, Awaited, GivenUp, GoneIdle, HalfOpen, Silence, Unanswered, most_asked,
};

/// Answers of which the last byte came this many times later than the first came in parts, or were transfers.
const IN_PARTS: i64 = 2;
/// So long TCP tries by itself at least (net.ipv4.tcp_retries2 of 8, the least that RFC 1122 allows, 100 s; by default 15, 924 s), ns.
const BY_ITSELF_NS: i64 = 90_000_000_000;
/// Time until an answer in parts is complete (p50) worth a look: a quarter of a delayed ACK, ns.
const PARTS_NOTICE_NS: i64 = 10_000_000;

/// What answers took until they were complete, where that is much more than to their first byte.
pub(super) fn in_parts(c: &Awaited) -> Option<String> {
    let longer = |first: Option<i64>, whole: Option<i64>| {
        let (first, whole) = first.zip(whole)?;
        (whole >= APPLICATION_NOTICE_NS && whole >= first.saturating_mul(IN_PARTS)).then_some(())
    };
    // A page that comes slowly is in no median of many small answers.
    let some = longer(c.response.p50_ns, c.whole.p50_ns).or_else(|| longer(c.response.p99_ns, c.whole.p99_ns));
    (some.is_some() && c.whole.n >= APPLICATION_ROWS).then(|| {
        format!(
            "That is to the first byte: the last byte read before the next send was there after p50 {}, p99 {}, max {}",
            or_dash(c.whole.p50_ns),
            or_dash(c.whole.p99_ns),
            or_dash(c.whole.max_ns)
        )
    })
}

/// Whether that is worth a look.
pub(super) fn slow_parts(a: &Application) -> bool {
    let parts = a.awaited.as_ref().filter(|c| in_parts(c).is_some());
    parts.is_some_and(|c| {
        let median = c.response.p50_ns.zip(c.whole.p50_ns);
        median.is_some_and(|(first, whole)| whole >= PARTS_NOTICE_NS && whole >= first.saturating_mul(IN_PARTS))
    })
}

/// Requests without an answer.
pub(super) struct Vain {
    pub says: String,
    /// More than a few that wait when the recording ends, while their server answers others.
    pub hurt: bool,
}

/// So few requests, and so small a part of those that a server answered, may wait for what is not due yet.
const FEW: usize = 5;
const PART: u64 = 10;

/// One that waited for less, beside so many that were answered, is nothing that is wrong by itself, ns.
const ONE_NS: i64 = 2_000_000_000;
const MANY: u64 = 1_000;

/// All others but those that their clients left before such are answered, or that are held as such are.
fn wanted<'u>(a: &Application, all: &[&'u Unanswered]) -> Vec<&'u Unanswered> {
    let left = |u: &&&Unanswered| !super::left_early::left_one(a, u) && !held::is_held(a, u) && !u.stream;
    all.iter().filter(left).copied().collect()
}

/// Some wait when the recording ends, at servers that answer: a message that asks for nothing, or for something that has not happened.
fn may_be_meant(a: &Application, all: &[&Unanswered]) -> bool {
    let answered = |u: &&&Unanswered| {
        let to = u.label.rsplit(" > ").next();
        let of = a.servers.iter().find(|s| to == Some(s.server.as_str()));
        of.is_some_and(|s| s.response.n >= PART.saturating_mul(all.len() as u64))
    };
    all.len() <= FEW
        && a.half_open.is_none()
        && a.gone_idle.is_none()
        && all
            .iter()
            .all(|u| u.until == "recording" && u.retransmits == 0 && u.others)
        && all.iter().all(|u| answered(&u))
}

/// One that its program left soon, beside so many that were answered.
fn one_of_many(a: &Application, all: &[&Unanswered]) -> bool {
    let answered = a.awaited.as_ref().map_or(0, |c| c.response.n);
    let soon = |u: &&Unanswered| u.until == "closed" && u.waited_ns < ONE_NS;
    answered >= MANY && matches!(all, [one] if soon(one)) && a.half_open.is_none() && a.gone_idle.is_none()
}

/// Requests that waited in vain for much longer than others did.
pub(super) fn unanswered(a: &Application) -> Option<Vain> {
    let usual = a.awaited.as_ref().and_then(|c| c.response.p50_ns).unwrap_or(0);
    let least = OUTLIER_NOTICE_NS.max(usual.saturating_mul(APPLICATION_STANDS_OUT));
    // One that is under way at the end may take as long as others of its server did.
    let longest = |u: &Unanswered| {
        let (from, to) = u.label.split_once(" > ")?;
        let server = a.servers.iter().find(|s| s.server == to)?;
        // A client whose answers all take long is told apart.
        let theirs = |a: &&Apart| {
            from.rsplit_once(':')
                .is_some_and(|(ip, _)| ip.trim_matches(['[', ']']) == a.client)
        };
        let apart = server.apart.iter().find(theirs).map(|a| a.max_ns);
        let nature = server.nature.iter().map(|n| n.max_ns).max();
        server.response.max_ns.max(apart).max(nature)
    };
    let late = |u: &&Unanswered| {
        let open = u.until == "recording";
        u.waited_ns >= least && (!open || longest(u).is_none_or(|max| u.waited_ns >= max.saturating_add(max / 2)))
    };
    // Nor does anybody wait for the slower one of hedged requests.
    let to = |u: &&Unanswered, server: &str| u.label.rsplit(" > ").next() == Some(server);
    let slower = |u: &&Unanswered| {
        let hedged = |g: &&GivenUp| super::given_up::hedged(g) && g.task == u.task;
        u.until == "closed" && a.given_up.iter().filter(hedged).any(|g| to(u, &g.server))
    };
    let all: Vec<&Unanswered> = a.unanswered.iter().filter(late).filter(|u| !slower(u)).collect();
    let first = all.first()?;
    let again = match first.retransmits {
        0 => String::new(),
        n => format!(", sent again {}", times(n)),
    };
    let until = match first.until {
        "closed" => "its socket was closed",
        "timed_out" => "its own TCP gave the connection up (ETIMEDOUT)",
        "peer_closed" => "the peer closed the connection",
        _ => "the recording ended",
    };
    let which = format!(
        "({}) for {} until {until}{again}",
        first.label,
        duration(first.waited_ns)
    );
    let whose = match most_asked(&all) {
        None => String::new(),
        Some((task, n)) if n == all.len() => format!(" of {task}"),
        Some((task, n)) => format!(" ({n} of {task})"),
    };
    let early = given_up_early(&all);
    let gone = a.half_open.as_ref().map_or_else(String::new, half_open);
    // Else it is told with what was given up.
    let idle = a.gone_idle.as_ref().filter(|_| super::given_up::gone_idle(a).is_none());
    let idle = idle.map_or_else(String::new, gone_idle);
    let says = match all.len() {
        1 => format!("1 request{whose} had no answer {which}{idle}{early}{gone}"),
        n => format!("{n} requests{whose} had no answer, the longest {which}{idle}{early}{gone}"),
    };
    let wanted = wanted(a, &all);
    let says = format!("{says}{}", held::words(a, &all).unwrap_or_default());
    let left = all.iter().filter(|u| super::left_early::left_one(a, u)).count();
    let says = match left {
        0 => says,
        n => {
            let which = if n == all.len() {
                String::new()
            } else {
                format!("{n} of them ")
            };
            format!(
                "{says}; {which}closed where others as long are waited for longer, as long polls are, whose client left (inferred)"
            )
        }
    };
    let streams = all.iter().filter(|u| u.stream).count();
    let says = match streams {
        0 => says,
        n => {
            let which = if n == all.len() {
                String::new()
            } else {
                format!("{n} of them ")
            };
            format!(
                "{says}; {which}of a client that speaks only when spoken to, and then several times in a row: it may only say that it has what the server sends by itself (replication, a subscription; inferred)"
            )
        }
    };
    let hurt = !wanted.is_empty() && !may_be_meant(a, &wanted) && !one_of_many(a, &wanted);
    Some(Vain { says, hurt })
}

/// `; 12 connections to 10.77.0.20:6379 had been silent for 5.5 s or longer ...`
pub(super) fn gone_idle(g: &GoneIdle) -> String {
    format!(
        "; {} to {} had been silent for {} or longer, and nothing sent on them then was acknowledged, while after {} at most it passed, and others there are answered meanwhile: something on the way (a firewall, a NAT, a load balancer) has forgotten idle connections (inferred)",
        counted(g.silence.connections, "connection", "connections"),
        g.to,
        duration(g.silence.silent_least_ns),
        duration(g.silence.passed_most_ns)
    )
}

/// Those that their own TCP gave up long before it does by itself.
fn given_up_early(all: &[&Unanswered]) -> String {
    let early = |u: &&&Unanswered| u.until == "timed_out" && u.waited_ns < BY_ITSELF_NS;
    let of: Vec<&&Unanswered> = all.iter().filter(early).collect();
    let longest = of.iter().map(|u| u.waited_ns).max().unwrap_or(0);
    match of.len() {
        0 => String::new(),
        n => format!(
            "; {} given up by TCP itself (ETIMEDOUT) {} after the request at the latest, where it tries for minutes unless it is told otherwise: a limit that the program has set (TCP_USER_TIMEOUT, or keepalive), or net.ipv4.tcp_retries2 (inferred)",
            match n {
                _ if n == all.len() =>
                    if n == 1 {
                        "it was".to_owned()
                    } else {
                        "all were".to_owned()
                    },
                1 => "1 was".to_owned(),
                n => format!("{n} were"),
            },
            duration(longest)
        ),
    }
}

/// Those that wait for what is gone.
fn half_open(h: &HalfOpen) -> String {
    let whose = match (h.task.as_str(), h.of_task == h.connections) {
        ("", _) => String::new(),
        (task, true) => format!(" of {task}"),
        (task, false) => format!(" ({} of {task})", h.of_task),
    };
    format!(
        "; {}{whose} to {} {} since {}, when the last segment came on any connection there that was open then, while {} answered: their peer is gone without a FIN or RST (half-open, inferred), and a side that sends nothing never learns of it",
        counted(h.connections, "connection", "connections"),
        h.server,
        if h.connections == 1 {
            "has been silent"
        } else {
            "have been silent"
        },
        moment(h.since_ns),
        match h.anew {
            1 => format!("one opened anew at {} is", moment(h.anew_ns)),
            n => format!("{n} opened anew from {} on are", moment(h.anew_ns)),
        }
    )
}

/// A host that fell silent, and whether another was heard.
pub(super) fn silence(a: &Application) -> Option<String> {
    let s: &Silence = a.silence.as_ref()?;
    let heard = s
        .heard
        .as_ref()
        .map_or_else(String::new, |other| format!(", while {other} was heard until the end"));
    let dropped = match (s.dropped, s.dropped_unknown) {
        (n @ 1.., _) => format!(": {n} of these were dropped by this host, see drops"),
        (0, None) => "; whether this host dropped any was not recorded".to_owned(),
        (0, Some(0)) => ": none of these is known to have been dropped by this host, so they, or what answers them, were lost silently beyond it".to_owned(),
        (0, Some(n)) => format!(
            ": they, or what answers them, were lost silently beyond this host or dropped in it ({} meanwhile and nothing tells whose, see drops)",
            counted(n, "packet was dropped", "packets were dropped")
        ),
    };
    let client = match s.one_client {
        true => " (a client of this host, one of several: switched off, away, or the way to it is broken, inferred)",
        false => "",
    };
    Some(format!(
        "no TCP segment came from {}{client} after {:.3} s, for {}{heard}; {} and {} were sent to it meanwhile{dropped}",
        s.address,
        s.since_ns as f64 / 1e9,
        duration(s.for_ns),
        counted(s.sent, "segment or SYN", "segments and SYNs"),
        counted(s.again, "repetition", "repetitions"),
    ))
}

/// Connections on which a server sends what others' requests made.
pub(super) fn streams(a: &Application) -> Option<String> {
    let (n, first) = a.streams.as_ref()?;
    let of = match n {
        1 => format!("1 connection ({first}) carries a stream"),
        n => format!("{n} connections (first {first}) carry streams"),
    };
    Some(format!(
        "{of}: the server sends there what others' requests made, and the client says that it has it (inferred), so what passes between is no answer"
    ))
}

/// Connections of which no single request can be told.
pub(super) fn both_ways(a: &Application) -> Option<String> {
    let (n, first) = a.mixed.as_ref().filter(|_| a.answered.is_some())?;
    Some(format!(
        "{} (first {first}) sent and received at once, as with several requests under way (HTTP/2 and the like): what each of these took is not known",
        counted(*n, "socket", "sockets"),
    ))
}
