use super::T;
use crate::Confidence;
use crate::facts::Facts;
use crate::reconstruct::tcp::tables::RetransmitClass::{
    self, Fast, LossRecovery, Pmtu, RackTimer, Rto, Syn, Tlp, Unknown,
};
use crate::testing::tcp::SOCK;
use crate::testing::{B, Ctx, FCLONE, N, S, Script};

const SOFT: Ctx = Ctx::Soft(7);
const TASK: Ctx = Ctx::Task(7);
const TIMER: u64 = 1;
const NET_RX: u64 = 3;
const O: u64 = 0xffff_8881_0000_0000;

fn script() -> Script {
    Script::new("6.18.44", &[])
}
fn run(s: &mut Script, t: u64, vec: u64) {
    s.ev(T + t, 0, SOFT, "irq:softirq_entry", &[("vec", N(vec))]);
}
fn end(s: &mut Script, t: u64, vec: u64) {
    s.ev(T + t, 0, SOFT, "irq:softirq_exit", &[("vec", N(vec))]);
}
fn again(s: &mut Script, t: u64, ctx: Ctx) {
    SOCK.retransmit(s, T + t, 0, ctx, O, &[]);
}
fn classes(f: &Facts) -> Vec<(RetransmitClass, Confidence)> {
    f.retransmits.iter().map(|r| (r.class, r.confidence)).collect()
}

/// Recovery entered by a dup ACK, in the same softirq or 30 ms later in another ACK's (PRR, pacing).
#[test]
fn fast_from_an_ack_even_much_later() {
    let mut s = script();
    run(&mut s, 0, NET_RX);
    SOCK.cong(&mut s, T + 10, 0, SOFT, 3);
    again(&mut s, 20, SOFT);
    end(&mut s, 30, NET_RX);
    run(&mut s, 30_000_000, NET_RX);
    again(&mut s, 30_000_010, SOFT);
    assert_eq!(classes(&s.facts()), [(Fast, Confidence::Certain); 2]);
}

/// RTO: Loss set in this TIMER run. What ACKs clock out afterwards is loss recovery, not another RTO.
#[test]
fn rto_then_loss_recovery() {
    let mut s = script();
    run(&mut s, 0, TIMER);
    SOCK.cong(&mut s, T + 10, 0, SOFT, 4);
    again(&mut s, 20, SOFT);
    end(&mut s, 30, TIMER);
    run(&mut s, 100, NET_RX);
    again(&mut s, 110, SOFT);
    end(&mut s, 120, NET_RX);
    run(&mut s, 200, TIMER);
    SOCK.cong(&mut s, T + 210, 0, SOFT, 4); // 4 -> 4 per RTO
    again(&mut s, 220, SOFT);
    let expect = [
        (Rto, Confidence::Certain),
        (LossRecovery, Confidence::Certain),
        (Rto, Confidence::Certain),
    ];
    assert_eq!(classes(&s.facts()), expect);
}

/// A tail loss probe: TIMER run, no congestion state set in it.
#[test]
fn tlp_sets_no_state() {
    let mut s = script();
    SOCK.cong(&mut s, T, 0, SOFT, 0);
    run(&mut s, 10, TIMER);
    again(&mut s, 20, SOFT);
    assert_eq!(classes(&s.facts()), [(Tlp, Confidence::Strong)]);
}

#[test]
fn the_rack_reordering_timer_sets_recovery_in_its_run() {
    let mut s = script();
    run(&mut s, 10, TIMER);
    SOCK.cong(&mut s, T + 15, 0, SOFT, 3);
    again(&mut s, 20, SOFT);
    assert_eq!(classes(&s.facts()), [(RackTimer, Confidence::Strong)]);
}

#[test]
fn syn_and_syn_ack() {
    let mut s = script();
    run(&mut s, 10, TIMER);
    SOCK.retransmit(&mut s, T + 20, 0, SOFT, O, &[("state", N(2))]);
    SOCK.ev(&mut s, T + 30, 0, SOFT, "tcp:tcp_retransmit_synack", &[]);
    let f = s.facts();
    assert_eq!(classes(&f), [(Syn, Confidence::Certain); 2]);
    assert_eq!(f.retransmits[1].connection, None);
}

