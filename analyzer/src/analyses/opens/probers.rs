//! Attempts of a monitor that steadily probes several ends, at one that is down and that others know to be: a standby, a colour that serves nobody now. However many they are, nobody misses what they try.
//!
//! ```text
//! prober   ok A   refused B   ok A   ok A   refused B ...   one exchange a connection, and on at its own pace, whatever came of the last one
//! balancer        refused B           refused B       ...   its check of a server that is down, while it serves by others
//! ```
//! Needs `opens`, `responses`, `turnarounds`. Inferred. It is one where all of these hold: its process serves nobody; at least half as many of its attempts at others of that port stood as fail here, and each of those connections had one
//! exchange at most; after an attempt that failed it goes on no sooner than after one that stood (it does not try again, nor elsewhere in its place); a check of another program, which serves by other servers, finds that end
//! down, too, and no third one tries it; and all of that from the begin of the recording to its end. Must not take for one: clients of a pool one of whose servers has just gone, who ask elsewhere at once, or whom a balancer still sends there.

use rustc_hash::{FxHashMap, FxHashSet};

use super::checks::Checks;
use crate::analyses::application::{Role, sockets};
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::opens::tables::{End, OpenEnd, OpenRow};

/// Fewest connections to others, and attempts of either kind whose next one is known.
const LEAST: usize = 10;
/// Connections to others, at least one for so many attempts that fail.
const OTHERS: usize = 2;
/// Pauses behind attempts that failed are no shorter than one part in so many of those behind others: the median, and the lower quartile, as some that are tried again at once do not move the median.
const PAUSES: i64 = 3;
/// The first and the last are within one part in so many of the recording from its ends.
const EDGE: i64 = 8;

/// Processes that serve somebody, and exchanges of each connection.
pub(super) struct Probers<'f> {
    facts: &'f Facts,
    serve: FxHashSet<i32>,
    exchanges: FxHashMap<ConnectionId, usize>,
    /// Attempts of each process, in time order.
    by: FxHashMap<i32, Vec<&'f OpenRow>>,
}

/// Processes that answer requests.
pub(super) fn servers(facts: &Facts) -> FxHashSet<i32> {
    let servers = sockets(facts).into_iter().filter(|s| s.role == Role::Server);
    let servers: FxHashSet<ConnectionId> = servers.map(|s| s.connection).collect();
    let turned = facts.turnarounds.iter().filter(|t| servers.contains(&t.connection));
    turned.map(|t| facts.process(t.pid)).collect()
}

impl<'f> Probers<'f> {
    pub(super) fn of(facts: &'f Facts) -> Probers<'f> {
        let mut exchanges: FxHashMap<ConnectionId, usize> = FxHashMap::default();
        for r in &facts.responses {
            *exchanges.entry(r.connection).or_default() += 1;
        }
        let mut by: FxHashMap<i32, Vec<&OpenRow>> = FxHashMap::default();
        for o in facts.opens.iter().filter(|o| o.pid > 0) {
            by.entry(facts.process(o.pid)).or_default().push(o);
        }
        by.values_mut().for_each(|of| of.sort_by_key(|o| o.start_ns));
        Probers {
            facts,
            serve: servers(facts),
            exchanges,
            by,
        }
    }

    /// Of a process whose attempts at an end failed: how many of its probes elsewhere went well.
    pub(super) fn elsewhere(&self, to: End, process: i32, checks: &Checks<'_>) -> Option<u64> {
        let known_down = checks.serving(to).any(|pid| pid != process);
        if self.serve.contains(&process) || !known_down {
            return None;
        }
        let all = self.by.get(&process)?;
        let here = |o: &OpenRow| o.to.is_some_and(|(a, p)| (a.to_canonical(), p) == to);
        let failed: Vec<&OpenRow> = all.iter().copied().filter(|o| here(o)).collect();
        let probed =
            |o: &&OpenRow| o.end == OpenEnd::Established && !here(o) && o.to.is_some_and(|(_, port)| port == to.1);
        let stood: Vec<&OpenRow> = all.iter().copied().filter(probed).collect();
        let short = |o: &OpenRow| {
            let exchanges = o.connection.and_then(|c| self.exchanges.get(&c));
            exchanges.is_none_or(|n| *n <= 1)
        };
        let enough = stood.len() >= LEAST.max(failed.len().div_ceil(OTHERS));
        (enough
            && stood.iter().all(|o| short(o))
            && all_along(self.facts, &failed)
            && all_along(self.facts, &stood)
            && steady(all, here))
        .then_some(stood.len() as u64)
    }

    pub(super) fn facts(&self) -> &'f Facts {
        self.facts
    }

    /// Whether a process serves somebody.
    pub(super) fn serves(&self, process: i32) -> bool {
        self.serve.contains(&process)
    }
}

/// From the begin of the recording to its end; in order of time. What comes seldom is no further from these than from each other.
pub(super) fn all_along(facts: &Facts, of: &[&OpenRow]) -> bool {
    let ends = facts.capture.start_ns.zip(facts.capture.end_ns);
    let mut gaps: Vec<i64> = of
        .windows(2)
        .map(|w| w[1].start_ns.saturating_sub(w[0].start_ns))
        .collect();
    gaps.sort_unstable();
    let gap = gaps.get(gaps.len() / 2).copied().unwrap_or(0);
    let within = |(from, to): (i64, i64)| {
        let edge = (to.saturating_sub(from) / EDGE).max(gap);
        let (first, last) = (of.first()?, of.last()?);
        Some(first.start_ns <= from.saturating_add(edge) && last.start_ns >= to.saturating_sub(edge))
    };
    ends.and_then(within).unwrap_or(false)
}

/// Whether it goes on no sooner after what fails here than after what stood.
fn steady(all: &[&OpenRow], here: impl Fn(&OpenRow) -> bool) -> bool {
    let pauses = |of: &dyn Fn(&OpenRow) -> bool| -> Vec<i64> {
        let next = all.windows(2).filter_map(|w| match w {
            [a, b] if of(a) => Some(b.start_ns.saturating_sub(a.end_ns)),
            _ => None,
        });
        let mut pauses: Vec<i64> = next.collect();
        pauses.sort_unstable();
        pauses
    };
    let failed = pauses(&|o| here(o));
    let stood = pauses(&|o| o.end == OpenEnd::Established);
    let at = |of: &[i64], part: usize| of.get(of.len() / part).copied();
    let alike = |part: usize| {
        let both = at(&failed, part).zip(at(&stood, part));
        // Where attempts overlap nothing tells which came after which.
        both.is_some_and(|(failed, stood)| failed > 0 && stood > 0 && failed.saturating_mul(PAUSES) >= stood)
    };
    failed.len().min(stood.len()) >= LEAST && alike(2) && alike(4)
}
