//! Stops of transmit queues: shown by state bits, by silence, by a refusal.

use super::*;
use crate::Confidence;
use crate::reconstruct::xmits::{PassEnd, StopCause};

fn queued(s: &mut Script, t: u64, addr: u64) {
    dev(s, t, TASK, "queue", addr, 100);
    qdisc(s, t + 1, TASK, "enqueue", addr, 0, 0);
}
/// The queue is woken: NET_TX is raised at `t` and runs the qdisc, which gives `addr`.
fn woken(s: &mut Script, t: u64, addr: u64, packets: u64) {
    s.ev(T + t, 0, SOFT, "irq:softirq_raise", &[("vec", N(2))]);
    soft(s, t + 10, "entry", 2);
    qdisc(s, t + 20, SOFT, "dequeue", addr, packets, 0);
    sent(s, t + 30, SOFT, addr, 100);
}

/// State bit 1 is byte queue limits, bit 0 the driver. The stop began when the last packet went out and ended when the
/// queue was woken; the rest of the wait is the qdisc's.
#[test]
fn a_stop_shown_by_its_bits_is_certain() {
    for (bits, cause) in [(2, StopCause::Bql), (1, StopCause::Ring), (3, StopCause::Ring)] {
        let mut s = script();
        queued(&mut s, 0, A);
        qdisc(&mut s, 2, TASK, "dequeue", A, 1, 0);
        sent(&mut s, 10, TASK, A, 100);
        queued(&mut s, 100, B);
        qdisc(&mut s, 110, TASK, "dequeue", 0, 0, bits);
        woken(&mut s, 1000, B, 1);
        let f = facts(&s);
        let [stop] = &f.txq_stops[..] else {
            panic!("{:?}", f.txq_stops)
        };
        assert_eq!((stop.from_ns, stop.to_ns), ((T + 20) as i64, Some((T + 1000) as i64)));
        assert_eq!(
            (stop.cause, stop.packets, stop.confidence),
            (cause, 1, Confidence::Certain)
        );
        let r = &f.xmits[1];
        let (bql, ring) = match cause {
            StopCause::Bql => (Some(900), None),
            StopCause::Ring => (None, Some(900)),
        };
        assert_eq!(
            (r.qdisc_ns, r.bql_ns, r.ring_ns, r.total_ns),
            (Some(30), bql, ring, 940)
        );
    }
}

/// A qdisc of one queue is not asked while that is stopped, and says nothing. Alone, silence is weak; it takes the cause
/// that the queue has shown elsewhere.
#[test]
fn a_silent_queue_was_stopped() {
    let run = |shown: bool| {
        let mut s = script();
        queued(&mut s, 0, A);
        qdisc(&mut s, 2, TASK, "dequeue", A, 1, 0);
        sent(&mut s, 10, TASK, A, 100);
        queued(&mut s, 100, B);
        woken(&mut s, 1000, B, 1);
        soft(&mut s, 1100, "exit", 2);
        if shown {
            queued(&mut s, 1200, C);
            qdisc(&mut s, 1210, TASK, "dequeue", 0, 0, 1);
            woken(&mut s, 1300, C, 1);
        }
        facts(&s)
    };
    let f = run(false);
    let stop = &f.txq_stops[0];
    assert_eq!((stop.from_ns, stop.to_ns), ((T + 20) as i64, Some((T + 1000) as i64)));
    assert_eq!((stop.cause, stop.confidence), (StopCause::Bql, Confidence::Weak));
    assert_eq!(
        (f.xmits[1].bql_ns, f.xmits[1].confidence),
        (Some(900), Confidence::Weak)
    );
    let f = run(true);
    assert_eq!(
        (f.txq_stops[0].cause, f.txq_stops[0].confidence),
        (StopCause::Ring, Confidence::Strong)
    );
}

