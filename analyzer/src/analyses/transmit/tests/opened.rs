//! What a congestion window began with, marks that reduced it, and a timer that ran on.

use super::{answer, segment};
use crate::Confidence::Certain;
use crate::analyses::Outcome;
use crate::analyses::transmit::{Rounds, Transmit};
use crate::counters::tables::CounterRow;
use crate::facts::{ConnectionId, Facts};
use crate::ingest::GapRow;
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::tcp::tables::{RetransmitClass, RetransmitRow, SampleRow, StateRow};
use crate::reconstruct::transmit::tables::{TxEnd, TxRow};
use crate::reconstruct::transmit::{FullSegment, Spent, Stage};
use crate::reconstruct::whose::{Carries, Owner};

const MS: i64 = 1_000_000;
const C: ConnectionId = ConnectionId(3);

fn sample(ms: i64, cwnd: u32, snd_una: u32) -> SampleRow {
    SampleRow {
        time_ns: ms * MS,
        connection: C,
        snd_cwnd: cwnd,
        ssthresh: 0x7fff_ffff,
        srtt_us: 20_000,
        snd_una,
        snd_nxt: snd_una + 1448,
        snd_wnd: 65_536,
        rcv_wnd: 65_536,
        data_len: 0,
        cpu: 0,
    }
}
fn state(ms: i64, kind: &'static str, state: i32) -> StateRow {
    StateRow {
        kind,
        ..crate::testing::tcp::state(C.0, state, ms * MS)
    }
}
fn again(ms: i64, class: RetransmitClass) -> RetransmitRow {
    crate::testing::tcp::sent_again(C.0, class, ms * MS)
}
fn found(f: &Facts) -> Transmit {
    let Outcome::Findings(t) = answer(f) else { panic!() };
    t
}
fn sentence(f: &Facts) -> String {
    crate::analyses::verdict::causes_of_sent(&found(f)).join("; ")
}

/// 21 segments that a server had at once, in flights at these times (ms): accepted at 0, its first probe says that window.
fn page(cwnd: u32, flights: &[i64]) -> Facts {
    let mut f = Facts::empty();
    f.connections = (0..4).map(crate::testing::tcp::connection).collect();
    f.tcp_states = vec![state(0, "sock", 1)];
    f.tcp_samples = vec![sample(20, cwnd, 1), sample(41, cwnd * 2, 1449)];
    f.tx = (0..21)
        .map(|n| TxRow {
            start_ns: 21 * MS,
            t_sched_ns: flights[n as usize * flights.len() / 21] * MS,
            bytes: Some(1448),
            ..segment(
                n,
                TxEnd::Acked,
                &[(Stage::Cwnd, 40 * MS), (Stage::Network, 20 * MS)],
                Certain,
            )
        })
        .collect();
    let full = FullSegment {
        mss: 1448,
        headers: 66,
        link: 14,
        frames: 21,
    };
    f.full_segments.insert(C, full);
    f.spent.insert(C, Spent::told(&[(Stage::Cwnd, 40 * MS)], 100 * MS));
    f
}

#[test]
fn a_connection_that_began_with_a_small_window() {
    let mut f = page(1, &[21, 41, 61, 81]);
    let i = found(&f).initial.unwrap();
    assert_eq!(
        (i.connections, i.of, i.cwnd, i.accepted, i.route),
        (1, 1, 1, true, None)
    );
    let rounds = Rounds {
        took: 4,
        usual: 2,
        segments: 21,
    };
    assert_eq!((i.rounds, i.label.as_str()), (Some(rounds), "10.0.0.1:1"));
    // The route to the other end, not another with the same figure.
    let lists = [
        ("addresses", "netns=1 ifindex=2 address=10.0.0.1/24"),
        ("routes", "netns=1 family=2 to=default initcwnd=1 via=10.0.0.9 type=1"),
        ("routes", "netns=1 family=2 to=192.168.0.0/16 initcwnd=1 type=1"),
    ];
    f.routes = crate::routes::of_lines(&lists);
    assert_eq!(
        sentence(&f),
        "the connection of 10.0.0.1:1 began with a congestion window of 1 segment (Linux begins with 10; the route default via 10.0.0.9 \
         has initcwnd 1): 21 segments took 4 flights, each a round trip after the other, where 2 do from 10 segments on, doubled each time"
    );
    // What began as Linux does; what did not wait for its window.
    assert_eq!(found(&page(10, &[21, 41])).initial, None);
    let mut quick = page(1, &[21, 41]);
    quick.spent.insert(C, Spent::told(&[(Stage::Rwnd, 40 * MS)], 100 * MS));
    assert_eq!(found(&quick).initial, None);
}

