//! Whose packets a group of drops lost, how many more of the same came there, and in which pattern they were lost.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use rustc_hash::{FxHashMap, FxHashSet};

use super::fragments::{Fragments, fragments};
use crate::analyses::tcp::label;
use crate::facts::{Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::skb::tables::HopRow;
use crate::reconstruct::whose::{Carries, Owner, Whose};

/// How words for a place begin from which packets came.
pub const FROM: &str = "from ";
/// Share of a group's packets of a kind that must have one end in common for that end to be named.
const COMMON: f64 = 0.8;
/// Ends that are compared: a bit each.
const ENDS: usize = 8;
/// Servers that are told where there is no such end.
const SEVERAL: usize = 3;
/// Other tasks that are kept.
const OTHERS: usize = 3;
/// Fewest drops that show a period.
const PERIODIC: usize = 3;
/// Fewest drops, and least time between first and last, between which a rate is told.
const RATE: (usize, i64) = (10, 500_000_000);

/// Dropped packets of one kind that have an end in common.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Lost {
    /// `data`, `syn`, `datagram`, `received`, `too_big`.
    pub carries: &'static str,
    /// Whose: `10.0.0.1:40000 > 10.0.0.2:80`, `to 10.0.0.2:80`, `from 10.0.0.2:80`, `from 10.0.0.2`, `of task/thread`.
    pub whose: String,
    /// How many were dropped.
    pub count: u64,
    /// How many such packets came to the step before the drop, these among them; `None`: that step is not the same of all.
    pub came: Option<u64>,
    /// Every so many of those that came was dropped, without exception.
    pub every: Option<u64>,
    /// What of those that came went on between the first drop and the last, bit/s.
    pub passed_bit_s: Option<f64>,
    /// The same, packets/s.
    pub passed_packets_s: Option<f64>,
    /// Spells in which none of those that came went on, while some did before the first and after the last: from the first drop to the
    /// last of each, and from the last that went on before it to the next, ns.
    pub stopped_ns: Vec<(i64, i64)>,
    /// They are fragments of datagrams.
    pub fragments: Option<Fragments>,
    /// Of packets that only their senders' tasks name: the tasks of those that `whose` is not of, and how many each; the most first.
    pub others: Vec<(String, u64)>,
    /// `address:port` to which most of these datagrams were sent, by look-ups of routes.
    #[serde(skip)]
    pub sent_to: Option<String>,
    /// The tunnel that made them, when they are ICMP messages made of segments too large for it and all are one device's.
    pub made_by: Option<String>,
}

/// Shortest spell in which nothing went on that is told, ns, and how many are.
const STOPPED_NS: i64 = 50_000_000;
const SPELLS: usize = 3;

/// Whose a packet is, as named to people.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum End {
    Connection(u32),
    To(IpAddr, u16),
    From(IpAddr, u16),
    /// The other end of the socket that they came to.
    Peer(IpAddr, u16),
    /// From a host to a service.
    Between(IpAddr, IpAddr, u16),
    Host(IpAddr),
    Thread(String, i32),
    /// Threads of one name.
    Task(String),
}

/// Names of an owner, the most exact first.
fn ends(facts: &Facts, owner: &Owner) -> Vec<End> {
    let Some(c) = owner.connection else {
        return match (owner.task.is_empty(), owner.pid) {
            (_, 0) => vec![],
            (true, pid) => vec![End::Thread(String::new(), pid)],
            (false, pid) => {
                let task = owner.task.text().into_owned();
                vec![End::Thread(task.clone(), pid), End::Task(task)]
            }
        };
    };
    let Some(row) = facts.connections.get(c.0 as usize) else {
        return vec![];
    };
    let to = row.daddr.map(|a| End::To(a.to_canonical(), row.dport));
    let from = row.saddr.map(|a| End::From(a.to_canonical(), row.sport));
    if owner.carries == Carries::Received {
        // The socket's own end is where they came to.
        let peer = row.daddr.map(|a| End::Peer(a.to_canonical(), row.dport));
        return [Some(End::Connection(c.0)), from, peer].into_iter().flatten().collect();
    }
    let host = row.saddr.map(|a| End::Host(a.to_canonical()));
    let between = row.saddr.zip(row.daddr);
    let between = between.map(|(from, to)| End::Between(from.to_canonical(), to.to_canonical(), row.dport));
    [Some(End::Connection(c.0)), to, from, between, host]
        .into_iter()
        .flatten()
        .collect()
}