/// Pitfall 8: since 6.17 failures are traced too (-16: still in the host's queue; 1: NET_XMIT_DROP of its qdisc). Nothing was
/// sent; only what a queue refused is counted as that.
#[test]
fn failures_are_no_retransmits() {
    let mut s = script();
    SOCK.cong(&mut s, T, 0, SOFT, 3);
    run(&mut s, 5, NET_RX);
    SOCK.retransmit(&mut s, T + 10, 0, SOFT, O, &[("err", N((-16i32) as u32 as u64))]);
    SOCK.retransmit(&mut s, T + 15, 0, SOFT, O, &[("err", N(1))]);
    again(&mut s, 20, SOFT);
    let f = s.facts();
    assert_eq!((f.retransmits.len(), f.connections[0].retransmits), (1, Some(1)));
    assert_eq!(f.connections[0].retransmits_refused, Some(1));
    assert_eq!(f.retransmits[0].err, Some(0));
    let mut old = Script::new("6.12.117", &[]);
    SOCK.retransmit(&mut old, T, 0, SOFT, O, &[("err", N(1))]);
    let old = old.facts();
    assert_eq!(old.retransmits[0].err, None);
    // What failed is not traced there: none seen is not none.
    assert_eq!(old.connections[0].retransmits_refused, None);
}

/// Without tcp_cong_state_set (before 5.19) the class is guessed: a timer's first is a loss probe, its next without an ACK an RTO.
#[test]
fn without_states_the_class_is_a_guess() {
    let mut s = Script::new("6.18.44", &["tcp:tcp_cong_state_set"]);
    run(&mut s, 0, TIMER);
    again(&mut s, 10, SOFT);
    end(&mut s, 20, TIMER);
    run(&mut s, 250_000_000, TIMER);
    again(&mut s, 250_000_010, SOFT);
    end(&mut s, 250_000_020, TIMER);
    run(&mut s, 300_000_000, NET_RX);
    SOCK.probe(&mut s, T + 300_000_010, 0, SOFT, &[]);
    again(&mut s, 300_000_020, SOFT);
    end(&mut s, 300_000_030, NET_RX);
    // An ACK came between.
    run(&mut s, 600_000_000, TIMER);
    again(&mut s, 600_000_010, SOFT);
    end(&mut s, 600_000_020, TIMER);
    again(&mut s, 700_000_000, TASK);
    let weak = |class| (class, Confidence::Weak);
    let expect = [
        weak(Tlp),
        weak(Rto),
        weak(Fast),
        weak(Tlp),
        (Unknown, Confidence::Unknown),
    ];
    assert_eq!(classes(&s.facts()), expect);
}

/// The context comes from softirq events: without them, or with the entry unseen, a class is weak at most.
#[test]
fn a_context_that_was_not_seen_is_weak() {
    let mut s = script();
    SOCK.cong(&mut s, T, 0, SOFT, 4);
    again(&mut s, 10, SOFT);
    let mut none = Script::new("6.18.44", &["irq:softirq_entry", "irq:softirq_exit"]);
    SOCK.cong(&mut none, T, 0, SOFT, 3);
    again(&mut none, 10, SOFT);
    for s in [s, none] {
        let c = classes(&s.facts());
        assert!(c[0].1 <= Confidence::Weak, "{c:?}");
    }
}

