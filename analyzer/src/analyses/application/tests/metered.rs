//! A rate limit that delays, and attempts to connect that answers wait for.

use super::MS;
use super::work::row;
use crate::analyses::application::metered::metered;
use crate::analyses::application::opening::opening;
use crate::analyses::application::{Metered, Opening};
use crate::facts::Facts;
use crate::reconstruct::application::tables::TurnaroundRow;
use crate::reconstruct::opens::tables::{OpenEnd, OpenRow};
use crate::reconstruct::tcp::states::ESTABLISHED;

/// A server of port 80 and its connections to 10.0.0.50 and 10.0.0.60.
fn clients() -> Facts {
    let mut f = Facts::empty();
    for n in 0..2u32 {
        let mut c = crate::testing::tcp::connection(n);
        (c.sport, c.dport, c.born) = (80, 40_000 + n as u16, Some(ESTABLISHED));
        (c.saddr, c.daddr) = (Some([10, 0, 0, 1].into()), Some([10, 0, 0, 50 + 10 * n as u8].into()));
        f.connections.push(c);
    }
    f
}

/// 40 answers to 10.0.0.50, `each` of them, asked for five at a time 300 ms before; as many to 10.0.0.60 after `others`.
fn found(each: impl Fn(i64) -> i64, others: i64, asleep: bool) -> Option<Metered> {
    found_of(
        &each,
        |n| each(n - n % 5) - 300 * MS,
        others,
        |r| {
            if !asleep {
                r.split.asleep_ns = 0;
            }
        },
    )
}

/// The same, that were asked for at `asked`.
fn found_of(
    each: impl Fn(i64) -> i64,
    asked: impl Fn(i64) -> i64,
    others: i64,
    change: impl Fn(&mut TurnaroundRow),
) -> Option<Metered> {
    let mut f = clients();
    let slow: Vec<TurnaroundRow> = (0..40)
        .map(|n| {
            let mut r = row(0, asked(n), each(n));
            change(&mut r);
            r
        })
        .collect();
    f.turnarounds.extend(slow.clone());
    f.turnarounds
        .extend((1..40).map(|n| row(1, each(n) - others, each(n) - 1)));
    metered(&f, &slow.iter().collect::<Vec<_>>())
}

#[test]
fn answers_at_an_even_pace_to_one_address_are_a_limit() {
    let even = |n: i64| (1000 + 50 * n) * MS + (n % 3) * MS;
    let got = found(even, 5 * MS, true).unwrap();
    assert_eq!((got.client.as_str(), got.n, got.others), ("10.0.0.50", 40, 39));
    assert!((49 * MS..=51 * MS).contains(&got.each_ns) && got.others_p50_ns == 5 * MS - 1);
    // Others wait as long; it works meanwhile; at no pace; and at the pace at which they come.
    assert_eq!(found(even, 250 * MS, true), None);
    assert_eq!(found(even, 5 * MS, false), None);
    assert_eq!(found(|n| (1000 + n * n) * MS, 5 * MS, true), None);
    let slow = |n: i64| (1000 + 200 * n) * MS;
    assert_eq!(found_of(slow, |n| slow(n) - 300 * MS, 5 * MS, |_| ()), None);
    // As many at a time, each after 300 ms: they leave as they come, one each 50 ms. A burst's do not.
    let same = |_: &mut TurnaroundRow| {};
    assert_eq!(found_of(even, |n| even(n) - 300 * MS, 5 * MS, same), None);
    assert!(found_of(even, |n| 900 * MS + n, 5 * MS, same).is_some());
    // A lock: who had it wakes them.
    let woken = |r: &mut TurnaroundRow| (r.woken_by_pid, r.woken_by_ns) = (77, r.total_ns());
    assert_eq!(found_of(even, |n| even(n - n % 5) - 300 * MS, 5 * MS, woken), None);
}

#[test]
fn answers_wait_for_their_threads_attempts() {
    let mut f = Facts::empty();
    let attempt = |pid, start_ms: i64, end_ms: i64, end| OpenRow {
        connection: None,
        from: None,
        to: Some(("10.0.0.22".parse().unwrap(), 8080)),
        pid,
        task: Default::default(),
        start_ns: start_ms * MS,
        end_ns: end_ms * MS,
        end,
        error: None,
        message: false,
        syns_again: None,
        confidence: crate::Confidence::Certain,
    };
    let slow = [row(0, 1000 * MS, 4005 * MS), row(0, 9000 * MS, 12_005 * MS)];
    let told = |f: &Facts| opening(f, &slow.iter().collect::<Vec<_>>());
    f.opens = vec![
        attempt(9, 1001, 4001, OpenEnd::GivenUp),
        attempt(9, 9001, 12_002, OpenEnd::GivenUp),
    ];
    f.turnarounds.extend(slow.clone());
    let expected = Opening {
        to: "10.0.0.22:8080".into(),
        n: 2,
        of: 2,
        end: "given_up",
        longest_ns: 3001 * MS,
    };
    assert_eq!(told(&f), Some(expected));
    // Another thread's, short ones, one that came to be.
    for change in [
        |r: &mut OpenRow| r.pid = 8,
        |r: &mut OpenRow| r.end_ns = r.start_ns + MS,
        |r: &mut OpenRow| r.end = OpenEnd::Established,
    ] {
        let mut other = Facts::empty();
        (other.opens, other.turnarounds) = (f.opens.clone(), f.turnarounds.clone());
        other.opens.iter_mut().for_each(change);
        assert_eq!(told(&other), None);
    }
    // Under way before.
    let mut before = Facts::empty();
    (before.opens, before.turnarounds) = (f.opens.clone(), f.turnarounds.clone());
    before.opens.iter_mut().for_each(|r| r.start_ns -= 2 * MS);
    assert_eq!(told(&before), None);
    // Each three seconds, whether anybody asks or not; and one for many answers.
    f.opens
        .extend((0..10).map(|n| attempt(9, 20_000 + 3000 * n, 22_900 + 3000 * n, OpenEnd::GivenUp)));
    assert_eq!(told(&f), None);
    f.opens.truncate(1);
    let many: Vec<TurnaroundRow> = (0..10).map(|n| row(0, (1000 - n) * MS, (4005 + n) * MS)).collect();
    f.turnarounds.clone_from(&many);
    assert_eq!(opening(&f, &many.iter().collect::<Vec<_>>()), None);
}

/// Ten ask again as soon as they are answered: they come at the pace at which they are answered, but the first ten come at once.
#[test]
fn who_asks_again_when_he_is_answered_comes_at_the_pace_of_the_limit() {
    let answer = |n: i64| (1000 + 50 * n) * MS;
    let of = |asked: &dyn Fn(i64) -> i64| {
        let mut f = clients();
        let all: Vec<TurnaroundRow> = (0..90).map(|n| row(0, asked(n), answer(n))).collect();
        f.turnarounds.extend(all.clone());
        f.turnarounds
            .extend((1..90).map(|n| row(1, answer(n) - MS, answer(n) - 1)));
        let slow: Vec<&TurnaroundRow> = all.iter().filter(|r| r.total_ns() > 250 * MS).collect();
        metered(&f, &slow).map(|m| (m.n, m.each_ns))
    };
    let again = |n: i64| if n < 10 { answer(0) - MS } else { answer(n - 10) + MS };
    assert_eq!(of(&again), Some((85, 50 * MS)));
    // All of them take half a second from the first on: an answer takes that long there.
    assert_eq!(of(&|n| answer(n) - 499 * MS), None);
}
