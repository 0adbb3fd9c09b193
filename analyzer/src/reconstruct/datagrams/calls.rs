//! System calls that send, receive, wait, connect or close: what they are for and which descriptor they name.

use netmortem_formats::tracepoints::Tracepoint;
use netmortem_formats::tracepoints::sys_enter::SysEnter;
use netmortem_formats::tracepoints::sys_exit::SysExit;

use super::tracker::{MSG_ERRQUEUE, Machine};
use super::whither::Whither;
use crate::ingest::Schema;
use crate::reconstruct::dispatch::Routes;
use crate::reconstruct::tcp::MSG_PEEK;

/// With one of these a receive call takes no datagram.
const NO_DATAGRAM: u32 = (MSG_PEEK | MSG_ERRQUEUE) as u32;

/// What a call is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    Send,
    Receive,
    /// Of one descriptor, as far as it says.
    PollOne,
    PollSeveral,
    Connect,
    Close,
}

/// A call under way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    pub(super) what: Use,
    pub(super) fd: Option<i32>,
    pub(super) begin: i64,
    /// It only looks at what came (MSG_PEEK), or reads messages of errors.
    pub(super) looks: bool,
    /// It returns the number of messages (`sendmmsg`, `recvmmsg`).
    pub(super) counts: bool,
}

/// A send call that took a datagram.
#[derive(Debug, Clone, Copy)]
pub(super) struct SendCall {
    pub(super) pid: i32,
    pub(super) begin: i64,
    pub(super) end: i64,
    pub(super) turn: u32,
    pub(super) bytes: u32,
    pub(super) to: Option<Whither>,
}

/// What a call of that name is for; polls say their descriptors in the argument at that place.
fn used(name: &str) -> Option<(Use, Option<usize>)> {
    Some(match name {
        "sendto" | "sendmsg" | "sendmmsg" | "write" | "writev" => (Use::Send, None),
        "recvfrom" | "recvmsg" | "recvmmsg" | "read" | "readv" => (Use::Receive, None),
        "poll" | "ppoll" => (Use::PollSeveral, Some(1)),
        "select" | "pselect6" => (Use::PollSeveral, Some(0)),
        "epoll_wait" | "epoll_pwait" | "epoll_pwait2" => (Use::PollSeveral, None),
        "connect" => (Use::Connect, None),
        "close" => (Use::Close, None),
        _ => return None,
    })
}

/// Routes their begins and ends.
pub(super) fn route(r: &mut Routes<Machine<'_>>, s: &Schema<'_>) {
    for f in s.formats().iter().filter(|f| f.system == SysEnter::SYSTEM) {
        if let Some((what, count)) = f.name.strip_prefix("sys_enter_").and_then(used) {
            let Ok(b) = SysEnter::bind(f, s.endian) else { continue };
            let counts = f.name.ends_with("mmsg");
            r.raw(f.id, move |t, e| {
                let x = SysEnter::read(&b, e.payload);
                let of = count.and_then(|at| x?.args.get(at).copied().flatten());
                let flags = x.and_then(|x| x.flags).unwrap_or(0);
                t.enter(
                    e,
                    Call {
                        what: if of == Some(1) { Use::PollOne } else { what },
                        fd: x.and_then(|x| x.fd),
                        begin: e.ts,
                        looks: what == Use::Receive && flags & NO_DATAGRAM != 0,
                        counts,
                    },
                );
            });
        } else if f.name.starts_with("sys_exit_accept") {
            let Ok(b) = SysExit::bind(f, s.endian) else { continue };
            r.raw(f.id, move |t, e| {
                let fd = SysExit::read(&b, e.payload).and_then(|x| i32::try_from(x.ret).ok());
                if let Some(fd) = fd.filter(|fd| *fd >= 0) {
                    t.another(e.pid, fd);
                }
            });
        } else if let Some((what, _)) = f.name.strip_prefix("sys_exit_").and_then(used) {
            let Ok(b) = SysExit::bind(f, s.endian) else { continue };
            r.raw(f.id, move |t, e| {
                if let Some(x) = SysExit::read(&b, e.payload) {
                    t.exit(e, what, x.ret);
                }
            });
        }
    }
}
