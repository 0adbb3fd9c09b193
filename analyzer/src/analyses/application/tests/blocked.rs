//! Whose silence kept threads from answers.

use super::{MS, turnaround};
use crate::analyses::application::blocked::silent;
use crate::analyses::application::{Silent, Waited, sockets, waited};
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::application::tables::{AsleepOn, TurnaroundRow};
use crate::reconstruct::opens::tables::{OpenEnd, OpenRow};
use crate::reconstruct::receive::tables::RxRow;

fn state(f: &mut Facts, c: u32, ms: i64, state: i32) {
    f.tcp_states.push(crate::testing::tcp::state(c, state, ms * MS));
}

/// A request on connection 9, readable at 100 ms more each, whose thread reads of `on` from `from` to `to`, ms.
fn waits(on: u32, (from, to): (i64, i64), nth: i64) -> TurnaroundRow {
    let ready = from + 100 * (nth + 1);
    TurnaroundRow {
        connection: ConnectionId(9),
        ready_ns: Some(ready * MS),
        read_ns: (to + 1) * MS,
        send_ns: (to + 2) * MS,
        asleep_in_ns: (to - ready) * MS,
        asleep_on: Some(AsleepOn {
            connection: ConnectionId(on),
            from_ns: from * MS,
            to_ns: to * MS,
            ns: (to - ready) * MS,
        }),
        ..turnaround(0, MS, "read")
    }
}

/// Each 2 s a check at 10.0.0.2 connects, is silent for 700 ms and closes; two requests wait meanwhile.
fn checks() -> (Facts, Vec<TurnaroundRow>) {
    let mut f = Facts::empty();
    for n in 0..10u32 {
        let mut c = crate::testing::tcp::connection(n);
        (c.bytes_read, c.born) = (Some(0), Some(1));
        (c.sport, c.dport) = (443, 40_000 + n as u16);
        f.connections.push(c);
    }
    let mut rows = vec![];
    for n in 0..3u32 {
        let at = i64::from(n) * 2_000;
        state(&mut f, n, at, 1);
        state(&mut f, n, at + 700, 8);
        rows.extend((0..2).map(|nth| waits(n, (at + 2, at + 700), nth)));
    }
    (f, rows)
}

fn said(f: &Facts, rows: &[TurnaroundRow]) -> Option<Silent> {
    silent(f, &rows.iter().collect::<Vec<_>>(), 1).map(|s| s.1)
}

#[test]
fn a_connection_that_says_nothing_blocks_its_reader() {
    let (mut f, rows) = checks();
    let expect = Silent {
        sleeps: 3,
        connections: 3,
        first: "10.0.0.2:40000 > 10.0.0.1:443".into(),
        client: "10.0.0.2".into(),
        silent_ns: 700 * MS,
        since_opened: true,
        end: "closed",
        unread: true,
    };
    assert_eq!(said(&f, &rows), Some(expect.clone()));
    // Too little of their time: nothing is looked at.
    assert_eq!(silent(&f, &rows.iter().collect::<Vec<_>>(), i64::MAX), None);
    // Its opener is in the recording, and has a name.
    f.connections[0].peer = Some(ConnectionId(8));
    f.connections[8].peer = Some(ConnectionId(0));
    f.opens.push(OpenRow {
        connection: Some(ConnectionId(8)),
        from: None,
        to: None,
        pid: 5,
        task: Name::new(b"lb-check"),
        start_ns: 0,
        end_ns: 1,
        end: OpenEnd::Established,
        error: None,
        message: false,
        syns_again: None,
        confidence: crate::Confidence::Certain,
    });
    assert_eq!(said(&f, &rows[..2]).unwrap().client, "lb-check at 10.0.0.2");
    // Not of all of them.
    assert_eq!(said(&f, &rows).unwrap().client, "");
    // Sleeps in a read of the request's own connection, or of none.
    let mut own = rows[0].clone();
    own.connection = ConnectionId(0);
    assert_eq!(said(&f, &[own, turnaround(0, MS, "epoll_wait")]), None);
}

#[test]
fn what_came_before_and_what_ended_it_are_told_only_where_known() {
    let (mut f, rows) = checks();
    // Something had come on one: how long its thread slept is what is known.
    f.connections[1].bytes_in = 10;
    let now = said(&f, &rows).unwrap();
    assert_eq!((now.silent_ns, now.since_opened, now.end), (698 * MS, false, "closed"));
    // By a RST: not by what its peer's program meant.
    for s in f.tcp_states.iter_mut().filter(|s| s.state == 8) {
        s.state = 7;
    }
    assert_eq!(said(&f, &rows).unwrap().end, "ended");
    // One ended otherwise.
    f.tcp_states.retain(|s| (s.connection, s.state) != (ConnectionId(2), 7));
    assert_eq!(said(&f, &rows).unwrap().end, "");
    let came = |ms: i64| RxRow {
        connection: Some(ConnectionId(2)),
        bytes: Some(10),
        start_ns: ms * MS - 10_000,
        ..RxRow::default()
    };
    f.rx.push(came(4_700));
    assert_eq!(said(&f, &rows[4..]).unwrap().end, "data");
    // Long before, or later.
    f.rx = vec![came(4_100), came(4_701)];
    assert_eq!(said(&f, &rows[4..]).unwrap().end, "");
    // Its answer was sent late for another reason: the request had been read.
    let mut read = rows[4].clone();
    read.read_ns = read.start_ns();
    assert!(!said(&f, &[read]).unwrap().unread);
}

/// As what a server's threads waited for, behind what is known better.
#[test]
fn half_of_the_time_in_such_reads_is_what_they_waited_for() {
    let (f, rows) = checks();
    let of = |rows: &[TurnaroundRow]| -> Option<Waited> {
        let all = sockets(&f);
        waited::Waits::of(&f, &all).waited(&rows.iter().collect::<Vec<_>>())
    };
    let w = of(&rows).unwrap();
    assert_eq!((w.kind, w.of.as_str()), ("read", "10.0.0.2:40000 > 10.0.0.1:443"));
    assert!(
        w.share > 0.99 && w.silent.is_some_and(|s| s.connections == 3),
        "{}",
        w.share
    );
    let mut others = rows.clone();
    others.extend((0..30).map(|n| turnaround(n, 300 * MS, "read")));
    assert_eq!(of(&others), None);
}
