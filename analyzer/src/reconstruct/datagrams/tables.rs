//! Rows of the view `udp_turns`.

use std::net::SocketAddr;

use super::sockets::SocketRow;
use crate::confidence::Confidence;
use crate::facts::SkbId;
use crate::name::Name;
use crate::table::{Cell, TableDef, col};

/// What came of what was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TurnEnd {
    /// A datagram that arrived after the last send was read.
    Answered,
    /// A call on the socket gave the error that a message of another host or this one brought.
    Refused,
    /// The thread waited, and sent on the socket again.
    AskedAgain,
    /// Another thread sent on it.
    OtherThread,
    /// Its descriptor was closed.
    Closed,
    /// Events were lost: what came then is not known.
    Lost,
    /// The recording ended.
    RecordingEnd,
}

impl TurnEnd {
    /// As in tables.
    pub fn word(self) -> &'static str {
        match self {
            TurnEnd::Answered => "answered",
            TurnEnd::Refused => "refused",
            TurnEnd::AskedAgain => "asked_again",
            TurnEnd::OtherThread => "other_thread",
            TurnEnd::Closed => "closed",
            TurnEnd::Lost => "lost",
            TurnEnd::RecordingEnd => "recording_end",
        }
    }
}

/// Whether the thread waited for something to come on the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Awaited {
    /// It did not sleep in a call that can wait for it, or slept elsewhere first.
    No,
    /// It slept in such a call, and nothing tells that it was for this socket.
    Perhaps,
    /// In one that waits for one of several descriptors, and gave the socket up when its time was over.
    Several,
    /// In one that waits for one descriptor, and gave the socket up then, or read it after such a wait at another time.
    Poll,
    /// In a receive call on the socket.
    Receive,
}

impl Awaited {
    /// As in tables.
    pub fn word(self) -> &'static str {
        match self {
            Awaited::No => "no",
            Awaited::Perhaps => "perhaps",
            Awaited::Several => "several",
            Awaited::Poll => "poll",
            Awaited::Receive => "receive",
        }
    }
}

/// Sends of a thread on a UDP socket with no read and no wait between them, and what came of them.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnRow {
    /// The socket, place in `udp_sockets`.
    pub socket: u32,
    /// Thread that sent.
    pub pid: i32,
    /// Its name.
    pub task: Name,
    /// Begin of the first send call.
    pub start_ns: i64,
    /// End of the last.
    pub sent_ns: i64,
    /// Datagrams.
    pub sends: u32,
    /// Their payload.
    pub bytes: u64,
    /// Where all of them went to, by their route lookups; `None`: not told, or not all to the same.
    pub to: Option<SocketAddr>,
    /// When the first datagram arrived on the socket after the last send.
    pub ready_ns: Option<i64>,
    /// When it was read.
    pub read_ns: Option<i64>,
    /// When the last one was read before the next send.
    pub last_read_ns: Option<i64>,
    /// Datagrams read on the socket until the next send.
    pub reads: u32,
    /// What came of it.
    pub end: TurnEnd,
    /// When.
    pub end_ns: i64,
    /// errno, positive, of one that was refused.
    pub error: Option<i32>,
    /// ns that the thread slept from the last send to the read, or to the end of its last call that waits.
    pub waited_ns: i64,
    /// The call in which it slept longest.
    pub waited_in: Name,
    /// Whether that was for this socket.
    pub awaited: Awaited,
    /// It gave the socket up after it had waited: closed it, or asked the same on a new one, before it slept again.
    pub gave_up: bool,
    /// It was sent right behind a datagram for which the socket had not asked: an answer to that (inferred).
    pub reply: bool,
    /// The turn with which it asked again at once, place in `udp_turns`.
    pub again: Option<u32>,
    /// The first packet that was sent.
    pub skb_id: Option<SkbId>,
    /// The socket of this recording to which it came, place in `udp_sockets`.
    pub there: Option<u32>,
    /// Datagrams of the turn that came to a socket of this recording.
    pub landed: u32,
    /// Of them, those not read when the recording ended.
    pub unread: u32,
    /// Of the link between what was sent and what came of it.
    pub confidence: Confidence,
}

fn skb(id: Option<SkbId>) -> Cell<'static> {
    id.map(|s| u64::from(s.0)).into()
}

impl TurnRow {
    /// Nothing sent yet, on that socket.
    pub(crate) fn begin(socket: u32, pid: i32, at: i64) -> TurnRow {
        TurnRow {
            socket,
            pid,
            task: Name::default(),
            start_ns: at,
            sent_ns: at,
            sends: 0,
            bytes: 0,
            to: None,
            ready_ns: None,
            read_ns: None,
            last_read_ns: None,
            reads: 0,
            end: TurnEnd::RecordingEnd,
            end_ns: i64::MAX,
            error: None,
            waited_ns: 0,
            waited_in: Name::default(),
            awaited: Awaited::No,
            gave_up: false,
            reply: false,
            again: None,
            skb_id: None,
            there: None,
            landed: 0,
            unread: 0,
            confidence: Confidence::Strong,
        }
    }
}

