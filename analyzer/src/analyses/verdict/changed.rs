//! The line on settings that were changed while the recording ran; there is none where none was.

use super::sentences::capital;
use super::{Line, Tone};
use crate::analyses::drops::Drops;
use crate::settings::changed::Change;

/// Changes named.
const NAMED: usize = 4;

/// `net.ipv4.ip_forward from 1 to 0 (10.0.0.1)`
fn words(c: &Change) -> String {
    let whose = match (c.netns, c.addresses.as_slice()) {
        (_, [_, ..]) => format!(" ({})", c.addresses.join(", ")),
        (Some(netns), []) => format!(" (network namespace {netns})"),
        (None, []) => String::new(),
    };
    format!("{} from {} to {}{whose}", c.name, c.before, c.after)
}

/// Behind the others.
pub(crate) fn with_the_changes(mut lines: Vec<Line>, changed: &[Change], drops: Option<&Drops>) -> Vec<Line> {
    let said = |c: &Change| drops.is_some_and(|d| d.groups.iter().any(|g| g.no_router.as_ref() == Some(c)));
    let rest: Vec<&Change> = changed.iter().filter(|c| !said(c)).collect();
    if rest.is_empty() {
        return lines;
    }
    let named: Vec<String> = rest.iter().take(NAMED).map(|c| words(c)).collect();
    let more = match rest.len().saturating_sub(NAMED) {
        0 => String::new(),
        n => format!(", and {n} more (`show snapshots`)"),
    };
    let says = format!("settings were changed in the recording: {}{more}", named.join(", "));
    lines.push(Line {
        names_cause: true,
        ..Line::of("settings", Tone::Notice, format!("{}.", capital(&says)), says)
    });
    lines
}
