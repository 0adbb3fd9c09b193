//! Accessors on hand-made payloads.

use super::texts::{RELEASE, recorded_event};
use crate::endian::Endian::{self, Big, Little};
use crate::event_format::{BytesAccess, EventFormat, IntAccess, StrAccess};

fn format(fields: &[(&str, u32, u32, bool)]) -> EventFormat {
    let mut text = "name: e\nID: 1\nformat:\n".to_owned();
    for (declaration, offset, size, signed) in fields {
        text += &format!(
            "\tfield:{declaration};\toffset:{offset};\tsize:{size};\tsigned:{};\n",
            u8::from(*signed)
        );
    }
    EventFormat::parse("s", text.as_bytes()).unwrap()
}

fn int(declaration: &str, size: u32, signed: bool, endian: Endian, payload: &[u8]) -> Option<u64> {
    IntAccess::bind(&format(&[(declaration, 2, size, signed)]), "x", endian)
        .unwrap()
        .u64(payload)
}

#[test]
fn integers_of_every_width_sign_and_order() {
    let p = [0u8, 0, 0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10];
    let cases: [(u32, u64, u64); 4] = [
        (1, 0xfe, 0xfe),
        (2, 0xdcfe, 0xfedc),
        (4, 0x98ba_dcfe, 0xfedc_ba98),
        (8, 0x1032_5476_98ba_dcfe, 0xfedc_ba98_7654_3210),
    ];
    for (size, little, big) in cases {
        assert_eq!(int("u64 x", size, false, Little, &p), Some(little));
        assert_eq!(int("u64 x", size, false, Big, &p), Some(big));
        let sign_extend = |v: u64| (v << (64 - 8 * size)) as i64 >> (64 - 8 * size);
        assert_eq!(int("s64 x", size, true, Little, &p), Some(sign_extend(little) as u64));
        assert_eq!(int("s64 x", size, true, Big, &p), Some(sign_extend(big) as u64));
        let end = 2 + size as usize;
        assert_eq!(
            int("u64 x", size, false, Little, &p[..end]),
            Some(little),
            "ends with the field"
        );
        assert_eq!(int("u64 x", size, false, Little, &p[..end - 1]), None, "one byte short");
        assert_eq!(int("u64 x", size, false, Little, &[]), None);
    }
    let f = format(&[("int x", 2, 4, true)]);
    assert_eq!(
        IntAccess::bind(&f, "x", Little)
            .unwrap()
            .i64(&[0, 0, 0xff, 0xff, 0xff, 0xff]),
        Some(-1)
    );
}

#[test]
fn only_integers_bind_as_integers_and_only_texts_as_texts() {
    let f = format(&[
        ("char a[4]", 0, 4, false),
        ("u8 b[4]", 4, 4, false),
        ("__data_loc char[] c", 8, 4, false),
        ("__data_loc u8[] d", 12, 4, false),
        ("struct s e", 16, 8, false),
        ("const char * g", 24, 8, false),
    ]);
    let ints: Vec<&str> = "abcdeg "
        .split("")
        .filter(|n| IntAccess::bind(&f, n, Little).is_some())
        .collect();
    let texts: Vec<&str> = "abcdeg "
        .split("")
        .filter(|n| StrAccess::bind(&f, n, Little).is_some())
        .collect();
    let bytes: Vec<&str> = "abcdeg "
        .split("")
        .filter(|n| BytesAccess::bind(&f, n, Little).is_some())
        .collect();
    assert_eq!((ints, texts), (vec!["g"], vec!["a", "c"]));
    assert_eq!(bytes, ["a", "b", "c", "d", "e", "g"]);
}

#[test]
fn fixed_texts_end_at_their_nul() {
    let f = format(&[("char x[6]", 2, 6, false)]);
    let x = StrAccess::bind(&f, "x", Little).unwrap();
    assert_eq!(x.bytes(b"__ab\0cd\0zz"), Some(&b"ab"[..]));
    assert_eq!(x.bytes(b"__abcdefzz"), Some(&b"abcdef"[..]), "no NUL");
    assert_eq!(x.bytes(b"__\0bcdef"), Some(&b""[..]));
    assert_eq!(x.bytes(b"__abcde"), None);
    assert_eq!(
        BytesAccess::bind(&f, "x", Little).unwrap().bytes(b"__ab\0cd\0zz"),
        Some(&b"ab\0cd\0"[..])
    );
}

