//! Rank test of two small samples (Wilcoxon, Biometrics Bull. 1, 1945; Mann and Whitney, Ann. Math. Stat. 18, 1947), exact: all
//! ways to choose which of the values are those after are counted, alike values with their mean rank.

/// Most values of both sides together: beyond it counting takes long, and nobody calls them few.
const MOST: usize = 80;

/// Two-sided probability that the sum of ranks after is as far from its mean as here, if it is chance which values are whose;
/// `None`: a side is empty, or there are too many values.
pub fn rank_test(before: &[i64], after: &[i64]) -> Option<f64> {
    let (n, chosen) = (before.len() + after.len(), after.len());
    if before.is_empty() || after.is_empty() || n > MOST {
        return None;
    }
    let mut all: Vec<(i64, bool)> = before.iter().map(|v| (*v, false)).collect();
    all.extend(after.iter().map(|v| (*v, true)));
    all.sort_unstable();
    // Twice the mean rank, so that it is whole.
    let (mut ranks, mut seen, mut below) = (vec![], 0usize, 0usize);
    for alike in all.chunk_by(|x, y| x.0 == y.0) {
        let rank = 2 * below + alike.len() + 1;
        seen += rank * alike.iter().filter(|v| v.1).count();
        ranks.extend(alike.iter().map(|_| rank));
        below += alike.len();
    }
    // ways[k][s]: choices of k of the ranks so far whose sum is s.
    let most: usize = ranks.iter().sum();
    let mut ways = vec![vec![0.0f64; most + 1]; chosen + 1];
    if let Some(none) = ways.first_mut().and_then(|w| w.first_mut()) {
        *none = 1.0;
    }
    for rank in ranks {
        for k in (1..=chosen).rev() {
            let (fewer, with) = ways.split_at_mut(k);
            if let (Some(from), Some(to)) = (fewer.last(), with.first_mut()) {
                for (slot, more) in to.iter_mut().skip(rank).zip(from) {
                    *slot += more;
                }
            }
        }
    }
    let mean = chosen * (n + 1);
    let (mut far, mut whole) = (0.0, 0.0);
    for (sum, ways) in ways.last()?.iter().enumerate() {
        whole += ways;
        if sum.abs_diff(mean) >= seen.abs_diff(mean) {
            far += ways;
        }
    }
    Some(far / whole)
}
