//! What is said of a server all of whose processes were replaced at once.

use super::sentences::{counted, duration, moment};
use crate::analyses::application::Replaced;

/// `nobody read requests to 10.50.0.20:8000 from 11.115 s to 11.855 s, while 52 requests waited there, up to 868.81 ms: of the 4 processes that had read there (gunicorn, the first until 9.988 s) none did after it, ...`
pub(super) fn replaced(r: &Replaced) -> String {
    let (from, to) = r.pause_ns;
    let before = match r.before {
        1 => format!("the process that had read there ({}) did no more after it", r.task),
        n => format!(
            "of the {n} processes that had read there ({}, the first until {}) none did after it",
            r.task,
            moment(r.first_left_ns)
        ),
    };
    let after = match r.after {
        1 => format!("the one that did then ({}) had not before", r.first),
        n => format!("of the {n} that did then (the first {}) none had before", r.first),
    };
    format!(
        "nobody read requests to {} from {} to {}, while {} waited there, up to {}: {before}, and {after}: all were replaced at once, and their successors were not ready (inferred)",
        r.server,
        moment(from),
        moment(to),
        counted(r.waited, "request", "requests"),
        duration(r.longest_ns),
    )
}
