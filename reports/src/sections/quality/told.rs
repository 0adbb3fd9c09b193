//! What the recording says of itself: that it is a slice and of what, notes of whoever recorded or wrote it, and what became of
//! packets that were joined. In: `Quality::told`. Its sentences may be of any file: they are text here, never markup.

use netmortem_analyzer::Told;
use netmortem_analyzer::told::slice::MEMBERS;

use crate::clauses::{clauses, sentences};
use crate::clean::Text;
use crate::document::{Block, Severity, Strip};
use crate::sections::shared::{counted, strip};

/// Sentences on the first page; all are in the section.
const FIRST_PAGE: usize = 12;
/// A note on members left out that is longer stands there without their names.
const LONG: usize = 160;

/// How the note of a flight recorder begins that says what its trigger was.
const WRITTEN_BECAUSE: &str = "written because ";

/// A strip for each sentence: what was cut first, then joined packets, then notes.
pub fn strips(told: &Told, most: usize) -> Vec<Block> {
    let mut all: Vec<Block> = vec![];
    all.extend(told.slice.iter().map(|said| strip(Severity::Notice, said)));
    for file in &told.packets {
        let warning = file.warning();
        all.push(Block::Strip(Strip {
            severity: match warning.is_some() || file.errors > 0 || !file.because.is_empty() {
                true => Severity::Notice,
                false => Severity::Info,
            },
            sentence: file.sentence().into(),
            detail: warning.map(Into::into),
            see: None,
        }));
    }
    // Why a flight recorder wrote it stands above, with its trigger.
    let notes = told.notes.iter().filter(|said| !said.starts_with(WRITTEN_BECAUSE));
    all.extend(notes.map(|said| strip(Severity::Info, said)));
    let more = (all.len().saturating_sub(most) as u64).saturating_add(told.left_out);
    all.truncate(most);
    if more > 0 {
        let what = counted(more, "more sentence");
        all.push(strip(
            Severity::Info,
            format!("{what} of whoever recorded or wrote this; `netmortem check` prints them."),
        ));
    }
    all
}

/// As [`strips`], for the first page: what each says first, and all of it folded away where that is not all.
pub fn first_page(told: &Told) -> Vec<Block> {
    let mut short = told.clone();
    let mut whole: Vec<Text> = vec![];
    let first = |said: &mut String, begin: fn(&str) -> String| {
        let begin = begin(said);
        (begin.trim_end_matches('.') != said.trim_end_matches('.')).then(|| std::mem::replace(said, begin))
    };
    whole.extend(short.slice.iter_mut().filter_map(|s| first(s, cut)).map(Text::from));
    whole.extend(short.notes.iter_mut().filter_map(|s| first(s, headed)).map(Text::from));
    let mut blocks = strips(&short, FIRST_PAGE);
    whole.truncate(FIRST_PAGE);
    if !whole.is_empty() {
        blocks.push(Block::Details {
            summary: "What the recording says of itself, in full".into(),
            blocks: vec![Block::List(whole)],
        });
    }
    blocks
}

/// What was cut, without the clock's own numbers, and what is to be known of its figures: the sentences behind it that count nothing.
fn cut(said: &str) -> String {
    let first = clauses(said).first().copied().unwrap_or(said);
    let times = first.find(", from ").filter(|at| {
        let behind = first.get(at + ", from ".len()..).unwrap_or_default();
        behind.starts_with(|c: char| c.is_ascii_digit()) && behind.contains("(clock ")
    });
    let first = times.and_then(|at| first.get(..at)).unwrap_or(first);
    let mut all = vec![first.trim_end_matches('.').to_owned()];
    let behind = sentences(said).into_iter().skip(1);
    all.extend(behind.filter(|s| !s.contains(|c: char| c.is_ascii_digit())));
    all.join(". ")
}

/// A long note on members that were left out, up to their names. What follows the colon of any other note may be why something is missing.
fn headed(said: &str) -> String {
    let because = said.find(MEMBERS).filter(|_| said.chars().count() > LONG);
    let colon = because.and_then(|at| Some(at + said.get(at..)?.find(": ")?));
    let head = colon.and_then(|at| said.get(..at));
    head.map_or_else(|| said.to_owned(), |head| format!("{head}…"))
}

#[cfg(test)]
mod tests;
