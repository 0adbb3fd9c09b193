//! Originals whose frames did not leave, and originals of other sockets at their addresses (6.18: three streams through a token
//! bucket shorter than their windows; the slab allocator told the lives).

use super::resent::{self, A, MS, SOFT, T, X, again, edge, frame, probe, same};
use crate::Confidence;
use crate::testing::tcp::{SOCK, Sock};
use crate::testing::{Ctx, FCLONE, N, S, Script};

pub(super) const OTHER: Sock = Sock {
    sk: SOCK.sk + 8192,
    cookie: 78,
    sport: 40_001,
    ..SOCK
};

/// A kernel whose probes name their sockets.
pub(super) fn script() -> Script {
    resent::with(Script::new("6.18.44", &[]))
}
/// The frame above an original is dropped.
pub(super) fn freed(s: &mut Script, ts: u64, at: u64) {
    let v = [("skbaddr", N(at + FCLONE)), ("protocol", N(0x800))];
    s.ev(ts, 0, SOFT, "skb:kfree_skb", &v);
}
/// The queue drops the last frame above X.
fn dropped(s: &mut Script, ts: u64) {
    freed(s, ts, X);
}
fn refused(s: &mut Script, ts: u64) {
    frame(s, ts, X, 1448);
    dropped(s, ts + 10);
}
pub(super) fn softirq(s: &mut Script, ts: u64) {
    s.ev(ts, 0, SOFT, "irq:softirq_entry", &[("vec", N(3))]);
}

/// TCP offers it again and again, with more of its bytes, until the queue takes it: each try was another original, 100 and more of one.
#[test]
fn what_is_refused_again_and_again_is_one() {
    let mut s = script();
    probe(&mut s, T + MS, 1000, 1000);
    for ms in 2..6 {
        refused(&mut s, T + ms * MS);
    }
    frame(&mut s, T + 6 * MS, X, 2896);
    // Acknowledged; then another one has its address.
    probe(&mut s, T + 7 * MS, 1000, 3896);
    probe(&mut s, T + 8 * MS, 3896, 3896);
    frame(&mut s, T + 9 * MS, X, 1448);
    let f = s.facts();
    for ms in 3..7 {
        assert!(same(&f, T + 2 * MS, T + ms * MS), "{ms}");
        assert_eq!(edge(&f, T + ms * MS).confidence, Confidence::Strong, "{ms}");
    }
    assert!(!same(&f, T + 6 * MS, T + 9 * MS));
}

/// A driver drops it and says so (`NET_XMIT_DROP`); where it says that all is well, the next frame is another original's.
#[test]
fn what_a_driver_drops_and_says_so_is_one() {
    for (rc, one) in [(1, true), (0, false)] {
        let mut s = script();
        frame(&mut s, T + MS, X, 1448);
        let v = [("skbaddr", N(X + FCLONE)), ("len", N(1514)), ("name", S("e"))];
        s.ev(T + MS + 10, 0, SOFT, "net:net_dev_start_xmit", &v);
        dropped(&mut s, T + MS + 20);
        let mut v = v.to_vec();
        v.push(("rc", N(rc)));
        s.ev(T + MS + 30, 0, SOFT, "net:net_dev_xmit", &v);
        frame(&mut s, T + 2 * MS, X, 1448);
        assert_eq!(same(&s.facts(), T + MS, T + 2 * MS), one, "{rc}");
    }
}

/// A retransmission that the queue refused: since 6.17 an event tells it. Before, it looks like the first frame of another original.
#[test]
fn a_refused_retransmission_is_of_the_same() {
    for (told, label) in [(true, Confidence::Strong), (false, Confidence::Weak)] {
        let mut s = script();
        if !told {
            s.drop_field("tcp:tcp_retransmit_skb", "err");
        }
        probe(&mut s, T + MS, 1000, 1000);
        frame(&mut s, T + 2 * MS, X, 1448);
        probe(&mut s, T + 3 * MS, 1000, 2448);
        refused(&mut s, T + 300 * MS);
        if told {
            SOCK.retransmit(&mut s, T + 300 * MS + 20, 0, SOFT, X, &[("err", N(1))]);
        }
        again(&mut s, T + 301 * MS, X, 1448, 1);
        probe(&mut s, T + 302 * MS, 1000, 2448);
        let f = s.facts();
        assert_eq!(same(&f, T + 2 * MS, T + 300 * MS), told);
        assert!(same(&f, T + 300 * MS, T + 301 * MS));
        assert_eq!(edge(&f, T + 301 * MS).confidence, label, "{told}");
    }
}

