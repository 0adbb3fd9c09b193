//! UDP: who waited for an answer that did not come or came late, what came twice, and what each socket sent and read. In: `Answers::datagrams`,
//! the view `udp_sockets`.

use netmortem_analyzer::analyses::Outcome;
use netmortem_analyzer::analyses::datagrams::{Copied, Datagrams, InVain, Questions, Silent};
use netmortem_analyzer::explain::{Id, Kind};
use netmortem_analyzer::reconstruct::datagrams::sockets::SocketRow;

use super::shared::{counted, id_cell, name_cell, truncation, unanswered};
use crate::clean::Text;
use crate::document::{Block, Cell, Column, Section, Table};
use crate::format;
use crate::sections::Input;

#[cfg(test)]
mod tests;

const ID: &str = "datagrams";
const TITLE: &str = "UDP";
/// Sockets shown.
const SOCKETS: usize = 20;

/// Builds the section.
#[must_use]
pub fn section(input: &Input<'_>) -> Section {
    match &input.answers.datagrams {
        Outcome::Unknown(reasons) => unanswered(ID, TITLE, reasons),
        Outcome::Findings(found) => Section {
            id: ID,
            title: TITLE.into(),
            lead: lead(found),
            blocks: blocks(input, found),
        },
    }
}

fn lead(found: &Datagrams) -> Text {
    if found.sockets == 0 {
        return found.none().into();
    }
    let vain: u64 = found.in_vain.iter().map(|v| v.sends).sum();
    let copies: u64 = found.copied.iter().map(|c| c.copies).sum();
    let unsure = match found.unsure {
        0 => String::new(),
        n => format!(" Of {} more that is less certain.", counted(n, "wait")),
    };
    Text::from(format!(
        "{} sent and {} read on {}; {} got no answer while the sender waited for one, {} came twice.{unsure}",
        counted(found.sent, "datagram"),
        format::count(found.received),
        counted(found.sockets, "socket"),
        format::count(vain),
        format::count(copies),
    ))
}

fn blocks(input: &Input<'_>, found: &Datagrams) -> Vec<Block> {
    let mut blocks = Vec::new();
    if !found.in_vain.is_empty() {
        blocks.push(Block::Table(in_vain(input, &found.in_vain)));
    }
    if !found.answered.is_empty() {
        blocks.push(Block::Table(answered(input, &found.answered)));
    }
    if !found.copied.is_empty() {
        blocks.push(Block::Table(copied(input, &found.copied)));
    }
    if !found.silent.is_empty() {
        blocks.push(Block::Table(silent(&found.silent)));
    }
    if found.sockets > 0 {
        blocks.push(Block::Table(sockets(input)));
        blocks.push(Block::Code(vec![
            "netmortem show udp_turns INPUT --format csv".into(),
            "netmortem show udp_sockets INPUT --format csv".into(),
            "netmortem show udp_copies INPUT --format csv".into(),
        ]));
    }
    blocks
}

fn skb(id: u32) -> Cell {
    id_cell(Some(Id::new(Kind::Skb, id)))
}

fn in_vain(input: &Input<'_>, of: &[InVain]) -> Table {
    let row = |v: &InVain| {
        vec![
            name_cell(&v.task),
            name_cell(&v.to),
            name_cell(&v.holder),
            Cell::Count(v.sends),
            Cell::Count(v.of),
            Cell::known(v.waited.p50_ns, Cell::Ns),
            Cell::known(v.waited.max_ns, Cell::Ns),
            name_cell(&v.waited_in),
            Cell::Count(v.unread),
            Cell::Count(v.again),
            Cell::Count(v.again_answered),
            Cell::known(v.again_longest_ns, Cell::Ns),
            Cell::At(input.since_start(v.first_ns)),
            id_cell(v.first),
            id_cell(v.skb_id.map(|id| Id::new(Kind::Tx, id))),
        ]
    };
    Table {
        caption: "Waited for in vain".into(),
        columns: vec![
            Column::text("task"),
            Column::text("to"),
            Column::text("whose socket"),
            Column::number("no answer"),
            Column::number("of"),
            Column::number("waited p50"),
            Column::number("max"),
            Column::text("in"),
            Column::number("unread there"),
            Column::number("asked again"),
            Column::number("answered"),
            Column::number("within"),
            Column::in_unit("first", "s"),
            Column::text("the first"),
            Column::text("packet"),
        ],
        rows: of.iter().map(row).collect(),
        note: Some("Only where the sender is known to have waited for something on that socket. A destination is known where the datagram came to a socket of this recording; its address is a snapshot's. Unread there: still in that socket's receive queue when the recording ended.".into()),
    }
}

