//! The rows of one TCP socket: its segments with what held each, and its packets without payload.

use rayon::prelude::*;

use super::behind::{BehindRow, behind};
use super::bytes::Bytes;
use super::censor;
use super::device::Device;
use super::flow::{Flow, Of, Segment, Shared, build};
use super::halts::{Halt, halts};
use super::held::{HELD, Limits, Once};
use super::largest::largest;
use super::ledger::{Ledger, finish, in_call};
use super::limits::limits;
use super::packet::Packet;
use super::spent::spent;
use super::stages::Stage;
use super::tables::{TxEnd, TxKind, TxRow, TxStart};
use super::unanswered::full;
use crate::confidence::Confidence;
use crate::facts::ConnectionId;
use crate::reconstruct::receive::tables::Censored;
use crate::reconstruct::skb::tables::SkbClass;

/// A wait named by order alone makes its row weak when it is more than one part in so many of the row's time.
const WEAK_SHARE: i64 = 20;
/// What a call works at most on a segment, where nothing tells when it took the bytes.
const IN_CALL_NS: i64 = 50_000;
/// Segments whose rows are made one behind the other.
const AT_ONCE: usize = 4096;

/// What is known of a socket's send side.
struct SendSide<'s> {
    of: &'s Of<'s>,
    flow: &'s Flow,
    bytes: &'s Bytes<'s>,
    limits: &'s Limits,
    /// Its own windows say how long its headers are.
    measured: bool,
}

/// What is made of a socket.
pub(super) struct OfSocket {
    /// Its rows, in several parts.
    pub(super) parts: Vec<Vec<TxRow>>,
    pub(super) once: Once,
    pub(super) behind: Vec<BehindRow>,
    pub(super) halts: Vec<Halt>,
}

