//! The recorder against this kernel: totals against the kernel's own statistics, and nothing left behind.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use netmortem_formats::bundle::{End, Manifest, Second, seconds, verify};
use netmortem_formats::{Capture, SnapshotWhen, open_path};

use super::reading::{Totals, payloads, timestamps, totals};

use crate::options::{Output, Profile, RecordOptions};
use crate::record::record;
use crate::{Filters, RecordError, tracefs};

/// Recordings of one process share its signal handlers and its instances' names: one at a time.
static ONE: Mutex<()> = Mutex::new(());

/// tracefs, when this process may record; else the reason is printed.
pub fn tracefs_or_skip() -> Option<(PathBuf, MutexGuard<'static, ()>)> {
    let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let root = tracefs::find().map_err(|e| e.to_string());
    let usable = root.and_then(|r| match std::fs::metadata(r.join("instances")) {
        Ok(_) if rustix::process::geteuid().is_root() => Ok(r),
        Ok(_) => Err("not root".into()),
        Err(e) => Err(format!("no instances: {e}")),
    });
    usable.map_err(|why| println!("skipped: {why}")).ok().map(|r| (r, one))
}

pub fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("netmortem-recorder-test-{}-{name}.nmb", std::process::id()))
}

pub fn options(path: &Path) -> RecordOptions {
    RecordOptions {
        output: Output::File(path.into()),
        duration: None,
        profile: Profile::Full,
        filters: Filters::default(),
        buffer_kib: None,
        max_buffers_kib: None,
        max_bytes: None,
        max_cpu_percent: None,
        command: Vec::new(),
        command_line: vec!["test".into()],
    }
}

/// A shell as the recorded command.
pub fn sh(script: &str) -> Vec<std::ffi::OsString> {
    ["sh", "-c", script].map(Into::into).to_vec()
}

/// What of the kernel a recording could have changed: global tracing, settings, and where this process is. Other tests'
/// instances come and go: only ours count.
#[derive(Debug, PartialEq)]
struct KernelState {
    tracing: Vec<String>,
    events_enabled: Vec<PathBuf>,
    instances: Vec<String>,
    sysctl: Vec<String>,
    namespaces: Vec<PathBuf>,
}

fn kernel_state(root: &Path) -> KernelState {
    let files = [
        "set_event",
        "trace_clock",
        "tracing_on",
        "buffer_size_kb",
        "buffer_percent",
        "tracing_cpumask",
        "current_tracer",
        "trace_options",
        "kprobe_events",
        "uprobe_events",
    ];
    let text = |f: &&str| {
        Some(format!(
            "{f}: {}",
            String::from_utf8_lossy(&tracefs::read(&root.join(f)).ok()?)
        ))
    };
    let mut events_enabled = Vec::new();
    for system in ["skb", "net", "tcp", "sock", "timer", "sched", "irq", "syscalls"] {
        for event in tracefs::list(&root.join("events").join(system)) {
            let path = root.join("events").join(system).join(event).join("enable");
            if std::fs::read(&path).is_ok_and(|t| t.first() != Some(&b'0')) {
                events_enabled.push(path);
            }
        }
    }
    // Numbers that move by themselves.
    let moves = |l: &&str| l.contains("conntrack_count") || l.contains("_orphans") || l.contains("child_ehash");
    let sysctl = crate::snapshot::settings::sysctl();
    let sysctl = sysctl.lines().filter(|l| !moves(l)).map(str::to_owned).collect();
    let link = |n: &str| std::fs::read_link(format!("/proc/self/ns/{n}")).unwrap();
    KernelState {
        tracing: files.iter().filter_map(text).collect(),
        events_enabled,
        instances: instances_of(root, std::process::id()),
        sysctl,
        namespaces: ["net", "mnt", "pid", "user", "uts"].map(link).to_vec(),
    }
}

fn instances_of(root: &Path, pid: u32) -> Vec<String> {
    let prefix = format!("netmortem-{pid}-");
    tracefs::list(&root.join("instances"))
        .into_iter()
        .filter(|n| n.starts_with(&prefix))
        .collect()
}

