//! What the devices did with a packet: the passes of `xmits`, one after the other, as stages.

use super::Inputs;
use super::fair_queue;
use super::packet::Packet;
use super::stages::{Stage, StageTimes};
use crate::confidence::Confidence;
use crate::reconstruct::xmits::PassEnd;

/// What the device did with a packet.
pub(super) struct Device {
    /// Last time known of it: the driver's function returned, or began, or the packet was queued.
    pub(super) ended: i64,
    /// The driver took it.
    pub(super) taken: bool,
    pub(super) completed: Option<i64>,
    pub(super) dropped: Option<i64>,
    pub(super) link: Confidence,
}

impl Device {
    /// Stages of a packet's way through its devices. An ACK, or the free of the packet on another CPU, may come before the
    /// driver's function returns; then its stage ends there.
    pub(super) fn of(inputs: &Inputs<'_>, stages: &mut StageTimes, p: &Packet, acked: Option<i64>) -> Device {
        let passes = inputs.passes;
        let mut d = Device {
            ended: p.ts,
            taken: false,
            completed: None,
            dropped: None,
            link: Confidence::Certain,
        };
        // A stacked device (VLAN, tunnel, bond) hands the skb to the next one from inside its driver's function.
        let mut stacked = passes.of(p.skb).iter().skip_while(|x| x.first_ns() < p.ts);
        let mut next = stacked.next();
        while let Some(pass) = next.take() {
            d.link = d.link.min(pass.confidence);
            let pass = match pass.end {
                // The last of its segments says when all of it was sent.
                PassEnd::Segmented => {
                    let sent = passes.segments(p.skb).filter(|s| s.end != PassEnd::Dropped);
                    let last = sent.max_by_key(|s| s.ended_ns.or(s.started_ns)).unwrap_or(pass);
                    d.link = d.link.min(last.confidence);
                    last
                }
                _ => pass,
            };
            let sent = matches!(pass.end, PassEnd::Sent | PassEnd::Completed);
            // It was not what the ACK answered: a queue still had it, to hand it on or to drop it, and that is a wait for nothing.
            let left_queue = pass.started_ns.or(pass.ended_ns.filter(|_| !sent));
            if let (Some(acked), Some(left)) = (acked, left_queue)
                && acked < left
            {
                break;
            }
            fair_queue::held(stages, pass, inputs.timers);
            stages.add(Stage::Bql, pass.bql_ns);
            stages.add(Stage::Ring, pass.ring_ns);
            if pass.end == PassEnd::Dropped {
                d.dropped = pass.ended_ns;
                break;
            }
            // Where no event says when the driver began, it had the packet at the end of its function.
            let Some(started) = pass.started_ns.or(pass.ended_ns.filter(|_| sent)) else {
                d.ended = pass.ended_ns.unwrap_or(d.ended);
                break;
            };
            d.ended = pass.left_ns().unwrap_or(started);
            d.taken = pass.ended_ns.is_some();
            d.completed = pass.completed_ns;
            let ended = pass.ended_ns.unwrap_or(started);
            next = stacked
                .next()
                .filter(|n| n.queued_ns.is_some_and(|q| q > started && q < ended));
            let left = next.and_then(|n| n.queued_ns).unwrap_or(d.ended);
            let left = acked.map_or(left, |t| t.min(left));
            stages.add(Stage::Driver, pass.driver_until(left));
            if next.is_none() {
                d.ended = left;
            }
        }
        d
    }
}
