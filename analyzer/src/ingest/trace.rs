//! One capture, decoded and merged: the sequence that trackers read.

use std::sync::atomic::AtomicU64;

use rayon::prelude::*;

use netmortem_formats::Capture;
use netmortem_formats::tracepoints::common;

use super::Options;
use super::check::{self, Reading};
use super::clock::TraceClock;
use super::decode::{Keep, Rec, decode, fill};
use super::info::{CaptureInfo, GapRow};
use super::merge::{Merged, Piece, Source, merge};
use super::payloads::{Block, Payloads};
use super::schema::Schema;

/// Events that are looked up together.
const AT_ONCE: usize = 64;
/// Room made for rows in advance, at most: vectors as large as that grow without being moved.
const ROOM_BYTES: usize = 64 << 20;

/// A merged capture. Borrows the file's bytes; decoded blocks live as long as it.
#[derive(Debug)]
pub struct Trace<'c> {
    /// Event formats.
    pub schema: Schema<'c>,
    /// All records of the used streams, in order.
    pub recs: Merged,
    payloads: Payloads<'c>,
    /// Which threads the records name, by place.
    pub stretches: Vec<Stretch>,
    /// Intervals of used streams whose events are missing, by time.
    pub gaps: Vec<GapRow>,
    /// What `check` says of the capture.
    pub info: CaptureInfo,
    /// Records out of order inside their CPU.
    pub inversions: u64,
    /// Payloads shorter than their format says, once for each tracker that asked.
    pub short_payloads: AtomicU64,
}

