//! Requests that their client sends in parts.

use super::{MS, SYN_SENT, response};
use crate::analyses::application::{Paused, answer};
use crate::analyses::verdict::Tone;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::application::tables::ResponseRow;

/// Twelve uploads of curl, each on a connection of its own, a second between two parts but for the last two.
fn facts(pause: impl Fn(u32) -> i64) -> Facts {
    let mut f = Facts::empty();
    (f.capture.start_ns, f.capture.end_ns) = (Some(0), Some(20_000 * MS));
    f.capture.duration_ns = 20_000 * MS;
    for n in 0..12u32 {
        let mut c = crate::testing::tcp::connection(n);
        (c.sport, c.dport, c.task) = (40_000 + n as u16, 80, Name::new(b"curl"));
        crate::testing::tcp::born(&mut f, c, SYN_SENT);
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
    let says = "10 of 12 requests of curl to 10.0.0.2:80 were sent in parts, p50 1.001 s from one to the next (all alike: its own time-out, inferred), while it slept in poll and nothing came, as one waits for \"100 Continue\" that does not come; the answer came p50 5.00 ms after the last part";
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
    // A client that thinks between its requests and says a word behind each: one connection, its first request sent at once.
    let on_one = |pause: fn(u32) -> i64| {
        let mut f = facts(pause);
        for r in &mut f.responses {
            r.connection = ConnectionId(0);
        }
        f
    };
    let thinks = |pause: fn(u32) -> i64| found(&on_one(pause)).len();
    assert_eq!(thinks(|n| if n == 0 { 0 } else { 500 * MS }), 0);
    assert_eq!(thinks(|n| i64::from(n) * 80 * MS), 0);
    // The first one, too: all of them are sent so.
    assert_eq!(thinks(|_| 500 * MS), 1);
    // When that connection was opened is not known: whether its first request was is not, either.
    let mut older = on_one(|_| 500 * MS);
    older.tcp_states.clear();
    older.connections.iter_mut().for_each(|c| c.born = None);
    assert_eq!(found(&older), []);
    // Three of a hundred.
    let mut few = facts(|n| if n < 3 { 1_001 * MS } else { 0 });
    let like = few.responses[11].clone();
    few.responses.extend((1..90).map(|n| ResponseRow {
        send_ns: like.send_ns + n * 10 * MS,
        ready_ns: Some(like.send_ns + n * 10 * MS + MS),
        ..like.clone()
    }));
    assert_eq!(found(&few), []);
}