/// A SYN-ACK that was sent again makes the window 1; of a connection that stood before, or around whose begin events were lost, it is not known.
#[test]
fn what_it_began_with_is_told_only_where_it_was_seen() {
    let end = |last, port| format!("10.0.0.{last}:{port}").parse().unwrap();
    let mut f = page(1, &[21, 41]);
    let synack = RetransmitRow {
        connection: None,
        synack: Some((end(1, 1), end(2, 2))),
        ..again(-5, RetransmitClass::Syn)
    };
    f.retransmits = vec![synack];
    assert_eq!(found(&f).initial, None);
    let mut f = page(1, &[21, 41]);
    f.retransmits = vec![again(-5, RetransmitClass::Syn)];
    assert_eq!(found(&f).initial, None);
    let mut f = page(1, &[21, 41]);
    f.tcp_states.clear();
    assert_eq!(found(&f).initial, None);
    let mut f = page(1, &[21, 41]);
    f.tcp_states.push(state(10, "cong", 4));
    assert_eq!(found(&f).initial, None);
    let mut f = page(1, &[21, 41]);
    f.gaps.push(GapRow {
        cpu: 1,
        start_ns: Some(5 * MS),
        end_ns: Some(6 * MS),
        lost_events: Some(1),
        cause: "overrun",
    });
    assert_eq!(found(&f).initial, None);
}

fn came(n: u64) -> CounterRow {
    CounterRow {
        source: "netstat",
        netns: Some(1),
        of: String::new(),
        name: "IpExtInCEPkts".into(),
        start: Some(1),
        end: Some(1 + n),
    }
}

/// Before Linux 5.19 no event tells of states: windows of a connection as `tcp_probe` told them, of `evidence.txt` of a path of 20 ms with CUBIC and one mark in 60 packets.
#[test]
fn a_window_that_falls_where_no_event_tells_why_is_of_marks_that_came_to_its_peer() {
    let with = |windows: &[(i64, u32)], to: u64, marks: u64, own: Option<bool>| {
        let mut f = page(10, &[21, 41]);
        f.tcp_samples = windows.iter().map(|(ms, cwnd)| sample(*ms, *cwnd, 1)).collect();
        f.counters = vec![CounterRow {
            netns: Some(to),
            ..came(marks)
        }];
        let addresses = "netns=1 ifindex=2 address=10.0.0.2/24\nnetns=2 ifindex=2 address=10.0.0.1/24\n";
        let lists =
            crate::testing::listed(&[("addresses", netmortem_formats::capture::SnapshotWhen::Start, addresses)]);
        f.spaces = crate::snapshots::spaces::Spaces::of(&lists);
        f.negotiated = own
            .map(|own| (C, super::named::negotiated(true, Some(own))))
            .into_iter()
            .collect();
        found(&f).connections[0].marked
    };
    let of = |windows: &[(i64, u32)], to, marks| with(windows, to, marks, None);
    let marked = [
        (20, 17),
        (24, 6),
        (41, 13),
        (43, 11),
        (45, 9),
        (60, 10),
        (62, 9),
        (64, 7),
        (70, 8),
    ];
    let m = of(&marked, 1, 19).unwrap();
    assert_eq!((m.reductions, m.came, m.inferred), (3, Some(19), true));
    // BBR makes its window small by itself (4 packets every 10 s, to see the round trip), and knows no marks.
    assert!(with(&marked, 1, 19, Some(false)).is_some());
    assert_eq!(with(&marked, 1, 19, Some(true)), None);
    // Fewer marks than falls; marks that came to the sender; falls too small, or behind a pause.
    assert_eq!((of(&marked, 1, 2), of(&marked, 2, 19)), (None, None));
    assert_eq!(of(&[(20, 17), (24, 16), (41, 17), (43, 16), (60, 17)], 1, 19), None);
    assert_eq!(of(&[(20, 17), (300, 6), (341, 13), (600, 6)], 1, 19), None);
}

