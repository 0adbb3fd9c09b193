use super::answer;
use crate::analyses::Outcome;
use crate::facts::Facts;
use crate::name::Name;
use crate::reconstruct::napi::tables::PollRow;
use crate::reconstruct::softirq::tables::SoftirqRow;

fn poll(dev: &[u8], start_ns: Option<i64>, end_ns: i64, work: Option<i32>) -> PollRow {
    PollRow {
        work,
        budget: work.map(|_| 64),
        ..crate::testing::poll(dev, start_ns, end_ns)
    }
}
fn run(cpu: u16, vec: u32, raise_ns: Option<i64>, start_ns: i64, end_ns: Option<i64>) -> SoftirqRow {
    SoftirqRow {
        raise_ns,
        ..crate::testing::softirq(cpu, vec, start_ns, end_ns)
    }
}

#[test]
fn polls_by_device() {
    let mut f = Facts::empty();
    f.polls = vec![
        poll(b"eth0", Some(0), 10, Some(64)),
        poll(b"eth0", Some(10), 15, Some(0)),
        poll(b"eth0", None, 99, Some(3)),
        poll(b"old", Some(5), 6, None),
    ];
    let Outcome::Findings(a) = answer(&f) else { panic!() };
    let d = &a.devices[0];
    assert_eq!((d.dev.as_str(), d.polls, d.packets), ("eth0", 3, 67));
    assert_eq!((d.exhausted, d.without_work), (1, 1));
    assert_eq!(d.work, [(0, 1), (3, 1), (64, 1)]);
    assert_eq!((d.duration.n, d.duration.unknown, d.duration.max_ns), (2, 1, Some(10)));
    // No work recorded: none is claimed, not even 0.
    let old = &a.devices[1];
    assert_eq!((old.polls, old.packets, old.without_work, old.work.len()), (1, 0, 0, 0));
}

#[test]
fn softirqs_by_cpu_and_vector() {
    let mut f = Facts::empty();
    f.capture.duration_ns = 1_000;
    f.softirqs = vec![
        run(1, 3, Some(5), 10, Some(110)),
        run(1, 3, None, 200, Some(300)),
        run(1, 3, Some(400), 450, None),
        run(1, 1, Some(0), 1, Some(2)),
        run(0, 99, None, 1, Some(2)),
    ];
    let Outcome::Findings(a) = answer(&f) else { panic!() };
    let of: Vec<_> = a.cpus.iter().map(|c| (c.cpu, c.vector, c.runs)).collect();
    assert_eq!(of, [(0, "?", 1), (1, "TIMER", 1), (1, "NET_RX", 3)]);
    let rx = &a.cpus[2];
    assert_eq!(rx.share, 0.2);
    assert_eq!((rx.run.n, rx.run.unknown), (2, 1));
    assert_eq!((rx.wait.n, rx.wait.unknown, rx.wait.max_ns), (2, 1, Some(50)));
    assert_eq!(rx.runners.get("irq_tail"), Some(&3));
}

#[test]
fn nothing_recorded_is_no_answer() {
    assert!(matches!(answer(&Facts::empty()), Outcome::Unknown(_)));
}

/// Squeezes are inferred per run, beside what the kernel counted; waits are summed by what the CPU did in them.
#[test]
fn squeezes_and_what_was_waited_for() {
    let mut f = Facts::empty();
    let mut squeezed = run(0, 3, Some(0), 100, Some(200));
    (squeezed.squeezed, squeezed.wait) = (Some(true), Some([40, 0, 60, 0, 0, 0, 0]));
    let mut other = run(0, 3, Some(300), 310, Some(400));
    (other.squeezed, other.wait) = (Some(false), Some([10, 0, 0, 0, 0, 0, 0]));
    f.softirqs = vec![squeezed, other, run(1, 3, None, 500, None), run(1, 1, None, 600, None)];
    f.softnet.squeezed = Some(2);
    let Outcome::Findings(n) = answer(&f) else { panic!() };
    let s = &n.squeezes;
    assert_eq!((s.inferred, s.not_known, s.counted.squeezed), (1, 1, Some(2)));
    assert!(
        s.sentence
            .starts_with("1 of 3 NET_RX runs were stopped by their limits (1 not known)"),
        "{}",
        s.sentence
    );
    let waited: Vec<_> = n.cpus[0].waited_for.iter().map(|(k, v)| (*k, *v)).collect();
    assert_eq!(waited, [("bh_off", 60), ("irq", 50)]);
}

/// CPU 1 runs NET_RX for 950 of 1000 ms, and its polls take 9,500 packets; CPU 0 for 30.
#[test]
fn a_cpu_that_only_receives() {
    use crate::reconstruct::receive::tables::{RxRow, Stage};
    const MS: i64 = 1_000_000;
    let facts = |busy_ms: i64, steered: usize| {
        let mut f = Facts::empty();
        f.capture.duration_ns = 1000 * MS;
        f.softirqs = vec![
            run(0, 3, None, 0, Some(30 * MS)),
            run(1, 3, None, 0, Some(busy_ms * MS)),
        ];
        f.polls = vec![PollRow {
            cpu: 1,
            ..poll(b"(no_device)", Some(0), 10, Some(9500))
        }];
        for n in 0..10 {
            let mut row = RxRow {
                cpu: 1,
                pid: if n < 6 { 77 } else { 78 },
                task: Name::new(b"vector"),
                ..RxRow::default()
            };
            if n < steered {
                row.stages.set(Stage::Rps, Some(MS));
            }
            f.rx.push(row);
        }
        // Received where nothing is wrong.
        f.rx.extend([RxRow::default(), RxRow::default()]);
        f
    };
    let found = |f: &Facts| answer(f).findings().unwrap().saturated.clone();
    let s = found(&facts(950, 7)).unwrap();
    assert_eq!((s.cpu, s.each), (1, Some((9500, 100_000))));
    assert_eq!(
        (s.share, s.others, s.steered, s.reader),
        (0.95, 0.03, 0.7, Some(("vector/77".to_owned(), 0.5)))
    );
    let said = |f: &Facts| {
        let lines = crate::analyses::answer(f).verdict;
        let line = lines.into_iter().find(|l| l.subject == "napi").unwrap();
        (line.names_cause, line.headline)
    };
    let says = "CPU 1 spent 95.0 % of the time in NET_RX (other CPUs 3.0 % at most), 100.0 µs for each of 9500 packets; 70 % of the units received there were steered to it from another CPU (RPS, rps_cpus of their device); 50 % of all received units were read by vector/77";
    assert_eq!(said(&facts(950, 7)), (true, says.to_owned()));
    // On veth and lo packets are in the backlog without being steered.
    assert!(!said(&facts(950, 4)).1.contains("RPS"));
    assert_eq!(found(&facts(890, 7)), None);
    // Where polls do not say how many they took, nothing is said of a packet.
    let mut f = facts(950, 7);
    f.polls[0].work = None;
    assert!(
        said(&f)
            .1
            .starts_with("CPU 1 spent 95.0 % of the time in NET_RX (other CPUs 3.0 % at most); 70 %")
    );
}
