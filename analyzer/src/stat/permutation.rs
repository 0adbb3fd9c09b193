//! Two ratios of events compared without a distribution: if both sides are alike, it is chance which blocks of time are whose
//! (Fisher 1935; Pitman, Suppl. J. R. Stat. Soc. 4, 1937). All divisions of the blocks are tried, so the answer is exact, of few
//! blocks too; events that come in one burst are in one block, and prove nothing.

use super::ratio::Cluster;

/// Most blocks of both sides together: 184,756 divisions of 20 by 10.
const MOST: usize = 20;

struct Sums {
    y: f64,
    n: f64,
    all: Cluster,
}

impl Sums {
    /// Ratio of what was chosen minus that of the rest.
    fn difference(&self) -> f64 {
        let ratio = |y: f64, n: f64| if n > 0.0 { y / n } else { 0.0 };
        ratio(self.y, self.n) - ratio(self.all.y - self.y, self.all.n - self.n)
    }
}

/// Two-sided probability of a difference of the two ratios as large as this, if both sides are alike; `None`: too many blocks, or
/// none on a side.
pub fn permuted(before: &[Cluster], after: &[Cluster]) -> Option<f64> {
    let used = |side: &[Cluster]| -> Vec<Cluster> { side.iter().copied().filter(|c| c.n > 0.0).collect() };
    let (before, after) = (used(before), used(after));
    if before.is_empty() || after.is_empty() || before.len() + after.len() > MOST {
        return None;
    }
    let blocks = [after.as_slice(), before.as_slice()].concat();
    let mut sums = Sums {
        y: 0.0,
        n: 0.0,
        all: Cluster::default(),
    };
    for c in &blocks {
        (sums.all.y, sums.all.n) = (sums.all.y + c.y, sums.all.n + c.n);
    }
    for c in &after {
        (sums.y, sums.n) = (sums.y + c.y, sums.n + c.n);
    }
    let seen = sums.difference().abs();
    // Sums in another order differ by rounding.
    let least = seen - seen * 1e-9;
    (sums.y, sums.n) = (0.0, 0.0);
    let (mut divisions, mut as_large) = (0u64, 0u64);
    divide(&blocks, after.len(), &mut sums, &mut |difference| {
        divisions += 1;
        as_large += u64::from(difference.abs() >= least);
    });
    Some(as_large as f64 / divisions as f64)
}

/// Every way to choose so many of the blocks.
fn divide(blocks: &[Cluster], choose: usize, sums: &mut Sums, each: &mut impl FnMut(f64)) {
    if choose == 0 {
        return each(sums.difference());
    }
    let Some((first, rest)) = blocks.split_first().filter(|_| blocks.len() >= choose) else {
        return;
    };
    let (y, n) = (sums.y, sums.n);
    (sums.y, sums.n) = (y + first.y, n + first.n);
    divide(rest, choose - 1, sums, each);
    (sums.y, sums.n) = (y, n);
    divide(rest, choose, sums, each);
}
