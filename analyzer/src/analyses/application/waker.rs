//! Who woke late answers had itself to wait: its process could not send on one TCP connection meanwhile.
//!
//! Needs `turnarounds` (`woken_by`), `processes`, `halts`, `connections`, `rx`. Of answers whose threads slept until threads of one process woke them (or one of theirs, which that process had woken: a full pipe): the
//! connection of that process that was held, by its peer's window, by losses or by a full send buffer, in two thirds or more of the time in
//! which they stood, and in a third or less of as long a time behind that and before it began to be held (buffers fill first). That its program waited for it is inferred from these
//! times; that it could not send is not. Where events were lost meanwhile, or a second connection was held as well, nothing is told. Must not take for one: a slow
//! client of the waker, which is held before and after as much, nor one short time alone. Where too little is known behind them, a connection whose hold ended with them, and
//! began in the recording and not long before, stands out as well. A reader at the other end that itself slept in a send is followed: to the one connection of its process that was held then, and on to who reads there.
//!
//! ```text
//! its process' connection   | ........ held by the peer's window ........ |
//! these answers                  readable | ...... asleep, until woken ... | answer
//! ```

use rustc_hash::FxHashMap;

use super::parts::Part;
use super::spans::Spans;
use super::task;
use super::waited::server;
use super::waker_read::WakerReads;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::application::tables::TurnaroundRow;
use crate::reconstruct::dispatch::Lost;
use crate::reconstruct::transmit::Stage;

/// Shortest answers that are looked at, ns.
const LEAST_NS: i64 = 50_000_000;
/// Part of a sleep's time that threads of one process must have ended.
const MOSTLY: f64 = 0.5;
/// Part of the answers' time in which the connection must be held, and at most so much of the time before and behind.
const HELD: f64 = 2.0 / 3.0;
const BESIDE: f64 = 1.0 / 3.0;
/// Least time before and behind them that is known, as part of theirs.
const KNOWN: f64 = 0.1;
/// Times apart from each other, or so long in all, ns.
const TIMES: usize = 2;
const ALONE_NS: i64 = 500_000_000;
/// Parts of answers that are looked at: those that are said.
const PARTS: usize = 2;
/// A hold that ends with the answers: so far from their end at most, as part of their time; and it began so long before them, at most.
const WITH: f64 = 0.05;
const BEFORE: f64 = 0.5;
/// Part of their time that such holds must have.
const NEARLY: f64 = 0.9;
/// Calls in which a reader waits for room to send.
const SENDS: [&str; 3] = ["sendto", "sendmsg", "sendmmsg"];
/// Calls in which writers of a full pipe sleep, and how many of these are followed.
const WRITES: [&str; 2] = ["write", "writev"];
const CHAIN: usize = 256;
/// Readers behind the first that are followed.
const HOPS: usize = 4;
/// Causes.
const CAUSES: [Stage; 3] = [Stage::Rwnd, Stage::Recovery, Stage::Sndbuf];

/// The connection on which a waker's process could not send.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct WakerHeld {
    /// `address:port` that it sends to.
    pub to: String,
    /// `rwnd`: by the peer's receive window; `recovery`: segments were lost and sent again; `sndbuf`: by a full send buffer.
    pub by: &'static str,
    /// Share of the answers' time, 0 to 1.
    pub share: f64,
    /// Of `rwnd`: `task/thread` that read what came late at the other end, and the call it slept in most of that time; `None`: it did not, or is
    /// not in the recording.
    pub reader: Option<(String, String)>,
    /// Where that one slept in a send: the connection of its process that was held then.
    pub next: Option<Box<WakerHeld>>,
}

/// Connections that were held, by process.
pub(super) struct Wakers<'f> {
    facts: &'f Facts,
    by_process: FxHashMap<i32, Vec<ConnectionId>>,
    reads: WakerReads<'f>,
    lost: Lost,
}

