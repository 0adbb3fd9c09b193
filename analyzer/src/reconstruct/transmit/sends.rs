//! Send calls: which thread gave which bytes to which socket when.
//!
//! In: sys_enter of the sending calls, tcp_sendmsg_locked, sock_send_length. Out: calls, and per TCP socket the appends: that
//! many bytes were taken between two times. A system call that sends several times (sendmmsg, sendfile) is several calls.

use rustc_hash::FxHashMap;

use super::full::Refusals;
use crate::confidence::Confidence;
use crate::facts::{ConnectionId, SkbId};
use crate::ingest::Event;

/// System calls that may send. `write` and `splice` are also of files: without a send in them they leave nothing.
pub(super) const SEND_CALLS: [&str; 8] = [
    "sendto",
    "sendmsg",
    "sendmmsg",
    "write",
    "writev",
    "sendfile64",
    "splice",
    "io_uring_enter",
];

/// One send on one socket.
#[derive(Debug, Clone)]
pub(super) struct Call {
    /// Thread.
    pub(super) pid: i32,
    /// Begin of the system call, or end of the send before it in the same one.
    pub(super) enter: Option<i64>,
    /// How sure its socket is.
    pub(super) link: Confidence,
    /// It was under way when the recording, or recording again after a loss, began: its system call ended without a begin.
    pub(super) cut: bool,
}

/// Bytes taken into a write queue: after `from`, at the latest at `by`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Append {
    /// Position in the merged sequence of the event at `from`.
    pub(super) index: u32,
    pub(super) from: i64,
    pub(super) by: i64,
    pub(super) bytes: u32,
    pub(super) call: u32,
    /// What its skb should reach (`size_goal`), bytes; 0 where no event says it.
    pub(super) goal: u32,
}

#[derive(Debug, Clone, Copy)]
struct Mark {
    index: u32,
    ts: i64,
    left: i32,
    goal: u32,
}

/// A thread that may be sending.
#[derive(Debug, Default)]
pub(super) struct Thread {
    enter: Option<(u32, i64)>,
    marks: Vec<Mark>,
    /// Write-queue tails named in this send.
    tails: Vec<SkbId>,
    /// Packets queued in this send.
    pub(super) queued: Vec<u32>,
    /// Segment that this thread is processing out of the socket's backlog: its probe.
    pub(super) ack: Option<(u32, ConnectionId)>,
    /// It runs the work item of TCP small queues.
    pub(super) tsq: bool,
    /// Its call is io_uring_enter.
    pub(super) uring: bool,
    /// Sends of a system call whose begin was not seen.
    unbegun: Vec<u32>,
}

impl Thread {
    /// Whether it is inside a call that may send.
    pub(super) fn sending(&self) -> bool {
        self.enter.is_some() || !self.marks.is_empty()
    }
}

/// A send that returned.
pub(super) struct Sent {
    pub(super) call: u32,
    pub(super) queued: Vec<u32>,
    pub(super) tails: Vec<SkbId>,
}

/// The last send on a TCP socket that an event names: whether the socket took all of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LastSend {
    /// When it returned.
    pub at_ns: i64,
    /// Bytes that it was to send (`msg_left` of its first round).
    pub asked: u32,
    /// Bytes that were taken.
    pub taken: u32,
    /// Sends before it on this socket that were taken whole, to the byte: none where something between counts otherwise (kTLS).
    pub whole: u32,
}

impl LastSend {
    /// A part of it was never sent by this call, nor by a later one.
    pub fn in_part(&self) -> bool {
        self.whole > 0 && self.taken < self.asked
    }
}

/// All sends.
#[derive(Debug, Default)]
pub(super) struct Sends {
    pub(super) calls: Vec<Call>,
    /// By socket.
    pub(super) last: FxHashMap<ConnectionId, LastSend>,
    /// Those that a full buffer refused, by socket.
    pub(super) refusals: FxHashMap<ConnectionId, Refusals>,
    pub(super) appends: FxHashMap<ConnectionId, Vec<Append>>,
    pub(super) threads: FxHashMap<i32, Thread>,
}

impl Sends {
    pub(super) fn thread(&mut self, pid: i32) -> &mut Thread {
        self.threads.entry(pid).or_default()
    }

    /// A system call ends: sends in it without its begin were under way before.
    pub(super) fn exit(&mut self, e: &Event<'_>) {
        let unbegun = self.threads.get_mut(&e.pid).map(|t| std::mem::take(&mut t.unbegun));
        for call in unbegun.into_iter().flatten() {
            if let Some(c) = self.calls.get_mut(call as usize) {
                c.cut = true;
            }
        }
    }

    /// Any system call begins or ends.
    pub(super) fn boundary(&mut self, e: &Event<'_>, sends: bool) {
        if !sends {
            // Most threads never send.
            if self.threads.contains_key(&e.pid) {
                self.threads.remove(&e.pid);
            }
            return;
        }
        let t = self.thread(e.pid);
        *t = Thread {
            enter: Some((e.index, e.ts)),
            ..Thread::default()
        };
    }

