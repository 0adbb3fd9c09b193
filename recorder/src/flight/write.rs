//! One bundle of a flight: from the trigger to the rings armed again.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use netmortem_formats::bundle::{
    self, BundleWriter, End, Flight, FlightCpu, FlightEnd, Manifest, RecorderEnd, Trigger,
};
use netmortem_formats::{CpuStats, SnapshotWhen};

use super::history::Beside;
use super::telling::Telling;
use super::{Counters, Cut, Delays, Flying, names};
use crate::drain::{Drains, Shared, Sink};
use crate::error::RecordError;
use crate::output::Made;
use crate::prepare::write_texts;
use crate::record::{Summary, judge, open_drains, stats};
use crate::signals::{self, Signals};
use crate::snapshot::{self, second};
use crate::watch::only_notices;
use crate::{clock, host, output, tracefs};

/// Probes that were under way when tracing was switched off have preemption off: this is long for them.
const SETTLE: Duration = Duration::from_millis(10);
/// How often `after` looks for a signal.
const TICK: Duration = Duration::from_millis(50);
/// How long what is read beside the counters is waited for where no later moment is left to take it.
const PATIENCE: Duration = Duration::from_millis(200);

impl Flying<'_> {
    /// Writes the bundle of a trigger. When its file cannot be written the flight goes on, and says why: the next trigger
    /// tries again.
    pub(super) fn attempt(
        &mut self,
        trigger: Trigger,
        signals: &Signals,
    ) -> Result<Result<Summary, String>, RecordError> {
        let mut made = Made::default();
        if let Err(source) = self.room()? {
            let why = format!("{source}; the rings were not read, and go on; armed: the next trigger tries again");
            self.failed = Some(RecordError::Create {
                path: self.base.into(),
                source,
            });
            return Ok(Err(why));
        }
        let error = match self.write(trigger, signals, &mut made) {
            Ok(summary) => return Ok(Ok(summary)),
            Err(RecordError::Output { source, .. }) => made.failed(source),
            Err(e @ RecordError::Create { .. }) => e,
            Err(e) => return Err(e),
        };
        let rings = match made.is_kept() {
            true => {
                // It is there, and counts as one.
                self.cut = self.cut.saturating_add(1);
                let bytes = made.path().and_then(|p| p.metadata().ok()).map_or(0, |m| m.len());
                self.bytes = self.bytes.saturating_add(bytes);
                self.rearm()?;
                "what was not written of the rings is lost"
            }
            false => "the rings were not read, and go on",
        };
        let why = format!("{error}; {rings}; armed: the next trigger tries again");
        self.failed = Some(error);
        Ok(Err(why))
    }

    /// Whether there is room for what the rings hold.
    fn room(&self) -> Result<io::Result<()>, RecordError> {
        let held = stats(self.instance, &[])?.iter().map(|s| s.bytes).sum();
        let plan = &self.manifest.plan;
        let rings = plan.buffer_bytes_per_cpu.saturating_mul(plan.cpus.len() as u64);
        Ok(output::check_room(self.base, held, rings))
    }

    /// Empties the rings, and switches them on.
    fn rearm(&mut self) -> Result<(), RecordError> {
        self.instance.write("tracing_on", "0")?;
        self.instance.reset()?;
        self.instance.write("tracing_on", "1")?;
        self.armed = clock::clock_pair();
        // The next window cannot begin before this; the counters of the rates go on.
        self.history
            .begin(second::take(second::MOST_BYTES_KEPT, &mut self.left_out));
        self.ask();
        Ok(())
    }

    /// The rings are armed again before the last members are written.
    fn write(&mut self, trigger: Trigger, signals: &Signals, made: &mut Made) -> Result<Summary, RecordError> {
        let triggered = Instant::now();
        let cpu_before_ns = clock::process_cpu_ns();
        let path = self.create()?;
        *made = Made::of(path.clone());
        let out_error = |source| RecordError::Output {
            path: path.clone(),
            source,
        };
        let manifest = self.describe(trigger);
        // Those that come from here on are for the next.
        self.suppressed.0 = 0;
        let window_start_ns = manifest.flight.as_ref().map_or(0, |f| f.window_start_ns);
        let (sink, patience) = output::open_own(&path)?;
        let mut writer = BundleWriter::new(sink, &manifest).map_err(out_error)?;
        write_texts(
            &mut writer,
            self.tracefs,
            &self.instance.join(""),
            &manifest,
            &self.symbols,
        )
        .map_err(out_error)?;
        let mut telling = Telling::new();
        let mut problems = self.before(&mut writer, &mut telling).map_err(out_error)?;
        let stop_reason = self
            .after(&mut writer, &mut telling, triggered, signals)
            .map_err(out_error)?;

        self.instance.write("tracing_on", "0")?;
        let clock_at_end = clock::clock_pair();
        std::thread::sleep(SETTLE);
        let mut drains = open_drains(self.instance, &manifest.plan)?;
        if let Some(layout) = self.layout {
            // Only this clock can be compared with the window's start.
            let mono = manifest.clocks.trace_clock == "mono";
            let start = if mono {
                u64::try_from(window_start_ns).unwrap_or(0)
            } else {
                0
            };
            drains.iter_mut().for_each(|d| d.set_cut(Cut::new(layout, start)));
        }
        let online = manifest.plan.cpus.clone();
        made.keep()?;
        let (shared, cuts) = Drains::start(Shared::new(writer, patience)?, drains, &online)?.finish_cut()?;
        let kernel = stats(self.instance, &online)?;
        self.rearm()?;

        let ring_bytes = shared.ring_bytes.load(Ordering::Relaxed);
        let mut writer = shared.into_writer();
        problems.extend(
            snapshot::take(SnapshotWhen::End, &mut |what, t| {
                writer.append_snapshot(what, SnapshotWhen::End, t)
            })
            .map_err(out_error)?,
        );
        let cmdlines = tracefs::read(&self.tracefs.join("saved_cmdlines")).unwrap_or_default();
        writer.append(bundle::SAVED_CMDLINES, &cmdlines).map_err(out_error)?;
        problems.extend(self.left_out.sentence(second::MOST_BYTES_KEPT));
        problems.extend(telling.sentences());
        problems.extend(self.notices.sentences());
        let (cpus, cpu_stats) = of_window(&kernel, &cuts);
        say(&cpus, window_start_ns, &manifest, &mut problems);
        // Of what was overwritten `say` tells, with how far the ring reaches.
        let beside: Vec<CpuStats> = cpu_stats
            .iter()
            .map(|s| CpuStats {
                overrun: 0,
                ..s.clone()
            })
            .collect();
        judge(&beside, &manifest, &mut problems);
        let command = self.command.as_mut().and_then(|c| c.ended());
        let cpu_ns = clock::process_cpu_ns().saturating_sub(cpu_before_ns);
        let sum = |f: fn(&CpuStats) -> u64| cpu_stats.iter().map(f).sum::<u64>();
        let events = sum(|s| s.read_events);
        // What was overwritten since it was armed is not what the window lacks: of these rings `problems` tells.
        let short: Vec<u32> = cpus.iter().filter(|c| !c.reaches_back).map(|c| c.cpu).collect();
        let lost_of = |s: &CpuStats| match short.contains(&s.cpu) {
            true => crate::record::lost_events(s).saturating_sub(s.overrun),
            false => crate::record::lost_events(s),
        };
        let lost = cpu_stats.iter().map(lost_of).sum();
        let notes = manifest.notes.iter().chain(&problems).cloned().collect();
        let end = End {
            packets: Vec::new(),
            stop_reason: stop_reason.clone(),
            clock: clock_at_end,
            cpu_stats,
            command: command.clone(),
            recorder: RecorderEnd { cpu_ns, ring_bytes },
            readings: telling.end(),
            flight: Some(FlightEnd { cpus }),
            problems,
            of_incomplete: false,
            members: Vec::new(),
        };
        let (_sink, bundle_bytes) = writer.finish(end).map_err(out_error)?;
        self.bundles = self.bundles.saturating_add(1);
        self.bytes = self.bytes.saturating_add(bundle_bytes);
        let window_ns = clock_at_end.monotonic_ns.saturating_sub(window_start_ns);
        Ok(Summary {
            packets: Vec::new(),
            path: Some(path),
            elapsed: Duration::from_nanos(u64::try_from(window_ns).unwrap_or(0)),
            stop_reason,
            backend: "ftrace",
            events,
            lost,
            short_rings: short.len(),
            ring_bytes,
            bundle_bytes,
            cpu_ns,
            enabled: manifest.plan.events.len(),
            absent: manifest.plan.absent.iter().map(|a| a.name.clone()).collect(),
            command,
            notes,
        })
    }

    fn create(&self) -> Result<PathBuf, RecordError> {
        names::take(self.base).map_err(|source| RecordError::Create {
            path: self.base.into(),
            source,
        })
    }

    /// The manifest of this bundle.
    fn describe(&self, trigger: Trigger) -> Manifest {
        let ns = |d: Duration| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX);
        let before_ns = ns(self.flight.before);
        let asked = trigger
            .clock
            .monotonic_ns
            .saturating_sub(i64::try_from(before_ns).unwrap_or(i64::MAX));
        let mut m = self.manifest.clone();
        m.machine.cpus_online = host::cpus_online();
        if let Some(start) = self.history.start() {
            m.clocks.start = start;
        }
        m.notes
            .push(format!("written because {} (--on {})", trigger.sentence, trigger.on));
        m.notes.extend(self.delays.iter().flat_map(Delays::notes));
        m.flight = Some(Flight {
            on: self.flight.on.iter().map(|on| on.spec.clone()).collect(),
            before_ns,
            after_ns: ns(self.flight.after),
            sequence: self.bundles.saturating_add(1),
            armed: self.armed,
            window_start_ns: asked.max(self.armed.monotonic_ns),
            start_snapshots: clock::clock_pair(),
            trigger,
            suppressed: self.suppressed.0,
        });
        m
    }

    /// The host at the window's start: counters as the first of the kept seconds has them, the rest as it is now.
    fn before(&mut self, writer: &mut BundleWriter<Sink>, telling: &mut Telling) -> io::Result<Vec<String>> {
        let first = self.history.first();
        let problems = snapshot::take(SnapshotWhen::Start, &mut |what, now| {
            let proc_text = |s: &&bundle::Second| s.texts.iter().find(|(w, _)| w == what && w != "qdiscs").cloned();
            let then = first.as_ref().and_then(proc_text);
            let text = then.as_ref().map_or(now, |(_, t)| t);
            writer.append_snapshot(what, SnapshotWhen::Start, text)
        })?;
        self.wait();
        let newest = self.history.newest().map(|m| m.second.clock);
        for moment in self.history.moments() {
            let mut second = telling.tell(moment);
            if newest == Some(second.clock) {
                self.notices.put(&mut second);
            }
            writer.append_second(&second)?;
        }
        for pair in self.history.start().into_iter().chain([clock::clock_pair()]) {
            writer.append_clock_pair(&pair)?;
        }
        Ok(problems)
    }

    /// Lets what is read beside the counters come.
    fn wait(&mut self) {
        if let Some(reading) = self.beside.wait(PATIENCE) {
            self.history.attach(reading);
        }
    }

    /// Writes the newest moment.
    fn put(&self, writer: &mut BundleWriter<Sink>, telling: &mut Telling) -> io::Result<()> {
        if let Some(moment) = self.history.newest() {
            let mut second = telling.tell(moment);
            self.notices.put(&mut second);
            writer.append_second(&second)?;
        }
        writer.flush()
    }

    /// Lets `after` pass; a signal or the limit of time cuts it short. Returns why it ended.
    fn after(
        &mut self,
        writer: &mut BundleWriter<Sink>,
        telling: &mut Telling,
        triggered: Instant,
        signals: &Signals,
    ) -> io::Result<String> {
        // The newest moment waits for what is read beside its counters, until the next.
        let mut waits = false;
        let reason = loop {
            let passed = triggered.elapsed();
            if passed >= self.flight.after {
                break "trigger";
            }
            if let Some(name) = signals.received() {
                break name;
            }
            if self.limits.duration.is_some_and(|d| self.started.elapsed() >= d) {
                break "duration";
            }
            self.gather();
            let is_due = Instant::now() >= self.due;
            let came = self.history.newest().is_some_and(|m| m.beside != Beside::Waited);
            if waits && (came || is_due) {
                waits = false;
                self.put(writer, telling)?;
            }
            if is_due {
                let last = self.history.newest().map(|m| m.second.clock);
                let _: Counters = self.second();
                waits = self.history.newest().map(|m| m.second.clock) != last;
            }
            let more = u64::try_from(signals::take_triggers()).unwrap_or(0);
            self.suppressed.0 = self.suppressed.0.saturating_add(more);
            self.suppressed.1 = self.suppressed.1.saturating_add(more);
            std::thread::sleep(TICK.min(self.flight.after.saturating_sub(passed)));
        };
        if waits {
            self.wait();
            self.put(writer, telling)?;
        }
        if self.notices.has_some() {
            let mut rest = only_notices();
            self.notices.put(&mut rest);
            writer.append_second(&rest)?;
        }
        Ok(reason.to_owned())
    }
}

