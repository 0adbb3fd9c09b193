//! What a recording was cut to: by the field `slice` of its manifest, or, of a bundle that an older writer made, by its notes.
//!
//! In: a manifest. Out: [`Part`]. Must not take a number of a file for more than what the file says.

use netmortem_formats::Capture;
use netmortem_formats::bundle::{Slice, Whose, texts_of};
use netmortem_formats::join::notes;
use serde_json::Value;

/// How the note of a cut begins, whether by time or by flow.
pub const CUT: &str = "This is a cut from ";
/// How the note on the drops of a slice begins.
pub const CUT_DROPS: &str = "Drops in this slice: ";
/// What stands behind the number in the note on losses whose time is not known.
const LOSSES: &str = " events that the original does not have, and nothing tells when they were";
/// What stands behind the number in the note on members that were left out: why, a colon and their names follow.
pub const MEMBERS: &str = " members of the original were left out, ";
/// What the note of a redacted bundle says.
pub const PSEUDONYMS: &str = "in this bundle are pseudonyms";
/// What stands before counts that are older than a cut in time.
pub const BEFORE_TIME: &str = "before the cut in time, ";
/// A subject that was left out of a redacted bundle.
pub const REDACTED: &str = "(redacted)";
/// By what it was cut is not known: an older writer left it out of a redacted bundle.
pub const NOT_KNOWN: &str = "(not known)";
/// Words of subjects shown.
const SHOWN: usize = 4;

/// Which part of a recording this is, and whether its names are the host's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Part {
    /// What it was cut to; `None`: it is all of a recording.
    pub slice: Option<Slice>,
    /// Whether names and addresses are pseudonyms.
    pub redacted: bool,
    /// Words of the list that its pseudonyms are of, the last one last; empty: they are its own.
    pub pseudonyms: Vec<String>,
}

impl Part {
    /// Of a capture.
    pub fn of(capture: &Capture) -> Part {
        let manifest = capture.manifest.as_ref();
        let field = manifest.and_then(|m| m.get("slice")).filter(|s| !s.is_null());
        let said = notes(capture);
        let said = || said.iter().map(String::as_str);
        let flag = manifest.and_then(|m| m.get("redacted")) == Some(&Value::Bool(true));
        Part {
            slice: of_field(field.map(|s| Slice::from(s.clone())), said()),
            redacted: flag || says_redacted(said()),
            pseudonyms: manifest
                .and_then(|m| m.get("pseudonyms"))
                .map_or_else(Vec::new, texts_of),
        }
    }
}

/// Whether a note is on what was cut. Of a joined bundle, its name stands before.
pub fn is_of_slice(note: &str) -> bool {
    note.contains(CUT) || note.contains(CUT_DROPS) || losses(note).is_some()
}

/// Whether notes say that names are pseudonyms.
pub fn says_redacted<'n>(mut notes: impl Iterator<Item = &'n str>) -> bool {
    notes.any(|n| n.contains(PSEUDONYMS))
}

/// The field, and what it lacks of what notes say: an older writer told of losses whose time is not known by a note alone, and
/// of bundles that were joined to this one there are only notes.
pub fn of_field<'n>(field: Option<Slice>, notes: impl Iterator<Item = &'n str> + Clone) -> Option<Slice> {
    let Some(mut of) = field else {
        return from_notes(notes);
    };
    let told = notes.filter_map(losses).reduce(u64::saturating_add);
    of.lost_at_unknown_time = of.lost_at_unknown_time.max(told);
    Some(of)
}

/// What notes say of a cut, where there is no field.
pub fn from_notes<'n>(notes: impl Iterator<Item = &'n str>) -> Option<Slice> {
    let mut cuts: Vec<Slice> = vec![];
    let mut last = None;
    for note in notes {
        if let Some((_, said)) = note.split_once(CUT) {
            // One cut by time and flow, redacted by an older writer, is told twice in the same words.
            if last != Some(said) {
                cuts.push(cut(said));
            }
            last = Some(said);
        } else if let Some((_, said)) = note.split_once(CUT_DROPS) {
            if cuts.is_empty() {
                cuts.push(unknown());
            }
            if let Some(of) = cuts.last_mut() {
                of.drops = drops(said);
                of.counted_before_time = said.starts_with(BEFORE_TIME);
            }
        } else if let (Some(n), Some(of)) = (losses(note), cuts.last_mut()) {
            of.lost_at_unknown_time = Some(of.lost_at_unknown_time.unwrap_or(0).saturating_add(n));
        }
    }
    cuts.into_iter().reduce(Slice::then)
}

fn unknown() -> Slice {
    Slice {
        subject: vec![NOT_KNOWN.to_owned()],
        ..Slice::default()
    }
}

