//! One TCP socket's send side: its packets as segments of the byte stream, which ACK covered each, what was sent again.
//!
//! Offsets count payload bytes from the first packet of the socket in the recording. Every `tcp_probe` says what `snd_nxt`
//! is: when the payloads do not sum to it (`agree`), the window's segments are weak and counting goes on from the truth.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use super::packet::{Cause, Packet};
use super::sends::Append;
use super::windows::first_byte;
use crate::confidence::Confidence;
use crate::facts::SkbId;
use crate::reconstruct::dispatch::Lost;
use crate::reconstruct::skb::Identity;
use crate::reconstruct::skb::tables::{DeathKind, SkbClass};
use crate::reconstruct::tcp::states::{ESTABLISHED, FIN_WAIT2, TIME_WAIT};
use crate::reconstruct::tcp::tables::{SampleRow, StateRow};
use crate::reconstruct::timers::TimerEvent;

/// The FIN is acknowledged.
const FIN_ACKED: [i32; 2] = [FIN_WAIT2, TIME_WAIT];
/// Longest control segment (SACK blocks) where nothing tells clones from other packets, bytes with headers.
const CONTROL: u32 = 114;

/// What belongs to one socket, each in order of the merged sequence.
#[derive(Debug, Default)]
pub(super) struct Of<'f> {
    pub(super) packets: Vec<u32>,
    /// (position in the merged sequence, sample).
    pub(super) probes: Vec<(u32, &'f SampleRow)>,
    pub(super) appends: Vec<Append>,
    pub(super) timers: Vec<TimerEvent>,
    /// Waits for room outside of send calls: begin, wake.
    pub(super) rooms: Vec<(i64, i64)>,
    pub(super) states: Vec<&'f StateRow>,
}

/// What all flows share.
pub(super) struct Shared<'f> {
    pub(super) identity: &'f Identity,
    pub(super) packets: &'f [Packet],
    /// Header size of most sockets, for one that has no window of its own.
    pub(super) header: Option<u32>,
    /// Times in which events were lost.
    pub(super) lost: &'f Lost,
    /// Lives that were dropped after this host, or a namespace of it, had received them.
    pub(super) came_in: &'f FxHashSet<SkbId>,
}

/// Lives that were dropped after they were received: what a router of this recording drops had left its socket.
pub(super) fn came_in(identity: &Identity) -> FxHashSet<SkbId> {
    let dropped = |skb: &SkbId| identity.life(*skb).is_some_and(|l| l.death_kind == DeathKind::Dropped);
    let received = identity.hops.iter().filter(|h| h.kind == "rx").map(|h| h.skb_id);
    received.filter(dropped).collect()
}

/// A segment: the first transmission of its bytes.
#[derive(Debug, Clone)]
pub(super) struct Segment {
    pub(super) packet: u32,
    /// Offsets of its bytes.
    pub(super) start: u64,
    pub(super) end: u64,
    /// When the ACK that covered it came.
    pub(super) acked: Option<i64>,
    /// Packet of its last retransmission.
    pub(super) last_rtx: Option<u32>,
    pub(super) rtx: u16,
    /// Bytes of it that lie in originals whose address is not known (it was fragmented to be sent again).
    fragments: u64,
    pub(super) link: Confidence,
    /// Dropped at once in this host: its bytes were sent again as new ones.
    pub(super) void: bool,
    /// Its window's payloads are no more than what `snd_nxt` advanced by: none of its bytes seems to lie behind where it does.
    pub(super) fits: bool,
    /// Which run of windows in which nothing was lacking, of frames or events, it belongs to.
    pub(super) epoch: u32,
}

/// A socket's send side.
#[derive(Debug, Default)]
pub(super) struct Flow {
    pub(super) segments: Vec<Segment>,
    /// Packets without new payload, as far as is known.
    pub(super) control: Vec<u32>,
    pub(super) header: Option<u32>,
    /// The socket was seen to be born: its first byte is the first.
    pub(super) born: bool,
    /// The last of these runs.
    pub(super) epochs: u32,
}

