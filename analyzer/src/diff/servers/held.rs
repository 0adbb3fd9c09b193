//! What held requests and answers in the write queues of both ends (Nagle and the peer's delayed ACK, a window, pacing, loss), of each server and per answer: where the way there and back
//! is what takes longer, that is most of it or it is not.
//!
//! In: what held each socket (`Spent`), of whole recordings. Out: a clause. The device's own queue has a clause of its own, with the device.

use std::collections::BTreeMap;

use super::answers::server;
use crate::analyses::application::Role;
use crate::analyses::verdict::{duration, limiter};
use crate::diff::sides::options::Recording;

/// Stages of the write queue.
const STAGES: [&str; 9] = [
    "sndbuf",
    "rwnd",
    "cwnd",
    "nagle",
    "pacing",
    "tsq",
    "refused",
    "neighbour",
    "recovery",
];
/// Part of what the way takes longer that one of them must have grown by; more than all of it is of other data than requests and the beginnings of answers.
const MOSTLY: std::ops::RangeInclusive<f64> = 0.5..=1.1;

/// Whose write queue (its clients'?), and in which stage.
type Where = (bool, &'static str);

/// ns by that of all sockets of a server's connections, on each side.
pub(in crate::diff) type Held = BTreeMap<String, [BTreeMap<Where, i64>; 2]>;

/// Of both sides.
pub(in crate::diff) fn of(before: &[Recording<'_>], after: &[Recording<'_>]) -> Held {
    let mut out = Held::new();
    for (at, side) in [before, after].into_iter().enumerate() {
        for r in side {
            for (c, spent) in &r.facts.spent {
                let mut both = [Role::Client, Role::Server].into_iter();
                let of = both.find_map(|role| Some((server(r, *c, role)?, role == Role::Client)));
                let Some((name, client)) = of else { continue };
                let Some(by) = out.entry(name).or_default().get_mut(at) else {
                    continue;
                };
                for (stage, share) in spent.shares() {
                    let ns = by.entry((client, stage)).or_default();
                    *ns = ns.saturating_add((share * spent.busy_ns as f64) as i64);
                }
            }
        }
    }
    out
}

/// `; of it held in the write queues of its clients by Nagle, a cork or TSO deferral: mean 0.00 µs -> 41.90 ms per answer`; `answers`: before and after; `by`: what the way takes longer.
pub(in crate::diff) fn said(held: &Held, server: &str, answers: (u64, u64), by: i64) -> Option<String> {
    let [b, a] = held.get(server)?;
    let mean = |side: &BTreeMap<Where, i64>, at: Where, n: u64| {
        side.get(&at).copied().unwrap_or(0) / i64::try_from(n.max(1)).unwrap_or(i64::MAX)
    };
    let places = [true, false]
        .into_iter()
        .flat_map(|client| STAGES.map(|stage| (client, stage)));
    let each = places.map(|at| (at, mean(b, at, answers.0), mean(a, at, answers.1)));
    let ((client, stage), x, y) = each.max_by_key(|(_, x, y)| y.saturating_sub(*x))?;
    let grown = y.saturating_sub(x);
    (by > 0 && MOSTLY.contains(&(grown as f64 / by as f64))).then(|| {
        format!(
            "; of it held in {} by {}: mean {} -> {} per answer",
            match client {
                true => "the write queues of its clients",
                false => "its own write queues",
            },
            limiter(stage),
            duration(x),
            duration(y)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_most_of_the_way_is_said() {
        let side = |nagle_ms: i64, cwnd_ms: i64| {
            BTreeMap::from([
                ((true, "nagle"), nagle_ms * 1_000_000),
                ((false, "cwnd"), cwnd_ms * 1_000_000),
            ])
        };
        let held = Held::from([("10.0.0.1:80".to_owned(), [side(0, 100), side(4_190, 110)])]);
        let of = |by_ms: i64| said(&held, "10.0.0.1:80", (100, 100), by_ms * 1_000_000);
        let words = "; of it held in the write queues of its clients by Nagle, a cork or TSO deferral: mean 0.00 µs -> 41.90 ms per answer";
        assert_eq!(of(42).as_deref(), Some(words));
        // Of a way that takes 100 ms longer it is less than half; and a way that does not take longer asks for none.
        assert_eq!((of(100), of(-1)), (None, None));
        // More than all of it: of the rest of large answers.
        assert_eq!(of(30), None);
        assert_eq!(said(&held, "10.0.0.2:80", (1, 1), 1), None);
    }
}
