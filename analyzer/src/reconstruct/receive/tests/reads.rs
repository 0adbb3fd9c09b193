use super::*;
use crate::Confidence;
use crate::reconstruct::receive::tables::{Censored, RxEnd};
use crate::testing::tcp::Sock;

pub(super) fn ends(r: &[RxRow]) -> Vec<(Option<u32>, RxEnd, Confidence)> {
    r.iter().map(|r| (r.bytes, r.end, r.confidence)).collect()
}
use Confidence::{Certain, Strong, Unknown, Weak};
use RxEnd::{Protocol, Queued, Read};

/// A pure ACK is done when TCP had it.
#[test]
fn a_segment_without_payload_ends_in_the_protocol() {
    let mut s = script();
    recv(&mut s, 0, A, 0);
    probe(&mut s, 30, SOFT, A, 0);
    let r = rx(&s);
    assert_eq!(ends(&r), [(Some(0), Protocol, Certain)]);
    assert_eq!((r[0].total_ns, r[0].pid), (30, 0));
}

/// 3a: a copy longer than the skb it names took what was coalesced into it, in order of arrival.
#[test]
fn coalesced_segments_are_taken_by_bytes() {
    let mut s = script();
    for k in 0..3u64 {
        arrive(&mut s, k * 50, A + k * 256, 1_000);
    }
    read(&mut s, 200, A, 2_500);
    read(&mut s, 300, A, 500);
    let r = rx(&s);
    assert_eq!(
        ends(&r),
        [
            (Some(1_000), Read, Certain),
            (Some(1_000), Read, Strong),
            (Some(1_000), Read, Strong)
        ]
    );
    let last: Vec<i64> = r.iter().map(|r| r.start_ns + r.total_ns - T as i64).collect();
    assert_eq!(last, [208, 208, 308]);
}

/// A unit read in several calls ends with the call that took its last byte.
#[test]
fn a_read_across_several_calls() {
    let mut s = script();
    arrive(&mut s, 0, A, 1_000);
    read(&mut s, 100, A, 400);
    read(&mut s, 200, A, 400);
    read(&mut s, 300, A, 200);
    let r = rx(&s);
    assert_eq!(ends(&r), [(Some(1_000), Read, Certain)]);
    assert_eq!((r[0].rcvq_ns, r[0].total_ns), (Some(280), 308));
}

/// MSG_PEEK copies too, and takes nothing.
#[test]
fn a_peek_takes_nothing() {
    let mut s = script();
    arrive(&mut s, 0, A, 1_000);
    copy(&mut s, 100, A, 1_000);
    length(&mut s, 105, 1_000, 2);
    exit(&mut s, 106, "recvfrom", 1_000);
    read(&mut s, 200, A, 1_000);
    let r = rx(&s);
    assert_eq!((ends(&r), r[0].total_ns), (vec![(Some(1_000), Read, Certain)], 208));
}

/// splice, zero-copy receive, kTLS: bytes leave without a copy event.
#[test]
fn a_read_without_a_copy_event() {
    let mut s = script();
    arrive(&mut s, 0, A, 1_000);
    arrive(&mut s, 50, A + 256, 500);
    length(&mut s, 200, 1_500, 0);
    let r = rx(&s);
    assert_eq!(ends(&r), [(Some(1_000), Read, Strong), (Some(500), Read, Strong)]);
    assert_eq!((r[0].stage(Stage::Copy), r[0].rcvq_ns), (Some(0), Some(180)));
}

