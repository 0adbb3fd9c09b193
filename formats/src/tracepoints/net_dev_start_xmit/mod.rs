//! `net:net_dev_start_xmit`: A packet is about to be given to the driver: `xmit_one` (net/core/dev.c), before
//! `ndo_start_xmit`, after the qdisc, software GSO and the packet taps. Since 3.14, fields unchanged. This is the
//! hand-off to anchor on: the skb is still ours here.
//!
//! Traps: `gso_type` is cut to 16 bits. After a driver's BUSY the same skb starts again.

use crate::tracepoints::{Text, tracepoint};

tracepoint! {
    /// A packet on its way into the driver.
    pub struct NetDevStartXmit: "net" "net_dev_start_xmit" {
        /// Device name; the same name may exist in other network namespaces.
        name: Text,
        /// Transmit queue.
        queue_mapping: u16,
        /// Address of the `struct sk_buff`.
        skbaddr: u64,
        /// A VLAN tag stands beside the data.
        vlan_tagged: bool,
        /// Ethertype of that tag, host order.
        vlan_proto: u16,
        /// Tag control information.
        vlan_tci: u16,
        /// Ethertype, host order.
        protocol: u16,
        /// `CHECKSUM_NONE` 0, `UNNECESSARY` 1, `COMPLETE` 2, `PARTIAL` 3.
        ip_summed: u8,
        /// Bytes with the link-layer header.
        len: u32,
        /// Bytes of them outside the linear part.
        data_len: u32,
        /// Offset of the network header from `data`, bytes.
        network_offset: i32,
        /// `transport_offset` has a meaning.
        transport_offset_valid: bool,
        /// Offset of the transport header from `data`, bytes.
        transport_offset: i32,
        /// `SKBTX_*` bits.
        tx_flags: u8,
        /// Payload of each segment, bytes; 0 when not segmented.
        gso_size: u16,
        /// Segments.
        gso_segs: u16,
        /// `SKB_GSO_*` bits, cut to 16.
        gso_type: u16,
    }
}

#[cfg(test)]
mod tests;
