//! Frames that go round through bridges: a loop without a spanning tree.
//!
//! ```text
//! bridge A ── up1 ── bridge B          one skb:  rx up1, queue up2, rx up2, queue up1, rx up1, ...
//!    └─────── up2 ──────┘
//! ```
//! In: `hops`, and which devices are ports of bridges (`links` of the snapshots: without these nothing is said). A bridge takes nothing off a TTL, so a frame that comes by the same port again, without any other device between, went
//! round. Its copies of a flooded frame are skbs of their own, queued on other ports of that bridge right behind its arrival by the same CPU, as long but for the link header: they have been where it was. Which of several such frames it was that a copy is of may be mistaken; but all came to this
//! bridge, by another port than the copy leaves by, and where links are a tree none of them can have been at a port that the copy is still to come to. Devices of several namespaces may have one name: it is a loop where a frame comes by more often than twice for each of
//! these, and copies of such are not followed. Limits: only switches of this recording; to a single host's recording each turn brings a new skb.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::explain::{Id, Kind};
use crate::facts::{Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::drops::{BRIDGE_NS, LINK_HEADERS};
use crate::reconstruct::skb::tables::HopRow;

/// Fewest frames that went round, and for how long at least: a tree that is being made lets some by.
const FRAMES: u64 = 10;
const LEAST_NS: i64 = 100_000_000;
/// Arrivals at a port for each device of its name: one more is a loop.
const EACH: u64 = 2;
/// Frames that are followed at a time, and how long one may lie in the queue of a port, ns.
const MANY: usize = 200_000;
const LONG_NS: i64 = 2_000_000_000;
/// Ports that are named: those with most arrivals.
const PORTS: usize = 4;

/// Frames that went round.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Circling {
    /// skbs that did: copies of one are many.
    pub frames: u64,
    /// Arrivals of the skb that came to the same port most often itself; 1: all went round as copies.
    pub most: u64,
    /// That one, else the first that did.
    pub example: Option<Id>,
    /// Ports by which they went round, most arrivals first.
    pub ports: Vec<String>,
    /// Of these ports one by which nothing went before, and when it first did, ns since the start of the recording.
    pub new: Option<(String, i64)>,
    /// First and last arrival of them, ns since the start of the recording.
    pub within_ns: (i64, i64),
}

/// A port that a frame came to: how often, with those that it is a copy of, and how often itself.
#[derive(Debug, Clone, Copy)]
struct At {
    dev: Name,
    n: u64,
    itself: u64,
}

/// Ports that a frame came to since it was at another device, and when it was last at one.
#[derive(Debug, Clone, Default)]
struct Round {
    ports: Vec<At>,
    last_ns: i64,
}

impl Round {
    /// One more arrival.
    fn comes(&mut self, dev: Name) -> At {
        let first = At { dev, n: 0, itself: 0 };
        let nth = self.ports.iter().position(|at| at.dev == dev);
        let nth = nth.unwrap_or_else(|| {
            self.ports.push(first);
            self.ports.len() - 1
        });
        self.ports.get_mut(nth).map_or(first, |at| {
            (at.n, at.itself) = (at.n.saturating_add(1), at.itself.saturating_add(1));
            *at
        })
    }

    /// Of a copy.
    fn copied(&self) -> Round {
        let mut copy = self.clone();
        copy.ports.iter_mut().for_each(|at| at.itself = 0);
        copy
    }
}

/// What is known of a port.
#[derive(Debug, Clone, Copy)]
struct Port {
    /// Arrivals up to which it may be several.
    few: u64,
    /// Of which bridge, where one alone has a port of that name.
    bridge: Option<u32>,
}

/// A frame that came to a bridge last on a CPU: copies of it, or of one like it, are queued next.
#[derive(Debug, Clone, Copy)]
struct Came {
    skb: SkbId,
    dev: Name,
    time_ns: i64,
    bytes: Option<u32>,
}

impl Came {
    /// Whether what is queued then may be a copy: by a run of the bridge, as long but for the link header, not back where it came from.
    fn has_copy(&self, h: &HopRow) -> bool {
        let longer = h.bytes.zip(self.bytes).map(|(q, c)| q.abs_diff(c));
        h.time_ns.saturating_sub(self.time_ns) <= BRIDGE_NS
            && h.dev != self.dev
            && longer.is_none_or(|d| LINK_HEADERS.contains(&d))
    }
}

/// One that went round.
struct Frame {
    skb: SkbId,
    first_ns: i64,
    last_ns: i64,
    most: u64,
}

/// Frames that went round, and arrivals of theirs by port.
#[derive(Default)]
struct Found {
    frames: BTreeMap<SkbId, Frame>,
    arrivals: BTreeMap<Name, u64>,
}

/// Follows frames through ports; what has been at none for long is forgotten.
fn follow(facts: &Facts) -> Found {
    let (links, devices) = (&facts.routes.links, &facts.multicast.devices);
    let mut bridges: BTreeMap<(u64, String), u32> = BTreeMap::new();
    let mut ports: FxHashMap<Name, Option<Port>> = FxHashMap::default();
    let mut at_port = |dev: Name| {
        *ports.entry(dev).or_insert_with(|| {
            let name = dev.text();
            let bridge = devices.bridge(&name).map(|(netns, of)| {
                let next = bridges.len() as u32;
                *bridges.entry((netns, of.to_owned())).or_insert(next)
            });
            let few = links.namespaces(&name).max(1).saturating_mul(EACH);
            (links.is_port(&name) == Some(true)).then_some(Port { few, bridge })
        })
    };
    let mut rounds: FxHashMap<SkbId, Round> = FxHashMap::default();
    let mut came: FxHashMap<(u16, u32), Came> = FxHashMap::default();
    let mut found = Found::default();
    for h in &facts.hops {
        let Some(port) = at_port(h.dev) else {
            rounds.remove(&h.skb_id);
            continue;
        };
        let here = port.bridge.map(|of| (h.cpu, of));
        if rounds.len() > MANY {
            rounds.retain(|_, r| r.last_ns >= h.time_ns.saturating_sub(LONG_NS));
            if rounds.len() > MANY {
                rounds.clear();
            }
        }
        if h.kind != "rx" {
            let copied = || came.get(&here?).filter(|c| h.kind == "queue" && c.has_copy(h));
            match rounds.get_mut(&h.skb_id) {
                Some(round) => round.last_ns = h.time_ns,
                None => {
                    let of = copied().and_then(|c| rounds.get(&c.skb)).map(Round::copied);
                    rounds.extend(of.map(|round| (h.skb_id, round)));
                }
            }
            continue;
        }
        if !h.confidence.is_solid() {
            continue;
        }
        let round = rounds.entry(h.skb_id).or_default();
        round.last_ns = h.time_ns;
        let at = round.comes(h.dev);
        let now = Came {
            skb: h.skb_id,
            dev: h.dev,
            time_ns: h.time_ns,
            bytes: h.bytes,
        };
        came.extend(here.map(|here| (here, now)));
        if at.n > port.few {
            let frame = found.frames.entry(h.skb_id).or_insert(Frame {
                skb: h.skb_id,
                first_ns: h.time_ns,
                last_ns: h.time_ns,
                most: 1,
            });
            frame.last_ns = h.time_ns;
            frame.most = frame.most.max(at.itself);
            *found.arrivals.entry(h.dev).or_default() += 1;
        }
    }
    found
}

/// Asks.
pub fn circling(facts: &Facts) -> Option<Circling> {
    if !facts.routes.links.has_ports() {
        return None;
    }
    let Found { frames, arrivals } = follow(facts);
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
