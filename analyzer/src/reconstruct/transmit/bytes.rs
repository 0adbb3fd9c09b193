//! Bytes of the send calls against bytes of the segments: which call wrote a segment's first byte.

use super::flow::{Flow, Of};
use super::packet::{Cause, Packet};
use super::sends::Append;
use crate::confidence::Confidence;
use crate::nearby::place_near;

/// Bytes of the send calls against bytes of the segments.
pub(super) struct Bytes<'a> {
    appends: &'a [Append],
    /// Bytes up to the end of each append.
    ends: Vec<u64>,
    /// By epoch: bytes of segments minus bytes of calls; and how sure that is.
    shifts: Vec<(i64, Confidence)>,
}

impl<'a> Bytes<'a> {
    /// Aligns the two counts: at some time all that was written had been sent.
    pub(super) fn align(of: &'a Of<'_>, flow: &Flow, packets: &[Packet]) -> Bytes<'a> {
        let appends = of.appends.as_slice();
        let mut sum = 0u64;
        let ends: Vec<u64> = appends
            .iter()
            .map(|a| {
                sum += u64::from(a.bytes);
                sum
            })
            .collect();
        let mut bytes = Bytes {
            appends,
            ends,
            shifts: vec![],
        };
        // Of segments whose place in the stream is known, and of all.
        let mut least: Vec<[Option<(i64, bool)>; 2]> = vec![[None; 2]; flow.epochs as usize + 1];
        let mut at = 0;
        for seg in &flow.segments {
            let Some(p) = packets.get(seg.packet as usize) else {
                continue;
            };
            while appends.get(at).is_some_and(|a| a.index <= p.index) {
                at += 1;
            }
            let written = at.checked_sub(1).and_then(|i| bytes.ends.get(i)).copied().unwrap_or(0);
            let over = written as i64 - seg.end as i64;
            let in_call = p.cause == Cause::Call;
            let slots = least.get_mut(seg.epoch as usize).into_iter().flatten();
            for slot in slots.skip(usize::from(!seg.fits)) {
                let better = slot.is_none_or(|(l, sure)| over < l || (over == l && in_call && !sure));
                if better {
                    *slot = Some((over, in_call));
                }
            }
        }
        for (epoch, [fitting, all]) in least.into_iter().enumerate() {
            let (over, in_call) = fitting.or(all).unwrap_or((0, false));
            bytes.shifts.push(match (flow.born && epoch == 0, over) {
                (true, 0..) => (0, Confidence::Certain),
                (true, _) => (-over, Confidence::Weak),
                (false, _) if in_call => (-over, Confidence::Strong),
                (false, _) => (-over, Confidence::Weak),
            });
        }
        bytes
    }
    /// Calls `with` for each append whose last byte left, in order: when it did, and how sure that is.
    pub(super) fn left(&self, flow: &Flow, packets: &[Packet], mut with: impl FnMut(&Append, i64, Confidence)) {
        let mut at = 0;
        for seg in flow.segments.iter().filter(|s| !s.void) {
            let (shift, sure) = self.shift(seg.epoch);
            let (Some(p), sent) = (packets.get(seg.packet as usize), (seg.end as i64).saturating_sub(shift)) else {
                continue;
            };
            while self.ends.get(at).is_some_and(|end| *end as i64 <= sent) {
                if let Some(append) = self.appends.get(at) {
                    with(append, p.ts, sure.min(seg.link));
                }
                at += 1;
            }
        }
    }
    fn shift(&self, epoch: u32) -> (i64, Confidence) {
        self.shifts
            .get(epoch as usize)
            .copied()
            .unwrap_or((0, Confidence::Weak))
    }
    /// The append that brought a byte, and how sure that is. `near`: where the last was.
    pub(super) fn of(&self, offset: u64, epoch: u32, near: &mut usize) -> Option<(&'a Append, Confidence)> {
        let (shift, sure) = self.shift(epoch);
        let x = u64::try_from(offset as i64 - shift).ok()?;
        let early = |i: usize| self.ends.get(i).is_some_and(|end| *end <= x);
        let i = place_near(*near, self.ends.len(), early);
        *near = i;
        self.appends.get(i).map(|a| (a, sure))
    }
    /// Whether a byte is the first that its append brought. `near`: as [`Bytes::of`] left it.
    pub(super) fn is_first(&self, offset: u64, epoch: u32, near: usize) -> bool {
        let before = near.checked_sub(1).and_then(|i| self.ends.get(i)).copied().unwrap_or(0);
        offset as i64 - self.shift(epoch).0 == before as i64
    }
    /// Whether the last byte of the append that [`Bytes::of`] left at `near` is before `end`.
    pub(super) fn is_last(&self, end: u64, epoch: u32, near: usize) -> bool {
        let sent = (end as i64).saturating_sub(self.shift(epoch).0);
        self.ends.get(near).is_some_and(|last| *last as i64 <= sent)
    }
    /// Bytes written and not sent, where `sent` bytes were, at a position of the merged sequence. `near`: where the last was.
    pub(super) fn unsent(&self, index: u32, sent: u64, epoch: u32, near: &mut usize) -> i64 {
        let early = |i: usize| self.appends.get(i).is_some_and(|a| a.index <= index);
        let n = place_near(*near, self.appends.len(), early);
        *near = n;
        let written = n.checked_sub(1).and_then(|i| self.ends.get(i)).copied().unwrap_or(0);
        written as i64 + self.shift(epoch).0 - sent as i64
    }
}
