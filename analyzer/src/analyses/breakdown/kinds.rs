//! Whole times of solid units by device, CPU, process and connection. A unit belongs to one place, which has one of each: sums are
//! made by place, and those of a group are added up from its places.

use std::collections::BTreeMap;

use super::{CURVES, Curve, GROUPS, Group, Kind};
use crate::analyses::exemplars::StageNs;
use crate::analyses::units::{Place, Unit, Units};
use crate::explain::Id;
use crate::facts::SkbId;
use crate::stat::{Distribution, nearest_rank};

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

/// Whole times, and whose.
type Times = Vec<(i64, SkbId)>;

/// One group, as it is found.
struct Found<K> {
    key: K,
    /// Summed whole time of its units.
    ns: i64,
    /// Its units.
    n: u64,
    places: Vec<usize>,
}

fn kind<R: Unit, K: Ord + Copy>(
    by: &'static str,
    units: &Units<'_, R>,
    sums: &Sums,
    key: impl Fn(&Place) -> K,
    name: impl Fn(K) -> String,
) -> Kind {
    let (places, at) = units.places();
    let mut counts = vec![0u64; places.len()];
    for place in at {
        if let Some(n) = counts.get_mut(*place as usize) {
            *n += 1;
        }
    }
    let mut of: BTreeMap<K, Vec<usize>> = BTreeMap::new();
    for (nth, place) in places.iter().enumerate() {
        of.entry(key(place)).or_default().push(nth);
    }
    let found = |(key, places): (K, Vec<usize>)| Found {
        key,
        ns: sum(&sums.total, &places),
        n: places.iter().filter_map(|p| counts.get(*p)).sum(),
        places,
    };
    let mut order: Vec<Found<K>> = of.into_iter().map(found).collect();
    let whole = sums.total.iter().fold(0i64, |sum, ns| sum.saturating_add(*ns));
    // Of equals the smaller key, in both orders.
    let curves = match order.len() > 1 {
        true => {
            order.sort_by_key(|f| (std::cmp::Reverse(f.n), f.key));
            curves(units, sums, &order, |f| name(f.key))
        }
        false => vec![],
    };
    order.sort_by_key(|f| (std::cmp::Reverse(f.ns), f.key));
    let others = order.len().saturating_sub(GROUPS) as u64;
    order.truncate(GROUPS);
    let times = by_group(units, order.iter().map(|f| &f.places[..]), None);
    let group = |(f, units): (Found<K>, Times)| {
        let worst = units
            .iter()
            .copied()
            .min_by_key(|(ns, skb)| (std::cmp::Reverse(*ns), *skb));
        let mut times: Vec<i64> = units.into_iter().map(|(ns, _)| ns).collect();
        Group {
            name: name(f.key),
            n: times.len() as u64,
            p50_ns: nearest_rank(&mut times, 50),
            p99_ns: nearest_rank(&mut times, 99),
            max_ns: worst.map(|(ns, _)| ns),
            worst: worst.map(|(_, skb)| Id::new(R::KIND, skb.0)),
            share: if whole > 0 { f.ns as f64 / whole as f64 } else { 0.0 },
            top: top(sums, &f.places, f.ns),
        }
    };
    Kind {
        by,
        groups: order.into_iter().zip(times).map(group).collect(),
        others,
        curves,
    }
}

/// Whole times and skbs of solid units by group of places; those of no group are in `rest`, where that is one of them.
fn by_group<'p, R: Unit>(
    units: &Units<'_, R>,
    groups: impl Iterator<Item = &'p [usize]>,
    rest: Option<usize>,
) -> Vec<Times> {
    let (places, at) = units.places();
    let mut kept = vec![rest.unwrap_or(usize::MAX); places.len()];
    let mut n = 0;
    for (group, places) in groups.enumerate() {
        n = group + 1;
        for place in places {
            if let Some(of) = kept.get_mut(*place) {
                *of = group;
            }
        }
    }
    let mut times: Vec<Times> = vec![vec![]; rest.map_or(n, |rest| rest + 1)];
    for (row, place) in units.solid().iter().zip(at) {
        let of = kept.get(*place as usize).and_then(|group| times.get_mut(*group));
        if let Some(of) = of {
            of.push((row.total_ns(), row.skb()));
        }
    }
    times
}

/// Of those with most units each, and of all others together; `order` is by number of units.
fn curves<R: Unit, K>(
    units: &Units<'_, R>,
    sums: &Sums,
    order: &[Found<K>],
    name: impl Fn(&Found<K>) -> String,
) -> Vec<Curve> {
    let (own, others) = order.split_at(order.len().min(CURVES));
    let rest = (!others.is_empty()).then_some(own.len());
    let times = by_group(units, own.iter().map(|f| &f.places[..]), rest);
    let together: Vec<usize> = others.iter().flat_map(|f| f.places.iter().copied()).collect();
    let groups = own.iter().map(|f| (name(f), 0, &f.places));
    let groups = groups.chain(rest.map(|_| (String::new(), others.len() as u64, &together)));
    let curve = |((name, others, places), times): ((String, u64, &Vec<usize>), Times)| Curve {
        name,
        others,
        times: Distribution::of(times.into_iter().map(|(ns, _)| ns).collect(), 0),
        stages: sums
            .waits
            .iter()
            .map(|(stage, of)| StageNs {
                stage,
                ns: sum(of, places),
            })
            .filter(|stage| stage.ns != 0)
            .collect(),
    };
    groups.zip(times).map(curve).collect()
}

/// The wait with most of the time of some places, the first on the path of equals; and its share of `whole`.
fn top(sums: &Sums, places: &[usize], whole: i64) -> Option<(&'static str, f64)> {
    let waits = sums.waits.iter().map(|(stage, of)| (*stage, sum(of, places)));
    let (stage, ns) = waits.reduce(|best, s| if s.1 > best.1 { s } else { best })?;
    (ns > 0 && whole > 0).then(|| (stage, ns as f64 / whole as f64))
}
