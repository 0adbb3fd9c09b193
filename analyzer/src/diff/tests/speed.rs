//! How fast bulk data go through, against iperf3's own figures (sample-data/sawtooth/PROVENANCE.md).

use super::samples::{facts, of};
use crate::diff::{Kind, Outcome, Rate};
use crate::facts::Facts;

fn speed(d: &crate::diff::Diff) -> &Rate {
    let mut of = d.rates.iter().filter(|r| r.kind == Kind::Speed);
    let one = of.next().unwrap();
    assert!(of.next().is_none(), "one bulk transfer: {:?}", d.rates);
    one
}

/// The recording, its data `times` as large: as many segments in the same time.
fn scaled(times: f64) -> Facts {
    let mut f = facts("sawtooth/sawtooth.nmb");
    for r in &mut f.tx {
        r.bytes = r.bytes.map(|b| (f64::from(b) * times) as u32);
    }
    f
}

#[test]
fn the_speed_is_what_iperf3_measured() {
    let f = facts("sawtooth/sawtooth.nmb");
    let d = of(&f, &f);
    let r = speed(&d);
    assert_eq!(r.metric, "tcp.speed[to 10.77.2.1:5201]");
    // 9.25 MBytes sent in 4.00 s, 9.16 received in 4.02: 19.4 and 19.1 Mbit/s of 2^20 bytes.
    let mbit_s = r.before.value * 8.0 / 1e6;
    assert!((19.0..19.5).contains(&mbit_s), "{mbit_s}");
    assert!((r.before.of - 9.16 * 1_048_576.0).abs() < 100_000.0, "{:?}", r.before);
    assert_eq!(r.outcome, Outcome::Same);
}

#[test]
fn slower_is_worse_and_faster_is_better() {
    let (slow, fast) = (scaled(0.5), scaled(1.0));
    let d = of(&fast, &slow);
    assert_eq!((speed(&d).outcome, d.verdict.outcome), (Outcome::Worse, Outcome::Worse));
    let says = "What is sent to 10.77.2.1:5201 goes through slower: 19 Mbit/s -> 9.6 Mbit/s while there is some; held ";
    assert!(d.verdict.sentence.starts_with(says), "{}", d.verdict.sentence);
    assert!(
        d.verdict
            .sentence
            .contains(" of its time by its congestion window before, ")
    );
    let rule = |text: &str| text.parse::<crate::diff::Rules>().unwrap().broken(&d);
    assert_eq!(rule("tcp.speed>40%").len(), 1);
    assert_eq!(rule("tcp.speed>60%"), [""; 0]);
    let d = of(&slow, &fast);
    assert_eq!(speed(&d).outcome, Outcome::Better);
    assert!(
        d.verdict.sentence.contains("goes through faster: "),
        "{}",
        d.verdict.sentence
    );
    assert_eq!(
        "tcp.speed>1%".parse::<crate::diff::Rules>().unwrap().broken(&d),
        [""; 0]
    );
}

/// A tenth less is below the threshold, and of less than a megabyte nothing is said.
#[test]
fn what_is_little_is_not_said() {
    let d = of(&scaled(1.0), &scaled(0.9));
    assert_eq!(speed(&d).outcome, Outcome::Same);
    let little = scaled(0.1);
    let d = of(&little, &little);
    assert!(d.rates.iter().all(|r| r.kind != Kind::Speed), "{:?}", d.rates);
}

/// The transfer on so many connections, one segment of the others' after the other, each of them under way all the time.
fn spread(mut f: Facts, connections: u32) -> Facts {
    let rows =
        f.tx.iter()
            .filter(|t| t.t_ack_ns.is_some() && t.bytes.is_some_and(|n| n > 0));
    let bulk = rows.max_by_key(|t| t.total_ns).unwrap().connection.unwrap();
    let first = f.connections.len() as u32;
    for c in first..first + connections {
        let mut row = f.connections[bulk.0 as usize].clone();
        (row.connection, row.sport) = (crate::facts::ConnectionId(c), row.sport + c as u16);
        f.connections.push(row);
        let spent = f.spent[&bulk];
        f.spent.insert(crate::facts::ConnectionId(c), spent);
    }
    for (at, t) in f.tx.iter_mut().filter(|t| t.connection == Some(bulk)).enumerate() {
        t.connection = Some(crate::facts::ConnectionId(first + at as u32 % connections));
    }
    f
}

#[test]
fn more_connections_at_once_that_carry_more_are_no_improvement() {
    let (one, four) = (spread(scaled(0.5), 1), spread(scaled(1.0), 4));
    let d = of(&one, &four);
    let r = speed(&d);
    let (b, a) = r.at_once.unwrap();
    assert!((b - 1.0).abs() < 0.01 && a > 1.5, "{b} {a}");
    assert_eq!((r.outcome, d.verdict.outcome), (Outcome::Changed, Outcome::Changed));
    let says = format!(
        " on {b:.1} -> {a:.1} connections at once (mean): that may be why, and is neither better nor worse; held"
    );
    assert!(d.verdict.sentence.contains(&says), "{}", d.verdict.sentence);
    assert_eq!(speed(&of(&four, &one)).outcome, Outcome::Changed);
    // More of them that carry less are worse all the more.
    let d = of(&spread(scaled(1.0), 1), &spread(scaled(0.5), 4));
    assert_eq!(speed(&d).outcome, Outcome::Worse);
}
