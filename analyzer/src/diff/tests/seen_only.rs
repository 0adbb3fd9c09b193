//! Frames that a device of a bridge only sees, and frees as another host's.

use netmortem_formats::event_format::{ValueTable, ValueTableKind};

use super::samples::{facts as sample, of};
use crate::diff::Outcome;
use crate::diff::judged::rates::Rate;
use crate::diff::judged::seen_only::moderate;
use crate::diff::sides::options::Recording;
use crate::facts::Facts;
use crate::name::Name;
use crate::reconstruct::drops::tables::DropRow;

/// So many frames of a device that arrived, of which nothing is known, and that were lost.
fn freed(dev: &[u8], fates: [usize; 3]) -> Vec<DropRow> {
    let of = |(n, expected): (usize, Option<bool>)| {
        let row = move |at: usize| DropRow {
            expected,
            reason: Some(7),
            dev: Name::new(dev),
            ..crate::testing::drop_at(at as i64)
        };
        (0..n).map(row)
    };
    fates
        .into_iter()
        .zip([Some(true), None, Some(false)])
        .flat_map(of)
        .collect()
}

fn recorded(drops: Vec<DropRow>) -> Facts {
    let mut f = Facts::empty();
    (f.capture.start_ns, f.capture.end_ns) = (Some(0), Some(1_000_000));
    f.names.drop_reasons = Some(ValueTable {
        kind: ValueTableKind::Symbolic,
        entries: vec![(7, "OTHERHOST".into())],
    });
    f.drops = drops;
    f
}

fn judged(before: Vec<DropRow>, after: Vec<DropRow>) -> Outcome {
    let (b, a) = (recorded(before), recorded(after));
    let sides = [&b, &a].map(|f| Recording::all(std::slice::from_ref(&f), &[], None));
    let f = sample("rpc/rpc.nmb");
    let mut rates: Vec<Rate> = of(&f, &f).rates.into_iter().take(1).collect();
    (rates[0].metric, rates[0].outcome) = ("drops.OTHERHOST".into(), Outcome::Worse);
    moderate(&mut rates, [&sides[0], &sides[1]]);
    assert_eq!(rates[0].note.is_some(), rates[0].outcome == Outcome::Changed);
    rates[0].outcome
}

#[test]
fn what_a_bridge_sees_is_nobodys_loss() {
    let few = || freed(b"b0", [150, 400, 0]);
    let many = freed(b"b0", [1_200, 2_300, 0]);
    assert_eq!(judged(few(), many.clone()), Outcome::Changed);
    // One of another device, of which nothing is known, is no matter; some that were lost are, and so is a device that saw none arrive.
    assert_eq!(
        judged(few(), [many.clone(), freed(b"d1", [0, 1, 0])].concat()),
        Outcome::Changed
    );
    assert_eq!(
        judged(few(), [many.clone(), freed(b"d1", [0, 0, 3])].concat()),
        Outcome::Worse
    );
    assert_eq!(
        judged(few(), [many, freed(b"eth0", [0, 900, 0])].concat()),
        Outcome::Worse
    );
    assert_eq!(judged(vec![], freed(b"eth0", [0, 20, 0])), Outcome::Worse);
}
