//! The page and the terminal's table of `netmortem diff`: the same kinds of blocks as the report's, from a comparison.
//!
//! In: [`Diff`]. Out: a [`Document`] (HTML, PNGs) and a table of text. Must not compute or judge: every word of judgement is the
//! analyzer's.
//!
//! ```text
//! Diff -> verdict | comparable | changes (ECDFs over one another) | where (mean per unit by stage) | rates | settings | all -> Document
//!      -> terminal table
//! ```

mod metrics;
mod parity;
mod terminal;
#[cfg(test)]
mod tests;

pub use terminal::terminal;

use netmortem_analyzer::diff::{Diff, Kind, Measured, Outcome, Rate, SettingChange, Side};

use crate::clean::Text;
use crate::document::{Block, Cell, Column, Document, Section, Severity, Strip, Table};
use crate::format;
use crate::sections::shared::{self, strip};
use crate::sections::verdict;

/// Settings shown; the JSON has all.
const SETTINGS: usize = 200;
/// Of which namespace sysctls are: `recorder/src/snapshot`.
const OWN_SYSCTLS: &str = "Sysctls are those of the recorder's own network namespace; those of others, and of devices, where both recorders read them.";
/// Metrics named at a setting.
const BESIDE: usize = 3;

/// The whole page.
#[must_use]
pub fn document(diff: &Diff) -> Document {
    let sections = [
        Some(verdict_section(diff)),
        Some(parity::section(diff)),
        metrics::changes(diff),
        metrics::breakdowns(diff),
        Some(rates(diff)),
        Some(settings(diff)),
        Some(metrics::all(diff)),
        Some(method(diff)),
    ];
    Document {
        title: Text::from(format!(
            "{} compared with {}",
            names(&diff.after, &diff.before),
            names(&diff.before, &diff.after)
        )),
        subtitle: Text::from(format!("before: {} · after: {}", side(&diff.before), side(&diff.after))),
        sections: sections.into_iter().flatten().collect(),
        footer: Text::from(concat!(
            "Made by netmortem ",
            env!("CARGO_PKG_VERSION"),
            " from the recordings alone."
        )),
        input: None,
        one_recording: false,
    }
}

/// What a side is called: the shortest end of its first path that the other side's has not.
fn names(side: &[Side], other: &[Side]) -> String {
    let path = |of: &[Side]| of.first().map_or(String::new(), |s| s.source.clone());
    let name = Text::name(tail(&path(side), &path(other))).as_str().to_owned();
    match side.len() {
        0 => "nothing".into(),
        1 => name,
        n => format!("{name} and {} more", n - 1),
    }
}

/// The shortest end of `path`, whole parts, in which it differs from `other`; the last part when nothing differs.
fn tail<'p>(path: &'p str, other: &str) -> &'p str {
    let (path, other) = (path.trim_end_matches('/'), other.trim_end_matches('/'));
    let alike = path.rsplit('/').zip(other.rsplit('/')).take_while(|(p, o)| p == o);
    let parts = if path == other { 1 } else { alike.count() + 1 };
    match path.rmatch_indices('/').nth(parts - 1) {
        Some((at, _)) => path.get(at + 1..).unwrap_or(path),
        None => path,
    }
}

fn side(side: &[Side]) -> String {
    let events: u64 = side.iter().map(|s| s.events).fold(0, u64::saturating_add);
    let ns: i64 = side.iter().map(|s| s.duration_ns).fold(0, i64::saturating_add);
    let kernel = side.first().map_or("", |s| s.kernel_release.as_str());
    let kernel = if kernel.is_empty() {
        String::new()
    } else {
        format!(", Linux {kernel}")
    };
    // A part is told as one: its events are those of the whole.
    let whole = side.iter().map(|s| s.whole_ns.unwrap_or(s.duration_ns));
    let whole: i64 = whole.fold(0, i64::saturating_add);
    let of = match side.iter().any(|s| s.whole_ns.is_some()) {
        true => format!(" of {} with", format::duration(whole)),
        false => ",".into(),
    };
    format!("{}{of} {} events{kernel}", format::duration(ns), format::count(events))
}

/// How an outcome is meant.
pub(super) fn severity(outcome: Outcome) -> Severity {
    match outcome {
        Outcome::Worse => Severity::Bad,
        Outcome::Better | Outcome::Same => Severity::Good,
        Outcome::Changed => Severity::Notice,
        Outcome::NotComparable => Severity::Unknown,
    }
}

