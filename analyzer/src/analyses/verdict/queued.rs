//! Servers nearly all of whose answers lie long in one queue of this host that another's packets fill: what is said first of requests and answers then.

use super::sentences::duration;
use super::spells::listed;
use super::{Line, OUTLIER_NOTICE_NS, Tone};
use crate::analyses::application::{Application, Place, Server, Slow};

/// Fewest answers.
const ANSWERS: u64 = 10;
/// Part of the time of answers on that way, and of the way in that queue.
const NEARLY_ALL: f64 = 0.8;
/// Part of the queue's bytes that another connection has.
const MOST: f64 = 0.5;
/// Servers that are named.
const NAMED: usize = 3;

/// Whether an end of `a:1 > b:2`, or of `a:1 > b (5 connections)`, is a server.
fn is_of(who: &str, server: &str) -> bool {
    who.split(" > ").any(|end| end == server)
}

/// The queue that holds all answers of a server, and whose packets fill it.
fn held(s: &Server) -> Option<(&Slow, &Place, &(String, f64))> {
    let w = s.whole.as_ref().filter(|w| w.at != "server")?;
    let p = w.place.as_ref().filter(|p| p.to.is_empty() && p.share >= NEARLY_ALL)?;
    // What a server sends itself is not in its own way.
    let other = p
        .filled_by
        .as_ref()
        .filter(|(who, part)| *part >= MOST && !is_of(who, &s.server))?;
    let long = w.n >= ANSWERS && w.p50_ns >= OUTLIER_NOTICE_NS && w.share >= NEARLY_ALL;
    long.then_some((w, p, other))
}

/// `answers from 203.0.113.2:80 (n 151, p50 335.24 ms) and 203.0.113.20:8443 (n 31, p50 301.75 ms) lie in the queue of wan0 (htb) for nearly all of their time: ...`
fn words(a: &Application) -> Option<String> {
    let mut all: Vec<(&Server, &Slow, &Place, &(String, f64))> = a
        .servers
        .iter()
        .filter_map(|s| held(s).map(|(w, p, who)| (s, w, p, who)))
        .collect();
    all.sort_by_key(|(_, w, ..)| std::cmp::Reverse(w.sum_ns));
    let (_, _, place, (who, part)) = *all.first()?;
    all.retain(|(_, _, p, w)| p.dev == place.dev && w.0 == *who);
    let one = |(s, w, ..): &(&Server, &Slow, &Place, &(String, f64))| {
        format!("{} (n {}, p50 {})", s.server, w.n, duration(w.p50_ns))
    };
    let more = all.len().saturating_sub(NAMED);
    let mut named: Vec<String> = all.iter().take(NAMED).map(one).collect();
    if more > 0 {
        named.push(format!("{more} more"));
    }
    let kind = match place.qdisc.as_str() {
        "" => String::new(),
        kind => format!(" ({kind})"),
    };
    Some(format!(
        "answers from {} lie in the queue of {}{kind} for nearly all of their time: {:.0} % of its bytes are {who}, behind which they wait",
        listed(&named),
        place.dev,
        part * 100.0
    ))
}

/// Says it first.
pub(super) fn first(mut line: Line, a: Option<&Application>) -> Line {
    if let Some(said) = a.and_then(words) {
        line.sentence = format!("{}. {}", super::sentences::capital(&said), line.sentence);
        line.headline = match line.headline.as_str() {
            "" => said,
            headline => format!("{said}; {headline}"),
        };
        (line.tone, line.names_cause, line.minor) = (Tone::Bad, true, false);
    }
    line
}
