//! What changed while recording.

use netmortem_formats::capture::SnapshotWhen::{End, Start};

use super::drop_row;
use crate::analyses::drops::answer;
use crate::analyses::verdict::{Line, Tone};
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::transmit::tables::TxRow;
use crate::reconstruct::whose::{Carries, Owner};
use crate::routes::routes;

/// Five packets for one reason on one device, 1 to 5 s after the start; with these addresses and links before and after.
pub(super) fn facts(reason: &str, dev: &str, lists: [&str; 4]) -> Facts {
    let mut f = Facts::empty();
    (f.capture.start_ns, f.capture.duration_ns) = (Some(0), 20_000_000_000);
    f.names.drop_reasons = Some(netmortem_formats::event_format::ValueTable {
        entries: vec![(12, reason.into())],
        kind: netmortem_formats::event_format::ValueTableKind::Symbolic,
    });
    for n in 1..6 {
        let mut row = drop_row(n * 1_000_000_000, 12, 0x10, Some(false));
        row.dev = Name::new(dev.as_bytes());
        f.drops.push(row);
    }
    let [a, b, c, d] = lists;
    f.routes = routes(&[
        ("addresses", Start, a),
        ("addresses", End, b),
        ("links", Start, c),
        ("links", End, d),
    ]);
    f
}

fn found(f: &Facts) -> Option<String> {
    answer(f).findings().unwrap().groups[0].meanwhile.clone()
}

fn line(f: &Facts) -> Line {
    let lines = crate::analyses::answer(f).verdict;
    lines.into_iter().find(|l| l.subject == "drops").unwrap()
}

const BEFORE: &str =
    "netns=1 ifindex=1 address=127.0.0.1/8\nnetns=1 ifindex=2 address=10.0.0.7/24\nnetns=2 address=10.9.9.9/24\n";
const AFTER: &str = "netns=1 ifindex=1 address=127.0.0.1/8\n";

#[test]
fn an_address_that_was_taken_away_is_told() {
    let f = facts("IP_OUTNOROUTES", "", [BEFORE, AFTER, "", ""]);
    let says =
        "10.0.0.7 was taken from its host in the recording, as when a DHCP lease ends, which may be why (inferred)";
    // The other one went with its namespace.
    assert_eq!(found(&f).as_deref(), Some(says));
    let said = line(&f).headline;
    assert!(said.starts_with(says), "{said}");
    // Dropped on a device of another namespace.
    let links = "netns=1 name=eth0\nnetns=2 name=eth1\n";
    assert!(found(&facts("IP_INNOROUTES", "eth0", [BEFORE, AFTER, links, ""])).is_some());
    assert_eq!(found(&facts("IP_INNOROUTES", "eth1", [BEFORE, AFTER, links, ""])), None);
    // It is there; another reason; two are gone, and nothing tells which it was.
    assert_eq!(found(&facts("IP_OUTNOROUTES", "", [BEFORE, BEFORE, "", ""])), None);
    assert_eq!(found(&facts("NETFILTER_DROP", "", [BEFORE, AFTER, "", ""])), None);
    let two = format!("{BEFORE}netns=1 address=10.0.1.7/24\n");
    assert_eq!(found(&facts("IP_OUTNOROUTES", "", [&two, AFTER, "", ""])), None);
}

#[test]
fn an_address_of_the_other_family_is_not_why() {
    let mut f = facts("IP_OUTNOROUTES", "", [BEFORE, AFTER, "", ""]);
    f.drops.iter_mut().for_each(|d| d.protocol = 0x86dd);
    assert_eq!(found(&f), None);
    // Without a protocol the function tells.
    f.drops.iter_mut().for_each(|d| d.protocol = 0);
    assert!(found(&f).is_some());
    f.names.locations.insert(0x10, "ip6_pkt_drop".into());
    assert_eq!(found(&f), None);
    f.names.locations.insert(0x10, "__ip_queue_xmit".into());
    assert!(found(&f).is_some());
}

/// Of five packets for one reason and many more for another the one does not tell why.
#[test]
fn what_few_were_dropped_for_does_not_stand_before_all() {
    let with = |others: i64| {
        let mut f = facts("IP_OUTNOROUTES", "", [BEFORE, AFTER, "", ""]);
        for n in 0..others {
            f.drops.push(drop_row(6_000_000_000 + n, 13, 0x20, Some(false)));
        }
        line(&f).sentence
    };
    assert!(with(5).contains("10.0.0.7 was taken"), "{}", with(5));
    assert!(!with(6).contains("10.0.0.7 was taken"), "{}", with(6));
}

#[test]
fn a_port_that_spanning_tree_holds_after_its_carrier_came_back_is_told() {
    let links = |n| format!("netns=1 ifindex=3 name=p1 carrier_changes={n}\n");
    let f = |after: u64, dev| facts("BRIDGE_INGRESS_STP_STATE", dev, ["", "", &links(2), &links(after)]);
    let says = "port p1 of a bridge dropped 5 frames that came to it, the first at 1.0, the last at 5.0 s (spanning tree lets nothing pass while it listens and learns, as each time when its carrier, which changed 2 times in the recording, has come back: inferred)";
    assert_eq!(found(&f(4, "p1")).as_deref(), Some(says));
    assert!(
        line(&f(4, "p1")).headline.starts_with(says),
        "{}",
        line(&f(4, "p1")).headline
    );
    // A port that is blocked by design keeps its carrier.
    assert_eq!(found(&f(2, "p1")), None);
    assert_eq!(found(&f(4, "p2")), None);
    // One that the tree does without drops what comes to it, whatever its carrier did.
    let blocked = links(4).replace('\n', " port_state=4\n");
    let blocked = facts("BRIDGE_INGRESS_STP_STATE", "p1", ["", "", &links(2), &blocked]);
    assert_eq!(found(&blocked), None);
}