/// What a copy took beyond the skb it names was coalesced into that one.
#[test]
fn coalesced_skbs_are_told() {
    let mut s = script();
    for k in 0..3u64 {
        arrive(&mut s, k * 50, A + k * 256, 1_000);
    }
    read(&mut s, 200, A, 2_500);
    read(&mut s, 300, A, 500);
    let c = s.capture();
    let trace = crate::ingest::Trace::read(&c, &Default::default());
    let comms = crate::reconstruct::comms::Comms::read(&trace, &c);
    let identity = crate::reconstruct::skb::identify(&trace, &c);
    let tcp = crate::reconstruct::tcp::run(&trace, &comms);
    let threads = crate::reconstruct::thread::Threads::read(&trace);
    let aways = Default::default();
    let asks = crate::reconstruct::receive::Asks {
        aways: &aways,
        threads: &threads,
        comms: &comms,
        sockets: &tcp.sockets,
        softirqs: crate::nearby::Nearby::of(&[]),
        polls: crate::nearby::Nearby::of(&[]),
    };
    let mut found = crate::reconstruct::receive::walk(&trace, &c, &identity, &tcp, asks);
    crate::reconstruct::dispatch::together(&trace, trace.payloads(), &mut [&mut found]);
    let found = crate::reconstruct::dispatch::Walk::finish(found);
    let edges: Vec<_> = found
        .coalesced
        .iter()
        .map(|c| (c.ts_ns - T as i64, c.bytes, c.confidence))
        .collect();
    assert_eq!(edges, [(200, 1_000, Strong), (300, 1_000, Strong)]);
    assert!(found.coalesced.iter().all(|c| c.head == found.rows[0].skb_id));
    let tails: Vec<_> = found.coalesced.iter().map(|c| c.tail).collect();
    assert_eq!(tails, [found.rows[1].skb_id, found.rows[2].skb_id]);
    let bytes: Vec<_> = found.streams.values().copied().collect();
    let expect = crate::reconstruct::receive::StreamBytes {
        arrived: 3_000,
        copied: 3_000,
        taken: 3_000,
        ..Default::default()
    };
    assert_eq!(bytes, [expect]);
}

/// Softirqs that ran on the reader's CPU between copy and return are in those stages, and named.
#[test]
fn softirqs_inside_the_copy() {
    let mut s = script();
    arrive(&mut s, 0, A, 1_000);
    copy(&mut s, 100, A, 1_000);
    s.ev(T + 110, 1, SOFT, "irq:softirq_entry", &[("vec", N(1))]);
    s.ev(T + 140, 1, SOFT, "irq:softirq_exit", &[("vec", N(1))]);
    length(&mut s, 150, 1_000, 0);
    exit(&mut s, 160, "recvfrom", 1_000);
    let r = rx(&s);
    assert_eq!((r[0].stage(Stage::Copy), r[0].nested_ns), (Some(50), Some(30)));
}

/// However long the recording, what is kept is what is alive.
#[test]
fn units_that_are_over_are_forgotten() {
    use crate::reconstruct::receive::tracker::CROWDED;
    let mut s = script();
    for k in 0..4 * CROWDED as u64 {
        // Received, never claimed, never freed by an event: each life ends silently.
        recv(&mut s, k * 100_000, A + (k % 8) * 256, 500);
    }
    let t = 5 * CROWDED as u64 * 100_000;
    arrive(&mut s, t, A, 100);
    read(&mut s, t + 100, A, 100);
    assert_eq!(ends(&rx(&s)), [(Some(100), Read, Certain)]);
}

/// Segments of another socket, or a listener's announcement, between the two do not hide the doubt nor take the ready.
#[test]
fn other_sockets_between_change_nothing() {
    let mut s = script();
    let other = Sock {
        sk: SOCK.sk + 64,
        cookie: 9,
        sport: 1,
        ..SOCK
    };
    recv(&mut s, 0, A, 300);
    probe(&mut s, 10, SOFT, A, 300); // out of order
    recv(&mut s, 20, A + 256, 40);
    other.probe(&mut s, T + 30, 0, SOFT, &[("skbaddr", N(A + 256)), ("data_len", N(40))]);
    other.ready(&mut s, T + 35, 0, SOFT);
    recv(&mut s, 50, A + 512, 200);
    probe(&mut s, 60, SOFT, A + 512, 200);
    other.ready(&mut s, T + 65, 0, SOFT); // not this segment's
    ready(&mut s, 70);
    read(&mut s, 100, A + 512, 200);
    let r = rx(&s);
    let of = |bytes| r.iter().find(|r| r.bytes == Some(bytes)).unwrap();
    assert_eq!((of(200).confidence, of(200).stage(Stage::Ready)), (Certain, Some(10)));
    assert_eq!((of(300).end, of(40).end), (Queued, Queued));
}

/// What the socket held before the recording began is read first: its bytes are not those of the units seen.
#[test]
fn bytes_older_than_the_recording_take_no_unit() {
    let mut s = script();
    arrive(&mut s, 0, A, 1_000);
    read(&mut s, 100, A + 0x9000, 1_000); // an skb never seen
    read(&mut s, 200, A, 1_000);
    let r = rx(&s);
    assert_eq!((ends(&r), r[0].total_ns), (vec![(Some(1_000), Read, Certain)], 208));
}

