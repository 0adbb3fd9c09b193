//! Rows of the view `responses`.

use crate::confidence::Confidence;
use crate::facts::ConnectionId;
use crate::name::Name;
use crate::table::{Cell, TableDef, col};

/// From a send to what was read next.
#[derive(Debug, Clone, PartialEq)]
pub struct ResponseRow {
    /// The socket.
    pub connection: ConnectionId,
    /// Thread that read.
    pub pid: i32,
    /// Its name.
    pub task: Name,
    /// Begin of the last send before.
    pub send_ns: i64,
    /// When the first byte read next became readable; `None`: it was not seen to arrive.
    pub ready_ns: Option<i64>,
    /// When it was read.
    pub read_ns: i64,
    /// When the last byte that was read before the next send became readable; `None`: it was not seen to arrive.
    pub complete_ns: Option<i64>,
    /// Reads of it.
    pub reads: u32,
    /// Sends since the read before, or since events were lost.
    pub sends: u32,
    /// From the begin of the first of them to that of the last.
    pub sending_ns: i64,
    /// Longest time from one of them to the next; 0: there is one only.
    pub pause_ns: i64,
    /// In which call its thread slept longest then; empty: in none, the pause is below 10 ms, or nothing tells.
    pub paused_in: Name,
    /// The peer's socket and turnaround in it.
    pub peer: Option<Peer>,
    /// It was readable before the send began.
    pub overlap: bool,
    /// Least of its links.
    pub confidence: Confidence,
}

/// What the peer's socket tells of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// Its number.
    pub connection: ConnectionId,
    /// Send here to request readable there.
    pub there_ns: i64,
    /// The peer's turnaround.
    pub turnaround_ns: i64,
    /// Send there to answer readable here.
    pub back_ns: i64,
}

impl ResponseRow {
    /// Send to readable.
    pub fn response_ns(&self) -> Option<i64> {
        self.ready_ns.map(|t| t.wrapping_sub(self.send_ns))
    }
    /// Send to all of it readable.
    pub fn whole_ns(&self) -> Option<i64> {
        self.complete_ns.map(|t| t.wrapping_sub(self.send_ns))
    }
}

/// The view `responses`.
pub static RESPONSES: TableDef<ResponseRow> = TableDef {
    name: "responses",
    meaning: "one row per time a TCP socket was sent on and then read: from the begin of the last send to the first byte readable; there_ns, peer_ns and back_ns sum to response_ns",
    columns: &[
        col!("connection", "id", U64, "the socket, as in connections", |r, _| {
            Cell::U64(r.connection.0.into())
        }),
        col!(
            "client",
            "",
            Str,
            "address:port of who opened the connection (role in connections says what tells it)",
            |r, names| names.client(r.connection)
        ),
        col!(
            "server",
            "",
            Str,
            "address:port of who accepted it, as this end calls it",
            |r, names| names.server(r.connection)
        ),
        col!("task", "", Str, "task that read", |r, _| Cell::name(&r.task)),
        col!("pid", "id", I64, "its thread id", |r, _| Cell::thread(r.pid)),
        col!(
            "send_ns",
            "ns",
            I64,
            "begin of the last send before the read",
            |r, _| { Cell::I64(r.send_ns) }
        ),
        col!(
            "ready_ns",
            "ns",
            I64,
            "when the first byte read after it became readable; empty: not seen to arrive",
            |r, _| r.ready_ns.into()
        ),
        col!("read_ns", "ns", I64, "when it was read", |r, _| Cell::I64(r.read_ns)),
        col!("response_ns", "ns", I64, "send_ns to ready_ns", |r, _| r
            .response_ns()
            .into()),
        col!(
            "whole_ns",
            "ns",
            I64,
            "send_ns until the last byte that was read before the next send was readable: an answer in parts, or a transfer, is longer than response_ns",
            |r, _| r.whole_ns().into()
        ),
        col!("reads", "count", U64, "reads until the next send", |r, _| Cell::U64(
            r.reads.into()
        )),
        col!(
            "there_ns",
            "ns",
            I64,
            "send call to request readable at the peer: this stack, the network, the peer's stack; empty: the peer is not in the recording, or not one turnaround lies in it",
            |r, _| r.peer.map(|p| p.there_ns).into()
        ),
        col!(
            "peer_ns",
            "ns",
            I64,
            "the peer's application: turnaround_ns of its socket; empty as there_ns",
            |r, _| r.peer.map(|p| p.turnaround_ns).into()
        ),
        col!(
            "back_ns",
            "ns",
            I64,
            "the peer's send call to answer readable here; empty as there_ns",
            |r, _| r.peer.map(|p| p.back_ns).into()
        ),
        col!(
            "peer_connection",
            "id",
            U64,
            "the peer's socket, as in connections; empty as there_ns",
            |r, _| r.peer.map(|p| p.connection.0).into()
        ),
        col!("sends", "count", U64, "sends since the read before", |r, _| Cell::U64(
            r.sends.into()
        )),
        col!(
            "sending_ns",
            "ns",
            I64,
            "from the begin of the first of them to that of the last, which is send_ns",
            |r, _| Cell::I64(r.sending_ns)
        ),
        col!(
            "pause_ns",
            "ns",
            I64,
            "longest time from the begin of one of them to that of the next, before send_ns: not in response_ns; 0: there is one only",
            |r, _| Cell::I64(r.pause_ns)
        ),
        col!(
            "paused_in",
            "",
            Str,
            "system call in which its thread slept longest then, where that is 10 ms or more; empty: in none, or nothing tells",
            |r, _| Cell::name(&r.paused_in)
        ),
        col!(
            "overlap",
            "",
            Bool,
            "readable before the send began: not its answer",
            |r, _| Cell::Bool(r.overlap)
        ),
        col!(
            "confidence",
            "",
            Str,
            "that what was read answers the send: by order, strong at most",
            |r, _| Cell::str(r.confidence.word())
        ),
    ],
};
