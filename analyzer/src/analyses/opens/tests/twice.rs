//! Attempts to an address that another host took.

use std::net::{IpAddr, Ipv4Addr};

use super::aside::{attempt, facts};
use super::scans::told;
use crate::Confidence;
use crate::analyses::opens::Twice;
use crate::analyses::verdict::Tone;
use crate::facts::Facts;
use crate::name::Name;
use crate::reconstruct::neighbours::tables::{Held, LinkAddr, NeighbourRow};
use crate::reconstruct::opens::tables::OpenEnd;

const S: i64 = 1_000_000_000;
const REACHABLE: u8 = 2;

fn change(f: &mut Facts, t: i64, host: u8, macs: [u8; 2], netlink: u32) {
    let held = |last: u8| {
        Some(Held {
            lladdr: LinkAddr::of(&[2, 0, 0, 0, 0, last], 6),
            state: REACHABLE,
        })
    };
    f.neighbours.push(NeighbourRow {
        time_ns: t,
        cpu: 0,
        event: "update",
        dev: Name::new(b"s0"),
        address: IpAddr::V4(Ipv4Addr::new(10, 0, 0, host)),
        before: held(macs[0]),
        after: held(macs[1]),
        err: Some(0),
        netlink,
        task: Name::default(),
        pid: 0,
        confidence: Confidence::Certain,
    });
}

/// Four connections to 10.0.0.8:8080 in the first 2 s, and from 5 s on twelve that are refused.
fn refused(change: &dyn Fn(&mut Facts)) -> (Option<Twice>, Tone, String) {
    let mut f = facts(0, &[]);
    f.capture.start_ns = Some(0);
    let at = |n: u32, from: i64, end| {
        let mut o = attempt(n, 1, (8, 8080), end);
        o.start_ns = from + i64::from(n) * S / 10;
        o.end_ns = o.start_ns + 1_000;
        o
    };
    f.opens = (0..4).map(|n| at(n, S, OpenEnd::Established)).collect();
    f.opens.extend((4..16).map(|n| at(n, 5 * S, OpenEnd::Refused)));
    change(&mut f);
    let (o, line) = told(&f);
    (o.failed[0].twice.clone(), line.tone, line.headline)
}

#[test]
fn since_its_address_is_another_hosts() {
    let (twice, tone, says) = refused(&|f| change(f, 4 * S, 8, [1, 2], 0));
    let t = twice.expect("told");
    assert_eq!((t.at_ns, t.back, t.holders), (4 * S, false, 0));
    assert_eq!(
        (t.before.as_str(), t.after.as_str()),
        ("02:00:00:00:00:01", "02:00:00:00:00:02")
    );
    assert_eq!(tone, Tone::Bad);
    let text = "12 attempts to connect to 10.0.0.8:8080 by ";
    assert!(says.starts_with(text), "{says}");
    let text = " were refused: from 4.000 s on neighbours took 10.0.0.8 to be at 02:00:00:00:00:02 in place of 02:00:00:00:00:01: another host than before answers there, or none; one address given to two hosts, or a failover (inferred)";
    assert!(says.contains(text), "{says}");
    let (twice, ..) = refused(&|f| {
        change(f, 4 * S, 8, [1, 2], 0);
        change(f, 6 * S, 8, [2, 1], 0);
    });
    assert!(twice.unwrap().back);
}

#[test]
fn other_changes_are_none() {
    let none = |change: &dyn Fn(&mut Facts)| assert_eq!(refused(change).0, None);
    none(&|_| ());
    // Another neighbour; the same address; one that a program set; after they had failed.
    none(&|f| change(f, 4 * S, 9, [1, 2], 0));
    none(&|f| change(f, 4 * S, 8, [1, 1], 0));
    none(&|f| change(f, 4 * S, 8, [1, 2], 77));
    none(&|f| change(f, 6 * S, 8, [1, 2], 0));
    // Who took it answers, and fails later.
    none(&|f| {
        change(f, 2 * S, 8, [1, 2], 0);
        f.opens[3].start_ns = 3 * S;
    });
    // Nobody had reached it before.
    none(&|f| {
        change(f, 4 * S, 8, [1, 2], 0);
        f.opens.retain(|o| o.end == OpenEnd::Refused);
    });
}
