//! How numbers are written, in one place: three significant digits, thin separators, a unit with every number.
//! A value that is not known is [`UNKNOWN`], never 0.

/// What stands for a value that is not known.
pub const UNKNOWN: &str = "–";
/// Between groups of digits and before a unit: narrow and not breakable.
const THIN: char = '\u{202f}';
const MINUS: char = '\u{2212}';

/// A value or [`UNKNOWN`].
pub fn or_unknown<T>(value: Option<T>, write: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| UNKNOWN.to_owned(), write)
}

/// `1604812` as `1 604 812`.
#[must_use]
pub fn count(value: u64) -> String {
    group(&value.to_string())
}

/// A signed count.
#[must_use]
pub fn signed(value: i64) -> String {
    let digits = group(&value.unsigned_abs().to_string());
    if value < 0 { format!("{MINUS}{digits}") } else { digits }
}

/// Nanoseconds in the unit that reads best: `850 ns`, `12.3 µs`, `1.25 ms`, `3.40 s`, `2 min 05 s`.
#[must_use]
pub fn duration(ns: i64) -> String {
    if ns.unsigned_abs() >= 120_000_000_000 {
        let seconds = (ns.unsigned_abs() + 500_000_000) / 1_000_000_000;
        let sign = if ns < 0 { MINUS.to_string() } else { String::new() };
        return format!(
            "{sign}{}{THIN}min{THIN}{:02}{THIN}s",
            group(&(seconds / 60).to_string()),
            seconds % 60
        );
    }
    let unit = TimeUnit::for_value(ns.unsigned_abs());
    format!("{}{THIN}{}", duration_in(ns, unit), unit.symbol())
}

/// A unit of time, for columns and axes that share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TimeUnit {
    /// Nanoseconds.
    Nanoseconds,
    /// Microseconds.
    Microseconds,
    /// Milliseconds.
    Milliseconds,
    /// Seconds.
    Seconds,
}

impl TimeUnit {
    /// From the smallest to the largest.
    pub const ALL: [Self; 4] = [Self::Nanoseconds, Self::Microseconds, Self::Milliseconds, Self::Seconds];

    /// The largest unit in which the value is at least 1 after rounding to three digits.
    #[must_use]
    pub fn for_value(ns: u64) -> Self {
        match ns {
            0..1_000 => Self::Nanoseconds,
            1_000..999_500 => Self::Microseconds,
            999_500..999_500_000 => Self::Milliseconds,
            _ => Self::Seconds,
        }
    }

    /// `ns`, `µs`, `ms` or `s`.
    #[must_use]
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Microseconds => "µs",
            Self::Milliseconds => "ms",
            Self::Seconds => "s",
        }
    }

    /// Nanoseconds in one.
    #[must_use]
    pub const fn nanoseconds(self) -> i64 {
        match self {
            Self::Nanoseconds => 1,
            Self::Microseconds => 1_000,
            Self::Milliseconds => 1_000_000,
            Self::Seconds => 1_000_000_000,
        }
    }
}

/// Nanoseconds in a given unit, without its symbol: three significant digits, whole from 100 up.
#[must_use]
pub fn duration_in(ns: i64, unit: TimeUnit) -> String {
    if unit == TimeUnit::Nanoseconds {
        return signed(ns);
    }
    significant(ns as f64 / unit.nanoseconds() as f64)
}

/// A moment in seconds to the microsecond, without the unit: `4.320123`.
#[must_use]
pub fn moment(ns: i64) -> String {
    let sign = if ns < 0 { MINUS.to_string() } else { String::new() };
    let micros = (ns.unsigned_abs() + 500) / 1_000;
    format!(
        "{sign}{}.{:06}",
        group(&(micros / 1_000_000).to_string()),
        micros % 1_000_000
    )
}

