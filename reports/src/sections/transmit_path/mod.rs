//! The transmit path: where sent TCP segments spent their time, what held their senders back, round trips and recovery. In: `Answers::transmit`.
//!
//! ```text
//! lead (p50, p99, max of the whole) -> who is left out -> ledger.rs: chart and table of stages
//!   -> senders (senders.rs: limiters, top wait, RTT) -> recovery by class -> RTT by host, over time (paths.rs) -> ledger.rs: pictures of the stages
//! ```
//! The waits of a segment overlap those of the segments queued with it: shares are of segments' time, not of the clock's.

mod beyond;
mod classes;
mod paths;
mod senders;

use std::collections::BTreeMap;

use netmortem_analyzer::Reason;
use netmortem_analyzer::analyses::Outcome;
use netmortem_analyzer::analyses::transmit::{DeviceQueue, PeerPart, Transmit};
use netmortem_analyzer::stat::Distribution as Summary;

use super::ledger::{CURVES, Ledger, weak};
use super::shared::{
    compared, counted, id_cell, name_cell, quantile_cells, quantile_columns, spoken, strip, truncation, unanswered,
    words,
};
use super::{exemplars, groups};
use crate::chart::Size;
use crate::clean::Text;
use crate::document::{Block, Cell, Column, Section, Severity, Table};
use crate::format;
use crate::sections::Input;

const ID: &str = "transmit-path";
const TITLE: &str = "Transmit path";
/// Hosts in a table.
const HOSTS: usize = 20;

/// Builds the section.
#[must_use]
pub fn section(input: &Input<'_>) -> Section {
    match &input.answers.transmit {
        Outcome::Unknown(reasons) => unanswered(ID, TITLE, reasons),
        Outcome::Findings(transmit) => Section {
            id: ID,
            title: TITLE.into(),
            lead: lead(transmit),
            blocks: blocks(input, transmit),
        },
    }
}

/// Segments with payload, whatever became of them.
fn segments(transmit: &Transmit) -> u64 {
    transmit.by_confidence.values().sum()
}

fn lead(transmit: &Transmit) -> Text {
    let (total, n) = spoken(&transmit.total);
    let time = |ns| format::or_unknown(ns, format::duration);
    Text::from(match transmit.acked {
        0 => "No TCP segment with payload was seen from its send call to its ACK.".to_owned(),
        _ => format!(
            "From {} to the ACK that covers it, a TCP segment needed {} at the median, {} at p99, {} at most ({n}).",
            from(transmit),
            time(total.p50_ns),
            time(total.p99_ns),
            time(total.max_ns)
        ),
    })
}

/// Where the segments' time starts.
fn from(transmit: &Transmit) -> String {
    match transmit.starts.get("sendmsg").copied().unwrap_or(0) {
        n if n == transmit.acked => "the start of its send call".to_owned(),
        0 => "its first event (no send call was seen: what was before is not known)".to_owned(),
        n => format!(
            "its first event (of {} of all {} acknowledged: the start of the send call)",
            format::count(n),
            format::count(transmit.acked)
        ),
    }
}

/// What was sent, and how sure its rows are.
fn rows(transmit: &Transmit) -> String {
    let of = |map: &BTreeMap<&'static str, u64>| {
        let parts: Vec<String> = map
            .iter()
            .rev()
            .map(|(word, n)| format!("{} {}", format::count(*n), kind(word)))
            .collect();
        parts.join(", ")
    };
    let segments = segments(transmit);
    let mut said = match segments {
        0 => "No TCP segment with payload was sent.".to_owned(),
        _ => format!(
            "{} with payload {} sent (before GSO; retransmissions belong to the first transmission). Confidence: {}.",
            counted(segments, "TCP segment"),
            if segments == 1 { "was" } else { "were" },
            of(&transmit.by_confidence)
        ),
    };
    if !transmit.others.is_empty() {
        said = format!(
            "{said} Other packets end at the device and are in no figure here: {}.",
            of(&transmit.others)
        );
    }
    said
}

