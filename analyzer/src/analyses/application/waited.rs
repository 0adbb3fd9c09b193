//! What a server's thread waited for in its turnarounds: another server's answer, room in the send buffer of another connection, or something to
//! read on another one.
//!
//! Needs the views `responses`, `turnarounds`, `tx`. A thread that sent a request on another connection, and that itself read the answer,
//! waited for that answer from the one to the other: by threads alone, so a worker that asked in another thread's name is not seen.
//! A thread whose send call slept for room (stage `sndbuf`) waited for that connection's peer.

use rustc_hash::FxHashMap;

use super::blocked::{Silent, silent};
use super::holder::Holders;
use super::others::Others;
use super::parts::{Part, Parts};
use super::sockets::{Role, Socket};
use super::task;
use super::waker::Wakers;
use crate::analyses::datagrams::{questions, whom};
use crate::analyses::tcp::label;
use crate::analyses::verdict::counted;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::application::tables::{ResponseRow, TurnaroundRow};
use crate::reconstruct::transmit::Stage;
use crate::reconstruct::transmit::tables::{TxKind, TxStart};

/// Share of the time that a wait must have to be named.
const MOSTLY: f64 = 0.5;

/// What threads waited for.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Waited {
    /// `answer`: for the answer of `of`; `datagrams`: likewise, by UDP; `room`: in the send buffer of `of`; `others`: unread while its thread was at work on `of`;
    /// `read`: for something to read on `of`.
    pub kind: &'static str,
    /// `address:port` of a server (of `datagrams` its task where that is not known); of `room` and `read` the connection, `saddr:sport > daddr:dport`; of `others` `3 requests of` an address.
    pub of: String,
    /// ns of it.
    pub ns: i64,
    /// Share of the turnarounds' time.
    pub share: f64,
    /// Of `answer`: `task/thread` that answered most of that, and what it did most; `None`: not in the recording, or most of the time the
    /// request or its answer was on the way.
    pub there: Option<(String, Part)>,
    /// Of `room`: the peer's receive window held that connection more than all else.
    pub window: bool,
    /// Of `read`: on whose silence.
    pub silent: Option<Silent>,
}

/// Times without gaps between them that are counted twice, ascending, with the sum of those before each.
#[derive(Debug, Default)]
pub(crate) struct Spans {
    of: Vec<(i64, i64, i64)>,
}

impl Spans {
    pub(crate) fn of(mut all: Vec<(i64, i64)>) -> Spans {
        all.sort_unstable();
        let mut of: Vec<(i64, i64, i64)> = vec![];
        for (from, to) in all.into_iter().filter(|s| s.1 > s.0) {
            match of.last_mut() {
                Some(last) if last.1 >= from => last.1 = last.1.max(to),
                last => {
                    let before = last.map_or(0, |l| l.2.saturating_add(l.1.saturating_sub(l.0)));
                    of.push((from, to, before));
                }
            }
        }
        Spans { of }
    }
    /// All of them, ascending.
    pub(super) fn each(&self) -> impl Iterator<Item = (i64, i64)> + '_ {
        self.of.iter().map(|s| (s.0, s.1))
    }
    /// ns of it up to a time.
    fn until(&self, at: i64) -> i64 {
        let last = self.of.partition_point(|s| s.0 < at).checked_sub(1);
        let last = last.and_then(|i| self.of.get(i));
        last.map_or(0, |s| s.2.saturating_add(s.1.min(at).saturating_sub(s.0)))
    }
    /// ns of it in `[from, to)`.
    pub(crate) fn within(&self, from: i64, to: i64) -> i64 {
        self.until(to.max(from)).saturating_sub(self.until(from))
    }
}

/// By thread, what it waits for.
pub(super) struct Waits<'f> {
    facts: &'f Facts,
    /// By thread and server: requests under way.
    asked: FxHashMap<i32, Vec<(String, Spans)>>,
    /// The same requests: thread, server, answer.
    answers: Vec<(i32, String, &'f ResponseRow)>,
    /// The same of questions by UDP.
    by_udp: FxHashMap<i32, Vec<(String, Spans)>>,
    /// By thread and connection: its send call slept.
    room: FxHashMap<i32, Vec<(ConnectionId, Spans)>>,
    /// What its threads were at work on.
    others: Others,
    /// What held those who woke them.
    wakers: Wakers<'f>,
    holders: Holders<'f>,
    /// By socket and send.
    turnarounds: FxHashMap<(ConnectionId, i64), &'f TurnaroundRow>,
}

/// `address:port` that a socket speaks to.
pub(crate) fn server(facts: &Facts, c: ConnectionId) -> String {
    let label = facts.connections.get(c.0 as usize).map_or_else(String::new, label);
    label.rsplit(" > ").next().unwrap_or_default().to_owned()
}

