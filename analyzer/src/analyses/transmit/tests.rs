mod acks;
mod black_hole;
mod blocked;
mod by_hand;
mod classes;
mod corked;
mod inside_tcp;
mod named;
mod naps;
mod opened;
mod own_line;
mod peer;
mod rescaled;
mod vanished;

use super::Transmit;
use crate::Confidence::{self, Certain, Weak};
use crate::analyses::Outcome;
use crate::analyses::units::Units;
use crate::facts::{ConnectionId, Facts, Reason, SkbId};
use crate::name::Name;
use crate::reconstruct::receive::tables::Censored;
use crate::reconstruct::tcp::tables::RetransmitClass;
use crate::reconstruct::transmit::tables::{TxEnd, TxRow, TxStart};
use crate::reconstruct::transmit::{Stage, stages::StageTimes};

fn answer(facts: &Facts) -> Outcome<Transmit> {
    super::answer(facts, &Units::of(&facts.tx))
}

fn segment(n: u32, end: TxEnd, of: &[(Stage, i64)], confidence: Confidence) -> TxRow {
    let mut stages = StageTimes::default();
    for (s, v) in of {
        stages.set(*s, Some(*v));
    }
    TxRow {
        skb_id: SkbId(n),
        connection: Some(ConnectionId(3)),
        task: Name::new(b"curl"),
        pid: 7,
        start_ns: i64::from(n),
        total_ns: stages.sum() + 1,
        end,
        t_sched_ns: i64::from(n),
        stages,
        confidence,
        ..crate::testing::sent()
    }
}

#[test]
fn the_wait_that_holds_most_is_the_connections_top() {
    let mut f = Facts::empty();
    let lost = TxRow {
        retransmits: 1,
        ..segment(3, TxEnd::Acked, &[(Stage::Recovery, 60), (Stage::Network, 39)], Certain)
    };
    f.tx = vec![
        segment(0, TxEnd::Acked, &[(Stage::Cwnd, 300), (Stage::Network, 20)], Certain),
        segment(1, TxEnd::Acked, &[(Stage::Pacing, 100), (Stage::Network, 40)], Certain),
        segment(2, TxEnd::Acked, &[(Stage::Network, 70)], Weak),
        lost,
        segment(4, TxEnd::Open, &[(Stage::Cwnd, 100)], Certain),
    ];
    let Outcome::Findings(t) = answer(&f) else { panic!() };
    assert_eq!((t.acked, t.open, t.dropped), (4, 1, 0));
    let sum: f64 = t.stages.iter().map(|s| s.share).sum::<f64>() + t.unattributed.share;
    assert!((sum - 1.0).abs() < 1e-12, "{sum}");
    let c = &t.connections[0];
    assert_eq!((c.connection, c.segments, c.bytes, c.retransmits), (3, 5, 500, 1));
    let top = c.top.unwrap();
    assert_eq!((top.stage, top.ns), ("cwnd", 300));
    // Of the time before the device, open segments included: 400 and 100.
    assert_eq!(c.limiters, [("cwnd", 0.8), ("pacing", 0.2)]);
    // Neither the weak one nor the one sent twice says how long the way is.
    assert_eq!((c.rtt.n, c.rtt.min_ns, c.rtt.max_ns), (2, Some(20), Some(40)));
}

#[test]
fn nothing_sent_is_no_answer() {
    assert!(matches!(answer(&Facts::empty()), Outcome::Unknown(_)));
}

/// What was sent again and acknowledged, by why; one that is still open has no end.
#[test]
fn recovery_is_by_the_class_of_the_last_retransmission() {
    let again = |n, end, class, ns| TxRow {
        retransmits: 1,
        recovery_by: class,
        ..segment(n, end, &[(Stage::Recovery, ns)], Certain)
    };
    let mut f = Facts::empty();
    f.tx = vec![
        again(0, TxEnd::Acked, Some(RetransmitClass::Rto), 200_000_000),
        again(1, TxEnd::Acked, Some(RetransmitClass::Rto), 400_000_000),
        again(2, TxEnd::Acked, Some(RetransmitClass::Fast), 30_000_000),
        again(3, TxEnd::Acked, None, 7),
        again(4, TxEnd::Open, Some(RetransmitClass::Tlp), 9),
        segment(5, TxEnd::Acked, &[(Stage::Network, 20)], Certain),
    ];
    let Outcome::Findings(t) = answer(&f) else { panic!() };
    let of: Vec<_> = t.recovery.iter().map(|(class, d)| (*class, d.n, d.max_ns)).collect();
    let expect = [
        ("fast", 1, Some(30_000_000)),
        ("rto", 2, Some(400_000_000)),
        ("unknown", 1, Some(7)),
    ];
    assert_eq!(of, expect);
}

