//! From recorded timestamps to ns on the trace clock. Integers only; no timestamp is moved against another.

use netmortem_formats::Capture;
use netmortem_formats::capture::{ClockConversion, ClockPair};

/// Clocks of the kernel's trace_clock list, and of perf's (realtime), that count ns.
const NS_CLOCKS: [&str; 8] = ["local", "global", "perf", "mono", "mono_raw", "boot", "tai", "realtime"];

/// How one capture's raw timestamps become ns.
#[derive(Debug, Clone)]
pub struct TraceClock {
    /// Name as recorded, empty when not recorded.
    pub name: String,
    /// Whether results are ns.
    pub is_ns: bool,
    scale: Option<(u32, u32)>,
    offset_ns: i64,
}

impl TraceClock {
    /// From what the capture says. An unnamed clock is taken for `local`, the kernel's default.
    pub fn of(capture: &Capture) -> TraceClock {
        let name = capture
            .streams
            .iter()
            .map(|s| s.clock.as_str())
            .find(|c| !c.is_empty())
            .unwrap_or("")
            .to_string();
        let mut clock = TraceClock {
            is_ns: true,
            scale: None,
            offset_ns: 0,
            name,
        };
        for c in &capture.clock_conversions {
            match c {
                ClockConversion::OffsetNs(ns) => clock.offset_ns = clock.offset_ns.saturating_add(*ns),
                ClockConversion::Tsc2Nsec { mult, shift, .. } => clock.scale = Some((*mult, *shift)),
                ClockConversion::TimeShift { .. } => {}
            }
        }
        let plain = clock.name.is_empty() || NS_CLOCKS.contains(&clock.name.as_str());
        clock.is_ns = plain || (clock.name == "x86-tsc" && clock.scale.is_some());
        clock
    }
    /// ns on the trace clock (or raw units when the clock does not count ns).
    #[inline]
    pub fn ns(&self, raw: u64) -> i64 {
        let v = match self.scale {
            None => raw,
            Some((mult, shift)) => u64::try_from(
                u128::from(raw)
                    .wrapping_mul(u128::from(mult))
                    .checked_shr(shift)
                    .unwrap_or(0),
            )
            .unwrap_or(u64::MAX),
        };
        i64::try_from(v).unwrap_or(i64::MAX).saturating_add(self.offset_ns)
    }
    /// When all clocks were read together, on the trace clock; `None` for a clock that such readings do not cover.
    pub fn of_pair(&self, pair: &ClockPair) -> Option<i64> {
        match self.name.as_str() {
            "mono" => Some(pair.monotonic_ns),
            "boot" => pair.boottime_ns,
            "mono_raw" => pair.monotonic_raw_ns,
            _ => None,
        }
    }
}
