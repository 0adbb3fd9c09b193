//! Frames that go round through bridges: a loop without a spanning tree.
//!
//! ```text
//! bridge A ── up1 ── bridge B          one skb:  rx up1, queue up2, rx up2, queue up1, rx up1, ...
//!    └─────── up2 ──────┘
//! ```
//! In: `hops`, and which devices are ports of bridges (`links` of the snapshots: without these nothing is said). A bridge takes nothing off a TTL, and its copies of a flooded frame are
//! skbs of their own, so an skb that comes by the same port again, without any other device between, went round. Devices of several namespaces may have one name:
//! it is a loop where it comes by more often than twice for each of these. Limits: only switches of this recording; to a single host's recording each turn brings a new skb.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::explain::{Id, Kind};
use crate::facts::{Facts, SkbId};
use crate::name::Name;

/// Fewest frames that went round, and for how long at least: a tree that is being made lets some by.
const FRAMES: u64 = 10;
const LEAST_NS: i64 = 100_000_000;
/// Arrivals at a port for each device of its name: one more is a loop.
const EACH: u64 = 2;
/// Ports that are named: those with most arrivals.
const PORTS: usize = 4;

/// Frames that went round.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Circling {
    /// Lives of skbs that did.
    pub frames: u64,
    /// Arrivals of the one that came to the same port most often.
    pub most: u64,
    /// That one.
    pub example: Option<Id>,
    /// Ports by which they went round, most arrivals first.
    pub ports: Vec<String>,
    /// Of these ports one by which nothing went before, and when it first did, ns since the start of the recording.
    pub new: Option<(String, i64)>,
    /// First and last arrival of them, ns since the start of the recording.
    pub within_ns: (i64, i64),
}

/// Ports that an skb came to, with how often, since it was at another device.
type Round = Vec<(Name, u64)>;

/// One that went round.
struct Frame {
    skb: SkbId,
    first_ns: i64,
    last_ns: i64,
    most: u64,
}

/// Asks.
pub fn circling(facts: &Facts) -> Option<Circling> {
    let links = &facts.routes.links;
    // Arrivals up to which a port may be several.
    let mut ports: FxHashMap<Name, Option<u64>> = FxHashMap::default();
    let mut at_port = |dev: Name| {
        *ports.entry(dev).or_insert_with(|| {
            let name = dev.text();
            let is = links.is_port(&name) == Some(true);
            is.then(|| links.namespaces(&name).max(1).saturating_mul(EACH))
        })
    };
    let often = arrives_often(facts, &mut at_port);
    if often.is_empty() {
        return None;
    }
    let mut rounds: FxHashMap<SkbId, Round> = FxHashMap::default();
    let mut frames: BTreeMap<SkbId, Frame> = BTreeMap::new();
    let mut arrivals: BTreeMap<Name, u64> = BTreeMap::new();
    for h in facts.hops.iter().filter(|h| often.contains(&h.skb_id)) {
        let Some(few) = at_port(h.dev) else {
            rounds.remove(&h.skb_id);
            continue;
        };
        if h.kind != "rx" || !h.confidence.is_solid() {
            continue;
        }
        let round = rounds.entry(h.skb_id).or_default();
        let n = match round.iter_mut().find(|(dev, _)| *dev == h.dev) {
            Some((_, n)) => {
                *n = n.saturating_add(1);
                *n
            }
            None => {
                round.push((h.dev, 1));
                1
            }
        };
        if n > few {
            let frame = frames.entry(h.skb_id).or_insert(Frame {
                skb: h.skb_id,
                first_ns: h.time_ns,
                last_ns: h.time_ns,
                most: n,
            });
            frame.last_ns = h.time_ns;
            frame.most = frame.most.max(n);
            *arrivals.entry(h.dev).or_default() += 1;
        }
    }
    if (frames.len() as u64) < FRAMES {
        return None;
    }
    let mut by: Vec<(Name, u64)> = arrivals.into_iter().collect();
    by.sort_by_key(|(dev, n)| (std::cmp::Reverse(*n), *dev));
    by.truncate(PORTS);
    let start = facts.capture.start_ns.unwrap_or(0);
    let begins = frames.values().map(|f| f.first_ns).min()?;
    let ends = frames.values().map(|f| f.last_ns).max()?;
    if ends.saturating_sub(begins) < LEAST_NS {
        return None;
    }
    let longest = frames.values().max_by_key(|f| (f.most, std::cmp::Reverse(f.skb)))?;
    Some(Circling {
        frames: frames.len() as u64,
        most: longest.most,
        example: Id::at(Kind::Skb, longest.skb.0 as usize),
        new: new_port(facts, &by, begins).map(|(dev, at)| (dev.text().into_owned(), at.saturating_sub(start))),
        ports: by.iter().map(|(dev, _)| dev.text().into_owned()).collect(),
        within_ns: (begins.saturating_sub(start), ends.saturating_sub(start)),
    })
}

/// The few that came to ports often enough to be looked at.
fn arrives_often(facts: &Facts, at_port: &mut impl FnMut(Name) -> Option<u64>) -> FxHashSet<SkbId> {
    let mut arrivals: Vec<u8> = vec![0; facts.skbs.len()];
    let mut often = FxHashSet::default();
    for h in facts.hops.iter().filter(|h| h.kind == "rx") {
        if at_port(h.dev).is_none() {
            continue;
        }
        if let Some(n) = arrivals.get_mut(h.skb_id.0 as usize) {
            *n = n.saturating_add(1);
            if u64::from(*n) > EACH {
                often.insert(h.skb_id);
            }
        }
    }
    often
}

/// The port that was silent while others of them were not, and began nearest before frames went round.
fn new_port(facts: &Facts, ports: &[(Name, u64)], begins_ns: i64) -> Option<(Name, i64)> {
    let mut first: BTreeMap<Name, i64> = BTreeMap::new();
    for h in facts.hops.iter().take_while(|h| h.time_ns <= begins_ns) {
        if ports.iter().any(|(dev, _)| *dev == h.dev) {
            first.entry(h.dev).or_insert(h.time_ns);
        }
    }
    let (dev, at) = first.iter().max_by_key(|(dev, at)| (**at, **dev))?;
    let others = first.values().min()?;
    // It went round at once: the time before is many times what lies between.
    let silent = at.saturating_sub(*others);
    let between = begins_ns.saturating_sub(*at);
    (first.len() > 1 && between.saturating_mul(2) < silent).then_some((*dev, *at))
}
