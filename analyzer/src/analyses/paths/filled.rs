//! A queue beyond this host that some connections fill, and others wait in: round trips of these while those had much under way, and while they had nothing.
//!
//! ```text
//! bytes of bulk connections under way  ____/‾‾‾‾‾‾\______/‾‾‾‾    (sent: between the device and its ACK; received: by the rate)
//! ACKs of others, one by one           ..........'''''''......''''  long in the one, short in the other, of the same remote hosts
//! ```
//! Measured: both, and that they go together. Inferred: that it is a queue, and which way. What waits in a queue of this host is none of it. A way that gets
//! longer by itself makes more of a steady flow be under way: so the rate must have grown, too.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use rustc_hash::FxHashMap;

use super::change::DELAYED_ACK_NS;
use super::samples::{Samples, Trip};
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::drops::tables::to_words;
use crate::reconstruct::transmit::tables::TxKind;
use crate::stat::nearest_rank;

/// Under way of a connection at once that is bulk, bytes.
const BULK: i64 = 16_000;
/// Under way of all bulk together, at least, and this part of the most that was; and next to nothing.
const MUCH: i64 = 20_000;
const NOTHING: i64 = 2_000;
const PART: i64 = 4;
/// Received in a tenth of a second, at least (1 Mbit/s), and the parts of the most from which it is much, or next to nothing.
const BIN_NS: i64 = 100_000_000;
const MUCH_IN_BIN: u64 = 12_500;
const HALF: u64 = 2;
const TENTH: u64 = 10;
/// So many tenths of a second after much was received, itself counted, a queue may still hold what was behind it.
const DRAINS: i64 = 11;
/// Round trips of a remote host on each side, and of all that rose.
const OF_A_HOST: usize = 5;
const OF_ALL: usize = 20;
/// Of those four in five of each side lie on theirs: a queue takes a while to fill, and to drain.
const CLEAR: f64 = 0.8;
/// Rose so many times, and by so much, ns.
const TIMES: i64 = 4;
const BY_NS: i64 = 10_000_000;
/// Bytes a second grew so many times.
const GREW: f64 = 3.0;
/// Gaps in what was under way that are none, ns.
const GAP_NS: i64 = 300_000_000;

/// Which way the bytes went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// This host sent them.
    Sent,
    /// It got them.
    Received,
}

/// Whose bytes, and who waited.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Filled {
    /// Which way.
    pub direction: Direction,
    /// Remote host of most of them.
    pub host: String,
    /// This host's end of most of these, `10.0.0.1:6379`.
    pub at: String,
    /// Program there.
    pub task: String,
    /// Connections of that host that moved so much, and bytes that they moved in these times.
    pub connections: u64,
    /// Bytes.
    pub bytes: u64,
    /// Bytes a second of all, in these times.
    pub rate_per_s: u64,
    /// When, ns since the start of the recording, in order.
    pub spells: Vec<(i64, i64)>,
    /// Remote hosts whose round trips were longer then.
    pub also: Vec<String>,
    /// Those whose were not.
    pub not: Vec<String>,
    /// Median of those outside of these times, and in them, ns.
    pub low_ns: i64,
    /// In them.
    pub high_ns: i64,
    /// How many, of each.
    pub low_n: u64,
    /// In them.
    pub high_n: u64,
}

/// What a moment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Load {
    Much,
    Some,
    None,
}

/// When there was how much, and who moved it.
struct Loads {
    direction: Direction,
    /// From when on, in order.
    steps: Vec<(i64, Load)>,
    end_ns: i64,
    /// Bytes moved: when, by whom.
    moved: Vec<(i64, ConnectionId, u64)>,
}

