//! Names of who used a socket.

use crate::name::Name;
use crate::reconstruct::datagrams::sockets::SocketRow;

/// `task/number`; empty where neither is known.
pub(super) fn who(task: &Name, pid: i32) -> String {
    match (task.is_empty(), pid) {
        (_, 0) => String::new(),
        (true, pid) => format!("thread {pid}"),
        (false, pid) => format!("{}/{pid}", task.text()),
    }
}

/// Who has a socket: its reader or sender, else who held it when the recording ended.
pub(super) fn holder(s: &SocketRow) -> String {
    match s.pid {
        0 => who(&s.holder_task, s.holder),
        pid => who(&s.task, pid),
    }
}
