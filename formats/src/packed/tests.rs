//! What comes back of what was packed, cut, damaged, or made to be too large.

use std::io::Write;

use super::*;

/// Nothing that repeats: no packing makes it much smaller.
fn noise(n: usize) -> Vec<u8> {
    let mut x = 1u64;
    let next = || {
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (x >> 56) as u8
    };
    std::iter::repeat_with(next).take(n).collect()
}

fn gzip(of: &[u8]) -> Vec<u8> {
    let mut e = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
    e.write_all(of).unwrap();
    e.finish().unwrap()
}

/// As the programs do it: with a checksum.
fn both(of: &[u8]) -> [Vec<u8>; 2] {
    let mut e = zstd::Encoder::new(vec![], 3).unwrap();
    e.include_checksum(true).unwrap();
    e.write_all(of).unwrap();
    [e.finish().unwrap(), gzip(of)]
}

#[test]
fn what_was_packed_comes_back_also_from_parts_put_together() {
    let plain = noise(300_000);
    for packed in both(&plain) {
        let back = unpack(&packed, MOST).unwrap().unwrap();
        assert!(back.bytes == plain && back.error.is_none());
        assert_eq!(unpacked_bytes(&packed, MOST).unwrap().unwrap(), 300_000);
        assert_eq!(beginning(&packed[..], 600), plain[..600]);
        let twice = unpack(&[packed.clone(), packed].concat(), MOST).unwrap().unwrap();
        assert!(twice.bytes == [plain.clone(), plain.clone()].concat() && twice.error.is_none());
    }
    assert_eq!(beginning(&plain[..], 4), plain[..4]);
    assert!(unpack(&plain, MOST).is_none() && unpack(b"", MOST).is_none());
    assert!(unpack(b"\xfd7zXZ\0rest", MOST).is_none());
}

/// What `gzip` and `zstd` unpack, too: zeros that fill up a block, and frames that are skipped.
#[test]
fn what_is_no_part_of_it_is_no_damage() {
    let plain = noise(300_000);
    let [zstd, gzip] = both(&plain);
    let skipped = [&b"\x5a\x2a\x4d\x18\x05\0\0\0sizes"[..]].concat();
    let zeros = vec![0; 10_240];
    for (packed, times) in [
        ([skipped.clone(), zstd.clone()].concat(), 1),
        (
            [skipped.clone(), zstd.clone(), skipped.clone(), zstd, skipped].concat(),
            2,
        ),
        ([gzip.clone(), zeros.clone()].concat(), 1),
        ([gzip.clone(), zeros.clone(), gzip.clone(), zeros.clone()].concat(), 2),
    ] {
        let back = unpack(&packed, MOST).unwrap().unwrap();
        assert!(
            back.bytes == plain.repeat(times) && back.error.is_none(),
            "{:?}",
            back.error
        );
        assert_eq!(beginning(&packed[..], 600), plain[..600]);
    }
    // Zeros and then anything else are no padding; nor is a trailer that lacks its last bytes.
    let more = [gzip.clone(), zeros.clone(), b"more".to_vec()].concat();
    let cut = gzip[..gzip.len() - 3].to_vec();
    for damaged in [more, [cut, b"more".to_vec()].concat()] {
        let back = unpack(&damaged, MOST).unwrap().unwrap();
        assert!(back.bytes == plain && back.error.is_some());
    }
}

/// `zstd --long=31`: the frame says that what it refers to may lie 2 GiB back.
#[test]
fn a_large_window_is_read_where_memory_allows_and_else_told() {
    let plain = noise(300_000);
    let long = |log: u32| {
        let mut e = zstd::Encoder::new(vec![], 3).unwrap();
        e.window_log(log).unwrap();
        e.long_distance_matching(true).unwrap();
        // By blocks, so that its size is not known when it begins.
        plain.chunks(1000).for_each(|part| e.write_all(part).unwrap());
        e.finish().unwrap()
    };
    for log in [27, 28, 31] {
        let packed = long(log);
        let back = unpack(&packed, MOST).unwrap().unwrap();
        assert!(back.bytes == plain && back.error.is_none(), "{log}: {:?}", back.error);
        assert_eq!(beginning(&packed[..], 600), plain[..600]);
    }
    let e = unpack(&long(31), 2 << 30).unwrap().unwrap_err();
    assert_eq!((e.kind, e.what, e.need), (FormatErrorKind::TooLarge, WINDOW, 1 << 30));
    assert!(unpack(&long(30), 2 << 30).unwrap().unwrap().error.is_none());
    // No zstd makes or unpacks this one: 2^40.
    let mut huge = long(31);
    huge[5] = 30 << 3;
    let e = unpacked_bytes(&huge, MOST).unwrap().unwrap_err();
    assert_eq!((e.kind, e.what), (FormatErrorKind::TooLarge, WINDOW));
}

#[test]
fn of_a_file_that_is_cut_the_beginning_comes_back() {
    let plain = noise(1_000_000);
    for packed in both(&plain) {
        for cut in [6, 100, packed.len() / 2, packed.len() - 1] {
            let back = unpack(&packed[..cut], MOST).unwrap().unwrap();
            assert!(plain.starts_with(&back.bytes), "at {cut}");
            let kind = back.error.unwrap().kind;
            assert_eq!(kind, FormatErrorKind::Truncated, "at {cut}");
        }
        let half = unpack(&packed[..packed.len() / 2], MOST).unwrap().unwrap();
        assert!(half.bytes.len() > 300_000, "{}", half.bytes.len());
        let mut damaged = packed.clone();
        for b in &mut damaged[packed.len() / 2..][..64] {
            *b = !*b;
        }
        let back = unpack(&damaged, MOST).unwrap().unwrap();
        assert!(back.error.is_some());
    }
}

/// Kilobytes that give gigabytes, and a frame that only claims to.
#[test]
fn what_gives_more_than_the_limit_is_refused_soon() {
    let zeros = || std::io::repeat(0).take(2 << 30);
    let mut zstd_bomb = zstd::Encoder::new(vec![], 1).unwrap();
    std::io::copy(&mut zeros(), &mut zstd_bomb).unwrap();
    let mut gzip_bomb = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
    std::io::copy(&mut zeros().take(300 << 20), &mut gzip_bomb).unwrap();
    for bomb in [zstd_bomb.finish().unwrap(), gzip_bomb.finish().unwrap()] {
        assert!(bomb.len() < 3 << 20, "{}", bomb.len());
        let began = std::time::Instant::now();
        let e = unpack(&bomb, MOST).unwrap().unwrap_err();
        assert_eq!((e.kind, e.what), (FormatErrorKind::TooLarge, WHAT));
        assert_eq!(e.need, limit(bomb.len() as u64, MOST));
        assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
        let e = unpacked_bytes(&bomb, 1 << 20).unwrap().unwrap_err();
        assert_eq!((e.kind, e.need), (FormatErrorKind::TooLarge, 1 << 20));
    }
    // Single segment, size in eight bytes: 2^60, and no block.
    let claims = [&b"\x28\xb5\x2f\xfd\xe0"[..], &(1u64 << 60).to_le_bytes()].concat();
    match unpack(&claims, MOST).unwrap() {
        Ok(u) => assert!(u.bytes.is_empty() && u.error.is_some()),
        Err(e) => assert_eq!(e.kind, FormatErrorKind::TooLarge),
    }
}
