//! `--dry-run`: what would be recorded, and a count of one second to tell what it would cost. Nothing is written; the
//! instance is made and removed as for a recording.

use std::fmt::Write;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use netmortem_formats::bundle::{BundleWriter, Plan, PlannedEvent};

use crate::drain::{Drains, Shared};
use crate::error::RecordError;
use crate::limits::Limits;
use crate::options::RecordOptions;
use crate::output::Patience;
use crate::perf::{self, Chosen, Counted};
use crate::prepare::prepare;
use crate::probes::Probes;
use crate::record::{Tracing, lost_events, open_drains, stats};
use crate::signals::Signals;
use crate::symbols::Symbols;
use crate::{clock, plan, tracefs};

const COUNT: Duration = Duration::from_secs(1);
/// What an enabled tracepoint costs the path it is on, us for each event: 0.13 to 0.28 were measured on a quiet machine, up
/// to 0.4 on a busy one (6.18, x86-64; docs/recording.md).
const EVENT_US: [f64; 2] = [0.1, 0.4];
/// The same by perf: 0.48 to 0.55 (docs/recorder-cost.md: CPU per operation more than with nothing, by the events of one).
const PERF_EVENT_US: [f64; 2] = [0.4, 0.7];

/// A plan, and what one second of it gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecast {
    /// As it would be in the manifest.
    pub plan: Plan,
    /// Sentences of the plan: reduced buffers, what filters hold for.
    pub notes: Vec<String>,
    /// When it would stop by itself.
    pub limits: Limits,
    /// Length of the count.
    pub counted: Duration,
    /// Events that the kernel wrote in it.
    pub events: u64,
    /// Events of these that were read to tell their size; less when the buffers overflowed.
    pub sampled: u64,
    /// Bytes of sub-buffers of the sample.
    pub ring_bytes: u64,
    /// Bytes of the sample in a bundle.
    pub bundle_bytes: u64,
    /// CPU time to read and compress the sample, ns.
    pub cpu_ns: u64,
}

/// Counts for a second. The output is not touched and the command is not run.
pub fn dry_run(options: &RecordOptions) -> Result<Forecast, RecordError> {
    let _signals = Signals::take();
    let tracefs = tracefs::find().map_err(|e| if options.perf.is_asked_for() { e.by_perf() } else { e })?;
    // Dropped after the instance, which has them enabled.
    let mut probes = Probes::new(&tracefs);
    let (instance, removed) = match perf::choose(options, &tracefs)? {
        Chosen::Ftrace(instance, removed) => (instance, removed),
        Chosen::Perf(because) => return forecast(perf::count_perf(options, &tracefs, because, &count)?, options),
    };
    let mut manifest = prepare(
        &instance,
        options,
        &Symbols::read(&plan::functions(options.profile)),
        removed,
    )?;
    if options.extra_kprobes {
        let (events, absent) = probes.enable(&instance);
        manifest.plan.events.extend(events);
        manifest.plan.absent.extend(absent);
    }
    // Opened to see that it can be; packets are not counted.
    manifest.plan.packets = crate::pcap::Taps::open(options, &mut manifest.notes)?.plan();
    let out_error = |source| RecordError::Output {
        path: "the sample".into(),
        source,
    };
    let writer = BundleWriter::new(Box::new(std::io::sink()) as crate::drain::Sink, &manifest).map_err(out_error)?;
    let before = writer.bytes_written();
    let drains = open_drains(&instance, &manifest.plan)?;
    let started = Instant::now();
    let tracing = Tracing::on(&instance)?;
    count();
    tracing.off()?;
    let counted = started.elapsed();
    instance.write("events/enable", "0")?;
    // Without threads: what is left in the buffers is read once, at the end. So this thread's time is all that it costs.
    let cpu_before = clock::thread_cpu_ns();
    let drains = Drains::start(Shared::new(writer, Patience::default())?, drains, &[])?;
    let shared = drains.finish()?;
    let cpu_ns = clock::thread_cpu_ns().saturating_sub(cpu_before);
    let stats = stats(&instance, &[])?;
    let sampled = stats.iter().map(|s| s.read_events).sum();
    let lost: u64 = stats.iter().map(lost_events).sum();
    let ring_bytes = shared.ring_bytes.load(Ordering::Relaxed);
    let bundle_bytes = shared.bundle_bytes.load(Ordering::Relaxed).saturating_sub(before);
    let limits = Limits::of(options, manifest.machine.cpus_online.len());
    instance.remove()?;
    Ok(Forecast {
        plan: manifest.plan,
        notes: manifest.notes,
        limits,
        counted,
        events: lost.saturating_add(sampled),
        sampled,
        ring_bytes,
        bundle_bytes,
        cpu_ns,
    })
}

