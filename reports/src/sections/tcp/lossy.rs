//! Remote hosts to which segments are sent again, beside those to which they are not. In: `Answers::tcp`.

use netmortem_analyzer::analyses::tcp::{LossyHost, LossyHosts};

use crate::clean::Text;
use crate::document::{Block, Cell, Column, Table};
use crate::format;
use crate::sections::shared::{counted, name_cell};

/// Nothing where no host stands out.
pub fn table(found: Option<&LossyHosts>) -> Option<Block> {
    let found = found?;
    let row = |h: &LossyHost| vec![name_cell(&h.host), Cell::Count(h.lossy), Cell::Count(h.connections)];
    let at = found.since_ns as f64 / 1e9;
    let network = found
        .network
        .as_ref()
        .map_or(String::new(), |n| format!(", all in {n}"));
    let others = match found.others {
        0 => String::new(),
        n => format!(", and {} more", counted(n, "host")),
    };
    let note = format!(
        "To these{others}{network}, {} of {} sent segments again, from {at:.3} s on, on {} of {}; to {} as much was sent, and hardly anything again.",
        format::count(found.again),
        counted(found.of, "call"),
        format::count(found.lossy),
        counted(found.lossy.saturating_add(found.clean), "connection"),
        counted(found.clean_hosts, "other host")
    );
    Some(Block::Table(Table {
        caption: "Remote hosts to which segments are sent again".into(),
        columns: vec![
            Column::text("host"),
            Column::number("connections that sent again"),
            Column::number("connections"),
        ],
        rows: found.hosts.iter().map(row).collect(),
        note: Some(Text::from(note)),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_listed_beside_those_that_lose_nothing() {
        let found = LossyHosts {
            hosts: vec![LossyHost {
                host: "10.18.3.4".into(),
                lossy: 3,
                connections: 8,
            }],
            others: 2,
            again: 40,
            of: 41,
            since_ns: 4_100_000_000,
            lossy: 9,
            clean: 11,
            clean_hosts: 5,
            network: Some("10.18.3.x".into()),
            asked: true,
        };
        let Some(Block::Table(t)) = table(Some(&found)) else {
            panic!()
        };
        assert_eq!(t.rows[0][1..], [Cell::Count(3), Cell::Count(8)]);
        let expected = "To these, and 2 hosts more, all in 10.18.3.x, 40 of 41 calls sent segments again, from 4.100 s on, on 9 of 20 connections; to 5 other hosts as much was sent, and hardly anything again.";
        assert_eq!(t.note.unwrap().as_str(), expected);
        assert!(table(None).is_none());
    }
}
