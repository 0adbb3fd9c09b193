//! How a recording by perf ends, and what its dry run counts.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use netmortem_formats::open_path;

use super::harness::{open, options, scratch, tracefs_or_skip, transfer};
use super::kernel_state::{assert_restored, kernel_state};
use crate::record::record_saying;
use crate::{Backend, Profile, dry_run};

/// Descriptors of perf that this process has.
fn open_events() -> usize {
    let fds = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let links = fds.filter_map(|f| std::fs::read_link(f.path()).ok());
    links.filter(|l| l.to_string_lossy().contains("perf_event")).count()
}

#[test]
fn the_summary_is_said_before_the_kernel_closes_its_events() {
    let Some(_one) = tracefs_or_skip() else { return };
    let path = scratch("perf-closes");
    let mut o = options(&path);
    o.perf.backend = Backend::Perf;
    o.profile = Profile::Lean;
    o.duration = Some(Duration::from_millis(200));
    let mut said = None;
    let summary = record_saying(&o, &mut |_| {}, &mut |s| {
        let whole = open_path(&path).unwrap().unwrap().complete;
        said = Some((s.clone(), whole, open_events()));
    })
    .unwrap();
    let (first, whole, still_open) = said.unwrap();
    // Each event on each CPU, and a ring's owner.
    assert!(
        first == summary && whole && still_open > first.enabled,
        "{still_open} {first:?}"
    );
    assert_eq!(open_events(), 0);
    std::fs::remove_file(path).unwrap();
}

/// Not while what it started lives: that is recorded, too.
#[test]
fn a_recording_of_a_process_ends_with_it_and_what_it_started() {
    let Some(_one) = tracefs_or_skip() else { return };
    let path = scratch("perf-gone");
    // The child that lives on is a second and a half longer there than its parent.
    let script = "sleep 1.5; (sleep 1.5; : ) & exit 0";
    let mut child = Command::new("sh")
        .args(["-c", script])
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    let mut o = options(&path);
    o.perf.pids = vec![child.id()];
    o.profile = Profile::Drops;
    o.duration = Some(Duration::from_secs(60));
    let mut ended = Duration::ZERO;
    // We reap it later: a zombie is gone, too.
    let summary = record_saying(&o, &mut |_| {}, &mut |_| ended = begun.elapsed()).unwrap();
    child.wait().unwrap();
    assert_eq!(summary.stop_reason, "pid");
    assert!(
        ended >= Duration::from_secs(3) && ended < Duration::from_secs(40),
        "{ended:?}"
    );
    let (_, _, end) = open(&path);
    assert_eq!(end.stop_reason, "pid");
    assert!(
        end.problems.iter().any(|p| p.contains("--pid have ended")),
        "{:?}",
        end.problems
    );
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_dry_run_of_perf_counts_what_a_tracing_instance_does() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
    let state = kernel_state(&root);
    let mut o = options(&scratch("dry-perf"));
    o.profile = Profile::Lean;
    let done = AtomicBool::new(false);
    let [by_ftrace, by_perf] = std::thread::scope(|s| {
        s.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                transfer(4_000_000);
            }
        });
        let both = [Backend::Ftrace, Backend::Perf].map(|backend| {
            o.perf.backend = backend;
            dry_run(&o)
        });
        done.store(true, Ordering::Relaxed);
        both.map(Result::unwrap)
    });
    assert!(by_perf.plan.perf.is_some() && by_perf.counted >= Duration::from_secs(1));
    let text = by_perf.text();
    assert!(
        text.contains(" events/s, ") && text.contains("(0.4 to 0.7 us for each event)"),
        "{text}"
    );
    // The same traffic, one after the other, on a machine that others use, too: of one order.
    let [ftrace, perf] = [&by_ftrace, &by_perf].map(|f| f.rates());
    assert!(
        perf[0] > ftrace[0] / 8.0 && perf[0] < ftrace[0] * 8.0,
        "{perf:?} {ftrace:?}"
    );
    // A record of perf has its header, time and CPU besides; compressed it is a fraction.
    let bytes = by_perf.ring_bytes as f64 / by_perf.sampled.max(1) as f64;
    assert!((60.0..250.0).contains(&bytes) && perf[2] < perf[1], "{bytes} {perf:?}");
    assert!(
        by_perf.sampled > 100 && by_perf.sampled <= by_perf.events,
        "{by_perf:?}"
    );
    assert_eq!(open_events(), 0);
    assert_restored(&root, &state);
}