/// A kind of packet for a person.
fn kind(word: &str) -> &str {
    match word {
        "tcp_control" => "TCP without payload",
        "tcp_unknown" => "TCP of which it is not known whether they had payload",
        "udp" => "UDP",
        "other" => "neither TCP nor UDP, or not known",
        word => word,
    }
}

/// Which segments the percentiles leave out, and why.
fn excluded(transmit: &Transmit) -> String {
    let elsewhere = segments(transmit)
        .saturating_sub(transmit.acked)
        .saturating_sub(transmit.open)
        .saturating_sub(transmit.dropped);
    let cut: Vec<String> = [
        (transmit.open, "not acknowledged when the recording ended"),
        (transmit.dropped, "dropped by this host and not acknowledged"),
        (elsewhere, "given to the device, with no ACK seen"),
    ]
    .into_iter()
    .filter(|(n, _)| *n > 0)
    .map(|(n, text)| format!("{} {text}", format::count(n)))
    .collect();
    let none = match cut.is_empty() {
        true => "No segment is left out of the percentiles".to_owned(),
        false => format!(
            "Left out of every percentile and share, because their whole time is not known: {}",
            cut.join(", ")
        ),
    };
    format!(
        "{none}{}",
        weak(transmit.total.all.n.saturating_sub(transmit.total.solid.n))
    )
}

fn blocks(input: &Input<'_>, transmit: &Transmit) -> Vec<Block> {
    let mut blocks = vec![Block::Paragraph(Text::from(rows(transmit)))];
    if segments(transmit) > 0 {
        blocks.push(Block::Paragraph(Text::from(excluded(transmit))));
    }
    blocks.extend(transmit.lacks.iter().map(|reason| lacks(transmit, reason)));
    let ledger = ledger(input, transmit);
    if transmit.acked > 0 {
        blocks.extend([
            Block::Figure(Box::new(ledger.waterfall())),
            Block::Table(ledger.table()),
            ledger.meanings(&[]),
        ]);
        blocks.extend(transmit.peer.as_ref().map(whose));
    }
    blocks.extend(senders::blocks(transmit));
    if transmit.acked > 0 {
        blocks.push(recovery(transmit));
    }
    blocks.extend(queues(transmit));
    blocks.extend(classes::table(transmit));
    blocks.extend(hosts(transmit));
    blocks.extend(paths::table(input, &input.answers.paths));
    blocks.extend(beyond::filled(input.answers.paths.filled.as_ref()));
    blocks.extend(beyond::silent(transmit.went_silent.as_ref()));
    blocks.extend(ledger.pictures(&[(&transmit.total, "whole time")]));
    blocks.extend(groups::blocks(
        &input.answers.breakdown.transmit,
        "segments",
        "tx",
        input.answers.tcp.findings().map_or(&[], |tcp| &tcp.connections),
    ));
    blocks.extend(exemplars::blocks(input, &input.answers.exemplars.transmit, "Segments"));
    blocks.push(Block::Code(vec!["netmortem show tx INPUT --format csv".into()]));
    blocks
}

/// Network or peer, where both ends are here.
fn whose(part: &PeerPart) -> Block {
    Block::Paragraph(Text::from(format!(
        "Of the stage network, {} of {} segments whose peer's socket is in this recording with its turnarounds, {} ({}) passed while the peer's application had data and had not answered; the rest is the network and both stacks.",
        format::duration(part.network_ns),
        format::count(part.segments),
        format::duration(part.application_ns),
        format::percent(part.application_ns as f64 / part.network_ns.max(1) as f64)
    )))
}

fn lacks(transmit: &Transmit, reason: &Reason) -> Block {
    let what = match transmit.no_acks().contains(&reason) {
        true => "When segments were acknowledged is not known",
        false => "Some stages are not known, or weaker",
    };
    strip(Severity::Unknown, format!("{what}, because {}.", reason.because))
}

fn ledger<'a>(input: &Input<'a>, transmit: &'a Transmit) -> Ledger<'a> {
    Ledger {
        name: "tx",
        title: "Where sent TCP segments spent their time",
        rows: "segments",
        counted: format!("{} segments acknowledged", format::count(transmit.acked)),
        stages: &transmit.stages,
        unattributed: &transmit.unattributed,
        total: &transmit.total,
        observer: &input.facts.observer,
        exemplars: &input.answers.exemplars.transmit,
    }
}

