//! Segments that TCP dropped and of which no event tells: duplicates, before Linux 5.17, whose drop reasons came with an event for these.
//!
//! In: units that a later copy shows to wait no more though no copy took a byte of them, and what was counted of their streams. Out: those
//! that the reader cannot have got, as its copies have just as many bytes less than arrived; their rows are not written. Must not decide
//! where a part of one was counted as read, or events were lost. Source: net/ipv4/tcp_input.c `tcp_drop`, which freed by `__kfree_skb`.

use rustc_hash::FxHashMap;

use super::fifo::StreamBytes;
use super::tables::{ReadBy, RxEnd};
use super::tracker::Ledger;
use super::unit::Key;
use super::units::UnitId;
use crate::confidence::Confidence;
use crate::facts::ConnectionId;

/// What copies passed over in one stream.
#[derive(Debug, Clone, Copy, Default)]
struct Passed {
    bytes: u64,
    /// Of one of them a part was counted as read.
    parts: bool,
}

/// Whether just these bytes of a stream were read by nobody.
fn accounts_for(passed: Passed, s: &StreamBytes) -> bool {
    let rest = s.arrived.checked_sub(s.copied + s.waiting + s.dropped);
    !passed.parts && !s.cut && s.strange == 0 && passed.bytes > 0 && rest == Some(passed.bytes)
}

impl Ledger<'_> {
    /// Units that copies passed over, with what was left of each then: dropped by TCP, or read when nothing tells.
    pub(super) fn unread(&mut self, passed: Vec<(UnitId, u32)>) {
        let mut by: FxHashMap<ConnectionId, Passed> = FxHashMap::default();
        for (id, left) in &passed {
            // One that a copy named after all was read then.
            let Some((c, bytes)) = self.passed_of(*id) else {
                continue;
            };
            let of = by.entry(c).or_default();
            of.bytes += u64::from(*left);
            of.parts |= bytes != *left;
        }
        by.retain(|c, of| self.out.streams.get(c).is_some_and(|s| accounts_for(*of, s)));
        for (id, left) in passed {
            let silent = self.passed_of(id).map(|p| p.0).filter(|c| by.contains_key(c));
            let Some(c) = silent else {
                self.emit(id, RxEnd::Read, Confidence::Weak);
                continue;
            };
            *self.out.dropped_bytes.entry(c).or_insert(0) += u64::from(left);
            if let Some(s) = self.out.streams.get_mut(&c) {
                s.dropped += u64::from(left);
            }
            self.units.remove(id);
        }
    }

    /// Stream and bytes of a unit that order alone says was read.
    fn passed_of(&self, id: UnitId) -> Option<(ConnectionId, u32)> {
        let u = self.units.get(id).filter(|u| u.read_by == Some(ReadBy::Order))?;
        match u.key? {
            Key::Tcp(c) => Some((c, u.bytes?)),
            Key::Other(..) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bytes_that_nobody_got_are_dropped() {
        let stream = StreamBytes {
            arrived: 5_000,
            copied: 3_000,
            waiting: 400,
            dropped: 100,
            ..StreamBytes::default()
        };
        let of = |bytes, parts| Passed { bytes, parts };
        assert!(accounts_for(of(1_500, false), &stream));
        // Another number, a part that was read, what was never seen to arrive, a loss.
        assert!(!accounts_for(of(1_400, false), &stream));
        assert!(!accounts_for(of(1_500, true), &stream));
        assert!(!accounts_for(of(1_500, false), &StreamBytes { strange: 1, ..stream }));
        assert!(!accounts_for(of(1_500, false), &StreamBytes { cut: true, ..stream }));
        assert!(!accounts_for(
            of(0, false),
            &StreamBytes {
                copied: 4_500,
                ..stream
            }
        ));
    }
}
