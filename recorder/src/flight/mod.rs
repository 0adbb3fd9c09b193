//! The flight recorder: rings in kernel memory that nobody reads, until something happens; then what lies before and after
//! it becomes a bundle, and the rings are armed again.
//!
//! In: a recording's options and [`FlightOptions`]. Out: a bundle for each trigger (`docs/bundle.md`, "A flight"). It must
//! not read a ring while it is armed, decode payloads, or leave anything behind. Follows Documentation/trace/ftrace.rst
//! (overwrite mode, trace_pipe, buffer_percent).
//!
//! ```text
//!          every second: /proc/net -> counters -> rate > limit?   drop_watch: one filtered event   SIGUSR1   exit of CMD
//!                 delays: the kernel's histograms -> longest >= limit?
//!                 notices, in a thread of its own: what the kernel announces -> as old as the window
//!                 pack, in a thread of its own: network cards, qdiscs, sockets, other namespaces -> history
//!                                           |
//! armed (rings overwrite their oldest) -> trigger -> manifest, texts, seconds of before -> `after` passes
//!    ^                                                        -> tracing_on 0 -> all rings, cut to the window -> reset
//!    +---------------- tracing_on 1 <-----------------------------------------------------------------------------+
//!                                                             -> snapshots/end, end.json
//! ```

mod check;
mod counters;
mod cut;
mod delays;
mod drop_watch;
mod ends;
mod history;
mod look;
mod names;
mod namespaces;
mod pack;
mod spec;
mod telling;
#[cfg(test)]
mod tests;
mod write;

use std::time::{Duration, Instant};

use netmortem_formats::ClockPair;
use netmortem_formats::bundle::{Manifest, Trigger};
use netmortem_formats::sub_buffer::PageLayout;

use crate::command::Command;
use crate::error::RecordError;
use crate::instance::Instance;
use crate::limits::Limits;
use crate::notices::Notices;
use crate::options::RecordOptions;
use crate::prepare::prepare;
use crate::probes::{self, Probes};
use crate::record::{Summary, Tracing};
use crate::signals::Signals;
use crate::snapshot::second::{self, LeftOut};
use crate::symbols::Symbols;
use crate::watch::{CpuShare, Stopped};
use crate::{clock, command, output, plan, tracefs};

use check::{check, reasons};
use counters::Counters;
use delays::Delays;
use drop_watch::DropWatch;
use history::History;
use namespaces::Namespaces;

pub use check::check_plan;
pub use cut::Cut;
pub use spec::{DelayOf, FORMS, On, OnKind, Rate};

/// Ring buffer per CPU when none is asked for, KiB: nobody reads it meanwhile, so it has to hold all of `before`.
pub const FLIGHT_BUFFER_KIB: u64 = 32 << 10;
/// A flight ends after so many bundles when nobody says otherwise.
pub const MAX_BUNDLES: u64 = 10;
/// How late a signal or the end of the command may be noticed.
const TICK: Duration = Duration::from_millis(200);
const SECOND: Duration = Duration::from_secs(1);

/// What makes a recording a flight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlightOptions {
    /// What to wait for, besides SIGUSR1.
    pub on: Vec<On>,
    /// What lies this long before the trigger goes into the bundle, as far as the rings reach back.
    pub before: Duration,
    /// ... and what lies this long after it.
    pub after: Duration,
    /// End after so many bundles.
    pub max_bundles: u64,
    /// Nobody asked for `max_bundles`.
    pub max_bundles_is_default: bool,
    /// A trigger that comes sooner than this after the last one is counted, and writes nothing.
    pub every: Duration,
}

