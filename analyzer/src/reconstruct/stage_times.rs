//! The parts of a ledger's row: ns per stage, 8 bytes each.

use std::marker::PhantomData;

/// Stands for "did not happen, or not known". No difference of two times of one recording is that small.
const UNKNOWN: i64 = i64::MIN;

/// ns per stage of a path whose `N` stages `S` names, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times<S, const N: usize> {
    ns: [i64; N],
    of: PhantomData<S>,
}

impl<S, const N: usize> Default for Times<S, N> {
    fn default() -> Self {
        Times {
            ns: [UNKNOWN; N],
            of: PhantomData,
        }
    }
}

impl<S: Into<usize>, const N: usize> Times<S, N> {
    /// ns of a stage; `None`: did not happen, or not known.
    pub fn get(&self, s: S) -> Option<i64> {
        self.ns.get(s.into()).copied().filter(|ns| *ns != UNKNOWN)
    }
    /// Sets a stage.
    pub fn set(&mut self, s: S, ns: Option<i64>) {
        if let Some(slot) = self.ns.get_mut(s.into()) {
            *slot = ns.unwrap_or(UNKNOWN);
        }
    }
    /// Adds to a stage.
    pub fn add(&mut self, s: S, ns: Option<i64>) {
        if let (Some(ns), Some(slot)) = (ns, self.ns.get_mut(s.into())) {
            *slot = if *slot == UNKNOWN { ns } else { slot.wrapping_add(ns) };
        }
    }
    /// Sum of the known ones; modulo 2^64, so that parts still sum to the total in a damaged recording.
    pub fn sum(&self) -> i64 {
        let known = self.ns.iter().filter(|ns| **ns != UNKNOWN);
        known.fold(0i64, |sum, ns| sum.wrapping_add(*ns))
    }
}
