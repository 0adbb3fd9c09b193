//! The kernel's own counters: which rose in the recorded time and mean something, and whether the events agree with them.
//! In: `Answers::counters`. It knows no counter by name: what a rise means is the analysis's.

use netmortem_analyzer::analyses::Outcome;
use netmortem_analyzer::analyses::counters::{Agreement, Check, Counters, Meaning, Rise, When};
use netmortem_analyzer::snapshots::cgroups::tables::CgroupRow;

use super::shared::{counted, name_cell, strip, truncation, unanswered};
use crate::clean::Text;
use crate::document::{Block, Cell, Column, Section, Severity, Table};
use crate::format;
use crate::sections::Input;

const ID: &str = "counters";
const TITLE: &str = "The kernel's own counters";
/// Rows of the table of rises.
const ROWS: usize = 60;

/// What the column says.
const WHEN: &str = "When: from the reading before the first rise to that after the last one, and between how many readings it rose; the recorder \
                    reads every second, and other namespaces and network cards as long as that costs little. Each: netmortem show counters_over_time INPUT";

/// Builds the section.
#[must_use]
pub fn section(input: &Input<'_>) -> Section {
    match &input.answers.counters {
        Outcome::Unknown(reasons) => unanswered(ID, TITLE, reasons),
        Outcome::Findings(counters) => Section {
            id: ID,
            title: TITLE.into(),
            lead: lead(counters),
            blocks: blocks(counters),
        },
    }
}

fn lead(counters: &Counters) -> Text {
    Text::from(format!(
        "Of {} read before and after the recording {} rose, {} of them one that tells of loss, shortage or trouble. The two readings enclose the \
         recording: a rise may be larger than what the events show.",
        counted(counters.compared, "counter"),
        format::count(counters.rose),
        format::count(counters.rises.len() as u64),
    ))
}

fn blocks(counters: &Counters) -> Vec<Block> {
    let mut blocks = Vec::new();
    if counters.not_compared > 0 {
        blocks.push(strip(
            Severity::Info,
            format!(
                "{} could not be compared: in one reading only, or set back meanwhile. A namespace that came or went does that; and a flight reads \
                 qdiscs, cards and namespaces other than its own for the first time after its trigger.",
                counted(counters.not_compared, "more counter")
            ),
        ));
    }
    if counters.rises.is_empty() && counters.not_compared > 0 {
        blocks.push(strip(
            Severity::Info,
            "No counter that could be compared and tells of loss, shortage or trouble rose.".to_owned(),
        ));
    } else if counters.rises.is_empty() {
        blocks.push(strip(
            Severity::Good,
            "No counter that tells of loss, shortage or trouble rose.".to_owned(),
        ));
    } else {
        blocks.push(Block::Table(rises(&counters.rises)));
    }
    if !counters.checks.is_empty() {
        blocks.push(Block::Table(checks(&counters.checks)));
    }
    if !counters.cgroups.is_empty() {
        blocks.push(Block::Table(cgroups(&counters.cgroups)));
    }
    blocks.push(Block::Code(vec![
        "netmortem show counters INPUT --filter 'rise > 0'".into(),
    ]));
    blocks
}

/// `3.0 s – 5.0 s, in 2 of 9 readings`; and how much of it, where it is not all: readings are of the recorder's own namespace.
fn rose(when: &When, rise: u64) -> String {
    let moment = |ns: Option<i64>, open: &str| ns.map_or_else(|| open.to_owned(), format::duration);
    let (from, to) = (moment(when.from_ns, "start"), moment(when.to_ns, "end"));
    let all = match when.told < rise {
        true => format!("; {} of {}", format::count(when.told), format::count(rise)),
        false => String::new(),
    };
    format!("{from} – {to}, in {} of {}{all}", when.parts, when.of_parts)
}

