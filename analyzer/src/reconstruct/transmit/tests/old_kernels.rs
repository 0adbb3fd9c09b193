//! Linux before 6.3: no event of a send names its socket.

use super::{BASE, MSS, PID, SOFT, Sender, TASK, segments};
use crate::confidence::Confidence;
use crate::facts::ConnectionId;
use crate::reconstruct::transmit::Stage;
use crate::reconstruct::transmit::descriptors::{Descriptors, Told, Use};
use crate::reconstruct::transmit::tables::{TxKind, TxStart};
use crate::testing::tcp::SOCK;
use crate::testing::{Ctx, N, Script};

const MAIN: Ctx = Ctx::Task(PID);
const HELPER: i32 = 501;
const FD: u64 = 10;
const A: ConnectionId = ConnectionId(1);
const B: ConnectionId = ConnectionId(2);

fn old() -> Sender {
    let mut s = Script::new("6.1.192", &[]);
    s.like("syscalls:sys_exit_write", "sys_exit_connect");
    Sender::with(s)
}

/// The thread makes a helper, which connects descriptor 10.
fn connect(s: &mut Sender, t: u64) {
    s.s.ev(t, 0, MAIN, "sched:sched_wakeup_new", &[("pid", N(HELPER as u64))]);
    let helper = Ctx::Task(HELPER);
    s.s.ev(t + 10, 0, helper, "syscalls:sys_enter_connect", &[("fd", N(FD))]);
    SOCK.state(&mut s.s, t + 20, 0, helper, 7, 2);
    SOCK.state(&mut s.s, t + 30, 0, SOFT, 2, 1);
    s.s.ev(t + 40, 0, helper, "syscalls:sys_exit_connect", &[("ret", N(0))]);
}

/// A send call of `bytes`, of which `segments` full ones go at once.
fn send(s: &mut Sender, t: u64, fd: u64, bytes: u64, segments: &[u64]) {
    s.s.ev(t, 0, TASK, "syscalls:sys_enter_sendto", &[("fd", N(fd))]);
    for (i, payload) in segments.iter().enumerate() {
        s.segment(t + 1000 + i as u64 * 100, TASK, *payload);
    }
    s.s.ev(t + 2000, 0, TASK, "syscalls:sys_exit_sendto", &[("ret", N(bytes))]);
}

/// Requests and answers.
fn asked(fd: u64) -> Sender {
    let mut s = old();
    connect(&mut s, BASE + 10_000);
    for i in 0..3 {
        let t = BASE + 100_000 + i * 100_000;
        send(&mut s, t, fd, 200, &[200]);
        s.probe(t + 40_000, 200, &[]);
        s.softirq_exit(t + 41_000);
    }
    s
}

/// Of six segments written at `t` four went at once: each ACK lets another go; the last ACK comes so much later.
fn acked(s: &mut Sender, t: u64, later: u64) {
    for i in 0..6 {
        let at = t + 50_000 + i * 10_000 + if i == 5 { later } else { 0 };
        s.probe(at, MSS, &[("snd_cwnd", N(4))]);
        if i < 2 {
            s.segment(at + 100, SOFT, MSS);
        }
        s.softirq_exit(at + 200);
    }
    s.probe(t + later + 200_000, 0, &[]);
}

/// Those, then six segments of which the congestion window lets four go.
fn windowed(fd: u64) -> Sender {
    let mut s = asked(fd);
    let t = BASE + 1_000_000;
    send(&mut s, t, fd, 6 * MSS, &[MSS; 4]);
    acked(&mut s, t, 0);
    s
}

#[test]
fn the_socket_of_a_send_is_that_of_its_descriptor() {
    let f = windowed(FD).facts();
    let rows = segments(&f);
    assert_eq!(rows.len(), 9);
    let t = (BASE + 1_000_000) as i64;
    for r in &rows[3..] {
        assert_eq!((r.start, r.start_ns, r.pid), (TxStart::Sendmsg, t, PID));
        // Learned, not told; and with pacing timers not recorded, a full window may as well have been pacing.
        let windowed = r.stage(Stage::Cwnd).is_some();
        assert_eq!(
            r.confidence,
            if windowed { Confidence::Weak } else { Confidence::Strong }
        );
    }
    assert_eq!(rows[7].stage(Stage::Cwnd), Some(50_100 - 2000));
    assert_eq!(rows[8].stage(Stage::Cwnd), Some(60_100 - 2000));
    assert_eq!(rows[3].stage(Stage::Cwnd), None);
}

