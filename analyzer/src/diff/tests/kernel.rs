//! Counters of the kernel and rates that must not follow ACKs: real recordings with rows added.

use super::samples::{facts, of};
use crate::counters::tables::CounterRow;
use crate::diff::Diff;
use crate::diff::DiffOptions;
use crate::diff::Outcome;
use crate::diff::Window;
use crate::diff::compare;
use crate::facts::Facts;
use crate::reconstruct::transmit::tables::TxKind;

fn counter(netns: u64, name: &str, end: Option<u64>) -> CounterRow {
    CounterRow {
        source: "netstat",
        netns: Some(netns),
        of: String::new(),
        name: format!("TcpExt{name}"),
        start: Some(10),
        end,
    }
}

/// Of a recording: rises of counters in two namespaces.
fn counted(rises: &[(&str, u64)]) -> Facts {
    let mut f = facts("rpc/rpc.nmb");
    f.counters = vec![counter(1, "TCPPureAcks", Some(100))];
    for (name, rise) in rises {
        f.counters.push(counter(1, name, Some(10 + rise / 2)));
        f.counters.push(counter(2, name, Some(10 + rise - rise / 2)));
    }
    f
}

fn line(d: &Diff) -> Option<&str> {
    let of = d
        .verdict
        .lines
        .iter()
        .find(|l| l.1.starts_with("What the kernel counted"));
    of.map(|l| l.1.as_str())
}

#[test]
fn counters_that_rose_on_one_side_only_are_named_and_not_judged() {
    let b = counted(&[
        ("TCPSackRecovery", 55),
        ("TCPFastRetrans", 105),
        ("TCPTimeouts", 1),
        ("TCPSackMerged", 880),
    ]);
    let a = counted(&[
        ("TCPRenoRecovery", 24),
        ("TCPFastRetrans", 45),
        ("TCPTimeouts", 7),
        ("TCPLossProbes", 2),
    ]);
    let d = of(&b, &a);
    // What rose on both, less than three times, or says only how is not there.
    let told = "What the kernel counted differs (not judged; all recorded namespaces): TcpExtTCPSackRecovery 55 -> 0, TcpExtTCPRenoRecovery 0 -> 24";
    assert_eq!(line(&d), Some(told));
    assert_eq!(d.verdict.outcome, Outcome::Same);
    assert_eq!(d.counters.len(), 2);
    assert_eq!(line(&of(&b, &b)), None);
    // Of a recording five times as long, 24 are no more than the other may have missed: five are expected at least.
    let mut long = counted(&[("TCPRenoRecovery", 24)]);
    let start = long.capture.start_ns.unwrap();
    let length = long.capture.end_ns.unwrap() - start;
    long.capture.end_ns = Some(start + 5 * length);
    assert_eq!(of(&counted(&[]), &long).counters, []);
    long.capture.end_ns = Some(start + 4 * length);
    assert_eq!(of(&counted(&[]), &long).counters.len(), 1);
    assert_eq!(of(&counted(&[("TCPRenoRecovery", 4)]), &counted(&[])).counters, []);
    // Known of neither side, where one has no counters or the rise is not known.
    assert_eq!(line(&of(&b, &facts("kernel-6.1/netem.nmb"))), None);
    // Nothing of a namespace was read at the end: it may have counted anything.
    let mut torn = counted(&[("TCPRenoRecovery", 24)]);
    torn.counters.push(counter(3, "TCPSackRecovery", None));
    assert!(of(&b, &torn).counters.is_empty());
    let many: Vec<(&str, u64)> = [
        "ListenDrops",
        "ListenOverflows",
        "TCPLossProbes",
        "TCPLossUndo",
        "PruneCalled",
        "TCPTSReorder",
    ]
    .into_iter()
    .zip(10..)
    .collect();
    let d = of(&counted(&[]), &counted(&many));
    let rises: Vec<u64> = d.counters.iter().map(|c| c.after).collect();
    assert_eq!(rises, [15, 14, 13, 12, 11]);
}

#[test]
fn counters_say_nothing_of_a_part_of_a_recording() {
    let (b, a) = (counted(&[("TCPSackRecovery", 55)]), counted(&[]));
    let half = Some(Window {
        from_ns: 0,
        to_ns: 400_000_000,
    });
    for options in [
        DiffOptions {
            after_window: half,
            ..DiffOptions::default()
        },
        DiffOptions {
            devices: vec!["va".into()],
            ..DiffOptions::default()
        },
    ] {
        assert_eq!(compare(&[&b], &[&a], &options).counters, []);
    }
    assert_eq!(of(&b, &a).counters.len(), 1);
}

/// (before, out of, value after) of a rate.
fn rate(d: &Diff, metric: &str) -> (f64, f64, f64) {
    let r = d.rates.iter().find(|r| r.metric == metric).unwrap();
    (r.before.of, r.before.out_of, r.after.value)
}

