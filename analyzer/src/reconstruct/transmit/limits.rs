//! What held a socket's write queue when: pieces of time, each with its wait, and their sums over any interval.
//!
//! Between two transmissions while bytes waited, time is cut at every `tcp_probe` and pacing-timer event. A piece that ends
//! at a probe is judged by that probe's numbers, which are the socket's state during the piece (`tcp_write_xmit` tests
//! pacing, then the congestion window, then the peer's window, then Nagle or TSO deferral; the same order here). A piece the
//! numbers leave open is named by what released it. TSO deferral for lack of window counts as that window, as in the kernel.

use super::flow::{Flow, Of};
use super::packet::{Cause, Packet};
use super::sends::Append;
use super::stages::Stage;
use crate::confidence::Confidence;
use crate::reconstruct::tcp::tables::{SampleRow, StateRow};
use crate::reconstruct::timers::{Kind, What};

/// Congestion states from which sending follows ACKs, not the window alone (`enum tcp_ca_state`).
const CWR: i32 = 2;

/// Bytes of the send calls against bytes of the segments.
pub(super) struct Bytes<'a> {
    appends: &'a [Append],
    /// Bytes up to the end of each append.
    ends: Vec<u64>,
    /// By epoch: bytes of segments minus bytes of calls; and how sure that is.
    shifts: Vec<(i64, Confidence)>,
}

impl<'a> Bytes<'a> {
    /// Aligns the two counts: at some time all that was written had been sent.
    pub(super) fn align(of: &'a Of<'_>, flow: &Flow, packets: &[Packet]) -> Bytes<'a> {
        let appends = of.appends.as_slice();
        let mut sum = 0u64;
        let ends: Vec<u64> = appends
            .iter()
            .map(|a| {
                sum += u64::from(a.bytes);
                sum
            })
            .collect();
        let mut bytes = Bytes {
            appends,
            ends,
            shifts: vec![],
        };
        let mut least: Vec<Option<(i64, bool)>> = vec![None; flow.epochs as usize + 1];
        let mut at = 0;
        for seg in &flow.segments {
            let Some(p) = packets.get(seg.packet as usize) else {
                continue;
            };
            while appends.get(at).is_some_and(|a| a.index <= p.index) {
                at += 1;
            }
            let written = at.checked_sub(1).and_then(|i| bytes.ends.get(i)).copied().unwrap_or(0);
            let over = written as i64 - seg.end as i64;
            let in_call = p.cause == Cause::Call;
            if let Some(slot) = least.get_mut(seg.epoch as usize) {
                let better = slot.is_none_or(|(l, sure)| over < l || (over == l && in_call && !sure));
                if better {
                    *slot = Some((over, in_call));
                }
            }
        }
        for (epoch, l) in least.into_iter().enumerate() {
            let (over, in_call) = l.unwrap_or((0, false));
            bytes.shifts.push(match (flow.born && epoch == 0, over) {
                (true, 0..) => (0, Confidence::Certain),
                (true, _) => (-over, Confidence::Weak),
                (false, _) if in_call => (-over, Confidence::Strong),
                (false, _) => (-over, Confidence::Weak),
            });
        }
        bytes
    }
    fn shift(&self, epoch: u32) -> (i64, Confidence) {
        self.shifts
            .get(epoch as usize)
            .copied()
            .unwrap_or((0, Confidence::Weak))
    }
    /// The append that brought a byte, and how sure that is.
    pub(super) fn of(&self, offset: u64, epoch: u32) -> Option<(&'a Append, Confidence)> {
        let (shift, sure) = self.shift(epoch);
        let x = u64::try_from(offset as i64 - shift).ok()?;
        let i = self.ends.partition_point(|end| *end <= x);
        self.appends.get(i).map(|a| (a, sure))
    }
    /// Bytes written and not sent, where `sent` bytes were, at a position of the merged sequence.
    fn unsent(&self, index: u32, sent: u64, epoch: u32) -> i64 {
        let n = self.appends.partition_point(|a| a.index <= index);
        let written = n.checked_sub(1).and_then(|i| self.ends.get(i)).copied().unwrap_or(0);
        written as i64 + self.shift(epoch).0 - sent as i64
    }
}