impl Ledger<'_> {
    /// The rows of a socket, and what held it.
    pub(super) fn flow(&self, c: ConnectionId, of: &Of<'_>, shared: &Shared<'_>, header: Option<u32>) -> OfSocket {
        let flow = build(of, shared, header.or(shared.header));
        let bytes = Bytes::align(of, &flow, shared.packets);
        let passes = self.inputs.passes;
        let limits = limits(of, &flow, &bytes, shared.packets, passes);
        let sent = SendSide {
            of,
            flow: &flow,
            bytes: &bytes,
            limits: &limits,
            measured: header.is_some(),
        };
        let parts = flow.segments.par_chunks(AT_ONCE).map(|segments| {
            let mut near = (0, 0);
            let rows = segments
                .iter()
                .filter_map(|s| self.segment(&sent, s, shared, &mut near));
            rows.collect()
        });
        let mut parts: Vec<Vec<TxRow>> = parts.collect();
        // Every packet that comes to an established socket is a probe.
        let unanswered = self.inputs.acks_recorded && of.probes.is_empty();
        let control = flow.control.par_iter().filter_map(|i| shared.packets.get(*i as usize));
        // A short packet that may be a clone, where nothing tells, may carry payload.
        let clones = self.inputs.identity.fclone_distance.is_some();
        let told = |p: &Packet| clones || matches!(p.class, SkbClass::TxClone | SkbClass::TxOther);
        let control = control.map(|p| match unanswered && full(p) {
            true => self.unanswered(p),
            false => self.packet(p, header.is_some_and(|h| told(p) || p.len <= h)),
        });
        // What carries payload, in order.
        let spent = spent(&limits.pieces, &of.rooms, parts.iter().flatten());
        let halts = halts(&limits.pieces, &of.rooms, parts.iter().flatten());
        parts.push(control.collect());
        OfSocket {
            parts,
            halts,
            once: limits.once(&of.rooms, spent, largest(&flow, shared.packets, passes)),
            behind: behind(c, &bytes, &flow, shared.packets, (self.calls, self.inputs.comms)),
        }
    }

    /// The row of a segment. `near`: where the last one's bytes and waits were.
    fn segment(
        &self,
        sent: &SendSide<'_>,
        seg: &Segment,
        shared: &Shared<'_>,
        near: &mut (usize, usize),
    ) -> Option<TxRow> {
        let p = shared.packets.get(seg.packet as usize)?;
        // No window of this socket says how long its headers are: those of other sockets need not be.
        let link = if sent.measured {
            seg.link
        } else {
            seg.link.min(Confidence::Weak)
        };
        let mut row = self.begin(p, TxKind::Tcp, link);
        row.bytes = Some(match seg.void {
            true => sent.flow.payload(p),
            false => u32::try_from(seg.end.saturating_sub(seg.start)).unwrap_or(u32::MAX),
        });
        row.refused = seg.void;
        let mut weak = 0;
        if let Some((append, sure)) = sent.bytes.of(seg.start, seg.epoch, &mut near.0) {
            row.confidence = row.confidence.min(sure);
            let (handed, call) = (append.by.min(p.ts), self.calls.get(append.call as usize));
            let enter = call.and_then(|c| c.enter);
            (row.start_ns, row.start) = match enter {
                Some(t) => (t.min(handed), TxStart::Sendmsg),
                None => (append.from.min(handed), TxStart::WriteQueue),
            };
            if let Some(call) = call {
                row.censored = call.cut.then_some(Censored::Start);
                row.confidence = row.confidence.min(call.link);
                (row.pid, row.task) = (call.pid, self.inputs.comms.at(call.pid, handed));
                in_call(&mut row.stages, self.inputs.threads, call.pid, (row.start_ns, handed));
            }
            let held = sent.limits.over(handed, p.ts, &mut near.1);
            for (stage, ns) in HELD.iter().zip(held) {
                row.stages.set(*stage, (ns > 0).then_some(ns));
            }
            weak = held.last().copied().unwrap_or(0);
            // No event says when in the call its bytes were taken: they may have waited in the queue while the call slept, or took further ones.
            // Not the last ones, where they left after it and it never slept: the segment that they end may begin before its last sleep.
            let during = append.by > p.ts;
            let slept = row.stages.get(Stage::Sndbuf).unwrap_or(0);
            let last = || sent.bytes.is_last(seg.end, seg.epoch, near.0);
            if !self.inputs.rounds_told && (during || slept > 0 || !last()) {
                let first = during && sent.bytes.is_first(seg.start, seg.epoch, near.0);
                let ran = row.stages.get(Stage::Send).filter(|ns| !first && *ns > IN_CALL_NS);
                weak = weak.saturating_add(slept).saturating_add(ran.unwrap_or(0));
            }
            // A pause that windows seem to explain may have been pacing.
            if !self.inputs.timers.pacing_told {
                weak = weak.saturating_add(held.iter().take(2).fold(0i64, |a, b| a.saturating_add(*b)));
            }
            let known = held.iter().take(HELD.len()).fold(0i64, |sum, ns| sum.wrapping_add(*ns));
            let rest = p.ts.wrapping_sub(handed).wrapping_sub(known);
            if p.call == Some(append.call) && rest > 0 {
                row.stages.add(Stage::Send, Some(rest));
            }
        } else {
            // What it waited for before it was queued is not known: no claim about the rest is one about the whole.
            row.confidence = row.confidence.min(Confidence::Weak);
            // Written before the first call of the recording.
            row.censored = (self.told && !sent.flow.born).then_some(Censored::Start);
        }
        let mut row = self.tcp_end(row, p, seg, shared);
        censor::by_ends(&mut row, || censor::outstanding(sent.of, p.ts, self.inputs.end_ns));
        censor::by_loss(&mut row, self.lost, |gap| censor::before_loss(sent.of, p.ts, gap));
        if weak.saturating_mul(WEAK_SHARE) > row.total_ns {
            row.confidence = row.confidence.min(Confidence::Weak);
        }
        Some(row)
    }

    fn tcp_end(&self, mut row: TxRow, p: &Packet, seg: &Segment, shared: &Shared<'_>) -> TxRow {
        let again = seg.last_rtx.and_then(|i| shared.packets.get(i as usize));
        row.retransmits = seg.rtx;
        if let Some(r) = again {
            row.stages.set(Stage::Recovery, Some(r.ts.wrapping_sub(p.ts)));
            let of = r.retransmit.and_then(|i| self.inputs.tcp.retransmits.get(i as usize));
            row.recovery_by = of.map(|x| x.class);
        }
        let sent = again.unwrap_or(p);
        let device = Device::of(self.inputs, &mut row.stages, sent, seg.acked);
        row.confidence = row.confidence.min(device.link);
        let last = match (seg.acked, device.dropped) {
            (Some(t), _) => {
                row.end = TxEnd::Acked;
                row.t_ack_ns = Some(t);
                if device.taken && t >= device.ended {
                    let done = device.completed.filter(|c| *c <= t);
                    let late = done.filter(|c| *c > device.ended);
                    row.stages
                        .set(Stage::Completion, late.map(|c| c.wrapping_sub(device.ended)));
                    row.stages
                        .set(Stage::Network, Some(t.wrapping_sub(done.unwrap_or(device.ended))));
                }
                t
            }
            (None, Some(t)) => {
                row.end = TxEnd::Dropped;
                t
            }
            (None, None) => device.ended,
        };
        finish(row, last)
    }
}
