//! Answers that waited for another server's, which other threads of their process asked: programs that hand a request from thread to thread (Go, thread
//! pools, asynchronous clients).
//!
//! In: `turnarounds`, `responses`, `udp_turns`, the process of each thread. Out: of some answers, the server whose answers fit most of their time. Inferred, by times alone:
//! what a process asked after it had read the request, and whose answer came before it answered, both within [`SLACK`] of the whole; each is taken for one
//! answer only, of what the thread of another request asked while it was at that nothing, and more than [`CHANCE`] times as many fit as when all are moved aside, or one. Must not take for one: answers that wait for a lock while others of
//! their process ask elsewhere (they begin and end at other times), a burst in which anything fits. Not seen: several questions one after the other, one question that many
//! answers wait for.
//!
//! ```text
//! this answer      request: read | ................................ | answer        by some threads of a process
//! its process          request to a store | .............. | its answer            by others
//!                                 |<->| at most SLACK     |<->|
//! ```

use std::cmp::Reverse;

use rustc_hash::{FxHashMap, FxHashSet};

use super::by_udp::Asked;
use crate::facts::Facts;
use crate::reconstruct::application::tables::{ResponseRow, TurnaroundRow};

/// Shortest answers that are looked at, ns.
const LEAST_NS: i64 = 5_000_000;
/// Part of an answer's time, one in so many, that may pass before the question and after its answer.
const SLACK: i64 = 10;
/// And no more than that, ns.
const SLACK_NS: i64 = 50_000_000;
/// Aside: so many times the slack.
const ASIDE: i64 = 3;
/// More than so many times as many as fit by chance, or as one.
const CHANCE: usize = 3;
/// Answers that are looked at, evenly of all.
const LOOKED_AT: usize = 2_000;
/// Questions that are looked at for one answer: where more began as it did, none is told.
const BESIDE: usize = 1_000;

/// What a process asked somewhere.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exchange<'f> {
    pub(super) from_ns: i64,
    pub(super) to_ns: i64,
    /// Number of the server's name.
    pub(super) to: usize,
    /// Who read its answer.
    pid: i32,
    /// That thread was at a request of its own all along.
    own: bool,
    /// By TCP: its row.
    pub(super) response: Option<&'f ResponseRow>,
    /// No answer came.
    pub(super) in_vain: bool,
}

/// By process.
pub(super) struct Handed<'f> {
    of: FxHashMap<i32, Vec<Exchange<'f>>>,
    names: Vec<String>,
}

/// The server that most time fits.
pub(super) struct Fits<'f> {
    pub(super) server: String,
    /// By TCP: what was asked there.
    pub(super) responses: Vec<&'f ResponseRow>,
    /// ns of the exchanges.
    pub(super) ns: i64,
    /// Of them, by UDP.
    pub(super) by_udp_ns: i64,
    /// Of these, those to which no answer came.
    pub(super) in_vain_ns: i64,
    /// Part of the answers' time.
    pub(super) share: f64,
}

impl<'f> Handed<'f> {
    /// Of exchanges by thread: who asked, where, from when to when; by TCP and by UDP.
    pub(super) fn of(
        facts: &Facts,
        by_tcp: impl Iterator<Item = (i32, String, (i64, i64), &'f ResponseRow)>,
        by_udp: Vec<Asked>,
        served: impl Iterator<Item = &'f TurnaroundRow>,
    ) -> Handed<'f> {
        let busy = Busy::of(served);
        let mut numbers: FxHashMap<String, usize> = FxHashMap::default();
        let mut of: FxHashMap<i32, Vec<Exchange<'f>>> = FxHashMap::default();
        let mut push = |pid: i32, server: String, (from_ns, to_ns): (i64, i64), response, in_vain| {
            let next = numbers.len();
            let to = *numbers.entry(server).or_insert(next);
            of.entry(facts.process(pid)).or_default().push(Exchange {
                from_ns,
                to_ns,
                to,
                pid,
                own: busy.all_along(pid, from_ns, to_ns),
                response,
                in_vain,
            });
        };
        by_tcp.for_each(|(pid, server, span, r)| push(pid, server, span, Some(r), false));
        for a in by_udp {
            push(a.pid, a.to, a.span, None, !a.answered);
        }
        of.values_mut()
            .for_each(|of| of.sort_by_key(|e| (e.from_ns, e.to_ns, e.to)));
        let mut names: Vec<(usize, String)> = numbers.into_iter().map(|(name, n)| (n, name)).collect();
        names.sort_unstable();
        Handed {
            of,
            names: names.into_iter().map(|(_, name)| name).collect(),
        }
    }

