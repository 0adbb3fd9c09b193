//! Attempts that failed while their thread went on with an address of the other family: a name with an IPv6 and an IPv4 address, of which
//! the first does not answer. Two addresses of one family may be two calls.
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

use rustc_hash::FxHashMap;

use crate::facts::Facts;
use crate::reconstruct::opens::tables::{End, OpenEnd, OpenRow};
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

/// Attempts of a thread to a port of one family that stood, ascending, and how many of these are the one of another attempt.
type Stood<'o> = FxHashMap<(i32, u16, bool), (Vec<&'o OpenRow>, usize)>;

/// The attempt that the same thread made instead; of a thread that has many under way each is the one of one, in their order.
fn instead<'o>(stood: &mut Stood<'o>, r: &OpenRow) -> Option<&'o OpenRow> {
    let (to, port) = r.to?;
    let (of, taken) = stood.get_mut(&(r.pid, port, !to.is_ipv4()))?;
    let from = of.partition_point(|o| o.start_ns < r.start_ns.saturating_add(WAITED_NS));
    let at = from.max(*taken);
    let other = *of.get(at)?;
    if other.start_ns > r.end_ns.saturating_add(AT_ONCE_NS) {
        return None;
    }
    *taken = at.saturating_add(1);
    Some(other)
}

/// The device on which an address was asked for without ever becoming known.
fn unresolved(facts: &Facts, address: IpAddr) -> Option<String> {
    let mut rows = facts.neighbours.iter().filter(|n| n.address == address).peekable();
    let dev = rows.peek()?.dev;
    let known = |h: Option<crate::reconstruct::neighbours::tables::Held>| h.is_some_and(|h| h.valid().is_some());
    rows.all(|n| n.dev == dev && !known(n.before) && !known(n.after))
        .then(|| dev.text().into_owned())
}

pub(crate) fn fallbacks(facts: &Facts) -> Vec<Fallback> {
    let mut by: BTreeMap<_, Vec<(&OpenRow, &OpenRow)>> = BTreeMap::new();
    let mut failed: Vec<&OpenRow> = (facts.opens.iter()).collect();
    failed.sort_by_key(|r| r.start_ns);
    let failed = failed.into_iter().filter(|r| {
        let end = matches!(r.end, OpenEnd::GivenUp | OpenEnd::Unreachable | OpenEnd::TimedOut);
        end && r.pid != 0 && r.confidence.is_solid()
    });
    let mut stood: Stood<'_> = FxHashMap::default();
    for o in facts.opens.iter().filter(|o| o.end == OpenEnd::Established) {
        if let Some((to, port)) = o.to {
            stood.entry((o.pid, port, to.is_ipv4())).or_default().0.push(o);
        }
    }
    for (of, _) in stood.values_mut() {
        of.sort_by_key(|o| o.start_ns);
    }
    for r in failed {
        if let Some(other) = instead(&mut stood, r) {
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
        unresolved_on: to.and_then(|(a, _): End| unresolved(facts, a)).unwrap_or_default(),
    };
    let mut found: Vec<Fallback> = by.into_iter().map(of).collect();
    found.sort_by_key(|f| std::cmp::Reverse(f.attempts));
    found
}
