//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::NetDevStartXmit;
use crate::tracepoints::testing::{KERNELS, only_on, payload, reads};

const PAYLOAD: &str = "
000010012a000000 common
40000700 name
0300 queue_mapping
eeee -
000c0b0a8188ffff skbaddr
01 vlan_tagged
ee -
0081 vlan_proto
6420 vlan_tci
0008 protocol
03 ip_summed
eeeeee -
ea050000 len
a8050000 data_len
0e000000 network_offset
00 transport_offset_valid
eeeeee -
22000000 transport_offset
40 tx_flags
ee -
a805 gso_size
0400 gso_segs
1100 gso_type
766574682d6100 text
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<NetDevStartXmit>(&KERNELS);
    let bytes = payload(PAYLOAD);
    let event = NetDevStartXmit {
        name: b"veth-a",
        queue_mapping: 3,
        skbaddr: 0xffff_8881_0a0b_0c00,
        vlan_tagged: true,
        vlan_proto: 0x8100,
        vlan_tci: 8292,
        protocol: 0x0800,
        ip_summed: 3,
        len: 1514,
        data_len: 1448,
        network_offset: 14,
        transport_offset_valid: false,
        transport_offset: 34,
        tx_flags: 64,
        gso_size: 1448,
        gso_segs: 4,
        gso_type: 17,
        payload: PhantomData,
    };
    reads::<NetDevStartXmit>(&KERNELS, &bytes, 71, &event);
}
