//! Where the slowest requests and answers were on their way, when both ends are in the recording: in the queue of which device, or
//! between which two steps.
//!
//! Needs the views `rx`, `hops`, `xmits`. The packet followed is the one that made the request (or answer) readable; its steps are of
//! one skb, as over veth and bridges. Over a wire, or where the skb was copied, nothing is told.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analyses::tcp::label;
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::skb::tables::HopRow;
use crate::reconstruct::skb::{Pause, Reinjected, SILENT_NS};
use crate::reconstruct::tcp::role::Role;
use crate::reconstruct::tcp::tables::ConnectionRow;
use crate::reconstruct::whose::{Carries, Whose};
use crate::reconstruct::xmits::tables::Pass;
use crate::stat::nearest_rank;

/// Share of the way that a place must have to be named.
const MOSTLY: f64 = 0.5;
/// From the expiry of a device's timer to its poll, at most, ns.
const BEGAN_NS: i64 = 1_000_000;
/// Share of what a queue sent meanwhile that one connection must have to be named, or all of one sender to one service.
const FILLED: f64 = 0.5;
/// These are named in its place where they have so much more.
const TOGETHER: f64 = 1.25;

/// A way: the socket that received, from when to when.
pub(super) type Way = (ConnectionId, i64, i64);

/// The place that most of these ways' time was in.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Place {
    /// `rs`: in its queue; with `to`: between this step's device and the next.
    pub dev: String,
    /// Kind of the queue, where known.
    pub qdisc: String,
    /// Where it came to next; empty: in the queue of `dev`.
    pub to: String,
    /// Share of all these ways' time.
    pub share: f64,
    /// Most of these packets came by polls of `to` that its own timer began (`napi_watchdog`): median distance of such polls, ns.
    pub timer_ns: Option<i64>,
    /// Most of that time netfilter's queue had them, until a program let them go on (NFQUEUE); `None`: nothing tells so.
    pub let_go: Option<LetGo>,
    /// Connection with most of what the queue sent meanwhile, or sender and service of several (`10.0.0.1 > 10.0.0.2:443 (2 connections)`), and the share of these bytes; `None`: in no queue, or not known.
    pub filled_by: Option<(String, f64)>,
}

/// Who let packets of a queue of netfilter's go on.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct LetGo {
    /// Task and thread.
    pub by: String,
    /// Share of their time there for which that thread was on a CPU.
    pub running: f64,
    /// Times at which it said nothing to netfilter for [`SILENT_NS`] or longer while one of them waited so long.
    pub times: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum At {
    Queue(Name, Name),
    Between(Name, Name),
}

/// Follows the packets.
pub(super) fn place(facts: &Facts, ways: &[Way]) -> Option<Place> {
    let each = ways.iter().map(|w| w.2.saturating_sub(w.1));
    let whole = each.fold(0i64, i64::saturating_add);
    let packets = packets(facts, ways);
    if packets.is_empty() || whole <= 0 {
        return None;
    }
    let skbs: FxHashSet<SkbId> = packets.iter().map(|p| p.0).collect();
    let mut hops: FxHashMap<SkbId, Vec<&HopRow>> = FxHashMap::default();
    for h in facts.hops.iter().filter(|h| skbs.contains(&h.skb_id)) {
        hops.entry(h.skb_id).or_default().push(h);
    }
    let mut passes: FxHashMap<SkbId, Vec<&Pass>> = FxHashMap::default();
    for p in &facts.xmits {
        if let Some(skb) = p.skb_id.filter(|s| skbs.contains(s)) {
            passes.entry(skb).or_default().push(p);
        }
    }
    let mut of: BTreeMap<At, (i64, Vec<(i64, i64)>)> = BTreeMap::new();
    let mut add = |at: At, from: i64, to: i64, way: &Way| {
        let (from, to) = (from.max(way.1), to.min(way.2));
        if to > from {
            let sum = of.entry(at).or_default();
            sum.0 = sum.0.saturating_add(to - from);
            sum.1.push((from, to));
        }
    };
    for (skb, way) in &packets {
        for p in passes.get(skb).into_iter().flatten() {
            if let (Some(from), Some(to)) = (p.queued_ns, p.started_ns) {
                add(At::Queue(p.dev, p.qdisc), from, to, way);
            }
        }
        for pair in hops.get(skb).map_or(&[][..], Vec::as_slice).windows(2) {
            // From one device to the next; inside one it is its queue.
            if let [a, b] = pair
                && a.dev != b.dev
            {
                add(At::Between(a.dev, b.dev), a.time_ns, b.time_ns, way);
            }
        }
    }
    let (at, (ns, spans)) = of
        .into_iter()
        .max_by_key(|(at, (ns, _))| (*ns, std::cmp::Reverse(*at)))?;
    let share = ns as f64 / whole as f64;
    if share < MOSTLY {
        return None;
    }
    Some(match at {
        At::Queue(dev, qdisc) => Place {
            dev: dev.text().into_owned(),
            qdisc: qdisc.text().into_owned(),
            to: String::new(),
            share,
            timer_ns: None,
            let_go: None,
            filled_by: filled_by(facts, (dev, qdisc), &spans),
        },
        At::Between(dev, to) => Place {
            dev: dev.text().into_owned(),
            qdisc: String::new(),
            to: to.text().into_owned(),
            share,
            timer_ns: by_timer(facts, to, &spans),
            let_go: let_go(facts, &skbs, ns),
            filled_by: None,
        },
    })
}