pub(super) fn carries_data(p: &Packet, header: Option<u32>) -> bool {
    if p.retransmit.is_some() || p.failed {
        return false;
    }
    // A send call sends payload; what arrives makes ACKs too.
    let data = match p.class {
        SkbClass::TxClone => true,
        SkbClass::TxOther => false,
        _ => p.cause == Cause::Call || p.len > CONTROL,
    };
    data && header.is_none_or(|h| p.len > h)
}

/// Whether a TCP packet surely has no payload. What carries bytes of the stream, SYN or FIN is sent as a clone; other packets
/// are short, or copies for a retransmission.
pub(super) fn bare(p: &Packet, clones: bool) -> bool {
    clones && p.class != SkbClass::TxClone && p.len <= CONTROL
}

/// When the handshake was over; `None` when it was not seen.
pub(super) fn established(of: &Of<'_>) -> Option<i64> {
    let is = |s: &&&StateRow| s.kind == "sock" && s.state == ESTABLISHED;
    of.states.iter().find(is).map(|s| s.time_ns)
}

impl Shared<'_> {
    /// When a life was dropped.
    fn dropped(&self, skb: SkbId) -> Option<i64> {
        let life = self.identity.life(skb);
        life.filter(|l| l.death_kind == DeathKind::Dropped)?.death_ns
    }
    /// Events were lost in between.
    pub(super) fn lost(&self, from: i64, to: i64) -> bool {
        self.lost.within(from, to)
    }
}

pub(super) struct Builder<'s, 'f> {
    pub(super) shared: &'s Shared<'f>,
    pub(super) flow: Flow,
    /// Bytes sent.
    pub(super) sent: u64,
    /// `sent` and `snd_nxt` at the last probe.
    pub(super) anchor: Option<(u64, u32)>,
    /// First segment since the last probe.
    pub(super) window: usize,
    /// First segment not acknowledged.
    unacked: usize,
    /// Last probe: time, acknowledged offset.
    pub(super) probed: Option<(i64, i64)>,
    by_original: FxHashMap<SkbId, usize>,
    /// Retransmissions: packet, and the segment of its original, when that was sent as one.
    again: Vec<(u32, Option<usize>)>,
}

/// Builds it.
pub(super) fn build(of: &Of<'_>, shared: &Shared<'_>, header: Option<u32>) -> Flow {
    let established = established(of);
    let mut b = Builder {
        shared,
        flow: Flow {
            header,
            born: established.is_some(),
            ..Flow::default()
        },
        sent: 0,
        anchor: first_byte(of, established, shared).map(|una| (0, una)),
        window: 0,
        unacked: 0,
        probed: None,
        by_original: FxHashMap::default(),
        again: vec![],
    };
    let mut probes = of.probes.iter().peekable();
    for at in &of.packets {
        let Some(p) = shared.packets.get(*at as usize) else {
            continue;
        };
        while let Some((_, s)) = probes.next_if(|(i, _)| *i < p.index) {
            b.probe(s);
        }
        let handshake = established.is_some_and(|t| p.ts <= t);
        if p.failed {
            continue;
        }
        match (p.retransmit, header) {
            (Some(_), _) => {
                let of = p.original.and_then(|o| b.by_original.get(&o).copied());
                b.again.push((*at, of));
            }
            (None, Some(h)) if !handshake && carries_data(p, header) => b.segment(*at, p, p.len - h),
            _ => b.flow.control.push(*at),
        }
    }
    for (_, s) in probes {
        b.probe(s);
    }
    b.finish(of)
}

impl Builder<'_, '_> {
    fn segment(&mut self, at: u32, p: &Packet, payload: u32) {
        let start = self.sent;
        self.sent += u64::from(payload);
        if let Some(o) = p.original {
            self.by_original.insert(o, self.flow.segments.len());
        }
        self.flow.segments.push(Segment {
            packet: at,
            start,
            end: self.sent,
            acked: None,
            last_rtx: None,
            rtx: 0,
            fragments: 0,
            link: p.link,
            void: false,
            fits: true,
            epoch: self.flow.epochs,
        });
    }