fn rises(rises: &[Rise]) -> Table {
    let row = |rise: &Rise| {
        let badge = match rise.meaning {
            Meaning::LostUnseen => Cell::Badge(Severity::Bad, "lost, no event".into()),
            Meaning::Lost => Cell::Badge(Severity::Bad, "lost".into()),
            Meaning::Short => Cell::Badge(Severity::Notice, "short".into()),
            Meaning::Sign => Cell::Badge(Severity::Info, "sign".into()),
        };
        let spaces: Vec<String> = rise.netns.iter().take(3).map(u64::to_string).collect();
        let more = if rise.netns.len() > 3 { ", …" } else { "" };
        vec![
            badge,
            name_cell(&rise.name),
            name_cell(&rise.of),
            Cell::Text(Text::from(spaces.join(", ") + more)),
            Cell::Count(rise.rise),
            rise.when
                .as_ref()
                .map_or(Cell::Unknown, |when| Cell::Text(rose(when, rise.rise).into())),
            Cell::Text(rise.says.into()),
        ]
    };
    Table {
        caption: "Counters that rose and mean something".into(),
        columns: vec![
            Column::text(""),
            Column::text("counter"),
            Column::text("of"),
            Column::text("network namespace"),
            Column::number("rise"),
            Column::text("when"),
            Column::text("what it says"),
        ],
        rows: rises.iter().take(ROWS).map(row).collect(),
        note: truncation(
            rises.len().min(ROWS),
            rises.len(),
            "the worst first, then by rise",
            "show counters INPUT",
        )
        .or_else(|| rises.iter().any(|rise| rise.when.is_some()).then(|| WHEN.into())),
    }
}

fn checks(checks: &[Check]) -> Table {
    let row = |check: &Check| {
        let (severity, word) = match check.agreement {
            Agreement::Equal => (Severity::Good, "equal"),
            Agreement::MoreCounted => (Severity::Notice, "more counted: outside of the recording, or lost"),
            Agreement::SeveralEach => (
                Severity::Info,
                "more counted, as of some calls the segments are not known",
            ),
            Agreement::MoreSeen => (
                Severity::Notice,
                "more seen: a namespace was not read, or came or went meanwhile",
            ),
        };
        vec![
            Cell::Text(check.counters.into()),
            Cell::Count(check.counted),
            Cell::Text(check.events.into()),
            Cell::Count(check.seen),
            Cell::Badge(severity, word.into()),
        ]
    };
    Table {
        caption: "Counters beside the events that tell the same".into(),
        columns: vec![
            Column::text("counters"),
            Column::number("rise"),
            Column::text("events"),
            Column::number("seen"),
            Column::text("they are"),
        ],
        rows: checks.iter().map(row).collect(),
        note: None,
    }
}

/// Names that a cell holds.
const PROCESSES: usize = 3;

fn cgroups(cgroups: &[CgroupRow]) -> Table {
    let limit = |us: u64| format::duration(i64::try_from(us).unwrap_or(i64::MAX).saturating_mul(1_000));
    let row = |c: &CgroupRow| {
        let more = c.processes.len().saturating_sub(PROCESSES) as u64 + c.processes_more;
        let mut names: String = c
            .processes
            .iter()
            .take(PROCESSES)
            .cloned()
            .collect::<Vec<_>>()
            .join(", ");
        if more > 0 {
            names += &format!(" and {more} more");
        }
        vec![
            name_cell(&c.path),
            name_cell(&names),
            Cell::Text(format!("{} per {}", limit(c.quota_us), limit(c.period_us)).into()),
            Cell::known(c.periods, Cell::Count),
            Cell::known(c.throttled, Cell::Count),
            Cell::known(c.throttled_share, Cell::Fraction),
            Cell::known(c.throttled_ns, Cell::Ns),
        ]
    };
    Table {
        caption: "Cgroups with a limit of CPU time".into(),
        columns: vec![
            Column::text("cgroup"),
            Column::text("processes"),
            Column::text("limit"),
            Column::number("periods"),
            Column::number("stopped in"),
            Column::number("part"),
            Column::number("stopped for"),
        ],
        rows: cgroups.iter().take(ROWS).map(row).collect(),
        note: Some(
            "Those stopped for longest first, by cpu.stat between the reading before and the one after: what is in a cgroup stands still while it is stopped, \
             whatever comes for it. Stopped for: summed over CPUs. All: netmortem show cgroups INPUT"
                .into(),
        ),
    }
}

#[cfg(test)]
mod tests;