/// The thread that let most of this time's packets go on.
fn let_go(facts: &Facts, skbs: &FxHashSet<SkbId>, whole: i64) -> Option<LetGo> {
    let mut by: BTreeMap<i32, Vec<&Reinjected>> = BTreeMap::new();
    for r in facts.reinjected.iter().filter(|r| skbs.contains(&r.skb)) {
        by.entry(r.pid).or_default().push(r);
    }
    let held = |of: &[&Reinjected]| sum(of.iter().map(|r| r.to_ns.saturating_sub(r.from_ns)));
    let (pid, of) = by.into_iter().max_by_key(|(_, of)| held(of))?;
    let ns = held(&of);
    let running = sum(of.iter().map(|r| r.running_ns)) as f64 / ns.max(1) as f64;
    let within = |(_, from, to): &&Pause| {
        let long = |r: &&Reinjected| r.to_ns.min(*to).saturating_sub(r.from_ns.max(*from)) >= SILENT_NS;
        of.iter().any(long)
    };
    let times = facts
        .verdict_pauses
        .iter()
        .filter(|p| p.0 == pid)
        .filter(within)
        .count() as u64;
    (ns as f64 >= MOSTLY * whole as f64).then(|| LetGo {
        by: super::task(&of.first().map_or_else(Name::default, |r| r.task), pid),
        running,
        times,
    })
}

fn sum(of: impl Iterator<Item = i64>) -> i64 {
    of.fold(0, i64::saturating_add)
}

/// Whether polls of a device in which these waits ended were begun by its own timer, and how far apart such polls are.
fn by_timer(facts: &Facts, dev: Name, spans: &[(i64, i64)]) -> Option<i64> {
    if facts.poll_timers.is_empty() {
        return None;
    }
    let mut starts: Vec<((u16, i64), usize)> = (facts.polls.iter().enumerate())
        .filter_map(|(at, p)| Some(((p.cpu, p.start_ns?), at)))
        .collect();
    starts.sort_unstable();
    // Of each expiry the poll that its CPU began next: another device's poll was not begun by this one's timer.
    let next = |t: &(u16, i64)| {
        let (of, at) = starts.get(starts.partition_point(|s| s.0 < *t))?;
        let soon = of.0 == t.0 && of.1.saturating_sub(t.1) <= BEGAN_NS;
        soon.then_some(*at)
    };
    let by_timer: FxHashSet<usize> = facts.poll_timers.iter().filter_map(next).collect();
    // Begin, end, and whether a timer began it.
    let mut polls: Vec<(i64, i64, bool)> = vec![];
    let mut began: FxHashMap<(u16, u64), Vec<i64>> = FxHashMap::default();
    for ((cpu, start), at) in &starts {
        let Some(p) = facts.polls.get(*at).filter(|p| p.dev == dev) else {
            continue;
        };
        let timer = by_timer.contains(at);
        polls.push((*start, p.flush_end_ns.unwrap_or(p.end_ns).max(p.end_ns), timer));
        if timer {
            began.entry((*cpu, p.napi)).or_default().push(*start);
        }
    }
    polls.sort_unstable();
    let begun = |(_, came): &&(i64, i64)| {
        let at = polls.partition_point(|p| p.0 <= *came).checked_sub(1);
        at.and_then(|at| polls.get(at)).is_some_and(|p| p.1 >= *came && p.2)
    };
    let n = spans.iter().filter(begun).count();
    if 2 * n <= spans.len() {
        return None;
    }
    let pairs = began.values().flat_map(|of| of.iter().zip(of.iter().skip(1)));
    let mut apart: Vec<i64> = pairs.map(|(a, b)| b.saturating_sub(*a)).collect();
    nearest_rank(&mut apart, 50)
}

