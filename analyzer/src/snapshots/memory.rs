//! Who holds the memory of TCP's receive queues, by the snapshots of sockets: `mem.rmem_alloc` (SK_MEMINFO_RMEM_ALLOC) of each.

use std::collections::BTreeMap;

use netmortem_formats::Capture;
use netmortem_formats::capture::SnapshotWhen;

use super::tasks::processes;
use super::{field, lines, number};

/// Kept, those with most.
const KEPT: usize = 16;

/// TCP sockets of a process with something in their receive queues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Network namespace (inode).
    pub netns: u64,
    /// `task/process`; empty: not known.
    pub task: String,
    /// Its local address of the first of them.
    pub local: String,
    /// Sockets.
    pub sockets: u64,
    /// Memory of what lies in their receive queues, bytes.
    pub bytes: u64,
}

/// When the recording ended; most memory first.
pub(crate) fn holders(capture: &Capture) -> Vec<Holder> {
    let tasks = processes(capture);
    let mut by: BTreeMap<(u64, i32), Holder> = BTreeMap::new();
    for l in lines(capture, "sockets", |when| when == SnapshotWhen::End) {
        let held = number(l, "mem.rmem_alloc").filter(|n| *n > 0 && field(l, "proto") == Some("tcp"));
        let Some((bytes, netns)) = held.zip(number(l, "netns")) else {
            continue;
        };
        let pid = field(l, "pids")
            .and_then(|p| p.split(',').next()?.parse().ok())
            .unwrap_or(0);
        let of = by.entry((netns, pid)).or_insert_with(|| Holder {
            netns,
            task: match (pid, tasks.get(&pid)) {
                (0, _) => String::new(),
                (pid, Some((_, name))) if !name.is_empty() => format!("{}/{pid}", name.text()),
                (pid, _) => format!("process {pid}"),
            },
            local: field(l, "src").unwrap_or_default().to_owned(),
            sockets: 0,
            bytes: 0,
        });
        of.sockets += 1;
        of.bytes = of.bytes.saturating_add(bytes);
    }
    let mut all: Vec<Holder> = by.into_values().collect();
    all.sort_by(|a, b| {
        b.bytes
            .cmp(&a.bytes)
            .then_with(|| (a.netns, &a.task).cmp(&(b.netns, &b.task)))
    });
    all.truncate(KEPT);
    all
}
