//! `--on softirq-delay=T` and `--on read-wait=T`: times between two events, measured by the kernel's own histogram triggers
//! in an instance of ours and looked at once a second. No event is recorded for it, no ring is read.
//!
//! ```text
//! softirq-delay  irq:softirq_raise (NET_RX)  --CPU-->  irq:softirq_entry (NET_RX)     from the last raise before the entry
//! read-wait      sock:sk_data_ready  --socket-->  sock:sock_recv_length               from the first data that is ready after
//!                                                                                     a read, or after the connection began
//! ```
//!
//! A connection that begins (sock:inet_sock_set_state) takes away what an earlier socket at its address left. What
//! the kernel keeps is the longest since it was armed; after any trigger, everything is taken out until it is armed again: what
//! was long in one bundle is no reason for the next. Where the kernel refuses that, these triggers are off, and the flight goes on.

use std::path::Path;

use netmortem_formats::bundle::Trigger;

use super::look::trigger;
use super::spec::{DelayOf, On, OnKind};
use crate::error::RecordError;
use crate::hist::{self, Hist, Max};
use crate::instance::Instance;

/// Nothing is written to it.
const BUFFER_KIB: &str = "4";
/// Lines of evidence.
const EVIDENCE: usize = 5;

/// The triggers of one kind, in the order in which they can be set; and the events that hold the longest.
struct Chain {
    of: DelayOf,
    triggers: Vec<(&'static str, String)>,
    /// Events whose triggers wait until all others are there.
    starts: &'static [&'static str],
    results: &'static [&'static str],
}

/// Waits for delays.
pub struct Delays {
    instance: Instance,
    chains: Vec<Chain>,
    armed: bool,
    /// How often a table of the kernel's could not be used further and was begun anew.
    full: u64,
    /// Why it measures no more.
    off: Option<String>,
}

impl Delays {
    /// Sets the instance up, nothing armed. `None` when no delay is waited for.
    pub fn create(tracefs: &Path, on: &[On]) -> Result<Option<Delays>, RecordError> {
        let wanted = |of: DelayOf| {
            let mine = |on: &&On| matches!(on.kind, OnKind::Delay { of: o, .. } if o == of);
            on.iter().find(mine).map(|on| (of, on.spec.as_str()))
        };
        let wanted: Vec<_> = [DelayOf::Softirq, DelayOf::Read]
            .into_iter()
            .filter_map(wanted)
            .collect();
        if wanted.is_empty() {
            return Ok(None);
        }
        let (instance, _) = Instance::create(tracefs)?;
        let clock = clock(&instance)?;
        let _ = instance.write("buffer_size_kb", BUFFER_KIB);
        let mut chains = Vec::new();
        for (of, spec) in wanted {
            let refused = |because: String| RecordError::Trigger {
                spec: spec.to_owned(),
                because,
            };
            let ways = match of {
                DelayOf::Softirq => {
                    let format = instance.read("events/irq/softirq_entry/format").unwrap_or_default();
                    CPU_KEYS.map(|key| softirq(clock, net_rx(&format), key)).into()
                }
                DelayOf::Read => vec![read(clock)],
            };
            chains.push(taken(&instance, ways).map_err(refused)?);
        }
        Ok(Some(Delays {
            instance,
            chains,
            armed: false,
            full: 0,
            off: None,
        }))
    }

    /// Begins to measure.
    pub fn arm(&mut self) -> Result<(), RecordError> {
        if !self.armed {
            for chain in &self.chains {
                set(&self.instance, chain)?;
            }
            self.armed = true;
        }
        Ok(())
    }

    /// The same after a trigger: what is refused now does not end the flight.
    pub fn rearm(&mut self) {
        if self.off.is_none()
            && let Err(e) = self.arm()
        {
            self.switch_off(format!("could not be armed again: {e}"));
        }
    }

    /// Takes everything out, as it is after a trigger.
    pub fn disarm(&mut self) {
        if std::mem::take(&mut self.armed) && !hist::remove_all(&self.instance.join("")) {
            self.switch_off("histogram triggers of the kernel could not be taken out".to_owned());
        }
    }

    fn switch_off(&mut self, because: String) {
        hist::remove_all(&self.instance.join(""));
        self.armed = false;
        self.off.get_or_insert(because);
    }

    /// The first `--on` that was exceeded; then nothing is measured until it is armed again.
    pub fn fired(&mut self, on: &[On]) -> Option<Trigger> {
        let looked = self.look(on);
        looked.unwrap_or_else(|e| {
            self.switch_off(e.to_string());
            None
        })
    }