/// For as long as it is counted.
fn count() {
    let started = Instant::now();
    while started.elapsed() < COUNT && !crate::signals::came() {
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// What perf counted.
fn forecast(counted: Counted, options: &RecordOptions) -> Result<Forecast, RecordError> {
    let mut manifest = counted.manifest;
    manifest.plan.packets = crate::pcap::Taps::open(options, &mut manifest.notes)?.plan();
    Ok(Forecast {
        limits: Limits::of(options, manifest.machine.cpus_online.len()),
        plan: manifest.plan,
        notes: manifest.notes,
        counted: counted.elapsed,
        events: counted.events,
        sampled: counted.sampled,
        ring_bytes: counted.ring_bytes,
        bundle_bytes: counted.bundle_bytes,
        cpu_ns: counted.cpu_ns,
    })
}

impl Forecast {
    /// Per second: events, bytes in the rings, bytes in the bundle, CPU seconds of the recorder.
    pub fn rates(&self) -> [f64; 4] {
        let events = self.events as f64 / self.counted.as_secs_f64().max(1e-9);
        let each = |n: u64| events * n as f64 / self.sampled.max(1) as f64;
        [
            events,
            each(self.ring_bytes),
            each(self.bundle_bytes),
            each(self.cpu_ns) / 1e9,
        ]
    }

    /// What the count says.
    fn count(&self, out: &mut String) {
        let mib = |b: f64| b / f64::from(1 << 20);
        let [events, ring, bundle, cpu] = self.rates();
        _ = writeln!(
            out,
            "counted for {:.1} s: {events:.0} events/s, {:.3} MiB/s in the buffers, {:.3} MiB/s in the bundle",
            self.counted.as_secs_f64(),
            mib(ring),
            mib(bundle)
        );
        if self.sampled < self.events {
            let read = self.sampled;
            _ = match self.plan.perf {
                None => writeln!(
                    out,
                    "the buffers overflowed in this second; sizes are of the {read} events that were left. A recording reads all the time"
                ),
                Some(_) => writeln!(
                    out,
                    "not all that was counted was in the rings, which nobody read meanwhile; sizes are of the {read} events that were"
                ),
            };
        }
        let percent = |us: f64| events * us / 1e4;
        let each_us = match self.plan.perf {
            Some(_) => PERF_EVENT_US,
            None => EVENT_US,
        };
        _ = writeln!(
            out,
            "cost: {:.1} to {:.1} % of one CPU on the traced paths ({} to {} us for each event), {:.1} % for the recorder",
            percent(each_us[0]),
            percent(each_us[1]),
            each_us[0],
            each_us[1],
            cpu * 100.0
        );
        if let Some(after) = self.limits.bytes_end(bundle) {
            _ = writeln!(out, "at this rate the limit of bytes is reached after {after:.0} s");
        }
    }

    /// For a person.
    pub fn text(&self) -> String {
        let p = &self.plan;
        let mut out = format!("profile {}: {} kinds of events", p.profile, p.events.len());
        if !p.filters.is_empty() {
            _ = write!(out, "; only {}", p.filters.join(", "));
        }
        out.push('\n');
        out += &events(&p.events);
        for a in &p.absent {
            _ = writeln!(out, "  not {}: {}", a.name, a.because);
        }
        let cpus = p.cpus.len() as u64;
        let mib = |b: f64| b / f64::from(1 << 20);
        let all = p.buffer_bytes_per_cpu.saturating_mul(cpus);
        _ = writeln!(
            out,
            "buffers: {} KiB on each of {cpus} CPUs, {:.1} MiB of kernel memory",
            p.buffer_bytes_per_cpu >> 10,
            mib(all as f64)
        );
        for t in &p.packets {
            let netns = t.netns_text();
            let (name, ring) = (&t.name, mib(t.ring_bytes as f64));
            let what = match t.snaplen {
                None => "headers of packets".to_owned(),
                Some(n) => format!("{n} bytes of packets"),
            };
            let of = if netns.is_empty() {
                String::new()
            } else {
                format!(" in {netns}")
            };
            let filter = if t.filter.is_empty() {
                String::new()
            } else {
                format!(", only {}", t.filter)
            };
            _ = writeln!(
                out,
                "{what} of {name}{of}{filter}; ring of {ring:.3} MiB (not counted below)"
            );
        }
        let l = &self.limits;
        // Only a flight is without a limit of time and without a command that bounds it.
        let endless = match l.duration_is_default {
            true => "no limit of time",
            false => "the command ends",
        };
        let duration = l
            .duration
            .map_or(endless.to_owned(), |d| format!("{} s", d.as_secs_f64()));
        let bytes = l
            .bytes
            .map_or("no limit of bytes".to_owned(), |b| format!("{:.0} MiB", mib(b as f64)));
        _ = writeln!(
            out,
            "stops after: {duration}, {bytes}, or {} % of one CPU for 5 s",
            l.cpu_percent
        );
        self.count(&mut out);
        for n in &self.notes {
            _ = writeln!(out, "note: {n}");
        }
        out
    }
}

/// A line for each system, with the filters.
fn events(all: &[PlannedEvent]) -> String {
    let mut lines: Vec<(&str, String)> = Vec::new();
    for e in all {
        let (system, name) = e.name.split_once(':').unwrap_or(("", &e.name));
        let text = match e.filter.as_str() {
            "" => name.to_owned(),
            f => format!("{name} if {f}"),
        };
        match lines.iter_mut().find(|(s, _)| *s == system) {
            Some((_, line)) => _ = write!(line, ", {text}"),
            None => lines.push((system, text)),
        }
    }
    lines.iter().fold(String::new(), |out, (system, line)| {
        out + &format!("  {system}: {line}\n")
    })
}
