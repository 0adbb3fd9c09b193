//! Servers behind others: what takes longer there is harm where those that wait for it take longer.

use super::samples::{facts, of};
use crate::Confidence;
use crate::diff::judged::compare::Metric;
use crate::diff::judged::{apart, recurs, upstream};
use crate::diff::sides::options::Recording;
use crate::diff::{DiffOptions, Outcome};
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::application::tables::{ResponseRow, TurnaroundRow};
use crate::stat::Distribution;

const MS: i64 = 1_000_000;
const FRONT: &str = "10.0.0.9:80";
const STORE: &str = "10.0.0.5:6379";

/// A front of one process answers 200 requests, each after so long; it asks its store for each, which takes `store_ms`: within that time, or when it has answered. `strangers`: requests of another program to the store.
fn side(front_ms: i64, store_ms: i64, awaited: bool, strangers: i64) -> Facts {
    let sample = facts("rpc/rpc.nmb");
    let mut f = Facts::empty();
    (f.capture.start_ns, f.capture.end_ns) = (Some(0), Some(100_000 * MS));
    let mut row = |own: [u8; 4], sport: u16, peer: [u8; 4], dport: u16, born: i32| {
        let mut row = crate::testing::tcp::connection(f.connections.len() as u32);
        (row.saddr, row.daddr) = (Some(own.into()), Some(peer.into()));
        (row.sport, row.dport) = (sport, dport);
        let c = row.connection;
        crate::testing::tcp::born(&mut f, row, born);
        c
    };
    let front = row([10, 0, 0, 9], 80, [10, 0, 0, 1], 40_000, 3);
    let store = row([10, 0, 0, 9], 40_000, [10, 0, 0, 5], 6379, 2);
    let other = row([10, 0, 0, 7], 40_000, [10, 0, 0, 5], 6379, 2);
    let like = &sample.responses[0];
    let asks = |connection: ConnectionId, pid: i32, send_ns: i64| ResponseRow {
        connection,
        pid,
        send_ns,
        ready_ns: Some(send_ns + store_ms * MS),
        read_ns: send_ns + store_ms * MS,
        complete_ns: Some(send_ns + store_ms * MS),
        overlap: false,
        confidence: Confidence::Strong,
        peer: None,
        ..like.clone()
    };
    for n in 0..200 {
        let read_ns = n * 400 * MS;
        f.turnarounds.push(TurnaroundRow {
            connection: front,
            pid: 77,
            sender_pid: 77,
            ready_ns: Some(read_ns),
            read_ns,
            send_ns: read_ns + front_ms * MS,
            overlap: false,
            confidence: Confidence::Strong,
            ..sample.turnarounds[0].clone()
        });
        let at = if awaited { MS / 2 } else { (front_ms + 1) * MS };
        f.responses.push(asks(store, 77, read_ns + at));
    }
    for pid in [77, 99] {
        f.processes.insert(pid, (pid, crate::name::Name::new(b"p")));
    }
    f.responses
        .extend((0..strangers).map(|n| asks(other, 99, n * 400 * MS)));
    f.responses.sort_by_key(|r| (r.connection, r.send_ns));
    f
}

/// A metric of answers of this server, called so, that moved by so much.
fn metric(stage: &'static str, server: &str, outcome: Outcome, by_ns: i64) -> Metric {
    let f = facts("rpc/rpc.nmb");
    let d = of(&f, &f);
    let mut m = d.metrics.into_iter().find(|m| m.which.stage == "response").unwrap();
    (m.which.stage, m.which.service, m.outcome) = (stage, Some(server.into()), outcome);
    m.shifts.truncate(1);
    (m.shifts[0].shift, m.shifts[0].outcome) = (by_ns, outcome);
    // A quarter more would have been seen.
    m.shifts[0].minimum_detectable = Some(m.shifts[0].before / 4);
    m
}

