//! What threads waited for, in words.

use super::always::released_by;
use super::sentences::{counted, duration};
use super::waker::woken_by_who_was_held;
use crate::analyses::application::{Silent, Waited};

/// Behind the call that they slept in.
pub(in crate::analyses) fn waited_for(w: &Waited) -> String {
    match (w.kind, &w.there) {
        ("room", _) if w.window => format!(", on {}, whose peer's receive window was full", w.of),
        ("room", _) => format!(", on {}, whose send buffer was full", w.of),
        ("others", _) => format!("; while these lay unread it was at work on {}", w.of),
        ("read", _) => w.silent.as_ref().map_or_else(String::new, silent_words),
        ("datagrams", _) if w.of.is_empty() => format!(", {} for UDP answers", waiting(w)),
        ("datagrams", _) => format!(", {} for the UDP answer from {}", waiting(w), w.of),
        ("no_datagrams", _) => {
            let of = if w.of.is_empty() {
                String::new()
            } else {
                format!(" of {}", w.of)
            };
            format!(", {} for UDP answers{of} that did not come", waiting(w))
        }
        _ => format!(", {} for the answer from {}", waiting(w), chain(w)),
    }
}

/// Who waited.
fn waiting(w: &Waited) -> &'static str {
    match w.handed {
        true => "while other threads of the process waited (inferred from the times)",
        false => "waiting",
    }
}

/// `10.0.0.2:80 (nginx/7), which waited for that of 10.0.0.3:5432 (postgres/9 asleep in epoll_wait 99 % of that)`: of those between only who they
/// are, of the last what it did and what it waited for.
pub(super) fn chain(w: &Waited) -> String {
    let Some((who, did)) = &w.there else {
        return w.of.clone();
    };
    let several = if w.next.as_ref().is_some_and(|n| n.kind == "answer") {
        "several threads"
    } else {
        "whose threads were"
    };
    let who = if who.is_empty() { several } else { who };
    if let Some(next) = w.next.as_ref().filter(|n| n.kind == "answer") {
        let handed = match next.handed {
            true => ", in other threads (inferred from the times),",
            false => "",
        };
        return format!("{} ({who}), which waited{handed} for that of {}", w.of, chain(next));
    }
    let woken = woken_by_who_was_held(did);
    let did = format!(
        "{} ({who} {} {:.0} % of that{woken})",
        w.of,
        did.words(),
        did.share * 100.0
    );
    let released = w.released.as_ref().map(|r| released_by(r, "these answers"));
    let next = w.next.as_ref().map(|n| waited_for(n));
    format!("{did}{}", next.or(released).unwrap_or_default())
}

/// `, reading from 10.0.0.3:40000 > 10.0.0.1:443 (lb-check), on which nothing came for 700.3 ms after it was opened, until its peer closed it, while
/// these lay unread`
fn silent_words(s: &Silent) -> String {
    let from = match (s.connections, s.client.as_str()) {
        (1, client) => {
            // The address is in the connection.
            let task = client.split_once(" at ").map(|(task, _)| format!(" ({task})"));
            format!("{}{}", s.first, task.unwrap_or_default())
        }
        (n, client) => {
            let of = if client.is_empty() { "" } else { " of " };
            let n = counted(n, "connection", "connections");
            format!("{n}{of}{client} (the first {})", s.first)
        }
    };
    let each = if s.connections > 1 { "each of which" } else { "which" };
    let p50 = if s.sleeps > 1 { "p50 " } else { "" };
    let times = match s.sleeps == s.connections {
        true => String::new(),
        false => format!(" ({} times)", s.sleeps),
    };
    let opened = if s.since_opened { " after it was opened" } else { "" };
    let end = match s.end {
        "closed" => ", until its peer closed it",
        "ended" => ", until it was closed",
        "data" => ", until something came",
        _ => "",
    };
    let unread = if s.unread { ", while these lay unread" } else { "" };
    format!(
        ", reading from {from}, on {each} nothing came for {p50}{}{times}{opened}{end}{unread}",
        duration(s.silent_ns)
    )
}