/// What an ACK lets go is its socket's. Another socket cuts an original to send it again, and gets the address of one freed meanwhile.
#[test]
fn what_another_socket_sends_again_is_another() {
    for (by, one) in [(SOCK, true), (OTHER, false)] {
        let mut s = script();
        OTHER.probe(&mut s, T, 0, SOFT, &[("snd_una", N(7000)), ("snd_nxt", N(9000))]);
        softirq(&mut s, T + MS - 10);
        probe(&mut s, T + MS, 1000, 1000);
        frame(&mut s, T + MS + 10, X, 1448);
        frame(&mut s, T + 9 * MS, X, 1448);
        by.retransmit(&mut s, T + 9 * MS + 10, 0, SOFT, X, &[("state", N(1))]);
        let more = [("snd_una", N(7000)), ("snd_nxt", N(9000))];
        OTHER.probe(&mut s, T + 10 * MS, 0, SOFT, &more);
        probe(&mut s, T + 11 * MS, 1000, 2448);
        let f = s.facts();
        assert_eq!(same(&f, T + MS + 10, T + 9 * MS), one, "{by:?}");
        assert_eq!(edge(&f, T + 9 * MS).confidence, Confidence::Strong, "{by:?}");
    }
}

/// What a thread sends in its call is of the call's socket, which its end names; what a pacing timer lets go is of the socket that the
/// timer lies in, as others show.
#[test]
fn calls_and_timers_tell_whose_an_original_is() {
    const PACE: u64 = 1960;
    const TASK: Ctx = Ctx::Task(7);
    for (timer, by) in [(false, SOCK), (false, OTHER), (true, SOCK), (true, OTHER)] {
        let mut s = script();
        OTHER.probe(&mut s, T, 0, SOFT, &[("snd_una", N(7000)), ("snd_nxt", N(9000))]);
        let call = |s: &mut Script, ts: u64, original: u64| {
            let v = [("skb_addr", N(original)), ("skb_len", N(1)), ("msg_left", N(10))];
            s.ev(ts, 0, TASK, "tcp:tcp_sendmsg_locked", &v);
        };
        let expired = |s: &mut Script, ts: u64| {
            s.ev(ts, 0, SOFT, "irq:softirq_entry", &[("vec", N(8))]);
            s.ev(
                ts + 1,
                0,
                SOFT,
                "timer:hrtimer_expire_entry",
                &[("hrtimer", N(SOCK.sk + PACE))],
            );
        };
        // Tails of a call whose frames the timer lets go tell where it lies.
        for n in 0..if timer { 3 } else { 0 } {
            call(&mut s, T + n * 100, A + n * 512);
            expired(&mut s, T + n * 100 + 10);
            frame(&mut s, T + n * 100 + 20, A + n * 512, 1448);
        }
        if timer {
            expired(&mut s, T + MS);
            frame(&mut s, T + MS + 10, X, 1448);
        } else {
            call(&mut s, T + MS, 0);
            let v = [("skbaddr", N(X + FCLONE)), ("len", N(1514)), ("name", S("e"))];
            s.ev(T + MS + 10, 0, TASK, "net:net_dev_queue", &v);
        }
        let v = [
            ("sk", N(SOCK.sk)),
            ("family", N(2)),
            ("protocol", N(6)),
            ("ret", N(1448)),
        ];
        s.ev(T + 20 * MS, 0, TASK, "sock:sock_send_length", &v);
        frame(&mut s, T + 9 * MS, X, 1448);
        by.retransmit(&mut s, T + 9 * MS + 10, 0, SOFT, X, &[("state", N(1))]);
        let f = s.facts();
        let one = by.sk == SOCK.sk;
        assert_eq!(same(&f, T + MS + 10, T + 9 * MS), one, "{timer} {by:?}");
    }
}