    fn look(&mut self, on: &[On]) -> Result<Option<Trigger>, RecordError> {
        if !self.armed {
            return Ok(None);
        }
        let mut seen = Vec::new();
        let mut full = false;
        for chain in &self.chains {
            for event in chain.results {
                let text = self.instance.read(&format!("events/{event}/hist"))?;
                let hist = Hist::parse(&text);
                // A time that ends before it begins is none, and hides all others of its key.
                let (maxima, backwards): (Vec<Max>, Vec<Max>) =
                    hist.maxima.into_iter().partition(|m| i64::try_from(m.max).is_ok());
                full |= hist.dropped > 0 || !backwards.is_empty();
                seen.extend(maxima.into_iter().map(|m| (chain.of, m)));
            }
        }
        seen.sort_by_key(|(_, m)| std::cmp::Reverse(m.max));
        let found = on.iter().find_map(|on| match on.kind {
            OnKind::Delay { of, at_least_us } => {
                let over = |s: &&(DelayOf, Max)| s.0 == of && s.1.max >= at_least_us;
                let over: Vec<&Max> = seen.iter().filter(over).map(|(_, m)| m).collect();
                over.first().map(|worst| told(on, of, worst, &over))
            }
            _ => None,
        });
        if found.is_some() || full {
            self.full = self.full.saturating_add(u64::from(full));
            self.disarm();
        }
        if found.is_none() && full {
            self.rearm();
        }
        Ok(found)
    }

    /// What a bundle must say of this: where it did not look all the time.
    pub fn notes(&self) -> Vec<String> {
        let again = Some(self.full).filter(|n| *n > 0).map(|n| {
            format!(
                "the kernel's tables for softirq-delay and read-wait were begun anew {n} times (full, or clocks of two CPUs apart): a \
                 delay may have been missed"
            )
        });
        again.into_iter().chain(self.off_note()).collect()
    }

    /// That it is off, if so.
    pub fn off_note(&self) -> Option<String> {
        let because = self.off.as_ref()?;
        Some(format!(
            "softirq-delay and read-wait are off for the rest of this flight: {because}"
        ))
    }
}

fn told(on: &On, of: DelayOf, worst: &Max, over: &[&Max]) -> Trigger {
    let sentence = match of {
        DelayOf::Softirq => format!("a receive softirq waited {} us on CPU {}", worst.max, worst.key),
        DelayOf::Read => format!(
            "data that was ready on a socket was read after {} us, by {}",
            worst.max,
            task(worst.pid)
        ),
    };
    let line = |m: &&Max| match of {
        DelayOf::Softirq => format!(
            "irq:softirq_entry CPU {}: NET_RX began {} us after it was raised, in {}",
            m.key,
            m.max,
            task(m.pid)
        ),
        DelayOf::Read => format!(
            "sock:sock_recv_length sk {:#x}: read {} us after data was ready, by {}",
            m.key,
            m.max,
            task(m.pid)
        ),
    };
    let mut t = trigger(on.spec.clone(), sentence);
    t.evidence = over.iter().take(EVIDENCE).map(line).collect();
    t
}

/// `task 212 (nginx)`, as it is called now.
fn task(pid: Option<u64>) -> String {
    match pid {
        None => "an unknown task".to_owned(),
        Some(0) => "an idle CPU".to_owned(),
        Some(pid) => match std::fs::read_to_string(format!("/proc/{pid}/comm")) {
            Ok(comm) => format!("task {pid} ({})", comm.trim_end()),
            Err(_) => format!("task {pid}"),
        },
    }
}

/// The first of several ways to write one chain that this kernel takes: each is set once before it flies, and taken out again. Or why none is.
fn taken(instance: &Instance, ways: Vec<Chain>) -> Result<Chain, String> {
    // Switched off, the kernel stamps what triggers see with its own clock: see `clock`.
    instance.write("tracing_on", "1").map_err(|e| e.to_string())?;
    let mut refused = String::new();
    for chain in ways {
        possible(instance, &chain)?;
        let tried = set(instance, &chain);
        if !hist::remove_all(&instance.join("")) {
            return Err("this kernel does not let go of its histogram triggers".to_owned());
        }
        match tried {
            Ok(()) => return Ok(chain),
            Err(e) => refused = format!("this kernel does not take its histogram triggers: {e}"),
        }
    }
    Err(refused)
}

/// What this kernel lacks, in a sentence.
fn possible(instance: &Instance, chain: &Chain) -> Result<(), String> {
    let mut events: Vec<&str> = chain.triggers.iter().map(|(event, _)| *event).collect();
    events.sort_unstable();
    events.dedup();
    let lacks = |name: &str| {
        let none = |e: &&&str| !hist::file(&instance.join(""), e, name).exists();
        events
            .iter()
            .filter(none)
            .map(|e| e.replace('/', ":"))
            .collect::<Vec<_>>()
    };
    let absent = lacks("trigger");
    if !absent.is_empty() {
        return Err(format!("this kernel has no event {}", absent.join(", ")));
    }
    if !lacks("hist").is_empty() {
        return Err(
            "the kernel would have to measure it, and this one was built without histogram triggers \
                    (CONFIG_HIST_TRIGGERS)"
                .to_owned(),
        );
    }
    // The kernel's own description of what it takes.
    let readme = instance.join("../../README");
    if std::fs::read_to_string(readme).is_ok_and(|text| !text.contains("onmax(")) {
        return Err("the histogram triggers of this kernel keep no times (Linux 4.17 and later do)".to_owned());
    }
    Ok(())
}

