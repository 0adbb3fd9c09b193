//! `--fail-on`: what a build should fail for, as words.
//!
//! ```text
//! RULES = RULE {, RULE}       RULE = worse | changed | incomparable | METRIC[.pNN][>N%|>TIME]
//! worse                any metric is worse (the default)
//! changed              anything differs, for better or worse
//! incomparable         the two sides cannot be compared
//! rx.total             this metric is worse (`rx`: all of the receive ledger; `drops`: any reason)
//! rx.p99>10%           p99 of a metric of the ledger is worse, and by more than this
//! tx.qdisc.p50>200us   in time
//! ```
//! A size in a rule stands in for the practical threshold. A rule never makes a change out of noise: what is not significant
//! fails nothing.

use super::{Diff, Kind, Metric, Outcome, Rate};

/// Parsed rules.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules(Vec<Rule>);

#[derive(Debug, Clone, PartialEq)]
enum Rule {
    Worse,
    Changed,
    Incomparable,
    Of {
        text: String,
        metric: String,
        percent: Option<u64>,
        least: Option<Least>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Least {
    Relative(f64),
    Ns(i64),
}

/// First parts of metric names: what a rule may begin with.
pub const FIRST: [&str; 10] = [
    "rx", "tx", "tx_udp", "device", "poll", "softirq", "lifetime", "tcp", "drops", "app",
];

impl Default for Rules {
    fn default() -> Self {
        Rules(vec![Rule::Worse])
    }
}

impl std::str::FromStr for Rules {
    type Err = String;
    fn from_str(text: &str) -> Result<Rules, String> {
        let rules = text.split(',').map(str::trim).filter(|r| !r.is_empty());
        let rules: Vec<Rule> = rules.map(rule).collect::<Result<_, _>>()?;
        match rules.is_empty() {
            true => Err("no rule; for example: worse, or rx.p99>10%,drops".into()),
            false => Ok(Rules(rules)),
        }
    }
}

fn rule(text: &str) -> Result<Rule, String> {
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
    let (metric, percent) = match name.rsplit_once(".p") {
        Some((m, p)) => match p {
            "50" => (m, Some(50)),
            "90" => (m, Some(90)),
            "99" => (m, Some(99)),
            _ if p.bytes().all(|c| c.is_ascii_digit()) => {
                return Err(format!(
                    "the rule {text:?} asks for p{p}; compared are p50, p90 and p99"
                ));
            }
            _ => (name, None),
        },
        None => (name, None),
    };
    let first = metric.split('.').next().unwrap_or("");
    if !FIRST.contains(&first) {
        return Err(format!(
            "the rule {text:?} names no metric: metrics begin with {}; or use worse, changed, incomparable",
            FIRST.join(", ")
        ));
    }
    Ok(Rule::Of {
        text: text.to_owned(),
        metric: metric.to_owned(),
        percent,
        least,
    })
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

impl Rules {
    /// What fails, a line for each rule that is met; empty: nothing.
    pub fn broken(&self, diff: &Diff) -> Vec<String> {
        self.0.iter().filter_map(|r| broken(r, diff)).collect()
    }
}

fn broken(rule: &Rule, diff: &Diff) -> Option<String> {
    let outcome = diff.verdict.outcome;
    match rule {
        Rule::Worse => (outcome == Outcome::Worse).then(|| "worse".to_owned()),
        Rule::Changed => {
            let any = matches!(outcome, Outcome::Worse | Outcome::Better | Outcome::Changed);
            any.then(|| "changed".to_owned())
        }
        Rule::Incomparable => (outcome == Outcome::NotComparable).then(|| "incomparable".to_owned()),
        Rule::Of {
            text,
            metric,
            percent,
            least,
        } => {
            let of_metric = diff.metrics.iter().filter(|m| named(&m.metric, metric));
            let worse = of_metric.filter(|m| is_worse(m, *percent, *least)).map(|m| &m.metric);
            let of_rate = diff
                .rates
                .iter()
                .filter(|r| named(&r.metric, metric) && percent.is_none());
            let rates = of_rate.filter(|r| rate_is_worse(r, *least)).map(|r| &r.metric);
            let names: Vec<&str> = worse.chain(rates).map(String::as_str).collect();
            (!names.is_empty()).then(|| format!("{text}: {}", names.join(", ")))
        }
    }
}

/// `rx` is every metric of rx; `rx.total` also `rx.total[eth0]`.
fn named(metric: &str, rule: &str) -> bool {
    metric
        .strip_prefix(rule)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

fn is_worse(m: &Metric, percent: Option<u64>, least: Option<Least>) -> bool {
    let asked = m.shifts.iter().filter(|s| percent.is_none_or(|p| s.percent == p));
    // What is changed, and nobody's harm, is so by any measure; what nobody feels in answers is asked for by its name.
    let called = |s: &&super::Shift| s.significant || m.recurs && s.outcome == Outcome::Worse;
    let mut asked = asked.filter(|s| called(s) && s.shift > 0 && (m.unfelt || s.outcome != Outcome::Changed));
    asked.any(|s| match least {
        None => matches!(s.outcome, Outcome::Worse | Outcome::Changed),
        Some(Least::Ns(ns)) => s.shift > ns,
        Some(Least::Relative(r)) => s.shift as f64 > r * s.before.unsigned_abs() as f64,
    })
}

fn rate_is_worse(r: &Rate, least: Option<Least>) -> bool {
    match least {
        // What nobody feels in answers is asked for by its name.
        None => r.unfelt || r.outcome == Outcome::Worse,
        Some(Least::Relative(by)) => {
            let more = match r.kind {
                Kind::Speed => -r.difference,
                _ if r.is_worse_when_more() => r.difference,
                _ => return false,
            };
            r.significant && (r.unfelt || r.outcome != Outcome::Changed) && more > by * r.before.value
        }
        Some(Least::Ns(_)) => false,
    }
}
