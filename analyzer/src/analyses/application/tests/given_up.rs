//! Requests that their client gave up.

use std::net::Ipv4Addr;

use super::{MS, SYN_SENT, response};
use crate::analyses::application::{GivenUp, answer};
use crate::analyses::verdict::Tone;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::application::tables::ResponseRow;
use crate::reconstruct::opens::tables::{ResetRow, Sender};
use crate::reconstruct::receive::tables::{RxEnd, RxRow};
use crate::reconstruct::tcp::tables::StateRow;
use crate::reconstruct::thread::Ended;
use crate::reconstruct::transmit::tables::TxRow;

/// Calls, ten a second: those of the first 2 s are answered after 50 ms, the others given up after `wait(n)`.
const CALLS: u32 = 60;

pub(super) fn state(c: u32, ns: i64, state: i32) -> StateRow {
    crate::testing::tcp::state(c, state, ns)
}

fn reset(c: u32, ns: i64, received: bool, reason: &str) -> ResetRow {
    ResetRow {
        time_ns: ns,
        received,
        connection: None,
        from: Some((Ipv4Addr::new(10, 0, 0, 1).into(), 40_000 + c as u16)),
        to: Some((Ipv4Addr::new(10, 0, 0, 2).into(), 80)),
        reason: reason.into(),
        sender: Sender::Here,
        confidence: crate::Confidence::Certain,
    }
}

/// After 50 ms.
fn answered(n: u32) -> ResponseRow {
    let at = i64::from(n) * 100 * MS;
    ResponseRow {
        connection: ConnectionId(n),
        send_ns: at + 1000,
        ready_ns: Some(at + 50 * MS),
        read_ns: at + 50 * MS + 10_000,
        complete_ns: Some(at + 50 * MS),
        peer: None,
        ..response(1, 0, 50 * MS)
    }
}

fn facts(wait: impl Fn(u32) -> i64) -> Facts {
    let mut f = Facts::empty();
    (f.capture.start_ns, f.capture.end_ns) = (Some(0), Some(6_500 * MS));
    f.capture.duration_ns = 6_500 * MS;
    for n in 0..CALLS {
        let mut c = crate::testing::tcp::connection(n);
        (c.sport, c.dport, c.task) = (40_000 + n as u16, 80, Name::new(b"checkout"));
        f.connections.push(c);
        let at = i64::from(n) * 100 * MS;
        f.tx.push(TxRow {
            connection: Some(ConnectionId(n)),
            start_ns: at + 1000,
            ..crate::testing::sent()
        });
        f.tcp_states.extend([state(n, at, SYN_SENT), state(n, at + 500, 1)]);
        let left = match n < 20 {
            true => {
                f.responses.push(answered(n));
                f.rx.push(came(n, at + 50 * MS));
                at + 51 * MS
            }
            false => at + 1000 + wait(n),
        };
        f.tcp_states.extend([
            state(n, left, 4),
            state(n, left + 40_000, 5),
            state(n, left + 45_000, 7),
        ]);
    }
    f.tcp_states.sort_by_key(|s| s.time_ns);
    f
}

pub(super) fn came(c: u32, ns: i64) -> RxRow {
    RxRow {
        connection: Some(ConnectionId(c)),
        bytes: Some(10),
        start_ns: ns,
        total_ns: 10_000,
        end: RxEnd::Read,
        ..Default::default()
    }
}

fn found(f: &Facts) -> Vec<GivenUp> {
    answer(f).findings().unwrap().given_up.clone()
}

const TIMEOUT: fn(u32) -> i64 = |n| 250 * MS + i64::from(n) * 10_000;

#[test]
fn a_time_out_of_the_client_leads() {
    let mut f = facts(TIMEOUT);
    f.resets = (30..40)
        .map(|n| reset(n, i64::from(n) * 100 * MS + 2_000 * MS, false, "TCP_TIMEWAIT_SOCKET"))
        .collect();
    let all = found(&f);
    let [g] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!((g.requests, g.of, g.later, g.timeout), (40, 40, 10, true));
    assert_eq!((g.task.as_str(), g.server.as_str()), ("checkout", "10.0.0.2:80"));
    assert_eq!(g.first_ns, 2_000 * MS + 1000);
    let lines = crate::analyses::answer(&f).verdict;
    let line = lines.iter().find(|l| l.subject == "application").unwrap();
    assert_eq!((line.tone, line.names_cause), (Tone::Bad, true));
    assert_eq!(
        line.headline,
        "from 2.0 s on checkout gave up all 40 requests to 10.0.0.2:80 without an answer, closing their connections after p50 250.39 ms (its own time-out, inferred: all alike); 10 of them were answered later, when nobody was still waiting"
    );
    assert!(
        line.sentence.starts_with("From 2.0 s on checkout gave up"),
        "{}",
        line.sentence
    );
}

