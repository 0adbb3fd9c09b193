//! One recording by perf. Read `record_perf`: it is the order of things.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use netmortem_formats::bundle::{self, BundleWriter, Clocks, Manifest, Plan, PlannedPerf};
use netmortem_formats::{CpuStats, SnapshotWhen};

use super::drain::{Drained, Rings};
use super::events::{self, OnCpu, Scope, Wanted};
use super::sys::{Ring, SAMPLE_TYPE};
use crate::command::{self, Command};
use crate::drain::Shared;
use crate::error::RecordError;
use crate::finish::{Ended, finish};
use crate::limits::Limits;
use crate::options::{Output, RecordOptions};
use crate::output::{Made, Opened};
use crate::plan::{self, Enabled};
use crate::prepare::{recorder_info, write_texts};
use crate::record::{Progress, Summary};
use crate::signals::Signals;
use crate::symbols::Symbols;
use crate::watch::{Watched, watch};
use crate::{clock, host, limits, output, pcap, permissions, snapshot};

/// What is set up before anything is recorded; all events are switched off.
pub struct Set {
    symbols: Symbols,
    scope: Scope,
    /// The plan.
    pub manifest: Manifest,
    /// Events and rings.
    pub opened: Vec<(OnCpu, Ring)>,
}

/// Opens everything.
pub fn set_up(options: &RecordOptions, tracefs: &Path, because: String) -> Result<Set, RecordError> {
    let symbols = Symbols::read(&plan::functions(options.profile));
    let wanted = Wanted::new(tracefs);
    let enabled = plan::enable(&wanted, options.profile, &options.filters, symbols.functions())?;
    let scope = Scope::of(&options.perf)?;
    let mut manifest = manifest(options, enabled, &scope, because, &symbols)?;
    let ring_bytes = usize::try_from(manifest.plan.buffer_bytes_per_cpu).unwrap_or(usize::MAX);
    let (opened, granted) = events::open(&wanted.into_events(), &scope, &manifest.plan.cpus, ring_bytes)?;
    if granted < ring_bytes {
        manifest.plan.buffer_bytes_per_cpu = granted as u64;
        manifest.notes.push(format!(
            "{}{} KiB instead of {} on each of {} CPUs: this process may lock no more memory \
             (kernel.perf_event_mlock_kb and RLIMIT_MEMLOCK; CAP_IPC_LOCK lifts it)",
            limits::SHRUNK,
            granted >> 10,
            ring_bytes >> 10,
            manifest.plan.cpus.len()
        ));
    }
    Ok(Set {
        symbols,
        scope,
        manifest,
        opened,
    })
}

/// The events of each CPU, and its ring.
pub fn split(opened: Vec<(OnCpu, Ring)>) -> (Vec<OnCpu>, Vec<(u32, Ring)>) {
    let both = |(on, ring): (OnCpu, Ring)| {
        let cpu = on.cpu;
        (on, (cpu, ring))
    };
    opened.into_iter().map(both).unzip()
}

/// Who hears how it goes, and who hears that the bundle is whole.
pub type Says<'a, 'b> = (&'a mut dyn FnMut(&Progress), &'b mut dyn FnMut(&Summary));

/// Records. `because` says why this backend was chosen.
pub fn record_perf(
    (options, because): (&RecordOptions, String),
    tracefs: &Path,
    made: &mut Made,
    cpu_before_ns: u64,
    signals: &Signals,
    (tell, done): Says<'_, '_>,
) -> Result<Summary, RecordError> {
    let Set {
        symbols,
        scope,
        mut manifest,
        opened,
    } = set_up(options, tracefs, because).map_err(RecordError::by_perf)?;
    let taps = pcap::Taps::open(options, &mut manifest.notes)?;
    manifest.plan.packets = taps.plan();

    let Opened {
        sink,
        path,
        patience,
        made: file,
    } = output::open(&options.output, options.force)?;
    *made = file;
    let out_error = |source| RecordError::Output {
        path: path.clone().unwrap_or_else(|| "-".into()),
        source,
    };
    let mut writer = BundleWriter::new(sink, &manifest).map_err(out_error)?;
    write_texts(
        &mut writer,
        tracefs,
        tracefs,
        &manifest,
        &symbols.frame().map_err(out_error)?,
    )
    .map_err(out_error)?;
    drop(symbols);
    let mut problems = snapshot::take(SnapshotWhen::Start, &mut |what, t| {
        writer.append_snapshot(what, SnapshotWhen::Start, t)
    })
    .map_err(out_error)?;
    writer.append_clock_pair(&clock::clock_pair()).map_err(out_error)?;

    let shared = Arc::new(Shared::new(writer, patience)?);
    let (cpus, rings) = split(opened);
    let rings = Rings::start(rings, &shared)?;
    let taps = taps.start(&shared)?;
    let started = Instant::now();
    switch(&cpus, true)?;
    let mut command = match options.command.is_empty() {
        true => None,
        false => Some(Command::start(&options.command, options.output == Output::Stdout)?),
    };
    made.keep()?;
    let limits = Limits::of(options, manifest.machine.cpus_online.len());
    let watched = Watched {
        shared: &shared,
        taps: &taps,
        one_has_ended: &|| rings.one_has_ended(),
        // A command bounds it where there is one.
        tasks_have_ended: &|| options.command.is_empty() && scope.has_ended(&cpus),
        lost: &|| Ok(rings.lost.load(Ordering::Relaxed)),
    };
    let (stopped, readings) = watch(&limits, signals, &watched, &mut command, started, tell, &mut problems)?;
    switch(&cpus, false)?;
    let clock_at_end = clock::clock_pair();
    let elapsed = started.elapsed();
    // A reader of a pipe is waited for no longer.
    shared.stop();
    let packets = taps.finish()?;
    let drained = rings.finish()?;
    let (command, runs_on) = command::end(command, stopped.spares);
    let ring_bytes = shared.ring_bytes.load(Ordering::Relaxed);
    let shared = Arc::into_inner(shared).ok_or(RecordError::ThreadDied { cpu: 0 })?;
    let mut writer = shared.into_writer();
    problems.extend(
        snapshot::take(SnapshotWhen::End, &mut |what, t| {
            writer.append_snapshot(what, SnapshotWhen::End, t)
        })
        .map_err(out_error)?,
    );
    let cpu_stats = stats(&cpus, &drained, &scope, &mut problems);
    let ended = Ended {
        elapsed,
        stopped,
        clock: clock_at_end,
        cpu_stats,
        ring_bytes,
        packets,
        command,
        cpu_before_ns,
        problems,
        readings,
    };
    let mut summary = finish(writer, path, &manifest, ended)?;
    // Before the events are closed. The kernel waits for all its readers after the last of each kind, one kind after the other
    // (kernel/trace/trace_event_perf.c `perf_trace_event_unreg`, under event_mutex): threads do not make it faster.
    done(&summary);
    drop(cpus);
    if let Some(c) = runs_on {
        summary.command = Some(c.outlive(signals));
    }
    Ok(summary)
}

