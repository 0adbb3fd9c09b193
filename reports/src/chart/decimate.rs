//! Points that fall on one pixel column become at most four: the first, the lowest, the highest and the last. The picture is the same.

/// Points (already in pixels, x ascending) with at most four per column of width `1 / per_pixel`.
pub fn decimate(points: &[(f64, f64)], per_pixel: f64) -> Vec<(f64, f64)> {
    let mut out: Vec<(f64, f64)> = Vec::with_capacity(points.len().min(8_192));
    let column_of = |x: f64| (x * per_pixel).floor() as i64;
    let mut rest = points;
    while let Some(first) = rest.first() {
        let column = column_of(first.0);
        let end = rest
            .iter()
            .position(|point| column_of(point.0) != column)
            .unwrap_or(rest.len());
        let (here, after) = rest.split_at(end);
        rest = after;
        if here.len() <= 4 {
            out.extend_from_slice(here);
            continue;
        }
        let lowest = (0..here.len())
            .min_by(|a, b| y(here, *a).total_cmp(&y(here, *b)))
            .unwrap_or(0);
        let highest = (0..here.len())
            .max_by(|a, b| y(here, *a).total_cmp(&y(here, *b)))
            .unwrap_or(0);
        let mut kept = [0, lowest, highest, here.len() - 1];
        kept.sort_unstable();
        let mut previous = None;
        for at in kept {
            if previous != Some(at) {
                out.extend(here.get(at));
            }
            previous = Some(at);
        }
    }
    out
}

fn y(points: &[(f64, f64)], at: usize) -> f64 {
    points.get(at).map_or(0.0, |point| point.1)
}
