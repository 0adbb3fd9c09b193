//! Originals whose frame did not leave: a queue of this host dropped it (a token bucket shorter than the window), or a driver.
//!
//! ```text
//! net_dev_queue(clone) ─> kfree_skb(clone)                             in the call that offers it: NET_XMIT_DROP went up, and TCP sends it once more
//!                                                                      as the first time; or NET_XMIT_CN, and it is sent (red, sfq, no carrier)
//! net_dev_queue(clone) ─> qdisc_enqueue(clone) ─> kfree_skb(clone)     NET_XMIT_SUCCESS went up: netem's loss, CoDel, a head that another call drops
//! net_dev_start_xmit(clone) ─> kfree_skb(clone) ─> net_dev_xmit(rc 1)  of a device without a queue as the first
//! net_dev_start_xmit(vxlan0) ─> .. kfree_skb ─> net_dev_xmit(rc 0)     what a tunnel or a bridge answers went up, and that is success
//! ```
//! What TCP is told of it sends again without an event: the next frame above its address is the same original's. What it takes for sent it
//! sends again with an event, and frees without one (`tcp_retrans_try_collapse`): a frame that no event says is sent again is another original's.
//! DROP and CN look alike: when the socket sends another original for the first time, it had taken this one for sent. When one that it sends again
//! has grown, that may have taken this one in: the link is weak. So it is where the socket is not known and a timer may have run out, or the
//! recording's list has a queue that answers CN for what it drops of the offered.
//!
//! What came in somewhere had left: of what a router of this recording drops TCP is told nothing; nor is it of what waited for a
//! neighbour or a verdict, as who queues it then asks nobody. Before 6.17 no event tells of a retransmission that a queue refused: it looks
//! like the first frame of another original, which is weak then.

use rustc_hash::FxHashMap;

use super::fclone::context;
use super::life::{Frame, Life};
use super::tables::SkbClass;
use super::tracker::Skbs;
use crate::confidence::Confidence;
use crate::facts::SkbId;
use crate::ingest::Event;
use crate::name::Name;

/// What a driver returns of a packet that it dropped (include/linux/netdevice.h); an error of a device below its own is less than 0.
const NET_XMIT_DROP: i32 = 1;
/// What `ndo_start_xmit` returns of a packet that it took no notice of.
const NETDEV_TX_OK: i32 = 0;
/// Qdiscs that never answer NET_XMIT_CN for an offered packet that they drop (net/sched).
pub(super) const TELL: [&str; 9] = [
    "noqueue",
    "pfifo_fast",
    "pfifo",
    "bfifo",
    "pfifo_head_drop",
    "fq",
    "tbf",
    "htb",
    "mq",
];
/// Without ACKs (no carrier) nothing merges originals before a retransmission timer runs out, ns: TCP_RTO_MIN less a jiffy at 250 Hz.
const TIMER_NS: i64 = 196_000_000;

/// A frame that is being offered.
#[derive(Debug, Clone, Copy)]
struct Offer {
    /// Within how many drivers' calls.
    depth: usize,
    frame: SkbId,
    /// It came in somewhere before.
    left: bool,
}

/// Frames that are being offered to queues, and who was refused.
#[derive(Debug, Default)]
pub(super) struct Offers {
    /// By context.
    open: FxHashMap<i64, Vec<Offer>>,
    /// By socket, its original that was refused last: address and life.
    refused: FxHashMap<u64, (u64, SkbId)>,
}

impl Offers {
    /// Events were lost.
    pub fn forget(&mut self) {
        self.open.clear();
    }
    /// Whether a frame is being offered that had not left before; a driver that drops it may have let it in at its other end (veth).
    fn hold(&self, context: i64, frame: SkbId) -> bool {
        let of = self
            .open
            .get(&context)
            .and_then(|of| of.iter().find(|o| o.frame == frame));
        of.is_some_and(|o| !o.left)
    }
}

