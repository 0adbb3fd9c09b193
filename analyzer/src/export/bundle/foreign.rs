//! A bundle of what another tool recorded: a trace.dat or a perf.data.
//!
//! In: an opened recording. Out: a bundle with its events, formats, symbols, names of tasks and losses. What such a recording
//! does not have (counters and settings of the host, clock pairs of a trace.dat) is not in it, and the analysis says so as it
//! does of the original. Must not say that an event was enabled where the original does not say it.
//!
//! ```text
//! the ring buffers that are read (ingest) -> records, by time where they are perf's, on the recording's own offset of time
//!   -> sub-buffers of 4096 bytes -> trace/cpuN/000001...
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use netmortem_formats::bundle::{
    BundleWriter, Clocks, End, FORMAT_VERSION, HEADER_PAGE, KALLSYMS, Machine, Manifest, PRINTK_FORMATS, PagesEncoder,
    PagesName, Plan, PlannedEvent, RecorderEnd, RecorderInfo, SAVED_CMDLINES, event_format_name,
};
use netmortem_formats::capture::ClockConversion;
use netmortem_formats::{Capture, CpuStats, Stream};

use super::pages::{self, PageWriter};
use super::source::{Source, What};
use super::{MEMBER_BYTES, RewriteError};
use crate::ingest::{CaptureInfo, Options, StreamInfo, TraceClock, allowed, check};

/// What was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Imported {
    /// Events in the bundle.
    pub events: u64,
    /// Events of other tracing instances, which the analysis does not read either.
    pub left_out: u64,
    /// Bytes of the bundle.
    pub bytes: u64,
}

/// Writes the bundle.
pub fn import<W: Write>(capture: &Capture, out: W) -> Result<(W, Imported), RewriteError> {
    if !["trace.dat", "perf.data"].contains(&capture.format) {
        return Err(RewriteError::NoEvents(capture.format));
    }
    let cycles = |c: &ClockConversion| matches!(c, ClockConversion::Tsc2Nsec { .. });
    if capture.clock_conversions.iter().any(cycles) {
        return Err(RewriteError::Cycles);
    }
    let info = check(capture, &Options::default());
    let (used, may): (Vec<&Stream>, Vec<usize>) = (capture.streams.iter().zip(&info.streams))
        .zip(allowed(capture))
        .filter(|((_, i), _)| i.used)
        .map(|((s, _), n)| (s, n))
        .unzip();
    let most = (info.streams.iter().filter(|s| s.used)).max_by_key(|s| s.events);
    let instance = most.map_or("", |s| s.instance.as_str());
    if info.start_ns.is_none_or(|t| t < 0) {
        return Err(RewriteError::NoneRead);
    }
    let mut done = Imported::default();
    let mut writer = BundleWriter::new(out, &manifest(capture, &info, &used, instance))?;
    writer.append(HEADER_PAGE, pages::header_page().as_bytes())?;
    for f in &capture.event_formats {
        let name = event_format_name(&f.system, &f.name);
        writer.append(&name, f.text().as_bytes())?;
    }
    let mut encoder = PagesEncoder::new(3)?;
    if !capture.kallsyms.text().is_empty() {
        writer.append(KALLSYMS, &encoder.encode(capture.kallsyms.text())?)?;
    }
    if !capture.printk_formats.is_empty() {
        writer.append(PRINTK_FORMATS, &capture.printk_formats)?;
    }
    let clock = TraceClock::of(capture);
    let mut ring_bytes = 0u64;
    let mut cpus: Vec<u32> = used.iter().map(|s| s.cpu).collect();
    cpus.sort_unstable();
    cpus.dedup();
    for cpu in cpus {
        let mut sequence = 0;
        let mut pages = PageWriter::new(pages::layout(capture.endian));
        let mut member = |bytes: Vec<u8>| -> Result<(), RewriteError> {
            if !bytes.is_empty() {
                sequence += 1;
                ring_bytes += bytes.len() as u64;
                let name = PagesName { cpu, sequence };
                writer.append_pages(name, &encoder.encode(&bytes)?)?;
            }
            Ok(())
        };
        let of_cpu = used.iter().zip(&may).filter(|(s, _)| s.cpu == cpu);
        merged(of_cpu.map(|(s, n)| Source::new(capture, s, *n)).collect(), |item| {
            match item {
                Err(count) => pages.lost(count),
                Ok((ts, payload)) => {
                    let ts = u64::try_from(clock.ns(ts)).unwrap_or(0);
                    match pages.record(ts, payload) {
                        true => done.events += 1,
                        false => pages.lost(Some(1)),
                    }
                }
            }
            match pages.len() >= MEMBER_BYTES {
                true => member(pages.take()),
                false => Ok(()),
            }
        })?;
        member(pages.finish())?;
    }
    done.left_out = info.total_events.saturating_sub(done.events);
    let mut names = String::new();
    for (pid, comm) in &capture.comms {
        names += &format!("{pid} {comm}\n");
    }
    writer.append(SAVED_CMDLINES, names.as_bytes())?;
    let end = End {
        stop_reason: "unknown".into(),
        clock: capture.clock_pairs.last().copied().unwrap_or_default(),
        cpu_stats: stats(capture, &used, instance),
        recorder: RecorderEnd { cpu_ns: 0, ring_bytes },
        problems: info.problems.clone(),
        of_incomplete: !info.complete,
        ..End::default()
    };
    let (out, bytes) = writer.finish(end)?;
    done.bytes = bytes;
    Ok((out, done))
}

