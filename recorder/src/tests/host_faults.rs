//! What happens to the host: a small disk fills, memory runs out, the reader or the parent goes, a CPU goes and comes.

use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use netmortem_formats::open_path;

use super::child::{ARGS, signal, spawn_recorder_to};
use super::flight::{flying, mono};
use super::harness::{open, options, record_while, scratch, sh, tracefs_or_skip, tracing_is_on, transfer, wait_for};
use super::kernel_state::{assert_restored, instances_of, kernel_state};
use super::reading::{each_record_of, totals};
use crate::RecordError;
use crate::flight::{FlightEvent, flight};
use crate::options::Profile;
use crate::record::{record, record_saying};

/// A file system of some megabytes; gone when it is dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn new(mib: u32) -> Option<SmallDisk> {
        let path = std::env::temp_dir().join(format!("netmortem-small-disk-{}-{mib}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={mib}m"), "none"])
            .arg(&path)
            .status();
        let this = SmallDisk(path);
        match mounted.is_ok_and(|s| s.success()) {
            true => Some(this),
            false => {
                println!("skipped: no tmpfs can be mounted");
                None
            }
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount")
            .arg("-l")
            .arg(&self.0)
            .stderr(Stdio::null())
            .status();
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn a_small_disk_is_not_filled_unless_that_is_asked_for() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
    let Some(disk) = SmallDisk::new(3) else { return };
    let state = kernel_state(&root);
    let path = disk.0.join("x.nmb");
    let mut o = options(&path);
    // Symbols and settings alone are about a megabyte; what waits in the buffers when it stops must find room, too.
    o.buffer_kib = Some(1024);
    // It ends by itself some time after the limit, which nobody asked for: the recording ends, the command does not.
    o.command = sh("timeout 12 dd if=/dev/zero of=/dev/null bs=1 2>/dev/null; exit 7");
    let mut ended = None;
    let summary = record_saying(&o, &mut |_| {}, &mut |s| ended = Some((s.clone(), kernel_state(&root)))).unwrap();
    assert_eq!(summary.stop_reason, "max_bytes");
    for said in ["half of what is free", "the command runs on"] {
        assert!(summary.notes.iter().any(|n| n.contains(said)), "{:?}", summary.notes);
    }
    let (c, _, end) = open(&path);
    assert!(c.complete);
    let (at_end, later) = (end.command.unwrap(), summary.command.unwrap());
    assert_eq!((at_end.exit_code, at_end.signal), (None, None));
    assert_eq!((later.exit_code, later.pid), (Some(7), at_end.pid));
    // The kernel is as before while it runs on.
    let (at_the_limit, while_it_ran) = ended.unwrap();
    assert_eq!(at_the_limit.command, Some(at_end));
    assert_eq!(while_it_ran, state);

    o.command = sh("exec dd if=/dev/zero of=/dev/null bs=1 2>/dev/null");
    std::fs::remove_file(&path).unwrap();
    // Until it is full.
    o.max_bytes = Some(1 << 40);
    match record(&o, &mut |_| {}) {
        Err(RecordError::Output { path: said, source }) => {
            assert_eq!((said, source.raw_os_error()), (path.clone(), Some(libc::ENOSPC)));
        }
        other => panic!("{other:?}"),
    }
    assert_restored(&root, &state);
    // What was written opens up to the cut.
    let c = open_path(&path).unwrap().unwrap();
    assert!(!c.complete && c.manifest.is_some() && c.end.is_none());
    assert!(totals(&c).values().map(|t| t.records).sum::<u64>() > 1000);
}

/// Its bundles reach the limit that nobody asked for; the command is not its business.
#[test]
fn a_flight_that_ends_by_itself_lets_its_command_run_on() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
    // A bundle is about a megabyte, and 4 MiB of room are wanted before one is begun.
    let Some(disk) = SmallDisk::new(10) else { return };
    let state = kernel_state(&root);
    let done = scratch("runs-on").with_extension("done");
    let mut o = options(&disk.0.join("f.nmb"));
    o.profile = Profile::Drops;
    o.command = sh(&format!("sleep 15; : > {}", done.display()));
    let mut f = flying(&[]);
    (f.after, f.every) = (std::time::Duration::from_millis(100), std::time::Duration::ZERO);
    f.max_bundles = 20;
    let me = rustix::process::getpid();
    let mut said = Vec::new();
    let summary = flight(&o, &f, &mut |e| match e {
        FlightEvent::Armed(_) | FlightEvent::Written(_) => {
            rustix::process::kill_process(me, rustix::process::Signal::USR1).unwrap();
        }
        FlightEvent::Note(note) if note.contains("the command runs on") => {
            said.push((done.exists(), kernel_state(&root) == state));
        }
        _ => {}
    });
    assert_eq!(summary.unwrap().stop_reason, "max_bytes");
    // When that was said it ran, and the kernel was as before; it was not ended.
    assert_eq!(said, [(false, true)]);
    std::fs::remove_file(&done).unwrap();
}

