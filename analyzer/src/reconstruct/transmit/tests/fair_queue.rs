use crate::name::Name;
use crate::reconstruct::timers::{Kind, TimerEvent, Timers, What};
use crate::reconstruct::transmit::Stage;
use crate::reconstruct::transmit::fair_queue::held;
use crate::reconstruct::transmit::stages::StageTimes;
use crate::reconstruct::xmits::Pass;

/// A segment queued at 1000 and held until 41 000; at 40 000 a timer of each owner ended, 27 000 late.
fn held_by(kind: &str, owners: &[u64]) -> [Option<i64>; 3] {
    let pass = Pass {
        qdisc: Name::new(kind.as_bytes()),
        ..crate::testing::pass()
    };
    let fired = |(index, owner): (usize, &u64)| TimerEvent {
        index: index as u32,
        ts: 40_000,
        cpu: 0,
        kind: Kind::Qdisc,
        owner: *owner,
        what: What::Expired { slip_ns: Some(27_000) },
    };
    let mut timers = Timers::default();
    timers.events = owners.iter().enumerate().map(fired).collect();
    let mut stages = StageTimes::default();
    held(&mut stages, &pass, &timers);
    assert_eq!(stages.sum(), 40_000);
    [Stage::Pacing, Stage::PacingSlip, Stage::Qdisc].map(|x| stages.get(x))
}

#[test]
fn a_segment_that_fq_held_for_its_time_was_paced() {
    // Due at 13 000, the timer at 40 000, given to the driver at 41 000.
    assert_eq!(held_by("fq", &[7]), [Some(12_000), Some(27_000), Some(1000)]);
    assert_eq!(held_by("tbf", &[7]), [None, None, Some(40_000)]);
    // No timer; or whose it was is not known.
    assert_eq!(held_by("fq", &[]), [None, None, Some(40_000)]);
    assert_eq!(held_by("fq", &[7, 8]), [None, None, Some(40_000)]);
}
