use super::{merged, poll, script};
use crate::ingest::Trace;
use crate::testing::one_chunk_per_page;

/// Order is (time, stream, position): equal times stay in stream order, on one CPU in recorded order.
#[test]
fn equal_times_keep_stream_and_position() {
    let mut s = script();
    for (ts, cpu, label) in [(10, 1, 1), (10, 1, 2), (20, 1, 3), (5, 0, 4), (10, 0, 5), (20, 0, 6)] {
        poll(&mut s, ts, cpu, label);
    }
    let c = s.capture();
    let t = Trace::read(&c, &Default::default());
    let expect = [(5, 0, 4), (10, 0, 5), (10, 1, 1), (10, 1, 2), (20, 0, 6), (20, 1, 3)];
    assert_eq!(merged(&t), expect);
    assert_eq!(t.inversions, 0);
}

/// Before 5.10 an event nested in an interrupt could carry an older time: it stays behind its predecessor, unmoved.
#[test]
fn an_older_time_stays_behind_its_predecessor_and_is_counted() {
    let mut s = script();
    for (ts, cpu, label) in [(10, 0, 1), (30, 0, 2), (20, 0, 3), (40, 0, 4), (25, 1, 5)] {
        poll(&mut s, ts, cpu, label);
    }
    let c = s.capture();
    let t = Trace::read(&c, &Default::default());
    assert_eq!(merged(&t), [(10, 0, 1), (25, 1, 5), (30, 0, 2), (20, 0, 3), (40, 0, 4)]);
    assert_eq!(t.inversions, 1);
}

/// The span of a stream is its smallest and largest time, also when the last record is not the latest.
#[test]
fn the_span_holds_every_record() {
    let mut s = script();
    for (ts, label) in [(20, 1), (10, 2), (50, 3), (40, 4)] {
        poll(&mut s, ts, 0, label);
    }
    let i = crate::ingest::check(&s.capture(), &Default::default());
    assert_eq!((i.start_ns, i.end_ns, i.duration_ns), (Some(10), Some(50), 40));
}

/// An inversion between two chunks counts like one inside a chunk.
#[test]
fn inversions_are_counted_across_chunks() {
    let mut s = script();
    poll(&mut s, 30, 0, 1);
    s.lost(0, None); // a new sub-buffer
    poll(&mut s, 20, 0, 2);
    let mut c = s.capture();
    let whole = Trace::read(&c, &Default::default()).inversions;
    one_chunk_per_page(&mut c);
    let t = Trace::read(&c, &Default::default());
    assert_eq!((whole, t.inversions), (1, 1));
    assert_eq!(merged(&t), [(30, 0, 1), (20, 0, 2)]);
}

/// How the file is cut into chunks changes nothing.
#[test]
fn chunks_are_only_a_partition() {
    let mut s = script();
    let mut x = 12345u64;
    for k in 0..9000u64 {
        x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        poll(&mut s, 1000 + k * 10 + (x >> 60), (x >> 33) as usize % 3, k);
        if k % 1000 == 999 {
            s.lost((k / 1000) as usize % 3, Some(k));
        }
    }
    let whole = s.capture();
    let mut cut = s.capture();
    one_chunk_per_page(&mut cut);
    assert!(cut.streams.iter().all(|s| s.chunks.len() > 3));
    let (a, b) = (
        Trace::read(&whole, &Default::default()),
        Trace::read(&cut, &Default::default()),
    );
    assert_eq!(merged(&a).len(), 9000);
    assert_eq!(merged(&a), merged(&b));
    assert_eq!((&a.gaps, &a.info), (&b.gaps, &b.info));
}

#[test]
fn events_carry_their_context() {
    let mut s = script();
    use crate::testing::Ctx;
    for (ts, ctx) in [(1, Ctx::Task(4)), (2, Ctx::Soft(5)), (3, Ctx::Hard(6))] {
        s.ev(ts, 0, ctx, super::POLL, &[]);
    }
    let c = s.capture();
    let t = Trace::read(&c, &Default::default());
    let of: Vec<_> = t
        .events(|_| true)
        .map(|e| (e.pid, e.in_task(), e.in_softirq(), e.in_hardirq()))
        .collect();
    let expect = [
        (4, true, false, false),
        (5, false, true, false),
        (6, false, false, true),
    ];
    assert_eq!(of, expect);
    assert_eq!(t.event(2).unwrap().pid, 6);
    assert!(t.event(3).is_none());
}
