use super::*;
use crate::counters::Key;
use crate::counters::tables::CounterRow;
use crate::ingest::CaptureInfo;

/// Kernels 6.18 and 6.1.
const BUNDLES: [&str; 3] = ["rpc/rpc.nmb", "sawtooth/sawtooth.nmb", "kernel-6.1/netem.nmb"];

fn row(source: &'static str, netns: u64, of: &str, name: &str, start: u64, end: u64) -> CounterRow {
    CounterRow {
        source,
        netns: Some(netns),
        of: of.into(),
        name: name.into(),
        start: Some(start),
        end: Some(end),
    }
}

fn asked(counters: Vec<CounterRow>) -> Counters {
    let facts = Facts {
        counters,
        ..Facts::empty()
    };
    answer(&facts).findings().unwrap().clone()
}

#[test]
fn what_a_card_lost_comes_first_and_what_is_well_is_not_named() {
    let found = asked(vec![
        row("snmp", 7, "", "TcpOutSegs", 0, 9_000),
        row("netstat", 7, "", "TcpExtListenOverflows", 5, 8),
        row("netstat", 9, "", "TcpExtListenOverflows", 0, 1),
        row("netstat", 9, "", "TcpExtTCPTimeouts", 0, 50),
        row("nic", 7, "eth0", "rx_missed_errors", 10, 12),
        row("nic", 7, "eth0", "rx_steer_missed_packets", 10, 12),
        row("nic", 7, "eth0", "rx_xdp_drop", 10, 12),
        row("snmp6", 7, "", "Udp6RcvbufErrors", 0, 2),
        row("netstat", 7, "", "TcpExtListenDrops", 8, 8),
    ]);
    let told: Vec<_> = found
        .rises
        .iter()
        .map(|r| (r.meaning, r.name.as_str(), r.rise, r.netns.as_slice()))
        .collect();
    assert_eq!(
        told,
        [
            (Meaning::LostUnseen, "rx_missed_errors", 2, &[7][..]),
            (Meaning::Lost, "TcpExtListenOverflows", 4, &[7, 9]),
            (Meaning::Lost, "Udp6RcvbufErrors", 2, &[7]),
            (Meaning::Sign, "TcpExtTCPTimeouts", 50, &[9]),
        ]
    );
    assert_eq!((found.compared, found.not_compared, found.rose), (9, 0, 8));
    assert_eq!(found.lost_before_events().count(), 1);
}

#[test]
fn a_listening_socket_is_named_where_the_kernel_counted_what_it_dropped() {
    let socket = |netns, port: u16, drops| Refusing {
        netns,
        local: format!("[::]:{port}"),
        task: String::new(),
        limit: Some(50),
        drops,
        queued: Some(0),
        group: (1, 1),
        beside: vec![],
        read_last_ns: None,
    };
    let named = |sockets: Vec<Refusing>| {
        let facts = Facts {
            counters: vec![
                row("netstat", 7, "", "TcpExtListenDrops", 1, 680),
                row("netstat", 9, "", "TcpExtListenDrops", 4, 4),
            ],
            refusing: sockets,
            ..Facts::empty()
        };
        let found = answer(&facts);
        let all = &found.findings().unwrap().refusing;
        all.iter().map(|r| (r.local.clone(), r.drops)).collect::<Vec<_>>()
    };
    let of = |port: u16, drops| (format!("[::]:{port}"), drops);
    assert_eq!(named(vec![socket(7, 8080, 679)]), [of(8080, 679)]);
    assert_eq!(
        named(vec![socket(7, 8080, 600), socket(7, 81, 79)]),
        [of(8080, 600), of(81, 79)]
    );
    // Another namespace's sockets are not those that the counter is of: nothing was turned away there.
    assert_eq!(
        named(vec![socket(9, 443, 5_000), socket(7, 8080, 679)]),
        [of(8080, 679)]
    );
    // Bare ACKs under TCP_DEFER_ACCEPT, or drops of a socket's whole life: which of them turned connections away is not known.
    assert_eq!(named(vec![socket(7, 80, 41_234), socket(7, 8080, 679)]), []);
}

