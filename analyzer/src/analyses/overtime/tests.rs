use super::*;
use crate::reconstruct::napi::tables::PollRow;
use crate::reconstruct::receive::tables::{RxEnd, RxRow};
use crate::reconstruct::softirq::tables::SoftirqRow;

fn answer(facts: &Facts) -> OverTime {
    super::answer(facts, &Ledgers::of(facts))
}

/// A recording of 2.4 s from 1000 on: bins of 10 ms and a nanosecond.
fn facts() -> Facts {
    let mut f = Facts::empty();
    f.capture.start_ns = Some(1_000);
    f.capture.duration_ns = 2_400_000_000;
    f
}

fn unit(start: i64, total: i64, rcvq: i64, bytes: u32) -> RxRow {
    RxRow {
        end: RxEnd::Read,
        start_ns: 1_000 + start,
        total_ns: total,
        rcvq_ns: Some(rcvq),
        bytes: Some(bytes),
        ..RxRow::default()
    }
}

fn run(cpu: u16, vec: u32, from: i64, to: i64) -> SoftirqRow {
    crate::testing::softirq(cpu, vec, 1_000 + from, Some(1_000 + to))
}

#[test]
fn rows_are_half_octaves() {
    for ns in (0..5_000).chain([i64::MAX / 4, i64::MAX]) {
        let row = half_octave(ns, &edges());
        assert!(
            edge(row) <= ns && (ns < edge(row + 1) || edge(row + 1) == i64::MAX),
            "{ns} in {row}"
        );
    }
    assert_eq!(
        [
            half_octave(1, &edges()),
            half_octave(2, &edges()),
            half_octave(1024, &edges())
        ],
        [1, 3, 21]
    );
    assert_eq!((edge(21), edge(22), edge(23)), (1024, 1449, 2048));
}

#[test]
fn every_unit_is_in_one_cell_of_its_bin_and_time() {
    let mut f = facts();
    f.rx = vec![
        unit(0, 1_100, 0, 1),
        unit(5_000_000, 1_200, 0, 1),
        unit(25_000_000, 1_100, 0, 1),
        unit(2_399_999_999, 9, 0, 1),
    ];
    let cells: Vec<(u32, i64, i64, u64)> = answer(&f)
        .receive
        .iter()
        .map(|c| (c.bin, c.lo_ns, c.hi_ns, c.count))
        .collect();
    assert_eq!(cells, [(0, 1024, 1449, 2), (2, 1024, 1449, 1), (239, 8, 12, 1)]);
}

#[test]
fn a_run_is_shared_among_the_bins_it_covers() {
    let mut f = facts();
    // 5 ms of bin 0 and 10 of bin 1, 3 ms apart from 1 ms of NET_TX; 8 and 4 of CPU 1.
    f.softirqs = vec![
        run(0, NET_RX, 5_000_000, 20_000_002),
        run(0, NET_TX, 23_000_000, 24_000_000),
        run(1, NET_RX, 100_000_000, 100_008_000),
        run(1, NET_RX, 100_010_000, 100_014_000),
        run(1, 7, 0, 1_000_000_000),
    ];
    let busy = answer(&f).softirqs;
    let names: Vec<(u16, &str)> = busy.iter().map(|b| (b.cpu, b.vector)).collect();
    assert_eq!(names, [(0, "NET_TX"), (0, "NET_RX"), (1, "NET_RX")]);
    let (share, sum) = (&busy[1].share, busy[1].share.iter().sum::<f64>());
    assert!(
        (share[0] - 0.5).abs() < 1e-6 && (share[1] - 1.0).abs() < 1e-6,
        "{:?}",
        &share[..3]
    );
    assert!((sum * 10_000_001.0 - 15_000_002.0).abs() < 0.01, "the whole run");
    assert_eq!(busy[1].stretches, [(5_000_000, 20_000_002)]);
    assert_eq!(
        busy[2].stretches,
        [(100_000_000, 100_014_000)],
        "2 us apart is one stretch"
    );
}

