mod absent;
mod always;
mod closes;
mod drops;
mod echo;
mod follows;
mod full;
mod left_early;
mod missed;
mod once;
mod paths;
mod queued;
mod quotas;
mod requests;
mod samples;
mod tcp;
mod turns;
mod unseen;
mod waited;
mod whose;

use super::sentences::{self, duration};
use super::{Line, Tone, received, softirqs};
use crate::analyses::napi::{CpuVector, Napi};
use crate::analyses::receive::Receive;
use crate::analyses::tcp::Tcp;
use crate::analyses::waits::StageTimes;
use crate::facts::{Facts, Reason};
use crate::stat::Distribution;
use std::collections::BTreeMap;

#[test]
fn durations_as_people_read_them() {
    let of = |ns| duration(ns);
    assert_eq!(of(0), "0.00 µs");
    assert_eq!(of(1_234), "1.23 µs");
    assert_eq!(of(123_456), "123.5 µs");
    assert_eq!(of(12_345_678), "12.35 ms");
    assert_eq!(of(1_500_000_000), "1.500 s");
    assert_eq!(of(-2_000), "-2.00 µs");
    assert!(of(i64::MIN).ends_with(" s"));
}

/// Nine lines in a fixed order, whatever is missing; what has no answer says why.
#[test]
fn always_nine_lines() {
    let mut f = Facts::empty();
    f.unknown.push(Reason {
        subject: "rx",
        because: "sock:sk_data_ready has no format in this capture".into(),
    });
    f.unknown.push(Reason {
        subject: "drops",
        because: "skb:kfree_skb has no format in this capture".into(),
    });
    let lines = crate::analyses::answer(&f).verdict;
    let subjects: Vec<_> = lines.iter().map(|l| (l.subject, l.tone)).collect();
    let expect = [
        ("quality", Tone::Bad),
        ("opens", Tone::Unknown),
        ("datagrams", Tone::Unknown),
        ("application", Tone::Unknown),
        ("receive", Tone::Unknown),
        ("transmit", Tone::Unknown),
        ("drops", Tone::Unknown),
        ("tcp", Tone::Unknown),
        ("napi", Tone::Unknown),
    ];
    assert_eq!(subjects, expect);
    let of = |k: usize| -> &Line { &lines[k] };
    assert!(of(4).sentence.contains("sk_data_ready"), "{}", of(4).sentence);
    assert_eq!(
        of(6).sentence,
        "Drops not judged: skb:kfree_skb has no format in this capture."
    );
}

fn dist(values: &[i64]) -> Distribution {
    Distribution::of(values.to_vec(), 0)
}
fn stage(name: &'static str, values: &[i64], share: f64) -> StageTimes {
    StageTimes {
        stage: name,
        meaning: "what passes in it",
        solid: dist(values),
        all: dist(values),
        share,
    }
}
fn receive(rcvq: i64) -> Receive {
    Receive {
        reader: None,
        read: 2,
        protocol_only: 1,
        excluded: BTreeMap::new(),
        queued: 0,
        closed: 0,
        unread_at_least_ns: None,
        by_confidence: BTreeMap::new(),
        total: stage("total", &[10_000, 20_000], 1.0),
        stages: vec![stage("gro", &[6_000], 0.2), stage("copy", &[21_000], 0.7)],
        unattributed: stage("unattributed", &[], 0.1),
        rcvq: stage("rcvq", &[rcvq], 0.0),
        by_dev: BTreeMap::new(),
        by_task: BTreeMap::new(),
        blamed: vec![],
        read_of: None,
        asked_meanwhile: None,
        children: None,
        low_water: None,
        busy_with: None,
        small_reads: None,
        uneven: None,
        holes: vec![],
        worst: vec![],
        lacks: vec![],
    }
}

