//! One open life, and how it becomes a row.

use super::tables::{BirthKind, DeathKind, SkbClass, SkbRow};
use crate::confidence::Confidence;
use crate::facts::SkbId;
use crate::name::Name;

/// How far a life has come; ordered along the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// In a TCP write queue.
    WriteQueue,
    /// `net_dev_queue` seen.
    TxQueued,
    /// `net_dev_start_xmit` seen.
    TxStarted,
    /// `netif_rx` or GRO entry seen.
    RxQueued,
    /// Member of another skb's frag_list (GRO exit ret 0).
    GroMember,
    /// `netif_receive_skb` seen.
    Received,
    /// TCP had it; no payload: TCP frees it at once, silently.
    TcpDone,
    /// TCP had it; payload waits for a reader, or was coalesced into another skb (silent).
    TcpData,
    /// Copied to a reader.
    Copied,
}

/// The last frame of an original.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Its life.
    pub clone: SkbId,
    /// It came in somewhere, or an earlier one had left.
    pub left: bool,
}

/// A life that has not ended.
#[derive(Debug, Clone)]
pub struct Life {
    /// Position in the table of lives.
    pub id: SkbId,
    /// Address.
    pub skbaddr: u64,
    /// Class.
    pub class: SkbClass,
    /// How far.
    pub phase: Phase,
    /// First event.
    pub birth_ns: i64,
    /// How it began.
    pub birth_kind: BirthKind,
    /// Last event.
    pub last_ns: i64,
    /// CPU of the last event.
    pub last_cpu: u16,
    /// First device.
    pub dev: Name,
    /// Last device.
    pub last_dev: Name,
    /// First stated length.
    pub bytes: Option<u32>,
    /// Last stated length.
    pub last_len: Option<u32>,
    /// An original whose clone was queued for transmit.
    pub sent: bool,
    /// When its first frame was queued that left, and its length.
    pub first: Option<(i64, u32)>,
    /// Of an original, the address of its socket; 0 when not known.
    pub sock: u64,
    /// Of an original, that one which had been sent was taken for gone when it came.
    pub instead: bool,
    /// Of an original, that TCP was told that a queue refused its last frame, as far as the queue's kind tells.
    pub tells: bool,
    /// Of such a one, that one of its socket's grew since.
    pub merged: bool,
    /// Of an original, its last frame.
    pub frame: Option<Frame>,
    /// An original first seen when it was sent again, or cut since: where its bytes end its first frame does not tell.
    pub late: bool,
    /// Device entries.
    pub hops: u32,
    /// As in `skbs`.
    pub gso_size: u16,
    /// Least link.
    pub confidence: Confidence,
}

impl Life {
    /// Something else begins at this address, or the recording ends: the end of this life was silent.
    pub fn end_silently(self, ended: bool) -> SkbRow {
        let (death_kind, death_ns, confidence) = match self.phase {
            Phase::TcpDone => (DeathKind::InferredProtocol, Some(self.last_ns), Confidence::Strong),
            Phase::Copied => (DeathKind::InferredRead, Some(self.last_ns), Confidence::Strong),
            _ if ended => (DeathKind::CensoredEnd, None, Confidence::Certain),
            _ => (DeathKind::Unseen, None, Confidence::Strong),
        };
        self.row(death_kind, death_ns, 0, confidence)
    }
    /// The row.
    pub fn row(self, death_kind: DeathKind, death_ns: Option<i64>, location: u64, link: Confidence) -> SkbRow {
        SkbRow {
            skb_id: self.id,
            skbaddr: self.skbaddr,
            class: self.class,
            birth_ns: self.birth_ns,
            birth_kind: self.birth_kind,
            death_ns,
            death_kind,
            last_ns: death_ns.unwrap_or(self.last_ns).max(self.last_ns),
            dev: self.dev,
            last_dev: self.last_dev,
            bytes: self.bytes,
            hops: self.hops,
            gso_size: self.gso_size,
            death_location: location,
            links: self.confidence,
            confidence: self.confidence.min(link),
        }
    }
}