/// The timer found the socket locked: its owner runs it in `release_sock`, in task context.
#[test]
fn a_deferred_rto_runs_in_the_owners_task() {
    // No earlier than an RTO after the last ACK: before, it is something else.
    for (since, class) in [
        (200_000_000, (Rto, Confidence::Weak)),
        (60_000, (Unknown, Confidence::Unknown)),
    ] {
        let mut s = script();
        SOCK.probe(&mut s, T - since, 0, SOFT, &[]);
        SOCK.cong(&mut s, T, 0, TASK, 4);
        again(&mut s, 10, TASK);
        assert_eq!(classes(&s.facts()), [class]);
    }

    // An ACK from the backlog in the Loss state that a timer set earlier.
    let mut s = script();
    run(&mut s, 0, TIMER);
    SOCK.cong(&mut s, T + 5, 0, SOFT, 4);
    end(&mut s, 10, TIMER);
    again(&mut s, 100, TASK);
    assert_eq!(classes(&s.facts()), [(LossRecovery, Confidence::Strong)]);
}

/// After a loss of events the congestion state is not known any more.
#[test]
fn a_loss_forgets_the_state() {
    let mut s = script();
    run(&mut s, 0, NET_RX);
    SOCK.cong(&mut s, T + 10, 0, SOFT, 3);
    end(&mut s, 20, NET_RX);
    s.lost(0, None);
    run(&mut s, 100, NET_RX);
    again(&mut s, 110, SOFT);
    end(&mut s, 120, NET_RX);
    assert_eq!(classes(&s.facts()), [(Unknown, Confidence::Unknown)]);
}

/// The state of one socket is not that of another.
#[test]
fn states_are_per_socket() {
    let mut s = script();
    let other = crate::testing::tcp::Sock {
        sk: SOCK.sk + 64,
        cookie: 5,
        sport: 1234,
        ..SOCK
    };
    run(&mut s, 0, TIMER);
    other.cong(&mut s, T + 5, 0, SOFT, 4);
    SOCK.cong(&mut s, T + 6, 0, SOFT, 0);
    again(&mut s, 10, SOFT);
    other.retransmit(&mut s, T + 12, 0, SOFT, O + 512, &[]);
    let c: Vec<_> = classes(&s.facts()).iter().map(|c| c.0).collect();
    assert_eq!(c, [Tlp, Rto]);
}

/// Pitfall 9: the event follows the transmit; the frame queued just before on that CPU is the original's clone.
#[test]
fn the_frame_is_the_clone_queued_just_before() {
    let mut s = script();
    let q = |a: u64, len: u64| [("skbaddr", N(a)), ("len", N(len)), ("name", S("e"))];
    s.ev(T, 0, SOFT, "net:net_dev_queue", &q(O + FCLONE, 1_514));
    again(&mut s, 10, SOFT);
    s.ev(T + 20, 0, SOFT, "net:net_dev_queue", &q(O + 8_192, 66)); // someone else's ACK
    again(&mut s, 30, SOFT);
    s.ev(T + 40, 1, SOFT, "net:net_dev_queue", &q(O + FCLONE, 999)); // another CPU
    again(&mut s, 50, SOFT);
    let bytes: Vec<_> = s.facts().retransmits.iter().map(|r| r.bytes).collect();
    assert_eq!(bytes, [Some(1_514), None, None]);
}

/// A frame queued before a loss is not the one queued just before the event.
#[test]
fn a_frame_across_a_loss_is_not_the_one() {
    let mut s = script();
    let q = [("skbaddr", N(O + FCLONE)), ("len", N(1_514)), ("name", S("e"))];
    s.ev(T, 0, SOFT, "net:net_dev_queue", &q);
    s.lost(0, None);
    again(&mut s, 100, SOFT);
    assert_eq!(s.facts().retransmits[0].bytes, None);
}

