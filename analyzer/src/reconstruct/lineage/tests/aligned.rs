//! Whose segments leave a queue that may hold some of packets that were not seen.

use super::*;

/// tbf: after a loss its queue may hold segments of packets that were not seen; a short one where it is due shows that none is ahead.
#[test]
fn after_a_loss_segments_are_a_packets_once_a_short_one_is_where_it_is_due() {
    let mut s = script(&[]);
    s.lost(0, Some(40));
    for (t, at, payload) in [(0, 0, 1448 * 2), (10, 4096, 1448 + 100), (20, 8192, 1448 * 2)] {
        queue(&mut s, T + t, A + at, 66 + payload);
        free(&mut s, T + t + 1, "skb:consume_skb", A + at, TBF);
        // Another packet: what leaves now does not leave in the call that queued it.
        queue(&mut s, T + t + 2, A + 65_536 + at, 66);
    }
    for (i, len) in [1514, 1514, 1514, 166, 1514, 1514].into_iter().enumerate() {
        xmit(&mut s, T + 100 + i as u64, 1, A + 256 * (i as u64 + 1), len);
    }
    let f = s.facts();
    let said: Vec<_> = f.lineage.iter().map(|r| (r.conserved, r.confidence)).collect();
    let (weak, strong) = (
        (Conserved::Unknown, Confidence::Weak),
        (Conserved::Yes, Confidence::Strong),
    );
    assert_eq!(said, [weak, weak, strong, strong, strong, strong]);
}

/// What was queued before a packet that leaves whole has left: segments that were taken for later packets' were earlier ones'.
#[test]
fn after_a_loss_a_whole_packet_shows_whose_segments_follow() {
    let mut s = script(&[]);
    s.lost(0, Some(40));
    for at in [0, 4096] {
        queue(&mut s, T + at / 100, A + at, 66 + 1448 * 2);
        free(&mut s, T + at / 100 + 1, "skb:consume_skb", A + at, TBF);
    }
    let whole = A + 65_536;
    queue(&mut s, T + 60, whole, 66);
    queue(&mut s, T + 70, A + 8192, 66 + 1448 * 2);
    free(&mut s, T + 71, "skb:consume_skb", A + 8192, TBF);
    // Two of a packet that was not seen, two of each that was cut; the whole one left before the last two.
    for i in 0..6 {
        xmit(&mut s, T + 100 + i, 1, A + 256 * (i + 1), 1514);
    }
    xmit(&mut s, T + 110, 1, whole, 66);
    for i in 6..8 {
        xmit(&mut s, T + 114 + i, 1, A + 256 * (i + 1), 1514);
    }
    let f = s.facts();
    let said: Vec<_> = edges(&f).iter().map(|e| (e.2, e.3, e.6)).collect();
    let weak = |parent, child| (parent, child, Confidence::Weak);
    let guessed = [
        (0, 256),
        (0, 512),
        (4096, 768),
        (4096, 1024),
        (8192, 1280),
        (8192, 1536),
    ];
    let guessed = guessed.map(|(parent, child)| weak(parent, child));
    let known = [(8192, 1792, Confidence::Strong), (8192, 2048, Confidence::Strong)];
    assert_eq!(said, [&guessed[..], &known[..]].concat());
}
