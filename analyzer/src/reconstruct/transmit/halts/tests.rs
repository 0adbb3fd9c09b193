use super::*;
use crate::reconstruct::transmit::held::piece;

const MS: i64 = 1_000_000;

fn row(start_ns: i64, sched: i64, stage: Stage, ns: i64) -> TxRow {
    let mut row = crate::testing::sent();
    (row.start_ns, row.t_sched_ns) = (start_ns, sched);
    row.stages.set(stage, Some(ns));
    row
}

#[test]
fn each_cause_is_merged_apart() {
    let pieces = [
        piece(0, 40 * MS, Stage::Rwnd),
        piece(40 * MS, 60 * MS, Stage::Rwnd),
        piece(60 * MS, 900 * MS, Stage::Cwnd),
    ];
    // Two segments sent again, whose times overlap; a send that slept less than is kept.
    let rows = [
        row(0, 100 * MS, Stage::Recovery, 30 * MS),
        row(0, 120 * MS, Stage::Recovery, 60 * MS),
        row(500 * MS, 900 * MS, Stage::Sndbuf, 10 * MS),
    ];
    let halt = |by, from, to| Halt {
        by,
        from: from * MS,
        to: to * MS,
    };
    let (window, lost) = (halt(Stage::Rwnd, 0, 60), halt(Stage::Recovery, 100, 180));
    assert_eq!(halts(&pieces, &[], rows.iter()), [window, lost]);
    // A wait for room outside of the call, too.
    let room = [(510 * MS, 560 * MS)];
    let full = halt(Stage::Sndbuf, 500, 560);
    assert_eq!(halts(&pieces, &room, rows.iter()), [window, lost, full]);
    assert_eq!(halts(&[], &[], [].iter()), []);
}
