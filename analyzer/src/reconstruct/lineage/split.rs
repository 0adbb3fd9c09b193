//! Segmentation in software: packets cut by GSO right before the driver, or by a queueing discipline as they enter it.
//! Segments come out in the order of their packets, so a packet's are the next ones until its payload is made up.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use super::cut::{Cut, MOST_HEADERS, Verdict};
use super::queueing::Queueing;
use super::queues::{Queue, Queues};
use super::tables::{Conserved, LineageKind, LineageRow, Rule};
use super::unit::{Unit, UnitKind};
use super::why::Why;
use crate::confidence::Confidence;
use crate::facts::SkbId;
use crate::name::Name;

/// Packets cut whose segments have not all been sent, per queue: more were lost.
const CUT: usize = 4096;
/// Queues that have cut packets up, of which some are waited for: of more nothing is known.
const WAYS: usize = 1024;

/// Where segments come out in order: the CPU that cut them (GSO), or the queue whose discipline did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Way {
    /// Device and queue; of GSO the device alone.
    pub queue: Queue,
    /// CPU, for GSO.
    pub cpu: Option<u16>,
}

impl Way {
    /// Of what a queueing discipline cuts.
    pub(super) fn of(queue: Queue) -> Way {
        Way { queue, cpu: None }
    }
    /// Of what GSO cuts.
    pub(super) fn gso(dev: Name, cpu: u16) -> Way {
        let queue = Queue::unnamed(dev);
        Way { queue, cpu: Some(cpu) }
    }
}

/// A segment handed to a driver.
#[derive(Debug, Clone, Copy)]
pub struct Segment {
    /// Life.
    pub skb: SkbId,
    /// When, where.
    pub ts: i64,
    /// CPU.
    pub cpu: u16,
    /// Device, and the queue it comes out of.
    pub queue: Queue,
    /// Bytes with link header.
    pub len: u32,
    /// Offset of the transport header, with link header.
    pub transport: Option<u32>,
}

/// The machine of all devices.
#[derive(Debug, Default)]
pub struct Splits {
    pub(super) ways: FxHashMap<Way, VecDeque<Cut>>,
    /// Headers of segments of a queue, as whole packets showed.
    pub(super) headers: FxHashMap<Queue, u32>,
    /// Queues that are known to hold no segment of a packet that was not seen, as they may where the recording begins or events were lost;
    /// of others order says nothing.
    pub(super) aligned: FxHashSet<Queue>,
    /// When each queue last cut a packet up.
    pub(super) last_cut: FxHashMap<Queue, i64>,
    /// Names that several devices with a queue have.
    pub(super) several: FxHashSet<Name>,
    /// Which queue frames come out of.
    pub(super) queues: Queues,
    /// What was queued last on each CPU, and how many units were closed before.
    pub(super) last: Vec<(Queueing, usize)>,
    /// Devices whose queue was seen to drop what it had taken.
    pub(super) inside: FxHashSet<Name>,
    /// Of devices whose queue dropped segments that were taken for refused ones: how many units were closed before the first.
    pub(super) assumed: FxHashMap<Name, usize>,
    /// Of which units it is not known whose segments their queue dropped: device, and positions from the first up to the last, which is none.
    pub(super) untold: Vec<(Name, usize, usize)>,
    /// Packets that a device's queue cut: position among the units, and the device.
    pub(super) of_queue: Vec<(usize, Name)>,
    pub(super) lens: Vec<u32>,
    pub(super) rows: Vec<LineageRow>,
    pub(super) units: Vec<Unit>,
}

impl Splits {
    /// Events were lost.
    pub fn forget(&mut self) {
        for cpu in 0..self.queues.cpus() {
            self.settle(cpu);
        }
        self.queues.forget();
        self.last.clear();
        self.aligned.clear();
        self.last_cut.clear();
        self.give_up();
    }

    /// What is waited for everywhere is not waited for any more.
    fn give_up(&mut self) {
        for (way, cuts) in std::mem::take(&mut self.ways) {
            for cut in cuts {
                self.close(way, cut, None);
            }
        }
    }

