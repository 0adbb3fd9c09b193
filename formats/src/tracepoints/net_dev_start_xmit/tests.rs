//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::NetDevStartXmit;
use crate::tracepoints::testing::{KERNELS, only_on, payload, reading, reads};

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

#[test]
fn reads_a_recorded_syn() {
    // Recorded on 6.12.117, which printed:
    // dev=tp_va queue_mapping=0 skbaddr=ff33490c81a3d8e8 vlan_tagged=0 vlan_proto=0x0000 vlan_tci=0x0000
    //   protocol=0x0800 ip_summed=3 len=74 data_len=0 network_offset=14 transport_offset_valid=1
    //   transport_offset=34 tx_flags=0 gso_size=0 gso_segs=1 gso_type=0x1
    let bytes = payload(
        "
ec0590012c0100004000060000000000e8d8a3810c4933ff0000000000000008030000004a000000000000000e0000000100000022000000
000000000100010074705f7661000000
",
    );
    let event = reading::<NetDevStartXmit>("6.12.117", &bytes);
    assert_eq!(event.name, b"tp_va");
    assert_eq!(event.skbaddr, 0xff33_490c_81a3_d8e8);
    assert_eq!(event.protocol, 0x0800);
    assert_eq!(event.ip_summed, 3);
    assert_eq!(event.len, 74);
    assert_eq!(event.network_offset, 14);
    assert!(event.transport_offset_valid);
    assert_eq!(event.transport_offset, 34);
    assert_eq!(event.gso_segs, 1);
    assert_eq!(event.gso_type, 1);
}