/// Data of a state without a probe (handshake, FIN_WAIT, CLOSE_WAIT) is not in the FIFO and takes nothing from it.
#[test]
fn data_without_a_probe_takes_no_unit() {
    let mut s = script();
    recv(&mut s, 0, A, 700); // no probe
    arrive(&mut s, 50, A + 256, 700);
    read(&mut s, 100, A, 700);
    read(&mut s, 200, A + 256, 700);
    let r = rx(&s);
    assert_eq!(ends(&r), [(Some(700), Read, Certain)]);
    assert_eq!(r[0].start_ns, (T + 50) as i64);
}

/// Duplicates that TCP drops leave the FIFO.
#[test]
fn a_dropped_duplicate_is_not_read() {
    let mut s = script();
    s.symbol(0xffff_ffff_8300_0000, "tcp_data_queue");
    arrive(&mut s, 0, A, 100);
    recv(&mut s, 50, A + 256, 100);
    probe(&mut s, 60, SOFT, A + 256, 100);
    let v = [
        ("skbaddr", N(A + 256)),
        ("location", N(0xffff_ffff_8300_0010)),
        ("protocol", N(0x0800)),
        ("reason", N(33)),
    ];
    s.ev(T + 65, 0, SOFT, "skb:kfree_skb", &v);
    arrive(&mut s, 100, A + 512, 100);
    read(&mut s, 200, A, 200);
    let r = rx(&s);
    assert_eq!(ends(&r), [(Some(100), Read, Certain), (Some(100), Read, Strong)]);
}

/// The call that returned is not the read's: its return was not recorded, so it has none.
#[test]
fn the_return_of_another_call_is_not_this_reads() {
    let mut s = script();
    arrive(&mut s, 0, A, 100);
    copy(&mut s, 100, A, 100);
    length(&mut s, 105, 100, 0); // by readv, say, whose exit is not recorded
    exit(&mut s, 900_000, "read", 8);
    let r = rx(&s);
    assert_eq!((r[0].total_ns, r[0].stage(Stage::Return)), (105, None));
}

/// BIG TCP: data_len has 16 bits, the skb's length has the rest.
#[test]
fn payload_above_64_kib() {
    let mut s = script();
    let big = 150_000u64;
    recv(&mut s, 0, A, big);
    probe(&mut s, 10, SOFT, A, big & 0xffff);
    ready(&mut s, 20);
    read(&mut s, 100, A, big);
    assert_eq!(ends(&rx(&s)), [(Some(150_000), Read, Certain)]);
}

/// What waits when events are lost is not known to wait; what a socket holds afterwards is not known either.
#[test]
fn a_loss_in_the_middle() {
    let mut s = script();
    arrive(&mut s, 0, A, 100);
    s.lost(1, Some(40)); // the reader's CPU
    read(&mut s, 300, A, 100);
    arrive(&mut s, 500, A + 256, 100);
    arrive(&mut s, 550, A + 512, 100);
    length(&mut s, 600, 100, 0); // no copy named what it took
    read(&mut s, 700, A + 512, 100); // a copy names its head: the queue is known again
    arrive(&mut s, 800, A + 768, 100);
    read(&mut s, 900, A + 768, 100);
    let r = rx(&s);
    let expect = [
        (Some(100), Queued, Unknown),
        (Some(100), Read, Weak),
        (Some(100), Read, Certain),
        (Some(100), Read, Certain),
    ];
    assert_eq!(ends(&r), expect);
}

/// Not read by the end of the recording: queued, with the time until the last thing known.
#[test]
fn what_is_not_read_is_queued() {
    let mut s = script();
    arrive(&mut s, 0, A, 100);
    let r = rx(&s);
    assert_eq!(ends(&r), [(Some(100), Queued, Certain)]);
    assert_eq!((r[0].total_ns, r[0].rcvq_ns, r[0].pid), (20, None, 0));
    assert_eq!((r[0].censored, r[0].at_least_ns), (Some(Censored::End), Some(20)));
}

/// The reader's CPU is not the allocating one: the skb is freed there (deferred) before the read returns.
#[test]
fn an_skb_freed_before_the_read_returns() {
    let mut s = script();
    s.symbol(0xffff_ffff_8400_0000, "skb_defer_free_flush");
    arrive(&mut s, 0, A, 1_000);
    copy(&mut s, 100, A, 1_000);
    let v = [("skbaddr", N(A)), ("location", N(0xffff_ffff_8400_0010))];
    s.ev(T + 103, 0, SOFT, "skb:consume_skb", &v);
    length(&mut s, 105, 1_000, 0);
    exit(&mut s, 108, "recvfrom", 1_000);
    let r = rx(&s);
    assert_eq!((ends(&r), r[0].total_ns), (vec![(Some(1_000), Read, Certain)], 108));
}