#[test]
fn a_flight_whose_disk_is_full_stays_armed_and_writes_when_there_is_room() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
    let Some(disk) = SmallDisk::new(12) else { return };
    let state = kernel_state(&root);
    let (filler, base) = (disk.0.join("filler"), disk.0.join("f.nmb"));
    let mut o = options(&base);
    o.profile = Profile::Drops;
    o.duration = Some(std::time::Duration::from_secs(90));
    let mut f = flying(&[]);
    f.after = std::time::Duration::from_millis(100);
    let me = rustix::process::getpid();
    let trigger = || rustix::process::kill_process(me, rustix::process::Signal::USR1).unwrap();
    let (mut armed, mut refused) = (0, Vec::new());
    let summary = flight(&o, &f, &mut |e| match e {
        FlightEvent::Armed(_) => {
            armed = mono();
            let mut file = std::fs::File::create(&filler).unwrap();
            while file.write_all(&[7; 4096]).is_ok() {}
            trigger();
        }
        FlightEvent::NotWritten(why) => {
            refused.push((*why).to_owned());
            assert!(
                !disk.0.join("f-000001.nmb").exists(),
                "a cut bundle without events stays"
            );
            std::fs::remove_file(&filler).unwrap();
            trigger();
        }
        _ => {}
    });
    assert_eq!(summary.unwrap().bundles, 1);
    let [why] = &refused[..] else { panic!("{refused:?}") };
    assert!(
        why.contains("0 KiB are free") && why.contains("the rings were not read, and go on"),
        "{why}"
    );
    // What the rings held at the first trigger is in the bundle of the second.
    let (c, manifest, _) = open(&disk.0.join("f-000001.nmb"));
    assert!(c.complete, "{:?}", c.problems);
    assert!(manifest.flight.unwrap().armed.monotonic_ns <= armed);
    // Nothing written at all is a failure.
    std::fs::remove_file(disk.0.join("f-000001.nmb")).unwrap();
    o.duration = Some(std::time::Duration::from_secs(1));
    let failed = flight(&o, &f, &mut |e| {
        if matches!(e, FlightEvent::Armed(_)) {
            let mut file = std::fs::File::create(&filler).unwrap();
            while file.write_all(&[7; 4096]).is_ok() {}
            trigger();
        }
    });
    assert!(failed.is_err(), "{failed:?}");
    assert_restored(&root, &state);
}

/// A control group with a limit of memory; gone when it is dropped.
struct MemoryGroup(PathBuf);

