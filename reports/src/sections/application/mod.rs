//! Requests and answers: how long clients waited, how much of that the application took, and what it did meanwhile. In:
//! `Answers::application`.

use netmortem_analyzer::analyses::Outcome;
use netmortem_analyzer::analyses::application::{
    Application, Connection, Part, Role, RoleBy, SlowResponse, SlowTurnaround, Unanswered,
};

use super::shared::{compared, connection_cell, counted, id_cell, name_cell, truncation, unanswered, words};
use crate::chart::Size;
use crate::clean::Text;
use crate::document::{Block, Cell, Column, Figure, Section, Table};
use crate::format;
use crate::sections::Input;

mod each;

const ID: &str = "application";
const TITLE: &str = "Network or application";
/// Connections in the table.
const ROWS: usize = 40;
/// Curves in a picture.
const CURVES: usize = 6;
/// Parts of a turnaround that are named in a cell.
const NAMED: usize = 2;

/// Builds the section.
#[must_use]
pub fn section(input: &Input<'_>) -> Section {
    match &input.answers.application {
        Outcome::Unknown(reasons) => unanswered(ID, TITLE, reasons),
        Outcome::Findings(found) => Section {
            id: ID,
            title: TITLE.into(),
            lead: lead(found),
            blocks: blocks(input, found),
        },
    }
}

fn lead(found: &Application) -> Text {
    let turning = found.connections.iter().filter(|c| c.in_turns).count() as u64;
    Text::from(format!(
        "{} had a request-response pattern{}; {} sent and received at once, {} never took turns.",
        counted(turning, "TCP socket"),
        match found.others {
            0 => "",
            _ => " among those shown",
        },
        format::count(found.both_ways),
        format::count(found.one_way)
    ))
}