/// What each ring had of the window, and its statistics as an analyzer needs them: `read_events` are those in the bundle,
/// and what was overwritten counts only where it reaches into the window.
fn of_window(kernel: &[CpuStats], cuts: &[(u32, Cut)]) -> (Vec<FlightCpu>, Vec<CpuStats>) {
    let mut cpus = Vec::new();
    let mut out = Vec::new();
    for s in kernel {
        let cut = cuts.iter().find(|(cpu, _)| *cpu == s.cpu).map(|(_, c)| c);
        let cut_events = cut.map_or(0, |c| c.events);
        let reaches_back = s.overrun == 0 || cut.is_some_and(|c| c.sub_buffers > 0 || c.starts_before);
        cpus.push(FlightCpu {
            cpu: s.cpu,
            reaches_back,
            first_ts: cut.and_then(|c| c.first_ts),
            cut_sub_buffers: cut.map_or(0, |c| c.sub_buffers),
            cut_events,
            overwritten: s.overrun,
        });
        out.push(CpuStats {
            read_events: s.read_events.saturating_sub(cut_events),
            overrun: if reaches_back { 0 } else { s.overrun },
            ..s.clone()
        });
    }
    (cpus, out)
}

fn say(cpus: &[FlightCpu], window_start_ns: i64, manifest: &Manifest, problems: &mut Vec<String>) {
    let Some(flight) = &manifest.flight else { return };
    let noticed = flight.trigger.clock.monotonic_ns;
    for c in cpus.iter().filter(|c| !c.reaches_back) {
        let first = c.first_ts.and_then(|t| i64::try_from(t).ok()).unwrap_or(noticed);
        let seconds = |ns: i64| ns as f64 / 1e9;
        let reach = noticed.saturating_sub(first);
        let begins = match reach {
            0.. => format!("reaches back {:.3} s before the trigger", seconds(reach)),
            _ => format!("begins {:.3} s after the trigger", seconds(reach.saturating_neg())),
        };
        problems.push(format!(
            "CPU {}: its ring {begins}, not {:.3} s before it: older events were overwritten; a larger --buffer-size or a \
             smaller --profile reaches further",
            c.cpu,
            seconds(noticed.saturating_sub(window_start_ns)),
        ));
    }
}
