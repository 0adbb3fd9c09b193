//! What ACKs prove of when a byte was in order, where the peer's socket is in the recording too.
//!
//! ```text
//! stream    0 ........ p0 ~~~~ one copy ~~~~ p1 ...........
//! ACKs      una <= p0 at t1: its last byte was not in order yet        una >= p1 at t2: all of it was
//! ```
//! Reads take the stream in order, so how many bytes they took is a place in it; which units these were may be a guess. What a
//! copy took was filled in (t1, t2], and where only one announcement lies in between, by that one.

use std::collections::VecDeque;

use super::fifo::{Fifo, is_at};
use super::unit::{Place, Unit};
use super::units::Units;
use crate::confidence::Confidence;

/// Announcements and ACKs that are remembered of a socket, at most.
const MOST: usize = 4_096;

/// Waiting units of which a sum is made for every ACK, at most.
const FEW: u64 = 64;

/// One value of `snd_una`.
#[derive(Debug, Clone, Copy)]
struct Known {
    /// In bytes read since the socket was first seen.
    place: i64,
    /// The last ACK that said so was sent then: no more was in order.
    not_before: i64,
    /// So much was in order then.
    not_after: i64,
}

/// What ACKs said, by place.
#[derive(Debug, Default)]
pub(super) struct Proof {
    /// The sequence number of the first byte.
    base: Option<u32>,
    /// That was asked of the socket's birth.
    begun: bool,
    known: VecDeque<Known>,
    announced: VecDeque<i64>,
    /// Announcements are recorded.
    hears: bool,
    /// Where the copy at hand begins.
    read: i64,
    /// What it takes was filled after the one, and not after the other.
    after: Option<i64>,
    until: Option<i64>,
}

impl Proof {
    /// `sk_data_ready`.
    pub(super) fn announced(&mut self, at: i64) {
        self.hears = true;
        if self.announced.len() >= MOST {
            self.announced.pop_front();
        }
        self.announced.push_back(at);
    }
    /// The last announcement before another.
    pub(super) fn announced_before(&self, at: i64) -> Option<i64> {
        let n = self.announced.partition_point(|t| *t < at);
        self.announced.get(n.checked_sub(1)?).copied()
    }
    /// An ACK was sent at `sent`; as processed (at `merged`, where others may be merged into it) it said `una`: which place that is.
    pub(super) fn acked(&mut self, sent: i64, merged: Option<i64>, una: u32) -> Option<i64> {
        let base = self.base?;
        // As near to what was said last as 32 bits tell.
        let last = self.known.back().map_or(self.read, |k| k.place);
        let place = last + i64::from(una.wrapping_sub(base).wrapping_sub(last as u32) as i32);
        let not_after = merged.unwrap_or(sent);
        let at = self.known.partition_point(|k| k.place < place);
        let room = self.known.len() < MOST;
        match self.known.get_mut(at).filter(|k| k.place == place) {
            Some(k) => (k.not_before, k.not_after) = (k.not_before.max(sent), k.not_after.min(not_after)),
            None if room => self.known.insert(
                at,
                Known {
                    place,
                    not_before: sent,
                    not_after,
                },
            ),
            None => {}
        }
        Some(place)
    }
    /// The sequence number of the first byte, unless it is known otherwise.
    pub(super) fn begin(&mut self, first: u32) {
        if !std::mem::replace(&mut self.begun, true) {
            self.base = self.base.or(Some(first));
        }
    }
    /// Nothing is missing: `una` is the place `bytes`.
    fn anchor(&mut self, una: u32, bytes: i64) {
        let base = una.wrapping_sub(bytes as u32);
        if self.base.is_none_or(|b| b != base) {
            let base = self.base.is_none().then_some(base);
            (self.base, self.after, self.until) = (base, None, None);
            self.known.clear();
        }
    }
    /// A copy takes the bytes from `from` to `to`.
    pub(super) fn copy(&mut self, from: i64, to: i64) {
        let behind = self.known.partition_point(|k| k.place <= from);
        let last = self.known.drain(..behind).map(|k| k.not_before).max();
        (self.read, self.after) = (from, self.after.max(last));
        let after = self.after;
        while self.announced.front().is_some_and(|t| Some(*t) <= after) {
            self.announced.pop_front();
        }
        let covers = self.known.iter().filter(|k| k.place >= to);
        self.until = covers.map(|k| k.not_after).min();
    }
    /// When a unit that lay behind a hole, and was taken by that copy at `ts`, became readable; whether that is sure. `None`: it
    /// cannot have been in it.
    pub(super) fn filled(&self, unit: &Unit, ready: i64, ts: i64) -> Option<(i64, bool)> {
        let (after, until) = (self.after, self.until);
        if !self.hears || (after.is_none() && until.is_none()) {
            return Some((ready, false));
        }
        let arrived = unit.proto.unwrap_or(unit.start);
        let from = after.map_or(arrived, |t| t.max(arrived));
        let to = until.map_or(ts, |t| t.min(ts));
        let mut within = self.announced.iter().copied().filter(|t| *t > from && *t <= to);
        let first = within.next()?;
        let last = within.next_back().unwrap_or(first);
        let sure = first == last && after.is_some() && until.is_some();
        Some((ready.clamp(first, last), sure))
    }
}

impl Fifo {
    /// An ACK says how far the stream is, and nobody is reading. If nothing is missing, that is as many bytes as arrived.
    pub(super) fn anchor(&mut self, una: u32, units: &Units) {
        if self.line.end() - self.line.start() > FEW || self.held.end() - self.held.start() > FEW {
            return;
        }
        let held = self.held.from(self.held.start()).zip(self.held.start()..);
        let missing = held.into_iter().any(|(id, at)| is_at(units, id, Place::Held(at)));
        if missing || !self.aligned || self.first.is_some() || self.doubts_remain(units) {
            return;
        }
        let line = self.line.from(self.line.start()).zip(self.line.start()..);
        let line = line.filter(|(id, at)| is_at(units, *id, Place::Line(*at)));
        let left: i64 = line
            .filter_map(|(id, _)| units.get(id))
            .map(|u| i64::from(u.left))
            .sum();
        let read = i64::try_from(self.bytes.copied).unwrap_or(i64::MAX);
        self.proof.anchor(una, read.saturating_add(left));
    }
    /// What ACKs prove of a unit that a copy at `ts` took the last byte of, and that seemed readable at `ready`.
    pub(super) fn proven(&self, unit: &mut Unit, ready: i64, ts: i64) -> i64 {
        let Some((at, sure)) = self.proof.filled(unit, ready, ts) else {
            unit.link(Confidence::Weak);
            return ready;
        };
        (unit.ready, unit.proven) = (Some(at), sure);
        at
    }
}
