//! Which thread of the same process ran while one that should answer slept in no recorded call: who collects garbage, or holds a lock.
//!
//! Of the longest such turnarounds alone: each is looked up in what all threads of its process did. A thread that came and went between the
//! snapshots is of the process that listens at the port of its socket. What it ran is that of the whole turnaround but for the time that the
//! other one did not sleep: at least so much of it was while that one slept.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::tables::TurnaroundRow;
use super::tracker::Inputs;
use crate::reconstruct::thread::UNRECORDED;

/// Shortest sleep that is looked at, ns.
const LONG_NS: i64 = 50_000_000;
/// Turnarounds looked at: the longest.
const MOST: usize = 2_000;
/// Threads of a process looked at.
const THREADS: usize = 512;

/// Names that thread in each row.
pub(super) fn name(rows: &mut [TurnaroundRow], inputs: &Inputs<'_>) {
    let long = |r: &&mut TurnaroundRow| r.asleep_in_ns >= LONG_NS && r.asleep_in.text() == UNRECORDED;
    let mut long: Vec<&mut TurnaroundRow> = rows.iter_mut().filter(long).collect();
    if long.is_empty() {
        return;
    }
    long.sort_by_key(|r| (std::cmp::Reverse(r.asleep_in_ns), r.connection, r.send_ns));
    long.truncate(MOST);
    let mut threads: FxHashMap<i32, Vec<i32>> = FxHashMap::default();
    for (tid, (process, _)) in inputs.processes.iter().filter(|(tid, _)| inputs.threads.knows(**tid)) {
        threads.entry(*process).or_default().push(*tid);
    }
    for of in threads.values_mut() {
        of.sort_unstable();
        of.truncate(THREADS);
    }
    long.into_par_iter().for_each(|r| {
        let Some(process) = process(r, inputs) else { return };
        let others = threads.get(&process).into_iter().flatten();
        let others = others.filter(|tid| **tid != r.sender_pid && **tid != r.pid);
        let awake = r.total_ns().saturating_sub(r.asleep_in_ns).max(0);
        let ran = others.map(|tid| {
            let ran = inputs.threads.split(*tid, r.start_ns(), r.send_ns).running_ns;
            (ran.saturating_sub(awake), *tid)
        });
        let most = ran.max_by_key(|(ns, tid)| (*ns, std::cmp::Reverse(*tid)));
        if let Some((ns, tid)) = most.filter(|(ns, _)| *ns > 0) {
            (r.ran_meanwhile_pid, r.ran_meanwhile_ns) = (tid, ns);
            r.ran_meanwhile = inputs.comms.at(tid, r.send_ns);
        }
    });
}

fn process(r: &TurnaroundRow, inputs: &Inputs<'_>) -> Option<i32> {
    if let Some((process, _)) = inputs.processes.get(&r.sender_pid) {
        return Some(*process);
    }
    let socket = inputs.sockets.all.get(r.connection.0 as usize)?;
    inputs.listening.get(&socket.row.sport).copied()
}
