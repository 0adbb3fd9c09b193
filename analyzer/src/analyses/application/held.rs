//! Requests that still wait when the recording ends, where their kind is held as long by design: long polls.
//!
//! Needs `responses`, `connections`, `tx`. No event tells what a request asks for: how long it is stands for its kind, as in `patience.rs`. Inferred.
//!
//! ```text
//! same program, port, length:   ask ───────────────────────────────│ the recording ends
//!                                    ask ───────── answer             nearly all take long, at moments far apart, and until late; asked later, answered before
//! others at that server:          ask ─ answer   ask ─ answer         in time: it does not stand still
//! ```
//! Must not be said of a server that hangs: since then nothing of the kind is answered, what else is asked waits as well, or nothing that was asked later came.
//! Nor of a kind that has fast answers, of one that somebody gave up, of what TCP sent again. What the server's threads did is asked where it is told (`verdict::held`).

use std::collections::{BTreeMap, BTreeSet};

use super::Unanswered;
use super::asked_bytes::asked_bytes;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::opens::tables::End;
use crate::stat::nearest_rank;

/// Fewest of the kind that were answered, at moments so far apart, ns: what one held up together comes together.
const LEAST: usize = 3;
const APART_NS: i64 = 100_000_000;
/// A kind that is held takes so long, ns, in this part of its answers.
const LONG_NS: i64 = 1_000_000_000;
const NEARLY: f64 = 0.9;
/// Other requests looked at beside one.
const LOOKED_AT: usize = 10_000;
/// An answer to what else was asked meanwhile is soon in one part in so many of that time. Most of them must be, for each that waits.
const SOON: i64 = 10;
const MOST: f64 = 0.5;

/// Those of their kind that were answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// How many.
    pub answered: u64,
    /// Their median, ns.
    pub p50_ns: i64,
    /// How long they and these are, bytes.
    pub bytes: u64,
}

/// Who asks, which port, how long: servers of one port may be one behind the other's back (a pool).
type Kind = (Name, u16, u64);

/// An answered request: server, begin, end.
struct Answered {
    end: End,
    send_ns: i64,
    read_ns: i64,
}

/// All that was answered, by kind, and by server with its kind.
struct Answers {
    by: BTreeMap<Kind, Vec<Answered>>,
    of: BTreeMap<End, Vec<(i64, i64, Kind)>>,
}

fn end_of(facts: &Facts, c: ConnectionId) -> Option<(Name, End)> {
    let row = facts.connections.get(c.0 as usize)?;
    Some((row.task, (row.daddr?.to_canonical(), row.dport)))
}

fn answers(facts: &Facts) -> Answers {
    let all = || facts.responses.iter().filter(|r| !r.overlap && r.ready_ns.is_some());
    let bytes = asked_bytes(facts, all().map(|r| (r.connection, r.send_ns)));
    let mut out = Answers {
        by: BTreeMap::new(),
        of: BTreeMap::new(),
    };
    for r in all() {
        let Some((task, end)) = end_of(facts, r.connection) else {
            continue;
        };
        // What was sent in several calls has no length here.
        let long = bytes.get(&(r.connection, r.send_ns)).filter(|_| r.sends <= 1);
        let kind = (task, end.1, long.copied().unwrap_or(0));
        out.of.entry(end).or_default().push((r.send_ns, r.read_ns, kind));
        out.by.entry(kind).or_default().push(Answered {
            end,
            send_ns: r.send_ns,
            read_ns: r.read_ns,
        });
    }
    out.of.values_mut().for_each(|of| of.sort_unstable());
    out
}

/// One that waits: its place in the list, server, begin, until when.
struct Open {
    at: usize,
    end: End,
    send_ns: i64,
    until_ns: i64,
}

impl Answers {
    /// Whether the kind takes long, nearly always, and not because of one moment.
    fn is_held(&self, kind: &Kind) -> Option<Held> {
        let of = self.by.get(kind).filter(|_| kind.2 > 0)?;
        let mut took: Vec<i64> = of.iter().map(|a| a.read_ns.saturating_sub(a.send_ns)).collect();
        let long = took.iter().filter(|ns| **ns >= LONG_NS).count();
        let mut ends: Vec<i64> = of.iter().map(|a| a.read_ns).collect();
        ends.sort_unstable();
        let far = |w: &&[i64]| matches!(w, [a, b] if b.saturating_sub(*a) >= APART_NS);
        let moments = ends.windows(2).filter(far).count().saturating_add(1);
        let held = long >= LEAST && moments >= LEAST && long as f64 >= NEARLY * of.len() as f64;
        held.then(|| Held {
            answered: of.len() as u64,
            p50_ns: nearest_rank(&mut took, 50).unwrap_or(0),
            bytes: kind.2,
        })
    }

