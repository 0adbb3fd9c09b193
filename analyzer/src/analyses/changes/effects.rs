//! What was counted and measured before a time and after it, and whether that differs by much.
//!
//! Counts: so many after that four times the rate before, one more than were counted there assumed, does not explain them. Times: medians, or the slowest tenth, of
//! the same connections, or places that are asked, on both sides.

use std::net::IpAddr;

use rustc_hash::FxHashMap;

use super::Effect;
use crate::analyses::verdict::duration;
use crate::facts::Facts;
use crate::reconstruct::application::tables::ResponseRow;
use crate::reconstruct::opens::tables::OpenEnd;
use crate::reconstruct::tcp::role::Role;
use crate::reconstruct::tcp::tables::ConnectionRow;

/// Windows shorter than this are not compared, ns.
const SHORTEST_NS: i64 = 200_000_000;
/// Least of what is counted.
const LEAST: u64 = 3;
/// Least of what is done, and of times on either side.
const LEAST_DONE: u64 = 20;
const LEAST_TIMES: usize = 10;
/// How many times as often, and as long.
const TIMES: f64 = 4.0;
const LONGER: f64 = 2.0;
/// By how much at least, ns.
const BY_NS: i64 = 1_000_000;

/// Bytes under way from which their ACKs are not delayed: two full segments.
const UNDER_WAY: u32 = 2 * 1_448;

type Window = (i64, i64);

/// When something happened.
struct Count {
    times: Vec<i64>,
    /// `packet was dropped`, `packets were dropped`
    one: &'static str,
    many: &'static str,
    /// More is worse; else it is what is done, and less is worse.
    bad: bool,
}

/// How long something took, by when it began and whose it is.
struct Taken {
    rows: Vec<(i64, u64, i64)>,
    what: &'static str,
}

/// All that is compared.
pub struct Series {
    counts: Vec<Count>,
    taken: Vec<Taken>,
}

fn sorted(times: impl Iterator<Item = i64>) -> Vec<i64> {
    let mut all: Vec<i64> = times.collect();
    all.sort_unstable();
    all
}

fn within(times: &[i64], (from, to): Window) -> u64 {
    let below = |t: i64| times.partition_point(|at| *at < t);
    below(to).saturating_sub(below(from)) as u64
}

fn seconds((from, to): Window) -> f64 {
    to.saturating_sub(from).max(1) as f64 / 1e9
}

fn quantile(sorted: &[i64], q: f64) -> i64 {
    let at = (sorted.len().saturating_sub(1) as f64 * q).round() as usize;
    sorted.get(at).copied().unwrap_or(0)
}

/// Answers to who asks, with the connections.
fn asked(facts: &Facts) -> impl Iterator<Item = (&ResponseRow, &ConnectionRow)> {
    let of = facts
        .responses
        .iter()
        .filter_map(|r| Some((r, facts.connections.get(r.connection.0 as usize)?)));
    of.filter(|(_, c)| c.role().0 == Role::Client)
}

