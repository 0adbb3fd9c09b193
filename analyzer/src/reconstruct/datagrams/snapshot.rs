//! UDP sockets of the `sockets` snapshots, and which process a thread is of.

use netmortem_formats::Capture;
use netmortem_formats::capture::SnapshotWhen;
use rustc_hash::FxHashMap;

use crate::name::Name;
use crate::snapshots::{field, lines, number};

/// A UDP socket when the recording ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    /// `address:port`.
    pub(super) local: String,
    /// The same of its peer; empty: it has none.
    pub(super) remote: String,
    /// Bytes of memory that its receive queue held, and by how much that grew since the recording began.
    pub(super) grown: u64,
    /// Processes that hold it.
    pub(super) pids: Vec<i32>,
}

/// All of them.
pub(super) fn sockets(capture: &Capture) -> Vec<Line> {
    let udp = |when| lines(capture, "sockets", move |w| w == when).filter(|l| field(l, "proto") == Some("udp"));
    let queued = |l: &str| number(l, "rqueue").unwrap_or(0);
    let before: FxHashMap<&str, u64> = udp(SnapshotWhen::Start)
        .filter_map(|l| Some((field(l, "cookie")?, queued(l))))
        .collect();
    let line = |l: &str| {
        let remote = field(l, "dst")?;
        let was = field(l, "cookie").and_then(|c| before.get(c)).copied().unwrap_or(0);
        Some(Line {
            local: field(l, "src")?.to_owned(),
            remote: if remote.ends_with(":0") {
                String::new()
            } else {
                remote.to_owned()
            },
            grown: queued(l).saturating_sub(was),
            pids: (field(l, "pids").unwrap_or("").split(','))
                .filter_map(|p| p.parse().ok())
                .collect(),
        })
    };
    udp(SnapshotWhen::End).filter_map(line).collect()
}

/// Process and name of each thread that was there when the recording began or ended.
pub(super) fn processes(capture: &Capture) -> FxHashMap<i32, (i32, Name)> {
    // Those of the start come first.
    let all = [SnapshotWhen::Start, SnapshotWhen::End];
    let lines = all
        .into_iter()
        .flat_map(|when| lines(capture, "tasks", move |w| w == when));
    let task = |l: &str| {
        let mut words = l.splitn(3, ' ');
        let (tid, pid) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        Some((tid, (pid, Name::new(words.next().unwrap_or("").as_bytes()))))
    };
    lines.filter_map(task).collect()
}
