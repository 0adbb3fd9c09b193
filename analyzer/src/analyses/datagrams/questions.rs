//! Answers to questions by UDP: how long they took, where that time passed at the server, and how many a thread asked one after the other
//! before it called something else: name lookups.
//!
//! Needs `udp_turns`, `udp_sockets`, `rx`, `opens`, `responses`, `turnarounds`. A question is an answered turn of a thread that waited for it: on a socket of its
//! own that it closed after a few datagrams (a resolver; the answer may have been there before it looked), or in a receive call. Who sends and reads at any
//! time (QUIC, media), or gets more than it asked for, asks none.
//! Limits: a resolver in another thread than the call's is not tied to that; the server's own part is known where it sends one answer a turn.
//!
//! ```text
//! client   send ────────────────────────────── answer | send ─ ... ─ answer | connect, a request, or its own answer
//!              there |<- unread ->|<- at work ->| back    at most NEXT_NS      at most NEXT_NS
//! server             arrives     read          send
//!          |<----------------- a chain of questions, one after the other ------>|
//! ```

use std::collections::BTreeMap;
use std::net::SocketAddr;

use rustc_hash::FxHashMap;

use super::parked::Parked;
use super::{holder, port_of_any, who};
use crate::analyses::application::{Role, Spans, by_thread, sockets};
use crate::explain::{Id, Kind};
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::reconstruct::datagrams::sockets::SocketRow;
use crate::reconstruct::datagrams::tables::{TurnEnd, TurnRow};
use crate::reconstruct::opens::tables::OpenEnd;
use crate::stat::Distribution;

/// Most datagrams that a socket for questions sends before it is closed.
const OF_A_RESOLVER: u64 = 8;
/// Most datagrams that come for each question on a socket that stays open.
const PER_QUESTION: u64 = 2;
/// Longest time from an answer to the next question, or to the call, ns.
const NEXT_NS: i64 = 20_000_000;
/// Groups kept.
const KEPT: usize = 20;
/// Part of the time of answers in which the server asked another one, to be told.
const MOSTLY: f64 = 0.5;

/// A question and its answer.
#[derive(Clone, Copy)]
pub(crate) struct Question<'f> {
    pub turn: &'f TurnRow,
    pub socket: &'f SocketRow,
    /// When the first answer came.
    pub ready_ns: i64,
}

impl Question<'_> {
    pub(super) fn response_ns(&self) -> i64 {
        self.ready_ns.saturating_sub(self.turn.start_ns)
    }
    /// When its thread had read what came, the last of several on a socket for one turn.
    fn done_ns(&self) -> i64 {
        let own = self.socket.closed && self.socket.sent == u64::from(self.turn.sends);
        let last = self.turn.last_read_ns.filter(|_| own);
        last.unwrap_or(self.turn.end_ns).max(self.ready_ns)
    }
}

/// All of a recording, by time.
pub(crate) fn questions(facts: &Facts) -> impl Iterator<Item = Question<'_>> {
    let mut answers: FxHashMap<u32, u64> = FxHashMap::default();
    for t in facts.udp_turns.iter().filter(|t| t.end == TurnEnd::Answered) {
        *answers.entry(t.socket).or_default() += 1;
    }
    facts.udp_turns.iter().filter_map(move |turn| {
        let socket = facts.udp_sockets.get(turn.socket as usize)?;
        let call = turn.waited_in.text();
        let own = socket.closed && socket.sent <= OF_A_RESOLVER;
        // Where more came than was asked for, what came first need not be the answer.
        let asked = answers.get(&turn.socket).copied().unwrap_or(0);
        let one_each = socket.arrived <= asked.saturating_mul(PER_QUESTION);
        let waited = own || call.starts_with("recv") && one_each;
        let ready_ns = turn.ready_ns?;
        let answered = turn.end == TurnEnd::Answered && turn.confidence.is_solid() && !socket.served;
        (answered && waited).then_some(Question { turn, socket, ready_ns })
    })
}

/// The address of who is asked, where it is known; else empty.
pub(crate) fn asked_at(facts: &Facts, turn: &TurnRow) -> String {
    let at = turn.there.and_then(|n| facts.udp_sockets.get(n as usize));
    let local = at.map(|s| s.local.clone()).filter(|l| !l.is_empty());
    local.unwrap_or_else(|| turn.peer(&facts.udp_sockets))
}

