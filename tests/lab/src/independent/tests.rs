use std::path::PathBuf;

use super::caches::Caches;
use super::kmem::{Printed, Slab, Slabs, lost, printed, sieve};
use super::tap::{Segment, segment};

/// Lines with the cache's name, and without.
#[test]
fn what_the_kernel_prints_is_read() {
    let free = "          <idle>-0       [001] ..s1. 12984.512952: kmem_cache_free: call_site=skb_free+0x1/0x2 ptr=0xffff8881729ff2e0 name=skbuff_head_cache";
    let expected = Printed {
        us: 12_984_512_952,
        alloc: false,
        address: 0xffff_8881_729f_f2e0,
        site: "skb_free",
        name: Some("skbuff_head_cache"),
        bytes: 0,
    };
    assert_eq!(printed(free), Some(expected));
    let alloc = "  a b-7  [000] ..... 1.000001: kmem_cache_alloc: call_site=__alloc_skb+0x1 ptr=00000000deadbeef bytes_req=512 bytes_alloc=512";
    let expected = Printed {
        us: 1_000_001,
        alloc: true,
        address: 0xdead_beef,
        site: "__alloc_skb",
        name: None,
        bytes: 512,
    };
    assert_eq!(printed(alloc), Some(expected));
    assert_eq!(printed("# tracer: nop"), None);
    let head = "# tracer: nop\n#\n# entries-in-buffer/entries-written: 7/9   #P:2\n";
    assert_eq!((lost(head), lost("# tracer: nop\n")), (Some(2), None));
}

/// A folder like /sys/kernel/slab of 6.18, where two more caches share the pairs' one.
fn slab() -> PathBuf {
    let slab = std::env::temp_dir().join(format!("netmortem-lab-slab-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&slab);
    for (folder, size) in [
        ("skbuff_head_cache", "224\n"),
        (":0000512", "512\n"),
        (":0000256", "256\n"),
    ] {
        std::fs::create_dir_all(slab.join(folder)).unwrap();
        std::fs::write(slab.join(folder).join("object_size"), size).unwrap();
    }
    for (name, to) in [
        ("pool_workqueue", ":0000512"),
        ("sgpool-16", ":0000512"),
        ("skbuff_fclone_cache", ":0000512"),
        ("key_jar", ":0000256"),
    ] {
        std::os::unix::fs::symlink(to, slab.join(name)).unwrap();
    }
    slab
}

/// The names of one merged cache are one; of it, what an sk_buff's function allocated counts, to its free.
#[test]
fn a_merged_cache_tells_sk_buffs_by_their_caller() {
    let folder = slab();
    let caches = Caches::read(&folder).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(
        caches.pair.names,
        ["pool_workqueue", "sgpool-16", "skbuff_fclone_cache"]
    );
    assert_eq!((caches.pair.shared, caches.pair.bytes), (true, 512));
    assert_eq!(caches.single.names, ["skbuff_head_cache"]);
    assert_eq!((caches.single.shared, caches.single.bytes), (false, 224));
    let filter = r#"name == "skbuff_head_cache" || name == "pool_workqueue" || name == "sgpool-16" || name == "skbuff_fclone_cache""#;
    assert_eq!(caches.by_name(), filter);
    let line = |us, what: &str, site: &str, ptr: &str, name: &str| {
        format!(
            "  a-7 [000] ..... 0.00000{us}: kmem_cache_{what}: call_site={site}+0x1/0x2 ptr=0x{ptr} name={name} bytes_req=512"
        )
    };
    let lines = [
        // Free of an object whose allocation was not seen: whose was it? And of a cache of its own.
        line(0, "free", "tcp_ack", "c00", "pool_workqueue"),
        line(0, "free", "tcp_v4_rcv", "d00", "skbuff_head_cache"),
        line(1, "alloc", "__alloc_skb", "a00", "pool_workqueue"),
        line(2, "alloc", "mempool_alloc_noprof", "b00", "pool_workqueue"),
        line(3, "free", "__sg_free_table", "b00", "pool_workqueue"),
        line(4, "free", "tcp_ack", "a00", "pool_workqueue"),
        line(5, "alloc", "mempool_alloc_noprof", "a00", "pool_workqueue"),
        line(6, "free", "__sg_free_table", "a00", "pool_workqueue"),
        line(7, "alloc", "skb_clone", "d00", "skbuff_head_cache"),
    ];
    let event = |us, alloc, address, pair| Slab {
        us,
        alloc,
        address,
        pair,
    };
    let expected = [
        event(0, false, 0xd00, false),
        event(1, true, 0xa00, true),
        event(4, false, 0xa00, true),
        event(7, true, 0xd00, false),
    ];
    assert_eq!(sieve(&caches, lines.iter().filter_map(|l| printed(l))), expected);
    // Without a name the size and the caller tell.
    let bare = |site: &str, bytes| caches.allocated(None, site, bytes);
    assert_eq!(
        (bare("__alloc_skb", 512), bare("__alloc_skb", 224)),
        (Some(true), Some(false))
    );
    assert_eq!((bare("mempool_alloc", 512), bare("__alloc_skb", 64)), (None, None));
    // And back from the file.
    let slabs = Slabs {
        sk_buff: 224,
        events: expected.to_vec(),
    };
    assert_eq!(Slabs::of(&slabs.text()), slabs);
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
