//! Many questions at once: Holm's step-down adjustment (Scandinavian Journal of Statistics 6, 1979). The chance of any false
//! alarm in the whole family stays at or below the level, however the tests depend on each other.

/// Adjusted p values, in the order given: a test is significant when its adjusted value is at or below the level.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    let at = |i: &usize| p.get(*i).copied().unwrap_or(1.0);
    order.sort_by(|a, b| at(a).total_cmp(&at(b)).then(a.cmp(b)));
    let mut out = vec![1.0; p.len()];
    let mut least = 0.0f64;
    for (rank, i) in order.iter().enumerate() {
        least = least.max(at(i) * (p.len() - rank) as f64).min(1.0);
        if let Some(slot) = out.get_mut(*i) {
            *slot = least;
        }
    }
    out
}