/// Who is asked: its address, or else whose socket it is; empty: neither is known.
pub(crate) fn whom(facts: &Facts, turn: &TurnRow) -> String {
    let at = asked_at(facts, turn);
    let there = turn.there.and_then(|n| facts.udp_sockets.get(n as usize));
    let holder = there.map(holder).filter(|h| !h.is_empty());
    // An address that is any of a host's says nothing.
    match (holder, port_of_any(&at)) {
        (Some(h), Some(port)) => format!("{h}, port {port}"),
        (Some(h), None) if at.is_empty() => format!("a socket of {h}"),
        _ => at,
    }
}

/// Where the time of answers passed at a server of this recording.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct AtServer {
    /// Arrival of the question to its read.
    pub unread: Distribution,
    /// Its read to the send of the first answer.
    pub work: Distribution,
    /// All of the time of these answers, ns.
    pub of_ns: i64,
}

/// Questions one after the other, and the call that came then.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Chains {
    /// `connection to`, `request to` or `answer of`, and where.
    pub then: String,
    /// How many such calls.
    pub calls: u64,
    /// Questions before each, median.
    pub questions: u64,
    /// The most of them.
    pub most_questions: u64,
    /// Begin of the first question to the end of the last.
    pub took: Distribution,
    /// What the call took itself; of `answer of` from the request that it answers on, these questions within.
    pub call: Distribution,
}

/// Questions of one program to one place.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Questions {
    /// `task/thread` that asked, or `task` of several.
    pub task: String,
    /// Where, as in `in_vain`.
    pub to: String,
    /// `task/thread` that has the socket there; empty: not known.
    pub holder: String,
    /// Begin of the send to the arrival of the first answer.
    pub response: Distribution,
    /// The slowest of them.
    pub worst: Option<Id>,
    /// Of `response`, slow ones: [`SLOW_TIMES`] the median or longer, and [`SLOW_NS`].
    pub slow: u64,
    /// Of all of it, for how long they were parked at home until their next hop's link-layer address was resolved, ns.
    pub parked_ns: i64,
    /// Where that passed at the server, of those that it answered one by one.
    pub server: Option<AtServer>,
    /// Who was asked by UDP by the thread that has the socket there, in half of the time of these answers or more; empty: nobody is known.
    pub waited_for: String,
    /// Those before the call that they took most time for.
    pub chains: Option<Chains>,
    /// Begin of the first.
    pub first_ns: i64,
}

/// Shortest answer that is slow, ns, and so many times the median.
pub const SLOW_NS: i64 = 100_000_000;
/// See [`SLOW_NS`].
pub const SLOW_TIMES: i64 = 5;

/// A call of a thread that a question may precede.
struct Call {
    start_ns: i64,
    took_ns: i64,
    what: String,
}

/// Connections and requests by thread, in order of time; only of threads that ask.
fn calls(facts: &Facts, of: &[Question<'_>]) -> FxHashMap<i32, Vec<Call>> {
    let mut by: FxHashMap<i32, Vec<Call>> = of.iter().map(|q| (q.turn.pid, vec![])).collect();
    for o in facts.opens.iter().filter(|o| o.end == OpenEnd::Established) {
        if let (Some(of), Some((a, p))) = (by.get_mut(&o.pid), o.to) {
            of.push(Call {
                start_ns: o.start_ns,
                took_ns: o.total_ns(),
                what: format!("connection to {}", SocketAddr::new(a.to_canonical(), p)),
            });
        }
    }
    // Who asks on a socket reads and sends on it as who answers does.
    let roles: FxHashMap<ConnectionId, Role> = sockets(facts).iter().map(|s| (s.connection, s.role)).collect();
    let is = |c: ConnectionId, role: Role| roles.get(&c) == Some(&role);
    let senders = facts.responses.iter();
    let senders = senders.filter(|r| !r.overlap && is(r.connection, Role::Client));
    for (r, ns) in senders.filter_map(|r| Some((r, r.response_ns()?))) {
        if let Some(of) = by.get_mut(&r.pid) {
            let to = crate::analyses::application::server(facts, r.connection);
            of.push(Call {
                start_ns: r.send_ns,
                took_ns: ns,
                what: format!("request to {to}"),
            });
        }
    }
    let answers = facts.turnarounds.iter();
    for t in answers.filter(|t| !t.overlap && is(t.connection, Role::Server)) {
        if let Some(of) = by.get_mut(&t.sender_pid) {
            let row = facts.connections.get(t.connection.0 as usize);
            let end = row.and_then(|c| c.local());
            of.push(Call {
                start_ns: t.send_ns,
                took_ns: t.total_ns(),
                what: end.map_or_else(|| "answer of ".into(), |end| format!("answer of {end}")),
            });
        }
    }
    for of in by.values_mut() {
        of.sort_by_key(|c| c.start_ns);
    }
    by
}

/// Chains of questions of one group, each with the call that came then.
fn chains<'c>(of: &[Question<'_>], calls: &'c FxHashMap<i32, Vec<Call>>) -> Vec<(u64, i64, &'c Call)> {
    let mut by: BTreeMap<i32, Vec<&Question<'_>>> = BTreeMap::new();
    for q in of {
        by.entry(q.turn.pid).or_default().push(q);
    }
    let mut found = vec![];
    for (pid, mut all) in by {
        all.sort_by_key(|q| q.turn.start_ns);
        let of = calls.get(&pid).map_or(&[][..], Vec::as_slice);
        let next_call = |q: &Question<'_>| of.get(of.partition_point(|c| c.start_ns < q.done_ns()));
        let mut nth = 0;
        while let Some(first) = all.get(nth) {
            let mut last = first;
            let mut n = 1u64;
            while let Some(next) = all.get(nth + n as usize) {
                let gap = next.turn.start_ns.saturating_sub(last.done_ns());
                // A call between two ends a chain.
                let called = next_call(last).is_some_and(|c| c.start_ns <= next.turn.start_ns);
                if !(0..=NEXT_NS).contains(&gap) || called {
                    break;
                }
                (last, n) = (next, n + 1);
            }
            let done = last.done_ns();
            if let Some(call) = next_call(last).filter(|c| c.start_ns.saturating_sub(done) <= NEXT_NS) {
                found.push((n, done.saturating_sub(first.turn.start_ns), call));
            }
            nth += n as usize;
        }
    }
    found
}

