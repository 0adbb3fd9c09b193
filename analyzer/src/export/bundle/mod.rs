//! A bundle written anew: cut to a window of time, to flows and devices, or with pseudonyms for names and addresses, or all.
//!
//! In: an opened bundle. Out: a bundle. Every sub-buffer is decoded and encoded again, so nothing is in the new file that is
//! no record in it. Must not change a time, an order, or anything of a record that stays but names and addresses.
//!
//! ```text
//! trace/cpuN   records -> in the window? -> proven to be of others (export::slice)? -> names and addresses replaced -> sub-buffers -> trace/cpuN/000001...
//! texts        known layout: replaced; not known: left out of a redacted bundle
//! manifest     where it comes from, what was cut, what was replaced: `notes`
//! ```
//! A cut bundle is what a recording begun and ended at the window's ends would be: the analysis sees its ends as censoring.
//! Counters of the host that were read over all of the recording are left out of it, because they are not of the window;
//! so are states of sockets, which are older than it. A cut by flow or device leaves out
//! counters of the host, too: they count what was cut.

mod foreign;
mod members;
mod names;
mod notes;
mod pages;
mod payload;
mod source;
#[cfg(test)]
mod tests;
mod texts;

use std::collections::BTreeMap;
use std::io::{self, Write};

use netmortem_formats::bundle::{BundleWriter, End, Manifest, PagesEncoder, PagesName};
use netmortem_formats::sub_buffer::sub_buffers;
use netmortem_formats::{Capture, CpuStats, Locus, StreamItem};

pub use self::foreign::{Imported, import};
use self::names::Names;
use self::pages::PageWriter;
use self::payload::Payloads;
use super::slice::Cut;
use crate::ingest::allowed;

/// Bytes of sub-buffers in a member.
const MEMBER_BYTES: usize = 512 << 10;

/// What is to be done.
#[derive(Debug, Clone, Default)]
pub struct Change {
    /// First and last moment that stays, in units of the recorded clock.
    pub window: Option<(u64, u64)>,
    /// Events that are left out, because they are of other flows or devices.
    pub cut: Option<Cut>,
    /// Replace names and addresses.
    pub redact: bool,
}

/// What was done.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Done {
    /// Events in the new bundle.
    pub events: u64,
    /// Events before the window.
    pub cut_before: u64,
    /// Events after it.
    pub cut_after: u64,
    /// Events in it that are of other flows or devices, by `system:name`.
    pub cut_others: BTreeMap<String, u64>,
    /// Names with a pseudonym.
    pub names: usize,
    /// Addresses with a pseudonym.
    pub addresses: usize,
    /// Events without a format, emptied.
    pub emptied: u64,
    /// Members that were left out.
    pub left_out: Vec<String>,
    /// Bytes of the new bundle.
    pub bytes: u64,
}

impl Done {
    /// Events that were read.
    fn all(&self) -> u64 {
        let others = self.cut_others.values().fold(0u64, |sum, n| sum.saturating_add(*n));
        let rest = [self.cut_before, self.cut_after, others];
        rest.into_iter().fold(self.events, u64::saturating_add)
    }
}