#[test]
fn the_receive_line_names_the_largest_share() {
    let (tone, s) = received::receive(&receive(999_999));
    assert_eq!(tone, Tone::Ok);
    let expect = "Received packets were read after p50 10.0 µs, p99 20.0 µs, max 20.0 µs (n 2); \
                  70 % of that time: what passes in it.";
    assert_eq!(s, expect);
    assert_eq!(received::receive(&receive(1_000_000)).0, Tone::Notice);
    // A slow unit of weak confidence changes neither the percentiles nor the share beside them, and is not hidden.
    let mut mixed = receive(0);
    mixed.total.all = dist(&[10_000, 20_000, 970_000]);
    mixed.stages[0].share = 0.98;
    mixed.stages[0].all = dist(&[6_000, 974_000]);
    let expect = expect.replace("in it.", "in it; 1 less certain, max with these 970.0 µs.");
    assert_eq!(received::receive(&mixed).1, expect);
    // Most of the time in no stage is no good answer, however short.
    let mut untold = receive(0);
    untold.unattributed = stage("unattributed", &[15_000], 0.5);
    assert_eq!(received::receive(&untold).0, Tone::Notice);
    // A way of a millisecond is long, wherever it went.
    let mut late = receive(0);
    late.total.solid = dist(&[10_000, 1_000_000]);
    assert_eq!(received::receive(&late).0, Tone::Notice);
    // A reader that never comes back is no read, and news all the same.
    let stuck = Receive {
        queued: 3,
        closed: 0,
        unread_at_least_ns: Some(20_000_000),
        ..receive(0)
    };
    let (tone, s) = received::receive(&stuck);
    assert_eq!(tone, Tone::Notice);
    assert!(
        s.ends_with("; 3 not seen read at the end, one for at least 20.00 ms."),
        "{s}"
    );
    // Of a socket that was closed no reader will come.
    let closed = |closed| Receive { closed, ..receive(0) };
    let (one, two) = (received::receive(&closed(1)).1, received::receive(&closed(2)).1);
    assert!(one.contains("; 1 not seen read until its socket was closed"), "{one}");
    assert!(
        two.contains("; 2 not seen read until their sockets were closed"),
        "{two}"
    );
    // The head says how sure its figure is.
    let head = |solid: &[i64]| {
        let mut slow = receive(0);
        slow.total.all = dist(&[10_000; 20]);
        slow.total.all.max_ns = Some(20_000_000);
        slow.total.all.p99_ns = Some(20_000_000);
        slow.total.solid = dist(solid);
        (slow.total.solid.p99_ns, slow.total.solid.max_ns) = match solid.is_empty() {
            true => (None, None),
            false => (Some(20_000_000), Some(20_000_000)),
        };
        received::headline(&slow)
    };
    let (sure, unsure) = (head(&[10_000; 20]), head(&[]));
    assert!(sure.contains("took up to 20.00 ms to be read"), "{sure}");
    assert!(
        unsure.contains("took up to 20.00 ms (less certain) to be read"),
        "{unsure}"
    );
    // What tells of arrivals or reads was not recorded: then what is there is not all.
    let lacks = vec!["there is no tcp_probe".to_string()];
    let some = Receive {
        lacks: lacks.clone(),
        ..receive(0)
    };
    assert_eq!(received::receive(&some).0, Tone::Notice);
    let nothing = Receive {
        read: 0,
        lacks,
        ..receive(0)
    };
    assert_eq!(received::receive(&nothing).0, Tone::Unknown);
    let none = Receive { read: 0, ..receive(0) };
    assert!(received::receive(&none).1.contains("No received packet was read"));
}

