//! The report as Markdown for a ticket: title, trigger, verdict, how far it can be trusted, what each section says in a sentence, and the
//! two tables of stages. Everything else is in the page.
//!
//! Names of a recording are text here too: what Markdown or HTML would read as markup is escaped, and nobody is mentioned by an `@`.

use crate::clauses::{nested, steps};
use crate::document::{Block, Cell, Document, Finding, Findings, Section, Table};
use crate::sections;

/// Rows of a table.
const ROWS: usize = 24;
/// Columns of a table: a ticket is narrow.
const COLUMNS: usize = 7;
/// Sections whose first table is shown.
const WITH_TABLE: [&str; 2] = ["receive-path", "transmit-path"];

/// The summary.
#[must_use]
pub fn markdown(document: &Document) -> String {
    let mut out = String::new();
    line(&mut out, &format!("## {}", escaped(document.title.as_str())));
    if !document.subtitle.is_empty() {
        line(&mut out, "");
        line(&mut out, &escaped(document.subtitle.as_str()));
    }
    for section in &document.sections {
        match section.id == sections::verdict::ID {
            true => verdict(section, &mut out),
            false => brief(section, &mut out),
        }
    }
    line(&mut out, "");
    line(&mut out, &format!("_{}_", escaped(document.footer.as_str())));
    out
}

fn verdict(section: &Section, out: &mut String) {
    line(out, "");
    match section.findings() {
        [] => line(out, &format!("**{}**", escaped(section.lead.as_str()))),
        findings => findings.iter().for_each(|of| list(of, out)),
    }
    line(out, "");
    for block in &section.blocks {
        match block {
            Block::Strip(strip) => {
                let word = strip.severity.word();
                let mut clauses = nested(strip.sentence.as_str()).into_iter();
                let first = clauses.next().map_or("", |(_, clause)| clause);
                line(out, &format!("- **{word}**: {}", escaped(first)));
                for (deep, clause) in clauses {
                    line(out, &format!("{}- {}", "  ".repeat(deep), escaped(clause)));
                }
                if let Some(detail) = &strip.detail {
                    line(out, &format!("  {}", escaped(detail.as_str())));
                }
            }
            // What a trigger rests on.
            Block::Details { summary, blocks } => {
                line(out, &format!("- {}", escaped(summary.as_str())));
                for block in blocks {
                    let Block::List(lines) = block else { continue };
                    for of in lines {
                        line(out, &format!("  - {}", escaped(of.as_str())));
                    }
                }
            }
            Block::KeyValues(pairs) => {
                for (name, value) in pairs {
                    line(
                        out,
                        &format!("- {}: {}", escaped(name.as_str()), escaped(value.as_str())),
                    );
                }
            }
            Block::Tiles(tiles) => {
                let tile = |tile: &crate::document::Tile| format!("{}: {} ({})", tile.label, tile.value, tile.detail);
                let tiles: Vec<String> = tiles.iter().map(tile).collect();
                line(out, &format!("- {}", escaped(&tiles.join("; "))));
            }
            _ => {}
        }
    }
}

/// What is wrong, or worth a look, a line each.
fn list(of: &Findings, out: &mut String) {
    line(out, &format!("**{}**", escaped(of.title.as_str())));
    line(out, "");
    for finding in &of.said {
        let mut parts = steps(finding.text.as_str()).into_iter();
        line(out, &format!("- **{}**", escaped(&parts.next().unwrap_or_default())));
        for part in parts {
            line(out, &format!("  - {}", escaped(&part)));
        }
        if !finding.so.is_empty() {
            line(out, &format!("  - {}", Finding::SO));
        }
        for (so, _) in &finding.so {
            line(out, &format!("    - {}", escaped(so.as_str())));
        }
    }
    if of.more > 0 {
        line(out, &format!("- {}", Finding::more(of.more, of.severity)));
    }
    line(out, "");
}

fn brief(section: &Section, out: &mut String) {
    if section.lead.is_empty() || section.id == "method" || section.id == "over-time" {
        return;
    }
    line(out, "");
    line(out, &format!("### {}", escaped(section.title.as_str())));
    line(out, "");
    line(out, &escaped(section.lead.as_str()));
    let table = section.blocks.iter().find_map(|block| match block {
        Block::Table(table) if WITH_TABLE.contains(&section.id) => Some(table),
        _ => None,
    });
    if let Some(data) = table {
        line(out, "");
        write_table(data, out);
        // Of what the columns are; the rest of the note is of columns that are only on the page.
        let of = data.note.as_ref().and_then(|note| note.as_str().split("; ").next());
        if let Some(of) = of {
            line(out, "");
            line(out, &format!("{}.", escaped(of)));
        }
    }
}

/// The first columns, without rows that counted nothing and have no part of the time.
fn write_table(table: &Table, out: &mut String) {
    let units = table.time_units();
    let columns = table.columns.len().min(COLUMNS);
    let heads: Vec<String> = table
        .columns
        .iter()
        .take(columns)
        .map(|column| escaped(column.title.as_str()))
        .collect();
    line(out, &format!("| {} |", heads.join(" | ")));
    let rules: Vec<&str> = table
        .columns
        .iter()
        .take(columns)
        .map(|column| match column.kind {
            crate::document::ColumnKind::Text => "---",
            _ => "---:",
        })
        .collect();
    line(out, &format!("| {} |", rules.join(" | ")));
    let has_part = |row: &Vec<Cell>| {
        let mut shown = row.iter().take(columns);
        shown.any(|cell| matches!(cell, Cell::Fraction(share) if *share > 0.0))
    };
    let told = |row: &&Vec<Cell>| row.get(1) != Some(&Cell::Count(0)) || has_part(row);
    for row in table.rows.iter().filter(told).take(ROWS) {
        let cells: Vec<String> = row
            .iter()
            .take(columns)
            .enumerate()
            .map(|(at, cell)| match units.get(at).copied().flatten() {
                // A unit in every cell: a heading without one is easier to quote.
                Some(unit) if matches!(cell, Cell::Ns(ns) if *ns != 0) => {
                    format!("{}\u{202f}{}", cell.shown(Some(unit)), unit.symbol())
                }
                unit => cell.shown(unit),
            })
            .map(|text| escaped(&text))
            .collect();
        line(out, &format!("| {} |", cells.join(" | ")));
    }
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

/// Text that Markdown shows as it is.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '!' | '$' => out.extend(['\\', c]),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            // Trackers look for mentions and numbers of issues in what is shown, not in what was written: a character
            // without width keeps what follows apart.
            '@' => out.push_str("&#64;&#8203;"),
            '#' => out.push_str("&#35;&#8203;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests;