/// Why not.
#[derive(Debug, thiserror::Error)]
pub enum RewriteError {
    /// Not a bundle.
    #[error("only a bundle (.nmb) can be cut or redacted: this is {0}")]
    NotABundle(&'static str),
    /// Its manifest cannot be read.
    #[error(
        "its manifest.json cannot be read: what was recorded is not known, so nothing can be left out with certainty"
    )]
    NoManifest,
    /// Its members are records of perf, not sub-buffers.
    #[error("this bundle was recorded with perf events (--backend perf): such bundles cannot be cut or redacted yet")]
    OfPerf,
    /// Packets, or what is a bundle already.
    #[error("only a trace.dat or a perf.data can be made a bundle: this is {0}")]
    NoEvents(&'static str),
    /// Its times are cycles.
    #[error("its times are cycles of the processor (clock x86-tsc), which a bundle cannot have")]
    Cycles,
    /// A bundle has one ring buffer of each CPU.
    #[error("it is several recordings joined: a bundle has one ring buffer for each CPU")]
    Instances,
    /// The window holds no event.
    #[error("no event of the recording lies in that time")]
    Empty,
    /// Nothing was read.
    #[error("no event of the recording can be read")]
    NoneRead,
    /// Writing failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// One CPU, written anew.
struct Cpu {
    cpu: u32,
    frames: Vec<Vec<u8>>,
    events: u64,
    lost: u64,
    ring_bytes: u64,
    /// Events of others that were left out, by id.
    others: BTreeMap<u16, u64>,
}

/// Writes the bundle anew.
pub fn rewrite<W: Write>(capture: &Capture, change: &Change, out: W) -> Result<(W, Done), RewriteError> {
    if capture.format != "bundle" {
        return Err(RewriteError::NotABundle(capture.format));
    }
    let manifest = capture.manifest.clone();
    let manifest: Manifest = manifest
        .and_then(|m| serde_json::from_value(m).ok())
        .ok_or(RewriteError::NoManifest)?;
    if manifest.plan.perf.is_some() || capture.streams.iter().any(|s| s.perf.is_some()) {
        return Err(RewriteError::OfPerf);
    }
    let mut cpus_of: Vec<u32> = capture.streams.iter().map(|s| s.cpu).collect();
    cpus_of.sort_unstable();
    if cpus_of.windows(2).any(|w| w.first() == w.last()) {
        return Err(RewriteError::Instances);
    }
    let end: Option<End> = capture.end.clone().and_then(|e| serde_json::from_value(e).ok());
    let mut names = Names::default();
    let mut payloads = change.redact.then(|| Payloads::of(capture));
    let mut done = Done::default();
    let mut cpus = vec![];
    for (stream, may) in allowed(capture).into_iter().enumerate() {
        cpus.extend(cpu(
            capture,
            (stream, may),
            change,
            payloads.as_mut(),
            &mut names,
            &mut done,
        )?);
    }
    for (id, n) in cpus.iter().flat_map(|c| &c.others) {
        let format = capture.event_formats.iter().find(|f| f.id == *id);
        let name = format.map_or_else(|| format!("id:{id}"), |f| f.key());
        *done.cut_others.entry(name).or_default() += n;
    }
    if done.events == 0 {
        return Err(match change.window.is_some() || change.cut.is_some() {
            true => RewriteError::Empty,
            false => RewriteError::NoneRead,
        });
    }
    // Texts first, into memory: the manifest is written before them and says what was left out.
    let mut texts = members::texts(capture, change, &mut names, &mut done);
    let manifest = members::manifest(manifest, capture, change, &mut names, &done);
    let mut writer = BundleWriter::new(out, &manifest)?;
    texts.before.drain(..).try_for_each(|(n, b)| writer.append(&n, &b))?;
    for c in &cpus {
        for (i, frame) in c.frames.iter().enumerate() {
            let name = PagesName {
                cpu: c.cpu,
                sequence: i as u64 + 1,
            };
            writer.append_pages(name, frame)?;
        }
    }
    texts.after.drain(..).try_for_each(|(n, b)| writer.append(&n, &b))?;
    let counted: Vec<CpuStats> = cpus.iter().map(stats).collect();
    let ring_bytes = cpus.iter().map(|c| c.ring_bytes).sum();
    let out = match end {
        // Without an end the original was cut; the new one says so, too.
        None => members::unfinished(writer, &mut done)?,
        Some(end) => {
            let end = members::end(end, change, counted, ring_bytes);
            let (out, bytes) = writer.finish(end)?;
            done.bytes = bytes;
            out
        }
    };
    (done.names, done.addresses) = names.counts();
    Ok((out, done))
}

fn stats(c: &Cpu) -> CpuStats {
    CpuStats {
        cpu: c.cpu,
        overrun: c.lost,
        read_events: c.events,
        ..CpuStats::default()
    }
}

/// Of one stream, of which so many chunks may be decoded.
fn cpu(
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
    let mut writer = PageWriter::new(stream.page);
    let mut encoder = PagesEncoder::new(3)?;
    let mut c = Cpu {
        cpu: stream.cpu,
        frames: vec![],
        events: 0,
        lost: 0,
        ring_bytes: 0,
        others: BTreeMap::new(),
    };
    let locus = Locus::default();
    // A loss is of the window when it may reach into it.
    let mut pending: Option<Option<u64>> = None;
    let mut last: Option<u64> = None;
    let mut scratch = vec![];
    let lose = |pending: &mut Option<Option<u64>>, n: Option<u64>| {
        *pending = Some(match *pending {
            None => n,
            Some(before) => before.zip(n).map(|(a, b)| a.saturating_add(b)),
        });
    };
    for (nth, chunk) in stream.chunks.iter().enumerate() {
        // Above the limit of what may be decoded the analysis takes a chunk for a loss, too.
        let bytes = (nth < may).then(|| capture.chunk_bytes(chunk).ok()).flatten();
        let Some(bytes) = bytes else {
            lose(&mut pending, None);
            continue;
        };
        for sub in sub_buffers(stream.page, &bytes, locus) {
            let Ok(sub) = sub else {
                lose(&mut pending, None);
                continue;
            };
            for item in sub.records(stream.page, locus) {
                let r = match item {
                    Ok(StreamItem::Record(r)) => r,
                    Ok(StreamItem::Lost(l)) => {
                        lose(&mut pending, l.count);
                        continue;
                    }
                    Err(_) => {
                        lose(&mut pending, None);
                        continue;
                    }
                };
                let before = last.replace(r.ts);
                if let Some(n) = pending.take()
                    && r.ts >= from
                    && before.is_none_or(|b| b <= to)
                {
                    writer.lost(n);
                    c.lost = c.lost.saturating_add(n.unwrap_or(0));
                }
                if r.ts < from {
                    done.cut_before += 1;
                    continue;
                }
                if r.ts > to {
                    done.cut_after += 1;
                    continue;
                }
                if change.cut.as_ref().is_some_and(|cut| cut.drops(at, nth, r.offset)) {
                    let id = stream.page.endian.u16(r.payload, 0).unwrap_or(0);
                    *c.others.entry(id).or_default() += 1;
                    continue;
                }
                scratch.clear();
                scratch.extend_from_slice(r.payload);
                if let Some(p) = payloads.as_deref_mut()
                    && !p.redact(names, &mut scratch)
                {
                    done.emptied += 1;
                }
                if writer.record(r.ts, &scratch) {
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
        }
    }
    if let Some(n) = pending.filter(|_| last.is_none_or(|l| l <= to)) {
        writer.lost(n);
        c.lost = c.lost.saturating_add(n.unwrap_or(0));
    }
    let pages = writer.finish();
    if !pages.is_empty() {
        c.ring_bytes += pages.len() as u64;
        c.frames.push(encoder.encode(&pages)?);
    }
    done.events += c.events;
    Ok(Some(c))
}
