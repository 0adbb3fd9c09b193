//! Names of the threads that rows are of: a thread's name may change, so each is that of its time.

use super::tracker::Tcp;
use crate::reconstruct::comms::Comms;

/// Of sockets, who used them last; of changes of state, in whose call they were.
pub(super) fn name(t: &mut Tcp, comms: &Comms) {
    for row in t.sockets.all.iter_mut().map(|s| &mut s.row).filter(|r| r.pid > 0) {
        row.task = comms.at(row.pid, row.last_ns);
    }
    for row in t.states.iter_mut().filter(|r| r.pid > 0) {
        row.task = comms.at(row.pid, row.time_ns);
    }
}
