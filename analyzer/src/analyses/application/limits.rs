//! Programs between clients and servers that ask only so many at a time, while requests wait in them: a connection pool, a limit of a proxy.
//!
//! Needs `turnarounds`, `responses`, of programs that answer some sockets and ask on others; told apart by the name of their threads: of a name
//! that asks itself (two containers with one program), or that asks on sockets that are not judged, nothing is told.
//! At each moment so many of its own requests are unanswered (`in it`), and so many of those it made (`under way`): the rest waits in it.
//!
//! ```text
//! in it       ###################### 5          waits while it could ask more: no limit
//! under way   ####################   2 (most)   waits while that many, nearly always the same, are under way: told
//! ```
//! It is looked for from when the program's slow answers became much slower (`shift.rs`), where more were under way before: a limit that a change brought; else all along.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::holds::{Holds, holds};
use super::servers::Server;
use super::sockets::{Role, Socket};
use super::waited::server;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;

/// Share of the time in which requests wait that as many requests to a server must be under way; a health check may come on top.
const SAME: f64 = 0.8;
/// Share of its requests' time that they must wait to be told.
const WAITING: f64 = 0.3;
/// Part of the waiting that the program's own work for its requests may be: else it may be that which they waited for.
const OWN: f64 = 0.5;
/// Fewest requests of a program, and to a server, that are looked at.
const LEAST: usize = 20;
/// Shortest mean wait that is told, ns.
const LEAST_NS: i64 = 1_000_000;
/// Servers of a program that are looked at: those most asked.
const SERVERS: usize = 32;
/// Share of the time with any under way before a change in which as many were.
const OFTEN: f64 = 0.1;
/// Programs told.
const TOLD: usize = 5;

/// A program that asks only so many at a time.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Limit {
    /// Name of its threads.
    pub task: String,
    /// Its requests that were answered.
    pub requests: u64,
    /// Servers to which the same number of requests was under way nearly all the time while others waited, and how many: most asked first.
    pub servers: Vec<(String, u64)>,
    /// ns for which each of its requests waited in it on average, while these were under way.
    pub waited_ns: i64,
    /// Share of the time of its requests.
    pub share: f64,
    /// Since when, ns since the start of the recording, and how many were under way at most to each of these servers before; `None`: all along.
    #[serde(skip)]
    pub since: Option<(i64, u64)>,
    /// What it keeps to itself while it asks one of them.
    pub holds: Option<Holds>,
}

/// What happens at a moment: a request comes or is answered; one is made to a server or answered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Answered,
    Back(usize),
    Came,
    Asked(usize),
}

/// Time by how many were under way.
#[derive(Default)]
struct UnderWay {
    now: u64,
    while_waiting: BTreeMap<u64, i64>,
    asked: usize,
    /// Before that time: how long so many were.
    before: BTreeMap<u64, i64>,
}

impl UnderWay {
    /// So many or more for a tenth of the time in which any was, before: one moment is no habit.
    fn most_before(&self) -> u64 {
        let all = self.before.values().fold(0i64, |all, ns| all.saturating_add(*ns));
        let mut more = 0i64;
        let often = self.before.iter().rev().find(|(_, ns)| {
            more = more.saturating_add(**ns);
            more as f64 >= OFTEN * all as f64
        });
        often.map_or(0, |(n, _)| *n)
    }
}

