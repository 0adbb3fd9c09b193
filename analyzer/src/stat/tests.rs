use super::*;

/// Independent oracle: counts by definition, no ranks.
fn quantile_by_counting(values: &[i64], percent: u64) -> i64 {
    let mut v = values.to_vec();
    v.sort();
    let need = values.len() as u64 * percent;
    *v.iter()
        .find(|x| values.iter().filter(|y| y <= x).count() as u64 * 100 >= need)
        .unwrap()
}

fn pseudo(n: usize) -> Vec<i64> {
    let mut s = 88172645463325252u64;
    (0..n)
        .map(|_| {
            s ^= s << 13;
            s ^= s >> 7;
            s ^= s << 17;
            (s >> (s % 40 + 20)) as i64 - 3
        })
        .collect()
}

#[test]
fn quantiles_equal_their_definition() {
    for n in [1, 2, 3, 10, 99, 100, 101, 1000] {
        let v = pseudo(n);
        let d = Distribution::of(v.clone(), 0);
        for (p, got) in [(50, d.p50_ns), (90, d.p90_ns), (99, d.p99_ns)] {
            assert_eq!(got, Some(quantile_by_counting(&v, p)), "n {n} p {p}");
        }
        assert_eq!((d.min_ns, d.max_ns), (v.iter().min().copied(), v.iter().max().copied()));
    }
}

#[test]
fn every_value_is_in_one_bin_and_bins_do_not_overlap() {
    let v = pseudo(5000);
    let d = Distribution::of(v.clone(), 7);
    assert_eq!(d.histogram.iter().map(|b| b.count).sum::<u64>(), v.len() as u64);
    assert!(d.histogram.windows(2).all(|w| w[0].hi_ns <= w[1].lo_ns));
    for b in &d.histogram {
        assert_eq!(
            v.iter().filter(|x| (b.lo_ns..b.hi_ns).contains(*x)).count() as u64,
            b.count
        );
    }
    assert_eq!(d.unknown, 7);
}

#[test]
fn ecdf_points_are_true_shares_and_end_at_one() {
    let v = pseudo(3000);
    let d = Distribution::of(v.clone(), 0);
    for (x, share) in &d.ecdf {
        assert_eq!(v.iter().filter(|y| *y <= x).count() as f64 / v.len() as f64, *share);
    }
    assert_eq!(d.ecdf.last().unwrap().1, 1.0);
    assert!(d.ecdf.len() <= 129);
}

#[test]
fn nothing_is_unknown_not_zero() {
    let d = Distribution::of(vec![], 3);
    assert_eq!((d.n, d.unknown, d.p50_ns, d.max_ns), (0, 3, None, None));
}
