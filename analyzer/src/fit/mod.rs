//! Which part of a recording is analyzed: all of it, the time that was asked for, or as much as memory holds.
//!
//! In: a capture, and how much memory there is. Out: [`Selected`], and the capture cut to it. Must not cut silently: what was
//! not asked for says why ([`Selected::because`]), and the part is a slice as `netmortem convert --time` writes it, so the analysis
//! sees its ends as those of any recording.
//!
//! ```text
//! nothing asked for, needed() <= memory -> all of it
//! a trace.dat or perf.data -> as_bundle(), where memory holds that
//! else chunks (time, bytes) -> those around the trigger of a flight, else the last ones -> Selected -> cut() -> Capture
//! ```

use std::collections::BTreeMap;

use netmortem_formats::{Bytes, Capture, Coding, open_bytes};

use crate::export::bundle::{Change, RewriteError, import, rewrite};
use crate::ingest::{Spans, spans};

/// Peak memory of an analysis with its report and Parquet files, in decoded ring-buffer bytes: measured 2.6 to 5.2, see
/// docs/performance.md and docs/scale.md.
const PER_RING_BYTE: u64 = 6;
/// What any analysis needs, bytes.
pub const BASE: u64 = 48 << 20;
/// zstd makes ring buffers this much smaller, where a chunk does not say its size.
const UNTOLD_RATIO: u64 = 16;
/// Part of the memory that is for what came after the trigger of a flight.
const AFTER_PART: u64 = 3;
/// A bundle made of another tool's recording takes at most this part of its ring buffers while it is written into memory (zstd makes
/// it an eighth or less, and what grows is copied).
const IMPORTED: u64 = 2;
/// Times are rounded to this, so that they can be typed.
const MS: u64 = 1_000_000;

/// A time that is analyzed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selected {
    /// First and last moment, in units of the recorded clock; an open end is 0 or 2^64 - 1.
    pub window: (u64, u64),
    /// The same as commands take it: `--time 1.500s..3.000s`.
    pub option: String,
    /// Why, where it was not asked for; a sentence.
    pub because: Option<String>,
}

/// Why no part can be taken.
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    /// There is less than [`BASE`], or not enough for a millisecond of the recording.
    #[error("there is too little memory for a millisecond of it; any analysis takes 48 MiB")]
    TooLittle,
    /// All of it would be made a bundle in memory first.
    #[error(
        "to take a part of a {format} all of it is made a bundle in memory first, which takes about {needs}, and {may} may be used"
    )]
    Import {
        /// What it is.
        format: &'static str,
        /// About how much that takes.
        needs: String,
        /// How much there is.
        may: String,
    },
    /// It cannot be cut.
    #[error(transparent)]
    Rewrite(#[from] RewriteError),
}

impl Selected {
    /// What the page says of it: why, and what its times are.
    pub fn sentences(&self) -> Vec<String> {
        let option = &self.option;
        let times =
            format!("Analyzed is {option} of the recording; times here count from the first event of that part.");
        self.because.iter().cloned().chain([times]).collect()
    }
}

/// Memory that the analysis of a capture needs, bytes, by estimate from its size.
pub fn needed(capture: &Capture) -> u64 {
    of_ring_bytes(ring_bytes(capture))
}

/// Decoded bytes of its ring buffers, by estimate.
fn ring_bytes(capture: &Capture) -> u64 {
    let chunks = capture.streams.iter().flat_map(|s| &s.chunks);
    let decoded = chunks.map(|c| {
        let coded = c.range.end.saturating_sub(c.range.start);
        match c.coding {
            Coding::Stored => coded,
            // What a chunk claims may be anything, but no frame grows more than this without being refused.
            Coding::Zlib { size: Some(n) } | Coding::Zstd { size: Some(n) } => n.min(coded.saturating_mul(1024)),
            _ => coded.saturating_mul(UNTOLD_RATIO),
        }
    });
    decoded.fold(0, u64::saturating_add)
}

fn of_ring_bytes(bytes: u64) -> u64 {
    BASE.saturating_add(bytes.saturating_mul(PER_RING_BYTE))
}

