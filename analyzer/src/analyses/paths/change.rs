//! One change of the round trips to a host: when, what says so, and what else changed in the same times.

use rustc_hash::FxHashMap;

use super::levels::{Level, Window};
use super::samples::{Of, Samples, Trip};
use crate::stat::nearest_rank;

/// Part of the round trips in the time that lie above the middle, and of the others that lie below it: some wait for a delayed ACK.
const ABOVE: f64 = 0.95;
const BELOW: f64 = 0.25;
/// That so many above come about by chance has a probability of e to the minus this, or less.
const CHANCE: f64 = 12.0;
/// Of a window no more round trips than that count for it: those of a burst are not independent.
const OF_A_WINDOW: u64 = 8;
/// Fewest handshakes on a side, and of anything else.
const HANDSHAKES: usize = 2;
const OTHERS: usize = 4;
/// Payload in flight from which a peer acknowledges every second segment at once, bytes.
const BULK: u64 = 4_000;
/// Own bytes grew: so many times, by so many bytes in flight, or to so many a second.
const GREW: u64 = 2;
const GREW_BYTES: u64 = 3_000;
const GREW_PER_S: u64 = 125_000;
/// In flight to another host, that may share a queue with this one, bytes.
const SHARED_BYTES: u64 = 20_000;
/// Longest time for which Linux delays an ACK (`TCP_DELACK_MIN`, its timer's resolution added), ns.
pub(super) const DELAYED_ACK_NS: i64 = 45_000_000;

/// What the round trips did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Longer from a time on.
    Rose,
    /// Longer until a time.
    Fell,
    /// Longer for a time.
    Spell,
}

/// What says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// Handshakes changed, too: no program is in these.
    Handshakes,
    /// ACKs and answers changed, and no handshakes tell of both sides: a program may have sent its ACKs with its answers.
    Answers,
    /// ACKs of a sender with several segments in flight, which are not delayed; it may have filled a queue on the way.
    Bulk,
    /// ACKs alone: they may have been delayed.
    Acks,
    /// ACKs changed and handshakes did not: the program that answers, or what holds these segments alone.
    NotHandshakes,
}

/// What of this host changed in the same times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Own {
    /// Nothing that is known of.
    Nothing,
    /// It had more in flight to the host: it may have filled a queue on the way there itself.
    InFlight,
    /// It got more from the host: that may have filled a queue on the way back.
    Received,
    /// It sent much more to another host, or got much more from it, whose round trips are not known to be as before: they may share a queue.
    Others,
    /// Its own part took longer, or much of the time.
    Host,
}

/// Times outside and inside the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Sides {
    /// How many outside.
    pub other_n: u64,
    /// First quartile (of answers the median) of these, ns.
    pub other_ns: i64,
    /// How many inside.
    pub in_n: u64,
    /// Likewise.
    pub in_ns: i64,
}

/// A change.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Change {
    /// What they did.
    pub kind: Kind,
    /// Longer from the round trip that began then, ns.
    pub from_ns: i64,
    /// Until the one that began then; empty: until the end.
    pub to_ns: Option<i64>,
    /// Median of the windows' least, outside of that time, ns.
    pub low_ns: i64,
    /// And in it.
    pub high_ns: i64,
    /// Handshakes.
    pub handshakes: Option<Sides>,
    /// ACKs.
    pub acks: Option<Sides>,
    /// Answers.
    pub answers: Option<Sides>,
    /// Payload in flight to the host when a segment was sent, median outside and inside, bytes.
    pub in_flight: Option<(u64, u64)>,
    /// Payload that came from it a second, outside and inside, bytes.
    pub received_per_s: (u64, u64),
    /// This host's own part of sending or receiving, median outside and inside, ns; empty: not recorded.
    pub own_ns: Option<(i64, i64)>,
    /// What says so.
    pub evidence: Evidence,
    /// What of this host changed, too.
    pub own: Own,
    /// Other hosts whose round trips rose in the same times.
    pub also: Vec<String>,
    /// Other hosts whose round trips did not.
    pub not: Vec<String>,
}

