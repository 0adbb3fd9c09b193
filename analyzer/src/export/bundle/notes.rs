//! Notes of a bundle that is written anew: of a redacted one any may hold a name or an address, but that it is a slice must not
//! be lost; of one that is cut in time counts of an earlier cut are of before it.
//!
//! In: notes, and the manifest's field `slice`. Out: notes. A note is never copied into a redacted bundle: of bundles of older
//! writers, which have no field, only numbers are taken from its text.

use crate::told::slice::{
    BEFORE_TIME, CUT, CUT_DROPS, drops, drops_sentence, is_of_slice, losses, losses_sentence, number, sentences,
};
use netmortem_formats::bundle::{PlannedPerf, Slice};

/// How the note on what was recorded with perf events begins.
const OF_PERF: &str = "The original was recorded with perf events (--backend perf): its records are written as sub-buffers here, those of a CPU by time.";
/// What it says where only some tasks were recorded, and where it may not say which.
const OF_TASKS: &str = " It has only what happened while the tasks of ";
const OF_SOME: &str = "some processes or a cgroup";

/// What a plan of perf said: it is not in the new manifest.
pub fn of_perf(p: &PlannedPerf) -> String {
    let pids: Vec<String> = p.pids.iter().map(u32::to_string).collect();
    let tasks = match (p.cgroup.as_str(), pids.as_slice()) {
        ("", []) => return OF_PERF.to_owned(),
        ("", pids) => format!("processes {}", pids.join(", ")),
        (cgroup, _) => format!("cgroup {cgroup}"),
    };
    with_tasks(&tasks)
}

fn with_tasks(tasks: &str) -> String {
    format!("{OF_PERF}{OF_TASKS}{tasks} ran, so that packets' paths have holes.")
}

/// The same without names.
fn of_perf_redacted(note: &str) -> String {
    match note.contains(OF_TASKS) {
        true => with_tasks(OF_SOME),
        false => OF_PERF.to_owned(),
    }
}

/// Notes without names. `field`: what the manifest says of a slice beside them.
pub fn redacted(notes: &[String], field: Option<&Slice>) -> Vec<String> {
    let mut out = field.map(sentences).unwrap_or_default();
    let mut others = 0usize;
    for note in notes {
        if note.contains(OF_PERF) {
            out.push(of_perf_redacted(note));
            continue;
        }
        match (is_of_slice(note), field) {
            (true, Some(_)) => {}
            (true, None) => out.push(of_slice(note)),
            (false, _) => others += 1,
        }
    }
    if others > 0 {
        out.push(format!(
            "{others} notes of the recorder were left out of this redacted bundle"
        ));
    }
    out
}

fn of_slice(note: &str) -> String {
    if let Some(n) = losses(note) {
        return losses_sentence(n);
    }
    // Of a joined bundle, its name stands before.
    let Some((_, said)) = note.split_once(CUT_DROPS).filter(|_| !note.contains(CUT)) else {
        return cut(note);
    };
    match drops(said) {
        Some(of) => drops_sentence(of, said.starts_with(BEFORE_TIME)),
        None => format!("{CUT_DROPS}how many were cut was left out of this redacted bundle."),
    }
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

/// How the note on comparing the rows of the subject begins, and the counts in the note of a cut by flow or device.
pub const ROWS: &str = "of the ";
/// Counts of lives in the note of a cut by flow or device.
pub const PACKETS: &str = "Packets in it";

/// What a cut by flow or device counted is of before a cut in time that follows it.
pub fn cut_in_time(notes: &mut [String]) {
    let before = BEFORE_TIME.trim_end_matches(", ");
    for note in notes {
        if let Some(said) = note.strip_prefix(CUT_DROPS).filter(|s| !s.starts_with(BEFORE_TIME)) {
            *note = format!("{CUT_DROPS}{BEFORE_TIME}{said}");
        } else if note.starts_with(CUT) {
            *note = note.replacen(&format!("{PACKETS} (lives"), &format!("{PACKETS} {before} (lives"), 1);
        } else if note.starts_with(ROWS) && note.contains(" rows of rx and ") {
            *note = format!("Before the cut in time, {note}");
        }
    }
}