/// Without the events that tell of ACKs, nothing is said of times, and why.
#[test]
fn what_the_recording_lacks_is_said() {
    let mut f = Facts::empty();
    f.tx = vec![segment(0, TxEnd::Sent, &[], Certain)];
    // It was recorded, says the recorder: that there is none is news.
    f.capture.total_events = 1;
    f.capture.enabled_events = Some(vec!["tcp:tcp_probe".into()]);
    let line = |f: &Facts| {
        let lines = crate::analyses::answer(f).verdict;
        lines.into_iter().find(|l| l.subject == "transmit").unwrap()
    };
    assert_eq!(line(&f).tone, crate::analyses::verdict::Tone::Ok);
    let mut lacks = |subject, because: &str| {
        f.unknown.push(Reason {
            subject,
            because: because.into(),
        });
        line(&f)
    };
    // Neither says anything of ACKs.
    for (subject, because) in [
        ("rx", "tcp:tcp_probe has no format"),
        ("tx", "sock:sock_send_length has no format"),
    ] {
        assert_eq!(lacks(subject, because).tone, crate::analyses::verdict::Tone::Ok);
    }
    let said = lacks("tx", "tcp:tcp_probe has no format");
    assert_eq!(said.tone, crate::analyses::verdict::Tone::Unknown);
    let expect = "How long sent TCP segments took is not known, because tcp:tcp_probe has no format; 1 packet was queued on a device.";
    assert_eq!(
        said.sentence,
        expect.replace("1 packet was queued on a device", "0 packets were queued on devices")
    );
}

/// A format that nobody enabled tells of no ACK: that none was seen is no answer.
#[test]
fn acks_that_nobody_recorded_are_not_known() {
    let mut f = Facts::empty();
    f.tx = vec![segment(0, TxEnd::Open, &[], Certain)];
    f.capture.total_events = 1;
    let line = |f: &Facts| {
        let lines = crate::analyses::answer(f).verdict;
        lines.into_iter().find(|l| l.subject == "transmit").unwrap()
    };
    let said = line(&f);
    assert_eq!(said.tone, crate::analyses::verdict::Tone::Unknown);
    let expect = "How long sent TCP segments took is not known, because there is no tcp:tcp_probe in the recording, and \
                  nothing says that it was recorded; 1 packet was queued on a device.";
    assert_eq!(said.sentence, expect);
    // Recorded without the states of sockets: one that is closing would have no such event, and nobody knows which.
    f.capture.enabled_events = Some(vec!["tcp:tcp_probe".into()]);
    f.tx[0].censored = Some(Censored::End);
    f.tx[0].at_least_ns = Some(2_000_000_000);
    let blind = line(&f);
    let bound = blind.sentence.contains("2.000 s");
    assert_eq!((blind.tone, bound), (crate::analyses::verdict::Tone::Notice, false));
    // With them, and no ACK came for two seconds: something is wrong.
    f.capture.enabled_events = Some(vec!["tcp:tcp_probe".into(), "sock:inet_sock_set_state".into()]);
    let said = line(&f);
    assert_eq!(said.tone, crate::analyses::verdict::Tone::Bad);
    let words = "o TCP segment with payload was seen acknowledged from its start on, the oldest unanswered for at least 2.000 s";
    assert_eq!(said.sentence, format!("N{words}; 1 packet was queued on a device."));
    // Behind a colon, or others.
    assert_eq!(said.headline, format!("n{words}"));
    // Cut where it began (half a file): no bound is told, not one of 0.00 µs.
    f.tx[0].at_least_ns = Some(0);
    let words = "No TCP segment with payload was seen acknowledged from its start on; 1 packet was queued on a device.";
    assert_eq!(line(&f).sentence, words);
}

/// What held segments is judged by its share and by its size, and the connection and its limiter are named.
#[test]
fn the_limiter_is_named_when_it_matters() {
    let line = |held: i64, rest: i64| {
        let mut f = Facts::empty();
        let rows = (0..100).map(|n| segment(n, TxEnd::Acked, &[(Stage::Rwnd, held), (Stage::Network, rest)], Certain));
        f.tx = rows.collect();
        let lines = crate::analyses::answer(&f).verdict;
        lines.into_iter().find(|l| l.subject == "transmit").unwrap()
    };
    use crate::analyses::verdict::Tone;
    // 45 % of the time in the peer's window: 450 us of each segment.
    let said = line(450_000, 550_000);
    assert_eq!(said.tone, Tone::Notice);
    let expect = "; held p99 450.0 µs by this host or the peer's window, 45 % of their time; most held:  by the peer's \
                  receive window";
    assert!(said.sentence.contains(expect), "{}", said.sentence);
    // The same share of nothing; little of much; much of much.
    assert_eq!(line(45_000, 55_000).tone, Tone::Ok);
    assert_eq!(line(200_000, 900_000).tone, Tone::Ok);
    assert_eq!(line(1_000_000, 99_000_000).tone, Tone::Notice);
}

