//! Dropped ARP frames and neighbours without an answer.

use super::drop_row;
use crate::analyses::drops::{Arp, Silent, answer};
use crate::facts::Facts;
use crate::name::Name;
use crate::reconstruct::neighbours::tables::{Held, LinkAddr, NeighbourRow};

const S: i64 = 1_000_000_000;
const REACHABLE: u8 = 2;
const INCOMPLETE: u8 = 1;
const FAILED: u8 = 0x20;

fn entry(last: u8, at: i64, event: &'static str, state: u8) -> NeighbourRow {
    NeighbourRow {
        time_ns: at,
        cpu: 0,
        event,
        dev: Name::new(b"srv"),
        address: [10, 30, 2, last].into(),
        before: Some(Held {
            lladdr: LinkAddr::of(&[2, 0, 0, 0, 0, last], 6),
            state,
        }),
        after: None,
        err: Some(0),
        netlink: 0,
        task: Name::default(),
        pid: 0,
        confidence: crate::Confidence::Certain,
    }
}

/// ARP frames that a rule dropped from 2 s to 8 s. 10.30.2.53 answers at 1 s, fails at 5 s, twenty packets have to wait, and it answers again at 9 s; 10.30.2.11 the
/// same with one packet; 10.30.2.200 never answers.
fn facts(protocol: u16) -> Facts {
    let mut f = Facts::empty();
    f.capture.start_ns = Some(0);
    f.names.drop_reasons = Some(netmortem_formats::event_format::ValueTable {
        entries: vec![(12, "NETFILTER_DROP".into())],
        kind: netmortem_formats::event_format::ValueTableKind::Symbolic,
    });
    for n in 0..7 {
        let mut row = drop_row((2 + n) * S, 12, 0x10, Some(false));
        row.protocol = protocol;
        row.why = "an nftables rule or policy";
        f.drops.push(row);
    }
    for (last, waiting) in [(53, 20), (11, 1)] {
        f.neighbours.push(entry(last, S, "update", REACHABLE));
        f.neighbours.push(entry(last, 5 * S, "timer_handler", FAILED));
        for n in 0..waiting {
            f.neighbours.push(entry(last, 6 * S + n, "event_send_done", INCOMPLETE));
        }
        f.neighbours.push(entry(last, 9 * S, "update", REACHABLE));
    }
    f.neighbours.push(entry(200, 4 * S, "event_send_done", INCOMPLETE));
    f.neighbours.push(entry(200, 7 * S, "timer_handler", FAILED));
    f.neighbours.sort_by_key(|n| n.time_ns);
    f
}

fn found(f: &Facts) -> Option<Arp> {
    answer(f).findings().unwrap().groups[0].arp.clone()
}

#[test]
fn who_was_not_resolved_meanwhile_is_told() {
    let f = facts(0x806);
    let silent = Silent {
        address: "10.30.2.53".into(),
        dev: "srv".into(),
        from_ns: 5 * S,
        to_ns: Some(9 * S),
    };
    let expect = Arp {
        left_behind: 0,
        frames: 7,
        silent: Some(silent),
        several: None,
        others: 1,
        nobody: 1,
    };
    assert_eq!(found(&f), Some(expect));
    let line = crate::analyses::answer(&f)
        .verdict
        .into_iter()
        .find(|l| l.subject == "drops")
        .unwrap();
    let says = "all ARP: the neighbour 10.30.2.53 and 1 other on srv, which answers at other times, was not resolved from 5.000 s to 9.000 s (that these frames are the cause is inferred); 1 address asked for never answered";
    assert!(line.sentence.contains(says) && line.names_cause, "{}", line.sentence);
}

/// Two network namespaces have a device of one name and an entry of one address: packets waited for it; which of them, and whether it answers, nothing tells.
#[test]
fn entries_of_several_namespaces_have_what_waited_for_them() {
    let mut f = facts(0x806);
    f.neighbours
        .retain(|n| n.address == std::net::IpAddr::from([10, 30, 2, 53]));
    for at in [S / 2, S] {
        let mut made = entry(53, at, "create", REACHABLE);
        made.before = None;
        f.neighbours.push(made);
    }
    f.neighbours.sort_by_key(|n| n.time_ns);
    let told = found(&f).unwrap();
    let several = crate::analyses::drops::Several {
        address: "10.30.2.53".into(),
        dev: "srv".into(),
        packets: 20,
    };
    assert_eq!((told.silent, told.several), (None, Some(several)));
    let lines = crate::analyses::answer(&f).verdict;
    let line = lines.into_iter().find(|l| l.subject == "drops").unwrap();
    let says = "all ARP: meanwhile 20 packets had to wait for the neighbour 10.30.2.53 on srv, which several network namespaces have (that these frames are the cause is inferred)";
    assert!(line.sentence.contains(says), "{}", line.sentence);
    // Nobody waits for one that is only probed.
    let mut probed = facts(0x806);
    probed.neighbours.retain(|n| n.event != "event_send_done");
    assert_eq!(found(&probed).unwrap().silent, None);
}

#[test]
fn arp_alone_and_neighbours_alone_are_no_cause() {
    assert_eq!(found(&facts(0x800)), None);
    // It was resolved again before the first was dropped; it failed long behind the last, or long before the first.
    let silent = |change: &dyn Fn(&mut Facts)| {
        let mut f = facts(0x806);
        change(&mut f);
        found(&f).unwrap().silent
    };
    assert_eq!(silent(&|f| f.neighbours.clear()), None);
    assert_eq!(silent(&|f| f.drops.iter_mut().for_each(|d| d.time_ns += 8 * S)), None);
    assert_eq!(silent(&|f| f.drops.iter_mut().for_each(|d| d.time_ns -= 10 * S)), None);
    assert_eq!(silent(&|f| f.drops.retain(|d| d.time_ns >= 7 * S)), None);
    // A few of many dropped packets.
    let mut f = facts(0x806);
    for n in 0..20 {
        let mut row = drop_row(2 * S + n, 12, 0x10, Some(false));
        row.why = "an nftables rule or policy";
        f.drops.push(row);
    }
    f.drops.sort_by_key(|d| d.time_ns);
    let line = crate::analyses::answer(&f)
        .verdict
        .into_iter()
        .find(|l| l.subject == "drops")
        .unwrap();
    assert!(found(&f).unwrap().silent.is_some() && !line.names_cause);
    // Two namespaces have one of that name and address.
    assert_eq!(
        silent(&|f| {
            let made = |at| entry(53, at, "create", 0);
            f.neighbours.insert(0, made(S / 2));
            f.neighbours.insert(1, made(S / 2 + 1));
            f.neighbours
                .retain(|n| n.address != std::net::Ipv4Addr::new(10, 30, 2, 11));
        }),
        None
    );
    // Nobody has answered for it.
    assert_eq!(silent(&|f| f.neighbours.retain(|n| n.event != "update")), None);
}
