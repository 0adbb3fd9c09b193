//! The answer in a sentence from a fixed list, and what it rests on.

use super::breakdown::Breakdown;
use super::compare::{Metric, Shift};
use super::options::DiffOptions;
use super::parity::{Check, Level};
use super::rates::{Kind, Rate};
use crate::analyses::verdict::duration;

/// What is said of a metric, or of the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Longer, or more often.
    Worse,
    /// Shorter, or less often.
    Better,
    /// Different, and by itself neither better nor worse.
    Changed,
    /// No difference found.
    Same,
    /// The sides cannot be compared (only of the whole).
    NotComparable,
}

impl Outcome {
    /// The word in tables.
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Worse => "worse",
            Outcome::Better => "better",
            Outcome::Changed => "changed",
            Outcome::Same => "no difference found",
            Outcome::NotComparable => "not comparable",
        }
    }
}

/// The answer.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Verdict {
    /// In a word.
    pub outcome: Outcome,
    /// In a sentence.
    pub sentence: String,
    /// What it rests on: a line for each change, the largest first.
    pub lines: Vec<(Outcome, String)>,
}

/// Lines at most.
const LINES: usize = 12;

/// Judges.
pub(super) fn verdict(
    parity: &[Check],
    metrics: &[Metric],
    rates: &[Rate],
    breakdowns: &[Breakdown],
    options: &DiffOptions,
) -> Verdict {
    if let Some(c) = parity.iter().find(|c| c.level == Level::Prevents) {
        return Verdict {
            outcome: Outcome::NotComparable,
            sentence: format!("Not comparable. {}", c.sentence),
            lines: vec![],
        };
    }
    if metrics.is_empty() && rates.is_empty() {
        return Verdict {
            outcome: Outcome::NotComparable,
            sentence: "Not comparable. No metric has enough values on both sides.".into(),
            lines: vec![],
        };
    }
    let mut lines: Vec<(Outcome, String)> = vec![];
    let of_rates = rates.iter().filter(|r| r.outcome != Outcome::Same);
    lines.extend(of_rates.map(|r| (r.outcome, rate_line(r))));
    let of_metrics = metrics.iter().filter(|m| m.outcome != Outcome::Same);
    lines.extend(of_metrics.filter_map(|m| Some((m.outcome, metric_line(m, breakdowns)?))));
    lines.sort_by_key(|l| l.0);
    let count = |o: Outcome| lines.iter().filter(|l| l.0 == o).count();
    let (worse, better, changed) = (count(Outcome::Worse), count(Outcome::Better), count(Outcome::Changed));
    let percent = options.level * 100.0;
    let (outcome, sentence) = match (worse, better, changed) {
        (0, 0, 0) => (Outcome::Same, format!("No difference found. {}", seen(metrics))),
        (0, 0, n) => (
            Outcome::Changed,
            format!("Changed in {n} of what was measured, neither better nor worse by itself."),
        ),
        (0, n, _) => (
            Outcome::Better,
            format!("Better in {n} of what was measured, worse in none."),
        ),
        (n, 0, _) => (
            Outcome::Worse,
            format!("Worse in {n} of what was measured, better in none."),
        ),
        (n, m, _) => (
            Outcome::Worse,
            format!("Worse in {n} of what was measured, better in {m}."),
        ),
    };
    let sentence = match outcome {
        Outcome::Same => sentence,
        _ => format!("{sentence} Chance of a false alarm: at most {percent:.0} % for what varies inside a recording."),
    };
    lines.truncate(LINES);
    Verdict {
        outcome,
        sentence,
        lines,
    }
}

/// The smallest changes that would have been seen, of the totals.
fn seen(metrics: &[Metric]) -> String {
    let totals = metrics
        .iter()
        .filter(|m| m.which.stage == "total" && m.which.dev.is_none());
    let text = |m: &Metric| {
        let s = m.shifts.first()?;
        let part = 100.0 * s.minimum_detectable as f64 / s.before.unsigned_abs().max(1) as f64;
        Some(format!(
            "{} p{} by {} ({part:.0} %)",
            m.metric,
            s.percent,
            duration(s.minimum_detectable)
        ))
    };
    let all: Vec<String> = totals.filter_map(text).collect();
    match all.is_empty() {
        true => "There is no total to say how small a change would have been seen; see each metric.".into(),
        false => format!(
            "A change would have been seen in 8 of 10 cases from: {}.",
            all.join(", ")
        ),
    }
}

fn relative(s: &Shift) -> String {
    match s.before {
        0 => String::new(),
        b => format!(", {:+.0} %", 100.0 * s.shift as f64 / b.unsigned_abs() as f64),
    }
}

/// `rx.poll_wait p50 3.10 µs -> 52.3 µs (+49.2 µs, +1587 %); adds 50.1 µs to the mean rx of 61.2 µs`.
fn metric_line(m: &Metric, breakdowns: &[Breakdown]) -> Option<String> {
    let s = m.telling()?;
    let sign = if s.shift > 0 { "+" } else { "" };
    let mut line = format!(
        "{} p{} {} -> {} ({sign}{}{})",
        m.metric,
        s.percent,
        duration(s.before),
        duration(s.after),
        duration(s.shift),
        relative(s)
    );
    let ledger = breakdowns
        .iter()
        .find(|b| b.ledger == m.which.ledger && m.which.is_stage());
    if let Some((b, part)) = ledger.and_then(|b| Some((b, b.parts.iter().find(|p| p.stage == m.which.stage)?))) {
        line += &format!(
            "; {} of the {} that the mean {} changed by",
            duration(part.added_ns() as i64),
            duration((b.after_ns - b.before_ns) as i64),
            b.ledger
        );
    }
    Some(line)
}

fn rate_line(r: &Rate) -> String {
    let text = |v: f64| match r.kind {
        Kind::Events => format!("{:.2} in 1000", v * 1e3),
        Kind::Units => format!("{:.1} % of units", v * 100.0),
        Kind::Time => format!("{:.1} % of the time", v * 100.0),
        Kind::Size => format!("{v:.1}"),
    };
    format!("{} {} -> {}", r.metric, text(r.before.value), text(r.after.value))
}
