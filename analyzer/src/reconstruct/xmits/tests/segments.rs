//! Which segment belongs to which packet, and since when it has waited.

use super::*;
use crate::Confidence;
use crate::reconstruct::xmits::PassEnd;

/// Ethernet, IPv4, TCP with timestamps.
const H: u64 = 66;

/// Software GSO: the parent is consumed, its segments start on the same CPU; their bytes sum up, so the link is certain.
#[test]
fn software_gso_segments_have_waited_since_their_parent_was_queued() {
    let mut s = script();
    dev(&mut s, 0, TASK, "queue", A, H + 2 * 1448 + 100);
    consume(&mut s, 40, TASK, A);
    for (i, len) in [1448, 1448, 100].into_iter().enumerate() {
        sent(&mut s, 50 + 20 * i as u64, TASK, B + 256 * i as u64, H + len);
    }
    let f = facts(&s);
    let p = &f.xmits[0];
    assert_eq!((p.end, p.bypass, p.total_ns), (PassEnd::Segmented, Some(true), 40));
    for (i, r) in f.xmits[1..].iter().enumerate() {
        assert_eq!((r.parent, r.queued_ns), (p.skb_id, Some(T as i64)));
        assert_eq!((r.qdisc_ns, r.unattributed_ns), (Some(0), 50 + 20 * i as i64));
        assert_eq!(r.confidence, Confidence::Certain);
    }
}

/// A segment too many or too few: conservation fails, and it is said.
#[test]
fn segments_that_do_not_sum_up_are_weak() {
    let mut s = script();
    dev(&mut s, 0, TASK, "queue", A, H + 2 * 1448 + 100);
    consume(&mut s, 40, TASK, A);
    for (i, len) in [1448, 1448, 333].into_iter().enumerate() {
        sent(&mut s, 50 + 20 * i as u64, TASK, B + 256 * i as u64, H + len);
    }
    let f = facts(&s);
    assert!(
        f.xmits[1..].iter().all(|r| r.confidence == Confidence::Weak),
        "{:?}",
        f.xmits
    );
}

/// A qdisc that cuts packets up (tbf) consumes them before it is said to have taken them; `lost` segments are dropped.
fn cut(s: &mut Script, t: u64, addr: u64, len: u64, lost: &[u64]) {
    dev(s, t, TASK, "queue", addr, len);
    consume(s, t + 1, TASK, addr);
    qdisc(s, t + 2, TASK, "enqueue", addr, 0, 0);
    qdisc(s, t + 3, TASK, "dequeue", 0, 0, 0);
    for l in lost {
        let v = [
            ("skbaddr", N(*l)),
            ("protocol", N(0x800)),
            ("reason", N(64)),
            ("location", N(0x5000)),
        ];
        s.ev(T + t + 4, 0, TASK, "skb:kfree_skb", &v);
    }
}
/// A shaper lets one out.
fn out(s: &mut Script, t: u64, addr: u64, len: u64) {
    qdisc(s, t, SOFT, "dequeue", addr, 1, 0);
    sent(s, t + 1, SOFT, addr, len);
    qdisc(s, t + 20, SOFT, "dequeue", 0, 0, 0);
}

#[test]
fn segments_of_a_qdisc_leave_in_order_and_their_dropped_ones_are_rows() {
    let mut s = script();
    s.symbol(0x5000, "__dev_queue_xmit");
    let at = |i: u64| B + 256 * i;
    cut(&mut s, 0, A, H + 1448 + 10, &[]);
    cut(&mut s, 100, C, H + 3 * 1448, &[at(9)]);
    // An ordinary packet behind them.
    dev(&mut s, 200, TASK, "queue", at(20), 90);
    qdisc(&mut s, 201, TASK, "enqueue", at(20), 0, 0);
    for (i, len) in [1448, 10, 1448, 1448].into_iter().enumerate() {
        out(&mut s, 1000 * (1 + i as u64), at(i as u64), H + len);
    }
    out(&mut s, 9000, at(20), 90);
    let f = facts(&s);
    let of = |t: u64| {
        f.xmits
            .iter()
            .find(|r| r.queued_ns == Some((T + t) as i64))
            .unwrap()
            .skb_id
    };
    let mut got: Vec<_> = f
        .xmits
        .iter()
        .filter(|r| r.parent.is_some())
        .map(|r| (r.started_ns.map(|t| t - T as i64), r.parent, r.end, r.qdisc_ns))
        .collect();
    got.sort();
    assert_eq!(
        got,
        [
            (None, of(100), PassEnd::Dropped, Some(4)),
            (Some(1001), of(0), PassEnd::Sent, Some(1001)),
            (Some(2001), of(0), PassEnd::Sent, Some(2001)),
            (Some(3001), of(100), PassEnd::Sent, Some(2901)),
            (Some(4001), of(100), PassEnd::Sent, Some(3901)),
        ]
    );
    assert!(
        f.xmits.iter().all(|r| r.confidence >= Confidence::Strong),
        "{:?}",
        f.xmits
    );
    assert!(
        f.txq_stops.is_empty(),
        "a shaper that holds packets is no stopped queue"
    );
}

/// The recording begins while segments of earlier packets wait: whose the next ones are is a guess, until one that is
/// shorter than the others comes where a packet's last is due.
#[test]
fn segments_of_an_unknown_backlog_are_weak_until_a_last_one_fits() {
    let mut s = script();
    let at = |i: u64| B + 256 * i;
    cut(&mut s, 0, A, H + 2 * 1448, &[]);
    cut(&mut s, 10, C, H + 1448 + 10, &[]);
    cut(&mut s, 20, C + 512, H + 2 * 1448, &[]);
    for (i, len) in [1448, 1448, 1448, 10, 1448, 1448].into_iter().enumerate() {
        out(&mut s, 1000 * (1 + i as u64), at(i as u64), H + len);
    }
    let f = facts(&s);
    let mut c: Vec<_> = f.xmits.iter().filter(|r| r.parent.is_some()).collect();
    c.sort_by_key(|r| r.started_ns);
    let words: Vec<_> = c.iter().map(|r| r.confidence.word()).collect();
    assert_eq!(words, ["weak", "weak", "strong", "strong", "strong", "strong"]);
}

/// Before 6.3 a free names no place; before 5.15 no enqueue is recorded: the segments are then nobody's.
#[test]
fn segments_without_an_enqueue_have_no_parent() {
    let mut s = Script::new("6.18.44", &["qdisc:qdisc_enqueue"]);
    dev(&mut s, 0, TASK, "queue", A, H + 2 * 1448);
    consume(&mut s, 1, TASK, A);
    qdisc(&mut s, 3, TASK, "dequeue", 0, 0, 0);
    dev(&mut s, 50, TASK, "queue", C, 90);
    out(&mut s, 1000, B, H + 1448);
    let f = facts(&s);
    let r = f.xmits.iter().find(|r| r.started_ns.is_some()).unwrap();
    assert_eq!((r.parent, r.queued_ns, r.bypass), (None, None, Some(false)));
    assert_eq!(f.xmits[0].end, PassEnd::Consumed);
}
