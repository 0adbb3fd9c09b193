//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::KmemCacheAlloc;
use crate::tracepoints::testing::{KERNELS, names, only_on, payload, reads, reads_text, text, without};

const ON_6_18: &str = "
000010012a000000 common
b0a09081ffffffff call_site
000c0b0a8188ffff ptr
3d001200 name
eeeeeeee -
e800000000000000 bytes_req
0001000000000000 bytes_alloc
2008000000000000 gfp_flags
ffffffff node
01 accounted
736b627566665f686561645f636163686500 text
";

const ON_6_1_6_12: &str = "
000010012a000000 common
b0a09081ffffffff call_site
000c0b0a8188ffff ptr
e800000000000000 bytes_req
0001000000000000 bytes_alloc
2008000000000000 gfp_flags
ffffffff node
01 accounted
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<KmemCacheAlloc>(&KERNELS);
    let bytes = payload(ON_6_18);
    let event = KmemCacheAlloc {
        call_site: 0xffff_ffff_8190_a0b0,
        ptr: 0xffff_8881_0a0b_0c00,
        name: Some(b"skbuff_head_cache"),
        bytes_req: 232,
        bytes_alloc: 256,
        gfp_flags: 2080,
        node: Some(-1),
        accounted: Some(true),
        payload: PhantomData,
    };
    reads::<KmemCacheAlloc>(&["6.18.44"], &bytes, 56, &event);
    let bytes_1 = payload(ON_6_1_6_12);
    let event_1 = KmemCacheAlloc { name: None, ..event };
    reads::<KmemCacheAlloc>(&["6.1.192", "6.12.117"], &bytes_1, 48, &event_1);
    // Older kernels.
    let text = text("6.1.192", "kmem", "kmem_cache_alloc");
    let text = without(&text, "node");
    let text = without(&text, "accounted");
    reads_text::<KmemCacheAlloc>(
        &text,
        &bytes_1,
        48,
        &KmemCacheAlloc {
            node: None,
            accounted: None,
            ..event_1
        },
    );
}

#[test]
fn names_gfp_flags() {
    names::<KmemCacheAlloc>(
        &["6.1.192"],
        "gfp_flags",
        &[(0xa20, "GFP_ATOMIC"), (0xcc0, "GFP_KERNEL")],
    );
    names::<KmemCacheAlloc>(
        &["6.12.117", "6.18.44"],
        "gfp_flags",
        &[(0x820, "GFP_ATOMIC"), (0xcc0, "GFP_KERNEL")],
    );
}
