use super::tables::{OpenRow, ResetRow, errno};
use crate::testing::tcp::{SOCK, Sock};
use crate::testing::{B, Ctx, N, Script, V};

const TASK: Ctx = Ctx::Task(42);
const SOFT: Ctx = Ctx::Soft(7);
const SECOND: u64 = 1_000_000_000;
/// The peer's socket of [`SOCK`] in the scripts below has other fields than its methods write.
const PEER: u64 = 0xffff_8880_2000_0000;

fn script() -> Script {
    let mut s = Script::new("6.18.44", &[]);
    s.like("syscalls:sys_exit_recvfrom", "sys_exit_connect");
    s
}
fn enter(s: &mut Script, ts: u64) {
    s.ev(ts, 0, TASK, "syscalls:sys_enter_connect", &[("fd", N(3))]);
}
fn exit(s: &mut Script, ts: u64, ret: i64) {
    s.ev(ts, 0, TASK, "syscalls:sys_exit_connect", &[("ret", N(ret as u64))]);
}
fn told(r: &OpenRow) -> String {
    let error = r.error.and_then(errno).unwrap_or("-");
    format!(
        "{} {error} {}+{} syns {} {}",
        r.end.word(),
        r.start_ns,
        r.total_ns(),
        r.syns_again.map_or_else(|| "-".into(), |n| n.to_string()),
        r.confidence.word()
    )
}
fn all(s: &Script) -> Vec<String> {
    s.facts().opens.iter().map(told).collect()
}

/// A blocking call, whose SYN was retransmitted.
#[test]
fn from_the_call_to_established() {
    let mut s = script();
    enter(&mut s, 10);
    SOCK.state(&mut s, 12, 0, TASK, 7, 2);
    SOCK.retransmit(&mut s, SECOND, 0, SOFT, 0x7000, &[("state", N(2))]);
    SOCK.state(&mut s, SECOND + 30, 0, SOFT, 2, 1);
    exit(&mut s, SECOND + 40, 0);
    assert_eq!(all(&s), ["established - 10+1000000020 syns 1 certain"]);
    let row = &s.facts().opens[0];
    assert_eq!((row.pid, row.to.unwrap().1), (42, SOCK.dport));
}

