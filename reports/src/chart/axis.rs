//! A value axis: value -> pixel, and where its ticks are.

use crate::chart::spec::{Division, Unit};
use crate::format::{self, TimeUnit};

/// Maps values to pixels; values outside are drawn at the nearer end.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    division: Division,
    lo: f64,
    hi: f64,
    from: f64,
    to: f64,
}

/// A tick: where, and what is written there (nothing at a minor one).
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// The value.
    pub value: f64,
    /// What is written.
    pub label: Option<String>,
}

impl Axis {
    /// `lo..hi` (made valid when it is not: a log axis starts above 0, no axis is empty) drawn from pixel `from` to pixel `to`.
    pub fn new(division: Division, lo: f64, hi: f64, from: f64, to: f64) -> Self {
        let (lo, hi) = (
            if lo.is_finite() { lo } else { 0.0 },
            if hi.is_finite() { hi } else { 1.0 },
        );
        let (lo, hi) = match division {
            Division::Linear => (lo, if hi > lo { hi } else { lo + lo.abs().max(1.0) }),
            Division::Log => {
                let lo = if lo > 0.0 { lo } else { 1.0 };
                (lo, if hi > lo * 1.000_1 { hi } else { lo * 10.0 })
            }
        };
        Self {
            division,
            lo,
            hi,
            from,
            to,
        }
    }

    /// Where a value is drawn.
    pub fn px(&self, value: f64) -> f64 {
        let fraction = match self.division {
            Division::Linear => (value - self.lo) / (self.hi - self.lo),
            Division::Log if value > 0.0 => (value / self.lo).ln() / (self.hi / self.lo).ln(),
            Division::Log => 0.0,
        };
        self.from + (self.to - self.from) * fraction.clamp(0.0, 1.0)
    }

    /// First and last value.
    pub fn ends(&self) -> (f64, f64) {
        (self.lo, self.hi)
    }

    /// Pixel of the first value.
    pub fn from(&self) -> f64 {
        self.from
    }

    /// Whether equal steps are equal factors.
    pub fn is_log(&self) -> bool {
        self.division == Division::Log
    }

    /// True when the value lies on the axis.
    pub fn contains(&self, value: f64) -> bool {
        value >= self.lo && value <= self.hi
    }

    /// True when an interval has a part on the axis.
    pub fn reaches(&self, from: f64, to: f64) -> bool {
        to >= self.lo && from <= self.hi
    }

    /// Ticks for about `room` labels.
    pub fn ticks(&self, unit: Unit, room: usize) -> Vec<Tick> {
        match self.division {
            Division::Linear => self.linear_ticks(unit, room.max(2)),
            Division::Log => self.log_ticks(unit, room.max(2)),
        }
    }

    fn linear_ticks(&self, unit: Unit, room: usize) -> Vec<Tick> {
        let step = nice_step((self.hi - self.lo) / room as f64, unit);
        let first = (self.lo / step - 1e-9).ceil();
        // One unit for all labels of the axis, so that they can be compared.
        let shared = TimeUnit::for_value(self.hi.abs().max(self.lo.abs()) as u64);
        (0..=4 * room)
            .map(|n| (first + n as f64) * step)
            .take_while(|value| *value <= self.hi + step * 1e-9)
            .map(|value| Tick {
                value,
                label: Some(write_linear(value, step, unit, shared)),
            })
            .collect()
    }

    fn log_ticks(&self, unit: Unit, room: usize) -> Vec<Tick> {
        let (first, last) = (self.lo.log10().floor() as i32, self.hi.log10().ceil() as i32);
        let decades = (self.hi / self.lo).log10();
        let every = (decades / room as f64).ceil().max(1.0) as i32;
        // Short axes have labels between the decades too.
        let labelled: &[f64] = match decades * 3.0 <= room as f64 {
            true if decades < 0.8 => &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0],
            true => &[1.0, 2.0, 5.0],
            false => &[1.0],
        };
        let mut ticks = Vec::new();
        for decade in first..=last {
            for digit in [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0] {
                let value = digit * 10_f64.powi(decade);
                if !self.contains(value) {
                    continue;
                }
                let named = labelled.contains(&digit) && decade % every == 0;
                if named || digit != 1.5 {
                    ticks.push(Tick {
                        value,
                        label: named.then(|| write_log(value, unit)),
                    });
                }
            }
        }
        ticks
    }
}

fn nice_step(raw: f64, unit: Unit) -> f64 {
    let raw = if raw > 0.0 && raw.is_finite() { raw } else { 1.0 };
    let raw = if unit == Unit::Count { raw.max(1.0) } else { raw };
    if unit == Unit::Bytes && raw > 1.0 {
        return 2_f64.powf(raw.log2().ceil());
    }
    let decade = 10_f64.powf(raw.log10().floor());
    for factor in [1.0, 2.0, 2.5, 5.0, 10.0] {
        let step = factor * decade;
        let whole = unit != Unit::Count || step.fract() == 0.0;
        if step >= raw * 0.999 && whole {
            return step;
        }
    }
    decade * 10.0
}

fn write_linear(value: f64, step: f64, unit: Unit, shared: TimeUnit) -> String {
    match unit {
        Unit::Nanoseconds => {
            let size = shared.nanoseconds() as f64;
            format!("{}\u{202f}{}", decimals(value / size, step / size), shared.symbol())
        }
        Unit::Bytes => format::bytes(value.max(0.0) as u64),
        Unit::Count => format::signed(value.round() as i64),
        Unit::Fraction => format!("{}\u{202f}%", decimals(value * 100.0, step * 100.0)),
    }
}

/// As many decimals as the step between ticks needs.
fn decimals(value: f64, step: f64) -> String {
    let mut places = 0_usize;
    let mut scaled = step;
    while places < 6 && (scaled - scaled.round()).abs() > scaled * 1e-6 {
        scaled *= 10.0;
        places += 1;
    }
    if value.abs() < step * 1e-6 {
        "0".to_owned()
    } else {
        format!("{value:.places$}").replace('-', "\u{2212}")
    }
}

fn write_log(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Nanoseconds => {
            let shared = TimeUnit::for_value(value.round() as u64);
            let size = shared.nanoseconds() as f64;
            format!("{}\u{202f}{}", short(value / size), shared.symbol())
        }
        Unit::Bytes => format::bytes(value as u64),
        Unit::Count => format::count(value as u64),
        Unit::Fraction => format::percent(value),
    }
}

fn short(value: f64) -> String {
    if (value - value.round()).abs() < 1e-6 {
        format!("{value:.0}")
    } else {
        format!("{value:.1}")
    }
}
