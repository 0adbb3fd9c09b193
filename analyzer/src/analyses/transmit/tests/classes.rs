//! A connection starved in a class, planted: its waits, its class, and what must not be taken for that.

use super::answer;
use crate::analyses::Outcome;
use crate::analyses::transmit::{Class, Starved};
use crate::classes::Shape;
use crate::classes::tables::{ClassRow, Counts};
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::transmit::tables::{TxKind, TxRow};
use crate::reconstruct::xmits::tables::Pass;

const MS: i64 = 1_000_000;

fn class(class: u32, bits: u64, (bytes, packets): (u64, u64)) -> ClassRow {
    let end = Counts {
        bytes,
        packets,
        ..Counts::default()
    };
    ClassRow {
        netns: 7,
        ifindex: 3,
        dev: "rs".into(),
        kind: "htb".into(),
        class,
        parent: 0x0001_0001,
        leaf: true,
        shape: Shape {
            rate: Some(bits / 8),
            ceil: Some(1_000_000),
            prio: None,
        },
        start: Some(Counts::default()),
        end: Some(end),
    }
}

fn lay(f: &mut Facts, whose: Option<u32>, bytes: u32, (from, to): (i64, i64)) {
    let skb = SkbId(f.xmits.len() as u32);
    if let Some(c) = whose {
        f.tx.push(TxRow {
            skb_id: skb,
            connection: Some(ConnectionId(c)),
            kind: TxKind::TcpControl,
            bytes: Some(0),
            ..crate::testing::sent()
        });
    }
    f.xmits.push(Pass {
        skb_id: Some(skb),
        dev: Name::new(b"rs"),
        qdisc: Name::new(b"htb"),
        bytes: Some(bytes),
        queued_ns: Some(from),
        started_ns: Some(to),
        ..crate::testing::pass()
    });
}

/// 20 packets of 200 bytes, one each 100 ms (16 kbit/s), which lie for `late`; 2000 of 1000 bytes, one a ms, which lie for `others`.
fn queue(rate: u64, sent: u64, late: i64, others: i64) -> (Vec<Class>, Option<Starved>) {
    queue_of(200, rate, sent, late, others)
}

/// The same with packets of `size`.
fn queue_of(size: u32, rate: u64, sent: u64, late: i64, others: i64) -> (Vec<Class>, Option<Starved>) {
    let mut f = Facts::empty();
    f.connections.push(crate::testing::tcp::connection(0));
    for n in 1..=20 {
        lay(&mut f, Some(0), size, (n * 100 * MS - late, n * 100 * MS));
    }
    for n in 0..2_000 {
        lay(&mut f, None, 1_000, (n * MS, n * MS + others));
    }
    f.classes = vec![
        class(0x0001_0010, 7_900_000, (2_000_000, 2_000)),
        class(0x0001_0020, rate, (sent, 20)),
    ];
    let Outcome::Findings(t) = answer(&f) else { panic!() };
    let q = t.queues.into_iter().find(|q| q.dev == "rs").unwrap();
    (q.classes, q.starved)
}

#[test]
fn the_class_its_rate_and_what_the_other_sent_are_told() {
    let (classes, starved) = queue(16_000, 4_000, 80 * MS, 2 * MS);
    let said: Vec<_> = classes
        .iter()
        .map(|c| (c.class.as_str(), c.rate_bit_s, c.bytes, c.packets))
        .collect();
    assert_eq!(
        said,
        [
            ("1:10", Some(7_900_000), 2_000_000, 2_000),
            ("1:20", Some(16_000), 4_000, 20)
        ]
    );
    let s = starved.unwrap();
    assert_eq!((s.class.as_str(), s.others.as_deref()), ("1:20", Some("1:10")));
    assert_eq!(
        (s.wait.n, s.wait.p50_ns, s.wait.max_ns),
        (20, Some(80 * MS), Some(80 * MS))
    );
    assert_eq!(s.within_ns, (20 * MS, 2_000 * MS));
    // 200 bytes in 100 ms; a kilobyte a ms, less what was there before.
    assert!((s.bit_s - 16_000.0).abs() < 1.0, "{s:?}");
    assert!((s.others_bit_s - 8_000_000.0).abs() < 40_000.0, "{s:?}");
}

#[test]
fn what_one_of_the_five_does_not_hold_for_is_not_starved() {
    // Another rate than that at which they left.
    assert_eq!(queue(24_000, 4_000, 80 * MS, 2 * MS).1, None);
    // A class that sent much more than that.
    assert_eq!(queue(16_000, 6_000, 80 * MS, 2 * MS).1, None);
    // All lie for as long: first in, first out.
    assert_eq!(queue(16_000, 4_000, 80 * MS, 80 * MS).1, None);
    // It sent more than all others: 4 MB beside their 2; with 1 MB it is starved.
    assert_eq!(queue_of(200_000, 16_000_000, 4_000_000, 80 * MS, 2 * MS).1, None);
    assert!(queue_of(50_000, 4_000_000, 1_000_000, 80 * MS, 2 * MS).1.is_some());
    // Nobody is late.
    assert_eq!(queue(16_000, 4_000, 9 * MS, 2 * MS).1, None);
}
