//! Do the payloads of a socket's packets sum to what `snd_nxt` advanced by, and if not, which packet explains it?
//!
//! ```text
//! more than snd_nxt -> packets refused in the sender's call carry nothing; headers longer than usual (SACK blocks) carry less
//! still not equal   -> the window's segments are weak, counting goes on from the truth
//! ```

use super::flow::{Builder, Segment};
use crate::confidence::Confidence;
use crate::reconstruct::skb::tables::DeathKind;
use crate::reconstruct::tcp::tables::SampleRow;

/// Bytes by which blocks of SACK make a header longer: two NOPs, kind, length, and 8 for each of one to four blocks.
const SACK_BYTES: [u32; 4] = [12, 20, 28, 36];

impl Builder<'_, '_> {
    /// `snd_nxt` is known: do the payloads sum to it?
    pub(super) fn close_window(&mut self, s: &SampleRow) {
        if let Some((sent, nxt)) = self.anchor {
            let advanced = s.snd_nxt.wrapping_sub(nxt);
            // It never goes back; a far jump is another life of the socket, or garbage.
            let truth = if advanced < 1 << 31 {
                sent + u64::from(advanced)
            } else {
                self.sent
            };
            if self.sent > truth {
                self.void_dropped(sent, self.sent - truth);
            }
            if self.sent > truth {
                self.longer_headers(sent, self.sent - truth);
            }
            // Calls may have been lost too, though the packets are all there.
            let lost = self.probed.is_some_and(|(t, _)| self.shared.lost(t, s.time_ns));
            // What calls brought may lack something, too: it is counted anew. Where frames seem to carry too much nothing is lacking.
            let lacking = lost || self.sent < truth;
            let excess = self.sent > truth;
            if lacking || excess {
                for seg in self.flow.segments.iter_mut().skip(self.window) {
                    seg.link = seg.link.min(Confidence::Weak);
                    seg.fits = !excess;
                }
                self.flow.epochs += u32::from(lacking);
                self.sent = truth;
            }
        }
        self.anchor = Some((self.sent, s.snd_nxt));
        self.window = self.flow.segments.len();
    }

    /// Packets of the window that a device refused in the sender's own call: `snd_nxt` stalled, and their bytes came again. A VLAN, a
    /// bond or a macvlan returns what the device below it said (`vlan_dev_hard_start_xmit`); a tunnel or a bridge says all is well. Which it
    /// was the bytes tell.
    fn void_dropped(&mut self, from: u64, excess: u64) {
        let window = self.flow.segments.get(self.window..).unwrap_or(&[]);
        let refused = |most_hops: u32| -> Vec<bool> {
            let of = |seg: &Segment| {
                let life = self.shared.packets.get(seg.packet as usize).map(|p| p.skb);
                let life = life.and_then(|id| self.shared.identity.life(id));
                life.is_some_and(|l| {
                    l.death_kind == DeathKind::Dropped
                        && l.hops <= most_hops
                        && !self.shared.came_in.contains(&l.skb_id)
                })
            };
            window.iter().map(of).collect()
        };
        let bytes = |which: &[bool]| -> u64 {
            let of = window.iter().zip(which).filter(|(_, refused)| **refused);
            of.map(|(s, _)| s.end - s.start).sum()
        };
        // On any device of its way down; or on the first alone.
        let mut each = [u32::MAX, 1].into_iter().map(refused);
        let Some(which) = each.find(|which| bytes(which) == excess) else {
            return;
        };
        let mut at = from;
        for (seg, dropped) in self.flow.segments.iter_mut().skip(self.window).zip(which) {
            let bytes = if dropped { 0 } else { seg.end - seg.start };
            (seg.start, seg.end, seg.void) = (at, at + bytes, dropped);
            at += bytes;
        }
        self.sent = at;
    }

    /// Packets of the window whose header has blocks of SACK: their payload lies outside of the linear part, whose length is thus their header's.
    fn longer_headers(&mut self, from: u64, excess: u64) {
        let Some(header) = self.flow.header else { return };
        let window = self.flow.segments.get(self.window..).unwrap_or(&[]);
        let longer = |at: u32| -> u32 {
            let linear = self.shared.packets.get(at as usize).and_then(|p| p.linear);
            let more = linear.and_then(|l| l.checked_sub(header));
            more.filter(|m| SACK_BYTES.contains(m)).unwrap_or(0)
        };
        let all: Vec<u64> = window.iter().map(|s| u64::from(longer(s.packet))).collect();
        if all.iter().sum::<u64>() != excess {
            return;
        }
        let mut at = from;
        for (seg, more) in self.flow.segments.iter_mut().skip(self.window).zip(all) {
            let bytes = (seg.end - seg.start).saturating_sub(more);
            (seg.start, seg.end) = (at, at + bytes);
            at += bytes;
        }
        self.sent = at;
    }
}
