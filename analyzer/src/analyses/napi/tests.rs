use super::answer;
use crate::Confidence;
use crate::analyses::Outcome;
use crate::facts::Facts;
use crate::name::Name;
use crate::reconstruct::context::RunBy;
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
        cpu,
        start_ns,
        end_ns,
        vec,
        raise_ns,
        run_by: RunBy::IrqTail,
        wait: None,
        blame: None,
        episode_ns: start_ns,
        squeezed: None,
        pid: 0,
        comm: Name::default(),
        irq_ns: None,
        confidence: Confidence::Certain,
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
