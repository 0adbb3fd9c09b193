//! Requests given up by a time-out that one side has and the other has not: calls planted in rows, each by the program of a server that is asked itself.

use super::samples::facts;
use crate::diff::DiffOptions;
use crate::diff::servers::{asks, gave_up};
use crate::diff::sides::options::Recording;
use crate::diff::values::metrics::Which;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::application::tables::{ResponseRow, TurnaroundRow};
use crate::reconstruct::receive::tables::{RxEnd, RxRow};
use crate::reconstruct::transmit::tables::TxRow;

const MS: i64 = 1_000_000;
/// Calls, ten a second.
const CALLS: u32 = 60;

/// What becomes of a request.
#[derive(Clone, Copy, PartialEq)]
enum End {
    Answered,
    GivenUp,
}
use End::{Answered, GivenUp};

/// Of each call of `who` to 10.0.0.2:80 its end, and after how long; one given up is asked again so many times, and each of these is answered after 50 ms.
fn calls(who: &[u8], again: u32, of: impl Fn(u32) -> (End, i64)) -> Facts {
    let like = facts("rpc/rpc.nmb");
    let (response, turn) = (&like.responses[0], &like.turnarounds[0]);
    let mut f = Facts::empty();
    (f.capture.start_ns, f.capture.end_ns) = (Some(0), Some(6_500 * MS));
    f.capture.duration_ns = 6_500 * MS;
    // Its own server, 10.0.0.1:8080.
    let mut own = crate::testing::tcp::connection(0);
    (own.sport, own.dport, own.task) = (8080, 50_000, Name::new(who));
    crate::testing::tcp::born(&mut f, own, 3);
    for n in 0..CALLS {
        let at = i64::from(n) * 100 * MS;
        let (end, ns) = of(n);
        let mut from = at + 1000;
        one(&mut f, (who, from, end, ns), response);
        from += ns;
        if end == GivenUp {
            for _ in 0..again {
                one(&mut f, (who, from + MS, Answered, 50 * MS), response);
                from += 51 * MS;
            }
        }
        let (pid, ready_ns) = (response.pid, Some(at));
        f.turnarounds.push(TurnaroundRow {
            connection: ConnectionId(0),
            pid,
            sender_pid: pid,
            ready_ns,
            read_ns: at,
            send_ns: from + 100_000,
            overlap: false,
            ..turn.clone()
        });
    }
    f.tcp_states.sort_by_key(|s| s.time_ns);
    f.tx.sort_by_key(|t| t.start_ns);
    f.rx.sort_by_key(|r| r.start_ns);
    f
}

/// One request, on a connection of its own.
fn one(f: &mut Facts, (who, at, end, ns): (&[u8], i64, End, i64), like: &ResponseRow) {
    let n = f.connections.len() as u32;
    let mut c = crate::testing::tcp::connection(n);
    (c.sport, c.dport, c.task) = (40_000 + n as u16, 80, Name::new(who));
    crate::testing::tcp::born(f, c, 2);
    let connection = ConnectionId(n);
    let mut state = |state, at| f.tcp_states.push(crate::testing::tcp::state(n, state, at));
    let left = at + ns + 20_000 * i64::from(end == Answered);
    state(1, at - 500);
    state(4, left);
    state(5, left + 40_000);
    state(7, left + 45_000);
    f.tx.push(TxRow {
        connection: Some(connection),
        start_ns: at,
        ..crate::testing::sent()
    });
    if end == Answered {
        f.rx.push(RxRow {
            connection: Some(connection),
            bytes: Some(10),
            start_ns: at + ns,
            total_ns: 10_000,
            end: RxEnd::Read,
            ..Default::default()
        });
        f.responses.push(ResponseRow {
            connection,
            task: Name::new(who),
            send_ns: at,
            ready_ns: Some(at + ns),
            read_ns: at + ns + 10_000,
            complete_ns: Some(at + ns),
            peer: None,
            overlap: false,
            ..like.clone()
        });
    }
}

