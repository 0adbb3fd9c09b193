//! Rows of the views `opens` and `resets`.

use std::net::IpAddr;

use crate::confidence::Confidence;
use crate::facts::ConnectionId;
use crate::name::Name;
use crate::table::{Cell, TableDef, col};

/// An end of a connection: address and port.
pub type End = (IpAddr, u16);

/// Until a SYN is sent again for the first time (TCP_TIMEOUT_INIT, include/net/tcp.h), ns.
pub const FIRST_SYN_NS: i64 = 1_000_000_000;

/// What came of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OpenEnd {
    /// The connection stood.
    Established,
    /// A RST answered, or an ICMP message that refuses.
    Refused,
    /// The kernel gave up: no answer to any SYN.
    TimedOut,
    /// No route, or a message that there is none.
    Unreachable,
    /// No local port was free (EADDRNOTAVAIL).
    NoPort,
    /// The program closed it before an answer came.
    GivenUp,
    /// Another error.
    Failed,
    /// No answer yet when the recording ended.
    Waiting,
}

impl OpenEnd {
    /// By what the call or the socket was told.
    pub(super) fn of(errno: i32) -> OpenEnd {
        match errno {
            100 | 101 | 113 => OpenEnd::Unreachable,
            110 => OpenEnd::TimedOut,
            111 => OpenEnd::Refused,
            _ => OpenEnd::Failed,
        }
    }
    /// As in tables.
    pub fn word(self) -> &'static str {
        match self {
            OpenEnd::Established => "established",
            OpenEnd::Refused => "refused",
            OpenEnd::TimedOut => "timed_out",
            OpenEnd::Unreachable => "unreachable",
            OpenEnd::NoPort => "no_port",
            OpenEnd::GivenUp => "given_up",
            OpenEnd::Failed => "failed",
            OpenEnd::Waiting => "waiting",
        }
    }
}

/// An attempt of this host to open a TCP connection.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenRow {
    /// The socket; `None`: the attempt failed before it had a state.
    pub connection: Option<ConnectionId>,
    /// Local end; the port is 0 when none was chosen.
    pub from: Option<End>,
    /// Remote end.
    pub to: Option<End>,
    /// Thread that called `connect`.
    pub pid: i32,
    /// Its name.
    pub task: Name,
    /// Begin of the call; where that was not recorded, SYN_SENT.
    pub start_ns: i64,
    /// When it was decided; of one that waits, the end of the recording.
    pub end_ns: i64,
    /// What came of it.
    pub end: OpenEnd,
    /// errno, positive, where the call or the socket was told one.
    pub error: Option<i32>,
    /// An ICMP message about it came to its socket.
    pub message: bool,
    /// SYNs retransmitted; `None`: retransmits were not recorded, or it had no socket.
    pub syns_again: Option<u32>,
    /// Least of its links.
    pub confidence: Confidence,
}

impl OpenRow {
    /// How long it took.
    pub fn total_ns(&self) -> i64 {
        self.end_ns.wrapping_sub(self.start_ns)
    }
}

/// A RST.
#[derive(Debug, Clone, PartialEq)]
pub struct ResetRow {
    /// When.
    pub time_ns: i64,
    /// It came; else this host's TCP sent it.
    pub received: bool,
    /// The socket; `None`: there was none, or it is not known.
    pub connection: Option<ConnectionId>,
    /// Local end.
    pub from: Option<End>,
    /// Remote end.
    pub to: Option<End>,
    /// Why it was sent, by the kernel's own word; before Linux 6.10 inferred (`reset_reasons`), or empty; empty of those received.
    pub reason: String,
    /// Which of this recording's sockets or hosts sent the one that came.
    pub sender: Sender,
    /// Of connection and sender.
    pub confidence: Confidence,
}

/// Who sent a RST that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sender {
    /// It was sent here, not received.
    Here,
    /// TCP of the peer, which is in the recording.
    Peer,
    /// Not the TCP of the peer, whose socket is in the recording: something between (a firewall), or a host with its address.
    Between,
    /// The peer is not in the recording.
    Unknown,
}

