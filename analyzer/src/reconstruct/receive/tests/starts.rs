use super::*;
use crate::Confidence;
use crate::reconstruct::receive::tables::{RxEnd, RxStart};

fn switch(s: &mut Script, t: u64, prev: u64, state: u64, next: u64) {
    let v = [("prev_pid", N(prev)), ("prev_state", N(state)), ("next_pid", N(next))];
    s.ev(T + t, 1, Ctx::Task(prev as i32), "sched:sched_switch", &v);
}

/// The whole path from the interrupt to the return of the system call, with a sleeping reader.
#[test]
fn from_the_interrupt_to_the_reader() {
    let mut s = script();
    switch(&mut s, 0, PID as u64, 1, 0);
    s.ev(
        T + 100,
        0,
        Ctx::Hard(1),
        "irq:irq_handler_entry",
        &[("name", S("eth0"))],
    );
    s.ev(T + 104, 0, Ctx::Hard(1), "irq:softirq_raise", &[("vec", N(3))]);
    s.ev(T + 105, 0, Ctx::Hard(1), "irq:irq_handler_exit", &[]);
    soft(&mut s, 110, 0, "entry");
    skb(&mut s, 125, 0, SOFT, "net:napi_gro_receive_entry", A, 1_052);
    s.ev(T + 127, 0, SOFT, "net:napi_gro_receive_exit", &[("ret", N(3))]);
    recv(&mut s, 140, A, 1_000);
    probe(&mut s, 160, SOFT, A, 1_000);
    ready(&mut s, 175);
    s.ev(T + 180, 0, SOFT, "sched:sched_waking", &[("pid", N(PID as u64))]);
    soft(&mut s, 190, 0, "exit");
    s.ev(
        T + 195,
        1,
        Ctx::Hard(0),
        "sched:sched_wakeup",
        &[("pid", N(PID as u64))],
    );
    switch(&mut s, 230, 0, 0, PID as u64);
    copy(&mut s, 260, A, 1_000);
    length(&mut s, 268, 1_000, 0);
    exit(&mut s, 270, "recvfrom", 1_000);
    let r = rx(&s);
    assert_eq!(r.len(), 1);
    let expect = [
        (Stage::Irq, 4),
        (Stage::SoftirqWait, 6),
        (Stage::PollWait, 15),
        (Stage::Gro, 15),
        (Stage::Protocol, 20),
        (Stage::Ready, 15),
        (Stage::ReaderAsleep, 5),
        (Stage::Wakeup, 15),
        (Stage::IdleExit, 35),
        (Stage::ReaderRunning, 30),
        (Stage::Copy, 8),
        (Stage::Return, 2),
    ];
    assert_eq!(stages(&r[0]), expect);
    assert_eq!((r[0].total_ns, r[0].unattributed_ns, r[0].rcvq_ns), (170, 0, Some(85)));
    assert_eq!((r[0].start, r[0].end, r[0].pid), (RxStart::Irq, RxEnd::Read, PID));
    assert_eq!((r[0].confidence, r[0].bytes), (Confidence::Strong, Some(1_000)));
}

/// Loopback and veth: the packet waits in a CPU's backlog from netif_rx on.
#[test]
fn from_the_backlog_of_a_cpu() {
    let mut s = script();
    skb(&mut s, 0, 0, TASK, "net:netif_rx_entry", A, 1_052);
    skb(&mut s, 2, 0, TASK, "net:netif_rx", A, 1_052);
    soft(&mut s, 10, 0, "entry");
    arrive(&mut s, 15, A, 1_000);
    read(&mut s, 100, A, 1_000);
    let r = rx(&s);
    assert_eq!((r.len(), r[0].start), (1, RxStart::NetifRx));
    assert_eq!(
        stages(&r[0])[..3],
        [(Stage::SoftirqWait, 10), (Stage::PollWait, 5), (Stage::Protocol, 10)]
    );
    assert_eq!(r[0].unattributed_ns, 100 - 35); // no thread events: the queue's residence is in no stage
    assert_eq!((r[0].rcvq_ns, r[0].confidence), (Some(65), Confidence::Certain));
}