/// The sender used up its quota and asked NET_TX to go on: late, but no stop.
#[test]
fn a_sender_that_goes_on_later_stopped_nothing() {
    let mut s = script();
    queued(&mut s, 0, A);
    queued(&mut s, 5, B);
    qdisc(&mut s, 12, TASK, "dequeue", A, 1, 0);
    sent(&mut s, 20, TASK, A, 100);
    woken(&mut s, 31, B, 1);
    let f = facts(&s);
    assert!(f.txq_stops.is_empty(), "{:?}", f.txq_stops);
    assert_eq!(f.xmits[1].qdisc_ns, Some(56));
}

/// The driver refuses: the packet goes back and starts again, one pass with the time between as the ring's.
#[test]
fn a_refused_packet_waits_for_the_ring() {
    let mut s = script();
    queued(&mut s, 0, A);
    qdisc(&mut s, 2, TASK, "dequeue", A, 1, 0);
    dev(&mut s, 10, TASK, "start_xmit", A, 100);
    let v = [("skbaddr", N(A)), ("len", N(100)), ("rc", N(0x10)), ("name", S("eth0"))];
    s.ev(T + 20, 0, TASK, "net:net_dev_xmit", &v);
    s.ev(T + 21, 0, TASK, "irq:softirq_raise", &[("vec", N(2))]);
    woken(&mut s, 500, A, 1);
    let f = facts(&s);
    let [r] = &f.xmits[..] else { panic!("{:?}", f.xmits) };
    assert_eq!((r.requeues, r.rc, r.end), (1, Some(0), PassEnd::Sent));
    assert_eq!((r.qdisc_ns, r.ring_ns, r.driver_ns), (Some(10), Some(510), Some(20)));
    assert_eq!((r.total_ns, r.unattributed_ns), (540, 0));
    assert_eq!(
        (f.txq_stops[0].cause, f.txq_stops[0].confidence),
        (StopCause::Ring, Confidence::Certain)
    );
}

/// A dequeue of three names the first: the next two to start on that CPU are of it too, an unrelated one after is not.
#[test]
fn a_bulk_dequeue_is_of_all_its_packets() {
    let mut s = script();
    for (t, a) in [(0, A), (10, B), (20, C)] {
        // Where no enqueue is recorded, the dequeue alone tells.
        dev(&mut s, t, TASK, "queue", a, 100);
    }
    qdisc(&mut s, 100, SOFT, "dequeue", A, 3, 0);
    for (t, a) in [(110, A), (130, B), (150, C)] {
        sent(&mut s, t, SOFT, a, 100);
    }
    dev(&mut s, 200, TASK, "queue", C + 512, 100);
    sent(&mut s, 210, TASK, C + 512, 100);
    let f = facts(&s);
    let got: Vec<_> = f.xmits.iter().map(|r| (r.bypass, r.qdisc_ns)).collect();
    let held = |ns| (Some(false), Some(ns));
    assert_eq!(got, [held(110), held(120), held(130), (Some(true), Some(0))]);
}

/// Two network namespaces have a device of the same name, and the recording names the queue of one of them only. What is sent
/// by the other while a shaper holds a packet is no sign of a stopped queue.
#[test]
fn a_transmit_of_a_namesake_stops_no_queue() {
    let mut s = script();
    queued(&mut s, 0, A);
    qdisc(&mut s, 2, TASK, "dequeue", A, 1, 0);
    sent(&mut s, 10, TASK, A, 100);
    queued(&mut s, 100, B);
    qdisc(&mut s, 110, TASK, "dequeue", 0, 0, 0);
    dev(&mut s, 200, TASK, "queue", C, 100);
    sent(&mut s, 210, TASK, C, 100);
    woken(&mut s, 1000, B, 1);
    let f = facts(&s);
    assert_eq!(f.txq_stops.len(), 0, "{:?}", f.txq_stops);
    assert_eq!((f.xmits[1].qdisc_ns, f.xmits[1].bql_ns), (Some(930), None));
}
