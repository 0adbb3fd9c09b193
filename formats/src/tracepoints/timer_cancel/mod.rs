//! `timer:timer_cancel`: A timer of the wheel leaves its queue: `detach_timer` (kernel/time/timer.c). Since 2.6.x,
//! fields unchanged.
//!
//! Traps: also fires when a timer expires or is re-armed.

use crate::tracepoints::tracepoint;

tracepoint! {
    /// A timer taken from its queue.
    pub struct TimerCancel: "timer" "timer_cancel" {
        /// Address of the `struct timer_list`.
        timer: u64,
    }
}

#[cfg(test)]
mod tests;
