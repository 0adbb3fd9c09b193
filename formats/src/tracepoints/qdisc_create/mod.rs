//! `qdisc:qdisc_create`: A qdisc was made through netlink: `qdisc_create` (net/sched/sch_api.c). Since 5.8, fields
//! unchanged.
//!
//! Traps: default qdiscs do not pass here.

use crate::tracepoints::{Text, tracepoint};

tracepoint! {
    /// A new qdisc.
    pub struct QdiscCreate: "qdisc" "qdisc_create" {
        /// Device name.
        dev: Text,
        /// Kind of the qdisc (`fq_codel`).
        kind: Text,
        /// Parent's handle.
        parent: u32,
    }
}

#[cfg(test)]
mod tests;
