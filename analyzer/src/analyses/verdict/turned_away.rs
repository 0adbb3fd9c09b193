//! What is said of servers that end connections in place of an answer.

use super::sentences::{capital, counted, duration, moment};
use super::{Line, Tone};
use crate::analyses::application::{Application, TurnedAway};

/// One that few suffer from, beside many answers, is no news: one in so many.
const ONE_IN: u64 = 20;
/// But for those whose clients waited so long: no connection that was ending anyway, ns.
const WAITED_NS: i64 = 100_000_000;

fn first(a: &Application) -> Option<&TurnedAway> {
    let worth = |t: &&TurnedAway| t.requests.saturating_mul(ONE_IN) >= t.since || t.wait_ns >= WAITED_NS;
    let wrong = a.turned_away.iter().find(|t| t.is_wrong());
    wrong.or_else(|| a.turned_away.iter().find(worth))
}

/// `10.0.0.9:8443 ended 9 connections of python3 in place of an answer ...`
fn says(t: &TurnedAway) -> String {
    let since = match t.since {
        0 => "none since".to_owned(),
        n => format!("{n} from then on"),
    };
    let after = if t.first_ns == t.last_ns {
        String::new()
    } else {
        format!(", the last at {}", moment(t.last_ns))
    };
    format!(
        "{} ended {} of {} in place of an answer, {} (p50) after the request, from {} on{after}: a FIN, and not a byte before it, so its host and the way there work, and its program, or a proxy before it, did not answer ({} answers before, {since}){}",
        t.server,
        counted(t.requests, "connection", "connections"),
        if t.task.is_empty() {
            "a program"
        } else {
            t.task.as_str()
        },
        duration(t.wait_ns),
        moment(t.first_ns),
        t.before,
        ended(t),
    )
}

/// What became of the threads that had them: of one that closed first nothing tells whether it ended for that.
fn ended(t: &TurnedAway) -> String {
    let of = match t.ended {
        None | Some(0) => return String::new(),
        Some(n) if n == t.requests => "the threads that served them".to_owned(),
        Some(n) => format!("{n} of the threads that served them"),
    };
    format!("; {of} ended right then: they were killed, crashed, or left it (inferred)")
}

/// Before what else the line on requests says.
pub(crate) fn with_the_turned_away(mut lines: Vec<Line>, a: Option<&Application>) -> Vec<Line> {
    if let Some(t) = a.and_then(first)
        && let Some(line) = lines.iter_mut().find(|l| l.subject == "application")
    {
        *line = with(line.clone(), t);
    }
    lines
}

fn with(line: Line, t: &TurnedAway) -> Line {
    let says = says(t);
    let wrong = t.is_wrong();
    let headline = match (line.tone, line.headline.is_empty()) {
        (Tone::Notice | Tone::Bad, false) => format!("{says}; {}", line.headline),
        _ => says.clone(),
    };
    let tone = match (wrong, line.tone) {
        (true, _) | (_, Tone::Bad) => Tone::Bad,
        _ => Tone::Notice,
    };
    Line {
        tone,
        sentence: format!("{}. {}", capital(&says), line.sentence),
        headline,
        names_cause: wrong || line.names_cause,
        minor: line.minor && !wrong,
        ..line
    }
}