/// How a key of the CPU is called: since Linux 5.15, and before.
const CPU_KEYS: [&str; 2] = ["common_cpu", "cpu"];

/// Clocks that tick alike on all CPUs; with one of these the kernel's own (sched_clock) does so, too.
const STEADY: [&str; 7] = [
    "tsc",
    "kvm-clock",
    "hyperv_clocksource_tsc_page",
    "arch_sys_counter",
    "timebase",
    "tod",
    "riscv_clocksource",
];

/// The clock to measure with. What triggers see while the ring buffer is switched off, the kernel stamps with its own clock
/// (temp_buffer in kernel/trace/trace.c), and it switches it off itself for tens of ms whenever a trigger with a clock is added
/// (tracing_set_clock): a wait that began meanwhile would be measured with two clocks. So it is that one from the beginning.
fn clock(instance: &Instance) -> Result<&'static str, RecordError> {
    let source = std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    if !source.is_ok_and(|s| STEADY.contains(&s.trim())) {
        return instance.set_clock();
    }
    instance.write("trace_clock", "local")?;
    Ok("local")
}

fn set(instance: &Instance, chain: &Chain) -> Result<(), RecordError> {
    let at = instance.join("");
    let add = |(event, trigger): &(&str, String)| hist::add(&at, event, trigger);
    chain.triggers.iter().try_for_each(add)?;
    chain.starts.iter().try_for_each(|event| hist::start(&at, event))
}

/// The number of NET_RX, as the event's format names it; 3 since Linux 2.6.30 and before.
fn net_rx(format: &str) -> u32 {
    let number = |part: &str| part.split_once(", \"NET_RX\"")?.0.trim().parse().ok();
    format.split('{').find_map(number).unwrap_or(3)
}

/// By CPU.
fn softirq(clock: &str, vec: u32, key: &str) -> Chain {
    let now = "common_timestamp.usecs";
    Chain {
        of: DelayOf::Softirq,
        triggers: vec![
            (
                "irq/softirq_raise",
                format!("hist:keys={key}:nm_raised={now}:clock={clock} if vec=={vec}"),
            ),
            (
                "irq/softirq_entry",
                format!(
                    "hist:keys={key}:nm_waited={now}-$nm_raised:clock={clock}:onmax($nm_waited).save(common_pid) if vec=={vec}"
                ),
            ),
        ],
        // Each raise is a new beginning, so what happened while they were added is over with the next one.
        starts: &[],
        results: &["irq/softirq_entry"],
    }
}

/// By socket, TCP only: of other sockets no event tells their beginning. A look (MSG_PEEK) and the error queue are no reads.
/// Everything twice: from the last read on, and from the beginning of the connection on, when there was none yet.
///
/// What begins a wait is paused until all are there: the first data of a connection, read before there was anything to take its
/// time away, would be taken for what its next read waited for (seen as 130 us too much where the next data came soon; with a
/// connection idle for minutes it is minutes).
fn read(clock: &str) -> Chain {
    const TCP: &str = "protocol==6";
    // MSG_PEEK 0x2, MSG_ERRQUEUE 0x2000.
    const READ: &str = "protocol==6 && !(flags & 8194)";
    const ESTABLISHED: &str = "protocol==6 && newstate==1";
    let hist = |keys: &str, rest: String, filter: &str| format!("hist:keys={keys}:{rest} if {filter}");
    let now = "common_timestamp.usecs";
    let set = |name: &str| format!("{name}={now}:clock={clock}:pause");
    let first_after =
        |name: &str, after: &str| format!("nm_since_{after}={now}-$nm_{after},{name}={now}:clock={clock}");
    let longest =
        |name: &str, from: &str| format!("{name}={now}-${from}:clock={clock}:onmax(${name}).save(common_pid)");
    let taken = |name: &str, from: &str| format!("{name}={now}-${from}:clock={clock}");
    let (ready, recv, state) = (
        "sock/sk_data_ready",
        "sock/sock_recv_length",
        "sock/inet_sock_set_state",
    );
    Chain {
        of: DelayOf::Read,
        triggers: vec![
            (recv, hist("sk", set("nm_read"), READ)),
            (state, hist("skaddr", set("nm_born"), ESTABLISHED)),
            (ready, hist("skaddr", first_after("nm_ready", "read"), TCP)),
            (ready, hist("skaddr", first_after("nm_first", "born"), TCP)),
            (state, hist("skaddr", taken("nm_old", "nm_ready"), ESTABLISHED)),
            (state, hist("skaddr", taken("nm_old_first", "nm_first"), ESTABLISHED)),
            (recv, hist("sk", longest("nm_wait", "nm_ready"), READ)),
            (recv, hist("sk", longest("nm_wait_first", "nm_first"), READ)),
        ],
        starts: &["sock/inet_sock_set_state", "sock/sock_recv_length"],
        results: &["sock/sock_recv_length"],
    }
}
