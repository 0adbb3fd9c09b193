//! Attempts that fail as those of a check do: one process tries an end that nobody has connected to at even distances, and has other work: it serves by other
//! servers of that port, or does nothing but try who is there (its connections end by RST with nothing left unread).
//!
//! Needs `opens`, `resets`, `turnarounds`. Inferred. Must not take for one: a program that tries again and again to reach the one server that it has, or that
//! does nothing else until an attempt has ended; attempts that an answer of its own waited for; what failed for want of a port or a route.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::complete;
use crate::analyses::application::{Role, sockets};
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::opens::tables::{End, OpenEnd, OpenRow};

/// Fewest attempts.
const LEAST: usize = 4;
/// An attempt of who serves by others takes at most this part of their distance.
const SHORT: f64 = 0.3;
/// An answer waited for an attempt that was one part in so many of its time.
const WAITED: i64 = 2;
/// Answers begun before an attempt that are looked at, and requests sent on behind the begin of one.
const NEAR: usize = 64;
/// Another server's answer takes all of an answer's time but one part in so many at either end.
const MARGIN: i64 = 10;
/// How an attempt ends where nobody is there.
const ENDS: [OpenEnd; 4] = [OpenEnd::Refused, OpenEnd::GivenUp, OpenEnd::TimedOut, OpenEnd::Waiting];
/// Each distance is so close to their median.
const EVEN: f64 = 0.2;
/// Fewest connections to other servers of the port, or that a prober closed.
const OTHERS: usize = 3;

/// Distances of attempts that are checks, ns, by end and process, and whether that serves by others; waiting ones are in the distances.
pub(super) struct Checks<'f>(&'f Facts, FxHashMap<(End, i32), (i64, bool)>);

impl Checks<'_> {
    /// Of an attempt.
    pub(super) fn of(&self, o: &OpenRow) -> Option<i64> {
        self.1.get(&(o.to?, self.0.process(o.pid))).map(|of| of.0)
    }

    /// Processes that check this end, and serve by other servers of its port.
    pub(super) fn serving(&self, (address, port): End) -> impl Iterator<Item = i32> {
        let at = move |(a, p): End| (a.to_canonical(), p) == (address, port);
        let of = self.1.iter().filter(move |((to, _), (_, serves))| *serves && at(*to));
        of.map(|((_, process), _)| *process)
    }
}

pub(super) fn checks(facts: &Facts) -> Checks<'_> {
    let stood = || facts.opens.iter().filter(|o| o.end == OpenEnd::Established);
    let served: FxHashSet<End> = stood().filter_map(|o| o.to).collect();
    let mut tried: BTreeMap<(End, i32), Vec<&OpenRow>> = BTreeMap::new();
    for o in facts.opens.iter().filter(|o| ENDS.contains(&o.end) && o.pid > 0) {
        if let Some(to) = o.to.filter(|to| !served.contains(to)) {
            tried.entry((to, facts.process(o.pid))).or_default().push(o);
        }
    }
    let mut siblings: FxHashMap<(i32, u16), usize> = FxHashMap::default();
    let mut opened: FxHashMap<i32, usize> = FxHashMap::default();
    for o in stood() {
        let pid = facts.process(o.pid);
        *opened.entry(pid).or_default() += 1;
        if let Some(to) = o.to {
            *siblings.entry((pid, to.1)).or_default() += 1;
        }
    }
    let complete = complete::complete(facts);
    let mut closed: FxHashMap<i32, usize> = FxHashMap::default();
    for (_, pid) in facts.resets.iter().filter(|r| r.received).filter_map(&complete) {
        *closed.entry(facts.process(pid)).or_default() += 1;
    }
    let of = |map: &FxHashMap<i32, usize>, pid: i32| map.get(&pid).copied().unwrap_or(0);
    let waited = waited(facts, &tried);
    let check = |((to, pid), all): (&(End, i32), &Vec<&OpenRow>)| {
        let every = every(all)?;
        let others = siblings.get(&(*pid, to.1)).copied().unwrap_or(0);
        let longest = all.iter().map(|o| o.total_ns()).max()?;
        let serves = others >= OTHERS.max(all.len()) && longest as f64 <= SHORT * every as f64;
        // One may be under way at the end.
        let prober = of(&closed, *pid) >= OTHERS && of(&closed, *pid).saturating_add(1) >= of(&opened, *pid);
        ((serves || prober) && !waited.contains_key(&(*to, *pid))).then_some(((*to, *pid), (every, serves)))
    };
    Checks(facts, tried.iter().filter_map(check).collect())
}

