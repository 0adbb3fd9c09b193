//! How far the clocks of the CPUs can be apart, from pairs of events of which one caused the other.
//!
//! In: a waking and the woken thread's switch-in, `netif_rx` and `netif_receive_skb` of one packet, `net_dev_start_xmit` and
//! the free of one packet, each pair on two CPUs. Out: rows of `clock_skew`. Nothing is corrected: no timestamp is moved
//! and no interval is clamped.
//!
//! ```text
//! cause at t_a on CPU a, effect at t_b on CPU b, b ahead of a by s:   t_b - t_a = latency + s >= s
//!   s <= min(t_b - t_a) over all a->b        s >= -min(t_a - t_b) over all b->a
//! and over third CPUs: shortest paths (difference constraints, Bellman-Ford).
//! residual: the largest latency seen below 0, as printed. It is the error bar of every interval between two CPUs.
//! ```
//! A packet's pair is taken in the order of the recording, so it bounds but is never negative. A thread's is not: between two
//! of its sleeps there is one waking and one first switch-in, whatever order their clocks give them.
//! Source: RECONSTRUCTION 3h; Cormen et al., Introduction to Algorithms, difference constraints.

mod bound;
mod pairs;
pub mod tables;
#[cfg(test)]
mod tests;

use netmortem_formats::Capture;

pub use pairs::walk;
pub use tables::{ClockError, SkewRow};

use crate::ingest::{Options, Trace};
use crate::reconstruct::dispatch::{Walk, together};

/// Reads a capture for this question alone.
pub fn of_capture(capture: &Capture, options: &Options<'_>) -> ClockError {
    let trace = Trace::read(capture, options);
    let mut pairs = walk(&trace);
    together(&trace, trace.payloads(), &mut [&mut pairs]);
    ClockError::of(&pairs.finish())
}