impl<'f> Wakers<'f> {
    pub(super) fn of(facts: &'f Facts) -> Wakers<'f> {
        let mut wakers = Wakers {
            facts,
            by_process: FxHashMap::default(),
            reads: WakerReads::of(facts),
            lost: Lost::of(&facts.gaps),
        };
        for c in facts.connections.iter().filter(|c| c.pid > 0) {
            if facts.halts.contains_key(&c.connection) {
                let of = wakers.by_process.entry(facts.process(c.pid)).or_default();
                of.push(c.connection);
            }
        }
        wakers
    }

    /// Names, in the parts of these that another thread ended, what held its process, or what it had just read.
    pub(super) fn name(&self, parts: &mut [Part], rows: &[&TurnaroundRow]) {
        for part in parts.iter_mut().take(PARTS) {
            // Who ran meanwhile did not wait.
            if part.woken_by.is_some() && part.ran_meanwhile.is_none() && !self.by_process.is_empty() {
                part.waker_held = self.held(part, rows);
            }
        }
        self.reads.name(parts, rows);
    }

    fn held(&self, part: &Part, rows: &[&TurnaroundRow]) -> Option<WakerHeld> {
        let call = part.call.as_deref()?;
        let woken = |r: &&TurnaroundRow| r.woken_by_pid != 0 && r.total_ns() >= LEAST_NS && r.asleep_in.text() == call;
        // Writers of a full pipe wake one another: the first of them its reader woke.
        let mut own: FxHashMap<i32, (i64, i32)> = FxHashMap::default();
        let writes = WRITES.contains(&call);
        for r in rows.iter().copied().filter(woken).filter(|_| writes) {
            let of = own.entry(r.pid).or_insert((r.woken_by_ns, r.woken_by_pid));
            *of = (*of).max((r.woken_by_ns, r.woken_by_pid));
        }
        let first = |pid: i32| {
            let next = |at: &i32| own.get(at).map(|of| of.1);
            let mut chain = std::iter::successors(Some(pid), next).take(CHAIN);
            chain.find(|at| !own.contains_key(at)).unwrap_or(pid)
        };
        let mut by: FxHashMap<i32, (i64, Vec<(i64, i64)>)> = FxHashMap::default();
        for r in rows.iter().copied().filter(woken) {
            let of = by.entry(self.facts.process(first(r.woken_by_pid))).or_default();
            of.0 = of.0.saturating_add(r.woken_by_ns);
            of.1.push((r.start_ns(), r.send_ns));
        }
        let (process, (ns, stood)) = by.into_iter().max_by_key(|(p, of)| (of.0, std::cmp::Reverse(*p)))?;
        if (ns as f64) < MOSTLY * part.ns as f64 {
            return None;
        }
        let whole = (self.facts.capture.start_ns?, self.facts.capture.end_ns?);
        let stood = Stood::of(Spans::of(stood), whole)?;
        let mut looked_at = stood.spans.iter().chain(&stood.after);
        let chance = stood.spans.len() < TIMES && stood.ns < ALONE_NS;
        if chance || looked_at.any(|(from, to)| self.lost.within(*from, *to)) {
            return None;
        }
        self.of_process(process, &stood, true, HOPS)
    }

    /// The one connection of a process that was held then; `alone`: nothing else tells that it waited for it, so it must stand out in time.
    fn of_process(&self, process: i32, stood: &Stood, alone: bool, hops: usize) -> Option<WakerHeld> {
        let each = self.by_process.get(&process)?.iter();
        let mut held: Vec<(f64, bool, ConnectionId, Stage)> = each.filter_map(|c| self.most(*c, stood)).collect();
        held.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.2.cmp(&b.2)));
        let (share, over, connection, by) = held.first().copied()?;
        let second = held.get(1).map_or(0.0, |h| h.0);
        if share < HELD || alone && !over || second > share / 2.0 {
            return None;
        }
        let reader = (by == Stage::Rwnd).then(|| self.reader(connection, stood)).flatten();
        let sends = reader.filter(|(_, call)| hops > 0 && SENDS.iter().any(|s| s.as_bytes() == call.bytes()));
        let next = sends.and_then(|((_, pid), _)| self.of_process(self.facts.process(pid), stood, false, hops - 1));
        Some(WakerHeld {
            to: server(self.facts, connection),
            by: by.name(),
            share,
            reader: reader.map(|((name, pid), call)| (task(&name, pid), call.text().into_owned())),
            next: next.map(Box::new),
        })
    }

    /// The cause that held a connection longest then: its share, and whether it did not before and behind.
    fn most(&self, c: ConnectionId, stood: &Stood) -> Option<(f64, bool, ConnectionId, Stage)> {
        let halts = self.facts.halts.get(&c)?;
        let of = CAUSES.map(|by| {
            let of = halts.iter().filter(|h| h.by == by).map(|h| (h.from, h.to));
            let spans = Spans::of(of.collect());
            let share = |of: &[(i64, i64)], whole: i64| {
                let ns = of
                    .iter()
                    .fold(0i64, |ns, (a, b)| ns.saturating_add(spans.within(*a, *b)));
                ns as f64 / whole.max(1) as f64
            };
            let before = stood.before(&spans);
            let before_ns = sum(&before);
            let known = before_ns as f64 >= KNOWN * stood.ns as f64;
            let lost = before.iter().any(|(from, to)| self.lost.within(*from, *to));
            let begun = known && !lost && share(&before, before_ns) <= BESIDE;
            let after_known = stood.after_ns as f64 >= KNOWN * stood.ns as f64;
            let over = begun && after_known && share(&stood.after, stood.after_ns) <= BESIDE;
            let over = over || !after_known && stood.is_of(&spans);
            (share(&stood.spans, stood.ns), over, c, by)
        });
        // The first of equals: a full window fills the buffer.
        of.into_iter().rev().max_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// Who read at the other end what was late then, and what it slept in.
    fn reader(&self, c: ConnectionId, stood: &Stood) -> Option<((Name, i32), Name)> {
        let peer = self.facts.connections.get(c.0 as usize)?.peer?;
        let (first, last) = (stood.spans.first()?.0, stood.spans.last()?.1);
        let mut by: FxHashMap<(Name, i32, Name), i64> = FxHashMap::default();
        let mut whole = 0i64;
        for r in self.facts.rx.iter().filter(|r| r.connection == Some(peer)) {
            if r.start_ns < last && r.start_ns.saturating_add(r.total_ns) > first && r.pid > 0 {
                whole = whole.saturating_add(r.total_ns);
                let ns = by.entry((r.task, r.pid, r.asleep_in)).or_default();
                *ns = ns.saturating_add(r.asleep_in_ns);
            }
        }
        let (who, ns) = by.into_iter().max_by_key(|(who, ns)| (*ns, std::cmp::Reverse(*who)))?;
        let mostly = !who.2.is_empty() && ns as f64 >= MOSTLY * whole as f64;
        mostly.then_some(((who.0, who.1), who.2))
    }
}