/// A piece of time in which the write queue was held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) from: i64,
    pub(super) to: i64,
    pub(super) stage: Stage,
    pub(super) weak: bool,
}

/// Stages of pieces.
pub(super) const HELD: [Stage; 6] = [
    Stage::Rwnd,
    Stage::Cwnd,
    Stage::Nagle,
    Stage::Pacing,
    Stage::PacingSlip,
    Stage::Tsq,
];
/// ns by [`HELD`], then ns of weak pieces.
pub(super) type Sums = [i64; 7];

/// All pieces of a socket, in order, and their sums.
#[derive(Debug, Default)]
pub(super) struct Limits {
    pub(super) pieces: Vec<Piece>,
    before: Vec<Sums>,
    total: Sums,
}

impl Limits {
    fn push(&mut self, from: i64, to: i64, stage: Stage, weak: bool) {
        // Pieces do not overlap, whatever a damaged recording says.
        let from = self.pieces.last().map_or(from, |p| from.max(p.to));
        if to <= from {
            return;
        }
        self.before.push(self.total);
        add(&mut self.total, stage, to - from, weak);
        self.pieces.push(Piece { from, to, stage, weak });
    }
    /// Sums up to a time.
    fn until(&self, t: i64) -> Sums {
        let n = self.pieces.partition_point(|p| p.from < t);
        let Some((i, p)) = n.checked_sub(1).and_then(|i| Some((i, self.pieces.get(i)?))) else {
            return Sums::default();
        };
        let mut s = self.before.get(i).copied().unwrap_or_default();
        add(&mut s, p.stage, t.min(p.to) - p.from, p.weak);
        s
    }
    /// ns by wait inside `[from, to)`.
    pub(super) fn over(&self, from: i64, to: i64) -> Sums {
        let (a, b) = (self.until(from), self.until(to));
        std::array::from_fn(|i| b.get(i).copied().unwrap_or(0) - a.get(i).copied().unwrap_or(0))
    }
}

