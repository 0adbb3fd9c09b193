use super::{INFINITE_SSTHRESH, Outcome, POINTS, Sawtooth, Tcp, answer};
use crate::Confidence;
use crate::facts::{ConnectionId, Facts};
use crate::ingest::GapRow;
use crate::name::Name;
use crate::reconstruct::tcp::tables::{ConnectionRow, RetransmitClass, RetransmitRow, SampleRow, StateRow};

const MS: i64 = 1_000_000;

fn connection(n: u32, bytes_out: u64, samples: u64) -> ConnectionRow {
    ConnectionRow {
        born: None,
        listens: None,
        connection: ConnectionId(n),
        saddr: Some("10.0.0.1".parse().unwrap()),
        sport: 1,
        daddr: Some("::1".parse().unwrap()),
        dport: 2,
        skaddr: 0,
        cookie: None,
        task: Name::default(),
        pid: 0,
        first_ns: 0,
        last_ns: 100,
        bytes_in: 0,
        bytes_out,
        bytes_read: None,
        bytes_written: None,
        retransmits: Some(0),
        retransmit_segments: Some(0),
        retransmits_refused: Some(0),
        samples,
        peer: None,
        confidence: Confidence::Certain,
    }
}
fn sample(time_ns: i64, snd_cwnd: u32, ssthresh: u32, srtt_us: u32) -> SampleRow {
    SampleRow {
        snd_cwnd,
        ssthresh,
        srtt_us,
        ..crate::testing::tcp::sample(0, time_ns)
    }
}
fn state(time_ns: i64, state: i32, name: &'static str) -> StateRow {
    StateRow {
        time_ns,
        connection: ConnectionId(0),
        kind: "cong",
        state,
        name,
        cpu: 0,
        in_task: true,
        pid: 0,
        task: crate::name::Name::default(),
    }
}
fn tcp(samples: Vec<SampleRow>, change: impl FnOnce(&mut Facts)) -> Tcp {
    let mut f = Facts::empty();
    f.connections = vec![connection(0, 1_000, samples.len() as u64)];
    f.tcp_samples = samples;
    change(&mut f);
    match answer(&f) {
        Outcome::Findings(t) => t,
        Outcome::Unknown(r) => panic!("{r:?}"),
    }
}
fn saw(samples: Vec<SampleRow>, change: impl FnOnce(&mut Facts)) -> Sawtooth {
    tcp(samples, change).sawtooths.remove(0)
}
fn cwnds(of: &[(i64, u32)]) -> Vec<SampleRow> {
    of.iter()
        .map(|(t, w)| sample(t * MS, *w, INFINITE_SSTHRESH, 0))
        .collect()
}
fn in_ms(segments: &[super::Segment]) -> Vec<Vec<(i64, u32)>> {
    segments
        .iter()
        .map(|s| s.iter().map(|(t, v)| (t / MS, *v)).collect())
        .collect()
}

/// Pitfall 10: the event fires before the ACK, so a value held since the event before the one that shows it.
#[test]
fn values_begin_one_sample_earlier() {
    let s = saw(cwnds(&[(10, 10), (20, 10), (30, 20), (40, 20), (50, 15)]), |_| {});
    assert_eq!(in_ms(&s.cwnd), [[(10, 10), (20, 20), (40, 15), (50, 15)]]);
    assert_eq!((s.window_ns, s.samples), ((10 * MS, 50 * MS), 5));
    assert_eq!(s.label, "10.0.0.1:1 > [::1]:2");
}

/// Nothing is drawn where events were lost, on whatever CPU.
#[test]
fn a_gap_breaks_the_line() {
    let s = saw(cwnds(&[(10, 10), (20, 12), (40, 30), (50, 31)]), |f| {
        f.gaps.push(GapRow {
            cpu: 5,
            start_ns: Some(25 * MS),
            end_ns: Some(30 * MS),
            lost_events: None,
            cause: "overrun",
        });
    });
    let expect = [vec![(10, 10), (10, 12), (20, 12)], vec![(40, 30), (40, 31), (50, 31)]];
    assert_eq!(in_ms(&s.cwnd), expect);
}

