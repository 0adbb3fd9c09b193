//! One ring buffer, written anew: its records, without those that are left out, as sub-buffers.
//!
//! In: a stream of a bundle. Out: frames of sub-buffers, and counts. Records of perf are taken by time, as the analysis does,
//! and become sub-buffers, too. Must not lose a loss that may reach into what is kept.
//!
//! | a loss that is told by | in a cut in time |
//! |---|---|
//! | the ring buffer, between two records | where it may reach into the window |
//! | `overrun` alone | of the losses without a number, where there are any; else behind the last record |
//! | `dropped_events` and `commit_overrun` alone | nowhere: nothing tells when it was, and the slice says so |

use std::collections::BTreeMap;

use netmortem_formats::bundle::PagesEncoder;
use netmortem_formats::{Capture, CpuStats, Stream};

use super::names::Names;
use super::pages::{self, PageWriter};
use super::payload::Payloads;
use super::source::{Source, What};
use super::{Change, Done, MEMBER_BYTES, RewriteError};
use crate::ingest::short_rings;

/// One CPU, written anew.
pub struct Cpu {
    pub cpu: u32,
    instance: String,
    pub frames: Vec<Vec<u8>>,
    events: u64,
    /// Losses that are in it.
    kept: Told,
    pub ring_bytes: u64,
    /// Events of others that were left out, by id.
    pub others: BTreeMap<u16, u64>,
}

impl Cpu {
    /// What the kernel would have counted.
    pub fn stats(&self) -> CpuStats {
        CpuStats {
            instance: self.instance.clone(),
            cpu: self.cpu,
            overrun: self.kept.lost,
            read_events: self.events,
            ..CpuStats::default()
        }
    }

    /// Losses after the last record that was written.
    fn keep(&mut self, writer: &mut PageWriter, lost: Told) {
        writer.lost((lost.unknown == 0).then_some(lost.lost));
        self.kept.lost = self.kept.lost.saturating_add(lost.lost);
        self.kept.unknown = self.kept.unknown.saturating_add(lost.unknown);
    }
}

/// Whether any of its ring buffers is perf's: then all are written with our layout of sub-buffers.
pub fn of_perf(capture: &Capture) -> bool {
    capture.streams.iter().any(|s| s.perf.is_some())
}

/// Of one stream, of which so many chunks may be decoded.
pub fn cpu(
    capture: &Capture,
    (at, may): (usize, usize),
    change: &Change,
    mut payloads: Option<&mut Payloads>,
    names: &mut Names,
    done: &mut Done,
) -> Result<Option<Cpu>, RewriteError> {
    let Some(stream) = capture.streams.get(at) else {
        return Ok(None);
    };
    let (from, to) = change.window.unwrap_or((0, u64::MAX));
    let mut writer = PageWriter::new(match of_perf(capture) {
        true => pages::layout(stream.page.endian),
        false => stream.page,
    });
    let mut encoder = PagesEncoder::new(3)?;
    let mut c = Cpu {
        cpu: stream.cpu,
        instance: stream.instance.clone(),
        frames: vec![],
        events: 0,
        kept: Told::default(),
        ring_bytes: 0,
        others: BTreeMap::new(),
    };
    // A loss is of the window when it may reach into it.
    let mut pending: Option<Told> = None;
    let mut told = Told::default();
    let mut last: Option<u64> = None;
    let mut scratch = vec![];
    let mut source = Source::new(capture, stream, may);
    while let Some(ts) = source.peek() {
        let (chunk, offset, len) = match source.pop() {
            Some(What::Record { chunk, offset, len }) => (chunk, offset, len),
            Some(What::Lost(n)) => {
                told.add(n);
                pending.get_or_insert_default().add(n);
                continue;
            }
            None => break,
        };
        let before = last.replace(ts);
        if let Some(lost) = pending.take()
            && ts >= from
            && before.is_none_or(|b| b <= to)
        {
            c.keep(&mut writer, lost);
        }
        if ts < from {
            done.cut_before += 1;
            continue;
        }
        if ts > to {
            done.cut_after += 1;
            continue;
        }
        let payload = source.payload(chunk, offset, len);
        if change
            .cut
            .as_ref()
            .is_some_and(|cut| cut.drops(at, chunk as usize, offset))
        {
            let id = stream.page.endian.u16(payload, 0).unwrap_or(0);
            *c.others.entry(id).or_default() += 1;
            continue;
        }
        scratch.clear();
        scratch.extend_from_slice(payload);
        if let Some(p) = payloads.as_deref_mut()
            && !p.redact(names, &mut scratch)
        {
            done.emptied += 1;
        }
        if writer.record(ts, &scratch) {
            c.events += 1;
        } else {
            writer.lost(Some(1));
        }
        if writer.len() >= MEMBER_BYTES {
            let pages = writer.take();
            c.ring_bytes += pages.len() as u64;
            c.frames.push(encoder.encode(&pages)?);
        }
    }
    done.undecoded = done.undecoded.saturating_add(source.errors());
    let at_end = last.is_none_or(|l| l <= to);
    if let Some(lost) = pending.filter(|_| at_end) {
        c.keep(&mut writer, lost);
    }
    if change.window.is_some() || change.cut.is_some() {
        // Counts of the kernel are not in a cut bundle.
        let (overwritten, anywhere) = told.more(capture, stream);
        let (placed, anywhere) = match change.window {
            None => (overwritten.saturating_add(anywhere), 0),
            Some(_) => (overwritten, anywhere),
        };
        let somewhere = place(&mut c, &mut writer, &told, (placed, at_end));
        let nowhere = anywhere.saturating_add(somewhere);
        done.lost_at_unknown_time = done.lost_at_unknown_time.saturating_add(nowhere);
    }
    let pages = writer.finish();
    if !pages.is_empty() {
        c.ring_bytes += pages.len() as u64;
        c.frames.push(encoder.encode(&pages)?);
    }
    done.events += c.events;
    Ok(Some(c))
}

