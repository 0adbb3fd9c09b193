//! Round trips by remote host: handshakes, ACKs and answers, and when they rose or fell.

use netmortem_analyzer::analyses::paths::{Change, Evidence, Host, Kind, Own, Paths, Sides};

use crate::clean::Text;
use crate::document::{Block, Cell, Column, Table};
use crate::format;
use crate::sections::Input;
use crate::sections::shared::{id_cell, name_cell};

/// The table; nothing where no round trip is known.
pub fn table(input: &Input<'_>, paths: &Paths) -> Vec<Block> {
    if paths.hosts.is_empty() {
        return Vec::new();
    }
    let row = |h: &Host| {
        vec![
            name_cell(&h.host),
            Cell::Text(if h.recorded { "yes" } else { "no" }.into()),
            Cell::Count(h.handshakes.n),
            Cell::known(h.handshakes.min_ns, Cell::Ns),
            Cell::known(h.handshakes.p50_ns, Cell::Ns),
            Cell::Count(h.acks.n),
            Cell::known(h.acks.min_ns, Cell::Ns),
            Cell::known(h.acks.p50_ns, Cell::Ns),
            id_cell(h.worst),
            Cell::Count(h.answers.n),
            Cell::known(h.answers.p50_ns, Cell::Ns),
            Cell::Text(Text::from(h.change.as_ref().map_or_else(
                || "none found".to_owned(),
                |c| change(c, |ns| format::moment(input.since_start(ns))),
            ))),
        ]
    };
    let others = match paths.others {
        0 => String::new(),
        n => format!(
            " The {} hosts with most round trips; {} others are left out.",
            paths.hosts.len(),
            format::count(n)
        ),
    };
    vec![Block::Table(Table {
        caption: "Round trips by remote host: handshakes, ACKs and answers".into(),
        columns: vec![
            Column::text("remote host"),
            Column::text("in the recording"),
            Column::number("handshakes"),
            Column::number("min"),
            Column::number("p50"),
            Column::number("ACKs"),
            Column::number("min"),
            Column::number("p50"),
            Column::text("the longest"),
            Column::number("answers"),
            Column::number("p50"),
            Column::text("change of the least of handshakes and ACKs"),
        ],
        rows: paths.hosts.iter().map(row).collect(),
        note: Some(Text::from(format!(
            "A handshake is answered by a kernel alone; an ACK may wait for the peer's delayed-ACK timer or for an answer. What rose in both is on the way or in the remote kernel, inferred.{others}"
        ))),
    })]
}

fn change(c: &Change, at: impl Fn(i64) -> String) -> String {
    let (low, high) = (format::duration(c.low_ns), format::duration(c.high_ns));
    let when = match (c.kind, c.to_ns) {
        (Kind::Spell, Some(to)) => format!("from {low} to {high} from {} s to {} s", at(c.from_ns), at(to)),
        (Kind::Fell, Some(to)) => format!("{high} until {} s, {low} from then on", at(to)),
        _ => format!("from {low} to {high} at {} s", at(c.from_ns)),
    };
    let sides = |what: &str, s: &Option<Sides>| {
        s.as_ref().map(|s| {
            let (other, inside) = (format::duration(s.other_ns), format::duration(s.in_ns));
            format!("{what} {other} (n {}) and {inside} (n {})", s.other_n, s.in_n)
        })
    };
    let bytes = c.in_flight.map(|(other, inside)| {
        let (other, inside) = (format::bytes(other), format::bytes(inside));
        format!("in flight {other} and {inside}")
    });
    let evidence = match c.evidence {
        Evidence::Handshakes => "handshakes say so: not its program",
        Evidence::Answers => "no handshakes on both sides",
        Evidence::Bulk => "ACKs of a sender with several segments in flight",
        Evidence::Acks => "ACKs alone, which may have been delayed",
        Evidence::NotHandshakes => "handshakes did not change: its program, or what held these segments alone",
    };
    let own = match c.own {
        Own::Nothing => None,
        Own::InFlight => Some("with more in flight from this host: it may have filled a queue itself"),
        Own::Received => Some("with more received from it: that may have filled a queue on the way back"),
        Own::Others => Some("with much more to or from another host, which may share a queue with it"),
        Own::Host => Some("this host's own part has much of that"),
    };
    let named = |what: &str, of: &[String]| (!of.is_empty()).then(|| format!("{what} {}", of.join(", ")));
    let parts = [
        Some(when),
        sides("handshakes", &c.handshakes),
        sides("ACKs", &c.acks),
        sides("answers", &c.answers),
        bytes,
        Some(evidence.to_owned()),
        own.map(str::to_owned),
        named("so did", &c.also),
        named("not so", &c.not),
    ];
    let said: Vec<String> = parts.into_iter().flatten().collect();
    said.join("; ")
}
