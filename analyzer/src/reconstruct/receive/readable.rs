//! What reads prove of when a unit became readable: it lay behind a hole as long as what comes before it in the stream.
//!
//! ```text
//! arrived   r1 r2 (behind a hole)   k (announced: r1 r2 seem released)      f (announced)
//! reads                                   k, less than asked for: that was all        f r1 r2
//! ```
//! - **Order.** A byte is readable when all before it are. What a copy takes behind the skb that it names, and what is read
//!   after it, was not readable before that one: whatever released it first was not what it waited for. A unit whose own
//!   `sk_data_ready` followed was in order: that is its time.
//! - **Sum.** A read that got less than it asked for took all that was readable (net/ipv4/tcp.c `tcp_recvmsg_locked`): every
//!   announced unit, and of those that seemed released as many as its bytes leave room for. The rest waits on; so does all of it
//!   where the read found nothing (EAGAIN).
//!   A unit of which it read a part is read: what it has more had come before.
//! - What neither proves is weak where a fourth of the unit's wait or more may be the hole's or the reader's.
//! - What ACKs prove: [`super::proof`].

use super::fifo::{Fifo, is_at};
use super::unit::{Place, Unit};
use super::units::{UnitId, Units};
use crate::confidence::Confidence;

/// Units among which an order is sought, at most.
const MOST: usize = 4_096;

/// One part in so many of a unit's wait may be the hole's or the reader's: more is weak.
const AT_STAKE: i64 = 4;

/// When the stream was readable up to some unit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Through {
    at: i64,
    /// CPU on which TCP had it; `None`: in a thread.
    cpu: Option<u16>,
}

/// A unit taken whole that another's announcement released.
#[derive(Debug)]
pub(super) struct Filled {
    pub(super) unit: UnitId,
    /// When the first in the stream behind it became readable that arrived in order.
    pub(super) next: Option<i64>,
}

/// One read call.
#[derive(Debug)]
pub(super) struct Taken {
    /// Bytes that it got.
    pub(super) bytes: u32,
    /// Its last copy, ns.
    pub(super) at: i64,
    /// It took all that was readable: it got less than it asked for. `None`: what it asked for is not known.
    pub(super) all: Option<bool>,
    /// Units that its copies name.
    pub(super) named: Vec<UnitId>,
}

impl Fifo {
    /// When a unit that a copy at `ts` takes became readable. `known`: its place in the stream is.
    pub(super) fn since(&mut self, unit: &mut Unit, ts: i64, known: bool) -> i64 {
        let own = unit.ready.or(unit.proto).unwrap_or(unit.start);
        let whole = unit.bytes == Some(unit.left) || unit.left == 0;
        let cpu = (!unit.backlog).then_some(unit.cpu);
        // Before 6.3 nothing is announced: clocks of two CPUs may differ by more than segments do.
        let one_clock = |t: &Through| unit.ready.is_none() && unit.proto.is_some() && cpu.is_some() && t.cpu == cpu;
        let later = |t: &Through| t.at > own && t.at <= ts && (unit.held || one_clock(t));
        let through = self.through.filter(|t| whole && later(t));
        if let Some(t) = through {
            (unit.ready, unit.held) = (Some(t.at), true);
        }
        let mut since = through.map_or(own, |t| t.at);
        if unit.held && unit.left == 0 && unit.ready.is_some() {
            since = self.proven(unit, since, ts);
        }
        if known && self.through.is_none_or(|t| t.at <= since) {
            self.through = Some(Through { at: since, cpu });
        }
        since
    }

    /// Whether a unit waits in the line.
    pub(super) fn in_line(&self, id: UnitId, units: &Units) -> bool {
        let place = units.get(id).and_then(|u| u.place);
        matches!(place, Some(Place::Line(at)) if at >= self.line.start() && self.line.from(at).next() == Some(id))
    }

