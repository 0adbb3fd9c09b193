//! What the manifest says of what a slice left out.

use std::collections::BTreeMap;

use netmortem_formats::bundle::{Slice, Whose};

use super::{Change, Done};
use crate::export::slice::{Compared, Cut, Drops};
use crate::told::slice::{BEFORE_TIME, CUT_DROPS, NOT_KNOWN, REDACTED};

/// What is cut now, after what was cut before.
pub(super) fn slice(earlier: Option<Slice>, change: &Change, done: &Done) -> Option<Slice> {
    let kept = Slice {
        events_kept: Some(done.events),
        ..Slice::default()
    };
    let in_time = change.window.map(|(from, to)| Slice {
        time: Some([from, to]),
        events_cut: Some(done.cut_before.saturating_add(done.cut_after)),
        ..kept.clone()
    });
    let by_subject = change.cut.as_ref().map(|cut| Slice {
        subject: vec![cut.of.clone()],
        events_cut: Some(done.cut_others.values().fold(0, |sum, n| sum.saturating_add(*n))),
        counted_before_time: change.window.is_some(),
        ..counted(cut, kept.clone())
    });
    // Once, however it was cut.
    let lost = (done.lost_at_unknown_time > 0).then(|| Slice {
        lost_at_unknown_time: Some(done.lost_at_unknown_time),
        events_cut: Some(0),
        ..kept.clone()
    });
    let all = [earlier, in_time, by_subject, lost]
        .into_iter()
        .flatten()
        .reduce(Slice::then);
    match change.redact {
        true => all.map(without_names),
        false => all,
    }
}

fn counted(cut: &Cut, kept: Slice) -> Slice {
    Slice {
        packets: Some(Whose {
            own: cut.own,
            others_kept: cut.context,
            unknown: cut.unknown,
            others_cut: cut.others,
        }),
        drops: Some(Whose {
            own: cut.drops.own.len() as u64,
            others_kept: cut.drops.others_kept,
            unknown: cut.drops.unknown,
            others_cut: cut.drops.others,
        }),
        ..kept
    }
}

/// What was asked for may be an address or the name of a device.
pub(super) fn without_names(mut of: Slice) -> Slice {
    for words in of.subject.iter_mut().filter(|w| *w != NOT_KNOWN) {
        *words = REDACTED.to_owned();
    }
    of
}

/// Whose the drops are; a cut in time comes after it.
pub(super) fn drops(d: &Drops, in_time: bool) -> String {
    let before = match in_time {
        true => BEFORE_TIME,
        false => "",
    };
    let kept = match d.others_kept {
        0 => String::new(),
        n => format!(", {n} of others, because the rows of what was asked for need them"),
    };
    let unknown = match d.unknown {
        0 => "none of which it is not known whose they are".to_owned(),
        n => format!(
            "{n} of which nothing tells whose they are ({}): these may be of others",
            by_name(&d.unknown_by)
        ),
    };
    format!(
        "{CUT_DROPS}{before}{} of what was asked for{kept}, and {unknown}; {} of others were cut.",
        d.own.len(),
        d.others
    )
}

/// What comparing the rows of the subject said; a cut in time comes after it.
pub(super) fn compared(same: Compared, in_time: bool) -> String {
    let Compared { rx, tx, different, .. } = same;
    let before = match in_time {
        true => "Before the cut in time, ",
        false => "",
    };
    let rows = format!("of the {rx} rows of rx and {tx} of tx of what was asked for,");
    match different {
        0 => format!("{before}{rows} all are the same as in the original, but for ids and observer_ns."),
        n => format!("{before}{rows} {n} are not the same as in the original: do not conclude from them."),
    }
}

pub(super) fn by_name(of: &BTreeMap<String, u64>) -> String {
    let each: Vec<String> = of.iter().map(|(name, n)| format!("{n} {name}")).collect();
    match each.is_empty() {
        true => "none".to_owned(),
        false => each.join(", "),
    }
}

pub(super) fn shortened(of: &[String]) -> String {
    let first: Vec<&str> = of.iter().take(12).map(String::as_str).collect();
    let more = of.len().saturating_sub(first.len());
    match more {
        0 => first.join(", "),
        n => format!("{} and {n} more", first.join(", ")),
    }
}
