//! What the backlog merges, and that no received packet vanishes.

use rustc_hash::FxHashSet;

use super::*;
use crate::Confidence;
use crate::facts::Facts;
use crate::reconstruct::receive::tables::RxEnd;
use crate::reconstruct::skb::tables::DeathKind;

/// A segment that TCP puts into the socket's backlog: received, and its burst is over.
fn aside(s: &mut Script, t: u64, addr: u64, payload: u64) {
    soft(s, t, 0, "entry");
    recv(s, t + 1, addr, payload);
    soft(s, t + 3, 0, "exit");
}
/// One that is processed as it comes.
fn direct(s: &mut Script, t: u64, addr: u64, payload: u64) {
    soft(s, t, 0, "entry");
    arrive(s, t + 1, addr, payload);
    soft(s, t + 30, 0, "exit");
}
fn unclaimed(f: &Facts) -> u64 {
    f.stats.iter().find(|s| s.name == "rx_unclaimed").unwrap().value
}

/// Three packets merged to 180,000 bytes, of which tcp_probe shows 48,928: two wraps and more. Each has a row of its own.
#[test]
fn merged_packets_have_rows_however_long_they_are_together() {
    let mut s = script();
    direct(&mut s, 0, A, 1_000);
    read(&mut s, 50, A, 1_000);
    let of = [A + 256, A + 512, A + 768];
    for (k, addr) in of.into_iter().enumerate() {
        aside(&mut s, 100 + 10 * k as u64, addr, 60_000);
    }
    probe(&mut s, 200, TASK, of[0], 180_000 % 65_536);
    SOCK.ready(&mut s, T + 210, 0, TASK);
    copy(&mut s, 300, of[0], 180_000);
    length(&mut s, 310, 180_000, 0);
    exit(&mut s, 320, "recvfrom", 180_000);
    let f = s.facts();
    let rows = &f.rx[1..];
    let got: Vec<_> = rows.iter().map(|r| (r.bytes, r.end, r.stage(Stage::Backlog))).collect();
    let expect = [99, 89, 79].map(|ns| (Some(60_000), RxEnd::Read, Some(ns)));
    assert_eq!(got, expect);
    assert!(
        rows.iter()
            .all(|r| r.confidence == Confidence::Strong || r.skb_id == rows[0].skb_id)
    );
    assert_eq!((f.connections[0].bytes_in, unclaimed(&f)), (181_000, 0));
}

/// What came before a packet that the socket processed was processed: it is in no later run, and it is counted.
#[test]
fn a_packet_that_nothing_names_is_counted() {
    let mut s = script();
    direct(&mut s, 0, A, 1_000);
    aside(&mut s, 100, A + 256, 5_000);
    direct(&mut s, 200, A + 512, 700);
    aside(&mut s, 300, A + 768, 5_000);
    probe(&mut s, 400, TASK, A + 768, 5_000);
    let f = s.facts();
    assert_eq!((f.rx.len(), unclaimed(&f)), (3, 1));
    assert_eq!(f.rx[2].stage(Stage::Backlog), Some(99));
}

/// Of every sample: each packet that came in, long enough to carry payload, that no event freed and that was not cut or
/// merged on its way, is in a row, or counted. Lives and rows are made by trackers that do not know of each other.
#[test]
fn no_received_packet_vanishes() {
    for (path, most) in [
        ("rpc/rpc.nmb", 0),
        ("sawtooth/sawtooth.nmb", 0),
        ("tracedat-loopback/trace.dat", 0),
        ("kernel-6.1/netem.nmb", 13),
    ] {
        let f = crate::tests::facts(path);
        let rows: FxHashSet<_> = f.rx.iter().map(|r| r.skb_id).collect();
        let mut last = vec![""; f.skbs.len()];
        for h in &f.hops {
            last[h.skb_id.0 as usize] = h.kind;
        }
        let ended = |d| matches!(d, DeathKind::Unseen | DeathKind::CensoredEnd | DeathKind::InferredRead);
        let long = |bytes: Option<u32>| bytes.is_some_and(|b| b > 154);
        let vanished = f.skbs.iter().filter(|s| {
            last[s.skb_id.0 as usize] == "rx" && long(s.bytes) && ended(s.death_kind) && !rows.contains(&s.skb_id)
        });
        let vanished = vanished.count() as u64;
        assert_eq!(vanished, unclaimed(&f), "{path}");
        assert!(vanished <= most, "{path}: {vanished}");
    }
}
