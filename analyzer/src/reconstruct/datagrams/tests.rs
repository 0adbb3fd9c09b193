use super::sockets::SocketRow;
use super::tables::{Awaited, TurnEnd, TurnRow};
use crate::Confidence;
use crate::facts::Facts;
use crate::testing::{Ctx, N, S, Script};

mod whither;

const T: u64 = 1_000_000_000;
const PID: i32 = 7;
const TASK: Ctx = Ctx::Task(PID);
const SOFT: Ctx = Ctx::Soft(PID);
const ONE: u64 = 0xffff_8881_5000_0000;
const TWO: u64 = 0xffff_8881_5000_1000;
const MS: u64 = 1_000_000;

/// A thread that uses UDP sockets; times are after [`T`].
struct Asker(Script);

impl Asker {
    fn new() -> Asker {
        let mut s = Script::new("6.18.44", &[]);
        // The second argument is what counts: nfds, as recvfrom's buffer.
        s.like("syscalls:sys_enter_recvfrom", "sys_enter_poll");
        s.like("syscalls:sys_exit_recvfrom", "sys_exit_poll");
        s.like("syscalls:sys_exit_recvfrom", "sys_exit_connect");
        s.like("syscalls:sys_enter_close", "sys_enter_clock_nanosleep");
        s.like("syscalls:sys_exit_read", "sys_exit_clock_nanosleep");
        s.ev(1, 0, Ctx::Task(1), "napi:napi_poll", &[]);
        let v = [("prev_pid", N(3)), ("prev_state", N(1)), ("next_pid", N(7))];
        s.ev(T - 1000, 0, Ctx::Task(3), "sched:sched_switch", &v);
        // Reads and arrivals are recorded, those of a TCP socket.
        let tcp = [
            ("sk", N(TWO + 0x1000)),
            ("family", N(2)),
            ("protocol", N(6)),
            ("ret", N(1)),
        ];
        s.ev(2, 0, Ctx::Task(1), "sock:sock_recv_length", &tcp);
        let tcp = [("skaddr", N(TWO + 0x1000)), ("family", N(2)), ("protocol", N(6))];
        s.ev(3, 0, Ctx::Task(1), "sock:sk_data_ready", &tcp);
        Asker(s)
    }
    fn socket(sk: u64, ret: i64) -> Vec<(&'static str, crate::testing::V)> {
        vec![
            ("sk", N(sk)),
            ("family", N(2)),
            ("protocol", N(17)),
            ("ret", N(ret as u64)),
        ]
    }
    fn connect(&mut self, t: u64, fd: u64) {
        self.0
            .ev(T + t, 0, TASK, "syscalls:sys_enter_connect", &[("fd", N(fd))]);
        self.0.ev(T + t + 1, 0, TASK, "syscalls:sys_exit_connect", &[]);
    }
    /// Over after 10 ns.
    fn send(&mut self, t: u64, (fd, sk): (u64, u64), bytes: i64) {
        self.0.ev(T + t, 0, TASK, "syscalls:sys_enter_sendto", &[("fd", N(fd))]);
        self.0
            .ev(T + t + 9, 0, TASK, "sock:sock_send_length", &Self::socket(sk, bytes));
        self.0.ev(
            T + t + 10,
            0,
            TASK,
            "syscalls:sys_exit_sendto",
            &[("ret", N(bytes as u64))],
        );
    }
    fn asleep(&mut self, from: u64, to: u64) {
        let v = [("prev_pid", N(7)), ("prev_state", N(1)), ("next_pid", N(3))];
        self.0.ev(T + from, 0, TASK, "sched:sched_switch", &v);
        let v = [("prev_pid", N(3)), ("prev_state", N(0)), ("next_pid", N(7))];
        self.0.ev(T + to, 0, Ctx::Task(3), "sched:sched_switch", &v);
    }
    /// Asleep in it for all but 2 ns.
    fn poll(&mut self, from: u64, to: u64, nfds: u64, ret: u64) {
        self.0
            .ev(T + from, 0, TASK, "syscalls:sys_enter_poll", &[("ubuf", N(nfds))]);
        self.asleep(from + 1, to - 1);
        self.0.ev(T + to, 0, TASK, "syscalls:sys_exit_poll", &[("ret", N(ret))]);
    }
    /// The same, in a receive call.
    fn receive(&mut self, from: u64, to: u64, (fd, sk): (u64, u64), ret: i64) {
        self.0
            .ev(T + from, 0, TASK, "syscalls:sys_enter_recvfrom", &[("fd", N(fd))]);
        if to - from > 10 {
            self.asleep(from + 1, to - 2);
        }
        self.0
            .ev(T + to - 1, 0, TASK, "sock:sock_recv_length", &Self::socket(sk, ret));
        self.0
            .ev(T + to, 0, TASK, "syscalls:sys_exit_recvfrom", &[("ret", N(ret as u64))]);
    }
    fn arrives(&mut self, t: u64, sk: u64) {
        let v = [("skaddr", N(sk)), ("family", N(2)), ("protocol", N(17))];
        self.0.ev(T + t, 0, SOFT, "sock:sk_data_ready", &v);
    }
    fn close(&mut self, t: u64, fd: u64) {
        self.0.ev(T + t, 0, TASK, "syscalls:sys_enter_close", &[("fd", N(fd))]);
    }
    fn facts(&mut self) -> Facts {
        self.0.ev(T + 5_000 * MS, 0, TASK, "napi:napi_poll", &[]);
        self.0.facts()
    }
}

