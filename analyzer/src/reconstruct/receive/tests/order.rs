//! Segments out of order.

use super::reads::ends;
use super::*;
use crate::Confidence::{self, Certain, Strong, Weak};
use crate::reconstruct::receive::tables::RxEnd::{self, Queued, Read};
use crate::testing::tcp::Sock;

/// 3a: a segment that no sk_data_ready follows may be out of order. The copies say what they read: no order is needed.
#[test]
fn out_of_order_segments_that_copies_name_are_certain() {
    let mut s = script();
    arrive(&mut s, 0, A, 100);
    recv(&mut s, 50, A + 256, 300); // out of order: no announcement
    probe(&mut s, 60, SOFT, A + 256, 300);
    arrive(&mut s, 100, A + 512, 200); // fills the hole
    read(&mut s, 200, A, 100);
    read(&mut s, 300, A + 512, 200);
    read(&mut s, 400, A + 256, 300);
    arrive(&mut s, 500, A + 768, 50); // all read: order is certain again
    read(&mut s, 600, A + 768, 50);
    let r = rx(&s);
    let expect = [
        (Some(100), Read, Certain),
        (Some(300), Read, Certain),
        (Some(200), Read, Certain),
        (Some(50), Read, Certain),
    ];
    assert_eq!(ends(&r), expect);
    let last: Vec<i64> = r.iter().map(|r| r.start_ns + r.total_ns - T as i64).collect();
    assert_eq!(last, [208, 408, 308, 608]);
    assert_eq!(r[1].stage(Stage::OutOfOrder), Some(60));
}

/// Coalesced behind what filled the hole they are taken by order: weak when several calls read what is in doubt, strong
/// when one call read it all.
#[test]
fn coalesced_out_of_order_segments() {
    for (calls, expect) in [(vec![200, 300], Weak), (vec![500], Strong)] {
        let mut s = script();
        for (k, bytes) in [(0u64, 100u64), (1, 200)] {
            recv(&mut s, k * 50, A + k * 256, bytes); // out of order: no announcement
            probe(&mut s, k * 50 + 10, SOFT, A + k * 256, bytes);
        }
        arrive(&mut s, 100, A + 512, 200); // fills the hole
        for (k, bytes) in calls.iter().enumerate() {
            read(&mut s, 200 + 100 * k as u64, A + 512, *bytes);
        }
        let r = rx(&s);
        let got: Vec<_> = r.iter().map(|r| (r.bytes, r.confidence)).collect();
        assert_eq!(got, [(Some(100), expect), (Some(200), expect), (Some(200), Certain)]);
        let last: Vec<i64> = r.iter().map(|r| r.start_ns + r.total_ns - T as i64).collect();
        let end = 108 + 100 * calls.len() as i64;
        assert_eq!(last, [end, end, 208]);
    }
}

/// Both ends are on the recorded host: the peer's next probe says what the ACK sent for a segment acknowledged.
#[test]
fn the_peer_says_what_was_acknowledged() {
    let held = [
        (Some(100), Read, Strong),
        (Some(200), Queued, Certain),
        (Some(200), Read, Certain),
    ];
    assert_eq!(acknowledged_by(SOFT), held);
    // Out of its backlog, where later ACKs were merged into the first without an event: when it was sent is not when so much
    // was in order.
    let guess = [
        (Some(100), Read, Weak),
        (Some(200), Queued, Weak),
        (Some(200), Read, Certain),
    ];
    assert_eq!(acknowledged_by(Ctx::Task(9)), guess);
}

/// Two behind a hole, and what fills it; a read takes it and the first of the two. The peer processes the ACKs in `ctx`.
fn acknowledged_by(ctx: Ctx) -> Vec<(Option<u32>, RxEnd, Confidence)> {
    let mut s = script();
    let peer = Sock {
        sk: SOCK.sk + 4_096,
        cookie: 78,
        sport: SOCK.dport,
        dport: SOCK.sport,
    };
    // The peer's socket has the addresses of ours the other way round.
    let swap = |s: &mut Script, t: u64, addr: u64, una: u64| {
        let at = |last: u8, port: u16| {
            let mut b = vec![2, 0];
            b.extend(port.to_be_bytes());
            b.extend([10, 0, 0, last]);
            b.resize(28, 0);
            crate::testing::B(b)
        };
        let more = [
            ("saddr", at(2, peer.sport)),
            ("daddr", at(1, peer.dport)),
            ("skbaddr", N(addr)),
            ("snd_una", N(una)),
        ];
        peer.probe(s, T + t, 0, ctx, &more);
    };
    let ack = |s: &mut Script, t: u64, addr: u64| {
        for (k, event) in ["net:net_dev_queue", "net:net_dev_start_xmit"].into_iter().enumerate() {
            skb(s, t + k as u64, 0, SOFT, event, addr, 66);
        }
    };
    let mut una = 1_000;
    for (k, bytes, acked) in [(0u64, 100u64, 0u64), (1, 200, 0), (2, 200, 300)] {
        let (t, to) = (k * 100, 0x10_0000 + k * 256);
        recv(&mut s, t, A + k * 256, bytes);
        probe(&mut s, t + 10, SOFT, A + k * 256, bytes);
        if acked > 0 {
            ready(&mut s, t + 20);
        }
        ack(&mut s, t + 30, A + to);
        recv(&mut s, t + 40, A + to, 0);
        swap(&mut s, t + 50, A + to, una); // as before this ACK
        una += acked;
    }
    recv(&mut s, 360, A + 0x20_0000, 0);
    swap(&mut s, 370, A + 0x20_0000, una);
    // 300 acknowledged: what filled the hole, and the first of the two; the other waits for another hole.
    read(&mut s, 400, A + 512, 300);
    let r = rx(&s);
    let rows = r.iter().filter(|r| r.bytes > Some(0));
    rows.map(|r| (r.bytes, r.end, r.confidence)).collect()
}
