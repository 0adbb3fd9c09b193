//! What a server's thread waited for in its turnarounds: another server's answer, room in the send buffer of another connection, or something to
//! read on another one.
//!
//! Needs the views `responses`, `turnarounds`, `tx`. A thread that sent a request on another connection, and that itself read the answer,
//! waited for that answer from the one to the other; where threads hand requests on, by the times of their process (`handed`). What the threads behind that answer
//! waited for is asked likewise, from server to server.
//! A thread whose send call slept for room (stage `sndbuf`) waited for that connection's peer.

use rustc_hash::{FxHashMap, FxHashSet};

use super::blocked::{Silent, silent};
use super::by_udp::{ByUdp, asked};
use super::handed::{Fits, Handed};
use super::holder::Holders;
use super::others::{Behind, Others};
use super::parts::{Part, doing, of_one_name};
use super::released::{Released, released};
use super::sockets::{Role, Socket};
use super::spans::Spans;
use super::waker::Wakers;
use super::work::FOR_ANY;
use crate::analyses::tcp::label;
use crate::analyses::verdict::counted;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::application::tables::{ResponseRow, TurnaroundRow};
use crate::reconstruct::transmit::Stage;
use crate::reconstruct::transmit::tables::{TxKind, TxStart};

/// Share of the time that a wait must have to be named.
const MOSTLY: f64 = 0.5;
/// So much more of the time must be known by the process' times to be told in place of a thread's.
const SURER: f64 = 0.1;
/// Part of the time of answers that those looked at must have, the longest first.
const LONGEST: f64 = 0.9;
/// Servers behind the first whose waits are followed.
const HOPS: usize = 8;

/// What threads waited for.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Waited {
    /// `answer`: for the answer from `of`; `datagrams`: likewise, by UDP; `no_datagrams`: likewise, and none came; `room`: in the send buffer of `of`; `others`: unread while its thread was at work on `of`;
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
    /// Of `answer` and `datagrams`: other threads of the process had it, inferred from when it asked and when that was answered.
    pub handed: bool,
    /// Of `read`: on whose silence.
    pub silent: Option<Silent>,
    /// Of `answer`: what the server's threads waited for in turn, in most of that time.
    pub next: Option<Box<Waited>>,
    /// Of `answer` without `next`: whose request ended what they waited for.
    pub released: Option<Released>,
}

impl Waited {
    fn new(kind: &'static str, of: String, ns: i64, share: f64) -> Waited {
        Waited {
            kind,
            of,
            ns,
            share,
            there: None,
            window: false,
            handed: false,
            silent: None,
            next: None,
            released: None,
        }
    }
}