/// Silence breaks it too: 200 ms, or eight round trips where these are longer.
#[test]
fn silence_breaks_the_line() {
    let s = saw(cwnds(&[(0, 10), (100, 11), (301, 20), (302, 21)]), |_| {});
    assert_eq!(s.cwnd.len(), 2);
    let slow: Vec<SampleRow> = [(0, 10), (700, 11), (1_600, 12)]
        .iter()
        .map(|(t, w)| sample(t * MS, *w, INFINITE_SSTHRESH, 100_000))
        .collect();
    assert_eq!(saw(slow, |_| {}).cwnd.len(), 2); // 700 < 8 x 100 ms < 900
}

/// Pitfall 11: the printed threshold creeps with cwnd outside a reduction; it counts only inside one, from its start.
#[test]
fn ssthresh_only_inside_a_reduction() {
    let samples = vec![
        sample(10 * MS, 30, 22, 0),
        sample(20 * MS, 30, 22, 0),
        sample(30 * MS, 30, 21, 0),
        sample(40 * MS, 24, 21, 0),
        sample(50 * MS, 21, 23, 0),
    ];
    let s = saw(samples, |f| {
        f.tcp_states = vec![state(25 * MS, 3, "Recovery"), state(45 * MS, 0, "Open")];
    });
    assert_eq!(in_ms(&s.ssthresh), [[(25, 21), (40, 21)]]);
    assert_eq!(s.reductions.len(), 1);
    let r = &s.reductions[0];
    assert_eq!(
        (r.time_ns / MS, r.state, r.wmax, r.ssthresh),
        (25, "Recovery", 30, Some(21))
    );
    assert_eq!(s.states, [(25 * MS, "Recovery"), (45 * MS, "Open")]);
}

/// 4 -> 4 per RTO is one reduction; one without a sample inside has no threshold, not a wrong one.
#[test]
fn reductions_are_entries() {
    let s = saw(cwnds(&[(10, 40), (60, 1), (70, 2)]), |f| {
        f.tcp_states = vec![
            state(20 * MS, 4, "Loss"),
            state(30 * MS, 4, "Loss"),
            state(50 * MS, 0, "Open"),
        ];
    });
    assert_eq!(s.reductions.len(), 1);
    assert_eq!((s.reductions[0].wmax, s.reductions[0].ssthresh), (40, None));
    assert_eq!(s.states.len(), 2);
}

/// Thinning keeps the first, the last, the smallest and the largest.
#[test]
fn thinning_keeps_extremes() {
    let n = POINTS as i64 * 3;
    let of: Vec<(i64, u32)> = (0..n)
        .map(|k| {
            let w = match k {
                7_000 => 9_999,
                5_000 => 1,
                _ => 100 + (k % 50) as u32,
            };
            (k, w)
        })
        .collect();
    let s = saw(cwnds(&of), |_| {});
    assert!(s.thinned && s.cwnd.len() == 1);
    let line = &s.cwnd[0];
    assert!(line.len() <= POINTS + 2, "{}", line.len());
    let max = line.iter().max_by_key(|p| p.1).unwrap();
    let min = line.iter().min_by_key(|p| p.1).unwrap();
    assert_eq!((*max, *min), ((6_999 * MS, 9_999), (4_999 * MS, 1)));
    assert_eq!((line.first().unwrap().0, line.last().unwrap().0), (0, (n - 1) * MS));
    assert!(line.windows(2).all(|w| w[0].0 <= w[1].0));
}

