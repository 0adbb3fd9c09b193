//! One capture, decoded and merged: the sequence that trackers read.

use std::borrow::Cow;
use std::sync::atomic::AtomicU64;

use rayon::prelude::*;

use netmortem_formats::Capture;
use netmortem_formats::tracepoints::common;

use super::Options;
use super::check::{self, Reading};
use super::clock::TraceClock;
use super::decode::{Keep, Rec, decode, fill};
use super::info::{CaptureInfo, GapRow};
use super::merge::{Merged, merge};
use super::schema::Schema;

/// Events that are looked up together.
const AT_ONCE: usize = 64;

/// A merged capture. Borrows the file's bytes; decoded blocks live as long as it.
#[derive(Debug)]
pub struct Trace<'c> {
    /// Event formats.
    pub schema: Schema<'c>,
    /// All records of the used streams, in order.
    pub recs: Merged,
    blocks: Vec<Cow<'c, [u8]>>,
    /// Intervals of used streams whose events are missing, by time.
    pub gaps: Vec<GapRow>,
    /// What `check` says of the capture.
    pub info: CaptureInfo,
    /// Records out of order inside their CPU.
    pub inversions: u64,
    /// Payloads shorter than their format says, once for each tracker that asked.
    pub short_payloads: AtomicU64,
}

/// One event as trackers see it.
#[derive(Debug, Clone, Copy)]
pub struct Event<'t> {
    /// ns on the trace clock.
    pub ts: i64,
    /// Position in the merged sequence; `u32::MAX` in a walk of one CPU alone.
    pub index: u32,
    /// CPU.
    pub cpu: u16,
    /// Event id.
    pub kind: u16,
    /// `common_flags`, 0 when not recorded.
    pub flags: u8,
    /// `common_pid`: the running or interrupted thread; -1 when not recorded.
    pub pid: i32,
    /// The payload.
    pub payload: &'t [u8],
}

impl Event<'_> {
    /// Whether it fired inside a running softirq and not inside a hard interrupt or NMI.
    #[inline]
    pub fn in_softirq(&self) -> bool {
        self.flags & 0x10 != 0 && self.flags & 0x48 == 0
    }
    /// Whether it fired inside a hard interrupt.
    #[inline]
    pub fn in_hardirq(&self) -> bool {
        self.flags & 0x08 != 0
    }
    /// Whether it fired in plain task context.
    #[inline]
    pub fn in_task(&self) -> bool {
        self.flags & 0x58 == 0
    }
}

impl<'c> Trace<'c> {
    /// Decodes and merges.
    pub fn read(capture: &'c Capture, options: &Options<'_>) -> Trace<'c> {
        let clock = TraceClock::of(capture);
        let schema = Schema::new(capture);
        let mut decoded = decode(capture, &clock, Keep::Bytes, options.progress);
        let Reading { info, gaps, inversions } = check::read(capture, &schema, &clock, &decoded);
        let mut blocks = Vec::new();
        let mut jobs = Vec::new();
        let mut ends = Vec::new();
        let mut total = 0usize;
        for ((of, stream), chunks) in info.streams.iter().zip(&capture.streams).zip(&mut decoded) {
            for (c, chunk) in chunks.iter_mut().zip(&stream.chunks) {
                let events = usize::try_from(c.events).unwrap_or(usize::MAX);
                if of.used {
                    jobs.push((stream, chunk, blocks.len() as u32, events));
                    total = total.saturating_add(events);
                }
                // A place for every chunk, since records name blocks by number; what nothing will read is freed here.
                let bytes = std::mem::take(&mut c.bytes);
                blocks.push(if of.used { bytes } else { Cow::default() });
            }
            ends.push(total);
        }
        drop(decoded);
        // By all threads: it is they that wait for the memory.
        let mut records: Vec<Rec> = rayon::iter::repeat_n(Rec::default(), total).collect();
        let mut rest = records.as_mut_slice();
        let mut places = Vec::with_capacity(jobs.len());
        for job in jobs {
            let (here, after) = rest.split_at_mut(job.3.min(rest.len()));
            places.push((job, here));
            rest = after;
        }
        places.into_par_iter().for_each(|((stream, chunk, block, _), out)| {
            let bytes = blocks.get(block as usize).map_or(&[][..], |b| b);
            fill(stream, chunk, bytes, block, &clock, out);
        });
        let starts = std::iter::once(0).chain(ends.iter().copied());
        for ((stream, from), to) in capture.streams.iter().zip(starts).zip(ends.iter().copied()) {
            if let Some(of_perf) = records.get_mut(from..to).filter(|_| stream.perf.is_some()) {
                of_perf.sort_by_key(|r| r.ts);
            }
        }
        let recs = merge(records, &ends);
        Trace {
            schema,
            recs,
            blocks,
            gaps,
            info,
            inversions,
            short_payloads: AtomicU64::new(0),
        }
    }
    /// The payload of a record.
    #[inline]
    pub fn payload(&self, r: &Rec) -> &[u8] {
        let (at, len) = (r.offset as usize, r.len as usize);
        self.blocks
            .get(r.block as usize)
            .and_then(|b| b.get(at..)?.get(..len))
            .unwrap_or(&[])
    }
    /// The event at a position.
    #[inline]
    pub fn event(&self, index: usize) -> Option<Event<'_>> {
        let r = self.recs.get(index)?;
        Some(self.event_of(r, index as u32))
    }
    #[inline]
    fn event_of(&self, r: &Rec, index: u32) -> Event<'_> {
        let payload = self.payload(r);
        let common: Option<common::Common> = self.schema.common.as_ref().and_then(|c| c.read(payload));
        Event {
            ts: r.ts,
            index,
            cpu: r.cpu,
            kind: r.kind,
            flags: common.and_then(|c| c.flags).unwrap_or(0),
            pid: common.and_then(|c| c.pid).unwrap_or(-1),
            payload,
        }
    }
    /// The records of one CPU in order.
    pub fn of_cpu(&self, cpu: u16) -> impl Iterator<Item = &Rec> {
        let mut parts: Vec<std::iter::Peekable<std::slice::Iter<'_, Rec>>> =
            self.recs.of_cpu(cpu).map(|s| s.iter().peekable()).collect();
        std::iter::from_fn(move || {
            // Almost always one; with several, the oldest next record, the first stream's where they are equal.
            let heads = parts.iter_mut().enumerate();
            let (_, i) = heads.filter_map(|(i, p)| Some((p.peek()?.ts, i))).min()?;
            parts.get_mut(i)?.next()
        })
    }
    /// A record of a walk of one CPU as trackers see it.
    #[inline]
    pub fn alone(&self, r: &Rec) -> Event<'_> {
        self.event_of(r, u32::MAX)
    }
    /// The events whose kind `wanted` says, in order.
    pub fn events<'s>(&'s self, wanted: impl Fn(u16) -> bool + 's) -> impl Iterator<Item = Event<'s>> + 's {
        let of = self.recs.only(wanted);
        of.map(|(index, r)| self.event_of(r, index))
    }
    /// Hands over the events whose kind `wanted` says, in order, some at a time: the memory of all of them is waited for at
    /// once, not of each when its turn comes.
    #[inline]
    pub fn some_at_once<'s>(&'s self, wanted: impl Fn(u16) -> bool, mut to: impl FnMut(&[Event<'s>])) {
        let mut some: Vec<Event<'s>> = Vec::with_capacity(AT_ONCE);
        for (index, r) in self.recs.only(wanted) {
            some.push(self.event_of(r, index));
            if some.len() == AT_ONCE {
                to(&some);
                some.clear();
            }
        }
        to(&some);
    }
}
