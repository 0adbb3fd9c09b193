//! What is said of a server whose threads wait for requests that only they could answer.

use super::sentences::{counted, duration, moment};
use crate::analyses::application::WaitsForItself;

/// `10.50.2.10:8000 waits for itself: from 4.690 s to 10.740 s all 5 threads of gunicorn that answer there had asked 10.50.2.5:80 for 10 of their answers (p50 3.013 s), whose program asks 10.50.2.10:8000, where 165 requests lay unread: ...`
pub(super) fn waits_for_itself(w: &WaitsForItself) -> String {
    let (from, to) = w.within_ns;
    let threads = match w.threads {
        1 => format!("the one thread of {}", w.task),
        n => format!("all {n} threads of {}", w.task),
    };
    format!(
        "{} waits for itself: from {} to {} {threads} that answer there asked {} for {} (p50 {}) and had none, while its program asks {} in turn, where {} lay unread meanwhile: what they waited for only they could answer (a deadlock until a time-out; inferred)",
        w.server,
        moment(from),
        moment(to),
        w.by,
        counted(w.n, "of their answers", "of their answers"),
        duration(w.p50_ns),
        w.server,
        counted(w.unread, "request", "requests"),
    )
}
