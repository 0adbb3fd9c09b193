mod around;
mod arp;
mod asides;
pub(super) mod causes;
mod cut;
mod ends;
mod forgotten;
mod fragments;
mod full;
mod line_full;
mod meanwhile;
mod membership;
mod noise;
mod one_way;
mod own_queue;
mod refused;
mod rerouted;
mod sizes;
mod steady;

use netmortem_formats::event_format::{ValueTable, ValueTableKind};

use super::{Answered, Passes, answer};
use crate::Confidence;
use crate::analyses::Outcome;
use crate::counters::tables::CounterRow;
use crate::facts::{Facts, Reason, SkbId};
use crate::name::Name;
use crate::reconstruct::drops::judge;
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::skb::tables::HopRow;
use crate::reconstruct::whose::{Carries, Owner};

pub(super) fn drop_row(t: i64, reason: u32, location: u64, expected: Option<bool>) -> DropRow {
    DropRow {
        time_ns: t,
        cpu: 0,
        reason: Some(reason),
        location,
        dev: Name::new(b"eth0"),
        skb_id: None,
        protocol: 0x0800,
        expected,
        background: false,
        why: "why",
        confidence: Confidence::Strong,
        owner: None,
        icmp: None,
        cut_from: None,
        sk: 0,
        to: None,
        way: None,
        repair: None,
    }
}

#[test]
fn groups_put_losses_first_and_add_up() {
    let mut f = Facts::empty();
    f.names.locations.insert(0x10, "tcp_v4_rcv".into());
    for t in 0..5 {
        f.drops.push(drop_row(t, 2, 0x10, Some(true)));
    }
    f.drops.push(drop_row(10, 3, 0x20, None));
    f.drops.push(drop_row(30, 4, 0x10, Some(false)));
    f.drops.push(drop_row(20, 4, 0x10, Some(false)));
    let Outcome::Findings(d) = answer(&f) else { panic!() };
    assert_eq!((d.total, d.lost, d.expected, d.unclear), (8, 2, 5, 1));
    let of: Vec<_> = d
        .groups
        .iter()
        .map(|g| (g.expected, g.count, g.location.as_str()))
        .collect();
    let expect = [
        (Some(false), 2, "tcp_v4_rcv"),
        (None, 1, "0x20"),
        (Some(true), 5, "tcp_v4_rcv"),
    ];
    assert_eq!(of, expect);
    assert_eq!((d.groups[0].first_ns, d.groups[0].last_ns), (20, 30));
    // The id is that of the first by time, which need not be the first in the view.
    assert_eq!(d.groups[0].first_drop, 7);
    assert_eq!(d.lost_within_ns, Some((20, 30)));
    assert_eq!(d.groups[0].reason, "reason 4"); // the table of this recording does not name it
}

/// No kfree_skb seen is "nothing was dropped" only where it could have been seen (pitfall 7 aside).
#[test]
fn not_recorded_is_not_none() {
    let mut f = Facts::empty();
    assert!(matches!(answer(&f), Outcome::Findings(d) if d.total == 0));
    f.unknown.push(Reason {
        subject: "drops",
        because: "skb:kfree_skb has no format in this capture".into(),
    });
    assert!(matches!(answer(&f), Outcome::Unknown(r) if r[0].because.contains("kfree_skb")));
}

