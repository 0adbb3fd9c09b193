//! Whether the program of a server asks others one after the other or at the same time: how long its requests to others take, all together, as part of the time of its own answers.
//!
//! ```text
//! answer   |──────────────────────────|        |────────────|
//! asks      |──A──||──B──||──C──||─D─|          |──A──|          0.95 of its time -> 2.4 times its time
//!                                               |───B────|
//!                                               |───C───|  ...
//! ```
//! In: sums of `asks`. Said where it asks as often on both sides, one after the other on one (no more than its answers' time) and at the same time on the other. Not judged: what it makes of the answers is measured by itself.

use crate::diff::servers::answers::LEAST;

/// One after the other: no more than its answers' time, but for what clocks and other work make of it.
const ONE: f64 = 1.1;
/// At the same time, and so many times as much as on the other side.
const SEVERAL: f64 = 1.4;
/// Requests for an answer differ by so much at most, and there are so many of them.
const ALIKE: f64 = 1.3;
const TWO: f64 = 1.5;

/// Sums of one side.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::diff) struct Times {
    /// Answers, and their time, ns.
    pub answers: u64,
    pub own_ns: i64,
    /// Requests to others, and their time, ns.
    pub requests: u64,
    pub asked_ns: i64,
}

impl Times {
    fn share(&self) -> f64 {
        self.asked_ns as f64 / self.own_ns.max(1) as f64
    }
    fn per_answer(&self) -> f64 {
        self.requests as f64 / self.answers.max(1) as f64
    }
}

/// A sentence without its end, of a server.
pub(in crate::diff) fn said(server: &str, before: Times, after: Times) -> Option<String> {
    let enough = before.answers.min(after.answers) >= LEAST as u64;
    let (b, a) = (before.per_answer(), after.per_answer());
    let alike = b.min(a) >= TWO && b.max(a) <= ALIKE * b.min(a);
    let (one, several) = (before.share().min(after.share()), before.share().max(after.share()));
    if !enough || !alike || one > ONE || several < SEVERAL || several < SEVERAL * one {
        return None;
    }
    let (then, now) = match before.share() < after.share() {
        true => ("one after the other", "at the same time"),
        false => ("at the same time", "one after the other"),
    };
    Some(format!(
        "For an answer of {server} its program asks others {then} before and {now} after (inferred: its {b:.1} -> {a:.1} requests an answer take {:.2} -> {:.2} times the time of its answers, all together)",
        before.share(),
        after.share()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(share: f64, requests: u64) -> Times {
        Times {
            answers: 100,
            own_ns: 100_000_000,
            requests,
            asked_ns: (share * 100_000_000.0) as i64,
        }
    }

    #[test]
    fn four_at_the_same_time_take_more_than_the_answer() {
        let of = |b, a| said("10.0.0.1:80", b, a);
        let expect = "For an answer of 10.0.0.1:80 its program asks others one after the other before and at the same time after (inferred: its 4.0 -> 4.2 requests an answer take 0.95 -> 2.40 times the time of its answers, all together)";
        assert_eq!(of(times(0.95, 400), times(2.4, 420)).unwrap(), expect);
        assert!(
            of(times(2.4, 420), times(0.95, 400))
                .unwrap()
                .contains("at the same time before and one after the other after")
        );
        // It asks more; once for each; both at the same time, or one after the other; few.
        assert_eq!(of(times(0.95, 400), times(2.4, 800)), None);
        assert_eq!(of(times(0.95, 100), times(2.4, 100)), None);
        assert_eq!(of(times(1.6, 400), times(2.4, 400)), None);
        assert_eq!(of(times(0.5, 400), times(1.05, 400)), None);
        let few = Times {
            answers: 5,
            ..times(2.4, 20)
        };
        assert_eq!(of(times(0.95, 400), few), None);
    }
}
