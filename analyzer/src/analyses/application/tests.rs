use super::*;
use crate::confidence::Confidence;
use crate::facts::ConnectionId;
use crate::name::Name;
use crate::reconstruct::application::tables::Peer;
use crate::reconstruct::thread::Split;

mod apart;
mod awaited_end;
mod awaited_peer;
mod blocked;
mod chain;
mod farewell;
mod given_up;
mod gone_idle;
mod half_open;
mod handed;
mod held;
mod holder;
mod itself;
mod kept;
mod left_unread;
mod limits;
mod long_work;
mod metered;
mod nature;
mod one_line;
mod others;
mod patience;
mod paused;
mod released;
mod replaced;
mod servers;
mod silence;
mod streams;
mod turned_away;
mod turns;
mod waits_for_itself;
mod waker;
mod waker_read;
mod way;
mod work;

const MS: i64 = 1_000_000;

/// A server's turnaround of which all but 10 us was asleep in a call.
fn turnaround(nth: i64, ns: i64, call: &str) -> TurnaroundRow {
    let at = nth * 1000 * MS;
    TurnaroundRow {
        connection: ConnectionId(0),
        pid: 7,
        task: Name::new(b"server"),
        sender_pid: 7,
        sender: Name::new(b"server"),
        ready_ns: Some(at),
        read_ns: at + 1000,
        send_ns: at + ns,
        reads: 1,
        split: Split {
            running_ns: 10_000,
            asleep_ns: ns - 10_000,
            ..Split::default()
        },
        asleep_in: Name::new(call.as_bytes()),
        asleep_in_ns: ns - 10_000,
        held_ns: if call == crate::reconstruct::thread::UNINTERRUPTIBLE {
            ns - 10_000
        } else {
            0
        },
        woken_by: Name::default(),
        woken_by_pid: 0,
        woken_by_ns: 0,
        woken_at_ns: 0,
        ran_meanwhile: crate::name::Name::default(),
        ran_meanwhile_pid: 0,
        ran_meanwhile_ns: 0,
        asleep_on: None,
        run_queue_task: Name::default(),
        overlap: false,
        confidence: Confidence::Strong,
    }
}

/// The client's, with so much on the way there and 20 us back.
fn response(nth: i64, there_ns: i64, turnaround_ns: i64) -> ResponseRow {
    let at = nth * 1000 * MS - there_ns;
    ResponseRow {
        connection: ConnectionId(1),
        pid: 8,
        task: Name::new(b"client"),
        send_ns: at,
        ready_ns: Some(at + there_ns + turnaround_ns + 20_000),
        read_ns: at + there_ns + turnaround_ns + 30_000,
        complete_ns: Some(at + there_ns + turnaround_ns + 20_000),
        reads: 1,
        sends: 1,
        sending_ns: 0,
        pause_ns: 0,
        paused_in: Default::default(),
        peer: Some(Peer {
            connection: ConnectionId(0),
            there_ns,
            turnaround_ns,
            back_ns: 20_000,
        }),
        overlap: false,
        confidence: Confidence::Strong,
    }
}

/// Thread 70 asks on connection 2, and 27 answers on 3, asleep in a call until then.
fn exchange(from: i64, until: i64, call: &str) -> (ResponseRow, TurnaroundRow) {
    let took = until - from - 10_000;
    let mut there = turnaround(0, took, call);
    there.connection = ConnectionId(3);
    (there.pid, there.sender_pid) = (27, 27);
    (there.ready_ns, there.read_ns, there.send_ns) = (Some(from + 5000), from + 6000, until - 5000);
    let mut r = response(0, 0, 0);
    (r.connection, r.pid, r.task) = (ConnectionId(2), 70, Name::new(b"client"));
    (r.send_ns, r.ready_ns, r.complete_ns, r.read_ns) = (from, Some(until), Some(until), until + 1000);
    r.peer = Some(Peer {
        connection: ConnectionId(3),
        there_ns: 5000,
        turnaround_ns: took,
        back_ns: 5000,
    });
    (r, there)
}

/// An answer on a connection to what was asked then.
pub(in crate::analyses) fn response_of(n: u32, at: i64, took: i64) -> ResponseRow {
    answered_after(n, at, took)
}

/// An answer on a connection, so many ns after what was asked then.
fn answered_after(n: u32, at: i64, took: i64) -> ResponseRow {
    ResponseRow {
        connection: ConnectionId(n),
        send_ns: at,
        ready_ns: Some(at + took),
        read_ns: at + took + 10_000,
        complete_ns: Some(at + took),
        peer: None,
        ..response(1, 0, MS)
    }
}