impl Change {
    /// It is told of the way to the host or its kernel, and not by bytes or work of this host.
    pub fn matters(&self) -> bool {
        self.own == Own::Nothing && matches!(self.evidence, Evidence::Handshakes | Evidence::Answers)
    }
    /// No program that sends its ACKs with its answers makes them so late: a Linux peer would have sent them before.
    pub fn above_delayed_acks(&self) -> bool {
        self.high_ns.saturating_sub(self.low_ns) >= DELAYED_ACK_NS
    }
    fn holds(&self, sent_ns: i64) -> bool {
        sent_ns >= self.from_ns && self.to_ns.is_none_or(|to| sent_ns < to)
    }
    /// Whether the round trips to another host rose in the same times, too, or stayed as they were; `None`: too few, or neither.
    pub(super) fn seen_by(&self, other: &Samples) -> Option<bool> {
        let of = other.trips.iter().map(|t| (t.sent_ns, t.ns));
        let s = self.sides(of, OTHERS, 25)?;
        let (longer, rise) = (s.in_ns.saturating_sub(s.other_ns), self.rise_ns());
        match longer {
            n if n >= rise / 4 && s.in_ns >= s.other_ns.saturating_add(s.other_ns / 2) => Some(true),
            n if n <= rise / 8 && n.saturating_abs() <= s.other_ns / 2 => Some(false),
            _ => None,
        }
    }
    /// Whether this host sent much more to another one in these times, or got much more from it.
    pub(super) fn loaded(&self, other: &Samples, end_ns: i64) -> bool {
        let (mut inside, mut outside): (Vec<_>, Vec<_>) = other.trips.iter().partition(|t| self.holds(t.sent_ns));
        let median = |of: &mut Vec<&Trip>| {
            let mut all: Vec<i64> = of.iter().filter_map(|t| i64::try_from(t.in_flight).ok()).collect();
            nearest_rank(&mut all, 50).map_or(0, i64::unsigned_abs)
        };
        let flight = (median(&mut outside), median(&mut inside));
        let rate = received(self, other, end_ns);
        grew(flight) && flight.1 >= SHARED_BYTES || grew(rate) && rate.1 >= GREW_PER_S
    }
    /// Names the others.
    pub(super) fn beside(&mut self, of: Beside) {
        (self.also, self.not) = (of.also, of.not);
        if of.loaded && self.own == Own::Nothing {
            self.own = Own::Others;
        }
    }
    fn rise_ns(&self) -> i64 {
        self.high_ns.saturating_sub(self.low_ns)
    }
    fn sides(&self, of: impl Iterator<Item = (i64, i64)>, least: usize, percent: usize) -> Option<Sides> {
        let (mut inside, mut other): (Vec<_>, Vec<_>) = of.partition(|(sent, _)| self.holds(*sent));
        if inside.len() < least || other.len() < least {
            return None;
        }
        let rank = |of: &mut Vec<(i64, i64)>| {
            let mut ns: Vec<i64> = of.drain(..).map(|(_, ns)| ns).collect();
            nearest_rank(&mut ns, percent)
        };
        Some(Sides {
            other_n: other.len() as u64,
            in_n: inside.len() as u64,
            other_ns: rank(&mut other)?,
            in_ns: rank(&mut inside)?,
        })
    }
    /// Rose by half of what the least did, or more.
    fn follows(&self, s: &Sides) -> bool {
        s.in_ns.saturating_sub(s.other_ns) >= self.rise_ns() / 2
    }
}

/// What other hosts did in the times of a change.
#[derive(Debug, Default)]
pub(super) struct Beside {
    /// Those that rose too, and those that did not.
    pub(super) also: Vec<String>,
    pub(super) not: Vec<String>,
    /// This host sent much more to one that is not among the latter, or got much more from it.
    pub(super) loaded: bool,
}

