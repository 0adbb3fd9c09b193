//! The sawtooth sample against the kernel's counters, tcptrace on a simultaneous pcap, and the router's own drop count.

use netmortem_analyzer::analyses;
use netmortem_analyzer::reconstruct::tcp::tables::RetransmitClass;
use netmortem_tests::{facts, nstat, sample};

/// Ethernet, IPv4 and TCP with timestamps: what every data segment of this connection carries before its payload.
const HEADERS: u64 = 14 + 20 + 32;

fn provenance() -> String {
    std::fs::read_to_string(sample("sawtooth/PROVENANCE.md")).unwrap()
}

/// The value in both columns of a tcptrace row: (a to b, b to a).
fn tcptrace(name: &str) -> Vec<(u64, u64)> {
    let text = std::fs::read_to_string(sample("sawtooth/tcptrace.txt")).unwrap();
    let values = |l: &str| -> Option<(u64, u64)> {
        let label = format!("{name}:");
        let mut of = l
            .split(label.as_str())
            .skip(1)
            .map(|v| v.split_whitespace().next()?.parse().ok());
        Some((of.next()??, of.next()??))
    };
    text.lines()
        .filter(|l| l.contains(&format!("{name}:")))
        .filter_map(values)
        .collect()
}

#[test]
fn retransmits_agree_with_nstat_and_tcptrace() {
    let f = facts("sawtooth/sawtooth.nmb").unwrap();
    let text = provenance();
    let sender = f.connections.iter().max_by_key(|c| c.bytes_out).unwrap();
    let rows: Vec<_> = f
        .retransmits
        .iter()
        .filter(|r| r.connection == Some(sender.connection))
        .collect();
    assert_eq!(sender.retransmits, Some(rows.len() as u64));
    // iperf3's control connection sent one loss probe: its original's clone was still in the router's queue, so the kernel
    // copied it (pskb_copy) and no queued frame is its clone. One segment: 285 bytes by tcptrace.
    let others: Vec<_> = f
        .retransmits
        .iter()
        .filter(|r| r.connection != Some(sender.connection))
        .collect();
    assert!(
        others
            .iter()
            .all(|r| r.class == RetransmitClass::Tlp && r.bytes.is_none()),
        "{others:?}"
    );
    // TcpRetransSegs adds tcp_skb_pcount per event: an skb of k segments counts k. Bytes tell the segments.
    let mss = 1448;
    let bytes: u64 = rows
        .iter()
        .map(|r| u64::from(r.bytes.expect("every retransmit follows its transmit")) - HEADERS)
        .sum();
    let segments: u64 = rows
        .iter()
        .map(|r| (u64::from(r.bytes.unwrap()) - HEADERS).div_ceil(mss))
        .sum();
    assert_eq!(Some(segments + others.len() as u64), nstat(&text, "TcpRetransSegs"));
    // tcptrace sees the same bytes on the sender's interface. It calls a segment retransmitted when it saw the sequence
    // numbers before, and an original dropped in the sender's own host was never seen there: none is here.
    let seen: u64 = tcptrace("rexmt data bytes").iter().map(|v| v.0).max().unwrap();
    assert_eq!(bytes, seen);
}

#[test]
fn classes_agree_with_the_kernels_counters() {
    let f = facts("sawtooth/sawtooth.nmb").unwrap();
    let text = provenance();
    let count = |c| f.retransmits.iter().filter(|r| r.class == c).count() as u64;
    // Every class that the kernel did not count must be empty here.
    assert_eq!(
        count(RetransmitClass::Rto),
        nstat(&text, "TcpExtTCPTimeouts").unwrap_or(0)
    );
    // A loss probe may send new data instead, which is no retransmit: at most as many.
    assert!(count(RetransmitClass::Tlp) <= nstat(&text, "TcpExtTCPLossProbes").unwrap_or(0));
    assert_eq!(count(RetransmitClass::Unknown), 0);
    // TCPFastRetrans counts segments.
    let fast: u64 = f
        .retransmits
        .iter()
        .filter(|r| r.class == RetransmitClass::Fast)
        .map(|r| (u64::from(r.bytes.unwrap()) - HEADERS).div_ceil(1448))
        .sum();
    assert_eq!(fast, nstat(&text, "TcpExtTCPFastRetrans").unwrap_or(0));
    // Recoveries entered are the sack recoveries counted.
    let entered = f
        .tcp_states
        .iter()
        .filter(|s| s.kind == "cong" && s.name == "Recovery")
        .count() as u64;
    assert_eq!(Some(entered), nstat(&text, "TcpExtTCPSackRecovery"));
}

/// The router's `tc -s qdisc` says `dropped N`: each is one row, unexpected, on the router's device.
#[test]
fn drops_agree_with_the_routers_queue() {
    let f = facts("sawtooth/sawtooth.nmb").unwrap();
    let text = provenance();
    let dropped: u64 = text
        .split("(dropped ")
        .nth(1)
        .and_then(|t| t.split([',', ' ', ')']).next())
        .unwrap()
        .parse()
        .unwrap();
    let answers = analyses::answer(&f);
    let groups = &answers.drops.findings().unwrap().groups;
    let by_queue: Vec<_> = groups.iter().filter(|g| g.reason.starts_with("QDISC")).collect();
    assert_eq!(by_queue.iter().map(|g| g.count).sum::<u64>(), dropped);
    assert!(
        by_queue.iter().all(|g| g.expected == Some(false) && g.dev == "rb"),
        "{by_queue:?}"
    );
}

/// CUBIC: every reduction goes to 0.7 of the window before (kernel: 717/1024), rounded down.
#[test]
fn reductions_are_cubic() {
    let f = facts("sawtooth/sawtooth.nmb").unwrap();
    let answers = analyses::answer(&f);
    let tcp = answers.tcp.findings().unwrap();
    let saw = &tcp.sawtooths[0];
    let ratios: Vec<f64> = saw
        .reductions
        .iter()
        .filter_map(|r| Some(f64::from(r.ssthresh?) / f64::from(r.wmax)))
        .collect();
    assert!(ratios.len() >= 3, "a sawtooth has several teeth: {:?}", saw.reductions);
    for (r, ratio) in saw.reductions.iter().zip(&ratios) {
        assert!((0.60..=0.71).contains(ratio), "{r:?} {ratio}");
    }
}

/// Sequence space sent and payload received, against what tcptrace saw on the wire.
#[test]
fn bytes_agree_with_tcptrace() {
    let f = facts("sawtooth/sawtooth.nmb").unwrap();
    let receiver = f.connections.iter().max_by_key(|c| c.bytes_in).unwrap();
    let unique: u64 = tcptrace("unique bytes sent").iter().map(|v| v.0).max().unwrap();
    // What arrived before the recorder stopped (it stops when the client exits): all that the wire saw, less what was
    // still in the router's queue, at most 60,000 bytes, and one skb at each side.
    assert!(receiver.bytes_in <= unique, "{} > {unique}", receiver.bytes_in);
    assert!(
        unique - receiver.bytes_in < 60_000 + 2 * 65_536,
        "{} of {unique}",
        receiver.bytes_in
    );
    assert!(receiver.bytes_read.unwrap() <= receiver.bytes_in);
}
