//! What is told of the way beyond this host: a queue that its own bytes fill, and addresses that do not answer any more. In: `Answers::paths`, `Answers::transmit`.

use netmortem_analyzer::analyses::paths::{Direction, Filled};
use netmortem_analyzer::analyses::transmit::WentSilent;

use crate::clean::Text;
use crate::document::{Block, Cell, Column, Table};
use crate::format;
use crate::sections::shared::{counted, name_cell};

/// Spells told.
const SPELLS: usize = 8;

/// The queue, where there is one.
pub fn filled(found: Option<&Filled>) -> Option<Block> {
    let f = found?;
    let s = |ns: i64| format!("{:.3}", ns as f64 / 1e9);
    let spells: Vec<String> = (f.spells.iter().take(SPELLS))
        .map(|(from, to)| format!("{} to {} s", s(*from), s(*to)))
        .collect();
    let more = match f.spells.len().saturating_sub(SPELLS) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    let names = |of: &[String]| match of {
        [] => Text::from("none"),
        of => Text::from(of.join(", ")),
    };
    let way = match f.direction {
        Direction::Sent => "sent to",
        Direction::Received => "received from",
    };
    Some(Block::KeyValues(vec![
        (
            "Queue beyond this host that its own bytes fill".into(),
            Text::from(format!("{way} {}", f.host)),
        ),
        (
            "by".into(),
            Text::from(format!(
                "{} at {}, {}",
                f.task,
                f.at,
                counted(f.connections, "connection")
            )),
        ),
        (
            "bytes".into(),
            Text::from(format!(
                "{}, {} a second",
                format::bytes(f.bytes),
                format::bytes(f.rate_per_s)
            )),
        ),
        ("when".into(), Text::from(format!("{}{more}", spells.join(", ")))),
        (
            "round trips of others".into(),
            Text::from(format!(
                "p50 {} (n {}) outside of these times, {} (n {}) in them",
                format::duration(f.low_ns),
                format::count(f.low_n),
                format::duration(f.high_ns),
                format::count(f.high_n)
            )),
        ),
        ("longer to".into(), names(&f.also)),
        ("not longer to".into(), names(&f.not)),
    ]))
}

/// Pairs of addresses that spoke both ways, and have no answer any more.
pub fn silent(found: Option<&WentSilent>) -> Option<Block> {
    let w = found?;
    let row = |(address, pairs): &(String, u64)| vec![name_cell(address), Cell::Count(*pairs)];
    let routes = match (&w.routes, &w.moved) {
        (Some((before, since)), _) => format!(" The default route was {before} before, and is {since}."),
        (None, Some((before, since))) => format!(" What went on by {before} goes on by {since} since."),
        (None, None) => String::new(),
    };
    let others = match w.others {
        0 => String::new(),
        n => format!(" There are {} more such addresses.", format::count(n)),
    };
    let note = format!(
        "Of packets that are passed on, by their route lookups: {} of addresses without an answer from {:.3} s on, {} at least; {} had answers since.{routes}{others}",
        counted(w.pairs, "pair"),
        w.since_ns as f64 / 1e9,
        counted(w.packets, "packet"),
        format::count(w.answered)
    );
    Some(Block::Table(Table {
        caption: "Addresses that nothing comes from any more".into(),
        columns: vec![Column::text("address"), Column::number("pairs")],
        rows: w.silent.iter().map(row).collect(),
        note: Some(Text::from(note)),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_without_an_answer_are_listed_with_what_changed() {
        let mut w = WentSilent {
            pairs: 12,
            since_ns: 5_250_000_000,
            packets: 90,
            silent: vec![("10.0.0.7".into(), 9), ("<b>".into(), 3)],
            others: 2,
            askers: 4,
            answered: 40,
            moved: Some(("eth0".into(), "eth1".into())),
            routes: None,
        };
        let note = |w: &WentSilent| match silent(Some(w)) {
            Some(Block::Table(t)) => (t.rows.len(), t.note.unwrap().to_string()),
            other => panic!("{other:?}"),
        };
        let (rows, said) = note(&w);
        assert_eq!(rows, 2);
        assert!(
            said.contains(
                "12 pairs of addresses without an answer from 5.250 s on, 90 packets at least; 40 had answers since."
            ),
            "{said}"
        );
        assert!(
            said.ends_with("What went on by eth0 goes on by eth1 since. There are 2 more such addresses."),
            "{said}"
        );
        w.routes = Some(("via 10.0.0.1".into(), "via 10.0.0.2".into()));
        assert!(
            note(&w)
                .1
                .contains("The default route was via 10.0.0.1 before, and is via 10.0.0.2.")
        );
        assert!(silent(None).is_none() && filled(None).is_none());
    }

    #[test]
    fn a_queue_is_told_with_who_fills_it_and_who_waited() {
        let f = Filled {
            direction: Direction::Sent,
            host: "10.61.6.2".into(),
            at: "10.61.1.2:6379".into(),
            task: "redis".into(),
            connections: 1,
            bytes: 12_000_000,
            rate_per_s: 4_000_000,
            spells: (0..10)
                .map(|n| (n * 1_000_000_000, n * 1_000_000_000 + 500_000_000))
                .collect(),
            also: vec!["10.61.6.3".into()],
            not: vec![],
            low_ns: 600_000,
            high_ns: 77_000_000,
            low_n: 295,
            high_n: 230,
        };
        let Some(Block::KeyValues(rows)) = filled(Some(&f)) else {
            panic!()
        };
        let of = |key: &str| {
            let found = rows.iter().find(|(k, _)| k.as_str() == key);
            found
                .map(|(_, v)| v.to_string().replace(['\u{202f}', '\u{a0}'], " "))
                .unwrap()
        };
        assert_eq!(of("by"), "redis at 10.61.1.2:6379, 1 connection");
        assert!(of("when").starts_with("0.000 to 0.500 s, 1.000 to 1.500 s") && of("when").ends_with("and 2 more"));
        assert_eq!(
            (of("longer to"), of("not longer to")),
            ("10.61.6.3".into(), "none".into())
        );
        assert!(
            of("round trips of others").contains("(n 295) outside of these times, 77.0 ms (n 230) in them"),
            "{}",
            of("round trips of others")
        );
    }
}
