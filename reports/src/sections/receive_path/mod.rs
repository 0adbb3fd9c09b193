//! The receive path: where delivered packets spent their time. In: `Answers::receive`.
//!
//! ```text
//! lead (p50, p99, max of the whole) -> who is left out -> ledger.rs: chart and table of stages -> what units waited for
//!   -> ledger.rs: ECDFs compared, histogram + ECDF each -> by device, by reader -> worst units
//! ```

use netmortem_analyzer::analyses::Outcome;
use netmortem_analyzer::analyses::receive::{Blamed, BusyWith, Example, Receive};

use super::ledger::{Ledger, weak};
use super::shared::{had_cpu, id_cell, name_cell, spoken, truncation, unanswered, words};
use super::{exemplars, groups};
use crate::clean::Text;
use crate::document::{Block, Cell, Column, Section, Table};
use crate::format;
use crate::sections::Input;

const ID: &str = "receive-path";
const TITLE: &str = "Receive path";
/// Rows of the table of what units waited for, for each stage.
const BLAMED: usize = 6;
/// The same for each reader that waited in a run queue.
const OF_A_READER: usize = 3;

/// Builds the section.
#[must_use]
pub fn section(input: &Input<'_>) -> Section {
    match &input.answers.receive {
        Outcome::Unknown(reasons) => unanswered(ID, TITLE, reasons),
        Outcome::Findings(receive) => Section {
            id: ID,
            title: TITLE.into(),
            lead: lead(receive),
            blocks: blocks(input, receive),
        },
    }
}

fn lead(receive: &Receive) -> Text {
    let (total, n) = spoken(&receive.total);
    if receive.total.all.n == 0 {
        return "No packet was seen from its first event to the end of a read that took it.".into();
    }
    let time = |ns| format::or_unknown(ns, format::duration);
    Text::from(format!(
        "From its first event to the end of the read that took it, a packet needed {} at the median, {} at p99, {} at most ({n}).",
        time(total.p50_ns),
        time(total.p99_ns),
        time(total.max_ns)
    ))
}

/// Which units the percentiles leave out, and why.
fn excluded(receive: &Receive) -> String {
    let of = |why: &str| receive.excluded.get(why).copied().unwrap_or(0);
    let cut: Vec<String> = [
        ("loss", "shadowed by lost events"),
        ("censored_start", "under way when recording began"),
        ("censored_end", "not read by its end"),
        ("closed", "not seen read until their socket was closed"),
    ]
    .into_iter()
    .filter(|(why, _)| of(why) > 0)
    .map(|(why, text)| format!("{} {text}", format::count(of(why))))
    .collect();
    let none = match cut.is_empty() {
        true => "No unit is left out of the percentiles".to_string(),
        false => format!(
            "Left out of every percentile, because their whole time is not known: {}",
            cut.join(", ")
        ),
    };
    format!("{none}{}", weak(of("not_solid")))
}

/// What readers on a CPU did that had not read yet.
fn busy(of: &BusyWith) -> Text {
    let at = match of.first.as_str() {
        "" => String::new(),
        first => format!(", {} of it at {first}", format::duration(of.first_ns)),
    };
    Text::from(format!(
        "Readers that were on a CPU and had not read yet were busy elsewhere for {} ({} of the time for which they ran): in calls on other sockets, and between two on the same; most of it {}{at}. Rows: busy_ns, busy_on of netmortem show rx INPUT",
        format::duration(of.ns),
        format::percent(of.share),
        of.task
    ))
}

fn blocks(input: &Input<'_>, receive: &Receive) -> Vec<Block> {
    let confidence: Vec<String> = receive
        .by_confidence
        .iter()
        .rev()
        .map(|(word, n)| format!("{} {word}", format::count(*n)))
        .collect();
    let ledger = ledger(input, receive);
    let mut blocks = vec![
        Block::Paragraph(Text::from(format!(
            "Units (an skb after GRO): {} read, {} without payload that ended in the protocol, {} queued and not seen read. Confidence: {}.",
            format::count(receive.read),
            format::count(receive.protocol_only),
            format::count(receive.queued),
            confidence.join(", ")
        ))),
        Block::Paragraph(Text::from(excluded(receive))),
    ];
    // Of none there are only rows of nothing.
    if receive.total.all.n > 0 {
        blocks.extend([
            Block::Figure(Box::new(ledger.waterfall())),
            Block::Table(ledger.table()),
            ledger.meanings(&[&receive.rcvq]),
        ]);
    }
    if !receive.blamed.is_empty() {
        blocks.push(Block::Table(blamed(receive)));
    }
    if let Some(of) = &receive.busy_with {
        blocks.push(Block::Paragraph(busy(of)));
    }
    blocks.extend(ledger.pictures(&[
        (&receive.total, "whole time"),
        (&receive.rcvq, "receive queue: all stages of the reader"),
    ]));
    blocks.extend(groups::blocks(
        &input.answers.breakdown.receive,
        "units",
        "rx",
        input.answers.tcp.findings().map_or(&[], |tcp| &tcp.connections),
    ));
    blocks.extend(exemplars::blocks(input, &input.answers.exemplars.receive, "Units"));
    if !receive.worst.is_empty() {
        blocks.push(Block::Table(worst(input, &receive.worst)));
    }
    blocks.push(Block::Code(vec!["netmortem show rx INPUT --format csv".into()]));
    blocks
}