/// One of eight processes that share a port does not accept: 155 SYNs of its own are dropped while the others' queues have room.
#[test]
fn one_of_several_listening_sockets_is_named_as_that() {
    use crate::name::Name;
    use crate::reconstruct::receive::tables::RxRow;
    let says = |group, read: [i64; 2]| {
        let mut facts = Facts {
            counters: vec![
                row("netstat", 7, "", "TcpExtListenOverflows", 0, 155),
                row("netstat", 7, "", "TcpExtListenDrops", 0, 155),
            ],
            refusing: vec![Refusing {
                netns: 7,
                local: "0.0.0.0:8080".into(),
                task: "api/11".into(),
                limit: Some(8),
                drops: 155,
                queued: Some(9),
                group,
                beside: vec![12],
                read_last_ns: None,
            }],
            ..Facts::empty()
        };
        facts.capture.start_ns = Some(1_000_000_000);
        facts.capture.total_events = 1;
        // Another program of that name is none of them.
        facts.rx = [(11, read[0]), (12, read[1]), (13, 9_900)]
            .map(|(pid, ms)| RxRow {
                task: Name::new(b"api"),
                pid,
                start_ns: (1_000 + ms) * 1_000_000,
                ..RxRow::default()
            })
            .into();
        let lines = crate::analyses::answer(&facts).verdict;
        lines.into_iter().find(|l| l.subject == "drops").unwrap().headline
    };
    let away = "155 SYNs and handshakes dropped by a full accept queue, retries included (155 at 0.0.0.0:8080 of api/11, whose queue holds 8";
    let slow = "): the listener accepts too slowly, or its backlog is small";
    let one = ", one of 8 listening sockets there (SO_REUSEPORT), the others dropped none; it held 9 at the end";
    let stopped = "; its process read nothing after 2.500 s, while processes of the others did";
    let up = "): what it serves is held up, not all of that port";
    assert_eq!(says((1, 1), [2_500, 9_000]), format!("{away}{slow}"));
    assert_eq!(says((8, 5), [2_500, 9_000]), format!("{away}{slow}"));
    assert_eq!(says((8, 1), [2_500, 9_000]), format!("{away}{one}{stopped}{up}"));
    assert_eq!(says((8, 1), [8_500, 9_000]), format!("{away}{one}{up}"));
}

#[test]
fn without_two_snapshots_there_is_no_answer() {
    let mut only_start = row("snmp", 7, "", "TcpRetransSegs", 3, 0);
    only_start.end = None;
    for counters in [vec![], vec![only_start]] {
        let facts = Facts {
            counters,
            ..Facts::empty()
        };
        assert!(matches!(answer(&facts), Outcome::Unknown(r) if r.len() == 1));
    }
}

#[test]
fn a_counter_is_compared_only_where_its_event_was_recorded() {
    let of = |events: &[(&str, u64)], counted: u64| {
        let facts = Facts {
            capture: CaptureInfo {
                events: events.iter().map(|(k, n)| (k.to_string(), *n)).collect(),
                ..Facts::empty().capture
            },
            counters: vec![row("snmp", 7, "", "UdpRcvbufErrors", 10, 10 + counted)],
            ..Facts::empty()
        };
        answer(&facts).findings().unwrap().checks.clone()
    };
    assert_eq!(of(&[], 3), []);
    let key = "udp:udp_fail_queue_rcv_skb";
    let agreement = |counted| of(&[(key, 3)], counted)[0].agreement;
    assert_eq!(agreement(3), Agreement::Equal);
    assert_eq!(agreement(5), Agreement::MoreCounted);
    assert_eq!(agreement(2), Agreement::MoreSeen);
    // kfree_skb without a table of reasons says nothing of why.
    assert_eq!(of(&[("skb:kfree_skb", 3)], 3), []);
}