fn manifest(
    options: &RecordOptions,
    enabled: Enabled,
    scope: &Scope,
    because: String,
    symbols: &Symbols,
) -> Result<Manifest, RecordError> {
    let machine = host::machine();
    let filters = &options.filters;
    if let Some(cpu) = filters.cpus.iter().find(|c| !machine.cpus_online.contains(c)) {
        return Err(RecordError::NoCpu { cpu: *cpu });
    }
    let wanted = |c: &u32| filters.cpus.is_empty() || filters.cpus.contains(c);
    let cpus: Vec<u32> = machine.cpus_online.iter().copied().filter(wanted).collect();
    let mut notes = vec![format!("recorded by perf: {because}")];
    notes.extend(permissions::notes(symbols.are_hidden()));
    notes.extend(filters.notes(&enabled.events));
    if options.extra_kprobes {
        notes.push("--extra kprobes needs a tracing instance: none are recorded".to_owned());
    }
    if !matches!(scope, Scope::All) {
        notes.push(
            "only events of the chosen tasks: what interrupts did for them while others ran is missing, so that a packet's path \
             has holes"
                .to_owned(),
        );
    }
    let kib = limits::buffer_kib(options, cpus.len() as u64, &mut notes);
    let page = rustix::param::page_size() as u64;
    // The kernel takes powers of two of pages; never more than what was asked for.
    let pages = (kib.saturating_mul(1024) / page).max(1);
    let pages = 1u64 << pages.ilog2();
    Ok(Manifest {
        format_version: bundle::FORMAT_VERSION,
        recorder: recorder_info(options),
        host: host::host(u32::try_from(machine.cpus_online.len()).unwrap_or(u32::MAX)),
        machine,
        clocks: Clocks {
            trace_clock: "mono".to_owned(),
            start: clock::clock_pair(),
        },
        plan: Plan {
            profile: options.profile.name().to_owned(),
            perf: Some(PlannedPerf {
                sample_type: SAMPLE_TYPE,
                cgroup: match scope {
                    Scope::Cgroup(_, path) => path.display().to_string(),
                    _ => String::new(),
                },
                pids: options.perf.pids.clone(),
                because,
            }),
            buffer_bytes_per_cpu: pages.saturating_mul(page),
            cpus,
            filters: filters.texts(),
            events: enabled.events,
            absent: enabled.absent,
            ..Plan::default()
        },
        flight: None,
        slice: None,
        redacted: false,
        pseudonyms: vec![],
        notes,
    })
}

/// All events on, or off.
pub fn switch(cpus: &[OnCpu], on: bool) -> Result<(), RecordError> {
    for event in cpus.iter().flat_map(|c| &c.events) {
        let done = if on { event.enable() } else { event.disable() };
        done.map_err(|source| RecordError::System {
            doing: "switching an event of perf",
            source,
        })?;
    }
    Ok(())
}

/// What the rings gave and what the kernel says besides: it counts for each event what found no room, also after the last
/// record that did.
fn stats(cpus: &[OnCpu], drained: &[(u32, Drained)], scope: &Scope, problems: &mut Vec<String>) -> Vec<CpuStats> {
    let mut out = Vec::new();
    for (on, (cpu, d)) in cpus.iter().zip(drained) {
        let counts: Vec<(u64, Option<u64>)> = on.events.iter().filter_map(|e| e.counts().ok()).collect();
        let seen: u64 = counts.iter().map(|c| c.0).sum();
        let lost: Option<u64> = counts.iter().map(|c| c.1).sum();
        let lost = lost.unwrap_or(0).max(d.lost);
        // What a thread's children did is in its rings and its counts, but not in its losses.
        let known = matches!(scope, Scope::All) && counts.len() == on.events.len();
        let missing = if known {
            seen.saturating_sub(d.samples.saturating_add(lost))
        } else {
            0
        };
        if missing > 0 {
            // Seen on 6.18: events of interrupts that came while the CPU was idle; perf record misses them, too, and does not say so.
            problems.push(format!(
                "CPU {cpu}: the kernel counted {missing} events that it neither wrote nor called lost; where they are missing is unknown"
            ));
        }
        out.push(CpuStats {
            cpu: *cpu,
            overrun: lost,
            dropped_events: missing,
            read_events: d.samples,
            ..CpuStats::default()
        });
    }
    out
}