/// A number that was its socket's until that closed: another thread of the process closed it, which no event ties to this one.
#[test]
fn nothing_is_sent_on_a_socket_that_has_closed() {
    let of = |closed: bool| {
        let mut s = asked(FD);
        if closed {
            SOCK.state(&mut s.s, BASE + 900_000, 0, SOFT, 4, 7);
        }
        send(&mut s, BASE + 1_000_000, FD, 200, &[200]);
        let f = s.facts();
        f.tx.iter()
            .filter(|r| r.start == TxStart::Sendmsg && r.connection.is_some())
            .count()
    };
    assert_eq!((of(false), of(true)), (4, 3));
}

/// All messages are small, and no event tells what a full segment is: the largest may wait for Nagle, or for what this
/// kernel does not show.
#[test]
fn the_largest_message_may_be_small() {
    let mut s = old();
    connect(&mut s, BASE + 10_000);
    for i in 0..3 {
        let t = BASE + 100_000 + i * 100_000;
        send(&mut s, t, FD, 200, &[200]);
        s.probe(t + 40_000, 200, &[]);
        s.softirq_exit(t + 41_000);
    }
    let t = BASE + 1_000_000;
    send(&mut s, t, FD, 200, &[200]);
    send(&mut s, t + 5000, FD, 201, &[]);
    s.probe(t + 80_000, 200, &[]);
    s.segment(t + 80_100, SOFT, 201);
    s.softirq_exit(t + 80_200);
    s.probe(t + 160_000, 201, &[]);
    s.probe(t + 200_000, 0, &[]);
    let f = s.facts();
    let r = segments(&f)[4];
    assert_eq!((r.bytes, r.stage(Stage::Nagle)), (Some(201), Some(80_100 - 7000)));
    assert_eq!(r.confidence, Confidence::Weak);
}

/// A descriptor that nothing tells: the bytes say whose the segments are, nothing says what was before their queue.
#[test]
fn an_unknown_wait_before_the_queue_makes_the_row_weak() {
    let f = windowed(77).facts();
    let rows = segments(&f);
    assert_eq!(rows.len(), 9);
    for r in rows {
        assert_eq!((r.start, r.confidence), (TxStart::Queue, Confidence::Weak));
        assert_eq!(r.stage(Stage::Cwnd), None);
    }
    assert!(!f.tx.iter().any(|r| r.kind == TxKind::TcpControl && r.bytes.is_none()));
}

/// Six segments of one call, of which the window lets four go: the last, which leaves after the call, waited for the window; where the call slept, it may have been
/// begun before that, and how much of the sleep is its nothing tells.
#[test]
fn the_last_bytes_of_a_call_that_slept_are_weak() {
    for slept in [false, true] {
        let mut s = asked(FD);
        let t = BASE + 1_000_000;
        s.s.ev(t, 0, TASK, "syscalls:sys_enter_sendto", &[("fd", N(FD))]);
        for i in 0..4 {
            s.segment(t + 1000 + i * 100, TASK, MSS);
        }
        if slept {
            let switch = |prev, next| [("prev_pid", N(prev)), ("prev_state", N(1)), ("next_pid", N(next))];
            let pid = PID as u64;
            s.s.ev(t + 2000, 0, TASK, "sched:sched_switch", &switch(pid, 0));
            s.s.ev(t + 30_000, 0, SOFT, "sched:sched_waking", &[("pid", N(pid))]);
            s.s.ev(t + 30_100, 0, SOFT, "sched:sched_wakeup", &[("pid", N(pid))]);
            s.s.ev(t + 30_200, 0, Ctx::Task(0), "sched:sched_switch", &switch(0, pid));
        }
        s.s.ev(t + 32_000, 0, TASK, "syscalls:sys_exit_sendto", &[("ret", N(6 * MSS))]);
        // The wait for the window, which may have been pacing, is a small part of the whole.
        acked(&mut s, t, 700_000);
        let f = s.facts();
        let last = segments(&f)[8];
        assert_eq!(last.stage(Stage::Sndbuf), slept.then_some(28_200));
        assert_eq!(last.confidence.is_solid(), !slept, "{last:?}");
    }
}