/// Busy senders only, most bytes first; figures by socket; 0 is no srtt.
#[test]
fn tables_of_sockets() {
    let t = tcp(
        vec![sample(1, 5, 9, 0), sample(2, 9, 9, 300), sample(3, 7, 9, 100)],
        |f| {
            f.connections.push(connection(1, 50_000, 5));
            f.connections.push(connection(2, 49_000, 5));
            let again = |connection, class, confidence| RetransmitRow {
                original: None,
                index: 0,
                time_ns: 5,
                connection,
                synack: None,
                class,
                err: None,
                bytes: None,
                segments: (class == RetransmitClass::Tlp).then_some(1),
                confidence,
            };
            f.retransmits = vec![
                again(Some(ConnectionId(0)), RetransmitClass::Tlp, Confidence::Strong),
                again(None, RetransmitClass::Syn, Confidence::Certain),
                again(Some(ConnectionId(0)), RetransmitClass::Unknown, Confidence::Unknown),
            ];
        },
    );
    let order: Vec<u32> = t.connections.iter().map(|c| c.connection).collect();
    assert_eq!(order, [1, 2, 0]);
    let c = &t.connections[2];
    assert_eq!(
        (c.srtt_min_us, c.srtt_p50_us, c.srtt_max_us),
        (Some(100), Some(100), Some(300))
    );
    assert_eq!(c.cwnd, Some((5, 9)));
    assert_eq!(t.connections[0].cwnd, None);
    assert_eq!((t.calls(), t.retransmits_solid), (3, 2));
    assert_eq!((t.retransmit_segments, t.retransmits_unsized), (1, 2));
    assert_eq!(
        t.sent_again(),
        "1 TCP segment was retransmitted by 1 call, and by 2 more an unknown number"
    );
    assert_eq!(c.by_class.values().sum::<u64>(), 2);
    // 1 000 bytes are less than a twentieth of the busiest.
    let drawn: Vec<u32> = t.sawtooths.iter().map(|s| s.connection).collect();
    assert_eq!(drawn, [1, 2]);
}

#[test]
fn nothing_recorded_is_no_answer() {
    assert!(matches!(answer(&Facts::empty()), Outcome::Unknown(_)));
}

/// The readings enclose the recording: fewer timeouts counted than calls of class rto refute some of these; a namespace that came
/// meanwhile, or no reading at all, refutes nothing.
#[test]
fn the_kernels_count_of_timeouts_refutes() {
    use crate::counters::tables::CounterRow;
    let counter = |name: &str, start, end| CounterRow {
        source: "netstat",
        netns: Some(1),
        of: String::new(),
        name: name.into(),
        start,
        end,
    };
    let rto = |counters: Vec<CounterRow>| {
        let mut f = Facts::empty();
        f.counters = counters;
        f.retransmits = vec![
            RetransmitRow {
                original: None,
                index: 0,
                time_ns: 5,
                connection: None,
                synack: None,
                class: RetransmitClass::Rto,
                err: None,
                bytes: None,
                segments: None,
                confidence: Confidence::Weak,
            };
            2
        ];
        let Outcome::Findings(t) = answer(&f) else { panic!() };
        t.refuted()
    };
    let probes = || counter("TcpExtTCPLossProbes", Some(1), Some(4));
    let timeouts = |end| counter("TcpExtTCPTimeouts", Some(3), end);
    assert_eq!(rto(vec![]), None);
    assert_eq!(rto(vec![probes()]), Some((2, 0)));
    assert_eq!(rto(vec![probes(), timeouts(Some(4))]), Some((2, 1)));
    assert_eq!(rto(vec![probes(), timeouts(Some(5))]), None);
    assert_eq!(rto(vec![probes(), timeouts(None)]), None);
    // Nothing of another namespace was read at the end: what was counted there is not known.
    let other = CounterRow {
        netns: Some(2),
        ..counter("TcpExtTCPPureAcks", Some(40), None)
    };
    let known = rto(vec![counter("TcpExtTCPPureAcks", Some(1), Some(9)), other]);
    assert_eq!(known, None);
}
