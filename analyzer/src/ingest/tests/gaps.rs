use super::{poll, script};
use crate::ingest::{Trace, check};
use crate::testing::{Script, one_chunk_per_page};

type Gap = (u32, Option<i64>, Option<i64>, Option<u64>);

/// The same whether the stream is one chunk or one chunk per sub-buffer.
fn gaps(s: &Script) -> Vec<Gap> {
    let of = |c: &netmortem_formats::Capture| {
        let t = Trace::read(c, &Default::default());
        let gaps: Vec<Gap> = t
            .gaps
            .iter()
            .map(|g| (g.cpu, g.start_ns, g.end_ns, g.lost_events))
            .collect();
        assert_eq!(check(c, &Default::default()), t.info);
        gaps
    };
    let mut c = s.capture();
    let whole = of(&c);
    one_chunk_per_page(&mut c);
    assert_eq!(of(&c), whole, "by chunks");
    whole
}

#[test]
fn a_loss_lies_between_its_neighbours() {
    let mut s = script();
    poll(&mut s, 10, 0, 1);
    s.lost(0, Some(7));
    poll(&mut s, 30, 0, 2);
    poll(&mut s, 20, 1, 3);
    assert_eq!(gaps(&s), [(0, Some(10), Some(30), Some(7))]);
}

#[test]
fn losses_at_both_ends_are_open() {
    let mut s = script();
    s.lost(0, None);
    poll(&mut s, 10, 0, 1);
    s.lost(0, Some(4));
    assert_eq!(gaps(&s), [(0, None, Some(10), None), (0, Some(10), None, Some(4))]);
}

/// Two losses with nothing between them lie at the same place; both are counted.
#[test]
fn losses_without_a_record_between_share_their_ends() {
    let mut s = script();
    poll(&mut s, 10, 0, 1);
    s.lost(0, Some(4));
    s.lost(0, Some(5));
    poll(&mut s, 30, 0, 2);
    let g = gaps(&s);
    assert_eq!(g, [(0, Some(10), Some(30), Some(4)), (0, Some(10), Some(30), Some(5))]);
    let i = check(&s.capture(), &Default::default());
    assert_eq!((i.lost_events, i.losses_of_unknown_size), (9, 0));
}

/// A gap begins after the latest record before it, not after one whose time went back.
#[test]
fn a_gap_begins_after_everything_recorded_before_it() {
    let mut s = script();
    poll(&mut s, 30, 0, 1);
    poll(&mut s, 20, 0, 2);
    s.lost(0, None);
    poll(&mut s, 50, 0, 3);
    assert_eq!(gaps(&s), [(0, Some(30), Some(50), None)]);
}

#[test]
fn counts_add_up_by_event_and_stream() {
    let mut s = script();
    for k in 0..5 {
        poll(&mut s, 10 + k, (k % 2) as usize, k);
    }
    s.ev(
        99,
        1,
        crate::testing::Ctx::Task(1),
        "skb:consume_skb",
        &[("skbaddr", crate::testing::N(1))],
    );
    s.lost(1, Some(11));
    s.lost(1, None);
    let i = check(&s.capture(), &Default::default());
    assert_eq!((i.total_events, i.lost_events, i.losses_of_unknown_size), (6, 11, 1));
    let events: Vec<(&str, u64)> = i.events.iter().map(|(k, n)| (k.as_str(), *n)).collect();
    assert_eq!(events, [("napi:napi_poll", 5), ("skb:consume_skb", 1)]);
    let by: Vec<_> = i
        .streams
        .iter()
        .map(|s| (s.cpu, s.events, s.lost_events, s.first_ns, s.last_ns, s.used))
        .collect();
    assert_eq!(
        by,
        [
            (0, 3, 0, Some(10), Some(14), true),
            (1, 3, 11, Some(11), Some(99), true)
        ]
    );
}

/// An id without a format text is counted under its number, not left out.
#[test]
fn unknown_event_ids_are_counted() {
    let mut s = script();
    poll(&mut s, 10, 0, 1);
    let mut c = s.capture();
    let id = c.event_formats.iter().find(|f| f.key() == super::POLL).unwrap().id;
    c.event_formats.retain(|f| f.id != id);
    let i = check(&c, &Default::default());
    assert_eq!(i.events.get(&format!("id:{id}")), Some(&1));
}

/// The kernel's own counters know of losses that no sub-buffer tells (the end of a full buffer).
#[test]
fn cpu_stats_raise_the_loss_and_never_lower_it() {
    let stats = |cpu, overrun, dropped_events| netmortem_formats::capture::CpuStats {
        instance: String::new(),
        cpu,
        entries: 0,
        overrun,
        commit_overrun: 0,
        dropped_events,
        read_events: 0,
        bytes: 0,
    };
    let mut s = script();
    poll(&mut s, 10, 0, 1);
    s.lost(0, Some(7));
    poll(&mut s, 30, 0, 2);
    for (said, expect) in [
        (vec![stats(0, 5, 0)], 7),
        (vec![stats(0, 5, 6)], 11),
        (vec![stats(0, 7, 0), stats(4, 100, 0)], 107),
    ] {
        let mut c = s.capture();
        c.cpu_stats = said;
        let info = check(&c, &Default::default());
        assert_eq!(info.lost_events, expect);
        // What no flag places lies after the last record: its stream's end is in a gap.
        let trailing = info.gaps.iter().filter(|g| g.cpu == 0 && g.end_ns.is_none());
        let placed: Vec<_> = trailing.map(|g| (g.start_ns, g.lost_events)).collect();
        let more = if expect == 11 {
            vec![(Some(30), Some(4))]
        } else {
            vec![]
        };
        assert_eq!(placed, more);
    }
}

/// A chunk that cannot be read is a gap of that stream and makes the capture incomplete; the rest is read.
#[test]
fn a_chunk_beyond_the_file_is_a_gap() {
    let mut s = script();
    poll(&mut s, 10, 0, 1);
    s.lost(0, None);
    poll(&mut s, 20, 0, 2);
    poll(&mut s, 15, 1, 3);
    let mut c = s.capture();
    one_chunk_per_page(&mut c);
    let beyond = u64::MAX - 70_000;
    c.streams[0].chunks[0].range = beyond..beyond + 65_536;
    let t = Trace::read(&c, &Default::default());
    assert_eq!(t.recs.len(), 2);
    assert!(!t.info.complete && !t.info.problems.is_empty());
    assert!(
        t.gaps.iter().any(|g| g.cpu == 0 && g.cause == "damaged"),
        "{:?}",
        t.gaps
    );
}

#[test]
fn an_empty_capture_is_an_empty_trace() {
    let c = script().capture();
    let t = Trace::read(&c, &Default::default());
    assert!(t.recs.is_empty() && t.gaps.is_empty());
    assert_eq!((t.info.start_ns, t.info.duration_ns), (None, 0));
}
