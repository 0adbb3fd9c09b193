//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::KfreeSkb;
use crate::tracepoints::testing::{KERNELS, names, only_on, payload, reads, reads_text, text, without};

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
