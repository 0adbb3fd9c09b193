//! The first page: what triggered and what was captured, how far it can be trusted, and the verdict: the analyzer's lines in its order, each
//! with its colour and the section that shows why. In: `Answers::verdict`, `Answers::quality`. It judges nothing itself.
//!
//! ```text
//! trigger of a flight recorder -> captured, where, when -> strip of the data quality, what the recording says of itself (a slice,
//! notes) -> tiles -> the other lines
//! ```

mod top;

use netmortem_analyzer::analyses::verdict::{Line, Tone};

use crate::document::{Block, Findings, Section, Severity, Strip};
use crate::sections::Input;
use crate::sections::quality::told;

/// Anchor; the terminal prints this section.
pub const ID: &str = "verdict";

/// Most things of a colour that the first sentence says.
const SAID: usize = 3;

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
    let mut blocks = findings(&input.answers.verdict);
    blocks.extend(top::trigger(input));
    blocks.push(top::origin(&input.facts.capture));
    blocks.extend(quality.into_iter().map(strip));
    blocks.extend(told::strips(&input.answers.quality.told, told::FIRST_PAGE));
    blocks.push(top::trust(&input.answers.quality));
    blocks.extend(others.into_iter().map(strip));
    let lead = lead(&input.answers.verdict);
    Section {
        id: ID,
        title: "Verdict".into(),
        lead: lead.as_str().into(),
        blocks,
    }
}

/// Lines of a tone in the order in which they are said: causes that have a name before others, what nobody waited for behind them.
/// The first [`SAID`], and how many more there are.
fn said(verdict: &[Line], tone: Tone) -> (Vec<&Line>, usize) {
    let of = verdict
        .iter()
        .filter(|line| line.tone == tone && !line.headline.is_empty());
    let mut of: Vec<&Line> = of.collect();
    of.sort_by_key(|line| (!line.names_cause, line.minor));
    let more = of.len().saturating_sub(SAID);
    of.truncate(SAID);
    (of, more)
}

/// The first sentence in parts.
fn findings(verdict: &[Line]) -> Vec<Block> {
    let part = |(tone, title): (Tone, &str)| {
        let (said, more) = said(verdict, tone);
        (!said.is_empty()).then(|| Findings {
            severity: severity(tone),
            title: title.into(),
            said: said
                .iter()
                .map(|line| (line.headline.as_str().into(), see(line.subject)))
                .collect(),
            more,
        })
    };
    let parts = [(Tone::Bad, "Something is wrong"), (Tone::Notice, "Worth a look")];
    let parts: Vec<Findings> = parts.into_iter().filter_map(part).collect();
    match parts.is_empty() {
        true => vec![],
        false => vec![Block::Findings(parts)],
    }
}

/// The first sentence: what is wrong, then what is worth a look, in the words of their lines.
fn lead(verdict: &[Line]) -> String {
    let words = |tone: Tone| {
        let (said, more) = said(verdict, tone);
        let said: Vec<&str> = said.iter().map(|line| line.headline.as_str()).collect();
        match more {
            0 => said.join("; "),
            n => format!("{}; and {n} more", said.join("; ")),
        }
    };
    let (bad, look) = (words(Tone::Bad), words(Tone::Notice));
    match (bad.is_empty(), look.is_empty()) {
        (false, true) => format!("Something is wrong: {bad}."),
        (false, false) => format!("Something is wrong: {bad}. Worth a look: {look}."),
        (true, false) => format!("Worth a look: {look}."),
        (true, true) if verdict.iter().any(|line| line.tone == Tone::Unknown) => {
            "Nothing wrong was found, but not every question has an answer.".into()
        }
        (true, true) => "Nothing wrong was found.".into(),
    }
}

/// The section that a line's subject is shown in.
fn see(subject: &str) -> Option<&'static str> {
    match subject {
        "quality" => Some("quality"),
        "opens" => Some("opens"),
        "datagrams" => Some("datagrams"),
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
