//! Attempts at a server that is out of a pool from the begin of the recording to its end.

use super::scans::{facts as refused, told};
use crate::analyses::opens::aside::{Aside, asides};
use crate::analyses::verdict::Tone;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::application::tables::TurnaroundRow;
use crate::reconstruct::opens::tables::{OpenEnd, OpenRow};

const S: i64 = 1_000_000_000;
const EHOSTUNREACH: i32 = 113;
pub(super) const PROXY: i32 = 42;

pub(super) fn turnaround(start_ns: i64, send_ns: i64) -> TurnaroundRow {
    crate::testing::turnaround(0, PROXY, (start_ns, send_ns))
}

/// Ten seconds of a proxy at 10.0.0.1:80 that did nothing yet, and an attempt as another would have it.
pub(super) fn proxy() -> (Facts, OpenRow) {
    let mut f = Facts::empty();
    f.capture.events.insert("sock:inet_sock_set_state".into(), 1);
    (f.capture.start_ns, f.capture.end_ns) = (Some(0), Some(10 * S));
    let mut row = crate::testing::tcp::connection(0);
    (row.saddr, row.sport) = (Some([10, 0, 0, 1].into()), 80);
    (row.daddr, row.dport) = (Some([10, 0, 0, 9].into()), 40_000);
    crate::testing::tcp::born(&mut f, row, 3);
    (f, refused(1, 1).opens[0].clone())
}

/// Ten seconds of a proxy at 10.0.0.1:80: it works by 10.0.0.3:8080, forty times, and tries 10.0.0.2:8080, which no neighbour answers for, seven times at once every two seconds.
fn facts() -> Facts {
    let (mut f, one) = proxy();
    let attempt = |n: u32, last: u8, start_ns: i64, took: i64, end: OpenEnd| OpenRow {
        connection: Some(ConnectionId(n)),
        to: Some(([10, 0, 0, last].into(), 8080)),
        pid: PROXY,
        task: Name::new(b"proxy"),
        start_ns,
        end_ns: start_ns + took,
        end,
        ..one.clone()
    };
    for n in 0..40 {
        f.opens
            .push(attempt(100 + n, 3, i64::from(n) * S / 4, 50_000, OpenEnd::Established));
        f.turnarounds
            .push(turnaround(i64::from(n) * S / 4, i64::from(n) * S / 4 + S / 50));
    }
    for n in 0..35u32 {
        let at = i64::from(n / 7) * 2 * S + i64::from(n % 7) * 10_000 + S;
        let down = attempt(200 + n, 2, at, S / 2, OpenEnd::Unreachable);
        f.opens.push(OpenRow {
            error: Some(EHOSTUNREACH),
            message: true,
            ..down
        });
    }
    // As long as the neighbour is known not to answer, a call fails before its socket has a state.
    f.opens.push(OpenRow {
        connection: None,
        to: None,
        from: None,
        error: Some(EHOSTUNREACH),
        ..attempt(0, 0, 4 * S, 2_000, OpenEnd::Unreachable)
    });
    f.opens.sort_by_key(|o| o.start_ns);
    f
}

fn of(f: &Facts) -> Option<Aside> {
    let down = |o: &&OpenRow| o.end == OpenEnd::Unreachable && o.to.is_some();
    asides(f).of(f.opens.iter().find(down)?).cloned()
}

#[test]
fn a_server_that_is_out_all_along_harms_nobody() {
    let f = facts();
    assert_eq!(of(&f), Some(Aside::Pool("10.0.0.3:8080".into())));
    let (_, line) = told(&f);
    assert_eq!(line.tone, Tone::Notice, "{}", line.headline);
    let says = "35 attempts to connect to 10.0.0.2:8080 by proxy/42 were refused by an ICMP message (EHOSTUNREACH)";
    assert!(line.headline.starts_with(says), "{}", line.headline);
    // So is the call that was told the same.
    let call = f.opens.iter().find(|o| o.to.is_none()).unwrap();
    assert_eq!(asides(&f).of(call), Some(&Aside::Pool("10.0.0.3:8080".into())));
    // Not one that failed otherwise, as at a socket of another protocol; nor where others of theirs met no neighbour.
    let other = |change: &dyn Fn(&mut Facts)| {
        let mut f = facts();
        change(&mut f);
        let asides = asides(&f);
        assert_eq!(asides.of(f.opens.iter().find(|o| o.to.is_none()).unwrap()), None);
        assert!(of(&f).is_some());
    };
    let call = |o: &&mut OpenRow| o.to.is_none();
    other(&|f| f.opens.iter_mut().filter(call).for_each(|o| o.error = Some(111)));
    other(&|f| {
        let like = f.opens.iter().find(|o| o.error.is_some() && o.to.is_some());
        let there = OpenRow {
            to: Some(([10, 0, 0, 4].into(), 22)),
            connection: Some(ConnectionId(998)),
            ..like.unwrap().clone()
        };
        f.opens.push(there);
    });
}

#[test]
fn who_may_miss_it_is_harmed() {
    let none = |change: &dyn Fn(&mut Facts)| {
        let mut f = facts();
        change(&mut f);
        f.opens.sort_by_key(|o| o.start_ns);
        assert_eq!(of(&f), None);
        assert_eq!(told(&f).1.tone, Tone::Bad, "{}", told(&f).1.headline);
    };
    let down = |o: &OpenRow| o.end == OpenEnd::Unreachable;
    // It serves nobody; it works by no other, or seldom.
    none(&|f| f.turnarounds.clear());
    none(&|f| f.opens.retain(down));
    none(&|f| f.opens.retain(|o| down(o) || o.start_ns < 8 * S));
    // The server was there until it went, or is tried from some time on, or came back.
    none(&|f| f.opens.retain(|o| !down(o) || o.start_ns > 2 * S));
    none(&|f| f.opens.retain(|o| !down(o) || o.start_ns < 7 * S));
    // Another program tries it, that has no other.
    none(&|f| {
        let other = f.opens.iter().find(|o| down(o) && o.to.is_some()).cloned();
        f.opens.push(OpenRow {
            pid: 77,
            connection: Some(ConnectionId(999)),
            ..other.unwrap()
        });
    });
    // An answer waited for each.
    none(&|f| {
        let starts: Vec<i64> = f.opens.iter().filter(|o| down(o)).map(|o| o.start_ns).collect();
        f.turnarounds
            .extend(starts.iter().map(|at| turnaround(at - 1_000, at + S / 2 + 1_000)));
    });
}
