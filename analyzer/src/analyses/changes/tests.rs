//! What is said to be different after a change.

use super::*;
use crate::facts::ConnectionId;
use crate::reconstruct::datagrams::tables::{TurnEnd, TurnRow};
use crate::reconstruct::tcp::tables::SampleRow;

mod reach;

const S: i64 = 1_000_000_000;

fn change(at_ns: i64, says: &str, program: &str) -> ChangeRow {
    ChangeRow {
        at_ns,
        what: "qdisc",
        says: says.into(),
        program: (!program.is_empty()).then(|| program.into()),
        ..ChangeRow::default()
    }
}

/// Twenty seconds from 100 s on.
fn facts(rows: Vec<ChangeRow>) -> Facts {
    let mut f = Facts::empty();
    (f.capture.start_ns, f.capture.end_ns) = (Some(100 * S), Some(120 * S));
    f.announced.heard = true;
    f.announced.rows = rows;
    f
}

fn drops(f: &mut Facts, times: impl Iterator<Item = i64>) {
    f.drops.extend(times.map(crate::testing::drop_at));
}

fn round_trips(f: &mut Facts, connection: u32, from_s: i64, us: u32) {
    let row = |n: i64| SampleRow {
        srtt_us: us,
        snd_una: 0,
        snd_nxt: 2_896,
        ..crate::testing::tcp::sample(connection, from_s * S + n * 50_000_000)
    };
    f.tcp_samples.extend((0..20).map(row));
}

fn said(c: &Cluster) -> Vec<&str> {
    c.effects.iter().map(|e| e.says.as_str()).collect()
}

#[test]
fn changes_of_one_deed_are_together_and_windows_end_at_the_next() {
    let rows = vec![
        change(105 * S, "a", "tc"),
        change(105 * S + S / 10, "b", "tc"),
        change(105 * S + S / 5, "c", "ip"),
        ChangeRow {
            comes_and_goes: true,
            ..change(106 * S, "veth", "")
        },
        change(118 * S, "d", ""),
    ];
    let found = answer(&facts(rows));
    assert_eq!((found.heard, found.count, found.passing, found.more), (true, 4, 1, 0));
    let [first, second] = found.clusters.as_slice() else {
        panic!("{found:?}");
    };
    assert_eq!((first.from_ns, first.to_ns), (5 * S, 5 * S + S / 5));
    assert_eq!(first.says, ["a", "b (by tc)", "c (by ip)"]);
    assert_eq!(second.says, ["d"]);
    // Not beyond ten seconds.
    assert_eq!(first.compared_ns, Some((5 * S - LATE_NS, 10 * S + S / 5 + LATE_NS)));
    assert_eq!(second.compared_ns, Some((10 * S, 2 * S + LATE_NS)));
    assert!(found.clusters.iter().all(|c| c.effects.is_empty()));
}

#[test]
fn what_grows_since_an_earlier_change_is_of_that() {
    let mut f = facts(vec![change(105 * S, "a", ""), change(107 * S, "b", "")]);
    drops(
        &mut f,
        (0..200)
            .map(|n| 105 * S + n * S / 100)
            .chain((0..900).map(|n| 107 * S + n * S / 150)),
    );
    let found = answer(&f);
    assert!(
        found.clusters[0].is_worse() && !found.clusters[1].is_worse(),
        "{found:?}"
    );
    // Four times as many are news again.
    f.drops.clear();
    drops(
        &mut f,
        (0..20)
            .map(|n| 105 * S + n * S / 10)
            .chain((0..900).map(|n| 107 * S + n * S / 150)),
    );
    assert!(answer(&f).clusters[1].is_worse());
}

/// What begins later is told, and is not of it.
#[test]
fn what_began_much_later_is_said_to_be_later() {
    let mut f = facts(vec![change(105 * S, "a", "")]);
    drops(&mut f, (0..10).map(|n| 106 * S + S / 2 + n * S / 10));
    let found = answer(&f);
    let [effect] = found.clusters[0].effects.as_slice() else {
        panic!("{found:?}");
    };
    assert_eq!((effect.worse, effect.late), (false, true));
    assert!(
        effect.says.ends_with("before, the first 1.500 s after it)"),
        "{}",
        effect.says
    );
}

