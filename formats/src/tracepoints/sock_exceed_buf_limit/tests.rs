//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::SockExceedBufLimit;
use crate::tracepoints::testing::{KERNELS, names, only_on, payload, reads, reads_text, written};

const PAYLOAD: &str = "
000010012a000000 common
54435000eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee name
60de0200000000002bd3030000000000c0bc050000000000 sysctl_mem
4d00000000000000 allocated
00100000 sysctl_rmem
00400300 rmem_alloc
01100000 sysctl_wmem
00200000 wmem_alloc
00400000 wmem_queued
01000000 kind
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<SockExceedBufLimit>(&KERNELS);
    let bytes = payload(PAYLOAD);
    let event = SockExceedBufLimit {
        name: b"TCP",
        sysctl_mem: Some([188_000, 250_667, 376_000]),
        allocated: 77,
        sysctl_rmem: 4096,
        rmem_alloc: 212_992,
        sysctl_wmem: Some(4097),
        wmem_alloc: Some(8192),
        wmem_queued: Some(16_384),
        kind: Some(1),
        payload: PhantomData,
    };
    reads::<SockExceedBufLimit>(&KERNELS, &bytes, 80, &event);
}

#[test]
fn names_values_as_the_kernel_prints_them() {
    names::<SockExceedBufLimit>(&KERNELS, "kind", &[(0, "SK_MEM_SEND"), (1, "SK_MEM_RECV")]);
}

#[test]
fn reads_the_layout_of_3_10() {
    let fields = [
        "char name[32] 8 32 1",
        "long * sysctl_mem 40 8 0",
        "long allocated 48 8 1",
        "int sysctl_rmem 56 4 1",
        "int rmem_alloc 60 4 1",
    ];
    let mut bytes = payload("000010012a000000");
    bytes.extend([b"TCP\0".as_slice(), &[0xee; 28], &[0xff; 8], &77u64.to_le_bytes()].concat());
    bytes.extend([4096u32.to_le_bytes(), 212_992u32.to_le_bytes()].concat());
    let event = SockExceedBufLimit {
        name: b"TCP",
        sysctl_mem: None,
        allocated: 77,
        sysctl_rmem: 4096,
        rmem_alloc: 212_992,
        sysctl_wmem: None,
        wmem_alloc: None,
        wmem_queued: None,
        kind: None,
        payload: PhantomData,
    };
    reads_text::<SockExceedBufLimit>(&written("sock_exceed_buf_limit", &fields), &bytes, 64, &event);
}
