//! One recording, from an empty instance to `end.json`. Read `record_to`: it is the order of things.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use netmortem_formats::bundle::{self, BundleWriter, CommandEnd, Manifest, TapEnd};
use netmortem_formats::{CpuStats, SnapshotWhen};
use rustix::fs::OFlags;

use crate::command::Command;
use crate::drain::{CpuDrain, Drains, Shared};
use crate::error::RecordError;
use crate::finish::{Ended, finish};
use crate::instance::Instance;
use crate::limits::Limits;
use crate::options::{Output, Profile, RecordOptions};
use crate::output::{Made, Opened};
use crate::perf::{self, Chosen, record_perf};
use crate::prepare::{prepare, write_texts};
use crate::probes::{self, Probes};
use crate::signals::Signals;
use crate::symbols::Symbols;
use crate::watch::{Watched, watch};
use crate::{clock, command, limits, output, pcap, plan, snapshot, tracefs};

/// A recording under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Since tracing was switched on.
    pub elapsed: Duration,
    /// Bytes in the bundle.
    pub bundle_bytes: u64,
    /// Bytes of sub-buffers read from the kernel.
    pub ring_bytes: u64,
    /// Events lost so far, all CPUs.
    pub lost: u64,
    /// SIGUSR1 or SIGUSR2 came, which only a flight heeds.
    pub unheeded: Option<&'static str>,
}

/// A recording that ended well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Where the bundle is; `None` is standard output.
    pub path: Option<PathBuf>,
    /// How long tracing was on.
    pub elapsed: Duration,
    /// Why it ended, as in `end.json`.
    pub stop_reason: String,
    /// What events were recorded by: ftrace or perf.
    pub backend: &'static str,
    /// Events in the bundle, all CPUs.
    pub events: u64,
    /// Events lost, all CPUs (overrun, commit overrun, dropped).
    pub lost: u64,
    /// Rings of a flight that do not reach back to the begin of its window; what they held is not counted in `lost`.
    pub short_rings: usize,
    /// Bytes of sub-buffers read from the kernel.
    pub ring_bytes: u64,
    /// Bytes of the bundle.
    pub bundle_bytes: u64,
    /// CPU time of the recorder itself, ns.
    pub cpu_ns: u64,
    /// Events enabled.
    pub enabled: usize,
    /// Events of the profile that were not recorded: this kernel lacks them, or refused their filter.
    pub absent: Vec<String>,
    /// What became of the interfaces of `--pcap`.
    pub packets: Vec<TapEnd>,
    /// How the command ended.
    pub command: Option<CommandEnd>,
    /// What a person should know, in sentences.
    pub notes: Vec<String>,
}

/// Records. Whatever it returns, and also when it panics, the instance is gone afterwards.
pub fn record(options: &RecordOptions, tell: &mut dyn FnMut(&Progress)) -> Result<Summary, RecordError> {
    record_saying(options, tell, &mut |_| {})
}

/// The same; `done` hears of it as soon as the bundle is whole: the kernel takes seconds to close the events of perf.
pub fn record_saying(
    options: &RecordOptions,
    tell: &mut dyn FnMut(&Progress),
    done: &mut dyn FnMut(&Summary),
) -> Result<Summary, RecordError> {
    let mut made = Made::default();
    record_to(options, &mut made, tell, done).map_err(|e| match e {
        RecordError::Output { source, .. } => made.failed(source),
        e => e,
    })
}

