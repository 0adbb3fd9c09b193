//! One ring buffer, written anew: its records, without those that are left out, as sub-buffers.
//!
//! In: a stream of a bundle. Out: frames of sub-buffers, and counts. Records of perf are taken by time, as the analysis does,
//! and become sub-buffers, too. Must not lose a loss that may reach into what is kept.

use std::collections::BTreeMap;

use netmortem_formats::bundle::PagesEncoder;
use netmortem_formats::{Capture, CpuStats, Stream};

use super::names::Names;
use super::pages::{self, PageWriter};
use super::payload::Payloads;
use super::source::{Source, What};
use super::{Change, Done, MEMBER_BYTES, RewriteError};

/// One CPU, written anew.
pub struct Cpu {
    pub cpu: u32,
    instance: String,
    pub frames: Vec<Vec<u8>>,
    events: u64,
    lost: u64,
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
            overrun: self.lost,
            read_events: self.events,
            ..CpuStats::default()
        }
    }
}

/// Whether any of its ring buffers is perf's: then all are written with our layout of sub-buffers.
pub fn of_perf(capture: &Capture) -> bool {
    capture.streams.iter().any(|s| s.perf.is_some())
}

/// A loss that waits for the next record: how many, where that is known.
type Pending = Option<Option<u64>>;

fn lose(pending: &mut Pending, n: Option<u64>) {
    *pending = Some(match *pending {
        None => n,
        Some(before) => before.zip(n).map(|(a, b)| a.saturating_add(b)),
    });
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
        lost: 0,
        ring_bytes: 0,
        others: BTreeMap::new(),
    };
    // A loss is of the window when it may reach into it.
    let mut pending: Pending = None;
    let mut told = Told::default();
    let mut last: Option<u64> = None;
    let mut scratch = vec![];
    let mut source = Source::new(capture, stream, may);
    while let Some(ts) = source.peek() {
        let (chunk, offset, len) = match source.pop() {
            Some(What::Record { chunk, offset, len }) => (chunk, offset, len),
            Some(What::Lost(n)) => {
                told.add(n);
                lose(&mut pending, n);
                continue;
            }
            None => break,
        };
        let before = last.replace(ts);
        if let Some(n) = pending.take()
            && ts >= from
            && before.is_none_or(|b| b <= to)
        {
            writer.lost(n);
            c.lost = c.lost.saturating_add(n.unwrap_or(0));
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
    if last.is_none_or(|l| l <= to) {
        // Counts of the kernel are not in a cut bundle: what only they tell is lost at the end, where the analysis sees it, too.
        let cut = change.window.is_some() || change.cut.is_some();
        let more = if cut { told.more(capture, stream) } else { 0 };
        if more > 0 && told.unknown == 0 {
            lose(&mut pending, Some(more));
        } else {
            c.lost = c.lost.saturating_add(more);
        }
        if let Some(n) = pending {
            writer.lost(n);
            c.lost = c.lost.saturating_add(n.unwrap_or(0));
        }
    }
    let pages = writer.finish();
    if !pages.is_empty() {
        c.ring_bytes += pages.len() as u64;
        c.frames.push(encoder.encode(&pages)?);
    }
    done.events += c.events;
    Ok(Some(c))
}

/// What the ring buffer itself tells of losses.
#[derive(Default)]
struct Told {
    lost: u64,
    /// Losses without a number.
    unknown: u64,
}

impl Told {
    fn add(&mut self, n: Option<u64>) {
        match n {
            Some(n) => self.lost = self.lost.saturating_add(n),
            None => self.unknown += 1,
        }
    }

    /// How many more the kernel counted.
    fn more(&self, capture: &Capture, of: &Stream) -> u64 {
        let of_it = |s: &&CpuStats| s.cpu == of.cpu && s.instance == of.instance;
        let said = capture.cpu_stats.iter().find(of_it).map_or(0, |s| {
            s.overrun
                .saturating_add(s.commit_overrun)
                .saturating_add(s.dropped_events)
        });
        said.saturating_sub(self.lost)
    }
}
