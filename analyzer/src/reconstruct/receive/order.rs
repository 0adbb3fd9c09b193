//! The order of a stream while segments are missing: what arrived behind a hole is held until something fills it.
//!
//! `tcp_probe` has no sequence number. What arrived is in order if its own `sk_data_ready` follows; which of those held
//! before follow what filled the hole, the ACK says that was sent for it, where the peer is in the recording too.

use super::fifo::{Fifo, is_at};
use super::unit::Place;
use super::units::{UnitId, Units};

/// Units announced by one `sk_data_ready`, of which only the last arrived in order.
#[derive(Debug, Clone, Copy)]
pub(super) struct Release {
    /// Next byte expected before it.
    pub(super) before: Option<u32>,
    /// Place of the unit that filled the hole; the others follow.
    pub(super) from: u64,
    /// How many.
    pub(super) n: usize,
    /// Bytes that arrived in order since.
    pub(super) after: u32,
}

impl Fifo {
    /// A unit arrived that an `sk_data_ready` will announce.
    pub fn hold(&mut self, unit: UnitId, units: &mut Units) {
        // The one before was acknowledged and never announced: the ACK repeats what was expected.
        if let Some((before, una)) = self.ack.take()
            && units
                .get(before)
                .is_some_and(|u| matches!(u.place, Some(Place::Held(_))))
        {
            self.rcv_nxt = Some(una);
        }
        let place = self.held.push(unit);
        if let Some(u) = units.get_mut(unit) {
            u.place = Some(Place::Held(place));
            self.bytes.arrived += u64::from(u.left);
        }
    }
    /// `sk_data_ready` for a unit that was held: those it announces, in the order of the stream.
    pub fn announce(&mut self, unit: UnitId, units: &mut Units) -> Vec<UnitId> {
        let Some(u) = units.get_mut(unit) else { return vec![] };
        let Some(Place::Held(_)) = u.place else { return vec![] };
        u.place = None;
        let bytes = u.bytes.unwrap_or(0);
        let after = match self.ack.take() {
            Some((of, una)) if of == unit => Some(una),
            Some((of, una)) if units.get(of).is_some_and(|u| u.place.is_some()) => {
                self.rcv_nxt = Some(una);
                None
            }
            _ => None,
        };
        let mut all = vec![unit];
        all.extend(self.held.drain(|id, place| is_at(units, id, Place::Held(place))));
        if self.woken_late(&mut all, units) {
            return self.in_order(all, after, units);
        }
        let doubted = self.doubts_remain(units);
        let from = self.line.end();
        for id in &all {
            let place = self.line.push(*id);
            if let Some(u) = units.get_mut(*id) {
                u.place = Some(Place::Line(place));
            }
        }
        let end = self.line.end();
        if all.len() == 1 {
            self.rcv_nxt = after.or(self.rcv_nxt.map(|n| n.wrapping_add(bytes)));
            if let Some(r) = &mut self.release {
                r.after = r.after.wrapping_add(bytes);
            }
            if doubted {
                self.doubt.end = end;
            }
            return all;
        }
        self.doubt = if doubted { self.doubt.start..end } else { from..end };
        self.release = Some(Release {
            before: self.rcv_nxt.take(),
            from,
            n: all.len(),
            after: 0,
        });
        self.guess = Some((unit, from, all.len()));
        if let Some(una) = after {
            self.prove(una, units);
            // Those that do not follow wait on.
            all.retain(|id| matches!(units.get(*id).and_then(|u| u.place), Some(Place::Line(_))));
        }
        all
    }
    /// TCP dropped a unit just after its announcement, for want of memory: it filled no hole, so what it seemed to release
    /// waits on.
    pub(super) fn revoke(&mut self, unit: UnitId, units: &mut Units) {
        (self.rcv_nxt, self.release) = (None, None);
        let Some((of, from, n)) = self.guess.take() else { return };
        if of != unit || self.line.start() > from || self.line.end() != from + n as u64 {
            return;
        }
        let rest = self.line.cut(from).into_iter().filter(|id| *id != unit).collect();
        self.hold_again(rest, units);
        self.doubt.end = self.doubt.end.min(from);
    }
    /// Units that were not readable after all.
    pub(super) fn hold_again(&mut self, rest: Vec<UnitId>, units: &mut Units) {
        let since = self.held.drain(|id, place| is_at(units, id, Place::Held(place)));
        for id in rest.into_iter().chain(since) {
            let place = self.held.push(id);
            if let Some(u) = units.get_mut(id) {
                (u.place, u.ready, u.held) = (Some(Place::Held(place)), None, false);
            }
        }
    }
    /// An ACK was sent while `unit` was the last that TCP had processed; the peer then had `una` acknowledged.
    pub fn acknowledged(&mut self, unit: UnitId, una: u32, units: &mut Units) {
        if self.release.is_some() {
            self.prove(una, units);
        } else if matches!(units.get(unit).and_then(|u| u.place), Some(Place::Held(_))) {
            self.ack = Some((unit, una));
        } else {
            self.rcv_nxt = Some(una);
        }
    }
    /// How far the stream is after a release: as far as the first of those released reach, byte for byte, or nothing is
    /// proved. The rest waits on.
    fn prove(&mut self, una: u32, units: &mut Units) {
        let Some(r) = self.release.take() else { return };
        self.rcv_nxt = Some(una);
        // Of those released none may have been read: their bytes are counted below.
        let Some(before) = r.before.filter(|_| self.line.start() <= r.from) else {
            return;
        };
        let jump = una.wrapping_sub(before);
        let mut sum = r.after;
        let mut follow = 0;
        for id in self.line.from(r.from).take(r.n) {
            sum = sum.wrapping_add(units.get(id).and_then(|u| u.bytes).unwrap_or(0));
            follow += 1;
            if sum == jump {
                break;
            }
        }
        let rest = r.n - follow;
        let last = self.line.end() == r.from + r.n as u64;
        if sum != jump || (rest > 0 && !last) {
            return;
        }
        let rest = self.line.cut(r.from + follow as u64).into();
        self.hold_again(rest, units);
        if self.doubt.start == r.from {
            self.doubt = 0..0;
        } else {
            self.doubt.end = self.doubt.end.min(self.line.end());
        }
    }
}
