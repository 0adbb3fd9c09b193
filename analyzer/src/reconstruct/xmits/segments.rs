//! Which segment belongs to which packet: in order, by bytes. A segment that a qdisc or software GSO built is named by no
//! event before the driver gets it, so the packets that were cut wait in a FIFO until their bytes have left.

use std::collections::VecDeque;

use crate::confidence::Confidence;

/// Headers of a segment behind the network header, in the order they are tried: TCP with timestamps, TCP, UDP, TCP with
/// other options.
const HEADERS: [u32; 12] = [32, 20, 8, 24, 28, 36, 40, 44, 48, 52, 56, 60];
/// Packets whose segments are waited for, at most, per qdisc.
const WAITING: usize = 65_536;

/// A packet that was cut into segments.
#[derive(Debug, Clone)]
pub(super) struct Parent {
    /// Its pass.
    pub pass: u32,
    pub addr: u64,
    /// Its bytes with all headers.
    pub len: u32,
    /// Payload of each segment, as a driver was told before it was cut; 0: none was.
    pub gso_size: u16,
    /// When it was queued.
    pub queued: i64,
    sum: u64,
    count: u64,
    dropped: u64,
    largest: u32,
    short: bool,
    /// Passes of its segments.
    pub segments: Vec<u32>,
}

impl Parent {
    pub fn new(pass: u32, addr: u64, (len, gso_size): (u32, u16), queued: i64) -> Parent {
        Parent {
            pass,
            addr,
            len,
            gso_size,
            queued,
            sum: 0,
            count: 0,
            dropped: 0,
            largest: 0,
            short: false,
            segments: vec![],
        }
    }
    /// Segments that its payload fills, with headers of `h` bytes.
    fn total(&self, h: u32) -> Option<u64> {
        let (payload, each) = (self.len.checked_sub(h)?, self.largest.checked_sub(h)?);
        (each > 0).then(|| u64::from(payload.div_ceil(each)))
    }
    /// Whether headers of `h` bytes explain all bytes seen: payloads sum to the parent's.
    fn conserved(&self, h: u32) -> bool {
        let Some(n) = self.total(h).filter(|n| *n == self.count + self.dropped) else {
            return false;
        };
        let all = u64::from(self.len) + (n - 1) * u64::from(h);
        let Some(missing) = all.checked_sub(self.sum) else {
            return false;
        };
        let full = self.dropped * u64::from(self.largest);
        // Those dropped were all full, or the last, shorter one is among them.
        missing == full
            || (self.dropped > 0 && !self.short && missing < full && missing + u64::from(self.largest) > full)
    }
    /// Headers of its segments, whatever tunnels put around them.
    fn header(&self) -> Option<u32> {
        let gso_size = Some(u32::from(self.gso_size)).filter(|n| *n > 0)?;
        self.largest.checked_sub(gso_size)
    }
    fn add(&mut self, pass: u32, len: u32) {
        self.sum += u64::from(len);
        self.count += 1;
        self.short = len < self.largest;
        self.largest = self.largest.max(len);
        self.segments.push(pass);
    }
}

/// A parent all of whose segments were seen.
#[derive(Debug)]
pub(super) struct Closed {
    pub parent: Parent,
    /// Of the links between it and its segments.
    pub confidence: Confidence,
    /// Their bytes sum up to it.
    pub conserved: bool,
}

impl Closed {
    /// Its bytes do not sum up, or were not all seen.
    pub fn broken(parent: Parent) -> Closed {
        Closed {
            parent,
            confidence: Confidence::Weak,
            conserved: false,
        }
    }
}

/// Packets whose segments have not all left, in order.
#[derive(Debug, Default)]
pub(super) struct Segmenting {
    fifo: VecDeque<Parent>,
    /// Headers of the last that summed up.
    header: Option<u32>,
    /// It is known that no segment of an earlier packet is ahead of the first one's.
    aligned: bool,
    /// Packets left in another order than they came.
    unordered: bool,
    /// When the last packet was queued that was cut.
    last_cut: Option<i64>,
    /// Until it is known: segments were taken for a packet's that may be an earlier one's.
    guessed: bool,
}

impl Segmenting {
    pub fn is_empty(&self) -> bool {
        self.fifo.is_empty()
    }
    pub fn push(&mut self, p: Parent) {
        if self.fifo.len() >= WAITING {
            self.forget();
        }
        self.last_cut = Some(p.queued);
        self.fifo.push_back(p);
    }
    pub fn push_front(&mut self, p: Parent) {
        self.fifo.push_front(p);
    }
    /// Takes back the last one, when it has that address.
    pub fn take_last(&mut self, addr: u64) -> Option<Parent> {
        if self.fifo.back().is_some_and(|p| p.addr == addr) {
            return self.fifo.pop_back();
        }
        None
    }
    pub fn drain(&mut self) -> impl Iterator<Item = Parent> {
        std::mem::take(&mut self.fifo).into_iter()
    }
    /// The next segment's parent: its pass, and the parent itself when this was the last one.
    pub fn segment(&mut self, pass: u32, len: u32, network: u32) -> Option<(u32, Option<Closed>)> {
        let p = self.fifo.front_mut()?;
        self.guessed |= !self.aligned;
        p.add(pass, len);
        let of = p.pass;
        let guess = p.header().or(self.header).unwrap_or(network + HEADERS[0]);
        let whole = p.total(guess).is_some_and(|n| p.count + p.dropped >= n) || p.short;
        if !whole {
            return Some((of, None));
        }
        let known = std::iter::once(guess).chain(HEADERS.iter().map(|h| network + h));
        let header = known.into_iter().find(|h| p.conserved(*h));
        self.header = header.or(self.header);
        // A short segment where one is due: nothing is shifted.
        self.aligned = header.is_some() && (self.aligned || p.short);
        self.guessed &= !self.aligned;
        let confidence = self.sure();
        let parent = self.fifo.pop_front()?;
        let closed = Closed {
            parent,
            confidence,
            conserved: header.is_some(),
        };
        Some((of, Some(closed)))
    }
    /// A segment of the last one that came was dropped.
    pub fn dropped(&mut self, pass: u32) -> bool {
        let Some(p) = self.fifo.iter_mut().rev().find(|p| p.pass == pass) else {
            return false;
        };
        p.dropped += 1;
        true
    }
    /// A packet that was queued whole at `queued` left: all that were queued before it have left too, if the order is kept.
    pub fn whole(&mut self, queued: i64, last_whole: i64) -> Vec<Closed> {
        if queued < last_whole {
            self.unordered = true;
        }
        let mut out = vec![];
        while !self.unordered && self.fifo.front().is_some_and(|p| p.queued < queued) {
            if let Some(parent) = self.fifo.pop_front() {
                out.push(Closed::broken(parent));
            }
        }
        // Where segments were taken for a packet's on a guess, more may be owed to it than is waited for: unless all that was cut has left.
        let drained = self.fifo.is_empty() && self.last_cut.is_none_or(|cut| cut < queued);
        if !self.unordered && (!self.guessed || drained) {
            (self.aligned, self.guessed) = (true, false);
        }
        out
    }
    /// Of a link to the first one, before its bytes decide.
    pub fn sure(&self) -> Confidence {
        match self.aligned && !self.unordered {
            true => Confidence::Strong,
            false => Confidence::Weak,
        }
    }
    /// Events were lost.
    pub fn forget(&mut self) {
        self.fifo.clear();
        (self.aligned, self.guessed, self.last_cut) = (false, false, None);
    }
}
