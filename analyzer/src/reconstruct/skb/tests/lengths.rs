//! Frames that leave a queue with another length than they came with.

use crate::Confidence;
use crate::facts::Facts;
use crate::reconstruct::skb::tables::SkbClass;
use crate::testing::{Ctx, N, S, Script};

const A: u64 = 0xffff_8881_0000_0100;
const T: u64 = 1_000_000_000;

fn leaves(without: &[&str], lost: bool, len: u64) -> Facts {
    let mut s = Script::new("6.18.44", without);
    for free in ["skb:consume_skb", "skb:kfree_skb"] {
        s.ev(T - 9000, 0, Ctx::Soft(1), free, &[("skbaddr", N(A + 512))]);
    }
    let v = |len: u64| [("skbaddr", N(A)), ("len", N(len)), ("name", S("wan0"))];
    s.ev(T, 0, Ctx::Soft(1), "net:net_dev_queue", &v(1514));
    if lost {
        s.lost(0, Some(3));
    }
    s.ev(T + 90_000, 0, Ctx::Soft(1), "net:net_dev_start_xmit", &v(len));
    s.facts()
}
fn told(f: &Facts) -> Vec<(SkbClass, Confidence)> {
    f.skbs.iter().map(|l| (l.class, l.links)).collect()
}

/// Three tags of a filter's actions, the trailer of ESP that a card encrypts: no event tells what was added, and its free would have been seen.
#[test]
fn what_grew_may_be_the_same() {
    for len in [1526, 1532, 1563] {
        assert_eq!(
            told(&leaves(&[], false, len)),
            [(SkbClass::Tx, Confidence::Weak)],
            "{len}"
        );
    }
}

/// Shorter, or much longer: another, or a tag taken off. So it is where no free would have been seen.
#[test]
fn what_shrank_may_be_another() {
    let frees = ["skb:consume_skb", "skb:kfree_skb"];
    let other = [
        (SkbClass::Tx, Confidence::Weak),
        (SkbClass::TxSegment, Confidence::Weak),
    ];
    for (without, len) in [(&frees[..0], 1502), (&frees[..0], 9014), (&frees[..], 1526)] {
        assert_eq!(told(&leaves(without, false, len)), other, "{len}");
    }
}

/// One or two tags, or none.
#[test]
fn a_tag_is_no_doubt() {
    for len in [1514, 1518, 1522, 1510] {
        assert_eq!(
            told(&leaves(&[], false, len)),
            [(SkbClass::Tx, Confidence::Certain)],
            "{len}"
        );
    }
    assert!(told(&leaves(&[], true, 1514)).iter().all(|l| l.1 == Confidence::Weak));
}
