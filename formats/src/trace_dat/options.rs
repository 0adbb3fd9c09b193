//! Option records: (u16 id, u32 size, data)*, the same in both versions.
//!
//! An option that cannot be understood is a problem and is passed over: its size says where the next one starts.

use super::cpu_stats::CpuStatTexts;
use super::cursor::{Cursor, text};
use super::draft::Draft;
use super::layout::*;
use crate::capture::{ClockConversion, TimeShiftSample};
use crate::error::FormatErrorKind::{BadText, BadValue, TooLarge};
use crate::error::{FormatError, Limit};

/// The longest name of a tracing instance: NAME_MAX.
pub(super) const MAX_NAME_BYTES: usize = 255;
/// More ring buffers than this in one file are not a recording.
const MAX_BUFFERS: usize = 1024;

/// One CPU of a ring buffer: where its data are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CpuRange {
    pub cpu: u32,
    pub offset: u64,
    pub size: u64,
}

/// A ring buffer that an option names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BufferOption {
    /// Instance name, empty for the top one.
    pub name: String,
    /// Offset of its section (v7) or of its `flyrecord` tag (v6).
    pub offset: u64,
    /// Clock as written; empty in v6. See [`super::cpu_stats`] for what it is worth.
    pub clock: String,
    /// Sub-buffer size, bytes; 0 in v6.
    pub page_size: u32,
    /// CPUs with data; empty in v6, where the table is at `offset`.
    pub cpus: Vec<CpuRange>,
}

/// What the options said that other parts need.
#[derive(Debug, Default)]
pub(super) struct Options {
    /// Clock in brackets of TRACECLOCK.
    pub clock: Option<String>,
    pub buffers: Vec<BufferOption>,
    /// (section id, offset), in file order; the last of an id counts.
    pub sections: Vec<(u16, u64)>,
    pub cpu_count: Option<u32>,
    pub cpu_stats: CpuStatTexts,
}

impl Options {
    /// Takes one option. `version` decides the layout of BUFFER.
    pub fn take(&mut self, id: u16, mut c: Cursor<'_>, version: u32, draft: &mut Draft) {
        let at = c.locus;
        if let Err(e) = self.read(id, &mut c, version, draft) {
            let name = option_name(id).unwrap_or("unknown");
            let message = format!("the option {name} cannot be understood and is ignored");
            draft.damage(Some(FormatError { locus: at, ..e }), "OPTIONS", message);
        }
    }

    fn read(&mut self, id: u16, c: &mut Cursor<'_>, version: u32, draft: &mut Draft) -> Result<(), FormatError> {
        match id {
            OPTION_DATE => {
                let us = number(c, "DATE")?;
                let ns = us.checked_mul(1000).ok_or_else(|| c.error(BadValue, "DATE"))?;
                draft.clock_conversions.push(ClockConversion::OffsetNs(ns));
            }
            OPTION_OFFSET => draft
                .clock_conversions
                .push(ClockConversion::OffsetNs(number(c, "OFFSET")?)),
            OPTION_TSC2NSEC => {
                let (mult, shift, offset) = (c.u32("mult")?, c.u32("shift")?, c.u64("offset")?);
                draft
                    .clock_conversions
                    .push(ClockConversion::Tsc2Nsec { mult, shift, offset });
            }
            OPTION_TIME_SHIFT => draft.clock_conversions.push(time_shift(c)?),
            OPTION_CPUSTAT => self.cpu_stats.take(&text(c.rest())),
            OPTION_TRACECLOCK => self.clock = bracketed(&text(c.rest())).or(self.clock.take()),
            OPTION_UNAME => {
                // sysname nodename release machine, joined by spaces, none of which may hold one.
                let line = text(c.rest());
                let mut words = line.split_whitespace().skip(1);
                draft.host.hostname = words.next().unwrap_or("").to_owned();
                draft.host.kernel_release = words.next().unwrap_or("").to_owned();
                draft.host.machine = words.last().unwrap_or("").to_owned();
            }
            OPTION_CPUCOUNT => {
                let n = c.u32("CPUCOUNT")?;
                self.cpu_count = Some(n);
                draft.host.cpus = n;
            }
            OPTION_BUFFER if self.buffers.len() >= MAX_BUFFERS => {
                let have = MAX_BUFFERS as u64;
                return Err(c.error(TooLarge, "number of buffers").sizes(
                    have.saturating_add(1),
                    have,
                    Limit::Configured,
                ));
            }
            OPTION_BUFFER => self.buffers.push(buffer(c, version)?),
            OPTION_BUFFER_TEXT => {
                c.u64("offset of the latency trace")?;
                let name = text(c.cstr("name of the buffer")?);
                draft.damage(
                    None,
                    "BUFFER_TEXT",
                    format!("buffer `{name}` is an ASCII latency trace: not read"),
                );
            }
            OPTION_HEADER_INFO..=OPTION_CMDLINES | OPTION_BTF_FILE | OPTION_MODULES_FILE => {
                self.sections.push((id, c.u64("offset of a section")?));
            }
            OPTION_HOOK
            | OPTION_VERSION
            | OPTION_PROCMAPS
            | OPTION_TRACEID
            | OPTION_GUEST
            | OPTION_STRINGS
            | OPTION_LAST_BOOT_INFO => {}
            _ => {
                let (n, at) = (c.left(), c.offset());
                draft.remark(
                    None,
                    "OPTIONS",
                    format!("option {id} at offset {at} is unknown: {n} bytes passed over"),
                );
            }
        }
        Ok(())
    }
}

