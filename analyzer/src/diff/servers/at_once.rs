//! Whether the program of a server asks others one after the other or at the same time for one answer.
//!
//! ```text
//! one request under way at a thread   |────────────────────────|      |────────────|
//! it asks                              |──A──||──B──||──C──|            |──A──|          time of all: that in which any was under way
//!                                                                       |───B────|       2.4 times that
//!                                                                       |──C──|
//! ```
//! In: what a thread asked others while it had one request of its own under way (`asks`), so that all of it is for that answer. Said where each such answer has as many requests on both sides, one after the other on one of them
//! and at the same time on the other. Not judged: what it makes of the answers is measured by itself.

use std::collections::BTreeMap;

/// One after the other: the sum of their times is no more than this times that in which any was under way.
const ONE: f64 = 1.1;
/// At the same time.
const SEVERAL: f64 = 1.4;
/// Requests for such an answer differ by so much at most.
const ALIKE: f64 = 1.3;
/// Fewest such answers with two requests or more.
const LEAST: u64 = 5;

/// What was asked for single answers of one side.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::diff) struct Times {
    /// Answers with two requests or more.
    pub answers: u64,
    /// Requests of these.
    pub requests: u64,
    /// Sum of their times, and time in which any was under way, ns.
    pub sum_ns: i64,
    pub any_ns: i64,
}

/// An answer: the server, the thread, when its request was read.
type Answer = (String, i32, i64);

/// What was asked for each, from when until when.
#[derive(Default)]
pub(super) struct Placed(BTreeMap<Answer, Vec<(i64, i64)>>);

impl Placed {
    pub(super) fn add(&mut self, (server, pid, read_ns): (&str, i32, i64), from_ns: i64, ns: i64) {
        let of = self.0.entry((server.to_owned(), pid, read_ns)).or_default();
        of.push((from_ns, from_ns.saturating_add(ns)));
    }

    /// By server.
    pub(super) fn add_to(self, out: &mut BTreeMap<String, Times>) {
        for ((server, ..), mut spans) in self.0 {
            if spans.len() < 2 {
                continue;
            }
            spans.sort_unstable();
            let of = out.entry(server).or_default();
            of.answers += 1;
            of.requests += spans.len() as u64;
            let mut until = i64::MIN;
            for (from, to) in spans {
                of.sum_ns = of.sum_ns.saturating_add(to.saturating_sub(from));
                of.any_ns = of.any_ns.saturating_add(to.saturating_sub(from.max(until)).max(0));
                until = until.max(to);
            }
        }
    }
}

impl Times {
    fn at_once(&self) -> f64 {
        self.sum_ns as f64 / self.any_ns.max(1) as f64
    }
    fn each(&self) -> f64 {
        self.requests as f64 / self.answers.max(1) as f64
    }
}

/// A sentence without its end, of a server.
pub(in crate::diff) fn said(server: &str, before: Times, after: Times) -> Option<String> {
    let (b, a) = (before.each(), after.each());
    let (one, several) = (
        before.at_once().min(after.at_once()),
        before.at_once().max(after.at_once()),
    );
    let alike = b.max(a) <= ALIKE * b.min(a);
    if before.answers.min(after.answers) < LEAST || !alike || one > ONE || several < SEVERAL {
        return None;
    }
    let (then, now) = match before.at_once() < after.at_once() {
        true => ("one after the other", "at the same time"),
        false => ("at the same time", "one after the other"),
    };
    Some(format!(
        "For an answer of {server} its program asks others {then} before and {now} after (on average {:.1} -> {:.1} requests at once, of {} and {} answers whose thread had no other under way)",
        before.at_once(),
        after.at_once(),
        before.answers,
        after.answers
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many answers, for each of which four are asked that take 10 ms, `apart` ms after each other.
    fn times(answers: i64, apart: i64) -> Times {
        let mut placed = Placed::default();
        for n in 0..answers {
            for nth in 0..4 {
                let from = n * 1_000_000_000 + nth * apart * 1_000_000;
                placed.add(("s", 7, n), from, 10_000_000);
            }
        }
        let mut out = BTreeMap::new();
        placed.add_to(&mut out);
        out["s"]
    }

    #[test]
    fn four_at_the_same_time_overlap() {
        let of = |b, a| said("10.0.0.1:80", b, a);
        let expect = "For an answer of 10.0.0.1:80 its program asks others one after the other before and at the same time after (on average 1.0 -> 4.0 requests at once, of 20 and 30 answers whose thread had no other under way)";
        assert_eq!(of(times(20, 11), times(30, 0)).unwrap(), expect);
        assert!(
            of(times(20, 0), times(20, 11))
                .unwrap()
                .contains("at the same time before and one after the other after")
        );
        // At once on both sides, whatever they take; one after the other on both; few; more of them.
        assert_eq!(of(times(20, 0), times(20, 5)), None);
        assert_eq!(of(times(20, 11), times(20, 40)), None);
        assert_eq!(of(times(20, 11), times(4, 0)), None);
        let more = Times {
            requests: 200,
            ..times(20, 0)
        };
        assert_eq!(of(times(20, 11), more), None);
        let times = times(20, 5);
        assert_eq!((times.sum_ns, times.any_ns), (20 * 40_000_000, 20 * 25_000_000));
    }
}
