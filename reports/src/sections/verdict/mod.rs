//! The first page: what triggered and what was captured, how far it can be trusted, and the verdict: the analyzer's lines in its order, each
//! with its colour and the section that shows why. In: `Answers::verdict`, `Answers::quality`. It judges nothing itself.
//!
//! ```text
//! trigger of a flight recorder -> captured, where, when -> strip of the data quality, what was cut -> tiles -> the other lines
//! -> notes of whoever recorded
//! ```

mod again;
mod top;
mod well;

use netmortem_analyzer::analyses::verdict::{Line, Tone, order};

use crate::clauses::sentences;
use crate::document::{Block, Finding, Findings, Section, Severity, Strip};
use crate::sections::Input;
use crate::sections::quality::told;

/// Anchor; the terminal prints this section.
pub const ID: &str = "verdict";

/// Most things of a colour that the first sentence says.
const SAID: usize = 3;

/// Builds the section.
#[must_use]
pub fn section(input: &Input<'_>) -> Section {
    let shown = said(&input.answers.verdict);
    let shown = shown.iter().flat_map(|(_, lines, _)| lines);
    let said: Vec<&str> = shown
        .flat_map(|(line, so)| std::iter::once(line).chain(so))
        .map(|line| line.headline.as_str())
        .collect();
    let strip = |line: &Line| {
        Block::Strip(Strip {
            severity: if line.neutral {
                Severity::Info
            } else {
                severity(line.tone)
            },
            sentence: again::in_few(&line.sentence, &said).into(),
            detail: None,
            see: see(line.subject),
        })
    };
    let (quality, others): (Vec<&Line>, Vec<&Line>) =
        input.answers.verdict.iter().partition(|line| line.subject == "quality");
    let well = well::well(input.answers);
    let mut blocks = findings(&input.answers.verdict, well.as_deref());
    blocks.extend(top::trigger(input));
    blocks.push(top::origin(&input.facts.capture));
    blocks.extend(quality.into_iter().map(strip));
    // What was cut is known before any figure is read; notes of whoever recorded come behind what was found.
    let (cut, notes): (Vec<Block>, Vec<Block>) = told::first_page(&input.answers.quality.told)
        .into_iter()
        .partition(|b| matches!(b, Block::Strip(s) if s.severity != Severity::Info));
    blocks.extend(cut);
    blocks.push(top::trust(&input.answers.quality));
    blocks.extend(others.into_iter().map(strip));
    blocks.extend(notes);
    let lead = lead(&input.answers.verdict, well.as_deref());
    Section {
        id: ID,
        title: "Verdict".into(),
        lead: lead.as_str().into(),
        blocks,
    }
}

/// A line on the head of the page, and those that only say what followed of it.
type Said<'a> = (&'a Line, Vec<&'a Line>);

/// Lines of each tone in the order in which they are said, the first [`SAID`], and how many more there are. What only followed of one of them stands under it,
/// whatever its own tone.
fn said(verdict: &[Line]) -> Vec<(Tone, Vec<Said<'_>>, usize)> {
    let heads = || verdict.iter().filter(|line| !line.headline.is_empty());
    let all = |tone: Tone, wanted: &dyn Fn(&Line) -> bool| {
        let of = heads().filter(|line| line.tone == tone && wanted(line));
        let mut of: Vec<&Line> = of.collect();
        of.sort_by_key(|line| order(line.follows.is_some(), line.names_cause, line.minor));
        let more = of.len().saturating_sub(SAID);
        of.truncate(SAID);
        (of, more)
    };
    let tones = [Tone::Bad, Tone::Notice];
    let own = |line: &Line| line.follows.is_none();
    let shown: Vec<&Line> = tones.into_iter().flat_map(|tone| all(tone, &own).0).collect();
    // Of a cause that is not shown nothing can stand under it.
    let under = |line: &Line| line.follows.is_some_and(|of| shown.iter().any(|s| s.subject == of));
    let of = |tone| {
        let (lines, more) = all(tone, &|line| !under(line));
        let so = |of: &Line| heads().filter(|l| under(l) && l.follows == Some(of.subject)).collect();
        (tone, lines.into_iter().map(|line| (line, so(line))).collect(), more)
    };
    tones.map(of).into()
}

/// The first sentence in parts; behind what went well, where nothing is wrong.
fn findings(verdict: &[Line], well: Option<&str>) -> Vec<Block> {
    let words = |line: &Line| (line.headline.as_str().into(), see(line.subject));
    let part = |(tone, said, more): (Tone, Vec<Said<'_>>, usize)| {
        (!said.is_empty()).then(|| Findings {
            severity: severity(tone),
            title: titled(tone, well).into(),
            said: said
                .iter()
                .flat_map(|(line, so)| {
                    let of = |(nth, text): (usize, String)| Finding {
                        text: text.into(),
                        see: see(line.subject),
                        so: so.iter().filter(|_| nth == 0).map(|line| words(line)).collect(),
                    };
                    // What is no effect of what stands before it has a bullet of its own.
                    sentences(&line.headline).into_iter().enumerate().map(of)
                })
                .collect(),
            more,
        })
    };
    let parts: Vec<Findings> = said(verdict).into_iter().filter_map(part).collect();
    match parts.is_empty() {
        true => vec![],
        false => vec![Block::Findings(parts)],
    }
}

const fn title(tone: Tone) -> &'static str {
    match tone {
        Tone::Bad => "Something is wrong",
        Tone::Notice | Tone::Ok | Tone::Unknown => "Worth a look",
    }
}

/// With what went well before it.
fn titled(tone: Tone, well: Option<&str>) -> String {
    match well {
        Some(well) if tone == Tone::Notice => format!("{well}. {}", title(tone)),
        _ => title(tone).to_owned(),
    }
}

/// The first sentence: what is wrong, then what is worth a look, in the words of their lines.
fn lead(verdict: &[Line], well: Option<&str>) -> String {
    let one = |(line, so): &Said<'_>| {
        let so: Vec<&str> = so.iter().map(|l| l.headline.as_str()).collect();
        match so.is_empty() {
            true => line.headline.clone(),
            false => format!("{}; {} {}", line.headline, Finding::SO, so.join("; ")),
        }
    };
    let part = |(tone, said, more): (Tone, Vec<Said<'_>>, usize)| {
        let words: Vec<String> = said.iter().map(one).collect();
        let more = if more > 0 {
            format!("; and {more} more")
        } else {
            String::new()
        };
        (!words.is_empty()).then(|| format!("{}: {}{more}.", titled(tone, well), words.join("; ")))
    };
    let parts: Vec<String> = said(verdict).into_iter().filter_map(part).collect();
    match parts.is_empty() {
        false => parts.join(" "),
        true if verdict.iter().any(|line| line.tone == Tone::Unknown) => {
            "Nothing wrong was found, but not every question has an answer.".into()
        }
        true => "Nothing wrong was found.".into(),
    }
}

/// The section that a line's subject is shown in.
fn see(subject: &str) -> Option<&'static str> {
    match subject {
        "quality" => Some("quality"),
        "settings" => Some("changes"),
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
