//! What held each sender back: its limiters as bars, and its top wait and round trip in a table.

use std::collections::BTreeMap;

use netmortem_analyzer::analyses::transmit::{Sender, Transmit};

use super::super::shared::{connection_cell, figure, name_cell, truncation, words};
use crate::chart::{BarRow, Bars, ChartSpec, Plot, Size, Tone, Unit};
use crate::clean::Text;
use crate::document::{Block, Cell, Column, Figure, Table};
use crate::format;

/// Connections in the table, and in the picture.
const ROWS: usize = 40;
const BARS: usize = 12;
/// Limiters of a connection that are named in the table.
const NAMED: usize = 2;

pub fn blocks(transmit: &Transmit) -> Vec<Block> {
    let mut blocks: Vec<Block> = limiters(&transmit.connections)
        .map(|figure| Block::Figure(Box::new(figure)))
        .into_iter()
        .collect();
    if !transmit.connections.is_empty() {
        blocks.push(Block::Table(table(&transmit.connections)));
    }
    blocks
}

fn limiters(connections: &[Sender]) -> Option<Figure> {
    let limited = || connections.iter().filter(|sender| !sender.limiters.is_empty());
    let shown: Vec<&Sender> = limited().take(BARS).collect();
    if shown.is_empty() {
        return None;
    }
    // A colour each for those that hold most; the others share grey.
    let mut by: BTreeMap<&str, f64> = BTreeMap::new();
    for (name, share) in shown.iter().flat_map(|sender| &sender.limiters) {
        *by.entry(name).or_default() += share;
    }
    let mut order: Vec<(&str, f64)> = by.into_iter().collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1));
    let own: Vec<&str> = order.iter().take(Tone::SERIES.len()).map(|(name, _)| *name).collect();
    let mut parts: Vec<(Text, Tone)> = own
        .iter()
        .enumerate()
        .map(|(at, name)| (words(name).into(), Tone::nth(at)))
        .collect();
    if order.len() > own.len() {
        parts.push(("other waits".into(), Tone::Grey));
    }
    let row = |sender: &&Sender| {
        let mut values = vec![0.0; parts.len()];
        for (name, share) in &sender.limiters {
            let at = own.iter().position(|other| other == name).unwrap_or(own.len());
            if let Some(value) = values.get_mut(at) {
                *value += share;
            }
        }
        BarRow {
            label: Text::name(&sender.label),
            values,
            shown: sender.limiters.first().map(|first| Text::from(limiter(first))),
        }
    };
    let rows: Vec<BarRow> = shown.iter().map(row).collect();
    let all = limited().count();
    let note = (all > BARS).then(|| Text::from(format!("{BARS} of {all} connections, most segments first")));
    let plot = Bars {
        label: "share of the time in which it was busy".into(),
        unit: Unit::Fraction,
        parts,
        rows,
    };
    let chart = ChartSpec {
        title: "What held the senders back".into(),
        note,
        size: Size::Full,
        plot: Plot::Bars(plot),
    };
    let caption = "Of the time in which something of a connection waited or was not acknowledged, each moment counted once; what is not there was under way. A window that is full comes before pacing.";
    Some(figure("limiters", chart, caption))
}

/// `cwnd 62.0 %`
fn limiter((name, share): &(&'static str, f64)) -> String {
    format!("{} {}", words(name), format::percent(*share))
}

fn table(connections: &[Sender]) -> Table {
    let row = |sender: &Sender| {
        let time = |ns| Cell::known(ns, Cell::Ns);
        let top = sender.top.as_ref();
        let held: Vec<String> = sender.limiters.iter().take(NAMED).map(limiter).collect();
        vec![
            connection_cell(sender.connection),
            name_cell(&sender.label),
            Cell::Count(sender.segments),
            Cell::Count(sender.retransmits),
            Cell::known(top, |top| {
                let doubt = match top.confidence.is_solid() {
                    true => String::new(),
                    false => format!(", {}", top.confidence.word()),
                };
                let share = format::percent(top.share);
                Cell::Text(format!("{} {share}{doubt}", words(top.stage)).into())
            }),
            Cell::known((!held.is_empty()).then(|| held.join(", ")), |held| {
                Cell::Text(held.into())
            }),
            Cell::Count(sender.rtt.n),
            time(sender.rtt.p50_ns),
            time(sender.rtt.p99_ns),
        ]
    };
    let how = "Top wait: the stage that held most of the acknowledged segments' time, its share of it, and when it is less than strong, how sure it is. Held back by: the largest shares of the time in which something of the connection waited or was not acknowledged, each moment counted once (another base than the top wait's, which is of segments' time). RTT: device to ACK, of certain and strong segments sent once.";
    let shown = connections.len().min(ROWS);
    let cut = truncation(shown, connections.len(), "most segments first", "show tx INPUT");
    Table {
        caption: "Senders".into(),
        columns: vec![
            Column::text("id"),
            Column::text("socket (local > remote)"),
            Column::number("segments"),
            Column::number("times sent again"),
            Column::text("top wait"),
            Column::text("held back by"),
            Column::number("RTT n"),
            Column::time("RTT p50"),
            Column::time("RTT p99"),
        ],
        rows: connections.iter().take(ROWS).map(row).collect(),
        note: Some(Text::from(match cut {
            Some(cut) => format!("{how} {cut}"),
            None => how.to_owned(),
        })),
    }
}
