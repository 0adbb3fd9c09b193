//! Do the bytes add up, how sure are the links, and how far are the clocks apart.

use netmortem_analyzer::analyses::quality::{Balance, Links, Quality, UNEXPLAINED_SHARE};

use super::super::shared::words;
use crate::document::{Block, Cell, Column, Severity, Table};
use crate::format::{bytes, count, percent};

pub fn blocks(quality: &Quality) -> Vec<Block> {
    let mut blocks = Vec::new();
    if !quality.balances.is_empty() {
        blocks.push(Block::Table(balances(&quality.balances)));
    }
    if !quality.links.is_empty() {
        blocks.push(Block::Table(links(&quality.links)));
    }
    let open = quality.balances.iter().any(marked);
    if blocks.is_empty() || open {
        return blocks;
    }
    // nothing to look at in it: the verdict comes sooner
    vec![Block::Details {
        summary: summary(quality).into(),
        blocks,
    }]
}

/// Whether a comparison that can be trusted leaves much unexplained.
fn marked(of: &Balance) -> bool {
    judged(of) && of.unexplained_bytes as f64 > of.bytes_expected as f64 * UNEXPLAINED_SHARE
}

fn judged(of: &Balance) -> bool {
    of.confidence != "unknown"
}

/// The folded tables in a line.
fn summary(quality: &Quality) -> String {
    let sum = |get: fn(&Balance) -> u64| {
        let judged = quality.balances.iter().filter(|of| judged(of));
        judged.map(get).fold(0, u64::saturating_add)
    };
    let bytes = match sum(|of| of.units) {
        0 => "No byte balance could be judged".to_owned(),
        _ => format!(
            "Bytes add up: {} of {} unexplained",
            bytes(sum(|of| of.unexplained_bytes)),
            bytes(sum(|of| of.bytes_expected))
        ),
    };
    let edges: u64 = quality.links.iter().map(|of| of.edges).sum();
    let solid: u64 = quality
        .links
        .iter()
        .flat_map(|of| &of.by_confidence)
        .filter(|(word, _)| matches!(**word, "certain" | "strong"))
        .map(|(_, n)| n)
        .sum();
    match edges {
        0 => bytes,
        _ => format!(
            "{bytes}; {} of {} links between packets are certain or strong",
            count(solid),
            count(edges)
        ),
    }
}

/// What is compared, for a person.
fn kind(word: &str) -> String {
    match word {
        "gro_head" => "GRO: growth of the head = payloads merged into it".to_owned(),
        "gso_children" => "GSO: packet cut = its segments".to_owned(),
        "coalesce_fifo" => "TCP receive: arrived = read + waiting".to_owned(),
        "tx_payload" => "TCP send: advance of snd_nxt = payloads sent".to_owned(),
        other => words(other),
    }
}

fn balances(balances: &[Balance]) -> Table {
    let reasons = balances.iter().any(|of| !of.because.is_empty());
    let row = |of: &Balance| {
        let share = (of.bytes_expected > 0).then(|| of.unexplained_bytes as f64 / of.bytes_expected as f64);
        let mut row = vec![
            Cell::Text(kind(of.kind).into()),
            Cell::Text(of.confidence.into()),
            Cell::Count(of.units),
            Cell::Count(of.matched),
            Cell::Bytes(of.bytes_expected),
            Cell::Bytes(of.bytes_found),
            Cell::Bytes(of.unexplained_bytes),
            Cell::known(share, |share| match marked(of) {
                true => Cell::Badge(Severity::Notice, percent(share).into()),
                false => Cell::Fraction(share),
            }),
        ];
        if reasons {
            row.push(Cell::known(
                (!of.because.is_empty()).then(|| of.because.join("; ")),
                |why| Cell::Text(why.into()),
            ));
        }
        row
    };
    let mut columns = vec![
        Column::text("what should be equal"),
        Column::text("comparison is"),
        Column::number("units"),
        Column::number("add up"),
        Column::number("bytes expected"),
        Column::number("bytes found"),
        Column::number("unexplained"),
        Column::number("share"),
    ];
    if reasons {
        columns.push(Column::text("why"));
    }
    Table {
        caption: "Do the bytes add up?".into(),
        columns,
        rows: balances.iter().map(row).collect(),
        note: Some("Expected: what the kernel's own lengths and sequence numbers say. Found: what the reconstructed links account for. Unexplained: the differences unit by unit, without sign, so that they never cancel. A comparison of unknown trust judges nothing. Rows: netmortem show balances INPUT".into()),
    }
}

fn links(links: &[Links]) -> Table {
    let row = |of: &Links| {
        let n = |word: &str| Cell::Count(of.by_confidence.get(word).copied().unwrap_or(0));
        vec![
            Cell::Text(link(of.kind).into()),
            Cell::Count(of.edges),
            n("certain"),
            n("strong"),
            n("weak"),
            n("unknown"),
            Cell::Count(of.not_conserved),
            Cell::Count(of.not_comparable),
        ]
    };
    Table {
        caption: "Links between lives of packets".into(),
        columns: vec![
            Column::text("link"),
            Column::number("links"),
            Column::number("certain"),
            Column::number("strong"),
            Column::number("weak"),
            Column::number("unknown"),
            Column::number("bytes do not add up"),
            Column::number("bytes not compared"),
        ],
        rows: links.iter().map(row).collect(),
        note: Some("A link whose bytes do not add up is weak. Not compared: a length is in no event; why is in `because` of the rows: netmortem show lineage INPUT".into()),
    }
}

/// A kind of link for a person.
fn link(word: &str) -> String {
    match word {
        "gro_merge" => "GRO merged into a head".to_owned(),
        "frag_list" => "GRO hung into a frag_list".to_owned(),
        "gso" => "cut by software GSO".to_owned(),
        "qdisc_segment" => "cut by a qdisc".to_owned(),
        "fclone" => "TCP original and the clone sent".to_owned(),
        "retransmit_copy" => "copy sent again".to_owned(),
        "coalesce" => "joined in a TCP receive queue".to_owned(),
        "tap" => "copy for a packet capture".to_owned(),
        other => words(other),
    }
}
