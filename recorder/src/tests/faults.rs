//! What happens to the recorder: signals, kill -9, a reader that stops reading, a command that will not go.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use netmortem_formats::{Locus, StreamItem, open_path};

use super::child::{signal, spawn_by, spawn_recorder, spawn_recorder_to};
use super::flight::mono;
use super::harness::{open, options, scratch, sh, tracefs_or_skip, tracing_is_on, transfer, wait_for};
use super::kernel_state::{assert_restored, instances_of, kernel_state};
use super::reading::totals;
use crate::instance::Instance;
use crate::record::record;

/// Whether this process ignores a signal, and with it what it starts.
fn is_ignored(signal: rustix::process::Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|l| l.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() >> (signal.as_raw() - 1) & 1 == 1
}

#[test]
fn signals_that_end_it_end_the_bundle_properly() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
    for (number, name) in [
        (rustix::process::Signal::TERM, "SIGTERM"),
        (rustix::process::Signal::QUIT, "SIGQUIT"),
        (rustix::process::Signal::INT, "SIGINT"),
        (rustix::process::Signal::HUP, "SIGHUP"),
    ] {
        if is_ignored(number) {
            // As in a job in the background of a script; a recorder rightly goes on ignoring it.
            println!("skipped: ending by {name}: this process was started with it ignored");
            continue;
        }
        let path = scratch(name);
        let mut child = spawn_recorder(&path);
        let pid = child.id();
        wait_for("the child did not start", || tracing_is_on(&root, pid));
        transfer(100_000);
        // Meant for a flight: they end no recording.
        signal(&child, rustix::process::Signal::USR1);
        signal(&child, rustix::process::Signal::USR2);
        std::thread::sleep(Duration::from_millis(200));
        assert!(tracing_is_on(&root, pid), "{:?}", child.try_wait());
        signal(&child, number);
        assert!(child.wait().unwrap().success());
        assert_eq!(instances_of(&root, pid), [""; 0]);
        let (c, _, end) = open(&path);
        assert!(c.complete, "{:?}", c.problems);
        assert_eq!(end.stop_reason, name);
        std::fs::remove_file(path).unwrap();
    }
}

/// How long before a kill -9 the last event was that its bundle has, ns.
fn lost_by_a_kill(root: &Path, backend: &str, after: Duration) -> i64 {
    let path = scratch("kill");
    let mut child = spawn_by(backend, &path);
    wait_for("tracing is not on", || {
        transfer(10_000);
        open_path(&path).is_ok_and(|c| c.is_ok_and(|c| c.streams.iter().any(|s| !s.chunks.is_empty())))
    });
    let started = Instant::now();
    while started.elapsed() < after {
        transfer(10_000);
        std::thread::sleep(Duration::from_millis(5));
    }
    let killed = mono();
    signal(&child, rustix::process::Signal::KILL);
    child.wait().unwrap();
    let c = open_path(&path).unwrap().unwrap();
    assert!(!c.complete);
    let mut last = 0;
    for (s, chunk) in c.streams.iter().flat_map(|s| s.chunks.iter().map(move |k| (s, k))) {
        let locus = Locus {
            member: chunk.member,
            stream: s.cpu,
            offset: 0,
        };
        // The last member may be cut.
        let bytes = c.chunk_bytes(chunk).unwrap_or_default();
        s.for_each(&bytes, locus, |item| {
            if let Ok(StreamItem::Record(r)) = item {
                let t = i64::try_from(r.ts).unwrap();
                last = if t < killed { last.max(t) } else { last };
            }
        });
    }
    std::fs::remove_file(path).unwrap();
    // What it left is removed by the next.
    wait_for("the instance stays", || {
        let _ = Instance::create(root);
        instances_of(root, child.id()).is_empty()
    });
    killed - last
}

#[test]
fn a_kill_costs_at_most_the_last_second() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
    for backend in ["ftrace", "perf"] {
        // A machine that stands still may make one late.
        let late = |ms: &[u64]| {
            let lost = ms
                .iter()
                .map(|ms| lost_by_a_kill(&root, backend, Duration::from_millis(*ms)));
            lost.filter(|ns| *ns > 1_200_000_000).collect::<Vec<_>>()
        };
        let (all, again) = ([200, 500, 800, 1100], [300, 600, 900, 1200]);
        let seen = late(&all);
        assert!(
            seen.is_empty() || late(&again).is_empty(),
            "{backend}: {seen:?} ns before the kill"
        );
    }
}

#[test]
fn a_leftover_goes_although_its_pid_lives_again() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
    let path = scratch("reused-pid");
    let mut o = options(&path);
    o.duration = Some(Duration::from_millis(100));
    // As a killed recorder leaves it whose pid another process has: this very one.
    let left = root
        .join("instances")
        .join(format!("netmortem-{}-99", std::process::id()));
    std::fs::create_dir(&left).unwrap();
    // One of this moment may be in the making.
    record(&o, &mut |_| {}).unwrap();
    assert!(left.exists());
    std::thread::sleep(Duration::from_secs(3));
    // Another recorder of this machine may be the one that removes it.
    let said = record(&o, &mut |_| {}).unwrap().notes;
    assert!(!left.exists(), "{said:?}");
    std::fs::remove_file(path).unwrap();
}

