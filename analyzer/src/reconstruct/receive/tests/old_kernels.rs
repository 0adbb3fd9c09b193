use super::*;
use crate::Confidence;
use crate::reconstruct::receive::tables::{ReadBy, RxEnd};

/// 6.1: no skbaddr in tcp_probe, no sk_data_ready, no sock_recv_length. The copy names the skb all the same.
fn old() -> Script {
    let mut s = Script::new("6.1.192", &[]);
    s.ev(1, 0, Ctx::Task(1), "napi:napi_poll", &[]);
    s
}

#[test]
fn one_segment_of_its_length_in_the_run_is_strong() {
    let mut s = old();
    soft(&mut s, 0, 0, "entry");
    recv(&mut s, 10, A, 1_000);
    recv(&mut s, 12, A + 256, 0); // a pure ACK does not fit
    probe(&mut s, 30, SOFT, A, 1_000);
    copy(&mut s, 100, A, 1_000);
    exit(&mut s, 110, "recvfrom", 1_000);
    let r = rx(&s);
    assert_eq!(r.len(), 1);
    assert_eq!(
        (r[0].bytes, r[0].end, r[0].confidence),
        (Some(1_000), RxEnd::Read, Confidence::Strong)
    );
    assert_eq!(
        (r[0].stage(Stage::Protocol), r[0].stage(Stage::Ready), r[0].rcvq_ns),
        (Some(20), None, Some(70))
    );
    assert_eq!(r[0].total_ns, 100);
}

#[test]
fn two_of_one_length_are_weak_and_in_order() {
    let mut s = old();
    soft(&mut s, 0, 0, "entry");
    recv(&mut s, 10, A, 1_000);
    recv(&mut s, 12, A + 256, 1_000);
    probe(&mut s, 30, SOFT, A, 1_000);
    probe(&mut s, 40, SOFT, A + 256, 1_000);
    copy(&mut s, 100, A, 1_000);
    exit(&mut s, 110, "recvfrom", 1_000);
    copy(&mut s, 120, A + 256, 1_000);
    exit(&mut s, 130, "recvfrom", 1_000);
    let r = rx(&s);
    let got: Vec<_> = r.iter().map(|r| (r.rcvq_ns, r.confidence)).collect();
    assert_eq!(got, [(Some(70), Confidence::Weak), (Some(80), Confidence::Strong)]);
}

/// Nothing but the return of the call tells when a copy was over; io_uring's may be of several reads.
#[test]
fn a_copy_that_nothing_ends_is_weak() {
    let ends = |ended: bool| {
        let mut s = old();
        s.like("syscalls:sys_exit_recvfrom", "sys_exit_io_uring_enter");
        soft(&mut s, 0, 0, "entry");
        recv(&mut s, 10, A, 1_000);
        probe(&mut s, 30, SOFT, A, 1_000);
        copy(&mut s, 100, A, 1_000);
        if ended {
            exit(&mut s, 5_000, "io_uring_enter", 1);
        }
        let r = rx(&s);
        (r[0].stage(Stage::Copy), r[0].total_ns, r[0].confidence)
    };
    assert_eq!(ends(true), (Some(4_900), 4_990, Confidence::Strong));
    assert_eq!(ends(false), (None, 90, Confidence::Weak));
}

/// Without sk_data_ready an out-of-order segment shows only when a copy names one behind others.
#[test]
fn a_copy_of_a_later_segment_puts_the_order_in_doubt() {
    let mut s = old();
    for (k, bytes) in [(0u64, 300u64), (1, 200)] {
        soft(&mut s, k * 100, 0, "entry");
        recv(&mut s, k * 100 + 10, A + k * 256, bytes);
        probe(&mut s, k * 100 + 30, SOFT, A + k * 256, bytes);
        soft(&mut s, k * 100 + 40, 0, "exit");
    }
    copy(&mut s, 300, A + 256, 200);
    exit(&mut s, 301, "recvfrom", 200);
    copy(&mut s, 400, A, 300);
    let r = rx(&s);
    let got: Vec<_> = r.iter().map(|r| (r.bytes, r.end, r.confidence)).collect();
    let expect = [
        (Some(300), RxEnd::Read, Confidence::Weak),
        // named by its own address
        (Some(200), RxEnd::Read, Confidence::Strong),
    ];
    assert_eq!(got, expect);
    let last: Vec<_> = r.iter().map(|r| r.start_ns + r.total_ns - T as i64).collect();
    assert_eq!(last, [400, 301]);
}

