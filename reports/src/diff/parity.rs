//! What makes the two sides comparable, or not, and what was not compared.

use netmortem_analyzer::diff::{Check, Diff, Level};

use crate::clean::Text;
use crate::document::{Block, Cell, Column, Section, Severity, Table};
use crate::sections::shared;

pub(super) fn section(diff: &Diff) -> Section {
    let word = |c: &Check| match c.level {
        Level::Prevents => Cell::Badge(Severity::Unknown, "prevents".into()),
        Level::Differs => Cell::Badge(Severity::Notice, "differs".into()),
        Level::Unknown => Cell::Badge(Severity::Unknown, "not known".into()),
        Level::Same if c.before == c.after => Cell::Badge(Severity::Good, "alike".into()),
        // Not so far that it has to be kept in mind.
        Level::Same => Cell::Badge(Severity::Good, "comparable".into()),
    };
    let rows = diff.parity.iter().map(|c| {
        vec![
            Cell::Text(c.what.into()),
            Cell::Text(c.before.clone().into()),
            Cell::Text(c.after.clone().into()),
            word(c),
            Cell::Text(c.sentence.clone().into()),
        ]
    });
    let table = Table {
        caption: "What makes the two sides comparable".into(),
        columns: ["looked at", "before", "after", "verdict", "what it means"]
            .map(Column::text)
            .into(),
        rows: rows.collect(),
        note: None,
    };
    let levels = |of: &[Level]| diff.parity.iter().filter(|c| of.contains(&c.level)).count();
    let differs = levels(&[Level::Prevents, Level::Differs]);
    let unknown = match levels(&[Level::Unknown]) {
        0 => String::new(),
        n => format!(" Of {n} nobody knows."),
    };
    let settings = match diff.settings.len() {
        0 => String::new(),
        n => format!(
            " {} in their settings, see below.",
            shared::counted(n as u64, "difference")
        ),
    };
    let lead = match differs {
        0 if unknown.is_empty() => format!("Comparable in all that was looked at here.{settings}"),
        0 => format!("Nothing that was looked at here differs.{unknown}{settings}"),
        n => format!(
            "{n} of {} things looked at differ.{unknown}{settings}",
            diff.parity.len()
        ),
    };
    let mut blocks = vec![Block::Table(table)];
    if !diff.withheld.is_empty() {
        let items = diff
            .withheld
            .iter()
            .map(|w| Text::from(format!("{}: {}", w.metric, w.because)));
        blocks.push(Block::Details {
            summary: Text::from(format!(
                "Not compared: {}",
                shared::counted(diff.withheld.len() as u64, "metric")
            )),
            blocks: vec![Block::List(items.collect())],
        });
    }
    Section {
        id: "comparable",
        title: "Are they comparable?".into(),
        lead: lead.into(),
        blocks,
    }
}
