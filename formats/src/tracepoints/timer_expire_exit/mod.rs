//! `timer:timer_expire_exit`: A timer's callback returned: `call_timer_fn` (kernel/time/timer.c). Since 2.6.x, fields
//! unchanged. The timer's memory may be gone.

use crate::tracepoints::tracepoint;

tracepoint! {
    /// A timer callback that ended.
    pub struct TimerExpireExit: "timer" "timer_expire_exit" {
        /// Address of the `struct timer_list`.
        timer: u64,
    }
}

#[cfg(test)]
mod tests;
