//! When each device was polled: stretches of the polls of all its NAPI instances, on whatever CPU or thread.
//!
//! In: the view `polls`. Out: the devices polled longest, in order of their names. Polls whose start is not known are in none.

use std::collections::BTreeMap;

use crate::facts::Facts;
use crate::name::Name;

/// Devices told.
pub const DEVICES: usize = 6;

/// A device, and when it was polled.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Polled {
    /// Device; `(no_device)`: the CPUs' backlogs.
    pub dev: String,
    /// Time in its polls, ns; polls on several CPUs at once count each.
    pub ns: i64,
    /// Polls.
    pub polls: u64,
    /// From, to, ns since the start; those nearer than `joined_ns` are one.
    pub stretches: Vec<(i64, i64)>,
}

/// The devices, and how many more there are.
pub(super) fn polled(facts: &Facts, start: i64, joined: i64) -> (Vec<Polled>, usize) {
    let mut of: BTreeMap<Name, Vec<(i64, i64)>> = BTreeMap::new();
    for (poll, from) in facts.polls.iter().filter_map(|p| Some((p, p.start_ns?))) {
        let to = poll.end_ns.max(from);
        of.entry(poll.dev)
            .or_default()
            .push((from.saturating_sub(start), to.saturating_sub(start)));
    }
    let mut all: Vec<Polled> = of.into_iter().map(|(dev, polls)| one(dev, polls, joined)).collect();
    all.sort_by(|a, b| b.ns.cmp(&a.ns).then_with(|| a.dev.cmp(&b.dev)));
    let more = all.len().saturating_sub(DEVICES);
    all.truncate(DEVICES);
    all.sort_by(|a, b| a.dev.cmp(&b.dev));
    (all, more)
}

fn one(dev: Name, mut polls: Vec<(i64, i64)>, joined: i64) -> Polled {
    polls.sort_unstable();
    let ns = polls
        .iter()
        .fold(0i64, |sum, (from, to)| sum.saturating_add(to.saturating_sub(*from)));
    let mut stretches: Vec<(i64, i64)> = vec![];
    for poll in &polls {
        super::join(&mut stretches, *poll, joined);
    }
    Polled {
        dev: dev.text().into_owned(),
        ns,
        polls: polls.len() as u64,
        stretches,
    }
}
