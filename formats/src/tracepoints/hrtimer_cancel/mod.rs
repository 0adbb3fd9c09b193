//! `timer:hrtimer_cancel`: A high-resolution timer is stopped before its expiry: `hrtimer_try_to_cancel` and re-arming
//! (kernel/time/hrtimer.c). Since 2.6.x.

use crate::tracepoints::tracepoint;

tracepoint! {
    /// A high-resolution timer that is stopped.
    pub struct HrtimerCancel: "timer" "hrtimer_cancel" {
        /// Address of the `struct hrtimer`.
        hrtimer: u64,
    }
}

#[cfg(test)]
mod tests;
