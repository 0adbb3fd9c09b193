//! What the recording says of itself: that it is a slice and of what, notes of whoever recorded or wrote it, and what became of
//! packets that were joined. In: `Quality::told`. Its sentences may be of any file: they are text here, never markup.

use netmortem_analyzer::Told;

use crate::document::{Block, Severity, Strip};
use crate::sections::shared::{counted, strip};

/// Sentences on the first page; all are in the section.
pub const FIRST_PAGE: usize = 12;

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

#[cfg(test)]
mod tests;
