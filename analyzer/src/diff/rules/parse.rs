//! The words of rules: read, or refused with what was meant.

use super::{Least, Named, Rule, names};

/// Names told where one is not known.
const TOLD: usize = 12;

/// Rules of a text; a comma between brackets (`app.qdisc[eth0, 10.0.0.7:80]`) is part of a name.
pub(super) fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0usize;
    let all = text.split(move |c: char| {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    all.map(str::trim).filter(|r| !r.is_empty())
}

pub(super) fn rule(text: &str) -> Result<Rule, String> {
    match text {
        "worse" => return Ok(Rule::Worse),
        "changed" => return Ok(Rule::Changed),
        "incomparable" => return Ok(Rule::Incomparable),
        _ => {}
    }
    let (name, least) = match text.split_once('>') {
        Some((name, size)) => (name.trim(), Some(least(size.trim(), text)?)),
        None => (text, None),
    };
    let (metric, percent) = percentile(name, text)?;
    let base = metric.split('[').next().unwrap_or("");
    let closed = base.len() == metric.len() || metric.ends_with(']');
    if !closed || !names::is_known(base) {
        return Err(unknown(text, metric, base));
    }
    // Events and shares have no percentiles, and no time.
    if names::is_rate(base) && (percent.is_some() || matches!(least, Some(Least::Ns(_)))) {
        return Err(format!(
            "the rule {text:?}: {base} is a rate, which has no percentile and no time; for example {base} or {base}>20%"
        ));
    }
    Ok(Rule::Of(Named {
        text: text.to_owned(),
        metric: metric.to_owned(),
        percent,
        least,
    }))
}

/// A name and the percentile at its end.
fn percentile<'t>(name: &'t str, rule: &str) -> Result<(&'t str, Option<u64>), String> {
    let Some((metric, p)) = name.rsplit_once(".p") else {
        return Ok((name, None));
    };
    match p {
        "50" => Ok((metric, Some(50))),
        "90" => Ok((metric, Some(90))),
        "99" => Ok((metric, Some(99))),
        _ if p.bytes().all(|c| c.is_ascii_digit() || c == b'.') => Err(format!(
            "the rule {rule:?} asks for p{p}; compared are p50, p90 and p99"
        )),
        _ => Ok((name, None)),
    }
}

/// A name that no metric has, and those that are most like it.
fn unknown(rule: &str, metric: &str, base: &str) -> String {
    let first = base.split('.').next().unwrap_or("");
    let of_ledger = names::FIRST.contains(&first);
    let mut all = names::all();
    if of_ledger {
        all.retain(|n| n.split('.').next() == Some(first));
    }
    all.sort_by_cached_key(|n| (names::distance(n, base), n.clone()));
    let more = match all.len().saturating_sub(TOLD) {
        n @ 1.. if of_ledger => format!(" and {n} more"),
        _ => String::new(),
    };
    all.truncate(TOLD);
    let list = all.join(", ");
    match of_ledger {
        true => format!(
            "the rule {rule:?} names no metric: there is no {metric}; of {first} there are, the nearest first: {list}{more}"
        ),
        false => format!(
            "the rule {rule:?} names no metric: metrics begin with {}; or use worse, changed, incomparable; the nearest names: {list}",
            names::FIRST.join(", ")
        ),
    }
}

fn least(size: &str, rule: &str) -> Result<Least, String> {
    let bad = || format!("the rule {rule:?} has no size after '>': 10%, 50us, 2ms, 1s or 800ns");
    let units = [
        ("%", 0.0),
        ("ns", 1.0),
        ("us", 1e3),
        ("µs", 1e3),
        ("ms", 1e6),
        ("s", 1e9),
    ];
    let (number, unit) = units
        .iter()
        .find_map(|(u, f)| Some((size.strip_suffix(u)?, f)))
        .ok_or_else(bad)?;
    let number: f64 = number.trim().parse().map_err(|_| bad())?;
    if !number.is_finite() || number < 0.0 {
        return Err(bad());
    }
    Ok(match *unit {
        0.0 => Least::Relative(number / 100.0),
        f => Least::Ns((number * f) as i64),
    })
}