/// An ICMP message is queued for a socket that waits (an error report of 0); where its thread holds it just then, the program reads the
/// error and closes it, and only what was sent to it tells which error that was.
#[test]
fn an_icmp_message_ends_an_attempt_that_its_program_closes() {
    let of = |made: &[(&'static str, crate::testing::V)], report: Ctx, closed: u64| {
        let mut s = script();
        enter(&mut s, 10);
        SOCK.state(&mut s, 12, 0, TASK, 7, 2);
        if !made.is_empty() {
            s.ev(20, 0, SOFT, "icmp:icmp_send", made);
        }
        SOCK.ev(&mut s, 30, 0, report, "sock:inet_sk_error_report", &[("error", N(0))]);
        exit(&mut s, 40, -115);
        SOCK.state(&mut s, closed, 0, TASK, 2, 7);
        let f = s.facts();
        (all(&s).join(","), f.opens[0].message)
    };
    let ends = |to: u8, kind, code| {
        let ip = |last: u8| crate::testing::B(vec![10, 0, 0, last]);
        vec![
            ("saddr", ip(1)),
            ("daddr", ip(to)),
            ("type", N(kind)),
            ("code", N(code)),
        ]
    };
    let told = of(&ends(2, 11, 0), SOFT, 200);
    assert_eq!(told, ("unreachable EHOSTUNREACH 10+190 syns - strong".into(), true));
    assert_eq!(
        of(&ends(2, 3, 13), SOFT, 200).0,
        "unreachable EHOSTUNREACH 10+190 syns - strong"
    );
    assert_eq!(
        of(&ends(2, 3, 3), SOFT, 200).0,
        "refused ECONNREFUSED 10+190 syns - strong"
    );
    // Of another packet, or none: which error it was is not known.
    let unknown = ("given_up - 10+190 syns - certain".to_owned(), true);
    assert_eq!(of(&ends(3, 11, 0), SOFT, 200), unknown);
    assert_eq!(of(&[], SOFT, 200), unknown);
    // Long before, or in a task: it gave up by itself.
    assert!(!of(&ends(2, 11, 0), SOFT, 3_000_000_000).1);
    assert!(!of(&ends(2, 11, 0), TASK, 200).1);
}

/// What a call gives back decides, where the socket is closed inside it; else who closed it does.
#[test]
fn each_end_is_told_apart() {
    let refused = {
        let mut s = script();
        enter(&mut s, 10);
        SOCK.state(&mut s, 12, 0, TASK, 7, 2);
        exit(&mut s, 13, -115);
        SOCK.ev(&mut s, 50, 0, SOFT, "tcp:tcp_receive_reset", &[]);
        SOCK.state(&mut s, 51, 0, SOFT, 2, 7);
        SOCK.ev(&mut s, 52, 0, SOFT, "sock:inet_sk_error_report", &[("error", N(111))]);
        all(&s)
    };
    assert_eq!(refused, ["refused ECONNREFUSED 10+41 syns - certain"]);
    let no_port = {
        let mut s = script();
        enter(&mut s, 10);
        let none = Sock { sport: 0, ..SOCK };
        none.state(&mut s, 12, 0, TASK, 7, 2);
        none.state(&mut s, 14, 0, TASK, 2, 7);
        exit(&mut s, 15, -99);
        all(&s)
    };
    assert_eq!(no_port, ["no_port EADDRNOTAVAIL 10+4 syns - certain"]);
    // Told in front of the end, as before Linux 6.11; an answer to several SYNs that never came.
    let unreachable = {
        let mut s = script();
        enter(&mut s, 10);
        SOCK.state(&mut s, 12, 0, TASK, 7, 2);
        exit(&mut s, 13, -115);
        SOCK.ev(&mut s, 50, 0, SOFT, "sock:inet_sk_error_report", &[("error", N(113))]);
        SOCK.state(&mut s, 51, 0, SOFT, 2, 7);
        all(&s)
    };
    assert_eq!(unreachable, ["unreachable EHOSTUNREACH 10+41 syns - certain"]);
    let timed_out = {
        let mut s = script();
        enter(&mut s, 10);
        SOCK.state(&mut s, 12, 0, TASK, 7, 2);
        SOCK.retransmit(&mut s, 40, 0, SOFT, 0x7000, &[("state", N(2))]);
        SOCK.state(&mut s, 51, 0, SOFT, 2, 7);
        all(&s)
    };
    assert_eq!(timed_out, ["timed_out - 10+41 syns 1 certain"]);
    // Both ends at once.
    let both = {
        let mut s = script();
        enter(&mut s, 10);
        SOCK.state(&mut s, 12, 0, TASK, 7, 2);
        SOCK.state(&mut s, 20, 0, SOFT, 2, 3);
        SOCK.state(&mut s, 30, 0, SOFT, 3, 1);
        all(&s)
    };
    assert_eq!(both, ["established - 10+20 syns - certain"]);
    let no_route = {
        let mut s = script();
        // A path that no unix socket listens at is no attempt of TCP.
        enter(&mut s, 1);
        exit(&mut s, 2, -2);
        enter(&mut s, 10);
        exit(&mut s, 15, -101);
        // Some socket has a state in the recording, so that attempts are told.
        SOCK.state(&mut s, 20, 0, SOFT, 1, 4);
        all(&s)
    };
    assert_eq!(no_route, ["unreachable ENETUNREACH 10+5 syns - weak"]);
    // Closed by a timer; by its program; not at all.
    let closed = |ctx, more: bool| {
        let mut s = script();
        enter(&mut s, 10);
        SOCK.state(&mut s, 12, 0, TASK, 7, 2);
        exit(&mut s, 13, -115);
        if more {
            SOCK.state(&mut s, 500, 0, ctx, 2, 7);
        }
        s.ev(900, 0, TASK, "syscalls:sys_enter_connect", &[("fd", N(4))]);
        all(&s)
    };
    // By a timer, or by a message: nothing tells.
    assert_eq!(closed(SOFT, true), ["failed - 10+490 syns - weak"]);
    assert_eq!(closed(TASK, true), ["given_up - 10+490 syns - certain"]);
    assert_eq!(closed(TASK, false), ["waiting - 10+890 syns - certain"]);
}

/// An event lost meanwhile may have been its end.
#[test]
fn a_loss_makes_it_weak() {
    let mut s = script();
    enter(&mut s, 10);
    SOCK.state(&mut s, 12, 0, TASK, 7, 2);
    s.lost(0, Some(3));
    SOCK.state(&mut s, 60, 0, SOFT, 2, 1);
    assert_eq!(all(&s), ["established - 10+50 syns - weak"]);
}

fn end(last: u8, port: u16) -> V {
    let mut b = vec![2, 0];
    b.extend(port.to_be_bytes());
    b.extend([10, 0, 0, last]);
    b.resize(28, 0);
    B(b)
}

/// Who sent a RST: the peer's socket; nobody of this recording that has the socket; a TCP without the socket.
#[test]
fn the_sender_of_a_reset() {
    let sent = |skaddr: u64| {
        [
            ("skaddr", N(skaddr)),
            ("saddr", end(2, SOCK.dport)),
            ("daddr", end(1, SOCK.sport)),
        ]
    };
    let resets = |peer: bool, by: Option<u64>| {
        let mut s = script();
        // Another one: such are recorded.
        let other = [("saddr", end(9, 1)), ("daddr", end(9, 2))];
        s.ev(5, 0, SOFT, "tcp:tcp_send_reset", &other);
        SOCK.state(&mut s, 10, 0, SOFT, 2, 1);
        if peer {
            // The same event as its methods write, from the other end.
            let of = Sock { sk: PEER, ..SOCK };
            let v = [
                ("oldstate", N(3)),
                ("newstate", N(1)),
                ("sport", N(SOCK.dport.into())),
                ("dport", N(SOCK.sport.into())),
                ("saddr", B(vec![10, 0, 0, 2])),
                ("daddr", B(vec![10, 0, 0, 1])),
            ];
            of.ev(&mut s, 11, 0, SOFT, "sock:inet_sock_set_state", &v);
        }
        if let Some(sk) = by {
            s.ev(90, 0, SOFT, "tcp:tcp_send_reset", &sent(sk));
        }
        SOCK.ev(&mut s, 100, 0, SOFT, "tcp:tcp_receive_reset", &[]);
        let rows = s.facts().resets;
        let last: &ResetRow = rows.last().unwrap();
        assert!(last.received);
        (rows.len(), last.sender.word())
    };
    assert_eq!(resets(true, Some(PEER)), (3, "peer"));
    assert_eq!(resets(true, None), (2, "between"));
    assert_eq!(resets(true, Some(0)), (3, "between"));
    assert_eq!(resets(false, Some(0)), (3, "peer"));
    assert_eq!(resets(false, None), (2, ""));
}

/// What comes to a socket that its program has closed: data, which is answered by a RST at once; or a RST.
#[test]
fn a_reset_of_a_closed_socket_is_told_from_late_data() {
    let of = |answered_ns: Option<u64>, cpu: usize, recorded: bool| {
        let mut s = script();
        if recorded {
            let other = [("saddr", end(9, 1)), ("daddr", end(9, 2))];
            s.ev(5, 0, SOFT, "tcp:tcp_send_reset", &other);
        }
        SOCK.state(&mut s, 10, 0, SOFT, 2, 1);
        SOCK.state(&mut s, 20, 0, TASK, 1, 4);
        SOCK.ev(&mut s, 100, 0, SOFT, "tcp:tcp_receive_reset", &[]);
        SOCK.state(&mut s, 101, 0, SOFT, 4, 7);
        if let Some(ns) = answered_ns {
            let v = [
                ("skaddr", N(SOCK.sk)),
                ("saddr", end(1, SOCK.sport)),
                ("daddr", end(2, SOCK.dport)),
            ];
            s.ev(100 + ns, cpu, SOFT, "tcp:tcp_send_reset", &v);
        }
        let f = s.facts();
        assert!(f.resets.iter().all(|r| !r.received));
        f.reset_when_closed.len()
    };
    assert_eq!(of(Some(5), 0, true), 0);
    assert_eq!(of(None, 0, true), 1);
    // That answered something else: much later, on another CPU.
    assert_eq!(of(Some(2_000_000), 0, true), 1);
    assert_eq!(of(Some(5), 1, true), 1);
    // RSTs that are sent are not recorded.
    assert_eq!(of(None, 0, false), 0);
}

/// Calls on sockets of AF_UNIX are known by the length of their address, and are no attempts of TCP.
#[test]
fn calls_on_socket_files_are_counted_apart() {
    let mut s = script();
    let call = |s: &mut Script, ts: u64, length: u64, ret: i64, took: u64| {
        let fields = [("fd", N(3)), ("addrlen", N(length))];
        s.ev(ts, 0, TASK, "syscalls:sys_enter_connect", &fields);
        exit(s, ts + took, ret);
    };
    call(&mut s, 10, 110, 0, 5);
    call(&mut s, 20, 110, -11, 5);
    call(&mut s, 30, 37, -11, 5);
    call(&mut s, 40, 110, -111, 5);
    call(&mut s, 45, 110, -13, 2);
    call(&mut s, 50, 110, 0, 100_000_000);
    // Its own time-out: it waited. A file that is not there, however long that takes to see, did not.
    call(&mut s, 200_000_000, 110, -11, 200_000_000);
    call(&mut s, 500_000_000, 110, -2, 300_000_000);
    // Lengths of others: IPv4, IPv6, L2CAP; the upper half of a register is no length.
    call(&mut s, SECOND, 16, -11, 5);
    call(&mut s, SECOND + 10, 28, -101, 5);
    call(&mut s, SECOND + 20, 14, -111, 5);
    call(&mut s, SECOND + 30, 0xffff_0000_0000_0010, -11, 5);
    let f = s.facts();
    let row = &f.local_connects[..];
    let [row] = row else { panic!("{row:?}") };
    assert_eq!((row.pid, row.calls, row.full), (42, 8, 2));
    assert_eq!((row.refused, row.denied, row.waited), (1, 1, 2));
    assert_eq!((row.full_ns.as_slice(), row.longest_ns), (&[25, 35][..], 200_000_000));
    // One that could not begin is told as before.
    assert_eq!(f.opens.len(), 1);
    assert_eq!(f.opens[0].error, Some(101));
}
