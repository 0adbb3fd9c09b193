//! Two ratios compared when the units come in clusters: packets of one burst are not independent, blocks of time nearly are.
//!
//! A ratio is sum(y) / sum(n) over clusters: a share of units above a value, events per packet, time per time. Its variance
//! comes from how the clusters differ (ratio estimator by linearisation: Cochran, Sampling Techniques, 3rd ed., 6.3), two of
//! them are compared by Welch's t (Biometrika 34, 1947). Where clusters are recordings of any length, the ratio is the mean of theirs: of the sums, one that has nearly
//! all of a side would vary from itself by nothing. No variance smaller than that of independent units is believed:
//! few clusters that happen to agree prove nothing.

use super::special::t_two_sided;

/// One cluster: numerator and denominator.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cluster {
    /// What is counted or summed.
    pub y: f64,
    /// Out of how much.
    pub n: f64,
}

/// A ratio with its variance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// sum(y) / sum(n); of [`Ratio::of_means`] the mean of y / n.
    pub value: f64,
    /// Estimated variance of `value`.
    pub variance: f64,
    /// Clusters with a denominator.
    pub clusters: usize,
    /// sum(n).
    pub n: f64,
    /// sum(y).
    pub y: f64,
    /// So many independent units would vary as little by chance: n, where clusters count by their size.
    pub units: f64,
}

impl Ratio {
    /// Of clusters; those without a denominator say nothing. `None` with fewer than two, or nothing in them.
    pub fn of(clusters: &[Cluster]) -> Option<Ratio> {
        let used = || clusters.iter().filter(|c| c.n > 0.0);
        let (k, y, n) = used().fold((0usize, 0.0, 0.0), |(k, y, n), c| (k + 1, y + c.y, n + c.n));
        if k < 2 || n <= 0.0 {
            return None;
        }
        let value = y / n;
        let squares: f64 = used().map(|c| (c.y - value * c.n).powi(2)).sum();
        let variance = k as f64 / (k as f64 - 1.0) * squares / (n * n);
        Some(Ratio {
            value,
            variance,
            clusters: k,
            n,
            y,
            units: n,
        })
    }
    /// Of clusters that count alike, whatever their size: recordings. As [`Ratio::of`] where they are of one size.
    pub fn of_means(clusters: &[Cluster]) -> Option<Ratio> {
        let used = || clusters.iter().filter(|c| c.n > 0.0);
        let sums = Ratio::of(clusters)?;
        let k = sums.clusters as f64;
        let value = used().map(|c| c.y / c.n).sum::<f64>() / k;
        let squares: f64 = used().map(|c| (c.y / c.n - value).powi(2)).sum();
        Some(Ratio {
            value,
            variance: squares / (k * (k - 1.0)),
            units: k * k / used().map(|c| 1.0 / c.n).sum::<f64>(),
            ..sums
        })
    }
}

/// What independent units would give as variance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Floor {
    /// y counts units out of n: binomial.
    Share,
    /// y counts events, n is exposure: Poisson.
    Events,
    /// Neither: sums of time.
    None,
}

/// Two ratios compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Compared {
    /// After minus before.
    pub difference: f64,
    /// Standard error of it.
    pub error: f64,
    /// Degrees of freedom (Welch and Satterthwaite).
    pub df: f64,
    /// Two-sided probability of such a difference when there is none.
    pub p: f64,
}

/// Compares.
pub fn compare(before: &Ratio, after: &Ratio, floor: Floor) -> Compared {
    let pooled = (before.y + after.y) / (before.n + after.n);
    let independent = match floor {
        Floor::Share => (pooled * (1.0 - pooled)).max(0.0) * (1.0 / before.units + 1.0 / after.units),
        Floor::Events => pooled.max(0.0) * (1.0 / before.units + 1.0 / after.units),
        Floor::None => 0.0,
    };
    let sum = before.variance + after.variance;
    let fewest = before.clusters.min(after.clusters) as f64 - 1.0;
    let of = |r: &Ratio| r.variance * r.variance / (r.clusters as f64 - 1.0);
    let welch = sum * sum / (of(before) + of(after));
    let df = if welch.is_finite() { welch.max(fewest) } else { fewest };
    let difference = after.value - before.value;
    let error = sum.max(independent).sqrt();
    let p = match (difference == 0.0, error > 0.0) {
        (true, _) => 1.0,
        (false, true) => t_two_sided(difference / error, df),
        (false, false) => 0.0,
    };
    Compared {
        difference,
        error,
        df,
        p,
    }
}
