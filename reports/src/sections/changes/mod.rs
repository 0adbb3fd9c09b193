//! What was changed on the host meanwhile, and what was different after it. In: `Answers::changes`.

use netmortem_analyzer::analyses::changes::{Changes, Cluster};

use super::shared::counted;
use crate::clean::Text;
use crate::document::{Block, Cell, Column, Section, Severity, Table};
use crate::format;
use crate::sections::Input;

#[cfg(test)]
mod tests;

/// Changes whose comparison in full is offered, at most.
const COMPARED: usize = 3;

/// Builds the section.
#[must_use]
pub fn section(input: &Input<'_>) -> Section {
    let found = &input.answers.changes;
    Section {
        id: "changes",
        title: "Changes of the host".into(),
        lead: lead(found, input.facts.capture.complete),
        blocks: blocks(found),
    }
}

fn lead(found: &Changes, complete: bool) -> Text {
    let mut lost = match found.lost {
        0 => String::new(),
        n => format!(" {} something that was announced was lost.", counted(n, "time")),
    };
    if !complete {
        lost += " The file is cut or damaged: what was announced last, or meanwhile, may be missing.";
    }
    let nothing = match lost.is_empty() {
        true => "Nothing was",
        false => "Nothing is known to have been",
    };
    Text::from(match (found.heard, found.count) {
        (false, _) => "Not known: the recording has nothing of what the kernel announces of links, routes, rules, qdiscs and settings (recorders since 2026-11-30 listen to it; a cut by flow leaves it out).".to_owned(),
        (true, 0) => format!("{nothing} changed of links, addresses, routes, rules, qdiscs, nftables' rules and settings that the kernel announces.{lost}"),
        (true, n) => format!("{} of links, addresses, routes, rules, qdiscs, nftables' rules or settings.{lost}", counted(n, "change")),
    })
}

fn blocks(found: &Changes) -> Vec<Block> {
    let mut blocks = vec![];
    if !found.clusters.is_empty() {
        blocks.push(Block::Table(table(found)));
    }
    if found.passing > 0 {
        blocks.push(Block::Paragraph(Text::from(format!(
            "{} of devices and network namespaces that came in the recording, as with a container, {} not among these.",
            counted(found.passing, "change"),
            if found.passing == 1 { "is" } else { "are" }
        ))));
    }
    if found.heard {
        let mut commands = vec![Text::from("netmortem show changes INPUT --format csv")];
        commands.extend(found.clusters.iter().filter_map(in_full).take(COMPARED));
        blocks.push(Block::Code(commands));
    }
    blocks
}

/// The command that compares what was before a change with what was after it, where something was worse and both last a second.
fn in_full(c: &Cluster) -> Option<Text> {
    const MS: i64 = 1_000_000;
    let [before, after] = c.parts_ns.filter(|_| c.is_worse())?;
    // Whole milliseconds that lie inside.
    let inside = |(from, to): (i64, i64)| (from.saturating_add(MS - 1).div_euclid(MS), to.div_euclid(MS));
    let (before, after) = (inside(before), inside(after));
    let lasts = |(from, to): (i64, i64)| from >= 0 && to - from >= 1_000;
    let text = |(from, to): (i64, i64)| format!("{}ms..{}ms", from, to);
    (lasts(before) && lasts(after)).then(|| {
        Text::from(format!(
            "netmortem diff INPUT INPUT --before-time {} --after-time {}",
            text(before),
            text(after)
        ))
    })
}

/// With names of the host in it; cleaned, as all texts are.
fn text(says: &str) -> Cell {
    Cell::Text(Text::from(says))
}

fn table(found: &Changes) -> Table {
    let row = |c: &Cluster| {
        let after = c.differs();
        let (badge, after) = match (after.as_str(), c.compared_ns) {
            ("", None) => (
                Cell::Unknown,
                Cell::Text("not compared: too short a time, events missing, or read late".into()),
            ),
            ("", Some(_)) => (Cell::Badge(Severity::Info, "as before".into()), Cell::Unknown),
            (of, _) if c.is_worse() => (Cell::Badge(Severity::Notice, "worse".into()), text(of)),
            (of, _) if c.effects.iter().any(|e| e.late) => (Cell::Badge(Severity::Info, "later".into()), text(of)),
            (of, _) => (Cell::Badge(Severity::Good, "better".into()), text(of)),
        };
        vec![Cell::At(c.from_ns), text(&c.words()), badge, after]
    };
    let note = "Compared is the time since the change before it, and until the next one, 10 s at most on either side. What differs after a change need not be of it.";
    let more = match found.more {
        0 => String::new(),
        n => format!(" {} later ones are not in this table.", format::count(n)),
    };
    Table {
        caption: "Changes, and what was different after each".into(),
        columns: vec![
            Column::in_unit("at", "s"),
            Column::text("what, and by whom"),
            Column::text("after it"),
            Column::text("what differs"),
        ],
        rows: found.clusters.iter().map(row).collect(),
        note: Some(Text::from(format!("{note}{more}"))),
    }
}