fn words(facts: &Facts, end: &End) -> String {
    match end {
        End::Connection(c) => facts.connections.get(*c as usize).map(label).unwrap_or_default(),
        End::To(a, port) => format!("to {}", SocketAddr::new(*a, *port)),
        End::From(a, port) | End::Peer(a, port) => format!("{FROM}{}", SocketAddr::new(*a, *port)),
        End::Host(a) => format!("from {a}"),
        End::Between(from, to, port) => format!("from {from} to {}", SocketAddr::new(*to, *port)),
        End::Task(task) => format!("of several threads {task}"),
        End::Thread(task, pid) => match task.as_str() {
            "" => format!("of thread {pid}"),
            task => format!("of {task}/{pid}"),
        },
    }
}

/// Whose a single dropped packet is, in words; `None`: nothing tells.
pub fn owner(facts: &Facts, row: &DropRow) -> Option<String> {
    let owner = row.owner?;
    let whose = words(facts, ends(facts, &owner).first()?);
    let of = owner.connection.map_or("", |_| "of ");
    let what = match owner.carries {
        Carries::Data => "TCP data",
        Carries::Syn => "SYN",
        Carries::SynData => "SYN with data",
        Carries::Fin => "FIN",
        Carries::Datagram => "UDP packet",
        Carries::Received => return Some(format!("for the socket {whose}")),
        Carries::Sent => "packet",
        Carries::TooBig => "ICMP message that a tunnel made of TCP data",
    };
    Some(format!("{what} {of}{whose}"))
}

/// The ends that most of these have in common, the most exact first, and how many have each.
fn common(facts: &Facts, owners: &[(&DropRow, Owner)]) -> Vec<(End, usize)> {
    let mut times: BTreeMap<(usize, End), usize> = BTreeMap::new();
    for (_, owner) in owners {
        for (rank, end) in ends(facts, owner).into_iter().enumerate() {
            *times.entry((rank, end)).or_default() += 1;
        }
    }
    let enough = |n: usize| n as f64 >= COMMON * owners.len() as f64;
    let fits = times.into_iter().filter(|(_, n)| enough(*n));
    fits.map(|((_, end), n)| (end, n)).collect()
}

/// The few servers that most of these were for, where no end is common to them.
fn several(facts: &Facts, owners: &[(&DropRow, Owner)]) -> Vec<(End, usize)> {
    let mut times: BTreeMap<End, usize> = BTreeMap::new();
    for (_, owner) in owners.iter().filter(|(_, o)| o.carries != Carries::Received) {
        let to = ends(facts, owner).into_iter().find(|e| matches!(e, End::To(..)));
        if let Some(to) = to {
            *times.entry(to).or_default() += 1;
        }
    }
    let mut all: Vec<(End, usize)> = times.into_iter().collect();
    all.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    all.truncate(SEVERAL);
    let sum: usize = all.iter().map(|(_, n)| n).sum();
    match sum as f64 >= COMMON * owners.len() as f64 {
        true => all,
        false => vec![],
    }
}

/// Where the packets were seen last before they were dropped, when that is one step for all.
fn step(facts: &Facts, skbs: &FxHashSet<SkbId>) -> Option<(&'static str, Name)> {
    let mut last: FxHashMap<SkbId, &HopRow> = FxHashMap::default();
    for hop in facts.hops.iter().filter(|h| skbs.contains(&h.skb_id)) {
        last.insert(hop.skb_id, hop);
    }
    let mut steps = last.values().map(|h| (h.kind, h.dev));
    let first = steps.next()?;
    (last.len() == skbs.len() && steps.all(|s| s == first)).then_some(first)
}

/// Every how many: of so many packets in their order, those at these places were dropped.
fn period(places: &[usize], of: usize) -> Option<u64> {
    let (first, second, last) = (places.first()?, places.get(1)?, places.last()?);
    let gap = second.checked_sub(*first).filter(|g| *g >= 2)?;
    let even = places
        .windows(2)
        .all(|w| matches!(w, [a, b] if b.checked_sub(*a) == Some(gap)));
    // From the first that came to the last.
    let all_along = *first < gap && of.saturating_sub(last + 1) < gap;
    (places.len() >= PERIODIC && even && all_along).then_some(gap as u64)
}