/// The capture, cut to the time that was asked for (ns since its first event; an open end is left out) and to what `memory` holds,
/// and what that is; as it was, where nothing was asked for and memory holds all of it.
pub fn fit(
    capture: Capture,
    asked: Option<(Option<u64>, Option<u64>)>,
    memory: u64,
) -> Result<(Capture, Option<Selected>), FitError> {
    if asked.is_none() && needed(&capture) <= memory {
        return Ok((capture, None));
    }
    if memory < BASE {
        return Err(FitError::TooLittle);
    }
    let before = capture.format;
    let capture = as_bundle(capture, memory)?;
    let memory = match before {
        "bundle" => memory,
        // It stays beside what is analyzed.
        _ => memory.saturating_sub(capture.bytes.len() as u64),
    };
    let all = spans(&capture);
    let asked = asked.and_then(|time| Some(selected(of_time(&all, time)?, all.start()?, None)));
    let Some(selected) = held(&capture, &all, memory, asked.as_ref()).or(asked) else {
        return Ok((capture, None));
    };
    let (from, to) = selected.window;
    if selected.because.is_some() && all.end().is_some_and(|end| to.min(end).saturating_sub(from) < MS) {
        return Err(FitError::TooLittle);
    }
    let cut = cut(&capture, &selected)?;
    Ok((cut, Some(selected)))
}

/// What another tool recorded as a bundle, in memory: a bundle alone can be cut. Not where that would take more than `memory`.
pub fn as_bundle(capture: Capture, memory: u64) -> Result<Capture, FitError> {
    if capture.format == "bundle" {
        return Ok(capture);
    }
    let needs = BASE.saturating_add(ring_bytes(&capture) / IMPORTED);
    if needs > memory {
        return Err(FitError::Import {
            format: capture.format,
            needs: size(needs),
            may: size(memory),
        });
    }
    Ok(opened(&capture.source, import(&capture, vec![])?.0)?)
}

/// First and last moment of a time since the first event of a bundle, in units of the recorded clock; an end that is left out is open.
/// `None`: there is no event.
pub fn window(bundle: &Capture, time: (Option<u64>, Option<u64>)) -> Option<(u64, u64)> {
    of_time(&spans(bundle), time)
}

/// The capture, cut to it.
pub fn cut(capture: &Capture, to: &Selected) -> Result<Capture, RewriteError> {
    let change = Change {
        window: Some(to.window),
        ..Change::default()
    };
    let (bytes, _) = rewrite(capture, &change, vec![])?;
    opened(&capture.source, bytes)
}

/// What was just written.
fn opened(source: &str, bytes: Vec<u8>) -> Result<Capture, RewriteError> {
    open_bytes(source, Bytes::Owned(bytes)).map_err(|e| RewriteError::Io(std::io::Error::other(e.to_string())))
}

fn of_time(all: &Spans, (from, to): (Option<u64>, Option<u64>)) -> Option<(u64, u64)> {
    let start = all.start()?;
    let at = |since: u64| start.saturating_add(since);
    Some((from.map_or(0, at), to.map_or(u64::MAX, at)))
}