/// Of a device on any CPU; polls without a start are in none; of many devices those polled longest.
#[test]
fn polls_are_told_by_device() {
    let mut f = facts();
    let poll = |dev: &str, cpu, start: Option<i64>, end: i64| PollRow {
        cpu,
        ..crate::testing::poll(dev.as_bytes(), start.map(|at| 1_000 + at), 1_000 + end)
    };
    f.polls = vec![
        poll("eth0", 0, Some(400_000_000), 400_004_000),
        poll("eth0", 1, Some(400_002_000), 400_009_000),
        poll("eth0", 0, Some(700_000_000), 700_001_000),
        poll("eth0", 0, None, 800_000_000),
    ];
    let told = answer(&f);
    let [eth0] = told.polls.as_slice() else { panic!() };
    assert_eq!((eth0.dev.as_str(), eth0.ns, eth0.polls), ("eth0", 12_000, 3));
    assert_eq!(eth0.stretches, [(400_000_000, 400_009_000), (700_000_000, 700_001_000)]);
    for n in 0..8i64 {
        f.polls.push(poll(&format!("d{n}"), 0, Some(n), 2 * n + 1));
    }
    let told = answer(&f);
    let devices: Vec<&str> = told.polls.iter().map(|p| p.dev.as_str()).collect();
    assert_eq!(devices, ["d3", "d4", "d5", "d6", "d7", "eth0"]);
    assert_eq!(told.polls_left_out, 3);
}

#[test]
fn a_queue_holds_its_bytes_from_readable_to_read() {
    let mut f = facts();
    // Readable from 15 to 45 ms; 100 bytes more from 20.5 to 25 ms.
    f.rx = vec![
        unit(10_000_000, 35_000_000, 30_000_000, 1_000),
        unit(20_500_000, 4_500_000, 4_500_000, 100),
    ];
    let bins = answer(&f).receive_queue;
    assert_eq!(bins[..7], [0, 1_000, 1_100, 1_000, 1_000, 0, 0]);
    assert_eq!(
        answer(&facts()).receive_queue,
        [0; 0],
        "nothing known is not an empty queue"
    );
}

#[test]
fn an_empty_recording_has_no_bins() {
    assert_eq!(answer(&Facts::empty()), OverTime::default());
}

/// Readings at 1, 2 and 2.3 s of 2.4 s: the part of 0.1 s at the end is one with that of 0.3 s before it.
#[test]
fn counters_are_rises_per_second_between_readings() {
    use crate::counters::Key;
    use crate::counters::over_time::tables::RiseRow;
    let mut f = facts();
    let row = |source, of: &str, name: &str, from: Option<i64>, to: Option<i64>, rise: Option<u64>| RiseRow {
        from_ns: from.map(|ns| ns + 1_000),
        to_ns: to.map(|ns| ns + 1_000),
        counter: std::sync::Arc::new(Key {
            source,
            netns: Some(7),
            of: of.into(),
            name: name.into(),
        }),
        rise,
        whole: rise.is_some(),
    };
    const MS: i64 = 1_000_000;
    let (one, two, last) = (Some(1_000 * MS), Some(2_000 * MS), Some(2_300 * MS));
    f.counters_over_time.readings = [one, two, last].iter().flatten().map(|ns| ns + 1_000).collect();
    f.counters_over_time.rows = vec![
        row("snmp", "", "TcpRetransSegs", None, one, Some(3)),
        row("softnet", "CPU 0", "time_squeeze", one, two, Some(10)),
        row("softnet", "CPU 1", "time_squeeze", one, two, Some(5)),
        row("snmp", "", "TcpOutSegs", one, two, Some(500)),
        row("qdisc", "eth0 fq_codel 0x1", "drops", one, two, Some(9)),
        row("dev", "eth0", "rx_dropped", one, two, None),
        row("dev", "eth0", "rx_dropped", one, last, Some(8)),
        row("snmp", "", "TcpRetransSegs", last, None, Some(2)),
    ];
    let counted = answer(&f).counted;
    assert_eq!(counted.edges_ns, [0, 1_000 * MS, 2_000 * MS, 2_400 * MS]);
    let told: Vec<(&str, u64, bool, &[f64])> = counted
        .counters
        .iter()
        .map(|c| (c.name, c.rose, c.whole, c.per_second.as_slice()))
        .collect();
    // A row over two readings is spread over their parts; what fell is not whole.
    let spread = 8.0 / 1.4;
    assert_eq!(told[0], ("TcpRetransSegs", 5, true, &[3.0, 0.0, 5.0][..]));
    assert_eq!(told[1], ("softnet time_squeeze", 15, true, &[0.0, 15.0, 0.0][..]));
    assert_eq!((told[2].0, told[2].1, told[2].2), ("rx_dropped of devices", 8, false));
    assert!(
        told[2].3[0] == 0.0 && told[2].3[1..].iter().all(|r| (r - spread).abs() < 1e-6),
        "{:?}",
        told[2]
    );
    assert_eq!(told.len(), 3);
    // Of a slice: the reading before it is of a second before, and that behind it of half a second after its end.
    let (before, after) = (Some(-1_000 * MS), Some(3_000 * MS));
    f.counters_over_time.readings = [before, one, after].iter().flatten().map(|ns| ns + 1_000).collect();
    f.counters_over_time.rows = vec![
        row("snmp", "", "TcpRetransSegs", before, one, Some(6)),
        row("snmp", "", "TcpRetransSegs", one, after, Some(4)),
    ];
    let counted = answer(&f).counted;
    assert_eq!(counted.edges_ns, [0, 1_000 * MS, 2_400 * MS]);
    assert_eq!(counted.counters[0].per_second, [3.0, 2.0]);
    f.counters_over_time.readings.clear();
    assert_eq!(answer(&f).counted, Counted::default());
}

