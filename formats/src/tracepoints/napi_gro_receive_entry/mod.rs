//! `net:napi_gro_receive_entry`: A driver gives a packet to GRO: `napi_gro_receive` / `gro_receive_skb`
//! (net/core/gro.c, before 5.17 net/core/dev.c). Since 3.14; `hash`/`l4_hash` were `rxhash`/`l4_rxhash` before 3.15.
//! On most NICs the first sight of a packet: a birth of the address.
//!
//! Traps: the delivery of an earlier packet may run before the matching exit, so entry to exit is not the cost of GRO.

use crate::tracepoints::{Text, tracepoint};

tracepoint! {
    /// A packet given to GRO.
    pub struct NapiGroReceiveEntry: "net" "napi_gro_receive_entry" {
        /// Device name; the same name may exist in other network namespaces.
        name: Text,
        /// NAPI instance that received it; 0 when none.
        napi_id: u32,
        /// Receive queue + 1, or 0; as in `skb->queue_mapping`.
        queue_mapping: u16,
        /// Address of the `struct sk_buff`.
        skbaddr: u64,
        /// A VLAN tag stands beside the data (hardware accelerated).
        vlan_tagged: bool,
        /// Ethertype of that tag, host order.
        vlan_proto: u16,
        /// Tag control information.
        vlan_tci: u16,
        /// Ethertype, host order.
        protocol: u16,
        /// `CHECKSUM_NONE` 0, `UNNECESSARY` 1, `COMPLETE` 2, `PARTIAL` 3.
        ip_summed: u8,
        /// Flow hash, 0 when not computed. `rxhash` before 3.15.
        hash: u32 | "rxhash",
        /// The hash covers ports. `l4_rxhash` before 3.15.
        l4_hash: bool | "l4_rxhash",
        /// Bytes without the link-layer header.
        len: u32,
        /// Bytes of them outside the linear part.
        data_len: u32,
        /// Memory charged, bytes; 2 marks a pure ACK that this host sent to itself.
        truesize: u32,
        /// `mac_header` has a meaning.
        mac_header_valid: bool,
        /// Offset of the link-layer header from `data`, bytes; negative.
        mac_header: i32,
        /// Page fragments.
        nr_frags: u8,
        /// Payload of each segment, bytes; 0 when not segmented.
        gso_size: u16,
        /// `SKB_GSO_*` bits, cut to 16.
        gso_type: u16,
    }
}

#[cfg(test)]
mod tests;
