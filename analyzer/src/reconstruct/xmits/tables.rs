//! Rows of the views `xmits` and `txq_stops`.

use crate::confidence::Confidence;
use crate::facts::SkbId;
use crate::name::Name;
use crate::table::{Cell, TableDef, col};

/// How a pass ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PassEnd {
    /// The driver took it; its completion shows no event, or the device handed the skb on (loopback, veth, a stacked device).
    Sent,
    /// The driver freed it after sending.
    Completed,
    /// Freed as dropped: by the qdisc or the driver.
    Dropped,
    /// Replaced by segments (software GSO, a qdisc that segments): they have rows of their own, with this as parent.
    Segmented,
    /// Freed as used up before any driver had it, and no segments followed.
    Consumed,
    /// Not at its end when the recording ended, or what followed was lost.
    Open,
}

impl PassEnd {
    /// The word in tables.
    pub fn word(self) -> &'static str {
        match self {
            PassEnd::Sent => "sent",
            PassEnd::Completed => "completed",
            PassEnd::Dropped => "dropped",
            PassEnd::Segmented => "segmented",
            PassEnd::Consumed => "consumed",
            PassEnd::Open => "open",
        }
    }
}

/// One pass of an skb over a device. Times are on the trace clock, ns.
#[derive(Debug, Clone, PartialEq)]
pub struct Pass {
    /// The life; `None` for a segment that was dropped by the qdisc that built it: no event introduced it.
    pub skb_id: Option<SkbId>,
    /// The skb whose segment it is: its time in the queue is this one's too.
    pub parent: Option<SkbId>,
    /// Device.
    pub dev: Name,
    /// Device index in its network namespace, when a qdisc event told it.
    pub ifindex: Option<i32>,
    /// Transmit queue (`queue_mapping`), when the packet reached the driver.
    pub queue: Option<u16>,
    /// Kind of the root qdisc when the recording tells it; else empty.
    pub qdisc: Name,
    /// True: not queued by a qdisc (noqueue, or an empty qdisc was bypassed). `None`: not known.
    pub bypass: Option<bool>,
    /// Bytes with the link-layer header; `None` for a segment that was dropped by the qdisc that built it.
    pub bytes: Option<u32>,
    /// `net_dev_queue`; of the parent for a segment.
    pub queued_ns: Option<i64>,
    /// `net_dev_start_xmit`; the last one when the driver had refused it before.
    pub started_ns: Option<i64>,
    /// `net_dev_xmit` of that start; for what no driver took the drop or the segmentation.
    pub ended_ns: Option<i64>,
    /// Freed by the driver after sending.
    pub completed_ns: Option<i64>,
    /// In the qdisc, the stops left out; 0 when bypassed.
    pub qdisc_ns: Option<i64>,
    /// In the qdisc while byte queue limits stopped the queue.
    pub bql_ns: Option<i64>,
    /// In the qdisc while the driver had stopped the queue or refused the packet.
    pub ring_ns: Option<i64>,
    /// In the driver's transmit function; it ends there when the packet was freed before the function returned.
    pub driver_ns: Option<i64>,
    /// Inside the driver's transmit function but not its own: interrupts, softirqs, other passes.
    pub nested_ns: Option<i64>,
    /// What nested in the last call of the driver's transmit function: begin and end.
    pub inside: Box<[(i64, i64)]>,
    /// From the driver's return to the free; `None` when it was freed before that.
    pub completion_ns: Option<i64>,
    /// First to last event.
    pub total_ns: i64,
    /// What is in none of the parts (hand-over to the driver: validation, software GSO, taps, locks).
    pub unattributed_ns: i64,
    /// Times the driver refused it.
    pub requeues: u16,
    /// What the driver returned last.
    pub rc: Option<i32>,
    /// How it ended.
    pub end: PassEnd,
    /// CPU that gave it to the driver, else the one that queued it.
    pub cpu: u16,
    /// Least of its links.
    pub confidence: Confidence,
}