/// What happens in a flight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FlightEvent<'a> {
    /// The rings are on.
    Armed(&'a Manifest),
    /// A bundle is being written because of this.
    Triggered(&'a Trigger),
    /// A trigger came too soon: the first since the last bundle; those after it are only counted.
    TooSoon(&'a Trigger),
    /// Some triggers fire no more, and why: the kernel refused.
    Off(&'a str),
    /// What a person should know now.
    Note(&'a str),
    /// A bundle is complete.
    Written(&'a Summary),
    /// A bundle could not be written, and why; it is armed again.
    NotWritten(&'a str),
}

/// A flight that ended well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlightSummary {
    /// Bundles written.
    pub bundles: u64,
    /// Triggers that came too soon.
    pub suppressed: u64,
    /// Why it ended, as `stop_reason` in `end.json`, or `max_bundles`.
    pub stop_reason: String,
    /// What a person should know about that, where it was not told already.
    pub sentence: Option<String>,
    /// How long it flew.
    pub elapsed: Duration,
    /// CPU time of the recorder itself, ns, all bundles included.
    pub cpu_ns: u64,
}

/// Flies until a limit or a signal ends it. Whatever it returns, and also when it panics, its instances are gone.
pub fn flight(
    options: &RecordOptions,
    flight: &FlightOptions,
    tell: &mut dyn FnMut(&FlightEvent<'_>),
) -> Result<FlightSummary, RecordError> {
    let base = output::base(&options.output)?;
    output::check_folder(base, 0)?;
    command::find(&options.command)?;
    let cpu_before_ns = clock::process_cpu_ns();
    let mut signals = Signals::take();
    signals.take_usr1();
    let tracefs = tracefs::find()?;
    // Dropped after the instance, which has them enabled.
    let mut probes = Probes::new(&tracefs);
    let (instance, mut removed) = Instance::create(&tracefs)?;
    removed.extend(probes::remove_stale(&tracefs));
    let symbols = Symbols::read(&plan::functions(options.profile));
    let mut manifest = prepare(&instance, options, &symbols, removed)?;
    if options.extra_kprobes {
        let (events, absent) = probes.enable(&instance);
        manifest.plan.events.extend(events);
        manifest.plan.absent.extend(absent);
    }
    let rings = manifest
        .plan
        .buffer_bytes_per_cpu
        .saturating_mul(manifest.plan.cpus.len() as u64);
    manifest.notes.extend(output::check_folder(base, rings)?);
    let drops = DropWatch::create(&tracefs, &reasons(flight))?;
    let delays = Delays::create(&tracefs, &flight.on)?;
    let mut left_out = LeftOut::default();
    let (mut beside, no_thread) = pack::start();
    let note = |e| format!("nothing but counters was read every second: no thread for it ({e})");
    manifest.notes.extend(no_thread.map(note));
    let first = second::take(second::MOST_BYTES_KEPT, &mut left_out);
    beside.ask(first.clock.monotonic_ns);
    let counters = Counters::of(&first);
    let mut others = Namespaces::of(&flight.on);
    if let Some(o) = &mut others {
        o.read();
        manifest.notes.extend(o.note());
    }
    check(flight, options, &counters, others.as_ref())?;
    let mut limits = Limits::of(options, manifest.machine.cpus_online.len());
    // It is made to be left on: no limit of time unless one is asked for.
    (limits.duration, limits.duration_is_default) = (options.duration, false);
    let layout = tracefs::read(&tracefs.join("events/header_page"))
        .ok()
        .and_then(|t| PageLayout::parse(&t, manifest.machine.endian).ok())
        .map(|l| l.with_size(manifest.plan.sub_buffer_bytes));
    let frame = symbols.frame().unwrap_or_default();
    drop(symbols);
    let started = Instant::now();
    let mut flying = Flying {
        flight,
        base,
        tracefs: &tracefs,
        instance: &instance,
        manifest: &manifest,
        layout,
        symbols: frame,
        drops,
        delays,
        told_off: false,
        command: None,
        history: History::new(first, flight.before, history::MOST_KEPT),
        beside,
        notices: Notices::start(),
        left_out,
        counters,
        others,
        due: started + SECOND,
        limits,
        started,
        cpu: CpuShare::new(started),
        armed: clock::clock_pair(),
        last: None,
        bundles: 0,
        cut: 0,
        bytes: 0,
        suppressed: (0, 0),
        failed: None,
        reach_told: false,
    };
    // Dropped first on the way out.
    let tracing = Tracing::on(&instance)?;
    flying.armed = clock::clock_pair();
    if let Some(d) = &mut flying.drops {
        d.arm()?;
    }
    if let Some(d) = &mut flying.delays {
        d.arm()?;
    }
    if !options.command.is_empty() {
        flying.command = Some(Command::start(&options.command, false)?);
    }
    tell(&FlightEvent::Armed(&manifest));
    let stopped = flying.run(&signals, tell)?;
    let (bundles, suppressed, failed) = (flying.bundles, flying.suppressed.1, flying.failed.take());
    let (elapsed, runs_on) = (started.elapsed(), command::end(flying.command.take(), stopped.spares).1);
    drop(flying);
    tracing.off()?;
    instance.remove()?;
    drop(probes);
    let mut sentence = stopped.sentence;
    if let Some(c) = runs_on {
        // At once, and no second time.
        tell(&FlightEvent::Note(&sentence.take().unwrap_or_default()));
        c.outlive(&signals);
    }
    // Something happened, and nothing tells of it.
    if let Some(e) = failed.filter(|_| bundles == 0) {
        return Err(e);
    }
    Ok(FlightSummary {
        bundles,
        suppressed,
        stop_reason: stopped.reason,
        sentence,
        elapsed,
        cpu_ns: clock::process_cpu_ns().saturating_sub(cpu_before_ns),
    })
}

/// A flight under way.
struct Flying<'a> {
    flight: &'a FlightOptions,
    base: &'a std::path::Path,
    tracefs: &'a std::path::Path,
    instance: &'a Instance,
    manifest: &'a Manifest,
    /// `None` when this kernel's header_page is not understood: then nothing is cut.
    layout: Option<PageLayout>,
    /// Compressed once: at a trigger the host has other things to do.
    symbols: Vec<u8>,
    drops: Option<DropWatch>,
    delays: Option<Delays>,
    /// That they are off was said.
    told_off: bool,
    command: Option<Command>,
    /// What was read in `before`.
    history: History,
    /// Reads beside the counters.
    beside: pack::Reader,
    /// Hears what the kernel announces.
    notices: Notices,
    /// Texts that were too long to be kept.
    left_out: LeftOut,
    /// The last reading.
    counters: Counters,
    /// Those of the other network namespaces.
    others: Option<Namespaces>,
    due: Instant,
    limits: Limits,
    started: Instant,
    cpu: CpuShare,
    armed: ClockPair,
    /// When the last bundle was triggered.
    last: Option<Instant>,
    bundles: u64,
    /// Bundles that ended before their end: the disk was full.
    cut: u64,
    /// Of all bundles.
    bytes: u64,
    /// Triggers that came too soon: since the last bundle, and in all.
    suppressed: (u64, u64),
    /// Why the last bundle that could not be written was not.
    failed: Option<RecordError>,
    /// Whether the rings reach back was looked at.
    reach_told: bool,
}

impl Flying<'_> {
    fn run(&mut self, signals: &Signals, tell: &mut dyn FnMut(&FlightEvent<'_>)) -> Result<Stopped, RecordError> {
        loop {
            let ended = self.command.as_mut().and_then(Command::ended);
            let trigger = match &ended {
                // The last chance: never too soon.
                Some(end) => self.exit_trigger(end),
                None => self.look()?,
            };
            if let Some(trigger) = trigger {
                let soon = self.last.is_some_and(|t| t.elapsed() < self.flight.every);
                if soon && ended.is_none() {
                    self.suppressed = (self.suppressed.0.saturating_add(1), self.suppressed.1.saturating_add(1));
                    if self.suppressed.0 == 1 {
                        tell(&FlightEvent::TooSoon(&trigger));
                    }
                } else {
                    self.last = Some(Instant::now());
                    tell(&FlightEvent::Triggered(&trigger));
                    let written = self.attempt(trigger, signals)?;
                    if let Some(d) = &mut self.delays {
                        d.disarm();
                    }
                    match &written {
                        Ok(summary) => tell(&FlightEvent::Written(summary)),
                        Err(why) => tell(&FlightEvent::NotWritten(why)),
                    }
                    self.cpu = CpuShare::new(Instant::now());
                }
            }
            if let Some(stopped) = self.stopped(signals) {
                return Ok(stopped);
            }
            if ended.is_some() {
                return Ok(Stopped::because("command"));
            }
            let idle = self.last.is_none_or(|t| t.elapsed() >= self.flight.every);
            if let Some(d) = &mut self.delays {
                if idle {
                    d.rearm();
                }
                if let Some(note) = d.off_note().filter(|_| !std::mem::replace(&mut self.told_off, true)) {
                    tell(&FlightEvent::Off(&note));
                }
            }
            if let Some(note) = self.reach()? {
                tell(&FlightEvent::Note(&note));
            }
            let left = self
                .limits
                .duration
                .map_or(TICK, |d| d.saturating_sub(self.started.elapsed()));
            match &mut self.drops {
                Some(d) => {
                    if idle {
                        d.arm()?;
                    }
                    d.wait(TICK.min(left));
                }
                None => std::thread::sleep(TICK.min(left)),
            }
        }
    }
}
