//! Whole times of solid units by device, CPU, process and connection. A unit belongs to one place, which has one of each: sums are
//! made by place, and those of a group are added up from its places.

use std::collections::BTreeMap;

use super::{GROUPS, Group, Kind};
use crate::analyses::units::{Place, Unit, Units};
use crate::stat::nearest_rank;

/// The four kinds.
pub(super) fn kinds<R: Unit>(units: &Units<'_, R>) -> Vec<Kind> {
    let sums = Sums::of(units);
    let connection = |id: Option<crate::ConnectionId>| id.map_or_else(String::new, |c| format!("conn:{}", c.0));
    vec![
        kind("device", units, &sums, |p| p.dev, |n| n.text().into_owned()),
        kind("CPU", units, &sums, |p| p.cpu, |cpu| cpu.to_string()),
        kind("process", units, &sums, |p| p.task, |n| n.text().into_owned()),
        kind("connection", units, &sums, |p| p.connection, connection),
    ]
}

/// ns of each column by place.
struct Sums {
    /// Whole times.
    total: Vec<i64>,
    /// The waits, time in no stage last.
    waits: Vec<(&'static str, Vec<i64>)>,
}

impl Sums {
    fn of<R: Unit>(units: &Units<'_, R>) -> Sums {
        let (places, at) = units.places();
        let mut all = units.columns().map(|(times, column)| {
            let mut sums = vec![0i64; places.len()];
            for (nth, ns) in column.known() {
                let sum = at.get(nth).and_then(|place| sums.get_mut(*place as usize));
                if let Some(sum) = sum {
                    *sum = sum.saturating_add(ns);
                }
            }
            (times.stage, sums)
        });
        let total = all.next().map_or_else(Vec::new, |(_, sums)| sums);
        Sums {
            total,
            waits: all.collect(),
        }
    }
}

/// Sum of some places.
fn sum(of: &[i64], places: &[usize]) -> i64 {
    let of = places.iter().filter_map(|p| of.get(*p));
    of.fold(0i64, |sum, ns| sum.saturating_add(*ns))
}

fn kind<R: Unit, K: Ord + Copy>(
    by: &'static str,
    units: &Units<'_, R>,
    sums: &Sums,
    key: impl Fn(&Place) -> K,
    name: impl Fn(K) -> String,
) -> Kind {
    let (places, at) = units.places();
    let mut of: BTreeMap<K, Vec<usize>> = BTreeMap::new();
    for (nth, place) in places.iter().enumerate() {
        of.entry(key(place)).or_default().push(nth);
    }
    let mut order: Vec<(i64, K, Vec<usize>)> = of.into_iter().map(|(k, p)| (sum(&sums.total, &p), k, p)).collect();
    let whole = sums.total.iter().fold(0i64, |sum, ns| sum.saturating_add(*ns));
    order.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    let others = order.len().saturating_sub(GROUPS) as u64;
    order.truncate(GROUPS);
    // Which of the groups kept each place is in.
    let mut kept = vec![usize::MAX; places.len()];
    for (group, (_, _, places)) in order.iter().enumerate() {
        for place in places {
            if let Some(of) = kept.get_mut(*place) {
                *of = group;
            }
        }
    }
    let mut times: Vec<Vec<i64>> = vec![vec![]; order.len()];
    for (row, place) in units.solid().iter().zip(at) {
        let of = kept.get(*place as usize).and_then(|group| times.get_mut(*group));
        if let Some(of) = of {
            of.push(row.total_ns());
        }
    }
    let group = |((ns, key, places), mut times): ((i64, K, Vec<usize>), Vec<i64>)| Group {
        name: name(key),
        n: times.len() as u64,
        p50_ns: nearest_rank(&mut times, 50),
        p99_ns: nearest_rank(&mut times, 99),
        max_ns: times.iter().copied().max(),
        share: if whole > 0 { ns as f64 / whole as f64 } else { 0.0 },
        top: top(sums, &places, ns),
    };
    Kind {
        by,
        groups: order.into_iter().zip(times).map(group).collect(),
        others,
    }
}

/// The wait with most of the time of some places, the first on the path of equals; and its share of `whole`.
fn top(sums: &Sums, places: &[usize], whole: i64) -> Option<(&'static str, f64)> {
    let waits = sums.waits.iter().map(|(stage, of)| (*stage, sum(of, places)));
    let (stage, ns) = waits.reduce(|best, s| if s.1 > best.1 { s } else { best })?;
    (ns > 0 && whole > 0).then(|| (stage, ns as f64 / whole as f64))
}
