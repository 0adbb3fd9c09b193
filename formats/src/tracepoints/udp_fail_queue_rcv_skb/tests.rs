//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::UdpFailQueueRcvSkb;
use crate::tracepoints::testing::{A28, B28, KERNELS, names, only_on, payload, reads};

const ON_6_12_6_18: &str = "
000010012a000000 common
f4ffffff rc
5114 sport
409c dport
0200 family
020014510a0000010000000000000000000000000000000000000000 saddr
02009c400a0000020000000000000000000000000000000000000000 daddr
";

const ON_6_1: &str = "
000010012a000000 common
f4ffffff rc
409c dport
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<UdpFailQueueRcvSkb>(&KERNELS);
    let bytes = payload(ON_6_12_6_18);
    let event = UdpFailQueueRcvSkb {
        rc: -12,
        sport: Some(5201),
        dport: Some(40_000),
        family: Some(2),
        saddr: Some(&A28),
        daddr: Some(&B28),
        payload: PhantomData,
    };
    reads::<UdpFailQueueRcvSkb>(&["6.12.117", "6.18.44"], &bytes, 12, &event);
    let bytes_1 = payload(ON_6_1);
    let event_1 = UdpFailQueueRcvSkb {
        sport: None,
        family: None,
        saddr: None,
        daddr: None,
        ..event
    };
    reads::<UdpFailQueueRcvSkb>(&["6.1.192"], &bytes_1, 12, &event_1);
}

#[test]
fn names_values_as_the_kernel_prints_them() {
    names::<UdpFailQueueRcvSkb>(&["6.12.117", "6.18.44"], "family", &[(2, "AF_INET"), (10, "AF_INET6")]);
}
