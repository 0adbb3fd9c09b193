//! A reader that leaves data in its sockets until more comes on them.

use crate::Confidence;
use crate::analyses::application::LeftUnread;
use crate::analyses::application::left_unread::left_unread;
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::receive::tables::{RxEnd, RxRow, Stage};
use crate::testing::tcp::connection;

const MS: i64 = 1_000_000;

/// Readable, read, ms; its reader slept in this call meanwhile.
fn unit(c: u32, (from, to): (i64, i64), call: &str) -> RxRow {
    let mut row = RxRow {
        skb_id: SkbId(from as u32),
        connection: Some(ConnectionId(c)),
        task: Name::new(b"hub"),
        pid: 7,
        start_ns: from * MS - 10_000,
        total_ns: (to - from) * MS + 10_000,
        end: RxEnd::Read,
        rcvq_ns: Some((to - from) * MS),
        asleep_in: Name::new(call.as_bytes()),
        confidence: Confidence::Certain,
        ..RxRow::default()
    };
    row.stages.set(Stage::ReaderAsleep, Some((to - from) * MS));
    row
}

/// On each of six connections a unit lies from 1 s until one comes `late` ms before it is read, a second later.
fn facts(late: i64, call: &str) -> Facts {
    let mut f = Facts::empty();
    f.capture.start_ns = Some(0);
    f.connections = (0..6).map(connection).collect();
    for c in 0..6u32 {
        let from = 1_000 + 100 * i64::from(c);
        f.rx.push(unit(c, (from, from + 1_000 + i64::from(c)), call));
        let next = from + 1_000 + i64::from(c) - late;
        f.rx.push(unit(c, (next, next + late), ""));
    }
    f
}

#[test]
fn what_is_read_when_more_comes_was_left_unread() {
    let expect = LeftUnread {
        task: "hub/7".into(),
        at: "10.0.0.1:1".into(),
        units: 6,
        others: 0,
        connections: 6,
        p50_ns: 1_002 * MS,
        longest_ns: 1_005 * MS,
        first_ns: 1_000 * MS,
    };
    assert_eq!(left_unread(&facts(1, "epoll_wait")), Some(expect));
    // It was at work when that came: it did not read because of it.
    let mut f = facts(1, "epoll_wait");
    for r in f.rx.iter_mut().filter(|r| r.rcvq_ns == Some(MS)) {
        r.stages.set(Stage::ReaderAsleep, None);
    }
    assert_eq!(left_unread(&f), None);
    // Level-triggered: it goes on at its own time, whatever comes.
    assert_eq!(left_unread(&facts(400, "epoll_wait")), None);
    // Asleep by its own wish, or in poll, which returns while something is there.
    assert_eq!(left_unread(&facts(1, "clock_nanosleep")), None);
    assert_eq!(left_unread(&facts(1, "poll")), None);
    // As many lay as long and were read without that.
    let mut f = facts(1, "epoll_wait");
    f.rx.extend((0..3).map(|n| unit(0, (5_000 + 200 * n, 5_150 + 200 * n), "epoll_wait")));
    assert_eq!(left_unread(&f), None);
    // Something was lost: more may have come.
    let mut f = facts(1, "epoll_wait");
    f.gaps.push(crate::testing::gap(1_200 * MS, 1_210 * MS));
    assert_eq!(left_unread(&f), None);
}
