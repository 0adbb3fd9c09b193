//! Servers one by one, what threads waited for, and who waits behind whom.

use super::{MS, SYN_SENT, facts, response, turnaround};
use crate::analyses::application::{Application, answer};
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::application::tables::TurnaroundRow;
use crate::reconstruct::thread::IDLE;
use crate::reconstruct::transmit::Spent;
use crate::reconstruct::transmit::stages::{Stage, StageTimes};
use crate::reconstruct::transmit::tables::{TxEnd, TxKind, TxRow, TxStart};

/// Connection 0 is the server's, 10.0.0.2:80; 1 its client's; 2 the server's own to 10.0.0.2:5432; 3 another of the server's.
fn found(mut f: Facts) -> Application {
    for (n, sport, dport) in [(0, 80, 1000), (1, 1000, 80), (2, 1001, 5432), (3, 80, 1002)] {
        let mut c = crate::testing::tcp::connection(n);
        (c.sport, c.dport) = (sport, dport);
        crate::testing::tcp::born(&mut f, c, if dport == 80 || dport == 5432 { SYN_SENT } else { 3 });
    }
    answer(&f).findings().unwrap().clone()
}

fn sent(connection: u32, start_ns: i64, ack: Option<i64>, stages: &[(Stage, i64)]) -> TxRow {
    let mut times = StageTimes::default();
    for (s, ns) in stages {
        times.set(*s, Some(*ns));
    }
    TxRow {
        skb_id: crate::facts::SkbId(0),
        original: None,
        connection: Some(ConnectionId(connection)),
        kind: TxKind::Tcp,
        task: Name::default(),
        pid: 7,
        dev: Name::default(),
        cpu: 0,
        bytes: Some(1),
        start_ns,
        start: TxStart::Sendmsg,
        total_ns: 1,
        end: TxEnd::Acked,
        censored: None,
        at_least_ns: None,
        refused: false,
        retransmits: 0,
        recovery_by: None,
        t_sched_ns: start_ns,
        t_snd_ns: None,
        t_ack_ns: ack,
        unattributed_ns: 0,
        stages: times,
        observer_ns: None,
        confidence: crate::Confidence::Certain,
    }
}

/// Each fourth of 200 takes 90 ms in the server, two others 210 ms on the way: the slowest two are those, and most of the time is not.
fn two_causes() -> Facts {
    facts((0..200).map(|n| match n {
        21 | 121 => (210 * MS, 100_000),
        n if n % 4 == 0 => (30_000, 90 * MS),
        _ => (30_000, 100_000),
    }))
}

#[test]
fn slow_answers_are_told_apart_by_where_they_were() {
    let a = found(two_causes());
    let [s] = a.servers.as_slice() else {
        panic!("{:?}", a.servers)
    };
    assert_eq!(
        (s.server.as_str(), s.response.n, s.connections, s.threads),
        ("10.0.0.2:80", 200, 1, 1)
    );
    let told: Vec<(&str, u64)> = s.slow.iter().map(|s| (s.at, s.n)).collect();
    assert_eq!(told, [("server", 50), ("there", 2)]);
    let usual = 150_000;
    assert_eq!(s.slow[0].p50_ns, 90 * MS + 50_000);
    assert_eq!(
        s.over_ns,
        50 * (90 * MS + 50_000 - usual) + 2 * (210 * MS + 120_000 - usual)
    );
    assert_eq!(s.slowest_over_ns, 2 * (210 * MS + 120_000 - usual));
    assert_eq!(s.slow[0].parts[0].call.as_deref(), Some("clock_nanosleep"));
    // Twelve of half a second are not told as 72 of 2 ms.
    let locked = found(facts((0..600).map(|n| match n {
        n if n % 50 == 0 => (30_000, 550 * MS),
        n if n % 10 == 0 => (30_000, 2 * MS),
        _ => (30_000, 100_000),
    })));
    let told: Vec<(u64, i64)> = locked.servers[0].slow.iter().map(|s| (s.n, s.p50_ns)).collect();
    assert_eq!(told, [(12, 550 * MS + 50_000)]);
    // Three times as long is slow from a ms on.
    let quick = found(facts(
        (0..200).map(|n| (30_000, if n % 4 == 0 { MS / 2 } else { 100_000 })),
    ));
    assert_eq!(quick.servers[0].slow, []);
}

/// The server's thread asks another on a connection of its own while a request waits: it waits for that answer. Another thread's
/// question is not its.
#[test]
fn a_server_that_asks_waits_for_the_answer() {
    let asks = |pid: i32| {
        let mut f = two_causes();
        for t in f.turnarounds.clone().iter().filter(|t| t.total_ns() > MS) {
            let mut r = response(0, 0, 0);
            (r.connection, r.pid, r.peer) = (ConnectionId(2), pid, None);
            (r.send_ns, r.ready_ns) = (t.read_ns + 1000, Some(t.send_ns - 1000));
            f.responses.push(r);
        }
        found(f)
            .servers
            .into_iter()
            .find(|s| s.server.ends_with(":80"))
            .unwrap()
            .slow
            .remove(0)
    };
    let waited = asks(7).waited.unwrap();
    assert_eq!((waited.kind, waited.of.as_str()), ("answer", "10.0.0.2:5432"));
    assert_eq!(waited.ns, 50 * (90 * MS - 3000));
    assert_eq!(waited.there, None);
    assert_eq!(asks(9).waited, None);
}

