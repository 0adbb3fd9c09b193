//! Data that is kept back with nothing missing before it.

use super::unit;
use crate::Confidence;
use crate::analyses::receive::LowWater;
use crate::analyses::receive::low_water::low_water;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::receive::tables::{RxEnd, Stage};
use crate::reconstruct::tcp::tables::{RetransmitClass, RetransmitRow};
use crate::testing::tcp::connection;

/// Six units that became readable late, of a socket whose sender is there: with nothing missing it was not woken for so few bytes.
#[test]
fn what_is_kept_back_with_nothing_missing_is_a_low_water_mark() {
    const MS: i64 = 1_000_000;
    let of = |again: Option<RetransmitClass>, lost: bool, held: i64| {
        let mut f = Facts::empty();
        f.capture.start_ns = Some(0);
        f.capture.events.insert("skb:kfree_skb".into(), 0);
        for n in 0..2u32 {
            let mut row = connection(n);
            (row.peer, row.retransmits) = (Some(ConnectionId(1 - n)), Some(0));
            (row.task, row.pid) = (Name::new(b"desk1"), 9);
            f.connections.push(row);
        }
        for n in 0..6 {
            let mut row = unit(n, RxEnd::Read, &[(Stage::OutOfOrder, held * MS)], 5, Confidence::Strong);
            row.connection = Some(ConnectionId(0));
            f.rx.push(row);
        }
        f.retransmits.extend(again.map(|class| RetransmitRow {
            original: None,
            index: 0,
            time_ns: 1,
            connection: Some(ConnectionId(1)),
            synack: None,
            class,
            err: None,
            bytes: None,
            segments: Some(1),
            confidence: Confidence::Certain,
        }));
        if lost {
            let mut row = crate::testing::drop_at(1);
            row.expected = Some(false);
            row.owner = Some(crate::reconstruct::whose::Owner {
                connection: Some(ConnectionId(1)),
                carries: crate::reconstruct::whose::Carries::Data,
                task: Name::default(),
                pid: 0,
                confidence: Confidence::Strong,
            });
            f.drops.push(row);
        }
        low_water(&f, &f.rx.iter().collect::<Vec<_>>())
    };
    let expect = LowWater {
        at: "10.0.0.1:1".into(),
        task: "desk1/9".into(),
        units: 6,
        held_ns: 300 * MS,
        longest_ns: 300 * MS,
    };
    assert_eq!(of(None, false, 300), Some(expect.clone()));
    assert_eq!(
        of(Some(RetransmitClass::Tlp), false, 300).map(|l| l.task),
        Some(expect.task)
    );
    // Something was lost, or sent again for it; not for long.
    assert_eq!(of(Some(RetransmitClass::Fast), false, 300), None);
    assert_eq!(of(None, true, 300), None);
    assert_eq!(of(None, false, 2), None);
}
