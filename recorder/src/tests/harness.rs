//! What the live tests share: one recording at a time, its options, traffic, and waiting.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use netmortem_formats::bundle::{End, Manifest};
use netmortem_formats::{Capture, open_path};

use super::kernel_state::instances_of;

use crate::options::{Output, Profile, RecordOptions};
use crate::record::record;
use crate::{Filters, tracefs};

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
        // Many tests record twice to one name.
        force: true,
        duration: None,
        profile: Profile::Full,
        filters: Filters::default(),
        extra_kprobes: false,
        pcap: Default::default(),
        perf: Default::default(),
        buffer_kib: None,
        max_buffers_kib: None,
        max_bytes: None,
        // The load of a test is in its own process, and would count as the recorder's.
        max_cpu_percent: Some(100_000),
        command: Vec::new(),
        command_line: vec!["test".into()],
    }
}

/// A shell as the recorded command.
pub fn sh(script: &str) -> Vec<std::ffi::OsString> {
    ["sh", "-c", script].map(Into::into).to_vec()
}

pub fn open(path: &Path) -> (Capture, Manifest, End) {
    let c = open_path(path).unwrap().unwrap();
    let manifest = serde_json::from_value(c.manifest.clone().unwrap()).unwrap();
    let end = serde_json::from_value(c.end.clone().unwrap()).unwrap();
    (c, manifest, end)
}

/// Does `work` in a thread that only this CPU runs, and what it starts; `None` when this process may not use that CPU.
pub fn on_cpu<T: Send>(cpu: u32, work: impl FnOnce() -> T + Send) -> Option<T> {
    std::thread::scope(|s| {
        let pinned = s.spawn(|| {
            let mut set = rustix::thread::CpuSet::new();
            set.set(usize::try_from(cpu).unwrap());
            let set = rustix::thread::sched_setaffinity(None, &set);
            set.is_ok().then(work)
        });
        pinned.join().unwrap_or_else(|e| std::panic::resume_unwind(e))
    })
}

/// Datagrams that the kernel did not give this IPv4 socket, which is full: the last column of its line in /proc/net/udp.
pub fn refused_by(socket: &std::net::UdpSocket) -> u64 {
    let local = format!(":{:04X}", socket.local_addr().unwrap().port());
    let text = std::fs::read_to_string("/proc/thread-self/net/udp").unwrap();
    let mut lines = text.lines().map(|l| l.split_whitespace().collect::<Vec<_>>());
    let line = lines.find(|w| w.get(1).is_some_and(|a| a.ends_with(&local))).unwrap();
    line.last().unwrap().parse().unwrap()
}

/// Sends `bytes` over loopback TCP inside this process.
pub fn transfer(bytes: usize) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut server, _) = listener.accept().unwrap();
    let sender = std::thread::spawn(move || client.write_all(&vec![7; bytes]).unwrap());
    let mut got = Vec::new();
    server.read_to_end(&mut got).unwrap();
    sender.join().unwrap();
    assert_eq!(got.len(), bytes);
}

/// Longest wait for what must come: a machine may stand still for seconds.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub fn wait_for(what: &str, mut f: impl FnMut() -> bool) {
    let started = Instant::now();
    while !f() {
        assert!(started.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Records `o`, which is to go to a file, while `work` runs: it begins when tracing is on, and the recording ends when it does.
pub fn record_while(o: &mut RecordOptions, work: impl FnOnce()) -> (Capture, crate::Summary) {
    let Output::File(path) = o.output.clone() else {
        panic!("no file")
    };
    let (flag, started) = (path.with_extension("running"), path.with_extension("started"));
    std::fs::write(&flag, "").unwrap();
    // The command starts when tracing is on; a new instance says that it is on before it has any event.
    let _ = std::fs::remove_file(&started);
    let (on, off) = (started.display(), flag.display());
    o.command = sh(&format!(": > {on}; while [ -e {off} ]; do sleep 0.05; done"));
    let summary = std::thread::scope(|s| {
        let recording = s.spawn(|| record(o, &mut |_| {}));
        // On every way out, or a failed test would wait for its command for ever.
        let end = Remove(&flag);
        wait_for("tracing is not on", || started.exists() || recording.is_finished());
        work();
        drop(end);
        recording.join().unwrap().unwrap()
    });
    std::fs::remove_file(started).unwrap();
    (open_path(&path).unwrap().unwrap(), summary)
}

/// Removes a file when it goes.
struct Remove<'a>(&'a Path);

impl Drop for Remove<'_> {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.0);
    }
}

pub fn tracing_is_on(root: &Path, pid: u32) -> bool {
    let names = instances_of(root, pid);
    names
        .iter()
        .any(|n| std::fs::read(root.join("instances").join(n).join("tracing_on")).is_ok_and(|t| t == b"1\n"))
}

/// Datagrams that a namespace's UDP sent, of its /proc/net/snmp.
pub fn out_datagrams(snmp: &str) -> u64 {
    let udp: Vec<Vec<&str>> = snmp
        .lines()
        .filter(|l| l.starts_with("Udp:"))
        .map(|l| l.split(' ').collect())
        .collect();
    let at = udp[0].iter().position(|n| *n == "OutDatagrams").unwrap();
    udp[1][at].parse().unwrap()
}
