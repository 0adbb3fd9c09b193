//! Rows of the views `udp_sockets` and `udp_copies`.

use crate::confidence::Confidence;
use crate::facts::SkbId;
use crate::name::Name;
use crate::table::{Cell, TableDef, col};

/// No address of the kernel is below it.
pub(super) const SYNTHETIC: u64 = 1 << 40;

/// A UDP socket, from its first event to its close.
#[derive(Debug, Clone, PartialEq)]
pub struct SocketRow {
    /// Address of the `struct sock`; below [`SYNTHETIC`]: not known, a number of its own.
    pub sk: u64,
    /// The thread that sent or read first; 0: none did.
    pub pid: i32,
    /// Its name.
    pub task: Name,
    /// First event.
    pub first_ns: i64,
    /// Last event.
    pub last_ns: i64,
    /// Close of its descriptor by who used it.
    pub closed: bool,
    /// It was connected in the recording, by who used it.
    pub connected: bool,
    /// A datagram arrived before anything was sent.
    pub served: bool,
    /// Datagrams sent.
    pub sent: u64,
    /// Their payload.
    pub sent_bytes: u64,
    /// Sends that failed.
    pub errors: u64,
    /// Datagrams that arrived.
    pub arrived: u64,
    /// The first of them.
    pub first_arrived_ns: Option<i64>,
    /// The last.
    pub last_arrived_ns: Option<i64>,
    /// From one of them to the next, the longest, ns; 0: there is one at most.
    pub silent_ns: i64,
    /// Begin of that.
    pub silent_from_ns: Option<i64>,
    /// Datagrams read.
    pub received: u64,
    /// Datagrams that arrived and were not read when the recording ended.
    pub unread: u64,
    /// Datagrams that arrived and were in it, not read, when it was destroyed.
    pub left: u64,
    /// When that was.
    pub destroyed_ns: Option<i64>,
    /// Datagrams that arrived although no send call had made them, beside the one that they are a copy of.
    pub copies: u64,
    /// `address:port`, where a snapshot tells; of one bound to any address that of its namespace, where it has one only and nothing
    /// came over loopback.
    pub local: String,
    /// The same of its peer; where no snapshot tells, where all that it sent went to.
    pub remote: String,
    /// Its receive buffer (SO_RCVBUF as the kernel keeps it), bytes, by the same snapshot.
    pub rcvbuf: Option<u64>,
    /// Process that holds it, by the same snapshot.
    pub holder: i32,
    /// Its name.
    pub holder_task: Name,
    /// What ties it to the snapshot: `port`, `task`, `queue`; empty: nothing.
    pub named_by: &'static str,
    /// Of its life: weak where events were lost in it.
    pub confidence: Confidence,
}

/// A datagram that arrived twice.
#[derive(Debug, Clone, PartialEq)]
pub struct CopyRow {
    /// When the copy was first seen.
    pub time_ns: i64,
    /// On which device.
    pub dev: Name,
    /// The copy.
    pub copy: SkbId,
    /// What it is a copy of.
    pub skb_id: SkbId,
    /// The socket to which both came.
    pub socket: u32,
    /// Length on the device.
    pub bytes: Option<u32>,
    /// The turn that sent it; `None`: it is not known to be of this recording.
    pub turn: Option<u32>,
    /// In whose call the copy was made: the sender's own; else a softirq's.
    pub in_call: bool,
    /// That it is one.
    pub confidence: Confidence,
}

impl SocketRow {
    /// Nothing sent and nothing come yet.
    pub(crate) fn begin(sk: u64, at: i64) -> SocketRow {
        SocketRow {
            sk,
            pid: 0,
            task: Name::default(),
            first_ns: at,
            last_ns: at,
            closed: false,
            connected: false,
            served: false,
            sent: 0,
            sent_bytes: 0,
            errors: 0,
            arrived: 0,
            first_arrived_ns: None,
            last_arrived_ns: None,
            silent_ns: 0,
            silent_from_ns: None,
            received: 0,
            unread: 0,
            left: 0,
            destroyed_ns: None,
            copies: 0,
            local: String::new(),
            remote: String::new(),
            rcvbuf: None,
            holder: 0,
            holder_task: Name::default(),
            named_by: "",
            confidence: Confidence::Strong,
        }
    }
}

impl SocketRow {
    /// The process that holds it; where that is not known the thread that used it.
    pub fn holder_or_pid(&self) -> i32 {
        if self.holder == 0 { self.pid } else { self.holder }
    }
    /// A datagram came.
    pub(super) fn came(&mut self, at: i64) {
        self.arrived += 1;
        self.served |= self.sent == 0;
        self.first_arrived_ns = self.first_arrived_ns.or(Some(at));
        if let Some(last) = self.last_arrived_ns.replace(at) {
            let silent = at.saturating_sub(last);
            if silent > self.silent_ns {
                (self.silent_ns, self.silent_from_ns) = (silent, Some(last));
            }
        }
    }
}