fn said(before: &Facts, after: &Facts) -> Vec<String> {
    let of = |f| Recording::all(f, &[], None);
    let (before, after) = ([before], [after]);
    let (b, a) = (of(&before), of(&after));
    let mut asks = asks::of(&b, &a, &DiffOptions::default()).0;
    let told = gave_up::told(&b, &a, &mut asks);
    assert!(asks.iter().all(|x| x.divided != told.is_empty()));
    // Times of these answers end at the time-out on one side; what the server itself takes does not.
    let why = |stage, worse| gave_up::why(&told, &Which::new("app", stage).of_service("10.0.0.2:80"), worse).is_some();
    // What is worse though the longest are left out is worse; what is better for it is not.
    let after = told.first().map(|t| t.after);
    assert_eq!(
        (why("response", false), why("response", true)),
        (after == Some(true), after == Some(false))
    );
    assert!(!why("turnaround", false) && !why("turnaround", true));
    told.into_iter().map(|t| t.sentence).collect()
}

/// One of five takes 400 ms: it waits for it, or gives up after 250 ms and asks again.
fn waits(n: u32) -> (End, i64) {
    (Answered, if n.is_multiple_of(5) { 400 * MS } else { 50 * MS })
}

fn gives_up(n: u32) -> (End, i64) {
    match n.is_multiple_of(2) {
        true => (GivenUp, 250 * MS + i64::from(n) * 10_000),
        false => (Answered, 50 * MS),
    }
}

#[test]
fn a_time_out_where_it_had_waited_longer_is_new() {
    let (before, after) = (calls(b"nginx", 0, waits), calls(b"nginx", 1, gives_up));
    assert_eq!(
        said(&before, &after),
        [
            "After, and not before, nginx gives up requests to 10.0.0.2:80 after p50 250.28 ms without an answer (its own time-out, inferred: all alike), 30 of 90; before it gave up none of 60, and waited longer than that for 12: the time-out is new, or shorter than it was (inferred); it asks again: 1.5 requests for each answer from 10.0.0.1:8080, 1.0 before (given up ones counted, inferred), more work for the same answers."
        ]
    );
    // The other way.
    let [told] = &said(&after, &before)[..] else { panic!() };
    assert!(
        told.starts_with("Before, and not after, nginx gave up requests to 10.0.0.2:80 after p50 250.28 ms"),
        "{told}"
    );
    assert!(
        told.contains("; after it gave up none of 60, and waited longer than that for 12: the time-out is gone, or longer than that (inferred)"),
        "{told}"
    );
}

#[test]
fn where_nobody_had_waited_as_long_no_time_out_is_new() {
    let quick = calls(b"nginx", 0, |_| (Answered, 50 * MS));
    let [told] = &said(&quick, &calls(b"nginx", 1, gives_up))[..] else {
        panic!()
    };
    assert!(
        told.contains("30 of 90; before it gave up none of 60, and none took as long; it asks again"),
        "{told}"
    );
    // One stall of the server: in one part of the time.
    let stall = |n: u32| match n < 25 {
        true => (GivenUp, 250 * MS + i64::from(n) * 10_000),
        false => (Answered, 50 * MS),
    };
    assert_eq!(said(&quick, &calls(b"nginx", 1, stall)), [""; 0]);
    // Of who had waited longer it is another time-out all the same.
    let told = said(&calls(b"nginx", 0, waits), &calls(b"nginx", 1, stall)).concat();
    assert!(told.contains("the time-out is new"), "{told}");
}