fn record_to(
    options: &RecordOptions,
    made: &mut Made,
    tell: &mut dyn FnMut(&Progress),
    done: &mut dyn FnMut(&Summary),
) -> Result<Summary, RecordError> {
    command::find(&options.command)?;
    output::check(&options.output, options.force)?;
    let cpu_before_ns = clock::process_cpu_ns();
    let signals = Signals::take();
    let tracefs = tracefs::find().map_err(|e| if options.perf.is_asked_for() { e.by_perf() } else { e })?;
    // Dropped after the instance, which has them enabled.
    let mut probes = Probes::new(&tracefs);
    let (instance, mut removed) = match perf::choose(options, &tracefs)? {
        Chosen::Ftrace(instance, removed) => (instance, removed),
        Chosen::Perf(because) => {
            let say = (tell, done);
            return record_perf((options, because), &tracefs, made, cpu_before_ns, &signals, say);
        }
    };
    removed.extend(probes::remove_stale(&tracefs));
    let symbols = Symbols::read(&plan::functions(options.profile));
    let mut manifest = prepare(&instance, options, &symbols, removed)?;
    if options.extra_kprobes {
        let (events, absent) = probes.enable(&instance);
        manifest.plan.events.extend(events);
        manifest.plan.absent.extend(absent);
    }
    let taps = pcap::Taps::open(options, &mut manifest.notes)?;
    manifest.plan.packets = taps.plan();

    let Opened {
        sink,
        path,
        patience,
        made: opened,
    } = output::open(&options.output, options.force)?;
    *made = opened;
    let out_error = |source| RecordError::Output {
        path: path.clone().unwrap_or_else(|| "-".into()),
        source,
    };
    let mut writer = BundleWriter::new(sink, &manifest).map_err(out_error)?;
    write_texts(
        &mut writer,
        &tracefs,
        &instance.join(""),
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

    let drains = open_drains(&instance, &manifest.plan)?;
    let online = manifest.plan.cpus.clone();
    let drains = Drains::start(Shared::new(writer, patience)?, drains, &online)?;
    // Dropped before the drains, whose writer it uses. Packets are taken before the first event and after the last.
    let taps = taps.start(drains.share())?;
    let started = Instant::now();
    // Dropped before the drains: on every way out tracing stops before they read what is left.
    let tracing = Tracing::on(&instance)?;
    let mut command = match options.command.is_empty() {
        true => None,
        false => Some(Command::start(&options.command, options.output == Output::Stdout)?),
    };
    made.keep()?;

    let limits = Limits::of(options, manifest.machine.cpus_online.len());
    let watched = Watched {
        shared: drains.shared(),
        taps: &taps,
        one_has_ended: &|| drains.one_has_ended(),
        tasks_have_ended: &|| false,
        lost: &|| Ok(stats(&instance, &[])?.iter().map(lost_events).sum()),
    };
    let (stopped, readings) = watch(&limits, &signals, &watched, &mut command, started, tell, &mut problems)?;
    tracing.off()?;
    let clock_at_end = clock::clock_pair();
    let elapsed = started.elapsed();
    // Probes may still be between reserve and commit; switching the events off waits for them.
    instance.write("events/enable", "0")?;
    let packets = taps.finish()?;
    let shared = drains.finish()?;
    let (command, runs_on) = command::end(command, stopped.spares);
    let ring_bytes = shared.ring_bytes.load(Ordering::Relaxed);
    let mut writer = shared.into_writer();
    problems.extend(
        snapshot::take(SnapshotWhen::End, &mut |what, t| {
            writer.append_snapshot(what, SnapshotWhen::End, t)
        })
        .map_err(out_error)?,
    );
    let cmdlines = tracefs::read(&tracefs.join("saved_cmdlines")).unwrap_or_default();
    writer.append(bundle::SAVED_CMDLINES, &cmdlines).map_err(out_error)?;
    let cpu_stats = stats(&instance, &online)?;
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
    instance.remove()?;
    drop(probes);
    done(&summary);
    if let Some(c) = runs_on {
        summary.command = Some(c.outlive(&signals));
    }
    Ok(summary)
}

/// Tracing is on while this lives.
pub struct Tracing<'i>(&'i Instance);

impl<'i> Tracing<'i> {
    /// Switches it on.
    pub fn on(instance: &'i Instance) -> Result<Tracing<'i>, RecordError> {
        instance.write("tracing_on", "1")?;
        Ok(Tracing(instance))
    }
    /// Switches it off, and says when that fails.
    pub fn off(self) -> Result<(), RecordError> {
        self.0.write("tracing_on", "0")
    }
}

impl Drop for Tracing<'_> {
    fn drop(&mut self) {
        // On the way out of an error that is already being returned; the instance is removed next in any case.
        let _ = self.0.write("tracing_on", "0");
    }
}

/// Opens the reading end of every CPU's buffer.
pub fn open_drains(instance: &Instance, plan: &netmortem_formats::bundle::Plan) -> Result<Vec<CpuDrain>, RecordError> {
    let open = |cpu: u32| {
        let path = instance.join(&format!("per_cpu/cpu{cpu}/trace_pipe_raw"));
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        let raw = OpenOptions::new().read(true).custom_flags(flags).open(&path);
        CpuDrain::new(
            cpu,
            raw.map_err(|e| RecordError::tracefs("opening", path, e))?,
            plan.sub_buffer_bytes,
            plan.buffer_bytes_per_cpu,
        )
    };
    instance.cpus().into_iter().map(open).collect()
}

/// Events that are not in the bundle.
pub fn lost_events(s: &CpuStats) -> u64 {
    s.overrun
        .saturating_add(s.commit_overrun)
        .saturating_add(s.dropped_events)
}

/// Statistics of the CPUs in `always`, and of all others that recorded something.
pub fn stats(instance: &Instance, always: &[u32]) -> Result<Vec<CpuStats>, RecordError> {
    let mut out = Vec::new();
    for cpu in instance.cpus() {
        let s = instance.stats(cpu)?;
        if always.contains(&cpu) || s.read_events > 0 || s.entries > 0 || lost_events(&s) > 0 {
            out.push(s);
        }
    }
    Ok(out)
}

/// Sentences about events that are not in the bundle.
pub fn judge(stats: &[CpuStats], manifest: &Manifest, problems: &mut Vec<String>) {
    let shrunk = manifest.notes.iter().any(|n| n.starts_with(limits::SHRUNK));
    // Of the smallest profile there is none smaller.
    let smallest = manifest.plan.profile == Profile::Drops.name();
    let advice = match (shrunk, smallest) {
        (true, false) => {
            "; a larger ring loses fewer, which a limit kept smaller (see the notes), or a smaller --profile"
        }
        (true, true) => "; a larger ring loses fewer, which a limit kept smaller (see the notes)",
        (false, false) => "; a larger --buffer-size or a smaller --profile loses fewer",
        (false, true) => "; a larger --buffer-size loses fewer",
    };
    for s in stats {
        if s.entries > 0 {
            problems.push(format!(
                "CPU {}: {} events stayed in the kernel and are not in the bundle",
                s.cpu, s.entries
            ));
        }
        let lost = lost_events(s);
        if lost > 0 {
            problems.push(format!(
                "CPU {}: {lost} events lost{}",
                s.cpu,
                // What perf did not even count found no room for another reason.
                if s.overrun > 0 || manifest.plan.perf.is_none() {
                    advice
                } else {
                    ""
                }
            ));
        }
    }
}
