//! Attempts that fail beside work that goes well.

use super::samples::facts;
use crate::diff::{DiffOptions, Outcome, compare};
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
    (0..40).for_each(|n| open(n, 40, 8, OpenEnd::Established));
    (0..refused).for_each(|n| open(n, refused, 9, OpenEnd::Refused));
    f.opens.sort_by_key(|o| o.start_ns);
    f
}

#[test]
fn a_few_that_fail_where_nobody_is_are_a_difference_and_no_harm() {
    let judged = |before: &Facts, after: &Facts| {
        let d = compare(&[before], &[after], &DiffOptions::default());
        let own = ["app.failed_opens", "app.failed_opens[other servers]"];
        let rate = d.rates.iter().find(|r| own.contains(&r.metric.as_str())).unwrap();
        (rate.outcome, d.verdict.outcome, d.verdict.sentence.clone())
    };
    let (rate, verdict, sentence) = judged(&with(0), &with(15));
    assert_eq!((rate, verdict), (Outcome::Changed, Outcome::Same), "{sentence}");
    // Many are no single try.
    let (rate, verdict, sentence) = judged(&with(0), &with(25));
    assert_eq!((rate, verdict), (Outcome::Worse, Outcome::Worse), "{sentence}");
    // Fewer are answered than before: those who are not may be among these.
    let mut after = with(15);
    let half = after.responses.len() / 2;
    after.responses.truncate(half);
    assert_eq!(judged(&with(0), &after).0, Outcome::Worse);
}
