//! Requests that go to a server one at a time, or a few, on one side, and more at once on the other: a pool of connections, or of threads, that
//! became smaller. Not whose it is, nor why, nor whether anybody waited. Of one connection one request is counted at a time.
//!
//! ```text
//! responses of clients of one server -> [send, answer readable] -> time at each number under way -> (most at once, part of the time at it)
//! ```

use std::collections::{BTreeMap, BTreeSet};

use super::answers::{LEAST, LEDGER, server};
use super::asks::Asks;
use crate::analyses::application::{Role, sockets};
use crate::analyses::verdict::duration;
use crate::diff::judged::compare::Metric;
use crate::diff::said::verdict::Outcome;
use crate::diff::sides::options::{DiffOptions, Recording};
use crate::stat::nearest_rank;

/// Part of the time at its most from which a server's requests are at a limit.
const FULL: f64 = 0.8;
/// Part of the time with more than that on the other side that makes it one side's.
const MORE: f64 = 0.2;
/// What is rarer than this part of the time is no number of requests at once.
const RARE: f64 = 0.01;
/// The same where who asks takes longer and who is asked does not: none may be above the limit then.
const REACHED: f64 = 0.3;
const EXCEEDED: f64 = 0.05;
/// So many times the median is far longer; and part of the time that must be of others.
const FAR_LONGER: i64 = 10;
const ALIKE: f64 = 0.5;
/// So many times as many at once are others.
const TIMES: usize = 2;

/// How many requests of one server were under way: ns at each number, from 0.
#[derive(Debug, Clone, Default)]
struct Under {
    answers: usize,
    ns: Vec<f64>,
    /// What each request took.
    took: Vec<i64>,
}

impl Under {
    /// Most of their time is of such as take no far longer than the others: those that do wait for what somebody else brings (a long poll, a blocking pop), and hold no place that others want.
    fn alike(&self) -> bool {
        let mut took = self.took.clone();
        let usual = nearest_rank(&mut took, 50).unwrap_or(0).saturating_mul(FAR_LONGER);
        let sum = |of: &mut dyn Iterator<Item = &i64>| of.map(|ns| *ns as f64).sum::<f64>();
        sum(&mut took.iter().filter(|ns| **ns <= usual)) >= ALIKE * sum(&mut took.iter())
    }
    fn add(&mut self, mut edges: Vec<(i64, bool)>) {
        // At one moment the end of a request stands before the begin of the next.
        edges.sort_unstable();
        let (mut level, mut last) = (0usize, None);
        for (at, begins) in edges {
            if let Some(last) = last.replace(at) {
                if self.ns.len() <= level {
                    self.ns.resize(level + 1, 0.0);
                }
                if let Some(slot) = self.ns.get_mut(level) {
                    *slot += at.saturating_sub(last) as f64;
                }
            }
            level = match begins {
                true => level + 1,
                false => level.saturating_sub(1),
            };
        }
    }
    fn part(&self, from: usize) -> f64 {
        let all: f64 = self.ns.iter().sum();
        self.ns.iter().skip(from).sum::<f64>() / all.max(1.0)
    }
    /// The most at once.
    fn most(&self) -> usize {
        let all: f64 = self.ns.iter().sum();
        let mut above = 0.0;
        let enough = |ns: &f64| {
            above += ns;
            above >= RARE * all
        };
        self.ns
            .iter()
            .skip(1)
            .rev()
            .position(enough)
            .map_or(0, |at| self.ns.len() - 1 - at)
    }
}

/// Processes of a recording that answer requests to a server.
fn serve(r: &Recording<'_>, who: &str) -> BTreeSet<i32> {
    let all = sockets(r.facts);
    let own =
        (all.iter()).filter(|s| s.role == Role::Server && server(r, s.connection, s.role).as_deref() == Some(who));
    let threads = own.flat_map(|s| s.turnarounds.iter().flat_map(|t| [t.pid, t.sender_pid]));
    threads.map(|tid| r.facts.process(tid)).collect()
}

