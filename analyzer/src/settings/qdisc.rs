//! Options of a qdisc, hex of the attribute as the kernel sent it, in words: what tc would have to be told. Of kinds not listed, that
//! they differ can be seen; of what no word says, too: `other=` and a sum. In: kind, hex. Out: `name=value` words. Must not panic on
//! any bytes. Follows
//! include/uapi/linux/pkt_sched.h; times and bursts are in ticks of 64 ns (PSCHED_SHIFT in include/net/pkt_sched.h).

use std::cell::Cell;

use netmortem_formats::Endian;

use crate::snapshots::bytes_of;

/// What an attribute's number is.
#[derive(Clone, Copy)]
enum Unit {
    Packets,
    Bytes,
    Micros,
    Nanos,
    BytesPerSecond,
    Number,
    /// struct tc_prio_qopt.
    Map,
    /// u32 each.
    List,
}

type Names = &'static [(u16, &'static str, Unit)];

/// TCA_FQ_*.
const FQ: Names = &[
    (1, "limit", Unit::Packets),
    (2, "flow_limit", Unit::Packets),
    (3, "quantum", Unit::Bytes),
    (4, "initial_quantum", Unit::Bytes),
    (5, "pacing", Unit::Number),
    (7, "maxrate", Unit::BytesPerSecond),
    (8, "buckets_log", Unit::Number),
    (9, "refill_delay", Unit::Micros),
    (10, "orphan_mask", Unit::Number),
    (11, "low_rate_threshold", Unit::BytesPerSecond),
    (12, "ce_threshold", Unit::Micros),
    (13, "timer_slack", Unit::Nanos),
    (14, "horizon", Unit::Micros),
    (15, "horizon_drop", Unit::Number),
    (16, "priomap", Unit::Map),
    (17, "weights", Unit::List),
];
/// TCA_FQ_CODEL_*.
const FQ_CODEL: Names = &[
    (1, "target", Unit::Micros),
    (2, "limit", Unit::Packets),
    (3, "interval", Unit::Micros),
    (4, "ecn", Unit::Number),
    (5, "flows", Unit::Number),
    (6, "quantum", Unit::Bytes),
    (7, "ce_threshold", Unit::Micros),
    (8, "drop_batch", Unit::Packets),
    (9, "memory_limit", Unit::Bytes),
    (10, "ce_threshold_selector", Unit::Number),
    (11, "ce_threshold_mask", Unit::Number),
];
/// TCA_CODEL_*.
const CODEL: Names = &[
    (1, "target", Unit::Micros),
    (2, "limit", Unit::Packets),
    (3, "interval", Unit::Micros),
    (4, "ecn", Unit::Number),
    (5, "ce_threshold", Unit::Micros),
];

/// Hex kept as it is up to so many digits.
const SHORT: usize = 32;
const TICK_NS: u64 = 64;

/// The options in words.
pub(crate) fn options(kind: &str, hex: &str, endian: Endian) -> String {
    let known = bytes_of(hex).and_then(|bytes| {
        let said = vec![Cell::new(false); bytes.len()];
        let of = Reader {
            bytes: &bytes,
            endian,
            said: &said,
            at: 0,
            header: 0,
        };
        let words = match kind {
            "fq" => of.named(FQ),
            "fq_codel" => of.named(FQ_CODEL),
            "codel" => of.named(CODEL),
            "pfifo" => Some(format!("limit={}p", of.u32(0)?)),
            "bfifo" => Some(format!("limit={}B", of.u32(0)?)),
            "prio" | "pfifo_fast" => Some(format!("bands={} priomap={}", of.u32(0)?, of.map()?)),
            "tbf" => tbf(of),
            "htb" => htb(of),
            "netem" => netem(of),
            _ => None,
        }?;
        let unsaid = bytes.iter().zip(&said).filter(|(_, said)| !said.get());
        let rest: Vec<u8> = unsaid.map(|(b, _)| *b).collect();
        // Zeros: padding, and fields not used.
        Some(match rest.iter().all(|b| *b == 0) {
            true => words,
            false => format!("{words} other={:08x}", sum(&rest)),
        })
    });
    known.unwrap_or_else(|| match hex.len() {
        0..=SHORT => format!("options {hex}"),
        n => format!("options of {} bytes, sum {:08x}", n / 2, sum(hex.as_bytes())),
    })
}

/// Half of FNV-1a: only to be told apart.
fn sum(bytes: &[u8]) -> u64 {
    let add = |sum: u64, b: &u8| (sum ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, add) >> 32
}

