use super::{Level, answer};
use crate::facts::Facts;
use crate::ingest::{GapRow, Severity, StatRow, StreamInfo};

/// A complete capture of 1000 events on two CPUs.
fn whole() -> Facts {
    let mut f = Facts::empty();
    let c = &mut f.capture;
    (c.total_events, c.complete, c.clock_is_ns, c.cpus) = (1_000, true, true, 2);
    (c.start_ns, c.end_ns, c.duration_ns) = (Some(0), Some(1_000), 1_000);
    c.streams = [(1_000, true), (70, false)]
        .map(|(events, used)| StreamInfo {
            events,
            used,
            ..Default::default()
        })
        .to_vec();
    f
}
fn level(change: impl FnOnce(&mut Facts)) -> Level {
    let mut f = whole();
    change(&mut f);
    answer(&f).level
}

#[test]
fn levels() {
    assert_eq!(level(|_| {}), Level::Good);
    assert_eq!(level(|f| f.capture.streams[0].lost_events = 9), Level::Degraded);
    assert_eq!(level(|f| f.capture.streams[0].lost_events = 11), Level::Bad); // 11 / 1011 > 1 %
    assert_eq!(
        level(|f| f.capture.streams[0].losses_of_unknown_size = 1),
        Level::Degraded
    );
    assert_eq!(level(|f| f.capture.complete = false), Level::Bad);
    assert_eq!(level(|f| f.capture.clock_is_ns = false), Level::Bad);
    assert_eq!(level(|f| f.capture.total_events = 0), Level::Bad);
    // A ring buffer that no answer uses may lose what it likes.
    assert_eq!(level(|f| f.capture.streams[1].lost_events = 500), Level::Good);
    // A loss that may be of this time, and may not.
    assert_eq!(level(|f| f.capture.lost_at_unknown_time = u64::MAX), Level::Degraded);
    // A loss does not make what is bad already merely degraded.
    let both = |f: &mut Facts| (f.capture.complete, f.capture.streams[0].lost_events) = (false, 1);
    assert_eq!(level(both), Level::Bad);
}

#[test]
fn the_sentence_says_every_reason() {
    let mut f = whole();
    let said = answer(&f).sentence;
    assert_eq!(
        said,
        "Complete: no event was lost, every stream was read to its end. How far the CPUs' clocks are apart is not known: \
         intervals between CPUs have no error bar."
    );
    f.capture.lost_at_unknown_time = 1;
    let said = answer(&f).sentence;
    let why = "Mind that of 1 event that the kernel counted as lost it is not known whether they are of this time.";
    assert!(said.starts_with(why), "{said}");
    f.capture.lost_at_unknown_time = 0;
    f.capture.streams[1].lost_events = 3;
    let said = answer(&f).sentence;
    assert!(said.starts_with("Complete in what the answers use; a ring buffer that none uses lost events."));
    f.capture.streams[1].lost_events = 0;
    let used = &mut f.capture.streams[0];
    (used.lost_events, used.losses_of_unknown_size) = (5, 2);
    f.capture.complete = false;
    f.capture.clock_is_ns = false;
    f.capture.clock = "counter".into();
    let s = answer(&f).sentence;
    for part in ["5 events", "2 losses of unknown size", "cut or damaged", "'counter'"] {
        assert!(s.contains(part), "{part} in {s}");
    }
}

/// Open ends reach to the capture's ends; shares are of CPU time and never exceed 1.
#[test]
fn gap_share_is_of_cpu_time() {
    let gap = |start_ns, end_ns| GapRow {
        cpu: 0,
        start_ns,
        end_ns,
        lost_events: None,
        cause: "overrun",
    };
    let share = |gaps| {
        let mut f = whole();
        f.gaps = gaps;
        answer(&f).gap_share
    };
    assert_eq!(share(vec![gap(Some(100), Some(300))]), 0.1);
    assert_eq!(share(vec![gap(None, Some(200)), gap(Some(900), None)]), 0.15);
    assert_eq!(share(vec![gap(Some(500), Some(400))]), 0.0);
    assert_eq!(share(vec![gap(None, None); 5]), 1.0);
}

