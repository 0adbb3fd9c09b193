//! Attempts that fail beside work that goes well: nobody is known to have waited for them, and what they try was there for nobody in the recording.
//!
//! ```text
//! probes  a monitor that probes others as well, and a balancer's check finds that end down, too     a standby ([`super::probers`]), whatever their number
//! out     a server's process that works by another address of that port all the time               a server that is out ([`super::pooled`]), whatever their number
//! down    the same, at even distances, at one that is reached before                              a server that is restarted ([`super::restarted`]); else
//! all: fewer than twenty attempts at that end, of one or two addresses
//! pool    its process works by another address of that port, oftener than it tries this one     a server that is out
//! many    its address and program try many ends, and this one seldom                             a monitor, a scanner, a list of addresses
//! family  each is followed at once by one of its process to that port by the other family, which stands ([`super::family`]), whatever their number
//! few     neither                                                                                a target that is gone, a probe, a single program's outage
//! ```
//! Needs `opens`, `connections`, `turnarounds`. Inferred. Must not take for one: an end that anybody has reached, or that data went to, but for somebody's try from elsewhere, and for one that a rule refuses to
//! this address by ICMP, which never got there while others did before and behind; attempts during which an answer of their process waited, of whose time they were a large part; what failed
//! for want of a port; several of few, or a patient one, none of which was answered by ICMP, at an end at which a socket of this recording listens or that sent SYN-ACKs again: somebody is there; any where events were lost. Few attempts may hurt their own program: they are told, but nothing shows that anybody else misses what they try.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use rustc_hash::{FxHashMap, FxHashSet};

use super::checks::{checks, waited};
use super::probers::Probers;
use super::{family, pooled, restarted};
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
    /// Probes of other ends by its process that went well.
    Probes(u64),
    /// An address of the other family, which was taken at once each time.
    Family {
        /// `address:port`.
        then: String,
        /// The longest time from the begin of an attempt until that one stood, ns.
        within_ns: i64,
    },
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

/// Fewest attempts at an end where somebody is that are more than somebody's try, and the time of one that is: a third SYN is due then, ns.
const MEANT: usize = 3;
const PATIENT_NS: i64 = 3_000_000_000;

/// Of an attempt.
pub(crate) struct Asides<'f> {
    facts: &'f Facts,
    /// See [`reached`].
    reached: FxHashMap<End, (i64, i64)>,
    of: FxHashMap<(End, i32), Aside>,
    /// Of calls that had no socket yet, for which no neighbour answered, by process.
    calls: FxHashMap<i32, Aside>,
}

impl Asides<'_> {
    pub(crate) fn of(&self, o: &OpenRow) -> Option<&Aside> {
        let pid = self.facts.process(o.pid);
        match o.to {
            Some(to) => self.of.get(&(canonical(to), pid)),
            None => self.calls.get(&pid).filter(|_| o.error == Some(pooled::UNANSWERED)),
        }
    }

    /// Nobody reached the end of an attempt of a known process, also before the recording, and no event was lost that would say otherwise.
    pub(super) fn nobody(&self, o: &OpenRow) -> bool {
        let reached = o.to.is_none_or(|to| self.reached.contains_key(&canonical(to)));
        o.pid > 0 && !reached && self.facts.gaps.is_empty()
    }
}

fn canonical((a, p): End) -> End {
    (a.to_canonical(), p)
}

/// When somebody reached an end first and last: a connection stood, or had data.
fn reached(facts: &Facts) -> FxHashMap<End, (i64, i64)> {
    let stood = facts.opens.iter().filter(|o| o.end == OpenEnd::Established);
    let stood = stood.filter_map(|o| Some((o.to?, o.start_ns, o.start_ns)));
    let spoke = facts.connections.iter().filter(|c| c.bytes_in > 0 || c.bytes_out > 0);
    let spoke = spoke.filter_map(|c| Some(((c.daddr?, c.dport), c.first_ns, c.last_ns)));
    let mut all: FxHashMap<End, (i64, i64)> = FxHashMap::default();
    for (end, first, last) in stood.chain(spoke) {
        let of = all.entry(canonical(end)).or_insert((first, last));
        *of = (of.0.min(first), of.1.max(last));
    }
    all
}

