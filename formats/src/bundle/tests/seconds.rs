//! Texts read while recording, and snapshots that are stored compressed.

use super::*;
use crate::bundle::{Second, seconds};

fn second(n: i64) -> Second {
    let texts = [("net/netstat", &b"a: 1\n"[..]), ("qdiscs", b"")];
    Second {
        clock: pair(n),
        texts: texts.iter().map(|(w, t)| ((*w).to_owned(), t.to_vec())).collect(),
    }
}

fn written(f: impl FnOnce(&mut BundleWriter<Vec<u8>>)) -> Vec<u8> {
    let mut w = BundleWriter::new(Vec::new(), &manifest()).unwrap();
    f(&mut w);
    w.finish(end()).unwrap().0
}

#[test]
fn seconds_are_read_in_order() {
    let bytes = written(|w| {
        w.append_second(&second(1)).unwrap();
        w.append_second(&second(2)).unwrap();
    });
    let c = open(bytes);
    assert_eq!(c.problems, []);
    let all: Vec<Second> = seconds(&c).map(Result::unwrap).collect();
    assert_eq!(all, [second(1), second(2)]);
    // What the format says, byte by byte.
    let clock = serde_json::to_string(&pair(1)).unwrap();
    let expected = format!(
        "== clock {}\n{clock}\n== net/netstat 5\na: 1\n\n== qdiscs 0\n\n",
        clock.len()
    );
    assert_eq!(String::from_utf8(second(1).encode().unwrap()).unwrap(), expected);
}

#[test]
fn a_damaged_second_costs_only_itself() {
    let good = second(1).encode().unwrap();
    let frame = |b: &[u8]| PagesEncoder::new(1).unwrap().encode(b).unwrap();
    // Every cut of the text, a size beyond the end, a section without a clock.
    let mut cases: Vec<Vec<u8>> = (0..good.len()).map(|n| frame(&good[..n])).collect();
    cases.push(frame(b"== clock 99999999999999999999\n{}\n"));
    cases.push(frame(b"== net/netstat 1\nx\n"));
    cases.push(b"no frame".to_vec());
    let bytes = written(|w| {
        for (n, case) in cases.iter().enumerate() {
            w.append(&names::seconds_name(n as u64 + 1), case).unwrap();
        }
        w.append(&names::seconds_name(9999), &frame(&good)).unwrap();
    });
    let c = open(bytes);
    let all: Vec<_> = seconds(&c).collect();
    assert_eq!(all.len(), cases.len() + 1);
    assert_eq!(all.last().unwrap().as_ref().unwrap(), &second(1));
    // A cut between two sections leaves whole ones: the frame's checksum says that they were written so.
    let whole = all.iter().flatten().filter(|s| s.texts.len() < 2);
    assert_eq!(whole.count(), 2);
    assert_eq!(all.iter().filter(|r| r.is_ok()).count(), 3);
}

#[test]
fn a_large_snapshot_is_compressed_and_read_the_same() {
    let large = b"key=value\n".repeat(20_000);
    let bytes = written(|w| {
        w.append_snapshot("sockets", SnapshotWhen::Start, &large).unwrap();
        w.append_snapshot("sockets", SnapshotWhen::End, b"small").unwrap();
    });
    assert!(bytes.len() < 20_000);
    let c = open(bytes);
    assert_eq!(c.problems, []);
    let texts: Vec<_> = c
        .snapshots
        .iter()
        .map(|s| (s.what.as_str(), s.when, &s.text[..]))
        .collect();
    assert_eq!(
        texts,
        [
            ("sockets", SnapshotWhen::Start, &large[..]),
            ("sockets", SnapshotWhen::End, b"small")
        ]
    );
}

#[test]
fn snapshots_that_claim_too_much_are_not_read() {
    // 200 MiB of zeros are a frame of some kilobytes.
    let bomb = PagesEncoder::new(1).unwrap().encode(&vec![0; 200 << 20]).unwrap();
    let c = open(written(|w| w.append("snapshots/sockets/start.zst", &bomb).unwrap()));
    assert_eq!(c.snapshots, []);
    assert!(
        c.problems.iter().any(|p| p.member == "snapshots/sockets/start.zst"),
        "{:?}",
        c.problems
    );
}