fn moderated(before: &Facts, after: &Facts, front: Outcome, by_ns: i64) -> (Outcome, bool) {
    let outcome = if by_ns > 0 { Outcome::Worse } else { Outcome::Better };
    let mut metrics = [
        metric("response", STORE, outcome, by_ns),
        metric("response", FRONT, front, by_ns),
    ];
    let sides = [before, after].map(|f| Recording::all(&[f], &[], None));
    let named = upstream::moderate(
        &mut metrics,
        &mut vec![],
        [&sides[0], &sides[1]],
        &DiffOptions::default(),
    );
    assert_eq!(named.contains(STORE), metrics[0].unfelt);
    assert!(!metrics[1].unfelt && metrics[1].outcome == front);
    (metrics[0].outcome, metrics[0].unfelt)
}

#[test]
fn what_nobody_waits_for_is_not_felt() {
    let unfelt = (Outcome::Changed, true);
    let same = |b: &Facts, a: &Facts| moderated(b, a, Outcome::Same, 20 * MS);
    // Fetched behind the users' backs.
    assert_eq!(same(&side(2, 10, false, 0), &side(2, 30, false, 0)), unfelt);
    // Those that wait for it take as much longer; or hardly any of it.
    assert_eq!(
        same(&side(12, 10, true, 0), &side(32, 30, true, 0)),
        (Outcome::Worse, false)
    );
    assert_eq!(same(&side(32, 10, true, 0), &side(35, 30, true, 0)), unfelt);
    // A program that serves nobody asks it, too: that one waits. One request in a hundred is let pass.
    assert_eq!(
        same(&side(2, 10, false, 20), &side(2, 30, false, 20)),
        (Outcome::Worse, false)
    );
    assert_eq!(same(&side(2, 10, false, 2), &side(2, 30, false, 2)), unfelt);
    // It answers a probe now and then, and works otherwise: nobody knows who waits.
    let probed = [10, 30].map(|ms| {
        let mut f = side(2, ms, false, 0);
        let mut nth = 0;
        f.turnarounds.retain(|_| {
            nth += 1;
            nth % 25 == 0
        });
        f
    });
    assert_eq!(same(&probed[0], &probed[1]), (Outcome::Worse, false));
    // Without a list of tasks.
    let mut alone = [10, 30].map(|ms| side(2, ms, false, 0));
    alone.iter_mut().for_each(|f| f.processes.clear());
    assert_eq!(same(&alone[0], &alone[1]), (Outcome::Worse, false));
    // It asks when it has begun to answer: who reads the rest waits.
    let streamed = [10, 30].map(|ms| {
        let mut f = side(2, ms, false, 0);
        for n in 0..200 {
            f.tx.push(crate::reconstruct::transmit::tables::TxRow {
                kind: crate::reconstruct::transmit::tables::TxKind::Tcp,
                connection: Some(ConnectionId(0)),
                start_ns: n * 400 * MS + (4 + ms) * MS,
                ..crate::testing::sent()
            });
        }
        f
    });
    assert_eq!(same(&streamed[0], &streamed[1]), (Outcome::Worse, false));
    // Of sixty that wait no hundredth is known, and that is what moved.
    let few = [10, 30].map(|ms| {
        let mut f = side(32, ms, true, 0);
        f.turnarounds.truncate(60);
        f.responses.truncate(60);
        f
    });
    assert_eq!(same(&few[0], &few[1]), unfelt);
    let mut metrics = [
        metric("response", STORE, Outcome::Worse, 20 * MS),
        metric("response", FRONT, Outcome::Same, 0),
    ];
    metrics[0].shifts[0].percent = 99;
    let sides = [&few[0], &few[1]].map(|f| Recording::all(&[f], &[], None));
    upstream::moderate(
        &mut metrics,
        &mut vec![],
        [&sides[0], &sides[1]],
        &DiffOptions::default(),
    );
    assert_eq!(metrics[0].outcome, Outcome::Worse);
    // Users wait longer, whatever for.
    let (b, a) = (side(2, 10, false, 0), side(2, 30, false, 0));
    assert_eq!(moderated(&b, &a, Outcome::Worse, 20 * MS), (Outcome::Worse, false));
    // And the other way round: a gain that nobody has.
    assert_eq!(moderated(&a, &b, Outcome::Same, -20 * MS), unfelt);
    assert_eq!(moderated(&a, &b, Outcome::Better, -20 * MS), (Outcome::Better, false));
}

