//! Segments that a queue refused, and segments that it had taken and dropped for another packet.

use super::*;

const RESET: u64 = 0xffff_ffff_8600_0000;
const FULL: u64 = 66 + 1448;

/// A queue whose order is known: a whole packet left, and then two segments of one that was cut.
fn begun() -> Script {
    let mut s = script(&[]);
    s.symbol(RESET, "__rtnl_unlock");
    whole(&mut s, T - 100, 65_536);
    xmit(&mut s, T - 99, 0, A + 65_536, 66);
    cut(&mut s, T - 90, 69_632, 1448 + 100);
    left(&mut s, T - 80, 73_728, &[FULL, 166]);
    s
}
fn whole(s: &mut Script, t: u64, at: u64) {
    queue(s, t, A + at, 66);
}
/// It is cut by the queue, which took of it.
fn cut(s: &mut Script, t: u64, at: u64, payload: u64) {
    queue(s, t, A + at, 66 + payload);
    free(s, t + 1, "skb:consume_skb", A + at, TBF);
}
/// It is cut by the queue, which said that it took nothing.
fn refused(s: &mut Script, t: u64, at: u64, payload: u64) {
    queue(s, t, A + at, 66 + payload);
    free(s, t + 1, "skb:kfree_skb", A + at, TBF);
}
fn dropped(s: &mut Script, t: u64, at: u64) {
    free(s, t, "skb:kfree_skb", A + at, QUEUE);
}
/// Frames that no event queued leave, at addresses from `at` on.
fn left(s: &mut Script, t: u64, at: u64, lens: &[u64]) {
    for (i, len) in lens.iter().enumerate() {
        xmit(s, t + i as u64, 1, A + at + 256 * i as u64, *len);
    }
}
/// Parent, conserved and why, of what was cut after the begin.
fn of(f: &Facts) -> Vec<(u64, Conserved, Why)> {
    let addr = |r: crate::SkbId| f.skbs[r.0 as usize].skbaddr - A;
    let rows = f.lineage.iter().map(|r| (addr(r.parent), r.conserved, r.why));
    rows.filter(|r| r.0 < 65_536).collect()
}
const YES: (Conserved, Why) = (Conserved::Yes, Why::Unit);
const UNTOLD: (Conserved, Why) = (Conserved::Unknown, Why::QueueDrops);
fn all(f: &Facts, parent: u64, n: usize, what: (Conserved, Why)) {
    assert_eq!(of(f), vec![(parent, what.0, what.1); n]);
    let b = balance(f, BalanceKind::GsoChildren);
    assert_eq!(b.unexplained_bytes, 0, "{b:?}");
    assert_eq!(b.because.is_empty(), what == YES, "{b:?}");
    let weak = f.lineage.iter().filter(|r| r.confidence <= Confidence::Weak).count();
    assert_eq!(weak, if what == YES { 0 } else { n });
}

/// tbf says that it took nothing of a packet, since a queue that drops its head says so each time: the segments are there, and leave.
#[test]
fn a_queue_that_drops_its_head_has_what_it_said_to_refuse() {
    let mut s = begun();
    whole(&mut s, T, 4096);
    whole(&mut s, T + 1, 8192);
    refused(&mut s, T + 10, 12_288, 1448 * 2);
    dropped(&mut s, T + 12, 8192);
    dropped(&mut s, T + 13, 4096);
    cut(&mut s, T + 20, 0, 1448 * 2 + 100);
    left(&mut s, T + 40, 16_384, &[FULL, FULL, FULL]);
    // Two of the one before, and one too many.
    all(&s.facts(), 0, 2, UNTOLD);
}

/// A full queue refuses all segments of one at its tail: what follows is as it was.
#[test]
fn a_queue_that_refuses_all_segments_has_none() {
    let mut s = begun();
    refused(&mut s, T + 10, 12_288, 1448 * 2);
    dropped(&mut s, T + 12, 4096);
    dropped(&mut s, T + 13, 8192);
    cut(&mut s, T + 20, 0, 1448 * 2 + 100);
    left(&mut s, T + 40, 16_384, &[FULL, FULL, 166]);
    all(&s.facts(), 0, 3, YES);
}

