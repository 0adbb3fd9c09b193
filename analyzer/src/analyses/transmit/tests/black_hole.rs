//! Large segments that no peer acknowledges, while it does the small ones.

use std::net::{IpAddr, Ipv4Addr};

use super::answer;
use crate::analyses::Outcome;
use crate::analyses::transmit::BlackHole;
use crate::analyses::verdict::black_hole as words;
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::lineage::tables::{Conserved, LineageKind, LineageRow, Rule};
use crate::reconstruct::skb::tables::{HopRow, SkbRow};
use crate::reconstruct::tcp::tables::{RetransmitClass, RetransmitRow};
use crate::reconstruct::transmit::tables::{TxEnd, TxRow};
use crate::reconstruct::whose::{Carries, Owner};
use crate::snapshots::tables::SnapshotRow;
use crate::testing::tcp::{born, connection};

const S: i64 = 1_000_000_000;

/// A segment of connection `c`.
fn send(f: &mut Facts, c: u32, at: i64, bytes: u32, again: u16, end: TxEnd) {
    let n = f.tx.len() as u32;
    f.skbs.push(SkbRow {
        gso_size: if bytes > 1448 { 1448 } else { 0 },
        ..crate::testing::life(n)
    });
    f.tx.push(TxRow {
        skb_id: SkbId(n),
        connection: Some(ConnectionId(c)),
        bytes: Some(bytes),
        start_ns: at,
        t_sched_ns: at,
        retransmits: again,
        t_ack_ns: (end == TxEnd::Acked).then_some(at + S / 10),
        end,
        ..crate::testing::sent()
    });
}

/// :80 of 10.0.0.1 serves 10.0.0.2 on connections 0 to 4, one a second, whose pages do not arrive, on 5 with small answers, and 10.0.0.3 on 6.
fn hole() -> Facts {
    let mut f = Facts::empty();
    f.capture.events.insert("skb:kfree_skb".into(), 0);
    for c in 0..7u32 {
        let mut row = connection(c);
        (row.sport, row.dport) = (80, 1000 + c as u16);
        row.first_ns = i64::from(c) * S;
        row.daddr = Some(IpAddr::from(Ipv4Addr::new(10, 0, 0, if c == 6 { 3 } else { 2 })));
        born(&mut f, row, 3);
    }
    for c in 0..5u32 {
        send(&mut f, c, i64::from(c) * S + 1, 2288, 4, TxEnd::Open);
    }
    for n in 0..8 {
        send(&mut f, 5, n * S, 180, 0, TxEnd::Acked);
        send(&mut f, 6, n * S, 2896, 0, TxEnd::Acked);
    }
    f
}

fn found(f: &Facts) -> Option<BlackHole> {
    let Outcome::Findings(t) = answer(f) else { panic!() };
    t.black_hole
}

#[test]
fn large_segments_to_one_peer_vanish_and_small_ones_do_not() {
    let mut f = hole();
    let b = found(&f).unwrap();
    assert_eq!(
        words(&b),
        "none of 5 segments of more than 180 bytes from 10.0.0.1:80 to 10.0.0.2 was acknowledged: 5 of 1448 bytes on 5 connections were sent again 20 times in vain, while all 7 of at most 180 bytes arrived, and so did handshakes or small segments of 4 of these connections; 7 as large arrived at 10.0.0.3: a path MTU black hole (inferred); no ICMP message made TCP send smaller ones"
    );
    // What was cut was seen last where its first piece was.
    for n in 0..5u32 {
        let child = SkbId(100 + n);
        f.hops.push(crate::testing::hop(n, 1, "queue", "tun1"));
        f.hops.push(HopRow {
            skb_id: child,
            ..crate::testing::hop(n, 2, "xmit", "tun1")
        });
        f.lineage.push(LineageRow {
            ts_ns: 2,
            parent: SkbId(n),
            child,
            kind: LineageKind::Gso,
            rule: Rule::SegmentOrder,
            bytes: Some(1448),
            conserved: Conserved::Yes,
            confidence: crate::Confidence::Certain,
        });
    }
    let row = |what: &str, line: &str| SnapshotRow {
        what: what.into(),
        netns: None,
        start: true,
        end: true,
        line: line.into(),
    };
    f.snapshots = vec![
        row("links", "ifindex=3 name=tun1 mtu=1500"),
        row("sysctl", "net.ipv4.tcp_mtu_probing = 0"),
    ];
    let said = words(&found(&f).unwrap());
    let end = "a path MTU black hole beyond tun1, by which they were seen to leave last (inferred); no ICMP message made TCP send smaller ones, the MTU of tun1 is 1500, tcp_mtu_probing is 0";
    assert!(said.ends_with(end), "{said}");
    // Devices of one name with several MTUs.
    f.snapshots.push(row("links", "ifindex=3 name=tun1 mtu=1400"));
    assert_eq!(found(&f).unwrap().mtu, None);
    // They came to a host of the recording.
    for h in &mut f.hops {
        (h.kind, h.dev) = ("rx", Name::new(b"eth0"));
    }
    assert_eq!(found(&f).unwrap().dev, "");
}

