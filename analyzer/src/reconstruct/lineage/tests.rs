mod aligned;
mod queueing;
mod queues;

use super::tables::{Conserved, LineageKind, LineageRow, Rule};
use super::why::Why;
use crate::Confidence;
use crate::facts::Facts;
use crate::reconstruct::balances::tables::{BalanceKind, BalanceRow};
use crate::testing::{Ctx, FCLONE, N, S, Script};

const A: u64 = 0xffff_8881_0000_0000;
const T: u64 = 1_000_000_000;
const GSO: u64 = 0xffff_ffff_8100_0000;
const TBF: u64 = 0xffff_ffff_8200_0000;
const QUEUE: u64 = 0xffff_ffff_8400_0000;
const TAP: u64 = 0xffff_ffff_8500_0000;
const SOFT: Ctx = Ctx::Soft(1);

fn script(without: &[&str]) -> Script {
    let mut s = Script::new("6.18.44", without);
    s.symbol(GSO, "validate_xmit_skb.isra.0");
    s.symbol(TBF, "tbf_enqueue");
    s.symbol(0xffff_ffff_8300_0000, "netlink_recvmsg");
    s.symbol(QUEUE, "__dev_queue_xmit");
    s.symbol(TAP, "tpacket_rcv");
    s.ev(1, 0, Ctx::Task(1), "napi:napi_poll", &[]);
    s
}
fn entry(s: &mut Script, ts: u64, addr: u64, len: u64, hash: u64) {
    let v = [
        ("skbaddr", N(addr)),
        ("len", N(len)),
        ("name", S("eth0")),
        ("napi_id", N(260)),
        ("hash", N(hash)),
    ];
    s.ev(ts, 0, SOFT, "net:napi_gro_receive_entry", &v);
}
fn exit(s: &mut Script, ts: u64, ret: u64) {
    s.ev(ts, 0, SOFT, "net:napi_gro_receive_exit", &[("ret", N(ret))]);
}
fn receive(s: &mut Script, ts: u64, addr: u64, len: u64) {
    let v = [("skbaddr", N(addr)), ("len", N(len)), ("name", S("eth0"))];
    s.ev(ts, 0, SOFT, "net:netif_receive_skb", &v);
}
fn probe(s: &mut Script, ts: u64, addr: u64, data: u64) {
    let v = [("skbaddr", N(addr)), ("data_len", N(data))];
    s.ev(ts, 0, SOFT, "tcp:tcp_probe", &v);
}
fn queue(s: &mut Script, ts: u64, addr: u64, len: u64) {
    let v = [("skbaddr", N(addr)), ("len", N(len)), ("name", S("eth0"))];
    s.ev(ts, 0, Ctx::Task(7), "net:net_dev_queue", &v);
}
fn xmit(s: &mut Script, ts: u64, cpu: usize, addr: u64, len: u64) {
    let v = [
        ("skbaddr", N(addr)),
        ("len", N(len)),
        ("name", S("eth0")),
        ("transport_offset_valid", N(1)),
        ("transport_offset", N(34)),
    ];
    s.ev(ts, cpu, Ctx::Task(7), "net:net_dev_start_xmit", &v);
}
fn free(s: &mut Script, ts: u64, event: &str, addr: u64, location: u64) {
    let v = [
        ("skbaddr", N(addr)),
        ("location", N(location + 16)),
        ("protocol", N(0x0800)),
    ];
    s.ev(ts, 0, Ctx::Task(7), event, &v);
}
/// kind, rule, parent and child addresses, bytes, conserved, confidence.
type Edge = (LineageKind, Rule, u64, u64, Option<u32>, Conserved, Confidence);
fn edges(f: &Facts) -> Vec<Edge> {
    let addr = |r: crate::SkbId| f.skbs[r.0 as usize].skbaddr - A;
    let edge = |r: &LineageRow| {
        let (parent, child) = (addr(r.parent), addr(r.child));
        (r.kind, r.rule, parent, child, r.bytes, r.conserved, r.confidence)
    };
    f.lineage.iter().map(edge).collect()
}
fn balance(f: &Facts, kind: BalanceKind) -> &BalanceRow {
    f.balances.iter().find(|b| b.kind == kind).unwrap()
}