/// Of answers that end, the last counts; and none is said to be fewer where a ring has less of what was before.
#[test]
fn answers_that_end_are_told_by_the_last() {
    let ended = |last_s: i64| {
        let mut f = facts(vec![change(105 * S, "a", "")]);
        let mut c = crate::testing::tcp::connection(0);
        (c.born, c.dport) = (Some(crate::reconstruct::tcp::states::SYN_SENT), 80);
        f.connections.push(c);
        let asked = (0..(last_s - 100) * 100).map(|n| 100 * S + n * S / 100);
        f.responses = asked.map(|at| crate::testing::answered(0, at, 1_000)).collect();
        f
    };
    let found = answer(&ended(105));
    assert_eq!(
        said(&found.clusters[0]),
        ["no answers were read in 10.01 s (500 in 5.00 s before)"]
    );
    assert!(found.clusters[0].is_worse());
    let found = answer(&ended(107));
    assert_eq!(
        said(&found.clusters[0]),
        ["200 answers were read in 10.01 s (500 in 5.00 s before, the last 1.990 s after it)"]
    );
    assert!(!found.clusters[0].is_worse() && found.clusters[0].effects[0].late);
    let mut f = ended(105);
    f.capture.short_rings.push(crate::ingest::ShortRing {
        cpu: 1,
        first_ns: Some(104 * S + S / 2),
    });
    assert_eq!(answer(&f).clusters[0].compared_ns.unwrap().0, S / 2 - LATE_NS);
}

#[test]
fn what_began_after_it_is_told_and_what_went_on_is_not() {
    let mut f = facts(vec![change(105 * S, "a", "")]);
    drops(&mut f, (0..10).map(|n| 105 * S + n * S / 10));
    assert_eq!(
        said(&answer(&f).clusters[0]),
        ["10 packets were dropped by this host in 10.01 s (none in 5.00 s before)"]
    );
    assert!(answer(&f).clusters[0].is_worse());
    // Two are too few; as many a second before are no news.
    f.drops.truncate(2);
    assert!(said(&answer(&f).clusters[0]).is_empty());
    f.drops.clear();
    drops(&mut f, (0..40).map(|n| 100 * S + n * S / 4));
    assert!(said(&answer(&f).clusters[0]).is_empty());
    // That they are over is none either: they come in bursts.
    f.drops.clear();
    drops(&mut f, (0..10).map(|n| 103 * S + n * S / 10));
    assert!(said(&answer(&f).clusters[0]).is_empty());
    // One before, in a window as short: three after may be chance.
    let mut f = facts(vec![change(100 * S + S / 2, "a", "")]);
    drops(&mut f, [100 * S + S / 4, 101 * S, 102 * S, 103 * S].into_iter());
    assert!(said(&answer(&f).clusters[0]).is_empty());
}

#[test]
fn times_are_compared_of_those_that_were_there_before() {
    let mut f = facts(vec![change(105 * S, "a", "")]);
    f.connections = (0..3).map(crate::testing::tcp::connection).collect();
    let whose = crate::analyses::tcp::label(&f.connections[1]);
    round_trips(&mut f, 1, 103, 500);
    round_trips(&mut f, 1, 106, 9_500);
    assert_eq!(
        said(&answer(&f).clusters[0]),
        [format!(
            "smoothed round trips of {whose} were p50 9.50 ms (500.0 \u{b5}s before)"
        )]
    );
    assert!(answer(&f).clusters[0].is_worse());
    // Shorter ones are told, and are not worse.
    f.tcp_samples.iter_mut().for_each(|s| s.srtt_us = 10_000 - s.srtt_us);
    assert!(!answer(&f).clusters[0].is_worse());
    assert_eq!(said(&answer(&f).clusters[0]).len(), 1);
    // Of single segments, whose ACKs may be delayed.
    f.tcp_samples.iter_mut().for_each(|s| s.snd_nxt = 1_448);
    assert!(said(&answer(&f).clusters[0]).is_empty());
    f.tcp_samples.iter_mut().for_each(|s| s.snd_nxt = 2_896);
    // Another connection's.
    f.tcp_samples
        .iter_mut()
        .filter(|s| s.time_ns > 105 * S)
        .for_each(|s| s.connection = ConnectionId(2));
    assert!(said(&answer(&f).clusters[0]).is_empty());
}

