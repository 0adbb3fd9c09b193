use super::*;
use crate::Confidence;
use crate::reconstruct::whose::Owner;
use crate::testing::drop_at;

fn counted(name: &str, netns: u64, rose: u64) -> CounterRow {
    CounterRow {
        source: "netstat",
        netns: Some(netns),
        of: String::new(),
        name: name.into(),
        start: Some(3),
        end: Some(3 + rose),
    }
}

/// Rows at TCP's place, of which the first carry data and the others nothing that is known; how many are named what.
fn named(data: usize, others: usize, counters: &[CounterRow]) -> (usize, String) {
    let row = |n: usize| {
        let mut row = drop_at(n as i64);
        row.expected = None;
        row.owner = (n < data).then(|| Owner {
            connection: None,
            carries: Carries::Data,
            task: Name::default(),
            pid: 0,
            confidence: Confidence::Strong,
        });
        row
    };
    let mut rows: Vec<DropRow> = (0..data + others).map(row).collect();
    let mut shared = Shared::default();
    (0..rows.len()).for_each(|at| shared.at(Some("tcp_v4_rcv"), at));
    judge(&mut rows, &shared, (counters, &[]));
    let of = rows.iter().filter(|r| r.expected == Some(false));
    (
        of.clone().count(),
        of.map(|r| r.why).next().unwrap_or_default().to_owned(),
    )
}

/// What two kernels count of one change of keys: 6 at the one end and 8 at the other, as `nstat` showed them, and 14 frees.
#[test]
fn a_counter_that_rose_alone_names_what_it_counted() {
    let keys = [
        counted("TcpExtTCPMD5Failure", 1, 6),
        counted("TcpExtTCPMD5Failure", 2, 8),
    ];
    let (n, why) = named(12, 2, &keys);
    assert_eq!(n, 14);
    assert!(why.contains("another key"), "{why}");
    // Beside ACKs that TIME_WAIT obeyed.
    assert_eq!(named(14, 9, &keys).0, 14);
    // More than were counted, or far fewer: others.
    assert_eq!((named(15, 9, &keys).0, named(6, 0, &keys).0), (0, 0));
    assert_eq!(named(14, 0, &[]).0, 0);
    // Two counters, or another that may have meant them.
    let two = [keys[0].clone(), counted("TcpExtTCPMD5NotFound", 2, 8)];
    let damaged = [keys.as_slice(), &[counted("TcpInCsumErrors", 1, 1)]].concat();
    assert_eq!((named(14, 0, &two).0, named(14, 0, &damaged).0), (0, 0));
    let none = named(6, 0, &[counted("TcpExtTCPMD5NotFound", 2, 6)]).1;
    assert!(none.contains("no TCP MD5 signature"), "{none}");
}

#[test]
fn what_ends_at_ip_error_without_a_route_is_counted() {
    let of = |n| {
        let mut rows = vec![drop_at(1), drop_at(2)];
        let mut shared = Shared::default();
        (0..2).for_each(|at| shared.at(Some("ip_error"), at));
        judge(&mut rows, &shared, (&[counted("IpExtInNoRoutes", 1, n)], &[]));
        rows[1].why
    };
    assert_eq!(of(2), "no route to its destination");
    assert_eq!((of(0), of(1), of(3)), ("", "", ""));
}

#[test]
fn names_are_those_of_counters() {
    for (counter, reason) in COUNTED {
        assert_eq!(counter_of(reason), Some(counter));
        assert!(REASONS.contains(&reason), "{reason}");
    }
    assert_eq!(counter_of(NO_ROUTE), Some("IpExtInNoRoutes"));
    assert_eq!((counter_of(LOCAL_SOURCE), counter_of("NO_SOCKET")), (None, None));
}

/// Beside bare frees, as many with data as may be those counted: another cause's, if a namespace that was not read twice counted it.
#[test]
fn what_every_namespace_counted_must_be_known() {
    let failure = counted("TcpExtTCPMD5Failure", 1, 6);
    assert_eq!(named(4, 6, std::slice::from_ref(&failure)).0, 4);
    // Four of the other, in one that a flight reads afterwards only; or that ended meanwhile.
    let late = CounterRow {
        start: None,
        ..counted("TcpExtTCPMD5NotFound", 2, 4)
    };
    let ended = CounterRow {
        end: None,
        ..counted("IpExtInOctets", 2, 4)
    };
    for unknown in [late, ended] {
        assert_eq!(named(4, 6, &[failure.clone(), unknown]).0, 0);
    }
    // One that came meanwhile, and counted none.
    let came = CounterRow {
        start: None,
        ..counted("IpExtInOctets", 2, 4)
    };
    assert_eq!(named(4, 6, &[failure.clone(), came.clone()]).0, 4);
    // Where each free there was counted it is not asked.
    let ended = CounterRow { end: None, ..came };
    assert_eq!(named(6, 0, &[failure, ended]).0, 6);
}

