//! Sides that are slices, or redacted: what that leaves to be compared.
//!
//! In: what each recording says it was cut to. Out: checks, what is withheld, and sentences for each side.
//!
//! | cut | left out | compared |
//! |---|---|---|
//! | in time | what was before and after, counters of the host | all: it is a recording that began and ended there |
//! | by flow or device | events of others, but what the subject waited with | durations and shares of its units; not counts per packet of the host, which lack what was cut |
//! | one side only, or not known by what | on that side only | nothing |

use std::collections::BTreeSet;

use netmortem_formats::bundle::{Slice, Whose};

use super::options::Recording;
use super::parity::{Check, Level, OTHER_TRAFFIC, SOME_OTHER_TRAFFIC, check};
use crate::analyses::verdict::duration;
use crate::told::slice::{NOT_KNOWN, Part, REDACTED, losses_sentence, sentences, words};

/// The check of what was cut.
pub(in crate::diff) fn sliced(b: &[Recording<'_>], a: &[Recording<'_>]) -> Check {
    let text = |side: &[Recording<'_>]| {
        let all: BTreeSet<String> = side.iter().map(described).collect();
        all.into_iter().collect::<Vec<_>>().join("; ")
    };
    let all: Vec<&Recording<'_>> = b.iter().chain(a).collect();
    let by = |way: fn(&Slice) -> bool| {
        let of = |r: &&&Recording<'_>| r.facts.capture.part.slice.as_ref().is_some_and(way);
        all.iter().filter(of).count()
    };
    let others = all.iter().map(|r| of_others(r)).fold(0.0, f64::max);
    let says = match (by(not_known), by(|s| !s.subject.is_empty())) {
        (1.., _) => Some((
            Level::Prevents,
            "It is not known by what a slice was cut, or how many of its packets are of what was asked for: what was cut may be what differs. Cut the original again, or compare the recordings themselves.",
        )),
        (_, n @ 1..) if n < all.len() => Some((
            Level::Prevents,
            "Some are cut to flows or devices and some are not: what others sent and received would be missing on one side. Cut all of them (netmortem convert --flow or --dev), or compare the recordings themselves.",
        )),
        (_, 1..) if others > OTHER_TRAFFIC => Some((
            Level::Prevents,
            "Most packets in a slice are of others, which what was asked for waited with and which are not whole, or nothing tells whose they are: a difference would be theirs. Compare the recordings themselves.",
        )),
        (_, 1..) if others > SOME_OTHER_TRAFFIC => Some((
            Level::Differs,
            "They are slices of flows or devices: what was cut is not counted, and more than a tenth of the packets in one are of others and not whole, or nothing tells whose they are, and are compared with the rest.",
        )),
        (_, 1..) => Some((
            Level::Differs,
            "They are slices of flows or devices: what was cut is not counted, and of others what is left is not whole.",
        )),
        _ if keys(b) != keys(a) => Some((
            Level::Differs,
            "They are not cut in time alike: figures are of the time of each slice alone, and what was under way at its ends is left out.",
        )),
        _ => None,
    };
    let alike = match says {
        Some((Level::Differs, _)) if by(|s| !s.subject.is_empty()) > 0 => alike(b, a),
        _ => "",
    };
    let says = says.map(|(level, sentence)| (level, format!("{sentence}{alike}")));
    let says = says.as_ref().map(|(level, sentence)| (*level, sentence.as_str()));
    check("slices", text(b), text(a), says)
}

/// What cuts to flows or devices have in common, as far as they say.
fn alike(b: &[Recording<'_>], a: &[Recording<'_>]) -> &'static str {
    let hides = |cut: &Cut<'_>| cut.is_some_and(|(_, subject)| subject.iter().any(|s| s == REDACTED));
    let (b, a) = (keys(b), keys(a));
    match (b.iter().chain(&a).any(hides), b == a) {
        (true, _) => " To which a redacted one does not say: whether they are the same is not known.",
        (_, false) => " They are not cut alike: a difference may be that of the flows, devices or times.",
        _ => "",
    }
}

