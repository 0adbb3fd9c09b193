//! Ids in sentences: `rx:9502` becomes a link to its row, and a click copies the command that prints its events. This is the one place
//! that writes an id into the page, in a cell of its own as in the middle of a sentence.
//!
//! ```text
//! "from drop:7 on" -> "from " <a class=id href=#drop=7 title="netmortem explain a.nmb drop:7">drop:7</a> " on"
//! ```
//! What counts as an id is the analyzer's: a word that [`Id`] reads, with nothing before or behind it that makes it part of another word. A
//! name of a recording that looks like one becomes a link to itself, and stays text.

use maud::{Markup, html as markup};
use netmortem_analyzer::explain::Id;

use crate::clean::Text;

/// Text with its ids as links; all of it is escaped.
pub fn linked(text: &str, input: &str) -> Markup {
    markup! { @for part in parts(text) {
        @match part {
            Part::Plain(words) => (words),
            Part::Id(word, id) => (link(word, id, input)),
        }
    } }
}

/// Text whose parts between backticks are code, as commands in sentences are; the others as `plain` has them.
pub fn coded(text: &str, plain: impl Fn(&str) -> Markup) -> Markup {
    markup! { @for (is_code, part) in by_code(text) {
        @if is_code { code { (part) } } @else { (plain(part)) }
    } }
}

/// The parts in their order, and whether each is code. A backtick in the middle of a word, or without a second one, is a letter.
fn by_code(text: &str) -> Vec<(bool, &str)> {
    let mut parts = Vec::new();
    let mut rest = text;
    let mut from = 0;
    while let Some(open) = rest.get(from..).and_then(|r| r.find('`')).map(|at| from + at) {
        let behind = rest.get(open + 1..).unwrap_or_default();
        let begins = rest.get(..open).is_some_and(|r| !r.ends_with(char::is_alphanumeric));
        let inside = behind
            .split_once('`')
            .filter(|(inside, after)| begins && !inside.trim().is_empty() && !after.starts_with(char::is_alphanumeric));
        let Some((inside, after)) = inside else {
            from = open + 1;
            continue;
        };
        parts.extend(rest.get(..open).filter(|p| !p.is_empty()).map(|p| (false, p)));
        parts.push((true, inside));
        (rest, from) = (after, 0);
    }
    parts.extend(Some(rest).filter(|p| !p.is_empty()).map(|p| (false, p)));
    parts
}

/// A cell that is an id.
pub fn cell(id: &Text, input: &str) -> Markup {
    match id.as_str().parse() {
        Ok(parsed) => link(id.as_str(), parsed, input),
        Err(_) => markup! { (id.as_str()) },
    }
}

/// An id as the part of an address after `#`; `None` of what is no id.
pub fn fragment(id: &Text) -> Option<String> {
    id.as_str().parse().ok().map(anchor)
}

fn anchor(id: Id) -> String {
    format!("{}={}", id.kind.word(), id.number)
}

fn link(word: &str, id: Id, input: &str) -> Markup {
    markup! { a.id href={ "#" (anchor(id)) } title={ "netmortem explain " (input) " " (id.to_string()) } { (word) } }
}

#[derive(Debug, PartialEq)]
enum Part<'t> {
    Plain(&'t str),
    Id(&'t str, Id),
}

/// What a word of more than an id would have beside the colon's two sides.
const fn joins(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '-' | '/' | '@' | '\\')
}

fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut from = 0;
    for (colon, _) in text.match_indices(':') {
        let before = text.get(from..colon).unwrap_or_default();
        let kind = before
            .trim_end_matches(|c: char| c.is_ascii_lowercase() || c == '_')
            .len();
        let behind = text.get(colon + 1..).unwrap_or_default();
        let digits = behind.len() - behind.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (start, end) = (from + kind, colon + 1 + digits);
        let Some(Ok(id)) = text.get(start..end).map(str::parse::<Id>) else {
            continue;
        };
        let rest = text.get(end..).unwrap_or_default();
        // `drop:7.5` is a number of something else, `drop:7.` ends a sentence.
        let decimal = rest
            .strip_prefix('.')
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        let part_of_more = text
            .get(..start)
            .is_some_and(|text| text.ends_with(|c| joins(c) || c == '.'))
            || rest.starts_with(joins)
            || decimal;
        if part_of_more {
            continue;
        }
        parts.extend(text.get(from..start).filter(|plain| !plain.is_empty()).map(Part::Plain));
        parts.extend(text.get(start..end).map(|word| Part::Id(word, id)));
        from = end;
    }
    parts.extend(text.get(from..).filter(|plain| !plain.is_empty()).map(Part::Plain));
    parts
}

#[cfg(test)]
mod tests;
