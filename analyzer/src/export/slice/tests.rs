mod drops;

use std::collections::BTreeMap;

use netmortem_formats::{Bytes, Capture, Locus, StreamItem, open_bytes};

use super::compare::different;
use super::walk::by_end;
use super::{Compared, Cut, Flow, Subject, compare, cut};
use crate::export::bundle::{Change, Done, rewrite};
use crate::facts::Facts;
use crate::ingest::GapRow;

fn open(path: &str) -> Capture {
    if path.ends_with(".zst") {
        return crate::tests::sample(path);
    }
    let file = match path.starts_with('/') {
        true => path.to_owned(),
        false => format!("{}/../sample-data/{path}", env!("CARGO_MANIFEST_DIR")),
    };
    netmortem_formats::open_path(file.as_ref()).unwrap().unwrap()
}

fn facts(c: &Capture) -> Facts {
    crate::analyze(c, &Default::default())
}

fn subject(flows: &[&str], devs: &[&str]) -> Subject {
    Subject {
        flows: flows.iter().map(|f| f.parse().unwrap()).collect(),
        devs: devs.iter().map(|d| (*d).to_owned()).collect(),
    }
}

/// Event id, time and payload of every record of every CPU; those of perf by time.
fn records(c: &Capture) -> Vec<Vec<(u16, u64, Vec<u8>)>> {
    let of = |s: &netmortem_formats::Stream| {
        let mut out = vec![];
        for chunk in &s.chunks {
            let bytes = c.chunk_bytes(chunk).unwrap();
            s.for_each(&bytes, Locus::default(), |item| {
                if let StreamItem::Record(r) = item.unwrap() {
                    out.push((c.endian.u16(r.payload, 0).unwrap(), r.ts, r.payload.to_vec()));
                }
            });
        }
        if s.perf.is_some() {
            out.sort_by_key(|r| r.1);
        }
        out
    };
    c.streams.iter().map(of).collect()
}

fn sliced(capture: &Capture, cut: Cut) -> (Capture, Done) {
    let change = Change {
        cut: Some(cut),
        ..Change::default()
    };
    let (bytes, done) = rewrite(capture, &change, vec![]).unwrap();
    (open_bytes("slice.nmb", Bytes::Owned(bytes)).unwrap(), done)
}

/// What of the recording may not be cut: everything that is no network event, and of these what names no socket or skb.
fn is_network(name: &str) -> bool {
    ["net:", "skb:", "napi:", "qdisc:", "tcp:", "sock:"]
        .iter()
        .any(|s| name.starts_with(s))
}

/// Rows of the flow are the same to the nanosecond; what is gone is what was said to be gone, and nothing else.
#[test]
fn rows_of_the_subject_stay() {
    // What is asked for, and its rows: of iperf3 a connection for control and one for data.
    let of = [
        ("sawtooth/sawtooth.nmb", subject(&["conn:0"], &[]), (22, 19), 15_000),
        (
            "sawtooth/sawtooth.nmb",
            subject(&["10.77.2.1:5201-10.77.1.1:35914"], &[]),
            (10_239, 3_211),
            1,
        ),
        // The RST that the listener sent for an ACK behind the connection is not its own.
        ("kernel-6.1/netem.nmb", subject(&["conn:0"], &[]), (25, 23), 1_500),
        ("kernel-6.1/netem.nmb", subject(&[":51830"], &[]), (3_472, 3_041), 1),
        ("kernel-6.1/netem.nmb", subject(&["conn:1"], &["va"]), (0, 0), 1_500),
        ("rpc/rpc.nmb", subject(&["7000"], &[]), (0, 0), 0),
        ("perf-rings/flows.nmb.zst", subject(&["7000"], &[]), (0, 0), 500),
        (
            "perf-rings/flows.nmb.zst",
            subject(&["7001"], &["warehouse"]),
            (0, 0),
            500,
        ),
        ("perf-rings/lossy.nmb.zst", subject(&["7001"], &[]), (0, 0), 0),
    ];
    for (path, subject, rows, at_least) in of {
        let what = format!("{path}, {subject}");
        let capture = open(path);
        let before = facts(&capture);
        let (cut, told) = cut(&capture, &before, &subject).unwrap();
        let (new, done) = sliced(&capture, cut.clone());
        let after = facts(&new);
        let compared = compare(&before, &after, &subject).unwrap();
        let compared = Compared {
            drops: told.drops,
            ..compared
        };
        assert_eq!((compared, told.different), (told, 0), "{what}");
        assert!(compared.rx + compared.tx > 0, "{what}");
        if rows != (0, 0) {
            assert_eq!((compared.rx, compared.tx), rows, "{what}");
        }
        // Events are the original's without those that are counted, kind by kind, and in their order.
        assert_eq!(done.cut_others, cut.events, "{what}");
        let mut counts: BTreeMap<String, u64> = after.capture.events.clone();
        for (name, n) in &cut.events {
            assert!(is_network(name), "{what}: {name}");
            *counts.entry(name.clone()).or_default() += n;
        }
        assert_eq!(counts, before.capture.events, "{what}");
        assert!(cut.total() >= at_least, "{what}: {}", cut.total());
        for (less, all) in records(&new).iter().zip(records(&capture)) {
            let mut all = all.iter();
            assert!(less.iter().all(|r| all.any(|o| o == r)), "{what}");
        }
        let lives = cut.own + cut.context + cut.unknown + cut.others;
        assert_eq!(lives, before.skbs.len() as u64, "{what}");
        assert!(
            new.complete && netmortem_formats::bundle::verify(&new).is_empty(),
            "{what}"
        );
        assert_eq!(
            (after.capture.lost_events, after.gaps),
            (before.capture.lost_events, before.gaps),
            "{what}"
        );
        let notes = new.manifest.unwrap()["notes"].to_string();
        let told = format!(
            "{} events that are proven to be of other flows or devices were cut",
            cut.total()
        );
        assert!(
            notes.contains(&told) && notes.contains(&subject.to_string()),
            "{what}: {notes}"
        );
        let same = format!(
            "of the {} rows of rx and {} of tx of what was asked for, all are the same",
            compared.rx, compared.tx
        );
        assert!(notes.contains(&same), "{what}: {notes}");
    }
}

