//! `sock:sk_data_ready`: A socket tells its owner that data are there: `sock_def_readable` (net/core/sock.c) and other
//! callbacks. Since 6.3, fields unchanged.
//!
//! Traps: the printed line omits `skaddr`, the record has it. TCP holds the call back below SO_RCVLOWAT. Nobody need
//! be asleep.

use crate::tracepoints::tracepoint;

tracepoint! {
    /// A socket that has data.
    pub struct SkDataReady: "sock" "sk_data_ready" {
        /// Address of the `struct sock`.
        skaddr: u64,
        /// Address family.
        family: u16,
        /// `IPPROTO_*`, or the family's own number.
        protocol: u16,
        /// Address of the callback's code.
        ip: u64,
    }
}

#[cfg(test)]
mod tests;