impl Skbs<'_> {
    fn original_below(&mut self, addr: u64) -> Option<&mut Life> {
        let below = addr.wrapping_sub(self.layout.distance?);
        self.open.get_mut(&below).filter(|o| o.class == SkbClass::TxOriginal)
    }

    /// A frame of the original below its address is queued.
    pub(super) fn framed(&mut self, addr: u64, frame: Frame) {
        if let Some(o) = self.original_below(addr) {
            o.frame = Some(frame);
        }
    }

    /// A frame came in somewhere.
    pub(super) fn came_in(&mut self, addr: u64) {
        let clone = self.open.get(&addr).map(|l| l.id);
        let frame = self.original_below(addr).and_then(|o| o.frame.as_mut());
        if let Some(f) = frame.filter(|f| Some(f.clone) == clone) {
            f.left = true;
        }
    }

    /// `net_dev_queue` of a frame above an original.
    pub(super) fn offered(&mut self, e: &Event<'_>, addr: u64) {
        let Some(frame) = self.open.get(&addr).filter(|l| l.class == SkbClass::TxClone) else {
            return;
        };
        // What waited for a neighbour or a verdict is queued by who asks nobody.
        let waited = self.resolved.get(usize::from(e.cpu)).copied().flatten().is_some() || self.verdicts.speaks(e);
        let (frame, depth) = (frame.id, self.stacks.depth(e.cpu));
        let left = self.original_below(addr).and_then(|o| o.frame).is_none_or(|f| f.left);
        let of = self.offers.open.entry(context(e)).or_default();
        // What was offered before, by no driver that offers this, is answered.
        of.retain(|o| o.depth < depth);
        if !waited {
            of.push(Offer { depth, frame, left });
        }
    }

    /// `qdisc_enqueue`: the answer was NET_XMIT_SUCCESS.
    pub(super) fn taken(&mut self, e: &Event<'_>, addr: u64) {
        let frame = self.open.get(&addr).map(|l| l.id);
        if let Some(of) = self.offers.open.get_mut(&context(e)) {
            of.retain(|o| Some(o.frame) != frame);
        }
    }

    /// A queue drops a frame.
    pub(super) fn refused(&mut self, e: &Event<'_>, addr: u64, clone: SkbId, dev: Name) {
        let tells = self.devices.kind(dev).map(|k| k.tells).unwrap_or_default();
        self.not_left(e, addr, clone, !tells.not);
    }

    /// `net_dev_xmit` of a frame: of a device without a queue TCP is told what the driver answers.
    pub(super) fn answered(&mut self, e: &Event<'_>, addr: u64, clone: SkbId, (rc, dev): (i32, Name)) {
        let queueless = self.devices.kind(dev).map(|k| k.queueless).unwrap_or_default();
        if (rc == NET_XMIT_DROP || rc < NETDEV_TX_OK) && !queueless.none() {
            self.not_left(e, addr, clone, !queueless.not);
        }
    }

    /// A frame was dropped before it left. Of an original that never left it was not sent yet, if TCP is told.
    fn not_left(&mut self, e: &Event<'_>, addr: u64, clone: SkbId, tells: bool) {
        // What the driver answers that offered it is still to come.
        if !self.offers.hold(context(e), clone) || self.stacks.in_xmit(e.cpu, clone) {
            return;
        }
        let told = self.layout.tells_refused;
        let of = |o: &&mut Life| o.frame.is_some_and(|f| f.clone == clone);
        if let Some(o) = self.original_below(addr).filter(of) {
            (o.sent, o.tells, o.merged) = (false, tells, false);
            if o.instead && !told {
                o.confidence = o.confidence.min(Confidence::Weak);
            }
            let (sock, of) = (o.sock, (o.skbaddr, o.id));
            if sock != 0 {
                self.offers.refused.insert(sock, of);
            }
        }
    }

    /// An original is sent again, as a frame of `len` bytes: what grew took in others of its socket.
    pub(super) fn sent_again(&mut self, original: u64, sk: u64, len: u32) {
        self.taken_for_sent(original);
        let first = self.open.get(&original).and_then(|o| o.first);
        let grew = first.is_some_and(|(_, had)| len > had);
        let of = self.offers.refused.get(&sk).filter(|_| grew);
        if let Some((addr, id)) = of
            && let Some(o) = self.open.get_mut(addr).filter(|o| o.id == *id)
        {
            o.merged = true;
        }
    }

    /// A frame is sent again with an event, or its socket went on to another original: TCP had taken it for sent.
    fn taken_for_sent(&mut self, original: u64) {
        let told = self.layout.tells_refused;
        let of = self.open.get_mut(&original).filter(|o| o.class == SkbClass::TxOriginal);
        if let Some(o) = of.filter(|o| o.frame.is_some() && (told || !o.instead)) {
            o.sent = true;
        }
    }

    /// The original at an address was sent for the first time.
    pub(super) fn went_on(&mut self, original: u64) {
        let Some(o) = self.open.get(&original).filter(|o| o.sock != 0) else {
            return;
        };
        // Before 6.17 a retransmission that a queue refuses looks like it.
        if o.instead && !self.layout.tells_refused {
            return;
        }
        let id = o.id;
        if let Some((addr, refused)) = self.offers.refused.remove(&o.sock)
            && refused != id
            && self.open.get(&addr).is_some_and(|l| l.id == refused)
        {
            self.taken_for_sent(addr);
        }
    }
}

/// How sure it is that an original whose frame was refused is the one that is sent as for the first time now.
pub(super) fn told(o: &Life, now: i64) -> Confidence {
    let known = o.sock != 0 || (o.tells && now.saturating_sub(o.last_ns) < TIMER_NS);
    match known && !o.merged {
        true => o.confidence,
        false => o.confidence.min(Confidence::Weak),
    }
}
