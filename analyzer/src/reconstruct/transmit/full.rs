//! Sends that a full send buffer refused (EAGAIN), and what their thread did until its next send on the same socket.
//!
//! In: ends of sends (`sock_send_length`, Linux 6.3 or later), sleeps of threads. Out: [`RefusedSend`]s where [`LEAST_NS`] or more passed until the next, which was taken: where it is refused as well there was no room. A socket on which others sent meanwhile is nobody's to wait for.

use rustc_hash::FxHashMap;

use crate::facts::ConnectionId;
use crate::name::Name;
use crate::reconstruct::thread::Threads;

/// What such a send returns.
const EAGAIN: i32 = -11;
/// Shortest time until the next one, ns.
const LEAST_NS: i64 = 20_000_000;
/// Kept of a socket.
const MOST: usize = 4096;

/// A send that was refused, and the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefusedSend {
    /// The socket.
    pub connection: ConnectionId,
    /// The thread that sends.
    pub pid: i32,
    /// When it was refused.
    pub at_ns: i64,
    /// When the thread's next send on the socket began.
    pub next_ns: i64,
    /// The system call in which it slept longest between them, and how long.
    pub slept: (Name, i64),
}

/// A socket whose last send was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeftFull {
    /// The socket.
    pub connection: ConnectionId,
    /// The thread that sent.
    pub pid: i32,
    /// When.
    pub at_ns: i64,
}

/// Those of a socket: (thread, refused, next).
#[derive(Debug, Default)]
pub(super) struct Refusals {
    open: Option<(i32, i64)>,
    found: Vec<(i32, i64, i64)>,
}

impl Refusals {
    /// A send that began then returned.
    pub(super) fn sent(&mut self, pid: i32, (begun, ended): (i64, i64), ret: i32) {
        if let Some((who, at)) = self.open.take()
            && who == pid
            && ret > 0
            && begun.saturating_sub(at) >= LEAST_NS
            && self.found.len() < MOST
        {
            self.found.push((pid, at, begun));
        }
        self.open = (ret == EAGAIN).then_some((pid, ended));
    }
}

/// Sockets on which nothing was sent behind a send that was refused.
pub(super) fn left(of: &FxHashMap<ConnectionId, Refusals>) -> Vec<LeftFull> {
    let last = of.iter().filter_map(|(connection, of)| {
        let (pid, at_ns) = of.open?;
        let connection = *connection;
        Some(LeftFull { connection, pid, at_ns })
    });
    let mut all: Vec<LeftFull> = last.collect();
    all.sort_unstable_by_key(|l| l.connection);
    all
}

/// With what their threads did meanwhile, in order.
pub(super) fn refused(of: FxHashMap<ConnectionId, Refusals>, threads: &Threads) -> Vec<RefusedSend> {
    let mut all: Vec<RefusedSend> = vec![];
    for (connection, of) in of {
        all.extend(of.found.iter().filter_map(|(pid, at_ns, next_ns)| {
            let slept = threads.slept_in(*pid, *at_ns, *next_ns)?;
            Some(RefusedSend {
                connection,
                pid: *pid,
                at_ns: *at_ns,
                next_ns: *next_ns,
                slept: (slept.call, slept.ns),
            })
        }));
    }
    all.sort_unstable_by_key(|r| (r.connection, r.at_ns));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// Sends of a thread: from when to when, ms, and what they returned.
    fn found(sends: &[(i32, i64, i32)]) -> Vec<(i32, i64, i64)> {
        let mut of = Refusals::default();
        for (pid, at, ret) in sends {
            of.sent(*pid, (at * MS, at * MS + 10), *ret);
        }
        of.found
    }

    #[test]
    fn the_last_send_of_a_socket_is_left_refused() {
        let mut all: FxHashMap<ConnectionId, Refusals> = FxHashMap::default();
        for (c, sends) in [(2, [1, EAGAIN]), (1, [EAGAIN, EAGAIN]), (3, [EAGAIN, 1])] {
            let of = all.entry(ConnectionId(c)).or_default();
            for (at, ret) in (1i64..).zip(sends) {
                of.sent(7, (at * MS, at * MS + 10), ret);
            }
        }
        let told = left(&all).into_iter().map(|l| (l.connection.0, l.pid, l.at_ns));
        assert!(told.eq([(1, 7, 2 * MS + 10), (2, 7, 2 * MS + 10)]));
    }

    #[test]
    fn the_next_send_of_the_same_thread_is_found() {
        let one = found(&[
            (7, 0, 16_384),
            (7, 1, EAGAIN),
            (7, 501, 16_384),
            (7, 502, EAGAIN),
            (7, 503, 4_096),
        ]);
        assert_eq!(one, [(7, MS + 10, 501 * MS)]);
        // Refused once more, there was no room: the sleep before that was not in vain.
        let again = found(&[(7, 0, EAGAIN), (7, 500, EAGAIN), (7, 1_000, 1)]);
        assert_eq!(again, [(7, 500 * MS + 10, 1_000 * MS)]);
        assert_eq!(found(&[(7, 0, EAGAIN), (7, 500, EAGAIN), (7, 1_000, EAGAIN)]), []);
        // Another thread sends meanwhile, or the peer closed.
        assert_eq!(found(&[(7, 0, EAGAIN), (8, 300, 1), (7, 500, 1)]), []);
        assert_eq!(found(&[(7, 0, -32), (7, 500, 1)]), []);
    }
}
