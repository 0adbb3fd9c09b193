//! Passes over devices in the samples, against the router's own queue counters, its planted rate and limit, and the bytes
//! of the packets that its qdisc cut up.

use std::collections::BTreeMap;

use netmortem_analyzer::Confidence;
use netmortem_analyzer::reconstruct::xmits::{Pass, PassEnd};
use netmortem_tests::{SAMPLES, facts};

/// `tc qdisc add dev rb root tbf rate 20mbit burst 16kbit limit 60000` (PROVENANCE.md of the sawtooth).
const RATE: f64 = 20e6 / 8.0;
const LIMIT: i64 = 60_000;
/// Largest frame of the connection.
const FRAME: i64 = 1514;
/// Ethernet, IPv4 and TCP with timestamps.
const HEADERS: i64 = 66;

fn shaped() -> Vec<Pass> {
    let f = facts("sawtooth/sawtooth.nmb").unwrap();
    f.xmits.into_iter().filter(|r| &*r.dev.text() == "rb").collect()
}
fn bytes(r: &Pass) -> i64 {
    r.bytes.unwrap().into()
}

/// `tc -s qdisc`: Sent 10088642 bytes 6685 pkt (dropped 10, ... requeues 0). Two neighbour messages of IPv6 went out
/// before the recording began.
#[test]
fn every_packet_of_the_shaped_queue_has_its_row() {
    let rows = shaped();
    let sent: Vec<_> = rows.iter().filter(|r| r.started_ns.is_some()).collect();
    assert_eq!(sent.len(), 6685 - 2);
    let before = 10_088_642 - sent.iter().map(|r| bytes(r)).sum::<i64>();
    assert!((2 * 70..=2 * 110).contains(&before), "{before} bytes in two packets");
    assert_eq!(rows.iter().filter(|r| r.end == PassEnd::Dropped).count(), 10);
    assert!(rows.iter().all(|r| r.requeues == 0 && r.bypass == Some(false)));
    assert!(rows.iter().all(|r| r.confidence >= Confidence::Strong));
}

/// A packet waits for what is queued before it, at the planted rate; one is dropped when the planted limit is reached.
#[test]
fn the_wait_is_the_backlog_at_the_planted_rate() {
    let rows = shaped();
    let mut sent: Vec<_> = rows
        .iter()
        .filter_map(|r| Some((r.started_ns?, r.queued_ns?, bytes(r))))
        .collect();
    sent.sort_unstable();
    assert!(sent.is_sorted_by_key(|s| s.1), "a FIFO");
    let mut off = vec![];
    for (i, (started, queued, _)) in sent.iter().enumerate() {
        let first = sent.partition_point(|s| s.0 <= *queued);
        let ahead: i64 = sent[first..=i.max(first)].iter().map(|s| s.2).sum();
        if ahead > 20_000 {
            let expected = ahead as f64 / RATE * 1e9;
            off.push(((started - queued) as f64 - expected) / (FRAME as f64 / RATE * 1e9));
        }
    }
    off.sort_by(f64::total_cmp);
    assert!(off.len() > 6_000, "{}", off.len());
    // In frames: the first in the queue has part of its tokens already, so at most one too early; the watchdog fires some
    // us late each time.
    let (low, high) = (off[off.len() / 100], off[off.len() * 99 / 100]);
    assert!(low > -1.0 && high < 0.5, "{low} to {high}");
    for d in rows.iter().filter(|r| r.end == PassEnd::Dropped) {
        let at = d.queued_ns.unwrap();
        let backlog: i64 = sent.iter().filter(|s| s.1 <= at && s.0 > at).map(|s| s.2).sum();
        assert!((LIMIT - FRAME..=LIMIT).contains(&backlog), "{backlog}");
    }
}

/// Payload is conserved: a packet's bytes are its segments' bytes less the headers that they repeat.
#[test]
fn the_segments_of_every_packet_sum_up_to_it() {
    let rows = shaped();
    let mut of: BTreeMap<_, Vec<&Pass>> = BTreeMap::new();
    for r in rows.iter().filter(|r| r.parent.is_some()) {
        of.entry(r.parent.unwrap()).or_default().push(r);
    }
    let cut: Vec<_> = rows.iter().filter(|r| r.end == PassEnd::Segmented).collect();
    assert_eq!((cut.len(), of.len()), (1833, 1833));
    let mut short = 0;
    for p in cut {
        let segments = &of[&p.skb_id.unwrap()];
        let seen: i64 = segments.iter().filter_map(|s| Some(i64::from(s.bytes?))).sum();
        let missing = bytes(p) + (segments.len() as i64 - 1) * HEADERS - seen;
        let dropped = segments.iter().filter(|s| s.end == PassEnd::Dropped).count() as i64;
        match dropped {
            0 => assert_eq!(missing, 0, "{p:?}"),
            n => {
                assert!(missing > (n - 1) * FRAME && missing <= n * FRAME, "{p:?}: {missing}");
                short += n;
            }
        }
    }
    assert_eq!(short, 10);
}

/// In every sample the parts sum to the total, none is negative, and no veth or loopback is said to have stopped.
#[test]
fn parts_sum_to_the_total_in_every_sample() {
    for name in SAMPLES {
        let f = facts(name).unwrap();
        assert!(!f.xmits.is_empty(), "{name}");
        for r in &f.xmits {
            let parts = r.parts();
            let sum: i64 = parts.iter().filter_map(|p| p.1).sum();
            assert_eq!(sum + r.unattributed_ns, r.total_ns, "{name}: {r:?}");
            assert!(parts.iter().all(|p| p.1.is_none_or(|ns| ns >= 0)), "{name}: {r:?}");
            assert!(r.unattributed_ns >= 0, "{name}: {r:?}");
        }
        assert!(f.txq_stops.is_empty(), "{name}: {:?}", f.txq_stops);
    }
}