#[test]
fn the_napi_line_is_of_the_busiest_cpu() {
    let cpu = |cpu, share, wait: &[i64]| CpuVector {
        worst: None,
        cpu,
        vector: "NET_RX",
        runs: 1,
        share,
        run: dist(&[1]),
        wait: dist(wait),
        waited_for: Default::default(),
        runners: BTreeMap::new(),
    };
    let napi = |cpus| Napi {
        threads: vec![],
        devices: vec![],
        cpus,
        squeezes: Default::default(),
        saturated: None,
        preempted: None,
    };
    let (tone, s) = softirqs::napi(&napi(vec![cpu(0, 0.05, &[700]), cpu(3, 0.29, &[900])]));
    assert_eq!(tone, Tone::Ok);
    assert!(
        s.contains("29.0 % of a CPU (CPU 3)") && s.contains("p99 0.90 µs, max 0.90 µs after it was raised (n 1)"),
        "{s}"
    );
    assert_eq!(softirqs::napi(&napi(vec![cpu(0, 0.31, &[])])).0, Tone::Notice);
    assert_eq!(softirqs::napi(&napi(vec![cpu(0, 0.01, &[500_000])])).0, Tone::Notice);
    assert_eq!(softirqs::napi(&napi(vec![])).0, Tone::Unknown);
    // PREEMPT_RT: a run that was switched out is worth a look when a reader feels it.
    let away = |longest_ns: i64, by: &str, by_ns: i64| Napi {
        preempted: Some(crate::analyses::napi::Preempted {
            runs: 4,
            of: 2_135,
            ns: 6_200_000,
            lock_ns: 200_000,
            longest_ns,
            worst: None,
            by: by.into(),
            by_ns,
        }),
        ..napi(vec![cpu(0, 0.01, &[])])
    };
    let (tone, s) = softirqs::napi(&away(5_900_000, "irq/27-eth0", 6_000_000));
    assert_eq!(tone, Tone::Notice);
    let expect = " 4 of 2135 NET_RX runs were switched out for 6.20 ms in all, one for 5.90 ms, mostly while irq/27-eth0 ran (PREEMPT_RT: preempted, 200.0 µs of it waiting for locks).";
    assert!(s.ends_with(expect), "{s}");
    let (tone, s) = softirqs::napi(&away(3_000_000, "irq/27-eth0", 3_000_000));
    assert_eq!((tone, s.contains("irq/27")), (Tone::Ok, false));
    // A NAPI thread that waits is worth a look by its p99 where it polled often, else by a wait that stands out.
    let thread = |waits: &[i64], behind: f64| Napi {
        threads: vec![crate::analyses::napi::NapiThread {
            worst: None,
            dev: "s0".into(),
            task: "napi/s0-288/15447".into(),
            polls: waits.len() as u64,
            wait: dist(waits),
            behind: vec![("python3".into(), behind)],
        }],
        ..napi(vec![cpu(0, 0.01, &[])])
    };
    let (tone, s) = softirqs::napi(&thread(&[1_000, 2_000, 30_000_000], 0.9));
    assert_eq!(tone, Tone::Notice);
    let expect = "s0 is polled by the thread napi/s0-288/15447, which waited p50 2.00 µs, p99 30.00 ms, max 30.00 ms (n 3) for a CPU, mostly behind python3. NET_RX took";
    assert!(s.starts_with(expect), "{s}");
    assert!(
        !softirqs::napi(&thread(&[1_000, 2_000, 30_000_000], 0.4))
            .1
            .contains("behind")
    );
    assert_eq!(softirqs::napi(&thread(&[1_000, 2_000, 600_000], 0.9)).0, Tone::Ok);
}

/// No event of a kind that nobody says was recorded is no news, and is not called good news.
#[test]
fn what_was_not_recorded_is_not_called_absent() {
    use crate::testing::{Ctx, N, Script};
    let mut s = Script::new("6.18.44", &[]);
    s.ev(1, 0, Ctx::Task(1), "tcp:tcp_probe", &[("data_len", N(0))]);
    let mut f = s.facts();
    let tones = |f: &crate::Facts| {
        let a = crate::analyses::answer(f);
        let of = |subject| a.verdict.iter().find(|l| l.subject == subject).unwrap().tone;
        (of("drops"), a.drops.findings().is_some_and(|d| d.recorded))
    };
    assert_eq!(tones(&f), (Tone::Unknown, false));
    f.capture.enabled_events = Some(vec!["skb:kfree_skb".into()]);
    assert_eq!(tones(&f), (Tone::Ok, true));
    // Of a file that is cut before its first event, the plan says nothing.
    f.capture.total_events = 0;
    f.capture.events.clear();
    assert_eq!(tones(&f), (Tone::Unknown, false));
}

/// The lossy sample of perf: seven of eight events are lost, so nothing that rests on not having seen something is good.
#[test]
fn a_lossy_recording_acquits_nobody() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../sample-data/perf-loopback/mixed.pipe.zst"
    );
    let bytes = zstd::decode_all(std::fs::File::open(path).unwrap()).unwrap();
    let capture = netmortem_formats::open_bytes("mixed", netmortem_formats::Bytes::Owned(bytes)).unwrap();
    let facts = crate::analyze(&capture, &Default::default());
    let verdict = crate::analyses::answer(&facts).verdict;
    let good: Vec<_> = verdict.iter().filter(|l| l.tone == Tone::Ok).collect();
    assert!(good.is_empty(), "{good:?}");
    let drops = verdict.iter().find(|l| l.subject == "drops").unwrap();
    assert!(drops.sentence.contains("9006 events were lost"), "{}", drops.sentence);
    // Without a loss the same words are good.
    let said = || (Tone::Ok, "No packet was dropped.".to_owned());
    assert_eq!(super::minding::minding_the(said(), &Default::default(), false), said());
}
