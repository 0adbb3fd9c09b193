//! The end of a recording, whatever the backend: `end.json`, and what the user is told.

use std::path::PathBuf;
use std::time::Duration;

use netmortem_formats::bundle::{BundleWriter, CommandEnd, End, Manifest, ReadingEnd, RecorderEnd, TapEnd};
use netmortem_formats::{ClockPair, CpuStats};

use crate::drain::Sink;
use crate::error::RecordError;
use crate::record::{Summary, judge, lost_events};
use crate::watch::Stopped;
use crate::{clock, output};

/// How a recording went.
pub struct Ended {
    /// How long events were on.
    pub elapsed: Duration,
    /// Why they were switched off.
    pub stopped: Stopped,
    /// All clocks, read then.
    pub clock: ClockPair,
    /// What was read of each CPU, and lost.
    pub cpu_stats: Vec<CpuStats>,
    /// Bytes read from the kernel.
    pub ring_bytes: u64,
    /// What became of the taps.
    pub packets: Vec<TapEnd>,
    /// How the command ended.
    pub command: Option<CommandEnd>,
    /// CPU time of the process before it recorded.
    pub cpu_before_ns: u64,
    /// What went wrong so far.
    pub problems: Vec<String>,
    /// What was read every second.
    pub readings: Vec<ReadingEnd>,
}

/// Ends the bundle. `path`: `None` is standard output.
pub fn finish(
    writer: BundleWriter<Sink>,
    path: Option<PathBuf>,
    manifest: &Manifest,
    ended: Ended,
) -> Result<Summary, RecordError> {
    let Ended {
        elapsed,
        stopped,
        cpu_stats,
        ring_bytes,
        packets,
        command,
        mut problems,
        readings,
        ..
    } = ended;
    problems.extend(stopped.sentence);
    judge(&cpu_stats, manifest, &mut problems);
    problems.extend(packets.iter().flat_map(|p| p.notes.iter().cloned()));
    let mut notes = manifest.notes.clone();
    notes.extend(problems.iter().cloned());
    let sum = |f: fn(&CpuStats) -> u64| cpu_stats.iter().map(f).sum::<u64>();
    let (events, lost) = (sum(|s| s.read_events), sum(lost_events));
    let cpu_ns = clock::process_cpu_ns().saturating_sub(ended.cpu_before_ns);
    let end = End {
        stop_reason: stopped.reason.clone(),
        clock: ended.clock,
        cpu_stats,
        packets: packets.clone(),
        command: command.clone(),
        recorder: RecorderEnd { cpu_ns, ring_bytes },
        readings,
        flight: None,
        problems,
        of_incomplete: false,
        members: Vec::new(),
    };
    let (sink, bundle_bytes) = writer.finish(end).map_err(|source| RecordError::Output {
        path: path.clone().unwrap_or_else(|| "-".into()),
        source,
    })?;
    drop(sink);
    if path.is_none() {
        output::let_go_of_stdout();
    }
    Ok(Summary {
        path,
        elapsed,
        stop_reason: stopped.reason,
        backend: if manifest.plan.perf.is_some() { "perf" } else { "ftrace" },
        events,
        lost,
        short_rings: 0,
        ring_bytes,
        bundle_bytes,
        cpu_ns,
        enabled: manifest.plan.events.len(),
        absent: manifest.plan.absent.iter().map(|a| a.name.clone()).collect(),
        packets,
        command,
        notes,
    })
}
