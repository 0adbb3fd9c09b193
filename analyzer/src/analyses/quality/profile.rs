//! What the profile of a recording leaves out, as the reason why a question has no answer: it was not asked for, and that can be
//! mended by recording again, where "there is no such event" reads as a defect.

use crate::facts::{Facts, Reason};
use crate::ingest::CaptureInfo;

/// The profile with everything.
const WHOLE: &str = "full";
/// How the reason of a tracker ends that found no format of its event.
const NO_FORMAT: &str = " has no format in this capture";

/// Whether the recording's profile does not have this event, which its kernel may well have.
pub fn leaves_out(c: &CaptureInfo, key: &str) -> bool {
    let known = c.enabled_events.is_some() && !["", WHOLE].contains(&c.profile.as_str());
    known && !c.recorded(key) && !c.absent.iter().any(|a| a == key)
}

/// That it does not.
pub fn because(c: &CaptureInfo, key: &str) -> String {
    format!(
        "profile {} does not record {key}; --profile {WHOLE} does, where the kernel has it",
        c.profile
    )
}

/// The reasons, those that the profile explains as one.
pub fn together(facts: &Facts, reasons: Vec<Reason>) -> Vec<Reason> {
    let c = &facts.capture;
    let of_it = |r: &Reason| r.because.strip_suffix(NO_FORMAT).is_some_and(|key| leaves_out(c, key));
    let (explained, mut others): (Vec<Reason>, Vec<Reason>) = reasons.into_iter().partition(of_it);
    let Some(first) = explained.first() else { return others };
    let key = first.because.trim_end_matches(NO_FORMAT);
    let what = match explained.len() {
        1 => key.to_owned(),
        2 => format!("{key} and 1 other kind of events that it takes"),
        n => format!("{key} and {} other kinds of events that it takes", n.saturating_sub(1)),
    };
    let one = Reason {
        subject: first.subject,
        because: because(c, &what),
    };
    others.insert(0, one);
    others
}

#[cfg(test)]
mod tests;
