//! The byte FIFO of one socket: units in order of arrival, taken by bytes read.

use std::collections::VecDeque;

use super::unit::Unit;
use crate::confidence::Confidence;

/// Units waiting for a reader, as positions in the table of units.
#[derive(Debug, Default)]
pub struct Fifo {
    waiting: VecDeque<usize>,
    /// A segment may be out of order: until the FIFO is empty its order is a guess.
    doubt: bool,
}

impl Fifo {
    /// A unit arrived.
    pub fn push(&mut self, unit: usize) {
        self.waiting.push_back(unit);
    }
    /// The order is in doubt from now on.
    pub fn doubt(&mut self) {
        self.doubt = !self.waiting.is_empty();
    }
    /// A unit left without being read (TCP dropped it).
    pub fn remove(&mut self, unit: usize) {
        self.waiting.retain(|u| *u != unit);
    }
    /// Everything still waiting.
    pub fn drain(self) -> impl Iterator<Item = usize> {
        self.waiting.into_iter()
    }
    /// A copy names the unit at its head: those before it were read unseen (weak), or arrived early (then it comes first).
    /// Returns the units skipped.
    pub fn named(&mut self, unit: usize) -> Vec<usize> {
        let Some(at) = self.waiting.iter().position(|u| *u == unit).filter(|at| *at > 0) else {
            return vec![];
        };
        if self.doubt {
            self.waiting.remove(at);
            self.waiting.push_front(unit);
            return vec![];
        }
        self.waiting.drain(..at).collect()
    }
    /// `bytes` were copied at `ts`; returns the units whose last byte was taken.
    pub fn take(&mut self, mut bytes: u32, ts: i64, units: &mut [Unit]) -> Vec<usize> {
        let mut done = vec![];
        while bytes > 0 {
            let Some(u) = self.waiting.front().copied() else { break };
            let Some(unit) = units.get_mut(u) else { break };
            let n = unit.left.min(bytes);
            unit.left -= n;
            bytes -= n;
            if unit.left > 0 {
                break;
            }
            unit.copy = Some(ts);
            if self.doubt {
                unit.link(Confidence::Weak);
            }
            done.push(u);
            self.waiting.pop_front();
        }
        self.doubt &= !self.waiting.is_empty();
        done
    }
    /// The first unit, for sockets whose reads take one datagram each.
    pub fn take_first(&mut self) -> Option<usize> {
        self.waiting.pop_front()
    }
}
