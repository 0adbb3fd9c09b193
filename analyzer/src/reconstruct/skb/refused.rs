//! Originals whose frame did not leave: a queue of this host dropped it (a token bucket shorter than the window), or a driver.
//!
//! ```text
//! net_dev_queue(clone) ─> kfree_skb(clone)                              TCP is told, and sends the original once more as the first time
//! net_dev_start_xmit(clone) ─> kfree_skb(clone) ─> net_dev_xmit(rc 1)   the same, or TCP takes it for sent and sends it again
//! ```
//! What came in somewhere had left: of what a router of this recording drops TCP is told nothing.
//! Either way no peer can have acknowledged it: the next frame above its address is the same original's, though no event says
//! that it is sent again. Before 6.17 no event tells of a retransmission that a queue refused: it looks like the first frame of another
//! original, which is weak then. What frees it all the same is its socket's end, or its neighbour in the queue that takes it in whole.

use super::life::Frame;
use super::tables::SkbClass;
use super::tracker::Skbs;
use crate::confidence::Confidence;
use crate::facts::SkbId;

/// What a driver returns of a packet that it dropped (include/linux/netdevice.h).
pub(super) const NET_XMIT_DROP: i32 = 1;

impl Skbs<'_> {
    fn original_below(&mut self, addr: u64) -> Option<&mut super::life::Life> {
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

    /// A frame was dropped before it left. Of an original that never left it was not sent yet.
    pub(super) fn not_left(&mut self, addr: u64, clone: SkbId) {
        let told = self.layout.tells_refused;
        let first = Some(Frame { clone, left: false });
        if let Some(o) = self.original_below(addr).filter(|o| o.frame == first) {
            (o.sent, o.first) = (false, None);
            if o.instead && !told {
                o.confidence = o.confidence.min(Confidence::Weak);
            }
        }
    }
}
