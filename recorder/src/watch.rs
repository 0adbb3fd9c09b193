//! While it records: looks for a reason to stop, and writes what is read beside the events.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use netmortem_formats::bundle::{ReadingEnd, Second};

use crate::command::Command;
use crate::drain::Shared;
use crate::error::RecordError;
use crate::limits::Limits;
use crate::notices::Notices;
use crate::readings::Readings;
use crate::record::Progress;
use crate::signals::Signals;
use crate::snapshot::second;
use crate::{clock, limits, pcap, signals, units};

/// How often the loop looks for a reason to stop.
const TICK: Duration = Duration::from_millis(50);
/// How often the bundle is flushed, progress is told and the cost is looked at.
const TELL: Duration = Duration::from_secs(1);
/// How often all clocks are read together.
const CLOCKS: Duration = Duration::from_secs(5);
/// The recorder's CPU time is judged over this long: a burst is no share.
const CPU_WINDOW: Duration = Duration::from_secs(5);

/// Why recording ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stopped {
    /// As in `end.json`.
    pub reason: String,
    /// What a person should know about it.
    pub sentence: Option<String>,
    /// By a limit that nobody asked for: it is no reason to end a command.
    pub spares: bool,
}

impl Stopped {
    /// Without a sentence.
    pub fn because(reason: &str) -> Stopped {
        Stopped {
            reason: reason.to_owned(),
            sentence: None,
            spares: false,
        }
    }

    /// Says what becomes of a command.
    pub fn of_command(mut self, there_is_one: bool) -> Stopped {
        if self.spares && there_is_one {
            let said = self.sentence.take().unwrap_or_default();
            self.sentence = Some(format!(
                "{said}; nobody asked for that limit: the command runs on, and is waited for"
            ));
        }
        self
    }
}

/// What a backend shows the loop.
pub struct Watched<'a> {
    /// The bundle.
    pub shared: &'a Shared,
    /// The taps.
    pub taps: &'a pcap::Running,
    /// Whether a thread that reads events has ended, which it does by itself only on an error.
    pub one_has_ended: &'a dyn Fn() -> bool,
    /// Whether the tasks that alone are recorded are gone, and what they started.
    pub tasks_have_ended: &'a dyn Fn() -> bool,
    /// Events lost so far, all CPUs.
    pub lost: &'a dyn Fn() -> Result<u64, RecordError>,
}

/// Writes what was read.
fn write_second(
    shared: &Shared,
    (readings, notices): (&Readings, &Notices),
    now: Option<Second>,
) -> Result<(), RecordError> {
    let Some(mut now) = now else { return Ok(()) };
    let mut written = false;
    write(shared, |w| {
        written = true;
        notices.put(&mut now);
        w.append_second(&now)
    })?;
    if !written {
        readings.lost();
    }
    Ok(())
}

/// Waits for a reason to stop; says also what was read every second. `command` ends the recording when it ends.
pub fn watch(
    limits: &Limits,
    signals: &Signals,
    watched: &Watched<'_>,
    command: &mut Option<Command>,
    started: Instant,
    tell: &mut dyn FnMut(&Progress),
    problems: &mut Vec<String>,
) -> Result<(Stopped, Vec<ReadingEnd>), RecordError> {
    let (mut readings, notices) = (Readings::start(), Notices::start());
    let both = (&mut readings, &notices);
    let stopped = watch_until(limits, signals, watched, command, started, tell, both)?;
    let last = readings.last();
    // What was heard since the last reading.
    let last = last.or_else(|| notices.has_some().then(only_notices));
    write_second(watched.shared, (&readings, &notices), last)?;
    problems.extend(notices.sentences());
    let (told, ends) = readings.end();
    problems.extend(told);
    Ok((stopped, ends))
}

/// A reading of which nothing is due any more.
pub fn only_notices() -> Second {
    Second {
        clock: clock::clock_pair(),
        texts: vec![],
    }
}