/// A thread that writes a tap device: the ACKs it brings in are of other threads' sockets.
#[test]
fn writing_packets_into_a_device_is_no_send() {
    let mut s = old();
    let device = Ctx::Task(600);
    for i in 0..3 {
        let t = BASE + 100_000 + i * 100_000;
        s.s.ev(t, 0, device, "syscalls:sys_enter_write", &[("fd", N(5))]);
        s.s.ev(t + 100, 0, device, "net:netif_receive_skb", &[]);
        s.s.ev(t + 200, 0, device, "net:netif_receive_skb", &[]);
        SOCK.probe(
            &mut s.s,
            t + 300,
            0,
            device,
            &[("snd_nxt", N(s.nxt)), ("snd_una", N(s.una))],
        );
        s.segment(t + 400, device, 200);
        s.una += 200;
        s.s.ev(t + 500, 0, device, "syscalls:sys_exit_write", &[("ret", N(66))]);
    }
    let f = s.facts();
    let rows = segments(&f);
    assert_eq!(rows.len(), 3);
    assert!(rows.iter().all(|r| r.pid == 0 && r.start == TxStart::Queue));
}

#[test]
fn a_descriptor_in_doubt_names_nobody() {
    let mut d = Descriptors::default();
    let learn = |d: &mut Descriptors, pid, fd, c| {
        d.enter(pid, Use::Socket(fd));
        d.named(pid, c);
        d.leave(pid);
    };
    let asked = |d: &mut Descriptors, pid, fd, socket| {
        d.enter(pid, Use::Socket(fd));
        d.of(pid, socket)
    };
    d.born(1, 2, false);
    d.born(1, 3, false);
    learn(&mut d, 2, 9, A);
    assert_eq!(asked(&mut d, 2, 9, false), Some(A));
    // Another thread of its kin, when the call is a socket's for sure; a stranger never.
    assert_eq!((asked(&mut d, 3, 9, true), asked(&mut d, 3, 9, false)), (Some(A), None));
    assert_eq!(asked(&mut d, 4, 9, true), None);
    // Two of the kin use the number for different sockets: they share no descriptors. Each knows its own.
    learn(&mut d, 3, 9, B);
    assert_eq!(
        (asked(&mut d, 2, 9, true), asked(&mut d, 3, 9, true)),
        (Some(A), Some(B))
    );
    assert_eq!(asked(&mut d, 1, 9, true), None);
    // Closed by one: perhaps by all.
    d.enter(3, Use::Close(9));
    assert_eq!((asked(&mut d, 2, 9, true), asked(&mut d, 3, 9, true)), (None, None));
    // A new socket of an unknown connection, until a read names it.
    d.accepted(2, 9);
    assert_eq!(asked(&mut d, 2, 9, true), None);
    learn(&mut d, 2, 9, B);
    assert_eq!(asked(&mut d, 3, 9, true), Some(B));
    // A thread id that is used again.
    d.born(4, 2, false);
    assert_eq!(asked(&mut d, 2, 9, true), None);
    // One with another name, where reads are not recorded: it may have executed a program, and then has descriptors of its own.
    learn(&mut d, 1, 5, A);
    d.born(1, 6, true);
    d.born(1, 7, false);
    assert_eq!((asked(&mut d, 6, 5, true), asked(&mut d, 7, 5, true)), (None, Some(A)));
    // Where they are, it has executed one when it loaded that; a thread that names itself has not.
    let loads = true;
    let mut d = Descriptors::new(Told {
        loads,
        ..Told::default()
    });
    learn(&mut d, 1, 5, A);
    d.born(1, 6, true);
    d.born(1, 7, true);
    d.enter(6, Use::Load(3));
    assert_eq!((asked(&mut d, 6, 5, true), asked(&mut d, 7, 5, true)), (None, Some(A)));
    // A thread that loads a library keeps its kin when it kept its name.
    d.born(1, 8, false);
    d.enter(8, Use::Load(3));
    assert_eq!(asked(&mut d, 8, 5, true), Some(A));
}

/// A write may be to a tun device: what it makes sockets do says nothing of the descriptor, unless packets that come in would be seen.
#[test]
fn a_write_names_a_socket_where_it_cannot_be_to_a_device() {
    for told in [false, true] {
        let mut d = Descriptors::new(Told {
            injected: told,
            ..Told::default()
        });
        d.enter(1, Use::Write(6));
        assert_eq!(d.may_inject(1), !told);
        d.named(1, A);
        assert_eq!(d.of(1, true), Some(A).filter(|_| told));
        d.enter(1, Use::Socket(6));
        assert!(!d.may_inject(1));
    }
}
