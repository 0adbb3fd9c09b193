//! Attempts that fail beside work that goes well.

use super::samples::{facts, of};
use crate::diff::Outcome;
use crate::diff::judged::beside_work::moderate;
use crate::diff::sides::options::Recording;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::opens::tables::{OpenEnd, OpenRow};

const MS: i64 = 1_000_000;

/// The recording with 40 openings that came to be, and so many that were refused at an end where nobody is.
fn with(refused: i64) -> Facts {
    let mut f = facts("rpc/rpc.nmb");
    let (from, to) = (f.capture.start_ns.unwrap(), f.capture.end_ns.unwrap());
    let mut open = |nth: i64, of: i64, last: u8, end: OpenEnd| {
        let at = from + (to - from) / (of + 1) * (nth + 1);
        let mut row = crate::testing::tcp::connection(f.connections.len() as u32);
        (row.saddr, row.sport) = (Some([10, 0, 0, 1].into()), 40_000 + nth as u16);
        (row.daddr, row.dport, row.pid) = (Some([10, 0, 0, last].into()), 443, 70_000 + i32::from(last));
        (row.bytes_in, row.bytes_out, row.peer) = (0, 0, None);
        f.opens.push(OpenRow {
            connection: Some(ConnectionId(row.connection.0)),
            from: Some(([10, 0, 0, 1].into(), row.sport)),
            to: Some(([10, 0, 0, last].into(), 443)),
            pid: row.pid,
            task: crate::Name::new(b"monitor"),
            start_ns: at,
            end_ns: at + MS / 10,
            end,
            error: (end == OpenEnd::Refused).then_some(111),
            message: false,
            syns_again: Some(0),
            confidence: crate::Confidence::Certain,
        });
        f.connections.push(row);
    };
    // Of ten servers, too few of each for a rate of its own.
    (0..40).for_each(|n| open(n, 40, 20 + (n % 10) as u8, OpenEnd::Established));
    (0..refused).for_each(|n| open(n, refused, 9, OpenEnd::Refused));
    f.opens.sort_by_key(|o| o.start_ns);
    f
}

/// What becomes of the rate of those that failed, called worse.
fn judged(before: &Facts, after: &Facts) -> Outcome {
    let f = facts("rpc/rpc.nmb");
    let mut rate = of(&f, &f).rates.into_iter().next().unwrap();
    let failed = |f: &Facts| f.opens.iter().filter(|o| o.end == OpenEnd::Refused).count() as f64;
    (rate.metric, rate.outcome) = ("app.failed_opens".into(), Outcome::Worse);
    (rate.before.of, rate.before.out_of) = (failed(before), before.opens.len() as f64);
    (rate.after.of, rate.after.out_of) = (failed(after), after.opens.len() as f64);
    rate.difference = rate.after.of / rate.after.out_of - rate.before.of / rate.before.out_of;
    let sides = [before, after].map(|f| Recording::all(std::slice::from_ref(&f), &[], None));
    let mut rates = [rate];
    moderate(&mut rates, [&sides[0], &sides[1]]);
    assert_eq!(rates[0].unfelt, rates[0].outcome == Outcome::Changed);
    rates[0].outcome
}

#[test]
fn a_few_that_fail_where_nobody_is_are_a_difference_and_no_harm() {
    assert_eq!(judged(&with(0), &with(15)), Outcome::Changed);
    // Many are no single try.
    assert_eq!(judged(&with(0), &with(25)), Outcome::Worse);
    // Somebody was reached there.
    let mut after = with(15);
    let one = after.opens.iter_mut().find(|o| o.end == OpenEnd::Refused).unwrap();
    one.end = OpenEnd::Established;
    assert_eq!(judged(&with(0), &after), Outcome::Worse);
    // Events were lost.
    let mut after = with(15);
    after.gaps.push(crate::testing::gap(0, 1));
    assert_eq!(judged(&with(0), &after), Outcome::Worse);
}
