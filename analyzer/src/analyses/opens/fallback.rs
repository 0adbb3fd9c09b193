//! Attempts that came to nothing while their thread went on with another address: a name with several, of which the first does not answer.
//!
//! Needs `opens` and `neighbours`. That both addresses are of one name is inferred: one thread, one port, the second attempt begun while
//! the first one waited or at once after its end.
//!
//! ```text
//! connect A ─────── no answer ───────────────── given up, or no route
//!            at least WAITED_NS ─ connect B ─ established
//! ```

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::facts::Facts;
use crate::reconstruct::opens::tables::{OpenEnd, OpenRow};
use crate::stat::Distribution;

/// Shortest wait before the other address that is told, ns.
const WAITED_NS: i64 = 20_000_000;
/// Longest time from the end of the attempt to the next, ns.
const AT_ONCE_NS: i64 = 5_000_000;
/// Fewest attempts.
const FEWEST: usize = 2;

/// Attempts to one address after which another one was taken.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Fallback {
    /// Where to, `address:port`.
    pub to: String,
    /// What was taken then.
    pub then: String,
    /// Task that opened the other.
    pub task: String,
    /// Attempts.
    pub attempts: u64,
    /// Of them, those that ended with no route.
    pub unreachable: u64,
    /// Begin of the attempt to the begin of the other.
    pub waited: Distribution,
    /// The other: how long it took to stand.
    pub stood: Distribution,
    /// Device on which the neighbour's address was asked for, and never known in this recording; empty: not recorded, or it was.
    pub unresolved_on: String,
}

/// The attempt that the same thread made instead.
fn instead<'o>(opens: &'o [OpenRow], r: &OpenRow) -> Option<&'o OpenRow> {
    let (to, port) = r.to?;
    let later = opens.iter().filter(|o| {
        let when = r.start_ns.saturating_add(WAITED_NS)..=r.end_ns.saturating_add(AT_ONCE_NS);
        o.pid == r.pid && o.end == OpenEnd::Established && when.contains(&o.start_ns)
    });
    let mut later = later.filter(|o| o.to.is_some_and(|(a, p)| p == port && a != to));
    later.next()
}

/// The device on which an address was asked for without ever becoming known.
fn unresolved(facts: &Facts, address: IpAddr) -> Option<String> {
    let mut rows = facts.neighbours.iter().filter(|n| n.address == address).peekable();
    let dev = rows.peek()?.dev;
    let known = |h: Option<crate::reconstruct::neighbours::tables::Held>| h.is_some_and(|h| h.valid().is_some());
    rows.all(|n| n.dev == dev && !known(n.before) && !known(n.after))
        .then(|| dev.text().into_owned())
}

pub(super) fn fallbacks(facts: &Facts) -> Vec<Fallback> {
    let mut by: BTreeMap<_, Vec<(&OpenRow, &OpenRow)>> = BTreeMap::new();
    let failed = facts.opens.iter().filter(|r| {
        let end = matches!(r.end, OpenEnd::GivenUp | OpenEnd::Unreachable | OpenEnd::TimedOut);
        end && r.pid != 0 && r.confidence.is_solid()
    });
    for r in failed {
        if let Some(other) = instead(&facts.opens, r) {
            by.entry((r.to, other.to)).or_default().push((r, other));
        }
    }
    by.retain(|_, of| of.len() >= FEWEST);
    let of = |((to, then), of): (_, Vec<(&OpenRow, &OpenRow)>)| Fallback {
        to: super::end(to),
        then: super::end(then),
        task: of.first().map_or_else(String::new, |(_, o)| o.task.text().into_owned()),
        attempts: of.len() as u64,
        unreachable: of.iter().filter(|(r, _)| r.end == OpenEnd::Unreachable).count() as u64,
        waited: Distribution::of(
            of.iter().map(|(r, o)| o.start_ns.saturating_sub(r.start_ns)).collect(),
            0,
        ),
        stood: Distribution::of(of.iter().map(|(_, o)| o.total_ns()).collect(), 0),
        unresolved_on: to
            .and_then(|(a, _): (IpAddr, u16)| unresolved(facts, a))
            .unwrap_or_default(),
    };
    let mut found: Vec<Fallback> = by.into_iter().map(of).collect();
    found.sort_by_key(|f| std::cmp::Reverse(f.attempts));
    found
}
