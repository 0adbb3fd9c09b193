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

/// Table values of Student's t, two-sided (any book of statistics).
#[test]
fn t_tails_are_those_of_the_tables() {
    for (t, df, p) in [
        (1.0, 1.0, 0.5),
        (12.706_205, 1.0, 0.05),
        (2.228_139, 10.0, 0.05),
        (3.169_273, 10.0, 0.01),
        (2.042_272, 30.0, 0.05),
        (4.586_894, 10.0, 0.001),
        (1.959_964, 1e7, 0.05),
    ] {
        assert!(
            (t_two_sided(t, df) - p).abs() < 2e-6,
            "t {t} df {df}: {}",
            t_two_sided(t, df)
        );
        assert!((t_quantile_two_sided(p, df) - t).abs() < 1e-4, "p {p} df {df}");
    }
    assert_eq!(t_two_sided(0.0, 5.0), 1.0);
    assert_eq!(t_two_sided(f64::NAN, 5.0), 1.0);
    assert_eq!(t_two_sided(f64::INFINITY, 5.0), 0.0);
}

#[test]
fn holm_as_in_a_worked_example() {
    // p sorted .01 .02 .03 .04: times 4, 3, 2, 1, never falling.
    let near = |a: Vec<f64>, b: &[f64]| assert!(a.iter().zip(b).all(|(x, y)| (x - y).abs() < 1e-12), "{a:?}");
    near(holm(&[0.01, 0.04, 0.03, 0.02]), &[0.04, 0.06, 0.06, 0.06]);
    near(holm(&[0.5, 0.9]), &[1.0, 1.0]);
    assert!(holm(&[]).is_empty());
    // What has twice the weight has twice the level; of one weight they are as without.
    near(
        weighted_holm(&[(0.01, 2.0), (0.04, 1.0), (0.5, 1.0)]),
        &[0.02, 0.08, 0.5],
    );
    near(
        weighted_holm(&[(0.01, 3.0), (0.04, 3.0), (0.03, 3.0), (0.02, 3.0)]),
        &[0.04, 0.06, 0.06, 0.06],
    );
}

#[test]
fn cliffs_delta_equals_its_definition() {
    let (a, b) = (pseudo(60), pseudo(97).into_iter().map(|v| v / 2).collect::<Vec<_>>());
    let mut sum = 0i64;
    for y in &b {
        for x in &a {
            sum += i64::from(y > x) - i64::from(y < x);
        }
    }
    let (mut sa, mut sb) = (a.clone(), b.clone());
    sa.sort();
    sb.sort();
    let want = sum as f64 / (a.len() * b.len()) as f64;
    assert!((cliffs_delta(&sa, &sb).unwrap() - want).abs() < 1e-12);
    assert_eq!(cliffs_delta(&[1, 2], &[3, 4]), Some(1.0));
    assert_eq!(cliffs_delta(&[], &[3]), None);
}

/// A series in which neighbours are alike: a level that holds for a while, and a little noise.
fn bursts(random: &mut SplitMix64, n: usize, length: usize, level: i64) -> Vec<At> {
    let mut of = 0;
    (0..n)
        .map(|i| {
            if i % length == 0 {
                of = random.below(1000) as i64;
            }
            At {
                time_ns: i as i64 * 1000,
                value: level + of + random.below(50) as i64,
            }
        })
        .collect()
}

fn clusters(values: &[At], limit: i64, blocks: usize) -> Vec<Cluster> {
    let mut out = vec![Cluster::default(); blocks];
    let to = values.last().unwrap().time_ns;
    for v in values {
        let c = &mut out[block_of(v.time_ns, 0, to, blocks)];
        c.n += 1.0;
        c.y += f64::from(u8::from(v.value > limit));
    }
    out
}

/// Bursts of 100 alike packets, 400 trials without a difference: by blocks of 200 the test says so in 5 of 100, by packets as
/// if independent it is wrong nearly always. This is why packets are never resampled one by one.
#[test]
fn blocks_keep_the_level_where_independence_does_not() {
    let mut random = SplitMix64::seeded([1]);
    let (mut by_blocks, mut by_packets) = (0, 0);
    for _ in 0..400 {
        let (a, b) = (bursts(&mut random, 4000, 100, 0), bursts(&mut random, 4000, 100, 0));
        let p = |blocks: usize| {
            let of = |v: &[At]| Ratio::of(&clusters(v, 520, blocks)).unwrap();
            compare(&of(&a), &of(&b), Floor::Share).p
        };
        by_blocks += u32::from(p(20) <= 0.05);
        by_packets += u32::from(p(4000) <= 0.05);
    }
    assert!((8..=36).contains(&by_blocks), "{by_blocks} of 400");
    assert!(by_packets > 250, "{by_packets} of 400");
}

