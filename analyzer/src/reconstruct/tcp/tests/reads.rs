use super::T;
use crate::testing::tcp::SOCK;
use crate::testing::{Ctx, N, Script};

const TASK: Ctx = Ctx::Task(7);

/// A call of recv() of so many bytes; `took`: it read the TCP socket.
fn call(s: &mut Script, at: u64, flags: u64, ret: u64, took: bool) {
    let of = [("fd", N(5)), ("flags", N(flags))];
    s.ev(T + at, 0, TASK, "syscalls:sys_enter_recvfrom", &of);
    if took {
        SOCK.ev(s, T + at + 1, 0, TASK, "tcp:tcp_rcv_space_adjust", &[]);
    }
    s.ev(T + at + 2, 0, TASK, "syscalls:sys_exit_recvfrom", &[("ret", N(ret))]);
}

/// Before Linux 6.3 nothing but the calls tells of how many bytes reads were.
#[test]
fn reads_are_told_by_calls_where_no_event_tells() {
    let mut s = Script::new("6.18.44", &["sock:sock_recv_length"]);
    SOCK.probe(&mut s, T, 0, Ctx::Soft(7), &[]);
    for n in 0..3 {
        call(&mut s, 10 + n * 10, 0, 1, true);
    }
    // Looked at (MSG_PEEK); of another descriptor; in vain.
    call(&mut s, 100, 2, 9, true);
    call(&mut s, 110, 0, 500, false);
    call(&mut s, 120, 0, (-11i64) as u64, false);
    let f = s.facts();
    let reads: Vec<_> = f.reads.values().map(|r| (r.calls, r.bytes, r.p50_bytes())).collect();
    assert_eq!(reads, [(3, 3, Some(1))]);
}
