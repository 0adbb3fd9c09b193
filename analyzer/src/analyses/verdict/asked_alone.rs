//! What the line on UDP says of one that is never answered where others are.

use super::evidence::from;
use super::sentences::{counted, or_dash};
use crate::analyses::datagrams::{Alone, Datagrams};

/// Of its turns so many were dropped in this host, of 10, to be what is wrong.
const DROPPED: u64 = 9;

/// What it asked never left this host, or never came.
pub(super) fn wrong(a: &Alone) -> bool {
    a.dropped.saturating_mul(10) >= a.turns.saturating_mul(DROPPED)
}

/// Of the first of them.
pub(super) fn words(d: &Datagrams) -> Option<String> {
    let a = d.alone.first()?;
    let mut said = vec![format!(
        "none of {} that {} sent to {} was answered, while {} of {} others to there were, as those of {} (p50 {}){}",
        counted(a.sends, "datagram", "datagrams"),
        a.task,
        a.to,
        a.answered,
        a.of_others,
        a.other,
        or_dash(a.response.p50_ns),
        from(a.first)
    )];
    if !a.came_to.is_empty() {
        said.push(format!(
            "those that are answered came to {}, translated on the way (NAT), and these did not: as where connection tracking has an entry for their ports from before there was a translation (`conntrack -L -p udp --orig-dst {}`; inferred)",
            a.came_to,
            a.to.rsplit_once(':').map_or("", |at| at.0)
        ));
    }
    if a.dropped > 0 {
        said.push(format!(
            "{} of its {} were dropped in this host (see drops)",
            a.dropped,
            counted(a.turns, "question", "questions")
        ));
    }
    Some(said.join("; "))
}