fn told(t: &TurnRow) -> (TurnEnd, Awaited, i64, bool, Option<u32>) {
    (t.end, t.awaited, t.waited_ns, t.gave_up, t.again)
}

/// A resolver: a poll runs out, the same question goes to another server by a new socket, and is answered.
#[test]
fn a_poll_that_ran_out_was_for_the_socket_that_is_given_up_for_another() {
    let (mut a, one, two) = (Asker::new(), (3, ONE), (4, TWO));
    a.connect(0, 3);
    a.send(100, one, 26);
    a.poll(200, 200 + 1000 * MS, 1, 0);
    let t = 300 + 1000 * MS;
    a.close(t, 3);
    a.connect(t + 10, 4);
    a.send(t + 100, two, 26);
    a.arrives(t + 500, TWO);
    a.receive(t + 600, t + 602, two, 86);
    a.close(t + 700, 4);
    let f = a.facts();
    let ends: Vec<_> = f.udp_turns.iter().map(told).collect();
    let waited = 1000 * MS as i64 - 2;
    assert_eq!(
        ends,
        [
            (TurnEnd::Closed, Awaited::Poll, waited, true, Some(1)),
            (TurnEnd::Answered, Awaited::No, 0, false, None)
        ]
    );
    assert_eq!(f.udp_turns[1].ready_ns, Some((T + t + 500) as i64));
    let counts = |s: &SocketRow| (s.sent, s.arrived, s.received, s.closed, s.connected, s.served);
    let counts: Vec<_> = f.udp_sockets.iter().map(counts).collect();
    assert_eq!(counts, [(1, 0, 0, true, true, false), (1, 1, 1, true, true, false)]);
}

/// A log: datagrams of one length, a poll of something else after each, all closed at the end.
#[test]
fn who_only_sends_has_asked_for_nothing() {
    let (mut a, log) = (Asker::new(), (3, ONE));
    for n in 0..4 {
        a.send(n * 200 * MS, log, 40);
        a.poll(n * 200 * MS + 100, n * 200 * MS + 150 * MS, 1, 0);
    }
    a.close(900 * MS, 3);
    let f = a.facts();
    assert_eq!(f.udp_turns.len(), 4);
    assert!(f.udp_turns.iter().all(|t| t.awaited == Awaited::Perhaps));
    let answers = crate::analyses::answer(&f);
    let d = answers.datagrams.findings().unwrap();
    assert_eq!((d.in_vain.len(), d.perhaps), (0, 4));
}

