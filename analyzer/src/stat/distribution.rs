//! A set of durations, summed up.

/// One histogram bin: `lo_ns <= value < hi_ns`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Bin {
    /// Lower edge, inclusive.
    pub lo_ns: i64,
    /// Upper edge, exclusive.
    pub hi_ns: i64,
    /// Values in it.
    pub count: u64,
}

/// A set of durations, summed up. All `None`/empty when `n` is 0.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Distribution {
    /// Values.
    pub n: u64,
    /// Units that belong here but whose value is unknown (censored or not seen); not in `n`.
    pub unknown: u64,
    /// Sum of the values.
    pub sum_ns: i64,
    /// Smallest.
    pub min_ns: Option<i64>,
    /// Median (nearest rank).
    pub p50_ns: Option<i64>,
    /// 90th percentile (nearest rank).
    pub p90_ns: Option<i64>,
    /// 99th percentile (nearest rank).
    pub p99_ns: Option<i64>,
    /// Largest.
    pub max_ns: Option<i64>,
    /// Four bins an octave (edges 1, 1.25, 1.5, 1.75 times a power of two); values below 1 ns share the first bin.
    pub histogram: Vec<Bin>,
    /// (value, share of values at or below it), at most 129 points, first and last included.
    pub ecdf: Vec<(i64, f64)>,
}

impl Distribution {
    /// Sums up `values`, in any order.
    pub fn of(mut values: Vec<i64>, unknown: u64) -> Distribution {
        super::sort_by_key(&mut values, |v| *v);
        Distribution::of_sorted(&values, unknown)
    }
    /// Sums up values in ascending order.
    pub fn of_sorted(values: &[i64], unknown: u64) -> Distribution {
        let n = values.len();
        if n == 0 {
            return Distribution {
                unknown,
                ..Default::default()
            };
        }
        Distribution {
            n: n as u64,
            unknown,
            sum_ns: values.iter().fold(0, |sum, v| sum.saturating_add(*v)),
            min_ns: values.first().copied(),
            p50_ns: quantile(values, 50),
            p90_ns: quantile(values, 90),
            p99_ns: quantile(values, 99),
            max_ns: values.last().copied(),
            histogram: histogram(values),
            ecdf: ecdf(values),
        }
    }
}

/// Nearest-rank percentile of sorted values.
pub fn quantile(sorted: &[i64], percent: usize) -> Option<i64> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

/// Nearest-rank percentile of values in any order, which are moved about; the same as of a [`Distribution`] of them.
pub fn nearest_rank(values: &mut [i64], percent: usize) -> Option<i64> {
    let rank = (values.len() * percent).div_ceil(100).max(1) - 1;
    (rank < values.len()).then(|| *values.select_nth_unstable(rank).1)
}

/// The bin a value falls in.
fn edges(v: i64) -> (i64, i64) {
    if v < 1 {
        return (i64::MIN, 1);
    }
    if v < 4 {
        return (v, v + 1);
    }
    let octave = 1i64 << (63 - v.leading_zeros());
    let quarter = octave / 4;
    let lo = octave + (v - octave) / quarter * quarter;
    (lo, lo.saturating_add(quarter))
}

fn histogram(sorted: &[i64]) -> Vec<Bin> {
    let mut bins: Vec<Bin> = Vec::new();
    for &v in sorted {
        match bins.last_mut() {
            Some(b) if v < b.hi_ns => b.count += 1,
            _ => {
                let (lo_ns, hi_ns) = edges(v);
                bins.push(Bin { lo_ns, hi_ns, count: 1 });
            }
        }
    }
    bins
}

fn ecdf(sorted: &[i64]) -> Vec<(i64, f64)> {
    let n = sorted.len();
    let steps = n.min(128);
    let mut out: Vec<(i64, f64)> = Vec::with_capacity(steps + 1);
    for k in 0..=steps {
        let i = (k * (n - 1)).checked_div(steps).unwrap_or(0);
        let Some(&v) = sorted.get(i) else { continue };
        let at_or_below = sorted.partition_point(|x| *x <= v);
        let share = at_or_below as f64 / n as f64;
        if out.last().is_none_or(|(last, _)| *last != v) {
            out.push((v, share));
        }
    }
    out
}