fn text(s: &str) -> Cell<'_> {
    match s.is_empty() {
        true => Cell::Null,
        false => Cell::str(s),
    }
}
/// The view `udp_sockets`.
pub static UDP_SOCKETS: TableDef<SocketRow> = TableDef {
    name: "udp_sockets",
    meaning: "one row per UDP socket, from its first event to the close by who used it: what was sent, came and was read",
    columns: &[
        col!(
            "sk",
            "",
            Str,
            "address of the struct sock; re-used by many sockets; empty before Linux 6.3, where no event names it",
            |r, _| match r.sk < SYNTHETIC {
                true => Cell::Null,
                false => Cell::address(r.sk),
            }
        ),
        col!(
            "task",
            "",
            Str,
            "task that sent or read first; empty: none did",
            |r, _| Cell::name(&r.task)
        ),
        col!("pid", "id", I64, "its thread id", |r, _| Cell::thread(r.pid)),
        col!("first_ns", "ns", I64, "first event", |r, _| Cell::I64(r.first_ns)),
        col!("last_ns", "ns", I64, "last event", |r, _| Cell::I64(r.last_ns)),
        col!(
            "closed",
            "",
            Bool,
            "who used it closed it, or it was destroyed with datagrams in it",
            |r, _| Cell::Bool(r.closed)
        ),
        col!(
            "connected",
            "",
            Bool,
            "who used it called connect in the recording",
            |r, _| Cell::Bool(r.connected)
        ),
        col!(
            "served",
            "",
            Bool,
            "a datagram arrived before anything was sent",
            |r, _| Cell::Bool(r.served)
        ),
        col!("sent", "count", U64, "datagrams sent", |r, _| Cell::U64(r.sent)),
        col!("sent_bytes", "bytes", U64, "their payload", |r, _| Cell::U64(
            r.sent_bytes
        )),
        col!("errors", "count", U64, "sends that failed", |r, _| Cell::U64(r.errors)),
        col!(
            "arrived",
            "count",
            U64,
            "datagrams that arrived (sk_data_ready)",
            |r, _| Cell::U64(r.arrived)
        ),
        col!(
            "first_arrived_ns",
            "ns",
            I64,
            "the first of them; empty: none arrived",
            |r, _| r.first_arrived_ns.into()
        ),
        col!("last_arrived_ns", "ns", I64, "the last of them", |r, _| r
            .last_arrived_ns
            .into()),
        col!(
            "silent_ns",
            "ns",
            I64,
            "the longest time from one of them to the next; empty: fewer than two arrived",
            |r, _| r.silent_from_ns.map(|_| r.silent_ns).into()
        ),
        col!("silent_from_ns", "ns", I64, "begin of that", |r, _| r
            .silent_from_ns
            .into()),
        col!("received", "count", U64, "datagrams read", |r, _| Cell::U64(r.received)),
        col!(
            "unread",
            "count",
            U64,
            "datagrams that arrived and were not read when the recording ended",
            |r, _| Cell::U64(r.unread)
        ),
        col!(
            "left",
            "count",
            U64,
            "datagrams that arrived and were in it, not read, when it was destroyed, by their frees; of one that nobody had used that is its end here",
            |r, _| Cell::U64(r.left)
        ),
        col!(
            "copies",
            "count",
            U64,
            "datagrams that arrived twice, as in udp_copies",
            |r, _| Cell::U64(r.copies)
        ),
        col!(
            "local",
            "",
            Str,
            "its address and port by the snapshot of sockets at the end; of one bound to any address that of its namespace, where that has one only and nothing came over loopback; empty when not known",
            |r, _| text(&r.local)
        ),
        col!(
            "remote",
            "",
            Str,
            "the same of its peer; where no snapshot tells, where all that was sent on it went to, by the look-ups of routes, unless it served; empty also when it has none",
            |r, _| text(&r.remote)
        ),
        col!(
            "rcvbuf",
            "bytes",
            U64,
            "its receive buffer as the kernel keeps it (twice SO_RCVBUF), by that snapshot",
            |r, _| r.rcvbuf.into()
        ),
        col!(
            "holder_task",
            "",
            Str,
            "task of the process that holds it, by that snapshot",
            |r, _| Cell::name(&r.holder_task)
        ),
        col!(
            "holder",
            "id",
            I64,
            "process that holds it, by that snapshot",
            |r, _| Cell::thread(r.holder)
        ),
        col!(
            "named_by",
            "",
            Str,
            "what ties it to the snapshot: port (the only one of its process there that is bound to the port from which it sent, by look-ups of routes), task (the only one of its process there and here), queue (the only one there whose receive queue grew, the only one here with datagrams unread); empty: nothing",
            |r, _| text(r.named_by)
        ),
        col!(
            "confidence",
            "",
            Str,
            "that its events are one socket's; weak where events were lost in its time",
            |r, _| Cell::str(r.confidence.word())
        ),
    ],
};

/// The view `udp_copies`.
pub static UDP_COPIES: TableDef<CopyRow> = TableDef {
    name: "udp_copies",
    meaning: "one row per UDP datagram that came to a socket a second time because this host made a copy of it on the way, by time",
    columns: &[
        col!("time_ns", "ns", I64, "when the copy was first seen", |r, _| Cell::I64(
            r.time_ns
        )),
        col!("dev", "", Str, "on which device it was queued then", |r, _| Cell::name(
            &r.dev
        )),
        col!("copy", "id", U64, "the copy, as in skbs", |r, _| Cell::U64(
            r.copy.0.into()
        )),
        col!("skb_id", "id", U64, "what it is a copy of, as in skbs", |r, _| {
            Cell::U64(r.skb_id.0.into())
        }),
        col!(
            "socket",
            "id",
            U64,
            "the socket to which both came, place in udp_sockets",
            |r, _| Cell::U64(r.socket.into())
        ),
        col!("bytes", "bytes", U64, "length on the device", |r, _| r.bytes.into()),
        col!(
            "turn",
            "id",
            U64,
            "the turn that sent it, place in udp_turns; empty when not known",
            |r, _| r.turn.into()
        ),
        col!(
            "in_call",
            "",
            Bool,
            "made in the sender's own call; else in a softirq, on the way",
            |r, _| Cell::Bool(r.in_call)
        ),
        col!(
            "confidence",
            "",
            Str,
            "that it is a copy: the same length, queued beside it, for the same socket; no event compares the contents",
            |r, _| Cell::str(r.confidence.word())
        ),
    ],
};