/// Records of one stream, one behind the other, that name the same thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// `common_pid`; -1 when not recorded.
    pub pid: i32,
    /// Place of the first.
    pub from: u32,
    /// Place behind the last.
    pub to: u32,
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
        let mut payloads = Payloads::default();
        let mut jobs = Vec::new();
        let mut sources: Vec<Source> = Vec::new();
        let mut total = 0usize;
        for ((of, stream), chunks) in info.streams.iter().zip(&capture.streams).zip(&mut decoded) {
            let mut source = Source {
                sorted: stream.perf.is_some(),
                ..Source::default()
            };
            for (c, chunk) in chunks.iter_mut().zip(&stream.chunks) {
                // A place for every chunk, since records name blocks by number; what nothing will read is freed here.
                let bytes = std::mem::take(&mut c.bytes);
                let block = payloads.next();
                if !of.used {
                    payloads.push(Block::default());
                    continue;
                }
                let events = usize::try_from(c.events).unwrap_or(usize::MAX);
                jobs.push((stream, chunk, block, events));
                total = total.saturating_add(events);
                payloads.push(bytes);
                if let Some((_, latest_ns)) = c.span.filter(|_| !source.sorted) {
                    source.pieces.push(Piece {
                        end: total,
                        block,
                        latest_ns,
                    });
                }
            }
            source.end = total;
            sources.push(source);
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
        let common = schema.common;
        let pid = |payload: &[u8]| common.and_then(|c| c.read(payload)).and_then(|c| c.pid).unwrap_or(-1);
        let named = places.into_par_iter().map(|((stream, chunk, block, events), out)| {
            let bytes = payloads.block(block);
            (events, fill(stream, chunk, bytes, block, (&clock, pid), out))
        });
        let named: Vec<(usize, Vec<(u32, i32)>)> = named.collect();
        let mut stretches = stretches(&named, &sources);
        drop(named);
        let starts = std::iter::once(0).chain(sources.iter().map(|s| s.end));
        let mut moved = false;
        for (source, from) in sources.iter().zip(starts).filter(|(s, _)| s.sorted) {
            if let Some(of_perf) = records.get_mut(from..source.end) {
                of_perf.sort_by_key(|r| r.ts);
                moved = true;
            }
        }
        let recs = merge(records, &sources);
        let mut trace = Trace {
            schema,
            recs,
            payloads,
            stretches: Vec::new(),
            gaps,
            info,
            inversions,
            short_payloads: AtomicU64::new(0),
        };
        if moved {
            stretches = trace.stretches_again(&sources);
        }
        trace.stretches = stretches;
        trace
    }
    /// The payload of a record.
    #[inline]
    pub fn payload(&self, r: &Rec) -> &[u8] {
        self.payloads.of(r)
    }
    /// The bytes of all records, for a walk that may outlive those of the trace.
    pub fn payloads(&self) -> Payloads<'c> {
        self.payloads.clone()
    }
    /// From here on only who has asked for [`Trace::payloads`] reads what is in events: the trace itself has but records.
    pub fn forget_payloads(&mut self) {
        self.payloads = Payloads::default();
    }
    /// The event at a position.
    #[inline]
    pub fn event(&self, index: usize) -> Option<Event<'_>> {
        let r = self.recs.get(index)?;
        Some(self.event_of(&self.payloads, r, index as u32))
    }
    #[inline]
    fn event_of<'e>(&self, payloads: &'e Payloads<'c>, r: &Rec, index: u32) -> Event<'e> {
        let payload = payloads.of(r);
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
    /// Hands over the records of one CPU in order, some at a time.
    #[inline]
    pub fn some_of_cpu(&self, cpu: u16, mut to: impl FnMut(&[Rec])) {
        let streams: Vec<&[Rec]> = self.recs.of_cpu(cpu).collect();
        match streams.as_slice() {
            [one] => one.chunks(AT_ONCE).for_each(to),
            _ => self
                .of_cpu(cpu)
                .copied()
                .collect::<Vec<Rec>>()
                .chunks(AT_ONCE)
                .for_each(&mut to),
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
    /// Room for a row of each event of some names. The machine gives memory only where rows are written; a vector that
    /// begins small is moved each time it grows.
    pub fn room<T>(&self, names: &[&str]) -> Vec<T> {
        let of = names.iter().filter_map(|n| self.info.events.get(*n));
        let rows = of.fold(0u64, |sum, n| sum.saturating_add(*n));
        let most = ROOM_BYTES.checked_div(size_of::<T>()).unwrap_or(0);
        Vec::with_capacity(usize::try_from(rows).unwrap_or(usize::MAX).min(most))
    }
    /// A record of a walk of one CPU as trackers see it.
    #[inline]
    pub fn alone(&self, r: &Rec) -> Event<'_> {
        self.event_of(&self.payloads, r, u32::MAX)
    }
    /// The events whose kind `wanted` says, in order.
    pub fn events<'s>(&'s self, wanted: impl Fn(u16) -> bool + 's) -> impl Iterator<Item = Event<'s>> + 's {
        let of = self.recs.only(0, self.recs.len(), wanted);
        of.map(|(index, r)| self.event_of(&self.payloads, r, index))
    }
    /// Hands over the events whose kind `wanted` says, in order, some at a time: the memory of all of them is waited for at
    /// once, not of each when its turn comes.
    #[inline]
    pub fn some_at_once(&self, wanted: impl Fn(u16) -> bool, mut to: impl FnMut(&[Event<'_>])) {
        self.some_of(&self.payloads, 0, self.recs.len(), &wanted, &mut to);
    }
    /// The same for a walk that is the last to read `payloads`: it lets go of each block behind its last record.
    #[inline]
    pub fn some_at_last(
        &self,
        mut payloads: Payloads<'c>,
        wanted: impl Fn(u16) -> bool,
        mut to: impl FnMut(&[Event<'_>]),
    ) {
        let mut from = 0usize;
        for (position, block) in self.recs.left() {
            let end = (*position as usize).saturating_add(1);
            self.some_of(&payloads, from, end, &wanted, &mut to);
            payloads.leave(*block);
            from = end;
        }
        self.some_of(&payloads, from, self.recs.len(), &wanted, &mut to);
    }
    #[inline]
    fn some_of(
        &self,
        payloads: &Payloads<'c>,
        from: usize,
        end: usize,
        wanted: &impl Fn(u16) -> bool,
        to: &mut impl FnMut(&[Event<'_>]),
    ) {
        let mut some: Vec<Event<'_>> = Vec::with_capacity(AT_ONCE);
        for (index, r) in self.recs.only(from, end, wanted) {
            some.push(self.event_of(payloads, r, index));
            if some.len() == AT_ONCE {
                to(&some);
                some.clear();
            }
        }
        to(&some);
    }
    /// Which threads the records name, found by reading them all: of streams whose records were moved.
    fn stretches_again(&self, sources: &[Source]) -> Vec<Stretch> {
        let starts = std::iter::once(0).chain(sources.iter().map(|s| s.end));
        let streams = starts.zip(sources.iter().map(|s| s.end));
        let threads = streams.map(|(from, to)| {
            let mut named = None;
            let places = (from..to).filter_map(|place| u32::try_from(place).ok());
            let of = places.filter_map(|place| {
                let pid = self.alone(self.recs.at(place)?).pid;
                let nth = place.saturating_sub(u32::try_from(from).unwrap_or(u32::MAX));
                (named.replace(pid) != Some(pid)).then_some((nth, pid))
            });
            (to.saturating_sub(from), of.collect())
        });
        stretches(&threads.collect::<Vec<_>>(), sources)
    }
}

/// Joins what blocks say of their threads: of each its number of records, and from which on which thread is named.
fn stretches(blocks: &[(usize, Vec<(u32, i32)>)], sources: &[Source]) -> Vec<Stretch> {
    let mut all: Vec<Stretch> = Vec::with_capacity(blocks.iter().map(|b| b.1.len()).sum());
    let mut ends = sources.iter().map(|s| s.end).peekable();
    let mut fresh = true;
    let mut base = 0usize;
    let place = |base: usize, nth: u32| u32::try_from(base).unwrap_or(u32::MAX).saturating_add(nth);
    for (events, threads) in blocks {
        while ends.next_if(|end| *end <= base).is_some() {
            fresh = true;
        }
        for (nth, pid) in threads {
            let from = place(base, *nth);
            let last = all.last_mut().filter(|_| !fresh);
            if last.is_some_and(|l| l.pid == *pid) {
                continue;
            }
            fresh = false;
            if let Some(last) = all.last_mut() {
                last.to = from;
            }
            all.push(Stretch {
                pid: *pid,
                from,
                to: from,
            });
        }
        base = base.saturating_add(*events);
    }
    if let Some(last) = all.last_mut() {
        last.to = place(base, 0);
    }
    all
}
