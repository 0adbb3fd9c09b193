//! A bundle written anew: cut to a window of time, to flows and devices, or with pseudonyms for names and addresses, or all.
//!
//! In: an opened bundle. Out: a bundle. Every sub-buffer is decoded and encoded again, so nothing is in the new file that is
//! no record in it. Must not change a time, an order, or anything of a record that stays but names and addresses.
//!
//! ```text
//! trace/cpuN   records (of perf/cpuN: by time) -> in the window? -> proven to be of others (export::slice)? -> names and addresses replaced -> sub-buffers -> trace/cpuN/000001...
//! texts        known layout: replaced; not known: left out of a redacted bundle
//! manifest     where it comes from, what was cut, what was replaced: `notes`
//! ```
//! A cut bundle is what a recording begun and ended at the window's ends would be: the analysis sees its ends as censoring.
//! Counters of the host that were read over all of the recording are left out of it, because they are not of the window, but for the
//! readings of every second of its time and one on either side (`seconds`);
//! so are states of sockets, which are older than it, but for those that listen. A cut by flow or device leaves out
//! counters of the host, too: they count what was cut.

mod cpu;
mod foreign;
mod left_out;
mod list;
mod members;
mod names;
mod notes;
mod notices;
mod pages;
mod payload;
mod seconds;
mod source;
#[cfg(test)]
mod tests;
mod texts;

use std::collections::BTreeMap;
use std::io::{self, Write};

use netmortem_formats::bundle::{BundleWriter, End, Manifest, PagesName};
use netmortem_formats::{Capture, CpuStats};
use rayon::prelude::*;

use self::cpu::Cpu;
pub use self::foreign::{Imported, import};
pub use self::list::ListError;
pub use self::names::Names;
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
    /// Events that the kernel counted as lost, and that may be of what is kept or of what was cut: nothing tells when they were.
    pub lost_at_unknown_time: u64,
    /// Places at which the original could not be decoded.
    pub undecoded: u64,
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
    /// What was done with the records of another CPU.
    fn add(&mut self, of: &Done) {
        for (sum, more) in [
            (&mut self.events, of.events),
            (&mut self.cut_before, of.cut_before),
            (&mut self.cut_after, of.cut_after),
            (&mut self.lost_at_unknown_time, of.lost_at_unknown_time),
            (&mut self.undecoded, of.undecoded),
            (&mut self.emptied, of.emptied),
        ] {
            *sum = sum.saturating_add(more);
        }
    }

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

/// Writes the bundle anew, with pseudonyms of its own.
pub fn rewrite<W: Write>(capture: &Capture, change: &Change, out: W) -> Result<(W, Done), RewriteError> {
    rewrite_with(capture, change, &mut Names::default(), out)
}

/// Writes the bundle anew. `names`: what has a pseudonym already; grows.
pub fn rewrite_with<W: Write>(
    capture: &Capture,
    change: &Change,
    names: &mut Names,
    out: W,
) -> Result<(W, Done), RewriteError> {
    if capture.format != "bundle" {
        return Err(RewriteError::NotABundle(capture.format));
    }
    let manifest = capture.manifest.clone();
    let manifest: Manifest = manifest
        .and_then(|m| serde_json::from_value(m).ok())
        .ok_or(RewriteError::NoManifest)?;
    let mut cpus_of: Vec<u32> = capture.streams.iter().map(|s| s.cpu).collect();
    cpus_of.sort_unstable();
    if cpus_of.windows(2).any(|w| w.first() == w.last()) {
        return Err(RewriteError::Instances);
    }
    let end: Option<End> = capture.end.clone().and_then(|e| serde_json::from_value(e).ok());
    let mut payloads = change.redact.then(|| Payloads::of(capture));
    let mut done = Done::default();
    let mut cpus = vec![];
    let streams: Vec<(usize, usize)> = allowed(capture).into_iter().enumerate().collect();
    match payloads.as_mut() {
        // Pseudonyms are given in the order of the names.
        Some(payloads) => {
            for stream in streams {
                cpus.extend(cpu::cpu(capture, stream, change, Some(payloads), names, &mut done)?);
            }
        }
        None => {
            let each = streams.into_par_iter().map(|stream| {
                let mut done = Done::default();
                cpu::cpu(capture, stream, change, None, &mut Names::default(), &mut done).map(|c| (c, done))
            });
            for (cpu, of_it) in each.collect::<Result<Vec<_>, _>>()? {
                cpus.extend(cpu);
                done.add(&of_it);
            }
        }
    }
    if change.window.is_some() || change.cut.is_some() {
        let more = cpu::without_stream(capture);
        done.lost_at_unknown_time = done.lost_at_unknown_time.saturating_add(more);
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
    let mut texts = members::texts(capture, change, names, &mut done);
    let manifest = members::manifest(manifest, capture, change, names, &done);
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
    let counted: Vec<CpuStats> = cpus.iter().map(Cpu::stats).collect();
    let ring_bytes = cpus.iter().map(|c| c.ring_bytes).sum();
    let out = match end {
        // Without an end the original was cut; the new one says so, too.
        None => members::unfinished(writer, &mut done)?,
        Some(end) => {
            let end = members::end(end, (capture, done.undecoded), change, counted, ring_bytes);
            let (out, bytes) = writer.finish(end)?;
            done.bytes = bytes;
            out
        }
    };
    (done.names, done.addresses) = names.counts();
    Ok((out, done))
}