    /// A packet comes in from inside a thread's call: that is a write to a device of the host (tun, tap), and what is sent from
    /// inside it answers that packet.
    pub(super) fn injects(&mut self, pid: i32) {
        // io_uring polls devices itself.
        if let Some(t) = self.threads.get_mut(&pid).filter(|t| !t.uring) {
            *t = Thread {
                ack: t.ack,
                tsq: t.tsq,
                unbegun: std::mem::take(&mut t.unbegun),
                ..Thread::default()
            };
        }
    }

    /// `tcp_sendmsg_locked`: one round of the send; the tail is as it was before.
    pub(super) fn mark(&mut self, e: &Event<'_>, tail: Option<SkbId>, left: i32, goal: u32) {
        let t = self.thread(e.pid);
        t.ack = None;
        if t.marks.len() < 1 << 20 && t.marks.last().is_none_or(|m| m.left != left) {
            let (index, ts) = (e.index, e.ts);
            t.marks.push(Mark { index, ts, left, goal });
        }
        if let Some(tail) = tail.filter(|x| t.tails.last() != Some(x) && t.tails.len() < 4096) {
            t.tails.push(tail);
        }
    }

    /// `ret` bytes were taken by the socket; `link`: how sure it is the socket.
    pub(super) fn end(&mut self, e: &Event<'_>, connection: Option<ConnectionId>, ret: i32, link: Confidence) -> Sent {
        let call = self.calls.len() as u32;
        let t = self.threads.entry(e.pid).or_default();
        let (enter, marks) = (t.enter, std::mem::take(&mut t.marks));
        let sent = Sent {
            call,
            queued: std::mem::take(&mut t.queued),
            tails: std::mem::take(&mut t.tails),
        };
        // The next send of the same system call begins here.
        t.ack = None;
        if t.enter.is_some() {
            t.enter = Some((e.index, e.ts));
        } else if t.unbegun.len() < 4096 {
            t.unbegun.push(call);
        }
        self.calls.push(Call {
            pid: e.pid,
            enter: enter.map(|x| x.1),
            link,
            cut: false,
        });
        let total = u32::try_from(ret).unwrap_or(0);
        if let Some(c) = connection.filter(|_| link == Confidence::Certain) {
            if ret < 0 || self.refusals.contains_key(&c) {
                let begun = enter.map_or(e.ts, |x| x.1);
                self.refusals.entry(c).or_default().sent(e.pid, (begun, e.ts), ret);
            }
            let asked = marks.first().map_or(0, |m| u32::try_from(m.left).unwrap_or(0));
            let of = self.last.entry(c).or_default();
            *of = LastSend {
                at_ns: e.ts,
                asked,
                taken: total,
                whole: of.whole.saturating_add(u32::from(asked > 0 && asked == total)),
            };
        }
        if let Some(c) = connection.filter(|_| total > 0) {
            let begin = enter.unwrap_or((e.index, e.ts));
            let of = self.appends.entry(c).or_default();
            rounds(&marks, begin, (e.ts, total), call, of);
        }
        sent
    }
}

/// Divides the bytes of a send by its rounds.
fn rounds(marks: &[Mark], begin: (u32, i64), (end, total): (i64, u32), call: u32, out: &mut Vec<Append>) {
    let whole = marks.first().map_or(0, |m| m.left);
    let goal = marks.last().map_or(0, |m| m.goal);
    let mut taken = 0u32;
    let mut push = |(index, from): (u32, i64), by: i64, upto: u32| {
        let bytes = upto.min(total).saturating_sub(taken);
        if bytes > 0 {
            taken += bytes;
            out.push(Append {
                index,
                from,
                by,
                bytes,
                call,
                goal,
            });
        }
    };
    let mut since = begin;
    for m in marks {
        push(since, m.ts, whole.saturating_sub(m.left).max(0) as u32);
        since = (m.index, m.ts);
    }
    push(since, end, total);
}

/// Bytes that an application gave to a TCP socket in one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Send {
    /// The socket.
    pub connection: ConnectionId,
    /// Begin of the system call; where that was not seen, of its last round, and then the link is weak.
    pub at_ns: i64,
    /// The last of its bytes were taken by then.
    pub by_ns: i64,
    /// Sending thread.
    pub pid: i32,
    /// How sure socket and begin are.
    pub link: Confidence,
}

/// The sends of a socket from what was taken into its write queue.
pub(super) fn sends<'a>(
    connection: ConnectionId,
    appends: &'a [Append],
    calls: &'a [Call],
) -> impl Iterator<Item = Send> + 'a {
    let of_call = appends.chunk_by(|a, b| a.call == b.call);
    of_call
        .filter_map(|of| of.first().zip(of.last()))
        .filter_map(move |(a, last)| {
            let call = calls.get(a.call as usize)?;
            let begun = call.enter.filter(|_| !call.cut);
            Some(Send {
                connection,
                at_ns: begun.unwrap_or(a.from),
                by_ns: last.by,
                pid: call.pid,
                link: if begun.is_some() { call.link } else { Confidence::Weak },
            })
        })
}