    /// A packet was freed by what cut it.
    pub fn cut(&mut self, (ts, cpu): (i64, u16), parent: SkbId, way: Way, (len, gso_size): (u32, u16)) {
        let in_qdisc = way.cpu.is_none();
        let cut = Cut {
            parent,
            len,
            gso_size,
            dropped: 0,
            edges: Vec::new(),
            first: 0,
            sum: 0,
            transport: None,
        };
        if in_qdisc {
            self.last_cut.insert(way.queue, ts);
        }
        // Each frame is asked of all of them.
        if self.ways.len() >= WAYS && !self.ways.contains_key(&way) {
            self.ways.retain(|_, of| !of.is_empty());
            if self.ways.len() >= WAYS {
                self.aligned.clear();
                self.give_up();
            }
        }
        if self.aligned.len() >= WAYS {
            self.aligned.clear();
        }
        let of = self.ways.entry(way).or_default();
        of.push_back(cut);
        let lost = if of.len() > CUT { of.pop_front() } else { None };
        if let Some(lost) = lost {
            self.close(way, lost, None);
        }
        let queueing = match in_qdisc {
            true => Queueing::Cut(way, parent),
            false => Queueing::Nothing,
        };
        self.is_at(cpu, queueing);
    }

    /// A frame may have been a segment and was not counted, or was one of a packet that was not seen: more of it may follow.
    pub fn unalign(&mut self, queue: Queue) {
        self.aligned.retain(|of| !of.may_be(queue));
    }

    /// Whether segments of packets that a queue cut up are waited for.
    pub fn waits(&self, queue: Queue) -> bool {
        let of = |w: &Way| w.cpu.is_none() && w.queue.may_be(queue);
        self.ways.iter().any(|(w, cuts)| of(w) && !cuts.is_empty())
    }

    /// Whether segments that a CPU cut up itself are waited for.
    pub fn cuts(&self, dev: Name, cpu: u16) -> bool {
        self.open(&Way::gso(dev, cpu))
    }

    /// Headers of segments of a queue, as far as they are known.
    pub(super) fn known_headers(&self, queue: Queue) -> Option<u32> {
        self.headers.get(&queue).copied()
    }

    /// A packet that was queued at `since`, and not cut, was handed to the driver: what was queued before it has left, and where nothing was cut
    /// since and nothing is waited for, nothing is ahead of the next.
    pub fn passed(&mut self, queue: Queue, since: i64) {
        let of = [queue, Queue::unnamed(queue.dev)];
        let waited = of.iter().any(|of| self.open(&Way::of(*of)));
        if !waited && of.iter().all(|of| self.last_cut.get(of).is_none_or(|cut| *cut < since)) {
            self.aligned.insert(queue);
        }
    }

    /// A frame that no event queued was handed to the driver.
    pub fn segment(&mut self, s: Segment) {
        let Some((way, rule)) = self.way_of(s) else {
            // Of a packet that was queued before the recording, or while events were lost.
            self.unalign(s.queue);
            return;
        };
        // Packets that the queue took nothing of, and those whose segments have all come, are not this one's.
        let mut again = true;
        while std::mem::take(&mut again) {
            let known = self.headers.get(&way.queue).copied();
            let Some(of) = self.ways.get_mut(&way) else { return };
            let Some(cut) = of.front_mut() else { return };
            let n = cut.edges.len() as u64;
            if n == 0 {
                (cut.first, cut.transport) = (s.len, s.transport);
            }
            let known = cut.headers(known);
            // All segments but the last are of one length.
            let foreign = n > 0 && s.len > cut.first;
            // Where nothing tells the headers, still with the largest there are.
            let most = known.unwrap_or(MOST_HEADERS);
            let over = n > 0 && cut.sum + u64::from(s.len) > u64::from(cut.len) + n * u64::from(most);
            let over = over && (way.cpu.is_some() || !cut.whole_with(s.len));
            let nothing_left = cut.dropped > 0 && known.is_some_and(|h| cut.all_dropped(s.len, h));
            if foreign || over || nothing_left {
                if let Some(cut) = of.pop_front() {
                    let headers = self.afterwards(way, &cut, known);
                    self.close(way, cut, headers);
                }
                again = true;
                continue;
            }
            cut.edges.push(self.rows.len() as u32);
            cut.sum += u64::from(s.len);
            let parent = cut.parent;
            let short = s.len < cut.first;
            let verdict = match way.cpu.is_none() && !short {
                true => cut.verdict_so_far(known),
                false => cut.verdict(known),
            };
            let whole = match verdict {
                Verdict::Whole(h) => Some(h),
                Verdict::More => None,
            };
            self.lens.push(s.len);
            self.rows.push(LineageRow {
                ts_ns: s.ts,
                parent,
                child: s.skb,
                kind: match way.cpu {
                    None => LineageKind::QdiscSegment,
                    Some(_) => LineageKind::Gso,
                },
                rule,
                bytes: None,
                conserved: Conserved::Unknown,
                why: Why::default(),
                confidence: Confidence::Strong,
            });
            let full = whole.is_some() || short || self.complete_but_dropped(way, known);
            if full && let Some(cut) = self.ways.get_mut(&way).and_then(VecDeque::pop_front) {
                if let (Some(h), true) = (whole, cut.edges.len() > 1) {
                    // The short one is where it is due: so many segments there were, and no other headers fit.
                    if short {
                        self.headers.insert(way.queue, h);
                        self.aligned.insert(way.queue);
                    } else {
                        self.headers.entry(way.queue).or_insert(h);
                    }
                }
                self.close(way, cut, whole.or(known));
            }
        }
    }

