//! Opening connections: how long it took, what did not come to be, and which were reset. In: `Answers::opens`.

use netmortem_analyzer::analyses::Outcome;
use netmortem_analyzer::analyses::opens::{Failed, Opens, Reset, SlowOpen};

use super::shared::{connection_cell, counted, durations, id_cell, name_cell, unanswered, words};
use crate::chart::{Size, Tone};
use crate::clean::Text;
use crate::document::{Block, Cell, Column, Section, Severity, Table};
use crate::format;
use crate::sections::Input;

mod local;
mod probed;
#[cfg(test)]
mod tests;

const ID: &str = "opens";
const TITLE: &str = "Opening connections";
/// Fewest connections of which a histogram is drawn.
const DRAWN: u64 = 20;

/// Builds the section.
#[must_use]
pub fn section(input: &Input<'_>) -> Section {
    match &input.answers.opens {
        Outcome::Unknown(reasons) => unanswered(ID, TITLE, reasons),
        Outcome::Findings(found) => Section {
            id: ID,
            title: TITLE.into(),
            lead: lead(found),
            blocks: blocks(input, found),
        },
    }
}

fn lead(found: &Opens) -> Text {
    let again = match found.delayed {
        0 => String::new(),
        n => format!(" ({} only when a SYN was retransmitted)", format::count(n)),
    };
    Text::from(format!(
        "{} of this host to open a TCP connection; {} stood{again}.",
        counted(found.attempts, "attempt"),
        format::count(found.setup.n)
    ))
}

fn blocks(input: &Input<'_>, found: &Opens) -> Vec<Block> {
    let mut blocks = Vec::new();
    if found.setup.n >= DRAWN {
        blocks.push(Block::Figures(vec![durations(
            "setup",
            "From connect to established".into(),
            &found.setup,
            Size::Half,
            Tone::Blue,
            "connections",
            "Connections that stood, by the time they took to open.",
        )]));
    }
    if !found.failed.is_empty() {
        blocks.push(Block::Table(failed(input, &found.failed)));
    }
    if !found.resets.is_empty() {
        blocks.push(Block::Table(resets(input, &found.resets)));
    }
    if !found.slowest.is_empty() {
        blocks.push(Block::Table(slowest(input, &found.slowest)));
    }
    blocks.extend(local::block(&found.full_queues));
    blocks.extend(probed::blocks(input, found));
    blocks.push(Block::Code(vec![
        "netmortem show opens INPUT --format csv".into(),
        "netmortem show resets INPUT --format csv".into(),
    ]));
    blocks
}

fn failed(input: &Input<'_>, of: &[Failed]) -> Table {
    let row = |f: &Failed| {
        vec![
            Cell::Badge(Severity::Bad, words(f.end).into()),
            f.error.map_or(Cell::Unknown, |e| Cell::Text(e.into())),
            name_cell(&f.to),
            name_cell(&f.task),
            Cell::Count(f.attempts),
            Cell::Count(f.syns_again),
            Cell::At(input.since_start(f.first_ns)),
            Cell::Ns(f.longest_ns),
            id_cell(f.first),
        ]
    };
    Table {
        caption: "Attempts that did not come to be".into(),
        columns: vec![
            Column::text(""),
            Column::text("error"),
            Column::text("to"),
            Column::text("task"),
            Column::number("attempts"),
            Column::number("SYNs retransmitted"),
            Column::in_unit("first", "s"),
            Column::number("longest"),
            Column::text("the first"),
        ],
        rows: of.iter().map(row).collect(),
        note: None,
    }
}

fn resets(input: &Input<'_>, of: &[Reset]) -> Table {
    let row = |r: &Reset| {
        let by = match (r.received, r.sender) {
            (true, "peer") => "received, sent by the peer",
            (true, "between") => "received, not sent by the peer's socket",
            (true, _) => "received",
            (false, _) => "sent",
        };
        let severity = match (r.received, r.sender) {
            (true, "between") => Severity::Bad,
            (true, _) => Severity::Notice,
            (false, _) => Severity::Info,
        };
        vec![
            Cell::Badge(severity, by.into()),
            name_cell(&r.label),
            Cell::known((!r.reason.is_empty()).then_some(&r.reason), |reason| {
                Cell::Text(Text::name(reason))
            }),
            Cell::Count(r.resets),
            Cell::At(input.since_start(r.first_ns)),
            id_cell(r.first),
        ]
    };
    Table {
        caption: "RSTs, those of refused attempts and of connections turned away not among them".into(),
        columns: vec![
            Column::text(""),
            Column::text("first connection"),
            Column::text("reason"),
            Column::number("RSTs"),
            Column::in_unit("first", "s"),
            Column::text("the first"),
        ],
        rows: of.iter().map(row).collect(),
        note: None,
    }
}

fn slowest(input: &Input<'_>, of: &[SlowOpen]) -> Table {
    let row = |s: &SlowOpen| {
        vec![
            id_cell(s.id),
            s.connection.map_or(Cell::Unknown, connection_cell),
            name_cell(&s.to),
            name_cell(&s.task),
            Cell::At(input.since_start(s.start_ns)),
            Cell::Ns(s.total_ns),
            Cell::Text(words(s.end).into()),
            Cell::known(s.syns_again, |n| Cell::Count(n.into())),
        ]
    };
    Table {
        caption: "Attempts that took longest".into(),
        columns: vec![
            Column::text("id"),
            Column::text("socket"),
            Column::text("to"),
            Column::text("task"),
            Column::in_unit("begun", "s"),
            Column::number("took"),
            Column::text("end"),
            Column::number("SYNs retransmitted"),
        ],
        rows: of.iter().map(row).collect(),
        note: None,
    }
}