/// A resolver asks for two types, waits for as long each time, and closes its socket: in vain. Not where it waits for less, or something else is sent.
#[test]
fn who_asks_the_same_twice_and_gives_up_has_asked_in_vain() {
    let asked = |wait: u64, second: i64| {
        let (mut a, dns) = (Asker::new(), (3, ONE));
        a.connect(0, 3);
        let mut at = 100;
        for bytes in [43, second] {
            a.send(at, dns, bytes);
            a.send(at + 1_000, dns, bytes);
            a.poll(at + 2_000, at + wait * MS, 1, 0);
            at += wait * MS + 1_000;
        }
        a.close(at + 1_000, 3);
        let f = a.facts();
        f.udp_turns.iter().map(|t| t.awaited).collect::<Vec<_>>()
    };
    assert_eq!(asked(2_000, 43), [Awaited::Poll; 2]);
    assert_eq!(asked(2_000, 44), [Awaited::Perhaps; 2]);
    assert_eq!(asked(500, 43), [Awaited::Perhaps; 2]);
}

/// Two logs in turns: the other socket is no new one. Many sends with no wait are one turn; a sleep elsewhere is no wait.
#[test]
fn a_sleep_elsewhere_is_no_wait() {
    let (mut a, one, two) = (Asker::new(), (3, ONE), (4, TWO));
    a.send(0, two, 40);
    a.send(100, one, 40);
    a.send(200, one, 40);
    a.0.ev(T + 300, 0, TASK, "syscalls:sys_enter_clock_nanosleep", &[]);
    a.asleep(301, 200 * MS);
    a.0.ev(T + 200 * MS + 1, 0, TASK, "syscalls:sys_exit_clock_nanosleep", &[]);
    a.poll(200 * MS + 100, 400 * MS, 1, 0);
    a.send(401 * MS, two, 40);
    let f = a.facts();
    let of = |t: &TurnRow| (t.socket, t.sends, t.awaited, t.gave_up, t.again);
    let got: Vec<_> = f.udp_turns.iter().map(of).collect();
    assert_eq!(
        got,
        [(0, 2, Awaited::No, false, None), (1, 2, Awaited::No, false, None)]
    );
}

/// A receive call with a time limit, three tries on one socket, the last of them answered.
#[test]
fn a_receive_call_on_the_socket_waits_for_it() {
    let (mut a, one) = (Asker::new(), (3, ONE));
    a.connect(0, 3);
    for n in 0..3 {
        let t = 100 + n * 300 * MS;
        a.send(t, one, 26);
        if n == 2 {
            a.arrives(t + MS, ONE);
        }
        let (to, ret) = if n < 2 { (t + 250 * MS, -11) } else { (t + 2 * MS, 86) };
        a.receive(t + 100, to, one, ret);
    }
    let f = a.facts();
    let ends: Vec<_> = f.udp_turns.iter().map(|t| (t.end, t.awaited, t.again)).collect();
    assert_eq!(
        ends,
        [
            (TurnEnd::AskedAgain, Awaited::Receive, Some(1)),
            (TurnEnd::AskedAgain, Awaited::Receive, Some(2)),
            (TurnEnd::Answered, Awaited::No, None)
        ]
    );
    let answers = crate::analyses::answer(&f);
    let vain = &answers.datagrams.findings().unwrap().in_vain[0];
    assert_eq!((vain.sends, vain.of, vain.again, vain.again_answered), (2, 3, 2, 1));
}

/// What came first asked: a server that waits for its next question has not been left without an answer.
#[test]
fn a_server_waits_for_nobody() {
    let (mut a, one) = (Asker::new(), (3, ONE));
    a.arrives(0, ONE);
    a.receive(100, 102, one, 26);
    a.send(200, one, 86);
    a.receive(300, 300 + 2000 * MS, one, -11);
    a.send(400 + 2000 * MS, one, 86);
    let f = a.facts();
    assert_eq!(f.udp_turns[0].awaited, Awaited::Receive);
    assert!(f.udp_sockets[0].served);
    let answers = crate::analyses::answer(&f);
    assert_eq!(answers.datagrams.findings().unwrap().in_vain, []);
}