/// Queued while the softirq runs: it waits for the poll, not for the softirq.
#[test]
fn queued_into_a_running_softirq() {
    let mut s = script();
    soft(&mut s, 0, 0, "entry");
    skb(&mut s, 10, 0, SOFT, "net:netif_rx_entry", A, 1_052);
    arrive(&mut s, 30, A, 1_000);
    let r = rx(&s);
    assert_eq!(stages(&r[0])[..1], [(Stage::PollWait, 20)]);
    assert_eq!(r[0].stage(Stage::SoftirqWait), None);
}

/// RPS: netif_rx on one CPU, netif_receive_skb on another, whose softirq counts.
#[test]
fn steered_to_another_cpu() {
    let mut s = script();
    skb(&mut s, 0, 1, SOFT, "net:netif_rx_entry", A, 1_052);
    s.ev(T + 2, 1, SOFT, "irq:softirq_entry", &[("vec", N(3))]);
    soft(&mut s, 40, 0, "entry");
    arrive(&mut s, 50, A, 1_000);
    let r = rx(&s);
    assert_eq!(stages(&r[0])[..2], [(Stage::Rps, 40), (Stage::PollWait, 10)]);
    assert_eq!(r[0].cpu, 0);
}

/// Clocks of two CPUs may disagree: a negative stage is shown, never clamped, and the row still sums.
#[test]
fn skew_is_shown() {
    let mut s = script();
    skb(&mut s, 100, 1, SOFT, "net:netif_rx_entry", A, 1_052);
    soft(&mut s, 104, 0, "entry");
    arrive(&mut s, 110, A, 1_000);
    SOCK.recv_length(&mut s, T + 125, 0, PID, 1_000, 0); // before the announcement, by another clock
    let r = rx(&s);
    assert_eq!(r[0].end, RxEnd::Read);
    assert_eq!(r[0].total_ns, 25);
}

/// Only the first poll of a run is what the interrupt asked for: later ones begin at GRO.
#[test]
fn a_later_poll_does_not_begin_with_the_interrupt() {
    let mut s = script();
    s.ev(T, 0, Ctx::Hard(1), "irq:irq_handler_entry", &[("name", S("eth0"))]);
    s.ev(T + 4, 0, Ctx::Hard(1), "irq:softirq_raise", &[("vec", N(3))]);
    s.ev(T + 5, 0, Ctx::Hard(1), "irq:irq_handler_exit", &[]);
    soft(&mut s, 10, 0, "entry");
    s.ev(T + 20, 0, SOFT, "napi:napi_poll", &[("dev_name", S("eth1"))]);
    skb(&mut s, 30, 0, SOFT, "net:napi_gro_receive_entry", A, 1_052);
    s.ev(T + 31, 0, SOFT, "net:napi_gro_receive_exit", &[("ret", N(3))]);
    arrive(&mut s, 40, A, 1_000);
    let r = rx(&s);
    assert_eq!((r[0].start, r[0].start_ns), (RxStart::Gro, (T + 30) as i64));
}

/// 3a: a batch is traced first, then processed: recv A, recv B, probe A, probe B.
#[test]
fn a_batch_is_received_before_it_is_processed() {
    let mut s = script();
    soft(&mut s, 0, 0, "entry");
    recv(&mut s, 10, A, 100);
    recv(&mut s, 12, A + 256, 200);
    probe(&mut s, 20, SOFT, A, 100);
    ready(&mut s, 25);
    probe(&mut s, 50, SOFT, A + 256, 200);
    ready(&mut s, 55);
    soft(&mut s, 60, 0, "exit");
    read(&mut s, 100, A, 100);
    read(&mut s, 200, A + 256, 200);
    let r = rx(&s);
    let protocol: Vec<_> = r
        .iter()
        .map(|r| (r.stage(Stage::BatchWait), r.stage(Stage::Protocol)))
        .collect();
    // B waited until the announcement of A was done, and only then began.
    assert_eq!(protocol, [(None, Some(10)), (Some(13), Some(25))]);
    let places: Vec<_> = r.iter().map(|r| (r.poll_nth, r.unit_nth)).collect();
    assert_eq!(places, [(Some(0), Some(0)), (Some(0), Some(1))]);
    assert!(r.iter().all(|r| r.confidence == Confidence::Certain), "{r:?}");
}