/// By server that is asked; `of`: only requests by processes of this server.
fn under(side: &[Recording<'_>], of: Option<&str>) -> BTreeMap<String, Under> {
    let mut out: BTreeMap<String, Under> = BTreeMap::new();
    for r in side {
        let mut edges: BTreeMap<String, Vec<(i64, bool)>> = BTreeMap::new();
        let mut took: BTreeMap<String, Vec<i64>> = BTreeMap::new();
        let who = of.map(|of| serve(r, of));
        let asks = |tid: i32| who.as_ref().is_none_or(|w| w.contains(&r.facts.process(tid)));
        for s in sockets(r.facts).iter().filter(|s| s.in_turns && s.role == Role::Client) {
            let Some(server) = server(r, s.connection, s.role) else {
                continue;
            };
            let name = server.clone();
            let of = edges.entry(server).or_default();
            let mut until = i64::MIN;
            for (ns, row) in s.judged_responses().filter(|(ns, row)| *ns > 0 && asks(row.pid)) {
                let (from, to) = (row.send_ns.max(until), row.send_ns.saturating_add(ns));
                if from < to {
                    took.entry(name.clone()).or_default().push(ns);
                    of.extend([(from, true), (to, false)]);
                    until = to;
                }
            }
        }
        for (server, edges) in edges {
            let of = out.entry(server.clone()).or_default();
            of.answers += edges.len() / 2;
            of.took.extend(took.remove(&server).unwrap_or_default());
            of.add(edges);
        }
    }
    out
}

/// A server whose program has no more than so many requests to another one under way, on one side alone.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::diff) struct Ceiling {
    pub server: String,
    /// Without its end.
    pub sentence: String,
}

