//! Connects to socket files of the host (AF_UNIX) of which some failed or waited. In: `Opens::full_queues`.

use netmortem_analyzer::analyses::opens::FullQueue;

use crate::document::{Block, Cell, Column, Table};
use crate::sections::shared::name_cell;

/// The table, where there is something in it.
pub fn block(of: &[FullQueue]) -> Option<Block> {
    let row = |q: &FullQueue| {
        vec![
            name_cell(&q.by),
            Cell::Count(q.calls),
            Cell::Count(q.full),
            Cell::known(q.within_ns, |(first, _)| Cell::At(first)),
            Cell::known(q.within_ns, |(_, last)| Cell::At(last)),
            Cell::Count(q.refused),
            Cell::Count(q.denied),
            Cell::Count(q.waited),
            Cell::Ns(q.longest_ns),
        ]
    };
    let table = Table {
        caption: "Connects to socket files (AF_UNIX)".into(),
        columns: vec![
            Column::text("by"),
            Column::number("calls"),
            Column::number("queue full"),
            Column::in_unit("first", "s"),
            Column::in_unit("last", "s"),
            Column::number("refused"),
            Column::number("denied"),
            Column::number("waited"),
            Column::time("longest"),
        ],
        rows: of.iter().map(row).collect(),
        note: Some(
            "Queue full: EAGAIN at once. Waited: 100 ms or longer, for room or for a CPU. Longest: of those that succeeded, or were ended by a signal or their own time-out. No packet and no drop tells of these, and no event which file it was. By thread: netmortem show unix_connects INPUT".into(),
        ),
    };
    (!of.is_empty()).then_some(Block::Table(table))
}