/// The thread's send call to another connection slept for room all the time; the peer's window held that connection, or did not.
#[test]
fn a_server_blocked_in_a_send_waits_for_its_peer() {
    let blocked = |pid: i32, held: Stage| {
        let mut f = two_causes();
        for t in f.turnarounds.iter().filter(|t| t.total_ns() > MS) {
            let mut row = sent(3, t.start_ns() - 5, None, &[(Stage::Sndbuf, t.total_ns())]);
            row.pid = pid;
            f.tx.push(row);
        }
        f.spent
            .insert(ConnectionId(3), Spent::told(&[(held, 90), (Stage::Sndbuf, 10)], 100));
        found(f).servers[0].slow[0].waited.clone()
    };
    let waited = blocked(7, Stage::Rwnd).unwrap();
    assert_eq!(
        (waited.kind, waited.of.as_str(), waited.window),
        ("room", "10.0.0.1:80 > 10.0.0.2:1002", true)
    );
    assert!(!blocked(7, Stage::Cwnd).unwrap().window);
    assert_eq!(blocked(9, Stage::Rwnd), None);
}

/// A thread reads requests of two connections that are there at once one after the other, each 3 ms: the second waits for the first.
#[test]
fn requests_wait_for_a_thread_that_serves_others() {
    let of = |unread: i64| {
        let mut f = Facts::empty();
        for n in 0..30 {
            let mut one = turnaround(n, 3 * MS, "clock_nanosleep");
            one.read_ns = one.start_ns();
            let mut other = turnaround(n, unread + 3 * MS, "clock_nanosleep");
            (other.connection, other.read_ns) = (ConnectionId(3), other.start_ns() + unread);
            f.turnarounds.extend([one, other]);
        }
        f.turnarounds.sort_by_key(|t| t.connection);
        found(f).serving
    };
    let [s] = of(3 * MS).try_into().unwrap();
    assert_eq!(
        (s.task.as_str(), s.server.as_str(), s.connections, s.of),
        ("server/7", "10.0.0.1:80", 2, 2)
    );
    assert_eq!(
        (s.requests, s.turnaround_ns, s.behind_ns),
        (60, 30 * 9 * MS, 30 * 3 * MS)
    );
    // Read at once, nothing waits behind it.
    assert_eq!(of(0)[0].behind_ns, 0);
}

/// Between an answer and the next request the client is runnable for 50 ms while its CPU idles; behind another it is not held off.
#[test]
fn an_asker_held_off_an_idle_cpu() {
    let of = |who: &str, ns: i64| {
        let mut f = two_causes();
        f.turnarounds.extend((0..20).map(|n| {
            let mut t: TurnaroundRow = turnaround(n, ns + 20_000, "");
            (t.connection, t.sender_pid, t.asleep_in, t.asleep_in_ns) = (ConnectionId(1), 8, Name::default(), 0);
            (t.split.asleep_ns, t.split.run_queue_ns) = (10_000, ns);
            t.run_queue_task = Name::new(who.as_bytes());
            t
        }));
        let askers = found(f).askers;
        let asker = askers.iter().find(|a| a.turns > 0).unwrap().clone();
        assert_eq!((asker.turns, asker.between_ns), (20, 20 * (ns + 20_000)));
        asker.held_off_ns
    };
    assert_eq!(of(IDLE, 50 * MS), 20 * 50 * MS);
    assert_eq!(of("stress", 50 * MS), 0);
    // Leaving idle takes less than a ms.
    assert_eq!(of(IDLE, 200_000), 0);
}

/// The server is not in the recording; its host acknowledged the slow requests 8 ms after they were sent, or with the answer.
#[test]
fn requests_acknowledged_long_before_their_answer() {
    let of = |ack: i64, again: u16| {
        let mut f = Facts::empty();
        for n in 0..100 {
            let mut r = response(n, 0, if n % 10 == 0 { 300 * MS } else { 10 * MS });
            r.peer = None;
            let mut row = sent(1, r.send_ns, Some(r.send_ns + ack), &[]);
            row.retransmits = again;
            f.tx.push(row);
            f.responses.push(r);
        }
        let slow = found(f).servers[0].slow.remove(0);
        assert_eq!((slow.at, slow.n), ("unknown", 10));
        (slow.acked, slow.acked_max_ns)
    };
    assert_eq!(of(8 * MS, 0), (10, Some(8 * MS)));
    assert_eq!(of(300 * MS, 0), (0, None));
    // Which of two transmissions was acknowledged is not known.
    assert_eq!(of(8 * MS, 1), (0, None));
}

/// Six answers of which the last byte came 230 ms after the first (one of their segments was sent again): slow, though each began at once.
#[test]
fn an_answer_is_slow_by_its_last_byte() {
    let mut f = facts((0..200).map(|_| (30_000, 100_000)));
    for r in f.responses.iter_mut().skip(20).step_by(30) {
        r.complete_ns = r.ready_ns.map(|t| t + 230 * MS);
    }
    let a = found(f);
    let slow = &a.servers[0].slow;
    assert_eq!(slow.len(), 1);
    assert_eq!((slow[0].at, slow[0].n, slow[0].p50_ns), ("rest", 6, 230 * MS + 150_000));
    assert!(slow[0].share > 0.99);
}