/// A number with three significant digits, whole from 100 up: `0.0123`, `1.23`, `12.3`, `1 234`.
#[must_use]
pub fn significant(value: f64) -> String {
    if !value.is_finite() {
        return UNKNOWN.to_owned();
    }
    let size = value.abs();
    let text = match size {
        0.0 => "0".to_owned(),
        s if s >= 99.95 => group(&format!("{s:.0}")),
        s if s >= 9.995 => format!("{s:.1}"),
        s if s >= 0.9995 => format!("{s:.2}"),
        s if s >= 0.000_1 => {
            let decimals = (2.0 - s.log10().floor()).clamp(3.0, 6.0) as usize;
            format!("{s:.decimals$}")
        }
        s => format!("{s:.1e}"),
    };
    if value < 0.0 { format!("{MINUS}{text}") } else { text }
}

/// Bytes: `512 B`, `1.45 KiB`, `12.3 MiB`.
#[must_use]
pub fn bytes(value: u64) -> String {
    const UNITS: [(&str, u64); 4] = [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    for (symbol, size) in UNITS {
        if value >= size {
            return format!("{}{THIN}{symbol}", significant(value as f64 / size as f64));
        }
    }
    format!("{value}{THIN}B")
}

/// A fraction (1.0 = all) as a percentage. What is not all is never rounded to `100 %`, what is not nothing never to `0 %`.
#[must_use]
pub fn percent(fraction: f64) -> String {
    if !fraction.is_finite() {
        return UNKNOWN.to_owned();
    }
    let value = fraction * 100.0;
    if value > 0.0 && value < 0.001 {
        return format!("<0.001{THIN}%");
    }
    if (99.95..100.0).contains(&value) {
        let shown = trim_zeros(&format!("{:.3}", (value * 1000.0).floor() / 1000.0));
        return format!("{shown}{THIN}%");
    }
    if value == 100.0 {
        return format!("100{THIN}%");
    }
    let size = value.abs();
    let places = if size >= 9.995 {
        1
    } else if size >= 0.1 {
        2
    } else {
        3
    };
    let text = format!("{value:.places$}").replace('-', "\u{2212}");
    format!("{}{THIN}%", if value == 0.0 { "0" } else { &text })
}

/// `part` of `whole` as a percentage; [`UNKNOWN`] when there is no whole.
#[must_use]
pub fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        UNKNOWN.to_owned()
    } else {
        percent(part as f64 / whole as f64)
    }
}

/// Something per second.
#[must_use]
pub fn per_second(value: u64, duration_ns: i64) -> String {
    if duration_ns <= 0 {
        return UNKNOWN.to_owned();
    }
    format!("{}/s", significant(value as f64 * 1e9 / duration_ns as f64))
}

/// A bit rate: `48.2 Mbit/s`.
#[must_use]
pub fn bit_rate(bytes: u64, duration_ns: i64) -> String {
    if duration_ns <= 0 {
        return UNKNOWN.to_owned();
    }
    let bits = bytes as f64 * 8.0 * 1e9 / duration_ns as f64;
    let (scaled, symbol) = match bits {
        b if b >= 1e9 => (b / 1e9, "Gbit/s"),
        b if b >= 1e6 => (b / 1e6, "Mbit/s"),
        b if b >= 1e3 => (b / 1e3, "kbit/s"),
        b => (b, "bit/s"),
    };
    format!("{}{THIN}{symbol}", significant(scaled))
}

fn trim_zeros(text: &str) -> String {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text.to_owned()
    }
}

fn group(digits: &str) -> String {
    let mut out = String::with_capacity(digits.len() + digits.len() / 3 * THIN.len_utf8());
    for (at, c) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(THIN);
        }
        out.push(c);
    }
    out
}

/// Nanoseconds since 1970 as `2026-11-20 14:03:22 UTC`, without their fraction.
#[must_use]
pub fn utc(unix_ns: i64) -> String {
    let at = chrono::DateTime::from_timestamp_nanos(unix_ns);
    at.format("%Y-%m-%d %H:%M:%S UTC").to_string()
}
