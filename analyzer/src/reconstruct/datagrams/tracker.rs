//! The machine.

use std::collections::VecDeque;
use std::net::SocketAddr;

use rustc_hash::FxHashMap;

use super::calls::{Call, SendCall, Use};
use super::snapshot::Line;
use super::sockets::SocketRow;
use super::tables::{TurnEnd, TurnRow};
use super::untold::{Taken, Untold};
use super::whither::Whithers;
use crate::ingest::{Event, GapRow};
use crate::name::Name;
use crate::reconstruct::dispatch::Tracker;
use crate::reconstruct::thread::Threads;

/// A message of an error, no datagram.
pub(super) const MSG_ERRQUEUE: i32 = 0x2000;
const EAGAIN: i64 = 11;
/// Turns that a thread waits for at a time.
const WAITING: usize = 64;

/// What the events tell.
#[derive(Debug, Default)]
pub struct Found {
    pub(super) turns: Vec<TurnRow>,
    pub(super) sockets: Vec<SocketRow>,
    pub(super) sends: Vec<SendCall>,
    pub(super) lines: Vec<Line>,
    pub(super) processes: FxHashMap<i32, (i32, Name)>,
    /// Addresses to which [`SendCall::to`] points.
    pub(super) to: Vec<SocketAddr>,
    /// Where no event names a UDP socket: packets that reads took.
    pub(super) taken: Vec<Taken>,
    /// No event names a UDP socket: they are told by calls and the packets in them.
    pub(super) by_calls: bool,
    /// What the capture lacks.
    pub missing: Vec<String>,
}

/// A turn, and what its thread did since.
pub(super) struct Turn {
    pub(super) row: TurnRow,
    /// ns asleep in receive calls on it, in polls of one descriptor, of several.
    pub(super) own_ns: i64,
    pub(super) one_ns: i64,
    pub(super) several_ns: i64,
    /// The last of these calls ended because its time was over.
    timed_out: bool,
    /// Whether nothing else was slept in since the send, as of when.
    direct: bool,
    /// Its question was asked on a new socket after the wait.
    pub(super) elsewhere: bool,
    pub(super) since: i64,
    pub(super) open: bool,
}

impl Turn {
    pub(super) fn waited(&self) -> bool {
        self.own_ns > 0 || self.one_ns > 0 || self.several_ns > 0
    }
}

pub(super) struct Machine<'f> {
    pub(super) threads: &'f Threads,
    pub(super) processes: FxHashMap<i32, (i32, Name)>,
    pub(super) calls: FxHashMap<i32, Call>,
    /// Sockets by process and descriptor.
    pub(super) fds: FxHashMap<(i32, i32), u64>,
    pub(super) connected: FxHashMap<(i32, i32), i64>,
    pub(super) live: FxHashMap<u64, u32>,
    pub(super) sockets: Vec<SocketRow>,
    /// Arrivals not read yet, by socket.
    pub(super) queues: FxHashMap<u32, VecDeque<i64>>,
    pub(super) turns: Vec<Turn>,
    /// The last turn of each socket, and of each thread.
    pub(super) last: FxHashMap<u32, usize>,
    pub(super) last_of: FxHashMap<i32, usize>,
    /// Turns that a thread may be waiting for.
    pub(super) waiting: FxHashMap<i32, Vec<usize>>,
    /// Sockets that were read after a poll of one descriptor.
    pub(super) polled: FxHashMap<u32, ()>,
    pub(super) sends: Vec<SendCall>,
    pub(super) now: i64,
    pub(super) whithers: Whithers,
    /// Where no event names a UDP socket.
    pub(super) untold: Option<Untold<'f>>,
}

impl Tracker for Machine<'_> {
    /// Sends, reads and closes may be missing: what is open is not known to go on, and whose a descriptor is neither.
    fn gap(&mut self, gap: &GapRow) {
        let at = gap.start_ns.unwrap_or(self.now).min(self.now);
        for turn in self.last.values() {
            if let Some(t) = self.turns.get_mut(*turn).filter(|t| t.open) {
                (t.open, t.row.end) = (false, TurnEnd::Lost);
                t.row.end_ns = at.max(t.row.sent_ns);
            }
        }
        self.calls.clear();
        self.fds.clear();
        self.connected.clear();
        self.live.clear();
        self.queues.clear();
        self.last.clear();
        self.last_of.clear();
        self.waiting.clear();
        self.whithers.forget();
        if let Some(u) = &mut self.untold {
            u.forget();
        }
    }
}

