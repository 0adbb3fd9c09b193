use netmortem_formats::CpuStats;

use super::*;
use crate::ingest::check;
use crate::testing::{Ctx, N, Script};

/// What end.json of a flight on two CPUs said on 6.18 (`--flight -b 256K --before 3s` under load), with times of this script.
fn end(reaches_back: [bool; 2]) -> serde_json::Value {
    serde_json::json!({
        "flight": {"cpus": [
            {"cpu": 0, "reaches_back": reaches_back[0], "first_ts": 100, "cut_sub_buffers": 0, "cut_events": 0, "overwritten": 11229392},
            {"cpu": 1, "reaches_back": reaches_back[1], "first_ts": 600, "cut_sub_buffers": 0, "cut_events": 0, "overwritten": 6317665},
        ]},
    })
}

#[test]
fn what_was_overwritten_since_arming_is_no_number_of_the_window() {
    let mut s = Script::new("6.18.44", &[]);
    s.lost(0, Some(11_229_392));
    for (ts, cpu) in [(100, 0), (600, 1), (700, 0)] {
        s.ev(ts, cpu, Ctx::Task(1), "napi:napi_poll", &[("work", N(1))]);
    }
    s.lost(1, Some(3));
    let mut capture = s.capture();
    let told = |cpu, overrun| CpuStats {
        cpu,
        overrun,
        ..CpuStats::default()
    };
    capture.cpu_stats = vec![told(0, 11_229_392), told(1, 6_317_665)];
    capture.end = Some(end([false, false]));
    let c = check(&capture, &Default::default());
    // What was lost behind its first event is.
    assert_eq!((c.lost_events, c.losses_of_unknown_size), (3, 0));
    let gaps: Vec<_> = c
        .gaps
        .iter()
        .map(|g| (g.cpu, g.start_ns, g.end_ns, g.lost_events))
        .collect();
    assert_eq!(gaps, [(0, None, Some(100), None), (1, Some(600), None, Some(3))]);
    let of = |r: &ShortRing| (r.cpu, r.first_ns);
    assert_eq!(
        c.short_rings.iter().map(of).collect::<Vec<_>>(),
        [(0, Some(100)), (1, Some(600))]
    );
    // Of one that does reach back the kernel's number stands, as it did.
    capture.end = Some(end([false, true]));
    let c = check(&capture, &Default::default());
    assert_eq!((c.lost_events, c.short_rings.len()), (6_317_665, 1));
    // What cannot be read says nothing.
    capture.end = Some(serde_json::json!({"flight": {"cpus": "all"}}));
    let c = check(&capture, &Default::default());
    assert_eq!((c.lost_events, c.short_rings.len()), (11_229_392 + 6_317_665, 0));
}
