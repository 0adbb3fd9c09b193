//! The receive queue of one socket: units in the order of the stream, taken by bytes read.
//!
//! ```text
//!           tcp_probe           sk_data_ready of the unit            reads
//!  arrival ──────────> held ──────────────────────────────> line ──────────────> done
//!                       └── sk_data_ready of a later unit: it filled the hole. Which of those held follow it is known
//!                           when the ACK sent for it says how far the stream now is; else their order is in doubt
//! ```
//! A copy names the skb it begins in, and that skb's own bytes come first in it: a named unit needs no order. What a copy
//! takes beyond them was coalesced into it: the next units of the line. Where the order is in doubt this is weak, unless
//! one call read all that is in doubt: then every order gives the same times. Source: net/ipv4/tcp_input.c
//! `tcp_data_queue`, `tcp_ofo_queue`, `tcp_try_coalesce`. What reads prove of the order: `readable`.

use std::ops::Range;

use super::line::Line;
use super::low_water::Stand;
use super::order::Release;
use super::proof::Proof;
use super::readable::{Filled, Through};
use super::unit::Place;
use super::units::{UnitId, Units};
use crate::confidence::Confidence;

/// What a copy that names an skb takes.
#[derive(Debug, PartialEq, Eq)]
pub enum Named {
    /// The bytes that wait first.
    Next,
    /// The same, after these units, which earlier reads must have taken.
    After(Vec<UnitId>),
    /// Bytes of a unit that was taken for read before.
    Already,
    /// Nothing of what waits.
    Strange,
}

/// Bytes of one stream as the ledger counted them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StreamBytes {
    /// Payload pushed: what tcp_probe counted.
    pub arrived: u64,
    /// Of these, popped by reads.
    pub taken: u64,
    /// Of these, dropped by TCP afterwards (duplicates).
    pub dropped: u64,
    /// Of these, waiting at the end, or when events were lost.
    pub waiting: u64,
    /// Read, but never seen to arrive (handshake and closing states have no probe; before the recording).
    pub strange: u64,
    /// What copies, and reads without them, took, whatever it was of.
    pub copied: u64,
    /// Events were lost, or the recording did not begin with the stream: arrived and read need not agree.
    pub cut: bool,
}

/// Units waiting for a reader.
#[derive(Debug)]
pub struct Fifo {
    /// Readable, in stream order.
    pub(super) line: Line,
    /// Arrived, not announced.
    pub(super) held: Line,
    /// Read in part, out of its turn in the line.
    pub(super) first: Option<UnitId>,
    /// Places whose order is a guess.
    pub(super) doubt: Range<u64>,
    /// Bytes of these places were read.
    pub(super) touched: bool,
    /// A read ended among these places.
    pub(super) split: bool,
    /// Units taken by order from these places in the current read.
    pub(super) guessed: Vec<UnitId>,
    /// Units taken whole in the current read that another's announcement released.
    pub(super) filled: Vec<Filled>,
    /// Next byte expected, as ACKs told.
    pub(super) rcv_nxt: Option<u32>,
    /// The ACK sent for a unit that is not announced (yet).
    pub(super) ack: Option<(UnitId, u32)>,
    pub(super) release: Option<Release>,
    /// The last unit whose announcement released others, the place of these and their number.
    pub(super) guess: Option<(UnitId, u64, usize)>,
    /// When the last unit whose place in the stream is known, of those read, became readable.
    pub(super) through: Option<Through>,
    /// What ACKs prove.
    pub(super) proof: Proof,
    /// When nothing was missing, and when something was.
    pub(super) stand: Stand,
    /// What the socket holds and what waits here are the same bytes, as far as events tell.
    pub(super) aligned: bool,
    /// When the first and the last of the units that reads took bytes of became readable, since this was asked last.
    pub(super) reached: Option<(i64, i64)>,
    /// What was counted.
    pub bytes: StreamBytes,
}

