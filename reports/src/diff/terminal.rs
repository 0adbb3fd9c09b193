//! The totals and what changed as a table for a terminal.

use netmortem_analyzer::diff::{Diff, Metric, Outcome};

use crate::clean::Text;
use crate::format;
use crate::text::Colors;

/// Rows at most.
const ROWS: usize = 20;

/// Metric, p50 and p99 before and after, verdict: totals, and what changed. Empty when nothing was compared.
#[must_use]
pub fn terminal(diff: &Diff, colors: Colors) -> String {
    let wanted = |m: &&Metric| m.outcome != Outcome::Same || m.which.stage == "total" && m.which.dev.is_none();
    let rows: Vec<(Outcome, Vec<String>)> = diff.metrics.iter().filter(wanted).take(ROWS).map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    let head = [
        "metric",
        "p50 before",
        "p50 after",
        "p99 before",
        "p99 after",
        "seen from",
        "verdict",
    ];
    let head: Vec<String> = head.map(str::to_owned).into();
    let width = |at: usize| {
        let cells = rows.iter().map(|r| &r.1).chain([&head]);
        cells
            .filter_map(|r| r.get(at))
            .map(|c| c.chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let mut out = String::new();
    line(&mut out, &head, &widths, "\x1b[2m", colors);
    for (outcome, cells) in &rows {
        let color = match outcome {
            Outcome::Worse => "\x1b[1;31m",
            Outcome::Better => "\x1b[32m",
            Outcome::Changed => "\x1b[33m",
            Outcome::Same | Outcome::NotComparable => "",
        };
        line(&mut out, cells, &widths, color, colors);
    }
    let legend = ["seen from: the smallest change of p50 that would be called".to_owned()];
    line(&mut out, &legend, &[0], "\x1b[2m", colors);
    out
}

fn row(m: &Metric) -> (Outcome, Vec<String>) {
    let value = format::duration;
    let of = |percent: u64| m.shifts.iter().find(|s| s.percent == percent);
    let text = |percent: u64, after: bool| {
        let s = of(percent).map(|s| if after { s.after } else { s.before });
        s.map_or_else(|| format::UNKNOWN.to_owned(), value)
    };
    let seen = format::or_unknown(of(50).and_then(|s| s.minimum_detectable), value);
    let cells = vec![
        Text::name(&m.metric).as_str().to_owned(),
        text(50, false),
        text(50, true),
        text(99, false),
        text(99, true),
        seen,
        word(m),
    ];
    (m.outcome, cells)
}

/// What is not certain is named, where it is not the median of this line.
fn word(m: &Metric) -> String {
    let uncertain = m.shifts.iter().find(|s| s.minimum_detectable.is_none());
    match uncertain.filter(|s| s.percent != 50 && m.outcome == Outcome::Same && m.word() == s.word()) {
        // Its values are in the line.
        Some(s) if s.percent == 99 => format!("{}: p99", m.word()),
        Some(s) => format!(
            "{}: p{} {} -> {}",
            m.word(),
            s.percent,
            format::duration(s.before),
            format::duration(s.after)
        ),
        None => m.word().to_owned(),
    }
}

fn line(out: &mut String, cells: &[String], widths: &[usize], color: &str, colors: Colors) {
    let mut text = String::new();
    for (at, (cell, width)) in cells.iter().zip(widths).enumerate() {
        let pad = " ".repeat(width.saturating_sub(cell.chars().count()));
        // The first and the last column are words.
        match at == 0 || at + 1 == cells.len() {
            true => text.push_str(&format!("{cell}{pad}  ")),
            false => text.push_str(&format!("{pad}{cell}  ")),
        }
    }
    let text = text.trim_end();
    match colors {
        Colors::Ansi if !color.is_empty() => out.push_str(&format!("{color}{text}\x1b[0m\n")),
        _ => out.push_str(&format!("{text}\n")),
    }
}