#[test]
fn it_began_while_recorded() {
    let mut f = hole();
    send(&mut f, 5, -S, 1448, 0, TxEnd::Acked);
    assert_eq!(found(&f).unwrap().since_ns, Some(1));
    assert!(words(&found(&f).unwrap()).starts_with("from 0.000 s on none of 5 segments"));
}

#[test]
fn other_losses_are_none() {
    let not = |change: &dyn Fn(&mut Facts)| {
        let mut f = hole();
        change(&mut f);
        assert_eq!(found(&f), None);
    };
    // A large one came through, at once or later; or one between was sent again until it did.
    not(&|f| send(f, 5, 3 * S, 1448, 0, TxEnd::Acked));
    not(&|f| send(f, 5, 3 * S, 1448, 3, TxEnd::Acked));
    // Small ones are lost as well, or there are too few.
    not(&|f| send(f, 5, 3 * S, 100, 1, TxEnd::Acked));
    not(&|f| f.tx.retain(|t| t.bytes != Some(180)));
    // Nothing came through since: of other connections other ways are lost.
    not(&|f| f.connections.iter_mut().for_each(|c| c.first_ns = -S));
    // One connection is lost, two are.
    not(&|f| {
        f.tx.iter_mut()
            .for_each(|t| t.connection = t.connection.map(|c| ConnectionId(c.0.max(4))))
    });
    // Sent again once, as at the end of any recording.
    not(&|f| f.tx.iter_mut().for_each(|t| t.retransmits = t.retransmits.min(1)));
    // Whether this host dropped them is not known; or it did.
    not(&|f| f.capture.events.clear());
    not(&|f| {
        f.drops.push(DropRow {
            expected: Some(false),
            owner: Some(Owner {
                connection: Some(ConnectionId(2)),
                carries: Carries::Data,
                task: Name::default(),
                pid: 0,
                confidence: crate::Confidence::Strong,
            }),
            ..crate::testing::drop_at(0)
        })
    });
}

/// Sent again on a connection of that peer.
fn again(c: u32, class: RetransmitClass) -> RetransmitRow {
    RetransmitRow {
        index: 0,
        time_ns: 5 * S,
        connection: Some(ConnectionId(c)),
        synack: None,
        class,
        err: Some(0),
        bytes: Some(1514),
        original: None,
        segments: Some(1),
        confidence: crate::Confidence::Certain,
    }
}

#[test]
fn an_icmp_message_that_came_is_said_elsewhere() {
    let mut f = hole();
    f.retransmits = vec![again(1, RetransmitClass::Rto), again(1, RetransmitClass::Pmtu)];
    assert_eq!(found(&f), None);
}

/// It stands first, and what was sent again for it under it.
#[test]
fn it_is_what_is_wrong() {
    let of = |others: usize| {
        let mut f = hole();
        f.retransmits = vec![again(1, RetransmitClass::Rto); 20];
        f.retransmits.extend(vec![again(6, RetransmitClass::Rto); others]);
        let verdict = crate::analyses::answer(&f).verdict;
        let line = |subject: &str| verdict.iter().find(|l| l.subject == subject).unwrap().clone();
        (line("transmit"), line("tcp"))
    };
    let (line, again) = of(0);
    assert_eq!(line.tone, crate::analyses::verdict::Tone::Bad);
    assert!(
        line.names_cause && line.headline.starts_with("none of 5 segments"),
        "{}",
        line.headline
    );
    assert_eq!(again.follows, Some("transmit"));
    assert!(
        again.headline.ends_with(", all of them to 10.0.0.2"),
        "{}",
        again.headline
    );
    let (_, again) = of(1);
    assert_eq!(again.follows, Some("transmit"));
    let few = ", 20 of these 21 calls to 10.0.0.2";
    assert!(again.headline.ends_with(few), "{}", again.headline);
    assert_eq!(of(10).1.follows, None);
}