/// By thread, what it waits for.
pub(super) struct Waits<'f> {
    facts: &'f Facts,
    /// By thread and server: requests under way.
    asked: FxHashMap<i32, Vec<(String, Spans)>>,
    /// The same requests: thread, server, answer.
    answers: Vec<(i32, String, &'f ResponseRow)>,
    /// Both, by process.
    handed: Handed<'f>,
    /// The same of questions by UDP.
    by_udp: ByUdp,
    /// By thread and connection: its send call slept.
    room: FxHashMap<i32, Vec<(ConnectionId, Spans)>>,
    /// What its threads were at work on.
    pub(super) others: Others,
    /// What held those who woke them.
    wakers: Wakers<'f>,
    holders: Holders<'f>,
    /// By socket and send.
    turnarounds: FxHashMap<(ConnectionId, i64), &'f TurnaroundRow>,
    streams: FxHashSet<ConnectionId>,
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

/// From when a thread waited for it. An event loop that sends on more requests before the first is answered waits from the first on; what it did between
/// the parts of one request is its own.
fn asked_from(r: &ResponseRow) -> i64 {
    let loops = FOR_ANY.iter().any(|c| c.as_bytes() == r.paused_in.bytes());
    let before = if loops { r.sending_ns } else { 0 };
    r.send_ns.saturating_sub(before)
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
        let (mut answers, mut exchanges) = (vec![], vec![]);
        for s in sockets.iter().filter(|s| s.in_turns && s.role == Role::Client) {
            let to = server(facts, s.connection);
            for (ns, r) in s.judged_responses() {
                let of = spans.entry((r.pid, to.clone())).or_default();
                let ready_ns = r.send_ns.saturating_add(ns);
                of.push((asked_from(r), ready_ns));
                let whole_ns = r.complete_ns.unwrap_or(ready_ns).max(ready_ns);
                exchanges.push((r.pid, to.clone(), (asked_from(r), whole_ns), r));
                answers.push((r.pid, to.clone(), r));
            }
        }
        let by_udp = asked(facts);
        let servers = sockets.iter().filter(|s| s.in_turns && s.role == Role::Server);
        let served = servers.flat_map(Socket::judged_turnarounds);
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
            by_udp: ByUdp::of(&by_udp),
            handed: Handed::of(facts, exchanges.into_iter(), by_udp, served),
            asked: by_thread(spans),
            answers,
            room,
            others: Others::of(facts, sockets),
            wakers: Wakers::of(facts),
            holders: Holders::of(facts),
            turnarounds: turnarounds.collect(),
            streams: sockets.iter().filter(|s| s.stream).map(|s| s.connection).collect(),
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

    /// The server that was asked for an answer, its turnaround there, and the time of that.
    pub(super) fn asked_by(&self, t: &TurnaroundRow) -> Option<(&str, &'f TurnaroundRow, i64)> {
        let (to, r) = self.handed.whom(self.facts, t)?;
        Some((to, self.turnaround(r)?, r.response_ns()?))
    }

    /// Whether its process asked anybody for it, as far as times tell.
    pub(super) fn asked(&self, t: &TurnaroundRow) -> bool {
        self.handed.whom(self.facts, t).is_some()
    }

    /// What the threads of these waited for most, if that was most of their time.
    pub(super) fn waited(&self, rows: &[&TurnaroundRow]) -> Option<Waited> {
        self.waited_for(rows, &[])
    }

    /// Whose request ended what these waited for, and what its client waited for meanwhile.
    pub(super) fn released(&self, rows: &[&TurnaroundRow]) -> Option<Released> {
        let by = released(self.facts, rows, &|pid, idle| self.asked_within(pid, idle));
        by.filter(|r| !self.streams.contains(&r.connection))
    }

    /// The server for whose answers a thread waited in most of these times.
    fn asked_within(&self, pid: i32, times: &[(i64, i64)]) -> Option<(String, f64)> {
        let whole = times
            .iter()
            .fold(0i64, |sum, t| sum.saturating_add(t.1.saturating_sub(t.0)));
        let of = self.asked.get(&pid).into_iter().flatten().map(|(to, spans)| {
            let within = times.iter().map(|t| spans.within(t.0, t.1));
            (to, within.fold(0, i64::saturating_add))
        });
        let (to, ns) = of.max_by_key(|(to, ns)| (*ns, std::cmp::Reverse(*to)))?;
        let share = ns as f64 / whole.max(1) as f64;
        (share >= MOSTLY).then(|| (to.clone(), share))
    }

    /// The same, behind these servers: none of them is asked again.
    fn waited_for(&self, rows: &[&TurnaroundRow], before: &[&str]) -> Option<Waited> {
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
            let of = self.facts.connections.get(c.0 as usize).map_or_else(String::new, label);
            return Some(Waited {
                window: most.is_some_and(|s| s.0 == Stage::Rwnd.name()),
                ..Waited::new("room", of, ns, share(ns))
            });
        }
        let answer = answers.into_iter().max_by_key(|(to, ns)| (*ns, std::cmp::Reverse(*to)));
        if let Some((to, ns)) = answer.filter(|(_, ns)| share(*ns) >= MOSTLY) {
            // Threads that take turns at all requests of a process hold what others asked, too.
            let surer = Some(share(ns) + SURER).filter(|least| *least < 1.0);
            if let Some(w) = surer.and_then(|least| self.by_others(rows, before, least)) {
                return Some(w);
            }
            // An event loop has requests of others under way all the time: what was asked and answered within these is what they waited for.
            if let Some(w) = self.by_others(rows, before, MOSTLY).filter(|w| w.of != to) {
                return Some(w);
            }
            let waited = Waited::new("answer", to.to_owned(), ns, share(ns));
            return Some(self.behind(waited, self.there(to, rows).as_deref(), before));
        }
        if let Some(w) = self
            .by_udp(rows, share)
            .or_else(|| self.by_others(rows, before, MOSTLY))
        {
            return Some(w);
        }
        let others = self.others.during(rows).filter(|o| share(o.ns) >= MOSTLY);
        let Some(Behind { peer, work, ns }) = others else {
            let (ns, silent) = silent(self.facts, rows, (whole as f64 * MOSTLY) as i64)?;
            return Some(Waited {
                silent: Some(silent.clone()),
                ..Waited::new("read", silent.first, ns, share(ns))
            });
        };
        let of = format!("{} of {peer}", counted(work.len() as u64, "request", "requests"));
        Some(Waited::new("others", of, ns, share(ns)))
    }

    /// With what they waited for there, whose turnarounds these are.
    fn behind(&self, mut waited: Waited, theirs: Option<&[&TurnaroundRow]>, before: &[&str]) -> Waited {
        let seen = [before, &[waited.of.as_str()]].concat();
        let on = theirs.filter(|_| seen.len() <= HOPS);
        let next = on
            .and_then(|t| self.waited_for(t, &seen))
            .filter(|n| !seen.contains(&n.of.as_str()));
        let last = theirs.filter(|_| next.is_none()).map(longest);
        waited.released = last.and_then(|t| self.released(&t));
        waited.there = theirs.and_then(|t| self.did(t));
        waited.next = next.map(Box::new);
        waited
    }

    /// Answers that other threads of the process had.
    fn by_others(&self, rows: &[&TurnaroundRow], before: &[&str], mostly: f64) -> Option<Waited> {
        let fits = self.handed.fits(self.facts, rows, mostly)?;
        let Fits { server, ns, share, .. } = fits;
        let by_udp = fits.by_udp_ns.saturating_mul(2) > ns;
        let kind = match by_udp {
            true => by_udp_kind(fits.by_udp_ns, fits.in_vain_ns),
            false => "answer",
        };
        let waited = Waited {
            handed: true,
            ..Waited::new(kind, server, ns, share)
        };
        if by_udp {
            return Some(waited);
        }
        let theirs = self.theirs(fits.responses.iter().copied());
        Some(self.behind(waited, theirs.as_deref(), before))
    }

    /// Answers by UDP that were most of these, come or not.
    fn by_udp(&self, rows: &[&TurnaroundRow], share: impl Fn(i64) -> f64) -> Option<Waited> {
        let times: Vec<(i32, i64, i64)> = (rows.iter()).map(|r| (r.sender_pid, own_from(r), r.send_ns)).collect();
        let (to, ns, in_vain) = self.by_udp.most(&times)?;
        let kind = by_udp_kind(ns, in_vain);
        (share(ns) >= MOSTLY).then(|| Waited::new(kind, to.to_owned(), ns, share(ns)))
    }

    /// The turnarounds of the server that these waited for.
    fn there(&self, to: &str, rows: &[&TurnaroundRow]) -> Option<Vec<&'f TurnaroundRow>> {
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
        self.theirs(of.map(|(.., r)| *r))
    }

    /// The turnarounds of their server, where they are most of these.
    fn theirs(&self, of: impl Iterator<Item = &'f ResponseRow>) -> Option<Vec<&'f TurnaroundRow>> {
        let (mut whole, mut theirs) = (0i64, vec![]);
        for r in of {
            whole = whole.saturating_add(r.response_ns().unwrap_or(0));
            theirs.extend(self.turnaround(r));
        }
        // Else the answer was on its way.
        let had = theirs.iter().fold(0i64, |sum, t| sum.saturating_add(t.total_ns()));
        ((had as f64) >= MOSTLY * whole as f64).then_some(theirs)
    }

    /// Who had most of these, and what it did most.
    fn did(&self, rows: &[&TurnaroundRow]) -> Option<(String, Part)> {
        let (parts, (who, share)) = self.doing(rows);
        let most = parts.into_iter().next()?;
        let who = match share >= MOSTLY {
            true => who,
            false => of_one_name(rows).map_or_else(String::new, |name| format!("threads named {name}")),
        };
        Some((who, most))
    }
}

/// Whether most of what was waited for came.
fn by_udp_kind(ns: i64, in_vain: i64) -> &'static str {
    match in_vain > ns / 2 {
        true => "no_datagrams",
        false => "datagrams",
    }
}

/// Those that have most of the time of these, without the many short ones beside them.
fn longest<'f>(rows: &[&'f TurnaroundRow]) -> Vec<&'f TurnaroundRow> {
    let mut rows = rows.to_vec();
    rows.sort_by_key(|r| (std::cmp::Reverse(r.total_ns()), r.connection, r.send_ns));
    let whole = rows.iter().fold(0i64, |sum, r| sum.saturating_add(r.total_ns()));
    let mut left = (whole as f64 * LONGEST) as i64;
    rows.retain(|r| {
        let keep = left > 0;
        left = left.saturating_sub(r.total_ns());
        keep
    });
    rows
}
