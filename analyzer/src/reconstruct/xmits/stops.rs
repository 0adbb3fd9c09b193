//! Stops of transmit queues: intervals, their cause, and how much of a packet's wait lies in them.

use super::queues::Queues;
use super::tables::{StopCause, TxqStop};
use crate::confidence::Confidence;

/// `netdev_queue_state_t`: stopped by the driver.
pub(super) const DRV_XOFF: u64 = 1;
/// `netdev_queue_state_t`: stopped by byte queue limits.
pub(super) const STACK_XOFF: u64 = 2;

#[derive(Debug, Clone, Copy)]
struct Stop {
    from: i64,
    to: Option<i64>,
    /// State bits seen in it; 0 when none were: the queue was silent.
    bits: u64,
    cause: StopCause,
    confidence: Confidence,
}

#[derive(Debug, Default)]
struct Queue {
    stops: Vec<Stop>,
    /// Before each stop: ns of stops by cause.
    before: Vec<(i64, i64)>,
    /// Before each stop and after the last: stops whose cause is strong, and those that are less sure.
    doubts: Vec<(u32, u32)>,
    /// Packets that began to wait, less those that ended, at each stop.
    waits: Vec<i64>,
}

/// All stops, by position of the transmit queue.
#[derive(Debug, Default)]
pub(super) struct Stops(Vec<Queue>);

impl Stops {
    /// A stop; `bits` as shown by events, 0 for none.
    pub fn add(&mut self, txq: u32, from: i64, to: Option<i64>, bits: u64) {
        let at = txq as usize;
        if self.0.len() <= at {
            self.0.resize_with(at + 1, Queue::default);
        }
        let Some(q) = self.0.get_mut(at) else { return };
        // Clocks of CPUs may disagree; what overlaps would count twice.
        let from = match q.stops.last() {
            Some(last) => from.max(last.to.unwrap_or(last.from)),
            None => from,
        };
        let cause = if bits & DRV_XOFF != 0 {
            StopCause::Ring
        } else {
            StopCause::Bql
        };
        let confidence = match (bits, to) {
            (_, None) => Confidence::Unknown,
            (0, _) => Confidence::Weak,
            _ => Confidence::Certain,
        };
        q.stops.push(Stop {
            from,
            to: to.map(|t| t.max(from)),
            bits,
            cause,
            confidence,
        });
    }
    /// Silent stops take the cause that others of their queue showed, or that `bql` knows of the queue.
    pub fn resolve(&mut self, bql: impl Fn(u32) -> Option<bool>) {
        for (i, q) in self.0.iter_mut().enumerate() {
            let shown = |bit: u64| q.stops.iter().filter(|s| s.bits & bit != 0).count();
            let (ring, stack) = (shown(DRV_XOFF), shown(STACK_XOFF));
            let (cause, confidence) = match (ring, stack, bql(i as u32)) {
                (0, 0, Some(true)) => (StopCause::Bql, Confidence::Strong),
                (0, 0, Some(false)) => (StopCause::Ring, Confidence::Strong),
                (0, 0, None) => (StopCause::Bql, Confidence::Weak),
                (_, 0, _) => (StopCause::Ring, Confidence::Strong),
                (0, _, _) => (StopCause::Bql, Confidence::Strong),
                (r, s, _) if r > s => (StopCause::Ring, Confidence::Weak),
                _ => (StopCause::Bql, Confidence::Weak),
            };
            let mut sum = (0i64, 0i64);
            for s in &mut q.stops {
                if s.bits == 0 {
                    s.cause = cause;
                    s.confidence = s.confidence.min(confidence).max(match s.to {
                        Some(_) => confidence,
                        None => Confidence::Unknown,
                    });
                }
                q.before.push(sum);
                let ns = s.to.map_or(0, |t| t.wrapping_sub(s.from));
                match s.cause {
                    StopCause::Bql => sum.0 = sum.0.wrapping_add(ns),
                    StopCause::Ring => sum.1 = sum.1.wrapping_add(ns),
                }
            }
            let mut doubts = (0, 0);
            q.doubts = vec![doubts];
            q.doubts.extend(q.stops.iter().map(|s| {
                doubts.0 += u32::from(s.confidence == Confidence::Strong);
                doubts.1 += u32::from(s.confidence < Confidence::Strong);
                doubts
            }));
            q.waits = vec![0; q.stops.len() + 1];
        }
    }
    fn until(q: &Queue, t: i64) -> (i64, i64) {
        let Some(i) = q.stops.partition_point(|s| s.from < t).checked_sub(1) else {
            return (0, 0);
        };
        let (Some(s), Some(&(mut bql, mut ring))) = (q.stops.get(i), q.before.get(i)) else {
            return (0, 0);
        };
        let ns = s.to.map_or(0, |to| to.min(t).wrapping_sub(s.from));
        match s.cause {
            StopCause::Bql => bql = bql.wrapping_add(ns),
            StopCause::Ring => ring = ring.wrapping_add(ns),
        }
        (bql, ring)
    }
    /// ns of (BQL, ring) stops inside an interval.
    pub fn within(&self, txq: u32, from: i64, to: i64) -> (i64, i64) {
        let Some(q) = self.0.get(txq as usize).filter(|q| !q.stops.is_empty() && from < to) else {
            return (0, 0);
        };
        let (a, b) = (Self::until(q, from), Self::until(q, to));
        (b.0.wrapping_sub(a.0), b.1.wrapping_sub(a.1))
    }
    /// Least confidence of the stops inside an interval.
    pub fn confidence(&self, txq: u32, from: i64, to: i64) -> Confidence {
        let Some(q) = self.0.get(txq as usize) else {
            return Confidence::Certain;
        };
        let a = q.stops.partition_point(|s| s.to.is_some_and(|t| t <= from));
        let b = q.stops.partition_point(|s| s.from < to);
        match (q.doubts.get(a), q.doubts.get(b)) {
            (Some(before), Some(by)) if a < b && before.1 < by.1 => Confidence::Weak,
            (Some(before), Some(by)) if a < b && before.0 < by.0 => Confidence::Strong,
            _ => Confidence::Certain,
        }
    }
    /// Counts a packet that waited in an interval.
    pub fn waited(&mut self, txq: u32, from: i64, to: i64) {
        let Some(q) = self.0.get_mut(txq as usize) else { return };
        let a = q.stops.partition_point(|s| s.to.is_some_and(|t| t <= from));
        let b = q.stops.partition_point(|s| s.from < to);
        if a < b {
            for (at, n) in [(a, 1), (b, -1)] {
                if let Some(w) = q.waits.get_mut(at) {
                    *w += n;
                }
            }
        }
    }
    /// The rows.
    pub fn rows(&self, queues: &Queues) -> Vec<TxqStop> {
        let mut out = vec![];
        for (i, q) in self.0.iter().enumerate() {
            let Some(txq) = queues.txq(i as u32) else { continue };
            let mut waiting = 0;
            for (s, w) in q.stops.iter().zip(&q.waits) {
                waiting += w;
                out.push(TxqStop {
                    dev: txq.dev,
                    ifindex: txq.ifindex,
                    txq: txq.addr,
                    queue: txq.queue,
                    from_ns: s.from,
                    to_ns: s.to,
                    cause: s.cause,
                    packets: u32::try_from(waiting).unwrap_or(0),
                    confidence: s.confidence,
                });
            }
        }
        out
    }
}
