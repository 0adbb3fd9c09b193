//! TCP: every connection in a table, and the sawtooth of the busiest senders. In: `Answers::tcp`, and from the fact tables the gaps and the
//! packets this host dropped meanwhile.
//!
//! ```text
//! picture per sender (sawtooth.rs): cwnd + ssthresh | srtt | lanes: state, retransmits by class, drops     gaps shaded over all
//! ```
//! The lines come as runs that end where samples end; nothing is drawn from one run to the next.

mod backlogs;
mod lossy;
mod retransmits;
mod sawtooth;

use netmortem_analyzer::analyses::Outcome;
use netmortem_analyzer::analyses::tcp::{Connection, Reduction, Sawtooth, Tcp};

use super::shared::{connection_cell, counted, name_cell, truncation, unanswered, words};
use crate::clean::Text;
use crate::document::{Block, Cell, Column, Section, Table};
use crate::format;
use crate::sections::Input;

const ID: &str = "tcp";
const TITLE: &str = "TCP connections";
/// Rows of the table of connections.
const ROWS: usize = 100;
/// Rows of a table of window reductions.
const REDUCTIONS: usize = 40;

/// Builds the section.
#[must_use]
pub fn section(input: &Input<'_>) -> Section {
    match &input.answers.tcp {
        Outcome::Unknown(reasons) => unanswered(ID, TITLE, reasons),
        Outcome::Findings(tcp) => Section {
            id: ID,
            title: TITLE.into(),
            lead: lead(tcp),
            blocks: blocks(input, tcp),
        },
    }
}

fn lead(tcp: &Tcp) -> Text {
    let all = tcp.calls().saturating_sub(tcp.synacks);
    let classes = tcp.by_sockets().into_iter();
    let classes: Vec<String> = classes
        .map(|(class, n)| format!("{} {}", format::count(n), words(class)))
        .collect();
    let more = format!("{}{}", listening(tcp), refused(tcp));
    let connections = counted(tcp.connections.len() as u64, "socket");
    Text::from(match all {
        0 => format!("{connections}; no segment was retransmitted.{more}"),
        _ => format!(
            "{connections}; {} (calls: {}); the class of {} of these calls is certain or strong.{more}",
            tcp.sent_again(),
            classes.join(", "),
            format::count(tcp.retransmits_solid.saturating_sub(tcp.synacks)),
        ),
    })
}

/// What no socket of the table sent.
fn listening(tcp: &Tcp) -> String {
    match tcp.synacks {
        0 => String::new(),
        n => format!(" Listening sockets sent {} again.", counted(n, "SYN-ACK")),
    }
}

/// Calls of which nothing left this host, where that is known and there were any.
fn refused(tcp: &Tcp) -> String {
    match tcp.retransmits_refused {
        None | Some(0) => String::new(),
        Some(n) => format!(
            " A queue of this host refused the packet of {} more: these are not in the numbers, and are no loss of the network's.",
            counted(n, "call")
        ),
    }
}

fn blocks(input: &Input<'_>, tcp: &Tcp) -> Vec<Block> {
    let mut pictures = tcp
        .sawtooths
        .iter()
        .enumerate()
        .map(|(at, data)| sender(input, tcp, at, data));
    let mut blocks = pictures.next().unwrap_or_default();
    let others: Vec<Block> = pictures.flatten().collect();
    if !others.is_empty() {
        let summary = counted(tcp.sawtooths.len() as u64 - 1, "more sender");
        blocks.push(Block::Details {
            summary: summary.into(),
            blocks: others,
        });
    }
    blocks.push(Block::Table(connections(&tcp.connections)));
    blocks.extend(lossy::table(tcp.lossy_hosts.as_ref()));
    blocks.extend(retransmits::one_by_one(input));
    blocks.extend(backlogs::table(input, &tcp.backlogs));
    blocks.push(Block::Code(vec![
        "netmortem show connections INPUT --format csv".into(),
        "netmortem show tcp_samples INPUT --format csv".into(),
    ]));
    blocks
}