impl Fifo {
    /// An empty one; `aligned` unless the socket may hold what was not seen to arrive.
    pub fn new(aligned: bool) -> Fifo {
        Fifo {
            line: Line::default(),
            held: Line::default(),
            first: None,
            doubt: 0..0,
            touched: false,
            split: false,
            guessed: vec![],
            filled: vec![],
            rcv_nxt: None,
            ack: None,
            release: None,
            guess: None,
            through: None,
            proof: Proof::default(),
            stand: Stand::default(),
            aligned,
            reached: None,
            bytes: StreamBytes {
                cut: !aligned,
                ..StreamBytes::default()
            },
        }
    }
    /// A unit arrived in order, or nothing tells.
    pub fn push(&mut self, unit: UnitId, units: &mut Units) {
        let place = self.line.push(unit);
        if let Some(u) = units.get_mut(unit) {
            u.place = Some(Place::Line(place));
            self.bytes.arrived += u64::from(u.left);
        }
    }
    /// The first of the line.
    fn front(&mut self, units: &Units) -> Option<(u64, UnitId)> {
        self.line.front(|id, place| is_at(units, id, Place::Line(place)))
    }
    pub(super) fn doubts_remain(&mut self, units: &Units) -> bool {
        let end = self.doubt.end;
        self.front(units).is_some_and(|(place, _)| place < end)
    }
    /// A read took bytes that were not seen to arrive.
    pub fn strange_read(&mut self, bytes: u32) {
        self.aligned = false;
        self.bytes.strange += u64::from(bytes);
    }
    /// The socket was found empty: if nothing waits here, the two agree.
    pub fn found_empty(&mut self, at: i64, units: &mut Units) {
        self.none_readable(at, units);
        self.aligned |= self.first.is_none() && self.front(units).is_none();
    }
    /// A unit left without being read (TCP dropped it).
    pub fn remove(&mut self, unit: UnitId, units: &mut Units) {
        if let Some(u) = units.get_mut(unit) {
            let announced = matches!(u.place, Some(Place::Line(_)));
            u.place = None;
            self.bytes.dropped += u64::from(u.left);
            if announced {
                self.revoke(unit, units);
            }
        }
        self.held.trim(|id, place| is_at(units, id, Place::Held(place)));
    }
    /// Everything still waiting, and how sure it is that it waits.
    pub fn drain(mut self, units: &Units) -> (Vec<(UnitId, Confidence)>, StreamBytes) {
        let link = match (self.aligned, self.doubts_remain(units)) {
            (false, _) => Confidence::Unknown,
            (true, true) => Confidence::Weak,
            (true, false) => Confidence::Certain,
        };
        let line = self.line.drain(|id, place| is_at(units, id, Place::Line(place)));
        let held = self.held.drain(|id, place| is_at(units, id, Place::Held(place)));
        let all: Vec<(UnitId, Confidence)> = self
            .first
            .into_iter()
            .chain(line)
            .chain(held)
            .map(|id| (id, link))
            .collect();
        let left = all.iter().filter_map(|(id, _)| units.get(*id));
        self.bytes.waiting += left.map(|u| u64::from(u.left)).sum::<u64>();
        (all, self.bytes)
    }
    /// A copy names a unit: what it takes. Units before it in the line were read already, whatever the bytes counted said,
    /// unless their order is in doubt: then it is read out of its turn.
    pub fn named(&mut self, unit: UnitId, units: &mut Units) -> Named {
        self.kept_back(unit, units);
        let Some(u) = units.get_mut(unit) else {
            return Named::Strange;
        };
        if u.passed {
            return Named::Already;
        }
        // Its own bytes are taken, so it waits no more; what follows was coalesced into it.
        if u.proto.is_some() && u.left == 0 {
            return Named::Next;
        }
        // A head is in nobody else: what was counted of it by order was another's.
        let own = u.bytes.unwrap_or(0).saturating_sub(u.named_bytes);
        let miscounted = own.saturating_sub(u.left);
        u.left = own.max(u.left);
        let whole = u.named_bytes == 0;
        let place = u.place;
        self.bytes.taken = self.bytes.taken.saturating_sub(u64::from(miscounted));
        if self.first == Some(unit) {
            return Named::Next;
        }
        let mut passed: Vec<UnitId> = self.first.take().into_iter().collect();
        match place {
            None => {
                self.first = passed.pop();
                return Named::Strange;
            }
            // Never announced itself.
            Some(Place::Held(_)) => u.held = true,
            Some(Place::Line(at)) => {
                // What surely comes before it in the stream was read.
                let sure = at.min(self.doubt.start.max(self.line.start()));
                let sure = if self.doubt.contains(&at) { sure } else { at };
                while let Some((_, id)) = self.front(units).filter(|(p, _)| *p < sure) {
                    self.line.pop();
                    passed.push(id);
                }
                self.aligned |= whole;
                if self.front(units).is_some_and(|f| f.1 == unit) {
                    return after(passed);
                }
            }
        }
        if let Some(u) = units.get_mut(unit) {
            u.place = None;
        }
        self.first = Some(unit);
        after(passed)
    }
    /// `bytes` were copied at `ts` from the skb of `named`, if that is known; returns the units whose last byte was taken.
    pub fn take(&mut self, mut bytes: u32, ts: i64, named: Option<UnitId>, units: &mut Units) -> Vec<UnitId> {
        let mut done = vec![];
        while bytes > 0 {
            let (place, id) = match self.first {
                Some(id) => (None, id),
                None => match self.front(units) {
                    Some((place, id)) => (Some(place), id),
                    None => break,
                },
            };
            let Some(unit) = units.get_mut(id) else {
                self.first = None;
                continue;
            };
            // What came after the copy began is not in it: the bytes were there before the recording, or not seen to arrive.
            if named != Some(id) && unit.came() > ts {
                break;
            }
            let n = unit.left.min(bytes);
            unit.left -= n;
            bytes -= n;
            self.bytes.taken += u64::from(n);
            let is_named = named == Some(id);
            let doubtful = place.is_none_or(|p| self.doubt.contains(&p));
            let since = self.since(unit, ts, is_named || (self.aligned && !doubtful));
            self.reached = Some(self.reached.map_or((since, since), |r| (r.0, r.1.max(since))));
            self.touched |= doubtful;
            self.stand.took(unit, is_named, self.aligned && !doubtful);
            if is_named {
                unit.named_bytes = unit.named_bytes.saturating_add(n);
            } else if !self.aligned {
                unit.link(Confidence::Weak);
            }
            if unit.left > 0 {
                break;
            }
            (unit.copy, unit.place) = (Some(ts), None);
            match place {
                Some(_) => _ = self.line.pop(),
                None => self.first = None,
            }
            if !is_named && doubtful {
                self.guessed.push(id);
            }
            if unit.held {
                self.filled.push(Filled { unit: id, next: None });
            } else if is_named || (self.aligned && !doubtful) {
                let open = self.filled.iter_mut().filter(|f| f.next.is_none());
                open.for_each(|f| f.next = Some(since));
            }
            done.push(id);
        }
        // More was read than was seen to arrive.
        if bytes > 0 {
            self.strange_read(bytes);
        }
        done
    }
    /// A read call is over: what it took by order from among units in doubt is weak, unless it took all of these.
    pub fn end_read(&mut self, units: &mut Units) {
        let front = self.front(units).map(|f| f.0);
        let inside = self.first.is_some() || front.is_some_and(|p| self.doubt.contains(&p));
        self.split |= self.touched && inside;
        let guessed = std::mem::take(&mut self.guessed);
        if self.split {
            for id in guessed {
                if let Some(u) = units.get_mut(id) {
                    u.link(Confidence::Weak);
                }
            }
        }
        if self.first.is_none() && front.is_none_or(|p| p >= self.doubt.end) {
            (self.doubt, self.split, self.touched) = (0..0, false, false);
        }
    }
    /// The first unit, or the one that is known to be read, for sockets whose reads take one datagram each, and how sure
    /// that is.
    pub fn take_datagram(&mut self, known: Option<UnitId>, units: &mut Units) -> Option<(UnitId, Confidence)> {
        if let Some(u) = known.and_then(|id| units.get_mut(id)).filter(|u| u.place.is_some()) {
            u.place = None;
            return Some((known?, Confidence::Certain));
        }
        let (_, id) = self.front(units)?;
        self.line.pop();
        if let Some(u) = units.get_mut(id) {
            u.place = None;
        }
        let link = if self.aligned {
            Confidence::Strong
        } else {
            Confidence::Weak
        };
        Some((id, link))
    }
    /// All that is readable: a reader that no length tells of took it.
    pub fn take_all(&mut self, units: &mut Units) -> Vec<UnitId> {
        let line = self.line.drain(|id, place| is_at(units, id, Place::Line(place)));
        let all: Vec<UnitId> = self.first.take().into_iter().chain(line).collect();
        for id in &all {
            if let Some(u) = units.get_mut(*id) {
                u.place = None;
                self.bytes.taken += u64::from(u.left);
                self.bytes.copied += u64::from(u.left);
                u.left = 0;
            }
        }
        (self.doubt, self.proof) = (0..0, Proof::default());
        all
    }
}

fn after(passed: Vec<UnitId>) -> Named {
    if passed.is_empty() {
        Named::Next
    } else {
        Named::After(passed)
    }
}

pub(super) fn is_at(units: &Units, id: UnitId, place: Place) -> bool {
    units.get(id).is_some_and(|u| u.place == Some(place))
}