fn open(path: &Path) -> (Capture, Manifest, End) {
    let c = open_path(path).unwrap().unwrap();
    let manifest = serde_json::from_value(c.manifest.clone().unwrap()).unwrap();
    let end = serde_json::from_value(c.end.clone().unwrap()).unwrap();
    (c, manifest, end)
}

/// Sends `bytes` over loopback TCP inside this process.
fn transfer(bytes: usize) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut server, _) = listener.accept().unwrap();
    let sender = std::thread::spawn(move || client.write_all(&vec![7; bytes]).unwrap());
    let mut got = Vec::new();
    server.read_to_end(&mut got).unwrap();
    sender.join().unwrap();
    assert_eq!(got.len(), bytes);
}

#[test]
fn a_transfer_is_recorded_to_the_last_event_and_the_kernel_is_as_before() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
    let before = kernel_state(&root);
    let path = scratch("transfer");
    let mut o = options(&path);
    // The shell's exit status must arrive in end.json; bash opens the TCP connection to our own listener.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let mut got = Vec::new();
        listener.accept().unwrap().0.read_to_end(&mut got).unwrap();
        got.len()
    });
    let send = format!("head -c 3000000 /dev/zero > /dev/tcp/127.0.0.1/{port}; exit 3");
    o.command = ["bash", "-c", &send].map(Into::into).to_vec();
    let summary = record(&o, &mut |_| {}).unwrap();
    assert_eq!(server.join().unwrap(), 3_000_000);
    assert_eq!(kernel_state(&root), before);

    let (c, manifest, end) = open(&path);
    assert!(c.complete, "{:?}", c.problems);
    assert_eq!(c.problems, []);
    assert_eq!(verify(&c), []);
    assert_eq!(end.stop_reason, "command");
    assert_eq!(end.command.unwrap().exit_code, Some(3));
    assert_eq!(manifest.clocks.trace_clock, "mono");
    for (what, key) in [
        ("links", " name=lo "),
        ("qdiscs", " kind=noqueue "),
        ("sockets", " proto=tcp "),
        ("nics", " dev=lo "),
    ] {
        for when in [SnapshotWhen::Start, SnapshotWhen::End] {
            let s = c.snapshots.iter().find(|s| s.what == what && s.when == when);
            let s = s.unwrap_or_else(|| panic!("{what} {when:?}"));
            assert!(
                String::from_utf8_lossy(&s.text).lines().any(|l| l.contains(key))
                    || (what == "nics" && when == SnapshotWhen::End),
                "{what}"
            );
        }
    }
    // Only where the kernel shows its configuration.
    let config = Command::new("zcat").arg("/proc/config.gz").output().unwrap();
    if let Some(hz) = String::from_utf8_lossy(&config.stdout)
        .lines()
        .find_map(|l| l.strip_prefix("CONFIG_HZ="))
    {
        assert_eq!(manifest.machine.hz.to_string(), hz);
    }
    assert_eq!(std::fs::metadata(&path).unwrap().len(), summary.bundle_bytes);
    let counted = totals(&c);
    for s in &end.cpu_stats {
        assert_eq!((s.entries, s.overrun, s.dropped_events), (0, 0, 0), "cpu {}", s.cpu);
        let all = Totals {
            records: s.read_events,
            lost: 0,
            uncounted: 0,
        };
        assert_eq!(counted.get(&s.cpu), Some(&all), "cpu {}", s.cpu);
    }
    let chunks = c.streams.iter().flat_map(|s| &s.chunks);
    assert_eq!(
        summary.ring_bytes,
        chunks.map(|k| c.chunk_bytes(k).unwrap().len() as u64).sum::<u64>()
    );
    assert_eq!(summary.events, end.cpu_stats.iter().map(|s| s.read_events).sum::<u64>());
    // An independent reading of the transfer: bytes that TCP's own reads copied. Other sockets of the machine only add.
    let format = c
        .event_formats
        .iter()
        .find(|f| f.key() == "skb:skb_copy_datagram_iovec")
        .unwrap();
    let len = netmortem_formats::event_format::IntAccess::bind(format, "len", c.endian).unwrap();
    let copied = payloads(&c, format.id).iter().map(|p| len.u64(p).unwrap()).sum::<u64>();
    assert!(copied >= 3_000_000, "{copied}");
    // Timestamps lie between the clock pairs around them.
    let (first, last) = (manifest.clocks.start.monotonic_ns, end.clock.monotonic_ns);
    assert!(timestamps(&c).all(|t| (first..=last).contains(&t)));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_storm_in_a_small_buffer_loses_exactly_what_is_said() {
    let Some(_one) = tracefs_or_skip() else { return };
    let path = scratch("storm");
    let mut o = options(&path);
    o.buffer_kib = Some(64);
    // Two system-call loops per CPU: faster than 64 KiB buffers can be drained.
    o.command = sh("for i in 1 2 3 4; do dd if=/dev/zero of=/dev/null bs=1 count=400000 2>/dev/null & done; wait");
    let summary = record(&o, &mut |_| {}).unwrap();
    let (c, _, end) = open(&path);
    assert!(summary.lost > 0, "the storm was too weak to test loss");
    assert_eq!(
        summary.lost,
        end.cpu_stats
            .iter()
            .map(|s| s.overrun + s.dropped_events + s.commit_overrun)
            .sum::<u64>()
    );
    let counted = totals(&c);
    for s in &end.cpu_stats {
        let t = counted.get(&s.cpu).copied().unwrap();
        // All that was ever written is either in the bundle or in the kernel's own count of what was overwritten.
        assert_eq!((s.entries, t.records), (0, s.read_events), "cpu {}", s.cpu);
        match t.uncounted {
            0 => assert_eq!(t.lost, s.overrun, "cpu {}", s.cpu),
            n => assert!(t.lost + n <= s.overrun, "cpu {}: {t:?} {s:?}", s.cpu),
        }
    }
    assert!(!end.problems.is_empty());
    std::fs::remove_file(path).unwrap();
}

