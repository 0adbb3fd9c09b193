//! Was a host changed within the part that is compared? Then that part is of two states, and the comparison is of their mixture.

use super::options::Recording;
use super::parity::{Check, Level, check};
use crate::analyses::changes::{LATE_NS, sentence};
use crate::analyses::verdict::moment;
use crate::announced::tables::ChangeRow;

/// Changes told by name.
const NAMED: usize = 2;

/// What is known of it; nothing where no recorder listened.
pub(in crate::diff) fn changed(b: &[Recording<'_>], a: &[Recording<'_>]) -> Option<Check> {
    let heard = |side: &[Recording<'_>]| side.iter().all(|r| r.facts.announced.heard);
    let lost = |side: &[Recording<'_>]| side.iter().any(|r| r.facts.announced.lost > 0);
    let any = |side: &[Recording<'_>]| side.iter().any(|r| within(r).next().is_some());
    let says = match (heard(b) || heard(a), any(b) || any(a), heard(b) && heard(a)) {
        (false, false, _) => return None,
        (_, true, _) => Some((
            Level::Differs,
            "The host was changed within a part that is compared, which is thus of two states: compare what was before or after the change alone (--before-time, --after-time).",
        )),
        (_, false, false) => Some((
            Level::Unknown,
            "Whether the host was changed meanwhile one side does not tell: its recorder did not listen.",
        )),
        (_, false, true) if lost(b) || lost(a) => Some((
            Level::Unknown,
            "Whether the host was changed meanwhile is not known: something that the kernel announced was lost.",
        )),
        (_, false, true) => None,
    };
    Some(check("changed meanwhile", text(b), text(a), says))
}

fn within<'f>(r: &Recording<'f>) -> impl Iterator<Item = &'f ChangeRow> {
    // One that is read so soon after the part begins was made before it.
    let (from, to) = (r.from_ns.saturating_add(LATE_NS), r.to_ns);
    let rows = r.facts.announced.rows.iter();
    rows.filter(move |c| !c.comes_and_goes && (from..to).contains(&c.at_ns))
}

fn text(side: &[Recording<'_>]) -> String {
    let mut rows = side.iter().flat_map(|r| {
        let start = r.facts.capture.start_ns.unwrap_or(0);
        within(r).map(move |c| (c.at_ns.saturating_sub(start), c))
    });
    let said = rows.by_ref().take(NAMED);
    let said: Vec<String> = said.map(|(at, c)| format!("{} {}", moment(at), sentence(c))).collect();
    let unheard = side.iter().filter(|r| !r.facts.announced.heard).count();
    let lost = side.iter().any(|r| r.facts.announced.lost > 0);
    let known = match (said.is_empty(), rows.count()) {
        (true, _) if unheard > 0 => return "not known".into(),
        (true, _) if lost => return "nothing that was heard; some was lost".into(),
        (true, _) => return "nothing".into(),
        (false, 0) => said.join("; "),
        (false, more) => format!("{}; {more} more", said.join("; ")),
    };
    let known = match lost {
        true => format!("{known}; some was lost"),
        false => known,
    };
    match unheard {
        0 => known,
        n => format!("{known}; of {n} not known"),
    }
}