/// The packets in each device's queue of a real recording, counted from its raw events alone: in at `net_dev_queue`, out at the last
/// `net_dev_start_xmit` of that address on that device.
#[test]
fn packets_in_device_queues_are_those_of_the_raw_events() {
    use crate::explain::fields::FieldReader;
    let file = format!("{}/../sample-data/kernel-6.1/netem.nmb", env!("CARGO_MANIFEST_DIR"));
    let capture = netmortem_formats::open_path(file.as_ref()).unwrap().unwrap();
    let facts = crate::analyze(&capture, &Default::default());
    let told = answer(&facts);
    // netem, which lets nothing by: each of its packets lies there.
    let fullest = &told.device_queues[0];
    assert_eq!(fullest.dev, "va");

    let trace = crate::ingest::Trace::read(&capture, &Default::default());
    let format = |name: &str| trace.schema.formats().iter().find(|f| f.name == name).unwrap();
    let (queue, start) = (format("net_dev_queue"), format("net_dev_start_xmit"));
    let text = |f: &netmortem_formats::EventFormat, payload: &[u8], field: &str| {
        let readers = FieldReader::all_of(f, trace.schema.endian);
        let reader = readers.into_iter().find(|r| r.name == field).unwrap();
        match reader.value(payload) {
            crate::explain::fields::Value::Text(text) => text,
            other => format!("{other}"),
        }
    };
    let mut lying: std::collections::BTreeMap<String, (i64, Option<i64>)> = Default::default();
    let mut spans: Vec<(i64, i64)> = vec![];
    for e in trace.events(|kind| kind == queue.id || kind == start.id) {
        let format = if e.kind == queue.id { queue } else { start };
        if text(format, e.payload, "name") != fullest.dev {
            continue;
        }
        let address = text(format, e.payload, "skbaddr");
        if e.kind == queue.id {
            // Of the life before.
            if let Some((from, Some(to))) = lying.insert(address, (e.ts, None)) {
                spans.push((from, to));
            }
        } else if let Some(of) = lying.get_mut(&address) {
            of.1 = Some(e.ts);
        }
    }
    spans.extend(lying.into_values().filter_map(|(from, to)| Some((from, to?))));
    let started = facts.capture.start_ns.unwrap();
    let counted: Vec<u64> = (0..BINS as i64)
        .map(|bin| {
            let (from, to) = (started + bin * told.bin_ns, started + (bin + 1) * told.bin_ns);
            // The most is there when one has just come, or when the bin begins.
            let moments = spans
                .iter()
                .map(|s| s.0)
                .filter(|t| (from..to).contains(t))
                .chain([from]);
            let lie = |t: i64| spans.iter().filter(|s| s.0 <= t && s.1 > t).count() as u64;
            moments.map(lie).max().unwrap()
        })
        .collect();
    assert!(
        spans.len() > 100 && counted.iter().max() > Some(&3),
        "{} {:?}",
        spans.len(),
        counted.iter().max()
    );
    assert_eq!(fullest.packets, counted);
}
