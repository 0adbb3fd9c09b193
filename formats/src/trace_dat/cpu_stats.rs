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

use crate::capture::CpuStats;

/// Above this a clock that is read later and is behind is another clock: 1 ms, in us. The CPUs of one `local` clock differ less.
const BACKWARD_US: u64 = 1000;

/// Statistics as they come, and the clock readings between them.
#[derive(Debug, Default)]
pub(super) struct CpuStatTexts {
    pub stats: Vec<CpuStats>,
    /// Counters whose value is not a number; they stay 0 in `stats`.
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

    /// Whether the readings show that `instance` did not run on the clock of the top buffer.
    pub fn contradicts_top_clock(&self, instance: &str) -> bool {
        let first = |name: &str| self.readings.iter().position(|(n, _)| n == name);
        let (Some(top), Some(own)) = (first(""), first(instance)) else {
            return false;
        };
        let at = |i: usize| self.readings.get(i).map_or(0, |(_, us)| *us);
        let (top_us, own_us) = (at(top), at(own));
        if own < top || instance.is_empty() {
            return false;
        }
        let behind = |earlier: u64, later: u64| earlier.saturating_sub(later) > BACKWARD_US;
        // Behind the top buffer, or ahead of a later reading that itself agrees with the top buffer.
        let later = self.readings.get(own..).unwrap_or(&[]);
        behind(top_us, own_us) || later.iter().any(|(_, us)| !behind(top_us, *us) && behind(own_us, *us))
    }
}

/// `1212.633860` in us; `None` for clocks that are not in ns, which the kernel prints without a point.
fn seconds_to_us(value: &str) -> Option<u64> {
    let (s, us) = value.split_once('.')?;
    let (s, us): (u64, u64) = (s.parse().ok()?, (us.len() == 6).then(|| us.parse().ok())??);
    s.checked_mul(1_000_000)?.checked_add(us)
}
