//! Data sent again, and round trips to hosts outside: a real recording of a transfer through a queue, and the same with what a
//! policer in the queue's place does.

use super::samples::{facts, of};
use crate::diff::{Diff, Metric, Outcome, Rate};
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::transmit::tables::TxKind;
use crate::stat::nearest_rank;

/// The connection of the transfer, sample-data/sawtooth/PROVENANCE.md.
const BULK: ConnectionId = ConnectionId(2);
const RETRANSMITS: &str = "tcp.retransmits";
const RTT: &str = "tcp.rtt[10.77.2.1]";

fn sawtooth() -> Facts {
    facts("sawtooth/sawtooth.nmb")
}

/// As if only the sender's host had been recorded: no socket has the peer's address.
fn outside(mut f: Facts) -> Facts {
    for c in f.connections.iter_mut().filter(|c| c.sport == 5201) {
        c.saddr = None;
    }
    f
}

/// Each second packet of a connection sent again, just before its ACK; how many.
fn sent_again(f: &mut Facts, connection: ConnectionId) -> usize {
    let row = f.retransmits[0].clone();
    let acked =
        f.tx.iter()
            .filter(|r| r.connection == Some(connection) && r.kind == TxKind::Tcp);
    let times: Vec<i64> = acked.filter_map(|r| r.t_ack_ns).step_by(2).collect();
    for t in &times {
        let mut again = row.clone();
        (again.time_ns, again.connection, again.segments) = (t - 1_000, Some(connection), Some(1));
        f.retransmits.push(again);
    }
    times.len()
}

/// The program wrote all of it at once, which leaves as before: a large send buffer.
fn written_at_once(f: &mut Facts) {
    let all = || f.tx.iter().filter(|r| r.connection == Some(BULK));
    let first = all().map(|r| r.start_ns).min().unwrap();
    for r in f.tx.iter_mut().filter(|r| r.connection == Some(BULK)) {
        r.start_ns = first;
    }
}

fn rate<'d>(d: &'d Diff, metric: &str) -> &'d Rate {
    d.rates.iter().find(|r| r.metric == metric).unwrap()
}

fn rtt(d: &Diff) -> Option<&Metric> {
    d.metrics.iter().find(|m| m.metric == RTT)
}

/// A segment counts when it is acknowledged: when its program wrote it says nothing.
#[test]
fn what_is_sent_again_is_found_however_it_was_written() {
    let (f, mut lossy) = (sawtooth(), sawtooth());
    let n = sent_again(&mut lossy, BULK);
    written_at_once(&mut lossy);
    let d = of(&f, &lossy);
    let r = rate(&d, RETRANSMITS);
    assert_eq!((r.before.of, r.after.of), (11.0, 11.0 + n as f64));
    assert_eq!(r.outcome, Outcome::Worse, "{r:?}");
    // Its data is that of one service, which is not compared a second time.
    assert!(!d.rates.iter().any(|r| r.metric.starts_with("tcp.retransmits[")));
    let told = &d.verdict.sentence;
    let says = format!("Sent again to 10.77.2.1:5201: 11 -> {} segments (", 11 + n);
    assert!(told.contains(&says), "{told}");
    // The peer is in the recording: where it was lost needs no guess, and its way is in the ledgers.
    assert!(!told.contains("inferred") && !told.contains("round trip"), "{told}");
    assert!(rtt(&d).is_none());
}

/// Segments are counted by the size of full ones: with small ones parts of all are not told.
#[test]
fn the_part_of_all_is_told_of_full_segments_only() {
    let said = |bytes: Option<u32>| {
        let (mut f, mut lossy) = (sawtooth(), sawtooth());
        sent_again(&mut lossy, BULK);
        for f in [&mut f, &mut lossy] {
            for r in &mut f.retransmits {
                (r.bytes, r.segments) = (bytes, Some(1));
            }
        }
        of(&f, &lossy).verdict.sentence
    };
    let full = said(Some(1_514));
    assert!(full.contains("% of all that it sent"), "{full}");
    for bytes in [None, Some(602), Some(9_014)] {
        let told = said(bytes);
        assert!(told.contains("Sent again to ") && !told.contains("% of all"), "{told}");
    }
}

#[test]
fn inner_times_do_not_lead() {
    let (f, mut lossy) = (sawtooth(), sawtooth());
    sent_again(&mut lossy, BULK);
    for r in &mut lossy.tx {
        (r.unattributed_ns, r.total_ns) = (r.unattributed_ns + 400_000_000, r.total_ns + 400_000_000);
    }
    let d = of(&f, &lossy);
    let lines: Vec<&str> = d.verdict.lines.iter().map(|l| l.1.as_str()).collect();
    let at = |what: &str| lines.iter().position(|l| l.starts_with(what)).unwrap();
    assert_eq!(at(RETRANSMITS), 0, "{lines:?}");
    assert!(at("tx.total ") < at("tx.unattributed "), "{lines:?}");
    assert!(d.verdict.sentence.starts_with("Sent again to "), "{:?}", d.verdict);
}

#[test]
fn shorter_lives_inside_are_no_improvement() {
    let (mut f, g) = (sawtooth(), sawtooth());
    for s in &mut f.skbs {
        s.death_ns = s.death_ns.map(|t| s.birth_ns + 8 * (t - s.birth_ns));
    }
    let d = of(&f, &g);
    let inner = d.metrics.iter().filter(|m| m.outcome == Outcome::Better);
    assert!(inner.clone().count() > 0 && inner.clone().all(|m| m.which.ledger == "lifetime"));
    assert_eq!(d.verdict.outcome, Outcome::Changed, "{:?}", d.verdict);
    assert_eq!(of(&g, &f).verdict.outcome, Outcome::Worse);
}