/// At the ends nothing can be compared, and that is said.
#[test]
fn short_windows_are_not_compared() {
    let found = answer(&facts(vec![
        change(100 * S + S / 10, "a", ""),
        change(120 * S, "b", ""),
    ]));
    assert!(found.clusters.iter().all(|c| c.compared_ns.is_none()));
    assert_eq!(answer(&Facts::empty()), Changes::default());
}

/// Of the planted ones the two that slow and lose are told with that, the others with nothing.
#[test]
fn of_planted_changes_those_that_matter_are_told_with_what_they_did() {
    let capture = crate::tests::sample("changes/changes.nmb.zst");
    let facts = crate::analyze(&capture, &Default::default());
    let found = answer(&facts);
    let worse: Vec<&str> = found
        .clusters
        .iter()
        .filter(|c| c.is_worse())
        .map(|c| c.says[0].as_str())
        .collect();
    assert_eq!(worse.len(), 2, "{:#?}", found.clusters);
    assert!(worse[0].contains("root qdisc of rb became tbf"), "{}", worse[0]);
    assert!(worse[1].contains("nftables rules"), "{}", worse[1]);
    let again = found.clusters[2]
        .effects
        .iter()
        .any(|e| e.says.contains(" retransmission"));
    assert!(again, "{:#?}", found.clusters[2]);
    // What nftables drops is dropped by this host.
    assert!(said(&found.clusters[2])[0].contains("packets were dropped by this host"));
}

/// The head of the page has them in order of time, and says of what repairs that it does.
#[test]
fn the_page_tells_them_in_order_and_what_was_better_as_such() {
    let capture = crate::tests::sample("changes/changes.nmb.zst");
    let lines = crate::analyses::answer(&crate::analyze(&capture, &Default::default())).verdict;
    let line = lines
        .iter()
        .find(|l| l.headline.starts_with("changed while recording: "))
        .unwrap();
    let at = |text: &str| {
        line.headline
            .find(text)
            .unwrap_or_else(|| panic!("{text}: {}", line.headline))
    };
    let order = [
        "at 1.603 s in nmlab-23801-r root qdisc of rb became tbf",
        "(by tc), since then answers from",
        "at 2.607 s in nmlab-23801-r root qdisc of rb was removed",
        "(by tc), better since then, answers from 10.86.2.2:7000 took p50 152.5 µs (23.05 ms before)",
        "at 3.612 s",
        "at 4.625 s",
        "and changes at 2 more times",
    ];
    assert!(order.map(at).is_sorted(), "{}", line.headline);
}

/// An address of a host that was without it for a time.
fn address(at_ms: i64, host: &str, took: bool) -> ChangeRow {
    ChangeRow {
        at_ns: 100 * S + at_ms * 1_000_000,
        what: "address",
        netns: host.bytes().map(u64::from).sum(),
        host: host.into(),
        of: "10.8.0.3/24".into(),
        took,
        program: Some("openvpn".into()),
        ..ChangeRow::default()
    }
}

