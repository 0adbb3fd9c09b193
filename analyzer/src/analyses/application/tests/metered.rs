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

/// 40 answers to 10.0.0.50, `each` of them, after 300 ms each; as many to 10.0.0.60 after `others`.
fn found(each: impl Fn(i64) -> i64, others: i64, asleep: bool) -> Option<Metered> {
    let mut f = Facts::empty();
    for n in 0..2u32 {
        let mut c = crate::testing::tcp::connection(n);
        (c.sport, c.dport, c.born) = (80, 40_000 + n as u16, Some(ESTABLISHED));
        (c.saddr, c.daddr) = (Some([10, 0, 0, 1].into()), Some([10, 0, 0, 50 + 10 * n as u8].into()));
        f.connections.push(c);
    }
    let slow: Vec<TurnaroundRow> = (0..40)
        .map(|n| {
            let mut r = row(0, each(n) - 300 * MS, each(n));
            if !asleep {
                r.split.asleep_ns = 0;
            }
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
    assert_eq!(found(|n| (1000 + 200 * n) * MS, 5 * MS, true), None);
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
        other.opens = f.opens.clone();
        other.opens.iter_mut().for_each(change);
        assert_eq!(told(&other), None);
    }
}
