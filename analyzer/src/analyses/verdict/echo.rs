//! What the head of a page has said already: packets that lay unread at a server are its answers' time.

use super::{Line, Tone};
use crate::analyses::receive::Receive;
use crate::reconstruct::receive::tables::Stage;

/// Share of all units' time at one end from which the receive path says nothing of others.
const NEARLY_ALL: f64 = 0.9;
/// What a reader that is late has.
const READER: [Stage; 5] = [
    Stage::ReaderAsleep,
    Stage::Wakeup,
    Stage::IdleExit,
    Stage::RunQueue,
    Stage::ReaderRunning,
];

/// Whether the line on requests speaks of that end as a server that is late itself.
fn told(application: &Line, at: &str) -> bool {
    let names = application.headline.match_indices(at).any(|(place, _)| {
        let next = application
            .headline
            .get(place + at.len()..)
            .and_then(|rest| rest.chars().next());
        next.is_none_or(|c| !c.is_ascii_digit())
    });
    names && application.headline.contains(" in the server")
}

/// Takes the receive path out of the head where it says what the line on requests does; the line itself stays.
pub(super) fn without_echo(mut lines: Vec<Line>, receive: Option<&Receive>, top: Option<&str>) -> Vec<Line> {
    let Some(reader) = receive.and_then(|r| r.reader.as_ref()) else {
        return lines;
    };
    let late = top.is_some_and(|top| READER.iter().any(|s| s.name() == top));
    let of = |subject| move |l: &&Line| l.subject == subject;
    let said = lines
        .iter()
        .find(of("application"))
        .is_some_and(|a| told(a, &reader.at));
    if reader.share >= NEARLY_ALL && !reader.at.is_empty() && late && said {
        let own = lines.iter_mut().find(|l| l.subject == "receive");
        if let Some(line) = own.filter(|l| l.tone == Tone::Notice && !l.names_cause) {
            line.headline.clear();
        }
    }
    lines
}