    /// Headers of the segments of a packet that the next segment is none of: if none was refused, such that they make it up.
    fn afterwards(&mut self, way: Way, cut: &Cut, known: Option<u32>) -> Option<u32> {
        match cut.verdict(known) {
            Verdict::Whole(h) if cut.dropped == 0 && cut.edges.len() > 1 => {
                self.headers.entry(way.queue).or_insert(h);
                Some(h)
            }
            _ => known,
        }
    }

    fn open(&self, way: &Way) -> bool {
        self.ways.get(way).is_some_and(|of| !of.is_empty())
    }

    /// The queue whose next segment it is.
    fn way_of(&self, s: Segment) -> Option<(Way, Rule)> {
        // A packet of which no event told what queue cut it is of any of its device.
        let own = [
            Way::gso(s.queue.dev, s.cpu),
            Way::of(s.queue),
            Way::of(Queue::unnamed(s.queue.dev)),
        ];
        if let Some(way) = own.into_iter().find(|w| self.open(w)) {
            return Some((way, Rule::SegmentOrder));
        }
        let of = |w: &&Way| w.cpu.is_some() && w.queue.dev == s.queue.dev && self.open(w);
        let other = self.ways.keys().filter(of).min_by_key(|w| w.cpu);
        other.map(|w| (*w, Rule::SegmentOtherCpu))
    }

    /// What did not fit makes up the rest: a full queue takes none of the segments after the first it refused.
    fn complete_but_dropped(&self, way: Way, known: Option<u32>) -> bool {
        let cut = self.ways.get(&way).and_then(VecDeque::front);
        let known = cut.and_then(|c| c.headers(known));
        cut.zip(known).is_some_and(|(c, h)| c.dropped > 0 && c.explained(h))
    }

    pub(super) fn close(&mut self, way: Way, cut: Cut, headers: Option<u32>) {
        let n = cut.edges.len() as u64;
        let payload = headers.map(|h| u64::from(cut.len.saturating_sub(h)));
        let found = headers.and_then(|h| cut.sum.checked_sub(n * u64::from(h)));
        let missing = payload.zip(found).and_then(|(p, f)| p.checked_sub(f));
        let refused = headers.is_some_and(|h| cut.dropped > 0 && (cut.explained(h) || n == 0));
        let (conserved, why) = match (headers, missing) {
            _ if way.cpu.is_none() && self.of_any(way.queue) => (Conserved::Unknown, self.unordered(way.queue)),
            (None, _) => (Conserved::Unknown, Why::default()),
            // They may be another packet's.
            _ if way.cpu.is_none() && !self.aligned.contains(&way.queue) => {
                (Conserved::Unknown, self.unordered(way.queue))
            }
            (_, Some(0)) => (Conserved::Yes, Why::default()),
            (_, Some(_)) if refused => (Conserved::Yes, Why::default()),
            _ => (Conserved::No, Why::default()),
        };
        if way.cpu.is_none() {
            self.of_queue.push((self.units.len(), way.queue.dev));
        }
        for i in &cut.edges {
            if let (Some(row), Some(len)) = (self.rows.get_mut(*i as usize), self.lens.get(*i as usize)) {
                row.bytes = headers.and_then(|h| len.checked_sub(h));
                (row.conserved, row.why) = (conserved, why);
                row.confidence = match (conserved, row.rule) {
                    (Conserved::Yes, Rule::SegmentOrder) if cut.dropped == 0 && row.kind == LineageKind::Gso => {
                        Confidence::Certain
                    }
                    (Conserved::Yes, _) => Confidence::Strong,
                    (Conserved::Unknown | Conserved::No, _) => Confidence::Weak,
                };
            }
        }
        self.units.push(Unit {
            kind: UnitKind::GsoChildren,
            skb: cut.parent,
            connection: None,
            edges: n as u32,
            // What the queue refused was never sent.
            expected: match (refused, payload, found) {
                (true, _, Some(f)) => f,
                (_, Some(p), _) => p,
                _ => 0,
            },
            found: found.unwrap_or(0),
            conserved,
            why,
        });
    }

    /// Edges with their bytes, and the packets cut. Those whose segments had not all come when the recording ended are
    /// open, not broken.
    pub fn finish(mut self) -> (Vec<LineageRow>, Vec<Unit>) {
        self.forget();
        self.doubt();
        (self.rows, self.units)
    }
}