/// Bytes; what is read of them counts as said.
#[derive(Clone, Copy)]
struct Reader<'b> {
    bytes: &'b [u8],
    endian: Endian,
    /// Of each byte of all the options.
    said: &'b [Cell<bool>],
    /// Where `bytes` begin there, and how many bytes before them are their header.
    at: usize,
    header: usize,
}

impl<'b> Reader<'b> {
    fn read(&self, at: usize, len: usize) -> Option<&'b [u8]> {
        let bytes = self.bytes.get(at..at.checked_add(len)?)?;
        let from = self.at + at;
        let header = self.at - self.header..self.at;
        for part in [header, from..from + len] {
            self.said.get(part)?.iter().for_each(|said| said.set(true));
        }
        Some(bytes)
    }
    fn u32(&self, at: usize) -> Option<u32> {
        self.endian.u32(self.read(at, 4)?, 0)
    }
    fn u64(&self, at: usize) -> Option<u64> {
        self.endian.u64(self.read(at, 8)?, 0)
    }
    /// The map in struct tc_prio_qopt {int bands; u8 priomap[16]}.
    fn map(&self) -> Option<String> {
        let map: Vec<String> = self.read(4, 16)?.iter().map(u8::to_string).collect();
        Some(map.join(","))
    }
    /// struct nlattr {u16 length, u16 type}, then the value, padded to 4 bytes. Ends at the first that does not fit.
    fn attributes(self, from: usize) -> impl Iterator<Item = (u16, Reader<'b>)> {
        let mut at = from;
        std::iter::from_fn(move || {
            let length = usize::from(self.endian.u16(self.bytes, at)?);
            let number = self.endian.u16(self.bytes, at.checked_add(2)?)? & 0x3fff;
            let end = at.checked_add(length)?;
            let from = at.checked_add(4)?;
            let value = Reader {
                bytes: self.bytes.get(from..end)?,
                at: self.at + from,
                header: 4,
                ..self
            };
            at = end.checked_next_multiple_of(4)?;
            Some((number, value))
        })
    }
    /// `None` when there is not one.
    fn named(self, names: Names) -> Option<String> {
        let word = |(number, value): (u16, Reader<'_>)| {
            let known = names.iter().find(|(no, ..)| *no == number);
            let n = match (known, value.bytes.len()) {
                (Some((_, name, Unit::Map)), 20) => {
                    return Some(format!("bands={} {name}={}", value.u32(0)?, value.map()?));
                }
                (Some((_, name, Unit::List)), len) if len % 4 == 0 => {
                    let each = (0..len).step_by(4).map(|at| value.u32(at).map(|n| n.to_string()));
                    return Some(format!("{name}={}", each.collect::<Option<Vec<_>>>()?.join(",")));
                }
                (_, 1) => u64::from(*value.read(0, 1)?.first()?),
                (_, 4) => u64::from(value.u32(0)?),
                (_, 8) => value.u64(0)?,
                _ => return None,
            };
            let Some((_, name, unit)) = known else {
                return Some(format!("(attribute {number})={n}"));
            };
            let unit = match unit {
                Unit::Packets => "p",
                Unit::Bytes => "B",
                Unit::Micros => "us",
                Unit::Nanos => "ns",
                Unit::BytesPerSecond => "B/s",
                Unit::Number | Unit::Map | Unit::List => "",
            };
            Some(match n {
                // No limit at all.
                n if n == u64::from(u32::MAX) => format!("{name}=none"),
                n => format!("{name}={n}{unit}"),
            })
        };
        let words: Vec<String> = self.attributes(0).filter_map(word).collect();
        (!words.is_empty()).then(|| words.join(" "))
    }
}

fn bits(bytes_per_s: u64) -> String {
    format!("{}bit/s", u128::from(bytes_per_s) * 8)
}

fn micros(ns: u64) -> String {
    match ns % 1_000 {
        0 => format!("{}us", ns / 1_000),
        _ => format!("{ns}ns"),
    }
}

/// Of 2^32 - 1, with as many digits as it takes to tell it from its neighbours.
fn percent(part: u32) -> String {
    let of_all = f64::from(part) / f64::from(u32::MAX) * 100.0;
    let short = format!("{of_all:.3}");
    let back = short.parse().map_or(0.0, |p: f64| p / 100.0 * f64::from(u32::MAX));
    match (back.round() - f64::from(part)).abs() < 0.5 {
        true => short + "%",
        false => format!("{of_all:.8}%"),
    }
}

/// Bytes that pass in a time. Ticks are cut: to the nearest byte.
fn passed(bytes_per_s: u64, ticks: u32) -> u128 {
    let ns = u128::from(ticks) * u128::from(TICK_NS);
    (u128::from(bytes_per_s) * ns + 500_000_000) / 1_000_000_000
}

