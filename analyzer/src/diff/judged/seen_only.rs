//! Frames for another host that a device only sees (a bridge of a program, a mirror): the host under it frees its copy as OTHERHOST, and the frame itself arrives. More of them are more traffic there, and nobody's loss.
//!
//! In: rates of drops that were judged, drops of both sides. Out: those of OTHERHOST called changed, where none is known to be lost on either side, and each device that has some of which nothing is known saw enough of
//! the same that arrived. Must not touch those of a device of which nothing is known: a neighbour's wrong address looks like that.

use std::collections::BTreeMap;

use super::rates::Rate;
use crate::analyses::drops::reasons::OTHERHOST as REASON;
use crate::diff::said::verdict::Outcome;
use crate::diff::sides::options::Recording;
use crate::name::Name;
use crate::reconstruct::drops::tables::DropRow;
use crate::table::Cell;

/// Frames of a device that are known to have arrived, and one in so many of those of which it is not known: what it saw beside them did, too.
const ARRIVED: usize = 10;
const PART: usize = 20;
/// Of those of which nothing is known: so few may be of other devices.
const REST: f64 = 0.05;
const NOTE: &str =
    "frames for others that a device sees, and none is known to be lost (inferred: others that it saw arrived)";

/// What is known of such frames of a device.
#[derive(Default)]
struct Fates {
    arrived: usize,
    lost: usize,
    unclear: usize,
}

/// Whether all such frames of a side, but a few, are of devices that only see them: so many arrived, and none was lost.
fn only_seen(side: &[Recording<'_>]) -> bool {
    let mut by: BTreeMap<(usize, Name), Fates> = BTreeMap::new();
    for (nth, r) in side.iter().enumerate() {
        let theirs = |d: &&DropRow| matches!(r.facts.names.drop_reason(d.reason), Cell::Str(s) if s == REASON);
        let here = r.facts.drops.iter().filter(|d| r.has(d.time_ns));
        for d in here.filter(theirs) {
            let of = by.entry((nth, d.dev)).or_default();
            match d.expected {
                Some(true) => of.arrived += 1,
                Some(false) => of.lost += 1,
                None => of.unclear += 1,
            }
        }
    }
    let unclear = |of: fn(&Fates) -> bool| by.values().filter(|f| of(f)).map(|f| f.unclear).sum::<usize>();
    let unknown = unclear(|f| f.arrived < ARRIVED || f.arrived.saturating_mul(PART) < f.unclear) as f64;
    by.values().all(|f| f.lost == 0) && unknown <= REST * unclear(|_| true) as f64
}

/// Calls changed what was only seen.
pub(in crate::diff) fn moderate(rates: &mut [Rate], sides: [&[Recording<'_>]; 2]) {
    let judged = |r: &Rate| {
        let moved = matches!(r.outcome, Outcome::Worse | Outcome::Better);
        moved
            && r.metric
                .strip_suffix(REASON)
                .is_some_and(|m| m.starts_with("drops.") && m.ends_with('.'))
    };
    if rates.iter().any(judged) && sides.iter().all(|side| only_seen(side)) {
        for r in rates.iter_mut().filter(|r| judged(r)) {
            r.outcome = Outcome::Changed;
            r.note = Some(NOTE);
        }
    }
}
