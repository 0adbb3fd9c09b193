//! What the line on connections says of those that a program turned away, and of addresses for which another was taken.

use super::sentences::{counted, duration, or_dash};
use crate::analyses::opens::{Failed, Fallback, Opens, TurnedAway};

fn turned_away(t: &TurnedAway) -> String {
    let seconds = |ns: i64| format!("{:.3}", ns as f64 / 1e9);
    let by = match t.task.as_str() {
        "" => "the program there".to_owned(),
        task => format!("the program there ({task} serves the others)"),
    };
    let stayed = match t.stayed {
        0 => String::new(),
        1 => ", while 1 other stayed open".to_owned(),
        n => format!(", while {n} others stayed open"),
    };
    format!(
        "{} of {} to {} were closed by {by} within {} without an answer, their requests unread, from {} s to {} s{stayed}: its own limit or refusal, not the network",
        t.connections,
        counted(t.of, "connection", "connections"),
        t.at,
        duration(t.longest_ns),
        seconds(t.first_ns),
        seconds(t.last_ns)
    )
}

fn fallback(f: &Fallback) -> String {
    let by = match f.task.as_str() {
        "" => String::new(),
        by => format!(" by {by}"),
    };
    let how = match (f.attempts.saturating_sub(f.unreachable), f.unreachable) {
        (n, 0) => format!("{n} had no answer"),
        (0, n) => format!("{n} found no route"),
        (n, m) => format!("{n} had no answer, {m} found no route"),
    };
    let neighbour = match f.unresolved_on.as_str() {
        "" => String::new(),
        dev => format!(", neighbour discovery on {dev} never resolved it"),
    };
    format!(
        "{} to connect to {}{by} failed ({how}){neighbour}, and after p50 {} each thread took {} instead (inferred), which connected within {}",
        counted(f.attempts, "attempt", "attempts"),
        f.to,
        or_dash(f.waited.p50_ns),
        f.then,
        or_dash(f.stood.max_ns)
    )
}

/// Both, what is told first.
pub(super) fn causes(o: &Opens) -> Vec<String> {
    let away = o.turned_away.iter().take(1).map(turned_away);
    away.chain(o.fallbacks.iter().take(1).map(fallback)).collect()
}

/// Whether all that failed alike is told by the first fallback.
pub(super) fn told(o: &Opens, failed: &Failed) -> bool {
    let of = || o.failed.iter().filter(|f| f.to == failed.to);
    let all: u64 = of().map(|f| f.attempts).sum();
    o.fallbacks
        .first()
        .is_some_and(|f| f.to == failed.to && f.attempts == all)
}

/// So soon another address was taken that hardly anybody waited, ns.
const SOON_NS: i64 = 300_000_000;

/// Whether all of it is told by the first fallback, and each thread took the other address soon.
pub(super) fn soon(o: &Opens, failed: &Failed) -> bool {
    let waited = o.fallbacks.first().and_then(|f| f.waited.max_ns);
    told(o, failed) && waited.is_some_and(|ns| ns < SOON_NS)
}