/// BUFFER: u64 offset, name\0, then in v7 clock\0, u32 page size, u32 n, n times (u32 cpu, u64 offset, u64 size).
fn buffer(c: &mut Cursor<'_>, version: u32) -> Result<BufferOption, FormatError> {
    let offset = c.u64("offset of a buffer")?;
    let name = short_text(c, "name of a buffer")?;
    let mut b = BufferOption {
        name,
        offset,
        clock: String::new(),
        page_size: 0,
        cpus: Vec::new(),
    };
    if version >= 7 {
        b.clock = short_text(c, "clock of a buffer")?;
        b.page_size = c.u32("page size of a buffer")?;
        let n = c.u32("number of CPUs")?;
        for _ in 0..n {
            let cpu = c.u32("cpu")?;
            b.cpus.push(CpuRange {
                cpu,
                offset: c.u64("offset of a CPU")?,
                size: c.u64("size of a CPU")?,
            });
        }
    }
    Ok(b)
}

/// A NUL-terminated name. It is copied for every CPU, so its length matters.
fn short_text(c: &mut Cursor<'_>, what: &'static str) -> Result<String, FormatError> {
    let at = *c;
    let name = c.cstr(what)?;
    if name.len() > MAX_NAME_BYTES {
        let (need, have) = (name.len() as u64, MAX_NAME_BYTES as u64);
        return Err(at.error(TooLarge, what).sizes(need, have, Limit::Configured));
    }
    Ok(text(name))
}

/// TIME_SHIFT: u64 peer, u32 flags, u32 cpus, per CPU: u32 n, n times, n offsets, n scalings; then per CPU n fraction bits.
fn time_shift(c: &mut Cursor<'_>) -> Result<ClockConversion, FormatError> {
    let (peer_trace_id, flags, n_cpus) = (c.u64("peer trace id")?, c.u32("flags")?, c.u32("number of CPUs")?);
    let mut cpus: Vec<Vec<TimeShiftSample>> = Vec::new();
    for _ in 0..n_cpus {
        let n = c.u32("number of samples")?;
        let bytes = u64::from(n).saturating_mul(8);
        let (times, offsets, scalings) = (
            c.take(bytes, "times")?,
            c.take(bytes, "offsets")?,
            c.take(bytes, "scalings")?,
        );
        let column = |b: &[u8]| -> Vec<u64> { b.chunks_exact(8).filter_map(|w| c.endian.u64(w, 0)).collect() };
        let rows = column(times).into_iter().zip(column(offsets)).zip(column(scalings));
        let sample = |((time, offset), scaling): ((u64, u64), u64)| TimeShiftSample {
            time,
            offset: offset.cast_signed(),
            scaling,
            fraction_bits: None,
        };
        cpus.push(rows.map(sample).collect());
    }
    // Older files end here.
    if !c.is_empty() {
        for sample in cpus.iter_mut().flatten() {
            sample.fraction_bits = Some(c.u64("fraction bits")?);
        }
    }
    Ok(ClockConversion::TimeShift {
        peer_trace_id,
        flags,
        cpus,
    })
}

/// An ASCII number as strtoll reads it: decimal or 0x hexadecimal, with a sign.
fn number(c: &Cursor<'_>, what: &'static str) -> Result<i64, FormatError> {
    let line = text(c.rest());
    let t = line.trim();
    let (negative, digits) = match t.strip_prefix('-') {
        Some(d) => (true, d),
        None => (false, t.strip_prefix('+').unwrap_or(t)),
    };
    let parsed = match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        Some(hex) => i128::from_str_radix(hex, 16),
        None => digits.parse(),
    };
    let value = parsed
        .ok()
        .map(|v| if negative { v.wrapping_neg() } else { v })
        .and_then(|v| i64::try_from(v).ok());
    value.ok_or_else(|| c.error(BadText, what).sizes(0, c.left(), Limit::Section))
}

/// The word in brackets.
pub(super) fn bracketed(line: &str) -> Option<String> {
    let (_, rest) = line.split_once('[')?;
    let (word, _) = rest.split_once(']')?;
    (word.len() <= MAX_NAME_BYTES).then(|| word.to_owned())
}
