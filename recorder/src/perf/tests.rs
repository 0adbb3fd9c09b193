//! The perf backend against the kernel's own counts, and against a tracing instance that records at the same time.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use netmortem_formats::event_format::{EventFormat, IntAccess};
use netmortem_formats::{Capture, Locus, StreamItem};

use super::Backend;
use crate::RecordError;
use crate::options::Profile;
use crate::record::record;
use crate::tests::harness::{open, options, record_while, scratch, sh, tracefs_or_skip, transfer};
use crate::tests::kernel_state::{assert_restored, kernel_state};

/// One event: time, CPU, payload.
type Event = (u64, u32, Vec<u8>);

/// Times and fields in order, by CPU and event.
type Sequences = BTreeMap<(u32, String), Vec<(u64, Vec<u8>)>>;

/// All events, and by CPU the losses in the streams.
fn read(c: &Capture) -> (Vec<Event>, BTreeMap<u32, u64>) {
    let (mut events, mut lost) = (Vec::new(), BTreeMap::new());
    for s in &c.streams {
        for chunk in &s.chunks {
            let locus = Locus {
                member: chunk.member,
                stream: s.cpu,
                offset: 0,
            };
            let bytes = c.chunk_bytes(chunk).unwrap();
            s.for_each(&bytes, locus, |item| match item.unwrap() {
                StreamItem::Record(r) => events.push((r.ts, s.cpu, r.payload.to_vec())),
                StreamItem::Lost(l) => *lost.entry(s.cpu).or_default() += l.count.unwrap(),
            });
        }
    }
    (events, lost)
}

fn format<'c>(c: &'c Capture, payload: &[u8]) -> &'c EventFormat {
    let id = c.endian.u16(payload, 0).unwrap();
    c.event_formats.iter().find(|f| f.id == id).unwrap()
}

fn int(c: &Capture, payload: &[u8], field: &str) -> i64 {
    let access = IntAccess::bind(format(c, payload), field, c.endian).unwrap();
    access.i64(payload).unwrap()
}

/// Descriptors of perf that this process has.
fn open_events() -> usize {
    let fds = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let links = fds.filter_map(|f| std::fs::read_link(f.path()).ok());
    links.filter(|l| l.to_string_lossy().contains("perf_event")).count()
}

