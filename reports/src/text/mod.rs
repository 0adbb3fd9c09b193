//! The verdict for a terminal: the first sentence of the section `verdict` in its parts, its strips, a line for each clause; and the paths written.
//!
//! Colours are the caller's decision (a terminal, `NO_COLOR`); nothing is printed here. Text is clean already (no escape sequence from
//! a recording reaches the terminal: see [`crate::clean`]).

use std::path::PathBuf;

use crate::clauses::{nested, steps};
use crate::document::{Block, Document, Finding, Findings, Severity, Strip};
use crate::format;
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
/// Narrower terminals break lines themselves.
const LEAST_WIDTH: usize = 40;
/// Colours, and the columns that there are.
type Look = (Colors, Option<usize>);
/// Width of the word before a sentence.
const WORD: usize = 8;

/// Title, the verdict's first sentence and strips. Lines are broken where they are longer than `width`.
#[must_use]
pub fn text(document: &Document, colors: Colors, width: Option<usize>) -> String {
    let mut out = String::new();
    line(&mut out, &paint(document.title.as_str(), BOLD, colors));
    if !document.subtitle.is_empty() {
        line(&mut out, &paint(document.subtitle.as_str(), FAINT, colors));
    }
    let verdict = document
        .sections
        .iter()
        .filter(|section| section.id == sections::verdict::ID);
    for section in verdict.clone() {
        match section.findings() {
            [] if section.lead.is_empty() => {}
            [] => wrapped(&mut out, &paint(section.lead.as_str(), BOLD, colors), "", "", width),
            findings => findings_lines(&mut out, findings, (colors, width)),
        }
    }
    let strips = verdict
        .flat_map(|section| &section.blocks)
        .filter_map(|block| match block {
            Block::Strip(strip) => Some(strip),
            _ => None,
        });
    for strip in strips {
        strip_lines(&mut out, strip, (colors, width));
    }
    out
}

/// A line for each file that was written.
#[must_use]
pub fn wrote(written: &[PathBuf], colors: Colors) -> String {
    let mut out = String::new();
    for what in paths(written) {
        line(&mut out, &format!("{} {what}", paint(&pad("wrote"), FAINT, colors)));
    }
    out
}

/// The files as lines; pictures are many, and stand as one line for each folder.
fn paths(written: &[PathBuf]) -> Vec<String> {
    let folder = |path: &PathBuf| match path.extension() {
        Some(ext) if ext == "png" => path.parent().map(PathBuf::from),
        _ => None,
    };
    let runs = written.chunk_by(|a, b| folder(a).is_some_and(|f| folder(b) == Some(f)));
    runs.map(|run| match run {
        [one] => one.display().to_string(),
        [first, ..] => {
            let into = folder(first).unwrap_or_default();
            format!("{} pictures into {}", format::count(run.len() as u64), into.display())
        }
        [] => String::new(),
    })
    .collect()
}

fn findings_lines(out: &mut String, findings: &[Findings], (colors, width): Look) {
    for of in findings {
        let title = paint(of.title.as_str(), ansi(of.severity), colors);
        line(out, &format!("{title}:"));
        for finding in &of.said {
            let mut parts = steps(finding.text.as_str()).into_iter();
            let first = parts.next().unwrap_or_default();
            wrapped(out, &paint(&first, BOLD, colors), "  - ", "    ", width);
            for part in parts {
                wrapped(out, &part, "      ", "        ", width);
            }
            if !finding.so.is_empty() {
                line(out, &format!("      {}", Finding::SO));
            }
            for (so, _) in &finding.so {
                wrapped(out, so.as_str(), "        - ", "          ", width);
            }
        }
        if of.more > 0 {
            line(out, &format!("  - {}", Finding::more(of.more, of.severity)));
        }
    }
}

fn strip_lines(out: &mut String, strip: &Strip, (colors, width): Look) {
    let word = format!("{} ", severity(strip.severity, colors));
    let under = " ".repeat(WORD + 1);
    let mut clauses = nested(strip.sentence.as_str()).into_iter();
    wrapped(
        out,
        clauses.next().map_or("", |(_, clause)| clause),
        &word,
        &under,
        width,
    );
    for (deep, clause) in clauses {
        let under = format!("{under}{}", "  ".repeat(deep.saturating_sub(1)));
        wrapped(out, clause, &format!("{under}- "), &format!("{under}  "), width);
    }
    if let Some(detail) = &strip.detail {
        wrapped(out, &paint(detail.as_str(), FAINT, colors), &under, &under, width);
    }
}

/// A line, broken at spaces where it is longer than `width`; `under` begins those behind the first.
pub(crate) fn wrapped(out: &mut String, text: &str, first: &str, under: &str, width: Option<usize>) {
    let Some(width) = width.filter(|w| *w >= LEAST_WIDTH) else {
        line(out, &format!("{first}{text}"));
        return;
    };
    let options = textwrap::Options::new(width)
        .initial_indent(first)
        .subsequent_indent(under)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    line(out, &textwrap::fill(text, options));
}

pub(crate) fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

/// The word of a severity, in its colour, as wide as all.
pub(crate) fn severity(of: Severity, colors: Colors) -> String {
    paint(&pad(of.word()), ansi(of), colors)
}

/// Bold.
pub(crate) fn bold(text: &str, colors: Colors) -> String {
    paint(text, BOLD, colors)
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