/// A thread that no list of tasks has is of the process that listens at its port.
#[test]
fn who_listens_serves() {
    let mut sides = [side(2, 10, false, 0), side(2, 30, false, 0)];
    for f in &mut sides {
        f.responses.iter_mut().for_each(|r| r.pid = 78);
        f.processes.insert(78, (70, crate::name::Name::new(b"front")));
    }
    let judged = |s: &[Facts; 2]| moderated(&s[0], &s[1], Outcome::Same, 20 * MS);
    assert_eq!(judged(&sides), (Outcome::Worse, false));
    sides
        .iter_mut()
        .for_each(|f| f.listened_by = [(80, 70)].into_iter().collect());
    assert_eq!(judged(&sides), (Outcome::Changed, true));
}

#[test]
fn more_of_one_client_is_no_slower_server() {
    let clients = |outcome| {
        [1, 2].map(|n| {
            metric(
                "response",
                &format!("{FRONT} from 10.0.0.{n}"),
                if n == 2 { outcome } else { Outcome::Same },
                5 * MS,
            )
        })
    };
    let of = |outcome, answers: u64| {
        let own = metric("turnaround", FRONT, Outcome::Worse, 5 * MS);
        let mut all = [vec![own], clients(outcome).to_vec()].concat();
        let n = all[1].before.n + all[2].before.n;
        (all[0].before.n, all[0].after.n) = (n + answers, n);
        let named = apart::moderate(&mut all);
        assert_eq!(named.contains(FRONT), all[0].mix.is_some());
        all[0].outcome
    };
    assert_eq!(of(Outcome::Same, 0), Outcome::Changed);
    // One of them waits longer; others have a fifth of its answers.
    assert_eq!(of(Outcome::Worse, 0), Outcome::Worse);
    assert_eq!(of(Outcome::Same, 300), Outcome::Worse);
}

#[test]
fn what_comes_again_and_again_is_worse() {
    let tail = |slow: u64| {
        let one = |i: u64| if i < slow { 90 * MS + i as i64 } else { MS / 5 };
        Distribution::of((0..600).map(one).collect(), 0)
    };
    let judged = |before, after, beyond| {
        let mut m = metric("response", FRONT, Outcome::Same, 0);
        (m.before, m.after, m.beyond) = (tail(before), tail(after), beyond);
        m.shifts[0].percent = 90;
        let mut all = [m];
        recurs::judge(&mut all, &DiffOptions::default());
        let [m] = all;
        assert_eq!(m.recurs, m.outcome != Outcome::Same);
        (m.outcome, recurs::words(&m))
    };
    let (outcome, words) = judged(0, 70, [0, 6]);
    let said = "; in 6 of 10 parts of the time some took longer than any before (by itself chance gives that in 1 of 92 comparisons)";
    assert_eq!((outcome, words.as_str()), (Outcome::Worse, said));
    assert_eq!(judged(70, 0, [6, 0]).0, Outcome::Better);
    // The slowest hundredth, of too few for a test among the others.
    let mut m = metric("response", FRONT, Outcome::Same, 0);
    (m.before, m.after, m.beyond) = (tail(0), tail(20), [0, 7]);
    m.shifts[0].percent = 90;
    let mut s = m.shifts[0].clone();
    (s.percent, s.before, s.after, s.shift) = (99, MS / 5, 90 * MS, 90 * MS - MS / 5);
    m.untested = vec![s];
    let mut all = [m];
    recurs::judge(&mut all, &DiffOptions::default());
    let told = all[0].telling().map(|s| (s.percent, s.shift, s.significant));
    assert_eq!(
        (all[0].outcome, told),
        (Outcome::Worse, Some((99, 90 * MS - MS / 5, false)))
    );
    // In five parts; as before.
    assert_eq!(judged(0, 70, [0, 5]), (Outcome::Same, String::new()));
    assert_eq!(judged(70, 70, [6, 6]).0, Outcome::Same);
}