/// TcpRetransSegs counts segments, those too that a queue refused and TCPRetransFail counts: the difference was sent. Where the
/// segments of a call are not known, more counted tells nothing.
#[test]
fn segments_sent_again_are_compared_with_what_the_kernel_sent() {
    use crate::Confidence;
    use crate::reconstruct::tcp::tables::{RetransmitClass, RetransmitRow};
    let agreement = |segments: [Option<u32>; 2]| {
        let call = |segments| RetransmitRow {
            original: None,
            index: 0,
            time_ns: 0,
            connection: None,
            synack: None,
            class: RetransmitClass::Fast,
            err: Some(0),
            bytes: None,
            segments,
            confidence: Confidence::Certain,
        };
        let mut facts = Facts {
            counters: vec![
                row("snmp", 7, "", "TcpRetransSegs", 0, 52),
                row("netstat", 7, "", "TcpExtTCPRetransFail", 0, 40),
            ],
            retransmits: segments.map(call).into(),
            ..Facts::empty()
        };
        let key = "tcp:tcp_retransmit_skb".to_owned();
        facts.capture.events.insert(key, 2);
        let check = answer(&facts).findings().unwrap().checks[0].clone();
        (check.counted, check.seen, check.agreement)
    };
    assert_eq!(agreement([Some(11), Some(1)]), (12, 12, Agreement::Equal));
    assert_eq!(agreement([Some(10), Some(1)]), (12, 11, Agreement::MoreCounted));
    assert_eq!(agreement([Some(10), None]), (12, 11, Agreement::SeveralEach));
}

#[test]
fn every_counter_of_the_list_is_one_the_kernel_has() {
    // The names of a real 6.18, 6.12 or 6.1: those that are listed exist in one of the samples' texts.
    let mut known = std::collections::BTreeSet::new();
    for sample in BUNDLES {
        for s in &crate::tests::sample(sample).snapshots {
            let text = String::from_utf8_lossy(&s.text);
            for line in text
                .lines()
                .filter(|_| matches!(s.what.as_str(), "net/snmp" | "net/netstat"))
            {
                if let Some((group, names)) = line.split_once(": ") {
                    known.extend(names.split(' ').map(|n| format!("{group}{n}")));
                }
            }
        }
    }
    let unknown: Vec<_> = meanings::names().filter(|n| !known.contains(*n)).collect();
    assert_eq!(unknown, Vec::<&str>::new());
}

/// The sample with itself under another instance: the counters are of the first's time.
#[test]
fn joined_recordings_have_no_counters() {
    use netmortem_formats::{join::join, open_path};
    let file = format!("{}/../sample-data/rpc/rpc.nmb", env!("CARGO_MANIFEST_DIR"));
    let open = || open_path(file.as_ref()).unwrap().unwrap();
    let mut other = open();
    other.source = "second.nmb".into();
    other.streams.iter_mut().for_each(|s| s.instance = "second".into());
    let facts = crate::analyze(&join(open(), &other, None).unwrap(), &Default::default());
    assert_eq!(facts.capture.joined, ["second.nmb"]);
    assert!(facts.counters.is_empty() && facts.limiters.is_empty());
    assert_eq!((facts.softnet.squeezed, facts.softnet.dropped), (None, None));
    let Outcome::Unknown(why) = super::answer(&facts) else {
        panic!("an answer")
    };
    assert!(
        why[0].because.starts_with("several recordings were joined"),
        "{}",
        why[0].because
    );
    assert!(!crate::analyze(&open(), &Default::default()).counters.is_empty());
}

/// What the kernel counted as lost and no event tells is wrong on the first page too, in its sentence and in its head.
#[test]
fn what_was_counted_as_lost_is_in_the_verdict() {
    let line = |counters| {
        let mut facts = Facts {
            counters,
            ..Facts::empty()
        };
        facts.capture.total_events = 1;
        facts.capture.enabled_events = Some(vec!["skb:kfree_skb".into()]);
        let lines = crate::analyses::answer(&facts).verdict;
        lines.into_iter().find(|l| l.subject == "drops").unwrap()
    };
    use crate::analyses::verdict::Tone;
    let nothing = line(vec![row("netstat", 7, "", "TcpExtTCPTimeouts", 0, 50)]);
    assert_eq!((nothing.tone, nothing.headline.as_str()), (Tone::Ok, ""));
    let said = line(vec![
        row("netstat", 7, "", "TcpExtListenDrops", 0, 9),
        row("netstat", 7, "", "TcpExtListenOverflows", 5, 8),
        row("nic", 7, "eth0", "rx_missed_errors", 10, 12),
    ]);
    assert_eq!(said.tone, Tone::Bad);
    let card = "card lost packets before any event could tell: rx_missed_errors of eth0 rose by 2";
    let away = "SYNs and handshakes dropped by a full accept queue, retries included: the listener accepts too slowly, or its backlog is small";
    let sentence = format!("A {card}. TcpExtListenOverflows rose by 3: {away}.");
    assert!(said.sentence.ends_with(&sentence), "{}", said.sentence);
    assert_eq!(said.headline, format!("{card}; 3 {away}"));
}