fn add(s: &mut Sums, stage: Stage, ns: i64, weak: bool) {
    let at = HELD.iter().position(|h| *h == stage).unwrap_or(6);
    for (i, slot) in s.iter_mut().enumerate() {
        if i == at || (i == 6 && weak) {
            *slot = slot.saturating_add(ns);
        }
    }
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

/// The window that is full, if one is.
fn full(h: &Held) -> Option<Stage> {
    let peer = h.wnd - h.inflight;
    let own = (h.cwnd - h.packets) * h.mss;
    let next = h.mss.min(h.unsent.max(1));
    if h.wnd == 0 {
        Some(Stage::Rwnd)
    } else if own <= 0 || h.recovery {
        Some(Stage::Cwnd)
    } else if peer < next {
        Some(Stage::Rwnd)
    } else if h.unsent >= h.mss && own.min(peer) <= h.unsent {
        // TSO deferral: the window has room for some, waiting for room for more.
        Some(if own <= peer { Stage::Cwnd } else { Stage::Rwnd })
    } else {
        None
    }
}

/// Walks a socket's life.
pub(super) fn limits(of: &Of<'_>, flow: &Flow, bytes: &Bytes<'_>, packets: &[Packet]) -> Limits {
    let mss = mss(flow, packets);
    let counts = packet_counts(flow, mss);
    let mut out = Limits::default();
    let mut w = Walk {
        of,
        flow,
        bytes,
        counts: &counts,
        mss,
        probe: 0,
        timer: 0,
        state: 0,
        unacked: 0,
        armed: false,
        recovery: false,
    };
    let mut last_tx: Option<i64> = None;
    for (k, seg) in flow.segments.iter().enumerate() {
        let Some(p) = packets.get(seg.packet as usize) else {
            continue;
        };
        let handed = bytes.of(seg.start, seg.epoch).map(|(a, _)| (a.by.min(p.ts), a.call));
        let from = handed.map(|(t, _)| last_tx.map_or(t, |l| l.max(t)));
        let same_call = p.call.is_some() && p.call == handed.map(|h| h.1);
        w.interval(k, from.unwrap_or(p.ts), p, same_call, &mut out);
        last_tx = Some(p.ts);
    }
    out
}

/// Largest segment payload: of GSO where it was used, else of what was sent.
fn mss(flow: &Flow, packets: &[Packet]) -> i64 {
    let of = |s: &super::flow::Segment| packets.get(s.packet as usize);
    let gso = flow.segments.iter().filter_map(of).map(|p| i64::from(p.gso_size)).max();
    let largest = flow.segments.iter().map(|s| (s.end - s.start) as i64).max();
    gso.filter(|g| *g > 0).or(largest).unwrap_or(1).max(1)
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
    mss: i64,
    probe: usize,
    timer: usize,
    state: usize,
    /// First segment that was not acknowledged at the current probe.
    unacked: usize,
    /// The pacing timer is armed.
    armed: bool,
    recovery: bool,
}

impl Walk<'_, '_> {
    /// The time before segment `k` was sent, while its first byte waited from `from` on.
    fn interval(&mut self, k: usize, from: i64, p: &Packet, same_call: bool, out: &mut Limits) {
        let mut at = from;
        // Pieces that the numbers leave open, until the release names them; and the last wait that was named.
        let mut open: Vec<(i64, i64, bool)> = vec![];
        let mut named: Option<Stage> = None;
        let mut pieces: Vec<Piece> = vec![];
        let mut push = |from: i64, to: i64, stage: Stage| {
            if to > from {
                pieces.push(Piece {
                    from,
                    to,
                    stage,
                    weak: false,
                });
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
                match t.what {
                    What::Armed { .. } => {
                        if t.ts > at {
                            // The arm ends the run that found pacing in the way.
                            push(at, t.ts, Stage::Pacing);
                            at = t.ts;
                        }
                        self.armed = true;
                    }
                    What::Expired { slip_ns } => {
                        let due = t.ts - slip_ns.unwrap_or(0);
                        push(at, due.min(t.ts), Stage::Pacing);
                        push(at.max(due), t.ts, Stage::PacingSlip);
                        (at, self.armed) = (at.max(t.ts), false);
                        named = Some(Stage::PacingSlip);
                    }
                }
                continue;
            }
            let Some((index, s)) = probe else { break };
            self.probe += 1;
            let (held, small) = self.held(index, s, k);
            if s.time_ns > at {
                match (self.armed, full(&held)) {
                    (true, _) => push(at, s.time_ns, Stage::Pacing),
                    (false, Some(stage)) => {
                        push(at, s.time_ns, stage);
                        named = Some(stage);
                    }
                    (false, None) => open.push((at, s.time_ns, small)),
                }
                at = s.time_ns;
            }
        }
        let last = (at, p.ts);
        match p.cause {
            Cause::Pace => push(last.0, last.1, Stage::PacingSlip),
            Cause::Tsq => push(last.0, last.1, Stage::Tsq),
            Cause::Ack(_) => match named {
                Some(stage) => push(last.0, last.1, stage),
                None => open.push((last.0, last.1, true)),
            },
            Cause::WriteTimer => {
                // The state since the last probe is what the next one shows.
                let next = self.of.probes.get(self.probe).map(|(_, s)| *s);
                let stage = next.and_then(|s| if s.snd_wnd == 0 { Some(Stage::Rwnd) } else { None });
                if let Some(stage) = stage.or(named) {
                    push(last.0, last.1, stage);
                }
            }
            // Bytes of an earlier call, sent by this one: corked, or too few alone.
            Cause::Call if !same_call => open.push((last.0, last.1, true)),
            Cause::Call | Cause::Other => {}
        }
        for (from, to, small) in open {
            let (stage, weak) = match p.cause {
                Cause::Tsq => (Stage::Tsq, false),
                Cause::Ack(_) if small => (Stage::Nagle, false),
                Cause::Call => (Stage::Nagle, true),
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

    /// The socket as a probe shows it, `k` segments sent; and whether less than a full segment waited behind data in flight.
    fn held(&mut self, index: u32, s: &SampleRow, k: usize) -> (Held, bool) {
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
        let unsent = self.bytes.unsent(index, sent, epoch);
        let held = Held {
            inflight,
            packets,
            cwnd: i64::from(s.snd_cwnd),
            wnd: i64::from(s.snd_wnd),
            mss: self.mss,
            unsent,
            recovery: self.recovery,
        };
        (held, unsent < self.mss && inflight > 0)
    }
}
