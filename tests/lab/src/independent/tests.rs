use super::kmem::{Slab, printed};
use super::tap::{Segment, segment};

/// Lines of a 6.18 and of a 6.1 kernel.
#[test]
fn what_the_kernel_prints_is_read() {
    let free = "          <idle>-0       [001] ..s1. 12984.512952: kmem_cache_free: call_site=skb_free+0x1/0x2 ptr=0xffff8881729ff2e0 name=skbuff_head_cache";
    let expected = Slab {
        us: 12_984_512_952,
        alloc: false,
        address: 0xffff_8881_729f_f2e0,
    };
    assert_eq!(printed(free), Some(expected));
    let alloc = "  a b-7  [000] ..... 1.000001: kmem_cache_alloc: call_site=__alloc_skb+0x1 ptr=00000000deadbeef name=skbuff_fclone_cache bytes_req=512";
    let expected = Slab {
        us: 1_000_001,
        alloc: true,
        address: 0xdead_beef,
    };
    assert_eq!(printed(alloc), Some(expected));
    assert_eq!(printed("# tracer: nop"), None);
}

#[test]
fn a_segment_is_read_from_its_frame() {
    let mut frame = vec![0u8; 14 + 20 + 32 + 5];
    frame[12..14].copy_from_slice(&[8, 0]);
    frame[14] = 0x45;
    frame[16..18].copy_from_slice(&57u16.to_be_bytes());
    frame[23] = 6;
    frame[34..36].copy_from_slice(&40_000u16.to_be_bytes());
    frame[36..38].copy_from_slice(&7_000u16.to_be_bytes());
    frame[38..42].copy_from_slice(&0xfeed_f00d_u32.to_be_bytes());
    frame[46] = 8 << 4;
    let expected = Segment {
        outgoing: true,
        sport: 40_000,
        dport: 7_000,
        seq: 0xfeed_f00d,
        bytes: 5,
    };
    assert_eq!(segment(&frame, true), Some(expected));
    // Without payload, of another protocol, cut.
    frame[17] = 52;
    assert_eq!(segment(&frame, true), None);
    frame[17] = 57;
    frame[23] = 17;
    assert_eq!(segment(&frame, true), None);
    assert_eq!(segment(&frame[..20], true), None);
}