    /// Brings the units into the order that a read proves.
    pub(super) fn order_by(&mut self, read: &Taken, units: &mut Units) {
        if !self.doubts_remain(units) || read.bytes == 0 || read.all == Some(false) {
            return;
        }
        let there = |u: &Unit| u.start <= read.at && u.ready.is_none_or(|t| t <= read.at);
        // A skb that a copy names has its own bytes first in it, whatever was counted of them by order; but where all were
        // counted, what the copy takes is others' (`named`).
        let bytes = |id: &UnitId, u: &Unit| match read.named.contains(id) {
            true if u.left > 0 => u.left.max(u.bytes.unwrap_or(0).saturating_sub(u.named_bytes)),
            _ => u.left,
        };
        let left = |id: &UnitId| {
            units
                .get(*id)
                .filter(|u| there(u))
                .map_or(0, |u| u64::from(bytes(id, u)))
        };
        let released = |id: &UnitId| !read.named.contains(id) && units.get(*id).is_some_and(|u| u.held && there(u));
        let mut apart: Vec<UnitId> = self.first.iter().chain(&read.named).copied().collect();
        apart.retain(|id| !self.in_line(*id, units));
        apart.sort_unstable();
        apart.dedup();
        let first: u64 = apart.iter().map(left).sum();
        // Most reads take less than what is sure to be there: they are done with before all that waits is looked at.
        let (mut all, mut guessed, mut sure) = (vec![], vec![], first);
        for (id, place) in self.line.from(self.line.start()).zip(self.line.start()..) {
            if !is_at(units, id, Place::Line(place)) {
                continue;
            }
            all.push(id);
            match released(&id) {
                true => guessed.push(id),
                false => sure += left(&id),
            }
            if sure > u64::from(read.bytes) || all.len() > MOST {
                return;
            }
        }
        let Some(over) = u64::from(read.bytes).checked_sub(sure) else {
            return;
        };
        // As now: the first so many bytes.
        let mut ends = all.iter().scan(first, |sum, id| {
            *sum += left(id);
            Some(*sum)
        });
        let whole = ends.any(|sum| sum == u64::from(read.bytes));
        if read.all.is_none() && whole {
            return;
        }
        let Some(part) = part_of(&guessed.iter().map(left).collect::<Vec<_>>(), over) else {
            return;
        };
        if part.len() == guessed.len() {
            return;
        }
        let rest: Vec<UnitId> = guessed
            .iter()
            .enumerate()
            .filter(|(n, _)| !part.contains(n))
            .map(|x| *x.1)
            .collect();
        let some = !part.is_empty();
        let line = self.line.drain(|id, place| is_at(units, id, Place::Line(place)));
        let start = self.line.end();
        let stays = line.into_iter().filter(|id| !rest.contains(id));
        let behind = if read.all == Some(true) { vec![] } else { rest.clone() };
        for id in stays.chain(behind) {
            let place = self.line.push(id);
            if let Some(u) = units.get_mut(id) {
                u.place = Some(Place::Line(place));
            }
        }
        let again = read.all == Some(true) && self.spare(rest, read.at, units);
        (self.release, self.guess) = (None, None);
        // Which of those released they were is a guess by their order of arrival.
        let doubt = some || again || read.all.is_none();
        (self.doubt, self.touched, self.split) = (0..0, false, some);
        if doubt {
            self.doubt = start..self.line.end();
        }
    }

    /// A unit that was read in part, and cannot be in the queue any more: what is left of it had come before, in others
    /// (TCP keeps one of two segments that overlap, and reads on behind what was read already).
    pub(super) fn overlapped(&mut self, units: &mut Units) -> Option<UnitId> {
        let front = self.line.front(|id, place| is_at(units, id, Place::Line(place)));
        let id = self.first.or(front.map(|f| f.1))?;
        let u = units.get_mut(id)?;
        if u.left == 0 || u.bytes.is_none_or(|b| b <= u.left) {
            return None;
        }
        self.bytes.dropped += u64::from(u.left);
        (u.left, u.place) = (0, None);
        self.first = None;
        Some(id)
    }

