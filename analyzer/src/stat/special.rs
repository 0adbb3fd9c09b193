//! Tail probabilities of Student's t and the normal distribution, from their definitions in the NIST Digital Library of
//! Mathematical Functions (DLMF): the incomplete beta function by its continued fraction (8.17.22, evaluated by Lentz's
//! method), ln gamma by Stirling's series (5.11.1) after shifting the argument up (5.5.1).

/// Natural logarithm of the gamma function, for `x > 0`.
fn ln_gamma(x: f64) -> f64 {
    // Stirling's series is exact to 1e-15 from about 10 on; gamma(x) = gamma(x + 1) / x below.
    let (mut x, mut shift) = (x, 0.0);
    while x < 12.0 {
        shift -= x.ln();
        x += 1.0;
    }
    let r = 1.0 / (x * x);
    let series = (1.0 / 12.0 - r * (1.0 / 360.0 - r * (1.0 / 1260.0 - r / 1680.0))) / x;
    shift + (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series
}

/// The regularised incomplete beta function I_x(a, b).
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The fraction converges fast below this point; above it the symmetry 8.17.4 is used.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a);
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (1.0 - x).ln()).exp() / a;
    const TINY: f64 = 1e-300;
    let (mut c, mut d) = (1.0, 0.0);
    let mut f = 1.0;
    for step in 0..400u32 {
        let m = f64::from(step / 2);
        let numerator = match step {
            0 => 1.0,
            s if s % 2 == 0 => m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
            _ => -((a + m) * (a + b + m) * x) / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
        };
        d = 1.0 + numerator * d;
        d = 1.0 / if d.abs() < TINY { TINY } else { d };
        c = 1.0 + numerator / c;
        c = if c.abs() < TINY { TINY } else { c };
        f *= c * d;
        if step > 0 && (1.0 - c * d).abs() < 1e-14 {
            break;
        }
    }
    // f is 1 + 1/(1 + ...): the first numerator is 1.
    (front * (f - 1.0)).clamp(0.0, 1.0)
}

/// Probability that |t| is at least this large with `df` degrees of freedom (DLMF 8.17; df may be fractional).
pub fn t_two_sided(t: f64, df: f64) -> f64 {
    if !t.is_finite() {
        return if t.is_nan() { 1.0 } else { 0.0 };
    }
    if !df.is_finite() || df <= 0.0 {
        return 1.0;
    }
    incomplete_beta(df / (df + t * t), df / 2.0, 0.5)
}

/// The t above which |t| lies with probability `p`; by bisection.
pub fn t_quantile_two_sided(p: f64, df: f64) -> f64 {
    let (mut lo, mut hi) = (0.0, 1.0);
    while t_two_sided(hi, df) > p && hi < 1e9 {
        hi *= 2.0;
    }
    for _ in 0..80 {
        let mid = (lo + hi) / 2.0;
        if t_two_sided(mid, df) > p {
            lo = mid;
        } else {
            hi = mid;
        }
    }
    hi
}
