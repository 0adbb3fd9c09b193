//! Transfers that keep a line full, whose answers somebody awaits.

use super::causes::{MS, lossy, rpc};
use crate::analyses::verdict::Tone;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::tcp::tables::{RetransmitClass, RetransmitRow};
use crate::reconstruct::transmit::tables::{TxKind, TxRow};

/// The transfer loses a tenth; its client awaits it; it has data under way for 100 ms in each 200, for `full` ms of which a packet lies in the queue.
fn awaited(full: i64, change: impl Fn(&mut Facts)) -> (Option<f64>, Tone) {
    let of = |f: &mut Facts| {
        let mut r = rpc().responses.remove(0);
        (r.connection, r.send_ns, r.read_ns) = (ConnectionId(0), 0, 20_000 * MS);
        f.responses.push(r);
        f.connections[0].bytes_out = 2_000_000;
        f.xmits.clear();
        for n in 0..100 {
            let at = n * 200 * MS;
            f.tx.push(TxRow {
                kind: TxKind::Tcp,
                connection: Some(ConnectionId(0)),
                t_sched_ns: at,
                t_ack_ns: Some(at + 100 * MS),
                ..crate::testing::sent()
            });
            let mut p = crate::testing::pass();
            p.dev = crate::name::Name::new(b"eth0");
            (p.queued_ns, p.started_ns, p.bytes) = (Some(at), Some(at + full * MS), Some(20_000));
            f.xmits.push(p);
        }
        change(f);
    };
    let (d, line) = lossy(200, of);
    (d.groups[0].line_full, line.tone)
}

#[test]
fn a_full_line_is_no_loss_that_anybody_waited_for() {
    assert_eq!(awaited(90, |_| {}), (Some(0.9), Tone::Notice));
    // The queue is seldom full: the losses cost the time.
    assert_eq!(awaited(50, |_| {}), (None, Tone::Bad));
}

#[test]
fn timers_others_and_chance_are_not_that() {
    let with = |change: &dyn Fn(&mut Facts)| assert_eq!(awaited(90, change), (None, Tone::Bad));
    with(&|f| {
        f.retransmits.push(RetransmitRow {
            index: 0,
            time_ns: 9 * MS,
            connection: Some(ConnectionId(0)),
            synack: None,
            class: RetransmitClass::Rto,
            err: None,
            bytes: None,
            original: None,
            segments: Some(1),
            confidence: crate::Confidence::Certain,
        });
    });
    // Most of what left is others'.
    with(&|f| f.xmits.iter_mut().for_each(|p| p.bytes = Some(90_000)));
    // Small ones.
    with(&|f| f.connections[0].bytes_out = 40_000);
    with(&|f| f.gaps.push(crate::testing::gap(0, MS)));
    // Not sent again.
    with(&|f| {
        f.drops.iter_mut().for_each(|d| d.repair = None);
        f.retransmits.clear();
    });
}