fn answered(input: &Input<'_>, of: &[Questions]) -> Table {
    let row = |q: &Questions| {
        let (server, chains) = (q.server.as_ref(), q.chains.as_ref());
        vec![
            name_cell(&q.task),
            name_cell(&q.to),
            name_cell(&q.holder),
            Cell::Count(q.response.n),
            Cell::known(q.response.p50_ns, Cell::Ns),
            Cell::known(q.response.p99_ns, Cell::Ns),
            Cell::known(q.response.max_ns, Cell::Ns),
            id_cell(q.worst),
            Cell::known(server.and_then(|s| s.unread.p50_ns), Cell::Ns),
            Cell::known(server.and_then(|s| s.work.p50_ns), Cell::Ns),
            name_cell(&q.waited_for),
            Cell::known(chains.map(|c| c.questions), Cell::Count),
            Cell::known(chains.and_then(|c| c.took.p50_ns), Cell::Ns),
            name_cell(chains.map_or("", |c| c.then.as_str())),
            Cell::known(chains.map(|c| c.calls), Cell::Count),
            Cell::At(input.since_start(q.first_ns)),
        ]
    };
    Table {
        caption: "Answers to questions".into(),
        columns: vec![
            Column::text("task"),
            Column::text("to"),
            Column::text("whose socket"),
            Column::number("answers"),
            Column::number("p50"),
            Column::number("p99"),
            Column::number("max"),
            Column::text("the slowest"),
            Column::number("unread p50"),
            Column::number("at work p50"),
            Column::text("waited there for"),
            Column::number("in a row"),
            Column::number("took p50"),
            Column::text("before"),
            Column::number("times"),
            Column::in_unit("first", "s"),
        ],
        rows: of.iter().map(row).collect(),
        note: Some("From the send to the arrival of the first answer, of threads that waited for it. Unread and at work: at a server of this recording, from the arrival of the question to its read, and from there to its answer. In a row: questions of one thread, one after the other, until it opened a connection or sent a request at once.".into()),
    }
}

fn copied(input: &Input<'_>, of: &[Copied]) -> Table {
    let row = |c: &Copied| {
        vec![
            name_cell(&c.local),
            name_cell(&c.reader),
            Cell::Count(c.copies),
            Cell::Count(c.arrived),
            name_cell(&c.sender),
            Cell::known(c.sent, Cell::Count),
            name_cell(&c.dev),
            Cell::Text(if c.in_call { "in the send call" } else { "in a softirq" }.into()),
            Cell::At(input.since_start(c.first_ns)),
            skb(c.skb_id),
            skb(c.copy),
        ]
    };
    Table {
        caption: "Came twice".into(),
        columns: vec![
            Column::text("socket"),
            Column::text("reader"),
            Column::number("copies"),
            Column::number("arrived"),
            Column::text("sender"),
            Column::number("sent"),
            Column::text("first seen on"),
            Column::text("made"),
            Column::in_unit("first", "s"),
            Column::text("packet"),
            Column::text("its copy"),
        ],
        rows: of.iter().map(row).collect(),
        note: Some("A copy: queued right beside a packet of the same length by no send call, and both came to the same socket. No event compares their contents. Of copies that went elsewhere nothing is said.".into()),
    }
}

/// What the one that went on did.
fn went_on(s: &Silent) -> &'static str {
    match (s.sent, s.is_of_a_group()) {
        (true, _) => "sent it",
        (false, true) => "got the same",
        (false, false) => "got as many at the same port",
    }
}

fn silent(of: &[Silent]) -> Table {
    let row = |s: &Silent| {
        vec![
            name_cell(&s.readers.join(", ")),
            name_cell(&s.local),
            Cell::Count(s.times),
            Cell::Ns(s.longest_ns),
            Cell::At(s.first_ns),
            name_cell(&s.went_on),
            Cell::Text(went_on(s).into()),
            Cell::Count(s.meanwhile),
        ]
    };
    Table {
        caption: "Nothing came, though the stream went on".into(),
        columns: vec![
            Column::text("reader"),
            Column::text("stream"),
            Column::number("times"),
            Column::time("longest"),
            Column::in_unit("first from", "s"),
            Column::text("meanwhile"),
            Column::text("that one"),
            Column::number("datagrams in the longest"),
        ],
        rows: of.iter().map(row).collect(),
        note: Some("Of streams that came steadily before: a second or more, and fifty times the usual distance, without a datagram. That another got the same is inferred from its group, or from its port and how many came; its datagrams are counted by their usual distance. That what its one sender sent meanwhile went there is inferred, too. Longest first.".into()),
    }
}

fn sockets(input: &Input<'_>) -> Table {
    let all = &input.facts.udp_sockets;
    let mut most: Vec<(usize, &SocketRow)> = all.iter().enumerate().collect();
    most.sort_by_key(|(at, s)| (std::cmp::Reverse(s.unread), std::cmp::Reverse(s.sent + s.arrived), *at));
    let row = |(at, s): &(usize, &SocketRow)| {
        let (task, pid) = match s.pid {
            0 => (s.holder_task.text(), s.holder),
            pid => (s.task.text(), pid),
        };
        let who = if pid == 0 {
            String::new()
        } else {
            format!("{task}/{pid}")
        };
        vec![
            id_cell(Id::at(Kind::UdpSocket, *at)),
            name_cell(&who),
            name_cell(&s.local),
            name_cell(&s.remote),
            Cell::Count(s.sent),
            Cell::Count(s.errors),
            Cell::Count(s.arrived),
            Cell::Count(s.received),
            Cell::Count(s.unread),
            Cell::At(input.since_start(s.first_ns)),
        ]
    };
    Table {
        caption: "UDP sockets".into(),
        columns: vec![
            Column::text("socket"),
            Column::text("task"),
            Column::text("address"),
            Column::text("peer"),
            Column::number("sent"),
            Column::number("failed"),
            Column::number("arrived"),
            Column::number("read"),
            Column::number("unread"),
            Column::in_unit("first", "s"),
        ],
        rows: most.iter().take(SOCKETS).map(row).collect(),
        note: truncation(
            all.len().min(SOCKETS),
            all.len(),
            "most unread first, then busiest",
            "show udp_sockets INPUT",
        ),
    }
}