/// Who dropped is told by the snapshot of the device's queue, where all devices of that name have one kind.
#[test]
fn a_queue_is_named_by_its_kind() {
    for (qdisc, expect) in [
        ("tbf rate=1", Some("tbf")),
        ("tbf rate=1 | tbf rate=2", Some("tbf")),
        ("tbf rate=1 | fq", None),
    ] {
        let mut f = Facts::empty();
        f.names.locations.insert(0x10, "__dev_queue_xmit".into());
        f.settings.0.insert("eth0 qdisc".into(), qdisc.into());
        f.drops.push(drop_row(10, 3, 0x10, Some(false)));
        let Outcome::Findings(d) = answer(&f) else { panic!() };
        assert_eq!(d.groups[0].qdisc.as_deref(), expect);
        // Others free them as a list, by its older name, too; for another reason that is no queue's.
        for (at, reason, list) in [
            ("kfree_skb_list_reason", "QDISC_DROP", expect),
            ("kfree_skb_list", "QDISC_DROP", expect),
            ("kfree_skb_list", "OTHERHOST", None),
        ] {
            f.names.locations.insert(0x10, at.into());
            f.names.drop_reasons = Some(netmortem_formats::event_format::ValueTable {
                entries: vec![(3, reason.into())],
                kind: netmortem_formats::event_format::ValueTableKind::Symbolic,
            });
            let Outcome::Findings(d) = answer(&f) else { panic!() };
            assert_eq!(d.groups[0].qdisc.as_deref(), list, "{at}");
        }
    }
}

/// The kernel's own packets are lost, and counted apart.
#[test]
fn background_is_counted_apart() {
    let mut f = Facts::empty();
    f.drops.push(drop_row(10, 3, 0x10, Some(false)));
    let own = DropRow {
        background: true,
        ..drop_row(5, 3, 0x10, Some(false))
    };
    f.drops.extend([own.clone(), own]);
    let Outcome::Findings(d) = answer(&f) else { panic!() };
    assert_eq!(
        (d.total, d.lost, d.background, d.lost_within_ns),
        (3, 1, 2, Some((10, 10)))
    );
    let words: Vec<_> = d
        .groups
        .iter()
        .map(|g| super::kind(g.expected, g.background).word)
        .collect();
    assert_eq!(words, ["lost", "background"]);
}

/// A packet that came to a device three times or more before its TTL ran out went round; twice may be two devices of one name.
#[test]
fn a_loop_is_told_by_the_way_of_its_packets() {
    let ttl = judge(Some("IP_INHDR"), Some("ip_forward"), 0x0800, true).1;
    let of = |rounds: &[u32], owner: Option<Owner>, why| {
        let mut f = Facts::empty();
        for (skb, rounds) in (0u32..).zip(rounds) {
            let mut hop = |kind, dev| {
                f.hops.push(HopRow {
                    skb_id: SkbId(skb),
                    time_ns: f.hops.len() as i64,
                    cpu: 0,
                    kind,
                    dev: Name::new(dev),
                    bytes: Some(60),
                    confidence: Confidence::Strong,
                });
            };
            for _ in 1..*rounds {
                for (kind, dev) in [("rx", b"rs"), ("xmit", b"rs"), ("rx", b"s0"), ("xmit", b"s0")] {
                    hop(kind, dev);
                }
            }
            hop("rx", b"s0");
            let mut row = drop_row(1_000 + i64::from(skb), 6, 1, Some(false));
            (row.skb_id, row.why, row.dev) = (Some(SkbId(skb)), why, Name::new(b"s0"));
            (row.owner, row.icmp) = (owner, (skb == 0).then_some((11, 0)));
            f.drops.push(row);
        }
        let Outcome::Findings(d) = answer(&f) else { panic!() };
        d.groups[0].clone()
    };
    let owner = |carries| {
        Some(Owner {
            connection: None,
            carries,
            task: Name::default(),
            pid: 7,
            confidence: Confidence::Strong,
        })
    };
    let round = of(&[32, 32, 31], owner(Carries::Syn), ttl);
    let passes = |looped, most, once, missed| Passes {
        looped,
        most,
        dev: "s0".into(),
        once,
        missed,
        ttl: None,
        set_by: None,
    };
    assert_eq!(round.passes, Some(passes(3, 31, false, true)));
    let told = Answered {
        says: "time exceeded",
        count: 1,
    };
    assert_eq!((round.answered, round.times), (vec![told], vec![1_000, 1_001, 1_002]));
    assert_eq!(
        of(&[1, 1], owner(Carries::Datagram), ttl).passes,
        Some(passes(0, 0, true, false))
    );
    assert_eq!(of(&[2, 1], None, ttl).passes, Some(passes(0, 0, false, false)));
    assert_eq!(of(&[32], None, "another reason").passes, None);
}

