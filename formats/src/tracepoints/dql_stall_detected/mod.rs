//! `napi:dql_stall_detected`: Byte queue limits saw a completion that came too late: `dql_check_stall`
//! (lib/dynamic_queue_limits.c). Since 6.9, only with a `stall_thrs` set in sysfs.
//!
//! Traps: it names no device or queue; times are jiffies.

use crate::tracepoints::{Words, tracepoint};

tracepoint! {
    /// A transmit queue whose completions stalled.
    pub struct DqlStallDetected: "napi" "dql_stall_detected" {
        /// Threshold, jiffies.
        thrs: u16,
        /// Length of the stall, jiffies.
        len: u32,
        /// Last completion, jiffies.
        last_reap: u64,
        /// Newest bit of the history, jiffies.
        hist_head: u64,
        /// Time of the event, jiffies.
        now: u64,
        /// History, a bit per jiffy that had a queueing.
        hist: Words<4>,
    }
}

#[cfg(test)]
mod tests;