/// Before 5.0: no GRO exit events. A merged entry has no row, as nothing of it is ever received.
#[test]
fn without_gro_exits_a_merged_entry_has_no_row() {
    let mut s = Script::new("6.18.44", &["net:napi_gro_receive_exit"]);
    s.ev(1, 0, Ctx::Task(1), "napi:napi_poll", &[]);
    soft(&mut s, 0, 0, "entry");
    skb(&mut s, 10, 0, SOFT, "net:napi_gro_receive_entry", A, 1_052);
    skb(&mut s, 20, 0, SOFT, "net:napi_gro_receive_entry", A + 256, 1_052);
    arrive(&mut s, 50, A, 2_000);
    read(&mut s, 100, A, 2_000);
    let r = rx(&s);
    assert_eq!((r.len(), r[0].bytes), (1, Some(2_000)));
}

/// 4.15: no tcp_probe. Nothing claims a unit, and the reason is given.
#[test]
fn without_tcp_probe_nothing_is_claimed() {
    let mut s = Script::new("6.18.44", &["tcp:tcp_probe"]);
    arrive(&mut s, 0, A, 100);
    read(&mut s, 100, A, 100);
    let f = s.facts();
    assert!(f.rx.is_empty());
    let why = f.unknown.iter().filter(|r| r.subject == "rx");
    assert!(why.clone().any(|r| r.because.contains("tcp_probe")));
}

/// 6.1: nothing announces datagrams. One that a thread frees inside its receive call, and whose length fits, was read: weakly.
#[test]
fn a_datagram_freed_by_its_reader() {
    for (ret, rows) in [(500, 1), (499, 0)] {
        let mut s = old();
        soft(&mut s, 0, 0, "entry");
        recv(&mut s, 10, A, 476); // 528 bytes: 500 and IPv4 and UDP headers
        soft(&mut s, 20, 0, "exit");
        s.ev(T + 90, 1, TASK, "skb:consume_skb", &[("skbaddr", N(A))]);
        exit(&mut s, 100, "recvfrom", ret);
        let r = rx(&s);
        assert_eq!(r.len(), rows);
        for r in r {
            assert_eq!(
                (r.bytes, r.end, r.confidence),
                (Some(500), RxEnd::Read, Confidence::Weak)
            );
            assert_eq!(
                (r.read_by, r.total_ns, r.rcvq_ns),
                (Some(ReadBy::Consume), 90, Some(80))
            );
        }
    }
}

/// A guest that its host held up for 28 ms in the middle of a softirq run (seen on 6.1): the probe that comes afterwards is
/// still of the segment received before. Without the run's own events 20 ms are the limit.
#[test]
fn a_run_that_was_held_up_is_the_same_run() {
    for (run, rows) in [(true, 2), (false, 1)] {
        let mut s = old();
        if run {
            soft(&mut s, 0, 0, "entry");
        }
        recv(&mut s, 10, A, 1_448);
        probe(&mut s, 28_000_000, SOFT, A, 1_448);
        recv(&mut s, 28_000_010, A + 256, 545);
        probe(&mut s, 28_000_020, SOFT, A + 256, 545);
        copy(&mut s, 28_000_100, A, 1_993);
        exit(&mut s, 28_000_110, "recvfrom", 1_993);
        let r = rx(&s);
        assert_eq!(r.len(), rows, "{r:?}");
        let first = r.iter().find(|r| r.bytes == Some(1_448));
        let want = run.then_some((Some(27_999_990), RxEnd::Read, Confidence::Strong));
        assert_eq!(first.map(|r| (r.stage(Stage::Protocol), r.end, r.confidence)), want);
    }
}

