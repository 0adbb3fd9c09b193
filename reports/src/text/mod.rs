//! The verdict for a terminal: the first sentence of the section `verdict`, its strips, a line each, and the paths written.
//!
//! Colours are the caller's decision (a terminal, `NO_COLOR`); nothing is printed here. Text is clean already (no escape sequence from
//! a recording reaches the terminal: see [`crate::clean`]).

use std::path::PathBuf;

use crate::document::{Block, Document, Severity, Strip};
use crate::sections;

/// Whether ANSI colours are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colors {
    /// ANSI sequences.
    Ansi,
    /// Letters only.
    None,
}

const RESET: &str = "\x1b[0m";
const BOLD: &str = "\x1b[1m";
const FAINT: &str = "\x1b[2m";
/// Width of the word before a sentence.
const WORD: usize = 8;

/// Title, the verdict's first sentence and strips, and the paths.
#[must_use]
pub fn text(document: &Document, written: &[PathBuf], colors: Colors) -> String {
    let mut out = String::new();
    line(&mut out, &paint(document.title.as_str(), BOLD, colors));
    if !document.subtitle.is_empty() {
        line(&mut out, &paint(document.subtitle.as_str(), FAINT, colors));
    }
    let verdict = document
        .sections
        .iter()
        .filter(|section| section.id == sections::verdict::ID);
    for lead in verdict
        .clone()
        .map(|section| &section.lead)
        .filter(|lead| !lead.is_empty())
    {
        line(&mut out, &paint(lead.as_str(), BOLD, colors));
    }
    let strips = verdict
        .flat_map(|section| &section.blocks)
        .filter_map(|block| match block {
            Block::Strip(strip) => Some(strip),
            _ => None,
        });
    for strip in strips {
        strip_lines(&mut out, strip, colors);
    }
    for path in written {
        line(
            &mut out,
            &format!("{} {}", paint(&pad("wrote"), FAINT, colors), path.display()),
        );
    }
    out
}

fn strip_lines(out: &mut String, strip: &Strip, colors: Colors) {
    let word = paint(&pad(strip.severity.word()), ansi(strip.severity), colors);
    line(out, &format!("{word} {}", strip.sentence));
    if let Some(detail) = &strip.detail {
        line(
            out,
            &format!("{} {}", " ".repeat(WORD), paint(detail.as_str(), FAINT, colors)),
        );
    }
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

fn pad(word: &str) -> String {
    format!("{word:<WORD$}")
}

fn paint(text: &str, sequence: &str, colors: Colors) -> String {
    match colors {
        Colors::Ansi => format!("{sequence}{text}{RESET}"),
        Colors::None => text.to_owned(),
    }
}

const fn ansi(severity: Severity) -> &'static str {
    match severity {
        Severity::Good => "\x1b[32m",
        Severity::Info => "\x1b[36m",
        Severity::Notice => "\x1b[33m",
        Severity::Bad => "\x1b[1;31m",
        Severity::Unknown => "\x1b[35m",
    }
}

#[cfg(test)]
mod tests;
