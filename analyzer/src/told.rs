//! What a recording says of itself in sentences, and what became of packets that were joined to it.
//!
//! In: a capture and its facts. Out: [`Told`], which the answer on data quality carries ([`crate::analyses::answer_told`]).
//! Must not judge, and must not take a sentence of a file for more than a sentence: what it holds is for a writer to escape.
//!
//! ```text
//! manifest.json slice ─ where no note says it ──────────────────────────────────────────────────> slice
//! manifest.json notes, end.json problems ─ begins with "This is a cut", "Drops in this slice" ─> slice
//!                                        └ others (recorder, flight recorder, redaction, import) ─> notes
//! joined packets ─ export::packets ─> a line for each file
//! ```

use netmortem_formats::Capture;
use netmortem_formats::join::{joined_packets, notes};

use crate::export::packets::{self, JoinedFile};
use crate::facts::Facts;

pub use slice::{CUT, CUT_DROPS, Part};

pub mod slice;

/// Sentences that are kept: a hostile file may hold any number.
const MOST: usize = 200;

/// What was told.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Told {
    /// That this is a part of a recording, and which; empty for a whole one.
    pub slice: Vec<String>,
    /// Other notes of whoever recorded or wrote it.
    pub notes: Vec<String>,
    /// Sentences beyond those that are kept.
    pub left_out: u64,
    /// Files of packets that were joined to it.
    pub packets: Vec<JoinedFile>,
}

impl Told {
    /// The sentences alone: no event is read.
    pub fn sentences(capture: &Capture) -> Told {
        let mut told = Told::default();
        for text in notes(capture) {
            if told.slice.len().saturating_add(told.notes.len()) >= MOST {
                told.left_out = told.left_out.saturating_add(1);
                continue;
            }
            match slice::is_of_slice(&text) {
                true => told.slice.push(text),
                false => told.notes.push(text),
            }
        }
        // What the manifest's field says is not lost where notes do not.
        if let Some(of) = Part::of(capture).slice.filter(|_| told.slice.is_empty()) {
            told.slice = slice::sentences(&of);
        }
        told
    }

    /// All of it: where packets were joined, the recording is read once more.
    pub fn of(capture: &Capture, facts: &Facts) -> Told {
        let files = joined_packets(capture);
        let mut told = Told::sentences(capture);
        let part = facts.capture.selected.as_ref();
        told.slice.splice(0..0, part.map_or_else(Vec::new, |s| s.sentences()));
        Told {
            packets: match files.is_empty() {
                true => vec![],
                false => packets::joined(facts, capture, &files),
            },
            ..told
        }
    }

    /// What is told of the drops of a slice.
    pub fn drops(&self) -> impl Iterator<Item = &str> {
        let all = self.slice.iter().map(String::as_str);
        all.filter(|s| s.contains(CUT_DROPS))
    }
}

#[cfg(test)]
mod tests;
