//! What a rule says of a comparison: it failed, it held and how near it was, or nothing of what it names was compared.

use super::family::{Family, rates, shifts};
use super::{Least, Named, Rule, absent};
use crate::analyses::verdict::duration;
use crate::diff::said::verdict::signed;
use crate::diff::{Diff, Kind, Metric, Outcome, Rate, Shift};

/// How a rule stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It is met: exit code 3.
    Failed,
    /// It is not met.
    Held,
    /// Nothing of what it names was compared: exit code 3.
    NotCompared,
}

/// One rule and what it says.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct RuleState {
    /// As it was written.
    pub rule: String,
    /// How it stands.
    pub state: State,
    /// Failed: the metrics that broke it. Held: the largest of what it names, and whether that is certain. Not compared: why.
    pub says: String,
}

impl RuleState {
    fn new(rule: &str, state: State, says: String) -> RuleState {
        RuleState {
            rule: rule.to_owned(),
            state,
            says,
        }
    }
    /// `rx.p99>10%: rx.total`; `worse`.
    pub fn line(&self) -> String {
        match self.says.is_empty() {
            true => self.rule.clone(),
            false => format!("{}: {}", self.rule, self.says),
        }
    }
}

pub(super) fn state(rule: &Rule, diff: &Diff, family: &Family<'_>) -> RuleState {
    let outcome = diff.verdict.outcome;
    let (word, met) = match rule {
        Rule::Worse => ("worse", outcome == Outcome::Worse),
        Rule::Changed => (
            "changed",
            matches!(outcome, Outcome::Worse | Outcome::Better | Outcome::Changed),
        ),
        Rule::Incomparable => ("incomparable", outcome == Outcome::NotComparable),
        Rule::Of(of) => return of_metrics(of, diff, family),
    };
    match met {
        true => RuleState::new(word, State::Failed, String::new()),
        false => RuleState::new(word, State::Held, format!("the answer is {}", outcome.word())),
    }
}

fn of_metrics(rule: &Named, diff: &Diff, family: &Family<'_>) -> RuleState {
    let level = diff.options.level;
    let mut worse: Vec<&str> = vec![];
    let mut compared = 0usize;
    for (m, s) in shifts(rule, diff) {
        compared += 1;
        if is_worse(m, s, rule.least, family.is_certain(m, s, level)) && !worse.contains(&m.metric.as_str()) {
            worse.push(&m.metric);
        }
    }
    for r in rates(rule, diff) {
        compared += 1;
        if rate_is_worse(r, rule.least, family.is_certain_rate(r, level)) {
            worse.push(&r.metric);
        }
    }
    match (worse.is_empty(), compared) {
        (false, _) => RuleState::new(&rule.text, State::Failed, worse.join(", ")),
        (true, 0) if absent::is_none(rule, diff) => {
            let says = "neither side has any of it".to_owned();
            RuleState::new(&rule.text, State::Held, says)
        }
        (true, 0) => {
            let says = format!("nothing of that was compared ({})", absent::why(rule, diff));
            RuleState::new(&rule.text, State::NotCompared, says)
        }
        (true, n) => RuleState::new(&rule.text, State::Held, held(rule, diff, family, n)),
    }
}

fn is_worse(m: &Metric, s: &Shift, least: Option<Least>, certain: bool) -> bool {
    // A size is asked of the tests that the rules name, else what the page calls it counts.
    let certain = match least {
        Some(_) => certain,
        None => s.significant,
    };
    // What is changed, and nobody's harm, is so by any measure; what nobody feels in answers is asked for by its name.
    let called = certain || m.recurs && s.outcome == Outcome::Worse;
    if !(called && s.shift > 0 && (m.unfelt || s.outcome != Outcome::Changed)) {
        return false;
    }
    match least {
        None => matches!(s.outcome, Outcome::Worse | Outcome::Changed),
        Some(least) => exceeds(s, least),
    }
}

fn exceeds(s: &Shift, least: Least) -> bool {
    match least {
        Least::Ns(ns) => s.shift > ns,
        Least::Relative(r) => s.shift as f64 > r * s.before.unsigned_abs() as f64,
    }
}

/// How much more of what is worse there is; `None`: it is neither better nor worse.
fn more(r: &Rate) -> Option<f64> {
    match r.kind {
        Kind::Speed => Some(-r.difference),
        _ => r.is_worse_when_more().then_some(r.difference),
    }
}

