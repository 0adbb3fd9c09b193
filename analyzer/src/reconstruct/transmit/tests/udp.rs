use super::{BASE, PID, SOFT, Sender, TASK};
use crate::reconstruct::transmit::Stage;
use crate::reconstruct::transmit::tables::{TxEnd, TxKind, TxStart};
use crate::testing::{B, Ctx, N, S};

const ADDR: u64 = 0xffff_8881_4000_0000;

fn leave(s: &mut Sender, t: u64, ret: u64) {
    let v = [
        ("sk", N(0xffff_8881_5000_0000)),
        ("family", N(2)),
        ("protocol", N(17)),
        ("ret", N(ret)),
    ];
    s.s.ev(t, 0, TASK, "sock:sock_send_length", &v);
    s.s.ev(t + 1, 0, TASK, "syscalls:sys_exit_sendto", &[("ret", N(ret))]);
}

/// Of a datagram of 2000 bytes sent as two fragments, the first has the UDP header.
#[test]
fn fragments_of_a_datagram_carry_its_bytes() {
    let mut s = Sender::new(&[]);
    let t = BASE + 100_000;
    s.s.ev(t, 0, TASK, "syscalls:sys_enter_sendto", &[]);
    s.frame(t + 1000, TASK, ADDR, 34 + 1480);
    s.frame(t + 2000, TASK, ADDR + 512, 34 + 528);
    leave(&mut s, t + 3000, 2000);
    let f = s.facts();
    let rows: Vec<_> = f.tx.iter().filter(|r| r.kind == TxKind::Udp).collect();
    assert_eq!(rows.len(), 2);
    assert_eq!((rows[0].bytes, rows[1].bytes), (Some(1472), Some(528)));
    assert!(rows.iter().all(|r| r.start_ns == t as i64 && r.pid == PID));
    assert_eq!(
        (rows[0].start, rows[0].end, rows[0].total_ns),
        (TxStart::Sendmsg, TxEnd::Sent, 1003)
    );
}

/// An event of the neighbour 10.0.0.2 on va.
fn neighbour(name: &'static str, value: crate::testing::V) -> [(&'static str, crate::testing::V); 4] {
    let key = B(vec![10, 0, 0, 2]);
    [("family", N(2)), ("dev", S("va")), ("primary_key4", key), (name, value)]
}

/// The neighbour answers before the send call returns, or long after; in a softirq, or through a write to a tap.
#[test]
fn a_packet_parked_for_its_neighbour_says_so() {
    for (answered, ctx) in [
        (1500, SOFT),
        (50_000, SOFT),
        (50_000, Ctx::Task(PID)),
        (50_000, Ctx::Task(77)),
    ] {
        let mut s = Sender::new(&[]);
        let t = BASE + 100_000;
        s.s.ev(t, 0, TASK, "syscalls:sys_enter_sendto", &[]);
        s.s.ev(
            t + 1000,
            0,
            TASK,
            "neigh:neigh_event_send_done",
            &neighbour("err", N(1)),
        );
        if answered > 3000 {
            leave(&mut s, t + 3000, 100);
        }
        let at = t + answered;
        let (begin, end) = match ctx {
            Ctx::Task(_) => ("syscalls:sys_enter_write", "syscalls:sys_exit_write"),
            _ => ("irq:softirq_entry", "irq:softirq_exit"),
        };
        let vec = [("vec", N(3))];
        let vec = if matches!(ctx, Ctx::Task(_)) { &[] } else { &vec[..] };
        s.s.ev(at - 10, 0, ctx, begin, vec);
        s.s.ev(at, 0, ctx, "neigh:neigh_update", &neighbour("new_state", N(2)));
        s.frame(at + 100, ctx, ADDR, 34 + 8 + 100);
        s.s.ev(at + 150, 0, ctx, "neigh:neigh_update_done", &neighbour("err", N(0)));
        // The answer released one packet.
        s.frame(at + 160, ctx, ADDR + 1024, 34 + 8 + 50);
        s.s.ev(at + 200, 0, ctx, end, vec);
        if answered < 3000 {
            leave(&mut s, t + 3000, 100);
        }
        let f = s.facts();
        let rows: Vec<_> = f.tx.iter().filter(|r| r.kind == TxKind::Udp).collect();
        assert_eq!(rows.len(), 1, "{answered} {ctx:?}");
        let waited = (answered + 100 - 1000) as i64;
        assert_eq!(rows[0].stage(Stage::Neighbour), Some(waited));
        assert_eq!((rows[0].bytes, rows[0].start_ns), (Some(100), t as i64));
    }
}

/// Two packets were put aside for one address on devices of one name, and one is let go: of another network namespace is the other, and which it is nothing tells.
#[test]
fn of_more_that_were_put_aside_than_came_nothing_is_told() {
    for let_go in [1, 2] {
        let mut s = Sender::new(&[]);
        let t = BASE + 100_000;
        for n in 0..2 {
            let at = t + n * 10_000;
            s.s.ev(at, 0, TASK, "syscalls:sys_enter_sendto", &[]);
            s.s.ev(
                at + 1000,
                0,
                TASK,
                "neigh:neigh_event_send_done",
                &neighbour("err", N(1)),
            );
            leave(&mut s, at + 3000, 100);
        }
        let at = t + 50_000;
        s.s.ev(at - 10, 0, SOFT, "irq:softirq_entry", &[("vec", N(3))]);
        s.s.ev(at, 0, SOFT, "neigh:neigh_update", &neighbour("new_state", N(2)));
        for n in 0..let_go {
            s.frame(at + 100 + n * 10, SOFT, ADDR + n * 1024, 34 + 8 + 100);
        }
        s.s.ev(at + 150, 0, SOFT, "neigh:neigh_update_done", &neighbour("err", N(0)));
        s.s.ev(at + 200, 0, SOFT, "irq:softirq_exit", &[("vec", N(3))]);
        let f = s.facts();
        let parked = f.tx.iter().filter(|r| r.stage(Stage::Neighbour).is_some());
        let named = f.tx.iter().filter(|r| r.kind == TxKind::Udp);
        let told = (parked.count(), named.count());
        assert_eq!(told, if let_go == 2 { (2, 2) } else { (0, 0) }, "{let_go}");
    }
}
