//! Requests that still wait when the recording ends, as their kind does: whether their server was at rest meanwhile, and what is said of them.
//!
//! In: what `application::held` found, and what the server's threads did in its slow answers. Must not be said where these ran, waited for a lock, a CPU, another
//! thread, or another server that is not known to have been at rest itself.

use super::left_early::at_rest;
use super::sentences::{counted, duration};
use crate::analyses::application::{Application, Unanswered};

/// One that is held.
pub(super) fn is_held(a: &Application, u: &Unanswered) -> bool {
    let to = u.label.rsplit(" > ").next();
    u.held.is_some() && to.is_some_and(|to| at_rest(a, to))
}

/// Behind what had no answer, `all` of which are told: both readings.
pub(super) fn words(a: &Application, all: &[&Unanswered]) -> Option<String> {
    let theirs: Vec<_> = all.iter().filter(|u| is_held(a, u)).collect();
    let held = theirs.iter().find_map(|u| u.held.as_ref())?;
    let which = match theirs.len() {
        n if n == all.len() => String::new(),
        n => format!("{n} of them "),
    };
    Some(format!(
        "; {which}asked where {} as long ({} B) came late, too (p50 {}), of those that were asked later as well, until the end, while other requests were answered in time, and the server slept: requests that are held until there is news (long polls), or something that only these wait for and no event tells (inferred)",
        counted(held.answered, "other", "others"),
        held.bytes,
        duration(held.p50_ns)
    ))
}
