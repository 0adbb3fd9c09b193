//! Servers as their clients see them.

use super::{MS, response};
use crate::analyses::application::{Stood, answer};
use crate::facts::{ConnectionId, Facts};
use crate::ingest::GapRow;
use crate::reconstruct::receive::tables::RxRow;

/// Clients on connections of their own ask one server: (client, asks, has its answer), ms.
fn stood(of: &[(u32, i64, i64)]) -> Vec<Stood> {
    stood_with(of, &[])
}

fn stood_with(of: &[(u32, i64, i64)], gaps: &[GapRow]) -> Vec<Stood> {
    stood_but(of, |f| f.gaps = gaps.to_vec())
}

fn stood_but(of: &[(u32, i64, i64)], change: impl Fn(&mut Facts)) -> Vec<Stood> {
    let mut f = Facts::empty();
    for n in 0..=8u32 {
        let mut c = crate::testing::tcp::connection(n);
        (c.sport, c.dport) = (1000 + n as u16, 80);
        crate::testing::tcp::born(&mut f, c, super::SYN_SENT);
    }
    for (client, asks, has) in of {
        let mut r = response(0, 0, 1);
        r.connection = ConnectionId(*client);
        (r.send_ns, r.ready_ns, r.read_ns) = (asks * MS, Some(has * MS), has * MS);
        (r.complete_ns, r.peer) = (Some(has * MS), None);
        f.responses.push(r);
    }
    change(&mut f);
    f.responses.sort_by_key(|r| (r.connection, r.send_ns));
    answer(&f).findings().unwrap().servers[0].stood.clone()
}

/// A unit that arrived on connection 7.
fn arrived(at: i64) -> RxRow {
    RxRow {
        connection: Some(ConnectionId(7)),
        bytes: Some(100),
        start_ns: at * MS,
        ..RxRow::default()
    }
}

#[test]
fn a_server_that_answers_nobody_while_three_wait_stands_still() {
    // Each of three asks each 10 ms and has its answer 1 ms later; from 500 to 800 ms all wait.
    let mut all: Vec<(u32, i64, i64)> = (0..50)
        .flat_map(|n| (0..3).map(move |c| (c, n * 10, n * 10 + 1)))
        .collect();
    assert_eq!(stood(&all), []);
    all.extend((0..3).map(|c| (c, 510 + i64::from(c) * 5, 800 + i64::from(c))));
    let found = stood(&all);
    // Three wait from 520 on.
    let expect = Stood {
        from_ns: 520 * MS,
        to_ns: 800 * MS,
        waiting: 3,
    };
    assert_eq!(found, [expect]);
    // What was lost then may have been an answer; before it, it changes nothing.
    let gap = |from: i64, to: i64| crate::testing::gap(from * MS, to * MS);
    assert_eq!(stood_with(&all, &[gap(600, 610)]), []);
    assert_eq!(stood_with(&all, &[gap(100, 110)]), [expect]);
    // A byte for somebody whose requests are not told apart ends it; a transfer hides it.
    let also = |from: i64, to: i64, reads: u32| {
        stood_but(&all, |f| {
            let mut r = response(0, 0, 1);
            (r.connection, r.overlap, r.reads) = (ConnectionId(7), true, reads);
            (r.send_ns, r.ready_ns, r.read_ns, r.complete_ns) = (0, Some(from * MS), to * MS, Some(to * MS));
            f.responses.push(r);
        })
    };
    assert_eq!(also(1, 710, 1), []);
    assert_eq!(
        also(1, 795, 1),
        [Stood {
            to_ns: 795 * MS,
            ..expect
        }]
    );
    assert_eq!(also(1, 3, 20), [expect]);
    assert_eq!(also(1, 900, 20), []);
    // Of one whose units are known (a stream that is always open) only what arrived counts.
    let stream = |at: &[i64]| {
        stood_but(&all, |f| {
            let mut r = response(0, 0, 1);
            (r.connection, r.overlap, r.reads) = (ConnectionId(7), true, 20);
            (r.send_ns, r.ready_ns, r.read_ns, r.complete_ns) = (0, Some(MS), 900 * MS, Some(900 * MS));
            f.responses.push(r);
            f.rx = at.iter().map(|at| arrived(*at)).collect();
        })
    };
    assert_eq!(stream(&[100, 500, 810, 900]), [expect]);
    assert_eq!(stream(&[100, 500, 620, 710, 810]), []);
    // One byte soon after the begin: the rest is longer.
    let later = Stood {
        from_ns: 530 * MS,
        ..expect
    };
    assert_eq!(stream(&[100, 530]), [later]);
    // Three more that are open all the time, as long polls, and one quick answer each 300 ms.
    let mut polls: Vec<(u32, i64, i64)> = (4..7).map(|c| (c, 1, 3_100 + 300 * i64::from(c))).collect();
    polls.extend((0..15).map(|n| (0, n * 300, n * 300 + 1)));
    assert_eq!(stood(&polls), []);
    // Two only.
    all.pop();
    assert_eq!(stood(&all), []);
}

#[test]
fn a_pause_without_requests_is_none() {
    let mut all: Vec<(u32, i64, i64)> = (0..50)
        .flat_map(|n| (0..3).map(move |c| (c, n * 10, n * 10 + 1)))
        .collect();
    all.extend((0..3).map(|c| (c, 900, 901)));
    assert_eq!(stood(&all), []);
    // An answer to another one meanwhile.
    let mut all: Vec<(u32, i64, i64)> = (0..3).map(|c| (c, 0, 150)).collect();
    all.extend((0..20).map(|n| (5, n * 10, n * 10 + 1)));
    assert_eq!(stood(&all), []);
}

/// Each 150 ms one more asks and is answered at once, with two others, while three of before wait on.
#[test]
fn what_is_asked_then_and_answered_at_once_did_not_wait() {
    let mut all: Vec<(u32, i64, i64)> = (4..7).map(|c| (c, 1, 3_000 + 300 * i64::from(c))).collect();
    all.extend((0..12).flat_map(|n| (0..3).map(move |c| (c, n * 150 + 149, n * 150 + 150))));
    assert_eq!(stood(&all), []);
}
