//! Attempts from another address than before.

use super::aside::{attempt, facts};
use super::scans::told;
use crate::analyses::opens::Source;
use crate::facts::Facts;
use crate::reconstruct::opens::tables::OpenEnd;

const S: i64 = 1_000_000_000;

/// 10.0.0.1 opens six connections to 10.0.0.8:8080 in the first seconds; from 5 s on five attempts from 10.0.0.2 have no answer. 10.0.0.3 goes on all the time.
fn moved(change: &dyn Fn(&mut Facts)) -> (Option<Source>, String) {
    let mut f = facts(0, &[]);
    f.capture.start_ns = Some(0);
    let at = |n: u32, host, from: i64, end| {
        let mut o = attempt(n, host, (8, 8080), end);
        (o.start_ns, o.end_ns) = (from + i64::from(n) * S / 10, from + i64::from(n) * S / 10 + S / 20);
        o
    };
    f.opens = (0..6).map(|n| at(n, 1, S, OpenEnd::Established)).collect();
    f.opens.extend((10..15).map(|n| at(n, 2, 5 * S, OpenEnd::GivenUp)));
    f.opens.extend((20..80).map(|n| at(n, 3, 0, OpenEnd::Established)));
    change(&mut f);
    f.opens.sort_by_key(|o| o.start_ns);
    let (o, line) = told(&f);
    (o.failed[0].source.clone(), line.sentence)
}

#[test]
fn since_they_come_from_another_address() {
    let (source, says) = moved(&|_| ());
    let expect = Source {
        now: [10, 0, 0, 2].into(),
        before: [10, 0, 0, 1].into(),
        stood: 6,
        last_ns: 1_500_000_000,
    };
    assert_eq!(source, Some(expect));
    let words = "they come from 10.0.0.2, where 6 connections from 10.0.0.1 stood before, the last at 1.500 s: another source address than before";
    assert!(says.contains(words), "{says}");
}

#[test]
fn what_came_to_be_from_there_or_failed_before_tells_otherwise() {
    let none = |change: &dyn Fn(&mut Facts)| assert_eq!(moved(change).0, None);
    let from = |f: &mut Facts, n: usize, host: u8| f.opens[n].from = Some(([10, 0, 0, host].into(), 1));
    // One from there stood; one of the old ones failed, or goes on; they come from two addresses.
    none(&|f| from(f, 20, 2));
    none(&|f| f.opens[2].end = OpenEnd::GivenUp);
    none(&|f| f.opens[2].start_ns = 9 * S);
    none(&|f| from(f, 7, 4));
    // Two are gone; too few before.
    none(&|f| (0..3).for_each(|n| from(f, n, 5)));
    none(&|f| drop(f.opens.drain(0..4)));
}
