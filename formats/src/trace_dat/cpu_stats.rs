//! CPUSTAT texts: `per_cpu/cpuN/stats` of every ring buffer, in the order in which trace-cmd read them.
//!
//! ```text
//! "CPU: 0\nentries: 0\noverrun: 128\n...now ts:  1212.633860\n..."   statistics of the current buffer
//! "\nBuffer: NAME\n\n"                                               from here on they are of instance NAME
//! ```
//! trace-cmd reads them after it has taken the events, so `entries` is what was left and `read events` what is in the file.
//!
//! The clock string of an instance in a BUFFER option is not to be trusted: trace-cmd 3.1.6 writes the top buffer's clock
//! there, whatever the instance ran on. The `now ts` lines give it away: one clock, read again and again, does not go back.

use std::collections::BTreeSet;

use super::options::MAX_NAME_BYTES;
use crate::capture::CpuStats;

/// Above this a clock that is read later and is behind is another clock: 1 ms, in us. The CPUs of one `local` clock differ less.
const BACKWARD_US: u64 = 1000;

/// Statistics as they come, and the clock readings between them.
#[derive(Debug, Default)]
pub(super) struct CpuStatTexts {
    pub stats: Vec<CpuStats>,
    /// Values that are no number (they stay 0 in `stats`) or no name.
    pub odd_values: u64,
    instance: String,
    /// (instance, `now ts` in us) in the order of reading; only readings of a clock that counts ns.
    readings: Vec<(String, u64)>,
}

impl CpuStatTexts {
    /// Takes the text of one option.
    pub fn take(&mut self, text: &str) {
        for line in text.lines() {
            let Some((key, value)) = line.split_once(':') else {
                continue;
            };
            let value = value.trim();
            match key.trim() {
                "Buffer" if value.len() > MAX_NAME_BYTES => self.odd_values = self.odd_values.saturating_add(1),
                "Buffer" => self.instance = value.to_owned(),
                "CPU" => {
                    if let Ok(cpu) = value.parse() {
                        self.stats.push(CpuStats {
                            instance: self.instance.clone(),
                            cpu,
                            ..CpuStats::default()
                        });
                    }
                }
                "now ts" => {
                    if let Some(us) = seconds_to_us(value) {
                        self.readings.push((self.instance.clone(), us));
                    }
                }
                key => {
                    let Some(last) = self.stats.last_mut() else { continue };
                    let field = match key {
                        "entries" => &mut last.entries,
                        "overrun" => &mut last.overrun,
                        "commit overrun" => &mut last.commit_overrun,
                        "bytes" => &mut last.bytes,
                        "dropped events" => &mut last.dropped_events,
                        "read events" => &mut last.read_events,
                        _ => continue,
                    };
                    match value.parse() {
                        Ok(n) => *field = n,
                        Err(_) => self.odd_values = self.odd_values.saturating_add(1),
                    }
                }
            }
        }
    }

    /// The instances that the readings show not to have run on the clock of the top buffer: those read after it and behind
    /// it, or ahead of a later reading that itself agrees with it.
    pub fn not_on_top_clock(&self) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let Some(top) = self.readings.iter().position(|(name, _)| name.is_empty()) else {
            return found;
        };
        let after = self.readings.get(top..).unwrap_or(&[]);
        let top_us = after.first().map_or(0, |(_, us)| *us);
        let behind = |earlier: u64, later: u64| earlier.saturating_sub(later) > BACKWARD_US;
        let mut least_that_agrees = u64::MAX;
        // From the last to the first: what is decided last of an instance is its first reading.
        for (name, us) in after.iter().rev() {
            if !name.is_empty() {
                if behind(top_us, *us) || behind(*us, least_that_agrees) {
                    found.insert(name.clone());
                } else {
                    found.remove(name);
                }
            }
            if !behind(top_us, *us) {
                least_that_agrees = least_that_agrees.min(*us);
            }
        }
        found
    }
}

/// `1212.633860` in us; `None` for clocks that are not in ns, which the kernel prints without a point.
fn seconds_to_us(value: &str) -> Option<u64> {
    let (s, us) = value.split_once('.')?;
    let (s, us): (u64, u64) = (s.parse().ok()?, (us.len() == 6).then(|| us.parse().ok())??);
    s.checked_mul(1_000_000)?.checked_add(us)
}