/// Attempts of a process in which one of its answers waited, of whose time they were a large part: how many; none has no entry.
pub(super) fn waited(facts: &Facts, tried: &BTreeMap<(End, i32), Vec<&OpenRow>>) -> FxHashMap<(End, i32), usize> {
    let pids: FxHashSet<i32> = tried.keys().map(|k| k.1).collect();
    // When each began and ended, and its threads.
    let mut answers: FxHashMap<i32, Vec<(i64, i64, [i32; 2])>> = FxHashMap::default();
    // Who asks on a socket turns round between an answer and what it asks next.
    let known = |c: ConnectionId| facts.connections.get(c.0 as usize).is_some();
    let asking = sockets(facts).into_iter().filter(|s| s.role == Role::Client);
    let asking: FxHashSet<ConnectionId> = asking.map(|s| s.connection).filter(|c| known(*c)).collect();
    for t in facts.turnarounds.iter().filter(|t| !asking.contains(&t.connection)) {
        let pid = facts.process(t.pid);
        if pids.contains(&pid) {
            answers
                .entry(pid)
                .or_default()
                .push((t.start_ns(), t.send_ns, [t.pid, t.sender_pid]));
        }
    }
    answers.values_mut().for_each(|of| of.sort_unstable());
    let asked = asked(facts, &pids);
    let waits = |o: &OpenRow, of: &[(i64, i64, [i32; 2])]| {
        let until = of.partition_point(|a| a.0 <= o.start_ns);
        let near = of.get(until.saturating_sub(NEAR)..until).unwrap_or_default();
        let took = o.total_ns().saturating_mul(WAITED);
        let over = |(from, to, _): &&(i64, i64, [i32; 2])| *to >= o.end_ns && to.saturating_sub(*from) <= took;
        let elsewhere = |(from, to, threads): &(i64, i64, [i32; 2])| {
            let mut of = threads.iter().filter_map(|pid| asked.get(pid));
            of.any(|asked| for_another((*from, *to), asked))
        };
        near.iter().filter(over).any(|answer| !elsewhere(answer))
    };
    let hit = |(key, all): (&(End, i32), &Vec<&OpenRow>)| {
        let of = answers.get(&key.1)?;
        let n = all.iter().filter(|o| waits(o, of)).count();
        (n > 0).then_some((*key, n))
    };
    tried.iter().filter_map(hit).collect()
}

/// What threads of processes asked others, and when these had answered; in order.
fn asked(facts: &Facts, pids: &FxHashSet<i32>) -> FxHashMap<i32, Vec<(i64, i64)>> {
    let mut asked: FxHashMap<i32, Vec<(i64, i64)>> = FxHashMap::default();
    for r in &facts.responses {
        let ready = r.ready_ns.filter(|_| pids.contains(&facts.process(r.pid)));
        if let Some(ready) = ready {
            asked.entry(r.pid).or_default().push((r.send_ns, ready));
        }
    }
    asked.values_mut().for_each(|of| of.sort_unstable());
    asked
}

/// Whether an answer waited for that of another server, nearly all of its time.
pub(super) fn for_another((from, to): (i64, i64), asked: &[(i64, i64)]) -> bool {
    let margin = to.saturating_sub(from) / MARGIN;
    let begin = asked.partition_point(|a| a.0 < from);
    let of = asked.get(begin..).unwrap_or_default().iter().take(NEAR);
    of.take_while(|a| a.0 <= from.saturating_add(margin))
        .any(|a| a.1 <= to && a.1 >= to.saturating_sub(margin))
}

/// Attempts that are checks.
pub(crate) fn checking(facts: &Facts) -> FxHashSet<ConnectionId> {
    let checks = checks(facts);
    let of = facts.opens.iter().filter(|o| o.end != OpenEnd::Established);
    of.filter(|o| checks.of(o).is_some())
        .filter_map(|o| o.connection)
        .collect()
}

/// The distance of attempts that are as far from each other.
pub(super) fn every(of: &[&OpenRow]) -> Option<i64> {
    let mut starts: Vec<i64> = of.iter().map(|o| o.start_ns).collect();
    starts.sort_unstable();
    let gaps: Vec<i64> = starts.windows(2).map(|w| w[1].saturating_sub(w[0])).collect();
    let mut sorted = gaps.clone();
    sorted.sort_unstable();
    let median = *sorted.get(sorted.len() / 2)?;
    let even = |gap: &i64| (gap - median).abs() as f64 <= EVEN * median as f64;
    (starts.len() >= LEAST && gaps.iter().all(even)).then_some(median)
}