/// By the ports in the bytes alone: no sample of the flow is gone, and every one that is gone is of another.
#[test]
fn samples_that_are_cut_have_other_ports() {
    let capture = open("sawtooth/sawtooth.nmb");
    let before = facts(&capture);
    let (cut, _) = cut(&capture, &before, &subject(&["conn:0"], &[])).unwrap();
    let (new, _) = sliced(&capture, cut);
    let f = capture
        .event_formats
        .iter()
        .find(|f| f.key() == "tcp:tcp_probe")
        .unwrap();
    let port = |p: &[u8], name: &str| capture.endian.u16(p, f.field(name).unwrap().offset as usize).unwrap();
    let of = |c: &Capture| {
        let all = records(c).into_iter().flatten().filter(|r| r.0 == f.id);
        let (own, others): (Vec<_>, Vec<_>) =
            all.partition(|r| [port(&r.2, "sport"), port(&r.2, "dport")].contains(&35912));
        (own, others.len())
    };
    let ((own, others), (own_left, others_left)) = (of(&capture), of(&new));
    assert_eq!(own.len(), 12 + 11);
    assert_eq!(own_left, own);
    assert!(others_left < others, "{others_left} of {others}");
}

/// A loss stays where it was, also when the events around it are cut.
#[test]
fn losses_stay() {
    let whole = open("sawtooth/sawtooth.nmb");
    // In runs of 150 events in each 20,000.
    let mut capture = crate::testing::rewrite::thinned(&whole, |i| i % 20_000 >= 150);
    // As a bundle: its texts are those of the original, its chunks lie behind them.
    let at = whole.bytes.len() as u64;
    capture.bytes = Bytes::Owned([&whole.bytes[..], &capture.bytes[..]].concat());
    for chunk in capture.streams.iter_mut().flat_map(|s| &mut s.chunks) {
        chunk.range = chunk.range.start + at..chunk.range.end + at;
    }
    (capture.format, capture.members, capture.manifest) = (whole.format, whole.members.clone(), whole.manifest.clone());
    capture.manifest.as_mut().unwrap()["plan"]["sub_buffer_bytes"] = capture.streams[0].page.size.into();
    let before = facts(&capture);
    assert_eq!(before.capture.lost_events, 18 * 150);
    let (cut, _) = cut(&capture, &before, &subject(&["conn:0"], &[])).unwrap();
    assert!(cut.total() > 1_000);
    let change = Change {
        cut: Some(cut),
        ..Change::default()
    };
    let (bytes, _) = rewrite(&capture, &change, vec![]).unwrap();
    let after = facts(&open_bytes("slice.nmb", Bytes::Owned(bytes)).unwrap());
    assert_eq!(after.capture.lost_events, before.capture.lost_events);
    // What is cut at the end of a bundle without an end is a sentence in the slice.
    let lost = |f: &Facts| -> Vec<_> {
        let gaps = f.gaps.iter().filter(|g| g.cause == "overrun");
        gaps.map(|g| (g.cpu, g.lost_events)).collect()
    };
    assert_eq!(lost(&after), lost(&before));
}