impl MemoryGroup {
    fn new(bytes: u64) -> Option<MemoryGroup> {
        let name = format!("netmortem-test-{}", std::process::id());
        for (root, file) in [
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
            ("/sys/fs/cgroup", "memory.max"),
        ] {
            let folder = Path::new(root).join(&name);
            if !Path::new(root).join("cgroup.procs").exists() || std::fs::create_dir(&folder).is_err() {
                continue;
            }
            let this = MemoryGroup(folder);
            let _ = std::fs::write(this.0.join("memory.swap.max"), "0");
            if std::fs::write(this.0.join(file), bytes.to_string()).is_ok() {
                return Some(this);
            }
        }
        println!("skipped: no control group with a limit of memory can be made");
        None
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        for _ in 0..100 {
            if std::fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

#[test]
fn a_recorder_that_runs_out_of_memory_leaves_a_bundle_and_the_next_cleans_up() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
    let Some(group) = MemoryGroup::new(256 << 20) else {
        return;
    };
    let state = kernel_state(&root);
    let path = scratch("oom");
    let flag = path.with_extension("eat");
    let mut c = Command::new(std::env::current_exe().unwrap());
    c.args(ARGS)
        .env("NETMORTEM_TEST_OUT", &path)
        .env("NETMORTEM_TEST_EAT", &flag);
    let mut child = c.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::fs::write(group.0.join("cgroup.procs"), child.id().to_string()).unwrap();
    wait_for("no trace member was written", || {
        transfer(1_000_000);
        open_path(&path).is_ok_and(|c| c.is_ok_and(|c| c.streams.iter().any(|s| !s.chunks.is_empty())))
    });
    std::fs::write(&flag, "").unwrap();
    wait_for("it was not killed", || child.try_wait().unwrap().is_some());
    std::fs::remove_file(flag).unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    let c = open_path(&path).unwrap().unwrap();
    assert!(!c.complete && c.manifest.is_some());
    assert!(totals(&c).values().map(|t| t.records).sum::<u64>() > 1000);
    let mut o = options(&path);
    o.duration = Some(std::time::Duration::from_millis(100));
    record(&o, &mut |_| {}).unwrap();
    assert_eq!(instances_of(&root, child.id()), [""; 0]);
    assert_restored(&root, &state);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_reader_that_goes_ends_the_recording() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
    let mut child = spawn_recorder_to(Path::new("-"), Stdio::piped());
    let pid = child.id();
    let mut stdout = child.stdout.take().unwrap();
    let mut buffer = vec![0; 64 << 10];
    while !tracing_is_on(&root, pid) || instances_of(&root, pid).is_empty() {
        assert!(stdout.read(&mut buffer).unwrap() > 0);
    }
    drop(stdout);
    wait_for("it did not end", || {
        transfer(1_000_000);
        child.try_wait().unwrap().is_some()
    });
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert_eq!(instances_of(&root, pid), [""; 0]);
}

#[test]
fn a_parent_that_is_killed_does_not_end_it() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
    let path = scratch("orphan");
    let mut parent = Command::new("sh");
    parent
        .args(["-c", "\"$0\" \"$@\" > /dev/null 2>&1 & echo $!; wait"])
        .arg(std::env::current_exe().unwrap());
    parent.args(ARGS).env("NETMORTEM_TEST_OUT", &path);
    let mut parent = parent.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = [0; 32];
    let n = parent.stdout.take().unwrap().read(&mut line).unwrap();
    let pid: u32 = String::from_utf8_lossy(&line[..n]).trim().parse().unwrap();
    wait_for("it did not start", || tracing_is_on(&root, pid));
    signal(&parent, rustix::process::Signal::KILL);
    parent.wait().unwrap();
    // It goes on, and ends when it is told to.
    wait_for("no trace member was written", || {
        transfer(1_000_000);
        open_path(&path).is_ok_and(|c| c.is_ok_and(|c| c.streams.iter().any(|s| !s.chunks.is_empty())))
    });
    let orphan = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
    rustix::process::kill_process(orphan, rustix::process::Signal::TERM).unwrap();
    wait_for("it did not end", || {
        open_path(&path).is_ok_and(|c| c.is_ok_and(|c| c.complete))
    });
    wait_for("its instance stays", || instances_of(&root, pid).is_empty());
    assert_eq!(open(&path).2.stop_reason, "SIGTERM");
    std::fs::remove_file(path).unwrap();
}

/// Switches a CPU off, and on again when it is dropped.
struct Offline(PathBuf);

impl Offline {
    fn new(cpu: u32) -> Offline {
        let this = Offline(format!("/sys/devices/system/cpu/cpu{cpu}/online").into());
        std::fs::write(&this.0, "0").unwrap();
        this
    }
}

impl Drop for Offline {
    fn drop(&mut self) {
        let _ = std::fs::File::options()
            .write(true)
            .open(&self.0)
            .and_then(|mut f| f.write_all(b"1"));
    }
}

#[test]
#[ignore = "takes a CPU of this machine away for a moment: cargo test -p netmortem-recorder -- --ignored a_cpu_that_goes"]
fn a_cpu_that_goes_and_comes_is_recorded_on_both_sides() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
    let state = kernel_state(&root);
    let cpu = *crate::host::cpus_online().get(1).expect("this needs two CPUs");
    let path = scratch("hotplug");
    let mut o = options(&path);
    let (mut gone, mut back) = (0, 0);
    let (c, _) = record_while(&mut o, || {
        transfer(1_000_000);
        let offline = Offline::new(cpu);
        gone = mono();
        transfer(1_000_000);
        drop(offline);
        back = mono();
        let started = std::time::Instant::now();
        while started.elapsed().as_millis() < 500 {
            transfer(100_000);
        }
    });
    assert_restored(&root, &state);
    let (_, _, end) = open(&path);
    assert!(c.complete, "{:?}", c.problems);
    let counted = totals(&c);
    for s in &end.cpu_stats {
        let t = counted.get(&s.cpu).copied().unwrap_or_default();
        assert_eq!(
            (s.entries, t.records, t.lost),
            (0, s.read_events, s.overrun),
            "cpu {}",
            s.cpu
        );
    }
    // Of both CPUs before and after, of the other meanwhile.
    let (mut before, mut meanwhile, mut after) = ([0; 2], [0; 2], [0; 2]);
    each_record_of(&c, &mut |of, ts, _| {
        let t = i64::try_from(ts).unwrap();
        let part = if t < gone {
            &mut before
        } else if t < back {
            &mut meanwhile
        } else {
            &mut after
        };
        part[usize::from(of == cpu)] += 1;
    });
    assert!(
        before.iter().chain(&after).all(|n| *n > 100) && meanwhile[0] > 100,
        "{before:?} {meanwhile:?} {after:?}"
    );
    std::fs::remove_file(path).unwrap();
}
