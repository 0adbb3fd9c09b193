//! What is said of a recording that lost events: nothing is good that rests on not having seen something.

use super::Tone;
use super::sentences::counted;
use crate::analyses::quality::{self, Quality};
use crate::ingest::CaptureInfo;

/// A sentence, with what was lost where it is good.
pub(super) fn minding(said: (Tone, String), quality: &Quality) -> (Tone, String) {
    minding_the(said, &quality.capture, quality.untold.is_some())
}

/// `untold`: events are missing though none is told as lost.
pub(super) fn minding_the((tone, sentence): (Tone, String), capture: &CaptureInfo, untold: bool) -> (Tone, String) {
    let used = capture.streams.iter().filter(|s| s.used);
    let (known, unknown) = used.fold((0u64, 0u64), |(known, unknown), s| {
        let known = known.saturating_add(s.lost_events);
        (known, unknown.saturating_add(s.losses_of_unknown_size))
    });
    let unplaced = capture.lost_at_unknown_time;
    let lost = match (known, unknown, unplaced) {
        _ if tone != Tone::Ok => return (tone, sentence),
        (0, 0, 0) if !capture.short_rings.is_empty() => "older events were overwritten".to_owned(),
        (0, 0, 0) if untold => "events are missing that are not told as lost".to_owned(),
        (0, 0, 0) => return (tone, sentence),
        (0, 0, n) => quality::unplaced(n),
        (0, ..) => "events were lost".to_owned(),
        (n, ..) => format!("{} lost", counted(n, "event was", "events were")),
    };
    let seen = sentence.trim_end_matches('.');
    let sentence = format!("Among what was recorded: {seen}; but {lost}, and what they would have told is not known.");
    (Tone::Notice, sentence)
}