/// Puts what the kernel counted beyond the numbers in the ring buffer where the analysis does: into its losses without a number,
/// or, where there is none, behind the last record. What may be of such a loss in the window or of one outside is given back.
fn place(c: &mut Cpu, writer: &mut PageWriter, told: &Told, (more, at_end): (u64, bool)) -> u64 {
    match (told.unknown, c.kept.unknown) {
        _ if more == 0 => {}
        (0, _) if at_end => c.keep(writer, Told { lost: more, unknown: 0 }),
        (0, _) | (_, 0) => {}
        (all, kept) if kept < all => return more,
        _ => c.kept.lost = c.kept.lost.saturating_add(more),
    }
    0
}

/// What the ring buffer itself tells of losses.
#[derive(Clone, Copy, Default)]
struct Told {
    lost: u64,
    /// Losses without a number.
    unknown: u64,
}

impl Told {
    fn add(&mut self, n: Option<u64>) {
        match n {
            Some(n) => self.lost = self.lost.saturating_add(n),
            None => self.unknown = self.unknown.saturating_add(1),
        }
    }

    /// How many more the kernel counted: overwritten, and at a time that nothing tells.
    fn more(&self, capture: &Capture, of: &Stream) -> (u64, u64) {
        let of_it = |s: &&CpuStats| s.cpu == of.cpu && s.instance == of.instance;
        // Of a flight's ring that does not reach back it is all since it was armed, and no number of the recording's.
        let short = short_rings(capture).iter().any(|r| r.cpu == of.cpu);
        capture.cpu_stats.iter().find(of_it).map_or((0, 0), |s| {
            let overrun = if short { 0 } else { s.overrun };
            let anywhere = s.commit_overrun.saturating_add(s.dropped_events);
            let all = anywhere.saturating_add(overrun).saturating_sub(self.lost);
            let overwritten = overrun.saturating_sub(self.lost);
            (overwritten, all.saturating_sub(overwritten))
        })
    }
}

/// What the kernel counted as lost on CPUs of which there is no ring buffer.
pub fn without_stream(capture: &Capture) -> u64 {
    let has = |s: &CpuStats| (capture.streams.iter()).any(|of| of.cpu == s.cpu && of.instance == s.instance);
    let others = capture.cpu_stats.iter().filter(|s| !has(s));
    others.fold(0, |sum: u64, s| {
        sum.saturating_add(s.overrun)
            .saturating_add(s.commit_overrun)
            .saturating_add(s.dropped_events)
    })
}
