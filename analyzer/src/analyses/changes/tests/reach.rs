//! What a change of an end host cannot have touched is not counted with it.

use super::*;
use crate::links::Links;
use crate::snapshots::spaces::Spaces;
use crate::testing::listed;
use netmortem_formats::capture::SnapshotWhen::Start;

const ADDRESSES: &str = "netns=1 ifindex=2 address=10.0.0.1/24\nnetns=2 ifindex=2 address=10.0.0.2/24\nnetns=3 ifindex=2 address=10.0.0.3/24\n";

/// Connection 0 is of hosts 1 and 2, 1 of hosts 2 and 3: all round trips become ten times as long at 105 s, when something of host 3 changes.
fn of_host(what: &'static str, of: &str) -> Facts {
    let change = ChangeRow {
        netns: 3,
        host: "c".into(),
        what,
        of: of.into(),
        ..change(105 * S, "a", "")
    };
    let mut f = facts(vec![change]);
    for (n, local, remote) in [(0, 1, 2), (1, 3, 2)] {
        let mut c = crate::testing::tcp::connection(n);
        (c.saddr, c.daddr) = (Some([10, 0, 0, local].into()), Some([10, 0, 0, remote].into()));
        f.connections.push(c);
        round_trips(&mut f, n, 101, 1_000);
        round_trips(&mut f, n, 106, 100_000);
    }
    f.spaces = Spaces::of(&listed(&[("addresses", Start, ADDRESSES)]));
    f.forwards.insert(3, false);
    f
}

fn effects(f: &Facts) -> (Vec<String>, bool) {
    let found = answer(f);
    let c = &found.clusters[0];
    (said(c).into_iter().map(str::to_owned).collect(), c.of_one_host)
}

const ITS: &str = "smoothed round trips of 10.0.0.3:1 > 10.0.0.2:2 were p50 100.00 ms (1.00 ms before)";
const BOTH: &str = "smoothed round trips of 10.0.0.1:1 > 10.0.0.2:2 were p50 100.00 ms (1.00 ms before, and of 1 more)";

#[test]
fn of_an_end_its_own_connections_are_counted() {
    for (what, of) in [
        ("qdisc", "eth0"),
        ("route", "default"),
        ("sysctl", "net.ipv4.tcp_sack"),
        ("ruleset", ""),
    ] {
        assert_eq!(effects(&of_host(what, of)), (vec![ITS.to_owned()], false), "{what}");
    }
    // An address may be another host's too, and who forwarded passes on what others send.
    for (what, of) in [
        ("address", "10.0.0.2/24"),
        ("link", "eth0"),
        ("sysctl", "net.ipv4.ip_forward"),
    ] {
        assert_eq!(effects(&of_host(what, of)), (vec![BOTH.to_owned()], true), "{what}");
    }
}

#[test]
fn who_may_pass_others_packets_on_is_no_end() {
    let all = (vec![BOTH.to_owned()], true);
    let mut f = of_host("qdisc", "eth0");
    f.forwards.insert(3, true);
    assert_eq!(effects(&f), all);
    f.forwards.clear();
    assert_eq!(effects(&f), all, "not known");
    let mut f = of_host("qdisc", "eth0");
    f.routes.links = Links::of(&listed(&[(
        "links",
        Start,
        "netns=3 ifindex=4 name=br0 mtu=1500 kind=bridge\n",
    )]));
    assert_eq!(effects(&f), all, "a bridge");
}

#[test]
fn ends_that_no_list_has_are_counted() {
    let mut f = of_host("qdisc", "eth0");
    f.connections[0].daddr = Some([192, 0, 2, 9].into());
    assert_eq!(effects(&f).0.len(), 1);
    assert!(effects(&f).0[0].ends_with("and of 1 more)"), "{:?}", effects(&f));
    // Its other end says which host it is.
    f.connections.push(f.connections[0].clone());
    f.connections[2].saddr = Some([10, 0, 0, 2].into());
    f.connections[0].peer = Some(ConnectionId(2));
    assert_eq!(effects(&f).0, [ITS]);
}

#[test]
fn packets_that_another_host_dropped_are_not_counted() {
    let mut f = of_host("qdisc", "eth0");
    f.tcp_samples.clear();
    drops(&mut f, (0..10).map(|n| 105 * S + n * S / 10));
    let device = |f: &mut Facts, name: &str| {
        f.drops
            .iter_mut()
            .for_each(|d| d.dev = crate::name::Name::new(name.as_bytes()))
    };
    f.routes.links = Links::of(&listed(&[(
        "links",
        Start,
        "netns=2 ifindex=2 name=b0 mtu=1500\nnetns=3 ifindex=2 name=c0 mtu=1500\n",
    )]));
    device(&mut f, "b0");
    assert_eq!(effects(&f).0, [""; 0]);
    for dev in ["c0", "", "x0"] {
        device(&mut f, dev);
        assert_eq!(effects(&f).0.len(), 1, "{dev}");
    }
}