/// A cell of judgement; nothing is said for good or bad of what is not certain.
pub(super) fn badge(outcome: Outcome, word: &str, seen_from_known: bool) -> Cell {
    let tone = match seen_from_known {
        true => severity(outcome),
        false => Severity::Unknown,
    };
    Cell::Badge(tone, word.into())
}

fn verdict_section(diff: &Diff) -> Section {
    let tone = match diff.verdict.reserved {
        true => Severity::Notice,
        false => severity(diff.verdict.outcome),
    };
    let mut blocks = vec![strip(tone, diff.verdict.sentence.clone())];
    blocks.extend(
        told("Before", &diff.before)
            .into_iter()
            .chain(told("After", &diff.after)),
    );
    blocks.extend(diff.verdict.lines.iter().map(|(outcome, line)| {
        Block::Strip(Strip {
            severity: severity(*outcome),
            sentence: line.clone().into(),
            detail: None,
            see: None,
        })
    }));
    Section {
        id: verdict::ID,
        title: "Verdict".into(),
        lead: Text::default(),
        blocks,
    }
}

/// What the recordings of a side say of themselves; the same sentences of several recordings once.
fn told(which: &str, side: &[Side]) -> Vec<Block> {
    let mut all: Vec<(Vec<Text>, &[String])> = vec![];
    for s in side.iter().filter(|s| !s.told.is_empty()) {
        let name = Text::name(tail(&s.source, ""));
        match all.iter_mut().find(|(_, told)| *told == s.told) {
            Some((names, _)) => names.push(name),
            None => all.push((vec![name], &s.told)),
        }
    }
    let line = |(names, told): &(Vec<Text>, &[String])| {
        let names: Vec<&str> = names.iter().map(Text::as_str).collect();
        strip(
            Severity::Notice,
            format!("{which}, {}: {}", names.join(", "), told.join(" ")),
        )
    };
    all.iter().map(line).collect()
}

fn rate(kind: Kind, v: f64) -> String {
    match kind {
        Kind::Events => format!("{} in 1000", format::significant(v * 1e3)),
        Kind::Units | Kind::Time => format::percent(v),
        Kind::Size | Kind::Count => format::significant(v),
        Kind::Speed => format!("{} Mbit/s", format::significant(v * 8.0 / 1e6)),
    }
}

/// A value and its interval, the unit once: `1.2 (0.9 to 1.5) in 1000`.
fn measured(kind: Kind, m: &Measured) -> String {
    let (factor, unit) = match kind {
        Kind::Events => (1e3, " in 1000"),
        Kind::Units | Kind::Time => (1e2, " %"),
        Kind::Size | Kind::Count => (1.0, ""),
        Kind::Speed => (8.0 / 1e6, " Mbit/s"),
    };
    let number = |v: f64| format::significant(v * factor);
    let (value, low, high) = (number(m.value), number(m.interval.0), number(m.interval.1));
    match low == value && high == value {
        true => format!("{value}{unit}"),
        false => format!("{value} ({low} to {high}){unit}"),
    }
}

fn rates(diff: &Diff) -> Section {
    let side = |kind: Kind, m: &Measured| Cell::Text(measured(kind, m).into());
    let row = |r: &Rate| {
        vec![
            Cell::Code(Text::name(&r.metric)),
            badge(r.outcome, r.word(), r.minimum_detectable.is_some()),
            side(r.kind, &r.before),
            side(r.kind, &r.after),
            r.minimum_detectable
                .map_or(Cell::Unknown, |v| Cell::Text(rate(r.kind, v).into())),
            Cell::Number(r.p_adjusted),
            Cell::Text(r.meaning.clone().into()),
        ]
    };
    let columns = vec![
        Column::text("rate"),
        Column::text("verdict"),
        Column::text("before (95 %)"),
        Column::text("after (95 %)"),
        Column::number("seen from"),
        Column::number("adjusted p"),
        Column::text("what it is"),
    ];
    let changed = diff.rates.iter().filter(|r| r.outcome != Outcome::Same).count();
    let lead = match (diff.rates.len(), changed) {
        (0, _) => "Nothing to count on both sides.".to_owned(),
        (n, 0) => format!("No difference found in {n} rates."),
        (n, c) => format!("{c} of {n} rates changed."),
    };
    let table = Table {
        caption: "Drops, retransmissions, sizes, connections opened, limits, softirq time".into(),
        columns,
        rows: diff.rates.iter().map(row).collect(),
        note: None,
    };
    Section {
        id: "rates",
        title: "Drops, retransmissions, sizes and shares".into(),
        lead: lead.into(),
        blocks: if diff.rates.is_empty() {
            vec![]
        } else {
            vec![Block::Table(table)]
        },
    }
}

