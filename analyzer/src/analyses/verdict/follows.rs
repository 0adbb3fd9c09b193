//! What follows of packets that this host lost: lines that say what became of those very connections stand under the line on drops, on the head of a page.

use std::collections::BTreeSet;

use super::{Line, sentences};
use crate::analyses::drops::{Drops, Hurt};
use crate::analyses::opens::Opens;
use crate::analyses::receive::Receive;
use crate::analyses::tcp::Tcp;
use crate::analyses::transmit::Transmit;
use crate::reconstruct::receive::tables::Stage;

/// Share of the segments sent again that must be of connections which lost packets here.
const NEARLY_ALL: f64 = 0.9;
/// The line that others follow.
const DROPS: &str = "drops";

/// What the lines are of.
pub(super) struct Of<'a> {
    pub(super) drops: Option<&'a Drops>,
    pub(super) opens: Option<&'a Opens>,
    pub(super) receive: Option<&'a Receive>,
    pub(super) transmit: Option<&'a Transmit>,
    pub(super) tcp: Option<&'a Tcp>,
}

/// Says of each line which other one it follows. Only of headlines that say one thing, and that is no cause of its own.
pub(super) fn follows(mut lines: Vec<Line>, of: &Of<'_>) -> Vec<Line> {
    let Some(hurt) = of.drops.map(|d| &d.hurt).filter(|h| !h.connections.is_empty()) else {
        return lines;
    };
    if !lines.iter().any(|l| l.subject == DROPS && !l.headline.is_empty()) {
        return lines;
    }
    for line in &mut lines {
        let one = !line.headline.is_empty() && sentences::words(&line.headline, 1) == line.headline;
        let theirs = match line.subject {
            "opens" => of.opens.is_some_and(|o| unopened(o, hurt)),
            "application" => late(&line.headline, &hurt.ends),
            "receive" => of.receive.is_some_and(|r| behind(r, hurt)),
            "transmit" => of.transmit.is_some_and(|t| held(t, hurt)),
            "tcp" => of.tcp.is_some_and(|t| again(t, hurt)),
            _ => false,
        };
        line.follows = (one && theirs && !line.names_cause).then_some(DROPS);
    }
    lines
}

/// Every attempt that did not come to be was to such an end, and nothing was reset.
fn unopened(o: &Opens, hurt: &Hurt) -> bool {
    !o.failed.is_empty()
        && o.failed.iter().all(|f| hurt.ends.contains(&f.to))
        && o.resets.is_empty()
        && o.scans.is_empty()
}

/// Answers of such an end that were late on their way, or did not come.
fn late(headline: &str, ends: &BTreeSet<String>) -> bool {
    let way = headline.contains(" on the way ") || headline.contains(" no answer");
    let names = |end: &String| {
        headline.match_indices(end.as_str()).any(|(at, _)| {
            let next = headline.get(at + end.len()..).and_then(|rest| rest.chars().next());
            next.is_none_or(|c| !c.is_ascii_digit())
        })
    };
    way && !headline.contains(" in the server") && ends.iter().any(names)
}

/// What waited longest was behind something missing, at such an end.
fn behind(r: &Receive, hurt: &Hurt) -> bool {
    let reader = r.reader.as_ref().is_some_and(|r| hurt.ends.contains(&r.at));
    reader && super::received::top_stage(r) == Some(Stage::OutOfOrder.name())
}

/// The connection held most was held by losses.
fn held(t: &Transmit, hurt: &Hurt) -> bool {
    let most = t.most_held();
    most.is_some_and(|c| hurt.connections.contains(&c.connection) && c.held_by == Some("recovery"))
}

/// Nearly all that was sent again was of such connections.
fn again(t: &Tcp, hurt: &Hurt) -> bool {
    let of = t
        .connections
        .iter()
        .filter(|c| hurt.connections.contains(&c.connection));
    let calls: u64 = of.filter_map(|c| c.retransmits).fold(0, u64::saturating_add);
    calls > 0 && calls as f64 >= NEARLY_ALL * t.calls() as f64
}