/// Names whose requests cannot be followed.
fn unclear(facts: &Facts, sockets: &[Socket<'_>]) -> BTreeSet<Name> {
    let row = |c: ConnectionId| facts.connections.get(c.0 as usize);
    let asks = sockets.iter().filter(|s| s.role == Role::Client);
    let of = asks.filter_map(|s| {
        let here = row(s.connection)?;
        let there = here.peer.and_then(row);
        (!s.in_turns || there.is_some_and(|p| p.task == here.task)).then_some(here.task)
    });
    of.collect()
}

/// What is known of the programs of a name.
#[derive(Default)]
struct Programs {
    events: Vec<(i64, What)>,
    /// Their requests: when each came, and what their threads did for it, or would have done with a CPU, ns.
    requests: Vec<(i64, i64)>,
}

impl Programs {
    /// Those that came at that time or later: how many, and what was done for them.
    fn since(&self, at: i64) -> (usize, i64) {
        let of = self.requests.iter().filter(|r| r.0 >= at);
        of.fold((0, 0), |(n, ns), r| (n + 1, r.1.saturating_add(ns)))
    }
}

/// When slow answers of a server became much slower, ns on the trace clock, by the name of the threads with most of their time.
fn shifts(facts: &Facts, servers: &[Server]) -> Vec<(String, i64)> {
    let start = facts.capture.start_ns.unwrap_or(0);
    let slow = servers.iter().flat_map(|s| &s.slow).filter(|s| s.at == "server");
    let of = slow.filter_map(|s| {
        let task = s.task.0.rsplit_once('/').map_or(s.task.0.as_str(), |(name, _)| name);
        Some((task.to_owned(), s.shift?.at_ns.saturating_add(start)))
    });
    of.collect()
}

/// Those with most time of waiting first.
pub(super) fn limits(facts: &Facts, sockets: &[Socket<'_>], of_servers: &[Server]) -> Vec<Limit> {
    let mut by: FxHashMap<Name, Programs> = FxHashMap::default();
    for s in sockets.iter().filter(|s| s.in_turns && s.role == Role::Server) {
        for t in s.judged_turnarounds() {
            let of = by.entry(t.task).or_default();
            of.events
                .extend([(t.start_ns(), What::Came), (t.send_ns, What::Answered)]);
            let worked = t.split.running_ns.saturating_add(t.split.run_queue_ns);
            of.requests.push((t.start_ns(), worked));
        }
    }
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    for s in sockets.iter().filter(|s| s.in_turns && s.role == Role::Client) {
        let to = server(facts, s.connection);
        for (ns, r) in s.judged_responses() {
            let Some(of) = by.get_mut(&r.task) else {
                continue;
            };
            let next = names.len();
            let to = *names.entry(to.clone()).or_insert(next);
            of.events.extend([
                (r.send_ns, What::Asked(to)),
                (r.send_ns.saturating_add(ns), What::Back(to)),
            ]);
        }
    }
    for name in unclear(facts, sockets) {
        by.remove(&name);
    }
    let names: FxHashMap<usize, String> = names.into_iter().map(|(name, n)| (n, name)).collect();
    let shifts = shifts(facts, of_servers);
    let start = facts.capture.start_ns.unwrap_or(0);
    let mut all: Vec<Limit> = by
        .into_iter()
        .filter_map(|(task, mut of)| {
            let task = task.text();
            of.events.sort_unstable();
            let found = |since: i64| {
                let (n, own) = of.since(since);
                let found = limit(&task, &of.events, (n, since), &names).filter(|_| n >= LEAST)?;
                let waited = found.waited_ns.saturating_mul(n as i64);
                (own as f64 <= OWN * waited as f64).then_some(found)
            };
            let later = || {
                let at = shifts.iter().filter(|s| s.0 == task).map(|s| s.1);
                at.filter_map(|at| {
                    let l = found(at)?;
                    let (_, before) = l.since?;
                    let fewer = l.servers.iter().all(|(_, n)| *n < before);
                    let since = Some((at.saturating_sub(start), before));
                    fewer.then_some(Limit { since, ..l })
                })
                .next()
            };
            let all_along = || found(i64::MIN).map(|l| Limit { since: None, ..l });
            later().or_else(all_along)
        })
        .collect();
    all.sort_by(|a, b| {
        let whole = |l: &Limit| l.waited_ns.saturating_mul(l.requests as i64);
        (whole(b), &a.task).cmp(&(whole(a), &b.task))
    });
    all.truncate(TOLD);
    for l in &mut all {
        l.holds = holds(facts, sockets, l);
    }
    all
}

/// Of what happened, in order: a limit since then, by so many requests, with the most that were under way before.
fn limit(
    task: &str,
    events: &[(i64, What)],
    (requests, since): (usize, i64),
    names: &FxHashMap<usize, String>,
) -> Option<Limit> {
    let mut asked: FxHashMap<usize, usize> = FxHashMap::default();
    for (_, what) in events.iter().filter(|e| e.0 >= since) {
        if let What::Asked(to) = what {
            *asked.entry(*to).or_insert(0) += 1;
        }
    }
    let mut asked: Vec<(usize, usize)> = asked.into_iter().filter(|(_, n)| *n >= LEAST).collect();
    asked.sort_unstable_by_key(|(to, n)| (std::cmp::Reverse(*n), *to));
    asked.truncate(SERVERS);
    let none = |(to, asked): (usize, usize)| {
        let u = UnderWay {
            asked,
            ..UnderWay::default()
        };
        (to, u)
    };
    let mut of: FxHashMap<usize, UnderWay> = asked.into_iter().map(none).collect();
    // In it, under way; ns of all that were in it, of those that waited, and with any waiting.
    let (mut inside, mut away, mut whole, mut waited, mut waiting) = (0u64, 0u64, 0i64, 0i64, 0i64);
    let mut last = events.first()?.0;
    for (at, what) in events.iter().copied() {
        let ns = at.saturating_sub(last.max(since)).max(0);
        let earlier = at.min(since).saturating_sub(last).max(0);
        for u in of.values_mut().filter(|u| earlier > 0 && u.now > 0) {
            let sum = u.before.entry(u.now).or_insert(0);
            *sum = sum.saturating_add(earlier);
        }
        last = at;
        let rest = inside.saturating_sub(away);
        let times = |n: u64| ns.saturating_mul(i64::try_from(n).unwrap_or(i64::MAX));
        whole = whole.saturating_add(times(inside));
        waited = waited.saturating_add(times(rest));
        if rest > 0 && ns > 0 {
            waiting = waiting.saturating_add(ns);
            for u in of.values_mut() {
                let sum = u.while_waiting.entry(u.now).or_insert(0);
                *sum = sum.saturating_add(ns);
            }
        }
        match what {
            What::Came => inside += 1,
            What::Answered => inside = inside.saturating_sub(1),
            What::Asked(to) => {
                away += 1;
                if let Some(u) = of.get_mut(&to) {
                    u.now += 1;
                }
            }
            What::Back(to) => {
                away = away.saturating_sub(1);
                if let Some(u) = of.get_mut(&to) {
                    u.now = u.now.saturating_sub(1);
                }
            }
        }
    }
    let mut full: Vec<(usize, usize, u64)> = of
        .iter()
        .filter_map(|(to, u)| {
            let (n, ns) = u.while_waiting.iter().max_by_key(|(_, ns)| **ns)?;
            (*n > 0 && *ns as f64 >= SAME * waiting.max(1) as f64).then_some((u.asked, *to, *n))
        })
        .collect();
    full.sort_by_key(|(asked, to, _)| (std::cmp::Reverse(*asked), *to));
    // The least of these: where that is more than now, all are.
    let before = full
        .iter()
        .filter_map(|(_, to, _)| of.get(to))
        .map(UnderWay::most_before)
        .min();
    let servers: Vec<(String, u64)> = full
        .into_iter()
        .filter_map(|(_, to, n)| Some((names.get(&to)?.clone(), n)))
        .collect();
    let waited_ns = waited / i64::try_from(requests).unwrap_or(i64::MAX).max(1);
    let share = waited as f64 / whole.max(1) as f64;
    (!servers.is_empty() && share >= WAITING && waited_ns >= LEAST_NS).then(|| Limit {
        task: task.to_owned(),
        requests: requests as u64,
        servers,
        waited_ns,
        share,
        since: before.map(|n| (since, n)),
        holds: None,
    })
}