    /// Whether a server still lets go of such, in another order than they came, and answers what else it is asked.
    fn works(&self, kind: &Kind, end: &End, open: &[&Open]) -> bool {
        let of = self.by.get(kind).into_iter().flatten().filter(|a| a.end == *end);
        let (Some(first), Some(until)) = (
            open.iter().map(|o| o.send_ns).min(),
            open.iter().map(|o| o.until_ns).max(),
        ) else {
            return false;
        };
        let middle = first.saturating_add(until.saturating_sub(first) / 2);
        let (mut later, mut lately) = (false, false);
        for a in of {
            later |= a.send_ns > first;
            lately |= a.read_ns >= middle;
        }
        let all = self.of.get(end).map(Vec::as_slice).unwrap_or_default();
        let beside = |o: &&Open| {
            let soon = o.until_ns.saturating_sub(o.send_ns) / SOON;
            let from = all.partition_point(|a| a.0 < o.send_ns);
            let within = || {
                let asked = all.iter().skip(from).take_while(|a| a.0 <= o.until_ns);
                asked.filter(|a| a.2 != *kind).take(LOOKED_AT)
            };
            let in_time = within().filter(|a| a.1.saturating_sub(a.0) <= soon).count();
            in_time > 0 && in_time as f64 >= MOST * within().count() as f64
        };
        later && lately && open.iter().filter(|o| beside(o)).count() as f64 >= NEARLY * open.len() as f64
    }

    /// The longest that the kind took.
    fn longest(&self, kind: &Kind) -> Option<i64> {
        let of = self.by.get(kind)?;
        of.iter().map(|a| a.read_ns.saturating_sub(a.send_ns)).max()
    }
}

/// Marks those that are held. In `all`: all without an answer.
pub(super) fn mark(facts: &Facts, all: &mut [Unanswered]) {
    let waits = |u: &Unanswered| u.until == "recording" && u.retransmits == 0 && u.others;
    if !facts.gaps.is_empty() || !all.iter().any(|u| waits(u) && u.waited_ns >= LONG_NS) {
        return;
    }
    let answers = answers(facts);
    let bytes = asked_bytes(facts, all.iter().map(|u| (ConnectionId(u.connection), u.send_ns)));
    let mut by: BTreeMap<Kind, Vec<Open>> = BTreeMap::new();
    // Kinds of which one was given up, or sent again; servers at which what is fast waits long, too.
    let mut not = BTreeSet::new();
    let mut hang = BTreeSet::new();
    for (at, u) in all.iter().enumerate() {
        let c = ConnectionId(u.connection);
        let Some((task, end)) = end_of(facts, c) else { continue };
        let long = bytes.get(&(c, u.send_ns)).copied().unwrap_or(0);
        let kind = (task, end.1, long);
        if waits(u) {
            by.entry(kind).or_default().push(Open {
                at,
                end,
                send_ns: u.send_ns,
                until_ns: u.send_ns.saturating_add(u.waited_ns),
            });
        } else if u.waited_ns >= LONG_NS {
            not.insert(kind);
        }
        let usual = answers.longest(&kind);
        if u.waited_ns >= LONG_NS && usual.is_some_and(|ns| ns < LONG_NS) {
            hang.insert(end);
        }
    }
    for (kind, open) in by.iter().filter(|(kind, _)| !not.contains(*kind)) {
        let Some(held) = answers.is_held(kind) else { continue };
        let mut at: BTreeMap<End, Vec<&Open>> = BTreeMap::new();
        for o in open {
            at.entry(o.end).or_default().push(o);
        }
        for (end, open) in at.iter().filter(|(end, _)| !hang.contains(end)) {
            if !answers.works(kind, end, open) {
                continue;
            }
            for o in open {
                if let Some(u) = all.get_mut(o.at) {
                    u.held = Some(held.clone());
                }
            }
        }
    }
}