/// An ICMP message is an answer of a kind.
#[test]
fn a_refusal_ends_the_turn() {
    let (mut a, one) = (Asker::new(), (3, ONE));
    a.send(0, one, 26);
    a.receive(100, 102, one, -111);
    let f = a.facts();
    let t = &f.udp_turns[0];
    assert_eq!((t.end, t.error), (TurnEnd::Refused, Some(111)));
}

/// What was lost may have been the answer.
#[test]
fn lost_events_end_what_is_known() {
    let (mut a, one, two) = (Asker::new(), (3, ONE), (4, TWO));
    a.connect(0, 3);
    a.send(100, one, 26);
    a.0.lost(0, Some(9));
    a.poll(200, 200 + 1000 * MS, 1, 0);
    a.close(300 + 1000 * MS, 3);
    a.send(400 + 1000 * MS, two, 26);
    let f = a.facts();
    let t = &f.udp_turns[0];
    assert_eq!(
        (t.end, t.gave_up, t.confidence),
        (TurnEnd::Lost, false, Confidence::Weak)
    );
    let answers = crate::analyses::answer(&f);
    assert_eq!(answers.datagrams.findings().unwrap().in_vain, []);
}

/// A thread that is woken and goes on without a switch to it, as Linux 6.18 has it now and then: 36 µs of a second are untold, and the
/// wait is as certain as any. Where most of a wait is, it is not.
#[test]
fn some_us_of_a_wait_may_be_untold() {
    for (woken, solid) in [(1000 * MS, true), (300 * MS, false)] {
        let (mut a, one, two) = (Asker::new(), (3, ONE), (4, TWO));
        a.connect(0, 3);
        a.send(100, one, 26);
        let end = 200 + 1000 * MS + 36_000;
        a.0.ev(T + 200, 0, TASK, "syscalls:sys_enter_poll", &[("ubuf", N(1))]);
        let v = [("prev_pid", N(7)), ("prev_state", N(1)), ("next_pid", N(0))];
        a.0.ev(T + 201, 0, TASK, "sched:sched_switch", &v);
        let v = [("pid", N(7)), ("target_cpu", N(0))];
        a.0.ev(T + 200 + woken, 0, Ctx::Task(0), "sched:sched_waking", &v);
        a.0.ev(T + 200 + woken + 10_000, 0, Ctx::Task(0), "sched:sched_wakeup", &v);
        a.0.ev(T + end, 0, TASK, "syscalls:sys_exit_poll", &[("ret", N(0))]);
        a.close(end + 100, 3);
        a.connect(end + 200, 4);
        a.send(end + 300, two, 26);
        // A switch away from a thread that its CPU was not switched to: so one was not told.
        a.asleep(end + 400, end + 500);
        let f = a.facts();
        let t = &f.udp_turns[0];
        assert!(
            t.waited_ns >= woken as i64 - 1000 && t.waited_ns <= woken as i64,
            "{t:?}"
        );
        assert_eq!((t.end, t.confidence.is_solid()), (TurnEnd::Closed, solid), "{t:?}");
    }
}

/// One `sendmmsg` with two questions of one length, as a resolver's for A and AAAA: both came, and neither is a copy.
#[test]
fn two_datagrams_of_one_call_are_two() {
    let mut a = Asker::new();
    let s = &mut a.0;
    s.ev(T, 0, TASK, "syscalls:sys_enter_sendto", &[("fd", N(5))]);
    for n in 0..2u64 {
        let (t, skb) = (100 * n, 0xffff_8881_0000_0000 + 0x100 * n);
        let v = [("skbaddr", N(skb)), ("len", N(200)), ("name", S("lo"))];
        let got = [("skbaddr", N(skb)), ("len", N(186)), ("name", S("lo"))];
        s.ev(T + t + 10, 0, TASK, "net:net_dev_queue", &v);
        s.ev(T + t + 20, 0, TASK, "net:net_dev_start_xmit", &v);
        s.ev(T + t + 30, 0, TASK, "net:netif_rx", &got);
        s.ev(T + t + 40, 0, TASK, "irq:softirq_entry", &[("vec", N(3))]);
        s.ev(T + t + 50, 0, SOFT, "net:netif_receive_skb", &got);
        let v = [("skaddr", N(ONE)), ("family", N(2)), ("protocol", N(17))];
        s.ev(T + t + 60, 0, SOFT, "sock:sk_data_ready", &v);
        s.ev(T + t + 70, 0, SOFT, "irq:softirq_exit", &[("vec", N(3))]);
        s.ev(T + t + 80, 0, TASK, "sock:sock_send_length", &Asker::socket(TWO, 158));
    }
    s.ev(T + 300, 0, TASK, "syscalls:sys_exit_sendto", &[("ret", N(2))]);
    let f = a.facts();
    assert_eq!(f.udp_copies.len(), 0);
    let turns: Vec<_> = f.udp_turns.iter().map(|t| (t.sends, t.landed)).collect();
    assert_eq!(turns, [(2, 2)]);
}