#[test]
fn duration_and_size_limits_stop_it() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
    let path = scratch("limits");
    let mut o = options(&path);
    o.duration = Some(Duration::from_millis(300));
    o.command = sh("exec sleep 60");
    let started = Instant::now();
    let summary = record(&o, &mut |_| {}).unwrap();
    assert!(started.elapsed() < Duration::from_secs(10));
    assert_eq!(summary.stop_reason, "duration");
    // It was asked to terminate, and did.
    assert_eq!(summary.command.unwrap().signal, Some(15));

    o = options(&path);
    o.max_bytes = Some(1_500_000);
    // `exec`: only the command itself is asked to terminate, not what a shell started.
    o.command = sh("exec dd if=/dev/zero of=/dev/null bs=1 2>/dev/null");
    let summary = record(&o, &mut |_| {}).unwrap();
    assert_eq!(summary.stop_reason, "max_bytes");
    assert!(summary.bundle_bytes >= 1_500_000);
    assert_eq!(instances_of(&root, std::process::id()), [""; 0]);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_recorder_that_costs_too_much_stops_and_says_so() {
    let Some(_one) = tracefs_or_skip() else { return };
    let path = scratch("cpu");
    let mut o = options(&path);
    o.max_cpu_percent = Some(1);
    o.command = sh("exec dd if=/dev/zero of=/dev/null bs=1 2>/dev/null");
    let started = Instant::now();
    let summary = record(&o, &mut |_| {}).unwrap();
    // A whole window of five seconds, and little more.
    assert!(
        (5..15).contains(&started.elapsed().as_secs()),
        "{:?}",
        started.elapsed()
    );
    let (c, _, end) = open(&path);
    assert!(c.complete, "{:?}", c.problems);
    assert_eq!(
        (summary.stop_reason.as_str(), end.stop_reason.as_str()),
        ("max_cpu", "max_cpu")
    );
    let said = |p: &String| p.contains("--max-cpu");
    assert!(
        end.problems.iter().any(said) && summary.notes.iter().any(said),
        "{:?}",
        end.problems
    );
    std::fs::remove_file(path).unwrap();
}

