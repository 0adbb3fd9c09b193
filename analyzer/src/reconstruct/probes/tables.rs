//! Rows of the views `accept_queues`, `socket_backlogs` and `name_lookups`.

use std::net::IpAddr;

use crate::facts::ConnectionId;
use crate::name::Name;
use crate::table::{Cell, TableDef, col};

/// A connection joins those that wait to be accepted.
#[derive(Debug, Clone, PartialEq)]
pub struct AcceptRow {
    /// When.
    pub time_ns: i64,
    /// CPU.
    pub cpu: u16,
    /// Address of the listening socket.
    pub sk: u64,
    /// The server's end of the connection; `None`: its state was not recorded.
    pub local: Option<(IpAddr, u16)>,
    /// So many wait now, this one included.
    pub waiting: u32,
    /// So many may wait, and one more.
    pub limit: u32,
}

impl AcceptRow {
    /// Whether the next finds no room: `sk_acceptq_is_full`.
    pub fn is_full(&self) -> bool {
        self.waiting > self.limit
    }
}

/// What waited behind a socket that was in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BacklogRow {
    /// Address of the socket.
    pub sk: u64,
    /// Its connection, where that is known.
    pub connection: Option<ConnectionId>,
    /// Segments that came while it was in use.
    pub segments: u64,
    /// Most memory that waited before one of them, bytes, and when.
    pub most_backlog: (u64, i64),
    /// Most memory of the receive queue seen by one of them, bytes, and when.
    pub most_rmem: (u64, i64),
    /// The limit of the receive queue then, bytes.
    pub rcvbuf: u64,
}

/// A name that a thread resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct LookupRow {
    /// When it asked; `None`: before the recording, or in what was lost.
    pub start_ns: Option<i64>,
    /// When it had an answer, or gave up; `None`: not in the recording.
    pub end_ns: Option<i64>,
    /// The thread.
    pub pid: i32,
    /// Its name.
    pub task: Name,
}

impl LookupRow {
    /// For how long it waited.
    pub fn took_ns(&self) -> Option<i64> {
        self.end_ns?.checked_sub(self.start_ns?)
    }
}

/// The view.
pub static ACCEPT_QUEUES: TableDef<AcceptRow> = TableDef {
    name: "accept_queues",
    meaning: "one row per connection that was complete and began to wait for accept (of --extra kprobes): how many wait since then at its listening socket",
    columns: &[
        col!("time_ns", "ns", I64, "when, trace clock", |r, _| Cell::I64(r.time_ns)),
        col!("cpu", "id", U64, "CPU", |r, _| Cell::U64(r.cpu.into())),
        col!("sk", "id", U64, "address of the listening socket", |r, _| Cell::U64(
            r.sk
        )),
        col!(
            "address",
            "",
            Str,
            "address that was connected to; empty: not recorded (needs sock:inet_sock_set_state)",
            |r, _| match &r.local {
                Some((address, _)) => Cell::str(address.to_string()),
                None => Cell::Null,
            }
        ),
        col!("port", "", U64, "its port; empty likewise", |r, _| r
            .local
            .map(|(_, port)| u64::from(port))
            .into()),
        col!(
            "waiting",
            "count",
            U64,
            "connections that wait to be accepted, this one included",
            |r, _| Cell::U64(r.waiting.into())
        ),
        col!(
            "limit",
            "count",
            U64,
            "the backlog of listen: one more than so many may wait",
            |r, _| Cell::U64(r.limit.into())
        ),
        col!("full", "", Bool, "true: the next one finds no room", |r, _| Cell::Bool(
            r.is_full()
        )),
    ],
};

/// The view.
pub static SOCKET_BACKLOGS: TableDef<BacklogRow> = TableDef {
    name: "socket_backlogs",
    meaning: "one row per TCP socket for which segments came while a thread was in a system call of it (of --extra kprobes), with the peaks of what they met",
    columns: &[
        col!("sk", "id", U64, "address of the socket", |r, _| Cell::U64(r.sk)),
        col!(
            "connection",
            "id",
            U64,
            "row of connections; empty: not known",
            |r, _| r.connection.map(|c| u64::from(c.0)).into()
        ),
        col!(
            "segments",
            "count",
            U64,
            "segments that came while it was in use",
            |r, _| Cell::U64(r.segments)
        ),
        col!(
            "most_backlog_bytes",
            "bytes",
            U64,
            "most memory that waited for it already (sk_backlog.len)",
            |r, _| Cell::U64(r.most_backlog.0)
        ),
        col!("most_backlog_ns", "ns", I64, "when that was, trace clock", |r, _| {
            Cell::I64(r.most_backlog.1)
        }),
        col!(
            "most_rmem_bytes",
            "bytes",
            U64,
            "most memory of its receive queue then (sk_rmem_alloc)",
            |r, _| Cell::U64(r.most_rmem.0)
        ),
        col!("most_rmem_ns", "ns", I64, "when that was, trace clock", |r, _| {
            Cell::I64(r.most_rmem.1)
        }),
        col!(
            "rcvbuf_bytes",
            "bytes",
            U64,
            "the limit of that (sk_rcvbuf) then",
            |r, _| Cell::U64(r.rcvbuf)
        ),
    ],
};

/// The view.
pub static NAME_LOOKUPS: TableDef<LookupRow> = TableDef {
    name: "name_lookups",
    meaning: "one row per call of getaddrinfo in the host's libc (of --extra kprobes); not of programs with a libc of their own",
    columns: &[
        col!(
            "start_ns",
            "ns",
            I64,
            "the call, trace clock; empty: not in the recording",
            |r, _| r.start_ns.into()
        ),
        col!(
            "end_ns",
            "ns",
            I64,
            "its return, trace clock; empty: not in the recording",
            |r, _| r.end_ns.into()
        ),
        col!(
            "took_ns",
            "ns",
            I64,
            "between them; empty where one is missing",
            |r, _| r.took_ns().into()
        ),
        col!("pid", "id", I64, "thread", |r, _| Cell::I64(r.pid.into())),
        col!("task", "", Str, "its name; empty: not known", |r, _| Cell::name(
            &r.task
        )),
    ],
};
