//! What is said of requests that wait behind a large answer on their own connection.

use super::sent::size;
use super::sentences::{counted, duration};
use crate::analyses::application::OneLine;

/// `92 of 943 requests of shop-web1/30771 (10.85.1.10:38240 > 10.85.9.10:6379) were sent while a large answer was still coming ...`
pub(super) fn one_line(o: &OneLine) -> String {
    let rate = o.answer_bytes as f64 * 8e3 / o.answer_ns.max(1) as f64;
    let beside = o.others_ns.map_or_else(String::new, |ns| {
        format!(
            ", and answers of {} over other connections p50 {}",
            o.server,
            duration(ns)
        )
    });
    format!(
        "{} of {} requests of {} ({}) were sent while a large answer was still coming over the same connection ({} of p50 {}, each over p50 {}: {rate:.0} Mbit/s), and can be answered only behind it: p50 {}, max {} after they were sent, where such a request is answered p50 {} at other times{beside}: head-of-line blocking on a shared connection (inferred)",
        o.requests,
        o.of,
        o.task,
        o.label,
        counted(o.answers, "answer", "answers"),
        size(o.answer_bytes.cast_signed()),
        duration(o.answer_ns),
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
            answers: 12,
            answer_bytes: 3_000_000,
            answer_ns: 80_000_000,
            requests: 98,
            of: 941,
            wait_ns: 41_670_000,
            wait_max_ns: 150_380_000,
            usual_ns: 112_000,
            others_ns: Some(113_000),
        };
        assert_eq!(
            one_line(&o),
            "98 of 941 requests of shop-web1/30771 (10.85.1.10:38240 > 10.85.9.10:6379) were sent while a large answer was still coming over the same \
             connection (12 answers of p50 3.0 MB, each over p50 80.00 ms: 300 Mbit/s), and can be answered only behind it: p50 41.67 ms, max 150.38 ms \
             after they were sent, where such a request is answered p50 112.0 µs at other times, and answers of 10.85.9.10:6379 over other connections \
             p50 113.0 µs: head-of-line blocking on a shared connection (inferred)"
        );
    }
}