#[test]
fn counters_are_read_every_second() {
    let Some(_one) = tracefs_or_skip() else { return };
    let path = scratch("seconds");
    let mut o = options(&path);
    o.duration = Some(Duration::from_millis(2600));
    let done = AtomicBool::new(false);
    std::thread::scope(|s| {
        s.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                transfer(10_000);
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let result = record(&o, &mut |_| {});
        done.store(true, Ordering::Relaxed);
        result.unwrap();
    });
    let (c, manifest, end) = open(&path);
    let all: Vec<Second> = seconds(&c).map(Result::unwrap).collect();
    assert_eq!(all.len(), 2);
    let in_segs = |text: &[u8]| -> u64 {
        let text = String::from_utf8_lossy(text).into_owned();
        let mut tcp = text.lines().filter_map(|l| l.strip_prefix("Tcp: "));
        let (names, values) = (tcp.next().unwrap(), tcp.next().unwrap());
        let at = names.split(' ').position(|n| n == "InSegs").unwrap();
        values.split(' ').nth(at).unwrap().parse().unwrap()
    };
    let snapshot = |when| {
        c.snapshots
            .iter()
            .find(|s| s.what == "net/snmp" && s.when == when)
            .unwrap()
    };
    let mut times = vec![manifest.clocks.start.monotonic_ns];
    let mut counts = vec![in_segs(&snapshot(SnapshotWhen::Start).text)];
    for second in &all {
        times.push(second.clock.monotonic_ns);
        counts.push(in_segs(&second.texts.iter().find(|(w, _)| w == "net/snmp").unwrap().1));
        assert!(
            second
                .texts
                .iter()
                .any(|(w, t)| w == "qdiscs" && t.starts_with(b"netns="))
        );
    }
    times.push(end.clock.monotonic_ns);
    counts.push(in_segs(&snapshot(SnapshotWhen::End).text));
    assert!(times.is_sorted() && counts.is_sorted(), "{times:?} {counts:?}");
    // Many transfers a second, of some segments each.
    assert!(counts[2] >= counts[1] + 20, "{counts:?}");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn an_error_leaves_nothing_behind() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
    let before = kernel_state(&root);
    let mut o = options(Path::new("/nonexistent/x.nmb"));
    assert!(matches!(record(&o, &mut |_| {}), Err(RecordError::Output { .. })));
    // While the drain threads run: the command does not exist; then the disk is full.
    let path = scratch("error");
    o = options(&path);
    o.command = vec!["/nonexistent/command".into()];
    // Under load: draining the rest with tracing still on would be fed for ever, also by its own reads.
    let mut load = Command::new("dd")
        .args(["if=/dev/zero", "of=/dev/null", "bs=1"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let started = Instant::now();
    let result = record(&o, &mut |_| {});
    let took = started.elapsed();
    load.kill().and_then(|()| load.wait()).unwrap();
    assert!(
        matches!(result, Err(RecordError::Command { .. })) && took < Duration::from_secs(20),
        "{took:?}"
    );
    o = options(Path::new("/dev/full"));
    o.command = sh("exec sleep 60");
    assert!(matches!(record(&o, &mut |_| {}), Err(RecordError::Output { .. })));
    assert_eq!(kernel_state(&root), before);
    // What was written before the error opens, and says that it is cut.
    let c = open_path(&path).unwrap().unwrap();
    assert!(!c.complete && c.manifest.is_some() && c.end.is_none());
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_panic_leaves_nothing_behind() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
    let before = kernel_state(&root);
    let path = scratch("panic");
    let mut o = options(&path);
    o.duration = Some(Duration::from_secs(60));
    let result = std::panic::catch_unwind(|| record(&o, &mut |_| panic!("from the progress callback")));
    assert!(result.is_err());
    assert_eq!(kernel_state(&root), before);
    std::fs::remove_file(path).unwrap();
}

/// Runs this very test binary as a recorder of its own, so that it can be killed. See `child_recorder`.
fn spawn_recorder(path: &Path) -> Child {
    spawn_recorder_to(path, Stdio::null())
}

fn spawn_recorder_to(path: &Path, stdout: Stdio) -> Child {
    let mut c = Command::new(std::env::current_exe().unwrap());
    c.args(["--exact", "tests::live::child_recorder", "--nocapture", "--ignored"]);
    c.env("NETMORTEM_TEST_OUT", path).stdout(stdout).stderr(Stdio::null());
    c.spawn().unwrap()
}

#[test]
#[ignore = "runs only as a child of the signal tests"]
fn child_recorder() {
    let path = std::env::var_os("NETMORTEM_TEST_OUT").unwrap();
    let mut o = options(Path::new(&path));
    if path == "-" {
        o.output = Output::Stdout;
    }
    // Not by a panic: the harness would tell of it on the standard output that nobody reads.
    std::process::exit(i32::from(record(&o, &mut |_| {}).is_err()));
}

pub fn wait_for(what: &str, mut f: impl FnMut() -> bool) {
    let started = Instant::now();
    while !f() {
        assert!(started.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub fn tracing_is_on(root: &Path, pid: u32) -> bool {
    let names = instances_of(root, pid);
    names
        .iter()
        .any(|n| std::fs::read(root.join("instances").join(n).join("tracing_on")).is_ok_and(|t| t == b"1\n"))
}

fn signal(child: &Child, s: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, s).unwrap();
}

#[test]
fn sigterm_and_sigquit_end_the_bundle_properly() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
    for (number, name) in [
        (rustix::process::Signal::TERM, "SIGTERM"),
        (rustix::process::Signal::QUIT, "SIGQUIT"),
    ] {
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
            std::thread::sleep(Duration::from_millis(500));
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
            std::thread::sleep(Duration::from_millis(1500));
        }
        signal(&child, rustix::process::Signal::INT);
        let asked = Instant::now();
        wait_for("it did not end", || child.try_wait().unwrap().is_some());
        assert_eq!(child.wait().unwrap().code(), Some(1), "a cut bundle is no success");
        assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());
        assert_eq!(instances_of(&root, pid), [""; 0]);
        drop(stdout);
    }
}

#[test]
fn a_command_that_ignores_sigterm_is_killed() {
    let Some(_one) = tracefs_or_skip() else { return };
    let path = scratch("stubborn");
    let mut o = options(&path);
    o.duration = Some(Duration::from_millis(300));
    o.command = sh("trap '' TERM; while :; do sleep 0.1; done");
    let started = Instant::now();
    let summary = record(&o, &mut |_| {}).unwrap();
    assert!(started.elapsed() < Duration::from_secs(10));
    let command = summary.command.unwrap();
    assert_eq!((command.signal, command.exit_code), (Some(9), None));
    assert!(!Path::new(&format!("/proc/{}", command.pid)).exists());
    std::fs::remove_file(path).unwrap();
}

#[test]
fn what_a_killed_recorder_left_is_removed_by_the_next() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
    let before = kernel_state(&root);
    let path = scratch("sigkill");
    let mut child = spawn_recorder(&path);
    let pid = child.id();
    wait_for("the child did not start", || tracing_is_on(&root, pid));
    // A second recorder must not touch the instance of a living one.
    let other = scratch("sigkill-other");
    let mut o = options(&other);
    o.duration = Some(Duration::from_millis(100));
    record(&o, &mut |_| {}).unwrap();
    assert_eq!(instances_of(&root, pid).len(), 1);
    // Long enough for a flush, so that the killed one leaves events.
    wait_for("no trace member was written", || {
        transfer(1_000_000);
        open_path(&path).is_ok_and(|c| c.is_ok_and(|c| c.streams.iter().any(|s| !s.chunks.is_empty())))
    });
    // An instance of somebody else, even with a name like ours, is not touched.
    let foreign =
        ["netmortem", "netmortem-x-0", "rec-foreign"].map(|n| root.join("instances").join(format!("{n}{pid}")));
    for f in &foreign {
        std::fs::create_dir(f).unwrap();
    }
    signal(&child, rustix::process::Signal::KILL);
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    assert_eq!(instances_of(&root, pid).len(), 1, "kill -9 cannot clean up");
    let summary = record(&o, &mut |_| {}).unwrap();
    assert_eq!(instances_of(&root, pid), [""; 0]);
    assert_eq!(kernel_state(&root), before);
    assert!(
        summary.notes.iter().any(|n| n.contains(&format!("netmortem-{pid}-0"))),
        "{:?}",
        summary.notes
    );
    for f in &foreign {
        std::fs::remove_dir(f).unwrap();
    }
    // Its bundle opens up to the cut.
    let c = open_path(&path).unwrap().unwrap();
    assert!(!c.complete);
    assert!(totals(&c).values().map(|t| t.records).sum::<u64>() > 0);
    for p in [path, other] {
        std::fs::remove_file(p).unwrap();
    }
}