/// A head of 1500 bytes takes in two packets of 1500 and one of 552 as a fragment: 52 bytes of headers each.
#[test]
fn a_head_grows_by_its_members() {
    let mut s = script(&[]);
    entry(&mut s, T, A, 1500, 7);
    exit(&mut s, T + 1, 2);
    for (i, (len, ret)) in [(1500, 1), (1500, 1), (552, 0)].into_iter().enumerate() {
        entry(&mut s, T + 10 * (i as u64 + 1), A + 256 * (i as u64 + 1), len, 7);
        exit(&mut s, T + 10 * (i as u64 + 1) + 5, ret);
    }
    receive(&mut s, T + 100, A, 1500 + 1448 * 2 + 500);
    probe(&mut s, T + 110, A, 1448 * 3 + 500);
    let f = s.facts();
    let certain = |kind, child, bytes| {
        let (rule, c) = (Rule::GroExit, Confidence::Certain);
        (kind, rule, 0, child, Some(bytes), Conserved::Yes, c)
    };
    let want = [
        certain(LineageKind::GroMerge, 256, 1448),
        certain(LineageKind::GroMerge, 512, 1448),
        certain(LineageKind::FragList, 768, 500),
    ];
    assert_eq!(edges(&f), want);
    let b = balance(&f, BalanceKind::GroHead);
    assert_eq!((b.bytes_expected, b.bytes_found, b.unexplained_bytes), (3396, 3396, 0));
}

/// Once the batch is full the head is delivered inside the entry of its last member, whose exit tells later.
#[test]
fn the_open_entry_counts_for_a_head_that_lacks_its_bytes() {
    let mut s = script(&[]);
    entry(&mut s, T, A, 1500, 7);
    exit(&mut s, T + 1, 2);
    entry(&mut s, T + 10, A + 256, 1500, 7);
    exit(&mut s, T + 11, 1);
    entry(&mut s, T + 20, A + 512, 1500, 7);
    receive(&mut s, T + 21, A, 1500 + 1448 * 2);
    probe(&mut s, T + 22, A, 1448 * 3);
    exit(&mut s, T + 30, 1);
    let f = s.facts();
    let rules: Vec<(Rule, Conserved)> = f.lineage.iter().map(|r| (r.rule, r.conserved)).collect();
    assert_eq!(
        rules,
        [(Rule::GroExit, Conserved::Yes), (Rule::GroOpenEntry, Conserved::Yes)]
    );
}

/// A packet that makes a head be flushed and is held itself is no member of it.
#[test]
fn a_flush_by_the_next_head_takes_nothing_in() {
    let mut s = script(&[]);
    entry(&mut s, T, A, 1500, 7);
    exit(&mut s, T + 1, 2);
    entry(&mut s, T + 10, A + 256, 1500, 7);
    exit(&mut s, T + 11, 1);
    entry(&mut s, T + 20, A + 512, 1500, 7);
    receive(&mut s, T + 21, A, 1500 + 1448);
    exit(&mut s, T + 30, 2);
    entry(&mut s, T + 40, A + 768, 1500, 7);
    exit(&mut s, T + 41, 1);
    receive(&mut s, T + 50, A + 512, 1500 + 1448);
    let f = s.facts();
    let of: Vec<(u64, u64)> = edges(&f).iter().map(|e| (e.2, e.3)).collect();
    assert_eq!(of, [(0, 256), (512, 768)]);
    assert!(f.lineage.iter().all(|r| r.conserved == Conserved::Yes));
}

/// Growth that the members do not make up is said, and weakens the edges.
#[test]
fn what_does_not_add_up_is_weak() {
    let mut s = script(&[]);
    entry(&mut s, T, A, 1500, 7);
    exit(&mut s, T + 1, 2);
    entry(&mut s, T + 10, A + 256, 1500, 7);
    exit(&mut s, T + 11, 1);
    receive(&mut s, T + 50, A, 1500 + 1448 * 3);
    probe(&mut s, T + 60, A, 1448 * 4);
    let f = s.facts();
    assert_eq!(f.lineage.len(), 1);
    assert_eq!(
        (f.lineage[0].conserved, f.lineage[0].confidence),
        (Conserved::No, Confidence::Weak)
    );
    let b = balance(&f, BalanceKind::GroHead);
    assert_eq!(
        (b.bytes_expected, b.bytes_found, b.unexplained_bytes),
        (4344, 1448, 2896)
    );
    assert!(!b.because.is_empty());
}

/// Two heads with no hash: which of them took it in is a guess, until lengths say that it fits.
#[test]
fn one_of_several_heads_is_not_certain() {
    let mut s = script(&[]);
    for i in 0..2 {
        entry(&mut s, T + i * 10, A + 256 * i, 1500, 0);
        exit(&mut s, T + i * 10 + 1, 2);
    }
    entry(&mut s, T + 30, A + 512, 1500, 0);
    exit(&mut s, T + 31, 1);
    receive(&mut s, T + 40, A, 2948);
    probe(&mut s, T + 41, A, 2896);
    receive(&mut s, T + 42, A + 256, 1500);
    let f = s.facts();
    assert_eq!(f.lineage[0].rule, Rule::GroExitOneOfMany);
    assert!(f.lineage[0].confidence <= Confidence::Weak, "{:?}", f.lineage[0]);
}

