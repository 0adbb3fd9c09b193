//! A count by perf, for `--dry-run`: the events of a recording are on for a while, what finds room in the rings is read once, and written nowhere.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use netmortem_formats::bundle::{BundleWriter, Manifest};

use super::drain::Rings;
use super::run::{Set, set_up, split, switch};
use crate::clock;
use crate::drain::{Shared, Sink};
use crate::error::RecordError;
use crate::options::RecordOptions;
use crate::output::Patience;

/// What the kernel counted and wrote.
pub struct Counted {
    /// How it was set up.
    pub manifest: Manifest,
    /// How long events were on.
    pub elapsed: Duration,
    /// Events that the kernel counted.
    pub events: u64,
    /// Those of them that found room in the rings.
    pub sampled: u64,
    /// Bytes of these in the rings.
    pub ring_bytes: u64,
    /// Bytes of these in a bundle.
    pub bundle_bytes: u64,
    /// CPU time to read and to compress them, ns.
    pub cpu_ns: u64,
}

/// Counts until `wait` returns. `because` says why this backend was chosen.
pub fn count_perf(
    options: &RecordOptions,
    tracefs: &Path,
    because: String,
    wait: &dyn Fn(),
) -> Result<Counted, RecordError> {
    let Set { manifest, opened, .. } = set_up(options, tracefs, because).map_err(RecordError::by_perf)?;
    let writer = BundleWriter::new(Box::new(std::io::sink()) as Sink, &manifest);
    let writer = writer.map_err(|source| RecordError::Output {
        path: "the sample".into(),
        source,
    })?;
    let before = writer.bytes_written();
    let shared = Arc::new(Shared::new(writer, Patience::default())?);
    let (cpus, rings) = split(opened);
    let started = Instant::now();
    switch(&cpus, true)?;
    wait();
    switch(&cpus, false)?;
    let elapsed = started.elapsed();
    let cpu_before = clock::process_cpu_ns();
    let drained = Rings::start(rings, &shared)?.finish()?;
    let cpu_ns = clock::process_cpu_ns().saturating_sub(cpu_before);
    let counts = cpus.iter().flat_map(|c| &c.events).filter_map(|e| e.counts().ok());
    let sampled = drained.iter().map(|(_, d)| d.samples).sum();
    Ok(Counted {
        manifest,
        elapsed,
        events: counts.map(|c| c.0).sum::<u64>().max(sampled),
        sampled,
        ring_bytes: shared.ring_bytes.load(Ordering::Relaxed),
        bundle_bytes: shared.bundle_bytes.load(Ordering::Relaxed).saturating_sub(before),
        cpu_ns,
    })
}