/// 3b-3: in task context the segment came out of the socket's backlog: its owner held the lock.
#[test]
fn a_probe_in_task_context_was_in_the_backlog() {
    let mut s = script();
    recv(&mut s, 0, A, 100);
    SOCK.probe(&mut s, T + 70, 0, TASK, &[("skbaddr", N(A)), ("data_len", N(100))]);
    let r = rx(&s);
    assert_eq!(
        (r[0].stage(Stage::Backlog), r[0].stage(Stage::Protocol)),
        (Some(70), None)
    );
}

/// What the backlog merged into a segment is in its probe's length, which has 16 bits: a segment shorter than itself went
/// beyond these. A few bytes of TCP options more are no sign of that.
#[test]
fn a_backlog_merged_beyond_16_bits_is_counted() {
    let mut s = script();
    recv(&mut s, 0, A, 100);
    probe(&mut s, 10, SOFT, A, 100);
    for (k, addr, shown) in [(1, A + 0x100, 2 * 65_483 - 65_536), (2, A + 0x200, 65_483 - 12)] {
        recv(&mut s, k * 1_000, addr, 65_483);
        let v = [("skbaddr", N(addr)), ("data_len", N(shown))];
        SOCK.probe(&mut s, T + k * 1_000 + 70, 0, TASK, &v);
    }
    let bytes: Vec<_> = rx(&s).iter().map(|r| r.bytes).collect();
    assert_eq!(bytes, [Some(100), Some(2 * 65_483), Some(65_471)]);
}

/// Threaded NAPI receives in task context too: no lock was waited for.
#[test]
fn threaded_napi_is_no_backlog() {
    let mut s = script();
    let napi = Ctx::Task(50);
    skb(&mut s, 0, 0, napi, "net:netif_receive_skb", A, 152);
    probe(&mut s, 20, napi, A, 100);
    let r = rx(&s);
    assert_eq!(
        (r[0].stage(Stage::Backlog), r[0].stage(Stage::Protocol)),
        (None, Some(20))
    );
}

/// GRO: what was merged into another unit has no row; the head has the whole payload.
#[test]
fn merged_units_have_no_row() {
    for ret in [0u64, 1] {
        let mut s = script();
        soft(&mut s, 0, 0, "entry");
        for k in 0..3u64 {
            skb(
                &mut s,
                10 + k * 10,
                0,
                SOFT,
                "net:napi_gro_receive_entry",
                A + k * 256,
                1_052,
            );
            let ret = if k == 0 { 2 } else { ret };
            s.ev(
                T + 12 + k * 10,
                0,
                SOFT,
                "net:napi_gro_receive_exit",
                &[("ret", N(ret))],
            );
        }
        arrive(&mut s, 50, A, 3_000);
        read(&mut s, 100, A, 3_000);
        let r = rx(&s);
        assert_eq!(
            (r.len(), r[0].bytes, r[0].stage(Stage::Gro)),
            (1, Some(3_000), Some(40))
        );
    }
}

/// A forwarded packet and one that was dropped are read by nobody here.
#[test]
fn forwarded_and_dropped_packets_have_no_row() {
    let mut s = script();
    recv(&mut s, 0, A, 100);
    skb(&mut s, 10, 0, SOFT, "net:net_dev_queue", A, 166);
    recv(&mut s, 20, A + 256, 100);
    let v = [("skbaddr", N(A + 256)), ("protocol", N(0x0800)), ("reason", N(3))];
    s.ev(T + 30, 0, SOFT, "skb:kfree_skb", &v);
    assert!(rx(&s).is_empty());
}