fn found(f: &Facts) -> Application {
    let mut f = Facts {
        turnarounds: f.turnarounds.clone(),
        responses: f.responses.clone(),
        rx: f.rx.clone(),
        ..Facts::empty()
    };
    // Connection 0 is the server by its state, 1 the client.
    for (c, state) in [(0, 3), (1, SYN_SENT)] {
        crate::testing::tcp::born(&mut f, crate::testing::tcp::connection(c), state);
    }
    answer(&f).findings().unwrap().clone()
}
const SYN_SENT: i32 = 2;

fn facts(of: impl Iterator<Item = (i64, i64)> + Clone) -> Facts {
    let rows = of.clone().enumerate();
    Facts {
        turnarounds: rows
            .clone()
            .map(|(n, (_, ns))| turnaround(n as i64, ns, "clock_nanosleep"))
            .collect(),
        responses: rows.map(|(n, (there, ns))| response(n as i64, there, ns)).collect(),
        ..Facts::empty()
    }
}

/// 3 of 200 requests sleep 150 ms: of the slowest 1 % (2) nearly all is the server's, asleep in that call.
#[test]
fn the_slowest_are_the_applications() {
    let f = facts((0..200).map(|n| (30_000, if n % 70 == 69 { 150 * MS } else { 100_000 })));
    let a = found(&f);
    let (s, c) = (a.answered.unwrap(), a.awaited.unwrap());
    assert_eq!((s.connections, s.turnaround.n, s.slowest, s.solid), (1, 200, 2, true));
    let first = &s.slowest_parts[0];
    assert_eq!(
        (first.state, first.call.as_deref()),
        ("asleep_in", Some("clock_nanosleep"))
    );
    assert_eq!(first.ns, 2 * (150 * MS - 10_000));
    assert_eq!(s.slowest_task, ("server/7".to_string(), 1.0));
    assert_eq!((c.paired, c.slowest, c.slowest_peer_ns), (200, 2, 300 * MS));
    assert_eq!(
        (c.slowest_there_ns, c.slowest_back_ns, c.way_p50_ns),
        (60_000, 40_000, Some(50_000))
    );
    assert_eq!(a.slow_turnarounds[0].turnaround_ns, 150 * MS);
    let (client, server) = (&a.connections[0], &a.connections[1]);
    assert_eq!((client.role, server.role), (Role::Client, Role::Server));
    assert_eq!((client.role_by, client.paired), (RoleBy::Handshake, 200));
}

/// Who had the CPU while the threads of the slowest waited for one: not who had it beside the fast ones.
#[test]
fn the_slowest_were_behind_whom() {
    let mut f = facts((0..200).map(|n| (30_000, if n % 70 == 69 { 150 * MS } else { 100_000 })));
    assert_eq!(found(&f).answered.unwrap().slowest_behind, None);
    for t in &mut f.turnarounds {
        let slow = t.total_ns() > MS;
        let ns = t.total_ns() / 2;
        t.split.run_queue_ns = ns;
        t.split.asleep_ns -= ns;
        t.asleep_in_ns -= ns;
        t.run_queue_task = Name::new(if slow { &b"stress"[..] } else { &b"cc1"[..] });
    }
    assert_eq!(found(&f).answered.unwrap().slowest_behind, Some(("stress".into(), 1.0)));
}

/// Who ended most of a sleep is named, and of less than half of it nobody.
#[test]
fn who_woke_the_slowest() {
    let mut f = facts((0..200).map(|n| (30_000, if n % 70 == 69 { 150 * MS } else { 100_000 })));
    let woken = |f: &Facts| found(f).answered.unwrap().slowest_parts[0].woken_by.clone();
    assert_eq!(woken(&f), None);
    for (of_it, expect) in [(2, Some("make/9".to_owned())), (3, None)] {
        for t in &mut f.turnarounds {
            (t.woken_by, t.woken_by_pid) = (Name::new(b"make"), 9);
            t.woken_by_ns = t.asleep_in_ns / of_it;
        }
        assert_eq!(woken(&f), expect);
    }
    // Threads that wait for one lock end each other's sleep: none of them most of it, all together all of it.
    let mut f = facts((0..500).map(|n| (30_000, if n % 70 == 69 { 150 * MS } else { 100_000 })));
    for (t, pid) in f.turnarounds.iter_mut().filter(|t| t.asleep_in_ns > MS).zip(9..) {
        (t.woken_by, t.woken_by_pid) = (Name::new(if pid % 7 == 3 { b"bash" } else { b"make" }), pid);
        t.woken_by_ns = t.asleep_in_ns;
    }
    assert_eq!(woken(&f), Some("threads named make".to_owned()));
}

