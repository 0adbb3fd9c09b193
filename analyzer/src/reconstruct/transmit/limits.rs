//! What held a socket's write queue when: pieces of time, each with its wait, and their sums over any interval.
//!
//! Between two transmissions while bytes waited, time is cut at every `tcp_probe`. A piece that ends at a probe is judged by
//! that probe's numbers, which are the socket's state during the piece: a window that is full held it, whether or not a pacing
//! timer was armed, for nothing could have been sent without pacing either. Pacing is named only where the windows were open
//! and its timer was pending; after the last probe they were, since the segment went without another ACK. (`tcp_write_xmit`
//! tests pacing first: its order says where it stops, not what held.) A piece that the numbers leave open is named by what
//! released it. TSO deferral for lack of window counts as that window, as in the kernel, where no timer was pending.

use super::bytes::Bytes;
use super::flow::{Flow, Of};
use super::held::{Limits, Piece};
use super::largest::told;
use super::paced::Paced;
use super::packet::{Cause, Packet};
use super::stages::Stage;
use crate::reconstruct::tcp::tables::{SampleRow, StateRow};
use crate::reconstruct::timers::{Kind, What};
use crate::reconstruct::xmits::Passes;

/// Longest that a cork holds a segment with nothing in flight, ns: a retransmission timeout of a connection without a round trip (TCP_TIMEOUT_INIT), and some delay of its timer.
const CORKED_NS: i64 = 1_200_000_000;
/// Congestion states from which sending follows ACKs, not the window alone (`enum tcp_ca_state`).
const CWR: i32 = 2;

/// What may hold a segment that no window and no timer holds.
#[derive(Debug, Clone, Copy)]
struct Gate {
    /// Less than a full segment waits behind data in flight; or as much as the largest sent, where no event tells the size of
    /// a full one.
    small: bool,
    /// The latter.
    guess: bool,
    /// Nothing is in flight.
    idle: bool,
}

/// State of a socket during a piece.
struct Held {
    /// Bytes sent and not acknowledged.
    inflight: i64,
    /// The same in packets.
    packets: i64,
    cwnd: i64,
    wnd: i64,
    mss: i64,
    unsent: i64,
    recovery: bool,
}

/// A window in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Full {
    stage: Stage,
    /// No segment fits it. Else it has room for some (TSO deferral), or recovery alone says so.
    shut: bool,
}

/// The window that is full, if one is.
fn full(h: &Held) -> Option<Full> {
    let peer = h.wnd - h.inflight;
    let own = (h.cwnd - h.packets).saturating_mul(h.mss);
    let next = h.mss.min(h.unsent.max(1));
    let of = |stage, shut| Some(Full { stage, shut });
    if h.wnd == 0 {
        of(Stage::Rwnd, true)
    } else if h.inflight > 0 && (own <= 0 || h.recovery) {
        // With nothing in flight no ACK is awaited: the window of one's own never holds then. In recovery what was lost or
        // selectively acknowledged counts as in flight here; TCP keeps its window at what is then (PRR).
        of(Stage::Cwnd, own <= 0)
    } else if peer < next {
        of(Stage::Rwnd, true)
    } else if h.inflight > 0 && h.unsent >= h.mss && own.min(peer) <= h.unsent {
        // TSO deferral: the window has room for some, waiting for room for more.
        of(if own <= peer { Stage::Cwnd } else { Stage::Rwnd }, false)
    } else {
        None
    }
}

/// Walks a socket's life.
pub(super) fn limits(of: &Of<'_>, flow: &Flow, bytes: &Bytes<'_>, packets: &[Packet], passes: &Passes) -> Limits {
    let (mss, mss_told) = mss(of, flow, packets, passes);
    let counts = packet_counts(flow, mss);
    let mut out = Limits::default();
    let mut w = Walk {
        of,
        flow,
        bytes,
        counts: &counts,
        packets,
        mss,
        mss_told,
        probe: 0,
        timer: 0,
        state: 0,
        written: 0,
        unacked: 0,
        armed: false,
        recovery: false,
    };
    let mut last_tx: Option<i64> = None;
    let mut near = 0;
    for (k, seg) in flow.segments.iter().enumerate() {
        let Some(p) = packets.get(seg.packet as usize) else {
            continue;
        };
        let handed = bytes
            .of(seg.start, seg.epoch, &mut near)
            .map(|(a, _)| (a.by.min(p.ts), a.call));
        let from = handed.map(|(t, _)| last_tx.map_or(t, |l| l.max(t)));
        let same_call = p.call.is_some() && p.call == handed.map(|h| h.1);
        w.interval(k, from.unwrap_or(p.ts), p, same_call, &mut out);
        last_tx = Some(p.ts);
    }
    out
}

