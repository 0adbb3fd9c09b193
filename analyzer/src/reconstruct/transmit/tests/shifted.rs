//! Ends of originals by their ACKs, where a SACK may have freed them before (6.18: `tcp_shifted_skb` freed 47 of 5,107, of which no
//! event told; the slab allocator did).

use super::{BASE, SOFT, Sender, TASK, requests};
use crate::confidence::Confidence;
use crate::reconstruct::skb::tables::{DeathKind, SkbClass, SkbRow};
use crate::testing::tcp::SOCK;
use crate::testing::{N, S};

/// Address of the packet that an ACK came in.
const ACK: u64 = 0xffff_8881_5000_0000;

/// An ACK of so many bytes arrives, in an IP packet of `len` bytes.
fn ack(s: &mut Sender, t: u64, acks: u64, len: u64) {
    let v = [("skbaddr", N(ACK)), ("len", N(len)), ("name", S("va"))];
    s.s.ev(t - 5, 0, SOFT, "net:netif_receive_skb", &v);
    s.probe(t, acks, &[("skbaddr", N(ACK))]);
}

/// A call that sends three segments, and has the ACK of what was sent before.
fn three(s: &mut Sender, t: u64) {
    s.enter(t + 1000);
    s.round(t + 1100, 600);
    for n in 0..3 {
        s.segment(t + 2000 + n * 100, TASK, 200);
    }
    s.leave(t + 3000, 600);
}

/// Three segments; between their send and the ACK of all of them comes one that acknowledges nothing, `len` bytes long.
fn ends(len: u64) -> Vec<(DeathKind, Confidence)> {
    let mut s = Sender::new(&[]);
    requests(&mut s, 100_000, 3);
    let t = BASE + 1_000_000;
    ack(&mut s, t, 0, 52);
    three(&mut s, t);
    ack(&mut s, t + 40_000, 0, len);
    ack(&mut s, t + 50_000, 600, 52);
    ack(&mut s, t + 90_000, 0, 52);
    s.softirq_exit(t + 91_000);
    let f = s.facts();
    let sent = (t as i64 + 1000)..(t as i64 + 3000);
    let mine = f
        .skbs
        .iter()
        .filter(|l| l.class == SkbClass::TxOriginal && sent.contains(&l.birth_ns));
    mine.map(|l| (l.death_kind, l.confidence)).collect()
}

#[test]
fn an_ack_with_sack_makes_the_end_weak() {
    let plain = ends(52);
    assert!(
        plain.iter().all(|e| e.0 == DeathKind::InferredAcked && e.1.is_solid()),
        "{plain:?}"
    );
    assert_eq!(
        (plain.len(), ends(64)),
        (3, vec![(DeathKind::InferredAcked, Confidence::Weak); 3])
    );
}

/// Only ACKs with blocks carry no payload: all have one length, so that the congestion state tells.
#[test]
fn where_all_bare_acks_have_blocks_their_length_tells_nothing() {
    let mut s = Sender::new(&[]);
    requests(&mut s, 100_000, 3);
    let t = BASE + 1_000_000;
    three(&mut s, t);
    ack(&mut s, t + 40_000, 0, 64);
    SOCK.cong(&mut s.s, t + 40_100, 0, SOFT, 1);
    s.softirq_exit(t + 40_200);
    for (at, acks) in [(50_000, 600), (90_000, 0)] {
        let v = [("skbaddr", N(ACK)), ("len", N(152)), ("name", S("va"))];
        s.s.ev(t + at - 5, 0, SOFT, "net:netif_receive_skb", &v);
        s.probe(t + at, acks, &[("skbaddr", N(ACK)), ("data_len", N(100))]);
        if acks > 0 {
            SOCK.cong(&mut s.s, t + at + 100, 0, SOFT, 0);
        }
        s.softirq_exit(t + at + 200);
    }
    let f = s.facts();
    let sent = (t as i64 + 1000)..(t as i64 + 3000);
    let of = |l: &&SkbRow| l.class == SkbClass::TxOriginal && sent.contains(&l.birth_ns);
    let mine: Vec<_> = f.skbs.iter().filter(of).map(|l| (l.death_kind, l.confidence)).collect();
    assert_eq!(mine, vec![(DeathKind::InferredAcked, Confidence::Weak); 3]);
}

