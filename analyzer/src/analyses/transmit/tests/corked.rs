//! Segments that a timer sent because a cork held them.

use super::answer;
use crate::analyses::Outcome;
use crate::analyses::transmit::Corked;
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::transmit::stages::Stage;
use crate::reconstruct::transmit::tables::{TxEnd, TxRow};

const MS: i64 = 1_000_000;

/// Answers from 10.0.0.1:80 a second apart: a full segment at once, and a small one that lay so long. The full one is acknowledged 1 ms after it was sent,
/// or so long.
fn corked(lay: i64, acked: i64, answers: i64) -> Option<Corked> {
    let mut f = Facts::empty();
    let mut row = crate::testing::tcp::connection(0);
    (row.sport, row.dport) = (80, 40_000);
    crate::testing::tcp::born(&mut f, row, 12);
    for n in 0..answers {
        let at = n * 1000 * MS;
        let sent = |at: i64, ack: i64| TxRow {
            skb_id: SkbId(f.tx.len() as u32),
            connection: Some(ConnectionId(0)),
            task: Name::new(b"corkd"),
            pid: 7,
            start_ns: at,
            t_sched_ns: at,
            t_ack_ns: Some(at + ack),
            end: TxEnd::Acked,
            ..crate::testing::sent()
        };
        let full = sent(at, acked);
        let mut rest = sent(at + lay, MS);
        rest.stages.add(Stage::Nagle, Some(lay));
        f.tx.extend([full, rest]);
    }
    let Outcome::Findings(t) = answer(&f) else { panic!() };
    t.corked
}

#[test]
fn nothing_in_flight_and_the_timer_of_200_ms() {
    let c = corked(205 * MS, MS, 5).unwrap();
    assert_eq!((c.by.as_str(), c.task.as_str()), ("10.0.0.1:80", "corkd"));
    assert_eq!((c.wait.n, c.of, c.connections), (5, 10, 1));
    assert_eq!(c.wait.p50_ns, Some(205 * MS));
    // By Nagle behind a segment whose ACK is late; sooner than any timer; too few.
    for none in [
        corked(205 * MS, 200 * MS, 5),
        corked(40 * MS, MS, 5),
        corked(205 * MS, MS, 2),
    ] {
        assert_eq!(none, None);
    }
}
