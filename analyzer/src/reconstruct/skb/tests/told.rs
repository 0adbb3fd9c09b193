//! Frames that did not leave and of which TCP is not told (6.12: netem's loss; 6.18: a device without a carrier, the head of a queue that
//! another packet's call drops): it takes them for sent, and frees originals in silence when it sends again what it merged.

use super::refused::{OTHER, freed, script, softirq};
use super::resent::{MS, SOFT, T, X, again, edge, frame, probe, same};
use crate::Confidence;
use crate::testing::tcp::SOCK;
use crate::testing::{Ctx, FCLONE, N, S, Script};

const Y: u64 = X + 512;
const Z: u64 = X + 1024;

fn taken(s: &mut Script, ts: u64, at: u64) {
    s.ev(ts, 0, SOFT, "qdisc:qdisc_enqueue", &[("skbaddr", N(at + FCLONE))]);
}
fn on(s: &mut Script, ts: u64, event: &str, len: u64, dev: &'static str, rc: u64) {
    let v = [
        ("skbaddr", N(X + FCLONE)),
        ("len", N(len)),
        ("name", S(dev)),
        ("rc", N(rc)),
    ];
    s.ev(ts, 0, SOFT, event, &v);
}

/// netem loses it and answers that it has it; the neighbour that is sent again takes its original in, and another's lies there.
#[test]
fn what_a_queue_took_and_lost_was_sent() {
    for lost in [true, false] {
        let mut s = script();
        frame(&mut s, T + MS, X, 100);
        if lost {
            taken(&mut s, T + MS + 5, X);
        }
        freed(&mut s, T + MS + 10, X);
        frame(&mut s, T + 3 * MS, X, 100);
        let f = s.facts();
        assert_eq!(same(&f, T + MS, T + 3 * MS), !lost);
        assert_eq!(edge(&f, T + 3 * MS).confidence, Confidence::Strong);
    }
}

/// Sent again with an event it is the same, and what it had is not acknowledged.
#[test]
fn what_was_lost_is_sent_again() {
    let mut s = script();
    probe(&mut s, T, 1000, 1000);
    frame(&mut s, T + MS, X, 100);
    taken(&mut s, T + MS + 5, X);
    freed(&mut s, T + MS + 10, X);
    probe(&mut s, T + 2 * MS, 1000, 1100);
    again(&mut s, T + 300 * MS, X, 100, 1);
    probe(&mut s, T + 301 * MS, 1000, 1100);
    let f = s.facts();
    assert!(same(&f, T + MS, T + 300 * MS));
    assert_eq!(edge(&f, T + 300 * MS).confidence, Confidence::Strong);
}

/// A queue that drops its head to take another packet (pfifo_head_drop), or at its dequeue (CoDel), refuses nobody: the head was sent. What it
/// starts meanwhile, in the call that is refused, changes nothing.
#[test]
fn a_head_that_another_call_drops_was_sent() {
    for (other, one) in [
        ("net:net_dev_queue", false),
        ("net:net_dev_start_xmit", true),
        ("", true),
    ] {
        let mut s = script();
        let v = [("skbaddr", N(Z + FCLONE)), ("len", N(166)), ("name", S("e"))];
        frame(&mut s, T, Z, 100);
        frame(&mut s, T + MS, X, 100);
        match other {
            "net:net_dev_queue" => frame(&mut s, T + MS + 5, Y, 100),
            "" => {}
            event => {
                s.ev(T + MS + 5, 0, SOFT, event, &v);
                s.ev(T + MS + 6, 0, SOFT, "net:net_dev_xmit", &v);
            }
        }
        freed(&mut s, T + MS + 10, X);
        frame(&mut s, T + 3 * MS, X, 100);
        assert_eq!(same(&s.facts(), T + MS, T + 3 * MS), one, "{other}");
    }
}

/// What lies below a tunnel drops it: the tunnel answers that all is well. A VLAN hands the answer up.
#[test]
fn what_is_dropped_below_a_tunnel_was_sent() {
    for (rc, one) in [(0, false), (1, true)] {
        let mut s = script();
        frame(&mut s, T + MS, X, 100);
        on(&mut s, T + MS + 1, "net:net_dev_start_xmit", 166, "e", 0);
        on(&mut s, T + MS + 2, "net:net_dev_queue", 216, "below", 0);
        freed(&mut s, T + MS + 3, X);
        on(&mut s, T + MS + 4, "net:net_dev_xmit", 166, "e", rc);
        frame(&mut s, T + 3 * MS, X, 100);
        assert_eq!(same(&s.facts(), T + MS, T + 3 * MS), one, "{rc}");
    }
}

/// Queued when its neighbour has answered: nobody hands the answer up.
#[test]
fn what_waited_for_its_neighbour_was_sent() {
    let mut s = script();
    s.ev(T + MS - 5, 0, SOFT, "neigh:neigh_update", &[("dev", S("e"))]);
    frame(&mut s, T + MS, X, 100);
    freed(&mut s, T + MS + 10, X);
    s.ev(T + MS + 20, 0, SOFT, "neigh:neigh_update_done", &[("dev", S("e"))]);
    frame(&mut s, T + 3 * MS, X, 100);
    assert!(!same(&s.facts(), T + MS, T + 3 * MS));
}

