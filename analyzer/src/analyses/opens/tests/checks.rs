//! Attempts that fail as those of a check do.

use super::scans::{facts as refused, told};
use crate::analyses::verdict::Tone;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::opens::tables::{OpenEnd, OpenRow};

const S: i64 = 1_000_000_000;

/// Every second one attempt to 10.0.0.2:8080 without an answer for a fifth of it; eight connections of the same thread to another at that port.
pub(super) fn facts() -> Facts {
    let mut f = refused(1, 0);
    let one: OpenRow = refused(1, 1).opens[0].clone();
    let to = |last: u8| Some(([10, 0, 0, last].into(), 8080));
    for n in 0..6u32 {
        f.opens.push(OpenRow {
            connection: Some(ConnectionId(n)),
            to: to(2),
            start_ns: i64::from(n) * S,
            end_ns: i64::from(n) * S + S / 5,
            end: OpenEnd::GivenUp,
            syns_again: Some(1),
            ..one.clone()
        });
    }
    for n in 6..14u32 {
        f.opens.push(OpenRow {
            connection: Some(ConnectionId(n)),
            to: to(3),
            start_ns: i64::from(n) * S / 2,
            end_ns: i64::from(n) * S / 2 + 1_000,
            end: OpenEnd::Established,
            ..one.clone()
        });
    }
    f
}

#[test]
fn a_server_that_is_checked_and_down_is_worth_a_look() {
    let (o, line) = told(&facts());
    assert_eq!(o.failed[0].check_ns, Some(S));
    let says = "6 attempts to connect to 10.0.0.2:8080 by nessusd/42 had no answer and were given up after 200.00 ms at most, one every 1.000 s, as a check";
    assert_eq!(line.tone, Tone::Notice, "{}", line.headline);
    assert!(line.headline.starts_with(says), "{}", line.headline);
}

/// By a thread that has no other server; at any distances; to a server that answers; thrice.
#[test]
fn who_has_no_other_server_is_none() {
    let none = |change: &dyn Fn(&mut Facts)| {
        let mut f = facts();
        change(&mut f);
        let (o, line) = told(&f);
        assert!(o.failed.iter().all(|f| f.check_ns.is_none()), "{}", line.headline);
        line.tone
    };
    let established = |o: &OpenRow| o.end == OpenEnd::Established;
    // A few attempts at what nobody reached, that nobody is known to have waited for; twenty and more.
    assert_eq!(none(&|f| f.opens.retain(|o| !established(o))), Tone::Notice);
    let many = |f: &mut Facts| {
        f.opens.retain(|o| !established(o));
        f.opens = (0..4u32)
            .flat_map(|n| {
                f.opens.iter().map(move |o| OpenRow {
                    connection: o.connection.map(|c| ConnectionId(c.0 + 100 * n)),
                    start_ns: o.start_ns + i64::from(n) * 7,
                    ..o.clone()
                })
            })
            .collect();
    };
    assert_eq!(none(&many), Tone::Bad);
    assert_eq!(none(&|f| f.opens.retain(|o| o.start_ns != 2 * S)), Tone::Notice);
    assert_eq!(
        none(&|f| f.opens.iter_mut().filter(|o| established(o)).for_each(|o| o.pid = 43)),
        Tone::Notice
    );
    none(&|f| {
        f.opens
            .iter_mut()
            .filter(|o| established(o))
            .for_each(|o| o.to = Some(([10, 0, 0, 2].into(), 8080)))
    });
    none(&|f| f.opens.retain(|o| established(o) || o.start_ns < 3 * S));
    // As a loop that tries again when an attempt has ended; for want of a port; where an answer waited for it.
    let failed = |o: &&mut OpenRow| o.end == OpenEnd::GivenUp;
    none(&|f| f.opens.iter_mut().filter(failed).for_each(|o| o.end_ns += S / 2));
    none(&|f| f.opens.iter_mut().filter(failed).for_each(|o| o.end = OpenEnd::NoPort));
    none(&|f| {
        let t = crate::testing::turnaround(99, 42, (2 * S - 1_000, 2 * S + S / 5 + 1_000));
        f.turnarounds.push(t);
    });
}

/// An answer that is another server's waits for no attempt; where its thread asked, too, and goes on by itself behind that, it may.
#[test]
fn what_waits_for_another_server_waits_for_no_attempt() {
    let of = |asked: &[(i64, i64)]| super::super::checks::for_another((1_000, 2_000), asked);
    assert_eq!(
        [of(&[]), of(&[(1_010, 1_990)]), of(&[(10, 20), (1_099, 1_901)])],
        [false, true, true]
    );
    // Begun late, ended early, not ended with it.
    assert_eq!(
        [of(&[(1_200, 1_990)]), of(&[(1_010, 1_500)]), of(&[(1_010, 2_100)])],
        [false; 3]
    );
}
