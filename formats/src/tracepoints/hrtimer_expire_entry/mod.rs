//! `timer:hrtimer_expire_entry`: A high-resolution timer's callback begins: `__run_hrtimer` (kernel/time/hrtimer.c).
//! Since 2.6.x, fields unchanged. `now` minus the `expires` of the arm is the slip of a paced send.

use crate::tracepoints::tracepoint;

tracepoint! {
    /// A high-resolution timer callback that begins.
    pub struct HrtimerExpireEntry: "timer" "hrtimer_expire_entry" {
        /// Address of the `struct hrtimer`.
        hrtimer: u64,
        /// Time of the event, ns of the timer's clock.
        now: i64,
        /// Address of the callback; every kernel since 2.6.36 has it.
        function: Option<u64>,
    }
}

#[cfg(test)]
mod tests;