/// Kernels before 5.0 tell no exits: what was given and never delivered, while a head grew by it.
#[test]
fn without_exits_growth_tells_the_members() {
    let mut s = script(&["net:napi_gro_receive_exit", "net:napi_gro_frags_exit"]);
    for i in 0..4 {
        entry(&mut s, T + i * 10, A + 256 * i, 1500, 7);
    }
    receive(&mut s, T + 100, A, 1500 + 1448 * 2);
    probe(&mut s, T + 105, A, 1448 * 3);
    receive(&mut s, T + 110, A + 768, 1500);
    let f = s.facts();
    let strong = |child| {
        let (kind, rule) = (LineageKind::GroMerge, Rule::GroGrowth);
        (kind, rule, 0, child, Some(1448), Conserved::Yes, Confidence::Strong)
    };
    assert_eq!(edges(&f), [strong(256), strong(512)]);
    assert!(
        f.unknown
            .iter()
            .any(|r| r.subject == "lineage" && r.because.contains("exit"))
    );
}

/// Software GSO: children until the payload is made up; a frame that is too much is none of them.
#[test]
fn segments_make_up_the_packet_they_were_cut_from() {
    let mut s = script(&[]);
    queue(&mut s, T, A, 66 + 1448 * 2 + 100);
    free(&mut s, T + 10, "skb:consume_skb", A, GSO);
    for (i, len) in [1514, 1514, 166, 1514].into_iter().enumerate() {
        xmit(&mut s, T + 20 + i as u64, 0, A + 256 * (i as u64 + 1), len);
    }
    let f = s.facts();
    let child = |child, bytes| {
        let (kind, rule) = (LineageKind::Gso, Rule::SegmentOrder);
        (kind, rule, 0, child, Some(bytes), Conserved::Yes, Confidence::Certain)
    };
    assert_eq!(edges(&f), [child(256, 1448), child(512, 1448), child(768, 100)]);
    let b = balance(&f, BalanceKind::GsoChildren);
    assert_eq!((b.bytes_expected, b.unexplained_bytes, b.matched), (2996, 0, 1));
}

/// Several packets are cut before any segment is sent: segments come in the order of packets.
#[test]
fn segments_follow_the_order_of_packets() {
    let mut s = script(&[]);
    for i in 0..2 {
        queue(&mut s, T + i, A + 4096 * i, 66 + 1448 * 2);
    }
    for i in 0..2 {
        free(&mut s, T + 10 + i, "skb:consume_skb", A + 4096 * i, GSO);
    }
    for i in 0..4 {
        xmit(&mut s, T + 20 + i, 0, A + 256 * (i + 1), 1514);
    }
    let f = s.facts();
    let parents: Vec<u64> = edges(&f).iter().map(|e| e.2).collect();
    assert_eq!(parents, [0, 0, 4096, 4096]);
    assert!(f.lineage.iter().all(|r| r.conserved == Conserved::Yes));
}

/// tbf: segments leave later, on another CPU; those that did not fit were dropped without ever being named before.
#[test]
fn a_full_queue_explains_segments_that_never_come() {
    let mut s = script(&[]);
    // A whole packet leaves: nothing older is in the queue. The first packet shows how long headers are.
    queue(&mut s, T - 10, A + 16384, 66);
    xmit(&mut s, T - 9, 0, A + 16384, 66);
    queue(&mut s, T, A, 66 + 1448 * 2);
    free(&mut s, T + 1, "skb:consume_skb", A, TBF);
    queue(&mut s, T + 2, A + 4096, 66 + 1448 * 3);
    free(&mut s, T + 3, "skb:consume_skb", A + 4096, TBF);
    free(&mut s, T + 4, "skb:kfree_skb", A + 8192, QUEUE);
    queue(&mut s, T + 5, A + 12288, 66 + 1448 * 2);
    free(&mut s, T + 6, "skb:consume_skb", A + 12288, TBF);
    for i in 0..6 {
        xmit(&mut s, T + 20 + i, 1, A + 256 * (i + 1), 1514);
    }
    let f = s.facts();
    let of: Vec<(u64, Conserved)> = edges(&f).iter().map(|e| (e.2, e.5)).collect();
    let yes = |p| (p, Conserved::Yes);
    assert_eq!(of, [yes(0), yes(0), yes(4096), yes(4096), yes(12288), yes(12288)]);
    assert!(f.lineage.iter().all(|r| r.kind == LineageKind::QdiscSegment));
}

