//! Waits for room in a send buffer outside of send calls: a thread sleeps in poll, select or epoll until an ACK makes room
//! (a socket that does not block, or a program that asks first: most runtimes).
//!
//! In: begins of system calls, `sched_waking` in a softirq that processes a pure ACK of a socket, ends of sends. Out: per socket
//! the times from the begin of such a wait to its wake. What wakes a thread in a pure ACK's processing is
//! `sk_stream_write_space`, which is called only for a socket that was found full (SOCK_NOSPACE); the wait is of that socket when
//! the thread's next successful send on it follows before it waits again. Inferred, so strong at most.

use rustc_hash::FxHashMap;

use super::packet::Cause;
use super::tracker::Transmits;
use crate::facts::ConnectionId;
use crate::ingest::Event;

/// System calls that wait for room, or for anything else.
pub(super) const WAIT_CALLS: [&str; 7] = [
    "poll",
    "ppoll",
    "select",
    "pselect6",
    "epoll_wait",
    "epoll_pwait",
    "epoll_pwait2",
];

/// A thread's last wait.
#[derive(Debug, Clone, Copy)]
struct Wait {
    begun: i64,
    woken: Option<(i64, ConnectionId)>,
}

/// All waits for room.
#[derive(Debug, Default)]
pub(super) struct Rooms {
    threads: FxHashMap<i32, Wait>,
    /// (begin, wake), in order, by socket.
    pub(super) found: FxHashMap<ConnectionId, Vec<(i64, i64)>>,
}

impl Rooms {
    /// Any system call of a thread begins.
    pub(super) fn enter(&mut self, pid: i32, ts: i64, waits: bool) {
        if waits {
            self.threads.insert(pid, Wait { begun: ts, woken: None });
        } else if self.threads.get(&pid).is_some_and(|w| w.woken.is_none()) {
            self.threads.remove(&pid);
        }
    }
    /// A thread is woken in the processing of a pure ACK.
    pub(super) fn woken(&mut self, pid: i32, ts: i64, by: ConnectionId) {
        if let Some(w) = self.threads.get_mut(&pid).filter(|w| w.woken.is_none()) {
            w.woken = Some((ts, by));
        }
    }
    /// A thread sent on a socket.
    pub(super) fn sent(&mut self, pid: i32, on: ConnectionId) {
        let of = self.threads.get(&pid).and_then(|w| Some((w.begun, w.woken?)));
        if let Some((begun, (woken, by))) = of
            && by == on
        {
            self.threads.remove(&pid);
            self.found.entry(on).or_default().push((begun, woken));
        }
    }
    /// Events were lost.
    pub(super) fn forget(&mut self) {
        self.threads.clear();
    }
}

impl Transmits<'_> {
    /// A thread is woken: by an ACK without payload, when one is being processed.
    pub(super) fn woken(&mut self, e: &Event<'_>, pid: i32) {
        if e.in_task() || !self.rooms.threads.contains_key(&pid) {
            return;
        }
        self.catch_up(e);
        if let Some((Cause::Ack(at), Some(by))) = self.cause(e.cpu) {
            let pure = self.tcp.samples.get(at as usize).is_some_and(|s| s.data_len == 0);
            if pure {
                self.rooms.woken(pid, e.ts, by);
            }
        }
    }
}
