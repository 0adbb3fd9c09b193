//! What forwarding took of the CPUs. In: `Answers::forwarding`.

use netmortem_analyzer::analyses::forwarding::{Forwarding, Pair};

use super::ROWS;
use crate::document::{Block, Cell, Column, Table};
use crate::sections::shared::{name_cell, truncation};

/// The table, where anything was forwarded.
pub(super) fn table(forwarding: &Forwarding) -> Option<Block> {
    let row = |pair: &Pair| {
        let time = |ns| Cell::known(ns, Cell::Ns);
        vec![
            name_cell(&pair.from),
            name_cell(&pair.to),
            Cell::Count(pair.time.n),
            time(pair.time.p50_ns),
            time(pair.time.p99_ns),
            time(pair.time.max_ns),
            Cell::Fraction(pair.share),
        ]
    };
    let all = forwarding.pairs.len();
    let table = Table {
        caption: "Forwarding: time of a CPU for each packet".into(),
        columns: vec![
            Column::text("received on"),
            Column::text("queued on"),
            Column::number("packets"),
            Column::time("p50"),
            Column::time("p99"),
            Column::time("max"),
            Column::number("of NET_RX's time"),
        ],
        rows: forwarding.pairs.iter().take(ROWS).map(row).collect(),
        note: truncation(
            all.min(ROWS),
            all.saturating_add(usize::try_from(forwarding.others).unwrap_or(usize::MAX)),
            "most time first",
            "show hops INPUT",
        )
        .or_else(|| {
            Some("From the reception to the queue of the next device, in one NET_RX run: routing, netfilter, bridge; without what other packets had of the CPU meanwhile.".into())
        }),
    };
    (all > 0).then_some(Block::Table(table))
}