/// Who ran half of a sleep or more, of the same process, is named in place of who woke them.
#[test]
fn who_ran_meanwhile() {
    let mut f = facts((0..200).map(|n| (30_000, if n % 70 == 69 { 150 * MS } else { 100_000 })));
    for (of_it, expect) in [(2, Some(("VM Thread/9".to_owned(), 0.5))), (3, None)] {
        for t in &mut f.turnarounds {
            t.asleep_in = Name::new(b"unrecorded");
            (t.woken_by, t.woken_by_pid, t.woken_by_ns) = (Name::new(b"java"), 8, t.asleep_in_ns);
            (t.ran_meanwhile, t.ran_meanwhile_pid) = (Name::new(b"VM Thread"), 9);
            t.ran_meanwhile_ns = t.asleep_in_ns / of_it;
        }
        let part = found(&f).answered.unwrap().slowest_parts[0].clone();
        let says = match &expect {
            Some(_) => ", while VM Thread/9 of the same process ran 50 % of that time",
            None => ", woken by java/8",
        };
        assert_eq!((part.woken().as_str(), part.ran_meanwhile), (says, expect));
    }
}

/// Two streams on one socket: counted, and no time of theirs is anybody's.
#[test]
fn a_socket_that_overlaps_is_not_judged() {
    let mut f = facts((0..20).map(|_| (30_000, 5 * MS)));
    for r in &mut f.responses {
        r.connection = ConnectionId(0);
        r.overlap = true;
    }
    let a = found(&f);
    assert_eq!((a.both_ways, a.answered, a.awaited), (1, None, None));
    assert!(!a.connections[0].in_turns && a.slow_turnarounds.is_empty());
}

/// Weak rows are left out while the others are half of all, and count where these are few.
#[test]
fn weak_rows_count_where_they_are_most() {
    let mut f = facts((0..20).map(|_| (30_000, 5 * MS)));
    f.turnarounds[3].confidence = Confidence::Weak;
    let s = found(&f).answered.unwrap();
    assert_eq!((s.turnaround.n, s.less_certain, s.solid), (19, 1, true));
    // Ten of twenty still speak for all; nine do not.
    for (few, told) in [(10, (10, 10, true)), (9, (20, 11, false)), (0, (20, 20, false))] {
        for r in f.turnarounds.iter_mut().skip(few) {
            r.confidence = Confidence::Weak;
        }
        f.turnarounds[3].confidence = match few {
            0 => Confidence::Weak,
            _ => Confidence::Strong,
        };
        let s = found(&f).answered.unwrap();
        assert_eq!((s.turnaround.n, s.less_certain, s.solid), told, "{few}");
    }
}

/// Nothing was read or sent, and nothing says that it would have been recorded.
#[test]
fn no_events_no_answer() {
    assert!(matches!(answer(&Facts::empty()), Outcome::Unknown(_)));
}

/// Without what was read behind a moment, the real client's requests have no answer: from its last send to the socket's end.
#[test]
fn what_is_sent_last_and_never_read_after_has_no_answer() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../sample-data/rpc/rpc.nmb");
    let capture = netmortem_formats::open_path(&path).unwrap().unwrap();
    let mut f = crate::analyze(&capture, &Default::default());
    let whole = answer(&f).findings().unwrap().clone();
    assert_eq!(whole.unanswered, []);
    let client = whole.connections.iter().find(|c| c.role == Role::Client).unwrap();
    let of: Vec<ResponseRow> = f
        .responses
        .iter()
        .filter(|r| r.connection.0 == client.connection)
        .cloned()
        .collect();
    let (last, next) = (&of[19], of.last().unwrap());
    f.responses.retain(|r| r.read_ns <= last.read_ns);
    f.turnarounds.retain(|r| r.read_ns <= last.read_ns);
    let all = answer(&f).findings().unwrap().unanswered.clone();
    let closed = f.tcp_states.iter().find(|s| {
        let own = s.connection == last.connection && s.kind == "sock";
        own && s.time_ns > next.send_ns && s.state != 1
    });
    let first = &all[0];
    assert_eq!(
        (all.len(), first.connection, first.send_ns),
        (1, client.connection, next.send_ns)
    );
    assert_eq!(first.waited_ns, closed.unwrap().time_ns - next.send_ns);
    assert_eq!(first.until, "closed");
}
