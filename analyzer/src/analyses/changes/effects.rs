//! What was counted and measured before a time and after it, and whether that differs by much.
//!
//! Counts: so many after that four times the rate before, one more than were counted there assumed, does not explain them. Times: medians, or the slowest tenth, of
//! the same connections, or places that are asked, on both sides.

use std::net::IpAddr;

use rustc_hash::FxHashMap;

use super::{Effect, Reach};
use crate::analyses::application::server;
use crate::analyses::tcp::label;
use crate::analyses::verdict::duration;
use crate::facts::Facts;
use crate::reconstruct::application::tables::ResponseRow;
use crate::reconstruct::opens::tables::OpenEnd;
use crate::reconstruct::tcp::role::Role;
use crate::reconstruct::tcp::tables::ConnectionRow;
use crate::stat::{cliffs_delta, quantile};

/// Windows shorter than this are not compared, ns.
const SHORTEST_NS: i64 = 200_000_000;
/// Least of what is counted.
const LEAST: u64 = 3;
/// Least of what is done, and of times on either side.
const LEAST_DONE: u64 = 20;
const LEAST_TIMES: usize = 10;
/// And of what there was before, too.
const LEAST_MORE: u64 = 6;
/// What a change does begins as soon, ns.
const SOON_NS: i64 = 1_000_000_000;
/// Cliff's delta: of ten pairs of one before and one after eight differ one way and two the other.
const NEARLY_ALL: f64 = 0.6;
/// How many times as often.
const TIMES: f64 = 4.0;

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

/// When times of two windows differ by much.
struct Rule {
    percent: usize,
    name: &'static str,
    /// How many times as long.
    times: f64,
    /// And by how much at least, ns.
    by_ns: i64,
}

impl Rule {
    /// Whether nearly all are longer, or shorter: of pages of several kinds the median jumps from kind to kind. Of the slowest tenth, whether it is beyond all of the
    /// other side.
    fn holds(&self, was: &[i64], is: &[i64]) -> bool {
        if self.percent > 50 {
            let beyond = |one: &[i64], other: &[i64]| {
                let most = one.last().copied().unwrap_or(i64::MAX);
                quantile(other, self.percent).is_some_and(|ns| ns > most.saturating_mul(2))
            };
            return beyond(was, is) || beyond(is, was);
        }
        cliffs_delta(was, is).is_some_and(|d| d.abs() >= NEARLY_ALL)
    }
    fn apart(&self, (was, is): (i64, i64)) -> bool {
        let (low, high) = (was.min(is), was.max(is));
        high as f64 >= self.times * low as f64 && high.saturating_sub(low) >= self.by_ns
    }
}

/// Answers: the median; or the slowest tenth, which one slow page of many makes, so by more.
const ANSWERS: [Rule; 2] = [
    Rule {
        percent: 50,
        name: "p50",
        times: 2.0,
        by_ns: 1_000_000,
    },
    Rule {
        percent: 90,
        name: "p90",
        times: 4.0,
        by_ns: 20_000_000,
    },
];
/// Smoothed round trips follow what is sent, too.
const TRIPS: [Rule; 1] = [Rule {
    percent: 50,
    name: "p50",
    times: 3.0,
    by_ns: 5_000_000,
}];