    fn probe(&mut self, s: &SampleRow) {
        self.close_window(s);
        let una = self.sent as i64 - i64::from(s.snd_nxt.wrapping_sub(s.snd_una));
        // Where events were lost in between, a probe that is not there may have done it.
        let before = self.probed.filter(|(t, _)| !self.shared.lost(*t, s.time_ns));
        while let Some(seg) = self.flow.segments.get_mut(self.unacked).filter(|g| g.end as i64 <= una) {
            self.unacked += 1;
            if seg.void {
                continue;
            }
            let queued = self.shared.packets.get(seg.packet as usize).map_or(i64::MIN, |p| p.ts);
            // What this probe shows was done by the segment of the one before.
            match before.filter(|(t, was)| *t >= queued && *was < seg.end as i64) {
                Some((t, _)) => seg.acked = Some(t),
                None => {
                    seg.acked = Some(s.time_ns);
                    seg.link = seg.link.min(Confidence::Weak);
                }
            }
        }
        self.probed = Some((s.time_ns, una));
    }

    /// Which segment each retransmission was of, now that it is known what was acknowledged when.
    fn retransmissions(&mut self) {
        let packets = self.shared.packets;
        let mut oldest = 0;
        let mut cut: VecDeque<usize> = VecDeque::new();
        for (at, known) in std::mem::take(&mut self.again) {
            let Some(p) = packets.get(at as usize) else { continue };
            let segments = &self.flow.segments;
            let open = |s: &Segment| !s.void && s.acked.is_none_or(|t| t >= p.ts);
            while segments.get(oldest).is_some_and(|s| !open(s)) {
                oldest += 1;
            }
            let is = |s: &usize| segments.get(*s).is_some_and(open);
            let (of, link) = match known.filter(is) {
                Some(s) => (s, Confidence::Certain),
                // An original with an address of its own: the tail of a segment that was cut to be sent again, or of the
                // oldest, or (a tail loss probe) of the last.
                None => (cut.iter().copied().find(is).unwrap_or(oldest), Confidence::Weak),
            };
            let payload = self.flow.header.map_or(0, |h| u64::from(p.len.saturating_sub(h)));
            let Some(segment) = self
                .flow
                .segments
                .get_mut(of)
                .filter(|s| packets.get(s.packet as usize).is_some_and(|first| first.ts <= p.ts))
            else {
                continue;
            };
            segment.rtx = segment.rtx.saturating_add(1);
            // One that the ACK overtook in this host (a probe, a timer that was wrong) repaired nothing: it was handed to a driver, or dropped, after it.
            let left = p.started.or_else(|| self.shared.dropped(p.skb));
            let overtaken = segment.acked.is_some_and(|t| left.is_some_and(|s| s > t));
            if !overtaken {
                segment.last_rtx = Some(at);
            }
            segment.link = segment.link.min(link);
            let whole = segment.end - segment.start;
            if link == Confidence::Certain && segment.fragments == 0 && payload < whole {
                segment.fragments = whole - payload;
                cut.push_back(of);
            } else if link == Confidence::Weak && segment.fragments > 0 {
                segment.fragments = segment.fragments.saturating_sub(payload);
                if segment.fragments == 0 {
                    // It is near the front: looked for from there.
                    if let Some(i) = cut.iter().position(|x| *x == of) {
                        cut.remove(i);
                    }
                }
            }
            while cut.front().is_some_and(|s| *s < oldest) {
                cut.pop_front();
            }
        }
    }

    /// What the last probe did is not shown by a next one.
    fn finish(mut self, of: &Of<'_>) -> Flow {
        self.retransmissions();
        let left = self.flow.segments.len().saturating_sub(self.unacked);
        let last = self.probed.map(|p| p.0);
        let closed = of
            .states
            .iter()
            .find(|s| s.kind == "sock" && FIN_ACKED.contains(&s.state));
        let closed = closed.map(|s| s.time_ns);
        let packets = self.shared.packets;
        for seg in self.flow.segments.iter_mut().skip(self.unacked).filter(|s| !s.void) {
            let queued = seg.last_rtx.unwrap_or(seg.packet);
            let queued = packets.get(queued as usize).map_or(i64::MAX, |p| p.ts);
            // One segment was out, and the peer spoke after it; or its FIN was acknowledged.
            let by_last = last.filter(|t| left == 1 && *t >= queued);
            if let Some(t) = by_last.or(closed.filter(|t| *t >= queued)) {
                seg.acked = Some(t);
                seg.link = seg.link.min(Confidence::Weak);
            }
        }
        self.flow
    }
}
