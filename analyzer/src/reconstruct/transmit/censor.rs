//! Rows whose time is only a lower bound, and how low: as in the receive ledger.
//!
//! | cause | whose time | known until |
//! |---|---|---|
//! | start | its send call was under way when recording began, or its bytes were written before the first call of it | its end |
//! | end | not acknowledged, or not given to a driver, when the recording ended | the last `tcp_probe`, the end of ESTABLISHED (no probe shows a later ACK), or the last event |
//! | loss | events were lost meanwhile: its end, or another, may have been among them | the loss, or a later event of its own |

use super::flow::Of;
use super::routes::Inputs;
use super::tables::{TxEnd, TxRow};
use crate::facts::SkbId;
use crate::reconstruct::dispatch::Lost;
use crate::reconstruct::receive::tables::Censored;
use crate::reconstruct::skb::tables::DeathKind;
use crate::reconstruct::tcp::states::ESTABLISHED;

/// A row that began before the recording (said by who found it), or did not end in it.
pub(super) fn by_ends(row: &mut TxRow, until: impl FnOnce() -> i64) {
    if row.end == TxEnd::Open {
        row.censored = row.censored.or(Some(Censored::End));
        row.at_least_ns = Some(until().wrapping_sub(row.start_ns).max(row.total_ns));
    } else if row.censored.is_some() {
        row.at_least_ns = Some(row.total_ns);
    }
}

/// A row in whose time events were lost. `known`: until when it was surely under way, of a loss that began after it was queued.
pub(super) fn by_loss(row: &mut TxRow, lost: &Lost, known: impl Fn(i64) -> i64) {
    let end = row.start_ns.saturating_add(row.at_least_ns.unwrap_or(row.total_ns));
    let Some(gap) = first(lost, row.start_ns, end) else {
        return;
    };
    // A call may have been among what was lost before it was queued, and then not this one wrote it. An ACK may have been
    // among what was lost after; its own events show it under way.
    let sched = row.t_sched_ns;
    let from = if gap.0 <= sched { sched } else { row.start_ns };
    let until = first(lost, sched, end).map_or(end, |g| {
        known(g.0).max(row.t_snd_ns.unwrap_or(sched).min(g.0.max(sched)))
    });
    row.censored = Some(Censored::Loss);
    row.at_least_ns = Some(until.min(end).wrapping_sub(from).max(0));
}

/// The first loss that lies in, or reaches into, a time.
fn first(lost: &Lost, from: i64, to: i64) -> Option<(i64, i64)> {
    let spans = lost.spans();
    let at = spans.partition_point(|g| g.1 < from);
    spans.get(at).copied().filter(|g| g.0 <= to)
}

/// Until when a segment queued at `queued` was surely not acknowledged, where events are lost from `gap` on: the last probe
/// before may have brought the ACK, and what it did was lost.
pub(super) fn before_loss(of: &Of<'_>, queued: i64, gap: i64) -> i64 {
    let n = of.probes.partition_point(|(_, s)| s.time_ns < gap);
    let last = n.checked_sub(1).and_then(|i| of.probes.get(i)).map(|(_, s)| s.time_ns);
    last.filter(|t| *t >= queued).unwrap_or(gap.max(queued))
}

/// Until when a segment queued at `queued` that no probe shows acknowledged was surely not. The last probe shows the socket
/// before its own segment, which may have been the ACK; without one no ACK came while the socket was in ESTABLISHED.
pub(super) fn outstanding(of: &Of<'_>, queued: i64, end_ns: i64) -> i64 {
    let last = of.probes.last().map(|(_, s)| s.time_ns);
    let Some(last) = last else { return queued };
    if last >= queued {
        return last;
    }
    let left = |s: &&&_| -> bool {
        let s: &crate::reconstruct::tcp::tables::StateRow = s;
        s.kind == "sock" && s.state != ESTABLISHED && s.time_ns >= last
    };
    let closed = of.states.iter().find(left).map(|s| s.time_ns);
    closed.map_or(end_ns, |t| t.max(queued)).min(end_ns)
}

/// Until when a packet that no driver is known to have taken was alive.
pub(super) fn alive(inputs: &Inputs<'_>, skb: SkbId, queued: i64) -> i64 {
    match inputs.identity.life(skb) {
        Some(l) if l.death_kind == DeathKind::CensoredEnd => inputs.end_ns.max(queued),
        Some(l) => l.last_ns.max(queued),
        None => queued,
    }
}
