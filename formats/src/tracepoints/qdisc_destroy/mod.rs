//! `qdisc:qdisc_destroy`: A qdisc ends: `qdisc_destroy` (net/sched/sch_generic.c). Since 5.8, fields unchanged.

use crate::tracepoints::{Text, tracepoint};

tracepoint! {
    /// A qdisc that ends.
    pub struct QdiscDestroy: "qdisc" "qdisc_destroy" {
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