#[test]
fn counters_of_zero_are_left_out() {
    let stat = |name, value| StatRow {
        name,
        value,
        severity: Severity::Info,
        advice: "",
    };
    let mut f = whole();
    f.stats = vec![stat("a", 0), stat("b", 3)];
    let names: Vec<_> = answer(&f).stats.iter().map(|s| s.name).collect();
    assert_eq!(names, ["b"]);
}

/// Statistics in a capture are a claim: any number, of any stream, must do.
#[test]
fn losses_beyond_counting_are_bad_and_no_overflow() {
    let mut f = whole();
    for s in &mut f.capture.streams {
        (s.lost_events, s.losses_of_unknown_size) = (u64::MAX, 1);
    }
    let long = GapRow {
        cpu: 0,
        start_ns: Some(0),
        end_ns: Some(i64::MAX),
        lost_events: None,
        cause: "overrun",
    };
    f.gaps = vec![long.clone(), long];
    let q = answer(&f);
    assert_eq!((q.level, q.lost_share, q.gap_share), (Level::Bad, 1.0, 1.0));
}

/// Balances that can be trusted differently are not added up; differences never cancel.
#[test]
fn bytes_and_links_are_summed_by_kind_and_confidence() {
    use crate::Confidence::{self, Strong, Unknown, Weak};
    use crate::facts::{ConnectionId, SkbId};
    use crate::reconstruct::balances::tables::{BalanceKind, BalanceRow};
    use crate::reconstruct::lineage::tables::{Conserved, LineageKind, LineageRow, Rule};
    let balance = |n, found, confidence: Confidence, because| BalanceRow {
        kind: BalanceKind::TxPayload,
        connection: Some(ConnectionId(n)),
        bytes_expected: 1_000,
        bytes_found: found,
        unexplained_bytes: found.abs_diff(1_000),
        units: 10,
        matched: 9,
        confidence,
        because,
    };
    let edge = |kind, conserved, confidence| LineageRow {
        ts_ns: 0,
        parent: SkbId(0),
        child: SkbId(1),
        kind,
        rule: Rule::GroExit,
        bytes: None,
        conserved,
        why: crate::reconstruct::lineage::Why::default(),
        confidence,
    };
    let mut f = whole();
    f.balances = vec![
        balance(0, 900, Strong, "a frame is missing"),
        balance(1, 1_100, Strong, "a frame is missing"),
        balance(2, 0, Unknown, "events were lost"),
    ];
    f.lineage = vec![
        edge(LineageKind::Fclone, Conserved::Yes, Strong),
        edge(LineageKind::GroMerge, Conserved::No, Weak),
        edge(LineageKind::GroMerge, Conserved::Unknown, Strong),
    ];
    let q = answer(&f);
    let of: Vec<_> = q
        .balances
        .iter()
        .map(|b| {
            (
                b.confidence,
                b.units,
                b.bytes_expected,
                b.bytes_found,
                b.unexplained_bytes,
            )
        })
        .collect();
    assert_eq!(
        of,
        [("strong", 20, 2_000, 2_000, 200), ("unknown", 10, 1_000, 0, 1_000)]
    );
    assert_eq!(q.balances[0].because, ["a frame is missing"]);
    let of: Vec<_> = q
        .links
        .iter()
        .map(|l| (l.kind, l.edges, l.not_conserved, l.not_comparable))
        .collect();
    assert_eq!(of, [("gro_merge", 2, 1, 1), ("fclone", 1, 0, 0)]);
    assert_eq!(
        (q.links[0].by_confidence["strong"], q.links[0].by_confidence["weak"]),
        (1, 1)
    );
}

