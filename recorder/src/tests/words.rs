//! What people write as a time, and what they are told after a loss. Needs no kernel.

use std::time::Duration;

use netmortem_formats::CpuStats;
use netmortem_formats::bundle::{Manifest, PlannedPerf};

use crate::options::Profile;
use crate::record::judge;
use crate::units::{parse_duration, parse_length};

#[test]
fn times_have_days_and_hours_and_may_be_several() {
    let seconds = |s: &str| parse_duration(s).map(|d| d.as_secs_f64());
    for (text, expect) in [
        ("1d", 86_400.0),
        ("1.5d", 129_600.0),
        ("2h", 7_200.0),
        ("90m", 5_400.0),
        ("90min", 5_400.0),
        ("1d12h", 129_600.0),
        ("1h30m", 5_400.0),
        ("1d 2h 3m 4s", 93_784.0),
        ("1s500ms", 1.5),
        ("45", 45.0),
        ("0.5", 0.5),
        ("250us", 0.000_25),
        ("10000d", 864_000_000.0),
    ] {
        assert_eq!(seconds(text), Ok(expect), "{text}");
    }
    // The largest is of 64 bits of seconds; what does not fit is refused, and not cut.
    assert_eq!(
        parse_duration("200000000000000d"),
        Ok(Duration::from_secs(17_280_000_000_000_000_000))
    );
    for (text, why) in [
        ("300000000000000d", "too big"),
        (&format!("{}d", "9".repeat(400)), "too big"),
        ("", "does not start with a number"),
        ("d", "does not start with a number"),
        ("-1d", "does not start with a number"),
        ("1..5h", "does not start with a number"),
        ("inf", "does not start with a number"),
        ("1e9s", "unknown unit \"e\""),
        ("1w", "unknown unit \"w\"; use us, ms, s, m, h or d"),
        ("1D", "unknown unit \"D\""),
        ("1h30", "a unit is missing in \"1h30\""),
        ("1 30", "a unit is missing"),
        ("1d-2h", "unknown unit \"d-\""),
        ("3 parsecs", "unknown unit \"parsecs\""),
    ] {
        let told = parse_duration(text).unwrap_err();
        assert!(told.contains(why), "{text:?}: {told}");
    }
    assert_eq!(parse_length("0d"), Err("nothing can be recorded in no time".into()));
    assert_eq!(parse_length("1d"), Ok(Duration::from_secs(86_400)));
}

/// Which sentences are told of a CPU that lost so many, with this profile, notes and backend.
fn told(profile: Profile, notes: &[&str], perf: bool, stats: CpuStats) -> Vec<String> {
    let mut m = Manifest::default();
    m.plan.profile = profile.name().to_owned();
    m.plan.perf = perf.then(PlannedPerf::default);
    m.notes = notes.iter().map(|n| (*n).to_owned()).collect();
    let mut problems = vec![];
    judge(&[stats, CpuStats::default()], &m, &mut problems);
    problems
}

#[test]
fn after_a_loss_a_larger_ring_and_a_smaller_profile_are_told() {
    let lost = |overrun, dropped_events| CpuStats {
        cpu: 3,
        overrun,
        commit_overrun: 1,
        dropped_events,
        ..CpuStats::default()
    };
    let shrunk = ["ring buffers of 64 KiB instead of 8192 on each of 2 CPUs"];
    for (profile, notes, words) in [
        (
            Profile::Full,
            &[][..],
            "a larger --buffer-size or a smaller --profile loses fewer",
        ),
        (Profile::Drops, &[], "a larger --buffer-size loses fewer"),
        (
            Profile::Full,
            &["another note"],
            "a larger --buffer-size or a smaller --profile loses fewer",
        ),
        (
            Profile::Lean,
            &shrunk,
            "a larger ring loses fewer, which a limit kept smaller (see the notes), or a smaller --profile",
        ),
        (
            Profile::Drops,
            &shrunk,
            "a larger ring loses fewer, which a limit kept smaller (see the notes)",
        ),
    ] {
        assert_eq!(
            told(profile, notes, false, lost(40, 2)),
            [format!("CPU 3: 43 events lost; {words}")]
        );
    }
    // What perf lost for another reason than a full ring no larger one would hold.
    assert_eq!(told(Profile::Full, &[], true, lost(0, 2)), ["CPU 3: 3 events lost"]);
    let full = told(Profile::Full, &[], true, lost(5, 0));
    assert_eq!(
        full,
        ["CPU 3: 6 events lost; a larger --buffer-size or a smaller --profile loses fewer"]
    );
    // Nothing lost, nothing told; what stayed in the kernel is not in the bundle.
    assert_eq!(told(Profile::Full, &[], false, CpuStats::default()), [] as [String; 0]);
    let stayed = CpuStats {
        entries: 9,
        ..CpuStats::default()
    };
    assert_eq!(
        told(Profile::Full, &[], false, stayed),
        ["CPU 0: 9 events stayed in the kernel and are not in the bundle"]
    );
}
