//! Rows of the views `connections`, `tcp_samples`, `tcp_states`, `retransmits`.

use std::net::IpAddr;

use crate::confidence::Confidence;
use crate::facts::ConnectionId;
use crate::name::Name;
use crate::reconstruct::tcp::role::Role;
use crate::table::{Cell, TableDef, col};

pub use super::sent_again::{RETRANSMITS, RetransmitClass, RetransmitRow};

/// One TCP socket's life as seen in the recording.
#[derive(Debug, Clone, PartialEq)]
pub struct ConnectionRow {
    /// Identity.
    pub connection: ConnectionId,
    /// Local address.
    pub saddr: Option<IpAddr>,
    /// Local port.
    pub sport: u16,
    /// Remote address.
    pub daddr: Option<IpAddr>,
    /// Remote port.
    pub dport: u16,
    /// Last address of the struct sock; 0 when no event named it.
    pub skaddr: u64,
    /// Socket cookie, when recorded.
    pub cookie: Option<u64>,
    /// Task that last read or wrote it; before that who connected it.
    pub task: Name,
    /// Its thread id; 0 when no read or write was seen.
    pub pid: i32,
    /// First event.
    pub first_ns: i64,
    /// Last event.
    pub last_ns: i64,
    /// Payload that arrived and was not dropped, bytes.
    pub bytes_in: u64,
    /// Sequence space sent for the first time between the first and last sample, bytes.
    pub bytes_out: u64,
    /// Bytes the application read (sock_recv_length), when that event was recorded.
    pub bytes_read: Option<u64>,
    /// Bytes the application wrote (sock_send_length), when that event was recorded.
    pub bytes_written: Option<u64>,
    /// Calls of `tcp_retransmit_skb` that sent; `None` when nothing says that these were recorded.
    pub retransmits: Option<u64>,
    /// Segments that they sent, as TCP_INFO counts them (`tcpi_total_retrans`); `None` where that of a call is not known.
    pub retransmit_segments: Option<u64>,
    /// Calls whose packet a queue of this host refused; `None` where failures are not traced (before Linux 6.17).
    pub retransmits_refused: Option<u64>,
    /// tcp_probe samples.
    pub samples: u64,
    /// The socket at the other end, where that is in the recording.
    pub peer: Option<ConnectionId>,
    /// First state seen of it.
    pub born: Option<i32>,
    /// Which end it is by a list of sockets, where something listens at one of its ports.
    pub listens: Option<Role>,
    /// Confidence of the identity.
    pub confidence: Confidence,
}

/// The view `connections`.
pub static CONNECTIONS: TableDef<ConnectionRow> = TableDef {
    name: "connections",
    meaning: "one row per TCP socket seen; both ends of a connection inside one host are two rows",
    columns: &[
        col!(
            "connection",
            "id",
            U64,
            "number of the socket, in order of first sight",
            |r, _| Cell::U64(r.connection.0.into())
        ),
        col!("saddr", "", Str, "local address", |r, _| Cell::ip(r.saddr)),
        col!("sport", "", U64, "local port", |r, _| Cell::U64(r.sport.into())),
        col!("daddr", "", Str, "remote address", |r, _| Cell::ip(r.daddr)),
        col!("dport", "", U64, "remote port", |r, _| Cell::U64(r.dport.into())),
        col!(
            "netns",
            "",
            Str,
            "network namespace; empty: no stock tracepoint names it",
            |_, _| Cell::Null
        ),
        col!(
            "task",
            "",
            Str,
            "task that last read or wrote it; before that who connected it",
            |r, _| Cell::name(&r.task)
        ),
        col!("pid", "id", I64, "its thread id", |r, _| Cell::thread(r.pid)),
        col!("first_ns", "ns", I64, "first event", |r, _| Cell::I64(r.first_ns)),
        col!("last_ns", "ns", I64, "last event", |r, _| Cell::I64(r.last_ns)),
        col!(
            "bytes_in",
            "bytes",
            U64,
            "payload that arrived in the established state and was not dropped; empty without samples",
            |r, _| (r.samples > 0).then_some(r.bytes_in).into()
        ),
        col!(
            "bytes_out",
            "bytes",
            U64,
            "new sequence space sent until the last sample (retransmitted bytes not counted); empty without samples",
            |r, _| (r.samples > 0).then_some(r.bytes_out).into()
        ),
        col!(
            "retransmits",
            "count",
            U64,
            "calls of tcp_retransmit_skb that sent, each one or more segments; empty when that event was not recorded",
            |r, _| r.retransmits.into()
        ),
        col!(
            "retransmit_segments",
            "count",
            U64,
            "segments that these calls sent; empty when that of a call is not known",
            |r, _| r.retransmit_segments.into()
        ),
        col!(
            "retransmits_refused",
            "count",
            U64,
            "calls more whose packet a queue of this host refused; empty where failures are not traced (before Linux 6.17)",
            |r, _| r.retransmits_refused.into()
        ),
        col!(
            "bytes_read",
            "bytes",
            U64,
            "bytes the application read; empty when sock_recv_length was not recorded",
            |r, _| r.bytes_read.into()
        ),
        col!(
            "bytes_written",
            "bytes",
            U64,
            "bytes the application wrote; empty when sock_send_length was not recorded",
            |r, _| r.bytes_written.into()
        ),
        col!("samples", "count", U64, "tcp_probe events", |r, _| Cell::U64(r.samples)),
        col!(
            "peer",
            "id",
            U64,
            "the socket at the other end, as in connections; empty: not in the recording, or not known which",
            |r, _| r.peer.map(|p| p.0).into()
        ),
        col!(
            "role",
            "",
            Str,
            "client: it opened the connection; server: it accepted it; see role_by",
            |r, _| Cell::str(r.role().0.word())
        ),
        col!(
            "role_by",
            "",
            Str,
            "what says so: handshake (its first state is in the recording), listens (it is older: something listens at that port), ports (likewise: the lower port is taken for the server's)",
            |r, _| Cell::str(r.role().1.word())
        ),
        col!(
            "skaddr",
            "",
            Str,
            "address of the struct sock; re-used by other sockets",
            |r, _| if r.skaddr == 0 {
                Cell::Null
            } else {
                Cell::address(r.skaddr)
            }
        ),
        col!("cookie", "id", U64, "socket cookie; empty when not recorded", |r, _| r
            .cookie
            .into()),
        col!(
            "confidence",
            "",
            Str,
            "of the events belonging to one socket",
            |r, _| Cell::str(r.confidence.word())
        ),
    ],
};