#[test]
fn reductions_without_loss_are_of_marks_where_marks_were_counted() {
    let reduced = |ce: Option<u64>| {
        let mut f = page(10, &[21, 41]);
        f.tcp_states
            .extend([state(50, "cong", 2), state(70, "cong", 0), state(90, "cong", 2)]);
        f.counters = ce.map(came).into_iter().collect();
        f
    };
    let m = found(&reduced(Some(2))).connections[0].marked.unwrap();
    assert_eq!((m.reductions, m.came, m.delivered_ce), (2, Some(2), None));
    assert_eq!(
        sentence(&reduced(Some(2))),
        "the congestion window of 10.0.0.1:1 > 10.0.0.2:2 (median 20 segments) was reduced 2 times without loss: 2 packets that came to the namespaces \
         recorded had ECN's CE mark (IpExtInCEPkts), set on the way where something marks packets instead of dropping them"
    );
    let none = |f: &Facts| assert_eq!(found(f).connections[0].marked, None);
    // A full queue of this host sets that state, too; one mark cannot have reduced it twice.
    none(&reduced(None));
    none(&reduced(Some(1)));
    // Something was lost.
    let mut lost = reduced(Some(9));
    lost.tcp_states.push(state(95, "cong", 3));
    none(&lost);
    let mut lost = reduced(Some(9));
    lost.connections[3].retransmits = Some(1);
    none(&lost);
    // Another thing held it.
    let mut other = reduced(Some(9));
    other.spent.insert(C, Spent::told(&[(Stage::Rwnd, 40 * MS)], 100 * MS));
    none(&other);
}

/// Three timeouts, the first two of them dropped; the last is acknowledged.
fn outage(timeouts: &[i64], end: i64) -> Facts {
    let mut f = page(10, &[21, 41]);
    f.tx[0].retransmits = 3;
    f.retransmits = timeouts.iter().map(|ms| again(*ms, RetransmitClass::Rto)).collect();
    f.tcp_samples = vec![
        sample(100, 10, 1),
        sample(101, 10, 1449),
        sample(end, 1, 1449),
        sample(end + 1, 2, 2897),
    ];
    f
}
fn dropped(ms: i64) -> DropRow {
    DropRow {
        owner: Some(Owner {
            connection: Some(C),
            carries: Carries::Data,
            task: Default::default(),
            pid: 0,
            confidence: Certain,
        }),
        ..crate::testing::drop_at(ms * MS)
    }
}

#[test]
fn a_timer_that_ran_on_after_the_last_drop() {
    let mut f = outage(&[500, 1_000, 2_000], 2_020);
    f.drops = vec![dropped(110), dropped(1_000)];
    let b = found(&f).connections[0].backoff.unwrap();
    assert_eq!((b.start_ns, b.end_ns), (100 * MS, 2_020 * MS));
    assert_eq!(
        (b.timeouts, b.dropped, b.dropped_until_ns, b.silent_ns),
        (3, 2, Some(900 * MS), 1_000 * MS)
    );
    assert_eq!(
        sentence(&f),
        "10.0.0.1:1 > 10.0.0.2:2 stalled for 1.920 s: what it sent was dropped by this host for 900.00 ms, then it sent nothing for 1.000 s, \
         until its retransmission timer, backed off 2 times, fired and that retransmission was acknowledged"
    );
    // Dropped elsewhere.
    f.drops.clear();
    assert!(sentence(&f).contains("what it sent had no answer, and at last it sent nothing for 1.000 s"));
    let none = |f: &Facts| assert_eq!(found(f).connections[0].backoff, None);
    // One timeout is not doubled; short; not over; the drops went on until the last.
    none(&outage(&[2_000], 2_020));
    none(&outage(&[300, 400], 420));
    let mut open = outage(&[500, 1_000, 2_000], 2_020);
    open.tcp_samples.truncate(3);
    none(&open);
    let mut until = outage(&[500, 1_000, 2_000], 2_020);
    until.drops = vec![dropped(1_900)];
    none(&until);
}
