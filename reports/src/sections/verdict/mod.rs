//! The first page: what triggered and what was captured, how far it can be trusted, and the verdict: the analyzer's lines in its order, each
//! with its colour and the section that shows why. In: `Answers::verdict`, `Answers::quality`. It judges nothing itself.
//!
//! ```text
//! trigger of a flight recorder -> captured, where, when -> strip of the data quality, what the recording says of itself (a slice,
//! notes) -> tiles -> the other lines
//! ```

mod top;

use netmortem_analyzer::analyses::verdict::{Line, Tone};

use crate::document::{Block, Section, Severity, Strip};
use crate::sections::Input;
use crate::sections::quality::told;

/// Anchor; the terminal prints this section.
pub const ID: &str = "verdict";

/// Builds the section.
#[must_use]
pub fn section(input: &Input<'_>) -> Section {
    let strip = |line: &Line| {
        Block::Strip(Strip {
            severity: severity(line.tone),
            sentence: (&line.sentence).into(),
            detail: None,
            see: see(line.subject),
        })
    };
    let (quality, others): (Vec<&Line>, Vec<&Line>) =
        input.answers.verdict.iter().partition(|line| line.subject == "quality");
    let mut blocks = top::trigger(input);
    blocks.push(top::origin(&input.facts.capture));
    blocks.extend(quality.into_iter().map(strip));
    blocks.extend(told::strips(&input.answers.quality.told, told::FIRST_PAGE));
    blocks.push(top::trust(&input.answers.quality));
    blocks.extend(others.into_iter().map(strip));
    let worst = input.answers.verdict.iter().map(|line| line.tone);
    let wrong = wrong(&input.answers.verdict);
    let lead = if !wrong.is_empty() {
        wrong.as_str()
    } else if worst.clone().any(|tone| tone == Tone::Notice) {
        "Nothing is plainly wrong; what is worth a look is marked."
    } else if worst.clone().any(|tone| tone == Tone::Unknown) {
        "Nothing wrong was found, but not every question has an answer."
    } else {
        "Nothing wrong was found."
    };
    Section {
        id: ID,
        title: "Verdict".into(),
        lead: lead.into(),
        blocks,
    }
}

/// What is bad, in the words of its lines up to their first pause; empty when nothing is.
fn wrong(verdict: &[Line]) -> String {
    let bad = verdict.iter().filter(|line| line.tone == Tone::Bad);
    let words = |line: &Line| {
        let end = line.sentence.find([';', '.']).filter(|at| {
            let after = line.sentence.get(at + 1..).unwrap_or("");
            after.is_empty() || after.starts_with(' ')
        });
        line.sentence
            .get(..end.unwrap_or(line.sentence.len()))
            .unwrap_or("")
            .to_owned()
    };
    let words: Vec<String> = bad.map(words).collect();
    match words.is_empty() {
        true => String::new(),
        false => format!("Something is wrong: {}.", words.join("; ")),
    }
}

/// The section that a line's subject is shown in.
fn see(subject: &str) -> Option<&'static str> {
    match subject {
        "quality" => Some("quality"),
        "application" => Some("application"),
        "receive" => Some("receive-path"),
        "transmit" => Some("transmit-path"),
        "drops" => Some("drops"),
        "tcp" => Some("tcp"),
        "napi" => Some("napi"),
        _ => None,
    }
}

/// The severity of a tone.
#[must_use]
pub const fn severity(tone: Tone) -> Severity {
    match tone {
        Tone::Ok => Severity::Good,
        Tone::Notice => Severity::Notice,
        Tone::Bad => Severity::Bad,
        Tone::Unknown => Severity::Unknown,
    }
}

#[cfg(test)]
mod tests;
