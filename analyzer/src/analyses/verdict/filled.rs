//! What the page says of a queue beyond this host that some connections fill.

use super::paths::named;
use super::sent::size;
use super::sentences::{capital, counted, duration, rate};
use super::spells::listed_few;
use super::{Line, Tone};
use crate::analyses::paths::{Direction, Filled};

/// Times that are named.
const NAMED: usize = 3;
/// From such a rise on it hurts whoever waits for an answer, ns.
const HURTS_NS: i64 = 20_000_000;

/// `from 3.92 s to 7.40 s, ...`
fn times(f: &Filled) -> String {
    let s = |ns: i64| format!("{:.2} s", ns as f64 / 1e9);
    let of: Vec<String> = f
        .spells
        .iter()
        .map(|(a, b)| format!("{} to {}", s(*a), s(*b)))
        .collect();
    listed_few(&of, NAMED, ("other time", "other times"))
}

/// `round trips to 10.61.5.2 took p50 57.1 ms instead of 460 µs while ...`
fn clause(f: &Filled) -> String {
    let did = match f.direction {
        Direction::Sent => format!("had much under way to {}", f.host),
        Direction::Received => format!("got much from {}", f.host),
    };
    let moved = counted(f.connections, "connection", "connections");
    let mbit = rate(f.rate_per_s as f64 * 8.0 / 1e6);
    let fills = match f.direction {
        Direction::Sent => "a queue beyond this host that this fills, and that all of these go through",
        Direction::Received => {
            "a queue on the way to this host that this fills, and that the answers of all of these come through"
        }
    };
    let but = match f.not.is_empty() {
        true => String::new(),
        false => format!("; those to {} did not change", named(&f.not)),
    };
    let task = match f.task.is_empty() {
        true => f.at.clone(),
        false => format!("{} at {}", f.task, f.at),
    };
    format!(
        "round trips to {} took p50 {} (n {}) instead of {} (n {}) while this host {did} ({task}: {} on {moved}, {mbit} with others; {}){but}: {fills} (inferred)",
        named(&f.also),
        duration(f.high_ns),
        f.high_n,
        duration(f.low_ns),
        f.low_n,
        size(i64::try_from(f.bytes).unwrap_or(i64::MAX)),
        times(f),
    )
}

/// Adds it to a line.
pub(super) fn with(mut line: Line, f: &Filled) -> Line {
    let said = clause(f);
    line.sentence = format!("{} {}.", line.sentence, capital(&said));
    let hurts = f.high_ns.saturating_sub(f.low_ns) >= HURTS_NS;
    line.headline = match line.tone {
        Tone::Bad => format!("{said}; {}", line.headline),
        _ => said,
    };
    if hurts {
        (line.tone, line.names_cause) = (Tone::Bad, true);
    } else if line.tone != Tone::Bad {
        line.tone = Tone::Notice;
    }
    line
}