impl Sender {
    /// As in tables; empty: not known.
    pub fn word(self) -> &'static str {
        match self {
            Sender::Here => "here",
            Sender::Peer => "peer",
            Sender::Between => "between",
            Sender::Unknown => "",
        }
    }
}

/// Calls of `accept` of one thread that failed alike.
#[derive(Debug, Clone, PartialEq)]
pub struct NotAccepted {
    /// Thread.
    pub pid: i32,
    /// Its name.
    pub task: Name,
    /// Positive errno.
    pub error: i32,
    /// Calls.
    pub times: u64,
    /// The first.
    pub first_ns: i64,
    /// The last.
    pub last_ns: i64,
    /// Port at which its process listens, where that is one only; by the snapshots.
    pub port: Option<u16>,
}

/// Most of the rows of sockets that began to listen or were closed: a hostile recording has as many as it has events.
pub const LISTENS: usize = 65_536;

/// A TCP socket began to listen, or a listening one was closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenRow {
    /// When.
    pub time_ns: i64,
    /// Address of the `struct sock`.
    pub sk: u64,
    /// Where; the address is unspecified where it listens at all.
    pub at: End,
    /// It began; else it was closed.
    pub opened: bool,
    /// Thread that did it, also one that ended; 0: none.
    pub pid: i32,
    /// Its name.
    pub task: Name,
}

/// An established connection that its own TCP gave up (ETIMEDOUT).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimedOut {
    /// When its socket was told.
    pub time_ns: i64,
    /// Local end.
    pub from: End,
    /// Remote end.
    pub to: End,
}

/// The errno that an ICMP message means to a socket (net/ipv4/tcp_ipv4.c `tcp_v4_err`, net/ipv4/icmp.c `icmp_err_convert`): type, code.
pub fn errno_of_message((kind, code): (i32, i32)) -> Option<i32> {
    Some(match (kind, code) {
        (3, 0 | 6 | 9 | 11) => 101,
        (3, 2) => 92,
        (3, 3) => 111,
        (3, 5) => 95,
        (3, 7) => 112,
        (3, 8) => 64,
        (3, 1 | 10 | 12..=15) | (11, _) => 113,
        (12, _) => 71,
        _ => return None,
    })
}

/// Name of an errno (include/uapi/asm-generic/errno.h) that `connect` and `accept` give.
pub fn errno(of: i32) -> Option<&'static str> {
    Some(match of {
        1 => "EPERM",
        4 => "EINTR",
        11 => "EAGAIN",
        12 => "ENOMEM",
        13 => "EACCES",
        22 => "EINVAL",
        23 => "ENFILE",
        24 => "EMFILE",
        64 => "ENONET",
        71 => "EPROTO",
        92 => "ENOPROTOOPT",
        95 => "EOPNOTSUPP",
        97 => "EAFNOSUPPORT",
        98 => "EADDRINUSE",
        99 => "EADDRNOTAVAIL",
        100 => "ENETDOWN",
        101 => "ENETUNREACH",
        103 => "ECONNABORTED",
        104 => "ECONNRESET",
        105 => "ENOBUFS",
        106 => "EISCONN",
        110 => "ETIMEDOUT",
        111 => "ECONNREFUSED",
        112 => "EHOSTDOWN",
        113 => "EHOSTUNREACH",
        114 => "EALREADY",
        115 => "EINPROGRESS",
        _ => return None,
    })
}

fn port(of: Option<End>) -> Cell<'static> {
    of.filter(|o| o.1 != 0).map_or(Cell::Null, |(_, p)| Cell::U64(p.into()))
}

fn text(of: &str) -> Cell<'_> {
    match of.is_empty() {
        true => Cell::Null,
        false => Cell::str(of),
    }
}