/// The place between two windows: begin of the first round trip behind it. Of the places with fewest misfits the last.
fn edge(trips: &[Trip], (a, b): (&Window, &Window), middle_ns: i64, rises: bool) -> Option<i64> {
    let from = trips.partition_point(|t| t.sent_ns < a.from_ns);
    let to = trips.partition_point(|t| t.sent_ns <= b.to_ns);
    let near = trips.get(from..to)?;
    let behind = |t: &Trip| (t.ns > middle_ns) == rises;
    // Misfits of the first place: all that belong before it.
    let mut misfits = near.iter().filter(|t| !behind(t)).count();
    let (mut best, mut at) = (misfits, near.first()?.sent_ns);
    for (t, next) in near.iter().zip(near.iter().skip(1)) {
        match behind(t) {
            true => misfits += 1,
            false => misfits = misfits.saturating_sub(1),
        }
        if misfits <= best {
            (best, at) = (misfits, next.sent_ns);
        }
    }
    Some(at)
}

/// What a level of the windows is, where its round trips say so one by one.
pub(super) fn change(s: &Samples, windows: &[Window], level: &Level, end_ns: i64) -> Option<Change> {
    let middle = level.middle_ns();
    let between = |nth: usize, rises| {
        let (a, b) = (windows.get(nth.checked_sub(1)?)?, windows.get(nth)?);
        edge(&s.trips, (a, b), middle, rises)
    };
    let (first, last) = (between(level.from, true), between(level.to, false));
    let kind = match (first, last) {
        (Some(_), None) => Kind::Rose,
        (None, Some(_)) => Kind::Fell,
        (Some(_), Some(_)) => Kind::Spell,
        (None, None) => return None,
    };
    let mut c = Change {
        kind,
        from_ns: first.or(s.trips.first().map(|t| t.sent_ns))?,
        to_ns: last,
        low_ns: level.low_ns,
        high_ns: level.high_ns,
        handshakes: None,
        acks: None,
        answers: None,
        in_flight: None,
        received_per_s: (0, 0),
        own_ns: None,
        evidence: Evidence::Acks,
        own: Own::Nothing,
        also: vec![],
        not: vec![],
    };
    if !sure(&c, s, windows, level) {
        return None;
    }
    let of = |kind: Of| {
        let all = s.trips.iter().filter(move |t| t.of == kind);
        all.map(|t| (t.sent_ns, t.ns))
    };
    c.handshakes = c.sides(of(Of::Handshake), HANDSHAKES, 25);
    c.acks = c.sides(of(Of::Ack), OTHERS, 25);
    c.answers = c.sides(s.answers.iter().map(|a| (a.sent_ns, a.ns)), OTHERS, 50);
    c.own_ns = c
        .sides(s.own.iter().map(|o| (o.sent_ns, o.ns)), OTHERS, 50)
        .map(|o| (o.other_ns, o.in_ns));
    let acks = s.trips.iter().filter(|t| t.of == Of::Ack);
    let flight = acks.map(|t| (t.sent_ns, i64::try_from(t.in_flight).unwrap_or(i64::MAX)));
    c.in_flight = c
        .sides(flight, OTHERS, 50)
        .map(|f| (f.other_ns.unsigned_abs(), f.in_ns.unsigned_abs()));
    c.received_per_s = received(&c, s, end_ns);
    // A flow that began or ended is no change of the way.
    if !c.handshakes.is_some_and(|h| c.follows(&h)) && !one_flow(&c, s, middle) {
        return None;
    }
    c.evidence = evidence(&c);
    c.own = own(&c);
    Some(c)
}