/// A tool that gives up, and what is killed while it waits: that its thread ended within a quarter of a second is told either way.
#[test]
fn threads_that_ended_with_their_requests_are_told() {
    let mut f = facts(TIMEOUT);
    for c in &mut f.connections {
        c.pid = 500 + c.connection.0 as i32;
    }
    let closed = |n: u32| i64::from(n) * 100 * MS + 1_000 + TIMEOUT(n);
    assert_eq!(found(&f)[0].ended, None);
    f.ended = Ended::told();
    for n in 20..CALLS {
        f.ended.leaves(closed(n) + 200 * MS, 500 + n as i32, 32);
    }
    let lead = |f: &Facts| {
        let lines = crate::analyses::answer(f).verdict;
        lines.into_iter().find(|l| l.subject == "application").unwrap().headline
    };
    assert_eq!(found(&f)[0].ended, Some(40));
    let all = "(its own time-out, inferred: all alike), and the threads that had asked then ended (exit or kill)";
    assert!(lead(&f).contains(all), "{}", lead(&f));
    // Those that ended later, or before, did not with them.
    f.ended = Ended::told();
    for n in 20..CALLS {
        let at = closed(n) + [200, 300, -1][n as usize % 3] * MS;
        f.ended.leaves(at, 500 + n as i32, 16);
    }
    assert_eq!(found(&f)[0].ended, Some(13));
    assert!(lead(&f).contains(", and 13 of the threads that had asked then ended"));
}

/// Farewells are far smaller than requests; what was answered, if later, is none.
#[test]
fn a_small_request_that_was_answered_later_counts() {
    let small = |later: std::ops::Range<u32>| {
        let mut f = facts(TIMEOUT);
        for t in f.tx.iter_mut().filter(|t| t.connection.is_some_and(|c| c.0 >= 20)) {
            t.bytes = Some(10);
        }
        f.resets = later
            .map(|n| reset(n, i64::from(n) * 100 * MS + 2_000 * MS, false, "TCP_TIMEWAIT_SOCKET"))
            .collect();
        found(&f).iter().map(|g| (g.requests, g.later)).collect::<Vec<_>>()
    };
    assert_eq!(small(0..0), []);
    assert_eq!(small(30..60), [(30, 30)]);
}

/// RSTs that this host sent for what came too late are told with these requests; those of others lead.
#[test]
fn resets_of_late_answers_are_no_news() {
    let rsts = |n: std::ops::Range<u32>, other: u32| {
        let mut f = facts(TIMEOUT);
        for key in ["tcp:tcp_receive_reset", "sock:inet_sock_set_state"] {
            f.capture.events.insert(key.into(), 1);
        }
        let late = |n: u32| reset(n, i64::from(n) * 100 * MS + 2_000 * MS, false, "TCP_TIMEWAIT_SOCKET");
        f.resets = n.map(late).collect();
        // Of connections that nobody gave up.
        f.resets.extend((0..other).map(late));
        f.resets.sort_by_key(|r| r.time_ns);
        let lines = crate::analyses::answer(&f).verdict;
        let line = lines.into_iter().find(|l| l.subject == "opens").unwrap();
        (found(&f)[0].rsts, line.tone)
    };
    assert_eq!(rsts(30..40, 0), (10, Tone::Ok));
    assert_eq!(rsts(30..40, 3), (10, Tone::Notice));
    // As many in all as requests that were answered later.
    assert_eq!(rsts(30..35, 5), (5, Tone::Notice));
}

/// Waits of any length are told when the server answered some of them later.
#[test]
fn others_are_told_when_they_were_answered_later() {
    let mut f = facts(|n| i64::from(n) * 10 * MS);
    assert_eq!(found(&f), []);
    f.resets = vec![reset(30, 5_900 * MS, false, "TCP_TIMEWAIT_SOCKET")];
    let all = found(&f);
    assert_eq!((all[0].requests, all[0].later, all[0].timeout), (40, 1, false));
}