/// Rows with a lower bound only are in no percentile, and counted by why.
#[test]
fn what_is_only_bounded_is_in_no_percentile() {
    let mut f = Facts::empty();
    let of = |n, end, why| TxRow {
        censored: why,
        at_least_ns: why.map(|_| 500),
        ..segment(n, end, &[(Stage::Network, 1_000 * i64::from(n) + 20)], Certain)
    };
    f.tx = vec![
        of(0, TxEnd::Acked, None),
        of(1, TxEnd::Acked, Some(Censored::Start)),
        of(2, TxEnd::Acked, Some(Censored::Loss)),
        of(3, TxEnd::Open, Some(Censored::End)),
    ];
    let Outcome::Findings(t) = answer(&f) else { panic!() };
    assert_eq!((t.acked, t.total.all.n, t.total.all.max_ns), (1, 1, Some(21)));
    let excluded: Vec<_> = t.excluded.into_iter().collect();
    assert_eq!(excluded, [("censored_end", 1), ("censored_start", 1), ("loss", 1)]);
    assert_eq!((t.open, t.open_at_least_ns), (1, Some(500)));
    // 300 ns of it in the write queue, for its window: no ACK was to be had for it then.
    f.tx[3].t_sched_ns = f.tx[3].start_ns + 300;
    let Outcome::Findings(t) = answer(&f) else { panic!() };
    assert_eq!(t.open_at_least_ns, Some(200));
}

/// A time that does not start at the send call is not said to.
#[test]
fn the_line_says_where_the_time_starts() {
    let queued = |n| TxRow {
        start: TxStart::Queue,
        ..segment(n, TxEnd::Acked, &[(Stage::Network, 20)], Certain)
    };
    let said = |rows: Vec<TxRow>| {
        let mut f = Facts::empty();
        f.tx = rows;
        let lines = crate::analyses::answer(&f).verdict;
        lines.into_iter().find(|l| l.subject == "transmit").unwrap().sentence
    };
    let called = segment(9, TxEnd::Acked, &[(Stage::Network, 20)], Certain);
    assert!(said(vec![called.clone()]).contains(" after their send call began (n 1)"));
    let none = said(vec![queued(0), queued(1)]);
    assert!(
        none.contains(" after their first event (their send calls were not seen) (n 2)"),
        "{none}"
    );
    let some = said(vec![queued(0), called]);
    assert!(
        some.contains(" after their first event (of 1 of all 2 acknowledged: the send call) (n 2)"),
        "{some}"
    );
}

/// A segment whose beginning was not recorded has no whole time: it is in no percentile, no cell and no group. Its bytes were
/// under way all the same.
#[test]
fn what_is_not_whole_is_in_no_percentile_cell_or_group() {
    let mut f = Facts::empty();
    f.capture.start_ns = Some(0);
    f.capture.duration_ns = 10_000;
    let cut = TxRow {
        censored: Some(Censored::Start),
        ..segment(2, TxEnd::Acked, &[(Stage::Network, 5_000)], Certain)
    };
    f.tx = vec![segment(1, TxEnd::Acked, &[(Stage::Network, 50)], Certain), cut];
    let a = crate::analyses::answer(&f);
    let cells: u64 = a.over_time.transmit.iter().map(|c| c.count).sum();
    let groups: Vec<u64> = a.breakdown.transmit.iter().map(|k| k.groups[0].n).collect();
    let total = a.transmit.findings().unwrap().total.all.n;
    assert_eq!((total, cells, groups), (1, 1, vec![1; 4]));
    assert_eq!(a.over_time.unacknowledged.iter().max(), Some(&200));
}