/// One `tcp_probe`: the state BEFORE the segment it belongs to was processed.
#[derive(Debug, Clone, PartialEq)]
pub struct SampleRow {
    /// When.
    pub time_ns: i64,
    /// Whose.
    pub connection: ConnectionId,
    /// Congestion window, packets.
    pub snd_cwnd: u32,
    /// `tcp_current_ssthresh`, packets; 2^31-1 = not set.
    pub ssthresh: u32,
    /// Smoothed RTT, us.
    pub srtt_us: u32,
    /// First unacknowledged sequence number.
    pub snd_una: u32,
    /// Next sequence number to send.
    pub snd_nxt: u32,
    /// Peer's window, bytes.
    pub snd_wnd: u32,
    /// Own window, bytes.
    pub rcv_wnd: u32,
    /// Payload of the segment, bytes (wraps at 65536 in the event).
    pub data_len: u32,
    /// CPU.
    pub cpu: u16,
}

/// The view `tcp_samples`.
pub static TCP_SAMPLES: TableDef<SampleRow> = TableDef {
    name: "tcp_samples",
    meaning: "one row per tcp_probe: a socket's state just before it processed a segment",
    columns: &[
        col!("time_ns", "ns", I64, "when", |r, _| Cell::I64(r.time_ns)),
        col!("connection", "id", U64, "the socket, as in connections", |r, _| {
            Cell::U64(r.connection.0.into())
        }),
        col!(
            "snd_cwnd",
            "packets",
            U64,
            "congestion window before this segment",
            |r, _| Cell::U64(r.snd_cwnd.into())
        ),
        col!(
            "ssthresh",
            "packets",
            U64,
            "tcp_current_ssthresh: outside a reduction it creeps with cwnd; 2147483647 = not set",
            |r, _| Cell::U64(r.ssthresh.into())
        ),
        col!("srtt_us", "us", U64, "smoothed RTT", |r, _| Cell::U64(r.srtt_us.into())),
        col!("snd_una", "", U64, "first unacknowledged sequence number", |r, _| {
            Cell::U64(r.snd_una.into())
        }),
        col!("snd_nxt", "", U64, "next sequence number to send", |r, _| Cell::U64(
            r.snd_nxt.into()
        )),
        col!("snd_wnd", "bytes", U64, "peer's receive window", |r, _| Cell::U64(
            r.snd_wnd.into()
        )),
        col!("rcv_wnd", "bytes", U64, "own receive window", |r, _| Cell::U64(
            r.rcv_wnd.into()
        )),
        col!(
            "data_len",
            "bytes",
            U64,
            "payload of the segment; the kernel keeps 16 bits of it",
            |r, _| Cell::U64(r.data_len.into())
        ),
        col!("cpu", "id", U64, "CPU", |r, _| Cell::U64(r.cpu.into())),
    ],
};

/// A congestion-state or socket-state change.
#[derive(Debug, Clone, PartialEq)]
pub struct StateRow {
    /// When.
    pub time_ns: i64,
    /// Whose.
    pub connection: ConnectionId,
    /// `cong` or `sock`.
    pub kind: &'static str,
    /// Number as recorded.
    pub state: i32,
    /// Name by the recording's own table.
    pub name: &'static str,
    /// CPU.
    pub cpu: u16,
    /// In a thread's call, not in a softirq that processes a segment or a timer.
    pub in_task: bool,
    /// That thread; 0: none.
    pub pid: i32,
    /// Its name then.
    pub task: Name,
}

/// The view `tcp_states`.
pub static TCP_STATES: TableDef<StateRow> = TableDef {
    name: "tcp_states",
    meaning: "one row per congestion-state set (also 4 -> 4 per RTO) or socket-state change",
    columns: &[
        col!("time_ns", "ns", I64, "when", |r, _| Cell::I64(r.time_ns)),
        col!("connection", "id", U64, "the socket, as in connections", |r, _| {
            Cell::U64(r.connection.0.into())
        }),
        col!(
            "kind",
            "",
            Str,
            "cong (tcp_cong_state_set) or sock (inet_sock_set_state)",
            |r, _| Cell::str(r.kind)
        ),
        col!("state", "id", I64, "number as recorded", |r, _| Cell::I64(
            r.state.into()
        )),
        col!(
            "name",
            "",
            Str,
            "its name: Open Disorder CWR Recovery Loss, or the TCP state",
            |r, _| Cell::str(r.name)
        ),
        col!("cpu", "id", U64, "CPU", |r, _| Cell::U64(r.cpu.into())),
        col!(
            "task",
            "",
            Str,
            "in whose call it changed; empty: a segment's or a timer's",
            |r, _| Cell::str(r.task.text())
        ),
        col!("pid", "id", I64, "its thread id", |r, _| Cell::thread(r.pid)),
    ],
};
