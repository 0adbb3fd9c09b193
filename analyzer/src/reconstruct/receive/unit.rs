//! One unit on its way, as a set of times.

use super::cpu::SoftirqClock;
use super::tables::{ReadBy, RxStart};
use super::units::UnitId;
use crate::confidence::Confidence;
use crate::facts::{ConnectionId, SkbId};
use crate::name::Name;

/// A socket as a reader names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    /// A TCP socket.
    Tcp(ConnectionId),
    /// Another, by address and protocol.
    Other(u64, u16),
}

/// Where in a [`Fifo`](super::fifo::Fifo) a unit waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Readable.
    Line(u64),
    /// Arrived, not announced.
    Held(u64),
}

/// Times of one unit on the trace clock; `None`: not seen (yet).
#[derive(Debug, Clone)]
pub struct Unit {
    /// Life.
    pub skb: SkbId,
    /// Device.
    pub dev: Name,
    /// CPU of `netif_receive_skb`.
    pub cpu: u16,
    /// First event.
    pub start: i64,
    /// Which.
    pub start_kind: RxStart,
    /// NET_RX raise that led to its poll.
    pub raise: Option<i64>,
    /// Entry of the softirq run that received it.
    pub softirq: Option<i64>,
    /// CPU of the first event.
    pub start_cpu: u16,
    /// GRO entry.
    pub gro: Option<i64>,
    /// The end of the poll that it entered GRO in, when it was not received by then.
    pub poll_end: Option<i64>,
    /// `softirq_entry` of the run it was received in.
    pub recv_softirq: Option<i64>,
    /// Poll of its first run, from 0.
    pub poll_nth: Option<u32>,
    /// Its place in that poll, from 0.
    pub unit_nth: Option<u32>,
    /// When packets received before it on its CPU were through, if that was after it was received.
    pub through: Option<i64>,
    /// `netif_receive_skb`.
    pub recv: Option<i64>,
    /// Length at `netif_receive_skb`, bytes.
    pub recv_len: Option<u32>,
    /// `tcp_probe`.
    pub proto: Option<i64>,
    /// `netif_receive_skb` ran in task context: threaded NAPI, busy polling.
    pub recv_in_task: bool,
    /// The probe ran in task context: the segment waited in the socket's backlog.
    pub backlog: bool,
    /// Announced only by a later segment's `sk_data_ready`.
    pub held: bool,
    /// While it waited nothing was missing: its socket is woken for so many bytes only (SO_RCVLOWAT).
    pub low_water: bool,
    /// ACKs, or the order of reads, say that it lay behind a hole.
    pub hole: bool,
    /// The unit whose announcement seems to have released it.
    pub by: Option<UnitId>,
    /// A read left it that took all that was readable, though an announcement had seemed to release it.
    pub spared: bool,
    /// ACKs leave one announcement that can have released it.
    pub proven: bool,
    /// `sk_data_ready`.
    pub ready: Option<i64>,
    /// Payload, bytes.
    pub bytes: Option<u32>,
    /// Payload not read yet, bytes.
    pub left: u32,
    /// TCP socket.
    pub connection: Option<ConnectionId>,
    /// Copy that took its last byte.
    pub copy: Option<i64>,
    /// The softirq clock of the reader's CPU then.
    pub clock: Option<SoftirqClock>,
    /// Softirqs on the reader's CPU since, ns.
    pub nested: Option<i64>,
    /// What says that it was read.
    pub read_by: Option<ReadBy>,
    /// `sock_recv_length` of that read.
    pub read: Option<i64>,
    /// `sys_exit_*` of that read.
    pub exit: Option<i64>,
    /// Reading thread.
    pub pid: i32,
    /// Taken for read because a later unit was read: not later than that.
    pub passed: bool,
    /// Waits for a socket to claim it.
    pub unclaimed: bool,
    /// Its burst is over and nothing claimed it: it may lie in a socket's backlog.
    pub aside: bool,
    /// Flow hash; 0: none.
    pub hash: u32,
    /// Its own payload, where that of others was merged into it, bytes.
    pub own: Option<u32>,
    /// Those others.
    pub tails: Vec<UnitId>,
    /// Where in the queue of its socket.
    pub place: Option<Place>,
    /// Bytes taken by copies that named it.
    pub named_bytes: u32,
    /// Its socket, once it claimed it.
    pub key: Option<Key>,
    /// Its life goes on: events may name it.
    pub open: bool,
    /// Its row is written.
    pub done: bool,
    /// Least link.
    pub confidence: Confidence,
}

/// By which clocks of two CPUs may differ before an order of theirs is doubted, ns.
const CLOCKS_NS: i64 = 10_000;

impl Unit {
    /// From when on a copy may have its bytes: TCP queues them after `tcp_probe`.
    pub fn came(&self) -> i64 {
        let queued = self.proto.map_or(i64::MIN, |at| at.saturating_sub(CLOCKS_NS));
        self.start.max(queued)
    }
    /// A unit that begins with an event.
    pub fn begin(skb: SkbId, dev: Name, cpu: u16, start: i64, start_kind: RxStart) -> Unit {
        Unit {
            skb,
            dev,
            cpu,
            start,
            start_kind,
            raise: None,
            softirq: None,
            start_cpu: cpu,
            gro: None,
            poll_end: None,
            recv_softirq: None,
            poll_nth: None,
            unit_nth: None,
            through: None,
            recv: None,
            recv_len: None,
            proto: None,
            recv_in_task: false,
            backlog: false,
            held: false,
            low_water: false,
            hole: false,
            by: None,
            spared: false,
            proven: false,
            ready: None,
            bytes: None,
            left: 0,
            connection: None,
            copy: None,
            clock: None,
            nested: None,
            read_by: None,
            read: None,
            exit: None,
            pid: 0,
            passed: false,
            unclaimed: true,
            aside: false,
            hash: 0,
            own: None,
            tails: vec![],
            place: None,
            named_bytes: 0,
            key: None,
            open: true,
            done: false,
            confidence: Confidence::Certain,
        }
    }
    /// Weakens it.
    pub fn link(&mut self, c: Confidence) {
        self.confidence = self.confidence.min(c);
    }
}

/// Payload of a segment: the event keeps 16 bits, the skb's length tells the rest.
pub fn payload(data_len: u16, recv_len: Option<u32>) -> u32 {
    let low = u32::from(data_len);
    match recv_len {
        Some(len) if len > low => low + (len - low) / 65536 * 65536,
        _ => low,
    }
}