#[test]
fn what_is_no_giving_up_is_not_told() {
    let none = |what: &str, change: &dyn Fn(&mut Facts)| {
        let mut f = facts(TIMEOUT);
        change(&mut f);
        assert_eq!(found(&f), [], "{what}");
    };
    let late = |n: u32| i64::from(n) * 100 * MS + 240 * MS;
    none("long polls are answered", &|f| {
        f.rx.extend((20..CALLS).map(|n| came(n, late(n))))
    });
    none("half-closed: read on", &|f| {
        f.rx.extend((20..CALLS).map(|n| came(n, late(n) + 100 * MS)))
    });
    none("half-closed: stays in FIN_WAIT2", &|f| {
        f.tcp_states.retain(|s| s.state != 7 || s.connection.0 < 20)
    });
    none("nothing was sent: a health check", &|f| f.tx.truncate(20));
    none("a last word that is no request: 13 bytes after requests of 100", &|f| {
        for t in &mut f.tx {
            t.bytes = Some(if t.start_ns < 2_000 * MS { 100 } else { 13 });
        }
    });
    none("the peer closed first", &|f| {
        for s in f.tcp_states.iter_mut().filter(|s| s.state == 4) {
            s.state = 8;
        }
    });
    none("the peer reset it", &|f| {
        f.resets = (20..CALLS).map(|n| reset(n, late(n) + MS, true, "")).collect();
        for r in &mut f.resets {
            r.connection = r.from.map(|e| ConnectionId(u32::from(e.1) - 40_000));
        }
    });
    none("the recording ends", &|f| {
        f.tcp_states
            .retain(|s| s.connection.0 < 20 || matches!(s.state, SYN_SENT | 1))
    });
    none("a server that never answers is none", &|f| {
        f.responses.clear();
        for key in ["skb:skb_copy_datagram_iovec", "sock:sock_send_length"] {
            f.capture.events.insert(key.into(), 1);
        }
    });
    let killed = facts(|n| 6_200 * MS - i64::from(n) * 100 * MS);
    assert_eq!(found(&killed), [], "a program that ends");
    let farewell = facts(|_| MS);
    assert_eq!(found(&farewell), [], "a last word that needs no answer");
    let mut idle = facts(TIMEOUT);
    for t in idle.tx.iter_mut().skip(20) {
        t.start_ns -= 60 * MS;
    }
    idle.rx.extend((20..CALLS).map(|n| came(n, i64::from(n) * 100 * MS)));
    assert_eq!(found(&idle), [], "closed idle");
}

/// A few of many are told, and are not called wrong.
#[test]
fn a_few_of_many_are_worth_a_look() {
    let mut f = facts(TIMEOUT);
    for n in (20..CALLS).filter(|n| n % 8 != 0) {
        f.rx.push(came(n, i64::from(n) * 100 * MS + 50 * MS));
        f.responses.push(answered(n));
    }
    let all = found(&f);
    assert_eq!((all[0].requests, all[0].of), (5, 33), "{all:?}");
    let lines = crate::analyses::answer(&f).verdict;
    let line = lines.iter().find(|l| l.subject == "application").unwrap();
    assert_eq!(line.tone, Tone::Notice, "{}", line.sentence);
}

/// One in four answered meanwhile, the others given up after 40 ms: where an answer came after longer than that somebody types on, else it is a time-out.
#[test]
fn who_waits_longer_for_others_has_no_time_out() {
    let line = |f: &Facts| {
        let lines = crate::analyses::answer(f).verdict;
        lines.into_iter().find(|l| l.subject == "application").unwrap()
    };
    let with = |ms: i64| {
        let mut f = facts(|n| 40 * MS + i64::from(n) * 1_000);
        for n in (20..CALLS).filter(|n| n % 4 == 0) {
            let at = i64::from(n) * 100 * MS;
            f.responses.push(ResponseRow {
                ready_ns: Some(at + ms * MS),
                read_ns: at + ms * MS + 10_000,
                complete_ns: Some(at + ms * MS),
                ..answered(n)
            });
            f.rx.push(came(n, at + 30 * MS));
        }
        f
    };
    let (quick, slow) = (with(30), with(60));
    let of = |f: &Facts| {
        found(f)
            .into_iter()
            .map(|g| (g.requests, g.of, g.longer, g.timeout, g.hasty))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (of(&quick), of(&slow)),
        (vec![(30, 39, 0, true, false)], vec![(30, 39, 9, false, true)])
    );
    assert_eq!((line(&quick).tone, line(&slow).tone), (Tone::Bad, Tone::Notice));
    let says = "(it waited longer for 9 that were answered: no time-out, it wanted these no more, as when somebody types on; inferred)";
    assert!(line(&slow).headline.contains(says), "{}", line(&slow).headline);
}
