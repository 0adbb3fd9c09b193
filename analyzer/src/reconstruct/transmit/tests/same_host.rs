use super::{BASE, HEADERS, PID, Sender, TASK, requests, segments};
use crate::reconstruct::transmit::Stage;
use crate::reconstruct::transmit::tables::TxKind;
use crate::testing::tcp::SOCK;
use crate::testing::{Ctx, FCLONE, N};

/// An address of the head cache: the peer's ACKs.
const PEERS: u64 = 0xffff_8881_3000_4000;

/// Four segments wait for their ACKs; each is sent again in a task, and the peer, in this host, answers on the same CPU
/// before `tcp_retransmit_skb` says so. Then requests of another size.
fn resent_in_a_task() -> Sender {
    let mut s = Sender::new(&[]);
    requests(&mut s, 100_000, 3);
    for i in 0..4 {
        let t = BASE + 1_000_000 + i * 1_000_000;
        s.enter(t);
        s.round(t + 100, 200);
        let original = s.segment(t + 1000, TASK, 200);
        s.leave(t + 2000, 200);
        s.s.ev(t + 300_000, 0, TASK, "syscalls:sys_enter_write", &[]);
        s.frame(t + 301_000, TASK, original + FCLONE, 200 + HEADERS);
        s.s.ev(t + 302_000, 0, Ctx::Soft(PID), "irq:softirq_entry", &[("vec", N(3))]);
        s.frame(t + 303_000, Ctx::Soft(PID), PEERS + i * 512, HEADERS);
        s.s.ev(t + 304_000, 0, Ctx::Soft(PID), "irq:softirq_exit", &[("vec", N(3))]);
        SOCK.retransmit(&mut s.s, t + 305_000, 0, TASK, original, &[]);
        s.s.ev(t + 306_000, 0, TASK, "syscalls:sys_exit_write", &[("ret", N(0))]);
        s.probe(t + 350_000, 200, &[]);
        s.softirq_exit(t + 351_000);
    }
    s.probe(BASE + 5_000_000, 0, &[]);
    s.softirq_exit(BASE + 5_001_000);
    requests(&mut s, 6_000_000, 4);
    s
}

#[test]
fn the_peers_answer_is_not_what_was_sent_again() {
    let s = resent_in_a_task();
    let written = s.nxt - 1000;
    let f = s.facts();
    let rows = segments(&f);
    let bytes: u64 = rows.iter().map(|r| u64::from(r.bytes.unwrap())).sum();
    assert_eq!((rows.len(), bytes), (11, written));
    let again: Vec<u16> = rows.iter().map(|r| r.retransmits).collect();
    assert_eq!(again, [0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0]);
    for (i, r) in rows.iter().enumerate().skip(3).take(4) {
        let t = (BASE + 1_000_000 + (i as u64 - 3) * 1_000_000) as i64;
        // Up to what was sent again, not to the answer.
        assert_eq!((r.start_ns, r.stage(Stage::Recovery)), (t, Some(300_000)));
        assert_eq!((r.t_ack_ns, r.stage(Stage::Nagle)), (Some(t + 350_000), None));
    }
    // Each later segment is the call's that wrote it.
    for (i, r) in rows.iter().enumerate().skip(7) {
        assert_eq!(r.start_ns, (BASE + 6_000_000 + (i as u64 - 7) * 100_000) as i64);
        assert_eq!((r.bytes, r.stage(Stage::Nagle)), (Some(200), None));
    }
    // The answers are packets of nobody here.
    let answers = f.tx.iter().filter(|r| r.kind != TxKind::Tcp && r.cpu == 0);
    let of_socket = answers.filter(|r| r.t_sched_ns > BASE as i64 + 1_000_000 && r.connection.is_some());
    assert_eq!(of_socket.count(), 0);
}
