//! Effect size without units: Cliff's delta (Psychological Bulletin 114, 1993), the chance that a value of the one set is
//! larger than one of the other, minus the chance that it is smaller. 0: alike; 1: every `after` is above every `before`.

/// Cliff's delta of two sorted sets; `None` when one is empty.
pub fn cliffs_delta(before: &[i64], after: &[i64]) -> Option<f64> {
    if before.is_empty() || after.is_empty() {
        return None;
    }
    let (mut below, mut at_or_below) = (0usize, 0usize);
    let mut sum = 0.0;
    for a in after {
        while before.get(below).is_some_and(|b| b < a) {
            below += 1;
        }
        while before.get(at_or_below).is_some_and(|b| b <= a) {
            at_or_below += 1;
        }
        let above = before.len() - at_or_below;
        sum += below as f64 - above as f64;
    }
    Some(sum / (before.len() as f64 * after.len() as f64))
}
