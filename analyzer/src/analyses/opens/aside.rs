//! Attempts that fail beside work that goes well: nobody is known to have waited for them, and what they try was there for nobody in the recording.
//!
//! ```text
//! pool    its process works by another address of that port, oftener than it tries this one     a server that is out
//! many    its address and program try many ends, and this one seldom                             a monitor, a scanner, a list of addresses
//! few     fewer than twenty attempts in all, of one or two addresses                             a target that is gone, a probe, a single program's outage
//! ```
//! Needs `opens`, `connections`, `turnarounds`. Inferred. Must not take for one: an end that anybody has reached, or that data went to, but for one that a rule refuses to
//! this address by ICMP, which never got there; attempts during which an
//! answer of their process waited, of whose time they were a large part; what failed for want of a port. Few attempts may hurt their own program: they are told, but
//! nothing shows that anybody else misses what they try.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use rustc_hash::{FxHashMap, FxHashSet};

use super::checks::waited;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::opens::tables::{End, OpenEnd, OpenRow};

/// Beside which work.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Aside {
    /// Another address of that port, by which its process works: `address:port`.
    Pool(String),
    /// Ends that its address and program tried.
    Many(u64),
    /// Attempts at that end, few in all.
    Few(u64),
}

/// How attempts end where nobody is.
const ENDS: [OpenEnd; 5] = [
    OpenEnd::Refused,
    OpenEnd::Unreachable,
    OpenEnd::GivenUp,
    OpenEnd::TimedOut,
    OpenEnd::Waiting,
];
/// Fewest ends that are many, and this one has at most one in so many of the attempts.
const MANY: usize = 5;
const SELDOM: usize = 4;
/// Fewer attempts at an end are few, of fewer addresses than so many.
const FEW: usize = 20;
const USERS: usize = 3;

/// Of an attempt.
pub(super) struct Asides<'f> {
    facts: &'f Facts,
    of: FxHashMap<(End, i32), Aside>,
}

impl Asides<'_> {
    pub(super) fn of(&self, o: &OpenRow) -> Option<&Aside> {
        self.of.get(&(canonical(o.to?), self.facts.process(o.pid)))
    }
}

fn canonical((a, p): End) -> End {
    (a.to_canonical(), p)
}

/// Ends that somebody reached: a connection stood, or had data.
fn reached(facts: &Facts) -> FxHashSet<End> {
    let stood = facts.opens.iter().filter(|o| o.end == OpenEnd::Established);
    let spoke = facts.connections.iter().filter(|c| c.bytes_in > 0 || c.bytes_out > 0);
    let remote = spoke.filter_map(|c| Some((c.daddr?, c.dport)));
    stood.filter_map(|o| o.to).chain(remote).map(canonical).collect()
}

/// All of them.
pub(super) fn asides(facts: &Facts) -> Asides<'_> {
    let reached = reached(facts);
    let mut tried: BTreeMap<(End, i32), Vec<&OpenRow>> = BTreeMap::new();
    for o in facts.opens.iter().filter(|o| ENDS.contains(&o.end) && o.pid > 0) {
        if let Some(to) = o.to.map(canonical) {
            tried.entry((to, facts.process(o.pid))).or_default().push(o);
        }
    }
    let got_there: FxHashSet<(Option<IpAddr>, End)> = (facts.opens.iter())
        .filter(|o| o.end == OpenEnd::Established)
        .filter_map(|o| Some((source(o).0, canonical(o.to?))))
        .collect();
    tried.retain(|(to, _), rows| {
        let refused = rows.iter().any(|o| o.message);
        let ever = rows.iter().any(|o| got_there.contains(&(source(o).0, *to)));
        !reached.contains(to) || refused && !ever
    });
    // Where processes got through, by port; and what addresses and programs tried.
    let mut worked: FxHashMap<(i32, u16), BTreeMap<End, usize>> = FxHashMap::default();
    let mut all: FxHashMap<(Option<IpAddr>, Name), (usize, BTreeSet<End>)> = FxHashMap::default();
    for o in &facts.opens {
        let Some(to) = o.to.map(canonical) else { continue };
        if o.end == OpenEnd::Established {
            let by = worked.entry((facts.process(o.pid), to.1)).or_default();
            *by.entry(to).or_default() += 1;
        }
        let (attempts, ends) = all.entry(source(o)).or_default();
        *attempts += 1;
        ends.insert(to);
    }
    let mut at: FxHashMap<End, (usize, BTreeSet<Option<IpAddr>>)> = FxHashMap::default();
    for ((to, _), rows) in &tried {
        let (attempts, users) = at.entry(*to).or_default();
        *attempts += rows.len();
        users.extend(rows.iter().map(|o| source(o).0));
    }
    let waited = waited(facts, &tried);
    let of = tried
        .iter()
        .filter(|(key, _)| !waited.contains(key))
        .filter_map(|(key, rows)| {
            let (to, pid) = *key;
            let siblings = worked.get(&(pid, to.1));
            let sibling = siblings.and_then(|of| of.iter().max_by_key(|s| (s.1, std::cmp::Reverse(s.0))));
            if let Some((end, _)) = sibling.filter(|s| *s.1 >= rows.len()) {
                return Some((*key, Aside::Pool(super::end(Some(*end)))));
            }
            let many = rows.iter().filter_map(|o| all.get(&source(o)));
            let seldom = |a: &&(usize, BTreeSet<End>)| a.1.len() >= MANY && rows.len().saturating_mul(SELDOM) <= a.0;
            if let Some((_, ends)) = many.max_by_key(|a| a.1.len()).filter(seldom) {
                return Some((*key, Aside::Many(ends.len() as u64)));
            }
            let (attempts, users) = at.get(&to)?;
            let few = *attempts < FEW && users.len() < USERS;
            few.then_some((*key, Aside::Few(*attempts as u64)))
        });
    let of = of.collect();
    Asides { facts, of }
}

/// Who tries: programs that are started for each attempt have an address in common.
fn source(o: &OpenRow) -> (Option<IpAddr>, Name) {
    (o.from.map(|f| f.0.to_canonical()), o.task)
}

/// Sockets of such attempts.
pub(crate) fn beside_work(facts: &Facts) -> FxHashSet<ConnectionId> {
    let asides = asides(facts);
    let of = facts.opens.iter().filter(|o| asides.of(o).is_some());
    of.filter_map(|o| o.connection).collect()
}
