//! What binds a sender: windows that are full before its pacing timer, and its send buffer where nothing is left to send.

use super::{BASE, HEADERS, MSS, PID, SOFT, Sender, TASK, requests, segments};
use crate::reconstruct::transmit::Stage;
use crate::reconstruct::transmit::tables::TxRow;
use crate::testing::tcp::SOCK;
use crate::testing::{FCLONE, N, V};

const KICK: u64 = 0xffff_ffff_8202_c2c0;
/// The run of probes and timers begins here.
const T: u64 = BASE + 2_000_000;

/// A paced sender (bbr always is): timers tell their sockets.
fn paced() -> Sender {
    let mut s = Sender::new(&[]);
    s.s.symbol(KICK, "tcp_pace_kick");
    s.s.symbol(KICK + 0x100, "other");
    requests(&mut s, 100_000, 8);
    s
}

fn arm(s: &mut Sender, t: u64, ctx: crate::testing::Ctx, expires: u64) {
    let v = [
        ("hrtimer", N(SOCK.sk + 1960)),
        ("function", N(KICK)),
        ("expires", N(expires)),
    ];
    s.s.ev(t, 0, ctx, "timer:hrtimer_start", &v);
}

fn fire(s: &mut Sender, t: u64, now: u64) {
    s.s.ev(t - 1000, 0, SOFT, "irq:softirq_entry", &[("vec", N(8))]);
    let v = [("hrtimer", N(SOCK.sk + 1960)), ("function", N(KICK)), ("now", N(now))];
    s.s.ev(t, 0, SOFT, "timer:hrtimer_expire_entry", &v);
}