fn watch_until(
    limits: &Limits,
    signals: &Signals,
    watched: &Watched<'_>,
    command: &mut Option<Command>,
    started: Instant,
    tell: &mut dyn FnMut(&Progress),
    (readings, notices): (&mut Readings, &Notices),
) -> Result<Stopped, RecordError> {
    let shared = watched.shared;
    let (mut told, mut clocks) = (started, started);
    let mut cpu = CpuShare::new(started);
    let mut seconds = second::Pace::new(started);
    loop {
        let bundle_bytes = shared.bundle_bytes.load(Ordering::Relaxed);
        if let Some(name) = signals.received() {
            return Ok(Stopped::because(name));
        }
        if command.as_mut().is_some_and(|c| c.has_ended()) {
            return Ok(Stopped::because("command"));
        }
        if (watched.tasks_have_ended)() {
            return Ok(Stopped {
                reason: "pid".into(),
                sentence: Some("stopped: the processes of --pid have ended, and what they started".into()),
                spares: false,
            });
        }
        if (watched.one_has_ended)() || watched.taps.one_has_failed() {
            // It will say why when it is joined.
            return Ok(Stopped::because("error"));
        }
        if let Some(stopped) = over(limits, started.elapsed(), bundle_bytes) {
            return Ok(stopped.of_command(command.is_some()));
        }
        if clocks.elapsed() >= CLOCKS {
            clocks = Instant::now();
            let pair = clock::clock_pair();
            write(shared, |w| w.append_clock_pair(&pair))?;
        }
        if seconds.is_due(Instant::now()) {
            readings.ask();
        }
        let made = readings.take();
        write_second(shared, (readings, notices), made)?;
        if told.elapsed() >= TELL {
            told = Instant::now();
            write(shared, |w| w.flush())?;
            tell(&Progress {
                elapsed: started.elapsed(),
                bundle_bytes,
                ring_bytes: shared.ring_bytes.load(Ordering::Relaxed),
                lost: (watched.lost)()?,
                unheeded: signals::take_unheeded(),
            });
            if let Some(stopped) = over_cpu(limits, &mut cpu) {
                return Ok(stopped.of_command(command.is_some()));
            }
        }
        let left = limits.duration.map_or(TICK, |d| d.saturating_sub(started.elapsed()));
        std::thread::sleep(TICK.min(left));
    }
}

/// Whether the recorder itself needs too much.
pub fn over_cpu(limits: &Limits, cpu: &mut CpuShare) -> Option<Stopped> {
    let percent = cpu.percent(Instant::now(), clock::process_cpu_ns());
    let p = percent.filter(|p| *p > u64::from(limits.cpu_percent))?;
    Some(Stopped {
        reason: "max_cpu".into(),
        sentence: Some(format!(
            "stopped: the recorder used {p} % of one CPU for {} s, more than the {} % of --max-cpu; a smaller --profile \
             costs less",
            CPU_WINDOW.as_secs(),
            limits.cpu_percent
        )),
        spares: limits.cpu_is_default,
    })
}

/// Whether it lasted too long or wrote too much.
pub fn over(limits: &Limits, elapsed: Duration, bundle_bytes: u64) -> Option<Stopped> {
    if limits.duration.is_some_and(|d| elapsed >= d) {
        let secs = limits::DEFAULT_DURATION.as_secs();
        return Some(Stopped {
            reason: "duration".into(),
            sentence: limits
                .duration_is_default
                .then(|| format!("stopped after {secs} s, the limit when neither --duration nor a command is given")),
            spares: false,
        });
    }
    if limits.bytes.is_some_and(|m| bundle_bytes >= m) {
        let limit = units::size(limits.bytes.unwrap_or(0));
        let whose = match limits.bytes_is_default {
            true => "the limit when no --max-bytes is given (4 GiB, or half of what is free)",
            false => "the limit of --max-bytes",
        };
        return Some(Stopped {
            reason: "max_bytes".into(),
            sentence: Some(format!("stopped: the bundle reached {limit}, {whose}")),
            spares: limits.bytes_is_default,
        });
    }
    None
}

/// Writes into the bundle unless a drain thread holds it: one that waits for the reader of a pipe must not keep this loop
/// from seeing Ctrl-C. What is skipped is read again soon.
pub fn write(
    shared: &Shared,
    f: impl FnOnce(&mut netmortem_formats::bundle::BundleWriter<crate::drain::Sink>) -> io::Result<()>,
) -> Result<(), RecordError> {
    let Some(mut writer) = shared.writer_within(Duration::from_millis(100)) else {
        return Ok(());
    };
    f(&mut writer).map_err(RecordError::output)?;
    shared.bundle_bytes.store(writer.bytes_written(), Ordering::Relaxed);
    Ok(())
}

/// CPU time of the process over the last [`CPU_WINDOW`].
pub struct CpuShare(VecDeque<(Instant, u64)>);

impl CpuShare {
    /// `started`: what was used before (reading symbols, snapshots) does not count.
    pub fn new(started: Instant) -> CpuShare {
        CpuShare::from(started, clock::process_cpu_ns())
    }

    /// `cpu_ns` had been used at `started`.
    pub fn from(started: Instant, cpu_ns: u64) -> CpuShare {
        CpuShare([(started, cpu_ns)].into())
    }

    /// Adds a reading; percent of one CPU, `None` before a whole window has passed.
    pub fn percent(&mut self, now: Instant, cpu_ns: u64) -> Option<u64> {
        self.0.push_back((now, cpu_ns));
        let old = |at: &(Instant, u64)| now.saturating_duration_since(at.0) >= CPU_WINDOW;
        // The youngest reading that is old enough.
        while self.0.get(1).is_some_and(old) {
            self.0.pop_front();
        }
        let (since, before) = self.0.front().filter(|f| old(f))?;
        let wall_ns = now.saturating_duration_since(*since).as_nanos().max(1);
        let used = u128::from(cpu_ns.saturating_sub(*before)) * 100 / wall_ns;
        Some(u64::try_from(used).unwrap_or(u64::MAX))
    }
}