/// Where the receive path was not recorded, one segment in two hundred that came behind a missing one is worth a look, as where it was.
#[test]
fn segments_behind_a_hole_are_told_where_there_are_many() {
    let said = |behind, received| {
        let facts = Facts {
            counters: vec![
                row("netstat", 7, "", "TcpExtTCPOFOQueue", 0, behind),
                row("snmp", 7, "", "TcpInSegs", 0, received),
            ],
            ..Facts::empty()
        };
        let lines = crate::analyses::answer(&facts).verdict;
        lines.into_iter().find(|l| l.subject == "receive").unwrap().headline
    };
    let says = "101 of 20200 TCP segments that came behind a missing one: lost or overtaken on the way to this host, or in it (TcpExtTCPOFOQueue, counted by the kernel)";
    assert_eq!(said(101, 20_200), says);
    assert_eq!(said(101, 20_201), "");
    assert_eq!(said(99, 99), "");
}

/// Where readings are joined, a counter that never rested rose in every part of the recording.
#[test]
fn joined_readings_are_counted_as_joined() {
    use crate::counters::over_time::of_at_most;
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../sample-data/seconds/seconds.nmb.zst");
    let bytes = zstd::decode_all(&std::fs::read(path).unwrap()[..]).unwrap();
    let c = netmortem_formats::open_bytes("test.nmb", netmortem_formats::Bytes::Owned(bytes)).unwrap();
    let of = |most_rows: usize| {
        let mut facts = Facts::empty();
        facts.counters_over_time = of_at_most(&c, most_rows);
        let told = when::all(&facts);
        let parts: Vec<(u64, u64)> = told.values().map(|when| (when.parts, when.of_parts)).collect();
        (facts.counters_over_time, parts)
    };
    let (all, each) = of(usize::MAX);
    let readings = all.readings.len() as u64 + 1;
    assert!(all.joined == 1 && each.contains(&(readings, readings)), "{each:?}");
    let mut seen = vec![];
    for most_rows in [150, 100, 60] {
        let (few, joined) = of(most_rows);
        let parts = readings.div_ceil(few.joined);
        assert!(
            parts < readings && joined.contains(&(parts, parts)),
            "{}: {joined:?}",
            few.joined
        );
        assert!(joined.iter().all(|(n, of)| n <= of && *of == parts), "{joined:?}");
        seen.push(few.joined);
    }
    assert!(seen[0] < seen[2], "{seen:?}");
}

/// A counter of two namespaces rose from the first of the readings before until the last of those after, whichever row they are in.
#[test]
fn a_rise_of_several_namespaces_ends_with_the_last_of_them() {
    use crate::counters::over_time::tables::RiseRow;
    let row = |netns, from_ns, to_ns| RiseRow {
        from_ns,
        to_ns,
        counter: std::sync::Arc::new(Key {
            source: "snmp",
            netns: Some(netns),
            of: String::new(),
            name: "TcpRetransSegs".into(),
        }),
        rise: Some(1),
        whole: true,
    };
    let told = |rows: Vec<RiseRow>| {
        let mut facts = Facts::empty();
        facts.counters_over_time.readings = vec![10, 20, 30, 40];
        facts.counters_over_time.joined = 4;
        facts.counters_over_time.rows = rows;
        let when = when::all(&facts).into_values().next().unwrap();
        (when.from_ns, when.to_ns, when.parts, when.told)
    };
    let (long, short) = (row(1, Some(10), Some(40)), row(2, Some(20), Some(30)));
    for rows in [[long.clone(), short.clone()], [short.clone(), long]] {
        assert_eq!(told(rows.into()), (Some(10), Some(40), 1, 2));
    }
    // Before and after the recording are the ends of all.
    let whole = row(1, None, None);
    for rows in [[whole.clone(), short.clone()], [short, whole]] {
        let (from, to, _, told) = told(rows.into());
        assert_eq!((from, to, told), (None, None, 2));
    }
}
