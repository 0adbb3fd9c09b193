//! A program that knocks at many doors, and gets in at none.

use std::net::Ipv4Addr;

use netmortem_formats::capture::SnapshotWhen;

use super::scans::{facts, told};

use crate::analyses::opens::scanning;
use crate::analyses::verdict::Tone;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::opens::tables::{OpenEnd, OpenRow};
use crate::snapshots::spaces::Spaces;
use crate::testing::listed;

const S: i64 = 1_000_000_000;
/// Of hosts 2, 3 and 4, which serve at port 80.
const DOORS: [(u8, u16); 11] = [
    (2, 22),
    (2, 3306),
    (2, 8443),
    (3, 3306),
    (3, 9100),
    (3, 5432),
    (4, 445),
    (4, 6379),
    (4, 9200),
    (2, 9100),
    (3, 8080),
];

fn end(to: (u8, u16)) -> (std::net::IpAddr, u16) {
    (Ipv4Addr::new(10, 0, 0, to.0).into(), to.1)
}

/// Each four times at uneven distances: the fourth host answers none, the others refuse.
fn knocks(doors: &[(u8, u16)]) -> Facts {
    let (mut f, one) = (facts(1, 0), facts(1, 1).opens[0].clone());
    for n in 0..doors.len() * 4 {
        let door = doors[n % doors.len()];
        let at = n as i64 * S / 10 + (n / doors.len()).pow(2) as i64 * S;
        let silent = door.0 == 4;
        f.opens.push(OpenRow {
            connection: Some(ConnectionId(n as u32)),
            from: Some(end((66, 40_000))),
            to: Some(end(door)),
            task: Name::new(b"scanner"),
            start_ns: at,
            end_ns: at + if silent { 3 * S } else { 60_000 },
            end: if silent { OpenEnd::GivenUp } else { OpenEnd::Refused },
            syns_again: Some(if silent { 2 } else { 0 }),
            ..one.clone()
        });
    }
    for host in [2, 3, 4] {
        f.opens.push(OpenRow {
            connection: Some(ConnectionId(900 + u32::from(host))),
            to: Some(end((host, 80))),
            task: Name::new(b"browser"),
            end: OpenEnd::Established,
            ..one.clone()
        });
    }
    f
}

fn reached(f: &mut Facts, to: (u8, u16), task: &[u8]) {
    let one = f.opens[0].clone();
    f.opens.push(OpenRow {
        connection: Some(ConnectionId(800 + f.opens.len() as u32)),
        to: Some(end(to)),
        task: Name::new(task),
        end: OpenEnd::Established,
        syns_again: Some(0),
        ..one
    });
}

/// Sockets of the three hosts that listen at these ends.
fn listen(at: &[(u8, u16)]) -> Spaces {
    let addresses = "netns=2 ifindex=2 address=10.0.0.2/24\nnetns=3 ifindex=2 address=10.0.0.3/24\nnetns=4 ifindex=2 address=10.0.0.4/24\n";
    let all = at.iter().enumerate().map(|(n, (host, port))| {
        format!("netns={host} proto=tcp state=listen src=10.0.0.{host}:{port} if=0 cookie=0x{n}\n")
    });
    let all: String = all.collect();
    let sockets = |when| ("sockets", when, all.as_str());
    Spaces::of(&listed(&[
        ("addresses", SnapshotWhen::Start, addresses),
        sockets(SnapshotWhen::Start),
        sockets(SnapshotWhen::End),
    ]))
}

/// They are told as attempts that failed, and judged as such.
fn loud(f: &Facts) {
    let (o, _) = told(f);
    assert_eq!((o.scans, scanning(f).len()), (vec![], 0));
    let failed: u64 = o.failed.iter().map(|f| f.attempts).sum();
    let all = f.opens.iter().filter(|r| r.end != OpenEnd::Established);
    assert_eq!(failed, all.count() as u64);
}

#[test]
fn who_gets_in_at_none_of_many_doors_is_a_scanner_refused_or_not() {
    let f = knocks(&DOORS);
    let (o, line) = told(&f);
    let says = "32 attempts by scanner/42 of 10.0.0.66 to 8 ports of 2 addresses were refused, 4 at most at each: a port scan (inferred)";
    assert_eq!((line.tone, line.headline.as_str()), (Tone::Notice, says));
    let silent = "12 attempts by scanner/42 of 10.0.0.66 to 3 ports of 10.0.0.4 had no answer, 4 at most at each: a port scan (inferred)";
    assert!(line.sentence.contains(silent), "{}", line.sentence);
    assert_eq!((o.failed.len(), scanning(&f).len()), (0, 44));
}