/// One call sends one skb, of as many segments as TCP wrote into its frame. Without a frame a timer sends one; what an ACK
/// brings may be any number, and none is made up.
#[test]
fn a_call_sends_the_segments_of_its_frame() {
    let mut s = script();
    let frame = |s: &mut Script, t: u64, segs: u64| {
        let clone = O + FCLONE;
        let q = [("skbaddr", N(clone)), ("len", N(7_306)), ("name", S("e"))];
        s.ev(T + t, 0, SOFT, "net:net_dev_queue", &q);
        let x = [
            ("skbaddr", N(clone)),
            ("len", N(7_306)),
            ("name", S("e")),
            ("gso_size", N(1_448)),
            ("gso_segs", N(segs)),
        ];
        s.ev(T + t + 1, 0, SOFT, "net:net_dev_start_xmit", &x);
    };
    run(&mut s, 0, NET_RX);
    SOCK.cong(&mut s, T + 1, 0, SOFT, 3);
    frame(&mut s, 2, 5);
    again(&mut s, 10, SOFT);
    end(&mut s, 20, NET_RX);
    run(&mut s, 30, TIMER);
    SOCK.cong(&mut s, T + 35, 0, SOFT, 4);
    again(&mut s, 40, SOFT);
    end(&mut s, 50, TIMER);
    let f = s.facts();
    let sent: Vec<_> = f.retransmits.iter().map(|r| (r.class, r.segments)).collect();
    assert_eq!(sent, [(Fast, Some(5)), (Rto, Some(1))]);
    let of = |f: &Facts| (f.connections[0].retransmits, f.connections[0].retransmit_segments);
    assert_eq!(of(&f), (Some(2), Some(6)));
    let mut s = script();
    run(&mut s, 0, NET_RX);
    SOCK.cong(&mut s, T + 1, 0, SOFT, 3);
    again(&mut s, 10, SOFT);
    let f = s.facts();
    assert_eq!((f.retransmits[0].segments, of(&f)), (None, (Some(1), None)));
}

/// A router said "fragmentation needed", in the order of a real recording (6.18): the socket's owner sets Loss when it lets go of it
/// and sends again within 60 us; what an ACK sends after that is of the same cause. An RTO before takes it back.
#[test]
fn path_mtu_is_no_timeout() {
    let icmp = |s: &mut Script, t, code, to: u8| {
        let v = [
            ("type", N(3)),
            ("code", N(code)),
            ("saddr", B(vec![10, 0, 0, 1])),
            ("daddr", B(vec![10, 0, 0, to])),
        ];
        s.ev(T + t, 0, SOFT, "icmp:icmp_send", &v);
    };
    for (code, to, expect) in [
        (4, 2, [(Pmtu, Confidence::Strong); 2]),
        // Another message; a message for another flow.
        (1, 2, [(Unknown, Confidence::Unknown), (LossRecovery, Confidence::Weak)]),
        (4, 9, [(Unknown, Confidence::Unknown), (LossRecovery, Confidence::Weak)]),
    ] {
        let mut s = script();
        SOCK.probe(&mut s, T, 0, SOFT, &[]);
        icmp(&mut s, 10, code, to);
        SOCK.cong(&mut s, T + 60_000, 0, TASK, 4);
        again(&mut s, 60_100, TASK);
        run(&mut s, 80_000, NET_RX);
        again(&mut s, 80_100, SOFT);
        assert_eq!(classes(&s.facts()), expect, "{code} {to}");
    }
    // Its own softirq; without the message seen it is a guess.
    for (seen, sure) in [(true, Confidence::Strong), (false, Confidence::Weak)] {
        let mut s = script();
        if seen {
            icmp(&mut s, 10, 4, 2);
        }
        run(&mut s, 20, NET_RX);
        SOCK.cong(&mut s, T + 30, 0, SOFT, 4);
        again(&mut s, 40, SOFT);
        assert_eq!(classes(&s.facts()), [(Pmtu, sure)]);
    }
    let mut s = script();
    icmp(&mut s, 10, 4, 2);
    run(&mut s, 20, TIMER);
    SOCK.cong(&mut s, T + 30, 0, SOFT, 4);
    again(&mut s, 40, SOFT);
    end(&mut s, 50, TIMER);
    run(&mut s, 60, NET_RX);
    again(&mut s, 70, SOFT);
    assert_eq!(
        classes(&s.facts()),
        [(Rto, Confidence::Certain), (LossRecovery, Confidence::Certain)]
    );
}