/// Of servers whose answers take longer, where those of the one that they ask do not: requests wait for a free place, so that a part of the time at the limit is enough, and none may be above it.
pub(in crate::diff) fn ceilings(
    [before, after]: [&[Recording<'_>]; 2],
    metrics: &[Metric],
    asks: &[Asks],
    o: &DiffOptions,
) -> Vec<Ceiling> {
    let answers = |server: &str, worse: bool| {
        let own = metrics.iter().filter(|m| {
            m.which.ledger == LEDGER && m.which.stage == "response" && m.which.service.as_deref() == Some(server)
        });
        own.clone()
            .next()
            .filter(|_| own.clone().any(|m| m.outcome == Outcome::Worse) == worse)
    };
    let slower = asks.iter().filter(|x| answers(&x.server, true).is_some());
    let pairs = slower.filter_map(|x| Some((x, answers(&x.asked, false)?)));
    let one = |(x, of): (&Asks, &Metric)| {
        let (p, q) = (of.before.p50_ns?, of.after.p50_ns?);
        if !as_quick(p, q, o) {
            return None;
        }
        // Others may ask it, too.
        let (b, a) = (under(before, Some(&x.server)), under(after, Some(&x.server)));
        let (b, a) = (b.get(&x.asked)?, a.get(&x.asked)?);
        let n = ceiling(a, b).filter(|_| limit(a, b).is_none())?;
        Some(Ceiling {
            server: x.server.clone(),
            sentence: format!(
                "Of its requests to {} {} are under way at once after ({:.0} % of the time), and before up to {}, while these are answered as quickly, p50 {} -> {}: what finds no free connection there waits at {} for one, as with a smaller pool (inferred)",
                x.asked,
                if n == 1 {
                    "1 at most".to_owned()
                } else {
                    format!("at most {n}")
                },
                100.0 * a.part(n),
                b.most(),
                duration(p),
                duration(q),
                x.server
            ),
        })
    };
    pairs.filter_map(one).collect()
}

/// Medians of whom it asks: a change that was not judged may be one.
fn as_quick(before: i64, after: i64, o: &DiffOptions) -> bool {
    after as f64 <= before as f64 * (1.0 + o.median_relative)
}

/// The number that is never exceeded, and reached for so much of the time, where the other side has more.
fn ceiling(of: &Under, other: &Under) -> Option<usize> {
    let n = of.ns.len().saturating_sub(1);
    let reached = n > 0 && of.alike() && of.answers.min(other.answers) >= LEAST && of.part(n) >= REACHED;
    (reached && other.most() >= n.saturating_mul(TIMES) && other.part(n + 1) >= EXCEEDED).then_some(n)
}

/// A sentence for each server whose requests are at such a limit on one side only.
pub(in crate::diff) fn said(before: &[Recording<'_>], after: &[Recording<'_>]) -> Vec<String> {
    let (b, a) = (under(before, None), under(after, None));
    let both = b.iter().filter_map(|(server, b)| Some((server, b, a.get(server)?)));
    let enough = both.filter(|(_, b, a)| b.answers >= LEAST && a.answers >= LEAST);
    enough
        .filter_map(|(server, b, a)| match (limit(a, b), limit(b, a)) {
            (Some(n), _) => Some(words(server, n, a, ("after", "before", b.most()))),
            (_, Some(n)) => Some(words(server, n, b, ("before", "after", a.most()))),
            _ => None,
        })
        .collect()
}

/// The number at which one side is nearly always, where the other has more.
fn limit(of: &Under, other: &Under) -> Option<usize> {
    let n = of.most();
    let full = n > 0 && of.part(n) >= FULL && of.alike();
    (full && other.most() >= n.saturating_mul(TIMES) && other.part(n + 1) >= MORE).then_some(n)
}

fn words(server: &str, n: usize, of: &Under, (when, other, most): (&str, &str, usize)) -> String {
    let at_once = match n {
        1 => "one at a time".into(),
        n => format!("at most {n} at once"),
    };
    format!(
        "Requests to {server} go {at_once} {when}, nearly without a pause ({:.0} % of the time); {other} there are up to {most} at once.",
        of.part(n) * 100.0
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `n` clients that ask without a pause; of these `at_once` are answered side by side.
    fn asked(n: i64, at_once: i64) -> Under {
        let mut out = Under {
            answers: 100,
            ..Under::default()
        };
        let one = |i: i64| {
            let begin = (i / at_once) * 100;
            [(begin, true), (begin + 99, false)]
        };
        out.add((0..n).flat_map(one).collect());
        out
    }

    #[test]
    fn a_limit_is_of_one_side_only() {
        let (one, six) = (asked(60, 1), asked(60, 6));
        assert_eq!((one.most(), six.most()), (1, 6));
        assert_eq!((limit(&one, &six), limit(&six, &one)), (Some(1), None));
        // Twice as many make a difference, and one more does not.
        assert_eq!(
            (limit(&asked(60, 3), &six), limit(&asked(60, 5), &six)),
            (Some(3), None)
        );
        assert_eq!(limit(&six, &six), None);
        // Most of the time is of few that take far longer than the others: they wait for what somebody brings.
        let mut waits = asked(60, 1);
        waits.took = [vec![1_000; 40], vec![20_000; 20]].concat();
        assert_eq!(limit(&waits, &six), None);
        waits.took.truncate(41);
        assert_eq!(limit(&waits, &six), Some(1));
    }

    #[test]
    fn a_ceiling_is_reached_and_never_exceeded() {
        // Two at once for two fifths of the time; up to six before.
        let mut two = Under {
            answers: 100,
            ..Under::default()
        };
        let pair = |i: i64| {
            [
                (i * 100, true),
                (i * 100 + 1, true),
                (i * 100 + 40, false),
                (i * 100 + 41, false),
            ]
        };
        two.add((0..50).flat_map(pair).collect());
        assert_eq!(
            (ceiling(&two, &asked(60, 6)), limit(&two, &asked(60, 6))),
            (Some(2), None)
        );
        // The other side has no more; once there were more.
        assert_eq!((ceiling(&two, &two), ceiling(&two, &asked(60, 3))), (None, None));
        two.add(vec![
            (0, true),
            (0, true),
            (0, true),
            (9, false),
            (9, false),
            (9, false),
        ]);
        assert_eq!(ceiling(&two, &asked(60, 6)), None);
    }

    #[test]
    fn what_is_asked_answers_as_quickly_up_to_the_threshold() {
        let o = DiffOptions {
            median_relative: 0.25,
            ..DiffOptions::default()
        };
        let quick = |after| as_quick(1_000_000, after, &o);
        assert_eq!(
            [500_000, 1_250_000, 1_250_001, 1_900_000].map(quick),
            [true, true, false, false]
        );
    }

    #[test]
    fn requests_of_other_programs_are_none_of_it() {
        let store = "10.78.1.9:6379";
        let f = crate::diff::tests::asks::asking(|_| 2, 10_000);
        let counted = |f: &crate::facts::Facts, of: Option<&str>| {
            let all = [f];
            under(&Recording::all(&all, &[], None), of)
                .get(store)
                .map(|u| u.answers)
        };
        let server = Some("10.78.1.2:7000");
        assert_eq!((counted(&f, None), counted(&f, server)), (Some(800), Some(800)));
        // The same by a process that serves nobody.
        let mut others = f;
        for r in &mut others.responses {
            if others.connections[r.connection.0 as usize].dport == 6379 {
                r.pid = 999_999;
            }
        }
        assert_eq!((counted(&others, None), counted(&others, server)), (Some(800), Some(0)));
    }

    #[test]
    fn pauses_are_no_limit() {
        // One at a time, half of the time: nobody waits.
        let mut idle = Under::default();
        idle.add((0..50).flat_map(|i| [(i * 100, true), (i * 100 + 50, false)]).collect());
        assert_eq!(idle.most(), 1);
        assert_eq!(limit(&idle, &asked(60, 6)), None);
        // More at once now and then only.
        let mut rare = asked(60, 1);
        rare.add(vec![(0, true), (0, true), (20, false), (20, false)]);
        assert_eq!(limit(&asked(60, 1), &rare), None);
    }
}