impl Pass {
    /// First event.
    pub fn first_ns(&self) -> i64 {
        self.queued_ns.or(self.started_ns).unwrap_or_default()
    }
    /// End of the driver's part: its return, or the free of the packet when that came first (on another CPU).
    pub fn left_ns(&self) -> Option<i64> {
        self.ended_ns.map(|e| self.completed_ns.map_or(e, |c| c.min(e)))
    }
    /// In the driver's transmit function up to a time, what nests in it left out.
    pub fn driver_until(&self, t: i64) -> Option<i64> {
        let (driver, left) = (self.driver_ns?, self.left_ns()?);
        let t = t.min(left);
        let after = left.wrapping_sub(t).wrapping_sub(within(&self.inside, t, left));
        Some(driver.wrapping_sub(after))
    }
    /// The parts: name, ns. With `unattributed_ns` they sum to `total_ns`.
    pub fn parts(&self) -> [(&'static str, Option<i64>); 6] {
        [
            ("qdisc", self.qdisc_ns),
            ("bql", self.bql_ns),
            ("ring", self.ring_ns),
            ("driver", self.driver_ns),
            ("nested", self.nested_ns),
            ("completion", self.completion_ns),
        ]
    }
}

/// ns of spans that lie in an interval.
pub(super) fn within(spans: &[(i64, i64)], from: i64, to: i64) -> i64 {
    let part = |s: &(i64, i64)| s.1.min(to).saturating_sub(s.0.max(from)).max(0);
    spans.iter().map(part).fold(0, i64::wrapping_add)
}

fn name(n: Name) -> Cell<'static> {
    match n.is_empty() {
        true => Cell::Null,
        false => Cell::str(n.text().into_owned()),
    }
}

/// The view `xmits`.
pub static XMITS: TableDef<Pass> = TableDef {
    name: "xmits",
    meaning: "one row per pass of an skb over a device, in order of the skb; the parts and unattributed_ns sum to total_ns",
    columns: &[
        col!(
            "skb_id",
            "id",
            U64,
            "the life, as in skbs; empty for a segment dropped by the qdisc that built it",
            |r, _| r.skb_id.map(|s| s.0).into()
        ),
        col!(
            "parent",
            "id",
            U64,
            "the skb whose segment this is (software GSO, a segmenting qdisc)",
            |r, _| r.parent.map(|s| s.0).into()
        ),
        col!(
            "dev",
            "",
            Str,
            "device; the same name may exist in other network namespaces",
            |r, _| name(r.dev)
        ),
        col!(
            "ifindex",
            "id",
            I64,
            "device index; empty when no qdisc event told it",
            |r, _| r.ifindex.map(i64::from).into()
        ),
        col!(
            "queue",
            "id",
            U64,
            "transmit queue, when it reached the driver",
            |r, _| r.queue.map(u32::from).into()
        ),
        col!(
            "qdisc",
            "",
            Str,
            "kind of the root qdisc; empty when not recorded",
            |r, _| name(r.qdisc)
        ),
        col!(
            "bypass",
            "",
            Bool,
            "true: no qdisc held it (noqueue, or an empty one bypassed); empty when not known",
            |r, _| r.bypass.into()
        ),
        col!("bytes", "bytes", U64, "with the link-layer header", |r, _| r
            .bytes
            .into()),
        col!(
            "queued_ns",
            "ns",
            I64,
            "net_dev_queue (of the parent, for a segment)",
            |r, _| r.queued_ns.into()
        ),
        col!("started_ns", "ns", I64, "net_dev_start_xmit, the last one", |r, _| r
            .started_ns
            .into()),
        col!(
            "ended_ns",
            "ns",
            I64,
            "net_dev_xmit; the drop or the segmentation when no driver took it",
            |r, _| r.ended_ns.into()
        ),
        col!(
            "completed_ns",
            "ns",
            I64,
            "freed by the driver; empty where none is seen (loopback, veth)",
            |r, _| r.completed_ns.into()
        ),
        col!(
            "stage_qdisc_ns",
            "ns",
            I64,
            "in the qdisc while its queue was not stopped; 0 when bypassed",
            |r, _| r.qdisc_ns.into()
        ),
        col!(
            "stage_bql_ns",
            "ns",
            I64,
            "in the qdisc while byte queue limits stopped the queue",
            |r, _| r.bql_ns.into()
        ),
        col!(
            "stage_ring_ns",
            "ns",
            I64,
            "in the qdisc while the driver's ring was full",
            |r, _| r.ring_ns.into()
        ),
        col!(
            "stage_driver_ns",
            "ns",
            I64,
            "in the driver's transmit function",
            |r, _| r.driver_ns.into()
        ),
        col!(
            "stage_completion_ns",
            "ns",
            I64,
            "driver's return to its free of the skb",
            |r, _| r.completion_ns.into()
        ),
        col!(
            "nested_ns",
            "ns",
            I64,
            "inside the driver's transmit function but not its own: interrupts, other passes",
            |r, _| r.nested_ns.into()
        ),
        col!(
            "unattributed_ns",
            "ns",
            I64,
            "in none of the parts: validation, software GSO, taps, locks before the driver",
            |r, _| Cell::I64(r.unattributed_ns)
        ),
        col!("total_ns", "ns", I64, "first to last event", |r, _| Cell::I64(
            r.total_ns
        )),
        col!(
            "requeues",
            "count",
            U64,
            "times the driver refused it (NETDEV_TX_BUSY)",
            |r, _| Cell::U64(r.requeues.into())
        ),
        col!(
            "rc",
            "",
            I64,
            "what the driver returned: 0 taken, 16 busy, else dropped",
            |r, _| r.rc.map(i64::from).into()
        ),
        col!(
            "end",
            "",
            Str,
            "sent, completed, dropped, segmented (see its segments), consumed, open",
            |r, _| Cell::str(r.end.word())
        ),
        col!(
            "cpu",
            "id",
            U64,
            "CPU that gave it to the driver, else that queued it",
            |r, _| Cell::U64(r.cpu.into())
        ),
        col!("confidence", "", Str, "least of its links", |r, _| Cell::str(
            r.confidence.word()
        )),
    ],
};

