//! Streams that a server pushes are no answers.

use super::{MS, response, turnaround};
use crate::analyses::application::sockets;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::application::tables::{ResponseRow, TurnaroundRow};

/// Twelve times 40 ms apart: the standby's word is read, thread 7 sleeps until backend 9, which has read the request of connection 1 then, wakes it; it sends, and the standby
/// says so in three parts, the first 200 us later. Connection 0 is the stream, 2 its other end.
fn facts() -> Facts {
    let mut f = Facts::empty();
    for (n, state) in [(0, 3), (1, 3), (2, 2)] {
        crate::testing::tcp::born(&mut f, crate::testing::tcp::connection(n), state);
    }
    (f.connections[0].peer, f.connections[2].peer) = (Some(ConnectionId(2)), Some(ConnectionId(0)));
    let at = |k: i64| k * 40 * MS;
    let waits = |k: i64| TurnaroundRow {
        ready_ns: Some(at(k)),
        read_ns: at(k) + 1_000,
        send_ns: at(k) + 38 * MS,
        woken_by_pid: 9,
        woken_by_ns: 37 * MS,
        woken_at_ns: at(k) + 38 * MS - 50_000,
        ..turnaround(0, 38 * MS, "epoll_wait")
    };
    let backend = |k: i64| TurnaroundRow {
        connection: ConnectionId(1),
        pid: 9,
        sender_pid: 9,
        ready_ns: Some(at(k) + 37 * MS),
        read_ns: at(k) + 37 * MS,
        send_ns: at(k) + 39 * MS,
        ..turnaround(0, MS, "epoll_wait")
    };
    f.turnarounds = (0..12).map(waits).chain((0..12).map(backend)).collect();
    let says = |k: i64| ResponseRow {
        connection: ConnectionId(0),
        send_ns: at(k) + 38 * MS,
        ready_ns: Some(at(k) + 38 * MS + 200_000),
        complete_ns: Some(at(k) + 39 * MS),
        read_ns: at(k) + 38 * MS + 210_000,
        peer: None,
        ..response(0, 0, MS)
    };
    let asks = |k: i64| ResponseRow {
        connection: ConnectionId(2),
        send_ns: at(k),
        ready_ns: Some(at(k) + 38 * MS),
        complete_ns: Some(at(k) + 38 * MS),
        ..response(0, 0, MS)
    };
    f.responses = (0..12).map(says).chain((0..12).map(asks)).collect();
    f
}

/// Connections that are streams, and those that speak in turns.
fn told(f: &Facts) -> (Vec<u32>, Vec<u32>) {
    let all = sockets(f);
    let of = |which: fn(&super::Socket<'_>) -> bool| {
        let of = all.iter().filter(|s| which(s));
        of.map(|s| s.connection.0).collect()
    };
    (of(|s| s.stream), of(|s| s.in_turns))
}

fn change(f: &mut Facts, with: impl Fn(&mut TurnaroundRow, &mut ResponseRow)) {
    let mut none = response(0, 0, MS);
    let mut no = turnaround(0, MS, "");
    f.turnarounds
        .iter_mut()
        .filter(|t| t.connection.0 == 0)
        .for_each(|t| with(t, &mut none));
    f.responses
        .iter_mut()
        .filter(|r| r.connection.0 == 0)
        .for_each(|r| with(&mut no, r));
}

#[test]
fn both_ends_of_what_others_requests_send_are_no_answers() {
    let f = facts();
    assert_eq!(told(&f), (vec![0, 2], vec![1]));
    let found = crate::analyses::application::answer(&f).findings().unwrap().clone();
    assert_eq!(found.answered.unwrap().turnaround.n, 12, "the backend's alone");
    let end = |last: u8, port: u16| std::net::SocketAddr::from(([10, 0, 0, last], port));
    let (own, other) = (f.connections[0].local(), f.connections[0].remote());
    assert!(own != Some(end(0, 0)) && other.is_some());
    let label = format!("{} > {}", other.unwrap(), own.unwrap());
    assert_eq!(found.streams, Some((1, label)));
    assert_eq!(found.mixed, None);
}

#[test]
fn who_reads_the_others_request_itself_is_one_too() {
    // A single thread: it read the request of connection 1, and sends right behind it.
    let mut f = facts();
    change(&mut f, |t, _| t.woken_by_pid = 0);
    let mine = f.turnarounds.iter_mut().filter(|t| t.connection.0 == 1);
    mine.for_each(|t| (t.pid, t.sender_pid) = (7, 7));
    assert_eq!(told(&f).0, [0, 2]);
}

#[test]
fn what_may_be_answers_stays_answers() {
    let turns = (vec![], vec![0, 1, 2]);
    // A lock that another's request holds: single messages.
    let mut f = facts();
    change(&mut f, |_, r| r.complete_ns = r.ready_ns);
    assert_eq!(told(&f), turns);
    // The waker has no request of another.
    let mut f = facts();
    change(&mut f, |t, _| t.woken_by_pid = 10);
    assert_eq!(told(&f), turns);
    // It had it long before.
    let mut f = facts();
    let early = f.turnarounds.iter_mut().filter(|t| t.connection.0 == 1);
    early.for_each(|t| (t.read_ns, t.send_ns) = (t.read_ns - 3 * MS, t.send_ns - 3 * MS));
    assert_eq!(told(&f), turns);
    // It works on it.
    let mut f = facts();
    change(&mut f, |t, _| t.split.asleep_ns /= 2);
    assert_eq!(told(&f), turns);
    // The client asks when it wishes.
    let mut f = facts();
    change(&mut f, |_, r| {
        (r.ready_ns, r.complete_ns) = (Some(r.send_ns + 10 * MS), Some(r.send_ns + 11 * MS));
    });
    assert_eq!(told(&f), turns);
    // Too few.
    let mut f = facts();
    f.turnarounds.retain(|t| t.connection.0 == 1 || t.read_ns < 350 * MS);
    assert_eq!(told(&f), turns);
}

/// The standby's side alone: it says so three times within 500 us, the first 100 us after it read.
#[test]
fn a_client_alone_that_only_says_so_may_have_a_stream() {
    let mut f = Facts::empty();
    crate::testing::tcp::born(&mut f, crate::testing::tcp::connection(0), 2);
    let at = |k: i64| k * 40 * MS;
    let says = |k: i64| TurnaroundRow {
        ready_ns: Some(at(k)),
        read_ns: at(k) + 10_000,
        send_ns: at(k) + 100_000,
        ..turnaround(0, 100_000, "")
    };
    f.turnarounds = (0..12).map(says).collect();
    let waits = |k: i64| ResponseRow {
        connection: ConnectionId(0),
        send_ns: at(k) + 600_000,
        ready_ns: Some(at(k + 1)),
        complete_ns: Some(at(k + 1)),
        read_ns: at(k + 1) + 10_000,
        sends: 3,
        sending_ns: 500_000,
        peer: None,
        ..response(0, 0, MS)
    };
    f.responses = (0..12).map(waits).collect();
    let may_be = |f: &Facts| sockets(f).iter().any(super::super::streams::may_be);
    assert!(may_be(&f) && sockets(&f)[0].in_turns, "its turns stay answers");
    let but = |with: fn(&mut ResponseRow)| {
        let mut f = f.clone();
        f.responses.iter_mut().for_each(with);
        may_be(&f)
    };
    assert!(!but(|r| r.sending_ns = 0));
    assert!(
        !but(|r| r.send_ns = r.ready_ns.unwrap() - 400_000),
        "it is answered as soon as it says something"
    );
    assert!(!but(|r| r.peer = response(0, 0, MS).peer), "the server's socket tells");
}