#[test]
fn an_address_that_two_hosts_have_in_turns() {
    let rows = vec![
        address(1_000, "tablet", true),
        address(2_000, "tablet", false),
        address(4_000, "phone", true),
        address(5_000, "phone", false),
        address(7_000, "tablet", true),
        address(8_500, "tablet", false),
    ];
    let away = answer(&facts(rows.clone())).away;
    let hosts = vec![("phone".to_owned(), 1), ("tablet".to_owned(), 2)];
    let turns = InTurns {
        address: "10.8.0.3/24".into(),
        hosts,
        program: "openvpn".into(),
    };
    assert_eq!(away.in_turns, Some(turns));
    assert_eq!(away.spells.len(), 3);
    assert_eq!((away.spells[2].from_ns, away.spells[2].to_ns), (7 * S, 8 * S + S / 2));
    // One behind the other is no turn: each of several hosts was set up anew.
    assert_eq!(answer(&facts(rows[..4].to_vec())).away.in_turns, None);
    // Read late, or beside lost notices: nothing.
    let mut late = rows.clone();
    late.iter_mut().for_each(|r| r.late = true);
    assert_eq!(answer(&facts(late)).away, Away::default());
    let mut lossy = facts(rows.clone());
    lossy.announced.lost = 1;
    assert_eq!(answer(&lossy).away, Away::default());
    // It moved to another device of the same host.
    let mut moved = rows.clone();
    moved
        .iter_mut()
        .filter(|r| !r.took)
        .for_each(|r| r.says = "address 10.8.0.3/24 was given to eth1".into());
    assert_eq!(answer(&facts(moved)).away, Away::default());
    // Addresses that every host has; one host alone; set anew at once; a container's, which goes with it and does not come back.
    let mut loopback = rows.clone();
    loopback.iter_mut().for_each(|r| r.of = "127.0.0.1/8".into());
    assert_eq!(answer(&facts(loopback)).away, Away::default());
    let alone: Vec<ChangeRow> = rows.iter().filter(|r| r.host == "tablet").cloned().collect();
    assert_eq!(answer(&facts(alone)).away.in_turns, None);
    let anew = vec![address(1_000, "a", true), address(1_020, "a", false)];
    assert_eq!(answer(&facts(anew)).away, Away::default());
    let containers = vec![
        address(1_000, "a", false),
        address(2_000, "a", true),
        address(3_000, "b", false),
        address(4_000, "b", true),
    ];
    assert_eq!(answer(&facts(containers)).away, Away::default());
}

#[test]
fn a_lease_that_could_not_be_renewed() {
    let rows = vec![address(6_000, "till", true), address(7_500, "till", false)];
    let asked = |at_s: i64, end, port: u16| {
        let mut t = TurnRow::begin(0, 7, 100 * S + at_s * S);
        t.to = Some((std::net::Ipv4Addr::new(10, 0, 0, 1), port).into());
        (t.end, t.task) = (end, crate::name::Name::new(b"dhclient"));
        t
    };
    let mut f = facts(rows);
    f.udp_turns = vec![asked(3, TurnEnd::AskedAgain, 67), asked(4, TurnEnd::AskedAgain, 67)];
    let lease = answer(&f).away.lease.unwrap();
    assert_eq!(
        (lease.task.as_str(), lease.to.as_str(), lease.unanswered),
        ("dhclient", "10.0.0.1:67", 2)
    );
    assert_eq!(lease.dropped, None);
    // Another family's server; answered after them.
    let mut other = f.clone();
    other
        .udp_turns
        .iter_mut()
        .for_each(|t| t.to = Some((std::net::Ipv6Addr::LOCALHOST, 547).into()));
    assert_eq!(answer(&other).away.lease, None);
    let mut renewed = f.clone();
    let mut last = asked(5, TurnEnd::Answered, 67);
    last.ready_ns = Some(105 * S);
    renewed.udp_turns.push(last);
    assert_eq!(answer(&renewed).away.lease, None);
    // An answer that came and was not read is one.
    let mut unread = f.clone();
    unread
        .udp_turns
        .iter_mut()
        .for_each(|t| t.ready_ns = Some(t.start_ns + 1));
    assert_eq!(answer(&unread).away.lease, None);
    // Answered, asked behind it, or of another service.
    for (at, end, port) in [
        (3, TurnEnd::Answered, 67),
        (8, TurnEnd::AskedAgain, 67),
        (3, TurnEnd::AskedAgain, 53),
    ] {
        f.udp_turns = vec![asked(at, end, port), asked(at + 1, end, port)];
        assert_eq!(answer(&f).away.lease, None, "{at} {port}");
    }
}