fn blocks(input: &Input<'_>, found: &Application) -> Vec<Block> {
    let mut blocks = Vec::new();
    let figures: Vec<Figure> = [
        curves(
            found,
            Role::Client,
            "response",
            "Clients: request sent to answer readable",
        ),
        curves(
            found,
            Role::Server,
            "turnaround",
            "Servers: request readable to answer sent",
        ),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !figures.is_empty() {
        blocks.push(Block::Figures(figures));
    }
    blocks.extend(each::blocks(found));
    if !found.connections.is_empty() {
        blocks.push(Block::Table(sockets(found)));
    }
    if !found.unanswered.is_empty() {
        blocks.push(Block::Table(unanswered_requests(input, &found.unanswered)));
    }
    if !found.slow_responses.is_empty() {
        blocks.push(Block::Table(responses(input, &found.slow_responses)));
    }
    if !found.slow_turnarounds.is_empty() {
        blocks.push(Block::Table(turnarounds(input, &found.slow_turnarounds)));
    }
    blocks.push(Block::Code(vec![
        "netmortem show responses INPUT --format csv".into(),
        "netmortem show turnarounds INPUT --format csv".into(),
    ]));
    blocks
}

fn curves(found: &Application, role: Role, id: &str, title: &str) -> Option<Figure> {
    let of = found.connections.iter().filter(|c| c.in_turns && c.role == role);
    let lines = of
        .map(|c| {
            let times = match role {
                Role::Client => &c.response,
                Role::Server => &c.turnaround,
            };
            (Text::name(&c.label), times)
        })
        .filter(|(_, times)| times.n > 0)
        .take(CURVES);
    compared(
        id,
        title,
        Size::Half,
        lines,
        "Requests answered one by one. A curve further right is slower.",
    )
}

/// `asleep in clock_nanosleep 99.9 %, running 0.1 %`
fn parts(of: &[Part]) -> Cell {
    let words: Vec<String> = of
        .iter()
        .take(NAMED)
        .map(|part| format!("{} {}{}", part.words(), format::percent(part.share), part.woken()))
        .collect();
    Cell::known((!words.is_empty()).then(|| words.join(", ")), |text| {
        Cell::Text(Text::name(&text))
    })
}

fn sockets(found: &Application) -> Table {
    let time = |ns| Cell::known(ns, Cell::Ns);
    let row = |c: &Connection| {
        let role = match c.role {
            Role::Client => "client",
            Role::Server => "server",
        };
        let role = match (c.in_turns, c.role_by) {
            (false, _) => "both at once".to_owned(),
            (true, RoleBy::Handshake | RoleBy::Listens) => role.to_owned(),
            (true, RoleBy::Ports) => format!("{role} (by its port)"),
        };
        vec![
            connection_cell(c.connection),
            name_cell(&c.label),
            Cell::Text(role.into()),
            name_cell(&c.task),
            Cell::Count(c.response.n),
            time(c.response.p50_ns),
            time(c.response.p99_ns),
            time(c.response.max_ns),
            Cell::known(c.peer_share, Cell::Fraction),
            Cell::Count(c.turnaround.n),
            time(c.turnaround.p50_ns),
            time(c.turnaround.p99_ns),
            time(c.turnaround.max_ns),
            parts(&c.parts),
        ]
    };
    let how = "Response: begin of the last send to the first byte of the answer readable. Of it the peer: its socket's turnaround, where that is in the recording. Turnaround: last byte of the request readable to the begin of the send; a client's is its pause before the next request, and a server's response is that pause with the ways. Both at once: what was read next was readable before the send in more than a tenth of the turns; no times are claimed.";
    let shown = found.connections.len().min(ROWS);
    let all = found.connections.len() + found.others as usize;
    let cut = truncation(shown, all, "most time first", "show turnarounds INPUT");
    Table {
        caption: "Sockets in turns".into(),
        columns: vec![
            Column::text("id"),
            Column::text("socket (local > remote)"),
            Column::text("end"),
            Column::text("task"),
            Column::number("responses"),
            Column::time("response p50"),
            Column::time("p99"),
            Column::time("max"),
            Column::number("of it the peer"),
            Column::number("turnarounds"),
            Column::time("turnaround p50"),
            Column::time("p99"),
            Column::time("max"),
            Column::text("spent"),
        ],
        rows: found.connections.iter().take(ROWS).map(row).collect(),
        note: Some(Text::from(match cut {
            Some(cut) => format!("{how} {cut}"),
            None => how.to_owned(),
        })),
    }
}

fn unanswered_requests(input: &Input<'_>, of: &[Unanswered]) -> Table {
    let row = |u: &Unanswered| {
        vec![
            connection_cell(u.connection),
            name_cell(&u.label),
            Cell::At(input.since_start(u.send_ns)),
            Cell::Ns(u.waited_ns),
            Cell::Text(words(u.until).into()),
            Cell::Count(u.retransmits),
        ]
    };
    Table {
        caption: "Requests of clients behind which nothing was read".into(),
        columns: vec![
            Column::text("socket"),
            Column::text("connection"),
            Column::in_unit("sent", "s"),
            Column::number("waited"),
            Column::text("until"),
            Column::number("sent again"),
        ],
        rows: of.iter().take(ROWS).map(row).collect(),
        note: truncation(
            of.len().min(ROWS),
            of.len(),
            "those that waited longest first",
            "show responses INPUT",
        ),
    }
}

fn responses(input: &Input<'_>, slow: &[SlowResponse]) -> Table {
    let time = |ns| Cell::known(ns, Cell::Ns);
    let row = |r: &SlowResponse| {
        vec![
            id_cell(r.id),
            connection_cell(r.connection),
            Cell::At(input.since_start(r.start_ns)),
            name_cell(&r.task),
            Cell::Ns(r.response_ns),
            time(r.there_ns),
            time(r.peer_ns),
            time(r.back_ns),
            Cell::Text(r.confidence.into()),
        ]
    };
    Table {
        caption: "Slowest responses of clients".into(),
        columns: vec![
            Column::text("id"),
            Column::text("socket"),
            Column::in_unit("sent at", "s"),
            Column::text("task"),
            Column::time("response"),
            Column::time("the way there"),
            Column::time("peer's application"),
            Column::time("the way back"),
            Column::text("confidence"),
        ],
        rows: slow.iter().map(row).collect(),
        note: Some("The ways: send call to readable at the other end, through both stacks and the network. The three sum to the response; unknown: the peer's socket is not in the recording.".into()),
    }
}

fn turnarounds(input: &Input<'_>, slow: &[SlowTurnaround]) -> Table {
    let row = |r: &SlowTurnaround| {
        vec![
            id_cell(r.id),
            connection_cell(r.connection),
            Cell::At(input.since_start(r.start_ns)),
            name_cell(&r.task),
            Cell::Ns(r.turnaround_ns),
            Cell::known(r.unread_ns, Cell::Ns),
            parts(&r.parts),
            Cell::Text(r.confidence.into()),
        ]
    };
    Table {
        caption: "Slowest turnarounds of servers".into(),
        columns: vec![
            Column::text("id"),
            Column::text("socket"),
            Column::in_unit("readable at", "s"),
            Column::text("sent by"),
            Column::time("turnaround"),
            Column::time("of it unread"),
            Column::text("spent"),
            Column::text("confidence"),
        ],
        rows: slow.iter().map(row).collect(),
        note: Some("Asleep in poll, epoll_wait or a read: it waited for something else (another socket, a timer), or was not woken yet. Unrecorded: in no system call of the recording (futex is in no profile). Woken by: the thread that ended most of that sleep, in its own context (a lock let go, SIGCONT); none is named where a timer, an interrupt or a softirq did. While ... ran: the thread of the same process that ran most meanwhile. Weak: another thread sent than read.".into()),
    }
}

#[cfg(test)]
mod tests;