#[test]
fn what_is_none_of_one_side_is_not_said() {
    let (before, after) = (calls(b"nginx", 0, waits), calls(b"nginx", 1, gives_up));
    let none = [""; 0];
    assert_eq!(said(&after, &after), none);
    assert_eq!(said(&before, &before), none);
    // Few, waits of all lengths, another program.
    let few = calls(b"nginx", 1, |n| if n < 40 { waits(n + 1 - n % 5) } else { gives_up(n) });
    assert_eq!(said(&before, &few), none);
    let long = |n: u32| match n.is_multiple_of(2) {
        true => (GivenUp, 100 * MS + i64::from(n) * 5 * MS),
        false => (Answered, 50 * MS),
    };
    assert_eq!(said(&before, &calls(b"nginx", 1, long)), none);
    assert_eq!(said(&calls(b"envoy", 0, waits), &after), none);
    // Two on the other side, which are no group of their own.
    let two = calls(b"nginx", 1, |n| if n < 4 { gives_up(n) } else { waits(n) });
    assert_eq!(said(&two, &after), none);
    // Events were lost there.
    let mut lost = calls(b"nginx", 0, waits);
    lost.gaps.push(crate::testing::gap(0, MS));
    assert_eq!(said(&lost, &after), none);
    // As soon on the other side, of fewer.
    let some = calls(b"nginx", 1, |n| if n < 20 { gives_up(n) } else { waits(n) });
    assert_eq!(said(&some, &after), none);
}

#[test]
fn a_longer_time_out_is_told_with_its_own() {
    let long = calls(b"nginx", 0, |n| match n.is_multiple_of(5) {
        true => (GivenUp, 2_000 * MS + i64::from(n) * 10_000),
        false => waits(n + 4),
    });
    let told = said(&long, &calls(b"nginx", 1, gives_up)).concat();
    assert!(
        told.contains("; before it gave up 12 of 60, after p50 2.000 s"),
        "{told}"
    );
}

/// Nothing shows that its time-out is another where none took as long before: a cause, and no verdict.
#[test]
fn where_none_took_as_long_before_it_is_not_worse_by_itself() {
    let is_worse = |before: &Facts, after: &Facts| {
        let (before, after) = ([before], [after]);
        let (b, a) = (Recording::all(&before, &[], None), Recording::all(&after, &[], None));
        let mut asks = asks::of(&b, &a, &DiffOptions::default()).0;
        let told = gave_up::told(&b, &a, &mut asks);
        let [one] = &told[..] else { panic!("{told:?}") };
        (one.is_worse(), one.sentence.contains("and none took as long"))
    };
    let (quick, gives_up) = (
        calls(b"nginx", 0, |_| (Answered, 50 * MS)),
        calls(b"nginx", 0, gives_up),
    );
    assert_eq!(is_worse(&quick, &gives_up), (false, true));
    assert_eq!(is_worse(&calls(b"nginx", 0, waits), &gives_up), (true, false));
}

/// One in six all the time, where it had waited as long for 12: as few as ten are no chance then, and are harm by themselves.
#[test]
fn a_few_all_the_time_are_worse_by_themselves() {
    let few = |n: u32| match n.is_multiple_of(6) {
        true => (GivenUp, 250 * MS + i64::from(n) * 10_000),
        false => (Answered, 50 * MS),
    };
    let of = |f| Recording::all(f, &[], None);
    let (before, after) = ([&calls(b"nginx", 0, waits)], [&calls(b"nginx", 0, few)]);
    let (b, a) = (of(&before), of(&after));
    let mut asks = asks::of(&b, &a, &DiffOptions::default()).0;
    let told = gave_up::told(&b, &a, &mut asks);
    let [one] = &told[..] else { panic!("{told:?}") };
    assert!(one.is_worse(), "{one:?}");
    let words = "10 of 60; before it gave up none of 60, and waited longer than that for 12: the time-out is new, or shorter than it was (inferred); that answers take no longer than that now is the cut, and no improvement.";
    assert!(one.sentence.ends_with(words), "{}", one.sentence);
    // Before alone it is no harm after; who asks again has its answers.
    assert!(gave_up::told(&a, &b, &mut asks).iter().all(|t| !t.is_worse()));
    let again = [&calls(b"nginx", 1, gives_up)];
    let a = of(&again);
    let mut asks = asks::of(&b, &a, &DiffOptions::default()).0;
    assert!(gave_up::told(&b, &a, &mut asks).iter().all(|t| !t.is_worse()));
}