/// RPS of a device with GRO: the poll's CPU hands it over not later than the poll's end, the other CPU's softirq begins.
#[test]
fn steered_after_gro() {
    let mut s = script();
    s.ev(T, 1, SOFT, "irq:softirq_entry", &[("vec", N(3))]);
    skb(&mut s, 10, 1, SOFT, "net:napi_gro_receive_entry", A, 1_052);
    s.ev(T + 12, 1, SOFT, "net:napi_gro_receive_exit", &[("ret", N(3))]);
    s.ev(T + 20, 1, SOFT, "napi:napi_poll", &[("dev_name", S("eth0"))]);
    s.ev(T + 24, 1, SOFT, "irq:softirq_exit", &[("vec", N(3))]);
    soft(&mut s, 50, 0, "entry");
    arrive(&mut s, 57, A, 1_000);
    let r = rx(&s);
    let expect = [
        (Stage::Rps, 30),
        (Stage::PollWait, 7),
        (Stage::Gro, 10),
        (Stage::Protocol, 10),
        (Stage::Ready, 10),
    ];
    assert_eq!((stages(&r[0]), r[0].unattributed_ns), (expect.to_vec(), 0));
}

/// A later poll of the run, the second unit of it; who ran it is what `softirqs` says.
#[test]
fn the_place_in_the_run() {
    let mut s = script();
    s.ev(T, 0, Ctx::Hard(1), "irq:softirq_raise", &[("vec", N(3))]);
    soft(&mut s, 5, 0, "entry");
    s.ev(T + 8, 0, SOFT, "napi:napi_poll", &[("dev_name", S("eth1"))]);
    for k in 0..3u64 {
        let ret = if k == 1 { 1 } else { 3 }; // the second is merged away
        skb(
            &mut s,
            10 + k * 10,
            0,
            SOFT,
            "net:napi_gro_receive_entry",
            A + k * 256,
            1_052,
        );
        s.ev(
            T + 11 + k * 10,
            0,
            SOFT,
            "net:napi_gro_receive_exit",
            &[("ret", N(ret))],
        );
    }
    arrive(&mut s, 50, A, 2_000);
    arrive(&mut s, 80, A + 512, 1_000);
    soft(&mut s, 110, 0, "exit");
    let r = rx(&s);
    let got: Vec<_> = r
        .iter()
        .map(|r| (r.poll_nth, r.unit_nth, r.run_by.map(|b| b.word())))
        .collect();
    assert_eq!(
        got,
        [
            (Some(1), Some(0), Some("irq_tail")),
            (Some(1), Some(1), Some("irq_tail"))
        ]
    );
}

/// A packet's own tap clones and announcements are not another's processing: no wait for the batch.
#[test]
fn a_packet_alone_waits_for_no_batch() {
    let mut s = script();
    soft(&mut s, 0, 0, "entry");
    arrive(&mut s, 10, A, 100);
    arrive(&mut s, 40, A + 256, 100);
    let r = rx(&s);
    assert!(r.iter().all(|r| r.stage(Stage::BatchWait).is_none()), "{r:?}");
}

/// 3i-22: one waking for two announcements (epoll, or whoever is awake already): the second waited for no waking of its own, and what it waited for is what
/// the thread did since it was readable.
#[test]
fn what_is_announced_to_a_thread_that_was_woken_waits_for_no_waking() {
    let mut s = script();
    switch(&mut s, 0, PID as u64, 1, 0);
    arrive(&mut s, 100, A, 1_000);
    s.ev(T + 121, 0, SOFT, "sched:sched_waking", &[("pid", N(PID as u64))]);
    s.ev(T + 125, 0, SOFT, "sched:sched_wakeup", &[("pid", N(PID as u64))]);
    arrive(&mut s, 180, A + 256, 500);
    switch(&mut s, 230, 0, 0, PID as u64);
    copy(&mut s, 260, A, 1_000);
    copy(&mut s, 265, A + 256, 500);
    length(&mut s, 268, 1_500, 0);
    exit(&mut s, 270, "recvfrom", 1_500);
    let r = rx(&s);
    let of = |at: usize| {
        [
            Stage::ReaderAsleep,
            Stage::Wakeup,
            Stage::IdleExit,
            Stage::ReaderRunning,
        ]
        .map(|stage| r[at].stage(stage))
    };
    assert_eq!(of(0), [Some(1), Some(4), Some(105), Some(30)]);
    assert_eq!(of(1), [None, None, Some(30), Some(35)]);
    assert_eq!((r[0].rcvq_ns, r[1].rcvq_ns), (Some(140), Some(65)));
}
