//! Where what was sent again was seen last.

use super::answer;
use crate::analyses::Outcome;
use crate::analyses::transmit::Vanished;
use crate::analyses::verdict::vanished as vanished_words;
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::opens::tables::{OpenEnd, OpenRow};
use crate::reconstruct::skb::tables::HopRow;
use crate::reconstruct::transmit::tables::{TxEnd, TxKind, TxRow};
use crate::reconstruct::whose::{Carries, Owner};
use crate::snapshots::tables::SnapshotRow;

/// Segments by eth0 and then by `way`, the first four of which were sent again.
fn sent(again: &str, others: &str) -> Facts {
    let mut f = Facts::empty();
    f.connections.push(crate::testing::tcp::connection(0));
    f.capture.events.insert("skb:kfree_skb".into(), 0);
    for n in 0..12u32 {
        let lost = n < 4;
        let at = i64::from(n) * 1_000;
        f.tx.push(TxRow {
            skb_id: SkbId(n),
            connection: Some(ConnectionId(0)),
            start_ns: at,
            t_sched_ns: at,
            retransmits: u16::from(lost),
            end: TxEnd::Acked,
            ..crate::testing::sent()
        });
        let mut step = |ns: i64, kind: &'static str, dev: &str| {
            f.hops.push(HopRow {
                bytes: Some(100),
                ..crate::testing::hop(n, at + ns, kind, dev)
            });
        };
        step(1, "xmit", "eth0");
        let way = if lost { again } else { others };
        match way {
            "s0" => step(2, "rx", "s0"),
            way => step(2, "xmit", way),
        }
    }
    f
}

fn vanished(f: &Facts) -> Option<Vanished> {
    let Outcome::Findings(t) = answer(f) else { panic!() };
    t.vanished
}

#[test]
fn the_device_behind_which_nothing_was_seen_is_named() {
    let v = vanished(&sent("vpn0", "s0")).unwrap();
    assert_eq!((v.dev.as_str(), v.count, v.of, v.others), ("vpn0", 4, 4, (0, 8)));
    assert_eq!(v.usual, "s0");
    assert!(
        vanished_words(&v).contains("none of 8 others of these connections left"),
        "{}",
        vanished_words(&v)
    );
    // By the lists of routes one came; what went is a local address's, of the kernel's own table.
    let mut routed = sent("vpn0", "s0");
    let row = |end: bool, line: &str| SnapshotRow {
        what: "routes".into(),
        netns: Some(1),
        start: !end,
        end,
        line: line.into(),
    };
    let came = "netns=1 family=10 to=2001:db8:99:7::/64 via=fe80::7 metric=256 ifindex=2 table=254 type=1";
    let went = "netns=1 family=2 to=10.0.0.1 metric=0 ifindex=2 table=255 type=2";
    routed.snapshots = vec![row(true, came), row(true, came), row(false, went)];
    let v = vanished(&routed).unwrap();
    assert_eq!((v.routes_came.len(), v.routes_went.len()), (1, 0));
    let says =
        "another way (by the lists of routes 2001:db8:99:7::/64 via fe80::7 came while this was recorded), on which";
    assert!(vanished_words(&v).contains(says), "{}", vanished_words(&v));
    // Others went there, too, and came back acknowledged: lost beyond it.
    let v = vanished(&sent("line0", "line0")).unwrap();
    assert_eq!((v.others, v.usual.as_str()), ((8, 8), ""));
    assert!(vanished_words(&v).ends_with(
        "were seen last when they left by line0: they, or what answers them, were lost or late beyond it (inferred)"
    ));
    // They came to a host of the recording; they were seen on their first device alone.
    assert_eq!(vanished(&sent("s0", "s0")), None);
    assert_eq!(vanished(&sent("eth0", "eth0")), None);
    // This host dropped some; events were lost.
    let mut dropped = sent("vpn0", "s0");
    for n in 0..2 {
        let mut d = crate::testing::drop_at(n);
        d.expected = Some(false);
        d.owner = Some(Owner {
            connection: Some(ConnectionId(0)),
            carries: Carries::Data,
            task: Name::default(),
            pid: 0,
            confidence: crate::Confidence::Strong,
        });
        dropped.drops.push(d);
    }
    assert_eq!(vanished(&dropped), None);
    // Each of them; or drops were not recorded.
    let mut dropped = sent("vpn0", "s0");
    for n in 0..2 {
        let mut d = crate::testing::drop_at(n);
        (d.expected, d.skb_id) = (Some(false), Some(SkbId(n as u32)));
        dropped.drops.push(d);
    }
    assert_eq!(vanished(&dropped), None);
    let mut unrecorded = sent("vpn0", "s0");
    unrecorded.capture.events.clear();
    assert_eq!(vanished(&unrecorded), None);
    // Such a part as any network loses.
    let mut healthy = sent("vpn0", "s0");
    for n in 100..5_000 {
        let row = TxRow {
            skb_id: SkbId(n),
            ..healthy.tx[11].clone()
        };
        healthy.tx.push(row);
    }
    assert_eq!(vanished(&healthy), None);
    // SYNs are attempts, and no part of these.
    for n in 0..4u32 {
        let c = ConnectionId(n + 1);
        healthy.connections.push(crate::testing::tcp::connection(n + 1));
        let row = &mut healthy.tx[n as usize];
        (row.connection, row.kind, row.retransmits) = (Some(c), TxKind::TcpControl, 0);
        healthy.opens.push(OpenRow {
            connection: Some(c),
            from: None,
            to: None,
            pid: 7,
            task: Name::default(),
            start_ns: 0,
            end_ns: 9_000_000,
            end: OpenEnd::TimedOut,
            error: None,
            message: false,
            syns_again: Some(2),
            confidence: crate::Confidence::Certain,
        });
    }
    assert_eq!(vanished(&healthy).map(|v| (v.count, v.others)), Some((4, (0, 0))));
    // The others are of another container, whose device has the same name.
    let mut others = sent("vpn0", "s0");
    others.connections.push(crate::testing::tcp::connection(1));
    for t in others.tx.iter_mut().skip(4) {
        t.connection = Some(ConnectionId(1));
    }
    assert_eq!(vanished(&others).unwrap().others, (0, 0));
    let mut lost = sent("vpn0", "s0");
    lost.gaps.push(crate::testing::gap(1, 2));
    assert_eq!(vanished(&lost), None);
}
