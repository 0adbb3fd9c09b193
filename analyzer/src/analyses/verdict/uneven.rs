//! What is said of readers of one server of which some leave what it sends lying while others read theirs at once.

use super::sentences::{duration, moment};
use super::spells::listed;
use crate::analyses::receive::Uneven;

/// Readers named.
const NAMED: usize = 3;

fn some(of: &[String]) -> String {
    let named = listed(&of.iter().take(NAMED).cloned().collect::<Vec<_>>());
    match of.len().saturating_sub(NAMED) {
        0 => named,
        n => format!("{named} ({n} more)"),
    }
}

/// `what 10.0.0.1:5671 sends lay unread for up to 1.52 s at python3/7 at 10.0.0.2 (90 of 120 messages for 50 ms or longer, ...), while ...`
pub(super) fn words(u: &Uneven) -> String {
    let asleep = match u.asleep_in.as_str() {
        "" => String::new(),
        call => format!(", while it slept in {call} or was at work"),
    };
    format!(
        "what {} sends lay unread for up to {} at {} ({} of {} messages for 50 ms or longer, the first at {}{asleep}), while {} read all of {} within {}: work is handed out ahead to busy readers while others are free, as with a prefetch of more than one, or these readers asked for it ahead (inferred)",
        u.of,
        duration(u.longest_ns),
        some(&u.late),
        u.units.0,
        u.units.1,
        moment(u.first_ns),
        some(&u.quick),
        u.quick_units,
        duration(u.quick_longest_ns),
    )
}
