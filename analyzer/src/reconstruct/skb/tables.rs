//! Rows of the views `skbs` and `hops`.

use crate::confidence::Confidence;
use crate::facts::SkbId;
use crate::name::Name;
use crate::table::{Cell, TableDef, col};

/// What an skb was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SkbClass {
    /// Born on the receive path.
    Rx,
    /// First seen at the driver: built there by software segmentation (GSO, a qdisc), so without a `net_dev_queue` of its own.
    TxSegment,
    /// Born on the transmit path; the data do not tell clones from control packets.
    Tx,
    /// A TCP original in a write queue.
    TxOriginal,
    /// The fclone companion of a TCP original, sent down to the device.
    TxClone,
    /// Any other transmit skb: ACK, RST, SYN-ACK, a retransmitted copy, not TCP.
    TxOther,
    /// A copy made for a packet capture that ran on the recorded host (AF_PACKET).
    Tap,
}

impl SkbClass {
    /// The word in tables.
    pub fn word(self) -> &'static str {
        match self {
            SkbClass::Rx => "rx",
            SkbClass::TxSegment => "tx_segment",
            SkbClass::Tx => "tx",
            SkbClass::TxOriginal => "tx_original",
            SkbClass::TxClone => "tx_clone",
            SkbClass::TxOther => "tx_other",
            SkbClass::Tap => "tap",
        }
    }
}

/// How a life began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BirthKind {
    /// An event that only a new skb causes was seen.
    Seen,
    /// First sight of an address that must have been alive before (a write-queue tail, a GSO child).
    Inferred,
    /// First sight so near the start of the recording, or a gap, that the birth may lie before it.
    CensoredStart,
}

impl BirthKind {
    /// The word in tables.
    pub fn word(self) -> &'static str {
        match self {
            BirthKind::Seen => "seen",
            BirthKind::Inferred => "inferred",
            BirthKind::CensoredStart => "censored_start",
        }
    }
}

/// How a life ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DeathKind {
    /// `consume_skb`.
    Consumed,
    /// `kfree_skb`.
    Dropped,
    /// Merged into another skb by GRO, head freed (`napi_gro_receive_exit` ret 1).
    GroMerged,
    /// Consumed because its segments were built (software GSO, in-qdisc segmentation).
    Segmented,
    /// Freed silently after TCP processed it (a pure ACK): the last event is the time.
    InferredProtocol,
    /// Freed silently after its last byte was read: the last copy is the time.
    InferredRead,
    /// A TCP original, freed silently when the acknowledgement of its last byte was processed.
    InferredAcked,
    /// Freed silently at an unknown time between its last event and the next use of the address.
    Unseen,
    /// TCP was done with it at an unknown time; its memory was returned later by a deferred free, which was seen.
    Deferred,
    /// Alive, or its end not seen, when the recording ended.
    CensoredEnd,
    /// Its end may lie in an interval whose events were lost.
    Lost,
}

impl DeathKind {
    /// The word in tables.
    pub fn word(self) -> &'static str {
        match self {
            DeathKind::Consumed => "consumed",
            DeathKind::Dropped => "dropped",
            DeathKind::GroMerged => "gro_merged",
            DeathKind::Segmented => "segmented",
            DeathKind::InferredProtocol => "inferred_protocol",
            DeathKind::InferredRead => "inferred_read",
            DeathKind::InferredAcked => "inferred_acked",
            DeathKind::Unseen => "unseen",
            DeathKind::Deferred => "deferred",
            DeathKind::CensoredEnd => "censored_end",
            DeathKind::Lost => "lost",
        }
    }
}

/// One life of an `sk_buff` address.
#[derive(Debug, Clone, PartialEq)]
pub struct SkbRow {
    /// Identity.
    pub skb_id: SkbId,
    /// Address of the `struct sk_buff`.
    pub skbaddr: u64,
    /// What it was for.
    pub class: SkbClass,
    /// First event.
    pub birth_ns: i64,
    /// How it began.
    pub birth_kind: BirthKind,
    /// Last event of the life, seen or inferred end; `None` when the end is unknown.
    pub death_ns: Option<i64>,
    /// How it ended.
    pub death_kind: DeathKind,
    /// Last event that named it.
    pub last_ns: i64,
    /// First device it was seen on.
    pub dev: Name,
    /// Last device it was seen on.
    pub last_dev: Name,
    /// Bytes of the packet as first stated by an event (transmit: with link header; receive: without); `None` for originals.
    pub bytes: Option<u32>,
    /// Times it entered a device or a receive path.
    pub hops: u32,
    /// Payload of each segment that it is to be cut into, as last handed to a driver; 0: none was stated.
    pub gso_size: u16,
    /// `location` of the free, a kernel text address; 0 when not recorded.
    pub death_location: u64,
    /// Least of the links between its events, the end left out.
    pub links: Confidence,
    /// Least of all its links, the end included.
    pub confidence: Confidence,
}

impl SkbRow {
    /// Its length in time, when both ends are known.
    pub fn life_ns(&self) -> Option<i64> {
        if self.birth_kind == BirthKind::CensoredStart {
            return None;
        }
        self.death_ns.map(|d| d - self.birth_ns)
    }
}