/// All of them; none where events are lost: an answer that waited may be among these.
pub(crate) fn asides(facts: &Facts) -> Asides<'_> {
    let mut of = FxHashMap::default();
    let reached = reached(facts);
    if !facts.gaps.is_empty() {
        return Asides {
            facts,
            reached,
            of,
            calls: FxHashMap::default(),
        };
    }
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
    // By whoever has an address and a name in common: attempts, and the longest.
    let mut tries: FxHashMap<(End, Source), (usize, i64)> = FxHashMap::default();
    for ((to, _), rows) in &tried {
        for o in rows {
            let of = tries.entry((*to, source(o))).or_default();
            *of = (of.0 + 1, of.1.max(o.total_ns()));
        }
    }
    let a_try = |to: End, rows: &[&OpenRow]| {
        let short = |o: &&OpenRow| {
            tries
                .get(&(to, source(o)))
                .is_some_and(|t| t.0 < MEANT && t.1 < PATIENT_NS)
        };
        rows.iter().all(short)
    };
    let down: BTreeMap<(End, i32), Vec<&OpenRow>> = (tried.iter())
        .filter(|((to, _), _)| reached.contains_key(to))
        .map(|(key, rows)| (*key, rows.clone()))
        .collect();
    // What others reach is there, but one or two tries from elsewhere hurt nobody; before and behind, a rule refuses it to this address, as ICMP tells.
    tried.retain(|(to, _), rows| match reached.get(to) {
        None => true,
        Some((first, last)) => {
            let meanwhile = |o: &OpenRow| o.message && *first < o.start_ns && o.end_ns < *last;
            (a_try(*to, rows) || rows.iter().any(|o| meanwhile(o)))
                && !rows.iter().any(|o| got_there.contains(&(source(o).0, *to)))
        }
    });
    // Where processes got through, by port; and what addresses and programs tried.
    let mut worked: FxHashMap<(i32, u16), BTreeMap<End, usize>> = FxHashMap::default();
    let mut all: FxHashMap<Source, (usize, BTreeSet<End>)> = FxHashMap::default();
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
    let most = worked.iter().filter_map(|(of, ends)| {
        let most = ends.iter().max_by_key(|s| (s.1, std::cmp::Reverse(s.0)))?;
        Some((*of, (*most.0, *most.1)))
    });
    let most: FxHashMap<(i32, u16), (End, usize)> = most.collect();
    // Attempts at an end, by whom, and by which addresses.
    let mut at: FxHashMap<End, (usize, BTreeSet<Option<IpAddr>>)> = FxHashMap::default();
    let mut theirs: FxHashMap<(End, Source), usize> = FxHashMap::default();
    for ((to, _), rows) in &tried {
        let (attempts, users) = at.entry(*to).or_default();
        *attempts += rows.len();
        users.extend(rows.iter().map(|o| source(o).0));
        for o in rows {
            *theirs.entry((*to, source(o))).or_default() += 1;
        }
    }
    let waited_of = |tried| waited(facts, tried);
    let (waited, answers) = (waited_of(&tried), answering(facts));
    let there = |(ip, port): End| {
        let at = SocketAddr::new(ip, port);
        answers.contains(&at) || facts.spaces.listens(at)
    };
    let there_is_none = |to: &End| !reached.contains_key(to) && !there(*to);
    let probers = LazyCell::new(|| (Probers::of(facts), checks(facts)));
    let many = |to: &End| at.get(to).is_some_and(|of| of.0 >= FEW || of.1.len() >= USERS);
    let nobodys: BTreeMap<(End, i32), &[&OpenRow]> = (tried.iter())
        .filter(|((to, _), _)| many(to) && there_is_none(to))
        .map(|(key, rows)| (*key, rows.as_slice()))
        .collect();
    let outs = match nobodys.is_empty() {
        true => BTreeMap::new(),
        false => pooled::out(facts, &nobodys, &waited, (&probers.0, &probers.1)),
    };
    let pool = |end: &End| Aside::Pool(super::end(Some(*end)));
    of.extend(outs.iter().map(|(key, end)| (*key, pool(end))));
    if !down.is_empty() {
        let checked = restarted::restarted(facts, &down, &waited_of(&down), &probers.0);
        of.extend(checked.iter().map(|(key, end)| (*key, pool(end))));
    }
    let family = |t: &family::Taken| Aside::Family {
        then: super::end(Some(t.then)),
        within_ns: t.within_ns,
    };
    for (key, t) in family::taken(facts, &tried)
        .iter()
        .filter(|(key, _)| !waited.contains_key(key))
    {
        of.entry(*key).or_insert_with(|| family(t));
    }
    for (key, rows) in tried.iter().filter(|(key, _)| !waited.contains_key(key)) {
        let (to, pid) = *key;
        if of.contains_key(key) {
            continue;
        }
        let Some((attempts, _)) = at.get(&to) else { continue };
        if many(&to) {
            // Whom else it fails may miss it.
            let alone = || {
                let who = tried.keys().filter(|(end, _)| *end == to).map(|(_, pid)| *pid);
                who.filter(|other| *other != pid)
                    .all(|other| probers.1.serving(to).any(|p| p == other))
            };
            let probes = (there_is_none(&to) && alone())
                .then(|| probers.0.elsewhere(to, pid, &probers.1))
                .flatten();
            of.extend(probes.map(|n| (*key, Aside::Probes(n))));
            continue;
        }
        let sibling = most.get(&(pid, to.1)).filter(|s| s.1 >= rows.len());
        let seldom = |source: &Source| {
            let (all, ends) = all.get(source)?;
            let here = theirs.get(&(to, *source))?;
            (ends.len() >= MANY && here.saturating_mul(SELDOM) <= *all).then_some(ends.len() as u64)
        };
        let many: Option<Vec<u64>> = rows.iter().map(|o| seldom(&source(o))).collect();
        let aside = match (sibling, many.and_then(|m| m.into_iter().max())) {
            (Some((end, _)), _) => Aside::Pool(super::end(Some(*end))),
            (None, Some(ends)) => Aside::Many(ends),
            // Who refuses by ICMP means to.
            (None, None) if !a_try(to, rows) && there(to) && rows.iter().all(|o| !o.message) => continue,
            (None, None) => Aside::Few(*attempts as u64),
        };
        of.insert(*key, aside);
    }
    let calls = pooled::unanswered(&tried, &outs);
    let calls = calls.iter().map(|(process, end)| (*process, pool(end))).collect();
    Asides {
        facts,
        reached,
        of,
        calls,
    }
}

/// Who sent SYN-ACKs again.
fn answering(facts: &Facts) -> FxHashSet<SocketAddr> {
    facts.retransmits.iter().filter_map(|r| Some(r.synack?.0)).collect()
}

/// Who tries: programs that are started for each attempt have an address in common.
type Source = (Option<IpAddr>, Name);

fn source(o: &OpenRow) -> Source {
    (o.from.map(|f| f.0.to_canonical()), o.task)
}

/// Sockets of such attempts.
pub(crate) fn beside_work(facts: &Facts) -> FxHashSet<ConnectionId> {
    let asides = asides(facts);
    let of = facts.opens.iter().filter(|o| asides.of(o).is_some());
    of.filter_map(|o| o.connection).collect()
}