/// What is told of packets that some rows dropped, the most first.
pub(super) fn lost(facts: &Facts, whose: &Whose<'_>, rows: &[&DropRow]) -> Vec<Lost> {
    let mut by: BTreeMap<Carries, Vec<(&DropRow, Owner)>> = BTreeMap::new();
    for row in rows {
        if let Some(owner) = row.owner {
            by.entry(owner.carries).or_default().push((row, owner));
        }
    }
    let skbs: FxHashSet<SkbId> = rows.iter().filter_map(|r| r.skb_id).collect();
    let step = step(facts, &skbs);
    let mut out: Vec<Lost> = vec![];
    for (carries, owners) in by {
        let came = step.filter(|_| carries != Carries::Received);
        let one = common(facts, &owners);
        let none = one.is_empty();
        let ends = if none { several(facts, &owners) } else { one };
        let of_kind: Vec<&DropRow> = owners.iter().map(|o| o.0).collect();
        let fragments = (carries == Carries::Datagram)
            .then(|| fragments(facts, &of_kind))
            .flatten();
        let made_by = made_by(whose, &of_kind);
        let came = came.map(|step| came_to(facts, whose, (carries, &ends), step));
        let of = |(nth, (end, count)): (usize, &(End, usize))| {
            let whose = words(facts, end);
            let mut lost = Lost {
                carries: carries.word(),
                whose: match carries {
                    // Its own end.
                    Carries::Received if !matches!(end, End::Peer(..)) => whose.trim_start_matches(FROM).to_owned(),
                    _ => whose,
                },
                count: *count as u64,
                came: None,
                every: None,
                passed_bit_s: None,
                passed_packets_s: None,
                stopped_ns: vec![],
                others: others(facts, &owners, end),
                fragments: fragments.clone(),
                made_by: made_by.clone(),
                sent_to: match end {
                    End::Thread(..) | End::Task(_) => sent_to(facts, &of_kind),
                    _ => None,
                },
            };
            if let Some(came) = &came {
                let of_end: Vec<&HopRow> = came.iter().filter(|c| c.1 & (1 << nth) != 0).map(|c| c.0).collect();
                count_of(&of_end, &skbs, carries, &mut lost);
            }
            lost
        };
        // The end of which the largest part was lost tells most; of equal ones the most exact.
        let part = |l: &Lost| l.came.map_or(0.0, |came| l.count as f64 / came as f64);
        let all = ends.iter().take(ENDS).enumerate().map(of);
        if none {
            out.extend(all);
            continue;
        }
        out.extend(all.reduce(|best, next| if part(&next) > part(&best) { next } else { best }));
    }
    out.sort_by_key(|l| std::cmp::Reverse(l.count));
    out
}

/// Where most of these were sent to: the first packets of turns.
fn sent_to(facts: &Facts, rows: &[&DropRow]) -> Option<String> {
    let skbs: FxHashSet<SkbId> = rows.iter().filter_map(|r| r.skb_id).collect();
    let mut by: BTreeMap<SocketAddr, usize> = BTreeMap::new();
    for t in &facts.udp_turns {
        if let Some(to) = t.to.filter(|_| t.skb_id.is_some_and(|s| skbs.contains(&s))) {
            *by.entry(to).or_default() += 1;
        }
    }
    let (to, n) = by.into_iter().max_by_key(|(_, n)| *n)?;
    (n as f64 >= COMMON * rows.len() as f64).then(|| to.to_string())
}

/// Tasks of those that have another end.
fn others(facts: &Facts, owners: &[(&DropRow, Owner)], end: &End) -> Vec<(String, u64)> {
    let mut by: BTreeMap<String, u64> = BTreeMap::new();
    if !matches!(end, End::Thread(..) | End::Task(_)) {
        return vec![];
    }
    for (_, owner) in owners.iter().filter(|(_, o)| !ends(facts, o).contains(end)) {
        if !owner.task.is_empty() {
            *by.entry(owner.task.text().into_owned()).or_default() += 1;
        }
    }
    let mut all: Vec<(String, u64)> = by.into_iter().collect();
    all.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    all.truncate(OTHERS);
    all
}