/// `incident.nmb to flow conn:0: 20 of 50 events kept; 30 events that are proven ...`, without how it begins.
fn cut(said: &str) -> Slice {
    let kept = number(said, " of ");
    let in_time = || {
        let (counts, times) = said.split_once(" events, ")?;
        let (times, rest) = times.split_once(" (clock ")?;
        let cut = number(rest, " events before and ").zip(number(rest, " after were cut"));
        Some(Slice {
            time: time(times),
            events_kept: number(counts.rsplit_once(": ")?.1, " of "),
            events_cut: cut.map(|(before, after)| before.saturating_add(after)),
            ..Slice::default()
        })
    };
    let by_flow = || {
        let (head, rest) = said.split_once(" events kept; ")?;
        let (named, counts) = head.rsplit_once(": ")?;
        let subject = match named.rsplit_once(" to ")?.1 {
            "the flow or device that was asked for" => REDACTED,
            words => words,
        };
        let (_, lives) = rest.split_once("(lives of sk_buffs): ").unwrap_or_default();
        let whose = || {
            Some(Whose {
                own: number(lives, " of what was asked for")?,
                others_kept: number(lives, " of others that it waited with")?,
                unknown: number(lives, " not known whose")?,
                others_cut: number(lives, " of others were cut")?,
            })
        };
        Some(Slice {
            subject: vec![subject.to_owned()],
            events_kept: number(counts, " of "),
            events_cut: number(rest, " events that are proven"),
            packets: whose(),
            ..Slice::default()
        })
    };
    by_flow().or_else(in_time).unwrap_or_else(|| {
        let counts = said.strip_prefix("another recording: ").unwrap_or_default();
        let kept = kept.filter(|_| !counts.is_empty());
        let all = kept.and_then(|n| number(counts.strip_prefix(&format!("{n} of "))?, " events"));
        Slice {
            events_kept: kept,
            events_cut: kept.zip(all).and_then(|(kept, all)| all.checked_sub(kept)),
            ..unknown()
        }
    })
}

/// First and last moment in words; an open end has no number.
pub fn moments(of: [u64; 2]) -> String {
    match of {
        [0, u64::MAX] => "of any time".to_owned(),
        [from, u64::MAX] => format!("from {from} on"),
        [0, to] => format!("up to {to}"),
        [from, to] => format!("from {from} to {to}"),
    }
}

/// The inverse; older writers wrote open ends as numbers, too.
fn time(said: &str) -> Option<[u64; 2]> {
    if said == "of any time" {
        return Some([0, u64::MAX]);
    }
    if let Some(to) = said.strip_prefix("up to ") {
        return Some([0, to.parse().ok()?]);
    }
    let from = said.strip_prefix("from ")?;
    match (from.strip_suffix(" on"), from.split_once(" to ")) {
        (Some(from), _) => Some([from.parse().ok()?, u64::MAX]),
        (None, Some((from, to))) => Some([from.parse().ok()?, to.parse().ok()?]),
        (None, None) => None,
    }
}

/// Whose the drops are, without how the note begins.
pub fn drops(said: &str) -> Option<Whose> {
    let others = number(said, " of others, because").or_else(|| number(said, " of others, and"));
    Some(Whose {
        own: number(said, " of what was asked for")?,
        others_kept: others.unwrap_or(0),
        unknown: number(said, " of which nothing tells").unwrap_or(0),
        others_cut: number(said, " of others were cut")?,
    })
}

/// How many events a note says were lost at a time that is not known.
pub fn losses(note: &str) -> Option<u64> {
    number(note, LOSSES)
}

/// Losses whose time is not known.
pub fn losses_sentence(n: u64) -> String {
    format!("The kernel counted {n}{LOSSES}: some may be of this time.")
}

/// The number just before these words, where they come first.
pub fn number(said: &str, words: &str) -> Option<u64> {
    let (before, _) = said.split_once(words)?;
    before.rsplit(' ').next()?.parse().ok()
}

/// Sentences on a slice by the field alone: of a redacted one, and where a writer left no note.
pub fn sentences(of: &Slice) -> Vec<String> {
    let all = of.events_kept.zip(of.events_cut).and_then(|(k, c)| k.checked_add(c));
    let part = match of.events_kept.zip(all) {
        Some((kept, all)) => format!("{kept} of {all} events"),
        None => "a part of its events".to_owned(),
    };
    let time = match of.time {
        None | Some([0, u64::MAX]) => String::new(),
        Some(of) => format!(", {}", moments(of)),
    };
    let by = match (of.says_by_what(), of.subject.is_empty()) {
        (false, _) => "; it does not say by what it was cut".to_owned(),
        (_, true) => String::new(),
        _ if of.subject.iter().all(|s| s == REDACTED) => {
            "; the flows or devices it was cut to were left out of this redacted bundle".to_owned()
        }
        _ => format!("; cut to {}", words(&of.subject)),
    };
    let mut out = vec![format!(
        "{CUT}another recording: {part}{time}{by}. Nothing is to be concluded of what was cut."
    )];
    match of.drops {
        Some(d) => out.push(drops_sentence(d, of.counted_before_time)),
        None if !of.subject.is_empty() => out.push(format!(
            "{CUT_DROPS}how many were cut was left out of this redacted bundle."
        )),
        None => {}
    }
    out.extend(of.lost_at_unknown_time.map(losses_sentence));
    out
}

/// Whose the drops are, without reasons and places.
pub fn drops_sentence(d: Whose, before_time: bool) -> String {
    let before = if before_time { BEFORE_TIME } else { "" };
    let kept = match d.others_kept {
        0 => String::new(),
        n => format!(", {n} of others"),
    };
    format!(
        "{CUT_DROPS}{before}{} of what was asked for{kept}, and {} of which nothing tells whose they are: these may be of others; {} of others were cut.",
        d.own, d.unknown, d.others_cut
    )
}

/// Subjects, one after the other: each was cut out of what the one before left.
pub fn words(subject: &[String]) -> String {
    let first: Vec<&str> = subject.iter().take(SHOWN).map(String::as_str).collect();
    match subject.len().saturating_sub(SHOWN) {
        0 => first.join(", then "),
        n => format!("{} and {n} more", first.join(", then ")),
    }
}