/// In the order of a real recording (6.18, nft dup in prerouting): the copy is queued first, right before the packet itself; a
/// packet of another length in its place is none, nor is one that goes to another socket.
#[test]
fn a_packet_beside_its_like_is_a_copy() {
    for (bytes, to, copies) in [(200, ONE, 1), (180, ONE, 0), (200, TWO, 0)] {
        let mut a = Asker::new();
        let (own, copy) = (0xffff_8881_0000_0000u64, 0xffff_8881_0000_0100u64);
        let frame = |s: &mut Script, t: u64, ctx, event: &str, skb: u64, len: u64, dev| {
            let v = [("skbaddr", N(skb)), ("len", N(len)), ("name", S(dev))];
            s.ev(T + t, 0, ctx, event, &v);
        };
        let s = &mut a.0;
        s.ev(T, 0, TASK, "syscalls:sys_enter_sendto", &[("fd", N(5))]);
        frame(s, 10, TASK, "net:net_dev_queue", own, 200, "c0");
        frame(s, 20, TASK, "net:net_dev_start_xmit", own, 200, "c0");
        frame(s, 30, TASK, "net:netif_rx", own, 186, "rc");
        s.ev(T + 40, 0, TASK, "irq:softirq_entry", &[("vec", N(3))]);
        frame(s, 50, SOFT, "net:netif_receive_skb", own, 186, "rc");
        for (t, skb, len) in [(60, copy, bytes), (70, own, 200)] {
            frame(s, t, SOFT, "net:net_dev_queue", skb, len, "rs");
            frame(s, t + 2, SOFT, "net:net_dev_start_xmit", skb, len, "rs");
            frame(s, t + 4, SOFT, "net:netif_rx", skb, len - 14, "s0");
        }
        frame(s, 80, SOFT, "net:netif_receive_skb", copy, bytes - 14, "s0");
        a.arrives(85, to);
        frame(&mut a.0, 90, SOFT, "net:netif_receive_skb", own, 186, "s0");
        a.arrives(95, ONE);
        let s = &mut a.0;
        s.ev(T + 100, 0, SOFT, "irq:softirq_exit", &[("vec", N(3))]);
        s.ev(
            T + 110,
            0,
            TASK,
            "sock:sock_send_length",
            &Asker::socket(0xffff_8881_6000_0000, 158),
        );
        s.ev(T + 111, 0, TASK, "syscalls:sys_exit_sendto", &[("ret", N(158))]);
        let f = a.facts();
        assert_eq!(f.udp_copies.len(), copies, "{bytes} {to:x}");
        let turn = &f.udp_turns[0];
        assert_eq!((turn.sends, turn.landed), (1, 1));
        if let Some(c) = f.udp_copies.first() {
            let addr = |id: crate::facts::SkbId| f.skbs[id.0 as usize].skbaddr;
            assert_eq!((addr(c.copy), addr(c.skb_id)), (copy, own));
            assert_eq!((c.turn, c.in_call, c.dev.text().as_ref()), (Some(0), false, "rs"));
            let s = &f.udp_sockets[c.socket as usize];
            assert_eq!((s.arrived, s.copies), (2, 1));
        }
    }
}
