//! What readers waited for while packets of theirs lay there: a server that they ask, a process that they run.

use super::unit;
use crate::Confidence::Certain;
use crate::analyses::receive::asked_meanwhile::asked_meanwhile;
use crate::analyses::receive::children::children;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::receive::tables::{RxEnd, RxRow, Stage};
use crate::reconstruct::tcp::states::SYN_SENT;
use crate::reconstruct::thread::Ended;

const MS: i64 = 1_000_000;

/// A unit of thread 7 on connection 1 that lay there, its reader asleep, from when to when, ms.
fn lay(n: u32, from: i64, to: i64) -> RxRow {
    let ns = (to - from) * MS;
    RxRow {
        start_ns: from * MS,
        connection: Some(ConnectionId(1)),
        asleep_in: Name::new(b"recvfrom"),
        asleep_in_ns: ns,
        ..unit(n, RxEnd::Read, &[(Stage::ReaderAsleep, ns)], 0, Certain)
    }
}

/// Connection 2 to 10.0.0.2:7070, on which thread `pid` asks from when on, for so long, ms.
fn facts(pid: i32, asks: &[(i64, i64)]) -> Facts {
    let mut f = Facts::empty();
    f.ended = Ended::told();
    for n in 0..3u32 {
        let mut c = crate::testing::tcp::connection(n);
        (c.born, c.dport) = (Some(SYN_SENT), 7070);
        f.connections.push(c);
    }
    let asked = |(at, took): &(i64, i64)| {
        let mut r = crate::analyses::application::tests::response_of(2, at * MS, took * MS);
        (r.pid, r.task) = (pid, Name::new(b"login.py"));
        r.read_ns = (at + took) * MS;
        r
    };
    f.responses = asks.iter().map(asked).collect();
    f
}

#[test]
fn a_reader_that_asks_for_each_message_is_told() {
    let units = [lay(0, 0, 100), lay(1, 50, 200)];
    let of = |f: &Facts, units: &[RxRow]| asked_meanwhile(f, &units.iter().collect::<Vec<_>>());
    let asks: Vec<(i64, i64)> = (0..10).map(|n| (n * 20, 18)).collect();
    let told = of(&facts(7, &asks), &units).unwrap();
    assert_eq!((told.task.as_str(), told.to.as_str()), ("curl/7", "10.0.0.2:7070"));
    assert_eq!((told.answers, told.took_ns), (10, 18 * MS));
    assert!((told.share - 0.9).abs() < 1e-9, "{}", told.share);
    // Another thread's; twice only; less than half of the time; before it.
    assert_eq!(of(&facts(8, &asks), &units), None);
    assert_eq!(of(&facts(7, &[(0, 100), (100, 100)]), &units), None);
    assert_eq!(of(&facts(7, &asks[..4]), &units), None);
    let before: Vec<(i64, i64)> = asks.iter().map(|a| (a.0 - 500, a.1)).collect();
    assert_eq!(of(&facts(7, &before), &units), None);
    // It slept by its own wish; what it asked for had come long before it read that; its answer was there before it asked.
    let own_wish = units.clone().map(|u| RxRow {
        asleep_in: Name::new(b"clock_nanosleep"),
        ..u
    });
    assert_eq!(of(&facts(7, &asks), &own_wish), None);
    let mut ready = facts(7, &asks);
    ready
        .responses
        .iter_mut()
        .for_each(|r| r.ready_ns = Some(r.send_ns + MS));
    assert_eq!(of(&ready, &units), None);
    let mut overlap = facts(7, &asks);
    overlap.responses.iter_mut().for_each(|r| r.overlap = true);
    assert_eq!(of(&overlap, &units), None);
    // On the connection itself that it reads late: that is the answer.
    let mut own = facts(7, &asks);
    own.responses.iter_mut().for_each(|r| r.connection = ConnectionId(1));
    assert_eq!(of(&own, &units), None);
}

#[test]
fn a_process_that_a_reader_waits_for_is_told() {
    // Units that lay from 0 to 1.2 s and from 5 to 6.2 s, until processes 91 and 92 ended.
    let asleep = |n: u32, (from, to): (i64, i64), by: i32| RxRow {
        asleep_in: Name::new(b"unrecorded"),
        woken_by_pid: by,
        woken_by_ns: (to - from) * MS,
        woken_at_ns: to * MS,
        ..lay(n, from, to)
    };
    let units = [
        asleep(0, (0, 1_200), 91),
        asleep(1, (600, 1_200), 91),
        asleep(2, (5_000, 6_200), 92),
    ];
    let of = |f: &Facts, units: &[RxRow]| children(f, &units.iter().collect::<Vec<_>>());
    let mut f = facts(91, &[(100, 1_000)]);
    let mut second = f.responses[0].clone();
    (second.pid, second.send_ns, second.ready_ns) = (92, 5_100 * MS, Some(6_100 * MS));
    f.responses.push(second);
    f.ended.leaves(1_201 * MS, 91, 16);
    f.ended.leaves(6_210 * MS, 92, 16);
    let told = of(&f, &units).unwrap();
    assert_eq!(
        (told.task.as_str(), told.ended, told.name.as_str()),
        ("curl/7", 2, "login.py")
    );
    assert_eq!((told.longest_ns, told.share), (1_200 * MS, 1.0));
    let (to, share) = told.asked.clone().unwrap();
    assert!(
        to == "10.0.0.2:7070" && (share - 2.0 / 2.4).abs() < 1e-9,
        "{to} {share}"
    );
    // A part of the sleep of all readers; a thread of its own; one that ended later; one alone that was short.
    let mut other = units.to_vec();
    other.push(RxRow {
        pid: 8,
        ..lay(3, (0, 9_000).0, 9_000)
    });
    assert_eq!(of(&f, &other), None);
    let mut own = f.clone();
    for pid in [7, 91, 92] {
        own.processes.insert(pid, (7, Name::new(b"openvpn")));
    }
    assert_eq!(of(&own, &units), None);
    let mut later = f.clone();
    later.ended = Ended::told();
    later.ended.leaves(1_300 * MS, 91, 16);
    assert_eq!(of(&later, &units), None);
    let one = [asleep(0, (1_100, 1_200), 91)];
    assert_eq!(of(&f, &one), None);
    // They asked nobody for long; they did not end then; nothing tells of ends; it slept in a call; for a moment.
    let mut silent = f.clone();
    silent.responses.clear();
    assert_eq!(of(&silent, &units).unwrap().asked, None);
    let mut alive = f.clone();
    alive.ended = Ended::told();
    assert_eq!(of(&alive, &units), None);
    let mut untold = f.clone();
    untold.ended = Ended::default();
    assert_eq!(of(&untold, &units), None);
    let call = units.clone().map(|u| RxRow {
        asleep_in: Name::new(b"poll"),
        ..u
    });
    assert_eq!(of(&f, &call), None);
    let mut short = units;
    short.iter_mut().for_each(|u| u.woken_by_ns = 10 * MS);
    assert_eq!(of(&f, &short), None);
}
