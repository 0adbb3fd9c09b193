//! `timer:hrtimer_expire_exit`: A high-resolution timer's callback returned: `__run_hrtimer` (kernel/time/hrtimer.c).
//! Since 2.6.x, fields unchanged.

use crate::tracepoints::tracepoint;

tracepoint! {
    /// A high-resolution timer callback that ended.
    pub struct HrtimerExpireExit: "timer" "hrtimer_expire_exit" {
        /// Address of the `struct hrtimer`.
        hrtimer: u64,
    }
}

#[cfg(test)]
mod tests;
