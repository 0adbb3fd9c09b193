//! Which process a thread is of: the snapshots of tasks; and which one listens at a port: those of sockets.

use netmortem_formats::Capture;
use netmortem_formats::capture::SnapshotWhen;
use rustc_hash::FxHashMap;

use super::{field, lines};
use crate::name::Name;

/// Process and name of each thread that was there when the recording began or ended.
pub(crate) fn processes(capture: &Capture) -> FxHashMap<i32, (i32, Name)> {
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

/// The process that holds the listening TCP sockets of a port, where it is one only.
pub(crate) fn listening(capture: &Capture) -> FxHashMap<u16, i32> {
    let mut by: FxHashMap<u16, Option<i32>> = FxHashMap::default();
    for (port, l) in super::listening(capture, |_| true) {
        // Who holds one of them is not known: then it is not known that one process holds them all.
        let one = field(l, "pids").and_then(|pids| pids.parse().ok());
        by.entry(port)
            .and_modify(|have| *have = have.filter(|h| Some(*h) == one))
            .or_insert(one);
    }
    by.into_iter().filter_map(|(port, pid)| Some((port, pid?))).collect()
}
