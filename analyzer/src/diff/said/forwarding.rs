//! What forwarding takes of a CPU for each packet, where that became more or less: why the way between two ends takes longer, when both are quick.

use super::lead::{Lead, Leading, MOST, moved};
use super::verdict::Outcome;
use crate::analyses::forwarding::COSTLY_NS;

/// Says it.
pub(super) fn say(of: &Leading<'_>, out: &mut Lead) {
    let theirs = of.metrics.iter().filter(|m| m.which.is_forwarding());
    let changed = theirs.filter(|m| matches!(m.outcome, Outcome::Worse | Outcome::Better));
    let mut said = 0;
    for m in changed {
        let (Some(s), Some((from, to))) = (m.telling(), m.which.dev.as_deref().and_then(|d| d.split_once(", "))) else {
            continue;
        };
        let how = if s.shift > 0 { "more" } else { "less" };
        let a_packet = format!(
            "Forwarding from {from} to {to} takes {how} of a CPU: {} a packet",
            moved(s)
        );
        // What netfilter does no event tells.
        let long = s.before.max(s.after) >= COSTLY_NS;
        let why = match (s.shift > 0, said) {
            _ if !long => "",
            (true, 0) => ", by rules of a packet filter that each packet walks, most likely (inferred)",
            (false, 0) => ", by fewer rules of a packet filter that each packet walks, most likely (inferred)",
            _ => "",
        };
        of.say(out, format!("{a_packet}{why}"), vec![]);
        out.worse |= m.outcome == Outcome::Worse;
        said += 1;
        if said == MOST {
            break;
        }
    }
}
