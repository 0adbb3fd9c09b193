//! Losses of transfers that keep a line full: it has as much to carry as it can, and what they lost cost them little of its time.
//!
//! Needs `drops` with their sockets and repairs, `tx`, `xmits`, `connections`, `retransmits`. Where `finds_rate` asks for one large transfer that nobody awaits, here somebody may await each
//! answer (segments of a film over a home's line): measured is whether packets lay in that queue while the transfers that lost some had data under way. Must not be said where a retransmission
//! timer ran out on one of them, where others wait in that queue, or of a queue that drops by chance (netem).

use std::collections::BTreeMap;

use super::Group;
use super::finds_rate::{OTHERS, SEGMENT, UNKNOWN, again_on, sent_again, slowly_again};
use super::own_queue::{lay_in, left_by, others_wait};
use super::reasons::QUEUE_FULL;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::transmit::tables::TxKind;
use crate::reconstruct::whose::Carries;

/// Part of the time with data under way in which packets must lie in the queue.
const FULL: f64 = 0.7;
/// Least payload that the transfers send in all, and each of them, bytes.
const ALL: u64 = 500_000;
const EACH: u64 = 50_000;
/// Part of what they sent that they may lose: one in so many.
const LOST: u64 = 4;
/// Part of the losses that must be sent again; and of what left by the device that must be theirs.
const NEARLY: f64 = 0.9;
const MOST: f64 = 0.5;

/// Part of the time in which these transfers had data under way that packets lay in their queue.
pub(super) fn line_full(facts: &Facts, group: &Group, rows: &[&DropRow]) -> Option<f64> {
    let by_chance = group.qdisc.as_deref() == Some("netem");
    // Of devices of one name nothing tells which of them that was.
    let several = facts.routes.links.several(&group.dev);
    if group.reason != QUEUE_FULL || by_chance || several || rows.is_empty() || !facts.gaps.is_empty() {
        return None;
    }
    let again = again_on(facts);
    let repaired = rows
        .iter()
        .filter(|d| d.repair.is_some() || sent_again(d, &again))
        .count();
    if (repaired as f64) < NEARLY * rows.len() as f64 {
        return None;
    }
    let mut lost: BTreeMap<ConnectionId, u64> = BTreeMap::new();
    for d in rows {
        let data = d.owner.filter(|o| o.carries == Carries::Data);
        if let Some(c) = data.and_then(|o| o.connection) {
            *lost.entry(c).or_default() += 1;
        }
    }
    let sent = |c: &ConnectionId| facts.connections.get(c.0 as usize).map_or(0, |r| r.bytes_out);
    lost.retain(|c, _| sent(c) >= EACH);
    let theirs: u64 = lost.values().sum();
    let bytes: u64 = lost.keys().map(sent).sum();
    let others = (rows.len() as u64).saturating_sub(theirs);
    let few = others <= OTHERS && others.saturating_mul(UNKNOWN) <= rows.len() as u64;
    let lost_bytes = theirs.saturating_mul(SEGMENT);
    if !few || bytes < ALL || lost_bytes.saturating_mul(LOST) > bytes {
        return None;
    }
    let timers = |c: ConnectionId| lost.contains_key(&c);
    if slowly_again(facts).any(timers) || (bytes as f64) < MOST * left_by(facts, &group.dev) as f64 {
        return None;
    }
    let under_way = facts.tx.iter().filter(|t| t.kind == TxKind::Tcp);
    let under_way = under_way.filter(|t| t.connection.is_some_and(timers));
    let under_way = under_way.filter_map(|t| Some((t.t_sched_ns, t.t_ack_ns?)));
    let share = lay_in(facts, &group.dev, under_way.collect())?;
    let all = lost.keys().copied();
    let ends = all.flat_map(|c| {
        let peer = facts.connections.get(c.0 as usize).and_then(|r| r.peer);
        [Some(c), peer].into_iter().flatten()
    });
    (share >= FULL && !others_wait(facts, &group.dev, &ends.collect())).then_some(share)
}
