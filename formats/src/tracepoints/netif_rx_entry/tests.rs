//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::NetifRxEntry;
use crate::tracepoints::testing::{KERNELS, only_on, payload, reading, reads, reads_text, renamed, text};

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

#[test]
fn reads_a_recorded_pure_ack() {
    // Recorded on 6.18.44, which printed:
    // dev=tp_vb napi_id=0x0 queue_mapping=0 skbaddr=ffff888124ab0b00 vlan_tagged=0 vlan_proto=0x0000
    //   vlan_tci=0x0000 protocol=0x86dd ip_summed=3 hash=0x747bf61c l4_hash=1 len=72 data_len=0 truesize=2
    //   mac_header_valid=1 mac_header=-14 nr_frags=0 gso_size=0 gso_type=0x10
    let bytes = payload(
        "
f908a4006d2800004e000600000000000000000000000000000bab248188ffff000000000000dd86030000001cf67b740100000048000000
000000000200000001000000f2ffffff00000000100074705f76620000000000
",
    );
    let event = reading::<NetifRxEntry>("6.18.44", &bytes);
    assert_eq!(event.name, b"tp_vb");
    assert_eq!(event.protocol, 0x86dd);
    assert_eq!(event.hash, 0x747b_f61c);
    assert!(event.l4_hash);
    assert_eq!(event.len, 72);
    assert_eq!(event.truesize, 2);
    assert_eq!(event.mac_header, -14);
    assert_eq!(event.gso_type, 0x10);
}
