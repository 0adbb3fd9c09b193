use super::{Exemplars, StageExemplars};
use crate::Confidence::{self, Certain, Strong, Weak};
use crate::analyses::units::Ledgers;
use crate::analyses::{self, waits};
use crate::facts::{Facts, SkbId};
use crate::reconstruct::receive::tables::{Censored, RxEnd, RxRow, Stage};

fn answer(facts: &Facts) -> Exemplars {
    super::answer(facts, &Ledgers::of(facts))
}

fn unit(n: u32, copy_ns: i64, confidence: Confidence) -> RxRow {
    let mut row = RxRow {
        skb_id: SkbId(n),
        end: RxEnd::Read,
        start_ns: i64::from(n) * 10,
        total_ns: copy_ns + 5,
        unattributed_ns: 5,
        confidence,
        ..RxRow::default()
    };
    row.stages.set(Stage::Copy, Some(copy_ns));
    row
}

fn stage<'e>(of: &'e [StageExemplars], name: &str) -> &'e StageExemplars {
    of.iter().find(|s| s.stage == name).unwrap()
}

/// 100 units of 1..=100 ns, the ids the other way round: ranks 50, 99 and 100 are units 50, 1 and 0.
#[test]
fn ranks_are_the_nearest_and_ties_go_to_the_smallest_id() {
    let mut f = Facts::empty();
    f.rx = (0..100).map(|n| unit(n, i64::from(100 - n), Certain)).collect();
    let e = answer(&f);
    let copy = stage(&e.receive, "copy");
    let of = |x: &super::Exemplar| (x.id.clone(), x.ns, x.total_ns);
    assert_eq!(copy.n, 100);
    assert_eq!(of(&copy.worst), ("rx:0".into(), 100, 105));
    assert_eq!(of(&copy.p99), ("rx:1".into(), 99, 104));
    assert_eq!(of(&copy.median), ("rx:50".into(), 50, 55));
    assert_eq!(copy.median.skb, "skb:50");
    // All have the same time in no stage.
    let rest = stage(&e.receive, "unattributed");
    assert_eq!(
        [&rest.worst.id, &rest.p99.id, &rest.median.id],
        ["rx:0", "rx:0", "rx:0"]
    );
    // Stages that no unit has are left out.
    let names: Vec<_> = e.receive.iter().map(|s| s.stage).collect();
    assert_eq!(names, ["total", "copy", "unattributed"]);
}

#[test]
fn only_solid_whole_units_are_exemplars() {
    let mut f = Facts::empty();
    let cut = RxRow {
        censored: Some(Censored::Start),
        ..unit(1, 900, Certain)
    };
    let waiting = RxRow {
        end: RxEnd::Queued,
        ..unit(2, 800, Certain)
    };
    f.rx = vec![cut, waiting, unit(3, 700, Weak), unit(4, 20, Strong)];
    f.capture.realtime_offset_ns = Some(1_000);
    let e = answer(&f);
    let total = stage(&e.receive, "total");
    assert_eq!((total.n, total.worst.id.as_str(), total.worst.ns), (1, "rx:4", 25));
    assert_eq!(total.worst.start_realtime_ns, Some(1_040));
    assert_eq!(answer(&Facts::empty()), Exemplars::default());
}

/// On real recordings the exemplars' times are the percentiles that the report prints, and their stages sum.
#[test]
fn exemplars_are_the_printed_percentiles() {
    let mut compared = 0;
    for path in ["rpc/rpc.nmb", "tracedat-loopback/trace.dat", "sawtooth/sawtooth.nmb"] {
        let file = format!("{}/../sample-data/{path}", env!("CARGO_MANIFEST_DIR"));
        let capture = netmortem_formats::open_path(file.as_ref()).unwrap().unwrap();
        let facts = crate::analyze(&capture, &Default::default());
        let a = analyses::answer(&facts);
        let mut check = |of: &[StageExemplars], printed: &[&waits::StageTimes]| {
            for p in printed.iter().filter(|p| p.solid.n > 0) {
                let e = stage(of, p.stage);
                assert_eq!(e.n, p.solid.n, "{path} {}", p.stage);
                assert_eq!(Some(e.worst.ns), p.solid.max_ns, "{path} {}", p.stage);
                assert_eq!(Some(e.p99.ns), p.solid.p99_ns, "{path} {}", p.stage);
                assert_eq!(Some(e.median.ns), p.solid.p50_ns, "{path} {}", p.stage);
                for x in [&e.worst, &e.p99, &e.median] {
                    let sum: i64 = x.stages.iter().map(|s| s.ns).sum();
                    assert_eq!(sum + x.unattributed_ns, x.total_ns, "{path} {}", x.id);
                }
                compared += 1;
            }
        };
        if let Some(r) = a.receive.findings() {
            let printed: Vec<_> = r.stages.iter().chain([&r.total, &r.unattributed]).collect();
            check(&a.exemplars.receive, &printed);
        }
        if let Some(t) = a.transmit.findings() {
            let printed: Vec<_> = t.stages.iter().chain([&t.total, &t.unattributed]).collect();
            check(&a.exemplars.transmit, &printed);
        }
    }
    assert!(compared >= 40, "{compared}");
}
