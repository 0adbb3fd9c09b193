//! The recorder against this kernel: totals against the kernel's own statistics, and nothing left behind.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use netmortem_formats::bundle::{End, Manifest, verify};
use netmortem_formats::{Capture, SnapshotWhen, open_path};

use super::reading::{Totals, payloads, timestamps, totals};

use crate::options::{Output, Profile, RecordOptions};
use crate::record::record;
use crate::{RecordError, tracefs};

/// Recordings of one process share its signal handlers and its instances' names: one at a time.
static ONE: Mutex<()> = Mutex::new(());

/// tracefs, when this process may record; else the reason is printed.
fn tracefs_or_skip() -> Option<(PathBuf, MutexGuard<'static, ()>)> {
    let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let root = tracefs::find().map_err(|e| e.to_string());
    let usable = root.and_then(|r| match std::fs::metadata(r.join("instances")) {
        Ok(_) if rustix::process::geteuid().is_root() => Ok(r),
        Ok(_) => Err("not root".into()),
        Err(e) => Err(format!("no instances: {e}")),
    });
    usable.map_err(|why| println!("skipped: {why}")).ok().map(|r| (r, one))
}

fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("netmortem-recorder-test-{}-{name}.nmb", std::process::id()))
}

fn options(path: &Path) -> RecordOptions {
    RecordOptions {
        output: Output::File(path.into()),
        duration: None,
        profile: Profile::Full,
        buffer_kib: None,
        max_bytes: None,
        command: Vec::new(),
        command_line: vec!["test".into()],
    }
}

/// A shell as the recorded command.
fn sh(script: &str) -> Vec<std::ffi::OsString> {
    ["sh", "-c", script].map(Into::into).to_vec()
}

/// What of the kernel's tracing a recording could have changed. Other tests' instances come and go: only ours count.
fn kernel_state(root: &Path) -> (Vec<String>, Vec<String>) {
    let files = [
        "set_event",
        "trace_clock",
        "tracing_on",
        "buffer_size_kb",
        "current_tracer",
        "trace_options",
    ];
    let texts = files
        .iter()
        .map(|f| String::from_utf8_lossy(&tracefs::read(&root.join(f)).unwrap()).into_owned());
    (texts.collect(), instances_of(root, std::process::id()))
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
    let mut c = Command::new(std::env::current_exe().unwrap());
    c.args(["--exact", "tests::live::child_recorder", "--nocapture", "--ignored"]);
    c.env("NETMORTEM_TEST_OUT", path)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    c.spawn().unwrap()
}

#[test]
#[ignore = "runs only as a child of the signal tests"]
fn child_recorder() {
    let path = std::env::var_os("NETMORTEM_TEST_OUT").unwrap();
    record(&options(Path::new(&path)), &mut |_| {}).unwrap();
}

fn wait_for(what: &str, mut f: impl FnMut() -> bool) {
    let started = Instant::now();
    while !f() {
        assert!(started.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn tracing_is_on(root: &Path, pid: u32) -> bool {
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
fn sigterm_ends_the_bundle_properly() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
    let path = scratch("sigterm");
    let mut child = spawn_recorder(&path);
    let pid = child.id();
    wait_for("the child did not start", || tracing_is_on(&root, pid));
    transfer(100_000);
    signal(&child, rustix::process::Signal::TERM);
    assert!(child.wait().unwrap().success());
    assert_eq!(instances_of(&root, pid), [""; 0]);
    let (c, _, end) = open(&path);
    assert!(c.complete, "{:?}", c.problems);
    assert_eq!(end.stop_reason, "SIGTERM");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn what_a_killed_recorder_left_is_removed_by_the_next() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
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
    signal(&child, rustix::process::Signal::KILL);
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    assert_eq!(instances_of(&root, pid).len(), 1, "kill -9 cannot clean up");
    let summary = record(&o, &mut |_| {}).unwrap();
    assert_eq!(instances_of(&root, pid), [""; 0]);
    assert!(
        summary.notes.iter().any(|n| n.contains(&format!("netmortem-{pid}-0"))),
        "{:?}",
        summary.notes
    );
    // Its bundle opens up to the cut.
    let c = open_path(&path).unwrap().unwrap();
    assert!(!c.complete);
    assert!(totals(&c).values().map(|t| t.records).sum::<u64>() > 0);
    for p in [path, other] {
        std::fs::remove_file(p).unwrap();
    }
}