#[test]
fn flows_are_written_as_people_do() {
    for (given, shown) in [
        ("conn:3", "conn:3"),
        ("443", ":443"),
        (":443", ":443"),
        ("10.0.0.1", "10.0.0.1"),
        ("10.0.0.1:443", "10.0.0.1:443"),
        ("10.0.0.1:443-10.0.0.2:5000", "10.0.0.1:443-10.0.0.2:5000"),
        ("10.0.0.1-:5000", "10.0.0.1-:5000"),
        ("[2001:db8::1]:443-[::1]:80", "[2001:db8::1]:443-[::1]:80"),
        ("2001:db8::1", "[2001:db8::1]"),
    ] {
        assert_eq!(given.parse::<Flow>().unwrap().to_string(), shown);
    }
    for wrong in [
        "",
        "conn:",
        "conn:x",
        "x",
        "70000",
        "10.0.0.1:443-",
        "-:1",
        "1.2.3",
        "0",
    ] {
        assert!(wrong.parse::<Flow>().is_err(), "{wrong}");
    }
    assert_eq!(
        subject(&["443", "conn:1"], &["eth0"]).to_string(),
        "flow :443 or flow conn:1, and device eth0"
    );
}

/// What is not there is told with what is.
#[test]
fn what_is_not_there_is_told() {
    let capture = open("rpc/rpc.nmb");
    let before = facts(&capture);
    let wrong = |flows: &[&str], devs: &[&str]| cut(&capture, &before, &subject(flows, devs)).unwrap_err().to_string();
    assert_eq!(
        wrong(&["conn:9"], &[]),
        "there is no conn:9: connections are conn:0 to conn:1"
    );
    let port = wrong(&[":9"], &[]);
    assert!(
        port.starts_with("no connection is :9; there are: conn:0 10.78.1.1:41276-10.78.1.2:7000"),
        "{port}"
    );
    let dev = wrong(&[], &["eth7"]);
    assert!(
        dev.starts_with("no packet passed a device eth7; devices are: "),
        "{dev}"
    );
}

/// What differs is counted on both sides.
#[test]
fn comparing_finds_what_differs() {
    let capture = open("rpc/rpc.nmb");
    let (before, mut after) = (facts(&capture), facts(&capture));
    let all = subject(&["7000"], &[]);
    let same = compare(&before, &after, &all).unwrap();
    let (rx, tx) = (before.rx.len(), before.tx.len());
    assert!(
        same.rx > 800 && same.tx > 800 && same.rx <= rx && same.tx <= tx,
        "{same:?}"
    );
    assert_eq!(same.different, 0);
    let at = after.rx.iter().position(|r| r.connection.is_some()).unwrap();
    after.rx[at].total_ns += 1;
    let at = after.tx.iter().position(|r| r.connection.is_some()).unwrap();
    after.tx.remove(at);
    assert_eq!(
        compare(&before, &after, &all).unwrap(),
        Compared { different: 3, ..same }
    );
}

/// A slice whose rows differ says so itself.
#[test]
fn the_notes_say_that_rows_differ() {
    let compared = Compared {
        rx: 20,
        tx: 10,
        drops: 0,
        different: 3,
    };
    let cut = Cut {
        compared: Some(compared),
        ..Cut::default()
    };
    let (new, _) = sliced(&open("rpc/rpc.nmb"), cut);
    let notes = new.manifest.unwrap()["notes"].to_string();
    let told = "of the 20 rows of rx and 10 of tx of what was asked for, 3 are not the same as in the original";
    assert!(notes.contains(told), "{notes}");
}

/// Few and many rows of one time: those without an equal, on both sides.
#[test]
fn rows_of_one_time_are_compared() {
    for n in [3, 10, 100, 50_000] {
        let a: Vec<(i64, u32)> = (0..n).map(|i| (7, i)).collect();
        let mut b: Vec<(i64, u32)> = a.iter().rev().copied().collect();
        b.insert(0, (6, 1));
        assert_eq!(different(&a, &b, |r| r.0), 1, "{n}");
        b[2].1 = n;
        assert_eq!(different(&a, &b, |r| r.0), 3, "{n}");
    }
}

/// A long gap of one CPU does not hide the end of a short one of another.
#[test]
fn gaps_are_taken_as_they_end() {
    let gap = |cpu, start_ns, end_ns| GapRow {
        cpu,
        start_ns,
        end_ns,
        lost_events: None,
        cause: "overrun",
    };
    let gaps = [
        gap(0, Some(10), Some(100)),
        gap(1, Some(20), Some(30)),
        gap(2, Some(50), None),
        gap(3, None, Some(5)),
    ];
    let order: Vec<u32> = by_end(&gaps).iter().map(|g| g.cpu).collect();
    assert_eq!(order, [3, 1, 2, 0]);
}
