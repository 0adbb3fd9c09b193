//! What a recording must leave as it was.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::harness::PATIENCE;
use crate::tracefs;

/// What of the kernel a recording could have changed: global tracing, settings, and where this process is. Other tests'
/// instances come and go: only ours count.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelState {
    tracing: Vec<String>,
    events_enabled: Vec<PathBuf>,
    instances: Vec<String>,
    sysctl: BTreeMap<String, String>,
    namespaces: Vec<PathBuf>,
}

pub fn kernel_state(root: &Path) -> KernelState {
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
    // Probes of another recorder that is at work: `p:netmortem_<pid>/name ...`.
    let of_others = |line: &str| {
        let pid = line.split_once(":netmortem_").and_then(|(_, l)| l.split('/').next());
        pid.is_some_and(|p| p != std::process::id().to_string() && Path::new("/proc").join(p).exists())
    };
    let text = |f: &&str| {
        let text = tracefs::read(&root.join(f)).ok()?;
        let text = String::from_utf8_lossy(&text).into_owned();
        let kept: Vec<&str> = text.lines().filter(|l| !of_others(l)).collect();
        Some(format!("{f}: {}", kept.join("\n")))
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
    let pair = |l: &str| {
        l.split_once('=')
            .map(|(k, v)| (k.trim().to_owned(), v.trim().to_owned()))
    };
    let sysctl = sysctl.lines().filter(|l| !moves(l)).filter_map(pair).collect();
    let link = |n: &str| std::fs::read_link(format!("/proc/self/ns/{n}")).unwrap();
    KernelState {
        tracing: files.iter().filter_map(text).collect(),
        events_enabled,
        instances: instances_of(root, std::process::id()),
        sysctl,
        namespaces: ["net", "mnt", "pid", "user", "uts"].map(link).to_vec(),
    }
}

/// Asserts that the kernel is as it was `before`. Others may use the global trace or a setting for a moment: only what stays
/// different counts.
pub fn assert_restored(root: &Path, before: &KernelState) {
    let started = std::time::Instant::now();
    let now = loop {
        let mut now = kernel_state(root);
        // Interfaces of others, and their settings, come and go.
        now.sysctl.retain(|k, _| before.sysctl.contains_key(k));
        let mut before = before.clone();
        before.sysctl.retain(|k, _| now.sysctl.contains_key(k));
        assert!(before.sysctl.len() > 100, "{}", before.sysctl.len());
        if now == before || started.elapsed() > PATIENCE {
            break (now, before);
        }
        std::thread::sleep(std::time::Duration::from_millis(200));
    };
    assert_eq!(now.0, now.1);
}

pub fn instances_of(root: &Path, pid: u32) -> Vec<String> {
    let prefix = format!("netmortem-{pid}-");
    tracefs::list(&root.join("instances"))
        .into_iter()
        .filter(|n| n.starts_with(&prefix))
        .collect()
}
