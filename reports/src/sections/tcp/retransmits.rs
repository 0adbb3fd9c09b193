//! The single calls that sent segments again, with the ids that `netmortem explain` takes. In: the view `retransmits`.

use netmortem_analyzer::reconstruct::tcp::tables::RetransmitRow;

use crate::clean::Text;
use crate::document::{Block, Cell, Column, Table};
use crate::sections::Input;
use crate::sections::shared::{counted, truncation, words};

/// Rows of the table.
const ROWS: usize = 40;

/// In the order of time; nothing when there is none.
pub fn one_by_one(input: &Input<'_>) -> Option<Block> {
    let all = &input.facts.retransmits;
    let row = |(nth, row): (usize, &RetransmitRow)| {
        vec![
            Cell::Id(Text::from(format!("retransmit:{nth}"))),
            Cell::At(input.since_start(row.time_ns)),
            Cell::known(row.connection, |c| Cell::Id(Text::from(format!("conn:{}", c.0)))),
            Cell::Text(words(row.class.word()).into()),
            Cell::known(row.segments, |n| Cell::Count(n.into())),
            Cell::known(row.bytes, |bytes| Cell::Bytes(bytes.into())),
            Cell::Text(row.confidence.word().into()),
        ]
    };
    let table = Table {
        caption: "Calls that sent segments again".into(),
        columns: vec![
            Column::text("id"),
            Column::in_unit("at", "s"),
            Column::text("connection"),
            Column::text("why"),
            Column::number("segments"),
            Column::number("frame"),
            Column::text("confidence"),
        ],
        rows: all.iter().enumerate().take(ROWS).map(row).collect(),
        note: truncation(
            all.len().min(ROWS),
            all.len(),
            "first ones first",
            "show retransmits INPUT",
        ),
    };
    (!all.is_empty()).then(|| Block::Details {
        summary: Text::from(format!(
            "Each of {} that sent segments again",
            counted(all.len() as u64, "call")
        )),
        blocks: vec![Block::Table(table)],
    })
}
