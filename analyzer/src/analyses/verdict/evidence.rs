//! The row behind what a sentence says, as `netmortem explain` takes it.

use crate::analyses::application::Application;
use crate::explain::Id;

/// ` (from open:3)`, as in the line on drops; empty where no row is known.
pub(super) fn from(id: Option<Id>) -> String {
    id.map_or_else(String::new, |id| format!(" (from {id})"))
}

/// `the slowest: udp_turn:7`, a clause.
pub(super) fn slowest(id: Option<Id>) -> Option<String> {
    id.map(|id| format!("the slowest: {id}"))
}

/// A sentence with the slowest answer, else the slowest turnaround, as its last clause.
pub(super) fn with_worst(sentence: String, a: &Application) -> String {
    let answered = || a.answered.as_ref().and_then(|s| s.worst);
    let worst = a.awaited.as_ref().and_then(|c| c.worst).or_else(answered);
    match (slowest(worst), sentence.strip_suffix('.')) {
        (Some(said), Some(open)) => format!("{open}; {said}."),
        _ => sentence,
    }
}