/// The picture of a sender, and the reductions in it.
fn sender(input: &Input<'_>, tcp: &Tcp, at: usize, data: &Sawtooth) -> Vec<Block> {
    let connection = tcp
        .connections
        .iter()
        .find(|connection| connection.connection == data.connection);
    let mut blocks = vec![Block::Figure(Box::new(sawtooth::picture(input, at, data, connection)))];
    if !data.reductions.is_empty() {
        let summary = format!(
            "{} of {}",
            counted(data.reductions.len() as u64, "window reduction"),
            data.label
        );
        blocks.push(Block::Details {
            summary: summary.into(),
            blocks: vec![Block::Table(reductions(input, data.connection, &data.reductions))],
        });
    }
    blocks
}

fn reductions(input: &Input<'_>, connection: u32, reductions: &[Reduction]) -> Table {
    let row = |reduction: &Reduction| {
        vec![
            connection_cell(connection),
            Cell::At(input.since_start(reduction.time_ns)),
            Cell::Text(reduction.state.into()),
            Cell::Count(u64::from(reduction.wmax)),
            Cell::known(reduction.ssthresh, |packets| Cell::Count(u64::from(packets))),
        ]
    };
    Table {
        caption: Text::default(),
        columns: vec![
            Column::text("connection"),
            Column::in_unit("at", "s"),
            Column::text("state"),
            Column::in_unit("cwnd before", "packets"),
            Column::in_unit("ssthresh chosen", "packets"),
        ],
        rows: reductions.iter().take(REDUCTIONS).map(row).collect(),
        note: truncation(
            reductions.len().min(REDUCTIONS),
            reductions.len(),
            "first ones first",
            "show tcp_states INPUT",
        ),
    }
}

fn connections(connections: &[Connection]) -> Table {
    let row = |connection: &Connection| {
        let micros = |us: Option<u32>| Cell::known(us, |us| Cell::Ns(i64::from(us) * 1_000));
        let classes: Vec<String> = connection
            .by_class
            .iter()
            .map(|(class, n)| format!("{} {}", format::count(*n), words(class)))
            .collect();
        let window = |packets: Option<u32>| Cell::known(packets, |packets| Cell::Count(u64::from(packets)));
        vec![
            Cell::Id(Text::from(format!("conn:{}", connection.connection))),
            name_cell(&connection.label),
            name_cell(&connection.task),
            Cell::known(connection.bytes_in, Cell::Bytes),
            Cell::known(connection.bytes_out, Cell::Bytes),
            Cell::known(connection.retransmit_segments, Cell::Count),
            Cell::known(connection.retransmits, Cell::Count),
            Cell::known(connection.retransmits_refused, Cell::Count),
            Cell::Text(classes.join(", ").into()),
            micros(connection.srtt_min_us),
            micros(connection.srtt_p50_us),
            micros(connection.srtt_max_us),
            window(connection.cwnd.map(|(least, _)| least)),
            window(connection.cwnd.map(|(_, most)| most)),
            Cell::Number(connection.duration_ns as f64 / 1e9),
        ]
    };
    Table {
        caption: "All connections".into(),
        columns: vec![
            Column::text("id"),
            Column::text("socket (local > remote)"),
            Column::text("task"),
            Column::number("received"),
            Column::number("sent"),
            Column::number("segments sent again"),
            Column::number("by calls"),
            Column::number("calls refused here"),
            Column::text("calls by class"),
            Column::time("srtt min"),
            Column::time("p50"),
            Column::time("max"),
            Column::number("cwnd min"),
            Column::number("max"),
            Column::in_unit("seen for", "s"),
        ],
        rows: connections.iter().take(ROWS).map(row).collect(),
        note: Some(
            truncation(connections.len().min(ROWS), connections.len(), "most bytes first", "show connections INPUT").unwrap_or_else(|| {
                "Both ends of a connection inside one host are two rows. “Sent” is new sequence space between the first and the last sample. A call of tcp_retransmit_skb sends one segment or more; one whose packet a queue of this host refused sent none.".into()
            }),
        ),
    }
}

#[cfg(test)]
mod tests;