fn manifest(capture: &Capture, info: &CaptureInfo, used: &[&Stream], instance: &str) -> Manifest {
    let source = capture.source.rsplit('/').next().unwrap_or_default();
    let mut notes = vec![format!(
        "This bundle was made of {source} ({} {}) by netmortem convert. It has what that has: no counters or settings of the host.",
        capture.format, capture.format_version
    )];
    let others = |of: fn(&StreamInfo) -> u64| {
        let streams = info.streams.iter().filter(|s| !s.used);
        streams.map(of).fold(0, u64::saturating_add)
    };
    match others(|s| s.events) {
        0 => {}
        n => notes.push(format!(
            "{n} events of other tracing instances were left out: they are of the same time and would count twice."
        )),
    }
    match (others(|s| s.lost_events), others(|s| s.losses_of_unknown_size)) {
        (0, 0) => {}
        (n, unknown) => notes.push(format!(
            "The ring buffers of these other instances lost {n} events and had {unknown} losses of unknown size: no answer uses them, and these losses are not in this bundle's counts."
        )),
    }
    Manifest {
        format_version: FORMAT_VERSION,
        recorder: RecorderInfo {
            command_line: match info.command.as_str() {
                "" => vec![],
                line => vec![line.to_owned()],
            },
            ..RecorderInfo::default()
        },
        host: capture.host.clone(),
        machine: Machine {
            endian: capture.endian,
            ..Machine::default()
        },
        clocks: Clocks {
            trace_clock: info.clock.clone(),
            start: capture.clock_pairs.first().copied().unwrap_or_default(),
        },
        plan: Plan {
            instance: instance.to_owned(),
            cpus: used
                .iter()
                .map(|s| s.cpu)
                .collect::<BTreeSet<u32>>()
                .into_iter()
                .collect(),
            events: (info.enabled_events.iter().flatten())
                .map(|name| PlannedEvent {
                    name: name.clone(),
                    ..PlannedEvent::default()
                })
                .collect(),
            ..Plan::default()
        },
        notes,
        ..Manifest::default()
    }
}

/// What the kernel counted, of the instances that are read, as one instance.
fn stats(capture: &Capture, used: &[&Stream], instance: &str) -> Vec<CpuStats> {
    let mut of: BTreeMap<u32, CpuStats> = BTreeMap::new();
    let read = |s: &&CpuStats| used.iter().any(|u| u.cpu == s.cpu && u.instance == s.instance);
    for s in capture.cpu_stats.iter().filter(read) {
        let sum = of.entry(s.cpu).or_insert_with(|| CpuStats {
            instance: instance.to_owned(),
            cpu: s.cpu,
            ..CpuStats::default()
        });
        sum.entries = sum.entries.saturating_add(s.entries);
        sum.overrun = sum.overrun.saturating_add(s.overrun);
        sum.commit_overrun = sum.commit_overrun.saturating_add(s.commit_overrun);
        sum.dropped_events = sum.dropped_events.saturating_add(s.dropped_events);
        sum.read_events = sum.read_events.saturating_add(s.read_events);
        sum.bytes = sum.bytes.saturating_add(s.bytes);
    }
    of.into_values().collect()
}

/// Gives `take` the records of several ring buffers of one CPU and the losses (none), by time; each keeps its own order.
fn merged(
    mut of: Vec<Source<'_>>,
    mut take: impl FnMut(Result<(u64, &[u8]), Option<u64>>) -> Result<(), RewriteError>,
) -> Result<(), RewriteError> {
    loop {
        let next = of.iter_mut().enumerate();
        let oldest = next.filter_map(|(i, s)| Some((s.peek()?, i))).min();
        let Some((ts, source)) = oldest.and_then(|(ts, i)| Some((ts, of.get_mut(i)?))) else {
            return Ok(());
        };
        match source.pop() {
            Some(What::Record { chunk, offset, len }) => take(Ok((ts, source.payload(chunk, offset, len))))?,
            Some(What::Lost(count)) => take(Err(count))?,
            None => {}
        }
    }
}