#[test]
fn whose_data_is_sent_again() {
    // Every other packet is of a second connection, to another port.
    let two = || {
        let mut f = sawtooth();
        let mut row = f.connections[BULK.0 as usize].clone();
        row.connection = ConnectionId(f.connections.len() as u32);
        (row.sport, row.dport) = (40_000, 9_000);
        for r in f.tx.iter_mut().filter(|r| r.connection == Some(BULK)).step_by(2) {
            r.connection = Some(row.connection);
        }
        let other = row.connection;
        f.connections.push(row);
        (f, other)
    };
    let ((mut f, _), (mut lossy, other)) = (two(), two());
    let n = sent_again(&mut lossy, other);
    f.retransmits.clear();
    lossy.retransmits.retain(|r| r.connection == Some(other));
    let d = of(&f, &lossy);
    let r = rate(&d, "tcp.retransmits[to 10.77.2.1:9000]");
    assert_eq!((r.before.of, r.after.of, r.outcome), (0.0, n as f64, Outcome::Worse));
    assert!(!d.rates.iter().any(|r| r.metric == "tcp.retransmits[to 10.77.2.1:5201]"));
    let told = &d.verdict.sentence;
    assert!(
        told.contains(&format!("Sent again to 10.77.2.1:9000: 0 -> {n} segments")),
        "{told}"
    );
    assert_eq!(told.matches("Sent again").count(), 1, "{told}");
    // And back.
    let back = of(&lossy, &f);
    assert_eq!(rate(&back, &r.metric).outcome, Outcome::Better);
}

/// The median from the rows alone.
fn median(f: &Facts) -> i64 {
    let under_way = |s: &&crate::reconstruct::tcp::tables::SampleRow| s.snd_nxt.wrapping_sub(s.snd_una) > 2 * 1448;
    let of = f.tcp_samples.iter().filter(|s| s.connection == BULK && s.srtt_us > 0);
    let mut all: Vec<i64> = of.filter(under_way).map(|s| i64::from(s.srtt_us) * 1_000).collect();
    nearest_rank(&mut all, 50).unwrap()
}

/// A policer in place of the queue: no waiting, and losses that this host does not see.
fn policed() -> Facts {
    let mut f = outside(sawtooth());
    let least = f
        .tcp_samples
        .iter()
        .map(|s| s.srtt_us)
        .filter(|us| *us > 0)
        .min()
        .unwrap();
    for s in &mut f.tcp_samples {
        s.srtt_us = s.srtt_us.min(least);
    }
    sent_again(&mut f, BULK);
    f.drops.clear();
    f.counters
        .retain(|c| !["drop", "err"].iter().any(|w| c.name.contains(w)));
    f
}

#[test]
fn a_queue_that_became_a_policer_is_inferred() {
    let (queue, mut policer) = (outside(sawtooth()), policed());
    let d = of(&queue, &policer);
    let m = rtt(&d).unwrap();
    let s = &m.shifts[0];
    assert_eq!((s.before, s.after), (median(&queue), median(&policer)));
    assert_eq!((s.outcome, d.verdict.outcome), (Outcome::Better, Outcome::Worse));
    let told = &d.verdict.sentence;
    assert!(told.starts_with("Sent again to 10.77.2.1:5201: 11 -> "), "{told}");
    let says = "before it waited in a queue on the way, after it waits less and is lost on the way (inferred: nothing was dropped by this host)";
    assert!(told.contains(says) && told.contains(", its round trip p50 "), "{told}");
    assert!(!told.contains("Round trips to"), "told twice: {told}");
    // And back: what is said of losses is of the side that had them.
    let back = of(&policer, &queue).verdict.sentence;
    let says = "before it was lost on the way, after it waits in a queue there (inferred: nothing was dropped by this host before)";
    assert!(back.contains(says), "{back}");
    // This host dropped as many: then nothing is inferred.
    let row = sawtooth()
        .drops
        .into_iter()
        .find(|d| d.expected == Some(false))
        .unwrap();
    let times: Vec<i64> = policer.retransmits.iter().map(|r| r.time_ns).collect();
    policer.drops = times
        .into_iter()
        .map(|time_ns| crate::reconstruct::drops::tables::DropRow { time_ns, ..row.clone() })
        .collect();
    let told = of(&queue, &policer).verdict.sentence;
    assert!(told.contains("Sent again to ") && !told.contains("inferred"), "{told}");
}

#[test]
fn a_longer_way_alone_is_said() {
    let (f, mut far) = (outside(sawtooth()), outside(sawtooth()));
    for s in &mut far.tcp_samples {
        s.srtt_us *= 3;
    }
    let d = of(&f, &far);
    assert_eq!(
        (rtt(&d).unwrap().outcome, d.verdict.outcome),
        (Outcome::Worse, Outcome::Worse)
    );
    let says = "Round trips to 10.77.2.1, while data is under way, take longer: p";
    assert!(d.verdict.sentence.starts_with(says), "{:?}", d.verdict);
    assert_eq!("tcp.rtt".parse::<crate::diff::Rules>().unwrap().broken(&d).len(), 1);
    assert_eq!(rtt(&of(&f, &f)).unwrap().outcome, Outcome::Same);
    // What a congestion window does in its own cycle is no other way.
    let mut swells = outside(sawtooth());
    for s in &mut swells.tcp_samples {
        s.srtt_us = s.srtt_us * 3 / 2;
    }
    let m = of(&f, &swells);
    let m = rtt(&m).unwrap();
    assert_eq!((m.outcome, m.shifts[0].significant), (Outcome::Same, true));
    // Of pseudonyms nothing.
    far.capture.part.redacted = true;
    let d = of(&f, &far);
    assert!(rtt(&d).is_none() && d.withheld.iter().any(|w| w.metric == RTT));
}
