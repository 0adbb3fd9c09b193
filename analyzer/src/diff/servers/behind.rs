//! How long the thread that reads a request was at work on others while it lay unread: between the read of one and its answer, with no other read, answer or
//! request of that thread between them (an event loop that leaves one open while it serves others keeps nobody waiting).

use rustc_hash::FxHashMap;

use crate::analyses::application::{Calls, Role, Socket, Spans};
use crate::reconstruct::application::tables::TurnaroundRow;

/// By thread.
pub(in crate::diff) struct Behind {
    by: FxHashMap<i32, Spans>,
}

impl Behind {
    pub fn of(sockets: &[Socket<'_>]) -> Behind {
        let calls = Calls::of(sockets);
        let mut by: FxHashMap<i32, Vec<(i64, i64)>> = FxHashMap::default();
        for s in sockets.iter().filter(|s| s.in_turns && s.role == Role::Server) {
            for t in s.judged_turnarounds().filter(|t| calls.at_work(t)) {
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
