//! What is said of requests that wait behind answers to others on their own connection.

use super::sent::size;
use super::sentences::{counted, duration};
use crate::analyses::application::OneLine;

/// `98 requests of shop-web1/30771 (10.85.1.10:38240 > 10.85.9.10:6379) were sent while answers to earlier ones were still on their way ...`
pub(super) fn one_line(o: &OneLine) -> String {
    let beside = o.others_ns.map_or_else(String::new, |ns| {
        format!(
            ", and answers from {} over other connections p50 {}",
            o.server,
            duration(ns)
        )
    });
    format!(
        "{} of {} requests of {} ({}) were sent while answers to earlier ones were still on their way over the same connection (p50 {} of them, at {:.0} Mbit/s, in {}), behind which their own come: p50 {}, max {} after they were sent, where such a request is answered p50 {} at other times{beside}: head-of-line blocking on a shared connection (inferred, of a protocol that answers in order)",
        o.requests,
        o.of,
        o.task,
        o.label,
        size(o.left_bytes.cast_signed()),
        o.mbit_per_s,
        counted(o.spells, "spell", "spells"),
        duration(o.wait_ns),
        duration(o.wait_max_ns),
        duration(o.usual_ns),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_its_figures_are_said() {
        let o = OneLine {
            label: "10.85.1.10:38240 > 10.85.9.10:6379".into(),
            task: "shop-web1/30771".into(),
            server: "10.85.9.10:6379".into(),
            requests: 98,
            of: 941,
            spells: 12,
            left_bytes: 1_500_000,
            wait_ns: 41_670_000,
            wait_max_ns: 150_380_000,
            mbit_per_s: 292.7,
            usual_ns: 112_000,
            others_ns: Some(113_000),
        };
        assert_eq!(
            one_line(&o),
            "98 of 941 requests of shop-web1/30771 (10.85.1.10:38240 > 10.85.9.10:6379) were sent while answers to earlier ones were still on their way \
             over the same connection (p50 1.5 MB of them, at 293 Mbit/s, in 12 spells), behind which their own come: p50 41.67 ms, max 150.38 ms after \
             they were sent, where such a request is answered p50 112.0 µs at other times, and answers from 10.85.9.10:6379 over other connections p50 \
             113.0 µs: head-of-line blocking on a shared connection (inferred, of a protocol that answers in order)"
        );
    }
}