/// The packet that ended each way: of the socket's units the last that began in it.
fn packets(facts: &Facts, ways: &[Way]) -> Vec<(SkbId, Way)> {
    let asked: FxHashSet<ConnectionId> = ways.iter().map(|w| w.0).collect();
    let mut units: FxHashMap<ConnectionId, Vec<(i64, SkbId)>> = FxHashMap::default();
    for r in &facts.rx {
        if let Some(c) = r.connection.filter(|c| asked.contains(c)) {
            units.entry(c).or_default().push((r.start_ns, r.skb_id));
        }
    }
    for of in units.values_mut() {
        of.sort_unstable();
    }
    let last = |way: &Way| {
        let of = units.get(&way.0)?;
        let at = of.partition_point(|u| u.0 <= way.2).checked_sub(1)?;
        let (start, skb) = *of.get(at)?;
        (start >= way.1).then_some((skb, *way))
    };
    ways.iter().filter_map(last).collect()
}

/// Whose packets left a queue in these times: of the device of that name with that kind of queue, where there is one only.
pub(crate) fn filled_by(facts: &Facts, (dev, qdisc): (Name, Name), spans: &[(i64, i64)]) -> Option<(String, f64)> {
    let mut spans = spans.to_vec();
    spans.sort_unstable();
    // Spans overlap: joined, only the last that began before a time can hold it.
    let mut joined: Vec<(i64, i64)> = vec![];
    for (from, to) in spans {
        match joined.last_mut() {
            Some(last) if last.1 >= from => last.1 = last.1.max(to),
            _ => joined.push((from, to)),
        }
    }
    let inside = |ns: i64| {
        let before = joined.partition_point(|s| s.0 <= ns).checked_sub(1);
        before.and_then(|at| joined.get(at)).is_some_and(|s| s.1 >= ns)
    };
    let whose = Whose::of(facts.into());
    let (mut of, mut whole) = (FxHashMap::<ConnectionId, u64>::default(), 0u64);
    // A packet that the queue cut has no start of its own: its segments have.
    let left = facts.xmits.iter().filter(|p| p.dev == dev && p.qdisc == qdisc);
    let mut devices: FxHashSet<i32> = FxHashSet::default();
    // What no queue held filled none: devices of other namespaces, without a queue, have the same name.
    for p in left.filter(|p| p.bypass != Some(true) && p.started_ns.is_some_and(inside)) {
        devices.extend(p.ifindex);
        let bytes = u64::from(p.bytes.unwrap_or(0));
        whole = whole.saturating_add(bytes);
        let owner = p.parent.or(p.skb_id).and_then(|s| whose.packet(s));
        if let Some(c) = owner.filter(|o| o.carries == Carries::Data).and_then(|o| o.connection) {
            *of.entry(c).or_default() += bytes;
        }
    }
    if devices.len() > 1 {
        return None;
    }
    let share = |bytes: u64| bytes as f64 / whole.max(1) as f64;
    // Several connections of one sender to one service are one transfer in parts.
    let mut together: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for (c, bytes) in &of {
        if let Some(way) = facts.connections.get(c.0 as usize).and_then(service) {
            let all = together.entry(way).or_default();
            *all = (all.0.saturating_add(*bytes), all.1 + 1);
        }
    }
    let (c, bytes) = of.into_iter().max_by_key(|(c, n)| (*n, std::cmp::Reverse(*c)))?;
    let label = facts.connections.get(c.0 as usize).map(label)?;
    let most = together.into_iter().filter(|(_, (_, n))| *n > 1);
    let most = most.max_by_key(|(_, (bytes, _))| *bytes);
    let most = most.filter(|(_, (all, _))| share(bytes) < FILLED || *all as f64 >= TOGETHER * bytes as f64);
    let (who, bytes) = match most {
        Some((way, (all, n))) => (format!("{way} ({n} connections)"), all),
        None => (label, bytes),
    };
    (share(bytes) >= FILLED).then_some((who, share(bytes)))
}

/// `10.0.0.1 > 10.0.0.2:443`, or `10.0.0.2:443 > 10.0.0.1` of what the service sends.
fn service(row: &ConnectionRow) -> Option<String> {
    let (from, to) = (row.saddr?.to_canonical(), row.daddr?.to_canonical());
    Some(match row.role().0 {
        Role::Server => format!("{} > {to}", SocketAddr::new(from, row.sport)),
        _ => format!("{from} > {}", SocketAddr::new(to, row.dport)),
    })
}
