//! Requests that go to a server one at a time, or a few, on one side, and more at once on the other: a pool of connections, or of threads, that
//! became smaller. Not whose it is, nor why, nor whether anybody waited. Of one connection one request is counted at a time.
//!
//! ```text
//! responses of clients of one server -> [send, answer readable] -> time at each number under way -> (most at once, part of the time at it)
//! ```

use std::collections::BTreeMap;

use super::answers::{LEAST, server};
use crate::analyses::application::{Role, sockets};
use crate::diff::sides::options::Recording;

/// Part of the time at its most from which a server's requests are at a limit.
const FULL: f64 = 0.8;
/// Part of the time with more than that on the other side that makes it one side's.
const MORE: f64 = 0.2;
/// What is rarer than this part of the time is no number of requests at once.
const RARE: f64 = 0.01;
/// So many times as many at once are others.
const TIMES: usize = 2;

/// How many requests of one server were under way: ns at each number, from 0.
#[derive(Debug, Clone, Default)]
struct Under {
    answers: usize,
    ns: Vec<f64>,
}

impl Under {
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

fn under(side: &[Recording<'_>]) -> BTreeMap<String, Under> {
    let mut out: BTreeMap<String, Under> = BTreeMap::new();
    for r in side {
        let mut edges: BTreeMap<String, Vec<(i64, bool)>> = BTreeMap::new();
        for s in sockets(r.facts).iter().filter(|s| s.in_turns && s.role == Role::Client) {
            let Some(server) = server(r, s.connection, s.role) else {
                continue;
            };
            let of = edges.entry(server).or_default();
            let mut until = i64::MIN;
            for (ns, row) in s.judged_responses().filter(|(ns, _)| *ns > 0) {
                let (from, to) = (row.send_ns.max(until), row.send_ns.saturating_add(ns));
                if from < to {
                    of.extend([(from, true), (to, false)]);
                    until = to;
                }
            }
        }
        for (server, edges) in edges {
            let of = out.entry(server).or_default();
            of.answers += edges.len() / 2;
            of.add(edges);
        }
    }
    out
}

/// A sentence for each server whose requests are at such a limit on one side only.
pub(in crate::diff) fn said(before: &[Recording<'_>], after: &[Recording<'_>]) -> Vec<String> {
    let (b, a) = (under(before), under(after));
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
    let full = n > 0 && of.part(n) >= FULL;
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