fn ledger<'a>(input: &Input<'a>, receive: &'a Receive) -> Ledger<'a> {
    Ledger {
        name: "rx",
        title: "Where received packets spent their time",
        rows: "units",
        counted: format!("{} units read", format::count(receive.read)),
        stages: &receive.stages,
        unattributed: &receive.unattributed,
        total: &receive.total,
        observer: &input.facts.observer,
        exemplars: &input.answers.exemplars.receive,
    }
}

/// What units waited for: who had the CPU, and in which call their reader slept.
fn blamed(receive: &Receive) -> Table {
    let whole = |stage: &str| receive.stages.iter().find(|times| times.stage == stage);
    let row = |blamed: &Blamed| {
        let all = whole(blamed.stage).map_or(0, |times| times.all.sum_ns);
        vec![
            Cell::Text(words(blamed.stage).into()),
            Cell::Text(had_cpu(blamed.part).into()),
            name_cell(&blamed.who),
            match blamed.reader.is_empty() {
                true => Cell::Text(Text::default()),
                false => name_cell(&blamed.reader),
            },
            Cell::Count(blamed.units),
            Cell::Ns(blamed.ns),
            Cell::known((all > 0).then_some(blamed.ns as f64 / all as f64), Cell::Fraction),
            id_cell(blamed.worst),
        ]
    };
    let nth = |at: usize, blamed: &Blamed| {
        let before = receive.blamed.iter().take(at);
        let of = |other: &&Blamed| (other.stage, &other.reader) == (blamed.stage, &blamed.reader);
        before.filter(of).count()
    };
    let shown: Vec<&Blamed> = receive
        .blamed
        .iter()
        .enumerate()
        .filter(|(at, blamed)| nth(*at, blamed) < if blamed.reader.is_empty() { BLAMED } else { OF_A_READER })
        .map(|(_, blamed)| blamed)
        .collect();
    let how = "A unit counts once in a stage: for a softirq, under what made up the largest part of its wait; for the run queue, under the task that ran longest instead of the reader; for a sleep, with the time in the system call that the reader slept in longest (unrecorded: in none that was recorded).";
    let cut = truncation(
        shown.len(),
        receive.blamed.len(),
        "of each stage the reader that waited longest first",
        "show rx INPUT",
    );
    Table {
        caption: "What units waited for".into(),
        columns: vec![
            Column::text("stage"),
            Column::text("what it was"),
            Column::text("who"),
            Column::text("reader"),
            Column::number("units"),
            Column::time("their time"),
            Column::number("of the stage"),
            Column::text("the longest"),
        ],
        rows: shown.into_iter().map(row).collect(),
        note: Some(Text::from(match cut {
            Some(cut) => format!("{how} {cut}"),
            None => how.to_owned(),
        })),
    }
}

fn worst(input: &Input<'_>, examples: &[Example]) -> Table {
    let row = |example: &Example| {
        vec![
            Cell::Id(Text::from(format!("rx:{}", example.skb_id))),
            Cell::At(input.since_start(example.start_ns)),
            Cell::Ns(example.total_ns),
            Cell::Text(words(example.top_stage).into()),
            Cell::Ns(example.top_ns),
            name_cell(&example.dev),
            name_cell(&example.task),
            Cell::known(example.connection, |id| Cell::Id(Text::from(format!("conn:{id}")))),
            Cell::Text(example.confidence.into()),
        ]
    };
    Table {
        caption: "The slowest units".into(),
        columns: vec![
            Column::text("id"),
            Column::in_unit("at", "s"),
            Column::time("whole"),
            Column::text("longest stage"),
            Column::time("its time"),
            Column::text("device"),
            Column::text("reader"),
            Column::text("connection"),
            Column::text("confidence"),
        ],
        rows: examples.iter().map(row).collect(),
        note: None,
    }
}

#[cfg(test)]
mod tests;