/// The one tunnel that made all of these.
fn made_by(whose: &Whose<'_>, rows: &[&DropRow]) -> Option<String> {
    let mut devs = rows.iter().map(|r| whose.turned_by(r.skb_id?));
    let first = devs.next()??;
    devs.all(|d| d == Some(first)).then(|| first.text().into_owned())
}

/// Packets of a kind that came to a step, with a bit for each of the ends that they have.
fn came_to<'f>(
    facts: &'f Facts,
    whose: &Whose<'_>,
    (carries, asked): (Carries, &[(End, usize)]),
    step: (&'static str, Name),
) -> Vec<(&'f HopRow, u8)> {
    let there = facts.hops.iter().filter(|h| (h.kind, h.dev) == step);
    let of = there.filter_map(|h| {
        let owner = whose.packet(h.skb_id).filter(|o| o.carries == carries)?;
        let own = ends(facts, &owner);
        let has = asked
            .iter()
            .take(ENDS)
            .enumerate()
            .filter(|(_, (end, _))| own.contains(end));
        let bits = has.fold(0u8, |bits, (nth, _)| bits | 1 << nth);
        (bits != 0).then_some((h, bits))
    });
    of.collect()
}

/// Spells in which none of so many packets, in their order, went on; empty: there is none, there are more than a few, one has no
/// duration, or some were dropped by themselves.
fn stopped(of: &[&HopRow], is_dropped: impl Fn(&HopRow) -> bool) -> Vec<(i64, i64)> {
    let mut spells = vec![];
    let mut passed: Option<i64> = None;
    let mut at = of.iter().peekable();
    while let Some(hop) = at.next() {
        if !is_dropped(hop) {
            passed = Some(hop.time_ns);
            continue;
        }
        let (first, mut last) = (hop.time_ns, hop.time_ns);
        while let Some(next) = at.next_if(|h| is_dropped(h)) {
            last = next.time_ns;
        }
        let Some((before, after)) = passed.zip(at.peek().map(|h| h.time_ns)) else {
            return vec![];
        };
        if last.saturating_sub(first) < STOPPED_NS {
            return vec![];
        }
        spells.push((last.saturating_sub(first), after.saturating_sub(before)));
    }
    if spells.len() <= SPELLS { spells } else { vec![] }
}

/// Counts packets that came to a step.
fn count_of(of: &[&HopRow], dropped: &FxHashSet<SkbId>, carries: Carries, lost: &mut Lost) {
    let is_dropped = |h: &HopRow| dropped.contains(&h.skb_id);
    let places = of.iter().enumerate().filter(|(_, h)| is_dropped(h));
    let places: Vec<usize> = places.map(|(i, _)| i).collect();
    // A packet that came by twice (devices of several namespaces have one name), or one that is dropped but did not come, would make
    // this no count of packets.
    let mut once = FxHashSet::default();
    if places.len() as u64 != lost.count || !of.iter().all(|h| once.insert(h.skb_id)) {
        return;
    }
    lost.came = Some(of.len() as u64);
    lost.every = period(&places, of.len());
    lost.stopped_ns = stopped(of, is_dropped);
    let (Some(first), Some(last)) = (places.first(), places.last()) else {
        return;
    };
    let between = of.get(*first..=*last).unwrap_or(&[]);
    let ns = match (between.first(), between.last()) {
        (Some(a), Some(b)) => b.time_ns.saturating_sub(a.time_ns),
        _ => 0,
    };
    if places.len() >= RATE.0
        && ns >= RATE.1
        && !matches!(
            carries,
            Carries::Syn | Carries::SynData | Carries::Fin | Carries::TooBig
        )
    {
        let passed = || between.iter().filter(|h| !is_dropped(h));
        let bytes: u64 = passed().map(|h| u64::from(h.bytes.unwrap_or(0))).sum();
        lost.passed_bit_s = Some(bytes as f64 * 8.0 / (ns as f64 / 1e9));
        lost.passed_packets_s = Some(passed().count() as f64 / (ns as f64 / 1e9));
    }
}
