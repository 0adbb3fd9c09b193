//! What was held though nothing was missing: a socket with SO_RCVLOWAT is announced when so many bytes are there, and not before.
//!
//! ```text
//! arrived   r1    r2    ACK: all that arrived is in order    r3 k        sk_data_ready of k
//!           └──────────────────── kept back, not out of order ─────────────────┘
//! ```
//! An ACK says how far the stream is, where the peer is in the recording too: as far as all that arrived, and nothing was missing; less
//! far, and something was. Reads tell it too: what is read before the unit that announced it came before it in the stream, and what would have
//! filled a hole before it was not announced; what is read behind one that came later lay behind a hole. What nothing says is a guess: a
//! hole, as that is what most sockets wait for (net/ipv4/tcp_input.c `tcp_data_ready`, `tcp_ofo_queue`).

use std::cmp::Ordering;

use super::fifo::{Fifo, is_at};
use super::unit::{Place, Unit};
use super::units::{UnitId, Units};
use crate::confidence::Confidence;

/// Units of a line that are put into another order, at most.
const MOST: u64 = 4_096;

/// What the last ACKs said, ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Stand {
    /// All that had arrived was in order.
    whole: Option<i64>,
    /// It was not.
    missing: Option<i64>,
    /// When the last to arrive did of the units whose place in the stream is known, of those read.
    read: Option<i64>,
}

impl Stand {
    /// A copy takes bytes of a unit: it names it, or its place in the stream is known otherwise.
    pub(super) fn took(&mut self, unit: &mut Unit, named: bool, known: bool) {
        let came = unit.proto.unwrap_or(unit.start);
        if unit.held && named && self.read.is_some_and(|at| at > came) {
            unit.hole = true;
        }
        if named || known {
            self.read = self.read.max(Some(came));
        }
    }
}

impl Fifo {
    /// An ACK sent at `at` said that the stream had come as far as `place`, in bytes read since the socket was first seen.
    pub(super) fn stands(&mut self, place: i64, at: i64) {
        let of = &self.bytes;
        let there = of.copied.saturating_add(of.arrived).saturating_sub(of.taken);
        let there = i64::try_from(there.saturating_sub(of.dropped)).unwrap_or(i64::MAX);
        match place.cmp(&there) {
            Ordering::Equal => self.stand.whole = Some(at),
            Ordering::Less => self.stand.missing = Some(at),
            // More than was seen to arrive: one of the counts is another stream's, or began elsewhere.
            Ordering::Greater => {}
        }
    }

    /// Whether units (the first announces the others) waited though nothing was missing; of others says what ACKs said meanwhile.
    pub(super) fn woken_late(&self, all: &mut [UnitId], units: &mut Units) -> bool {
        let Stand { whole, missing, .. } = self.stand;
        let by = all.first().copied();
        let waited = all.get(1..).unwrap_or(&[]);
        let came = |id: &UnitId, units: &Units| units.get(*id).map_or(i64::MAX, |u| u.proto.unwrap_or(u.start));
        let late = self.aligned && waited.iter().any(|id| whole.is_some_and(|at| at > came(id, units)));
        for id in waited {
            let came = came(id, units);
            if let Some(u) = units.get_mut(*id) {
                (u.low_water, u.by) = (late, by.filter(|_| !late));
                u.hole = !late && missing.is_some_and(|at| at > came);
                if late && whole.is_none_or(|at| at <= came) {
                    u.link(Confidence::Strong);
                }
            }
        }
        late
    }

    /// A copy names a unit. Where the one that announced it was not read yet, that one comes behind all that it announced: these were kept back.
    pub(super) fn kept_back(&mut self, unit: UnitId, units: &mut Units) {
        let by = units.get(unit).filter(|u| u.held).and_then(|u| u.by);
        let Some(by) = by.filter(|by| self.in_line(*by, units) && self.in_line(unit, units)) else {
            return;
        };
        if self.line.end() - self.line.start() > MOST {
            return;
        }
        let with_it = |id: UnitId, units: &Units| id == by || units.get(id).is_some_and(|u| u.by == Some(by));
        let doubts = self.doubts_remain(units);
        let doubt = self.doubt.clone();
        let line = self.line.from(self.line.start()).zip(self.line.start()..);
        let others = line.filter(|(_, place)| doubts && doubt.contains(place));
        let others = others
            .into_iter()
            .any(|(id, place)| is_at(units, id, Place::Line(place)) && !with_it(id, units));
        let mut line: Vec<UnitId> = self.line.drain(|id, place| is_at(units, id, Place::Line(place)));
        line.retain(|id| *id != by);
        let last = line.iter().rposition(|id| with_it(*id, units));
        line.insert(last.map_or(line.len(), |at| at + 1), by);
        let start = self.line.end();
        for id in line {
            let place = self.line.push(id);
            let kept = with_it(id, units) && id != by;
            let Some(u) = units.get_mut(id) else { continue };
            u.place = Some(Place::Line(place));
            if kept {
                (u.held, u.low_water, u.hole, u.by) = (false, true, false, None);
                u.link(Confidence::Strong);
            }
        }
        (self.release, self.guess) = (None, None);
        match others {
            true => self.doubt = start..self.line.end(),
            false => (self.doubt, self.touched, self.split) = (0..0, false, false),
        }
    }

    /// Units that are announced together and arrived in order, the last of them first.
    pub(super) fn in_order(&mut self, mut all: Vec<UnitId>, after: Option<u32>, units: &mut Units) -> Vec<UnitId> {
        all.rotate_left(1);
        let doubted = self.doubts_remain(units);
        for id in &all {
            let place = self.line.push(*id);
            if let Some(u) = units.get_mut(*id) {
                u.place = Some(Place::Line(place));
            }
        }
        if doubted {
            self.doubt.end = self.line.end();
        }
        (self.rcv_nxt, self.release, self.guess) = (after, None, None);
        all
    }
}
