//! `timer:timer_expire_entry`: A timer's callback begins: `call_timer_fn` (kernel/time/timer.c). Since 2.6.x;
//! `baseclk` since 5.x.

use crate::tracepoints::tracepoint;

tracepoint! {
    /// A timer callback that begins.
    pub struct TimerExpireEntry: "timer" "timer_expire_entry" {
        /// Address of the `struct timer_list`.
        timer: u64,
        /// Time of the event, jiffies.
        now: u64,
        /// Address of the callback; every kernel since 2.6.36 has it.
        function: Option<u64>,
        /// Clock of the timer base, jiffies; `now - baseclk` is how late the wheel runs.
        baseclk: Option<u64>,
    }
}

#[cfg(test)]
mod tests;