/// At TCP's place: segments with data that a key was refused for, SYNs for a port without a socket, bare ACKs that TIME_WAIT obeyed. Of the eight that were counted four were so before the
/// recording began.
#[test]
fn what_hides_in_the_time_around_the_recording_is_not_named() {
    let row = |n: u32, carries| {
        let mut row = drop_at(i64::from(n) * 1_000_000_000);
        (row.expected, row.why) = (None, "");
        row.owner = Some(Owner {
            connection: Some(ConnectionId(n)),
            carries,
            task: Name::default(),
            pid: 0,
            confidence: Confidence::Strong,
        });
        row
    };
    let reset = |n: u32, after| crate::reconstruct::opens::tables::ResetRow {
        time_ns: i64::from(n) * 1_000_000_000 + after,
        received: true,
        connection: Some(ConnectionId(n)),
        from: None,
        to: None,
        reason: String::new(),
        sender: crate::reconstruct::opens::tables::Sender::Peer,
        confidence: Confidence::Strong,
    };
    let named = |carries: &[Carries], resets: &[ResetRow]| {
        let mut rows: Vec<DropRow> = (0u32..).zip(carries).map(|(n, c)| row(n, *c)).collect();
        let mut shared = Shared::default();
        (0..rows.len()).for_each(|at| shared.at(Some("tcp_v4_rcv"), at));
        judge(&mut rows, &shared, (&[counted("TcpExtTCPMD5Failure", 1, 8)], resets));
        let of = rows.iter().enumerate().filter(|(_, r)| r.expected == Some(false));
        of.map(|(at, r)| (at, r.confidence)).collect::<Vec<_>>()
    };
    let weak = |n: usize| (0..n).map(|at| (at, Confidence::Weak)).collect::<Vec<_>>();
    let refused = [[Carries::Data; 4], [Carries::Syn; 4]].concat();
    // Each RST came behind its SYN; or just before that was freed, on another CPU.
    let resets: Vec<ResetRow> = (4..8).map(|n| reset(n, if n == 5 { -3_000 } else { 20_000 })).collect();
    assert_eq!(named(&refused, &resets), weak(4));
    let bare = [[Carries::Data; 4], [Carries::Received; 4]].concat();
    assert_eq!(named(&bare[..7], &[]), weak(4));
    // Each was counted, of whatever they are; a RST much later is no answer.
    let all: Vec<_> = (0..8).map(|at| (at, Confidence::Strong)).collect();
    assert_eq!(named(&bare, &[]), all);
    assert_eq!(named(&refused, &[reset(7, 900_000_000)]), all);
    assert_eq!(named(&[Carries::Received; 7], &[]), []);
}

/// A packet of namespace 1 that a router of namespace 2 turned round: its one device has their name, too.
#[test]
fn what_came_to_another_device_of_the_name_did_not_come_back() {
    use crate::reconstruct::skb::Identity;
    use crate::reconstruct::skb::tables::HopRow;
    use crate::testing::listed;
    use netmortem_formats::capture::SnapshotWhen::Start;

    let links = "netns=1 ifindex=2 name=eth0 kind=veth link=10\nnetns=2 ifindex=2 name=eth0 kind=veth link=11\nnetns=3 ifindex=2 name=eth0 kind=veth link=12\n\
        netns=9 ifindex=10 name=p-a kind=veth link=2\nnetns=9 ifindex=11 name=p-r kind=veth link=2\nnetns=9 ifindex=12 name=p-b kind=veth link=2\n";
    let named = |way: &[(&'static str, &str)], links: &str| {
        let mut identity = Identity::default();
        identity.hops = (way.iter().enumerate())
            .map(|(at, (kind, dev))| HopRow {
                skb_id: SkbId(0),
                time_ns: at as i64,
                cpu: 0,
                kind,
                dev: Name::new(dev.as_bytes()),
                bytes: Some(74),
                confidence: Confidence::Certain,
            })
            .collect();
        let mut rows = vec![drop_at(9)];
        (rows[0].skb_id, rows[0].expected) = (Some(SkbId(0)), None);
        let known = Hindsight {
            counters: &[],
            devices: &Devices::of(&listed(&[("links", Start, links)])),
            resets: &[],
            identity: &identity,
            lineage: &[],
            tx: &[],
            connections: &[],
            retransmits: &[],
            states: &[],
            comms: &Default::default(),
            sendings: true,
            lost: false,
        };
        came_back(&mut rows, &[0], &known);
        rows[0].reason.is_some()
    };
    let there = [
        ("queue", "eth0"),
        ("xmit", "eth0"),
        ("rx", "p-a"),
        ("xmit", "p-r"),
        ("rx", "eth0"),
        ("xmit", "eth0"),
        ("rx", "p-r"),
    ];
    let to = |port| [&there[..], &[("queue", port), ("xmit", port), ("rx", "eth0")]].concat();
    assert!(named(&to("p-a"), links));
    assert!(!named(&to("p-b"), links));
    // One device of the name; nothing known of any.
    let one = "netns=1 ifindex=2 name=eth0\n";
    let short = [("xmit", "eth0"), ("rx", "rc"), ("xmit", "rc"), ("rx", "eth0")];
    assert!(named(&short, one) && !named(&short, ""));
}