/// Those before the call that they took most time for.
fn longest(found: &[(u64, i64, &Call)]) -> Option<Chains> {
    let mut by: BTreeMap<&str, Vec<&(u64, i64, &Call)>> = BTreeMap::new();
    for c in found {
        by.entry(&c.2.what).or_default().push(c);
    }
    let time = |of: &[&(u64, i64, &Call)]| of.iter().fold(0i64, |sum, c| sum.saturating_add(c.1));
    let (then, of) = by
        .into_iter()
        .max_by_key(|(what, of)| (time(of), std::cmp::Reverse(*what)))?;
    let distribution = |f: fn(&(u64, i64, &Call)) -> i64| Distribution::of(of.iter().map(|c| f(c)).collect(), 0);
    let mut counts: Vec<u64> = of.iter().map(|c| c.0).collect();
    counts.sort_unstable();
    Some(Chains {
        then: then.to_owned(),
        calls: of.len() as u64,
        questions: counts.get((counts.len() - 1) / 2).copied().unwrap_or(0),
        most_questions: counts.last().copied().unwrap_or(0),
        took: distribution(|c| c.1),
        call: distribution(|c| c.2.took_ns),
    })
}

/// What servers of this recording did with questions.
struct Servers<'f> {
    /// Begin of sends, by server's socket and by the socket that they came to.
    sends: FxHashMap<(u32, u32), Vec<i64>>,
    /// Arrival and read of questions, by packet.
    reads: FxHashMap<SkbId, (i64, i64)>,
    /// Questions of the servers' own threads, by who is asked.
    own: FxHashMap<i32, Vec<(String, Spans)>>,
    facts: &'f Facts,
}

