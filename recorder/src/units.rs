//! Values as people write them: `30s`, `64M`, `0-3,8`. In: an argument. Out: the value, or a sentence that says what is wrong.

use std::time::Duration;

/// CPU numbers, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuList(pub Vec<u32>);

/// A number and its unit.
fn split_unit(s: &str) -> Result<(f64, &str), String> {
    let at = s.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(s.len());
    let (number, unit) = s.split_at(at);
    let value: f64 = number
        .parse()
        .map_err(|_| format!("{s:?} does not start with a number"))?;
    Ok((value, unit.trim()))
}

/// A time as `100us`, `500ms`, `30s`, `5m`, `1h` or `1d`, or several of them as `1h30m`; a bare number is seconds.
pub fn parse_duration(s: &str) -> Result<Duration, String> {
    let mut seconds = 0.0;
    let mut rest = s;
    loop {
        let (value, tail) = split_unit(rest)?;
        let (unit, more) = tail.split_at(tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len()));
        let factor = match unit.trim() {
            "us" => 1e-6,
            "ms" => 1e-3,
            // Of several each has its unit: what is missing in `1h30` may be minutes.
            "" if rest == s && more.is_empty() => 1.0,
            "" => return Err(format!("a unit is missing in {s:?}; use us, ms, s, m, h or d")),
            "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3_600.0,
            "d" => 86_400.0,
            unit => return Err(format!("unknown unit {unit:?}; use us, ms, s, m, h or d")),
        };
        seconds += value * factor;
        rest = more;
        if rest.is_empty() {
            return Duration::try_from_secs_f64(seconds).map_err(|e| e.to_string());
        }
    }
}

/// A duration that is not 0.
pub fn parse_length(s: &str) -> Result<Duration, String> {
    match parse_duration(s)? {
        Duration::ZERO => Err("nothing can be recorded in no time".to_owned()),
        d => Ok(d),
    }
}

/// More CPUs than any machine has; a longer list is a mistake.
const MAX_CPU: u32 = 8191;

/// CPUs as `0-3,8`.
pub fn parse_cpus(s: &str) -> Result<CpuList, String> {
    let bad = || format!("{s:?} is not a list of CPUs like 0-3,8");
    let mut cpus = Vec::new();
    for part in s.split(',') {
        let (a, b) = part.split_once('-').unwrap_or((part, part));
        let (a, b): (u32, u32) = a.parse().ok().zip(b.parse().ok()).ok_or_else(bad)?;
        if a > b || b > MAX_CPU {
            return Err(bad());
        }
        cpus.extend(a..=b);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Ok(CpuList(cpus))
}

fn bytes_of(s: &str, bare: f64) -> Result<u64, String> {
    let (value, unit) = split_unit(s)?;
    let factor = match unit.trim_end_matches("iB").trim_end_matches('B') {
        "" => bare,
        "k" | "K" => 1024.0,
        "M" => 1024.0 * 1024.0,
        "G" => 1024.0 * 1024.0 * 1024.0,
        _ => return Err(format!("unknown unit {unit:?}; use K, M or G")),
    };
    Ok((value * factor) as u64)
}

/// Bytes as `64M`; a bare number is bytes.
pub fn parse_bytes(s: &str) -> Result<u64, String> {
    bytes_of(s, 1.0)
}

/// The size of a ring buffer in KiB, as `64M`; a bare number is KiB.
pub fn parse_kib(s: &str) -> Result<u64, String> {
    match bytes_of(s, 1024.0)? >> 10 {
        kib @ 8.. => Ok(kib),
        _ => Err("a ring buffer of less than 8 KiB holds nothing".into()),
    }
}

/// Bytes for a person.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..10_240 => format!("{bytes} B"),
        10_240..10_485_760 => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", bytes >> 20),
    }
}

/// A port.
pub fn parse_port(s: &str) -> Result<u16, String> {
    s.parse().map_err(|_| {
        format!("{s:?} is no port: a number from 0 to 65535 is wanted (`getent services https` tells that of a name)")
    })
}