/// The first metrics that a setting stands beside.
fn beside(s: &SettingChange) -> String {
    let more = match s.beside.len().saturating_sub(BESIDE) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    let names: Vec<&str> = s.beside.iter().take(BESIDE).map(String::as_str).collect();
    format!("{}{more}", names.join(", "))
}

fn settings(diff: &Diff) -> Section {
    let value = |v: &str| match v.is_empty() {
        true => Cell::Unknown,
        false => Cell::Code(Text::name(v)),
    };
    let rows = diff.settings.iter().take(SETTINGS);
    let table = Table {
        caption: "Settings that differ".into(),
        columns: ["setting", "before", "after", "stands beside"].map(Column::text).into(),
        rows: rows
            .map(|s| {
                let name = Cell::Code(Text::name(&s.name));
                vec![name, value(&s.before), value(&s.after), value(&beside(s))]
            })
            .collect(),
        note: (diff.settings.len() > SETTINGS)
            .then(|| Text::from(format!("{SETTINGS} of {} shown; --json has all.", diff.settings.len()))),
    };
    let lead = match diff.settings.len() {
        0 => format!("No difference in what both sides recorded of kernel, sysctls, devices and qdiscs. {OWN_SYSCTLS}"),
        n => format!(
            "{} differ; first those that stand beside what changed. That they differ, too, proves nothing. {OWN_SYSCTLS}",
            shared::counted(n as u64, "setting")
        ),
    };
    Section {
        id: "settings",
        title: "Configuration and kernel".into(),
        lead: lead.into(),
        blocks: if diff.settings.is_empty() {
            vec![]
        } else {
            vec![Block::Table(table)]
        },
    }
}

fn method(diff: &Diff) -> Section {
    let o = &diff.options;
    let (before, after) = (diff.before.len(), diff.after.len());
    let groups = before > 1 && after > 1;
    let unit = match groups {
        true => format!(
            "Packets of one burst are not independent: the recording is the unit, {before} before and {after} after. Intervals come \
             from {} resamples of recordings, p values from how the recordings of a side differ.",
            o.draws
        ),
        false => format!(
            "Packets of one burst are not independent: intervals come from {} resamples of blocks of time, p values from how \
             blocks of 1/40, 1/20 and 1/10 of the recording differ, the least certain of the three.",
            o.draws
        ),
    };
    let between = match groups {
        true => format!(
            "What varies between recordings is measured; of few recordings only roughly, so that below {} a side only large changes \
             are found.",
            netmortem_analyzer::diff::ENOUGH
        ),
        false => "With one recording on a side, what varies only between recordings cannot be told from a change: compare groups \
                  (--before A1 A2 A3 --after B1 B2 B3)."
            .to_owned(),
    };
    let items = [
        format!(
            "A change is called when its p value, adjusted for all {} tests of this comparison (Holm), is at most {}, it is at least the \
             threshold of its kind, and the interval of a quantile's shift leaves 0 out.",
            diff.tests, o.level
        ),
        format!(
            "Thresholds: medians {} and {}, p90 and p99 {} and {}, mean sizes {}, counts per unit {} times, events {} in 1000, units that meet a \
             stage {}, shares of time {}.",
            format::percent(o.median_relative),
            format::duration(o.median_ns),
            format::percent(o.tail_relative),
            format::duration(o.tail_ns),
            format::percent(o.size_relative),
            format::significant(o.counts),
            format::significant(o.events * 1e3),
            format::percent(o.units),
            format::percent(o.share)
        ),
        unit,
        "Only certain and strong rows count, and only whole units; what was left out is counted.".to_owned(),
        between,
    ];
    Section {
        id: "method",
        title: "Method".into(),
        lead: Text::default(),
        blocks: vec![Block::List(items.into_iter().map(Text::from).collect())],
    }
}
