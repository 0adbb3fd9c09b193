//! Time in an fq queueing discipline is pacing, where its own timer ended it.
//!
//! fq releases a segment when its socket's rate allows, by a `qdisc_watchdog` armed for that moment. The timer is a field of
//! the qdisc, of which no event says the address here: where timers of several qdiscs ended meanwhile, nothing is said.

use super::stages::{Stage, StageTimes};
use crate::reconstruct::timers::{Kind, TimerEvent, Timers, What};
use crate::reconstruct::xmits::Pass;

/// The qdisc's time of a pass, by what held it.
pub(super) fn held(stages: &mut StageTimes, pass: &Pass, timers: &Timers) {
    let whole = pass.qdisc_ns;
    let until = pass.started_ns.or(pass.ended_ns);
    let window = pass.queued_ns.zip(until).filter(|_| pass.qdisc.text() == "fq");
    let Some((ns, (from, to))) = whole.filter(|ns| *ns > 0).zip(window) else {
        stages.add(Stage::Qdisc, whole);
        return;
    };
    let first = timers.events.partition_point(|t| t.ts <= from);
    let meanwhile = timers.events.get(first..).unwrap_or(&[]).iter();
    let mut fired: Vec<(&TimerEvent, i64)> = meanwhile
        .take_while(|t| t.ts <= to)
        .filter_map(|t| match t.what {
            What::Expired { slip_ns: Some(slip) } if t.kind == Kind::Qdisc => Some((t, slip)),
            _ => None,
        })
        .collect();
    let last = fired.pop();
    match last.filter(|(l, _)| fired.iter().all(|(t, _)| t.owner == l.owner)) {
        Some((timer, slip)) => {
            // What stops held it is not in the qdisc's time.
            let paced = (timer.ts - slip.max(0) - from).clamp(0, ns);
            let late = slip.clamp(0, ns - paced);
            stages.add(Stage::Pacing, Some(paced));
            stages.add(Stage::PacingSlip, (late > 0).then_some(late));
            stages.add(Stage::Qdisc, Some(ns - paced - late));
        }
        None => stages.add(Stage::Qdisc, Some(ns)),
    }
}
