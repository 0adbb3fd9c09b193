use super::answer;
use crate::Confidence::{self, Certain, Weak};
use crate::analyses::Outcome;
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::transmit::Stage;
use crate::reconstruct::transmit::stages::StageTimes;
use crate::reconstruct::transmit::tables::{TxEnd, TxKind, TxRow, TxStart};

fn segment(n: u32, end: TxEnd, of: &[(Stage, i64)], confidence: Confidence) -> TxRow {
    let mut stages = StageTimes::default();
    for (s, v) in of {
        stages.set(*s, Some(*v));
    }
    TxRow {
        skb_id: SkbId(n),
        original: None,
        connection: Some(ConnectionId(3)),
        kind: TxKind::Tcp,
        task: Name::new(b"curl"),
        pid: 7,
        dev: Name::new(b"eth0"),
        cpu: 0,
        bytes: Some(100),
        start_ns: i64::from(n),
        start: TxStart::Sendmsg,
        total_ns: stages.sum() + 1,
        end,
        retransmits: 0,
        recovery_by: None,
        t_sched_ns: i64::from(n),
        t_snd_ns: None,
        t_ack_ns: None,
        unattributed_ns: 1,
        stages,
        observer_ns: None,
        confidence,
    }
}

#[test]
fn the_wait_that_holds_most_is_the_connections_top() {
    let mut f = Facts::empty();
    let lost = TxRow {
        retransmits: 1,
        ..segment(3, TxEnd::Acked, &[(Stage::Recovery, 60), (Stage::Network, 39)], Certain)
    };
    f.tx = vec![
        segment(0, TxEnd::Acked, &[(Stage::Cwnd, 300), (Stage::Network, 20)], Certain),
        segment(1, TxEnd::Acked, &[(Stage::Pacing, 100), (Stage::Network, 40)], Certain),
        segment(2, TxEnd::Acked, &[(Stage::Network, 70)], Weak),
        lost,
        segment(4, TxEnd::Open, &[(Stage::Cwnd, 100)], Certain),
    ];
    let Outcome::Findings(t) = answer(&f) else { panic!() };
    assert_eq!((t.acked, t.open, t.dropped), (4, 1, 0));
    let sum: f64 = t.stages.iter().map(|s| s.share).sum::<f64>() + t.unattributed.share;
    assert!((sum - 1.0).abs() < 1e-12, "{sum}");
    let c = &t.connections[0];
    assert_eq!((c.connection, c.segments, c.bytes, c.retransmits), (3, 5, 500, 1));
    let top = c.top.unwrap();
    assert_eq!((top.stage, top.ns), ("cwnd", 300));
    // Of the time before the device, open segments included: 400 and 100.
    assert_eq!(c.limiters, [("cwnd", 0.8), ("pacing", 0.2)]);
    // Neither the weak one nor the one sent twice says how long the way is.
    assert_eq!((c.rtt.n, c.rtt.min_ns, c.rtt.max_ns), (2, Some(20), Some(40)));
}

#[test]
fn nothing_sent_is_no_answer() {
    assert!(matches!(answer(&Facts::empty()), Outcome::Unknown(_)));
}
