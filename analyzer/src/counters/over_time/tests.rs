mod changes;

use std::collections::BTreeMap;
use std::path::PathBuf;

use netmortem_formats::bundle::{BundleWriter, End, Manifest, PagesEncoder, Second, seconds_name};
use netmortem_formats::capture::SnapshotWhen::{End as After, Start};
use netmortem_formats::{Bytes, open_bytes};

use super::*;
use crate::counters::tables::CounterRow;
use crate::tests::sample;

const SAMPLES: [&str; 8] = [
    "cpu/cpu.nmb",
    "mtu/mtu.nmb",
    "neighbour/neighbour.nmb",
    "opens/opens.nmb",
    "datagrams/datagrams.nmb.zst",
    "lookups/lookups.nmb.zst",
    "named/named.nmb.zst",
    "seconds/seconds.nmb.zst",
];

fn path(sample: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../sample-data")
        .join(sample)
}

fn opened(bytes: Vec<u8>) -> Capture {
    open_bytes("test.nmb", Bytes::Owned(bytes)).unwrap()
}

/// A bundle made here has no events, so no stream that names its clock.
fn with_clock(bytes: Vec<u8>, clock: &str) -> OverTime {
    let mut c = opened(bytes);
    c.streams = sample("cpu/cpu.nmb").streams;
    for stream in &mut c.streams {
        stream.clock = clock.into();
    }
    of(&c)
}

/// What the readings of a counter sum to is what the snapshots before and after differ by: for every counter of every sample.
#[test]
fn rises_sum_to_the_difference_of_the_snapshots() {
    let mut all = 0;
    for name in SAMPLES {
        let c = sample(name);
        let over_time = of(&c);
        assert_eq!((over_time.unknown.len(), over_time.joined), (0, 1), "{name}");
        let numbers = c.members.iter().filter(|m| m.name.starts_with("seconds/"));
        assert_eq!(over_time.readings.len(), numbers.count(), "{name}");
        let mut sums: BTreeMap<(&str, Option<u64>, &str, &str), u64> = BTreeMap::new();
        for row in &over_time.rows {
            let key = &row.counter;
            assert!(row.whole && row.rise > Some(0), "{name}: {row:?}");
            *sums.entry((key.source, key.netns, &key.of, &key.name)).or_default() += row.rise.unwrap();
        }
        let own = crate::snapshots::lines(&c, "namespaces", |w| w == Start)
            .find(|l| crate::snapshots::field(l, "own") == Some("yes"))
            .and_then(|l| crate::snapshots::number(l, "netns"));
        let rows = crate::counters::of(&c).0;
        let read = |r: &&CounterRow| {
            r.is_counter()
                && (r.netns.is_none() || r.netns == own)
                && !["nic", "class", "nf_conntrack", "arp_cache", "ndisc_cache"].contains(&r.source)
        };
        let mut compared = 0;
        for r in rows.iter().filter(read) {
            let sum = sums.remove(&(r.source, r.netns, &r.of, &r.name)).unwrap_or(0);
            // Some are only printed when they are not 0: from then on their rises are known, and that of the whole is not.
            let Some(rise) = r.rise() else {
                assert!(r.start.is_none(), "{name}: {r:?}");
                continue;
            };
            assert_eq!(sum, rise, "{name}: {r:?}");
            compared += usize::from(rise > 0);
        }
        assert!(sums.is_empty() && compared > 0, "{name}: {compared}, {sums:?}");
        all += compared;
    }
    assert!(all > 50, "{all}");
}

/// What a program read of the same counters ten times a second, with its own clock readings: each row lies between what it saw.
#[test]
fn rises_are_when_another_reader_saw_them() {
    let over_time = of(&sample("seconds/seconds.nmb.zst"));
    let csv = std::fs::read_to_string(path("seconds/counters.csv")).unwrap();
    let mut lines = csv.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').skip(2).collect();
    let seen: Vec<Vec<i64>> = lines
        .map(|l| l.split(',').map(|v| v.parse().unwrap()).collect())
        .collect();
    for (nth, name) in names.iter().enumerate() {
        let value = |line: Option<&Vec<i64>>| line.map(|l| l[nth + 2]);
        // The reader's last value before a moment, and its first after it; a reading takes some ms.
        let before = |ns: i64| value(seen.iter().rev().find(|l| l[1] <= ns)).unwrap_or(0);
        let after = |ns: i64| value(seen.iter().find(|l| l[0] >= ns + 20_000_000));
        let rows = over_time.rows.iter().filter(|r| r.counter.name == *name);
        let mut timed = 0;
        for row in rows.filter(|r| r.counter.source == "snmp") {
            let (Some(from), Some(to)) = (row.from_ns, row.to_ns) else {
                continue;
            };
            let rise = row.rise.unwrap() as i64;
            let least = before(to) - after(from).unwrap();
            assert!(rise >= least, "{name} {row:?}: {least} were seen to come");
            if let Some(most) = after(to) {
                assert!(rise <= most - before(from), "{name} {row:?}");
                timed += 1;
            }
        }
        // What was refused, nobody read.
        assert_eq!(timed > 0, *name != "UdpInDatagrams", "{name}: {timed}");
    }
    // Segments were lost for two seconds, and datagrams refused for one.
    let first = over_time.readings[0];
    let rose = |name: &str| -> Vec<i64> {
        let rows = over_time.rows.iter().filter(|r| r.counter.name == name);
        rows.map(|r| (r.from_ns.unwrap() - first) / 900_000_000).collect()
    };
    assert_eq!(rose("TcpRetransSegs"), [1, 2, 3]);
    assert_eq!(rose("UdpRcvbufErrors"), [7, 8]);
}