    /// A read left these, and nothing readable at `at`. What was announced since then, before the read was over (the reader works
    /// off its backlog in it), may have released them: whether it seems so.
    fn spare(&mut self, rest: Vec<UnitId>, at: i64, units: &mut Units) -> bool {
        let line = self.line.from(self.line.start()).filter_map(|id| units.get(id));
        let since = line.filter(|u| !u.held).filter_map(|u| u.ready).filter(|t| *t > at);
        let since = since.min();
        for id in &rest {
            if let Some(u) = units.get_mut(*id) {
                u.spared = true;
            }
        }
        let Some(since) = since else {
            self.hold_again(rest, units);
            return false;
        };
        for id in rest {
            let place = self.line.push(id);
            if let Some(u) = units.get_mut(id) {
                (u.place, u.ready, u.held) = (Some(Place::Line(place)), Some(since), true);
            }
        }
        true
    }

    /// Nothing was readable at `at`: what seemed to be released until then was not.
    pub(super) fn none_readable(&mut self, at: i64, units: &mut Units) {
        if !self.doubts_remain(units) {
            return;
        }
        let line = self.line.drain(|id, place| is_at(units, id, Place::Line(place)));
        let released = |id: &UnitId| {
            units
                .get(*id)
                .is_some_and(|u| u.held && u.ready.is_some_and(|t| t <= at) && u.bytes == Some(u.left))
        };
        let (rest, stays): (Vec<UnitId>, Vec<UnitId>) = line.into_iter().partition(released);
        let start = self.line.end();
        for id in stays {
            let place = self.line.push(id);
            if let Some(u) = units.get_mut(id) {
                u.place = Some(Place::Line(place));
            }
        }
        // Those released since keep their order, and its doubt.
        let since = rest.is_empty() || self.line.from(start).any(|id| units.get(id).is_some_and(|u| u.held));
        let again = self.spare(rest, at, units);
        (self.release, self.guess, self.doubt) = (None, None, 0..0);
        match since || again {
            true => self.doubt = start..self.line.end(),
            false => (self.touched, self.split) = (false, false),
        }
    }

    /// A read is over. Weak is a unit taken by order that another read had left (which of several such is a guess), and one
    /// that only a guess made readable before the last one of the read, where that is a fourth of its wait or more. One behind
    /// which in the stream another arrived in order was readable before that one.
    pub(super) fn weaken(&mut self, units: &mut Units) {
        let filled = std::mem::take(&mut self.filled);
        let Some((_, last)) = self.reached else { return };
        for id in &self.guessed {
            if let Some(u) = units.get_mut(*id).filter(|u| u.spared) {
                u.link(Confidence::Weak);
            }
        }
        for f in filled {
            let Some(u) = units.get_mut(f.unit).filter(|u| !u.proven) else {
                continue;
            };
            // What arrived in order behind it in the stream found it there.
            let last = f.next.and_then(|t| self.proof.announced_before(t)).unwrap_or(last);
            if let (Some(ready), Some(copy), true) = (u.ready, u.copy, u.held)
                && (last - ready).saturating_mul(AT_STAKE) > copy - u.proto.unwrap_or(u.start)
            {
                u.link(Confidence::Weak);
            }
        }
    }
}

/// Which of the sizes, in a row, sum to `over`: the first ones, else the only such row.
fn part_of(sizes: &[u64], over: u64) -> Option<std::ops::Range<usize>> {
    if over == 0 {
        return Some(0..0);
    }
    let mut found = None;
    for from in 0..sizes.len() {
        let mut sum = 0;
        for (to, size) in sizes.iter().enumerate().skip(from) {
            sum += size;
            if sum >= over {
                if sum == over && from == 0 {
                    return Some(0..to + 1);
                }
                if sum == over && found.replace(from..to + 1).is_some() {
                    return None;
                }
                break;
            }
        }
    }
    found
}