mod whose;

/// The kernel's counters tell that a table was full, where they rose by half of the drops or more; its size alone where they were not read, or did not.
#[test]
fn a_full_table_is_what_the_kernel_counted() {
    let with = |(reason, place): (&str, &str), counter: Option<(&'static str, &str, u64)>, clashes: Option<u64>| {
        let mut f = Facts::empty();
        f.names.locations.insert(0x10, place.into());
        f.names.drop_reasons = Some(ValueTable {
            kind: ValueTableKind::Symbolic,
            entries: vec![(3, reason.into())],
        });
        f.drops = (0..10).map(|t| drop_row(t, 3, 0x10, Some(false))).collect();
        for (name, value) in [
            ("net.netfilter.nf_conntrack_max", "1700"),
            ("net.ipv4.neigh.default.gc_thresh3", "128"),
            ("net.ipv6.neigh.default.gc_thresh3", "1024"),
        ] {
            f.settings.0.insert(name.into(), value.into());
        }
        let clashes = clashes.map(|rose| ("nf_conntrack", "insert_failed", rose));
        f.counters = Vec::from_iter(
            counter
                .into_iter()
                .chain(clashes)
                .map(|(source, name, rose)| CounterRow {
                    source,
                    netns: None,
                    of: String::new(),
                    name: name.into(),
                    start: Some(100),
                    end: Some(100 + rose),
                }),
        );
        let Outcome::Findings(d) = answer(&f) else { panic!() };
        d.groups[0].full.clone().map(|f| (f.says, f.counted))
    };
    let told = |of, counter| with(of, counter, None);
    let netfilter = ("NETFILTER_DROP", "nf_hook_slow");
    let size = |of: &str| Some((of.to_owned(), false));
    let full = |of: &str| Some((of.to_owned(), true));
    let max = "net.netfilter.nf_conntrack_max = 1700";
    assert_eq!(told(netfilter, None), size(max));
    assert_eq!(told(netfilter, Some(("nf_conntrack", "drop", 4))), size(max));
    assert_eq!(told(netfilter, Some(("nf_conntrack", "early_drop", 9))), size(max));
    let says = "connection tracking had no room for a new connection: nf_conntrack counted 5 more drop, net.netfilter.nf_conntrack_max = 1700";
    assert_eq!(told(netfilter, Some(("nf_conntrack", "drop", 5))), full(says));
    // Clashes are counted as drops, too.
    assert_eq!(with(netfilter, Some(("nf_conntrack", "drop", 10)), Some(10)), size(max));
    assert_eq!(with(netfilter, Some(("nf_conntrack", "drop", 9)), Some(4)), full(says));
    // Most of what was counted is not among these.
    assert_eq!(told(netfilter, Some(("nf_conntrack", "drop", 21))), size(max));
    let neighbour = ("NEIGH_CREATEFAIL", "ip_finish_output2");
    let says =
        "the neighbour table was full: arp_cache counted 12 more table_fulls, net.ipv4.neigh.default.gc_thresh3 = 128";
    assert_eq!(told(neighbour, Some(("arp_cache", "table_fulls", 12))), full(says));
    assert_eq!(
        told(neighbour, Some(("ndisc_cache", "table_fulls", 12))),
        size("net.ipv4.neigh.default.gc_thresh3 = 128")
    );
    let six = ("NEIGH_CREATEFAIL", "ip6_finish_output2");
    assert_eq!(told(six, None), size("net.ipv6.neigh.default.gc_thresh3 = 1024"));
    // A rule of nftables is no full table.
    assert_eq!(
        told(("NETFILTER_DROP", "nft_do_chain"), Some(("nf_conntrack", "drop", 5))),
        None
    );
}
