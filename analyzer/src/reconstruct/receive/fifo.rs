//! The byte FIFO of one socket: units in order of arrival, taken by bytes read.

use std::collections::VecDeque;

use super::unit::Unit;
use crate::confidence::Confidence;

/// What a copy that names an skb takes.
#[derive(Debug, PartialEq, Eq)]
pub enum Named {
    /// The bytes that wait first.
    Next,
    /// The same, after these units, which earlier reads must have taken.
    After(Vec<usize>),
    /// Bytes of a unit that was taken for read before.
    Already,
    /// Nothing of what waits.
    Strange,
}

/// Units waiting for a reader, as positions in the table of units.
#[derive(Debug)]
pub struct Fifo {
    /// (how many arrived before it, unit): ascending, but for units that a copy brought to the front.
    waiting: VecDeque<(u64, usize)>,
    /// Units that ever arrived.
    arrived: u64,
    /// Units that arrived before this many had may be out of order: while one of them waits, the order is a guess.
    doubt: Option<u64>,
    /// What the socket holds and what waits here are the same bytes, as far as events tell.
    aligned: bool,
    /// Units that no `sk_data_ready` has announced yet.
    unannounced: Vec<usize>,
}

impl Fifo {
    /// An empty one; `aligned` unless the socket may hold what was not seen to arrive.
    pub fn new(aligned: bool) -> Fifo {
        Fifo {
            waiting: VecDeque::new(),
            arrived: 0,
            doubt: None,
            aligned,
            unannounced: Vec::new(),
        }
    }
    /// A unit arrived.
    pub fn push(&mut self, unit: usize) {
        self.waiting.push_back((self.arrived, unit));
        self.arrived += 1;
    }
    /// The unit that arrived last and still waits.
    pub fn last(&self) -> Option<usize> {
        self.waiting.back().map(|w| w.1)
    }
    /// A unit that an `sk_data_ready` will announce.
    pub fn expect(&mut self, unit: usize) {
        self.unannounced.push(unit);
    }
    /// `sk_data_ready`: the units it announces, in order of arrival.
    pub fn announce(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.unannounced)
    }
    /// The order is in doubt from now on.
    pub fn doubt(&mut self) {
        self.doubt = Some(self.arrived);
    }
    fn in_doubt(&self) -> bool {
        // What a copy brings to the front is in doubt itself, so the first tells for all.
        let first = self.waiting.front();
        self.doubt.zip(first).is_some_and(|(until, (nth, _))| *nth < until)
    }
    /// A read took bytes that were not seen to arrive.
    pub fn strange_read(&mut self) {
        self.aligned = false;
    }
    /// The socket was found empty: if nothing waits here, the two agree.
    pub fn found_empty(&mut self) {
        self.aligned |= self.waiting.is_empty();
    }
    /// A unit left without being read (TCP dropped it).
    pub fn remove(&mut self, unit: usize) {
        // Mostly one that came late: look from the end.
        if let Some(at) = self.waiting.iter().rposition(|w| w.1 == unit) {
            self.waiting.remove(at);
        }
        if let Some(at) = self.unannounced.iter().rposition(|u| *u == unit) {
            self.unannounced.remove(at);
        }
    }
    /// Everything still waiting, and how sure it is that it waits.
    pub fn drain(self) -> impl Iterator<Item = (usize, Confidence)> {
        let link = match (self.aligned, self.in_doubt()) {
            (false, _) => Confidence::Unknown,
            (true, true) => Confidence::Weak,
            (true, false) => Confidence::Certain,
        };
        self.waiting.into_iter().map(move |w| (w.1, link))
    }
    /// A copy names a unit: what it takes. Units before it were read already, whatever the bytes counted said; when one
    /// of them was held for a missing segment, they may as well be later in the stream, and the order is in doubt.
    /// `announced`: the recording has sk_data_ready, without which nothing tells a held unit.
    pub fn named(&mut self, unit: usize, units: &[Unit], announced: bool) -> Named {
        let Some(u) = units.get(unit) else {
            return Named::Strange;
        };
        if u.passed {
            return Named::Already;
        }
        // Its own bytes are taken, so it waits no more; what follows was coalesced into it.
        if u.proto.is_some() && u.left == 0 {
            return Named::Next;
        }
        let whole = Some(u.left) == u.bytes;
        match self.waiting.iter().position(|w| w.1 == unit) {
            Some(0) => {
                self.aligned |= whole;
                Named::Next
            }
            Some(at) => {
                let ahead = self.waiting.iter().take(at);
                let held = ahead
                    .filter_map(|w| units.get(w.1))
                    .any(|w| w.held || (announced && w.ready.is_none()));
                if held {
                    self.doubt();
                    if let Some(moved) = self.waiting.remove(at) {
                        self.waiting.push_front(moved);
                    }
                    return Named::Next;
                }
                self.aligned |= whole;
                Named::After(self.waiting.drain(..at).map(|w| w.1).collect())
            }
            None => Named::Strange,
        }
    }
    /// `bytes` were copied at `ts`; returns the units whose last byte was taken.
    pub fn take(&mut self, mut bytes: u32, ts: i64, units: &mut [Unit]) -> Vec<usize> {
        let mut done = vec![];
        let in_doubt = self.in_doubt();
        while bytes > 0 {
            let Some(u) = self.waiting.front().map(|w| w.1) else {
                break;
            };
            let Some(unit) = units.get_mut(u) else { break };
            let n = unit.left.min(bytes);
            unit.left -= n;
            bytes -= n;
            if unit.left > 0 {
                break;
            }
            unit.copy = Some(ts);
            if in_doubt || !self.aligned {
                unit.link(Confidence::Weak);
            }
            done.push(u);
            self.waiting.pop_front();
        }
        if !self.in_doubt() {
            self.doubt = None;
        }
        // More was read than was seen to arrive.
        self.aligned &= bytes == 0;
        done
    }
    /// The first unit, for sockets whose reads take one datagram each, and how sure that is.
    pub fn take_first(&mut self) -> Option<(usize, Confidence)> {
        let link = if self.aligned {
            Confidence::Strong
        } else {
            Confidence::Weak
        };
        Some((self.waiting.pop_front()?.1, link))
    }
}
