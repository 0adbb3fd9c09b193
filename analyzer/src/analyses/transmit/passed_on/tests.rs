//! Packets of others, of which no socket here tells.

use crate::analyses::verdict::Tone;
use crate::facts::{Facts, SkbId};
use crate::reconstruct::receive::tables::RxRow;
use crate::reconstruct::skb::tables::SkbClass;
use crate::reconstruct::transmit::tables::{TxKind, TxRow};

/// A packet comes by eth0 and leaves by eth1, so many times.
fn facts(n: u32) -> Facts {
    let mut f = Facts::empty();
    for skb in 0..n {
        let mut life = crate::testing::life(skb);
        life.class = SkbClass::Rx;
        f.skbs.push(life);
        let at = i64::from(skb) * 1_000;
        f.hops.push(crate::testing::hop(skb, at, "rx", "eth0"));
        f.hops.push(crate::testing::hop(skb, at + 10, "queue", "eth1"));
        f.tx.push(TxRow {
            skb_id: SkbId(skb),
            kind: TxKind::Other,
            connection: None,
            ..crate::testing::sent()
        });
    }
    f
}

fn said(f: &Facts) -> (Tone, String) {
    let lines = crate::analyses::answer(f).verdict;
    let line = lines.into_iter().find(|l| l.subject == "transmit").unwrap();
    (line.tone, line.sentence)
}

#[test]
fn who_only_forwards_is_told_that_nothing_tells() {
    let (tone, words) = said(&facts(100));
    let says = "; 100 packets were only passed on for others: no event of this host tells how those fared, except what it drops and what waits in its queues";
    assert!(words.contains(says), "{words}");
    assert_eq!(tone, Tone::Unknown);
    // Few, or sent by this host, or for a socket of it.
    assert!(!said(&facts(99)).1.contains("passed on"));
    let mut f = facts(100);
    f.skbs[0].class = SkbClass::TxOther;
    assert!(!said(&f).1.contains("passed on"));
    let mut f = facts(100);
    f.rx.push(RxRow {
        skb_id: SkbId(7),
        ..RxRow::default()
    });
    assert!(!said(&f).1.contains("passed on"));
}
