//! Packets whose way changed, and that are dropped where they go then.

use netmortem_formats::capture::SnapshotWhen::{End, Start};

use super::drop_row;
use crate::analyses::drops::Group;
use crate::analyses::drops::rerouted::rerouted;
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::reconstruct::transmit::tables::{TxKind, TxRow};
use crate::reconstruct::whose::{Carries, Owner};
use crate::routes::routes;
use crate::testing::{hop, listed, sent};

const S: i64 = 1_000_000_000;
const LINKS: &str = "netns=1 ifindex=2 name=eth0 kind=veth link=3\nnetns=9 ifindex=3 name=run1 kind=veth link=2\n\
    netns=9 ifindex=6 name=vpn kind=veth link=2\nnetns=9 ifindex=7 name=rtr kind=veth link=2\n\
    netns=2 ifindex=2 name=eth0 kind=veth link=6\nnetns=3 ifindex=2 name=eth0 kind=veth link=7\nnetns=3 ifindex=3 name=eth1\n";
const ADDRESSES: &str = "netns=1 ifindex=2 address=10.0.0.1/24\nnetns=2 ifindex=2 address=fe80::8/64\nnetns=2 ifindex=2 address=10.0.0.8/24\n\
    netns=3 ifindex=2 address=10.0.0.254/24\nnetns=4 ifindex=2 address=10.0.0.2/24\n";
const ROUTE: &str = "netns=1 family=2 to=default via=10.0.0.254 table=254 type=1\n";
const CAME: &str = "netns=1 family=2 to=10.0.0.2/32 via=10.0.0.8 table=254 type=1 protocol=3\n";

/// Every 100 ms for 2 s a packet from 10.0.0.1 to 10.0.0.2: by these devices of the bridge; those by `vpn` are dropped behind it.
fn facts(by: impl Fn(i64) -> &'static str, routes_after: &str) -> Facts {
    let mut f = Facts::empty();
    f.capture.start_ns = Some(0);
    let lists = [
        ("links", Start, LINKS),
        ("addresses", Start, ADDRESSES),
        ("routes", Start, ROUTE),
        ("routes", End, routes_after),
    ];
    let capture = listed(&lists);
    f.routes = routes(&lists);
    f.multicast = crate::snapshots::groups::Multicast::of(&capture);
    f.spaces = crate::snapshots::spaces::Spaces::of(&capture);
    f.snapshots = crate::snapshots::tables::rows(&capture).0;
    f.connections = vec![crate::testing::tcp::connection(0)];
    for n in 0..20i64 {
        let (at, skb, dev) = (n * S / 10, n as u32, by(n));
        let way = [("queue", "eth0"), ("rx", "run1"), ("queue", dev), ("rx", "eth0")];
        f.hops.extend(way.map(|(kind, dev)| hop(skb, at, kind, dev)));
        if dev == "vpn" {
            let mut row = drop_row(at, 12, 0x10, Some(false));
            row.skb_id = Some(SkbId(skb));
            row.owner = Some(Owner {
                connection: Some(ConnectionId(0)),
                carries: Carries::Data,
                task: Default::default(),
                pid: 0,
                confidence: crate::Confidence::Strong,
            });
            f.drops.push(row);
        } else {
            f.hops.push(hop(skb, at, "queue", "eth1"));
        }
        f.tx.push(TxRow {
            skb_id: SkbId(skb),
            connection: Some(ConnectionId(0)),
            kind: TxKind::Tcp,
            t_sched_ns: at,
            ..sent()
        });
    }
    f
}

fn words(f: &Facts) -> Option<String> {
    Some(rerouted(f, &f.drops.iter().collect::<Vec<_>>())?.words())
}

#[test]
fn who_gets_them_instead_is_told_and_since_when() {
    let f = facts(|n| if n < 10 { "rtr" } else { "vpn" }, ROUTE);
    let says = "from 1.000 s on what 10.0.0.1 sent to 10.0.0.2:2 went another way than before, not to 10.0.0.254 (by rtr) any more but to 10.0.0.8 (by vpn), which host drops them";
    assert_eq!(words(&f).as_deref(), Some(says));
    // It comes first, before the drops, with the host whose device it is.
    let d = crate::analyses::drops::answer(&f);
    let g: &Group = &d.findings().unwrap().groups[0];
    assert_eq!((g.rerouted, g.host.as_deref()), (true, Some("10.0.0.8")));
    // A route that came meanwhile, whose gateway is that host; one to elsewhere, or that was there before, is no reason.
    let with = |after: &str| words(&facts(|n| if n < 10 { "rtr" } else { "vpn" }, after)).unwrap();
    let came = with(&format!("{ROUTE}{CAME}"));
    let why =
        ", as meanwhile their host got the route `10.0.0.2/32 via 10.0.0.8`, whose gateway it is (see `ip route show`)";
    assert!(came.starts_with(says) && came.ends_with(why), "{came}");
    assert_eq!(
        with(&format!("{ROUTE}{}", CAME.replace("via=10.0.0.8", "via=10.0.0.9"))),
        says
    );
    assert_eq!(
        with(&format!("{ROUTE}{}", CAME.replace("10.0.0.2/32", "10.0.7.0/24"))),
        says
    );
    assert_eq!(with(&ROUTE.replace("protocol", "metric=7 protocol")), says);
}

#[test]
fn it_is_told_when_it_ended() {
    let f = facts(|n| if (10..14).contains(&n) { "vpn" } else { "rtr" }, ROUTE);
    assert!(
        words(&f).unwrap().starts_with("from 1.000 s to 1.400 s what "),
        "{:?}",
        words(&f)
    );
}

/// Both ways were there before, or are there meanwhile; the old one is not known; they are dropped on the way that they always went.
#[test]
fn no_other_way_where_both_were_there_or_none_is_known() {
    let both = |n: i64| if n % 2 == 0 { "rtr" } else { "vpn" };
    assert_eq!(words(&facts(both, ROUTE)), None);
    let before = |n: i64| {
        if n < 10 && n % 3 == 0 {
            "oth"
        } else if n < 10 {
            "rtr"
        } else {
            "vpn"
        }
    };
    assert_eq!(words(&facts(before, ROUTE)), None);
    assert_eq!(words(&facts(|_| "vpn", ROUTE)), None);
    assert_eq!(words(&facts(|n| if n < 4 { "rtr" } else { "vpn" }, ROUTE)), None);
    let mut f = facts(|n| if n < 10 { "rtr" } else { "vpn" }, ROUTE);
    // The same way: a firewall there began to drop.
    for h in f.hops.iter_mut().filter(|h| h.dev.text() == "rtr") {
        h.dev = crate::name::Name::new(b"vpn");
    }
    assert_eq!(words(&f), None);
    // Most of what was dropped is of hosts that nothing is known of.
    let mut f = facts(|n| if n < 10 { "rtr" } else { "vpn" }, ROUTE);
    for row in f.drops.iter_mut().skip(5) {
        row.owner = None;
    }
    assert_eq!(words(&f), None);
}

/// A device name that several hosts have, without what tells which of them: no host.
#[test]
fn no_host_where_it_may_be_of_several() {
    let mut f = facts(|n| if n < 10 { "rtr" } else { "vpn" }, ROUTE);
    f.multicast = Default::default();
    let said = words(&f).unwrap();
    assert!(
        said.contains("went another way than before, not by rtr any more but by vpn, on which they are dropped"),
        "{said}"
    );
    let d = crate::analyses::drops::answer(&f);
    assert_eq!(d.findings().unwrap().groups[0].host, None);
}