fn sum(of: &[(i64, i64)]) -> i64 {
    of.iter().fold(0i64, |ns, s| ns.saturating_add(s.1.saturating_sub(s.0)))
}

/// When answers stood, and as long behind each of these times, until the next or the end.
struct Stood {
    start_ns: i64,
    spans: Vec<(i64, i64)>,
    ns: i64,
    after: Vec<(i64, i64)>,
    after_ns: i64,
}

impl Stood {
    /// `None`: they took no time.
    fn of(spans: Spans, (start_ns, end_ns): (i64, i64)) -> Option<Stood> {
        let spans: Vec<(i64, i64)> = spans.each().collect();
        let next = spans.iter().skip(1).map(|s| s.0).chain([end_ns]);
        let behind = |((from, to), next): (&(i64, i64), i64)| {
            let until = to.saturating_add(to.saturating_sub(*from));
            (*to, until.min(next).max(*to))
        };
        let after: Vec<(i64, i64)> = spans.iter().zip(next).map(behind).collect();
        let (ns, after_ns) = (sum(&spans), sum(&after));
        (ns > 0).then_some(Stood {
            start_ns,
            spans,
            ns,
            after,
            after_ns,
        })
    }

    /// Each long time in which they stood is one hold, to its end, that began in the recording and not long before (buffers fill first); and these are nearly all of it.
    fn is_of(&self, held: &Spans) -> bool {
        let part = |ns: i64, share: f64| (ns as f64 * share) as i64;
        let one = |(from, to): &(i64, i64)| {
            let ns = to.saturating_sub(*from);
            let began = from.saturating_sub(part(ns, BEFORE))..=from.saturating_add(part(ns, WITH));
            let as_it = |h: &(i64, i64)| began.contains(&h.0) && h.1.abs_diff(*to) <= part(ns, WITH).unsigned_abs();
            // Others end later, and begin behind it.
            let first = held.ending_from(to.saturating_sub(part(ns, WITH)));
            first.is_some_and(|h| h.0 > self.start_ns && as_it(&h))
        };
        let long = |s: &&(i64, i64)| s.1.saturating_sub(s.0) >= ALONE_NS;
        let long: Vec<(i64, i64)> = self.spans.iter().filter(long).copied().collect();
        sum(&long) >= part(self.ns, NEARLY) && long.iter().all(one)
    }

    /// As long before each of these times, or before the hold began that lasted into it.
    fn before(&self, held: &Spans) -> Vec<(i64, i64)> {
        let mut last = self.start_ns;
        let mut out = vec![];
        for (from, to) in &self.spans {
            let into = held.ending_from(from.saturating_add(1)).filter(|h| h.0 < *to);
            let until = into.map_or(*from, |h| h.0.min(*from)).max(last);
            let since = until.saturating_sub(to.saturating_sub(*from)).max(last);
            out.push((since, until));
            last = *to;
        }
        out
    }
}
