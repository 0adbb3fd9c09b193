//! A CPU limit as `guest/limits.rs` planted it, against what the bundle tells of it.

use std::path::Path;

use netmortem_analyzer::{analyze, ingest};

use super::{numbers, open};

pub fn told(dir: &Path) {
    if let Ok(why) = std::fs::read_to_string(dir.join("limits.absent")) {
        return println!("skipped: a cgroup's CPU limit: {why}");
    }
    let (c, _, _) = open(&dir.join("limits.nmb"));
    let facts = analyze(&c, &ingest::Options::default());
    let rows = &facts.cpu_limits.rows;
    let row = rows
        .iter()
        .find(|r| r.path == "/netmortem-guest")
        .unwrap_or_else(|| panic!("{rows:?}"));
    assert_eq!((row.setting, row.quota_us, row.period_us), ("cpu.max", 20_000, 100_000));
    let pid = numbers(dir, "limits")["pid"];
    assert_eq!(row.processes, [format!("netmortem-guest/{pid}")]);
    // The guest's own readings enclose the recorder's, and these the two seconds of the recording.
    let [before, after] = ["limits.before", "limits.after"].map(|f| numbers(dir, f));
    let most = |name: &str| (after[name] - before[name]) as u64;
    let (periods, throttled) = (row.periods.unwrap(), row.throttled.unwrap());
    assert!(
        (15..=most("nr_periods")).contains(&periods),
        "{row:?} {before:?} {after:?}"
    );
    assert!(
        (10..=most("nr_throttled")).contains(&throttled),
        "{row:?} {before:?} {after:?}"
    );
    let ns = row.throttled_ns.unwrap();
    assert!(
        (500_000_000..=(most("throttled_usec") as i64) * 1_000).contains(&ns),
        "{row:?} {before:?} {after:?}"
    );
    println!(
        "  a CPU limit of 20 ms per 100 ms: stopped in {throttled} of {periods} periods, {} ms",
        ns / 1_000_000
    );
}
