//! First frames of originals, of all sockets: those between two probes of one were all of that socket if they add up to what it sent.

use std::collections::VecDeque;

use super::fclone::context;
use crate::ingest::Event;
use crate::name::Name;

/// What is in front of the payload of a segment without SACK blocks: IPv4 or IPv6, with or without timestamps, on a device
/// without a link header, with Ethernet's, and with a VLAN tag.
const SIZES: [u64; 12] = [40, 52, 60, 72, 54, 66, 74, 86, 58, 70, 78, 90];
/// Frames kept at most.
const FRAMES: usize = 4096;
/// Hops of one frame through this host, among those queued meanwhile.
const HOPS: usize = 16;

/// The first frame of an original.
#[derive(Debug, Clone, Copy)]
struct Frame {
    ts: i64,
    addr: u64,
    len: u32,
    dev: Name,
    /// Who offers it to a queue that has not taken it yet.
    by: Option<i64>,
    /// A queue refused it: TCP may count it as not sent (`refused`).
    refused: bool,
}

/// Frames by time.
#[derive(Debug, Default)]
pub(super) struct Flight(VecDeque<Frame>);

impl Flight {
    /// A frame above an original is queued that is not sent again.
    pub fn first(&mut self, e: &Event<'_>, addr: u64, len: u32, dev: Name) {
        // Sent on by a bridge, the same frame is queued again, on another device.
        let mut recent = self.0.iter().rev().take(HOPS);
        let last = recent.find(|f| f.addr == addr);
        if last.is_some_and(|f| f.len == len && f.dev != dev) {
            return;
        }
        let by = Some(context(e));
        self.answered(e);
        if self.0.len() >= FRAMES {
            self.0.pop_front();
        }
        self.0.push_back(Frame {
            ts: e.ts,
            addr,
            len,
            dev,
            by,
            refused: false,
        });
    }

    /// Another frame is queued: what the same one offered before is answered.
    pub fn answered(&mut self, e: &Event<'_>) {
        let by = Some(context(e));
        if let Some(f) = self.0.iter_mut().rev().take(HOPS).find(|f| f.by == by) {
            f.by = None;
        }
    }

    fn last(&mut self, addr: u64) -> Option<&mut Frame> {
        self.0.iter_mut().rev().take(HOPS).find(|f| f.addr == addr)
    }
    /// A queue took it: what is dropped of it later is sent to TCP.
    pub fn taken(&mut self, addr: u64) {
        if let Some(f) = self.last(addr) {
            f.by = None;
        }
    }
    /// A frame is dropped.
    pub fn dropped(&mut self, e: &Event<'_>, addr: u64) {
        let by = context(e);
        if let Some(f) = self.last(addr) {
            f.refused |= f.by == Some(by);
        }
    }

    /// The first frame between two times with bytes that are not acknowledged, when `part` bytes are of those that the frames
    /// brought: all of them were this socket's if they add up to `bytes`, with headers of one size.
    pub fn cut(&self, (from, to): (i64, i64), bytes: u32, part: u32) -> Option<i64> {
        // Those before the oldest may not be known.
        self.0.front().filter(|f| f.ts <= from)?;
        let at = self.0.partition_point(|f| f.ts <= from);
        let window = || self.0.range(at..).take_while(|f| f.ts < to);
        // With what was refused, or without.
        let whole = first_of(&window, bytes, part);
        whole.or_else(|| first_of(&|| window().filter(|f| !f.refused), bytes, part))
    }
}

/// The same of these frames.
fn first_of<'f, I: Iterator<Item = &'f Frame>>(of: &impl Fn() -> I, bytes: u32, part: u32) -> Option<i64> {
    let (n, all) = of().fold((0u64, 0u64), |(n, all), f| (n + 1, all + u64::from(f.len)));
    let headers = all.checked_sub(bytes.into())?;
    let each = headers
        .checked_div(n)
        .filter(|h| h * n == headers && SIZES.contains(h))?;
    let each = u32::try_from(each).ok()?;
    let mut end = 0u32;
    let first = of().find(|f| {
        end = end.saturating_add(f.len.saturating_sub(each));
        end > part
    });
    first.map(|f| f.ts)
}
