//! What `--extra kprobes` adds: how full accept queues were, and for how long names were resolved. In: `Opens::accept_queues`, `Opens::name_lookups`.

use netmortem_analyzer::analyses::opens::{AcceptQueue, Lookups, Opens};

use crate::document::{Block, Cell, Column, Table};
use crate::sections::Input;
use crate::sections::shared::{name_cell, quantile_cells, quantile_columns};

/// The tables of what was recorded.
pub fn blocks(input: &Input<'_>, found: &Opens) -> Vec<Block> {
    let mut blocks = Vec::new();
    if !found.accept_queues.is_empty() {
        blocks.push(Block::Table(queues(input, &found.accept_queues)));
    }
    if !found.name_lookups.is_empty() {
        blocks.push(Block::Table(lookups(input, &found.name_lookups)));
    }
    blocks
}

fn queues(input: &Input<'_>, of: &[AcceptQueue]) -> Table {
    let row = |q: &AcceptQueue| {
        vec![
            name_cell(&q.at),
            Cell::Count(q.sockets),
            Cell::Count(q.joined),
            Cell::Count(q.most.into()),
            Cell::Count(q.limit.into()),
            Cell::At(input.since_start(q.most_ns)),
            Cell::Count(q.full),
        ]
    };
    Table {
        caption: "Connections that waited to be accepted".into(),
        columns: vec![
            Column::text("listener"),
            Column::number("sockets"),
            Column::number("connections"),
            Column::number("most waiting"),
            Column::number("backlog"),
            Column::in_unit("at", "s"),
            Column::number("left no room"),
        ],
        rows: of.iter().map(row).collect(),
        note: Some("Known when a connection joins a queue, and not between. Backlog: of the socket with most waiting; one more than so many have room. One by one: netmortem show accept_queues.".into()),
    }
}

fn lookups(input: &Input<'_>, of: &[Lookups]) -> Table {
    let row = |l: &Lookups| {
        let mut row = vec![name_cell(&l.task)];
        row.extend(quantile_cells(&l.took));
        row.extend([
            Cell::known(l.slowest_ns, |ns| Cell::At(input.since_start(ns))),
            Cell::Count(l.took.unknown),
        ]);
        row
    };
    let mut columns = vec![Column::text("task")];
    columns.extend(quantile_columns());
    columns.extend([
        Column::in_unit("begin of the longest", "s"),
        Column::number("length unknown"),
    ]);
    Table {
        caption: "Names resolved (getaddrinfo of the host's libc)".into(),
        columns,
        rows: of.iter().map(row).collect(),
        note: Some(
            "Length unknown: its begin or its end is not in the recording. One by one: netmortem show name_lookups."
                .into(),
        ),
    }
}
