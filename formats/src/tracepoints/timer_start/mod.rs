//! `timer:timer_start`: A timer of the wheel is armed: `enqueue_timer` (kernel/time/timer.c). Since 2.6.x; `flags` by
//! 6.1, `bucket_expiry` by 6.12 (not in 6.1). Timer address minus `skaddr` is a constant per kernel and timer, so a
//! TCP timer names its socket.
//!
//! Traps: times are jiffies; a wheel timer may fire later than `expires`. TCP re-arms lazily: judge at expiry.

use crate::tracepoints::tracepoint;

tracepoint! {
    /// A timer that is armed.
    pub struct TimerStart: "timer" "timer_start" {
        /// Address of the `struct timer_list`.
        timer: u64,
        /// Address of the callback.
        function: u64,
        /// Requested expiry, jiffies.
        expires: u64,
        /// Expiry of its bucket in the wheel, jiffies.
        bucket_expiry: Option<u64>,
        /// Time of the event, jiffies.
        now: u64,
        /// CPU, bucket index and `TIMER_*` bits.
        flags: Option<u32>,
    }
}

#[cfg(test)]
mod tests;
