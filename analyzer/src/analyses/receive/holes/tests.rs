use super::{Holes, of_connections};
use crate::Confidence::Certain;
use crate::counters::tables::CounterRow;
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::reconstruct::receive::tables::{RxEnd, RxRow, Stage, StageTimes};
use crate::reconstruct::tcp::tables::SampleRow;
use crate::testing::tcp::connection;

const MS: i64 = 1_000_000;

/// A unit that came at that ms and was held for so many.
fn unit(at: i64, held: i64) -> RxRow {
    let mut stages = StageTimes::default();
    stages.set(Stage::Protocol, Some(5_000));
    stages.set(Stage::OutOfOrder, (held > 0).then_some(held * MS));
    RxRow {
        skb_id: SkbId(at as u32),
        connection: Some(ConnectionId(0)),
        bytes: Some(1448),
        start_ns: at * MS,
        total_ns: held * MS + 5_000,
        end: RxEnd::Read,
        stages,
        confidence: Certain,
        ..RxRow::default()
    }
}

/// What came each ms, and the fastest round trip of 20 ms.
fn facts(of: impl Fn(i64) -> i64) -> Facts {
    let mut f = Facts::empty();
    f.capture.events.insert("skb:kfree_skb".into(), 1);
    f.connections = vec![connection(0)];
    f.rx = (0..400).map(|at| unit(at, of(at))).collect();
    f.tcp_samples = [26, 20, 40].map(sample).to_vec();
    f
}

fn sample(ms: u32) -> SampleRow {
    SampleRow {
        srtt_us: ms * 1000,
        ..crate::testing::tcp::sample(0, 0)
    }
}

fn one(f: &Facts) -> Option<Holes> {
    let all = of_connections(f);
    assert!(all.len() <= 1);
    all.into_iter().next()
}

/// Of each hundred one is missing; what comes in the 21 ms until it was sent again waits for it.
fn lost(at: i64) -> i64 {
    match at % 100 {
        n @ 50..=70 => 71 - n,
        _ => 0,
    }
}

#[test]
fn a_hole_as_long_as_a_round_trip_was_lost_and_sent_again() {
    let h = one(&facts(lost)).unwrap();
    assert_eq!((h.lost, h.late, h.units, h.bytes), (4, 0, 400, 400 * 1448));
    assert_eq!((h.lost_p50_ns, h.lost_ns), (Some(21 * MS), 4 * 21 * MS));
    assert_eq!((h.rtt_ns, h.dropped), (20 * MS, 0));
    assert_eq!((h.first_ns, h.last_ns), (50 * MS + 5_000, 350 * MS + 5_000));
    assert_eq!(h.label, "10.0.0.2:2 > 10.0.0.1:1");
}

#[test]
fn what_comes_within_the_round_trip_was_not_sent_again() {
    // Every tenth took a way that is 3 ms longer.
    let late = |at| match at % 10 {
        n @ 1..=3 => 4 - n,
        _ => 0,
    };
    let h = one(&facts(late)).unwrap();
    assert_eq!((h.lost, h.late, h.lost_ns), (0, 40, 0));
    // Two ways all the time: holes overlap for longer than a round trip, but nothing waits so long.
    let h = one(&facts(|at| if at % 100 < 90 { 10 } else { 0 })).unwrap();
    assert_eq!((h.lost, h.late), (0, 4));
}

#[test]
fn it_is_told_only_where_packets_came_out_of_order_from_outside() {
    // Held for SO_RCVLOWAT: the kernel counts nothing out of order.
    let counted = |n: u64| CounterRow {
        source: "netstat",
        netns: Some(1),
        of: String::new(),
        name: "TcpExtTCPOFOQueue".into(),
        start: Some(5),
        end: Some(5 + n),
    };
    let mut f = facts(lost);
    f.counters = vec![counted(3)];
    assert_eq!(one(&f), None);
    f.counters = vec![counted(84)];
    assert!(one(&f).is_some());
    // Two holes may be anything.
    assert_eq!(one(&facts(|at| if at < 200 { lost(at) } else { 0 })), None);
    // The peer is in the recording, which says itself what was sent again and why.
    let mut f = facts(lost);
    f.connections[0].peer = Some(ConnectionId(1));
    assert_eq!(one(&f), None);
    // How long a round trip is, nothing tells.
    let mut f = facts(lost);
    f.tcp_samples.clear();
    assert_eq!(one(&f), None);
}

/// A rule of this host drops packets before their socket is known: the way here is not blamed for them.
#[test]
fn what_was_dropped_here_may_have_been_it() {
    let changed = |drops: usize, change: fn(&mut Facts)| {
        let mut f = facts(lost);
        f.drops = vec![crate::testing::drop_at(60 * MS); drops];
        change(&mut f);
        let a = crate::analyses::answer(&f);
        let line = a.verdict.iter().find(|l| l.subject == "receive").unwrap();
        line.headline.clone()
    };
    let said = |drops| changed(drops, |_| ());
    assert!(
        said(0).contains("later: lost on the way to this host and sent again"),
        "{}",
        said(0)
    );
    assert!(
        said(1).contains("later: lost on the way to this host and sent again"),
        "{}",
        said(1)
    );
    let both = "lost on the way to this host, or in it (2 packets were dropped here and nothing tells whose, see drops and counters)";
    assert!(said(2).contains(both), "{}", said(2));
    // By a counter that no event tells of: the backlog of a CPU.
    let counted = changed(0, |f| {
        let row = |name: &str| CounterRow {
            source: "softnet",
            netns: None,
            of: "CPU 0".into(),
            name: name.into(),
            start: Some(1),
            end: Some(3),
        };
        f.counters = vec![row("processed"), row("dropped")];
    });
    assert!(counted.contains(both), "{counted}");
    let not_recorded = changed(0, |f| f.capture.events.clear());
    assert!(
        not_recorded.contains("lost on the way to this host, or in it (what it drops was not recorded) and sent again"),
        "{not_recorded}"
    );
}
