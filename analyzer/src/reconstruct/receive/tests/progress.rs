//! Reads that copy nothing, and readers without a call.

use super::reads::ends;
use super::*;
use crate::Confidence::{Certain, Strong, Weak};
use crate::reconstruct::receive::tables::{ReadBy, RxEnd};
use RxEnd::{Queued, Read};

/// A read that names nobody: `splice` says how much, `tcp_rcv_space_adjust` when.
#[test]
fn a_splice() {
    let mut s = script();
    s.like("syscalls:sys_exit_read", "sys_exit_splice");
    arrive(&mut s, 0, A, 1_000);
    arrive(&mut s, 50, A + 256, 500);
    SOCK.ev(
        &mut s,
        T + 200,
        1,
        TASK,
        "tcp:tcp_rcv_space_adjust",
        &[("sock_cookie", N(SOCK.cookie))],
    );
    exit(&mut s, 210, "splice", 1_200);
    let r = rx(&s);
    assert_eq!(ends(&r), [(Some(1_000), Read, Strong), (Some(500), Queued, Certain)]);
    assert_eq!(
        (r[0].rcvq_ns, r[0].total_ns, r[0].read_by),
        (Some(180), 210, Some(ReadBy::Splice))
    );
}

/// tcp_read_sock in softirq or in a kernel thread: how much is not recorded, so it is all that was readable, weakly.
#[test]
fn a_read_of_unknown_length_is_weak() {
    for ctx in [SOFT, TASK] {
        let mut s = script();
        arrive(&mut s, 0, A, 1_000);
        SOCK.ev(
            &mut s,
            T + 100,
            1,
            ctx,
            "tcp:tcp_rcv_space_adjust",
            &[("sock_cookie", N(SOCK.cookie))],
        );
        let r = rx(&s);
        assert_eq!(ends(&r), [(Some(1_000), Read, Weak)]);
        assert_eq!((r[0].read_by, r[0].rcvq_ns), (Some(ReadBy::SpaceAdjust), Some(80)));
    }
}

/// The tcp_rcv_space_adjust of an ordinary receive follows its copy and says nothing new.
#[test]
fn an_ordinary_receive_adjusts_too() {
    let mut s = script();
    arrive(&mut s, 0, A, 1_000);
    arrive(&mut s, 50, A + 256, 500);
    copy(&mut s, 100, A, 1_000);
    SOCK.ev(
        &mut s,
        T + 102,
        1,
        TASK,
        "tcp:tcp_rcv_space_adjust",
        &[("sock_cookie", N(SOCK.cookie))],
    );
    length(&mut s, 105, 1_000, 0);
    exit(&mut s, 108, "recvfrom", 1_000);
    assert_eq!(
        ends(&rx(&s)),
        [(Some(1_000), Read, Certain), (Some(500), Queued, Certain)]
    );
}

/// io_uring and kernel threads have no system call to return from: the read ends with sock_recv_length.
#[test]
fn a_reader_without_a_system_call() {
    let mut s = script();
    arrive(&mut s, 0, A, 1_000);
    copy(&mut s, 100, A, 1_000);
    length(&mut s, 105, 1_000, 0);
    let r = rx(&s);
    assert_eq!(
        (r[0].total_ns, r[0].stage(Stage::Copy), r[0].stage(Stage::Return)),
        (105, Some(5), None)
    );
}
