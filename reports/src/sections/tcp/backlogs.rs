//! What `--extra kprobes` adds: sockets for which segments came while a thread was in a system call of them. In: `Tcp::backlogs`.

use netmortem_analyzer::analyses::tcp::Backlog;

use crate::document::{Block, Cell, Column, Table};
use crate::sections::Input;
use crate::sections::shared::{connection_cell, name_cell};

/// The table; none where nothing of it was recorded.
pub fn table(input: &Input<'_>, of: &[Backlog]) -> Option<Block> {
    let row = |b: &Backlog| {
        vec![
            b.connection.map_or(Cell::Unknown, connection_cell),
            name_cell(&b.label),
            Cell::Count(b.segments),
            Cell::Bytes(b.most_backlog.0),
            Cell::At(input.since_start(b.most_backlog.1)),
            Cell::Bytes(b.most_rmem),
            Cell::Bytes(b.rcvbuf),
        ]
    };
    (!of.is_empty()).then(|| {
        Block::Table(Table {
            caption: "Segments that waited behind a socket in use".into(),
            columns: vec![
                Column::text("socket"),
                Column::text("ends"),
                Column::number("segments"),
                Column::number("most behind it"),
                Column::in_unit("at", "s"),
                Column::number("receive queue then, at most"),
                Column::number("its limit"),
            ],
            rows: of.iter().map(row).collect(),
            note: Some("Memory, not payload: what each skb takes. All: netmortem show socket_backlogs.".into()),
        })
    })
}