/// `tcptrace` counted the packets of the sender's capture (`sample-data/sawtooth/tcptrace.txt`).
#[test]
fn retransmissions_are_of_data_and_not_of_acks_or_how_it_was_cut() {
    let (f, mut acks) = (facts("sawtooth/sawtooth.nmb"), facts("sawtooth/sawtooth.nmb"));
    let d = of(&f, &f);
    let (again, data, value) = rate(&d, "tcp.retransmits");
    assert_eq!(again, f.retransmits.len() as f64);
    // Independent: data packets in the capture, 8 + 8 + 2157 where a frame is one or more segments: not fewer than these.
    assert!(data >= 2_173.0, "{data}");
    let bytes: f64 =
        f.tx.iter()
            .filter(|t| t.kind == TxKind::Tcp)
            .filter_map(|t| t.bytes)
            .map(f64::from)
            .sum();
    // All of the payload in full segments, the last of each skb shorter; and what was sent again.
    let (full, rows) = (bytes / 1_448.0, f.tx.len() as f64);
    assert!(data >= full && data <= full + rows, "{data} {full} {rows}");
    // Twice the packets without data: the rate is the same, that of drops is not.
    let control: Vec<_> = acks
        .skbs
        .iter()
        .filter(|s| s.class.word() == "tx_other")
        .cloned()
        .collect();
    assert!(control.len() > 100);
    acks.skbs.extend(control);
    let more = of(&f, &acks);
    assert_eq!(rate(&more, "tcp.retransmits").2, value);
    // One skb of many segments or many of one: the same.
    let mut cut = facts("sawtooth/sawtooth.nmb");
    let whole = std::mem::take(&mut cut.tx);
    for row in whole {
        let (n, mut at) = (row.bytes.filter(|_| row.kind == TxKind::Tcp).unwrap_or(0), 0);
        while at < n {
            let mut part = row.clone();
            part.bytes = Some((n - at).min(1_448));
            at += 1_448;
            cut.tx.push(part);
        }
        if n == 0 {
            cut.tx.push(row);
        }
    }
    assert_eq!(rate(&of(&f, &cut), "tcp.retransmits").2, value);
}

/// Without an event, as if it had not been recorded.
fn without(f: &mut Facts, key: &str) {
    f.capture.events.remove(key);
    f.capture.enabled_events.iter_mut().for_each(|e| e.retain(|n| n != key));
}

#[test]
fn a_rate_needs_its_events_on_both_sides_and_its_total() {
    let (f, mut less) = (facts("sawtooth/sawtooth.nmb"), facts("sawtooth/sawtooth.nmb"));
    let has = |d: &Diff, metric: &str| d.rates.iter().any(|r| r.metric == metric);
    let why = |d: &Diff, metric: &str| {
        let of = d.withheld.iter().find(|w| w.metric == metric);
        of.map(|w| w.because.clone())
    };
    let both = of(&f, &f);
    for metric in ["tx.limited_by_cwnd", "tx.met_recovery"] {
        assert!(has(&both, metric), "{metric}: {:?}", both.rates);
    }
    // Without its events a stage is 0 of every unit.
    without(&mut less, "tcp:tcp_probe");
    without(&mut less, "tcp:tcp_retransmit_skb");
    let d = of(&f, &less);
    assert!(!has(&d, "tx.limited_by_cwnd") && !has(&d, "tx.met_recovery"));
    let probe = why(&d, "tx.limited_by_cwnd").unwrap();
    assert_eq!(probe, "tcp:tcp_probe was not recorded after");
    // Where the total is withheld nothing tells what the stage adds to it.
    let mut other = facts("sawtooth/sawtooth.nmb");
    other
        .tx
        .iter_mut()
        .for_each(|t| t.start = crate::reconstruct::transmit::tables::TxStart::Queue);
    let d = of(&f, &other);
    assert!(why(&d, "tx.total").is_some());
    assert_eq!(why(&d, "tx.met_recovery").as_deref(), Some("tx.total is not compared"));
}

#[test]
fn drops_are_not_counted_per_other_skbs() {
    let (f, mut less) = (facts("kernel-6.1/netem.nmb"), facts("kernel-6.1/netem.nmb"));
    let drops = |d: &Diff| d.rates.iter().filter(|r| r.metric.starts_with("drops.")).count();
    assert!(drops(&of(&f, &f)) > 0);
    without(&mut less, "skb:consume_skb");
    let d = of(&f, &less);
    assert_eq!(drops(&d), 0);
    let w = d.withheld.iter().find(|w| w.metric.starts_with("drops.")).unwrap();
    assert!(
        w.because
            .starts_with("skb:consume_skb was not recorded after: other skbs"),
        "{}",
        w.because
    );
}