/// TCA_TBF_PARMS: struct tc_tbf_qopt {tc_ratespec rate, peakrate; u32 limit, buffer, mtu}, each ratespec {u8 cell_log, linklayer;
/// u16 overhead; s16 cell_align; u16 mpu; u32 rate}; TCA_TBF_RATE64 and _PRATE64.
fn tbf(of: Reader<'_>) -> Option<String> {
    /// TC_LINKLAYER_ETHERNET; the kernel deals with 0, not known, as with this.
    const ETHERNET: u8 = 1;
    let (_, parms) = of.attributes(0).find(|(n, _)| *n == 1)?;
    let wide = |no: u16| of.attributes(0).find(|(n, _)| *n == no).and_then(|(_, v)| v.u64(0));
    for linklayer in [1, 13] {
        if parms.bytes.get(linklayer) == Some(&ETHERNET) {
            parms.read(linklayer, 1)?;
        }
    }
    let (narrow, narrow_peak) = (u64::from(parms.u32(8)?), u64::from(parms.u32(20)?));
    let (rate, peak) = (wide(4).unwrap_or(narrow), wide(5).unwrap_or(narrow_peak));
    let mut out = format!("rate={}", bits(rate));
    // Without a rate no bytes can be told.
    if rate > 0 {
        out += &format!(" burst={}B", passed(rate, parms.u32(28)?));
    }
    out += &format!(" limit={}B", parms.u32(24)?);
    if peak > 0 {
        out += &format!(" peakrate={} minburst={}B", bits(peak), passed(peak, parms.u32(32)?));
    }
    Some(out)
}

/// TCA_HTB_INIT: struct tc_htb_glob {version, rate2quantum, defcls, debug, direct_pkts}; the first is the kernel's, the last one
/// counts: both are left out.
fn htb(of: Reader<'_>) -> Option<String> {
    let (_, init) = of.attributes(0).find(|(n, _)| *n == 2)?;
    let queue = of.attributes(0).find(|(n, _)| *n == 5).and_then(|(_, v)| v.u32(0));
    let queue = queue.map_or(String::new(), |q| format!(" direct_qlen={q}"));
    for left_out in [0, 16] {
        init.u32(left_out)?;
    }
    Some(format!("r2q={} default={:#x}{queue}", init.u32(4)?, init.u32(8)?))
}

/// struct tc_netem_qopt {latency, limit, loss, gap, duplicate, jitter}, then attributes: TCA_NETEM_CORR {delay, loss, duplicate},
/// _REORDER and _CORRUPT {probability, correlation}, _RATE {rate, ...}, _ECN, _RATE64, _LATENCY64 and _JITTER64 (ns), _PRNG_SEED.
/// Probabilities are of 2^32.
fn netem(of: Reader<'_>) -> Option<String> {
    let mut delay = u64::from(of.u32(0)?).saturating_mul(TICK_NS);
    let mut jitter = u64::from(of.u32(20)?).saturating_mul(TICK_NS);
    let (mut rate, mut ecn, mut reorder, mut corrupt, mut like) = (0u64, 0, (0, 0), (0, 0), (0, 0, 0));
    for (number, value) in of.attributes(24) {
        match number {
            1 => like = (value.u32(0)?, value.u32(4)?, value.u32(8)?),
            3 => reorder = (value.u32(0)?, value.u32(4)?),
            4 => corrupt = (value.u32(0)?, value.u32(4)?),
            6 => rate = rate.max(u64::from(value.u32(0)?)),
            7 => ecn = value.u32(0)?,
            8 => rate = value.u64(0)?,
            10 => delay = value.u64(0)?,
            11 => jitter = value.u64(0)?,
            // Drawn by the kernel when none is asked for: another one each time.
            14 => _ = value.u64(0)?,
            _ => {}
        }
    }
    let mut out = format!("limit={}p delay={}", of.u32(4)?, micros(delay));
    if jitter > 0 {
        out += &format!(" jitter={}", micros(jitter));
    }
    for (name, part) in [
        ("delay_correlation", like.0),
        ("loss", of.u32(8)?),
        ("loss_correlation", like.1),
        ("duplicate", of.u32(16)?),
        ("duplicate_correlation", like.2),
        ("reorder", reorder.0),
        ("reorder_correlation", reorder.1),
        ("corrupt", corrupt.0),
        ("corrupt_correlation", corrupt.1),
    ] {
        if part > 0 {
            out += &format!(" {name}={}", percent(part));
        }
    }
    for (name, n) in [("gap", of.u32(12)?), ("ecn", ecn)] {
        if n > 0 {
            out += &format!(" {name}={n}");
        }
    }
    if rate > 0 {
        out += &format!(" rate={}", bits(rate));
    }
    Some(out)
}
