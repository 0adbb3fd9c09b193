//! Many questions at once: Holm's step-down adjustment (Scandinavian Journal of Statistics 6, 1979). The chance of any false
//! alarm in the whole family stays at or below the level, however the tests depend on each other.

/// Adjusted p values, in the order given: a test is significant when its adjusted value is at or below the level.
pub fn holm(p: &[f64]) -> Vec<f64> {
    weighted_holm(&p.iter().map(|p| (*p, 1.0)).collect::<Vec<_>>())
}

/// The same of p values with weights above 0, which must not depend on the values: a test has of the level what its weight is of those of all tests not called before it (ibid., section 4).
pub fn weighted_holm(p: &[(f64, f64)]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    let at = |i: &usize| p.get(*i).map_or(1.0, |(p, weight)| p / weight);
    order.sort_by(|a, b| at(a).total_cmp(&at(b)).then(a.cmp(b)));
    let mut out = vec![1.0; p.len()];
    let mut left: f64 = p.iter().map(|p| p.1).sum();
    let mut least = 0.0f64;
    for i in &order {
        least = least.max(at(i) * left).min(1.0);
        left -= p.get(*i).map_or(0.0, |p| p.1);
        if let Some(slot) = out.get_mut(*i) {
            *slot = least;
        }
    }
    out
}
