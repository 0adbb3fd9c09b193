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
    for event in ["skb:kfree_skb", "tcp:tcp_cong_state_set", "tcp:tcp_retransmit_skb"] {
        f.capture.events.insert(event.into(), 0);
    }
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
        "none of 5 segments of more than 180 bytes from 10.0.0.1:80 to 10.0.0.2 was acknowledged: 5 of 1448 bytes on 5 connections were retransmitted 20 times in vain, while of those of at most 180 bytes 7 were acknowledged at once, and handshakes or small segments of 4 of these connections came through; 7 as large arrived at 10.0.0.3: a path MTU black hole (inferred); no ICMP message made TCP send smaller ones"
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
            why: crate::reconstruct::lineage::Why::default(),
            confidence: crate::Confidence::Certain,
        });
    }
    let set = |f: &mut Facts, name: &str, value: &str| f.settings.0.insert(name.into(), value.into());
    set(&mut f, "tun1 mtu", "1500");
    set(&mut f, "net.ipv4.tcp_mtu_probing", "0");
    let said = words(&found(&f).unwrap());
    let end = "a path MTU black hole beyond tun1, by which they were seen to leave last (inferred); no ICMP message made TCP send smaller ones, the MTU of tun1 is 1500, tcp_mtu_probing is 0";
    assert!(said.ends_with(end), "{said}");
    // They reached its queue only, where leaving it would be known.
    let hops = f.hops.clone();
    f.hops.retain(|h| h.kind == "queue");
    assert_eq!(found(&f).unwrap().dev, "tun1");
    f.capture.events.insert("net:net_dev_start_xmit".into(), 0);
    assert_eq!(found(&f).unwrap().dev, "");
    f.hops = hops;
    assert_eq!(found(&f).unwrap().dev, "tun1");
    // Devices of one name with several MTUs.
    set(&mut f, "tun1 mtu", "1400 | 1500");
    assert_eq!(found(&f).unwrap().mtu, None);
    // Another namespace has it otherwise: which of them is this one's is not known.
    set(&mut f, "net.ipv4.tcp_mtu_probing@netns", "1");
    assert_eq!(found(&f).unwrap().probing, None);
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
    // Nor does a kernel without reasons tell that it had to.
    not(&|f| f.drops.push(dropped(Some(false))));
    not(&|f| f.drops.push(dropped(None)));
    let mut f = hole();
    f.drops.push(dropped(Some(true)));
    assert!(found(&f).is_some());
}

/// By this host, of connection 2.
fn dropped(expected: Option<bool>) -> DropRow {
    DropRow {
        expected,
        owner: Some(Owner {
            connection: Some(ConnectionId(2)),
            carries: Carries::Data,
            task: Name::default(),
            pid: 0,
            confidence: crate::Confidence::Strong,
        }),
        ..crate::testing::drop_at(0)
    }
}

/// What a link of IPv6 must take is not lost for its size.
#[test]
fn small_segments_are_lost_for_another_reason() {
    let of = |bytes: u32| {
        let mut f = hole();
        for t in f.tx.iter_mut().filter(|t| t.end == TxEnd::Open) {
            t.bytes = Some(bytes);
        }
        found(&f).map(|b| b.bytes)
    };
    assert_eq!((of(200), of(1100)), (None, None));
    assert_eq!(of(1220), Some((1220, 1220)));
}

/// A SYN-ACK says nothing of what a server behind a proxy, or a full accept queue, takes.
#[test]
fn a_client_is_alive_by_what_is_acknowledged() {
    let mut f = hole();
    for c in &mut f.connections {
        c.born = Some(2);
        (c.sport, c.dport) = (c.dport, 80);
    }
    assert_eq!(found(&f), None);
    for c in 0..5u32 {
        send(&mut f, c, i64::from(c) * S + 1, 150, 0, TxEnd::Acked);
    }
    assert_eq!(found(&f).unwrap().alive, 5);
}

/// Small ones that came later, or never, count where no large one held them up.
#[test]
fn small_ones_that_were_sent_again_are_told() {
    let with = |end: TxEnd, c: u32, at_once: usize| {
        let mut f = hole();
        for _ in 0..at_once {
            send(&mut f, 5, 4 * S, 180, 0, TxEnd::Acked);
        }
        send(&mut f, c, 4 * S + 2, 100, 1, end);
        found(&f).map(|b| (b.small, words(&b)))
    };
    // One in ten, or more.
    assert_eq!((with(TxEnd::Acked, 5, 2), with(TxEnd::Open, 5, 2)), (None, None));
    let (small, said) = with(TxEnd::Acked, 5, 3).unwrap();
    assert_eq!(small, (10, 1, 0));
    assert!(
        said.contains(" 10 were acknowledged at once, 1 after being sent again, and "),
        "{said}"
    );
    let (small, said) = with(TxEnd::Open, 5, 3).unwrap();
    assert_eq!(small, (10, 0, 1));
    assert!(
        said.contains(" 10 were acknowledged at once, 1 never though sent again, and "),
        "{said}"
    );
    // Behind a large one of connection 4.
    assert_eq!(with(TxEnd::Open, 4, 0).unwrap().0, (7, 0, 0));
}

/// Of the peers with most lost segments.
#[test]
fn of_two_peers_the_one_with_more() {
    let mut f = hole();
    for c in 7..15u32 {
        let mut row = connection(c);
        (row.sport, row.dport) = (80, 1000 + c as u16);
        (row.first_ns, row.daddr) = (i64::from(c) * S, Some(IpAddr::from(Ipv4Addr::new(10, 0, 0, 4))));
        born(&mut f, row, 3);
        send(&mut f, c, i64::from(c) * S, 100, 0, TxEnd::Acked);
        send(&mut f, c, i64::from(c) * S + 1, 1448, 2, TxEnd::Open);
    }
    let of = |f: &Facts| found(f).map(|b| (b.to, b.lost, b.again));
    assert_eq!(of(&f), Some(("10.0.0.4".into(), 8, 16)));
    // What excludes one does not exclude the other.
    f.drops.push(DropRow {
        owner: dropped(None).owner.map(|o| Owner {
            connection: Some(ConnectionId(9)),
            ..o
        }),
        ..dropped(None)
    });
    assert_eq!(of(&f), Some(("10.0.0.2".into(), 5, 20)));
}

/// That no ICMP message came is said where it would be known.
#[test]
fn what_no_event_tells_is_not_said() {
    for event in ["tcp:tcp_cong_state_set", "tcp:tcp_retransmit_skb"] {
        let mut f = hole();
        f.capture.events.remove(event);
        let b = found(&f).unwrap();
        assert!(!b.icmp_told);
        assert!(
            words(&b).ends_with(": a path MTU black hole (inferred)"),
            "{}",
            words(&b)
        );
    }
    assert!(found(&hole()).unwrap().icmp_told);
}

/// Sent again on a connection of that peer.
fn again(c: u32, class: RetransmitClass) -> RetransmitRow {
    crate::testing::tcp::sent_again(c, class, 5 * S)
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
