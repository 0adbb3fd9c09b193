//! `neigh:neigh_event_send_done`: A packet asked for an unresolved neighbour: `__neigh_event_send`
//! (net/core/neighbour.c). Since 5.1 or 5.2, fields unchanged. With an incomplete state the packet is parked in the
//! entry's queue until the answer.

use crate::tracepoints::{Raw, Text, tracepoint};

tracepoint! {
    /// A packet that asked for its neighbour.
    pub struct NeighEventSendDone: "neigh" "neigh_event_send_done" {
        /// `AF_INET` 2 or `AF_INET6` 10.
        family: u32,
        /// Device name, `NULL` when it has none.
        dev: Text,
        /// Link-layer address, 32 bytes of which `lladdr_len` count.
        lladdr: Raw,
        /// Bytes of `lladdr`.
        lladdr_len: u8,
        /// `NTF_*` bits.
        flags: u8,
        /// `NUD_*` state; names in the format's table.
        nud_state: u8,
        /// Kind of the address (`RTN_*`).
        r#type: u8 | "type",
        /// 1 when the entry is unlinked already.
        dead: u8,
        /// References.
        refcnt: i32,
        /// Neighbour's IPv4 address, 4 bytes.
        primary_key4: Raw,
        /// Neighbour's IPv6 address, 16 bytes; v4-mapped for IPv4.
        primary_key6: Raw,
        /// Last confirmation, jiffies.
        confirmed: u64,
        /// Last change of state, jiffies.
        updated: u64,
        /// Last use, jiffies.
        used: u64,
        /// Result of the operation, 0 or a negative errno as unsigned.
        err: u32,
    }
}

#[cfg(test)]
mod tests;
