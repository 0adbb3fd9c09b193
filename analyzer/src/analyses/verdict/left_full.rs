//! What is said of connections that their program closed by itself while it could not send on them.

use super::sentences::{counted, duration};
use crate::analyses::opens::{GivenUpFull, Opens};

/// Groups that are told.
const NAMED: usize = 2;

/// `redis-server/7 closed the connection of 10.0.0.1:6379 to 10.0.0.2:40000 (conn:5) by itself, though it could not send on it any more: ...`
fn words(g: &GivenUpFull) -> String {
    let by = match g.task.as_str() {
        "" => "a program",
        task => task,
    };
    let (which, it, p50) = match g.connections {
        1 => {
            let which = format!("the connection of {} to {} (conn:{})", g.at, g.peer, g.first);
            (which, "it", "")
        }
        n => {
            let host = g.peer.rsplit_once(':').map_or(g.peer.as_str(), |(host, _)| host);
            let which = format!("{n} connections of {} to {host} (the first conn:{})", g.at, g.first);
            (which, "them", "p50 ")
        }
    };
    let (window, reader) = match (g.by_window, g.reader.as_str()) {
        (false, _) => ("", String::new()),
        (true, "") => (
            ", held by the peer's receive window",
            ": who reads there reads too slowly for what it is sent, and".to_owned(),
        ),
        (true, reader) => (
            ", held by the peer's receive window",
            format!(": {reader} reads too slowly there for what it is sent, and"),
        ),
    };
    let so = if reader.is_empty() { ":".to_owned() } else { reader };
    let up_to = if g.connections == 1 { "" } else { "up to " };
    let behind = match (g.behind_ns, g.open) {
        (None, true) => String::new(),
        (None, false) => ", and what was sent and not acknowledged was thrown away (a RST)".to_owned(),
        (Some(ns), false) => format!(
            ", and what was sent was acknowledged only {up_to}{} after the close",
            duration(ns)
        ),
        (Some(ns), true) => format!(
            ", and what was sent was not acknowledged for {up_to}{} after the close and longer",
            duration(ns)
        ),
    };
    format!(
        "{by} closed {which} by itself while it could not send on {it}: its last send had met a full send buffer (EAGAIN) {p50}{} before{window}{behind}{so} a limit of what it keeps to be sent (as redis' client-output-buffer-limit) or a time-out ended it (inferred)",
        duration(g.full_ns)
    )
}

/// Of those with most.
pub(super) fn causes(o: &Opens) -> Vec<String> {
    let mut said: Vec<String> = o.given_up_full.iter().take(NAMED).map(words).collect();
    let more = o.given_up_full.len().saturating_sub(NAMED) as u64;
    if let Some(last) = said.last_mut().filter(|_| more > 0) {
        last.push_str(&format!("; and so with {}", counted(more, "more peer", "more peers")));
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_closed_upon_is_named_with_its_reader() {
        let one = GivenUpFull {
            at: "10.0.0.1:6379".into(),
            task: "redis-server/7".into(),
            peer: "10.0.0.2:46280".into(),
            connections: 1,
            first: 5,
            full_ns: 600_000_000,
            behind_ns: Some(3_400_000_000),
            open: false,
            by_window: true,
            reader: "board/30".into(),
        };
        let said = |all: Vec<GivenUpFull>| {
            causes(&Opens {
                given_up_full: all,
                ..Opens::default()
            })
        };
        assert_eq!(
            said(vec![one.clone()]),
            [
                "redis-server/7 closed the connection of 10.0.0.1:6379 to 10.0.0.2:46280 (conn:5) by itself while it could not send on it: its last send had met a full send buffer (EAGAIN) 600.00 ms before, held by the peer's receive window, and what was sent was acknowledged only 3.400 s after the close: board/30 reads too slowly there for what it is sent, and a limit of what it keeps to be sent (as redis' client-output-buffer-limit) or a time-out ended it (inferred)"
            ]
        );
        let several = GivenUpFull {
            connections: 3,
            by_window: false,
            ..one.clone()
        };
        let all = said(vec![several, one.clone(), one.clone(), one.clone()]);
        assert_eq!(all.len(), 2);
        assert!(
            all[0].starts_with("redis-server/7 closed 3 connections of 10.0.0.1:6379 to 10.0.0.2 (the first conn:5) by itself while it could not send on them: its last send had met a full send buffer (EAGAIN) p50 600.00 ms before, and what was sent was acknowledged only up to 3.400 s after the close: a limit"),
            "{}",
            all[0]
        );
        assert!(all[1].ends_with("; and so with 2 more peers"), "{}", all[1]);
        let rest = |behind_ns, open| {
            words(&GivenUpFull {
                behind_ns,
                open,
                ..one.clone()
            })
        };
        assert!(
            rest(Some(1_000_000_000), true)
                .contains(", and what was sent was not acknowledged for 1.000 s after the close and longer: board/30")
        );
        assert!(rest(None, true).contains(", held by the peer's receive window: board/30"));
        assert!(
            rest(None, false).contains(", and what was sent and not acknowledged was thrown away (a RST): board/30")
        );
    }
}
