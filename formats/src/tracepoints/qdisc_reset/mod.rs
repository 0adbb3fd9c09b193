//! `qdisc:qdisc_reset`: A qdisc throws away its packets: `qdisc_reset` (net/sched/sch_generic.c). Since 5.8, fields
//! unchanged.

use crate::tracepoints::{Text, tracepoint};

tracepoint! {
    /// A qdisc that is emptied.
    pub struct QdiscReset: "qdisc" "qdisc_reset" {
        /// Device name.
        dev: Text,
        /// Kind of the qdisc (`fq_codel`).
        kind: Text,
        /// Parent's handle.
        parent: u32,
        /// Own handle, major in the upper 16 bits.
        handle: u32,
    }
}

#[cfg(test)]
mod tests;