/// From when a turnaround is its sender's time: until the read it is the reader's.
fn own_from(r: &TurnaroundRow) -> i64 {
    if r.pid == r.sender_pid { r.start_ns() } else { r.read_ns }
}

/// By thread what it asked where, in order of names.
pub(crate) fn by_thread(spans: FxHashMap<(i32, String), Vec<(i64, i64)>>) -> FxHashMap<i32, Vec<(String, Spans)>> {
    let mut by: FxHashMap<i32, Vec<(String, Spans)>> = FxHashMap::default();
    for ((pid, to), of) in spans {
        by.entry(pid).or_default().push((to, Spans::of(of)));
    }
    for of in by.values_mut() {
        of.sort_by(|a, b| a.0.cmp(&b.0));
    }
    by
}

impl<'f> Waits<'f> {
    pub(super) fn of(facts: &'f Facts, sockets: &[Socket<'f>]) -> Waits<'f> {
        let mut spans: FxHashMap<(i32, String), Vec<(i64, i64)>> = FxHashMap::default();
        let mut answers = vec![];
        for s in sockets.iter().filter(|s| s.in_turns && s.role == Role::Client) {
            let to = server(facts, s.connection);
            for (ns, r) in s.judged_responses() {
                let of = spans.entry((r.pid, to.clone())).or_default();
                of.push((r.send_ns, r.send_ns.saturating_add(ns)));
                answers.push((r.pid, to.clone(), r));
            }
        }
        let asked = by_thread(spans);
        let mut spans: FxHashMap<(i32, String), Vec<(i64, i64)>> = FxHashMap::default();
        for q in questions(facts) {
            let of = spans.entry((q.turn.pid, whom(facts, &q))).or_default();
            of.push((q.turn.start_ns, q.ready_ns));
        }
        let by_udp = by_thread(spans);
        let mut slept: FxHashMap<(i32, ConnectionId), Vec<(i64, i64)>> = FxHashMap::default();
        let sent = facts.tx.iter().filter(|r| r.kind == TxKind::Tcp);
        for r in sent.filter(|r| r.start == TxStart::Sendmsg && r.pid > 0) {
            if let (Some(c), Some(ns)) = (r.connection, r.stage(Stage::Sndbuf).filter(|ns| *ns > 0)) {
                let of = slept.entry((r.pid, c)).or_default();
                of.push((r.start_ns, r.start_ns.saturating_add(ns)));
            }
        }
        let mut room: FxHashMap<i32, Vec<(ConnectionId, Spans)>> = FxHashMap::default();
        for ((pid, c), of) in slept {
            room.entry(pid).or_default().push((c, Spans::of(of)));
        }
        for of in room.values_mut() {
            of.sort_by_key(|o| o.0);
        }
        let turnarounds = facts.turnarounds.iter().map(|t| ((t.connection, t.send_ns), t));
        Waits {
            facts,
            asked,
            answers,
            by_udp,
            room,
            others: Others::of(facts, sockets),
            wakers: Wakers::of(facts),
            holders: Holders::of(facts),
            turnarounds: turnarounds.collect(),
        }
    }

    /// As [`doing`], with what held who woke them.
    pub(super) fn doing(&self, rows: &[&TurnaroundRow]) -> (Vec<Part>, (String, f64)) {
        let (mut parts, who) = doing(rows);
        self.wakers.name(&mut parts, rows);
        self.holders.name(&mut parts, rows);
        (parts, who)
    }

    /// The peer's turnaround of a response.
    pub(super) fn turnaround(&self, r: &ResponseRow) -> Option<&'f TurnaroundRow> {
        let peer = r.peer?;
        let sent = r.ready_ns?.saturating_sub(peer.back_ns);
        self.turnarounds.get(&(peer.connection, sent)).copied()
    }

    /// What the threads of these waited for most, if that was most of their time.
    pub(super) fn waited(&self, rows: &[&TurnaroundRow]) -> Option<Waited> {
        let whole = rows.iter().fold(0i64, |sum, r| sum.saturating_add(r.total_ns()));
        let mut answers: FxHashMap<&str, i64> = FxHashMap::default();
        let mut room: FxHashMap<ConnectionId, i64> = FxHashMap::default();
        for r in rows {
            let from = own_from(r);
            for (to, spans) in self.asked.get(&r.sender_pid).into_iter().flatten() {
                let sum = answers.entry(to).or_default();
                *sum = sum.saturating_add(spans.within(from, r.send_ns));
            }
            for (c, spans) in self.room.get(&r.sender_pid).into_iter().flatten() {
                let sum = room.entry(*c).or_default();
                *sum = sum.saturating_add(spans.within(from, r.send_ns));
            }
        }
        let share = |ns: i64| ns as f64 / whole.max(1) as f64;
        let room = room.into_iter().max_by_key(|(c, ns)| (*ns, std::cmp::Reverse(*c)));
        if let Some((c, ns)) = room.filter(|(_, ns)| share(*ns) >= MOSTLY) {
            let spent = self.facts.spent.get(&c).map(|s| s.shares());
            let most = spent.as_ref().and_then(|s| s.first());
            return Some(Waited {
                kind: "room",
                of: self.facts.connections.get(c.0 as usize).map_or_else(String::new, label),
                ns,
                share: share(ns),
                there: None,
                window: most.is_some_and(|s| s.0 == Stage::Rwnd.name()),
                silent: None,
            });
        }
        let answer = answers.into_iter().max_by_key(|(to, ns)| (*ns, std::cmp::Reverse(*to)));
        if let Some((to, ns)) = answer.filter(|(_, ns)| share(*ns) >= MOSTLY) {
            return Some(Waited {
                kind: "answer",
                of: to.to_owned(),
                ns,
                share: share(ns),
                there: self.there(to, rows),
                window: false,
                silent: None,
            });
        }
        if let Some(w) = self.by_udp(rows, share) {
            return Some(w);
        }
        let others = self.others.during(rows).filter(|o| share(o.2) >= MOSTLY);
        let Some((peer, requests, ns)) = others else {
            let (ns, silent) = silent(self.facts, rows, (whole as f64 * MOSTLY) as i64)?;
            return Some(Waited {
                kind: "read",
                of: silent.first.clone(),
                ns,
                share: share(ns),
                there: None,
                window: false,
                silent: Some(silent),
            });
        };
        Some(Waited {
            kind: "others",
            of: format!("{} of {peer}", counted(requests, "request", "requests")),
            ns,
            share: share(ns),
            there: None,
            window: false,
            silent: None,
        })
    }

    /// Answers by UDP that were most of these.
    fn by_udp(&self, rows: &[&TurnaroundRow], share: impl Fn(i64) -> f64) -> Option<Waited> {
        let mut answers: FxHashMap<&str, i64> = FxHashMap::default();
        for r in rows {
            for (to, spans) in self.by_udp.get(&r.sender_pid).into_iter().flatten() {
                let sum = answers.entry(to).or_default();
                *sum = sum.saturating_add(spans.within(own_from(r), r.send_ns));
            }
        }
        let (to, ns) = answers
            .into_iter()
            .max_by_key(|(to, ns)| (*ns, std::cmp::Reverse(*to)))?;
        (share(ns) >= MOSTLY).then(|| Waited {
            kind: "datagrams",
            of: to.to_owned(),
            ns,
            share: share(ns),
            there: None,
            window: false,
            silent: None,
        })
    }

    /// What the server that these waited for did meanwhile.
    fn there(&self, to: &str, rows: &[&TurnaroundRow]) -> Option<(String, Part)> {
        let mut by_thread: FxHashMap<i32, Vec<(i64, i64)>> = FxHashMap::default();
        for r in rows {
            let of = by_thread.entry(r.sender_pid).or_default();
            of.push((r.start_ns(), r.send_ns));
        }
        let by_thread: FxHashMap<i32, Spans> = by_thread.into_iter().map(|(pid, of)| (pid, Spans::of(of))).collect();
        let inside = |pid: i32, r: &ResponseRow| {
            let spans = by_thread.get(&pid);
            spans.is_some_and(|s| s.within(r.send_ns, r.ready_ns.unwrap_or(r.read_ns)) > 0)
        };
        let of = self
            .answers
            .iter()
            .filter(|(pid, server, r)| server == to && inside(*pid, r));
        let (mut whole, mut theirs) = (0i64, vec![]);
        for (.., r) in of {
            whole = whole.saturating_add(r.response_ns().unwrap_or(0));
            theirs.extend(self.turnaround(r));
        }
        // Else the answer was on its way.
        let had = theirs.iter().fold(0i64, |sum, t| sum.saturating_add(t.total_ns()));
        if (had as f64) < MOSTLY * whole as f64 {
            return None;
        }
        let (parts, (who, share)) = doing(&theirs);
        let most = parts.into_iter().next()?;
        let who = if share >= MOSTLY { who } else { String::new() };
        Some((who, most))
    }
}

/// Where these passed, largest first; task and thread with most of it, and its share.
pub(super) fn doing(rows: &[&TurnaroundRow]) -> (Vec<Part>, (String, f64)) {
    let (mut parts, mut tasks): (Parts, FxHashMap<_, i64>) = Default::default();
    let mut whole = 0i64;
    for r in rows {
        parts.add(r);
        whole = whole.saturating_add(r.total_ns());
        let of = tasks.entry((r.sender, r.sender_pid)).or_insert(0);
        *of = of.saturating_add(r.total_ns());
    }
    let most = tasks.into_iter().max_by_key(|(who, ns)| (*ns, std::cmp::Reverse(*who)));
    let who = most.map_or_else(Default::default, |((name, pid), ns)| {
        (task(&name, pid), ns as f64 / whole.max(1) as f64)
    });
    (parts.largest(), who)
}