impl Loads {
    fn at(&self, ns: i64) -> Load {
        let at = self.steps.partition_point(|s| s.0 <= ns);
        at.checked_sub(1)
            .and_then(|at| self.steps.get(at))
            .map_or(Load::None, |s| s.1)
    }
    /// How long there was much, and next to nothing.
    fn lasted(&self) -> (i64, i64) {
        let ends = self.steps.iter().skip(1).map(|s| s.0).chain([self.end_ns]);
        let (mut much, mut none) = (0i64, 0i64);
        for ((from, load), to) in self.steps.iter().zip(ends) {
            let ns = to.saturating_sub(*from).max(0);
            match load {
                Load::Much => much = much.saturating_add(ns),
                Load::None => none = none.saturating_add(ns),
                Load::Some => {}
            }
        }
        (much, none)
    }
    /// Times in which there was much, short gaps aside.
    fn spells(&self, start_ns: i64) -> Vec<(i64, i64)> {
        let ends = self.steps.iter().skip(1).map(|s| s.0).chain([self.end_ns]);
        let mut all: Vec<(i64, i64)> = vec![];
        for ((from, load), to) in self.steps.iter().zip(ends) {
            let (from, to) = (from.saturating_sub(start_ns), to.saturating_sub(start_ns));
            match all.last_mut() {
                _ if *load != Load::Much => {}
                Some(last) if from.saturating_sub(last.1) < GAP_NS => last.1 = to,
                _ => all.push((from, to)),
            }
        }
        all
    }
    /// Bytes a second grew with it.
    fn grew(&self) -> Option<u64> {
        let (much, none) = self.lasted();
        let (mut inside, mut outside) = (0u64, 0u64);
        for (at, _, bytes) in &self.moved {
            match self.at(*at) {
                Load::Much => inside = inside.saturating_add(*bytes),
                Load::None => outside = outside.saturating_add(*bytes),
                Load::Some => {}
            }
        }
        let rate = |bytes: u64, ns: i64| bytes as f64 * 1e9 / ns.max(1) as f64;
        let (rate, before) = (rate(inside, much), rate(outside, none));
        (much > 0 && none > 0 && rate >= before * GREW).then_some(rate as u64)
    }
}

type Remote = FxHashMap<ConnectionId, IpAddr>;

/// Of what was sent.
fn sent(facts: &Facts, outside: &Remote, (start, end_ns): (i64, i64)) -> Loads {
    let rows = facts.tx.iter().filter(|r| r.kind == TxKind::Tcp);
    let of = rows.filter_map(|r| {
        let c = r.connection.filter(|c| outside.contains_key(c))?;
        Some((c, r.t_snd_ns?, r.t_ack_ns?, r.bytes?))
    });
    let (mut events, mut moved): (Vec<(i64, ConnectionId, i64)>, Vec<_>) = (vec![], vec![]);
    for (c, sent, acked, bytes) in of {
        events.push((sent, c, bytes.into()));
        events.push((acked, c, -i64::from(bytes)));
        moved.push((sent, c, bytes.into()));
    }
    crate::stat::sort_by_key(&mut events, |e| e.0);
    // Under way of each, and the most that ever was.
    let mut flight: FxHashMap<ConnectionId, (i64, i64)> = FxHashMap::default();
    for (_, c, bytes) in &events {
        let of = flight.entry(*c).or_default();
        of.0 = of.0.saturating_add(*bytes);
        of.1 = of.1.max(of.0);
    }
    let mut bulk = 0i64;
    let of_bulk = events.iter().filter(|e| flight.get(&e.1).is_some_and(|f| f.1 >= BULK));
    let sums: Vec<(i64, i64)> = of_bulk
        .map(|(at, _, bytes)| {
            bulk = bulk.saturating_add(*bytes);
            (*at, bulk)
        })
        .collect();
    let most = sums.iter().map(|s| s.1).max().unwrap_or(0);
    let load = |n: i64| match n {
        n if n <= NOTHING => Load::None,
        n if n >= MUCH.max(most / PART) => Load::Much,
        _ => Load::Some,
    };
    let mut steps = vec![(start, Load::None)];
    for (at, n) in sums {
        if steps.last().is_none_or(|l| l.1 != load(n)) {
            steps.push((at, load(n)));
        }
    }
    Loads {
        direction: Direction::Sent,
        steps,
        end_ns,
        moved,
    }
}