fn rate_is_worse(r: &Rate, least: Option<Least>, certain: bool) -> bool {
    match least {
        // What nobody feels in answers is asked for by its name.
        None => r.unfelt || r.outcome == Outcome::Worse,
        Some(Least::Relative(by)) => {
            let large = more(r).is_some_and(|more| more > by * r.before.value);
            certain && (r.unfelt || r.outcome != Outcome::Changed) && large
        }
        Some(Least::Ns(_)) => false,
    }
}

/// The largest of what a rule names: how far it moved, and whether that is certain.
fn held(rule: &Named, diff: &Diff, family: &Family<'_>, compared: usize) -> String {
    let of = if compared > 1 {
        format!(" (of {compared})")
    } else {
        String::new()
    };
    let part = |s: &Shift| s.shift as f64 / s.before.unsigned_abs().max(1) as f64;
    let large = |s: &Shift| match rule.least {
        Some(least) => exceeds(s, least),
        None => s.shift >= s.threshold,
    };
    let size = |s: &Shift| match rule.least {
        Some(Least::Ns(_)) => s.shift as f64,
        Some(Least::Relative(_)) => part(s),
        None => s.shift as f64 / s.threshold.max(1) as f64,
    };
    // What is as large as asked comes first.
    let most = shifts(rule, diff).max_by(|x, y| large(x.1).cmp(&large(y.1)).then(size(x.1).total_cmp(&size(y.1))));
    let rate_part = |r: &Rate| more(r).map(|m| m / r.before.value.abs().max(f64::MIN_POSITIVE));
    let rate_large = |r: &Rate| match (rule.least, more(r)) {
        (Some(Least::Relative(by)), Some(m)) => m > by * r.before.value,
        (None, Some(m)) => m >= r.threshold,
        _ => false,
    };
    let key = |r: &Rate| rate_part(r).unwrap_or(f64::NEG_INFINITY);
    let most_rate = rates(rule, diff).max_by(|x, y| {
        let by_size = rate_large(x).cmp(&rate_large(y));
        by_size.then(key(x).total_cmp(&key(y)))
    });
    let of_shift = |(m, s): (&Metric, &Shift)| {
        let change = format!(
            "{} p{} {} ({} -> {})",
            m.metric,
            s.percent,
            signed(s.shift),
            duration(s.before),
            duration(s.after)
        );
        let p = family.of_shift(m, s);
        let why = match (s.shift > 0 && large(s), p <= diff.options.level) {
            (false, _) => String::new(),
            (true, false) => match rule.least {
                // Of the page's own threshold: with another it would be another.
                None => format!(", but not certain (adjusted p {}; {})", p_words(p), seen_from(s)),
                Some(_) => format!(", but not certain (adjusted p {})", p_words(p)),
            },
            (true, true) if s.outcome == Outcome::Changed => ", changed and nobody's harm".to_owned(),
            (true, true) => ", but its interval does not leave 0 out".to_owned(),
        };
        format!("{change}{why}")
    };
    let of_rate = |r: &Rate| {
        let p = family.of_rate(r);
        let change = format!(
            "{} {} -> {}",
            r.metric,
            words(r.kind, r.before.value),
            words(r.kind, r.after.value)
        );
        let why = match (more(r), rate_large(r), p <= diff.options.level) {
            (None, _, _) => ", which is neither better nor worse by itself: no size of it fails".to_owned(),
            (_, false, _) => String::new(),
            (_, true, false) => format!(", but not certain (adjusted p {})", p_words(p)),
            (_, true, true) => ", changed and nobody's harm".to_owned(),
        };
        format!("{change}{why}")
    };
    let said = match (most, most_rate) {
        (Some(s), Some(r)) if large(s.1) || !rate_large(r) => of_shift(s),
        (_, Some(r)) => of_rate(r),
        (Some(s), None) => of_shift(s),
        (None, None) => String::new(),
    };
    format!("{said}{of}")
}

/// The smallest change that would have been called.
fn seen_from(s: &Shift) -> String {
    match s.minimum_detectable {
        Some(ns) => format!("it would have been called in 8 of 10 cases from {}", duration(ns)),
        None => "how large it would have to be is not known, as it varies by more than this".to_owned(),
    }
}

/// A rate with its unit.
fn words(kind: Kind, v: f64) -> String {
    match kind {
        Kind::Events => format!("{:.2} in 1000", v * 1e3),
        Kind::Units | Kind::Time => format!("{:.2} %", v * 1e2),
        Kind::Size | Kind::Count => format!("{v:.2}"),
        Kind::Speed => format!("{:.2} Mbit/s", v * 8.0 / 1e6),
    }
}

fn p_words(p: f64) -> String {
    match p {
        p if p >= 0.995 => "1".into(),
        p if p >= 0.1 => format!("{p:.1}"),
        p => format!("{p:.3}"),
    }
}