impl<'f> Servers<'f> {
    fn of(facts: &'f Facts, all: &[Question<'f>]) -> Servers<'f> {
        let asked: rustc_hash::FxHashSet<u32> = all.iter().filter_map(|q| q.turn.there).collect();
        let packets: rustc_hash::FxHashSet<SkbId> = all.iter().filter_map(|q| q.turn.skb_id).collect();
        let mut sends: FxHashMap<(u32, u32), Vec<i64>> = FxHashMap::default();
        for t in facts.udp_turns.iter().filter(|t| asked.contains(&t.socket)) {
            if let Some(to) = t.there {
                sends.entry((t.socket, to)).or_default().push(t.start_ns);
            }
        }
        for of in sends.values_mut() {
            of.sort_unstable();
        }
        let rows = facts.rx.iter().filter(|r| packets.contains(&r.skb_id) && r.pid != 0);
        let reads = rows.map(|r| (r.skb_id, (r.start_ns, r.start_ns.saturating_add(r.total_ns))));
        let mut own: FxHashMap<(i32, String), Vec<(i64, i64)>> = FxHashMap::default();
        for q in all {
            let of = own.entry((q.turn.pid, whom(facts, q.turn))).or_default();
            of.push((q.turn.start_ns, q.ready_ns));
        }
        Servers {
            sends,
            reads: reads.collect(),
            own: by_thread(own),
            facts,
        }
    }

    /// Unread, and at work.
    fn part(&self, q: &Question<'_>) -> Option<(i64, i64)> {
        let of = self.sends.get(&(q.turn.there?, q.turn.socket))?;
        let (came, read) = *self.reads.get(&q.turn.skb_id?)?;
        let sent = *of.get(of.partition_point(|s| *s < came))?;
        let in_order = q.turn.start_ns <= came && read <= sent && sent <= q.ready_ns;
        in_order.then(|| (read.saturating_sub(came), sent.saturating_sub(read)))
    }

    fn parts(&self, of: &[Question<'_>]) -> Option<AtServer> {
        let parts: Vec<_> = of
            .iter()
            .filter_map(|q| Some((self.part(q)?, q.response_ns())))
            .collect();
        // Of most of them, or nothing is said of all.
        let known = !parts.is_empty() && parts.len().saturating_mul(2) >= of.len();
        known.then(|| AtServer {
            unread: Distribution::of(parts.iter().map(|(p, _)| p.0).collect(), 0),
            work: Distribution::of(parts.iter().map(|(p, _)| p.1).collect(), 0),
            of_ns: parts.iter().fold(0i64, |sum, p| sum.saturating_add(p.1)),
        })
    }

    /// Whom those who were asked asked themselves, most of the time.
    fn waited_for(&self, of: &[Question<'_>]) -> String {
        let mut sums: BTreeMap<&str, i64> = BTreeMap::new();
        let mut whole = 0i64;
        for q in of {
            whole = whole.saturating_add(q.response_ns());
            let there = q.turn.there.and_then(|n| self.facts.udp_sockets.get(n as usize));
            for (to, spans) in there.and_then(|s| self.own.get(&s.pid)).into_iter().flatten() {
                let sum = sums.entry(to).or_default();
                *sum = sum.saturating_add(spans.within(q.turn.start_ns, q.ready_ns));
            }
        }
        let most = sums.into_iter().max_by_key(|(to, ns)| (*ns, std::cmp::Reverse(*to)));
        most.filter(|(_, ns)| *ns as f64 >= MOSTLY * whole as f64)
            .map_or_else(String::new, |(to, _)| to.to_owned())
    }
}

/// By program and place; those with most time in them first.
pub(super) fn answered(facts: &Facts) -> Vec<Questions> {
    let all: Vec<Question<'_>> = questions(facts).collect();
    if all.is_empty() {
        return vec![];
    }
    let calls = calls(facts, &all);
    let servers = Servers::of(facts, &all);
    let parked = Parked::of(facts);
    let mut by: BTreeMap<(String, String, String), Vec<Question<'_>>> = BTreeMap::new();
    for q in all {
        let there = q.turn.there.and_then(|n| facts.udp_sockets.get(n as usize));
        let key = (
            q.turn.task.text().into_owned(),
            asked_at(facts, q.turn),
            there.map(holder).unwrap_or_default(),
        );
        by.entry(key).or_default().push(q);
    }
    let mut found: Vec<Questions> = by
        .into_iter()
        .map(|((task, to, holder), of)| {
            let response = Distribution::of(of.iter().map(Question::response_ns).collect(), 0);
            let slow = response.p50_ns.unwrap_or(0).saturating_mul(SLOW_TIMES).max(SLOW_NS);
            let worst = (of.iter()).min_by_key(|q| (std::cmp::Reverse(q.response_ns()), q.turn.start_ns));
            let one = of.first().filter(|f| of.iter().all(|q| q.turn.pid == f.turn.pid));
            Questions {
                task: one.map_or(task, |q| who(&q.turn.task, q.turn.pid)),
                to,
                holder,
                slow: of.iter().filter(|q| q.response_ns() >= slow).count() as u64,
                worst: worst.and_then(|q| Id::of_row(Kind::UdpTurn, &facts.udp_turns, q.turn)),
                response,
                parked_ns: parked.sum(&of),
                server: servers.parts(&of),
                waited_for: servers.waited_for(&of),
                chains: longest(&chains(&of, &calls)),
                first_ns: of.iter().map(|q| q.turn.start_ns).min().unwrap_or(0),
            }
        })
        .collect();
    found.sort_by_key(|q| (std::cmp::Reverse(q.response.sum_ns), q.first_ns));
    found.truncate(KEPT);
    found
}