/// A loss forgets what was being cut: the next frames are nobody's.
#[test]
fn no_edge_across_a_loss() {
    let mut s = script(&[]);
    queue(&mut s, T, A, 66 + 1448 * 2);
    free(&mut s, T + 10, "skb:consume_skb", A, GSO);
    xmit(&mut s, T + 20, 0, A + 256, 1514);
    s.lost(0, Some(3));
    xmit(&mut s, T + 90, 0, A + 512, 1514);
    let f = s.facts();
    assert_eq!(f.lineage.len(), 1);
    assert_eq!(
        (f.lineage[0].conserved, f.lineage[0].confidence),
        (Conserved::Unknown, Confidence::Weak)
    );
}

/// A packet capture's copy is a life of its own and belongs to the frame that follows.
#[test]
fn a_tap_is_a_copy_of_the_next_frame() {
    let mut s = script(&[]);
    queue(&mut s, T, A, 66);
    free(&mut s, T + 1, "skb:consume_skb", A + 256, TAP);
    xmit(&mut s, T + 2, 0, A, 66);
    let f = s.facts();
    let tap = (LineageKind::Tap, Rule::TapBeforeXmit, 0, 256);
    let e = edges(&f);
    assert_eq!(e.iter().map(|e| (e.0, e.1, e.2, e.3)).collect::<Vec<_>>(), [tap]);
    assert!(f.stats.iter().all(|x| x.name != "untracked_frees" || x.value == 0));
}

fn named(s: &mut Script, ts: u64, addr: u64) {
    s.ev(ts, 0, Ctx::Task(7), "tcp:tcp_sendmsg_locked", &[("skb_addr", N(addr))]);
}
fn resent(s: &mut Script, ts: u64, addr: u64) {
    let v = [("skbaddr", N(addr)), ("family", N(2)), ("err", N(0))];
    s.ev(ts, 0, Ctx::Task(7), "tcp:tcp_retransmit_skb", &v);
}

/// Originals and companions by the learned distance; sent again while the companion is busy, a copy at any address.
#[test]
fn originals_companions_and_copies() {
    let mut s = script(&[]);
    for i in 0..4 {
        named(&mut s, T + i * 100, A + 512 * i);
        queue(&mut s, T + i * 100 + 50, A + 512 * i + FCLONE, 1514);
    }
    // Companion again, then a copy.
    queue(&mut s, T + 1000, A + FCLONE, 1514);
    resent(&mut s, T + 1010, A);
    queue(&mut s, T + 2000, A + 65536, 1514);
    resent(&mut s, T + 2010, A + 512);
    let f = s.facts();
    let e: Vec<(LineageKind, u64, u64)> = edges(&f).iter().map(|e| (e.0, e.2, e.3)).collect();
    let clone = |o: u64| (LineageKind::Fclone, o, o + FCLONE);
    let want = [clone(0), clone(512), clone(1024), clone(1536), clone(0)];
    assert_eq!(e[..5], want);
    assert_eq!(e[5..], [(LineageKind::RetransmitCopy, 512, 65536)]);
    // The original sent again is the same life.
    assert_eq!(f.lineage[0].parent, f.lineage[4].parent);
}

/// Sent again in a task, as a copy, to a peer in this host: the peer's answer is queued on the same CPU before the event
/// that tells of the copy.
#[test]
fn a_copy_is_told_though_the_peer_answers_first() {
    let mut s = script(&[]);
    for i in 0..40 {
        named(&mut s, T + i * 100, A + 512 * i);
        queue(&mut s, T + i * 100 + 50, A + 512 * i + FCLONE, 1514);
    }
    let (copy, answer) = (A + 65536, A + 65536 + 512);
    let frame = |s: &mut Script, ts: u64, ctx: Ctx, addr: u64, len: u64| {
        let v = [("skbaddr", N(addr)), ("len", N(len)), ("name", S("eth0"))];
        s.ev(ts, 0, ctx, "net:net_dev_queue", &v);
    };
    frame(&mut s, T + 9000, Ctx::Task(7), copy, 1514);
    frame(&mut s, T + 9100, Ctx::Soft(7), answer, 66);
    resent(&mut s, T + 9200, A + 512);
    let f = s.facts();
    let again: Vec<_> = edges(&f)
        .iter()
        .filter(|e| e.0 == LineageKind::RetransmitCopy)
        .map(|e| (e.2, e.3))
        .collect();
    assert_eq!(again, [(512, 65536)]);
}

/// With hashed pointers nothing is computed from addresses: no companion is claimed, and it is said.
#[test]
fn hashed_pointers_have_no_distance() {
    let mut s = script(&[]);
    for i in 0..40 {
        named(&mut s, T + i * 100, 0x10000 + 512 * i);
        queue(&mut s, T + i * 100 + 50, 0x10000 + 512 * i + FCLONE, 1514);
    }
    let f = s.facts();
    assert!(f.lineage.is_empty());
    assert!(f.skbs.iter().all(|x| x.confidence <= Confidence::Strong));
    assert!(f.unknown.iter().any(|r| r.because.contains("hashed")));
}