/// Payload of a full segment: of GSO where it was used (by the device, or before it); else at least the largest that was sent, and a divisor of what
/// `tcp_sendmsg_locked` wants an skb to reach (`tcp_xmit_size_goal`: a multiple of the MSS). And whether an event tells it: else
/// a full segment may be larger.
fn mss(of: &Of<'_>, flow: &Flow, packets: &[Packet], passes: &Passes) -> (i64, bool) {
    if let Some(size) = told(flow, packets, passes) {
        return (size.into(), true);
    }
    let largest = flow
        .segments
        .iter()
        .map(|s| (s.end - s.start) as i64)
        .max()
        .unwrap_or(1)
        .max(1);
    let goal = of.appends.iter().rev().map(|a| i64::from(a.goal)).find(|g| *g > 0);
    let divides = goal.and_then(|g| (1..=g / largest).rev().find(|n| g % n == 0).map(|n| g / n));
    (divides.unwrap_or(largest), divides.is_some())
}

/// Packets in all segments before each.
fn packet_counts(flow: &Flow, mss: i64) -> Vec<i64> {
    let mut n = 0;
    let mut counts = vec![0];
    counts.extend(flow.segments.iter().map(|s| {
        n += ((s.end - s.start) as i64 + mss - 1) / mss;
        n
    }));
    counts
}

struct Walk<'w, 'f> {
    of: &'w Of<'f>,
    flow: &'w Flow,
    bytes: &'w Bytes<'w>,
    counts: &'w [i64],
    packets: &'w [Packet],
    mss: i64,
    mss_told: bool,
    probe: usize,
    timer: usize,
    state: usize,
    /// Appends up to the last question.
    written: usize,
    /// First segment that was not acknowledged at the current probe.
    unacked: usize,
    /// The pacing timer is armed.
    armed: bool,
    recovery: bool,
}