/// How long something took, by when it began and whose it is.
struct Taken {
    rows: Vec<(i64, u64, i64)>,
    /// Whose, by number.
    names: Vec<String>,
    /// `answers of`
    of: &'static str,
    /// `took`
    took: &'static str,
    rules: &'static [Rule],
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

/// Answers to who asks, with the connections.
fn asked(facts: &Facts, reach: Reach) -> impl Iterator<Item = (&ResponseRow, &ConnectionRow)> {
    let of = facts
        .responses
        .iter()
        .filter_map(|r| Some((r, facts.connections.get(r.connection.0 as usize)?)));
    of.filter(move |(_, c)| c.role().0 == Role::Client && reach.connection(facts, Some(c.connection)))
}

impl Series {
    /// Of all that was recorded and that is within reach.
    pub fn of(facts: &Facts, reach: Reach) -> Series {
        let here = |c| reach.connection(facts, c);
        let failed = |ends: &'static [OpenEnd]| {
            let of = facts
                .opens
                .iter()
                .filter(|o| ends.contains(&o.end) && here(o.connection));
            sorted(of.map(|o| o.start_ns))
        };
        let dropped = facts.drops.iter().filter(|d| d.is_loss() && reach.drop(facts, d));
        let again = facts.retransmits.iter().filter(|r| here(r.connection));
        let counts = vec![
            Count {
                times: sorted(dropped.map(|d| d.time_ns)),
                one: "packet was dropped by this host",
                many: "packets were dropped by this host",
                bad: true,
            },
            Count {
                times: sorted(again.map(|r| r.time_ns)),
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
                times: sorted(asked(facts, reach).map(|(r, _)| r.read_ns)),
                one: "answer was read",
                many: "answers were read",
                bad: false,
            },
        ];
        // Of each place that is asked, by who asks.
        let mut places: FxHashMap<(Option<IpAddr>, u16), u64> = FxHashMap::default();
        let mut names = vec![];
        let answers: Vec<_> = asked(facts, reach)
            .map(|(r, to)| {
                let whose = *places.entry((to.daddr, to.dport)).or_insert_with(|| {
                    names.push(server(facts, to.connection));
                    names.len() as u64 - 1
                });
                (r.send_ns, whose, r.read_ns.saturating_sub(r.send_ns))
            })
            .collect();
        // A single segment's ACK may be delayed, which is no round trip.
        let trips = facts
            .tcp_samples
            .iter()
            .filter(|s| s.srtt_us > 0 && s.snd_nxt.wrapping_sub(s.snd_una) >= UNDER_WAY && here(Some(s.connection)));
        let trips: Vec<_> = trips
            .map(|s| {
                (
                    s.time_ns,
                    u64::from(s.connection.0),
                    i64::from(s.srtt_us).saturating_mul(1_000),
                )
            })
            .collect();
        let mut taken = vec![
            Taken {
                rows: answers,
                names,
                of: "answers from",
                took: "took",
                rules: &ANSWERS,
            },
            Taken {
                names: if trips.is_empty() {
                    vec![]
                } else {
                    facts.connections.iter().map(label).collect()
                },
                rows: trips,
                of: "smoothed round trips of",
                took: "were",
                rules: &TRIPS,
            },
        ];
        taken.iter_mut().for_each(|t| t.rows.sort_unstable_by_key(|r| r.0));
        Series { counts, taken }
    }

    /// What differs; `None`: a window is too short. `long` reaches beyond the change before: what happened then is all the more no news.
    /// The last of the changes was at `changed`: what begins much later is told with that, and is not laid to them.
    pub fn compared(&self, (long, before, after): (Window, Window, Window), changed: i64) -> Option<Vec<Effect>> {
        let lasts = |w: Window| w.1.saturating_sub(w.0) >= SHORTEST_NS;
        if !lasts(before) || !lasts(after) {
            return None;
        }
        let counts = self
            .counts
            .iter()
            .filter_map(|c| c.differs((long, before, after), changed));
        let taken = self.taken.iter().filter_map(|t| t.differs(before, after, changed));
        Some(counts.chain(taken).collect())
    }
}

/// Whether it began so late that the changes are hardly why, and how late, in words; `which`: the first of what began, or the last of what ended.
fn late(onset: Option<i64>, changed: i64, which: &str) -> (bool, String) {
    let late = onset.map_or(0, |at| at.saturating_sub(changed));
    match late > SOON_NS {
        true => (true, format!(", the {which} {} after it", duration(late))),
        false => (false, String::new()),
    }
}

impl Count {
    /// From when on it was otherwise: the first of several that are as close as four times the rate before; of what is done, its last.
    fn onset(&self, before: Window, after: Window) -> Option<i64> {
        let below = |t: i64| self.times.partition_point(|at| *at < t);
        let inside = self.times.get(below(after.0)..below(after.1)).unwrap_or_default();
        let n = within(&self.times, before);
        if !self.bad {
            return inside.last().copied();
        }
        let few = if n == 0 { 1 } else { LEAST_MORE };
        let far = (few - 1) as f64 / (TIMES * n.max(1) as f64 / seconds(before));
        let few = usize::try_from(few).unwrap_or(1);
        let close = |w: &&[i64]| match (w.first(), w.last()) {
            (Some(a), Some(b)) => b.saturating_sub(*a) as f64 / 1e9 <= far.max(0.0),
            _ => false,
        };
        let first = inside.windows(few).find(close).and_then(|w| w.first());
        first.or_else(|| inside.first()).copied()
    }