impl Series {
    /// Of all that was recorded.
    pub fn of(facts: &Facts) -> Series {
        let failed = |ends: &'static [OpenEnd]| {
            let of = facts.opens.iter().filter(move |o| ends.contains(&o.end));
            sorted(of.map(|o| o.start_ns))
        };
        let dropped = facts
            .drops
            .iter()
            .filter(|d| d.expected == Some(false) && !d.background);
        let counts = vec![
            Count {
                times: sorted(dropped.map(|d| d.time_ns)),
                one: "packet was dropped in this host",
                many: "packets were dropped in this host",
                bad: true,
            },
            Count {
                times: sorted(facts.retransmits.iter().map(|r| r.time_ns)),
                one: "retransmission",
                many: "retransmissions",
                bad: true,
            },
            Count {
                times: failed(&[OpenEnd::Refused]),
                one: "connection was refused",
                many: "connections were refused",
                bad: true,
            },
            Count {
                times: failed(&[
                    OpenEnd::TimedOut,
                    OpenEnd::Unreachable,
                    OpenEnd::GivenUp,
                    OpenEnd::Waiting,
                ]),
                one: "attempt to connect had no answer",
                many: "attempts to connect had no answer",
                bad: true,
            },
            Count {
                times: sorted(asked(facts).map(|(r, _)| r.read_ns)),
                one: "answer was read",
                many: "answers were read",
                bad: false,
            },
        ];
        // Of each place that is asked, by who asks.
        let mut places: FxHashMap<(Option<IpAddr>, u16), u64> = FxHashMap::default();
        let answers: Vec<_> = asked(facts)
            .map(|(r, to)| {
                let next = places.len() as u64;
                let whose = *places.entry((to.daddr, to.dport)).or_insert(next);
                (r.send_ns, whose, r.read_ns.saturating_sub(r.send_ns))
            })
            .collect();
        // A single segment's ACK may be delayed, which is no round trip.
        let trips = facts
            .tcp_samples
            .iter()
            .filter(|s| s.srtt_us > 0 && s.snd_nxt.wrapping_sub(s.snd_una) >= UNDER_WAY);
        let trips = trips.map(|s| {
            (
                s.time_ns,
                u64::from(s.connection.0),
                i64::from(s.srtt_us).saturating_mul(1_000),
            )
        });
        let mut taken = vec![
            Taken {
                rows: answers,
                what: "answers took",
            },
            Taken {
                rows: trips.collect(),
                what: "smoothed round trips",
            },
        ];
        taken.iter_mut().for_each(|t| t.rows.sort_unstable_by_key(|r| r.0));
        Series { counts, taken }
    }

    /// What differs; `None`: a window is too short. `long` reaches beyond the change before: what happened then is all the more no news.
    pub fn compared(&self, (long, before, after): (Window, Window, Window)) -> Option<Vec<Effect>> {
        let lasts = |w: Window| w.1.saturating_sub(w.0) >= SHORTEST_NS;
        if !lasts(before) || !lasts(after) {
            return None;
        }
        let counts = self
            .counts
            .iter()
            .filter_map(|c| c.differs(if c.bad { long } else { before }, after));
        let taken = self.taken.iter().filter_map(|t| t.differs(before, after));
        Some(counts.chain(taken).collect())
    }
}

impl Count {
    fn differs(&self, before: Window, after: Window) -> Option<Effect> {
        let (was, is) = (within(&self.times, before), within(&self.times, after));
        let (long_before, long_after) = (seconds(before), seconds(after));
        let explains = |n: u64, long: f64, other: u64, other_long: f64| {
            (n as f64 / long) < TIMES * ((other + 1) as f64 / other_long)
        };
        let least = if self.bad { LEAST } else { LEAST_DONE };
        let more = is >= least && !explains(is, long_after, was, long_before);
        let fewer = was >= least && !explains(was, long_before, is, long_after);
        // That more is done is no news, nor is that something bad is over: it comes in bursts.
        if !(if self.bad { more } else { fewer }) {
            return None;
        }
        let words = if is == 1 { self.one } else { self.many };
        let is = if is == 0 { "no".to_owned() } else { is.to_string() };
        let was = if was == 0 { "none".to_owned() } else { was.to_string() };
        Some(Effect {
            says: format!("{is} {words} in {long_after:.2} s ({was} in {long_before:.2} s before)"),
            worse: true,
        })
    }
}

impl Taken {
    /// Of whom both sides have enough.
    fn differs(&self, before: Window, after: Window) -> Option<Effect> {
        let mut of: FxHashMap<u64, (Vec<i64>, Vec<i64>)> = FxHashMap::default();
        let part = |(from, to): Window| {
            let below = |t: i64| self.rows.partition_point(|r| r.0 < t);
            self.rows.get(below(from)..below(to)).unwrap_or_default()
        };
        for (_, whose, ns) in part(before) {
            of.entry(*whose).or_default().0.push(*ns);
        }
        for (_, whose, ns) in part(after) {
            // Who is not there before is not compared.
            if let Some(sides) = of.get_mut(whose) {
                sides.1.push(*ns);
            }
        }
        let (mut was, mut is) = (vec![], vec![]);
        for (a, b) in of.into_values() {
            if a.len() >= LEAST_TIMES && b.len() >= LEAST_TIMES {
                was.extend(a);
                is.extend(b);
            }
        }
        if was.is_empty() {
            return None;
        }
        was.sort_unstable();
        is.sort_unstable();
        let at = |q: f64| (quantile(&was, q), quantile(&is, q));
        let apart = |(was, is): (i64, i64)| {
            let (low, high) = (was.min(is), was.max(is));
            high as f64 >= LONGER * low as f64 && high.saturating_sub(low) >= BY_NS
        };
        let (name, (then, now)) = [("p50", at(0.5)), ("p90", at(0.9))]
            .into_iter()
            .find(|(_, of)| apart(*of))?;
        Some(Effect {
            says: format!("{} {name} {} ({} before)", self.what, duration(now), duration(then)),
            worse: now > then,
        })
    }
}
