//! Histogram triggers: the kernel itself keeps times of events by key in variables, subtracts, and holds the largest
//! difference for each key; nothing is written to a ring buffer.
//!
//! In: an instance of ours, trigger texts. Out: the triggers set and removed, what a `hist` file says. Must not touch a
//! trigger outside an instance of ours. Follows Documentation/trace/histogram.rst.
//!
//! ```text
//! hist:keys=K:at=common_timestamp.usecs                     first event: table K -> at
//! hist:keys=K:lat=common_timestamp.usecs-$at:onmax($lat)    second event: takes `at` away (a variable in an expression is
//!                                                           read once), table K -> largest lat
//! ```

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::RecordError;
use crate::tracefs;

/// The event by which paused triggers are set going: every CPU has it soon.
const STARTER: &str = "sched/sched_switch";

/// How the trigger begins that starts others.
const STARTS: &str = "enable_hist:";

/// How long it is waited for.
const START_WITHIN: Duration = Duration::from_secs(1);

/// Every event that ever gets a histogram trigger of ours: where leftovers are looked for.
pub const EVENTS: [&str; 6] = [
    STARTER,
    "irq/softirq_raise",
    "irq/softirq_entry",
    "sock/sk_data_ready",
    "sock/sock_recv_length",
    "sock/inet_sock_set_state",
];

/// A file of an event in an instance.
pub fn file(instance: &Path, event: &str, name: &str) -> PathBuf {
    instance.join("events").join(event).join(name)
}

/// Adds a trigger to an event. Opened for appending: to truncate this file removes what is there.
pub fn add(instance: &Path, event: &str, trigger: &str) -> Result<(), RecordError> {
    let path = file(instance, event, "trigger");
    let done = OpenOptions::new().append(true).open(&path);
    done.and_then(|mut f| f.write_all(trigger.as_bytes()))
        .map_err(|e| RecordError::tracefs("writing", path, e))
}

/// Sets the histogram triggers of `event` going that were added with `:pause`. (To write one again with `:continue` is refused when it
/// has a variable.)
pub fn start(instance: &Path, event: &str) -> Result<(), RecordError> {
    let starts = format!("{STARTS}{}", event.replace('/', ":"));
    add(instance, STARTER, &format!("{starts}:1"))?;
    let going = going(&file(instance, event, "trigger"));
    // Whatever came of it.
    let gone = add(instance, STARTER, &format!("!{starts}"));
    going.and(gone)
}

/// Waits until none of an event's triggers is paused.
fn going(triggers: &Path) -> Result<(), RecordError> {
    let began = Instant::now();
    let waits = |l: &str| l.starts_with("hist:") && l.ends_with(" [paused]");
    loop {
        let text = tracefs::read_file(triggers).map_err(|e| RecordError::tracefs("reading", triggers, e))?;
        if !String::from_utf8_lossy(&text).lines().any(waits) {
            return Ok(());
        }
        if began.elapsed() > START_WITHIN {
            let late = std::io::Error::from(std::io::ErrorKind::TimedOut);
            return Err(RecordError::tracefs("starting the paused triggers of", triggers, late));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Removes all histogram triggers of [`EVENTS`] in an instance; whether all are gone. One whose variable another uses is refused by
/// the kernel until that other is gone, and until then the instance itself cannot be removed.
pub fn remove_all(instance: &Path) -> bool {
    // The longest chain of such uses is shorter; and a last look.
    for _ in 0..=EVENTS.len() {
        let mut left = false;
        for event in EVENTS {
            let text = match tracefs::read_file(&file(instance, event, "trigger")) {
                Ok(text) => text,
                // This kernel has no such event.
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => continue,
                Err(_) => {
                    left = true;
                    continue;
                }
            };
            let text = String::from_utf8_lossy(&text);
            let ours = |l: &&str| l.starts_with("hist:") || l.starts_with(STARTS);
            for line in text.lines().rev().filter(ours) {
                left = true;
                // hist:... [active], enable_hist:sock:sock_recv_length:count=0
                let state = if line.starts_with(STARTS) { ":count=" } else { " [" };
                let spec = line.rsplit_once(state).map_or(line, |(spec, _)| spec);
                // Refused: the next round.
                let _ = add(instance, event, &format!("!{spec}"));
            }
        }
        if !left {
            return true;
        }
    }
    false
}

/// The largest difference of one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Max {
    /// The key's value: a CPU number, an address.
    pub key: u64,
    /// In the unit of the trigger.
    pub max: u64,
    /// The task in which it was seen (`save(common_pid)`); 0 is an idle CPU.
    pub pid: Option<u64>,
}

/// What all histograms of one event say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hist {
    /// Of each key of those with `onmax`, as they come.
    pub maxima: Vec<Max>,
    /// Events whose key found no place in a table.
    pub dropped: u64,
}

impl Hist {
    /// Reads the text of a `hist` file.
    pub fn parse(text: &str) -> Hist {
        let mut out = Hist::default();
        let mut key = None;
        for line in text.lines() {
            let mut words = line.split_whitespace();
            match words.next() {
                // { common_cpu:          1 } hitcount:         20
                Some("{") => key = words.nth(1).and_then(|w| w.parse().ok()),
                // max:        672  common_pid:        186
                Some("max:") => {
                    let max = words.next().and_then(|w| w.parse().ok());
                    let pid = words.skip_while(|w| *w != "common_pid:").nth(1);
                    let pid = pid.and_then(|w| w.parse().ok());
                    out.maxima.extend(key.zip(max).map(|(key, max)| Max { key, max, pid }));
                }
                Some("Dropped:") => {
                    let n: u64 = words.next().and_then(|w| w.parse().ok()).unwrap_or(0);
                    out.dropped = out.dropped.saturating_add(n);
                }
                _ => {}
            }
        }
        out
    }
}
