mod answers;
mod foreign;
mod holes;
mod limit;
mod lists;
mod losses;
mod names;
mod perf;
mod seconds;

use std::collections::BTreeMap;

use netmortem_formats::capture::Coding;
use netmortem_formats::sub_buffer::{PageLayout, sub_buffers};
use netmortem_formats::{Bytes, Capture, Endian, Locus, StreamItem, open_bytes};

use self::answers::difference;
use super::names::Names;
use super::pages::PageWriter;
use super::{Change, Done, rewrite};
use crate::facts::Facts;
use crate::table::Cell;

fn open(path: &str) -> Capture {
    let file = format!("{}/../sample-data/{path}", env!("CARGO_MANIFEST_DIR"));
    netmortem_formats::open_path(file.as_ref()).unwrap().unwrap()
}

fn changed(capture: &Capture, change: &Change) -> (Capture, Done, Vec<u8>) {
    let (bytes, done) = rewrite(capture, change, vec![]).unwrap();
    assert_eq!(bytes.len() as u64, done.bytes);
    let new = open_bytes("new.nmb", Bytes::Owned(bytes.clone())).unwrap();
    (new, done, bytes)
}

/// One of the streams alone, with so many chunks that each hold its first one's bytes and count as 256 MiB: four of them are
/// within the 1 GiB that is decoded. Those bytes.
fn claims_too_much(capture: &mut Capture, stream: usize, chunks: usize) -> Vec<u8> {
    let mut stream = capture.streams[stream].clone();
    let bytes = capture.chunk_bytes(&stream.chunks[0]).unwrap().into_owned();
    // A frame, and behind it what is no frame.
    let mut frame = zstd::bulk::compress(&bytes, 1).unwrap();
    frame.resize(600 << 10, 0);
    let file = capture.bytes.len() as u64;
    let mut chunk = stream.chunks[0].clone();
    chunk.range = file..file + frame.len() as u64;
    chunk.coding = Coding::ZstdPrefix { unit: stream.page.size };
    capture.bytes = Bytes::Owned([&capture.bytes[..], &frame].concat());
    stream.chunks = vec![chunk; chunks];
    capture.streams = vec![stream];
    // What the kernel counted is of the original's events.
    capture.cpu_stats.clear();
    bytes
}

fn facts(c: &Capture) -> Facts {
    crate::analyze(c, &Default::default())
}

/// Time and payload of every record of every CPU, without padding; those of perf by time.
fn records(c: &Capture) -> Vec<Vec<(u64, Vec<u8>)>> {
    let of = |s: &netmortem_formats::Stream| {
        let mut out = vec![];
        for chunk in &s.chunks {
            let bytes = c.chunk_bytes(chunk).unwrap();
            s.for_each(&bytes, Locus::default(), |item| {
                if let StreamItem::Record(r) = item.unwrap() {
                    out.push((r.ts, r.payload.to_vec()));
                }
            });
        }
        if s.perf.is_some() {
            out.sort_by_key(|r| r.0);
        }
        out
    };
    c.streams.iter().map(of).collect()
}

#[test]
fn sub_buffers_hold_what_was_written() {
    for endian in [Endian::Little, Endian::Big] {
        let layout = PageLayout {
            endian,
            timestamp_offset: 0,
            commit_offset: 8,
            commit_size: 8,
            data_offset: 16,
            size: 256,
        };
        let mut w = PageWriter::new(layout);
        // Steps of 0, of 27 bits and more, of 32 bits and more, backwards; payloads short, long, and of no whole word.
        let given: Vec<(u64, Vec<u8>)> = [
            (5_000_000_000u64, 8usize),
            (5_000_000_000, 4),
            (5_000_000_001, 112),
            (5_000_000_001 + (1 << 27), 116),
            (5_000_000_001 + (1 << 40), 10),
            (5_000_000_000 + (1 << 40), 8),
            (5_000_000_001 + (1 << 41), 28),
        ]
        .iter()
        .enumerate()
        .map(|(i, (ts, n))| (*ts, vec![i as u8 + 1; *n]))
        .collect();
        for (i, (ts, payload)) in given.iter().enumerate() {
            if i == 3 {
                w.lost(Some(7));
            }
            if i == 5 {
                w.lost(None);
            }
            assert!(w.record(*ts, payload));
        }
        assert!(!w.record(9 << 50, &[0; 300]));
        w.lost(Some(2));
        w.lost(Some(3));
        let pages = w.finish();
        assert_eq!(pages.len() % 256, 0);
        let (mut read, mut lost) = (vec![], vec![]);
        for sub in sub_buffers(layout, &pages, Locus::default()) {
            for item in sub.unwrap().records(layout, Locus::default()) {
                match item.unwrap() {
                    StreamItem::Record(r) => read.push((r.ts, r.payload.to_vec())),
                    StreamItem::Lost(l) => lost.push((read.len(), l.count)),
                }
            }
        }
        assert_eq!(read, given, "{endian:?}");
        assert_eq!(lost, [(3, Some(7)), (5, None), (7, Some(5))], "{endian:?}");
    }
}

