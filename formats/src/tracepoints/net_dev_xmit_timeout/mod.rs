//! `net:net_dev_xmit_timeout`: The watchdog found a transmit queue stopped for too long: `dev_watchdog`
//! (net/sched/sch_generic.c). Since about 5.3, fields unchanged. The stall began `watchdog_timeo` (often 5 s) or more
//! before the event.

use crate::tracepoints::{Text, tracepoint};

tracepoint! {
    /// A transmit queue that timed out.
    pub struct NetDevXmitTimeout: "net" "net_dev_xmit_timeout" {
        /// Device name; the same name may exist in other network namespaces.
        name: Text,
        /// Driver name.
        driver: Text,
        /// Transmit queue.
        queue_index: i32,
    }
}

#[cfg(test)]
mod tests;
