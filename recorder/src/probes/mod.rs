//! `--extra kprobes`: a few probes of our own beside the kernel's events.
//!
//! In: tracefs, the instance. Out: events `netmortem_<pid>:<name>` in the plan, or why they are absent; that is never an
//! error. It must not touch the probes of others: their files are appended to, never truncated, which would remove all.
//! What we defined is removed when it goes, and by the next recorder after a kill. Follows Documentation/trace/kprobetrace.rst
//! (fields of arguments by BTF, Linux 6.4 and later: the kernel finds the offsets), uprobetracer.rst.
//!
//! ```text
//! define (kprobe_events, uprobe_events: one list for the whole kernel) -> enable in our instance only
//!    -> recording -> instance removed -> "-:netmortem_<pid>/<name>"
//! ```

mod elf;
#[cfg(test)]
mod tests;

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use netmortem_formats::bundle::{AbsentEvent, PlannedEvent};

use crate::instance::Instance;
use crate::tracefs;

const KPROBES: &str = "kprobe_events";
const UPROBES: &str = "uprobe_events";
const GROUP: &str = "netmortem_";

/// Name, function, fields. Functions of net/ipv4/{inet_connection_sock,tcp_ipv4,tcp_output}.c.
const KERNEL: [(&str, &str, &str); 3] = [
    // A connection is ready to be accepted: how many wait before it. (Not inet_csk_reqsk_queue_add: compilers may put it into its caller.)
    (
        "accept_queue",
        "inet_csk_complete_hashdance",
        "sk=sk waiting=sk->sk_ack_backlog limit=sk->sk_max_ack_backlog",
    ),
    // A segment comes while the socket is in use: what waits in its backlog and in its receive queue, bytes.
    (
        "backlog",
        "tcp_add_backlog",
        "sk=sk skb=skb backlog=sk->sk_backlog.len rmem=sk->sk_backlog.rmem_alloc.counter rcvbuf=sk->sk_rcvbuf",
    ),
    // TCP is told to send what it has: whether Nagle may hold it back. (Not tcp_write_xmit: compilers put it into its callers.)
    ("push", "__tcp_push_pending_frames", "sk=sk mss=cur_mss nonagle=nonagle"),
];
/// Name resolution in libc: its call and its return. Of no names: they may be private.
const RESOLVER: &str = "getaddrinfo";
const LIBC: [&str; 8] = [
    "/lib/x86_64-linux-gnu/libc.so.6",
    "/lib/aarch64-linux-gnu/libc.so.6",
    "/usr/lib/x86_64-linux-gnu/libc.so.6",
    "/usr/lib/aarch64-linux-gnu/libc.so.6",
    "/lib64/libc.so.6",
    "/usr/lib64/libc.so.6",
    "/usr/lib/libc.so.6",
    "/lib/libc.so.6",
];

/// Probes of ours. Dropping it removes them; the instance that has them enabled must be gone by then.
#[derive(Debug)]
pub struct Probes {
    tracefs: PathBuf,
    group: String,
    /// The list and the name of each that was defined.
    defined: Vec<(&'static str, &'static str)>,
}

impl Probes {
    /// Without any yet. What killed recorders left is removed, once their instances are.
    pub fn new(tracefs: &Path) -> Probes {
        Probes {
            tracefs: tracefs.to_owned(),
            group: format!("{GROUP}{}", std::process::id()),
            defined: Vec::new(),
        }
    }

    /// Defines them and enables them in `instance`: what is recorded, and what is not and why.
    pub fn enable(&mut self, instance: &Instance) -> (Vec<PlannedEvent>, Vec<AbsentEvent>) {
        let group = self.group.clone();
        let mut lines: Vec<(&'static str, &'static str, Result<String, String>)> = Vec::new();
        for (name, function, fields) in KERNEL {
            lines.push((KPROBES, name, Ok(format!("p:{group}/{name} {function} {fields}"))));
        }
        let libc = LIBC.iter().find(|p| Path::new(p).exists());
        let place = libc.ok_or("no libc in its usual places".to_owned()).and_then(|path| {
            let offset = std::fs::read(path)
                .ok()
                .and_then(|file| elf::function_offset(&file, RESOLVER));
            let offset = offset.ok_or(format!("{path} has no function {RESOLVER}"))?;
            Ok(format!("{path}:{offset:#x}"))
        });
        for (kind, name) in [("p", "getaddrinfo"), ("r", "getaddrinfo_return")] {
            let line = place.clone().map(|p| format!("{kind}:{group}/{name} {p}"));
            lines.push((UPROBES, name, line));
        }
        let (mut events, mut absent) = (Vec::new(), Vec::new());
        for (list, name, line) in lines {
            let full = format!("{group}:{name}");
            match line.and_then(|l| self.one(instance, list, name, &l)) {
                Ok(()) => events.push(PlannedEvent {
                    name: full,
                    filter: String::new(),
                }),
                Err(because) => absent.push(AbsentEvent { name: full, because }),
            }
        }
        (events, absent)
    }

    fn one(&mut self, instance: &Instance, list: &'static str, name: &'static str, line: &str) -> Result<(), String> {
        let path = self.tracefs.join(list);
        if !path.exists() {
            return Err(format!("this kernel has no {list}"));
        }
        append(&path, line).map_err(|e| format!("the kernel refused {line}: {e}"))?;
        self.defined.push((list, name));
        let enable = format!("events/{}/{name}/enable", self.group);
        instance.write(&enable, "1").map_err(|e| e.to_string())
    }
}

impl Drop for Probes {
    fn drop(&mut self) {
        for (list, name) in &self.defined {
            // Nothing more can be done about a failure here; the next recorder removes a leftover.
            let _ = append(&self.tracefs.join(list), &format!("-:{}/{name}", self.group));
        }
    }
}

/// Removes probes whose recorder is dead; returns their names. After its instances: a probe in use stays.
pub fn remove_stale(tracefs: &Path) -> Vec<String> {
    let mut removed = Vec::new();
    for list in [KPROBES, UPROBES] {
        let path = tracefs.join(list);
        let text = tracefs::read_file(&path).unwrap_or_default();
        for name in stale(&String::from_utf8_lossy(&text), |pid| {
            Path::new(&format!("/proc/{pid}")).exists()
        }) {
            if append(&path, &format!("-:{name}")).is_ok() {
                removed.push(name);
            }
        }
    }
    removed
}

/// Of the lines of a list of probes (`p:group/name place ...`) the `group/name` of those whose process is gone.
fn stale(text: &str, lives: impl Fn(u32) -> bool) -> Vec<String> {
    let name = |line: &str| {
        let (_, name) = line.split_whitespace().next()?.split_once(':')?;
        let pid: u32 = name.strip_prefix(GROUP)?.split_once('/')?.0.parse().ok()?;
        (!lives(pid)).then(|| name.to_owned())
    };
    text.lines().filter_map(name).collect()
}

/// One definition. Opening such a list for truncation would remove the probes of everybody.
fn append(path: &Path, line: &str) -> io::Result<()> {
    OpenOptions::new()
        .append(true)
        .open(path)?
        .write_all(format!("{line}\n").as_bytes())
}
