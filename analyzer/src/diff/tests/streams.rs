//! Servers that hold back what they stream.

use super::samples::{facts, of};
use crate::diff::Outcome;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::receive::tables::RxRow;
use crate::reconstruct::transmit::tables::{TxKind, TxRow};

const MS: i64 = 1_000_000;

/// Beside a real recording four sockets of a server at port 8080 on which nobody asks; each sends so many bytes each so many ms.
fn streams(gap_ms: i64, bytes: u32, asked: bool) -> Facts {
    let mut f = facts("rpc/rpc.nmb");
    let start = f.capture.start_ns.unwrap();
    let like = f.connections[0].clone();
    for n in 0..4u32 {
        let mut row = like.clone();
        row.connection = ConnectionId(f.connections.len() as u32);
        (row.sport, row.dport, row.born, row.peer) = (8080, 40_100 + n as u16, None, None);
        let mut at = start + MS;
        while at < start + 20_000 * MS {
            f.tx.push(TxRow {
                connection: Some(row.connection),
                kind: TxKind::Tcp,
                task: Name::new(b"nginx"),
                bytes: Some(bytes),
                start_ns: at,
                ..crate::testing::sent()
            });
            if asked {
                f.rx.push(RxRow {
                    connection: Some(row.connection),
                    bytes: Some(50),
                    start_ns: at + MS,
                    ..RxRow::default()
                });
            }
            at += gap_ms * MS;
        }
        f.connections.push(row);
    }
    f.capture.end_ns = Some(start + 20_000 * MS);
    f.tx.sort_by_key(|t| t.start_ns);
    f.rx.sort_by_key(|t| t.start_ns);
    f
}

#[test]
fn the_same_at_once_after_a_long_time_is_worse() {
    let (each, many) = (|| streams(220, 700, false), || streams(4_000, 9_000, false));
    let d = of(&each(), &many());
    let says = ":8080: p50 220.00 ms -> 4.000 s from one send to the next, 700 -> 9000 bytes at once (";
    assert!(
        d.verdict.sentence.starts_with("nginx holds back what it streams on "),
        "{}",
        d.verdict.sentence
    );
    assert!(d.verdict.sentence.contains(says), "{}", d.verdict.sentence);
    assert_eq!(d.verdict.outcome, Outcome::Worse);
    let back = of(&many(), &each());
    assert!(
        back.verdict.sentence.contains("nginx no longer holds back"),
        "{}",
        back.verdict.sentence
    );
}

#[test]
fn a_source_with_less_to_say_holds_nothing_back() {
    let said = |b: &Facts, a: &Facts| of(b, a).verdict.sentence.contains("holds back");
    assert!(!said(&streams(220, 700, false), &streams(4_000, 700, false)));
    assert!(!said(&streams(220, 700, false), &streams(220, 9_000, false)));
    // Somebody asks; shorter than anybody minds; few.
    assert!(!said(&streams(220, 700, true), &streams(4_000, 9_000, true)));
    assert!(!said(&streams(25, 700, false), &streams(300, 9_000, false)));
    assert!(!said(&streams(220, 700, false), &streams(9_000, 90_000, false)));
}