/// What of it memory holds, inside of what was asked for; `None`: all of that.
fn held(capture: &Capture, all: &Spans, memory: u64, asked: Option<&Selected>) -> Option<Selected> {
    let (start, end) = (all.start()?, all.end()?);
    let (first, last) = asked.map_or((0, u64::MAX), |s| s.window);
    let (first, latest) = (first.max(start), last.min(end));
    let room = memory.saturating_sub(BASE) / PER_RING_BYTE;
    let inside = bytes_of(all, first, latest);
    if inside <= room {
        return None;
    }
    let trigger = trigger(capture).filter(|t| (first..=latest).contains(t));
    let to = trigger.map_or(latest, |t| last_end(all, t, latest, room / AFTER_PART));
    // Whole numbers of ms after the first event, inside of what fits; the trigger is in it all the same.
    let to = match to < latest {
        true => start
            .saturating_add(to.saturating_sub(start) / MS * MS)
            .max(trigger.unwrap_or(0)),
        false => to,
    };
    let from = first_begin(all, first, to, room);
    let since = from.saturating_sub(start).div_ceil(MS).saturating_mul(MS);
    let from = start.saturating_add(since).min(to);
    let seconds = |ns: u64| ns as f64 / 1e9;
    let needs = of_ring_bytes(inside);
    let because = format!(
        "To analyze all {:.3} s takes about {} of memory, and {} may be used: {:.3} s are analyzed, from {:.3} s on.",
        seconds(latest.saturating_sub(first)),
        size(needs),
        size(memory),
        seconds(to.saturating_sub(from)),
        seconds(from.saturating_sub(start)),
    );
    let open = if to >= end { u64::MAX } else { to };
    Some(selected((from, open), start, Some(because)))
}

/// When the flight recorder was triggered.
fn trigger(capture: &Capture) -> Option<u64> {
    let manifest = capture.manifest.as_ref()?;
    manifest.pointer("/flight/trigger/clock/monotonic_ns")?.as_u64()
}

/// Bytes of the chunks that reach into the window.
fn bytes_of(all: &Spans, from: u64, to: u64) -> u64 {
    let reach = all.chunks.iter().filter(|c| c.last >= from && c.first <= to);
    reach.map(|c| c.ring_bytes).fold(0, u64::saturating_add)
}

/// The earliest begin, not before `least`, from which on to `to` the chunks have at most `room` bytes; the last chunk's where that
/// alone has more.
fn first_begin(all: &Spans, least: u64, to: u64, room: u64) -> u64 {
    let mut by_end: BTreeMap<u64, u64> = BTreeMap::new();
    for c in all.chunks.iter().filter(|c| c.last >= least && c.first <= to) {
        let bytes = by_end.entry(c.last.min(to)).or_insert(0);
        *bytes = bytes.saturating_add(c.ring_bytes);
    }
    let mut left = None;
    for (last, bytes) in by_end.into_iter().rev() {
        match left.map_or(Some(room.saturating_sub(bytes)), |left: u64| left.checked_sub(bytes)) {
            Some(rest) => left = Some(rest),
            None => return last.saturating_add(1).clamp(least, to),
        }
    }
    least
}

/// The latest end, not behind `most`, up to which from `from` on the chunks have at most `room` bytes.
fn last_end(all: &Spans, from: u64, most: u64, room: u64) -> u64 {
    let mut by_begin: BTreeMap<u64, u64> = BTreeMap::new();
    for c in all.chunks.iter().filter(|c| c.last >= from && c.first <= most) {
        let bytes = by_begin.entry(c.first.max(from)).or_insert(0);
        *bytes = bytes.saturating_add(c.ring_bytes);
    }
    let mut left = room;
    for (first, bytes) in by_begin {
        match left.checked_sub(bytes) {
            Some(rest) => left = rest,
            None => return first.saturating_sub(1).clamp(from, most),
        }
    }
    most
}

fn selected(window: (u64, u64), start: u64, because: Option<String>) -> Selected {
    let text = |at: u64| {
        let ns = at.saturating_sub(start);
        let digits = if ns.is_multiple_of(MS) { 3 } else { 9 };
        let part = ns % 1_000_000_000 / 10u64.pow(9 - digits);
        format!("{}.{part:0width$}s", ns / 1_000_000_000, width = digits as usize)
    };
    let from = if window.0 == 0 { String::new() } else { text(window.0) };
    let to = if window.1 == u64::MAX {
        String::new()
    } else {
        text(window.1)
    };
    Selected {
        window,
        option: format!("--time {from}..{to}"),
        because,
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        n if n >= 10 << 30 => format!("{:.0} GiB", n as f64 / (1u64 << 30) as f64),
        n if n >= 1 << 30 => format!("{:.1} GiB", n as f64 / (1u64 << 30) as f64),
        n => format!("{} MiB", n >> 20),
    }
}

#[cfg(test)]
mod tests;