/// A thread works off the backlog while the other CPU's softirq run that fills it goes on (seen on 6.1): no row is missing.
#[test]
fn a_backlog_worked_off_before_the_burst_is_over() {
    let mut s = old();
    soft(&mut s, 0, 0, "entry");
    recv(&mut s, 10, A, 1_000);
    probe(&mut s, 20, SOFT, A, 1_000);
    recv(&mut s, 30, A + 256, 700);
    recv(&mut s, 40, A + 512, 600);
    let in_task = |s: &mut Script, t: u64, bytes: u64| SOCK.probe(s, T + t, 1, TASK, &[("data_len", N(bytes))]);
    in_task(&mut s, 50, 700);
    in_task(&mut s, 60, 600);
    soft(&mut s, 70, 0, "exit");
    for (k, bytes) in [(0, 1_000), (1, 700), (2, 600)] {
        copy(&mut s, 100 + 10 * k, A + 256 * k, bytes);
    }
    exit(&mut s, 130, "recvfrom", 2_300);
    let f = s.facts();
    let got: Vec<_> = f.rx.iter().map(|r| (r.bytes, r.end, r.confidence)).collect();
    let expect = [1_000, 700, 600].map(|b| (Some(b), RxEnd::Read, Confidence::Strong));
    assert_eq!(got, expect);
    let waited: Vec<_> = f.rx.iter().map(|r| r.stage(Stage::Backlog)).collect();
    assert_eq!(waited, [None, Some(20), Some(20)]);
}

/// The second segment was coalesced into the first and freed silently; a packet tap's clone has its address, and the tap
/// reads that. `tcp_rcv_space_adjust` follows what TCP copies, so it is no read of the socket.
#[test]
fn a_copy_of_a_packet_taps_clone_is_not_the_sockets() {
    let mut s = old();
    let adjust = |s: &mut Script, t: u64| {
        let v = [("sock_cookie", N(SOCK.cookie))];
        SOCK.ev(s, T + t, 1, TASK, "tcp:tcp_rcv_space_adjust", &v);
    };
    let segment = |s: &mut Script, t: u64, addr: u64, bytes: u64| {
        soft(s, t, 0, "entry");
        recv(s, t + 10, addr, bytes);
        probe(s, t + 20, SOFT, addr, bytes);
        soft(s, t + 30, 0, "exit");
    };
    segment(&mut s, 0, A, 100);
    copy(&mut s, 50, A, 100);
    adjust(&mut s, 55);
    exit(&mut s, 60, "recvfrom", 100);
    segment(&mut s, 100, A + 256, 1_000);
    segment(&mut s, 150, A + 512, 600);
    let tap = [("skbaddr", N(A + 512)), ("len", N(256))];
    s.ev(T + 200, 1, Ctx::Task(9), "skb:skb_copy_datagram_iovec", &tap);
    let ret = [("ret", N(256))];
    s.ev(T + 210, 1, Ctx::Task(9), "syscalls:sys_exit_recvfrom", &ret);
    copy(&mut s, 300, A + 256, 1_600);
    adjust(&mut s, 305);
    exit(&mut s, 310, "recvfrom", 1_600);
    let r = rx(&s);
    let got: Vec<_> = r.iter().map(|r| (r.bytes, r.pid, r.end, r.confidence)).collect();
    let expect = [100, 1_000, 600].map(|b| (Some(b), PID, RxEnd::Read, Confidence::Strong));
    assert_eq!(got, expect);
    let last: Vec<_> = r.iter().map(|r| r.start_ns + r.total_ns - T as i64).collect();
    assert_eq!(last, [60, 310, 310]);
}