/// A socket that is torn down frees what its queue held; the next one gets the memory.
#[test]
fn what_a_closed_socket_held_is_gone() {
    for closes in [false, true] {
        let mut s = script();
        softirq(&mut s, T + MS - 10);
        probe(&mut s, T + MS, 1000, 1000);
        refused(&mut s, T + MS + 10);
        if closes {
            SOCK.state(&mut s, T + 2 * MS, 0, SOFT, 1, 7);
        }
        frame(&mut s, T + 3 * MS, X, 1448);
        let f = s.facts();
        assert_eq!(same(&f, T + MS + 10, T + 3 * MS), !closes);
        assert_eq!(edge(&f, T + 3 * MS).confidence, Confidence::Strong);
    }
}

/// A router of the recording drops what came to it: TCP has sent it, and is told nothing. The next frame there that no event says is sent
/// again is another original's.
#[test]
fn what_a_router_drops_was_sent() {
    for (rc, drops) in [(None, "skb:kfree_skb"), (Some(1), "net:net_dev_xmit")] {
        let mut s = script();
        let at = X + FCLONE;
        let v = |len: u64, name: &'static str| [("skbaddr", N(at)), ("len", N(len)), ("name", S(name))];
        frame(&mut s, T + MS, X, 1448);
        s.ev(T + MS + 1, 0, SOFT, "net:net_dev_start_xmit", &v(1514, "e"));
        s.ev(T + MS + 2, 0, SOFT, "net:netif_rx_entry", &v(1500, "r"));
        s.ev(T + MS + 3, 0, SOFT, "net:net_dev_xmit", &v(1514, "e"));
        softirq(&mut s, T + MS + 10);
        s.ev(T + MS + 11, 0, SOFT, "net:netif_receive_skb", &v(1500, "r"));
        s.ev(T + MS + 12, 0, SOFT, "net:net_dev_queue", &v(1514, "out"));
        if rc.is_some() {
            s.ev(T + MS + 13, 0, SOFT, "net:net_dev_start_xmit", &v(1514, "out"));
        }
        dropped(&mut s, T + MS + 14);
        if let Some(rc) = rc {
            let mut v = v(1514, "out").to_vec();
            v.push(("rc", N(rc)));
            s.ev(T + MS + 15, 0, SOFT, drops, &v);
        }
        frame(&mut s, T + 3 * MS, X, 1448);
        assert!(!same(&s.facts(), T + MS, T + 3 * MS), "{drops}");
    }
}

/// Two packets of one batch: no probe tells that the second one's socket, which is half closed, works on it and sends.
#[test]
fn what_a_packet_without_a_probe_lets_go_is_not_of_the_socket_before() {
    const P: u64 = A + 0x20_0000;
    for both in [true, false] {
        let mut s = script();
        let probe = |s: &mut Script, by: Sock, ts: u64, at: u64| {
            let v = [("snd_una", N(1000)), ("snd_nxt", N(1000)), ("skbaddr", N(at))];
            by.probe(s, ts, 0, SOFT, &v);
        };
        probe(&mut s, OTHER, T, P + 1024);
        softirq(&mut s, T + MS - 10);
        for (n, at) in [P, P + 256].into_iter().enumerate() {
            let v = [("skbaddr", N(at)), ("len", N(52)), ("name", S("e"))];
            s.ev(T + MS - 9 + n as u64, 0, SOFT, "net:netif_receive_skb", &v);
        }
        probe(&mut s, SOCK, T + MS, P);
        if both {
            probe(&mut s, SOCK, T + MS + 5, P + 256);
        }
        frame(&mut s, T + MS + 10, X, 1448);
        softirq(&mut s, T + 9 * MS - 10);
        frame(&mut s, T + 9 * MS, X, 1448);
        // CLOSE_WAIT.
        OTHER.retransmit(&mut s, T + 9 * MS + 10, 0, SOFT, X, &[("state", N(8))]);
        assert_eq!(same(&s.facts(), T + MS + 10, T + 9 * MS), !both, "{both}");
    }
}