/// The view `skbs`.
pub static SKBS: TableDef<SkbRow> = TableDef {
    name: "skbs",
    meaning: "one row per life of an sk_buff address, in order of birth",
    columns: &[
        col!("skb_id", "id", U64, "number of the life, in order of birth", |r, _| {
            Cell::U64(r.skb_id.0.into())
        }),
        col!(
            "skbaddr",
            "",
            Str,
            "address of the struct sk_buff; re-used by many lives",
            |r, _| Cell::address(r.skbaddr)
        ),
        col!(
            "class",
            "",
            Str,
            "by birth (loopback and veth skbs go on as received ones): rx, tx_original (TCP write queue), tx_clone (its copy sent down), tx_other (ACK, RST, a retransmitted copy, not TCP), tx_segment (built by software GSO or a qdisc, first seen at the driver), tx (not told apart), tap (a copy for a packet capture on the recorded host)",
            |r, _| Cell::str(r.class.word())
        ),
        col!("birth_ns", "ns", I64, "first event on the trace clock", |r, _| {
            Cell::I64(r.birth_ns)
        }),
        col!(
            "birth_kind",
            "",
            Str,
            "seen, inferred (was alive before its first event), censored_start (may be older than the recording)",
            |r, _| Cell::str(r.birth_kind.word())
        ),
        col!(
            "death_ns",
            "ns",
            I64,
            "end on the trace clock; empty when unknown",
            |r, _| r.death_ns.into()
        ),
        col!(
            "death_kind",
            "",
            Str,
            "consumed, dropped, gro_merged, segmented (seen); inferred_protocol, inferred_read, inferred_acked (silent free right after the last event, or by the acknowledgement); unseen, deferred (only the later return of its memory was seen), censored_end, lost (end unknown)",
            |r, _| Cell::str(r.death_kind.word())
        ),
        col!(
            "life_ns",
            "ns",
            I64,
            "death_ns - birth_ns; empty when an end is unknown or censored",
            |r, _| r.life_ns().into()
        ),
        col!(
            "dev",
            "",
            Str,
            "first device it was seen on; empty when no event named one",
            |r, _| if r.dev.is_empty() {
                Cell::Null
            } else {
                Cell::str(r.dev.text())
            }
        ),
        col!(
            "bytes",
            "bytes",
            U64,
            "length stated by the first event that has one (transmit: with link header, receive: without)",
            |r, _| r.bytes.into()
        ),
        col!(
            "confidence",
            "",
            Str,
            "least of the links of this life: certain, strong, weak, unknown",
            |r, _| Cell::str(r.confidence.word())
        ),
        col!("last_ns", "ns", I64, "last event that named it", |r, _| Cell::I64(
            r.last_ns
        )),
        col!(
            "hops",
            "count",
            U64,
            "times it entered a device queue or a receive path",
            |r, _| Cell::U64(r.hops.into())
        ),
        col!(
            "gso_size",
            "bytes",
            U64,
            "payload of each segment that it is to be cut into, as net_dev_start_xmit stated it last; empty: none",
            |r, _| Some(r.gso_size).filter(|n| *n > 0).map(u64::from).into()
        ),
        col!(
            "death_location",
            "",
            Str,
            "kernel function that freed it; empty when not seen",
            |r, n| n.location(r.death_location)
        ),
    ],
};

/// One step of a life.
#[derive(Debug, Clone, PartialEq)]
pub struct HopRow {
    /// Which life.
    pub skb_id: SkbId,
    /// When.
    pub time_ns: i64,
    /// CPU.
    pub cpu: u16,
    /// `queue`, `xmit`, `rx`.
    pub kind: &'static str,
    /// Device.
    pub dev: Name,
    /// Length stated there.
    pub bytes: Option<u32>,
    /// Confidence of the step belonging to this life.
    pub confidence: Confidence,
}

/// The view `hops`.
pub static HOPS: TableDef<HopRow> = TableDef {
    name: "hops",
    meaning: "one row per step of an skb through a device: queued for transmit, handed to the driver, received",
    columns: &[
        col!("skb_id", "id", U64, "the life, as in skbs", |r, _| Cell::U64(
            r.skb_id.0.into()
        )),
        col!("time_ns", "ns", I64, "when, on the trace clock", |r, _| Cell::I64(
            r.time_ns
        )),
        col!("cpu", "id", U64, "CPU", |r, _| Cell::U64(r.cpu.into())),
        col!(
            "kind",
            "",
            Str,
            "queue (net_dev_queue), xmit (net_dev_start_xmit), rx (netif_rx, GRO entry or netif_receive_skb, the first of a receive path)",
            |r, _| Cell::str(r.kind)
        ),
        col!("dev", "", Str, "device", |r, _| Cell::str(r.dev.text())),
        col!("bytes", "bytes", U64, "length stated there", |r, _| r.bytes.into()),
        col!("confidence", "", Str, "that this step belongs to this life", |r, _| {
            Cell::str(r.confidence.word())
        }),
    ],
};