/// How long segments that were sent again took from their first transmission to their last.
fn recovery(transmit: &Transmit) -> Block {
    if transmit.recovery.is_empty() {
        return Block::Paragraph("No acknowledged segment was sent more than once.".into());
    }
    let mut columns = vec![Column::text("sent again by")];
    columns.extend(quantile_columns());
    columns.push(Column::text("the longest"));
    let row = |(class, summary): (&&'static str, &Summary)| {
        let mut row = vec![Cell::Text(words(class).into())];
        row.extend(quantile_cells(summary));
        row.push(id_cell(transmit.recovery_worst.get(*class).copied()));
        row
    };
    Block::Table(Table {
        caption: "Recovery: first transmission to the last retransmission".into(),
        columns,
        rows: transmit.recovery.iter().map(row).collect(),
        note: Some("Acknowledged segments only, of all confidences; by what brought the last retransmission. The network's time before the loss was noticed is in it.".into()),
    })
}

/// Queues of devices.
fn queues(transmit: &Transmit) -> Vec<Block> {
    if transmit.queues.is_empty() {
        return Vec::new();
    }
    let mut columns = vec![Column::text("device"), Column::text("qdisc")];
    columns.extend(quantile_columns());
    columns.push(Column::text("the longest"));
    columns.push(Column::in_unit("while it held packets", "Mbit/s"));
    let row = |q: &DeviceQueue| {
        let mut row = vec![name_cell(&q.dev), name_cell(&q.qdisc)];
        row.extend(quantile_cells(&q.wait));
        row.push(id_cell(q.worst));
        row.push(Cell::known(q.mbit_per_s(), Cell::Number));
        row
    };
    let cut = truncation(
        transmit.queues.len().min(HOSTS),
        transmit.queues.len(),
        "longest wait first",
        "show xmits INPUT",
    );
    let how = "From net_dev_queue to the driver; packets that bypassed the qdisc lay in no queue. The rate is of bytes with link-layer headers.";
    vec![Block::Table(Table {
        caption: "How long packets lay in the queues of devices".into(),
        columns,
        rows: transmit.queues.iter().take(HOSTS).map(row).collect(),
        note: Some(Text::from(match cut {
            Some(cut) => format!("{how} {cut}"),
            None => how.to_owned(),
        })),
    })]
}

/// Round trips by remote address.
fn hosts(transmit: &Transmit) -> Vec<Block> {
    let mut order: Vec<(&String, &Summary)> = transmit.rtt_by_host.iter().filter(|(_, rtt)| rtt.n > 0).collect();
    order.sort_by_key(|(_, rtt)| std::cmp::Reverse(rtt.n));
    if order.is_empty() {
        return Vec::new();
    }
    let mut columns = vec![Column::text("remote host")];
    columns.extend(quantile_columns());
    columns.push(Column::text("the longest"));
    let row = |(host, rtt): &(&String, &Summary)| {
        let mut row = vec![name_cell(host)];
        row.extend(quantile_cells(rtt));
        row.push(id_cell(transmit.rtt_worst.get(*host).copied()));
        row
    };
    let how = "From the device to the ACK, of certain and strong segments sent once: without this host's own waits, with the peer's delayed ACKs.";
    let cut = truncation(
        order.len().min(HOSTS),
        order.len(),
        "most segments first",
        "show tx INPUT",
    );
    let table = Table {
        caption: "Round trip by remote host".into(),
        columns,
        rows: order.iter().take(HOSTS).map(row).collect(),
        note: Some(Text::from(match cut {
            Some(cut) => format!("{how} {cut}"),
            None => how.to_owned(),
        })),
    };
    let curves = order
        .iter()
        .take(CURVES)
        .map(|(host, rtt)| (Text::name(host.as_str()), *rtt));
    let picture = compared("rtt", "Round trip by remote host", Size::Full, curves, "");
    let mut blocks = vec![Block::Table(table)];
    blocks.extend(picture.map(|figure| Block::Figure(Box::new(figure))));
    blocks
}

#[cfg(test)]
mod tests;
