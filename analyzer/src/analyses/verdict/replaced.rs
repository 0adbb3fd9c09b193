//! What is said of a server all of whose processes were replaced at once.

use super::sentences::{counted, duration, moment};
use crate::analyses::application::Replaced;

/// `nobody read requests to 10.50.0.20:8000 from 11.313 s to 12.140 s, while 87 waited there, ...: all 4 processes of gunicorn that had read none after ...`
pub(super) fn replaced(r: &Replaced) -> String {
    let (from, to) = r.pause_ns;
    let before = match r.before {
        1 => format!("the process {} that had read there before read none after it", r.task),
        n => format!(
            "all {n} processes (the last {}) that had read there before, the first of them until {}, read none after it",
            r.task,
            moment(r.first_left_ns)
        ),
    };
    format!(
        "nobody read requests to {} from {} to {}, while {} waited there, up to {}: {before}, and {} had not before (the first {}): all were replaced at once and their successors were not ready (inferred)",
        r.server,
        moment(from),
        moment(to),
        counted(r.waited, "request", "requests"),
        duration(r.longest_ns),
        counted(r.after, "process that did then", "processes that did then"),
        r.first,
    )
}
