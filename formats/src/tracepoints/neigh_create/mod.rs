//! `neigh:neigh_create`: A neighbour entry is made: `___neigh_create` (net/core/neighbour.c). Since 5.3 or so, fields
//! unchanged.
//!
//! Traps: `created` 0 means that the table is full, and the packet cannot be resolved.

use crate::tracepoints::{Raw, Text, tracepoint};

tracepoint! {
    /// A new neighbour entry, or the failure to make one.
    pub struct NeighCreate: "neigh" "neigh_create" {
        /// `AF_INET` 2 or `AF_INET6` 10.
        family: u32,
        /// Device name, `NULL` when it has none.
        dev: Text,
        /// Entries of the table that garbage collection may take.
        entries: i32,
        /// 1 when it was made.
        created: u8,
        /// 1 when garbage collection may not take it.
        gc_exempt: u8,
        /// Neighbour's IPv4 address, 4 bytes.
        primary_key4: Raw,
        /// Neighbour's IPv6 address, 16 bytes; v4-mapped for IPv4.
        primary_key6: Raw,
    }
}

#[cfg(test)]
mod tests;
