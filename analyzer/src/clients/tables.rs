//! Rows of the views `clients` and `clients_by_second`.

use std::net::{IpAddr, SocketAddr};

pub use super::gather::{Of, Request};
use crate::table::{Cell, TableDef, col};

/// A client's address and a server's end.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientRow {
    /// Address of the client; `None`: not known.
    pub client: Option<IpAddr>,
    /// Address and port of the server, as the client calls it.
    pub server: SocketAddr,
    /// What was counted.
    pub of: Of,
    /// Times to the first byte of the answer.
    pub p50_ns: Option<i64>,
    /// As said.
    pub p95_ns: Option<i64>,
    /// As said.
    pub p99_ns: Option<i64>,
    /// As said.
    pub max_ns: Option<i64>,
    /// Slow answers.
    pub slow: u64,
    /// From which time on an answer of this server is slow.
    pub slow_from_ns: Option<i64>,
    /// When the first of them was asked, ns since the start of the recording.
    pub first_slow_after_ns: Option<i64>,
    /// And the last.
    pub last_slow_after_ns: Option<i64>,
}

/// The same in one second.
#[derive(Debug, Clone, PartialEq)]
pub struct SecondRow {
    /// Address of the client; `None`: not known.
    pub client: Option<IpAddr>,
    /// Address and port of the server.
    pub server: SocketAddr,
    /// Second since the start of the recording, from 0.
    pub second: i64,
    /// Requests begun in it.
    pub requests: u64,
    /// Of these, such that were answered.
    pub answered: u64,
    /// Attempts to connect begun in it that failed.
    pub failed: u64,
    /// Median.
    pub p50_ns: Option<i64>,
    /// Longest.
    pub max_ns: Option<i64>,
}

/// The view `clients`.
pub static CLIENTS: TableDef<ClientRow> = TableDef {
    name: "clients",
    meaning: "one row per client address and server address:port: who asked whom by TCP, how often, how long it took, what failed. Requests are those of responses (the client's socket) or, where the client is not in the recording, of turnarounds (the server's): each once. The answer is by order what is read next: where a server also sends by itself (notices, pushes) a slow one may be none",
    columns: &[
        col!(
            "client",
            "",
            Str,
            "address of who opened the connections; empty: not known",
            |r, _| Cell::ip(r.client)
        ),
        col!(
            "server",
            "",
            Str,
            "address:port of who accepted them, as the client calls it",
            |r, _| Cell::str(r.server.to_string())
        ),
        col!(
            "task",
            "",
            Str,
            "the client's task, where there are several the one most often seen; empty: the client is not in the recording",
            |r, _| Cell::name(&r.of.task)
        ),
        col!(
            "connections",
            "count",
            U64,
            "TCP connections seen, also failed attempts that had a socket; both ends of one count once",
            |r, _| Cell::U64(r.of.connections)
        ),
        col!(
            "opened",
            "count",
            U64,
            "connections opened in the recording (opens; of the server's sockets those accepted in it)",
            |r, _| Cell::U64(r.of.opened)
        ),
        col!(
            "failed",
            "count",
            U64,
            "attempts to connect that failed or were given up, as in opens (without those that had no route: whereto no event tells); empty: the client is not in the recording",
            |r, _| r.of.by_client.then_some(r.of.failed.len() as u64).into()
        ),
        col!(
            "reset",
            "count",
            U64,
            "other connections on which a RST was sent or came",
            |r, _| Cell::U64(r.of.reset)
        ),
        col!(
            "requests",
            "count",
            U64,
            "sends that something was read after, and those without an answer",
            |r, _| Cell::U64(r.of.requests.len() as u64)
        ),
        col!(
            "answered",
            "count",
            U64,
            "of these, such that something was read after",
            |r, _| Cell::U64(r.of.answered())
        ),
        col!(
            "unanswered",
            "count",
            U64,
            "the others: the last send of a connection that its client, its server or the end of the recording cut off before an answer; not told of a first request that waits still; empty: the client is not in the recording",
            |r, _| r
                .of
                .by_client
                .then(|| (r.of.requests.len() as u64).saturating_sub(r.of.answered()))
                .into()
        ),
        col!(
            "p50_ns",
            "ns",
            I64,
            "median from the send to the first byte of the answer readable (response_ns of responses; turnaround_ns of turnarounds: without the way); nearest rank, of all whose arrival was seen",
            |r, _| r.p50_ns.into()
        ),
        col!("p95_ns", "ns", I64, "95th percentile of the same", |r, _| r
            .p95_ns
            .into()),
        col!("p99_ns", "ns", I64, "99th percentile of the same", |r, _| r
            .p99_ns
            .into()),
        col!("max_ns", "ns", I64, "longest", |r, _| r.max_ns.into()),
        col!(
            "slow",
            "count",
            U64,
            "answers that took slow_from_ns or more",
            |r, _| Cell::U64(r.slow)
        ),
        col!(
            "slow_from_ns",
            "ns",
            I64,
            "five times the median of all clients of this server, 100 ms at least",
            |r, _| r.slow_from_ns.into()
        ),
        col!(
            "first_slow_after_ns",
            "ns",
            I64,
            "from the start of the recording until the first slow one was asked; empty: none",
            |r, _| r.first_slow_after_ns.into()
        ),
        col!("last_slow_after_ns", "ns", I64, "and the last", |r, _| r
            .last_slow_after_ns
            .into()),
        col!(
            "bytes_asked",
            "bytes",
            U64,
            "to the server: what the program wrote (by the server's socket: read); where that was not recorded, payload as in connections; empty: neither was",
            |r, _| r.of.bytes_asked.into()
        ),
        col!("bytes_answered", "bytes", U64, "to the client, likewise", |r, _| r
            .of
            .bytes_answered
            .into()),
        col!(
            "by_server",
            "count",
            U64,
            "of answered: told by the server's turnarounds",
            |r, _| Cell::U64(r.of.by_server)
        ),
        col!(
            "overlaps",
            "count",
            U64,
            "turns besides, in which something was readable before the send: requests not one by one, or a stream",
            |r, _| Cell::U64(r.of.overlaps)
        ),
        col!(
            "weak",
            "count",
            U64,
            "of answered: weak or of unknown confidence",
            |r, _| Cell::U64(r.of.weak)
        ),
    ],
};

/// The view `clients_by_second`.
pub static BY_SECOND: TableDef<SecondRow> = TableDef {
    name: "clients_by_second",
    meaning: "clients, by the second in which a request was sent or an attempt to connect began; seconds without any have no row",
    columns: &[
        col!("client", "", Str, "as in clients", |r, _| Cell::ip(r.client)),
        col!("server", "", Str, "as in clients", |r, _| Cell::str(
            r.server.to_string()
        )),
        col!("second", "", I64, "since the start of the recording, from 0", |r, _| {
            Cell::I64(r.second)
        }),
        col!("requests", "count", U64, "requests sent in it", |r, _| Cell::U64(
            r.requests
        )),
        col!(
            "answered",
            "count",
            U64,
            "of these, such that were answered, whenever that was",
            |r, _| Cell::U64(r.answered)
        ),
        col!(
            "failed",
            "count",
            U64,
            "attempts to connect begun in it that failed",
            |r, _| Cell::U64(r.failed)
        ),
        col!(
            "p50_ns",
            "ns",
            I64,
            "median time to the first byte, as in clients",
            |r, _| r.p50_ns.into()
        ),
        col!("max_ns", "ns", I64, "longest", |r, _| r.max_ns.into()),
    ],
};
