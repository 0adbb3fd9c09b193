//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::KfreeSkb;
use crate::tracepoints::testing::{KERNELS, names, only_on, payload, reading, reads, reads_text, text, without};

const ON_6_12_6_18: &str = "
000010012a000000 common
000c0b0a8188ffff skbaddr
c4b3a281ffffffff location
000605048188ffff rx_sk
0008 protocol
eeee -
06000000 reason
";

const ON_6_1: &str = "
000010012a000000 common
000c0b0a8188ffff skbaddr
c4b3a281ffffffff location
0008 protocol
eeee -
06000000 reason
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<KfreeSkb>(&KERNELS);
    let bytes = payload(ON_6_12_6_18);
    let event = KfreeSkb {
        skbaddr: 0xffff_8881_0a0b_0c00,
        location: 0xffff_ffff_81a2_b3c4,
        rx_sk: Some(0xffff_8881_0405_0600),
        protocol: 0x0800,
        reason: Some(6),
        payload: PhantomData,
    };
    reads::<KfreeSkb>(&["6.12.117", "6.18.44"], &bytes, 34, &event);
    let bytes_1 = payload(ON_6_1);
    let event_1 = KfreeSkb { rx_sk: None, ..event };
    reads::<KfreeSkb>(&["6.1.192"], &bytes_1, 26, &event_1);
    // Older kernels.
    let text = text("6.1.192", "skb", "kfree_skb");
    let text = without(&text, "reason");
    reads_text::<KfreeSkb>(
        &text,
        &bytes_1,
        26,
        &KfreeSkb {
            reason: None,
            ..event_1
        },
    );
}

#[test]
fn names_values_as_the_kernel_prints_them() {
    names::<KfreeSkb>(
        &["6.1.192"],
        "reason",
        &[(1, "NOT_SPECIFIED"), (34, "TCP_ACK_UNSENT_DATA"), (66, "MAX")],
    );
    names::<KfreeSkb>(
        &["6.12.117"],
        "reason",
        &[(2, "NOT_SPECIFIED"), (53, "NEIGH_QUEUEFULL"), (104, "MAX")],
    );
    names::<KfreeSkb>(
        &["6.18.44"],
        "reason",
        &[(2, "NOT_SPECIFIED"), (65, "QDISC_OVERLIMIT"), (128, "MAX")],
    );
}

#[test]
fn reads_a_recorded_drop_of_a_qdisc() {
    // Recorded on 6.12.117, which printed:
    // skbaddr=ff33490cfff2d300 rx_sk=0000000000000000 protocol=2048 location=__dev_queue_xmit+0x7d4/0xf50
    //   reason: QDISC_DROP
    let bytes = payload("ef0580002c01000000d3f2ff0c4933fff45d62a4ffffffff00000000000000000008000039000000");
    let event = reading::<KfreeSkb>("6.12.117", &bytes);
    assert_eq!(event.skbaddr, 0xff33_490c_fff2_d300);
    assert_eq!(event.rx_sk, Some(0));
    assert_eq!(event.protocol, 2048);
    assert_eq!(event.location, 0xffff_ffff_a462_5df4);
    names::<KfreeSkb>(&["6.12.117"], "reason", &[(event.reason.unwrap().into(), "QDISC_DROP")]);
}

#[test]
fn reads_a_recorded_drop_of_a_socket() {
    // Recorded on 6.18.44, which printed:
    // skbaddr=ffff888109af9b00 rx_sk=ffff88810a0d2700 protocol=34525 location=tcp_v6_do_rcv+0x3e9/0x4e0 reason:
    //   TCP_FLAGS
    let bytes = payload("0609100044280000009baf098188ffff29bc1182ffffffff00270d0a8188ffffdd8600001e000000");
    let event = reading::<KfreeSkb>("6.18.44", &bytes);
    assert_eq!(event.rx_sk, Some(0xffff_8881_0a0d_2700));
    assert_eq!(event.protocol, 34_525);
    names::<KfreeSkb>(&["6.18.44"], "reason", &[(event.reason.unwrap().into(), "TCP_FLAGS")]);
}
