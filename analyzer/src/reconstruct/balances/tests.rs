use super::tables::{BalanceKind, BalanceRow};
use super::{Inputs, compute};
use crate::confidence::Confidence;
use crate::facts::{ConnectionId, SkbId};
use crate::reconstruct::lineage::tables::Conserved;
use crate::reconstruct::lineage::{Unit, UnitKind};

fn unit(connection: Option<u32>, expected: u64, found: u64) -> Unit {
    Unit {
        kind: UnitKind::GroHead,
        skb: SkbId(0),
        connection: connection.map(ConnectionId),
        edges: 1,
        expected,
        found,
        conserved: if expected == found {
            Conserved::Yes
        } else {
            Conserved::No
        },
    }
}

fn of(units: &[Unit]) -> Vec<BalanceRow> {
    compute(&Inputs {
        units,
        connections: &[],
        streams: &Default::default(),
        samples: &[],
        tx: &[],
        lost: false,
    })
}

/// A surplus of one head does not pay for the lack of another.
#[test]
fn differences_never_cancel() {
    let units = [
        unit(Some(1), 100, 90),
        unit(Some(1), 100, 110),
        unit(Some(1), 50, 50),
        unit(None, 7, 7),
    ];
    let rows = of(&units);
    let got: Vec<_> = rows
        .iter()
        .map(|r| {
            (
                r.connection.map(|c| c.0),
                r.bytes_expected,
                r.bytes_found,
                r.unexplained_bytes,
                r.units,
                r.matched,
            )
        })
        .collect();
    assert_eq!(got, [(None, 7, 7, 0, 1, 1), (Some(1), 250, 250, 20, 3, 1)]);
    assert!(rows[0].because.is_empty() && !rows[1].because.is_empty());
}

/// A part whose length is unknown is counted, and makes the balance less sure instead of wrong.
#[test]
fn an_unknown_length_is_no_difference() {
    let open = Unit {
        conserved: Conserved::Unknown,
        ..unit(None, 0, 0)
    };
    let rows = of(&[unit(None, 10, 10), open]);
    assert_eq!(
        (rows[0].kind, rows[0].units, rows[0].matched),
        (BalanceKind::GroHead, 2, 1)
    );
    assert_eq!((rows[0].unexplained_bytes, rows[0].confidence), (0, Confidence::Strong));
}
