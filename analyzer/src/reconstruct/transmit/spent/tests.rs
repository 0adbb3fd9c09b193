use super::*;
use crate::facts::{ConnectionId, SkbId};
use crate::name::Name;
use crate::reconstruct::transmit::held::piece;
use crate::reconstruct::transmit::stages::StageTimes;
use crate::reconstruct::transmit::tables::{TxEnd, TxKind, TxStart};

fn row(start_ns: i64, sched: i64, ack: i64, stages: &[(Stage, i64)]) -> TxRow {
    let mut times = StageTimes::default();
    for (s, ns) in stages {
        times.set(*s, Some(*ns));
    }
    TxRow {
        skb_id: SkbId(0),
        original: None,
        connection: Some(ConnectionId(0)),
        kind: TxKind::Tcp,
        task: Name::default(),
        pid: 1,
        dev: Name::default(),
        cpu: 0,
        bytes: Some(1),
        start_ns,
        start: TxStart::Sendmsg,
        total_ns: ack - start_ns,
        end: TxEnd::Acked,
        censored: None,
        at_least_ns: None,
        refused: false,
        retransmits: 0,
        recovery_by: None,
        t_sched_ns: sched,
        t_snd_ns: Some(sched + 5),
        t_ack_ns: Some(ack),
        unattributed_ns: 0,
        stages: times,
        observer_ns: None,
        confidence: crate::Confidence::Certain,
    }
}

/// Every nanosecond asked for the first wait of the order that holds it, against the sums.
#[test]
fn each_moment_is_counted_once() {
    let pieces = [
        piece(0, 10, Stage::Pacing),
        piece(10, 40, Stage::Cwnd),
        piece(40, 45, Stage::PacingSlip),
        piece(60, 80, Stage::Rwnd),
    ];
    let rooms = [(70, 130), (150, 160)];
    let rows = [
        row(0, 20, 90, &[(Stage::Recovery, 15)]),
        row(0, 60, 140, &[(Stage::Qdisc, 4), (Stage::Ring, 1)]),
        row(
            145,
            151,
            200,
            &[(Stage::Sndbuf, 3), (Stage::Qdisc, 1), (Stage::Ring, 4)],
        ),
    ];
    let got = spent(&pieces, &rooms, rows.iter());
    let mut want = [0i64; STAGES];
    let mut busy = 0;
    for t in 0..300i64 {
        let inside = |a: i64, b: i64| a <= t && t < b;
        let queue = |s: &dyn Fn(Stage) -> bool| pieces.iter().find(|p| s(p.stage) && inside(p.from, p.to));
        let stage = if queue(&|s| s == Stage::Pacing || s == Stage::PacingSlip).is_some() {
            Some(Stage::Pacing)
        } else if inside(20, 35) {
            Some(Stage::Recovery)
        } else if let Some(p) = queue(&|_| true) {
            Some(p.stage)
        } else if inside(70, 130) || inside(150, 160) || inside(145, 148) {
            Some(Stage::Sndbuf)
        } else if inside(151, 156) {
            Some(Stage::Ring)
        } else if inside(60, 65) {
            Some(Stage::Qdisc)
        } else {
            None
        };
        if let Some(s) = stage {
            want[usize::from(s)] += 1;
        }
        busy += i64::from(stage.is_some() || inside(0, 140) || inside(145, 200));
    }
    assert_eq!((got.by, got.busy_ns), (want, busy));
    let shares: f64 = got.shares().iter().map(|s| s.1).sum();
    assert!(shares > 0.0 && shares <= 1.0, "{shares}");
    assert_eq!(got.shares()[0].0, "sndbuf");
}

#[test]
fn nothing_sent_is_nothing_spent() {
    assert_eq!(spent(&[], &[], [].iter()), Spent::default());
    assert!(Spent::default().shares().is_empty());
}
