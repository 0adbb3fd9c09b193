//! Drops: which frees lost a packet, why and where; the frees that healthy kernels do are shown apart. In: `Answers::drops`, and neighbours
//! whose address changed meanwhile. That nothing tells whether a free lost a packet is its own answer, not "lost" and not "expected".

mod cut;
mod neighbours;
mod rows;

use netmortem_analyzer::analyses::Outcome;
use netmortem_analyzer::analyses::drops::{Drops, Group, KINDS, kind};
use netmortem_analyzer::analyses::verdict::unjoined_words;
use netmortem_analyzer::explain::{self, Id};

use super::shared::{figure, id_cell, name_cell, strip, truncation, unanswered};
use crate::chart::{BarRow, Bars, ChartSpec, Plot, Size, Tone, Unit};
use crate::clean::Text;
use crate::document::{Block, Cell, Column, Figure, Section, Severity, Table};
use crate::format;
use crate::sections::Input;

const ID: &str = "drops";
const TITLE: &str = "Drops";
/// Bars of one picture.
const BARS: usize = 15;
/// Rows of the table.
const ROWS: usize = 60;

/// What the columns say.
const REPAIRED: &str = "Repaired: of lost data of TCP sockets of this recording, those whose segment was seen sent again and acknowledged; the times are \
                        from the drop until all bytes of that segment were";

/// Builds the section.
#[must_use]
pub fn section(input: &Input<'_>) -> Section {
    match &input.answers.drops {
        Outcome::Unknown(reasons) => unanswered(ID, TITLE, reasons),
        Outcome::Findings(drops) => Section {
            id: ID,
            title: TITLE.into(),
            lead: lead(drops),
            blocks: blocks(input, drops),
        },
    }
}

fn lead(drops: &Drops) -> Text {
    Text::from(format!(
        "{} of {} kfree_skb lost a packet{}; {} {}, {} cannot be told apart.",
        format::count(drops.lost),
        format::count(drops.total),
        match drops.background {
            0 => String::new(),
            n => format!(", {} one of the kernel's own traffic", format::count(n)),
        },
        format::count(drops.expected),
        match drops.expected {
            1 => "is a free that healthy kernels do",
            _ => "are frees that healthy kernels do",
        },
        format::count(drops.unclear)
    ))
}

fn blocks(input: &Input<'_>, drops: &Drops) -> Vec<Block> {
    let mut blocks: Vec<Block> = (input.answers.quality.told.drops())
        .map(|said| strip(Severity::Notice, said))
        .collect();
    blocks.extend(unjoined_words(&drops.unjoined).into_iter().map(|(said, missed)| {
        let severity = if missed { Severity::Bad } else { Severity::Notice };
        strip(severity, said)
    }));
    if drops.lost == 0 {
        let also = if drops.unclear == 0 {
            ""
        } else {
            "; the unclear ones below may be"
        };
        blocks.push(strip(
            if drops.unclear == 0 {
                Severity::Good
            } else {
                Severity::Unknown
            },
            format!("No free is known to have lost a packet{also}."),
        ));
    }
    for kind in KINDS {
        let tone = match kind.expected {
            Some(false) if kind.background => Tone::Brown,
            Some(false) => Tone::Red,
            None => Tone::Orange,
            Some(true) => Tone::Grey,
        };
        let of_kind = |group: &&Group| (group.expected, group.background) == (kind.expected, kind.background);
        let groups: Vec<&Group> = drops.groups.iter().filter(of_kind).collect();
        blocks.extend(bars(kind.word, kind.title, tone, &groups).map(|figure| Block::Figure(Box::new(figure))));
    }
    if !drops.groups.is_empty() {
        blocks.push(Block::Table(table(input, &drops.groups)));
    }
    blocks.extend(cut::table(&drops.groups));
    blocks.extend(rows::lost(input));
    blocks.extend(neighbours::changed(input));
    blocks.push(Block::Code(vec!["netmortem show drops INPUT --format csv".into()]));
    blocks
}

