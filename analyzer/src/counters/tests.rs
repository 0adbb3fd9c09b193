use std::collections::BTreeMap;
use std::process::Command;

use netmortem_formats::capture::Snapshot;
use netmortem_formats::capture::SnapshotWhen::{self, End, Start};

use super::tables::{COUNTERS, CounterRow, risen, risen_in};
use super::*;

fn capture(texts: &[(&str, SnapshotWhen, &str)]) -> Capture {
    let mut c = crate::testing::Script::new("6.18.44", &[]).capture();
    let of = |(what, when, text): &(&str, SnapshotWhen, &str)| Snapshot {
        what: what.to_string(),
        when: *when,
        text: text.as_bytes().to_vec(),
    };
    c.snapshots = texts.iter().map(of).collect();
    c
}

fn rows(c: &Capture) -> Vec<CounterRow> {
    let (rows, too_many) = of(c);
    assert_eq!(too_many, 0);
    rows
}

fn rise(rows: &[CounterRow], of: &str, name: &str) -> Option<u64> {
    let mut found = rows.iter().filter(|r| r.of == of && r.name == name);
    let row = found.next().unwrap_or_else(|| panic!("no {of} {name} in {rows:?}"));
    assert_eq!(found.next(), None);
    row.rise()
}

/// `nstat` reads the same texts of real recordings: every name it prints is ours, with its value.
#[test]
fn names_and_values_are_those_of_nstat() {
    if Command::new("nstat").arg("-V").output().is_err() {
        println!("skipped: nstat is not installed");
        return;
    }
    let dir = std::env::temp_dir().join(format!("netmortem-counters-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    for sample in ["rpc/rpc.nmb", "kernel-6.1/netem.nmb", "tracedat-loopback/trace.dat"] {
        let c = crate::tests::sample(sample);
        let rows = of(&c).0;
        let mut nstat = Command::new("nstat");
        nstat.args(["-a", "-s", "-z", "--json"]);
        let mut found = 0;
        for (what, variable) in [
            ("net/snmp", "PROC_NET_SNMP"),
            ("net/netstat", "PROC_NET_NETSTAT"),
            ("net/snmp6", "PROC_NET_SNMP6"),
        ] {
            let path = dir.join(what.replace('/', "_"));
            let text = c
                .snapshots
                .iter()
                .find(|s| s.what == what && s.when == End)
                .map(|s| s.text.clone());
            found += usize::from(text.is_some());
            std::fs::write(&path, text.unwrap_or_default()).unwrap();
            nstat.env(variable, path);
        }
        // A trace.dat has no snapshots.
        assert!(found >= 2 || rows.is_empty(), "{sample}: {found}");
        if found < 2 {
            continue;
        }
        let out = nstat.output().unwrap();
        let said: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
        let truth: BTreeMap<String, u64> = serde_json::from_value(said["kernel"].clone()).unwrap();
        let is_net = |r: &&CounterRow| matches!(r.source, "snmp" | "netstat" | "snmp6");
        let ours: BTreeMap<String, u64> = rows
            .iter()
            .filter(is_net)
            .filter_map(|r| Some((r.name.clone(), r.end?)))
            .collect();
        assert!(truth.len() > 200, "{sample}: {}", truth.len());
        for (name, value) in truth.iter().filter(|(_, v)| **v != 0) {
            let setting =
                name.starts_with("TcpRto") || matches!(name.as_str(), "IpForwarding" | "IpDefaultTTL" | "TcpMaxConn");
            assert!(
                setting || ours.get(name) == Some(value),
                "{sample}: {name}: {value}, {:?}",
                ours.get(name)
            );
        }
        for (name, value) in ours.iter().filter(|(_, v)| **v != 0) {
            assert_eq!(truth.get(name), Some(value), "{sample}: {name}");
        }
    }
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn a_rise_needs_both_snapshots_and_a_counter() {
    let snmp = |established: u64, again: u64| {
        format!("Tcp: CurrEstab RetransSegs OutRsts MaxConn\nTcp: {established} {again} 0 -1\n")
    };
    let c = capture(&[
        ("namespaces", Start, "netns=7 own=yes pids=1\nnetns=9 own=no pids=1\n"),
        ("net/snmp", Start, &snmp(4, 10)),
        ("net/snmp", End, &snmp(9, 12)),
        ("netns/9/net/snmp", Start, &snmp(0, 50)),
        ("netns/9/net/snmp", End, &snmp(0, 20)),
        ("netns/8/net/snmp", End, &snmp(0, 5)),
    ]);
    let rows = of(&c).0;
    let told: Vec<_> = rows
        .iter()
        .map(|r| (r.netns, r.name.as_str(), r.start, r.end, r.rise()))
        .collect();
    assert_eq!(
        told,
        [
            (Some(7), "TcpCurrEstab", Some(4), Some(9), None),
            (Some(7), "TcpRetransSegs", Some(10), Some(12), Some(2)),
            // Set back: how often is not known. Made meanwhile: neither is whether it was 0 before.
            (Some(9), "TcpRetransSegs", Some(50), Some(20), None),
            (Some(8), "TcpRetransSegs", None, Some(5), None),
        ]
    );
}

#[test]
fn softnet_is_by_cpu_and_wraps_at_32_bits() {
    let line = |processed: u32, dropped: u32, squeezed: u32, cpu: u32| {
        format!(
            "{processed:08x} {dropped:08x} {squeezed:08x} 00000000 00000000 00000000 00000000 00000000 00000000 00000003 00000000 0000ffff {cpu:08x} 00000000 00000000\n"
        )
    };
    let start = line(u32::MAX, 0, 57, 0) + &line(1, 5, 3, 2);
    let end = line(9, 0, 59, 0) + &line(4, 8, 3, 2);
    let rows = rows(&capture(&[
        ("net/softnet_stat", Start, &start),
        ("net/softnet_stat", End, &end),
    ]));
    assert_eq!(rise(&rows, "CPU 0", "processed"), Some(10));
    assert_eq!(rise(&rows, "CPU 0", "time_squeeze"), Some(2));
    // CPU 1 is offline: the second line is CPU 2's.
    assert_eq!(rise(&rows, "CPU 2", "dropped"), Some(3));
    assert_eq!(rise(&rows, "CPU 2", "received_rps"), Some(0));
}

/// Before 5.14 no line says which CPU it is: when one goes offline, the others move up.
#[test]
fn lines_without_a_cpu_are_only_a_sum() {
    let line = |dropped: u32| {
        format!(
            "00000001 {dropped:08x} 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000003 00000000\n"
        )
    };
    let of = |start: &str, end: &str| {
        rows(&capture(&[
            ("net/softnet_stat", Start, start),
            ("net/softnet_stat", End, end),
        ]))
    };
    let grown = of(&(line(5) + &line(2)), &(line(5) + &line(4)));
    assert_eq!(rise(&grown, "all CPUs", "dropped"), Some(2));
    let gone = of(&(line(5) + &line(2)), &line(2));
    assert_eq!(rise(&gone, "all CPUs", "dropped"), None);
}

/// A flight reads these for the first time after its trigger: what they rose by before it nobody knows.
#[test]
fn what_a_flight_reads_late_has_no_rise() {
    let snmp = |again: u64| format!("Tcp: RetransSegs\nTcp: {again}\n");
    let mut c = capture(&[
        ("net/snmp", Start, &snmp(1)),
        ("net/snmp", End, &snmp(4)),
        ("netns/9/net/snmp", Start, &snmp(1)),
        ("netns/9/net/snmp", End, &snmp(1)),
    ]);
    let rises = |c: &Capture| rows(c).iter().map(CounterRow::rise).collect::<Vec<_>>();
    assert_eq!(rises(&c), [Some(3), Some(0)]);
    c.manifest = Some(serde_json::json!({ "flight": { "sequence": 1 } }));
    assert_eq!(rises(&c), [Some(3), None]);
}

/// What is 0 has no row, so a namespace that came meanwhile counted nothing where it has none; of one that ended, or a text that was not read again, nobody knows.
#[test]
fn a_rise_of_all_namespaces_is_known_where_each_was_read_at_the_end() {
    let row = |source, netns, name: &str, start, end| CounterRow {
        source,
        netns: Some(netns),
        of: String::new(),
        name: name.into(),
        start,
        end,
    };
    let own = row("netstat", 1, "TcpExtTCPTimeouts", Some(3), Some(6));
    let of = |more: CounterRow| {
        let rows = [own.clone(), more];
        (
            risen(&rows, "TcpExtTCPTimeouts"),
            risen_in(&rows, 1, "TcpExtTCPTimeouts"),
        )
    };
    let came = row("netstat", 2, "IpExtInOctets", None, Some(9));
    assert_eq!(of(came), (Some(3), Some(3)));
    let counted_there = row("netstat", 2, "TcpExtTCPTimeouts", None, Some(9));
    let ended = row("snmp", 2, "IpInReceives", Some(9), None);
    for unknown in [counted_there, ended] {
        assert_eq!(of(unknown), (None, Some(3)));
    }
    // Its other text was read again, this one was not.
    let half = [
        row("snmp", 1, "IpInReceives", Some(9), Some(9)),
        row("netstat", 1, "IpExtInOctets", Some(9), None),
    ];
    assert_eq!(risen(&half, "TcpExtTCPTimeouts"), None);
    assert_eq!(
        (
            risen(&[], "TcpExtTCPTimeouts"),
            risen_in(&[own], 2, "TcpExtTCPTimeouts")
        ),
        (None, None)
    );
}

#[test]
fn devices_qdiscs_and_cards_are_named_by_what_they_are() {
    let dev = |missed: u64| {
        format!("Inter-| Receive | Transmit\n face |bytes\n  eth0: 100 7 1 0 {missed} 0 0 2 50 3 0 4 0 0 0 0\n")
    };
    let qdisc = |drops: u64| {
        format!(
            "netns=7 ifindex=2 kind=tbf handle=0x80010000 parent=0xffffffff bytes=9 packets=1 drops={drops} overlimits=3\n\
             netns=7 ifindex=2 kind=bfifo handle=0x00000000 parent=0x80010001 bytes=9 packets=1 drops={drops}\n"
        )
    };
    let nic =
        |missed: u64| format!("netns=7 ifindex=2 dev=eth0 group=stats rx_missed_errors={missed} rx_queue_0_drops=0\n");
    let links = "netns=7 ifindex=2 name=eth0 mtu=1400\n";
    let rows = rows(&capture(&[
        ("links", Start, links),
        ("net/dev", Start, &dev(3)),
        ("net/dev", End, &dev(8)),
        ("qdiscs", Start, &qdisc(5)),
        ("qdiscs", End, &qdisc(6)),
        ("nics", Start, &nic(3)),
        ("nics", End, &nic(8)),
    ]));
    assert_eq!(rise(&rows, "eth0", "rx_fifo_errors"), Some(5));
    assert_eq!(rise(&rows, "eth0", "tx_dropped"), Some(0));
    assert_eq!(rise(&rows, "eth0 tbf root", "drops"), Some(1));
    assert_eq!(rise(&rows, "eth0 bfifo 0x00000000", "drops"), Some(1));
    assert_eq!(rise(&rows, "eth0", "rx_missed_errors"), Some(5));
    assert!(!rows.iter().any(|r| r.name == "rx_queue_0_drops"), "0 in both");
}

/// fq's own numbers, as Linux 6.1 gave them: 507 and then 1,802 packets refused at its limit for one flow, as `tc -s qdisc` said.
#[test]
fn what_fq_refuses_of_one_flow_is_a_counter() {
    let line = |plimit: &str, drops: u64| {
        let xstats = format!("{:032}{:032}{plimit}{:0176}", 2, 0, 0);
        format!("netns=7 ifindex=2 kind=fq handle=0x00100000 parent=0x00010010 xstats={xstats} bytes=9 drops={drops}\n")
    };
    let links = "netns=7 ifindex=2 name=uplink0 mtu=1500\n";
    let of = |before: &str, after: &str| {
        let all = rows(&capture(&[
            ("links", Start, links),
            ("qdiscs", Start, before),
            ("qdiscs", End, after),
        ]));
        let found = all.iter().find(|r| r.name == "flows_plimit");
        found.and_then(|r| r.rise().filter(|_| r.of == "uplink0 fq 0x00100000"))
    };
    let (before, after) = (line("fb01000000000000", 507), line("0a07000000000000", 1_802));
    assert_eq!(of(&before, &after), Some(1_295));
    // More than it dropped: of a layout that is not known; of another qdisc; cut.
    assert_eq!(
        of(&line("fb01000000000000", 506), &line("00000000000001fb", 1_802)),
        None
    );
    assert_eq!(
        of(
            &before.replace("kind=fq", "kind=fq_codel"),
            &after.replace("kind=fq", "kind=fq_codel")
        ),
        None
    );
    let cut = |l: &str| l.replace("xstats=00", "xstats=0x");
    assert_eq!(of(&before[..150], &cut(&after)), None);
}

/// A qdisc of Linux 6.1 of which `tc -s qdisc` said `horizon_drops 900`, as read at the end of a recording.
#[test]
fn what_fq_refuses_by_its_horizon_is_a_counter() {
    let xstats = "000000000000000002000000000000000000000000000000bf0d0000000000000000000000000000000000000000000000000000000000008ef11b0000000000\
                  3e00000039000000050000006b430400000000000000000084030000000000000000000000000000";
    let line = |xstats: &str, drops: u64| {
        format!("netns=7 ifindex=2 kind=fq handle=0x80010000 parent=0xffffffff bytes=9 drops={drops} xstats={xstats}\n")
    };
    let of = |xstats: &str, drops: u64| {
        let all = rows(&capture(&[
            ("links", Start, "netns=7 ifindex=2 name=eth0 mtu=1500\n"),
            ("qdiscs", Start, &line(&"0".repeat(208), 0)),
            ("qdiscs", End, &line(xstats, drops)),
        ]));
        let found = all.iter().find(|r| r.name == "horizon_drops");
        found.and_then(|r| r.rise().filter(|_| r.of == "eth0 fq root"))
    };
    assert_eq!(of(xstats, 900), Some(900));
    // Of a layout that is not known; of kernels before 5.6, which have none.
    assert_eq!(of(xstats, 899), None);
    assert_eq!(of(&xstats[..160], 900), None);
}

#[test]
fn what_is_no_counter_text_has_no_counter() {
    let odd = "Tcp: A B\nUdp: 1 x\nTcp: A\n\u{0}: :\n: \n=\nnetns=x ifindex=2 kind=tbf\n";
    for what in [
        "net/snmp",
        "net/netstat",
        "net/snmp6",
        "net/sockstat",
        "net/softnet_stat",
        "net/stat/nf_conntrack",
        "net/dev",
        "qdiscs",
        "nics",
        "netns//net/snmp",
    ] {
        let rows = rows(&capture(&[(what, Start, odd), (what, End, odd)]));
        assert_eq!(rows, [], "{what}");
    }
    // Lines of CPUs add up, but for what is of all in each; one that is cut is none.
    let before = "entries drop\n00000010 00000001\n00000010 00000000\n";
    let after = "entries drop\n000000ff 00000003\n000000ff 10000000a\n000000ff\n";
    let counted = rows(&capture(&[
        ("netns/5/net/stat/nf_conntrack", Start, before),
        ("netns/5/net/stat/nf_conntrack", End, after),
        ("net/stat/arp_cache", End, "entries table_fulls\n00000001 00000009\n"),
    ]));
    let told: Vec<_> = counted
        .iter()
        .map(|r| (r.source, r.netns, r.name.as_str(), r.start, r.end))
        .collect();
    assert_eq!(
        told,
        [
            ("nf_conntrack", Some(5), "entries", Some(16), Some(255)),
            ("nf_conntrack", Some(5), "drop", Some(1), Some((1 << 32) + 13)),
            ("arp_cache", None, "entries", None, Some(1)),
            ("arp_cache", None, "table_fulls", None, Some(9)),
        ]
    );
    // A name as long as a hostile file likes is cut.
    let long = format!("{} 5\n", "x".repeat(100_000));
    let rows = rows(&capture(&[("net/snmp6", Start, &long)]));
    assert_eq!(rows[0].name.len(), 64);
    assert_eq!(COUNTERS.name, "counters");
}
