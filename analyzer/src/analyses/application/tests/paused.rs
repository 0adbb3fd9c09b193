//! Requests that their client sends in parts.

use super::{MS, SYN_SENT, response};
use crate::analyses::application::{Paused, answer};
use crate::analyses::verdict::Tone;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::tcp::tables::StateRow;

/// Twelve uploads of curl, each on a connection of its own, a second between two parts but for the last two.
fn facts(pause: impl Fn(u32) -> i64) -> Facts {
    let mut f = Facts::empty();
    (f.capture.start_ns, f.capture.end_ns) = (Some(0), Some(20_000 * MS));
    f.capture.duration_ns = 20_000 * MS;
    for n in 0..12u32 {
        let mut c = crate::testing::tcp::connection(n);
        (c.sport, c.dport, c.task) = (40_000 + n as u16, 80, Name::new(b"curl"));
        f.connections.push(c);
        f.tcp_states.push(StateRow {
            time_ns: 0,
            connection: ConnectionId(n),
            kind: "sock",
            state: SYN_SENT,
            name: "",
            cpu: 0,
        });
        let at = i64::from(n) * 1500 * MS;
        let mut r = response(0, 0, 5 * MS);
        r.connection = ConnectionId(n);
        r.task = Name::new(b"curl");
        (r.send_ns, r.ready_ns, r.read_ns) = (at + pause(n), Some(at + pause(n) + 5 * MS), at + pause(n) + 6 * MS);
        (r.complete_ns, r.peer, r.pause_ns) = (r.ready_ns, None, pause(n));
        r.sending_ns = r.pause_ns;
        r.sends = if pause(n) > 0 { 2 } else { 1 };
        r.paused_in = Name::new(b"poll");
        f.responses.push(r);
    }
    f
}

fn found(f: &Facts) -> Vec<Paused> {
    answer(f).findings().unwrap().paused.clone()
}

#[test]
fn a_second_between_two_parts_is_told() {
    let f = facts(|n| if n < 10 { 1_001 * MS + i64::from(n) * 10_000 } else { 0 });
    let all = found(&f);
    let [p] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!((p.task.as_str(), p.server.as_str()), ("curl", "10.0.0.2:80"));
    assert_eq!(
        (p.requests, p.of, p.timeout, p.asleep_in.as_str()),
        (10, 12, true, "poll")
    );
    assert_eq!((p.first_ns, p.response.p50_ns), (0, Some(5 * MS)));
    let lines = crate::analyses::answer(&f).verdict;
    let line = lines.iter().find(|l| l.subject == "application").unwrap();
    assert_eq!(line.tone, Tone::Notice, "{}", line.sentence);
    let says = "10 of 12 requests of curl to 10.0.0.2:80 were sent in parts, p50 1.001 s from one to the next (all alike: a time-out of its own, inferred), while it slept in poll and nothing came, as one waits for \"100 Continue\" that does not come; the answer came p50 5.00 ms after the last part";
    assert!(line.headline.contains(says), "{}", line.headline);
}

#[test]
fn what_is_no_pause_within_a_request_is_not_told() {
    assert_eq!(found(&facts(|n| if n < 2 { 1_001 * MS } else { 0 })), [], "two only");
    assert_eq!(found(&facts(|_| 40 * MS)), [], "short ones");
    let mut pieces = facts(|_| 200 * MS);
    for r in &mut pieces.responses {
        (r.sends, r.sending_ns) = (20, 3_800 * MS);
    }
    assert_eq!(found(&pieces), [], "piece by piece");
    // A client that thinks between its requests and says a word behind each: one connection, pauses of any length.
    let thinks = |alike: bool| {
        let mut f = facts(|n| 500 * MS + if alike { 0 } else { i64::from(n) * 80 * MS });
        for r in &mut f.responses {
            r.connection = ConnectionId(0);
        }
        found(&f).len()
    };
    assert_eq!((thinks(false), thinks(true)), (0, 1));
}