/// Frames that had gone by a port of a bridge whose carrier changed, and then went to another host.
#[test]
fn frames_flooded_since_a_port_was_lost_are_told() {
    let of = |changes: u64, way: &str| {
        let before = "netns=1 ifindex=4 name=p24 carrier_changes=2\n";
        let after = format!("netns=1 ifindex=4 name=p24 carrier_changes={}\n", 2 + changes);
        let mut f = facts("OTHERHOST", "eth0", ["", "", before, &after]);
        let went = |f: &mut Facts, n: u32, at: i64, dev: &str| {
            f.tx.push(TxRow {
                skb_id: SkbId(n),
                connection: Some(ConnectionId(0)),
                t_sched_ns: at,
                ..crate::testing::sent()
            });
            f.hops.push(crate::testing::hop(n, at, "queue", dev));
        };
        went(&mut f, 0, 800_000_000, "p24");
        for n in 1..6 {
            went(&mut f, n, i64::from(n) * 1_000_000_000, way);
        }
        went(&mut f, 6, 7_300_000_000, "p24");
        for d in &mut f.drops {
            d.owner = Some(Owner {
                connection: Some(ConnectionId(0)),
                carries: Carries::Data,
                task: Name::default(),
                pid: 0,
                confidence: crate::Confidence::Certain,
            });
        }
        found(&f)
    };
    let says = "no frame went by p24 from 0.800 to 7.300 s (6.500 s), whose carrier changed 2 times in the recording, and what had gone by it was sent to other ports";
    let said = of(2, "p3").unwrap();
    assert!(said.starts_with(says), "{said}");
    // Its carrier stayed; they still went by it.
    assert_eq!(of(0, "p3"), None);
    assert_eq!(of(2, "p24"), None);
}

/// What came for others to a host that forwarded at the start and does not at the end.
#[test]
fn a_host_that_no_longer_forwards_is_told() {
    use crate::settings::changed::Change;
    let with = |change: &dyn Fn(&mut Facts)| {
        let mut f = facts(
            "IP_INADDRERRORS",
            "i0",
            ["", "", "netns=7 name=i0\nnetns=8 name=o0\n", ""],
        );
        f.drops
            .iter_mut()
            .for_each(|d| d.why = crate::reconstruct::drops::NOT_FORWARDED);
        f.changed = vec![Change {
            netns: Some(7),
            addresses: vec!["10.0.0.1".into(), "10.1.0.1".into()],
            name: "net.ipv4.ip_forward".into(),
            before: "1".into(),
            after: "0".into(),
        }];
        f.forwards = [(7, false), (8, true)].into();
        change(&mut f);
        f
    };
    let says = "the host of 10.0.0.1 and 10.1.0.1 no longer forwards: net.ipv4.ip_forward was switched from 1 to 0 in the recording, and what came there for others was dropped from 1.000 s on";
    let f = with(&|_| {});
    assert_eq!(found(&f).as_deref(), Some(says));
    let l = line(&f);
    assert!(
        l.names_cause && l.headline.to_lowercase().starts_with(says),
        "{}",
        l.headline
    );
    // That it was changed is not said twice.
    let others = crate::analyses::answer(&f).verdict;
    assert!(others.iter().all(|l| l.subject != "settings"));
    // Switched on; another namespace's; another cause.
    assert_eq!(
        found(&with(
            &|f| (f.changed[0].before, f.changed[0].after) = ("0".into(), "1".into())
        )),
        None
    );
    assert_eq!(found(&with(&|f| f.changed[0].netns = Some(8))), None);
    // Another host has such a device, which does not forward either, or nothing is known of any.
    let links = "netns=7 name=i0\nnetns=8 name=i0\n";
    let two = |forwards: bool| {
        let mut f = with(&|f| f.forwards.insert(8, forwards).map_or((), drop));
        f.routes = routes(&[("links", Start, links)]);
        found(&f)
    };
    assert_eq!((two(true).is_some(), two(false)), (true, None));
    assert_eq!(found(&with(&|f| f.forwards.clear())), None);
    let ruled = |f: &mut Facts| f.drops.iter_mut().for_each(|d| d.why = "an nftables rule or policy");
    assert_eq!(found(&with(&ruled)), None);
}

#[test]
fn what_else_was_changed_has_a_line_of_its_own() {
    let mut f = facts("QDISC_DROP", "i0", ["", "", "", ""]);
    f.changed = vec![crate::settings::changed::Change {
        netns: Some(7),
        addresses: vec![],
        name: "net.ipv4.tcp_sack".into(),
        before: "1".into(),
        after: "0".into(),
    }];
    let lines = crate::analyses::answer(&f).verdict;
    let last = lines.last().unwrap();
    let says = "settings were changed while recording: net.ipv4.tcp_sack from 1 to 0 (network namespace 7)";
    assert_eq!(
        (last.subject, last.tone, last.headline.as_str()),
        ("settings", Tone::Notice, says)
    );
}
