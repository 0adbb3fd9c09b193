//! How long the thread that reads a request was at work on others while it lay unread: between the read of one and its answer, with no other read, answer or
//! request of that thread between them (an event loop that leaves one open while it serves others keeps nobody waiting).

use rustc_hash::FxHashMap;

use crate::analyses::application::{Role, Socket, Spans};
use crate::reconstruct::application::tables::TurnaroundRow;

/// By thread.
pub(super) struct Behind {
    by: FxHashMap<i32, Spans>,
}

impl Behind {
    pub fn of(sockets: &[Socket<'_>]) -> Behind {
        // When each thread read or sent.
        let mut calls: FxHashMap<i32, Vec<i64>> = FxHashMap::default();
        for s in sockets {
            for t in s.judged_turnarounds() {
                calls.entry(t.pid).or_default().push(t.read_ns);
                calls.entry(t.sender_pid).or_default().push(t.send_ns);
            }
            for (_, r) in s.judged_responses() {
                calls.entry(r.pid).or_default().extend([r.send_ns, r.read_ns]);
            }
        }
        for of in calls.values_mut() {
            of.sort_unstable();
        }
        let alone = |t: &&TurnaroundRow| {
            let of = calls.get(&t.pid).map_or(&[][..], Vec::as_slice);
            of.partition_point(|at| *at <= t.read_ns) == of.partition_point(|at| *at < t.send_ns)
        };
        let mut by: FxHashMap<i32, Vec<(i64, i64)>> = FxHashMap::default();
        for s in sockets.iter().filter(|s| s.in_turns && s.role == Role::Server) {
            let own = s.judged_turnarounds().filter(|t| t.pid == t.sender_pid);
            for t in own.filter(alone) {
                by.entry(t.pid).or_default().push((t.read_ns, t.send_ns));
            }
        }
        Behind {
            by: by.into_iter().map(|(pid, of)| (pid, Spans::of(of))).collect(),
        }
    }

    /// ns of the time that this one lay unread; its own work begins when it is read.
    pub fn during(&self, t: &TurnaroundRow) -> i64 {
        let of = self.by.get(&t.pid);
        of.map_or(0, |spans| spans.within(t.start_ns(), t.read_ns))
    }
}
