//! Archives made to hurt: sizes that lie, names that climb, members twice, frames that explode.

use super::*;
use crate::FormatErrorKind;

/// A tar of (name, size field, data): sizes are written as given, checksums are right.
fn raw_tar(members: &[(&str, &[u8; 12], &[u8])]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, size, data) in members {
        let mut h = [0u8; 512];
        h[..name.len()].copy_from_slice(name.as_bytes());
        h[124..136].copy_from_slice(*size);
        h[148..156].fill(b' ');
        h[156] = b'0';
        h[257..265].copy_from_slice(b"ustar  \0");
        let sum: u32 = h.iter().map(|b| u32::from(*b)).sum();
        h[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        out.extend(h);
        out.extend(*data);
        out.resize(out.len().next_multiple_of(512), 0);
    }
    out
}

fn octal(n: usize) -> [u8; 12] {
    format!("{n:011o}\0").into_bytes().try_into().unwrap()
}

const MANIFEST: &[u8] = br#"{"format_version":1}"#;

#[test]
fn sizes_that_lie_are_a_cut_not_an_allocation() {
    let size = octal(MANIFEST.len());
    let first = ("manifest.json", &size, MANIFEST);
    let mut huge = [0xffu8; 12];
    huge[0] = 0x80;
    huge[1..4].fill(0);
    let mut negative = [0xffu8; 12];
    negative[11] = 0;
    for (size, word) in [
        (&octal(0o7_7777_7777), "cut"),
        (b"77777777777\0", "cut"),
        (&huge, "cut"),
        (&negative, "size is not a number"),
        (b"not a number", "size is not a number"),
    ] {
        let c = open(raw_tar(&[first, ("trace/cpu0/000001.pages.zst", size, b"x")]));
        assert!(c.manifest.is_some() && !c.complete);
        assert!(messages(&c).contains(word), "{}", messages(&c));
    }
}

#[test]
fn names_are_labels() {
    let text = octal(4);
    let names = [
        "../../../etc/passwd",
        "/etc/shadow",
        "snapshots/../../x/start",
        "events/../format",
        "trace/cpu-1/1",
    ];
    let size = octal(MANIFEST.len());
    let mut members = vec![("manifest.json", &size, MANIFEST)];
    members.extend(names.iter().map(|n| (*n, &text, &b"text"[..])));
    let c = open(raw_tar(&members));
    assert_eq!(
        c.members.iter().map(|m| m.name.as_str()).collect::<Vec<_>>()[1..],
        names
    );
    assert!(c.streams.is_empty());
}

#[test]
fn the_second_of_two_members_is_ignored_and_said() {
    let page = PagesEncoder::new(1).unwrap().encode(&sub_buffer(0, 5)).unwrap();
    let mut w = BundleWriter::new(Vec::new(), &manifest()).unwrap();
    w.append(names::HEADER_PAGE, HEADER_PAGE.as_bytes()).unwrap();
    for _ in 0..2 {
        w.append_pages(PagesName { cpu: 0, sequence: 1 }, &page).unwrap();
    }
    w.append(names::MANIFEST, b"{\"format_version\":99}").unwrap();
    let c = open(w.finish(End::default()).unwrap().0);
    assert_eq!(events(&c, 0), [0, 1, 2, 3, 4]);
    assert!(
        messages(&c).contains("trace/cpu0/000001.pages.zst: a second member"),
        "{}",
        messages(&c)
    );
    assert!(
        messages(&c).contains("manifest.json: a second member"),
        "{}",
        messages(&c)
    );
}

#[test]
fn frames_that_explode_are_refused() {
    // Larger than any chunk may be, and a few kilobytes as stored.
    let zeros = vec![0u8; 257 << 20];
    let stated = PagesEncoder::new(1).unwrap().encode(&zeros).unwrap();
    // The same without a stated size: only decoding shows how large it is.
    let mut unstated = Vec::new();
    zstd::stream::copy_encode(&zeros[..], &mut unstated, 1).unwrap();
    drop(zeros);
    assert!(stated.len() < 100_000 && unstated.len() < 100_000);
    let mut w = BundleWriter::new(Vec::new(), &manifest()).unwrap();
    w.append(names::HEADER_PAGE, HEADER_PAGE.as_bytes()).unwrap();
    w.append(names::KALLSYMS, &unstated).unwrap();
    w.append_pages(PagesName { cpu: 0, sequence: 1 }, &stated).unwrap();
    w.append_pages(PagesName { cpu: 0, sequence: 2 }, &unstated).unwrap();
    w.append_pages(PagesName { cpu: 0, sequence: 3 }, b"no frame at all")
        .unwrap();
    let c = open(w.finish(End::default()).unwrap().0);
    let kinds: Vec<_> = c.streams[0]
        .chunks
        .iter()
        .map(|k| c.chunk_bytes(k).unwrap_err().kind)
        .collect();
    assert_eq!(
        kinds,
        [
            FormatErrorKind::TooLarge,
            FormatErrorKind::TooLarge,
            FormatErrorKind::Decompress
        ]
    );
    assert!(
        messages(&c).contains("kallsyms.zst: addresses have no names"),
        "{}",
        messages(&c)
    );
}

#[test]
fn texts_that_are_not_what_their_name_says() {
    let deep = "[".repeat(100_000);
    let mut w = BundleWriter::new(Vec::new(), &manifest()).unwrap();
    w.append(names::HEADER_PAGE, b"\xff\xfe nonsense").unwrap();
    w.append(&names::event_format_name("a", "b"), b"ID: 999999999999\n")
        .unwrap();
    w.append("clocks/000001.json", deep.as_bytes()).unwrap();
    w.append(names::SAVED_CMDLINES, b"x\n-5 a\n99999999999999 b\n3\n")
        .unwrap();
    w.append(names::END, b"[]").unwrap();
    let c = open(w.finish(End::default()).unwrap().0);
    assert!(!c.complete && c.end.is_none() && c.streams.is_empty());
    assert_eq!(c.comms, [(-5, "a".to_owned())]);
    for name in ["header_page", "events/a/b/format", "clocks/000001.json", "end.json"] {
        assert!(messages(&c).contains(name), "{name}: {}", messages(&c));
    }
}

#[test]
fn any_single_byte_changed_opens() {
    let bytes = bundle();
    let mut x = 0x1234_5678_u32;
    for at in (0..bytes.len()).step_by(7) {
        let mut b = bytes.clone();
        x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        b[at] ^= (x >> 24) as u8 | 1;
        if let Ok(c) = crate::open_bytes("test", Bytes::Owned(b)) {
            for s in &c.streams {
                for chunk in &s.chunks {
                    let _ = c.chunk_bytes(chunk);
                }
            }
        }
    }
}

/// Some bytes of a file, 12 MB of distances: no symbols, and said so, instead of 72 MB of text.
#[test]
fn symbols_do_not_grow_past_their_limit() {
    let mut w = BundleWriter::new(Vec::new(), &manifest()).unwrap();
    let lines = "0 \n".repeat(4_000_000);
    let symbols = PagesEncoder::new(1).unwrap().encode(lines.as_bytes()).unwrap();
    assert!(symbols.len() < 4_000, "{}", symbols.len());
    w.append(names::SYMBOLS, &symbols).unwrap();
    let c = open(w.finish(end()).unwrap().0);
    assert!(c.kallsyms.text().is_empty());
    assert!(
        messages(&c).contains("symbols.zst: addresses have no names"),
        "{}",
        messages(&c)
    );
}