impl Walk<'_, '_> {
    /// The time before segment `k` was sent, while its first byte waited from `from` on.
    fn interval(&mut self, k: usize, from: i64, p: &Packet, same_call: bool, out: &mut Limits) {
        // Begin of the piece, and what pacing did since.
        let mut since = from;
        let mut paced = Paced::default();
        // Pieces that the numbers leave open, until the release names them; and the last wait that was named.
        let mut open: Vec<(i64, i64, Gate)> = vec![];
        let mut named: Option<Stage> = None;
        let mut pieces: Vec<Piece> = vec![];
        let mut push = |from: i64, to: i64, stage: Stage, weak: bool| {
            if to > from {
                pieces.push(Piece { from, to, stage, weak });
            }
        };
        loop {
            let probe = self.of.probes.get(self.probe).filter(|x| x.0 < p.index).copied();
            let timer = self.of.timers.get(self.timer).filter(|t| t.index < p.index).copied();
            let (probe, timer) = match (probe, timer) {
                (Some(a), Some(b)) if a.0 < b.index => (Some(a), None),
                (_, Some(b)) => (None, Some(b)),
                (a, None) => (a, None),
            };
            if let Some(t) = timer {
                self.timer += 1;
                if t.kind != Kind::Pace {
                    continue;
                }
                let at = paced.end(since);
                match t.what {
                    What::Armed { .. } => {
                        // The arm ends the run that found pacing in the way.
                        paced.push(at, t.ts, Stage::Pacing);
                        self.armed = true;
                    }
                    What::Expired { slip_ns } => {
                        let due = t.ts.saturating_sub(slip_ns.unwrap_or(0)).min(t.ts);
                        paced.push(at, due, Stage::Pacing);
                        paced.push(at.max(due), t.ts, Stage::PacingSlip);
                        self.armed = false;
                        named = Some(Stage::PacingSlip);
                    }
                }
                continue;
            }
            let Some((index, s)) = probe else { break };
            self.probe += 1;
            let (held, gate) = self.held(index, s, k);
            let mut paced = std::mem::take(&mut paced);
            let to = s.time_ns;
            if to <= since {
                continue;
            }
            let full = full(&held);
            if let Some(f) = full.filter(|f| f.shut) {
                // Nothing could be sent, paced or not.
                if self.armed {
                    paced.push(paced.end(since), to, Stage::Pacing);
                }
                push(since, to, f.stage, false);
                if f.stage == Stage::Rwnd {
                    out.rwnd_paced_ns = out.rwnd_paced_ns.saturating_add(paced.split((since, to)).paced_ns());
                }
                named = Some(f.stage);
            } else {
                if self.armed {
                    paced.push(paced.end(since), to, Stage::Pacing);
                    named = Some(Stage::Pacing);
                } else if let Some(f) = full {
                    named = Some(f.stage);
                }
                let split = paced.split((since, to));
                for (a, b, stage) in split.parts {
                    push(a, b, stage, false);
                }
                for (a, b) in split.between {
                    match full {
                        Some(f) => push(a, b, f.stage, false),
                        None => open.push((a, b, gate)),
                    }
                }
            }
            since = to;
        }
        // Since the last probe the windows were open: it went without another.
        let last = (paced.end(since), p.ts);
        for (a, b, stage) in paced.split((since, p.ts)).parts {
            push(a, b, stage, false);
        }
        let payload = self.flow.segments.get(k).map_or(0, |s| (s.end - s.start) as i64);
        match p.cause {
            Cause::Pace => push(last.0, last.1, Stage::PacingSlip, false),
            Cause::Tsq => push(last.0, last.1, Stage::Tsq, false),
            // What it did between its arrival and this transmission is its own work, and no wait: it belongs to what it
            // ended. The segments after the first of its run waited for nothing.
            Cause::Ack(_) => match (named, open.last().map(|o| o.2)) {
                (Some(stage), _) => push(last.0, last.1, stage, false),
                (None, Some(gate)) => open.push((last.0, last.1, gate)),
                (None, None) => {}
            },
            Cause::WriteTimer => {
                // The state since the last probe is what the next one shows.
                let next = self.of.probes.get(self.probe).map(|(_, s)| *s);
                // A window smaller than a segment holds one, too: the timer sends as much as fits it (`tcp_write_wakeup`).
                let fills = |wnd: u32| wnd == 0 || (payload < self.mss && i64::from(wnd) <= payload);
                let stage = next.and_then(|s| fills(s.snd_wnd).then_some(Stage::Rwnd));
                let gate = self.gate(k, p);
                let named = named.filter(|s| match s {
                    // A pacing timer that has fired holds nothing any more.
                    Stage::Pacing | Stage::PacingSlip => false,
                    // Whether the window is full yet no probe tells.
                    Stage::Rwnd => next.is_none() || !gate.idle,
                    _ => !gate.idle,
                });
                match stage.or(named) {
                    Some(stage) => push(last.0, last.1, stage, next.is_none() && gate.idle),
                    None => open.push((last.0, last.1, gate)),
                }
            }
            // Bytes of an earlier call, sent by this one: corked, or too few alone.
            Cause::Call if !same_call => open.push((last.0, last.1, self.gate(k, p))),
            // Sent by no call and no ACK: an option was set (cork, Nagle), or the socket closed.
            Cause::Other => open.push((last.0, last.1, self.gate(k, p))),
            Cause::Call => {}
        }
        let queued = self.queued(k, p);
        // The frame before it had its first bytes, and never left: no window held them since, nor was there too little to send.
        let refused = k
            .checked_sub(1)
            .and_then(|i| self.flow.segments.get(i))
            .is_some_and(|s| s.void);
        for (from, to, gate) in open {
            let (stage, weak) = match p.cause {
                _ if refused => (Stage::Refused, false),
                Cause::Tsq => (Stage::Tsq, false),
                // An ACK releases what small queues held, too.
                Cause::Ack(_) if gate.small => (Stage::Nagle, queued || gate.guess),
                // With nothing in flight only a cork holds what the windows let through.
                Cause::Call => (Stage::Nagle, same_call || !gate.idle),
                // The timer for zero windows sends what a cork holds when nothing is in flight (`tcp_check_probe_timer`), 200 ms or a
                // retransmission timeout later: what it sends still later is no cork's, but had no route or met a full queue in the call itself.
                Cause::WriteTimer if gate.idle && to.saturating_sub(from) > self.corked_ns() => (Stage::Refused, true),
                Cause::WriteTimer if gate.idle => (Stage::Nagle, false),
                // A full segment is none that Nagle holds: after close() no probe tells what an ACK released.
                Cause::Other if gate.idle || (gate.small && payload < self.mss) => (Stage::Nagle, !gate.idle),
                _ => continue,
            };
            if to > from {
                pieces.push(Piece { from, to, stage, weak });
            }
        }
        pieces.sort_by_key(|p| p.from);
        for piece in pieces {
            out.push(piece.from, piece.to, piece.stage, piece.weak);
        }
    }

