//! `timer:hrtimer_start`: A high-resolution timer is armed: `enqueue_hrtimer` (kernel/time/hrtimer.c). Since 2.6.x;
//! `mode` since 4.16, `was_armed` later (6.1.192 and 6.12.117 have it). TCP pacing is `tcp_pace_kick`, a shaping qdisc
//! `qdisc_watchdog`; their address minus a constant names the socket or the qdisc.
//!
//! Traps: `expires` is in the timer's own clock (CLOCK_MONOTONIC for those), not in that of the trace. The text's
//! table of `mode` has no numbers.

use crate::tracepoints::tracepoint;

tracepoint! {
    /// A high-resolution timer that is armed.
    pub struct HrtimerStart: "timer" "hrtimer_start" {
        /// Address of the `struct hrtimer`.
        hrtimer: u64,
        /// Address of the callback.
        function: u64,
        /// Latest expiry, ns of its clock.
        expires: i64,
        /// Earliest expiry, ns of its clock.
        softexpires: i64,
        /// `enum hrtimer_mode`.
        mode: Option<u32>,
        /// It was queued already.
        was_armed: Option<bool>,
    }
}

#[cfg(test)]
mod tests;