/// Of what was received.
fn received(facts: &Facts, outside: &Remote, (start, end_ns): (i64, i64)) -> Loads {
    let of = facts.rx.iter().filter_map(|r| {
        let c = r.connection.filter(|c| outside.contains_key(c))?;
        Some((r.start_ns, c, u64::from(r.bytes?)))
    });
    let moved: Vec<(i64, ConnectionId, u64)> = of.filter(|m| m.2 > 0).collect();
    // Those that hold something: a recording may be long, and a damaged one says that it is.
    let mut bins: BTreeMap<i64, u64> = BTreeMap::new();
    for (at, _, bytes) in &moved {
        let bin = bins.entry(at.saturating_sub(start).max(0) / BIN_NS).or_default();
        *bin = bin.saturating_add(*bytes);
    }
    let most = bins.values().copied().max().unwrap_or(0);
    let much = |n: u64| n >= MUCH_IN_BIN.max(most / HALF);
    let begin = |bin: i64| start.saturating_add(bin.saturating_mul(BIN_NS));
    let mut steps: Vec<(i64, Load)> = vec![(start, Load::None)];
    let mut step = |at: i64, load: Load| match steps.last_mut() {
        Some(last) if last.0 >= at => last.1 = load,
        Some(last) if last.1 == load => {}
        _ => steps.push((at, load)),
    };
    // The last that was more than next to nothing, and from when on nothing of it waits any more.
    let mut drained: Option<i64> = None;
    for (bin, n) in bins {
        if let Some(over) = drained.filter(|over| *over <= bin) {
            step(begin(over), Load::None);
            drained = None;
        }
        let little = n <= most / TENTH;
        let load = match drained {
            _ if much(n) => Load::Much,
            None if little => Load::None,
            _ => Load::Some,
        };
        if !little {
            drained = Some(bin.saturating_add(DRAINS));
        }
        step(begin(bin), load);
        let rest = if drained.is_some() { Load::Some } else { Load::None };
        step(begin(bin.saturating_add(1)), rest);
    }
    if let Some(over) = drained {
        step(begin(over), Load::None);
    }
    Loads {
        direction: Direction::Received,
        steps,
        end_ns,
        moved,
    }
}

/// Round trips outside of these times, and in them.
type Sides = (Vec<i64>, Vec<i64>);

/// Of a remote host: did they rise? `None`: too few, or it waits in this host.
fn rose((low, high): &Sides) -> Option<bool> {
    if low.len() < OF_A_HOST || high.len() < OF_A_HOST {
        return None;
    }
    let outside = nearest_rank(&mut low.clone(), 50)?;
    // Some ACKs are delayed whatever the way is.
    let inside = nearest_rank(&mut high.clone(), 25)?;
    let by = inside.saturating_sub(outside);
    Some(by >= BY_NS && inside >= outside.saturating_mul(TIMES))
}

/// Whether most of the times of each side lie on theirs.
fn clear((low, high): &Sides, (low_ns, high_ns): (i64, i64)) -> bool {
    let middle = ((low_ns.max(1) as f64) * (high_ns.max(1) as f64)).sqrt() as i64;
    let part = |of: &[i64], is: &dyn Fn(i64) -> bool| {
        let n = of.iter().filter(|ns| is(**ns)).count();
        n as f64 >= of.len() as f64 * CLEAR
    };
    part(low, &|ns| ns <= middle) && part(high, &|ns| ns > middle)
}