#[test]
fn unsized_texts_run_to_the_end() {
    let f = format(&[("unsigned long ip", 0, 8, false), ("char x[]", 8, 0, false)]);
    let x = StrAccess::bind(&f, "x", Little).unwrap();
    assert_eq!(x.bytes(b"01234567hello\n\0\0\0"), Some(&b"hello\n"[..]));
    assert_eq!(x.bytes(b"01234567"), Some(&b""[..]));
    assert_eq!(x.bytes(b"0123"), None);
}

/// Word of length and offset, then 4 other bytes, then the text.
fn located(endian: Endian, len: u16, offset: u16) -> Vec<u8> {
    let word = u32::from(len) << 16 | u32::from(offset);
    let mut p = vec![7u8; 4];
    p.extend(if endian == Little {
        word.to_le_bytes()
    } else {
        word.to_be_bytes()
    });
    p.extend(b"~~~~eth0\0~~");
    p
}

#[test]
fn data_loc_counts_from_the_record_and_rel_loc_from_its_own_end() {
    for endian in [Little, Big] {
        let f = format(&[
            ("__data_loc char[] x", 4, 4, false),
            ("__rel_loc char[] y", 4, 4, false),
        ]);
        let x = StrAccess::bind(&f, "x", endian).unwrap();
        let y = StrAccess::bind(&f, "y", endian).unwrap();
        assert_eq!(x.bytes(&located(endian, 5, 12)), Some(&b"eth0"[..]));
        assert_eq!(y.bytes(&located(endian, 5, 4)), Some(&b"eth0"[..]));
        let raw = BytesAccess::bind(&f, "x", endian).unwrap();
        assert_eq!(raw.bytes(&located(endian, 5, 12)), Some(&b"eth0\0"[..]));
        assert_eq!(raw.bytes(&located(endian, 0, 12)), Some(&b""[..]), "an empty array");
        assert_eq!(
            raw.bytes(&located(endian, 7, 12)),
            Some(&b"eth0\0~~"[..]),
            "to the last byte"
        );
        assert_eq!(raw.bytes(&located(endian, 8, 12)), None, "one byte beyond");
        assert_eq!(raw.bytes(&located(endian, 1, u16::MAX)), None);
        assert_eq!(y.bytes(&located(endian, u16::MAX, u16::MAX)), None);
        assert_eq!(x.bytes(&located(endian, 5, 12)[..7]), None, "the word itself is cut");
    }
}

#[test]
fn two_byte_locations_run_to_the_end_of_the_record() {
    let f = format(&[
        ("__data_loc char[] x", 2, 2, false),
        ("__rel_loc char[] y", 2, 2, false),
    ]);
    for (endian, p) in [(Little, b"__\x06\0~~lo\0~"), (Big, b"__\0\x06~~lo\0~")] {
        assert_eq!(StrAccess::bind(&f, "x", endian).unwrap().bytes(p), Some(&b"lo"[..]));
        assert_eq!(
            BytesAccess::bind(&f, "x", endian).unwrap().bytes(p),
            Some(&b"lo\0~"[..])
        );
    }
    assert_eq!(
        StrAccess::bind(&f, "y", Little).unwrap().bytes(b"__\x02\0~~lo\0~"),
        Some(&b"lo"[..])
    );
    assert_eq!(
        StrAccess::bind(&f, "x", Little).unwrap().bytes(b"__\xff\0~~lo\0~"),
        None
    );
}

/// The sockaddr arrays of tcp_probe: family in host order, port in network order.
#[test]
fn arrays_of_a_recorded_format() {
    let f = recorded_event(RELEASE, "tcp", "tcp_probe");
    let mut p = [0u8; 136];
    p[8..16].copy_from_slice(&[2, 0, 0x1f, 0x90, 127, 0, 0, 1]);
    let saddr = BytesAccess::bind(&f, "saddr", Little).unwrap().bytes(&p).unwrap();
    assert_eq!((saddr.len(), &saddr[..8]), (28, &[2, 0, 0x1f, 0x90, 127, 0, 0, 1][..]));
    assert_eq!(BytesAccess::bind(&f, "daddr", Little).unwrap().bytes(&p[..63]), None);
}