/// Waits until nothing more has come for a second: the writer stands still.
fn wait_until_full(pipe: &impl std::os::fd::AsFd) {
    let waiting = || rustix::io::ioctl_fionread(pipe).unwrap();
    let (mut last, mut since) = (waiting(), Instant::now());
    wait_for("the pipe never stands still", || {
        let now = waiting();
        if now != last || now == 0 {
            (last, since) = (now, Instant::now());
        }
        since.elapsed() > Duration::from_secs(1)
    });
}

#[test]
fn a_reader_that_stops_reading_does_not_keep_it_from_stopping() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
    // From the first byte: the symbols fill the pipe before tracing starts. And later, while the drains write.
    for read_first in [0, 4 << 20] {
        let mut child = spawn_recorder_to(Path::new("-"), Stdio::piped());
        let pid = child.id();
        let mut stdout = child.stdout.take().unwrap();
        if read_first == 0 {
            wait_for("no instance", || !instances_of(&root, pid).is_empty());
            wait_until_full(&stdout);
        } else {
            // Read until tracing is on and this much more came.
            let mut left = read_first;
            let mut buffer = vec![0; 64 << 10];
            let started = Instant::now();
            while left > 0 && started.elapsed() < Duration::from_secs(20) {
                if tracing_is_on(&root, pid) {
                    transfer(1_000_000);
                    left -= buffer.len();
                }
                stdout.read_exact(&mut buffer[..4096]).unwrap();
            }
            // Then enough for several full pipes.
            for _ in 0..20 {
                transfer(4_000_000);
            }
            wait_until_full(&stdout);
        }
        signal(&child, rustix::process::Signal::TERM);
        wait_for("it did not end", || child.try_wait().unwrap().is_some());
        assert_eq!(child.wait().unwrap().code(), Some(1), "a cut bundle is no success");
        assert_eq!(instances_of(&root, pid), [""; 0]);
        drop(stdout);
    }
}

#[test]
fn a_command_that_ignores_sigterm_is_killed() {
    let Some(_one) = tracefs_or_skip() else { return };
    let path = scratch("stubborn");
    let deaf = path.with_extension("deaf");
    let mut o = options(&path);
    o.command = sh(&format!(
        "trap '' TERM; : > {}; while :; do sleep 0.1; done",
        deaf.display()
    ));
    // On a busy machine the shell may not have come to its first word when it is asked to go.
    let killed = [300, 3_000, 20_000].into_iter().find_map(|ms| {
        o.duration = Some(Duration::from_millis(ms));
        let summary = record(&o, &mut |_| {}).unwrap();
        assert!(summary.elapsed >= Duration::from_millis(ms));
        std::fs::remove_file(&deaf).ok().and(summary.command)
    });
    let command = killed.expect("the shell never began");
    assert_eq!((command.signal, command.exit_code), (Some(9), None));
    assert!(!Path::new(&format!("/proc/{}", command.pid)).exists());
    std::fs::remove_file(path).unwrap();
}

#[test]
fn what_a_killed_recorder_left_is_removed_by_the_next() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
    let before = kernel_state(&root);
    let other = scratch("sigkill-other");
    let mut o = options(&other);
    o.duration = Some(Duration::from_millis(100));
    // Another recorder of this machine may be the next: then it is said to its user, and we try again.
    let said = (0..5).any(|_| {
        let path = scratch("sigkill");
        let mut child = spawn_recorder(&path);
        let pid = child.id();
        wait_for("the child did not start", || tracing_is_on(&root, pid));
        // A second recorder must not touch the instance of a living one.
        record(&o, &mut |_| {}).unwrap();
        assert_eq!(instances_of(&root, pid).len(), 1);
        // Long enough for a flush, so that the killed one leaves events.
        wait_for("no trace member was written", || {
            transfer(1_000_000);
            // A member that is cut may hold none.
            let records = |c| totals(&c).values().map(|t| t.records).sum::<u64>();
            open_path(&path).is_ok_and(|c| c.is_ok_and(|c| records(c) > 0))
        });
        // An instance of somebody else, even with a name like ours, is not touched.
        let foreign =
            ["netmortem", "netmortem-x-0", "rec-foreign"].map(|n| root.join("instances").join(format!("{n}{pid}")));
        for f in &foreign {
            std::fs::create_dir(f).unwrap();
        }
        signal(&child, rustix::process::Signal::KILL);
        assert_eq!(child.wait().unwrap().signal(), Some(9));
        let left = instances_of(&root, pid).len();
        let summary = record(&o, &mut |_| {}).unwrap();
        assert_eq!(instances_of(&root, pid), [""; 0]);
        assert_restored(&root, &before);
        for f in &foreign {
            std::fs::remove_dir(f).unwrap();
        }
        // Its bundle opens up to the cut.
        let c = open_path(&path).unwrap().unwrap();
        assert!(!c.complete);
        assert!(totals(&c).values().map(|t| t.records).sum::<u64>() > 0);
        std::fs::remove_file(path).unwrap();
        let name = format!("netmortem-{pid}-0");
        left == 1 && summary.notes.iter().any(|n| n.contains(&name))
    });
    assert!(said, "what is removed must be said");
    std::fs::remove_file(other).unwrap();
}
