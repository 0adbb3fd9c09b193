//! What happens to the recorder: signals, kill -9, a reader that stops reading, a command that will not go.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use netmortem_formats::open_path;

use super::child::{signal, spawn_recorder, spawn_recorder_to};
use super::harness::{open, options, scratch, sh, tracefs_or_skip, tracing_is_on, transfer, wait_for};
use super::kernel_state::{assert_restored, instances_of, kernel_state};
use super::reading::totals;
use crate::record::record;

/// Whether this process ignores a signal, and with it what it starts.
fn is_ignored(signal: rustix::process::Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|l| l.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() >> (signal.as_raw() - 1) & 1 == 1
}

#[test]
fn sigterm_and_sigquit_end_the_bundle_properly() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
    for (number, name) in [
        (rustix::process::Signal::TERM, "SIGTERM"),
        (rustix::process::Signal::QUIT, "SIGQUIT"),
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
        signal(&child, number);
        assert!(child.wait().unwrap().success());
        assert_eq!(instances_of(&root, pid), [""; 0]);
        let (c, _, end) = open(&path);
        assert!(c.complete, "{:?}", c.problems);
        assert_eq!(end.stop_reason, name);
        std::fs::remove_file(path).unwrap();
    }
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
