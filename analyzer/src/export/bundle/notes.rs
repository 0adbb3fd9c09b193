//! Notes of a bundle that is redacted: any may hold a name or an address, but that it is a slice must not be lost.
//!
//! In: notes. Out: those that say that it is a slice, with their numbers alone, and how many others there were. A note is
//! never copied: of its text only numbers are taken.

use crate::told::{CUT, CUT_DROPS};

/// Notes without names.
pub fn redacted(notes: &[String]) -> Vec<String> {
    let mut out = vec![];
    let mut others = 0usize;
    for note in notes {
        // Of a joined bundle, its name stands before.
        match (note.contains(CUT), note.contains(CUT_DROPS)) {
            (true, _) => out.push(cut(note)),
            (_, true) => out.push(drops(note)),
            _ => others += 1,
        }
    }
    if others > 0 {
        out.push(format!(
            "{others} notes of the recorder were left out of this redacted bundle"
        ));
    }
    out
}

fn cut(note: &str) -> String {
    let all = number(note, " events");
    let kept = all.and_then(|all| number(note, &format!(" of {all} events")));
    let part = match kept.zip(all) {
        Some((kept, all)) => format!("{kept} of {all} events"),
        None => "a part of its events".to_owned(),
    };
    format!(
        "{CUT}another recording: {part}; by what it was cut was left out of this redacted bundle. Nothing is to be concluded of what was cut."
    )
}

fn drops(note: &str) -> String {
    let own = number(note, " of what was asked for");
    let others = number(note, " of others were cut");
    let Some((own, others)) = own.zip(others) else {
        return format!("{CUT_DROPS}how many were cut was left out of this redacted bundle.");
    };
    let kept = match number(note, " of others, because") {
        Some(n) => format!(", {n} of others"),
        None => String::new(),
    };
    let unknown = number(note, " of which nothing tells").unwrap_or(0);
    format!(
        "{CUT_DROPS}{own} of what was asked for{kept}, and {unknown} of which nothing tells whose they are: these may be of others; {others} of others were cut."
    )
}

/// The number just before these words, where they come first.
fn number(note: &str, words: &str) -> Option<u64> {
    let (before, _) = note.split_once(words)?;
    before.rsplit(' ').next()?.parse().ok()
}