/// Somebody listens at two of them, others are answered there, and one door is open to it.
#[test]
fn what_it_tries_may_be_somebodys_as_well() {
    let mut f = knocks(&DOORS);
    f.spaces = listen(&[(4, 6379), (3, 8080)]);
    reached(&mut f, (3, 8080), b"browser");
    f.opens.last_mut().unwrap().from = Some(end((1, 40_000)));
    reached(&mut f, (2, 443), b"scanner");
    assert_eq!((told(&f).0.failed.len(), scanning(&f).len()), (0, 44));
    assert_eq!(told(&f).1.tone, Tone::Notice);
}

#[test]
fn a_client_of_a_few_servers_is_none() {
    // Three that it needs; many, each of one host or without a login; a row of a cluster's nodes.
    loud(&knocks(&[(4, 6379), (2, 3306), (3, 5672)]));
    loud(&knocks(&DOORS.map(|(host, port)| {
        (host, if port == 22 || port == 445 { 8081 } else { port })
    })));
    loud(&knocks(&std::array::from_fn::<_, 12, _>(|n| {
        (2 + (n % 3) as u8, 7000 + n as u16)
    })));
    let one_each = std::array::from_fn::<_, 11, _>(|n| (2 + (n / 2) as u8, DOORS[n].1));
    let mut f = knocks(&one_each);
    f.opens.iter_mut().filter(|o| o.end == OpenEnd::Refused).for_each(|o| {
        (o.end, o.end_ns, o.syns_again) = (OpenEnd::GivenUp, o.start_ns + 3 * S, Some(2));
    });
    loud(&f);
}

/// A monitor, a mesh: it reaches most of what it tries, but not one.
#[test]
fn who_reaches_more_than_one_end_in_ten_is_none() {
    let mut f = knocks(&DOORS);
    reached(&mut f, (2, 443), b"scanner");
    assert_eq!(told(&f).0.scans.len(), 2);
    reached(&mut f, (3, 443), b"scanner");
    loud(&f);
    // It was connected to them before, or they to it: a gateway that has lost its servers.
    let mut f = knocks(&DOORS);
    for (n, host) in [7, 8].into_iter().enumerate() {
        let mut c = crate::testing::tcp::connection(n as u32);
        (c.saddr, c.bytes_out, c.task) = (Some(end((66, 0)).0), 100, Name::new(b"scanner"));
        (c.daddr, c.dport) = (Some(end((host, 0)).0), 50_000);
        f.connections.push(c);
    }
    loud(&f);
    f.connections.iter_mut().for_each(|c| c.task = Name::default());
    loud(&f);
    f.connections.iter_mut().for_each(|c| c.task = Name::new(b"other"));
    assert_eq!(told(&f).0.scans.len(), 2);
}

/// It reached that end before: a rule stops a real client. The rest is a scan, where that is enough.
#[test]
fn an_end_that_it_reached_is_no_door() {
    let mut f = knocks(&DOORS);
    reached(&mut f, (4, 6379), b"scanner");
    let (o, line) = told(&f);
    assert_eq!((o.scans.len(), o.failed.len(), line.tone), (2, 1, Tone::Bad));
    assert_eq!((o.failed[0].to.as_str(), scanning(&f).len()), ("10.0.0.4:6379", 40));
}

/// A monitor that a rule cuts off from servers that are there, that checks at even distances, or of hosts that nobody reaches.
#[test]
fn a_monitor_that_is_cut_off_is_none() {
    let mut f = knocks(&DOORS);
    f.spaces = listen(&DOORS[..3]);
    loud(&f);
    f.spaces = listen(&DOORS[..2]);
    assert_eq!(told(&f).0.scans.len(), 2);
    let mut even = knocks(&DOORS);
    for (n, o) in even.opens.iter_mut().take(44).enumerate() {
        let took = o.end_ns - o.start_ns;
        o.start_ns = n as i64 * S / 10;
        o.end_ns = o.start_ns + took;
    }
    loud(&even);
    let mut unknown = knocks(&DOORS);
    unknown.opens.retain(|o| o.end != OpenEnd::Established);
    loud(&unknown);
    let mut lost = knocks(&DOORS);
    lost.gaps.push(crate::testing::gap(0, 1));
    assert_eq!((told(&lost).0.scans, scanning(&lost).len()), (vec![], 0));
}