    /// `long` reaches beyond the change before, `before` does not.
    fn differs(&self, (long, before, after): (Window, Window, Window), changed: i64) -> Option<Effect> {
        let of = |w: Window| (within(&self.times, w), seconds(w));
        let (of_long, of_before, of_after) = (of(long), of(before), of(after));
        let times = |(n, in_s): (u64, f64), (other, other_s): (u64, f64)| (n as f64 / in_s) / (other as f64 / other_s);
        let one_more = |(n, s): (u64, f64)| (n + 1, s);
        let ((was, was_s), differs) = match self.bad {
            // What grows since an earlier change is of that.
            true => {
                let least = if of_long.0 == 0 { LEAST } else { LEAST_MORE };
                let grows = of_before.0 > 0 && times(of_after, of_before) < TIMES;
                let more = of_after.0 >= least && times(of_after, one_more(of_long)) >= TIMES;
                (of_long, more && !grows)
            }
            false => {
                let fewer = of_before.0 >= LEAST_DONE && times(of_before, one_more(of_after)) >= TIMES;
                (of_before, fewer)
            }
        };
        if !differs {
            return None;
        }
        let (is, is_s) = of_after;
        let words = if is == 1 { self.one } else { self.many };
        let is = if is == 0 { "no".to_owned() } else { is.to_string() };
        let was = if was == 0 { "none".to_owned() } else { was.to_string() };
        let (late, began) = late(
            self.onset(before, after),
            changed,
            if self.bad { "first" } else { "last" },
        );
        Some(Effect {
            says: format!("{is} {words} in {is_s:.2} s ({was} in {was_s:.2} s before{began})"),
            worse: !late,
            late,
        })
    }
}

impl Taken {
    /// Of whom both sides have enough; of several the one with most. Each by itself: together they would differ where one asks more than before.
    fn differs(&self, before: Window, after: Window, changed: i64) -> Option<Effect> {
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
        let enough = |(_, (was, is)): &(u64, (Vec<i64>, Vec<i64>))| was.len() >= LEAST_TIMES && is.len() >= LEAST_TIMES;
        let all = of.into_iter().filter(enough).map(|(whose, (mut was, mut is))| {
            was.sort_unstable();
            is.sort_unstable();
            (whose, was, is)
        });
        let mut found: Vec<_> = all
            .filter_map(|(whose, was, is)| {
                let (name, of) = self.rules.iter().find_map(|rule| {
                    let of = quantile(&was, rule.percent).zip(quantile(&is, rule.percent))?;
                    (rule.apart(of) && rule.holds(&was, &is)).then_some((rule.name, of))
                })?;
                // The first that is longer than half of what was added.
                let half = of.0.midpoint(of.1);
                let rows = part(after).iter().filter(|r| r.1 == whose);
                let first = rows.clone().find(|r| r.2 >= half && of.1 > of.0).map(|r| r.0);
                // Where nothing was asked sooner, that is at once.
                let sooner = rows.filter(|r| first.is_some_and(|at| r.0 < at)).count();
                Some((is.len(), whose, name, of, first.filter(|_| sooner > 0)))
            })
            .collect();
        found.sort_unstable_by_key(|(n, whose, ..)| (std::cmp::Reverse(*n), *whose));
        let (_, whose, name, (then, now), first) = *found.first()?;
        let (late, began) = late(first, changed, "first");
        let whom = self.names.get(usize::try_from(whose).ok()?)?;
        let more = match found.len().saturating_sub(1) {
            0 => String::new(),
            n => format!(", and of {n} more"),
        };
        Some(Effect {
            says: format!(
                "{} {whom} {} {name} {} ({} before{more}{began})",
                self.of,
                self.took,
                duration(now),
                duration(then)
            ),
            worse: now > then && !late,
            late,
        })
    }
}