impl TurnRow {
    /// Something came on its socket behind it.
    pub(crate) fn has_answer(&self) -> bool {
        self.end == TurnEnd::Answered || self.ready_ns.is_some()
    }
    /// What came of it is known: it may not be answered by what was lost, by another thread's read, or behind the recording.
    pub(crate) fn is_decided(&self) -> bool {
        !matches!(self.end, TurnEnd::Lost | TurnEnd::RecordingEnd | TurnEnd::OtherThread)
    }
    /// Where it went to, as an address; where no look-up tells, the peer of its socket.
    pub fn whither(&self, sockets: &[SocketRow]) -> Option<SocketAddr> {
        let of_socket = || sockets.get(self.socket as usize)?.remote.parse().ok();
        let to: SocketAddr = self.to.or_else(of_socket)?;
        Some(SocketAddr::new(to.ip().to_canonical(), to.port()))
    }
    /// Where it went to: `address:port`, of this turn or of all that its socket sent; empty: not known.
    pub fn peer(&self, sockets: &[SocketRow]) -> String {
        let of_socket = || sockets.get(self.socket as usize).map(|s| s.remote.clone());
        let to = self.to.map(|to| to.to_string());
        to.or_else(of_socket).unwrap_or_default()
    }
}

/// The view `udp_turns`.
pub static UDP_TURNS: TableDef<TurnRow> = TableDef {
    name: "udp_turns",
    meaning: "one row per run of sends of a thread on a UDP socket, by time: what came back on it, how long the thread waited",
    columns: &[
        col!(
            "socket",
            "id",
            U64,
            "the socket, place in udp_sockets from 0",
            |r, _| Cell::U64(r.socket.into())
        ),
        col!("task", "", Str, "task that sent", |r, _| Cell::name(&r.task)),
        col!("pid", "id", I64, "its thread id", |r, _| Cell::thread(r.pid)),
        col!("start_ns", "ns", I64, "begin of the first send call", |r, _| Cell::I64(
            r.start_ns
        )),
        col!("sent_ns", "ns", I64, "end of the last send", |r, _| Cell::I64(
            r.sent_ns
        )),
        col!(
            "sends",
            "count",
            U64,
            "datagrams sent with no read and no wait in between",
            |r, _| Cell::U64(r.sends.into())
        ),
        col!("bytes", "bytes", U64, "their payload", |r, _| Cell::U64(r.bytes)),
        col!(
            "destination",
            "",
            Str,
            "address and port to which all of them went, by their route lookups; empty: not told, or not all to the same",
            |r, _| r.to.map_or(Cell::Null, |to| Cell::str(to.to_string()))
        ),
        col!(
            "ready_ns",
            "ns",
            I64,
            "when the first datagram arrived on the socket after the last send; empty: none did",
            |r, _| r.ready_ns.into()
        ),
        col!(
            "read_ns",
            "ns",
            I64,
            "when such a datagram was read; empty: none was",
            |r, _| r.read_ns.into()
        ),
        col!(
            "last_read_ns",
            "ns",
            I64,
            "when the last datagram was read on the socket before the next send; empty: none was",
            |r, _| r.last_read_ns.into()
        ),
        col!(
            "reads",
            "count",
            U64,
            "datagrams read on the socket until the next send",
            |r, _| Cell::U64(r.reads.into())
        ),
        col!(
            "end",
            "",
            Str,
            "answered (read), refused (a call on the socket gave an error), asked_again (the thread waited and sent again on this socket), other_thread (another thread sent), closed, lost (events were), recording_end",
            |r, _| Cell::str(r.end.word())
        ),
        col!("end_ns", "ns", I64, "when that was", |r, _| Cell::I64(r.end_ns)),
        col!("error", "", I64, "errno of one that was refused, positive", |r, _| r
            .error
            .map(i64::from)
            .into()),
        col!(
            "waited_ns",
            "ns",
            I64,
            "time that the thread slept from the last send to the read, or to the end of its last call that waits",
            |r, _| Cell::I64(r.waited_ns)
        ),
        col!(
            "waited_in",
            "",
            Str,
            "system call in which it slept longest; empty: it did not sleep, or nothing tells",
            |r, _| Cell::name(&r.waited_in)
        ),
        col!(
            "awaited",
            "",
            Str,
            "of a turn without an answer, whether it waited for one: receive (slept in a receive call on this socket), poll, several (in a call that waits for one or for several descriptors, until its time was over, and then gave this socket up), perhaps (slept in such a call, and nothing tells what for), no",
            |r, _| Cell::str(r.awaited.word())
        ),
        col!(
            "gave_up",
            "",
            Bool,
            "after the wait it closed the socket, or asked the same on a new one, before it slept again",
            |r, _| Cell::Bool(r.gave_up)
        ),
        col!(
            "reply",
            "",
            Bool,
            "sent right behind a datagram for which the socket had not asked: an answer to that (inferred)",
            |r, _| Cell::Bool(r.reply)
        ),
        col!(
            "again",
            "id",
            U64,
            "the turn with which it asked again at once, place in this view from 0; empty: it did not",
            |r, _| r.again.into()
        ),
        col!(
            "skb_id",
            "id",
            U64,
            "the first packet that was sent, as in tx; empty when not known",
            |r, _| skb(r.skb_id)
        ),
        col!(
            "there",
            "id",
            U64,
            "the socket of this recording to which that came, place in udp_sockets; empty: to none that is known",
            |r, _| r.there.into()
        ),
        col!(
            "landed",
            "count",
            U64,
            "datagrams of the turn that came to a socket of this recording",
            |r, _| Cell::U64(r.landed.into())
        ),
        col!(
            "unread",
            "count",
            U64,
            "of them, those not read when the recording ended, or their socket was destroyed",
            |r, _| Cell::U64(r.unread.into())
        ),
        col!(
            "confidence",
            "",
            Str,
            "of the link between what was sent and what came of it; weak where events were lost meanwhile",
            |r, _| Cell::str(r.confidence.word())
        ),
    ],
};
