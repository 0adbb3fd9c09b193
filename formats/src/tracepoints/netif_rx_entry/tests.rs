//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::NetifRxEntry;
use crate::tracepoints::testing::{KERNELS, only_on, payload, reads, reads_text, renamed, text};

const PAYLOAD: &str = "
000010012a000000 common
4e000700 name
01200000 napi_id
0300 queue_mapping
eeeeeeeeeeee -
000c0b0a8188ffff skbaddr
01 vlan_tagged
ee -
0081 vlan_proto
6420 vlan_tci
0008 protocol
03 ip_summed
eeeeee -
efbeadde hash
01 l4_hash
eeeeee -
ea050000 len
a8050000 data_len
00090000 truesize
01 mac_header_valid
eeeeee -
f2ffffff mac_header
02 nr_frags
ee -
a805 gso_size
1100 gso_type
766574682d6100 text
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<NetifRxEntry>(&KERNELS);
    let bytes = payload(PAYLOAD);
    let event = NetifRxEntry {
        name: b"veth-a",
        napi_id: 8193,
        queue_mapping: 3,
        skbaddr: 0xffff_8881_0a0b_0c00,
        vlan_tagged: true,
        vlan_proto: 0x8100,
        vlan_tci: 8292,
        protocol: 0x0800,
        ip_summed: 3,
        hash: 0xdeadbeef,
        l4_hash: true,
        len: 1514,
        data_len: 1448,
        truesize: 2304,
        mac_header_valid: true,
        mac_header: -14,
        nr_frags: 2,
        gso_size: 1448,
        gso_type: 17,
        payload: PhantomData,
    };
    reads::<NetifRxEntry>(&KERNELS, &bytes, 85, &event);
    // Older kernels.
    let text = text("6.1.192", "net", "netif_rx_entry");
    let text = renamed(&text, "hash", "rxhash");
    let text = renamed(&text, "l4_hash", "l4_rxhash");
    reads_text::<NetifRxEntry>(&text, &bytes, 85, &event);
}