/// The interval by resampled blocks covers the true median in about 95 of 100 trials.
#[test]
fn block_bootstrap_intervals_cover() {
    let mut random = SplitMix64::seeded([2]);
    let mut covered = 0;
    for _ in 0..200 {
        let (blocked, sorted) = Blocked::new(&[bursts(&mut random, 4000, 100, 0)], 20);
        assert_eq!((blocked.blocks(), sorted.len()), (20, 4000));
        let mut drawn: Vec<i64> = (0..200).map(|_| blocked.draw(&mut random, [50])[0]).collect();
        drawn.sort();
        // Level uniform in 0..1000, noise in 0..50: the median is 524.
        covered += u32::from(drawn[5] <= 524 && 524 <= drawn[194]);
    }
    assert!((175..=199).contains(&covered), "{covered} of 200");
}

#[test]
fn a_draw_of_all_blocks_is_within_the_values_and_repeats() {
    let values = bursts(&mut SplitMix64::seeded([3]), 5000, 50, 7);
    let (blocked, sorted) = Blocked::new(&[values], 10);
    let of = |seed| blocked.draw(&mut SplitMix64::seeded([seed]), [50, 90, 99]);
    assert_eq!(of(9), of(9));
    assert_ne!(of(9), of(10));
    let d = of(9);
    assert!(d[0] <= d[1] && d[1] <= d[2] && d[0] >= sorted[0] && d[2] <= *sorted.last().unwrap());
}

#[test]
fn few_events_are_judged_as_poisson() {
    let side = |events: &[usize]| {
        let mut c = vec![Cluster { y: 0.0, n: 100.0 }; 20];
        for e in events {
            c[*e].y += 1.0;
        }
        Ratio::of(&c).unwrap()
    };
    // 3 against 0 is nothing (exact: 1 in 4); 12 against 0 is (exact: 1 in 2048).
    assert!(compare(&side(&[]), &side(&[1, 7, 13]), Floor::Events).p > 0.05);
    let many: Vec<usize> = (0..12).collect();
    assert!(compare(&side(&[]), &side(&many), Floor::Events).p < 0.003);
    // The same twelve in one burst are one happening.
    assert!(compare(&side(&[]), &side(&[4; 12]), Floor::Events).p > 0.05);
    assert!(Ratio::of(&[Cluster { y: 1.0, n: 1.0 }]).is_none());
}

/// By digits as by comparing, and what has the same key keeps its order; keys from one digit to all 64 bits.
#[test]
fn digits_sort_as_comparing_does() {
    for bits in [1, 8, 11, 12, 30, 44, 45, 64] {
        for n in [0, 1, 2, 1023, 1024, 5000] {
            let mut random = SplitMix64::seeded([bits]);
            let key = |r: u64| ((r >> (64 - bits)) as i64).wrapping_sub(1000);
            let pairs: Vec<(i64, usize)> = (0..n).map(|i| (key(random.next()), i)).collect();
            let (mut by_digits, mut compared) = (pairs.clone(), pairs);
            sort_by_key(&mut by_digits, |p| p.0);
            compared.sort_by_key(|p| p.0);
            assert_eq!(by_digits, compared, "{bits} bits, {n} values");
        }
    }
    let mut ends = [i64::MAX, 0, i64::MIN].repeat(500);
    sort_by_key(&mut ends, |v| *v);
    assert!(ends.is_sorted());
}

#[test]
fn nearest_rank_is_the_quantile_of_a_distribution() {
    assert_eq!(nearest_rank(&mut [], 50), None);
    for n in [1, 2, 10, 99, 100, 101, 1000] {
        let v = pseudo(n);
        for percent in [50, 99, 100] {
            let expected = quantile_by_counting(&v, percent as u64);
            assert_eq!(
                nearest_rank(&mut v.clone(), percent),
                Some(expected),
                "n {n} p {percent}"
            );
        }
    }
}

fn blocks_of(events: &[u32]) -> Vec<Cluster> {
    let one = |y: &u32| Cluster {
        y: f64::from(*y),
        n: 100.0,
    };
    events.iter().map(one).collect()
}

/// Against counts made by hand: of the divisions of ten and ten blocks, one and its mirror have all events on one side.
#[test]
fn divisions_of_blocks_are_counted_exactly() {
    let p = |before: &[u32], after: &[u32]| permuted(&blocks_of(before), &blocks_of(after)).unwrap();
    let all = 184_756.0;
    assert_eq!(p(&[0; 10], &[4; 10]), 2.0 / all);
    // Nine blocks with events: the tenth is any of the eleven without.
    assert_eq!(p(&[0; 10], &[4, 4, 4, 4, 4, 4, 4, 4, 4, 0]), 22.0 / all);
    // One burst is in one block, whosever it is.
    assert_eq!(p(&[0; 10], &[0, 0, 50, 0, 0, 0, 0, 0, 0, 0]), 1.0);
    assert_eq!(p(&[3; 10], &[3; 10]), 1.0);
    assert!(permuted(&blocks_of(&[0; 11]), &blocks_of(&[1; 10])).is_none());
    assert!(permuted(&[], &blocks_of(&[1; 10])).is_none());
}

