//! The worst recordings of a batch, for a terminal: a name, and what is worst of it, step by step.

use netmortem_analyzer::fleet::{Fleet, Summary};

use super::worst;
use crate::clauses::steps;
use crate::clean::Text;
use crate::format;
use crate::text::{self, Colors};

/// Recordings that are told.
const TOLD: usize = 3;
/// Steps of what is worst of one.
const STEPS: usize = 4;

/// The worst recordings, a few lines each. Lines are broken where they are longer than `width`.
#[must_use]
pub fn terminal(fleet: &Fleet, colors: Colors, width: Option<usize>) -> String {
    let mut out = String::new();
    for s in fleet.ranked.iter().take(TOLD) {
        one(&mut out, s, colors, width);
    }
    match fleet.ranked.len().saturating_sub(TOLD) {
        0 => {}
        n => text::line(&mut out, &format!("and {} more", format::count(n as u64))),
    }
    out
}

fn one(out: &mut String, s: &Summary, colors: Colors, width: Option<usize>) {
    let (severity, sentence) = worst(s);
    let word = text::severity(severity, colors);
    text::line(
        out,
        &format!("{word} {}", text::bold(Text::name(&s.name).as_str(), colors)),
    );
    let all = steps(sentence);
    for step in all.iter().take(STEPS) {
        text::wrapped(
            out,
            Text::from(step.clone()).as_str(),
            "         ",
            "           ",
            width,
        );
    }
    match all.len().saturating_sub(STEPS) {
        0 => {}
        n => text::line(out, &format!("         … {n} more on its page")),
    }
}