/// Packets that were queued, whose address another packet has now, and that neither left nor were dropped, though nothing is told as lost.
#[test]
fn packets_without_an_end_tell_of_events_that_are_missing() {
    use crate::reconstruct::skb::tables::DeathKind;
    use crate::reconstruct::xmits::Pass;
    use crate::reconstruct::xmits::tables::PassEnd;
    let with = |open: usize, change: &dyn Fn(&mut Facts)| {
        let mut f = whole();
        f.capture.format = "perf.data".into();
        for event in ["net:net_dev_start_xmit", "skb:kfree_skb", "skb:consume_skb"] {
            f.capture.events.insert(event.into(), 1);
        }
        for n in 0..1000 {
            let mut life = crate::testing::life(n as u32);
            life.death_kind = DeathKind::Unseen;
            f.skbs.push(life);
            f.xmits.push(Pass {
                skb_id: Some(crate::facts::SkbId(n as u32)),
                dev: crate::name::Name::new(b"wan0"),
                queued_ns: Some(n as i64),
                end: if n < open { PassEnd::Open } else { PassEnd::Sent },
                ..crate::testing::pass()
            });
        }
        change(&mut f);
        answer(&f)
    };
    let q = with(400, &|_| {});
    assert_eq!(q.level, Level::Bad);
    assert_eq!(
        q.untold.map(|u| (u.dev, u.packets, u.of)),
        Some(("wan0".into(), 400, 1000))
    );
    let says = "Mind that 400 of 1000 packets queued on wan0 were never seen to leave it, nor to be dropped: events are missing that are not told as lost (of ";
    assert!(q.sentence.starts_with(says), "{}", q.sentence);
    assert_eq!(with(50, &|_| {}).level, Level::Degraded);
    // A few; a device that stands still, whose packets lie there at the end; a loss that is told; without the frees; a recorder that was asked for some
    // CPUs or devices only.
    type Change<'c> = &'c dyn Fn(&mut Facts);
    let others: [(usize, Change<'_>); 5] = [
        (9, &|_| {}),
        (400, &|f| {
            (f.skbs.iter_mut()).for_each(|l| l.death_kind = DeathKind::CensoredEnd);
        }),
        (400, &|f| {
            f.gaps.push(GapRow {
                cpu: 0,
                start_ns: Some(1),
                end_ns: Some(2),
                lost_events: Some(3),
                cause: "overrun",
            })
        }),
        (400, &|f| {
            f.capture.events.remove("skb:consume_skb");
        }),
        (400, &|f| f.capture.format = "bundle".into()),
    ];
    for (open, change) in others {
        assert_eq!(with(open, change).untold, None);
    }
}

/// Packets that a capture beside the events lost are not of the events.
#[test]
fn packets_that_a_tap_lost_are_said_with_their_share() {
    let mut f = whole();
    let tap = |name: &str, packets, dropped| crate::ingest::TapInfo {
        name: name.into(),
        packets,
        dropped,
    };
    f.capture.taps = vec![tap("eth0", 500, 0)];
    assert_eq!(answer(&f).level, Level::Good);
    // As tcpdump's own counters said it of one: 365,713 received, 258,357 dropped.
    f.capture.taps = vec![tap("eth0", 500, 0), tap("s4v1", 107_356, 258_357)];
    let said = answer(&f);
    assert_eq!(said.level, Level::Degraded);
    let why = "Mind that the capture of packets on s4v1 lost 258357 of 365713 (70.6 %): a larger --pcap-buffer loses fewer; of the events none was lost.";
    assert!(said.sentence.starts_with(why), "{}", said.sentence);
    f.capture.streams[0].lost_events = 9;
    f.capture.taps.push(tap("eth1", 1, 1));
    let said = answer(&f).sentence;
    assert!(
        said.contains("9 events were lost (0.892 % of all); the capture of packets on s4v1"),
        "{said}"
    );
    assert!(said.contains("(70.6 %), 1 other interface too: a larger"), "{said}");
}

/// Bytes that do not add up are a loss of truth of a whole recording: said with kind, share and bytes, in the colour of such a loss.
#[test]
fn unexplained_bytes_are_said_with_their_kind_and_share() {
    use crate::Confidence::{self, Strong, Unknown, Weak};
    use crate::reconstruct::balances::tables::{BalanceKind, BalanceRow};
    let rows_of = |rows: &[(BalanceKind, u64, u64, Confidence)]| -> Vec<BalanceRow> {
        let row = |(kind, expected, apart, confidence): &(BalanceKind, u64, u64, Confidence)| BalanceRow {
            kind: *kind,
            connection: None,
            bytes_expected: *expected,
            bytes_found: expected.saturating_sub(*apart),
            unexplained_bytes: *apart,
            units: 1,
            matched: 0,
            confidence: *confidence,
            because: "",
        };
        rows.iter().map(row).collect()
    };
    let with = |rows: &[(BalanceKind, u64, u64, Confidence)]| {
        let mut f = whole();
        f.balances = rows_of(rows);
        answer(&f)
    };
    let (fifo, sent) = (BalanceKind::CoalesceFifo, BalanceKind::TxPayload);
    // One socket of two: 0.5 % of all is not above it. What cannot be judged is not.
    let q = with(&[
        (fifo, 1_000, 10, Strong),
        (fifo, 1_000, 0, Strong),
        (sent, 10, 10, Unknown),
    ]);
    assert_eq!((q.level, q.unexplained.len()), (Level::Good, 0));
    let q = with(&[
        (fifo, 1_000, 11, Strong),
        (fifo, 1_000, 0, Weak),
        (sent, 1_000, 0, Strong),
    ]);
    assert_eq!(q.level, Level::Degraded);
    let says = "Mind that 11 of 2000 bytes (0.55 %) do not add up in: what TCP received = read + waiting (coalesce_fifo); of the events none was lost.";
    assert!(q.sentence.starts_with(says), "{}", q.sentence);
    let of: Vec<_> = q
        .unexplained
        .iter()
        .map(|u| (u.kind, u.bytes, u.bytes_expected, u.confidence))
        .collect();
    assert_eq!(of, [("coalesce_fifo", 11, 2_000, "strong")]);
    // A ring buffer that no answer uses lost some.
    let mut f = whole();
    f.capture.streams[1].lost_events = 5;
    f.balances = rows_of(&[(fifo, 1_000, 11, Strong)]);
    let said = answer(&f).sentence;
    let end = "(coalesce_fifo); of the events that answers use none was lost; a ring buffer that no answer uses lost events too.";
    assert!(said.contains(end), "{said}");
    // More than a tenth is bad; so is what was never expected. A weak comparison is told as one.
    let q = with(&[(fifo, 1_000, 101, Weak), (sent, 0, 5, Strong)]);
    assert_eq!((q.level, q.unexplained.len()), (Level::Bad, 2));
    assert!(
        q.sentence
            .contains("(coalesce_fifo, a weak comparison); 5 of 0 bytes (100.00 %)"),
        "{}",
        q.sentence
    );
}

/// What is reconstructed may be wrong where the host did nothing wrong: that stands behind what was found, never as an incident.
#[test]
fn unexplained_bytes_are_no_incident() {
    use crate::analyses::verdict::Tone;
    use crate::reconstruct::balances::tables::{BalanceKind, BalanceRow};
    let mut f = whole();
    f.balances.push(BalanceRow {
        kind: BalanceKind::GsoChildren,
        connection: None,
        bytes_expected: 100,
        bytes_found: 50,
        unexplained_bytes: 50,
        units: 1,
        matched: 0,
        confidence: crate::Confidence::Strong,
        because: "",
    });
    let said = |f: &Facts| {
        let a = crate::analyses::answer(f);
        let line = &a.verdict[0];
        (a.quality.level, line.tone, line.minor, line.headline.clone())
    };
    let (level, tone, minor, headline) = said(&f);
    assert_eq!((level, tone, minor), (Level::Bad, Tone::Notice, true));
    assert!(headline.starts_with("50 of 100 bytes (50.00 %)"), "{headline}");
    // That events are missing is.
    f.capture.complete = false;
    let (level, tone, minor, _) = said(&f);
    assert_eq!((level, tone, minor), (Level::Bad, Tone::Bad, false));
}