/// Why a transmit queue was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StopCause {
    /// Byte queue limits (`__QUEUE_STATE_STACK_XOFF`).
    Bql,
    /// The driver, its ring full (`__QUEUE_STATE_DRV_XOFF`, or a refused packet).
    Ring,
}

impl StopCause {
    /// The word in tables.
    pub fn word(self) -> &'static str {
        match self {
            StopCause::Bql => "bql",
            StopCause::Ring => "ring",
        }
    }
}

/// An interval in which a transmit queue took no packets though some waited.
#[derive(Debug, Clone, PartialEq)]
pub struct TxqStop {
    /// Device; empty when no packet told it.
    pub dev: Name,
    /// Device index in its network namespace.
    pub ifindex: i32,
    /// Address of the `struct netdev_queue`.
    pub txq: u64,
    /// Number of the queue, when a packet told it.
    pub queue: Option<u16>,
    /// The last packet the driver took before.
    pub from_ns: i64,
    /// Woken (NET_TX raised), or the next packet taken; `None` when neither was seen.
    pub to_ns: Option<i64>,
    /// Why.
    pub cause: StopCause,
    /// Packets that waited in it.
    pub packets: u32,
    /// Of the cause and the interval.
    pub confidence: Confidence,
}

/// The view `txq_stops`.
pub static TXQ_STOPS: TableDef<TxqStop> = TableDef {
    name: "txq_stops",
    meaning: "one row per interval in which a transmit queue was stopped while packets waited for it",
    columns: &[
        col!("dev", "", Str, "device", |r, _| name(r.dev)),
        col!("ifindex", "id", I64, "device index in its network namespace", |r, _| {
            Cell::I64(r.ifindex.into())
        }),
        col!("queue", "id", U64, "transmit queue, when known", |r, _| r
            .queue
            .map(u32::from)
            .into()),
        col!("from_ns", "ns", I64, "end of the last transmit before it", |r, _| {
            Cell::I64(r.from_ns)
        }),
        col!(
            "to_ns",
            "ns",
            I64,
            "wake-up of the queue, else the next packet; empty when not seen",
            |r, _| r.to_ns.into()
        ),
        col!("stop_ns", "ns", I64, "to_ns - from_ns", |r, _| r
            .to_ns
            .map(|t| t - r.from_ns)
            .into()),
        col!(
            "cause",
            "",
            Str,
            "bql (byte queue limits) or ring (the driver)",
            |r, _| Cell::str(r.cause.word())
        ),
        col!(
            "packets",
            "packets",
            U64,
            "packets that waited in it",
            |r, _| Cell::U64(r.packets.into())
        ),
        col!(
            "confidence",
            "",
            Str,
            "of the cause and the interval",
            |r, _| Cell::str(r.confidence.word())
        ),
        col!("txq", "", Str, "address of the struct netdev_queue", |r, _| {
            Cell::address(r.txq)
        }),
    ],
};
