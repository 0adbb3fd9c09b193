//! Whose segments leave a queue that may hold some of packets that were not seen.

use super::*;

/// tbf: after a loss, and where the recording begins, its queue may hold segments of packets that were not seen; a short one where it is due shows
/// that none is ahead.
#[test]
fn segments_are_a_packets_once_a_short_one_is_where_it_is_due() {
    for lost in [true, false] {
        let mut s = script(&[]);
        if lost {
            s.lost(0, Some(40));
        }
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
}

/// Segments that were taken for a packet's on a guess may be an earlier one's, and then more are owed to it: what a whole packet that leaves shows of
/// the order is known only once nothing is waited for.
#[test]
fn after_a_loss_a_whole_packet_shows_nothing_while_others_are_cut() {
    let mut s = script(&[]);
    s.lost(0, Some(40));
    let cut = |s: &mut Script, t: u64, at: u64| {
        queue(s, T + t, A + at, 66 + 1448 * 2);
        free(s, T + t + 1, "skb:consume_skb", A + at, TBF);
    };
    cut(&mut s, 0, 0);
    let whole = A + 65_536;
    queue(&mut s, T + 60, whole, 66);
    cut(&mut s, 70, 8192);
    // Two of a packet that was not seen are taken for the first one's, whose own for the second's.
    for i in 0..4 {
        xmit(&mut s, T + 100 + i, 1, A + 256 * (i + 1), 1514);
    }
    xmit(&mut s, T + 110, 1, whole, 66);
    cut(&mut s, 120, 16_384);
    for i in 4..6 {
        xmit(&mut s, T + 130 + i, 1, A + 256 * (i + 1), 1514);
    }
    // All that was cut has left: what follows is known.
    queue(&mut s, T + 150, whole + 4096, 66);
    xmit(&mut s, T + 151, 1, whole + 4096, 66);
    cut(&mut s, 160, 24_576);
    for i in 6..8 {
        xmit(&mut s, T + 170 + i, 1, A + 256 * (i + 1), 1514);
    }
    let f = s.facts();
    let said: Vec<_> = edges(&f).iter().map(|e| (e.2, e.6)).collect();
    let (weak, strong) = (Confidence::Weak, Confidence::Strong);
    let guessed = [0, 0, 8192, 8192, 16_384, 16_384].map(|parent| (parent, weak));
    assert_eq!(said, [&guessed[..], &[(24_576, strong), (24_576, strong)]].concat());
}