/// Nothing asked: every record and every table as before.
#[test]
fn a_bundle_written_anew_says_the_same() {
    let capture = open("rpc/rpc.nmb");
    let (new, done, _) = changed(&capture, &Change::default());
    assert_eq!(records(&new), records(&capture));
    assert_eq!((done.cut_before, done.cut_after, done.emptied), (0, 0, 0));
    assert!(new.complete && new.problems.is_empty(), "{:?}", new.problems);
    assert!(netmortem_formats::bundle::verify(&new).is_empty());
    assert_eq!(difference(&facts(&capture), &facts(&new)), Ok(()));
}

/// A cut is the records of its window and no other, and what is under way at its ends is censored, not absent.
#[test]
fn a_cut_holds_its_window() {
    let capture = open("sawtooth/sawtooth.nmb");
    let before = facts(&capture);
    let (start, end) = (
        before.capture.start_ns.unwrap() as u64,
        before.capture.end_ns.unwrap() as u64,
    );
    let (from, to) = (start + (end - start) / 3, start + (end - start) / 3 * 2);
    let change = Change {
        window: Some((from, to)),
        cut: None,
        redact: false,
    };
    let (new, done, _) = changed(&capture, &change);
    let inside: Vec<Vec<_>> = records(&capture)
        .into_iter()
        .map(|cpu| cpu.into_iter().filter(|r| (from..=to).contains(&r.0)).collect())
        .collect();
    assert_eq!(records(&new), inside);
    let after = facts(&new);
    assert_eq!(done.events, after.capture.total_events);
    assert_eq!(
        done.cut_before + done.events + done.cut_after,
        before.capture.total_events
    );
    assert!(
        new.complete && after.capture.problems.is_empty(),
        "{:?}",
        after.capture.problems
    );
    assert_eq!(after.capture.lost_events, 0);
    // Segments whole inside the window have the same waits; the others are open, or begin at the cut.
    let rows: BTreeMap<i64, i64> = before.tx.iter().map(|r| (r.t_sched_ns, r.total_ns)).collect();
    let acked = after
        .tx
        .iter()
        .filter(|r| r.end.word() == "acked" && r.start.word() == "sendmsg");
    let same = acked.filter(|r| rows.get(&r.t_sched_ns) == Some(&r.total_ns)).count();
    assert!(same > 100, "{same}");
    let told = new.manifest.unwrap()["notes"].to_string();
    assert!(told.contains("This is a cut from sawtooth.nmb"), "{told}");
    let none = Change {
        window: Some((end + 1, end + 2)),
        cut: None,
        redact: false,
    };
    assert!(
        rewrite(&capture, &none, vec![])
            .unwrap_err()
            .to_string()
            .contains("no event")
    );
}