/// Whether names are the hosts'.
pub(in crate::diff) fn pseudonyms(b: &[Recording<'_>], a: &[Recording<'_>]) -> Check {
    let text = |side: &[Recording<'_>]| match side.iter().filter(|r| r.facts.capture.part.redacted).count() {
        0 => "names as recorded",
        n if n == side.len() => "redacted",
        _ => "some redacted",
    };
    let says = hidden(b, a).then_some((
        Level::Differs,
        "Names and addresses are pseudonyms, of each bundle its own: devices and hosts cannot be matched, nothing is compared by device, and settings that name them differ. Redact them with one list (convert --redact --names FILE) to match them.",
    ));
    let one = match redacted(b, a) && says.is_none() {
        true => ", with one list of names",
        false => "",
    };
    let text = |side| format!("{}{one}", text(side));
    check("pseudonyms", text(b), text(a), says)
}

/// Whether names of one recording may stand for others in another: some are pseudonyms, and not all of one list.
pub(in crate::diff) fn hidden(b: &[Recording<'_>], a: &[Recording<'_>]) -> bool {
    let parts: Vec<&Part> = b.iter().chain(a).map(|r| &r.facts.capture.part).collect();
    let knows = |one: &Part, other: &Part| {
        one.pseudonyms
            .last()
            .is_some_and(|word| other.pseudonyms.contains(word))
    };
    let one_list = |x: &Part| parts.iter().all(|y| knows(x, y) || knows(y, x));
    redacted(b, a) && !parts.iter().all(|p| p.redacted && one_list(p))
}

/// Whether any of them is redacted.
pub(in crate::diff) fn redacted(b: &[Recording<'_>], a: &[Recording<'_>]) -> bool {
    b.iter().chain(a).any(|r| r.facts.capture.part.redacted)
}

/// Why counts of all packets are not compared.
pub(in crate::diff) fn lacks_others(b: &[Recording<'_>], a: &[Recording<'_>]) -> Option<String> {
    let cut = |r: &Recording<'_>| {
        let of = r.facts.capture.part.slice.as_ref();
        of.is_some_and(|s| !s.subject.is_empty())
    };
    let any = b.iter().chain(a).any(cut);
    any.then(|| "it counts packets of others, which were cut (a slice of flows or devices)".to_owned())
}

/// Why devices are not matched by their names.
pub(in crate::diff) fn unmatched(b: &[Recording<'_>], a: &[Recording<'_>]) -> Option<String> {
    hidden(b, a).then(|| "names of devices are pseudonyms (redacted): they cannot be matched".to_owned())
}

/// What is to be told of a recording: that it is a slice and of what, and that it is redacted.
pub(in crate::diff) fn told(r: &Recording<'_>) -> Vec<String> {
    let part = &r.facts.capture.part;
    let mut out: Vec<String> = vec![];
    if let Some(of) = &part.slice {
        // What it says of drops is of no use here: they are not compared.
        out.extend(sentences(of).into_iter().next());
        out.extend(of.lost_at_unknown_time.map(losses_sentence));
    }
    if part.redacted {
        out.push("Names of tasks and devices and addresses are pseudonyms.".to_owned());
    }
    out
}

/// Whether it does not say by what it was cut, or how many of its packets are of what was asked for.
fn not_known(of: &Slice) -> bool {
    let whose = of.subject.is_empty() || of.packets.is_some();
    !of.says_by_what() || !whose || of.subject.iter().any(|s| s == NOT_KNOWN)
}

/// What makes two cuts the same: window and subjects; `None` of what is not cut.
type Cut<'r> = Option<(Option<[u64; 2]>, &'r [String])>;

fn keys<'r>(side: &[Recording<'r>]) -> BTreeSet<Cut<'r>> {
    let key = |r: &Recording<'r>| {
        let of = r.facts.capture.part.slice.as_ref()?;
        Some((of.time, &of.subject[..]))
    };
    side.iter().map(key).collect()
}

fn described(r: &Recording<'_>) -> String {
    let Some(of) = &r.facts.capture.part.slice else {
        return "not cut".into();
    };
    let time = of
        .time
        .map(|_| format!("{} of it", duration(r.facts.capture.duration_ns)));
    let subject = (!of.subject.is_empty()).then(|| words(&of.subject));
    let parts: Vec<String> = [time, subject].into_iter().flatten().collect();
    match parts.is_empty() {
        true => "cut, not known by what".into(),
        false => format!("cut to {}", parts.join(" and ")),
    }
}

/// Part of the packets in a slice that are of others, or nothing tells whose; 0 of what is not cut by flow or device.
fn of_others(r: &Recording<'_>) -> f64 {
    let of = r.facts.capture.part.slice.as_ref().and_then(|s| s.packets);
    of.map_or(0.0, |w: Whose| {
        let others = w.others_kept as f64 + w.unknown as f64;
        others / (others + w.own as f64).max(1.0)
    })
}
