//! Sentences of a bundle, and those of two as one list: whose they are stands before.

use std::collections::HashSet;

use super::{JOINED, file_name, push};
use crate::capture::Capture;

/// What a bundle says of itself in sentences: the notes of its manifest, and what went wrong by its end. Each once.
pub fn notes(capture: &Capture) -> Vec<String> {
    let mut seen = HashSet::new();
    let all = begin(capture).chain(end(capture));
    all.filter(|text| seen.insert(*text)).map(str::to_owned).collect()
}

fn begin(capture: &Capture) -> impl Iterator<Item = &str> {
    let list = capture.manifest.as_ref().and_then(|m| m.get("notes")?.as_array());
    list.into_iter().flatten().filter_map(|n| n.as_str())
}

fn end(capture: &Capture) -> impl Iterator<Item = &str> {
    let list = capture.end.as_ref().and_then(|e| e.get("problems")?.as_array());
    list.into_iter().flatten().filter_map(|n| n.as_str())
}

/// The name of a further bundle, which no bundle joined before has: its file's, numbered where they are called the same.
pub(super) fn label(base: &Capture, more: &Capture) -> String {
    let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let joined = base.manifest.as_ref().and_then(|m| m.get(JOINED)?.as_array());
    let joined: Vec<String> = joined
        .into_iter()
        .flatten()
        .filter_map(|s| s.as_str().map(last))
        .collect();
    let file = file_name(more);
    match file_name(base) == file || joined.iter().any(|j| j == file) {
        true => format!("{file} (bundle {})", joined.len().saturating_add(2)),
        false => file.to_owned(),
    }
}

/// What both say, as notes of the base: what went wrong by its end is of a part of what is read now, as is all of the other's.
pub(super) fn put(base: &mut Capture, more: &Capture, label: &str) {
    let mut seen: HashSet<&str> = begin(base).collect();
    let own = end(base).filter(|text| seen.insert(text));
    let mut of_both: Vec<String> = own.map(|text| format!("{}: {text}", file_name(base))).collect();
    of_both.extend(notes(more).into_iter().map(|text| format!("{label}: {text}")));
    if let Some(problems) = base.end.as_mut().and_then(|e| e.get_mut("problems")) {
        *problems = serde_json::Value::Array(vec![]);
    }
    for text in of_both {
        push(base, "notes", text.into());
    }
}