fn bars(id: &str, title: &str, tone: Tone, groups: &[&Group]) -> Option<Figure> {
    if groups.is_empty() {
        return None;
    }
    let label = |group: &Group| {
        let reason = if group.reason.is_empty() {
            "reason not recorded"
        } else {
            &group.reason
        };
        let parts = [reason, &group.location, &group.dev];
        let parts: Vec<String> = parts
            .iter()
            .filter(|part| !part.is_empty())
            .map(|part| Text::name(part).to_string())
            .collect();
        Text::from(parts.join(" · "))
    };
    let rows = groups.iter().take(BARS).map(|group| BarRow {
        label: label(group),
        values: vec![group.count as f64],
        shown: None,
    });
    let note =
        (groups.len() > BARS).then(|| Text::from(format!("the {BARS} most frequent of {} groups", groups.len())));
    let parts = vec![("frees".into(), tone)];
    let plot = Bars {
        label: "frees".into(),
        unit: Unit::Count,
        parts,
        rows: rows.collect(),
    };
    Some(figure(
        id,
        ChartSpec {
            title: title.into(),
            note,
            size: Size::Full,
            plot: Plot::Bars(plot),
        },
        "",
    ))
}

/// What the columns of what drops cost say, before the rule.
fn costs(group: &Group) -> [Cell; 4] {
    let of = group.repairs.as_ref();
    let time = |ns: Option<i64>| Cell::known(ns, Cell::Ns);
    [
        time(of.and_then(|r| r.p50_ns)),
        time(of.and_then(|r| r.p99_ns)),
        time(of.and_then(|r| r.max_ns)),
        Cell::known(of, |r| {
            let known = format!("{} of {}", format::count(r.n), format::count(r.of));
            let unknown = format!("{} not known", format::count(r.unknown));
            Cell::Text(Text::from(match (r.of, r.unknown) {
                (_, 0) => known,
                (0, _) => unknown,
                _ => format!("{known}, {unknown}"),
            }))
        }),
    ]
}

fn table(input: &Input<'_>, groups: &[Group]) -> Table {
    let seconds = |ns| Cell::At(input.since_start(ns));
    // They are of data of TCP sockets of this recording only.
    let repaired = groups.iter().any(|group| group.repairs.is_some());
    let row = |group: &Group| {
        let severity = match group.expected {
            Some(false) if group.background => Severity::Notice,
            Some(false) => Severity::Bad,
            Some(true) => Severity::Good,
            None => Severity::Unknown,
        };
        let judged = Cell::Badge(severity, kind(group.expected, group.background).word.into());
        let mut cells = vec![
            judged,
            name_cell(&group.reason),
            name_cell(&group.location),
            name_cell(&group.dev),
            Cell::Count(group.count),
            seconds(group.first_ns),
            seconds(group.last_ns),
            id_cell(
                u32::try_from(group.first_drop)
                    .ok()
                    .map(|n| Id::new(explain::Kind::Drop, n)),
            ),
        ];
        if repaired {
            cells.extend(costs(group));
        }
        cells.push(Cell::Text(group.why.into()));
        cells
    };
    let mut columns = vec![
        Column::text(""),
        Column::text("reason"),
        Column::text("place"),
        Column::text("device"),
        Column::number("frees"),
        Column::in_unit("first", "s"),
        Column::in_unit("last", "s"),
        Column::text("the first"),
    ];
    if repaired {
        columns.extend([
            Column::time("repaired after p50"),
            Column::time("p99"),
            Column::time("worst"),
            Column::text("repaired"),
        ]);
    }
    columns.push(Column::text("rule"));
    Table {
        caption: "By reason, place and device".into(),
        columns,
        rows: groups.iter().take(ROWS).map(row).collect(),
        note: truncation(
            groups.len().min(ROWS),
            groups.len(),
            "lost ones first, then by number",
            "show drops INPUT",
        )
        .or_else(|| repaired.then(|| REPAIRED.into())),
    }
}

#[cfg(test)]
mod tests;
