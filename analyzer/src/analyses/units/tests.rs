use super::{Ledgers, Units};
use crate::Confidence::{self, Certain, Strong, Weak};
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::reconstruct::receive::tables::{Censored, RxEnd, RxRow, Stage};
use crate::stat::Distribution;

fn unit(n: u32, gro_ns: Option<i64>, cpu: u16, confidence: Confidence) -> RxRow {
    let mut row = RxRow {
        skb_id: SkbId(n),
        end: RxEnd::Read,
        cpu,
        connection: Some(ConnectionId(3)),
        total_ns: gro_ns.unwrap_or(0) + 4,
        unattributed_ns: 4,
        confidence,
        ..RxRow::default()
    };
    row.stages.set(Stage::Gro, gro_ns);
    row
}

/// Solid ones first, what is not whole nowhere; each column's figures are those of its values by definition.
#[test]
fn columns_are_the_rows_by_stage() {
    let mut rows = vec![
        unit(0, Some(50), 1, Weak),
        unit(1, Some(30), 1, Certain),
        unit(2, None, 1, Strong),
        unit(3, Some(10), 2, Certain),
    ];
    rows.push(RxRow {
        censored: Some(Censored::Start),
        ..unit(4, Some(900), 1, Certain)
    });
    let units = Units::of(&rows);
    let ids: Vec<u32> = units.rows().iter().map(|r| r.skb_id.0).collect();
    assert_eq!(ids, [1, 2, 3, 0]);
    assert_eq!(units.solid().len(), 3);
    let stages = units.stages();
    let gro = stages.iter().find(|s| s.stage == "gro").unwrap();
    assert_eq!(gro.solid, Distribution::of(vec![30, 10], 1));
    assert_eq!(gro.all, Distribution::of(vec![50, 30, 10], 1));
    assert_eq!(gro.share, 90.0 / 106.0);
    assert_eq!(units.total().all, Distribution::of(vec![54, 34, 4, 14], 0));
    assert_eq!(units.unattributed().solid, Distribution::of(vec![4; 3], 0));
    // A stage that no unit has is unknown for all of them.
    let copy = stages.iter().find(|s| s.stage == "copy").unwrap();
    assert_eq!((copy.solid.n, copy.solid.unknown, copy.all.unknown), (0, 3, 4));
    let known: Vec<Vec<(usize, i64)>> = units
        .columns()
        .filter(|(times, _)| times.stage == "gro")
        .map(|(_, column)| column.known().collect())
        .collect();
    assert_eq!(known, [[(0, 30), (2, 10)]]);
    let (places, at) = units.places();
    let cpus: Vec<u16> = at.iter().map(|p| places[*p as usize].cpu).collect();
    assert_eq!((places.len(), cpus), (2, vec![1, 1, 2]));
    assert_eq!(units.times("id", "", |r| Some(r.skb_id.0.into())).all.sum_ns, 6);
}

/// Few values are sorted by comparing, many by their digits: both are the distribution of the same values.
#[test]
fn many_rows_sort_as_few() {
    let mut state = 7u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 40) as i64
    };
    let rows: Vec<RxRow> = (0..5_000)
        .map(|n| unit(n, Some(next()), 0, if n % 3 == 0 { Weak } else { Certain }))
        .collect();
    let units = Units::of(&rows);
    let mut values: Vec<i64> = rows.iter().map(|r| r.total_ns).collect();
    assert_eq!(units.total().all, Distribution::of(values.clone(), 0));
    values.sort_unstable();
    assert_eq!(units.total().all.p50_ns, Some(values[2_499]));
    let solid: Vec<i64> = rows
        .iter()
        .filter(|r| r.confidence == Certain)
        .map(|r| r.total_ns)
        .collect();
    assert_eq!(units.total().solid, Distribution::of(solid, 0));
}

#[test]
fn nothing_has_no_times() {
    let facts = Facts::empty();
    let ledgers = Ledgers::of(&facts);
    assert_eq!((ledgers.rx.total().all.n, ledgers.tx.stages().len()), (0, 17));
    assert_eq!(ledgers.tx.total().share, 0.0);
}