/// Four segments are sent in the call and arm the pacing timer, which is due at 40 us; a fifth waits. The ACK that comes at
/// `ack` shows these windows. The segment is sent by what ends later of the two.
fn waiting(ack: u64, windows: &[(&'static str, V)]) -> Vec<TxRow> {
    let mut s = paced();
    s.enter(T);
    s.round(T + 100, 5 * MSS);
    for i in 0..4 {
        s.segment(T + 1000 + i * 100, TASK, MSS);
    }
    arm(&mut s, T + 1400, TASK, 5_000_000);
    s.round(T + 1900, 0);
    s.leave(T + 2000, 5 * MSS);
    let by_ack = ack > 45_000;
    for at in if by_ack { [45_000, ack] } else { [ack, 45_000] } {
        if at == ack {
            s.probe(T + ack, 4 * MSS, windows);
            if by_ack {
                s.segment(T + ack + 100, SOFT, MSS);
            }
            s.softirq_exit(T + ack + 200);
        } else {
            // Due at 40 us, 5 us late.
            fire(&mut s, T + 45_000, 5_005_000);
            if !by_ack {
                s.segment(T + 45_500, SOFT, MSS);
            }
            s.s.ev(T + 45_800, 0, SOFT, "irq:softirq_exit", &[("vec", N(8))]);
        }
    }
    s.probe(T + 200_000, MSS, &[]);
    s.probe(T + 210_000, 0, &[]);
    let f = s.facts();
    segments(&f).into_iter().cloned().collect()
}

fn of(r: &TxRow) -> [i64; 4] {
    [Stage::Rwnd, Stage::Cwnd, Stage::Pacing, Stage::PacingSlip].map(|s| r.stage(s).unwrap_or(0))
}

/// The timer fired long before the window opened: it held nothing (a receiver with 6 kB of buffer behind 20 ms, bbr).
#[test]
fn a_full_window_outlasts_the_pacing_timer() {
    // From the hand-over at 1900 to the segment.
    let whole = 80_100 - 1900;
    let rows = waiting(80_000, &[("snd_cwnd", N(40)), ("snd_wnd", N(4 * MSS))]);
    assert_eq!(of(&rows[12]), [whole, 0, 0, 0]);
    let rows = waiting(80_000, &[("snd_cwnd", N(4))]);
    assert_eq!(of(&rows[12]), [0, whole, 0, 0]);
    // With room in both it waited for the timer; what came then is not told by either.
    let rows = waiting(80_000, &[("snd_cwnd", N(40)), ("snd_wnd", N(400 * MSS))]);
    assert_eq!(of(&rows[12])[..3], [0, 0, 38_100]);
}

/// The window opened while the timer was pending: the time is split there.
#[test]
fn the_time_is_split_where_the_window_opened() {
    let rows = waiting(30_000, &[("snd_cwnd", N(40)), ("snd_wnd", N(4 * MSS))]);
    assert_eq!(of(&rows[12]), [30_000 - 1900, 0, 10_000, 5_500]);
    let rows = waiting(30_000, &[("snd_cwnd", N(4))]);
    assert_eq!(of(&rows[12]), [0, 30_000 - 1900, 10_000, 5_500]);
    // Room for one segment of one that waits is room, even if TSO would rather send more.
    let rows = waiting(30_000, &[("snd_cwnd", N(5)), ("snd_wnd", N(400 * MSS))]);
    assert_eq!(of(&rows[12]), [0, 0, 40_000 - 1900, 5_500]);
}

/// A program that does not block writes until the buffer is full, and sleeps in poll until an ACK makes room.
fn polling(data: u64) -> crate::facts::Facts {
    let mut s = Sender::new(&[]);
    requests(&mut s, 100_000, 3);
    let switch = |s: &mut Sender, t: u64, prev: i32, state: u64, next: i32| {
        let v = [
            ("prev_pid", N(prev as u64)),
            ("prev_state", N(state)),
            ("next_pid", N(next as u64)),
        ];
        s.s.ev(t, 0, crate::testing::Ctx::Task(prev), "sched:sched_switch", &v);
    };
    switch(&mut s, T - 100, 0, 0, PID);
    for i in 0..4 {
        let t = T + i * 1_000_000;
        s.enter(t);
        s.round(t + 100, 200);
        s.segment(t + 1000, TASK, 200);
        s.leave(t + 2000, 200);
        s.s.ev(t + 3000, 0, TASK, "syscalls:sys_enter_epoll_wait", &[]);
        switch(&mut s, t + 4000, PID, 1, 0);
        s.probe(t + 900_000, 200, &[("data_len", N(data))]);
        s.s.ev(t + 900_100, 0, SOFT, "sched:sched_waking", &[("pid", N(PID as u64))]);
        s.softirq_exit(t + 900_200);
        switch(&mut s, t + 900_500, 0, 0, PID);
        s.s.ev(t + 901_000, 0, TASK, "syscalls:sys_exit_epoll_wait", &[]);
    }
    requests(&mut s, 6_000_000, 1);
    s.facts()
}

#[test]
fn a_sleep_in_poll_that_an_ack_ends_is_the_send_buffer() {
    let f = polling(0);
    // The fourth ends with the first send of what follows.
    let slept = 4 * (900_100 - 3000);
    assert_eq!(f.limiters.iter().map(|r| r.sndbuf_ns).collect::<Vec<_>>(), [slept]);
    let spent = f.spent.values().next().copied().unwrap_or_default();
    // The rest of each wait, behind the ACK, is nobody's: nothing is under way.
    assert_eq!(spent.of(Stage::Sndbuf), slept);
    assert_eq!(spent.shares().first().map(|s| s.0), Some("sndbuf"));
    assert!(spent.held_ns() <= spent.busy_ns, "{spent:?}");
    // No segment waited in the call.
    assert!(segments(&f).iter().all(|r| r.stage(Stage::Sndbuf).is_none()));
}

/// What an answer wakes waited for the answer.
#[test]
fn a_sleep_in_poll_that_data_end_is_not() {
    let f = polling(100);
    assert_eq!(f.limiters.iter().map(|r| r.sndbuf_ns).collect::<Vec<_>>(), [0]);
}

/// What is sent behind an ACK is its socket's, until another packet comes in: that may be of a socket that has no probe any more.
#[test]
fn another_packet_that_comes_in_ends_what_an_ack_lets_go() {
    let bytes = |other: bool| {
        let mut s = Sender::new(&[]);
        requests(&mut s, 100_000, 8);
        s.enter(T);
        s.round(T + 100, 2 * MSS);
        s.segment(T + 1000, TASK, MSS);
        s.round(T + 1900, 0);
        s.leave(T + 2000, 2 * MSS);
        s.probe(T + 40_000, MSS, &[]);
        if other {
            let v = [
                ("skbaddr", N(0xffff_8881_5000_0000)),
                ("len", N(52)),
                ("name", crate::testing::S("eth0")),
            ];
            s.s.ev(T + 40_100, 0, SOFT, "net:netif_receive_skb", &v);
        }
        // Of an original that nothing named before.
        s.nxt += MSS;
        s.frame(T + 40_200, SOFT, 0xffff_8881_6000_0000 + FCLONE, MSS + HEADERS);
        s.softirq_exit(T + 41_000);
        let f = s.facts();
        let mine = segments(&f).into_iter().filter(|r| r.connection.is_some());
        mine.filter(|r| r.t_sched_ns >= T as i64).count()
    };
    assert_eq!((bytes(false), bytes(true)), (2, 1));
}
