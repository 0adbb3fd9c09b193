//! What follows of packets that this host lost: lines that say what became of those very connections stand under the line on drops, on the head of a page.

use std::collections::BTreeSet;

use super::{Line, Tone, sentences};
use crate::analyses::drops::{Drops, Hurt};
use crate::analyses::opens::Opens;
use crate::analyses::receive::Receive;
use crate::analyses::tcp::Tcp;
use crate::analyses::transmit::Transmit;
use crate::reconstruct::receive::tables::Stage;
use crate::reconstruct::transmit::stages::Stage as Sent;

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
    let told = lines.iter().find(|l| l.subject == DROPS && !l.headline.is_empty());
    let Some(tone) = told.map(|l| l.tone) else {
        return lines;
    };
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
        // What is wrong does not stand under what is only worth a look.
        let below = tone == Tone::Bad || line.tone != Tone::Bad;
        line.follows = (one && theirs && below && !line.names_cause).then_some(DROPS);
    }
    lines
}

/// Every attempt that did not come to be was to such an end, as many SYNs were lost, and nothing was reset.
fn unopened(o: &Opens, hurt: &Hurt) -> bool {
    let attempts: u64 = o.failed.iter().map(|f| f.attempts).fold(0, u64::saturating_add);
    let theirs = o.failed.iter().all(|f| hurt.ends.contains(&f.to));
    attempts > 0 && theirs && hurt.syns >= attempts && o.resets.is_empty() && o.scans.is_empty()
}

/// How the ends of answers and requests are named in a headline.
const NAMED: [&str; 4] = ["answers of ", "Answers of ", "requests to ", "request to "];

/// Answers of such an end that were late on their way, or did not come. What waited in a queue waited for that.
fn late(headline: &str, ends: &BTreeSet<String>) -> bool {
    let way = headline.contains(" on the way ") || headline.contains(" no answer");
    let named = |before: &str| {
        let at = headline.find(before)?;
        let rest = headline.get(at + before.len()..)?;
        rest.split([' ', ',', ';']).next()
    };
    let theirs = NAMED
        .iter()
        .filter_map(|before| named(before))
        .any(|end| ends.contains(end));
    way && theirs && !headline.contains(" in the server") && !headline.contains(" in the queue of ")
}

/// What waited longest was behind something missing, at such an end.
fn behind(r: &Receive, hurt: &Hurt) -> bool {
    let reader = r.reader.as_ref().is_some_and(|r| hurt.ends.contains(&r.at));
    reader && super::received::top_stage(r) == Some(Stage::OutOfOrder.name())
}

/// So many times as often something was sent again as was lost here, at most: one loss may take others with it.
const TIMES: u64 = 4;

/// The connection held most was held by losses, of which so many were here.
fn held(t: &Transmit, hurt: &Hurt) -> bool {
    let most = t.most_held();
    most.is_some_and(|c| {
        let ours = c.retransmits <= hurt.lost.saturating_mul(TIMES);
        hurt.connections.contains(&c.connection) && c.held_by == Some(Sent::Recovery.name()) && ours
    })
}

/// Nearly all that was sent again was of such connections.
fn again(t: &Tcp, hurt: &Hurt) -> bool {
    let of = t
        .connections
        .iter()
        .filter(|c| hurt.connections.contains(&c.connection));
    let calls: u64 = of.filter_map(|c| c.retransmits).fold(0, u64::saturating_add);
    let ours = t.calls() <= hurt.lost.saturating_mul(TIMES);
    calls > 0 && ours && calls as f64 >= NEARLY_ALL * t.calls() as f64
}
