//! `napi:napi_poll` fires at the END of a NAPI poll (`__napi_poll` in net/core/dev.c, after `->poll()` returned).
//! Since 2.6.x; `work` and `budget` since 4.8. `work` counts received packets only: a poll that only cleaned
//! transmitted ones reports 0. When `work == budget` the GRO flush and list delivery come after this event.

use crate::tracepoints::{Text, tracepoint};

tracepoint! {
    /// A NAPI poll that just ended.
    pub struct NapiPoll: "napi" "napi_poll" {
        /// Address of the `struct napi_struct`: the identity of the instance.
        napi: u64,
        /// Device name; `(no_device)` for the per-CPU backlog.
        dev_name: Text,
        /// Packets received.
        work: Option<i32>,
        /// Most packets it was allowed.
        budget: Option<i32>,
    }
}

#[cfg(test)]
mod tests;