/// Pseudonyms: all tables equal but for a one-to-one change of names, and no name or address of the original in the file.
#[test]
fn a_redacted_bundle_says_the_same_of_others() {
    for path in [
        "rpc/rpc.nmb",
        "kernel-6.1/netem.nmb",
        "perf-rings/flows.nmb.zst",
        "perf-rings/lossy.nmb.zst",
    ] {
        let capture = crate::tests::sample(path);
        let change = Change {
            window: None,
            cut: None,
            redact: true,
        };
        let (new, done, bytes) = changed(&capture, &change);
        assert!(done.names > 5 && done.addresses >= 2 && done.emptied == 0, "{done:?}");
        let (before, after) = (facts(&capture), facts(&new));
        assert_eq!(difference(&before, &after), Ok(()), "{path}");
        // All decoded bytes of the new bundle.
        let mut all = bytes;
        let mut events = vec![];
        for c in new.streams.iter().flat_map(|s| &s.chunks) {
            events.extend(new.chunk_bytes(c).unwrap().iter());
        }
        all.extend(&events);
        new.snapshots.iter().for_each(|s| all.extend(&s.text));
        let mut secrets: Vec<Vec<u8>> = vec![];
        for c in &before.connections {
            for ip in [c.saddr, c.daddr].into_iter().flatten().filter(|a| !a.is_loopback()) {
                secrets.push(ip.to_string().into_bytes());
                match ip {
                    std::net::IpAddr::V4(a) => secrets.push(a.octets().to_vec()),
                    std::net::IpAddr::V6(a) => secrets.push(a.octets().to_vec()),
                }
            }
        }
        let held = before.neighbours.iter().flat_map(|n| [n.before, n.after]).flatten();
        secrets.extend(held.filter_map(|h| Some(h.lladdr?.bytes().to_vec())));
        // Names of three letters may be part of words; tasks of the kernel keep theirs.
        let comms = capture
            .comms
            .iter()
            .map(|c| c.1.as_bytes())
            .filter(|c| c.len() > 4 && !c.contains(&b'/'));
        secrets.extend(comms.map(<[u8]>::to_vec));
        secrets.extend(
            before
                .hops
                .iter()
                .map(|h| h.dev.bytes().to_vec())
                .filter(|d| d.len() > 3),
        );
        secrets.push(capture.host.hostname.clone().into_bytes());
        secrets.sort();
        secrets.dedup();
        let secrets: Vec<Vec<u8>> = secrets.into_iter().filter(|s| s.len() > 3).collect();
        assert!(secrets.len() > 3, "{path}");
        // Words of the kernel are not a host's: names of its functions, texts of its formats.
        let mut public = found(capture.kallsyms.text(), &secrets);
        public.extend(found(&capture.printk_formats, &secrets));
        public.extend(
            capture
                .event_formats
                .iter()
                .flat_map(|f| found(f.text().as_bytes(), &secrets)),
        );
        let left: Vec<_> = found(&all, &secrets)
            .into_iter()
            .filter(|s| !public.contains(s))
            .collect();
        let left: Vec<_> = left.iter().map(|s| String::from_utf8_lossy(s)).collect();
        assert!(left.is_empty(), "{path}: {left:?}");
        assert_eq!(found(&events, &secrets), [] as [Vec<u8>; 0], "{path}");
        // The search finds what is there.
        let mut original = vec![];
        for c in capture.streams.iter().flat_map(|s| &s.chunks) {
            original.extend(capture.chunk_bytes(c).unwrap().iter());
        }
        assert!(found(&original, &secrets).len() >= 2, "{path}");
    }
}

/// Those of the secrets, four bytes or more each, that occur in a text.
fn found(all: &[u8], secrets: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut heads: rustc_hash::FxHashMap<&[u8], Vec<&Vec<u8>>> = Default::default();
    for s in secrets {
        heads.entry(&s[..4]).or_default().push(s);
    }
    let mut out: Vec<Vec<u8>> = vec![];
    for (at, w) in all.windows(4).enumerate() {
        for s in heads.get(w).into_iter().flatten() {
            if all[at..].starts_with(s) && !out.contains(s) {
                out.push(s.to_vec());
            }
        }
    }
    out
}

/// ff02::1:ffXX:XXXX: the end is a pseudonym, one for each; other multicast addresses stay.
#[test]
fn solicited_node_addresses() {
    let mut names = Names::default();
    let mut ip = |text: &str| names.ip(text.parse().unwrap()).to_string();
    assert_eq!(ip("ff02::1:ff12:3456"), "ff02::1:ffff:ffff");
    assert_eq!(ip("ff02::1:ff12:3457"), "ff02::1:ffff:fffe");
    assert_eq!(ip("ff02::1:ff12:3456"), "ff02::1:ffff:ffff");
    assert_eq!(ip("ff02::1"), "ff02::1");
    assert_eq!(ip("ff02::1:2"), "ff02::1:2");
    assert_eq!(ip("fe80::12:3456"), "2001:db8::1");
    assert_eq!(names.counts().1, 3);
}

/// Of `napi/DEV-TAIL` only a number stays.
#[test]
fn threads_of_a_napi() {
    let mut names = Names::default();
    let mut task = |name: &str| String::from_utf8(names.task(name.as_bytes())).unwrap();
    assert_eq!(task("napi/wlan7-8193"), "napi/d0-8193");
    assert_eq!(task("napi/wlan7-12"), "napi/d0-12");
    assert_eq!(task("napi/br-secret"), "napi/d1");
    assert_eq!(task("napi/br-secret-3"), "napi/d1-3");
    assert_eq!(task("napi/vm-db1"), "napi/d2");
    assert_eq!(names.dev(b"br-secret"), b"d1");
}

/// Those of hosts have a pseudonym, each its own; those of all hosts, or of none, stay.
#[test]
fn link_layer_addresses() {
    let mut names = Names::default();
    let (a, b) = ([0x16, 0xc7, 0xdc, 0xa6, 0x65, 6], [2, 0, 0, 0, 0, 0x99]);
    let (p, q) = (names.link(a), names.link(b));
    assert!(p != q && p != a && q != b);
    assert_eq!((names.link(a), names.link(b)), (p, q));
    for kept in [[0; 6], [0xff; 6], [1, 0, 0x5e, 0, 0, 1]] {
        assert_eq!(names.link(kept), kept);
    }
    assert_eq!(names.counts(), (0, 2));
}
