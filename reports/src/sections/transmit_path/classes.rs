//! The classes of the queues: what each may send, and what it sent in the recording.

use netmortem_analyzer::analyses::transmit::{Class, Transmit};

use super::super::shared::{name_cell, truncation};
use crate::clean::Text;
use crate::document::{Block, Cell, Column, Table};

/// Rows.
const MOST: usize = 40;

/// The table; none without classes.
pub fn table(transmit: &Transmit) -> Option<Block> {
    let of = transmit
        .queues
        .iter()
        .flat_map(|q| q.classes.iter().map(move |c| (&q.dev, c)));
    let all: Vec<(&String, &Class)> = of.collect();
    if all.is_empty() {
        return None;
    }
    let megabits = |bits: Option<u64>| Cell::known(bits, |b| Cell::Number(b as f64 / 1e6));
    let row = |(dev, c): &(&String, &Class)| {
        vec![
            name_cell(dev),
            name_cell(&c.class),
            megabits(c.rate_bit_s),
            megabits(c.ceil_bit_s),
            Cell::Count(c.bytes),
            Cell::Count(c.packets),
            Cell::Count(c.drops),
        ]
    };
    let how = "As tc -s class shows them, between the readings before and after the recording; only classes with a queue of their own.";
    let cut = truncation(
        all.len().min(MOST),
        all.len(),
        "by device and number",
        "show classes INPUT",
    );
    Some(Block::Table(Table {
        caption: "What the classes of these queues sent".into(),
        columns: vec![
            Column::text("device"),
            Column::text("class"),
            Column::in_unit("rate", "Mbit/s"),
            Column::in_unit("ceil", "Mbit/s"),
            Column::number("bytes"),
            Column::number("packets"),
            Column::number("drops"),
        ],
        rows: all.iter().take(MOST).map(row).collect(),
        note: Some(Text::from(match cut {
            Some(cut) => format!("{how} {cut}"),
            None => how.to_owned(),
        })),
    }))
}
