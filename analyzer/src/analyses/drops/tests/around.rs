//! What is around a drop: the tunnel that the packets were inside of, the neighbour that they waited for, the socket that refused them, who
//! else's they were.

use std::net::{IpAddr, Ipv4Addr};

use super::drop_row;
use crate::Confidence;
use crate::analyses::Outcome;
use crate::analyses::drops::{Group, Inside, NextLink, Receiver, Unresolved, answer};
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::datagrams::sockets::SocketRow;
use crate::reconstruct::lineage::tables::{Conserved, LineageKind, LineageRow, Rule};
use crate::reconstruct::neighbours::tables::NeighbourRow;
use crate::reconstruct::skb::tables::HopRow;
use crate::reconstruct::transmit::tables::{TxKind, TxRow};
use crate::reconstruct::whose::{Carries, Owner};

fn facts(reason: &str) -> Facts {
    let mut f = Facts::empty();
    f.names.drop_reasons = Some(netmortem_formats::event_format::ValueTable {
        entries: vec![(10, reason.into())],
        kind: netmortem_formats::event_format::ValueTableKind::Symbolic,
    });
    f.routes = crate::routes::of_lines(&[(
        "links",
        "netns=1 name=vx0 mtu=1450 kind=vxlan\nnetns=2 name=vx0 mtu=1450 kind=vxlan\nnetns=1 name=eth0 mtu=1500\nnetns=1 name=both mtu=1500\n\
         netns=2 name=both mtu=1450 kind=vxlan\n",
    )]);
    f
}
fn group(f: &Facts) -> Group {
    let Outcome::Findings(d) = answer(f) else { panic!() };
    d.groups[0].clone()
}
fn hop(skb: u32, time_ns: i64, kind: &'static str, dev: &str) -> HopRow {
    HopRow {
        bytes: Some(100),
        ..crate::testing::hop(skb, time_ns, kind, dev)
    }
}

/// Dropped on eth0 behind the tunnel's queue: inside. Before it, behind its reception, and at the tunnel itself: not. A segment that was cut
/// inside is, as its packet.
#[test]
fn what_a_tunnel_put_in_and_did_not_take_out_is_inside() {
    let inside = |hops: &[HopRow], dev: &[u8], cut_from: Option<SkbId>| {
        let mut f = facts("QDISC_DROP");
        f.hops = hops.to_vec();
        let mut row = drop_row(100, 10, 1, Some(false));
        (row.skb_id, row.cut_from, row.dev) = (cut_from.is_none().then_some(SkbId(0)), cut_from, Name::new(dev));
        f.drops.push(row);
        f.lineage.push(LineageRow {
            ts_ns: 1,
            parent: SkbId(7),
            child: SkbId(0),
            kind: LineageKind::QdiscSegment,
            rule: Rule::SegmentOrder,
            bytes: None,
            conserved: Conserved::Yes,
            why: crate::reconstruct::lineage::Why::default(),
            confidence: Confidence::Strong,
        });
        group(&f).inside
    };
    let vx = Inside {
        dev: "vx0".into(),
        kind: "vxlan".into(),
        count: 1,
    };
    let way = |skb| {
        [
            hop(skb, 10, "queue", "vx0"),
            hop(skb, 11, "xmit", "vx0"),
            hop(skb, 20, "queue", "eth0"),
        ]
    };
    assert_eq!(inside(&way(0), b"eth0", None), Some(vx.clone()));
    assert_eq!(inside(&way(7), b"eth0", None), Some(vx.clone()));
    assert_eq!(inside(&way(7), b"eth0", Some(SkbId(7))), Some(vx));
    assert_eq!(inside(&way(0), b"vx0", None), None);
    let out = [&way(0)[..], &[hop(0, 50, "rx", "vx0")]].concat();
    assert_eq!(inside(&out, b"eth0", None), None);
    // Taken out by a device of a name that is a tunnel's in one namespace alone, or put in as is not certain.
    let renamed = [&way(0)[..], &[hop(0, 50, "rx", "both")]].concat();
    assert_eq!(inside(&renamed, b"eth0", None), None);
    let weak = way(0).map(|h| HopRow {
        confidence: Confidence::Weak,
        ..h
    });
    assert_eq!(inside(&weak, b"eth0", None), None);
    let later = [hop(0, 110, "queue", "vx0")];
    assert_eq!(inside(&later, b"eth0", None), None);
}

fn asked(time_ns: i64, cpu: u16, event: &'static str, last: u8) -> NeighbourRow {
    NeighbourRow {
        time_ns,
        cpu,
        event,
        dev: Name::new(b"rs"),
        address: Ipv4Addr::new(10, 9, 2, last).into(),
        before: None,
        after: None,
        err: None,
        netlink: 0,
        task: Name::default(),
        pid: 0,
        confidence: Confidence::Certain,
    }
}