    /// The server for whose answers these waited, in `mostly` or more of their time.
    pub(super) fn fits(&self, facts: &Facts, rows: &[&TurnaroundRow], mostly: f64) -> Option<Fits<'f>> {
        let each_of = rows.len().div_ceil(LOOKED_AT).max(1);
        let mut rows: Vec<&TurnaroundRow> = rows.iter().copied().step_by(each_of).collect();
        rows.sort_by_key(|r| (r.send_ns, r.connection));
        let whole = rows.iter().fold(0i64, |sum, r| sum.saturating_add(r.total_ns()));
        let (mut sums, mut n): (FxHashMap<usize, (i64, Vec<Exchange<'f>>)>, usize) = Default::default();
        let mut used: FxHashSet<(i32, usize)> = FxHashSet::default();
        let (mut later, mut earlier) = (0usize, 0usize);
        for r in rows.iter().filter(|r| r.total_ns() >= LEAST_NS) {
            let process = facts.process(r.sender_pid);
            let slack = slack(r);
            let aside = slack.saturating_mul(ASIDE);
            later += usize::from(self.best(process, r, aside, &FxHashSet::default()).is_some());
            earlier += usize::from(self.best(process, r, -aside, &FxHashSet::default()).is_some());
            let Some(i) = self.best(process, r, 0, &used) else {
                continue;
            };
            let Some(e) = self.of.get(&process).and_then(|of| of.get(i)) else {
                continue;
            };
            used.insert((process, i));
            n += 1;
            let of = sums.entry(e.to).or_default();
            of.0 = of.0.saturating_add(e.to_ns.saturating_sub(e.from_ns));
            of.1.push(*e);
        }
        let (to, (ns, exchanges)) = sums.into_iter().max_by_key(|(to, of)| (of.0, Reverse(*to)))?;
        let share = ns as f64 / whole.max(1) as f64;
        let sum = |of: fn(&Exchange<'_>) -> bool| {
            let of = exchanges.iter().filter(|e| of(e));
            let each = of.map(|e| e.to_ns.saturating_sub(e.from_ns));
            each.fold(0, i64::saturating_add)
                .saturating_mul(i64::try_from(each_of).unwrap_or(1))
        };
        let told = share >= mostly && n > later.max(earlier).max(1).saturating_mul(CHANCE);
        told.then(|| Fits {
            server: self.names.get(to).cloned().unwrap_or_default(),
            by_udp_ns: sum(|e| e.response.is_none()),
            in_vain_ns: sum(|e| e.in_vain),
            responses: exchanges.iter().filter_map(|e| e.response).collect(),
            ns: ns.saturating_mul(i64::try_from(each_of).unwrap_or(1)),
            share,
        })
    }

    /// What its process asked where, for one answer alone: by times.
    pub(super) fn whom(&self, facts: &Facts, r: &TurnaroundRow) -> Option<(&str, &'f ResponseRow)> {
        let process = facts.process(r.sender_pid);
        let e = self
            .of
            .get(&process)?
            .get(self.best(process, r, 0, &FxHashSet::default())?)?;
        Some((self.names.get(e.to)?.as_str(), e.response?))
    }

    /// The one of a process that fits an answer best, were that so much later.
    fn best(&self, process: i32, r: &TurnaroundRow, later: i64, used: &FxHashSet<(i32, usize)>) -> Option<usize> {
        let of = self.of.get(&process)?;
        let slack = slack(r);
        let (from, until) = (r.read_ns.saturating_add(later), r.send_ns.saturating_add(later));
        let first = of.partition_point(|e| e.from_ns < from);
        let last = of.partition_point(|e| e.from_ns <= from.saturating_add(slack));
        let began = of.get(first..last).filter(|of| of.len() <= BESIDE)?;
        let theirs = |e: &Exchange<'_>| e.own && e.pid != r.pid && e.pid != r.sender_pid;
        let fits = began.iter().enumerate().filter(|(i, e)| {
            !theirs(e)
                && e.to_ns <= until
                && e.to_ns >= until.saturating_sub(slack)
                && !used.contains(&(process, first + i))
        });
        let left = |e: &Exchange<'_>| (e.from_ns.saturating_sub(from)).saturating_add(until.saturating_sub(e.to_ns));
        fits.min_by_key(|(i, e)| (left(e), *i)).map(|(i, _)| first + i)
    }
}

/// When threads were at requests, from the read to the answer.
struct Busy(FxHashMap<i32, Vec<(i64, i64)>>);

impl Busy {
    /// By thread, in order, with the latest end of any that began until then.
    fn of<'f>(served: impl Iterator<Item = &'f TurnaroundRow>) -> Busy {
        let mut by: FxHashMap<i32, Vec<(i64, i64)>> = FxHashMap::default();
        for t in served {
            by.entry(t.pid).or_default().push((t.read_ns, t.send_ns));
            if t.sender_pid != t.pid {
                by.entry(t.sender_pid).or_default().push((t.read_ns, t.send_ns));
            }
        }
        for of in by.values_mut() {
            of.sort_unstable();
            let mut latest = i64::MIN;
            for (_, end) in of {
                latest = latest.max(*end);
                *end = latest;
            }
        }
        Busy(by)
    }

    /// Whether a thread was at one from before this until after.
    fn all_along(&self, pid: i32, from_ns: i64, to_ns: i64) -> bool {
        let of = self.0.get(&pid).map_or(&[][..], Vec::as_slice);
        let last = of.partition_point(|(read, _)| *read <= from_ns).checked_sub(1);
        last.and_then(|n| of.get(n)).is_some_and(|(_, end)| *end >= to_ns)
    }
}

fn slack(r: &TurnaroundRow) -> i64 {
    (r.total_ns() / SLACK).clamp(0, SLACK_NS)
}