/// Before 5.19 no event tells the congestion state, before 6.9 no probe its skb: one ACK that acknowledges nothing new is enough, and
/// so is one with payload; what acknowledges something brings blocks, too, until all is acknowledged that was sent when the first came.
#[test]
fn without_states_and_lengths_acks_tell() {
    // Segments that come: their payload, and how much they acknowledge.
    let weak = |acks: &[(u64, u64)]| {
        let mut s = Sender::new(&["tcp:tcp_cong_state_set"]);
        for field in ["skbaddr", "skaddr"] {
            s.s.drop_field("tcp:tcp_probe", field);
        }
        requests(&mut s, 100_000, 3);
        let t = BASE + 1_000_000;
        three(&mut s, t);
        for (n, (payload, acked)) in (0..).zip(acks) {
            s.probe(t + 40_000 + n * 1000, *acked, &[("data_len", N(*payload))]);
        }
        s.probe(t + 90_000, 0, &[]);
        s.softirq_exit(t + 91_000);
        let f = s.facts();
        let sent = (t as i64 + 1000)..(t as i64 + 3000);
        let of = |l: &&SkbRow| l.class == SkbClass::TxOriginal && sent.contains(&l.birth_ns);
        let mine: Vec<_> = f.skbs.iter().filter(of).map(|l| (l.death_kind, l.confidence)).collect();
        assert!(mine.iter().all(|m| m.0 == DeathKind::InferredAcked), "{mine:?}");
        assert_eq!(mine.len(), 3);
        mine.iter().map(|m| m.1 == Confidence::Weak).collect::<Vec<_>>()
    };
    assert_eq!(weak(&[(0, 600)]), [false; 3]);
    assert_eq!(weak(&[(0, 200), (0, 400)]), [false; 3]);
    // One that acknowledges nothing.
    assert_eq!(weak(&[(0, 0), (0, 600)]), [true; 3]);
    assert_eq!(weak(&[(100, 0), (0, 600)]), [true; 3]);
    // A part of them before.
    assert_eq!(weak(&[(0, 200), (0, 0), (0, 400)]), [false, true, true]);
    assert_eq!(weak(&[(0, 0), (0, 200), (0, 400)]), [true; 3]);
}

/// Sent again as a shorter frame it was cut: the ACK of its last byte frees another one.
#[test]
fn what_is_sent_again_in_part_ends_weakly() {
    for (part, weak) in [(4344, false), (1448, true)] {
        let mut s = Sender::new(&[]);
        requests(&mut s, 100_000, 3);
        let t = BASE + 1_000_000;
        ack(&mut s, t, 0, 52);
        s.enter(t + 1000);
        s.round(t + 1100, 4344);
        let original = s.segment(t + 2000, TASK, 4344);
        s.leave(t + 3000, 4344);
        s.softirq_exit(t + 3100);
        s.s.ev(t + 300_000, 0, SOFT, "irq:softirq_entry", &[("vec", N(1))]);
        s.again(t + 300_100, SOFT, original, part);
        s.softirq_exit(t + 300_200);
        ack(&mut s, t + 350_000, 4344, 52);
        ack(&mut s, t + 390_000, 0, 52);
        s.softirq_exit(t + 391_000);
        let f = s.facts();
        let of = |l: &&SkbRow| l.class == SkbClass::TxOriginal && l.skbaddr == original;
        let ends: Vec<_> = f
            .skbs
            .iter()
            .filter(of)
            .map(|l| (l.death_kind, l.confidence == Confidence::Weak))
            .collect();
        assert_eq!(ends, [(DeathKind::InferredAcked, weak)], "{part}");
    }
}
