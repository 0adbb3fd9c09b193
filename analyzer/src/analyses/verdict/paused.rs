//! What is said of requests that their client sent in parts, with a pause between them.

use super::sentences::{counted, or_dash};
use crate::analyses::application::{Application, Paused};
use crate::reconstruct::thread::UNRECORDED;

/// Of those with most time, without a point.
pub(super) fn paused(a: &Application) -> Option<String> {
    // What comes before a server has read what lies there is no part of that.
    let unread = |p: &&Paused| {
        a.left_unread
            .as_ref()
            .is_some_and(|l| l.at == p.server && l.units.saturating_mul(2) >= p.requests)
    };
    a.paused.iter().find(|p| !unread(p)).map(words)
}

/// `30 of 30 requests of curl to 10.70.0.30:8080 were sent in parts, p50 1.002 s apart (all alike: ...), ...`
fn words(p: &Paused) -> String {
    let of = match p.requests == p.of {
        true => format!("all {}", counted(p.of, "request", "requests")),
        false => format!("{} of {}", p.requests, counted(p.of, "request", "requests")),
    };
    let alike = match p.timeout {
        true => " (all alike: its own time-out, inferred)".to_owned(),
        false => format!(", max {}", or_dash(p.pause.max_ns)),
    };
    let asleep = match p.asleep_in.as_str() {
        "" => String::new(),
        UNRECORDED => ", while it slept, in no recorded syscall,".to_owned(),
        call => format!(", while it slept in {call}"),
    };
    let waits = match (p.timeout, p.asleep_in.as_str()) {
        (_, "clock_nanosleep" | "nanosleep") | (false, _) => "",
        (true, _) => ", as one waits for \"100 Continue\" that does not come",
    };
    format!(
        "{of} of {} to {} were sent in parts, p50 {} from one to the next{alike}{asleep} and nothing came{waits}; the answer came p50 {} after the last part",
        p.task,
        p.server,
        or_dash(p.pause.p50_ns),
        or_dash(p.response.p50_ns)
    )
}