    /// For so long a cork may hold a segment at most, ns: a retransmission timeout, by the last round trip.
    fn corked_ns(&self) -> i64 {
        let last = self.probe.checked_sub(1).and_then(|i| self.of.probes.get(i));
        let srtt = last.map_or(0, |(_, s)| i64::from(s.srtt_us).saturating_mul(1_000));
        CORKED_NS.saturating_add(srtt.saturating_mul(4))
    }

    /// What may hold segment `k` when it is sent at last.
    fn gate(&self, k: usize, p: &Packet) -> Gate {
        let before = self.flow.segments.get(..k).unwrap_or_default();
        let last = before.iter().rev().find(|s| !s.void);
        let idle = last.map_or(self.flow.born, |s| s.acked.is_some_and(|t| t <= p.ts));
        Gate {
            small: !idle,
            guess: false,
            idle,
        }
    }

    /// Whether the segment before `k` may have been in a queue of this host yet.
    fn queued(&self, k: usize, p: &Packet) -> bool {
        let before = k.checked_sub(1).and_then(|i| self.flow.segments.get(i));
        before.is_some_and(|s| {
            let started = self.packets.get(s.packet as usize).and_then(|p| p.started);
            started.or(s.acked).is_none_or(|t| t > p.ts)
        })
    }

    /// The socket as a probe shows it, `k` segments sent.
    fn held(&mut self, index: u32, s: &SampleRow, k: usize) -> (Held, Gate) {
        let segments = &self.flow.segments;
        while segments
            .get(self.unacked)
            .is_some_and(|g| g.void || g.acked.is_some_and(|t| t < s.time_ns))
        {
            self.unacked += 1;
        }
        let is = |c: &&&StateRow| c.time_ns <= s.time_ns;
        while let Some(c) = self.of.states.get(self.state).filter(is) {
            if c.kind == "cong" {
                self.recovery = c.state >= CWR;
            }
            self.state += 1;
        }
        let sent = k.checked_sub(1).and_then(|i| segments.get(i)).map_or(0, |g| g.end);
        let epoch = segments.get(k).map_or(0, |g| g.epoch);
        let inflight = i64::from(s.snd_nxt.wrapping_sub(s.snd_una));
        let count = |i: usize| self.counts.get(i).copied().unwrap_or(0);
        // Part of the oldest segment may be acknowledged.
        let gone = segments
            .get(self.unacked)
            .map_or(0, |g| (sent as i64 - inflight - g.start as i64).max(0) / self.mss);
        let packets = (count(k) - count(self.unacked.min(k)) - gone).max(0);
        let unsent = self.bytes.unsent(index, sent, epoch, &mut self.written);
        let held = Held {
            inflight,
            packets,
            cwnd: i64::from(s.snd_cwnd),
            wnd: i64::from(s.snd_wnd),
            mss: self.mss,
            unsent,
            recovery: self.recovery,
        };
        let guess = unsent == self.mss && !self.mss_told;
        let gate = Gate {
            small: (unsent < self.mss || guess) && inflight > 0,
            guess,
            idle: inflight <= 0,
        };
        (held, gate)
    }
}