#[test]
fn the_neighbour_is_the_one_whose_timer_ran_out_then() {
    let of = |reason: &str, rows: &[NeighbourRow]| {
        let mut f = facts(reason);
        f.neighbours = rows.to_vec();
        f.drops = vec![drop_row(100, 10, 1, Some(false)), drop_row(105, 10, 1, Some(false))];
        group(&f).unresolved
    };
    let nine = Unresolved {
        address: "10.9.2.9".into(),
        dev: "rs".into(),
        count: 2,
        others: 0,
    };
    let rows = [asked(90, 0, "timer_handler", 8), asked(110, 0, "timer_handler", 9)];
    assert_eq!(of("NEIGH_FAILED", &rows), Some(nine));
    assert_eq!(of("NETFILTER_DROP", &rows), None);
    // Of another CPU, too late, an update.
    assert_eq!(of("NEIGH_FAILED", &[asked(110, 1, "timer_handler", 9)]), None);
    assert_eq!(of("NEIGH_FAILED", &[asked(2_000_000, 0, "timer_handler", 9)]), None);
    assert_eq!(of("NEIGH_FAILED", &[asked(110, 0, "update", 9)]), None);
}

#[test]
fn the_socket_that_refused_is_named_by_its_address_or_the_event() {
    let of = |to: Option<(Option<IpAddr>, u16)>, sk: u64, local: &str| {
        let mut f = facts("SOCKET_RCVBUFF");
        let mut row = drop_row(100, 10, 1, Some(false));
        (row.to, row.sk) = (to, sk);
        f.drops.push(row);
        let mut s = SocketRow::begin(0xff00, 0);
        (s.pid, s.task, s.last_ns, s.local, s.rcvbuf) = (7, Name::new(b"named"), 200, local.into(), Some(8192));
        f.udp_sockets.push(s);
        group(&f).receiver
    };
    let address: IpAddr = Ipv4Addr::new(10, 0, 0, 2).into();
    let known = |to: &str| {
        Some(Receiver {
            to: to.into(),
            task: "named/7".into(),
            count: 1,
            rcvbuf: Some(8192),
        })
    };
    assert_eq!(of(Some((Some(address), 53)), 0xff00, ""), known("10.0.0.2:53"));
    assert_eq!(of(Some((Some(address), 53)), 0, "0.0.0.0:53"), known("10.0.0.2:53"));
    assert_eq!(of(Some((None, 53)), 0, "10.0.0.2:53"), known("*:53"));
    // Another socket: the address alone.
    let other = of(Some((Some(address), 53)), 0xee00, "10.0.0.2:53").unwrap();
    assert_eq!((other.task.as_str(), other.rcvbuf), ("", None));
    assert_eq!(of(None, 0xff00, "10.0.0.2:53"), None);
    // A refused SYN: no port is told.
    assert_eq!(of(Some((Some(address), 0)), 0, "10.0.0.2:53"), None);
}

/// Small packets of the connection go on from br0 to vx0: that is the link that the large ones were too large for.
#[test]
fn the_next_link_is_where_smaller_ones_went() {
    let of = |bytes: Option<u32>, then: &[&str]| {
        let mut f = facts("PKT_TOO_BIG");
        f.hops.push(HopRow {
            bytes,
            ..hop(9, 90, "rx", "br0")
        });
        f.connections.push(crate::testing::tcp::connection(0));
        let mut row = drop_row(100, 10, 1, Some(false));
        (row.dev, row.skb_id) = (Name::new(b"br0"), Some(SkbId(9)));
        row.owner = Some(Owner {
            connection: Some(ConnectionId(0)),
            carries: Carries::Data,
            task: Name::default(),
            pid: 0,
            confidence: Confidence::Strong,
        });
        f.drops.push(row);
        for (skb, dev) in (0..).zip(then) {
            f.tx.push(TxRow {
                skb_id: SkbId(skb),
                connection: Some(ConnectionId(0)),
                ..crate::testing::sent()
            });
            f.skbs.push(super::sizes::skb(SkbId(skb), 100));
            f.hops.push(hop(skb, 10, "rx", "br0"));
            f.hops.push(hop(skb, 11, "queue", dev));
        }
        group(&f).next_link
    };
    let next = |mtu| Some(NextLink { dev: "vx0".into(), mtu });
    assert_eq!(of(Some(1500), &["vx0", "vx0"]), next(Some(1450)));
    // The device would take it: a route has a limit of its own.
    assert_eq!(of(Some(1448), &["vx0", "vx0"]), next(None));
    assert_eq!(of(None, &["vx0", "vx0"]), next(None));
    assert_eq!(of(Some(1500), &["vx0", "eth0"]), None);
    assert_eq!(of(Some(1500), &[]), None);
}

/// Three threads of one name and one of another, whose packets were dropped.
#[test]
fn threads_of_one_name_are_named_together_and_the_rest_beside() {
    let mut f = facts("NETFILTER_DROP");
    let threads = [
        (7, &b"gateway"[..]),
        (8, b"gateway"),
        (9, b"gateway"),
        (7, b"gateway"),
        (5, b"api"),
    ];
    for (n, (pid, task)) in (0..).zip(threads) {
        f.tx.push(TxRow {
            skb_id: SkbId(n),
            kind: TxKind::Udp,
            task: Name::new(task),
            pid,
            ..crate::testing::sent()
        });
        let mut row = drop_row(100 + i64::from(n), 10, 1, Some(false));
        row.skb_id = Some(SkbId(n));
        row.owner = Some(Owner {
            connection: None,
            carries: Carries::Datagram,
            task: Name::new(task),
            pid,
            confidence: Confidence::Strong,
        });
        f.drops.push(row);
    }
    let lost = group(&f).of.remove(0);
    assert_eq!((lost.whose.as_str(), lost.count), ("of several threads gateway", 4));
    assert_eq!(lost.others, [("api".to_owned(), 1)]);
}