/// Number of the member, ns, texts.
type Reading = (u64, i64, Vec<(&'static str, String)>);
/// From, to, rise, whole.
type Told = (Option<i64>, Option<i64>, Option<u64>, bool);

/// A bundle of these readings: TcpRetransSegs at the start, then of each (number of the member, ns, text), then at the end.
fn bundle(start: &str, readings: &[Reading], end: &str) -> Vec<u8> {
    let of_sample = sample("seconds/seconds.nmb.zst");
    let mut manifest: Manifest = serde_json::from_value(of_sample.manifest.clone().unwrap()).unwrap();
    let mut last: End = serde_json::from_value(of_sample.end.clone().unwrap()).unwrap();
    last.members.clear();
    manifest.clocks.start.monotonic_ns = 0;
    last.clock.monotonic_ns = 1_000_000;
    let mut w = BundleWriter::new(vec![], &manifest).unwrap();
    w.append_snapshot("namespaces", Start, b"netns=7 own=yes pids=1\n")
        .unwrap();
    w.append_snapshot("net/snmp", Start, start.as_bytes()).unwrap();
    for (number, ns, texts) in readings {
        let second = Second {
            clock: ClockPair {
                monotonic_ns: *ns,
                ..Default::default()
            },
            texts: texts
                .iter()
                .map(|(w, t)| (w.to_string(), t.clone().into_bytes()))
                .collect(),
        };
        let frame = PagesEncoder::new(1).unwrap().encode(&second.encode().unwrap()).unwrap();
        w.append(&seconds_name(*number), &frame).unwrap();
    }
    w.append_snapshot("net/snmp", After, end.as_bytes()).unwrap();
    w.finish(last).unwrap().0
}

fn snmp(again: u64) -> String {
    format!("Tcp: CurrEstab RetransSegs\nTcp: {again} {again}\n")
}

fn reading(number: u64, ns: i64, again: u64) -> Reading {
    (number, ns, vec![("net/snmp", snmp(again))])
}

fn told(over_time: &OverTime) -> Vec<Told> {
    let rows = over_time.rows.iter();
    rows.map(|r| (r.from_ns, r.to_ns, r.rise, r.whole)).collect()
}

#[test]
fn only_what_changed_is_a_row_and_a_state_is_none() {
    let readings = [reading(1, 10, 5), reading(2, 20, 5), reading(3, 30, 9)];
    let over_time = with_clock(bundle(&snmp(4), &readings, &snmp(10)), "mono");
    assert_eq!(
        told(&over_time),
        [
            (None, Some(10), Some(1), true),
            (Some(20), Some(30), Some(4), true),
            (Some(30), None, Some(1), true)
        ]
    );
    assert_eq!((over_time.readings, over_time.unknown), (vec![10, 20, 30], vec![]));
}

#[test]
fn what_fell_has_no_rise_there() {
    let readings = [reading(1, 10, 50), reading(2, 20, 3), reading(3, 30, 8)];
    let over_time = with_clock(bundle(&snmp(50), &readings, &snmp(8)), "mono");
    assert_eq!(
        told(&over_time),
        [(Some(10), Some(20), None, false), (Some(20), Some(30), Some(5), true)]
    );
}

#[test]
fn a_softnet_counter_wraps_and_one_that_was_set_back_does_not() {
    let softnet = |dropped: u32| {
        let zeros = "00000000 ".repeat(10);
        format!("00000000 {dropped:08x} {zeros}00000000\n")
    };
    let readings = |values: [u32; 2]| {
        let of = |(nth, dropped): (usize, &u32)| {
            (
                nth as u64 + 1,
                nth as i64 * 10,
                vec![("net/softnet_stat", softnet(*dropped))],
            )
        };
        values.iter().enumerate().map(of).collect::<Vec<_>>()
    };
    let rises = |values| told(&with_clock(bundle("", &readings(values), ""), "mono"));
    assert_eq!(rises([u32::MAX, 4]), [(Some(0), Some(10), Some(5), true)]);
    assert_eq!(rises([100, 4]), [(Some(0), Some(10), None, false)]);
}

/// A text that one reading lacks, a reading that is missing, one that is damaged, and ones of another time: nothing is lost but when.
#[test]
fn damaged_readings_cost_only_their_moment_and_are_told() {
    let mut readings = vec![
        reading(1, 10, 5),
        (2, 20, vec![("net/netstat", "TcpExt: A\nTcpExt: x\n".to_owned())]),
        reading(4, 40, 9),
        reading(5, 15, 1000),
        reading(6, -7, 1),
        reading(7, i64::MAX, 77),
        reading(8, 50, 12),
    ];
    readings[1]
        .2
        .push(("net/snmp", "Tcp: RetransSegs\nUdp: 4\n".to_owned()));
    let over_time = with_clock(bundle(&snmp(4), &readings, &snmp(13)), "mono");
    assert_eq!(
        told(&over_time),
        [
            (None, Some(10), Some(1), true),
            (Some(10), Some(40), Some(4), true),
            (Some(40), Some(50), Some(3), true),
            (Some(50), None, Some(1), true)
        ]
    );
    let said: Vec<&str> = over_time.unknown.iter().map(|r| r.because.as_str()).collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(
        said[0].starts_with("3 of the recorder's readings") && said[0].contains("not of the time"),
        "{said:?}"
    );
    assert!(
        said[1].starts_with("1 of the recorder's readings") && said[1].contains("are missing"),
        "{said:?}"
    );
    // Bytes of the members turned over one by one: never a panic, a rise that is huge, or one out of order.
    let good = bundle(&snmp(4), &[reading(1, 10, 5), reading(2, 20, 8)], &snmp(13));
    let (mut damaged, streams) = (0, sample("cpu/cpu.nmb").streams);
    let inside = good.windows(8).position(|w| w == b"seconds/").unwrap() + 512;
    for at in (inside..inside + 1800).step_by(3) {
        let mut bytes = good.clone();
        bytes[at] ^= 0x55;
        let Ok(mut c) = open_bytes("test.nmb", Bytes::Owned(bytes)) else {
            continue;
        };
        c.streams = streams.clone();
        let over_time = of(&c);
        assert!(
            over_time.rows.iter().all(|r| r.rise <= Some(9)),
            "{at}: {:?}",
            told(&over_time)
        );
        damaged += usize::from(!over_time.unknown.is_empty());
    }
    assert!(damaged > 50, "{damaged}");
}

#[test]
fn an_unknown_clock_is_said_and_no_reading_is_nothing() {
    assert_eq!(
        with_clock(bundle(&snmp(4), &[], &snmp(13)), "mono"),
        OverTime::default()
    );
    let over_time = with_clock(bundle(&snmp(4), &[reading(1, 10, 5)], &snmp(13)), "global");
    assert!(
        over_time.rows.is_empty() && over_time.unknown[0].because.contains("trace clock global"),
        "{over_time:?}"
    );
}

/// Rows above a limit join readings: the sums stay, and what a row says of its time is true.
#[test]
fn too_many_rows_join_readings() {
    let c = sample("seconds/seconds.nmb.zst");
    let (all, few) = (of(&c), of_at_most(&c, 100));
    assert!(
        all.rows.len() > 200 && few.rows.len() <= 100,
        "{} {}",
        all.rows.len(),
        few.rows.len()
    );
    assert!(few.joined >= 2, "{}", few.joined);
    let sums = |of: &OverTime| {
        let mut sums: BTreeMap<String, (u64, Option<i64>, Option<i64>)> = BTreeMap::new();
        for r in &of.rows {
            let sum = sums.entry(format!("{:?}", r.counter)).or_insert((0, r.from_ns, None));
            (sum.0, sum.2) = (sum.0 + r.rise.unwrap(), r.to_ns);
        }
        sums
    };
    assert_eq!(sums(&all), sums(&few));
    let to: Vec<i64> = few.rows.iter().map(|r| r.to_ns.unwrap_or(i64::MAX)).collect();
    assert!(
        few.rows
            .iter()
            .zip(to)
            .all(|(r, to)| r.from_ns.is_none_or(|from| from < to))
    );
}
