//! The single frees that lost a packet, or may have, with the ids that `netmortem explain` takes. In: the view `drops`.

use netmortem_analyzer::analyses::drops::{kind, owner};
use netmortem_analyzer::reconstruct::drops::tables::DropRow;
use netmortem_analyzer::table::Cell as Value;

use crate::clean::Text;
use crate::document::{Block, Cell, Column, Table};
use crate::sections::Input;
use crate::sections::shared::{counted, name_cell, truncation};

/// Rows of the table.
const ROWS: usize = 40;

/// Lost ones, then unclear ones, each in the order of time; nothing when there is none.
pub fn lost(input: &Input<'_>) -> Option<Block> {
    let all = input.facts.drops.iter().enumerate();
    let of = |expected| all.clone().filter(move |(_, row)| row.expected == expected);
    let rows: Vec<(usize, &DropRow)> = of(Some(false)).chain(of(None)).collect();
    let names = &input.facts.names;
    let text = |value: Value<'_>| match value {
        Value::Str(text) => name_cell(&text),
        _ => Cell::Unknown,
    };
    // A table without a lost segment of TCP needs no column of its repair.
    let repaired = rows.iter().any(|(_, row)| row.repair.is_some());
    let row = |(nth, row): &(usize, &DropRow)| {
        let mut cells = vec![
            Cell::Id(Text::from(format!("drop:{nth}"))),
            Cell::At(input.since_start(row.time_ns)),
            Cell::Text(kind(row.expected, row.background).word.into()),
            text(names.drop_reason(row.reason)),
            text(names.location(row.location)),
            name_cell(&row.dev.text()),
            Cell::Count(u64::from(row.cpu)),
            Cell::known(row.skb_id, |skb| Cell::Id(Text::from(format!("skb:{}", skb.0)))),
            Cell::known(owner(input.facts, row), |whose| Cell::Text(Text::name(&whose))),
        ];
        if repaired {
            let again = |nth| Cell::Id(Text::from(format!("retransmit:{nth}")));
            cells.push(Cell::known(row.repair.map(|of| of.retransmit), again));
            cells.push(Cell::known(row.repair.and_then(|of| of.after_ns), Cell::Ns));
        }
        cells
    };
    let mut columns = vec![
        Column::text("id"),
        Column::in_unit("at", "s"),
        Column::text(""),
        Column::text("reason"),
        Column::text("place"),
        Column::text("device"),
        Column::number("CPU"),
        Column::text("skb"),
        Column::text("whose"),
    ];
    if repaired {
        columns.extend([Column::text("sent again"), Column::time("repaired after")]);
    }
    let table = Table {
        caption: "Frees that lost a packet, or may have".into(),
        columns,
        rows: rows.iter().take(ROWS).map(row).collect(),
        note: truncation(
            rows.len().min(ROWS),
            rows.len(),
            "lost ones first, then by time",
            "show drops INPUT",
        ),
    };
    (!rows.is_empty()).then(|| Block::Details {
        summary: Text::from(format!(
            "Each of {} that lost a packet, or may have",
            counted(rows.len() as u64, "free")
        )),
        blocks: vec![Block::Table(table)],
    })
}
