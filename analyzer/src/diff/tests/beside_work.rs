//! Attempts that fail beside work that goes well.

use super::samples::{facts, of};
use crate::Confidence;
use crate::diff::Outcome;
use crate::diff::judged::beside_work::moderate;
use crate::diff::sides::options::Recording;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::opens::tables::{OpenEnd, OpenRow};
use crate::reconstruct::whose::{Carries, Owner};

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
            task: Name::new(b"monitor"),
            start_ns: at,
            end_ns: at + MS / 10,
            end,
            error: (end == OpenEnd::Refused).then_some(111),
            message: false,
            syns_again: Some(0),
            confidence: Confidence::Certain,
        });
        f.connections.push(row);
    };
    // Of ten servers, too few of each for a rate of its own.
    (0..40).for_each(|n| open(n, 40, 20 + (n % 10) as u8, OpenEnd::Established));
    (0..refused).for_each(|n| open(n, refused, 9, OpenEnd::Refused));
    f.opens.sort_by_key(|o| o.start_ns);
    f
}

/// As without any that failed, but somebody was at that end.
fn was_there() -> Facts {
    let mut f = with(1);
    f.opens.iter_mut().for_each(|o| o.end = OpenEnd::Established);
    f
}

/// What becomes of a rate of so many on each side, called worse.
fn judged_as(metric: &str, [before, after]: [&Facts; 2], n: fn(&Facts) -> usize) -> Outcome {
    let f = facts("rpc/rpc.nmb");
    let mut rate = of(&f, &f).rates.into_iter().next().unwrap();
    (rate.metric, rate.outcome) = (metric.into(), Outcome::Worse);
    (rate.before.of, rate.before.out_of) = (n(before) as f64, 100.0);
    (rate.after.of, rate.after.out_of) = (n(after) as f64, 100.0);
    rate.difference = (rate.after.of - rate.before.of) / 100.0;
    let sides = [before, after].map(|f| Recording::all(std::slice::from_ref(&f), &[], None));
    let mut rates = [rate];
    moderate(&mut rates, [&sides[0], &sides[1]]);
    assert_eq!(rates[0].unfelt, rates[0].outcome == Outcome::Changed);
    rates[0].outcome
}

/// The same of attempts that failed.
fn judged(before: &Facts, after: &Facts) -> Outcome {
    judged_as("app.failed_opens", [before, after], |f| {
        f.opens.iter().filter(|o| o.end == OpenEnd::Refused).count()
    })
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
    // Or was before: it is gone.
    assert_eq!(judged(&was_there(), &with(15)), Outcome::Worse);
    // Events were lost.
    let mut after = with(15);
    after.gaps.push(crate::testing::gap(0, 1));
    assert_eq!(judged(&with(0), &after), Outcome::Worse);
}

/// Their SYNs are dropped where no socket is; what a full queue drops is somebody's.
#[test]
fn packets_of_such_attempts_are_theirs() {
    let dropped = |refused: i64, named: &str, carries: Carries| {
        let mut f = with(refused);
        let name = |n: &u32| matches!(f.names.drop_reason(Some(*n)), crate::table::Cell::Str(s) if s == named);
        let reason = (0..500u32).find(name);
        assert!(reason.is_some(), "{named}");
        for o in f.opens.iter().filter(|o| o.end == OpenEnd::Refused) {
            f.drops.push(DropRow {
                reason,
                owner: Some(Owner {
                    connection: o.connection,
                    carries,
                    task: Name::default(),
                    pid: o.pid,
                    confidence: Confidence::Strong,
                }),
                ..crate::testing::drop_at(o.start_ns)
            });
        }
        f
    };
    let of = |named: &str, carries: Carries| {
        let sides = [dropped(0, named, carries), dropped(15, named, carries)];
        let metric = format!("drops.{named}");
        judged_as(&metric, [&sides[0], &sides[1]], |f| f.drops.len())
    };
    assert_eq!(of("NO_SOCKET", Carries::Syn), Outcome::Changed);
    assert_eq!(of("NO_SOCKET", Carries::Data), Outcome::Worse);
    // Nobody is known to have sent it without waiting.
    assert_eq!(of("NO_SOCKET", Carries::Datagram), Outcome::Worse);
    assert_eq!(of("QDISC_DROP", Carries::Syn), Outcome::Worse);
}
