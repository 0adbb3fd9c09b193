//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::SoftirqRaise;
use crate::tracepoints::testing::{KERNELS, names, only_on, payload, reads};

const PAYLOAD: &str = "
000010012a000000 common
03000000 vec
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<SoftirqRaise>(&KERNELS);
    let bytes = payload(PAYLOAD);
    let event = SoftirqRaise {
        vec: 3,
        payload: PhantomData,
    };
    reads::<SoftirqRaise>(&KERNELS, &bytes, 12, &event);
}

#[test]
fn names_values_as_the_kernel_prints_them() {
    names::<SoftirqRaise>(&KERNELS, "vec", &[(0, "HI"), (5, "IRQ_POLL"), (9, "RCU")]);
}
