//! Connections that wait for a peer which is gone.

use super::MS;
use crate::analyses::application::{HalfOpen, answer};
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::application::tables::ResponseRow;
use crate::reconstruct::tcp::tables::SampleRow;
use crate::reconstruct::transmit::tables::{TxKind, TxRow};

fn heard(connection: u32, ms: i64) -> SampleRow {
    crate::testing::tcp::sample(connection, ms * MS)
}

fn asked(c: u32, ms: i64) -> TxRow {
    TxRow {
        connection: Some(ConnectionId(c)),
        kind: TxKind::Tcp,
        start_ns: ms * MS,
        t_sched_ns: ms * MS,
        ..crate::testing::sent()
    }
}

fn answered(c: u32, ms: i64) -> ResponseRow {
    let at = ms * MS;
    ResponseRow {
        connection: ConnectionId(c),
        send_ns: at - MS,
        ready_ns: Some(at),
        read_ns: at,
        complete_ns: Some(at),
        peer: None,
        ..super::response(1, 0, 1)
    }
}

/// Five clients of one server until 2 s, heard last at `last(n)` ms: three wait for an answer from then on, two send their request again twice. Two more begin at 4 s and are answered.
fn facts(last: impl Fn(u32) -> i64) -> Facts {
    let mut f = Facts::empty();
    (f.capture.start_ns, f.capture.end_ns) = (Some(0), Some(10_000 * MS));
    f.capture.duration_ns = 10_000 * MS;
    for n in 0..7 {
        let mut c = crate::testing::tcp::connection(n);
        (c.sport, c.dport) = (40_000 + n as u16, 6379);
        c.task = Name::new(if n < 3 { b"worker" } else { b"orders" });
        c.born = Some(2);
        c.first_ns = if n < 5 { 0 } else { 4_000 * MS };
        f.connections.push(c);
    }
    for n in 0..7 {
        let at = if n < 5 { last(n) } else { 9_000 };
        f.tcp_samples.push(heard(n, at));
        f.responses.push(answered(n, at));
        if n < 5 {
            f.tx.push(TxRow {
                retransmits: if n > 2 { 2 } else { 0 },
                ..asked(n, at + 1)
            });
        }
    }
    f
}

fn found(f: &Facts) -> Option<HalfOpen> {
    answer(f).findings().and_then(|a| a.half_open.clone())
}

/// Where the last that one sent was dropped by this host that is why nothing came.
#[test]
fn what_was_dropped_here_is_no_sign_of_a_peer_that_is_gone() {
    let dropped = |ms: i64| {
        let mut f = facts(|n| 1_990 + i64::from(n));
        f.drops.push(crate::reconstruct::drops::tables::DropRow {
            owner: Some(crate::reconstruct::whose::Owner {
                connection: Some(ConnectionId(0)),
                carries: crate::reconstruct::whose::Carries::Data,
                task: Name::default(),
                pid: 0,
                confidence: crate::Confidence::Strong,
            }),
            expected: Some(false),
            ..crate::testing::drop_at(ms * MS)
        });
        found(&f).is_some()
    };
    assert!(!dropped(1_992));
    // What it sent later was not.
    assert!(dropped(1_500));
}

#[test]
fn who_waits_for_the_peer_of_before_is_named() {
    let f = facts(|n| 1_990 + i64::from(n));
    let expect = HalfOpen {
        server: "10.0.0.2:6379".into(),
        connections: 5,
        task: "worker".into(),
        of_task: 3,
        since_ns: 1_994 * MS,
        anew: 2,
        anew_ns: 4_000 * MS,
    };
    assert_eq!(found(&f), Some(expect));
    let lines = crate::analyses::answer(&f).verdict;
    let line = lines.iter().find(|l| l.subject == "application").unwrap();
    let said = "5 connections (3 of worker) to 10.0.0.2:6379 have been silent since 1.994 s, when the last segment came on any connection there that was open then, while 2 opened anew from 4.000 s on are answered";
    assert!(line.headline.contains(said), "{}", line.headline);
}

#[test]
fn a_peer_that_is_heard_is_not_gone() {
    // One of the old connections goes on: those that wait, wait for work.
    assert_eq!(found(&facts(|n| if n == 4 { 9_500 } else { 1_990 })), None);
    // Nothing was sent again more than once: nobody tried.
    let mut quiet = facts(|_| 1_990);
    quiet.tx.iter_mut().for_each(|t| t.retransmits = t.retransmits.min(1));
    assert_eq!(found(&quiet), None);
    // Nobody came anew.
    let mut alone = facts(|_| 1_990);
    alone.tcp_samples.truncate(5);
    alone.responses.truncate(5);
    assert_eq!(found(&alone), None);
    let mut lost = facts(|_| 1_990);
    lost.gaps.push(crate::testing::gap(0, MS));
    assert_eq!(found(&lost), None);
}

/// Connections of a pool that are first used later were not opened then: that they are answered proves that the peer knows what was before.
#[test]
fn a_pool_that_is_used_later_was_not_opened_anew() {
    let old = |f: &mut Facts, of: std::ops::Range<usize>| {
        for c in &mut f.connections[of] {
            c.born = None;
        }
    };
    let mut both = facts(|_| 1_990);
    old(&mut both, 5..7);
    assert_eq!(found(&both), None);
    // One that was opened beside does not change that.
    let mut one = facts(|_| 1_990);
    old(&mut one, 6..7);
    assert_eq!(found(&one), None);
    // Those that wait may be from before.
    let mut waiting = facts(|_| 1_990);
    old(&mut waiting, 0..5);
    assert_eq!(found(&waiting).map(|h| (h.connections, h.anew)), Some((5, 2)));
}

#[test]
fn a_request_that_was_given_up_is_no_try_unless_a_rst_came() {
    let mut f = facts(|_| 1_990);
    for c in [3, 4] {
        f.tcp_states.push(crate::testing::tcp::state(
            c,
            crate::reconstruct::tcp::states::FIN_WAIT1,
            3_000 * MS,
        ));
    }
    assert_eq!(found(&f), None);
    let mut rst = crate::reconstruct::opens::tables::ResetRow {
        time_ns: 6_000 * MS,
        received: false,
        connection: Some(ConnectionId(3)),
        from: None,
        to: None,
        reason: String::new(),
        sender: crate::reconstruct::opens::tables::Sender::Unknown,
        confidence: crate::Confidence::Strong,
    };
    f.resets.push(rst.clone());
    assert_eq!(found(&f), None);
    rst.received = true;
    f.resets.push(rst);
    assert_eq!(found(&f).map(|h| h.connections), Some(3));
}
