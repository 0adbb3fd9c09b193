use super::{BASE, MSS, PID, SOFT, Sender, TASK, requests, segments};
use crate::confidence::Confidence;
use crate::reconstruct::tcp::tables::RetransmitClass;
use crate::reconstruct::transmit::Stage;
use crate::reconstruct::transmit::tables::{TxEnd, TxRow};
use crate::testing::tcp::SOCK;
use crate::testing::{Ctx, N};

/// The congestion window holds `k` segments; ten are written at once; each ACK releases one.
fn windowed(more: &[(&'static str, crate::testing::V)]) -> Sender {
    let mut s = Sender::new(&[]);
    requests(&mut s, 100_000, 3);
    let t = BASE + 1_000_000;
    s.enter(t);
    s.round(t + 100, 6 * MSS);
    for i in 0..4 {
        s.segment(t + 1000 + i * 100, TASK, MSS);
    }
    s.round(t + 1900, 0);
    s.leave(t + 2000, 6 * MSS);
    for i in 0..6 {
        let at = t + 50_000 + i * 10_000;
        s.probe(at, MSS, more);
        if i < 2 {
            s.segment(at + 100, SOFT, MSS);
        }
        s.softirq_exit(at + 200);
    }
    s.probe(t + 200_000, 0, &[]);
    s
}

#[test]
fn a_full_congestion_window_is_named() {
    let f = windowed(&[("snd_cwnd", N(4))]).facts();
    let rows = segments(&f);
    assert_eq!(rows.len(), 9);
    // Handed over at 1900, sent after the first ACK at 50100.
    assert_eq!(rows[7].stage(Stage::Cwnd), Some(50_100 - 1900));
    assert_eq!(rows[8].stage(Stage::Cwnd), Some(60_100 - 1900));
    assert_eq!((rows[7].stage(Stage::Rwnd), rows[7].stage(Stage::Nagle)), (None, None));
    // What was sent in the call waited for nothing.
    assert_eq!(rows[3].stage(Stage::Cwnd), None);
}

#[test]
fn a_full_peer_window_is_named() {
    let f = windowed(&[("snd_cwnd", N(40)), ("snd_wnd", N(4 * MSS))]).facts();
    let rows = segments(&f);
    assert_eq!(rows[7].stage(Stage::Rwnd), Some(50_100 - 1900));
    assert_eq!(rows[8].stage(Stage::Rwnd), Some(60_100 - 1900));
    assert_eq!(rows[7].stage(Stage::Cwnd), None);
}

#[test]
fn a_small_write_behind_data_in_flight_waits_for_nagle() {
    let mut s = Sender::new(&[]);
    requests(&mut s, 100_000, 3);
    let t = BASE + 1_000_000;
    for (i, sent) in [(0, true), (1, false)] {
        let at = t + i * 5000;
        s.enter(at);
        s.round(at + 100, 50);
        if sent {
            s.segment(at + 1000, TASK, 50);
        }
        s.leave(at + 2000, 50);
    }
    s.probe(t + 80_000, 50, &[]);
    s.segment(t + 80_100, SOFT, 50);
    s.softirq_exit(t + 80_200);
    s.probe(t + 160_000, 50, &[]);
    s.probe(t + 200_000, 0, &[]);
    let f = s.facts();
    let rows = segments(&f);
    let r = rows[4];
    assert_eq!(r.start_ns, (t + 5000) as i64);
    assert_eq!(r.stage(Stage::Nagle), Some(80_100 - 7000));
    assert!(r.confidence.is_solid());
}

/// One ACK releases two segments, and its CPU is held up between the two (an emulated machine's; seen on 6.1, where it
/// showed as 11.8 s of Nagle's wait of full segments): the second waited for the window as the first, and then for nothing.
#[test]
fn what_an_ack_does_is_no_wait_for_nagle() {
    let mut s = Sender::new(&[]);
    requests(&mut s, 100_000, 3);
    let t = BASE + 1_000_000;
    s.enter(t);
    s.round(t + 100, 6 * MSS);
    for i in 0..4 {
        s.segment(t + 1000 + i * 100, TASK, MSS);
    }
    s.round(t + 1900, 0);
    s.leave(t + 2000, 6 * MSS);
    s.probe(t + 50_000, 4 * MSS, &[("snd_cwnd", N(4))]);
    s.segment(t + 50_100, SOFT, MSS);
    s.segment(t + 90_000, SOFT, MSS);
    s.softirq_exit(t + 90_200);
    s.probe(t + 200_000, 2 * MSS, &[]);
    s.probe(t + 210_000, 0, &[]);
    let f = s.facts();
    let rows = segments(&f);
    let of = |r: &TxRow| (r.stage(Stage::Cwnd), r.stage(Stage::Nagle), r.unattributed_ns);
    // What the thread did in the call is not recorded here: 1900 ns of each are not attributed.
    assert_eq!(of(rows[7]), (Some(50_100 - 1900), None, 1900));
    assert_eq!(of(rows[8]), (Some(50_100 - 1900), None, 1900 + 90_000 - 50_100));
}

#[test]
fn pacing_is_the_timer_and_its_slip() {
    const KICK: u64 = 0xffff_ffff_8202_c2c0;
    let mut s = Sender::new(&[]);
    s.s.symbol(KICK, "tcp_pace_kick");
    s.s.symbol(KICK + 0x100, "other");
    requests(&mut s, 100_000, 8);
    let t = BASE + 1_000_000;
    s.enter(t);
    s.round(t + 100, 2 * MSS);
    s.segment(t + 1000, TASK, MSS);
    let arm = [
        ("hrtimer", N(SOCK.sk + 1960)),
        ("function", N(KICK)),
        ("expires", N(5_000_000)),
    ];
    s.s.ev(t + 1100, 0, TASK, "timer:hrtimer_start", &arm);
    s.leave(t + 2000, 2 * MSS);
    s.s.ev(t + 39_000, 0, SOFT, "irq:softirq_entry", &[("vec", N(8))]);
    let fire = [
        ("hrtimer", N(SOCK.sk + 1960)),
        ("function", N(KICK)),
        ("now", N(5_027_000)),
    ];
    s.s.ev(t + 40_000, 0, SOFT, "timer:hrtimer_expire_entry", &fire);
    s.segment(t + 40_500, SOFT, MSS);
    s.s.ev(t + 41_000, 0, SOFT, "irq:softirq_exit", &[("vec", N(8))]);
    s.probe(t + 80_000, 2 * MSS, &[]);
    s.probe(t + 90_000, 0, &[]);
    let f = s.facts();
    let rows = segments(&f);
    // Due 27 us before it fired; its bytes were in the write queue when the call returned at the latest.
    assert_eq!(rows[9].stage(Stage::Pacing), Some(13_000 - 2000));
    assert_eq!(rows[9].stage(Stage::PacingSlip), Some(27_500));
}

/// A send call in which its thread leaves the CPU in a state, for 49 us.
fn slept(state: u64) -> Sender {
    let t = BASE + 1_000_000;
    let mut s = Sender::new(&[]);
    requests(&mut s, 100_000, 3);
    let switch = |s: &mut Sender, t: u64, prev: i32, state: u64, next: i32| {
        let v = [
            ("prev_pid", N(prev as u64)),
            ("prev_state", N(state)),
            ("next_pid", N(next as u64)),
        ];
        s.s.ev(t, 0, Ctx::Task(prev), "sched:sched_switch", &v);
    };
    switch(&mut s, t - 100, 0, 0, PID);
    s.enter(t);
    s.round(t + 100, 2 * MSS);
    s.segment(t + 1000, TASK, MSS);
    s.round(t + 1500, MSS);
    switch(&mut s, t + 2000, PID, state, 0);
    s.probe(t + 50_000, MSS, &[]);
    s.s.ev(t + 50_100, 0, SOFT, "sched:sched_waking", &[("pid", N(PID as u64))]);
    s.s.ev(t + 50_200, 0, SOFT, "sched:sched_wakeup", &[("pid", N(PID as u64))]);
    s.softirq_exit(t + 50_300);
    switch(&mut s, t + 51_000, 0, 0, PID);
    s.segment(t + 52_000, TASK, MSS);
    s.leave(t + 53_000, 2 * MSS);
    s.probe(t + 90_000, MSS, &[]);
    s.probe(t + 91_000, 0, &[]);
    s
}

#[test]
fn a_sleep_in_the_send_call_is_a_full_send_buffer() {
    let t = BASE + 1_000_000;
    let s = slept(1);
    let f = s.facts();
    let r = segments(&f)[4];
    assert_eq!(r.start_ns, t as i64);
    assert_eq!(r.stage(Stage::Sndbuf), Some(51_000 - 2000));
    // 2000 before the sleep, 1000 after it; the CPU's way out of idle is part of the sleep.
    assert_eq!(r.stage(Stage::Send), Some(3000));
    assert_eq!((r.stage(Stage::Cwnd), r.unattributed_ns), (None, 0));
    // Uninterruptible, as for memory or the socket's lock; stopped.
    for state in [2, 4] {
        let f = slept(state).facts();
        let r = segments(&f)[4];
        assert_eq!((r.stage(Stage::Sndbuf), r.unattributed_ns), (None, 0));
        assert_eq!(r.stage(Stage::Send), Some(3000 + 51_000 - 2000));
    }
}

#[test]
fn a_lost_segment_waits_in_recovery_until_it_is_sent_again() {
    let mut s = Sender::new(&[]);
    requests(&mut s, 100_000, 3);
    let t = BASE + 1_000_000;
    s.enter(t);
    s.round(t + 100, 200);
    let original = s.segment(t + 1000, TASK, 200);
    s.leave(t + 2000, 200);
    s.s.ev(t + 299_000, 0, SOFT, "irq:softirq_entry", &[("vec", N(1))]);
    SOCK.cong(&mut s.s, t + 299_500, 0, SOFT, 4);
    s.again(t + 300_000, SOFT, original, 200);
    s.s.ev(t + 301_000, 0, SOFT, "irq:softirq_exit", &[("vec", N(1))]);
    s.probe(t + 350_000, 200, &[]);
    s.probe(t + 400_000, 0, &[]);
    let f = s.facts();
    let r = segments(&f)[3];
    assert_eq!((r.retransmits, r.recovery_by), (1, Some(RetransmitClass::Rto)));
    assert_eq!(r.stage(Stage::Recovery), Some(299_000));
    assert_eq!(r.stage(Stage::Network), Some(50_000 - 3));
    assert_eq!((r.end, r.t_ack_ns), (TxEnd::Acked, Some((t + 350_000) as i64)));
    // A retransmission is no segment of its own.
    assert_eq!(segments(&f).len(), 4);
}

/// All messages are small: the largest is no full segment, which `size_goal` tells.
#[test]
fn the_largest_message_may_wait_for_nagle_too() {
    let mut s = Sender::new(&[]);
    requests(&mut s, 100_000, 3);
    let t = BASE + 1_000_000;
    for (i, bytes, sent) in [(0, 50, true), (1, 201, false)] {
        let at = t + i * 5000;
        s.enter(at);
        s.round(at + 100, bytes);
        if sent {
            s.segment(at + 1000, TASK, bytes);
        }
        s.leave(at + 2000, bytes);
    }
    s.probe(t + 80_000, 50, &[]);
    s.segment(t + 80_100, SOFT, 201);
    s.softirq_exit(t + 80_200);
    s.probe(t + 160_000, 201, &[]);
    s.probe(t + 200_000, 0, &[]);
    let f = s.facts();
    let r = segments(&f)[4];
    assert_eq!((r.bytes, r.stage(Stage::Nagle)), (Some(201), Some(80_100 - 7000)));
    assert!(r.confidence.is_solid());
}

/// The cork is taken out by a system call that is no send: only the bytes tell whose segment it is.
#[test]
fn what_a_cork_held_is_its_sockets_by_the_bytes() {
    let mut s = Sender::new(&[]);
    requests(&mut s, 100_000, 3);
    let t = BASE + 1_000_000;
    s.enter(t);
    s.leave(t + 2000, 201);
    s.segment(t + 50_000, TASK, 201);
    s.probe(t + 90_000, 201, &[]);
    s.softirq_exit(t + 90_200);
    requests(&mut s, 1_100_000, 2);
    let f = s.facts();
    let rows = segments(&f);
    assert_eq!(rows.len(), 6);
    let r = rows[3];
    assert_eq!((r.bytes, r.start_ns, r.end), (Some(201), t as i64, TxEnd::Acked));
    assert_eq!(r.stage(Stage::Nagle), Some(50_000 - 2000));
    // The call itself: this recording has no thread states.
    assert_eq!((r.stage(Stage::Cwnd), r.unattributed_ns), (None, 2000));
    assert_eq!(r.confidence, Confidence::Strong);
}

/// Nothing is in flight, no window is full: the timer that looks for zero windows sends what a cork held.
#[test]
fn what_the_timer_sends_with_nothing_in_flight_a_cork_held() {
    let mut s = Sender::new(&[]);
    requests(&mut s, 100_000, 3);
    let t = BASE + 1_000_000;
    s.enter(t);
    s.leave(t + 2000, 201);
    s.s.ev(t + 205_000, 0, SOFT, "irq:softirq_entry", &[("vec", N(1))]);
    s.segment(t + 205_500, SOFT, 201);
    s.s.ev(t + 206_000, 0, SOFT, "irq:softirq_exit", &[("vec", N(1))]);
    s.probe(t + 290_000, 201, &[]);
    s.softirq_exit(t + 290_200);
    requests(&mut s, 1_300_000, 2);
    let f = s.facts();
    let r = segments(&f)[3];
    assert_eq!((r.bytes, r.start_ns), (Some(201), t as i64));
    assert_eq!(r.stage(Stage::Nagle), Some(205_500 - 2000), "{r:?}");
    assert_eq!((r.stage(Stage::Pacing), r.stage(Stage::PacingSlip)), (None, None));
}

/// Of two segments of one size that nothing names, none is the socket's.
#[test]
fn a_doubtful_segment_is_nobodys() {
    let mut s = Sender::new(&[]);
    requests(&mut s, 100_000, 3);
    let t = BASE + 1_000_000;
    s.enter(t);
    s.leave(t + 2000, 201);
    s.segment(t + 50_000, TASK, 201);
    s.segment(t + 60_000, TASK, 201);
    s.nxt -= 201;
    s.probe(t + 90_000, 201, &[]);
    requests(&mut s, 1_100_000, 2);
    let f = s.facts();
    let unowned: Vec<_> =
        f.tx.iter()
            .filter(|r| r.connection.is_none() && r.t_sched_ns > t as i64)
            .collect();
    assert_eq!(unowned.len(), 2);
    // Not said to be without payload.
    assert!(
        unowned
            .iter()
            .all(|r| r.bytes.is_none() && r.confidence == Confidence::Weak)
    );
}

/// The first window of a socket that was seen to be born is known, too: no more needs to be sent to know the headers.
#[test]
fn the_first_segments_are_measured_by_the_first_probe() {
    let mut s = Sender::new(&[]);
    requests(&mut s, 100_000, 1);
    let f = s.facts();
    assert_eq!(segments(&f).iter().map(|r| r.bytes).collect::<Vec<_>>(), [Some(200)]);
}

/// A tail loss probe that the ACK of the original overtakes while it waits in a qdisc repaired nothing.
#[test]
fn a_probe_that_the_ack_overtook_is_no_recovery() {
    let mut s = Sender::new(&[]);
    requests(&mut s, 100_000, 3);
    let t = BASE + 1_000_000;
    s.enter(t);
    s.round(t + 100, 200);
    let original = s.segment(t + 1000, TASK, 200);
    s.leave(t + 2000, 200);
    let clone = original + crate::testing::FCLONE;
    let v = [
        ("skbaddr", N(clone)),
        ("len", N(266)),
        ("name", crate::testing::S("va")),
    ];
    s.s.ev(t + 30_000, 0, SOFT, "net:net_dev_queue", &v);
    SOCK.retransmit(&mut s.s, t + 30_005, 0, SOFT, original, &[]);
    s.probe(t + 40_000, 200, &[]);
    s.softirq_exit(t + 41_000);
    s.s.ev(t + 5_000_000, 0, SOFT, "net:net_dev_start_xmit", &v);
    s.s.ev(t + 5_000_010, 0, SOFT, "net:net_dev_xmit", &v);
    requests(&mut s, 7_000_000, 2);
    let f = s.facts();
    let r = segments(&f)[3];
    assert_eq!(
        (r.retransmits, r.stage(Stage::Recovery), r.stage(Stage::Qdisc)),
        (1, None, Some(1))
    );
    // In the call: this recording has no thread states.
    assert_eq!((r.total_ns, r.unattributed_ns), (40_000, 1000));
}

/// The row is not surer than what is known of its device.
#[test]
fn a_free_on_another_cpu_ends_the_drivers_stage() {
    let mut s = Sender::new(&[]);
    // What a driver hands on is recorded.
    for event in ["net:netif_rx", "net:netif_receive_skb"] {
        s.s.ev(BASE, 1, Ctx::Soft(9), event, &[("skbaddr", N(0xffff_8889_0000_0000))]);
    }
    requests(&mut s, 100_000, 3);
    let t = BASE + 1_000_000;
    s.enter(t);
    s.round(t + 100, 200);
    let clone = super::ORIGINAL + 3 * 512 + crate::testing::FCLONE;
    s.segment(t + 1000, TASK, 200);
    s.s.ev(t + 1002, 1, Ctx::Task(9), "skb:consume_skb", &[("skbaddr", N(clone))]);
    s.leave(t + 2000, 200);
    s.probe(t + 40_000, 200, &[]);
    s.softirq_exit(t + 41_000);
    requests(&mut s, 2_000_000, 2);
    let f = s.facts();
    let r = segments(&f)[3];
    assert_eq!((r.stage(Stage::Driver), r.stage(Stage::Completion)), (Some(1), None));
    assert_eq!(r.stage(Stage::Network), Some(40_000 - 1002));
}