/// Round trip by round trip: nearly all in the time are longer, many of the others are not, and it is hardly chance.
fn sure(c: &Change, s: &Samples, windows: &[Window], level: &Level) -> bool {
    let middle = level.middle_ns();
    let (mut inside, mut above, mut other, mut below) = (0u64, 0u64, 0u64, 0u64);
    for t in &s.trips {
        if c.holds(t.sent_ns) {
            inside += 1;
            above += u64::from(t.ns > middle);
        } else {
            other += 1;
            below += u64::from(t.ns <= middle);
        }
    }
    let share = |part: u64, of: u64| part as f64 / of.max(1) as f64;
    let counted: u64 = windows
        .get(level.from..level.to)
        .unwrap_or_default()
        .iter()
        .map(|w| w.n.min(OF_A_WINDOW))
        .sum();
    // With all of the others below, one half of one is above.
    let rarely = (1.0 - share(below, other)).max(0.5 / other.max(1) as f64);
    let chance = -(counted as f64) * rarely.ln();
    share(above, inside) >= ABOVE && share(below, other) >= BELOW && chance >= CHANCE
}

/// A connection, or else all of a remote port, that was not slow outside and slow inside.
fn one_flow(c: &Change, s: &Samples, middle_ns: i64) -> bool {
    let mut connections: FxHashMap<u32, Vec<(i64, i64)>> = FxHashMap::default();
    let mut ports: FxHashMap<u16, Vec<(i64, i64)>> = FxHashMap::default();
    for t in s.trips.iter().filter(|t| t.of == Of::Ack) {
        connections.entry(t.connection.0).or_default().push((t.sent_ns, t.ns));
        ports.entry(t.port).or_default().push((t.sent_ns, t.ns));
    }
    let changed = |of: Vec<(i64, i64)>| {
        let s = c.sides(of.into_iter(), OTHERS, 25)?;
        Some(s.other_ns <= middle_ns && s.in_ns > middle_ns)
    };
    let of: Vec<bool> = connections.into_values().filter_map(changed).collect();
    match of.is_empty() {
        true => ports.into_values().filter_map(changed).any(|c| c),
        false => of.into_iter().any(|c| c),
    }
}

/// Payload that came, a second.
fn received(c: &Change, s: &Samples, end_ns: i64) -> (u64, u64) {
    let (Some(first), Some(last)) = (s.trips.first(), s.trips.last()) else {
        return (0, 0);
    };
    let end = last.sent_ns.saturating_add(last.ns).min(end_ns);
    let inside = c.to_ns.unwrap_or(end).saturating_sub(c.from_ns).max(1);
    let other = end.saturating_sub(first.sent_ns).saturating_sub(inside).max(1);
    let (mut bytes_in, mut bytes_other) = (0u64, 0u64);
    for (at, bytes) in &s.came {
        match c.holds(*at) {
            true => bytes_in += bytes,
            false => bytes_other += bytes,
        }
    }
    let rate = |bytes: u64, ns: i64| (bytes as f64 * 1e9 / ns as f64) as u64;
    (rate(bytes_other, other), rate(bytes_in, inside))
}

fn evidence(c: &Change) -> Evidence {
    let bulk = c.in_flight.is_some_and(|(other, inside)| other.min(inside) >= BULK);
    match (&c.handshakes, &c.answers) {
        (Some(h), _) if c.follows(h) => Evidence::Handshakes,
        (Some(_), _) => Evidence::NotHandshakes,
        (None, Some(a)) if c.follows(a) => Evidence::Answers,
        (None, None) if bulk => Evidence::Bulk,
        _ => Evidence::Acks,
    }
}

fn grew((other, inside): (u64, u64)) -> bool {
    inside >= other.saturating_mul(GREW)
}

fn own(c: &Change) -> Own {
    let more = |(other, inside): (u64, u64)| inside.saturating_sub(other) >= GREW_BYTES;
    let part = |(_, inside): (i64, i64)| inside >= c.rise_ns() / 4;
    if c.own_ns.is_some_and(part) {
        Own::Host
    } else if c.in_flight.is_some_and(|f| grew(f) && more(f)) {
        Own::InFlight
    } else if grew(c.received_per_s) && c.received_per_s.1 >= GREW_PER_S {
        Own::Received
    } else {
        Own::Nothing
    }
}
