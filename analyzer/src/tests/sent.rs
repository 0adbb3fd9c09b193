//! Bytes of the edges of what TCP sent, and of a capture's copies, against what tshark says of the packets that were captured meanwhile.

use std::collections::BTreeMap;

use crate::facts::Facts;
use crate::reconstruct::lineage::tables::{Conserved, LineageKind, LineageRow};

/// Frames by length.
type Frames = BTreeMap<u32, usize>;

/// Frames of `sample-data/sawtooth/sender.pcap.zst` by tshark: those of a sender that tshark takes for retransmissions or not, by the
/// field at `at` (1: the frame's length, 2: payload).
fn tshark(sender: Option<&str>, again: Option<bool>, at: usize) -> Frames {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../sample-data/sawtooth/tshark.csv");
    let text = std::fs::read_to_string(file).unwrap();
    let mut out = Frames::new();
    for line in text.lines().filter(|l| !l.starts_with('#')) {
        let f: Vec<&str> = line.split(',').collect();
        let (resent, n) = (f[3] == "1", f[4].parse::<usize>().unwrap());
        if sender.is_none_or(|s| s == f[0]) && again.is_none_or(|a| a == resent) {
            *out.entry(f[at].parse().unwrap()).or_default() += n;
        }
    }
    out
}

fn lengths<'r>(rows: impl Iterator<Item = &'r LineageRow>) -> Frames {
    let mut out = Frames::new();
    for r in rows {
        *out.entry(r.bytes.unwrap_or(0)).or_default() += 1;
    }
    out
}

fn sent(f: &Facts) -> impl Iterator<Item = &LineageRow> {
    let kinds = [LineageKind::Fclone, LineageKind::RetransmitCopy];
    f.lineage.iter().filter(move |l| kinds.contains(&l.kind))
}

/// Payload by payload, what went down for originals is what tcpdump had on the sender's interface: of both ends, the first time
/// and again. Nothing that has no payload there has some here (SYN, FIN). tcpdump's own copies are as long as its packets; its
/// filter left out an ARP frame (42 bytes) and one of IPv6 (70: a router solicitation; nstat counts Ip6OutRequests).
#[test]
fn every_frame_has_the_bytes_that_tshark_says() {
    let f = super::facts("sawtooth/sawtooth.nmb");
    let data = |mut of: Frames| {
        of.remove(&0);
        of
    };
    assert_eq!(data(lengths(sent(&f))), data(tshark(None, None, 2)));
    let began: std::collections::BTreeSet<i64> = f.retransmits.iter().map(|r| r.time_ns).collect();
    let again = |l: &&LineageRow| {
        let of = began.range(l.ts_ns..).next();
        l.kind == LineageKind::RetransmitCopy || of.is_some_and(|t| t - l.ts_ns < 1_000_000 && resent(&f, l))
    };
    assert_eq!(lengths(sent(&f).filter(again)), tshark(None, Some(true), 2));

    let mut taps = lengths(f.lineage.iter().filter(|l| l.kind == LineageKind::Tap));
    assert_eq!(taps.remove(&42), Some(1));
    *taps.get_mut(&70).unwrap() -= 1;
    assert_eq!(taps, tshark(Some("10.77.1.1"), None, 1));
}

/// Whether another edge comes from the same original before.
fn resent(f: &Facts, edge: &LineageRow) -> bool {
    sent(f).any(|l| l.parent == edge.parent && l.ts_ns < edge.ts_ns)
}

/// What tshark calls no retransmission was sent once: between two probes such frames are what `snd_nxt` advanced by. Only of what went
/// before the first probe or after the last, of SYN and FIN, and of what was cut to be sent again no event tells the other side; each
/// says which it is.
#[test]
fn what_was_sent_is_conserved_or_says_why_not() {
    for (path, unknown) in [
        ("sawtooth/sawtooth.nmb", 20),
        ("rpc/rpc.nmb", 4),
        ("tracedat-loopback/trace.dat", 8),
    ] {
        let f = super::facts(path);
        let mut open = 0;
        for l in sent(&f) {
            match l.conserved {
                Conserved::Yes => assert!(l.bytes.is_some() && l.because().is_empty(), "{path} {l:?}"),
                Conserved::No => panic!("{path} {l:?}"),
                Conserved::Unknown => {
                    assert!(!l.because().is_empty(), "{path} {l:?}");
                    open += 1;
                }
            }
        }
        assert!(open <= unknown, "{path}: {open}");
    }
}