/// No carrier, or random early drop (NET_XMIT_CN): nothing but what its socket sends next tells that TCP took it for sent.
#[test]
fn a_socket_that_goes_on_took_it_for_sent() {
    for (next, one) in [(Some(SOCK), false), (Some(OTHER), true), (None, true)] {
        let mut s = script();
        softirq(&mut s, T + MS - 10);
        probe(&mut s, T + MS - 5, 1000, 1000);
        frame(&mut s, T + MS, X, 100);
        freed(&mut s, T + MS + 1, X);
        if let Some(by) = next {
            by.probe(
                &mut s,
                T + MS + 2,
                0,
                SOFT,
                &[("snd_una", N(1000)), ("snd_nxt", N(1000))],
            );
            frame(&mut s, T + MS + 3, Y, 100);
        }
        softirq(&mut s, T + 9 * MS - 10);
        probe(&mut s, T + 9 * MS - 5, 1000, 1000);
        frame(&mut s, T + 9 * MS, X, 100);
        let f = s.facts();
        assert_eq!(same(&f, T + MS, T + 9 * MS), one, "{next:?}");
        assert_eq!(edge(&f, T + 9 * MS).confidence, Confidence::Strong, "{next:?}");
    }
}

/// One that its socket sends again has grown: it may have taken in the last that was dropped.
#[test]
fn what_may_have_been_merged_is_weak() {
    for (payload, link) in [(100, Confidence::Strong), (200, Confidence::Weak)] {
        let mut s = script();
        softirq(&mut s, T + MS - 10);
        probe(&mut s, T + MS - 5, 1000, 1000);
        frame(&mut s, T + MS - 3, Y, 100);
        frame(&mut s, T + MS, X, 100);
        freed(&mut s, T + MS + 1, X);
        again(&mut s, T + 300 * MS, Y, payload, 1);
        softirq(&mut s, T + 309 * MS - 10);
        probe(&mut s, T + 309 * MS - 5, 1000, 1200);
        frame(&mut s, T + 309 * MS, X, 100);
        let f = s.facts();
        assert!(same(&f, T + MS, T + 309 * MS));
        assert_eq!(edge(&f, T + 309 * MS).confidence, link, "{payload}");
    }
}

/// Nor is it known of whose socket nothing tells, once a timer may have run out.
#[test]
fn of_an_unknown_socket_it_is_weak_after_a_timer() {
    for (ms, link) in [(9, Confidence::Strong), (300, Confidence::Weak)] {
        let mut s = script();
        frame(&mut s, T + MS, X, 100);
        freed(&mut s, T + MS + 1, X);
        frame(&mut s, T + ms * MS, X, 100);
        let f = s.facts();
        assert!(same(&f, T + MS, T + ms * MS));
        assert_eq!(edge(&f, T + ms * MS).confidence, link, "{ms}");
    }
}

/// A veth's driver lets it in at its other end, which is down, and says so.
#[test]
fn what_the_other_end_drops_is_told() {
    for (rc, one) in [(1, true), (0, false)] {
        let mut s = script();
        frame(&mut s, T + MS, X, 100);
        on(&mut s, T + MS + 1, "net:net_dev_start_xmit", 166, "e", 0);
        on(&mut s, T + MS + 2, "net:netif_rx_entry", 152, "f", 0);
        freed(&mut s, T + MS + 3, X);
        on(&mut s, T + MS + 4, "net:net_dev_xmit", 166, "e", rc);
        frame(&mut s, T + 3 * MS, X, 200);
        assert_eq!(same(&s.facts(), T + MS, T + 3 * MS), one, "{rc}");
    }
}

/// What is not of this socket adds up to what it sent: what was lost after it had been taken was sent all the same.
#[test]
fn what_was_taken_adds_up() {
    let mut s = script();
    probe(&mut s, T, 1000, 1000);
    frame(&mut s, T + MS, X, 100);
    taken(&mut s, T + MS + 5, X);
    frame(&mut s, T + 2 * MS, Z, 100);
    freed(&mut s, T + 3 * MS, X);
    again(&mut s, T + 4 * MS, X, 100, 1);
    probe(&mut s, T + 5 * MS, 1000, 1100);
    let f = s.facts();
    assert!(same(&f, T + MS, T + 4 * MS));
    assert_eq!(edge(&f, T + 4 * MS).confidence, Confidence::Strong);
}

/// Sent again in part it was cut: what its first frame had does not tell any more whether it is acknowledged.
#[test]
fn what_was_cut_may_be_acknowledged() {
    for (part, link) in [(4344, Confidence::Strong), (1448, Confidence::Weak)] {
        let mut s = script();
        probe(&mut s, T, 1000, 1000);
        frame(&mut s, T + MS, X, 4344);
        probe(&mut s, T + 2 * MS, 1000, 5344);
        again(&mut s, T + 3 * MS, X, part, 1);
        probe(&mut s, T + 4 * MS, 1000, 5344);
        again(&mut s, T + 6 * MS, X, part, 1);
        probe(&mut s, T + 7 * MS, 2448, 5344);
        let f = s.facts();
        assert!(same(&f, T + MS, T + 6 * MS));
        assert_eq!(edge(&f, T + 6 * MS).confidence, link, "{part}");
    }
}

/// A tail that is sent with less than it held, and less than a segment, was taken in by the one before it: another, or the rest of it.
#[test]
fn a_tail_that_is_sent_with_less_is_weak() {
    for (payload, link) in [
        (1448, Confidence::Certain),
        (3752, Confidence::Certain),
        (100, Confidence::Weak),
    ] {
        let mut s = script();
        let v = [("skb_addr", N(X)), ("skb_len", N(3752)), ("msg_left", N(100))];
        s.ev(T + MS, 0, Ctx::Task(7), "tcp:tcp_sendmsg_locked", &v);
        frame(&mut s, T + 900 * MS, X, payload);
        assert_eq!(edge(&s.facts(), T + 900 * MS).confidence, link, "{payload}");
    }
}