/// It refuses a whole packet: that is dropped itself, and nothing that had been taken is.
#[test]
fn a_queue_that_refuses_a_whole_packet_drops_nothing_of_its_own() {
    let mut s = begun();
    cut(&mut s, T, 0, 1448 * 3);
    whole(&mut s, T + 10, 4096);
    dropped(&mut s, T + 11, 4096);
    left(&mut s, T + 40, 16_384, &[FULL, FULL, FULL]);
    all(&s.facts(), 0, 3, YES);
}

/// While a whole packet is queued something else is dropped that no event named: a segment that had been taken.
#[test]
fn a_segment_dropped_for_a_whole_packet_had_been_taken() {
    let mut s = begun();
    cut(&mut s, T, 0, 1448 * 2 + 100);
    left(&mut s, T + 5, 16_384, &[FULL]);
    whole(&mut s, T + 10, 4096);
    dropped(&mut s, T + 11, 8192);
    left(&mut s, T + 40, 20_480, &[166]);
    all(&s.facts(), 0, 1, UNTOLD);
}

/// Another thread drops something on that CPU: it is none of the queue's.
#[test]
fn what_another_thread_drops_was_not_in_the_queue() {
    let mut s = begun();
    cut(&mut s, T, 0, 1448 * 2 + 100);
    whole(&mut s, T + 10, 4096);
    let v = [
        ("skbaddr", N(A + 8192)),
        ("location", N(QUEUE + 16)),
        ("protocol", N(0x0800)),
    ];
    s.ev(T + 11, 0, Ctx::Task(8), "skb:kfree_skb", &v);
    left(&mut s, T + 40, 16_384, &[FULL, FULL, 166]);
    all(&s.facts(), 0, 3, YES);
}

/// What was taken for a refusal is doubted once the queue shows that it drops what it has taken.
#[test]
fn what_a_queue_shows_later_doubts_what_it_seemed_to_refuse() {
    let run = |shows: bool| {
        let mut s = begun();
        cut(&mut s, T, 0, 1448 * 3);
        dropped(&mut s, T + 2, 8192);
        left(&mut s, T + 40, 16_384, &[FULL, FULL]);
        whole(&mut s, T + 50, 4096);
        whole(&mut s, T + 60, 12_288);
        dropped(&mut s, T + 61, if shows { 4096 } else { 12_288 });
        s.facts()
    };
    all(&run(true), 0, 2, UNTOLD);
    all(&run(false), 0, 2, YES);
}

/// A queue is emptied: what was waited for does not come, and what comes is another's.
#[test]
fn an_emptied_queue_has_nothing_that_is_waited_for() {
    let mut s = begun();
    cut(&mut s, T, 4096, 1448 * 2);
    free(&mut s, T + 10, "skb:kfree_skb", A + 8192, RESET);
    free(&mut s, T + 11, "skb:kfree_skb", A + 12_288, RESET);
    cut(&mut s, T + 20, 0, 1448 * 3);
    left(&mut s, T + 40, 16_384, &[FULL, FULL, FULL]);
    all(&s.facts(), 0, 3, (Conserved::Unknown, Why::Order));
}

/// What a queue dropped for a packet is freed only after it was asked for what is next: a segment of the same packet leaves before.
#[test]
fn a_drop_is_told_after_what_follows_has_left() {
    let mut s = begun();
    cut(&mut s, T, 0, 1448 * 2 + 100);
    left(&mut s, T + 5, 16_384, &[FULL]);
    whole(&mut s, T + 10, 4096);
    left(&mut s, T + 11, 20_480, &[166]);
    dropped(&mut s, T + 12, 8192);
    all(&s.facts(), 0, 2, UNTOLD);
}

/// Such a queue, too, is compared once all that was cut has left.
#[test]
fn a_queue_that_drops_its_head_is_compared_again() {
    let mut s = begun();
    whole(&mut s, T, 4096);
    dropped(&mut s, T + 1, 8192);
    whole(&mut s, T + 2, 12_288);
    xmit(&mut s, T + 3, 0, A + 4096, 66);
    xmit(&mut s, T + 4, 0, A + 12_288, 66);
    cut(&mut s, T + 20, 0, 1448 * 2 + 100);
    left(&mut s, T + 40, 16_384, &[FULL, FULL, 166]);
    all(&s.facts(), 0, 3, YES);
}