fn filled(facts: &Facts, loads: &Loads, all: &[(IpAddr, Samples)], outside: &Remote) -> Option<Filled> {
    let rate_per_s = loads.grew()?;
    let mut by: FxHashMap<ConnectionId, u64> = FxHashMap::default();
    for (at, c, bytes) in &loads.moved {
        if loads.at(*at) == Load::Much {
            let of = by.entry(*c).or_default();
            *of = of.saturating_add(*bytes);
        }
    }
    let sum: u64 = by.values().fold(0, |sum, n| sum.saturating_add(*n));
    let heavy = |c: ConnectionId| by.get(&c).is_some_and(|n| n.saturating_mul(TENTH) >= sum);
    let (mut also, mut not): (Vec<IpAddr>, Vec<IpAddr>) = Default::default();
    // Round trips of what fills it.
    let mut bulk: Vec<i64> = vec![];
    let (mut waited, mut own): (Sides, Sides) = Default::default();
    let remotes: BTreeSet<IpAddr> = outside.values().copied().collect();
    for (ip, s) in all.iter().filter(|(ip, _)| remotes.contains(ip)) {
        let mut sides: Sides = Default::default();
        let (theirs, others): (Vec<&Trip>, Vec<&Trip>) = s.trips.iter().partition(|t| heavy(t.connection));
        bulk.extend(
            theirs
                .iter()
                .filter(|t| loads.at(t.sent_ns) == Load::Much)
                .map(|t| t.ns),
        );
        for t in others {
            match loads.at(t.sent_ns) {
                Load::Much => sides.1.push(t.ns),
                Load::None => sides.0.push(t.ns),
                Load::Some => {}
            }
        }
        match rose(&sides) {
            Some(true) => also.push(*ip),
            Some(false) => {
                not.push(*ip);
                continue;
            }
            None => continue,
        }
        waited.0.extend(sides.0);
        waited.1.extend(sides.1);
        for o in &s.own {
            match loads.at(o.sent_ns) {
                Load::Much => own.1.push(o.ns),
                Load::None => own.0.push(o.ns),
                Load::Some => {}
            }
        }
    }
    let median = |of: &[i64]| nearest_rank(&mut of.to_vec(), 50);
    let (low_ns, high_ns) = (median(&waited.0)?, median(&waited.1)?);
    let enough = waited.0.len() >= OF_ALL && waited.1.len() >= OF_ALL && clear(&waited, (low_ns, high_ns));
    let rise = high_ns.saturating_sub(low_ns);
    let here = median(&own.1).is_some_and(|ns| ns >= rise / PART);
    // One alone may delay its ACKs then.
    let delayed = also.len() < 2 && rise <= DELAYED_ACK_NS;
    let itself = loads.direction == Direction::Received || median(&bulk).is_some_and(|ns| ns >= rise / 2);
    // Where some others did not, more did.
    if !enough || here || delayed || !itself || not.len() >= also.len() {
        return None;
    }
    // Of equals the first, whatever its address: a redacted recording has others.
    let mut hosts: FxHashMap<IpAddr, (u64, u32)> = FxHashMap::default();
    for (c, n) in &by {
        let of = hosts.entry(*outside.get(c)?).or_insert((0, c.0));
        *of = (of.0.saturating_add(*n), of.1.min(c.0));
    }
    let (host, (bytes, _)) = hosts.iter().max_by_key(|(_, (n, c))| (*n, std::cmp::Reverse(*c)))?;
    let theirs = by.iter().filter(|(c, _)| outside.get(c) == Some(host));
    let (most, _) = theirs.clone().max_by_key(|(c, n)| (**n, std::cmp::Reverse(c.0)))?;
    let row = facts.connections.get(most.0 as usize)?;
    Some(Filled {
        direction: loads.direction,
        host: host.to_string(),
        at: to_words((Some(row.saddr?.to_canonical()), row.sport)),
        task: row.task.text().into_owned(),
        connections: theirs.filter(|(c, _)| heavy(**c)).count().max(1) as u64,
        bytes: *bytes,
        rate_per_s,
        spells: loads.spells(facts.capture.start_ns.unwrap_or(0)),
        also: also.iter().map(IpAddr::to_string).collect(),
        not: not.iter().map(IpAddr::to_string).collect(),
        low_ns,
        high_ns,
        low_n: waited.0.len() as u64,
        high_n: waited.1.len() as u64,
    })
}

/// Of what this host sent, else of what it got.
pub(super) fn answer(facts: &Facts, all: &[(IpAddr, Samples)], inside: &BTreeSet<IpAddr>) -> Option<Filled> {
    let of = facts.connections.iter();
    let remote = of.filter_map(|c| Some((c.connection, c.daddr?.to_canonical())));
    let outside: Remote = remote.filter(|(_, ip)| !inside.contains(ip)).collect();
    let within = (facts.capture.start_ns?, facts.capture.end_ns?);
    filled(facts, &sent(facts, &outside, within), all, &outside)
        .or_else(|| filled(facts, &received(facts, &outside, within), all, &outside))
}
