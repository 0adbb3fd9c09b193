//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::KmemCacheFree;
use crate::tracepoints::testing::{KERNELS, only_on, payload, reads, reads_text, text, without};

const PAYLOAD: &str = "
000010012a000000 common
b0a09081ffffffff call_site
000c0b0a8188ffff ptr
1c001400 name
736b627566665f66636c6f6e655f636163686500 text
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<KmemCacheFree>(&KERNELS);
    let bytes = payload(PAYLOAD);
    let event = KmemCacheFree {
        call_site: 0xffff_ffff_8190_a0b0,
        ptr: 0xffff_8881_0a0b_0c00,
        name: Some(b"skbuff_fclone_cache"),
        payload: PhantomData,
    };
    reads::<KmemCacheFree>(&KERNELS, &bytes, 24, &event);
    // Older kernels.
    let text = text("6.1.192", "kmem", "kmem_cache_free");
    let text = without(&text, "name");
    reads_text::<KmemCacheFree>(&text, &bytes, 24, &KmemCacheFree { name: None, ..event });
}
