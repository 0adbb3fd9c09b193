//! What is said of a thread whose requests wait for it to finish others.

use super::long_work::long_work;
use super::sentences::duration;
use super::turns::{MOSTLY, share};
use super::{APPLICATION_NOTICE_NS, APPLICATION_ROWS};
use crate::analyses::application::{Application, Serving};

/// The thread whose requests wait for it to finish others most of their time.
pub(super) fn queue(a: &Application) -> Option<&Serving> {
    // Who has just begun has finished nothing, and who waits for itself finishes nothing.
    let new = |s: &&Serving| {
        let replaced = a.replaced.as_ref().is_some_and(|r| r.server == s.server);
        replaced || a.waits_for_itself.as_ref().is_some_and(|w| w.server == s.server)
    };
    a.serving.iter().filter(|s| !new(s)).find(|s| {
        let mean = s.behind_ns / s.requests.max(1) as i64;
        s.requests >= APPLICATION_ROWS && share(s.behind_ns, s.turnaround_ns) >= MOSTLY && mean >= APPLICATION_NOTICE_NS
    })
}

pub(super) fn queue_words(s: &Serving) -> String {
    let mean = |ns: i64| duration(ns / s.requests.max(1) as i64);
    let serves = match s.connections == s.of {
        true => {
            let others = s.listeners.filter(|n| *n > 1);
            let others = others.map_or_else(String::new, |n| {
                format!(", though {n} sockets listen at that port (SO_REUSEPORT)")
            });
            format!("one thread serves all {} connections{others}", s.of)
        }
        false => format!("it serves {} of {} connections", s.connections, s.of),
    };
    format!(
        "requests to {} waited {} of {} (means of {}) for {} to finish others{}: {serves}",
        s.server,
        mean(s.behind_ns),
        mean(s.turnaround_ns),
        s.requests,
        s.task,
        s.mostly.as_ref().map_or_else(String::new, long_work)
    )
}
