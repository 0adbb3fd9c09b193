//! What threads waited for, in words.

use super::sentences::{counted, duration};
use crate::analyses::application::{Silent, Waited};

/// Behind the call that they slept in.
pub(super) fn waited_for(w: &Waited) -> String {
    match (w.kind, &w.there) {
        ("room", _) if w.window => format!(", on {}, whose peer's receive window was full", w.of),
        ("room", _) => format!(", on {}, whose send buffer was full", w.of),
        ("others", _) => format!("; while these lay unread it was at work on {}", w.of),
        ("read", _) => w.silent.as_ref().map_or_else(String::new, silent_words),
        ("datagrams", _) if w.of.is_empty() => ", waiting for answers by UDP".to_owned(),
        ("datagrams", _) => format!(", waiting for the answer by UDP of {}", w.of),
        (_, None) => format!(", waiting for the answer of {}", w.of),
        (_, Some((who, did))) => {
            let who = if who.is_empty() { "whose threads were" } else { who };
            format!(
                ", waiting for the answer of {} ({who} {} {:.0} % of that)",
                w.of,
                did.words(),
                did.share * 100.0
            )
        }
    }
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