/// Each part of the sentence is of the segments that its percentiles are of; what is said of others names them.
#[test]
fn the_sentence_speaks_of_one_population() {
    let ms = 1_000_000;
    let line = |tx: Vec<TxRow>| {
        let mut f = Facts::empty();
        f.tx = tx;
        let lines = crate::analyses::answer(&f).verdict;
        lines.into_iter().find(|l| l.subject == "transmit").unwrap().sentence
    };
    let quick = |n| segment(n, TxEnd::Acked, &[(Stage::Network, 99_999)], Certain);
    let held = |n, sure| {
        segment(
            n,
            TxEnd::Acked,
            &[(Stage::Cwnd, 76 * ms), (Stage::Network, 4 * ms - 1)],
            sure,
        )
    };
    // Ten certain ones in 100 us each, one weak one held for 76 of 80 ms: of all eleven 76 of 81 ms are 94 %.
    let mut mixed: Vec<TxRow> = (0..10).map(quick).collect();
    mixed.push(held(10, Weak));
    let s = line(mixed);
    assert!(
        s.contains("p99 100.0 µs, max 100.0 µs after their send call began (n 10); 100 % of that time"),
        "{s}"
    );
    let expect =
        "; with the less certain ones (n 11): held p99 76.00 ms by this host or the peer's window, 94 % of their time";
    assert!(s.contains(expect), "{s}");
    assert!(s.contains("1 less certain, max with these 80.00 ms"), "{s}");
    // Held among the certain ones: of these, whatever the others did.
    let s = line(vec![quick(0), held(1, Certain), held(2, Weak)]);
    let expect = "; held p99 76.00 ms by this host or the peer's window, 95 % of their time";
    assert!(
        s.contains(expect) && !s.contains("with the less certain ones (n"),
        "{s}"
    );
    // None certain: the stage's share is of those there are, not 0 %.
    let s = line(vec![held(0, Weak), held(1, Weak)]);
    assert!(s.contains("(n 2); 95 % of that time") && !s.contains("; 0 %"), "{s}");
}

/// A queue is named by its device and qdisc, with the time that packets waited in it and what it gave away meanwhile: two of 1,250
/// bytes in 2 ms are 10 Mbit/s. What bypassed the qdisc lay in no queue.
#[test]
fn the_longest_queue_is_named_with_its_rate() {
    let pass = |queued: i64, started: i64, bypass: bool| crate::reconstruct::xmits::Pass {
        dev: crate::name::Name::new(b"c0"),
        qdisc: crate::name::Name::new(b"tbf"),
        bypass: Some(bypass),
        bytes: Some(1250),
        queued_ns: Some(queued),
        started_ns: Some(started),
        ..crate::testing::pass()
    };
    let mut f = Facts::empty();
    f.tx = vec![segment(0, TxEnd::Acked, &[(Stage::Qdisc, 2_000_000)], Certain)];
    f.xmits = vec![
        pass(0, 1_000_000, false),
        pass(500_000, 2_000_000, false),
        pass(0, 9_000_000, true),
    ];
    let answers = crate::analyses::answer(&f);
    let q = &answers.transmit.findings().unwrap().queues[0];
    assert_eq!(
        (q.dev.as_str(), q.qdisc.as_str(), q.bytes, q.busy_ns),
        ("c0", "tbf", Some(2500), Some(2_000_000))
    );
    assert_eq!(
        (q.wait.n, q.wait.max_ns, q.mbit_per_s()),
        (2, Some(1_500_000), Some(10.0))
    );
    let line = answers.verdict.iter().find(|l| l.subject == "transmit").unwrap();
    assert!(
        line.sentence.contains("longest queue: c0 (tbf), packets waited in it p99 1.50 ms, max 1.50 ms (n 2), gave 10 Mbit/s while it held any"),
        "{}",
        line.sentence
    );
}

/// A write for each byte, one way; a request of a byte that waits for its answer each time is none of it.
#[test]
fn next_to_nothing_in_each_segment_is_told() {
    let sent = |n: u32| TxRow {
        bytes: Some(if n.is_multiple_of(20) { 900 } else { 1 }),
        t_sched_ns: i64::from(n) * 1_000_000,
        ..segment(n, TxEnd::Acked, &[(Stage::Network, 20)], Certain)
    };
    let mut f = Facts::empty();
    f.tx = (0..1001).map(sent).collect();
    // Whether anybody waits for answers is known where reads are recorded.
    let Outcome::Findings(t) = answer(&f) else { panic!() };
    assert_eq!(t.tiny, None);
    f.capture.events.insert("skb:skb_copy_datagram_iovec".into(), 1);
    let tiny = answer(&f).findings().unwrap().tiny.clone().unwrap();
    assert_eq!((tiny.segments, tiny.p50_bytes, tiny.per_s), (1001, 1, 1001.0));
    let answered = |n: i64| crate::reconstruct::application::tables::ResponseRow {
        task: Name::new(b"curl"),
        ..crate::testing::answered(3, n, 2)
    };
    f.responses = (0..900).map(answered).collect();
    let Outcome::Findings(t) = answer(&f) else { panic!() };
    assert_eq!(t.tiny, None);
    // Few, or slow: nobody minds.
    (f.responses, _) = (vec![], f.tx.truncate(400));
    let Outcome::Findings(t) = answer(&f) else { panic!() };
    assert_eq!(t.tiny, None);
}
