//! Reads of a TCP socket: how many, and of how many bytes.
//!
//! Needs `sock_recv_length` (Linux 6.3): calls that took something, what was only looked at (MSG_PEEK) not among them. Before that, receive calls in which
//! `tcp_rcv_space_adjust` fired, by what they returned.

use netmortem_formats::event_format::EventFormat;
use netmortem_formats::tracepoints::Tracepoint;
use netmortem_formats::tracepoints::sys_enter::SysEnter;
use netmortem_formats::tracepoints::sys_exit::SysExit;
use rustc_hash::FxHashMap;

use super::sockets::Sockets;
use super::tracker::{MSG_PEEK, Tcp};
use crate::facts::ConnectionId;
use crate::ingest::Schema;
use crate::reconstruct::dispatch::Routes;

/// Reads of more bytes are not told apart.
pub const SMALL: usize = 64;

/// Reads of one socket that took something.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reads {
    /// Such calls.
    pub calls: u64,
    /// What they took.
    pub bytes: u64,
    /// Calls by bytes, from 0 up to [`SMALL`].
    small: Vec<u32>,
}

impl Reads {
    /// A call took so many bytes.
    pub fn add(&mut self, bytes: u64) {
        if bytes == 0 {
            return;
        }
        self.calls = self.calls.saturating_add(1);
        self.bytes = self.bytes.saturating_add(bytes);
        let Some(at) = usize::try_from(bytes).ok().filter(|n| *n <= SMALL) else {
            return;
        };
        if self.small.len() <= at {
            self.small.resize(at + 1, 0);
        }
        if let Some(n) = self.small.get_mut(at) {
            *n = n.saturating_add(1);
        }
    }
    /// Median bytes of a call, where that is [`SMALL`] or less.
    pub fn p50_bytes(&self) -> Option<u32> {
        let mut sum = 0u64;
        let at = self.small.iter().position(|n| {
            sum += u64::from(*n);
            sum > 0 && sum >= self.calls.div_ceil(2)
        });
        at.and_then(|n| u32::try_from(n).ok())
    }
}

impl Sockets {
    /// Of those that were read.
    pub fn reads(&self) -> FxHashMap<ConnectionId, Reads> {
        let read = self.all.iter().filter(|s| s.reads.calls > 0);
        read.map(|s| (s.row.connection, s.reads.clone())).collect()
    }
}

/// What receive calls of threads took, where `sock_recv_length` does not tell: a call in which `tcp_rcv_space_adjust` fired is of that socket, and returns its bytes.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// By thread: whether the call under way only looks (MSG_PEEK), and the socket that it read.
    of: FxHashMap<i32, (bool, Option<usize>)>,
}

impl Calls {
    /// The thread's call read a socket.
    pub(super) fn took(&mut self, pid: i32, socket: usize) {
        if let Some(call) = self.of.get_mut(&pid) {
            call.1 = Some(socket);
        }
    }
}

/// Calls whose return is what they took from one descriptor.
const RECEIVES: [&str; 4] = ["recvfrom", "recvmsg", "read", "readv"];

/// Routes their begins and ends.
pub(super) fn by_calls(r: &mut Routes<Tcp>, s: &Schema<'_>) {
    let of = |f: &&EventFormat| f.system == SysEnter::SYSTEM;
    for f in s.formats().iter().filter(of) {
        let receives = |begin: &str| f.name.strip_prefix(begin).is_some_and(|call| RECEIVES.contains(&call));
        if receives("sys_enter_") {
            let Ok(b) = SysEnter::bind(f, s.endian) else { continue };
            r.raw(f.id, move |t, e| {
                let flags = SysEnter::read(&b, e.payload).and_then(|x| x.flags).unwrap_or(0);
                if let Some(calls) = &mut t.calls {
                    calls.of.insert(e.pid, (flags & MSG_PEEK as u32 != 0, None));
                }
            });
        } else if receives("sys_exit_") {
            let Ok(b) = SysExit::bind(f, s.endian) else { continue };
            r.raw(f.id, move |t, e| {
                let ret = SysExit::read(&b, e.payload).and_then(|x| u64::try_from(x.ret).ok());
                let call = t.calls.as_mut().and_then(|c| c.of.remove(&e.pid));
                if let (Some((false, Some(socket))), Some(n)) = (call, ret)
                    && let Some(s) = t.sockets.all.get_mut(socket)
                {
                    s.reads.add(n);
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_of_all_reads() {
        let of = |sizes: &[u64]| {
            let mut r = Reads::default();
            sizes.iter().for_each(|n| r.add(*n));
            (r.calls, r.bytes, r.p50_bytes())
        };
        assert_eq!(of(&[]), (0, 0, None));
        assert_eq!(of(&[1, 1, 4_000]), (3, 4_002, Some(1)));
        assert_eq!(of(&[4_000, 1, 1, 4_000, 4_000]).2, None);
        assert_eq!(of(&[64, 65, 3, 64]).2, Some(64));
        // A read of nothing is the end of the stream, or an error.
        assert_eq!(of(&[0, 0, 0, 9]), (1, 9, Some(9)));
    }
}
