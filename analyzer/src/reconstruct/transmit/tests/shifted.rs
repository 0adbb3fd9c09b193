//! Ends of originals by their ACKs, where a SACK may have freed them before (6.18: `tcp_shifted_skb` freed 47 of 5,107, of which no
//! event told; the slab allocator did).

use super::{BASE, SOFT, Sender, TASK, requests};
use crate::confidence::Confidence;
use crate::reconstruct::skb::tables::{DeathKind, SkbClass};
use crate::testing::{N, S};

/// Address of the packet that an ACK came in.
const ACK: u64 = 0xffff_8881_5000_0000;

/// An ACK of so many bytes arrives, in an IP packet of `len` bytes.
fn ack(s: &mut Sender, t: u64, acks: u64, len: u64) {
    let v = [("skbaddr", N(ACK)), ("len", N(len)), ("name", S("va"))];
    s.s.ev(t - 5, 0, SOFT, "net:netif_receive_skb", &v);
    s.probe(t, acks, &[("skbaddr", N(ACK))]);
}

/// Three segments; between their send and the ACK of all of them comes one that acknowledges nothing, `len` bytes long.
fn ends(len: u64) -> Vec<(DeathKind, Confidence)> {
    let mut s = Sender::new(&[]);
    requests(&mut s, 100_000, 3);
    let t = BASE + 1_000_000;
    ack(&mut s, t, 0, 52);
    s.enter(t + 1000);
    s.round(t + 1100, 600);
    for n in 0..3 {
        s.segment(t + 2000 + n * 100, TASK, 200);
    }
    s.leave(t + 3000, 600);
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