#[test]
fn all_that_the_kernel_counted_is_in_the_bundle_or_said_to_be_lost() {
    const BYTES: usize = 3_000_000;
    let Some((root, _one)) = tracefs_or_skip() else { return };
    let before = kernel_state(&root);
    for (name, buffer_kib) in [("perf-large", 32 << 10), ("perf-small", 8)] {
        let path = scratch(name);
        let mut o = options(&path);
        o.perf.backend = Backend::Perf;
        o.buffer_kib = Some(buffer_kib);
        let (c, summary) = record_while(&mut o, || transfer(BYTES));
        assert_restored(&root, &before);
        assert_eq!(open_events(), 0);
        let (c2, manifest, end) = open(&path);
        assert!(c2.complete, "{:?}", c2.problems);
        assert_eq!(netmortem_formats::bundle::verify(&c), []);
        let planned = manifest.plan.perf.unwrap();
        assert_eq!(
            (planned.because.as_str(), manifest.clocks.trace_clock.as_str()),
            ("asked for", "mono")
        );
        let (events, lost) = read(&c);
        for s in &end.cpu_stats {
            let n = events.iter().filter(|e| e.1 == s.cpu).count() as u64;
            assert_eq!(n, s.read_events, "cpu {}", s.cpu);
            assert!(lost.get(&s.cpu).copied().unwrap_or(0) <= s.overrun);
        }
        assert_eq!(events.len() as u64, summary.events);
        let decoded: usize = c
            .streams
            .iter()
            .flat_map(|s| &s.chunks)
            .map(|k| c.chunk_bytes(k).unwrap().len())
            .sum();
        assert_eq!(decoded as u64, end.recorder.ring_bytes);
        // All bytes that the reader took, by what its calls returned. Segments are no measure: the backlog of a socket that is held merges them without an event.
        let mut read_by: BTreeMap<i64, i64> = BTreeMap::new();
        for e in events
            .iter()
            .filter(|e| format(&c, &e.2).key() == "sock:sock_recv_length")
        {
            *read_by.entry(int(&c, &e.2, "common_pid")).or_default() += int(&c, &e.2, "ret").max(0);
        }
        let whole = read_by.values().any(|bytes| *bytes == BYTES as i64);
        assert!(whole || summary.lost > 0, "{read_by:?}");
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn filters_are_the_kernels() {
    let Some((_root, _one)) = tracefs_or_skip() else { return };
    let path = scratch("perf-filter");
    let mut o = options(&path);
    o.perf.backend = Backend::Perf;
    o.profile = Profile::Tcp;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    o.filters.ports = vec![port];
    let (c, _) = record_while(&mut o, || {
        transfer(100_000);
        let mut client = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
        client.write_all(b"x").unwrap();
        drop(listener.accept().unwrap());
        transfer(100_000);
    });
    let (events, _) = read(&c);
    let probes: Vec<_> = events.iter().filter(|e| format(&c, &e.2).name == "tcp_probe").collect();
    assert!(!probes.is_empty());
    for e in probes {
        let ports = [int(&c, &e.2, "sport"), int(&c, &e.2, "dport")];
        assert!(ports.contains(&i64::from(port)), "{ports:?}");
    }
    std::fs::remove_file(path).unwrap();
}

/// A shell that does what it is told and says when.
struct Shell(Child, BufReader<std::process::ChildStdout>);

impl Shell {
    fn new() -> Shell {
        let mut child = Command::new("bash")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let mut this = Shell(child, out);
        this.run(":");
        this
    }
    fn run(&mut self, what: &str) {
        let stdin = self.0.stdin.as_mut().unwrap();
        writeln!(stdin, "{what}; echo done").unwrap();
        let mut line = String::new();
        self.1.read_line(&mut line).unwrap();
        assert_eq!(line, "done\n");
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn only_of(c: &Capture, pid: u32) {
    let (events, _) = read(c);
    let sent = events
        .iter()
        .filter(|e| format(c, &e.2).name == "net_dev_queue")
        .count();
    assert!(sent >= 3, "{sent} of {}", events.len());
    for e in &events {
        assert_eq!(int(c, &e.2, "common_pid"), i64::from(pid), "{}", format(c, &e.2).key());
    }
}

#[test]
fn only_what_one_process_does() {
    let Some((_root, _one)) = tracefs_or_skip() else { return };
    let path = scratch("perf-pid");
    let mut shell = Shell::new();
    let pid = shell.0.id();
    let mut o = options(&path);
    o.perf.pids = vec![pid];
    let (c, summary) = record_while(&mut o, || {
        transfer(50_000);
        for _ in 0..3 {
            shell.run("echo x > /dev/udp/127.0.0.1/9");
        }
    });
    only_of(&c, pid);
    assert!(
        summary
            .notes
            .iter()
            .any(|n| n == "recorded by perf: --pid was asked for"),
        "{:?}",
        summary.notes
    );
    std::fs::remove_file(path).unwrap();
}

#[test]
fn only_what_one_cgroup_does() {
    let Some((_root, _one)) = tracefs_or_skip() else { return };
    let name = format!("netmortem-test-{}", std::process::id());
    let roots = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map(std::path::Path::new);
    let Some(root) = roots.into_iter().find(|r| r.join("cgroup.controllers").exists()) else {
        println!("skipped: no cgroup v2 here");
        return;
    };
    let folder = root.join(&name);
    if let Err(e) = std::fs::create_dir(&folder) {
        println!("skipped: no cgroup can be made ({e})");
        return;
    }
    let path = scratch("perf-cgroup");
    let mut shell = Shell::new();
    let pid = shell.0.id();
    let moved = std::fs::write(folder.join("cgroup.procs"), pid.to_string());
    let mut o = options(&path);
    o.perf.cgroup = Some(name.into());
    if let Err(e) = moved {
        println!("skipped: a process cannot be moved to a cgroup ({e})");
    } else {
        let (c, _) = record_while(&mut o, || {
            transfer(50_000);
            for _ in 0..3 {
                shell.run("echo x > /dev/udp/127.0.0.1/9");
            }
        });
        only_of(&c, pid);
        std::fs::remove_file(path).unwrap();
    }
    drop(shell);
    // The kernel lets it go when the process is gone for good.
    crate::tests::harness::wait_for("the cgroup stays", || std::fs::remove_dir(&folder).is_ok());
}

#[test]
fn what_cannot_be_is_refused_with_a_reason() {
    let Some((_root, _one)) = tracefs_or_skip() else { return };
    let refused = |change: &dyn Fn(&mut crate::RecordOptions)| {
        let mut o = options(&scratch("perf-refused"));
        o.command = sh("true");
        change(&mut o);
        match record(&o, &mut |_| {}) {
            Err(RecordError::Perf { because }) => because,
            other => panic!("{other:?}"),
        }
    };
    assert!(refused(&|o| o.perf.pids = vec![4_000_000]).contains("no such process"));
    assert!(refused(&|o| o.perf.cgroup = Some("no/such/group".into())).contains("--cgroup"));
    assert!(
        refused(&|o| {
            o.perf.backend = Backend::Ftrace;
            o.perf.pids = vec![1];
        })
        .contains("needs the perf backend")
    );
    assert_eq!(open_events(), 0);
}

/// Events as both backends hold them alike: field by field, because holes hold anything, and without flags and preemption
/// depth, which count the tracer's own.
fn sequences(c: &Capture) -> Sequences {
    let mut out = Sequences::new();
    let (mut events, lost) = read(c);
    assert!(lost.is_empty(), "{lost:?}");
    events.sort_by_key(|e| e.0);
    for (ts, cpu, payload) in events {
        let f = format(c, &payload);
        let mut body = payload[4..8].to_vec();
        for field in &f.fields {
            let at = field.offset as usize;
            body.extend_from_slice(&payload[at..at + field.size as usize]);
        }
        out.entry((cpu, f.key())).or_default().push((ts, body));
    }
    out
}

/// Stamps of one event by the two backends are not further apart...
const APART_NS: u64 = 5_000_000;
/// ... but where the machine stands still between them.
const STALL_NS: u64 = 2_000_000_000;

/// Events of `window` that `have` lacks. An event is told by what it holds and about when it was; of alike ones the earliest in reach
/// is taken, which matches as many as can be; then the same for what is left, further apart.
fn missing(window: &[&(u64, Vec<u8>)], have: &[(u64, Vec<u8>)]) -> usize {
    let mut by_body: BTreeMap<&[u8], Vec<u64>> = BTreeMap::new();
    for (ts, body) in have {
        by_body.entry(body).or_default().push(*ts);
    }
    let mut left: Vec<&(u64, Vec<u8>)> = window.to_vec();
    for apart in [APART_NS, STALL_NS] {
        left.retain(|(ts, body)| {
            let Some(times) = by_body.get_mut(&body[..]) else {
                return true;
            };
            let first = times.partition_point(|t| t + apart <= *ts);
            let found = times.get(first).is_some_and(|t| *t < ts + apart);
            if found {
                times.remove(first);
            }
            !found
        });
    }
    left.len()
}

/// Two recorders at once, of the same transfer: what the instance recorded of it, perf recorded too, event for event, but for
/// those that perf itself says it did not write, and a few.
#[test]
fn both_backends_record_the_same_events() {
    let Some((_root, _one)) = tracefs_or_skip() else { return };
    let (outer, inner) = (scratch("both-ftrace"), scratch("both-perf"));
    let (mut by_ftrace, mut by_perf) = (options(&outer), options(&inner));
    for o in [&mut by_ftrace, &mut by_perf] {
        o.profile = Profile::Tx;
        o.buffer_kib = Some(64 << 10);
    }
    by_perf.perf.backend = Backend::Perf;
    let mut from_to = (0, 0);
    let mut perf = None;
    let now = || u64::try_from(crate::clock::now_ns(rustix::time::ClockId::Monotonic)).unwrap();
    let (ftrace, _) = record_while(&mut by_ftrace, || {
        perf = Some(record_while(&mut by_perf, || {
            from_to.0 = now();
            (0..20).for_each(|_| transfer(300_000));
            from_to.1 = now();
        }));
    });
    let (perf, told) = perf.unwrap();
    let (ours, theirs) = (sequences(&perf), sequences(&ftrace));
    let (mut compared, mut lacking) = (BTreeMap::<&str, usize>::new(), BTreeMap::<&str, usize>::new());
    for ((cpu, event), all) in &theirs {
        let window: Vec<_> = all.iter().filter(|e| e.0 >= from_to.0 && e.0 <= from_to.1).collect();
        let have = ours.get(&(*cpu, event.clone())).map_or(&[][..], |v| v);
        *compared.entry(event).or_default() += window.len();
        *lacking.entry(event).or_default() += missing(&window, have);
    }
    assert!(
        compared.get("net:net_dev_queue").is_some_and(|n| *n >= 100),
        "{compared:?}"
    );
    let (total, lacks): (usize, usize) = (compared.values().sum(), lacking.values().sum());
    lacking.retain(|_, n| *n > 0);
    // Of some interrupts perf counts all events, and writes none; of a few it does not even count them.
    assert!(
        lacks as u64 <= told.lost || lacks * 20 <= total,
        "perf says it lacks {}, but lacks {lacking:?} of {compared:?}",
        told.lost
    );
    println!(
        "{total} events of {} kinds compared, {lacks} of them not by perf, which says {}",
        compared.len(),
        told.lost
    );
    for p in [outer, inner] {
        std::fs::remove_file(p).unwrap();
    }
}

/// The comparison above does find what is missing, changed or late.
#[test]
fn a_missing_event_is_found() {
    let all: Vec<(u64, Vec<u8>)> = (0..50u64).map(|i| (i * 1_000_000, vec![(i % 3) as u8])).collect();
    let window: Vec<_> = all.iter().collect();
    assert_eq!(missing(&window, &all), 0);
    let mut cut = all.clone();
    cut.remove(20);
    assert_eq!(missing(&window, &cut), 1);
    let mut changed = all.clone();
    changed[20].1 = vec![9];
    assert_eq!(missing(&window, &changed), 1);
    let late: Vec<_> = all.iter().map(|(ts, b)| (ts + STALL_NS, b.clone())).collect();
    assert!(missing(&window, &late) > 0);
    // One stamp that is late because the machine stalled is no other event.
    let mut stalled = all.clone();
    stalled[49].0 += 10 * APART_NS;
    assert_eq!(missing(&window, &stalled), 0);
    assert_eq!(missing(&window, &[]), 50);
}