/// Sides that are alike, in bursts or not: at most 5 in 100 have a p of 0.05 or less.
#[test]
fn alike_sides_differ_no_oftener_than_stated() {
    let mut random = SplitMix64::seeded([11]);
    for burst in [1u32, 6] {
        let mut side = || -> Vec<u32> {
            let happening = |r: usize| if r < 3 { burst } else { 0 };
            (0..8)
                .map(|_| (0..5).map(|_| happening(random.below(10))).sum())
                .collect()
        };
        let small = (0..400)
            .filter(|_| permuted(&blocks_of(&side()), &blocks_of(&side())).unwrap() <= 0.05)
            .count();
        // 20 are expected; three standard deviations more are 33.
        assert!(small <= 33, "{small} of 400 at bursts of {burst}");
    }
}

/// Independent oracle: every choice of the values after, one by one.
fn rank_p_by_trying(before: &[i64], after: &[i64]) -> f64 {
    let all = [before, after].concat();
    let sum = |of: &dyn Fn(usize) -> bool| -> i64 {
        let rank = |v: i64| all.iter().map(|o| (*o < v) as i64 * 2 + (*o == v) as i64).sum::<i64>();
        (0..all.len()).filter(|i| of(*i)).map(|i| rank(all[i])).sum()
    };
    let seen = sum(&|i| i >= before.len());
    let sums: Vec<i64> = (0u32..1 << all.len())
        .filter(|set| set.count_ones() as usize == after.len())
        .map(|set| sum(&|i| set >> i & 1 == 1))
        .collect();
    let mean = sums.iter().sum::<i64>() as f64 / sums.len() as f64;
    let far = |s: i64| (s as f64 - mean).abs();
    sums.iter().filter(|s| far(**s) >= far(seen) - 1e-9).count() as f64 / sums.len() as f64
}

#[test]
fn the_rank_test_counts_all_divisions() {
    let close = |p: Option<f64>, want: f64| assert!((p.unwrap() - want).abs() < 1e-12, "{p:?} {want}");
    // Five against five: apart 2 of 252 divisions are as far, with one pair the other way round 4.
    close(rank_test(&[1, 2, 3, 4, 5], &[6, 7, 8, 9, 10]), 2.0 / 252.0);
    close(rank_test(&[1, 2, 3, 4, 6], &[5, 7, 8, 9, 10]), 4.0 / 252.0);
    close(rank_test(&[6, 7, 8, 9, 10], &[1, 2, 3, 4, 5]), 2.0 / 252.0);
    close(rank_test(&[3, 3], &[3, 3, 3]), 1.0);
    let v = pseudo(200);
    for (n, m, modulus) in [(3, 4, 1000), (5, 6, 7), (2, 9, 4), (7, 7, 3), (1, 12, 100)] {
        let small: Vec<i64> = v.iter().map(|x| x.rem_euclid(modulus)).collect();
        let (b, a) = (&small[..n], &small[n..n + m]);
        close(rank_test(b, a), rank_p_by_trying(b, a));
    }
    assert_eq!((rank_test(&[], &[1]), rank_test(&v, &v)), (None, None));
    // As many as are ever few on one side.
    assert!(rank_test(&v[..45], &v[45..67]).is_some_and(|p| p > 0.0 && p <= 1.0));
}

/// A normal number, by twelve uniform ones.
fn normal(random: &mut SplitMix64) -> f64 {
    (0..12).map(|_| random.below(1_000_001) as f64 / 1e6).sum::<f64>() - 6.0
}

/// Groups of three recordings that vary alike on both sides, one of them thirty times as long: the ratio of sums calls a difference in most trials, the mean of the
/// recordings' ratios in five of a hundred. Twice as much is found by either where they are of one length, and is the same then.
#[test]
fn one_long_recording_makes_no_difference_of_groups() {
    let mut random = SplitMix64::seeded([5]);
    let mut side = |longest: f64, level: f64| -> Vec<Cluster> {
        [longest, 1.0, 1.0]
            .map(|times| {
                let (n, share) = (1000.0 * times, level + 0.02 * normal(&mut random));
                Cluster {
                    y: n * share.max(0.0),
                    n,
                }
            })
            .to_vec()
    };
    let p = |of: fn(&[Cluster]) -> Option<Ratio>, b: &[Cluster], a: &[Cluster]| {
        compare(&of(b).unwrap(), &of(a).unwrap(), Floor::Share).p
    };
    let (mut by_sums, mut by_means, mut found) = (0, 0, 0);
    for _ in 0..400 {
        let (b, a) = (side(30.0, 0.2), side(30.0, 0.2));
        by_sums += u32::from(p(Ratio::of, &b, &a) <= 0.05);
        by_means += u32::from(p(Ratio::of_means, &b, &a) <= 0.05);
        let (b, a) = (side(1.0, 0.2), side(1.0, 0.4));
        assert!((p(Ratio::of, &b, &a) - p(Ratio::of_means, &b, &a)).abs() < 1e-9);
        found += u32::from(p(Ratio::of_means, &b, &a) <= 0.05);
    }
    assert!(by_sums > 200, "{by_sums} of 400");
    assert!(by_means <= 33, "{by_means} of 400");
    assert!(found > 380, "{found} of 400");
}
