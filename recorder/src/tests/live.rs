//! The recorder against this kernel: totals against the kernel's own statistics, and nothing left behind.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use netmortem_formats::bundle::{Second, seconds, verify};
use netmortem_formats::{SnapshotWhen, open_path};

use super::flight::mono;
use super::harness::{open, options, scratch, sh, tracefs_or_skip, transfer};
use super::kernel_state::{assert_restored, instances_of, kernel_state};
use super::reading::{Totals, assert_between, payloads, totals};
use crate::RecordError;
use crate::record::record;

#[test]
fn a_transfer_is_recorded_to_the_last_event_and_the_kernel_is_as_before() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
    let before = kernel_state(&root);
    let path = scratch("transfer");
    let mut o = options(&path);
    // The shell's exit status must arrive in end.json; bash opens the TCP connection to our own listener.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // A socket that is there at the start and at the end.
    let _other = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut got = vec![0; 3_000_000];
        client.read_exact(&mut got).unwrap();
        client.write_all(&[1]).unwrap();
        got.len()
    });
    // It waits for the answer: socket buffers may hold all that it sends, and its end ends the recording.
    let send =
        format!("exec 3<> /dev/tcp/127.0.0.1/{port}; head -c 3000000 /dev/zero >&3; head -c 1 <&3 > /dev/null; exit 3");
    o.command = ["bash", "-c", &send].map(Into::into).to_vec();
    // The reader may be kept off the CPU for long: this much is not overwritten meanwhile.
    o.buffer_kib = Some(64 << 10);
    let summary = record(&o, &mut |_| {}).unwrap();
    assert_eq!(server.join().unwrap(), 3_000_000);
    assert_restored(&root, &before);

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
    // Bytes drained, by the recorder's count in end.json, are those of the sub-buffers in the bundle.
    let chunks = c.streams.iter().flat_map(|s| &s.chunks);
    let recorded = chunks.map(|k| c.chunk_bytes(k).unwrap().len() as u64).sum::<u64>();
    assert_eq!((end.recorder.ring_bytes, summary.ring_bytes), (recorded, recorded));
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
    assert_between(&c, manifest.clocks.start.monotonic_ns, end.clock.monotonic_ns);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_storm_in_a_small_buffer_loses_exactly_what_is_said() {
    let Some(_one) = tracefs_or_skip() else { return };
    let path = scratch("storm");
    let mut o = options(&path);
    o.buffer_kib = Some(64);
    // System-call loops are faster than 64 KiB buffers can be drained, unless nobody lets them run.
    let storm = |dds: u32| {
        o.command = sh(&format!(
            "for i in $(seq {dds}); do dd if=/dev/zero of=/dev/null bs=1 count=400000 2>/dev/null & done; wait"
        ));
        record(&o, &mut |_| {}).unwrap()
    };
    let summary = [4, 8, 16].into_iter().map(storm).find(|s| s.lost > 0);
    let summary = summary.expect("all storms were too weak to test loss");
    let (c, _, end) = open(&path);
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
    assert!(started.elapsed() < Duration::from_secs(40));
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
    let said = "stopped: the bundle reached 1464 KiB, the limit of --max-bytes".to_owned();
    assert!(open(&path).2.problems.contains(&said), "{:?}", summary.notes);
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
    // A whole window of five seconds, and little more unless the machine is busy.
    assert!(
        (5..60).contains(&started.elapsed().as_secs()),
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
    // A machine that stalled had no second, or no transfer, to tell of.
    assert!((0..5).any(|_| seconds_hold()), "the machine was too slow for this test");
}

/// Records for four seconds and a half; whether there were two readings or more, and a transfer before the last of them.
fn seconds_hold() -> bool {
    let path = scratch("seconds");
    let mut o = options(&path);
    o.duration = Some(Duration::from_millis(4500));
    let done = AtomicBool::new(false);
    let (go, told) = std::sync::mpsc::channel();
    let transferred: Vec<i64> = std::thread::scope(|s| {
        let done = &done;
        let sender = s.spawn(move || {
            told.recv().unwrap();
            let mut ended = Vec::new();
            while !done.load(Ordering::Relaxed) {
                transfer(10_000);
                ended.push(mono());
                std::thread::sleep(Duration::from_millis(20));
            }
            ended
        });
        // Told the first time after a second of recording: all transfers are later than the start's counters.
        let result = record(&o, &mut |_| _ = go.send(()));
        done.store(true, Ordering::Relaxed);
        result.unwrap();
        sender.join().unwrap()
    });
    let (c, manifest, end) = open(&path);
    let all: Vec<Second> = seconds(&c).map(Result::unwrap).collect();
    // A busy machine may skip some, and never adds one: number n is not before second n.
    assert!(!all.is_empty());
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
    for (n, second) in (1..).zip(&all) {
        times.push(second.clock.monotonic_ns);
        assert!(times[n as usize] - times[0] >= n * 1_000_000_000, "{times:?}");
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
    // Each reading has at least four segments (SYN, its answer, data, FIN) of every transfer that had ended before it.
    for (t, count) in times.iter().zip(&counts) {
        let ended = transferred.iter().filter(|e| *e <= t).count() as u64;
        assert!(
            count - counts[0] >= 4 * ended,
            "{ended} transfers, {times:?} {counts:?}"
        );
    }
    std::fs::remove_file(path).unwrap();
    all.len() >= 2 && transferred.iter().any(|e| *e <= times[all.len()])
}

#[test]
fn an_error_leaves_nothing_behind() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
    let before = kernel_state(&root);
    let mut o = options(Path::new("/nonexistent/x.nmb"));
    assert!(matches!(record(&o, &mut |_| {}), Err(RecordError::Create { .. })));
    // While the drain threads run: the command does not start; then the disk is full.
    let path = scratch("error");
    let script = path.with_extension("script");
    std::fs::write(&script, "#!/nonexistent/interpreter\n").unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    o = options(&path);
    o.command = vec![script.clone().into()];
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
        matches!(result, Err(RecordError::Command { .. })) && took < Duration::from_secs(60),
        "{took:?}"
    );
    o = options(Path::new("/dev/full"));
    o.command = sh("exec sleep 60");
    assert!(matches!(record(&o, &mut |_| {}), Err(RecordError::Create { .. })));
    assert_restored(&root, &before);
    // A failed start leaves no stub.
    assert!(!path.exists());
    std::fs::remove_file(script).unwrap();
}

#[test]
fn a_panic_leaves_nothing_behind() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
    let before = kernel_state(&root);
    let path = scratch("panic");
    let mut o = options(&path);
    o.duration = Some(Duration::from_secs(60));
    let result = std::panic::catch_unwind(|| {
        record(&o, &mut |_| {
            transfer(1_000_000);
            panic!("from the progress callback")
        })
    });
    assert!(result.is_err());
    assert_restored(&root, &before);
    // What it had recorded opens, and says that it is cut.
    let c = open_path(&path).unwrap().unwrap();
    assert!(!c.complete && c.manifest.is_some() && c.end.is_none());
    assert!(totals(&c).values().map(|t| t.records).sum::<u64>() > 20);
    std::fs::remove_file(path).unwrap();
}