/// The view `opens`.
pub static OPENS: TableDef<OpenRow> = TableDef {
    name: "opens",
    meaning: "one row per attempt of a socket to open a TCP connection, by start; and, without a connection, per call of connect that failed before its socket had a state: of which protocol is not known",
    columns: &[
        col!(
            "connection",
            "id",
            U64,
            "the socket, as in connections; empty: it failed before it had a state",
            |r, _| r.connection.map(|c| c.0).into()
        ),
        col!("saddr", "", Str, "local address", |r, _| Cell::ip(r.from.map(|e| e.0))),
        col!("sport", "", U64, "local port; empty: none was chosen", |r, _| port(
            r.from
        )),
        col!("daddr", "", Str, "remote address", |r, _| Cell::ip(r.to.map(|e| e.0))),
        col!("dport", "", U64, "remote port", |r, _| port(r.to)),
        col!("task", "", Str, "task that called connect", |r, _| Cell::name(&r.task)),
        col!("pid", "id", I64, "its thread id", |r, _| Cell::thread(r.pid)),
        col!(
            "start_ns",
            "ns",
            I64,
            "begin of the call; where that was not recorded, SYN_SENT",
            |r, _| Cell::I64(r.start_ns)
        ),
        col!(
            "total_ns",
            "ns",
            I64,
            "until it was decided; of one that waits, until the end of the recording: at least",
            |r, _| Cell::I64(r.total_ns())
        ),
        col!(
            "end",
            "",
            Str,
            "established, refused (a RST came, or an ICMP message like it), timed_out (no answer to several SYNs), unreachable (no route), no_port (no local port was free), given_up (closed by its program before an answer), failed (another error, or one that nothing tells), waiting (when the recording ended)",
            |r, _| Cell::str(r.end.word())
        ),
        col!(
            "error",
            "",
            Str,
            "errno that the call or the socket was told; empty: none, or not recorded",
            |r, _| match (r.error, r.error.and_then(errno)) {
                (_, Some(name)) => Cell::str(name),
                (Some(n), None) => Cell::str(n.to_string()),
                (None, None) => Cell::Null,
            }
        ),
        col!(
            "message",
            "",
            Bool,
            "true: an ICMP message about it came to its socket (Linux 5.8)",
            |r, _| Some(r.message).into()
        ),
        col!(
            "syns_again",
            "count",
            U64,
            "SYNs retransmitted; empty: retransmits were not recorded, or it had no socket",
            |r, _| r.syns_again.into()
        ),
        col!(
            "confidence",
            "",
            Str,
            "of the end: weak when events were lost meanwhile",
            |r, _| { Cell::str(r.confidence.word()) }
        ),
    ],
};

/// The view `resets`.
pub static RESETS: TableDef<ResetRow> = TableDef {
    name: "resets",
    meaning: "one row per RST that TCP of this host sent, or that a socket took; by time",
    columns: &[
        col!("time_ns", "ns", I64, "when", |r, _| Cell::I64(r.time_ns)),
        col!(
            "kind",
            "",
            Str,
            "received (a socket took it) or sent",
            |r, _| Cell::str(if r.received { "received" } else { "sent" })
        ),
        col!(
            "connection",
            "id",
            U64,
            "the socket, as in connections; empty: there was none (closed port), or it is not known",
            |r, _| r.connection.map(|c| c.0).into()
        ),
        col!("saddr", "", Str, "local address", |r, _| Cell::ip(r.from.map(|e| e.0))),
        col!("sport", "", U64, "local port", |r, _| port(r.from)),
        col!("daddr", "", Str, "remote address", |r, _| Cell::ip(r.to.map(|e| e.0))),
        col!("dport", "", U64, "remote port", |r, _| port(r.to)),
        col!(
            "reason",
            "",
            Str,
            "why it was sent, by the recording's own table; before Linux 6.10 inferred, where only one fits; empty of those received",
            |r, _| text(&r.reason)
        ),
        col!(
            "sender",
            "",
            Str,
            "of one received: peer (sent by the peer's TCP, which is in the recording), between (the peer's socket is in the recording and did not send it: a firewall, or a host with its address); here: sent; empty: the peer is not in the recording",
            |r, _| text(r.sender.word())
        ),
        col!(
            "confidence",
            "",
            Str,
            "of connection and sender: weak when events were lost",
            |r, _| Cell::str(r.confidence.word())
        ),
    ],
};