impl Machine<'_> {
    pub(super) fn key(&self, pid: i32, fd: i32) -> (i32, i32) {
        (self.processes.get(&pid).map_or(pid, |p| p.0), fd)
    }
    /// Of a thread's call under way.
    fn descriptor(&self, pid: i32) -> Option<(i32, i32)> {
        Some(self.key(pid, self.calls.get(&pid)?.fd?))
    }
    fn asleep(&self, pid: i32, from: i64, to: i64) -> i64 {
        match from < to {
            true => self.threads.split(pid, from, to).asleep_ns,
            false => 0,
        }
    }
    pub(super) fn enter(&mut self, e: &Event<'_>, call: Call) {
        self.now = e.ts;
        if let (Use::Close, Some(fd)) = (call.what, call.fd) {
            self.closes(e, fd);
        }
        self.calls.insert(e.pid, call);
        self.whithers.begins(e.pid);
        if let Some(u) = &mut self.untold {
            u.begins(e.pid);
        }
    }
    pub(super) fn exit(&mut self, e: &Event<'_>, what: Use, ret: i64) {
        self.now = e.ts;
        self.told_by_call(e, what, ret);
        let Some(call) = self.calls.remove(&e.pid) else { return };
        match (call.what, call.fd) {
            (Use::Connect, Some(fd)) if ret >= 0 => {
                let key = self.key(e.pid, fd);
                self.connected.insert(key, e.ts);
                self.whithers.connects(e.pid, key);
            }
            (Use::PollOne | Use::PollSeveral | Use::Receive, _) => self.waited(e, call, ret),
            _ => {}
        }
    }
    /// A call that can wait is over.
    fn waited(&mut self, e: &Event<'_>, call: Call, ret: i64) {
        let Some(mut of) = self.waiting.remove(&e.pid) else {
            return;
        };
        let asleep = self.asleep(e.pid, call.begin, e.ts);
        let on = call.fd.and_then(|fd| self.fds.get(&self.key(e.pid, fd))).copied();
        of.retain(|at| self.turns.get(*at).is_some_and(|t| t.open));
        let alone = of.len() == 1;
        let threads = self.threads;
        of.retain(|at| {
            let Some(t) = self.turns.get_mut(*at) else { return false };
            let between = t.since < call.begin && threads.split(e.pid, t.since, call.begin).asleep_ns > 0;
            let sk = self.sockets.get(t.row.socket as usize).map(|s| s.sk);
            let elsewhere = call.what == Use::Receive && on != sk && asleep > 0;
            if between || elsewhere {
                t.direct = false;
                return false;
            }
            t.since = e.ts;
            if asleep > 0 {
                match call.what {
                    Use::Receive => t.own_ns = t.own_ns.saturating_add(asleep),
                    Use::PollOne if alone => t.one_ns = t.one_ns.saturating_add(asleep),
                    _ => t.several_ns = t.several_ns.saturating_add(asleep),
                }
                t.timed_out = if call.what == Use::Receive {
                    ret == -EAGAIN
                } else {
                    ret == 0
                };
            }
            true
        });
        if !of.is_empty() {
            self.waiting.insert(e.pid, of);
        }
    }
    pub(super) fn socket(&mut self, e: &Event<'_>, sk: u64) -> u32 {
        let new = self.sockets.len();
        let n = *self.live.entry(sk).or_insert(u32::try_from(new).unwrap_or(u32::MAX));
        if n as usize == new {
            self.sockets.push(SocketRow::begin(sk, e.ts));
        }
        if let Some(s) = self.sockets.get_mut(n as usize) {
            s.last_ns = e.ts;
        }
        n
    }
    /// The socket of a call by a thread, and the descriptor by which it used it.
    pub(super) fn used(&mut self, e: &Event<'_>, sk: u64, what: Use) -> (u32, i64) {
        self.now = e.ts;
        let call = self.calls.get(&e.pid).copied().filter(|c| c.what == what);
        let begin = call.map_or(e.ts, |c| c.begin);
        let n = self.socket(e, sk);
        let key = call.and_then(|c| c.fd).map(|fd| self.key(e.pid, fd));
        if let Some(key) = key {
            self.fds.insert(key, sk);
        }
        if let Some(s) = self.sockets.get_mut(n as usize) {
            s.first_ns = s.first_ns.min(begin);
            if s.pid == 0 {
                s.pid = e.pid;
            }
            s.connected |= key.is_some_and(|k| self.connected.contains_key(&k));
        }
        (n, begin)
    }
    pub(super) fn end(&mut self, at: usize, end: TurnEnd, ts: i64) {
        if let Some(t) = self.turns.get_mut(at).filter(|t| t.open) {
            (t.open, t.row.end, t.row.end_ns) = (false, end, ts);
        }
    }
    fn closes(&mut self, e: &Event<'_>, fd: i32) {
        let key = self.key(e.pid, fd);
        self.connected.remove(&key);
        self.whithers.closes(&key);
        let Some(n) = self.fds.remove(&key).and_then(|sk| self.live.remove(&sk)) else {
            return;
        };
        if let Some(s) = self.sockets.get_mut(n as usize) {
            (s.closed, s.last_ns) = (true, e.ts);
        }
        self.queues.remove(&n);
        let Some(at) = self.last.remove(&n) else { return };
        let gave_up = self.turns.get(at).is_some_and(|t| {
            let at_once = t.direct && self.asleep(e.pid, t.since, e.ts) == 0;
            t.row.pid == e.pid && t.waited() && t.timed_out && at_once
        });
        if let Some(t) = self.turns.get_mut(at).filter(|t| t.open) {
            t.row.gave_up = gave_up;
        }
        self.end(at, TurnEnd::Closed, e.ts);
    }
    pub(super) fn sent(&mut self, e: &Event<'_>, sk: u64, ret: i32) {
        let (n, begin) = self.used(e, sk, Use::Send);
        let before = self.last.get(&n).copied();
        let to = self.whithers.sent(e.pid, self.descriptor(e.pid));
        let Ok(bytes) = u32::try_from(ret) else {
            if let Some(s) = self.sockets.get_mut(n as usize) {
                s.errors += 1;
            }
            self.refused(e, n, ret);
            return;
        };
        if let Some(s) = self.sockets.get_mut(n as usize) {
            (s.sent, s.sent_bytes) = (s.sent + 1, s.sent_bytes + u64::from(bytes));
        }
        let at = match before.filter(|at| self.grows(*at, e.pid)) {
            Some(at) => at,
            None => {
                let end = match before.and_then(|at| self.turns.get(at)) {
                    Some(t) if t.row.pid != e.pid => TurnEnd::OtherThread,
                    _ => TurnEnd::AskedAgain,
                };
                if let Some(before) = before {
                    self.end(before, end, begin);
                }
                self.begins(e.pid, n, begin, bytes)
            }
        };
        if let Some(t) = self.turns.get_mut(at) {
            (t.row.sends, t.row.bytes) = (t.row.sends + 1, t.row.bytes + u64::from(bytes));
            (t.row.sent_ns, t.since) = (e.ts, e.ts);
        }
        self.sends.push(SendCall {
            pid: e.pid,
            begin,
            end: e.ts,
            turn: u32::try_from(at).unwrap_or(u32::MAX),
            bytes,
            to,
        });
        // The next datagram of the same `sendmmsg` begins here.
        if let Some(call) = self.calls.get_mut(&e.pid).filter(|c| c.what == Use::Send) {
            call.begin = e.ts;
        }
    }
    /// Another send of the same run.
    fn grows(&self, at: usize, pid: i32) -> bool {
        let same = |t: &Turn| t.open && t.row.pid == pid && !t.waited() && t.row.ready_ns.is_none();
        self.turns.get(at).is_some_and(same)
    }
    fn begins(&mut self, pid: i32, socket: u32, begin: i64, bytes: u32) -> usize {
        let at = self.turns.len();
        // Asked again before it slept again: on this socket, or the same on a new one.
        let new = !self.last.contains_key(&socket);
        if let Some(last) = self.last_of.insert(pid, at) {
            let at_once = self.turns.get(last).is_some_and(|t| {
                let unanswered = !matches!(t.row.end, TurnEnd::Answered | TurnEnd::Refused | TurnEnd::Lost);
                let waited = t.waited() && t.timed_out && t.direct;
                (t.open || unanswered) && waited && self.asleep(pid, t.since, begin) == 0
            });
            if let Some(t) = self.turns.get_mut(last).filter(|_| at_once) {
                let here = t.row.socket == socket;
                t.elsewhere = !here && new && t.row.sends == 1 && t.row.bytes == u64::from(bytes);
                t.row.gave_up |= t.elsewhere;
                if here || t.elsewhere {
                    t.row.again = u32::try_from(at).ok();
                }
            }
        }
        self.turns.push(Turn {
            row: TurnRow::begin(socket, pid, begin),
            own_ns: 0,
            one_ns: 0,
            several_ns: 0,
            timed_out: false,
            direct: true,
            elsewhere: false,
            since: begin,
            open: true,
        });
        self.last.insert(socket, at);
        let waiting = self.waiting.entry(pid).or_default();
        // One that sends on many sockets waits for none of the first any more.
        if waiting.len() >= WAITING {
            let first = waiting.remove(0);
            if let Some(t) = self.turns.get_mut(first) {
                t.direct = false;
            }
        }
        waiting.push(at);
        at
    }
}
