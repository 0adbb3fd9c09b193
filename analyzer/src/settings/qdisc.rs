//! Options of a qdisc, hex of the attribute as the kernel sent it, in words: what tc would have to be told. Of kinds not listed, that
//! they differ can be seen. In: kind, hex. Out: `name=value` words. Must not panic on any bytes. Follows
//! include/uapi/linux/pkt_sched.h; times and bursts are in ticks of 64 ns (PSCHED_SHIFT in include/net/pkt_sched.h).

use netmortem_formats::Endian;

/// What an attribute's number is.
#[derive(Clone, Copy)]
enum Unit {
    Packets,
    Bytes,
    Micros,
    Nanos,
    BytesPerSecond,
    Number,
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
pub(super) fn options(kind: &str, hex: &str, endian: Endian) -> String {
    let known = bytes_of(hex).and_then(|b| {
        let of = Reader { bytes: &b, endian };
        match kind {
            "fq" => of.named(FQ),
            "fq_codel" => of.named(FQ_CODEL),
            "codel" => of.named(CODEL),
            "pfifo" => Some(format!("limit={}p", of.u32(0)?)),
            "bfifo" => Some(format!("limit={}B", of.u32(0)?)),
            "prio" | "pfifo_fast" => {
                let map = b.get(4..20)?.iter().map(u8::to_string).collect::<Vec<_>>();
                Some(format!("bands={} priomap={}", of.u32(0)?, map.join(",")))
            }
            "tbf" => tbf(&of),
            "htb" => htb(&of),
            "netem" => netem(&of),
            _ => None,
        }
    });
    known.unwrap_or_else(|| match hex.len() {
        0..=SHORT => format!("options {hex}"),
        // FNV-1a: only to be told apart.
        n => {
            let sum = hex.bytes().fold(0xcbf2_9ce4_8422_2325u64, |sum, b| {
                (sum ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
            });
            format!("options of {} bytes, sum {:08x}", n / 2, sum >> 32)
        }
    })
}

fn bytes_of(hex: &str) -> Option<Vec<u8>> {
    let digits = hex.as_bytes().chunks(2);
    let byte = |d: &[u8]| u8::from_str_radix(std::str::from_utf8(d).ok()?, 16).ok();
    digits.map(byte).collect()
}

#[derive(Clone, Copy)]
struct Reader<'b> {
    bytes: &'b [u8],
    endian: Endian,
}

impl<'b> Reader<'b> {
    fn u32(&self, at: usize) -> Option<u32> {
        self.endian.u32(self.bytes, at)
    }
    fn u64(&self, at: usize) -> Option<u64> {
        self.endian.u64(self.bytes, at)
    }
    /// struct nlattr {u16 length, u16 type}, then the value, padded to 4 bytes. Ends at the first that does not fit.
    fn attributes(self, from: usize) -> impl Iterator<Item = (u16, Reader<'b>)> {
        let mut at = from;
        std::iter::from_fn(move || {
            let length = usize::from(self.endian.u16(self.bytes, at)?);
            let number = self.endian.u16(self.bytes, at.checked_add(2)?)? & 0x3fff;
            let end = at.checked_add(length)?;
            let bytes = self.bytes.get(at.checked_add(4)?..end)?;
            at = end.checked_next_multiple_of(4)?;
            let endian = self.endian;
            Some((number, Reader { bytes, endian }))
        })
    }
    /// `None` when there is not one.
    fn named(self, names: Names) -> Option<String> {
        let word = |(number, value): (u16, Reader<'_>)| {
            let n = match value.bytes {
                [one] => u64::from(*one),
                b if b.len() == 8 => value.u64(0)?,
                b if b.len() == 4 => u64::from(value.u32(0)?),
                // An array (the bands of fq): nothing in words.
                _ => return None,
            };
            let Some((_, name, unit)) = names.iter().find(|(no, ..)| *no == number) else {
                return Some(format!("(attribute {number})={n}"));
            };
            let unit = match unit {
                Unit::Packets => "p",
                Unit::Bytes => "B",
                Unit::Micros => "us",
                Unit::Nanos => "ns",
                Unit::BytesPerSecond => "B/s",
                Unit::Number => "",
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
    format!("{}bit/s", bytes_per_s.saturating_mul(8))
}

/// TCA_TBF_PARMS: struct tc_tbf_qopt {tc_ratespec rate, peakrate; u32 limit, buffer, mtu}, each ratespec 12 bytes with its
/// u32 rate at the end; TCA_TBF_RATE64.
fn tbf(of: &Reader<'_>) -> Option<String> {
    let (_, parms) = of.attributes(0).find(|(n, _)| *n == 1)?;
    let wide = of.attributes(0).find(|(n, _)| *n == 4).and_then(|(_, v)| v.u64(0));
    let rate = wide.unwrap_or(u64::from(parms.u32(8)?));
    let (peak, limit, buffer) = (parms.u32(20)?, parms.u32(24)?, parms.u32(28)?);
    let ns = u128::from(buffer) * u128::from(TICK_NS);
    // Ticks are cut: to the nearest byte.
    let burst = (u128::from(rate) * ns + 500_000_000) / 1_000_000_000;
    let peak = match peak {
        0 => String::new(),
        n => format!(" peakrate={}", bits(u64::from(n))),
    };
    Some(format!("rate={} burst={burst}B limit={limit}B{peak}", bits(rate)))
}

/// TCA_HTB_INIT: struct tc_htb_glob {version, rate2quantum, defcls, debug, direct_pkts}; the last one counts and is left out.
fn htb(of: &Reader<'_>) -> Option<String> {
    let (_, init) = of.attributes(0).find(|(n, _)| *n == 2)?;
    let queue = of.attributes(0).find(|(n, _)| *n == 5).and_then(|(_, v)| v.u32(0));
    let queue = queue.map_or(String::new(), |q| format!(" direct_qlen={q}"));
    Some(format!("r2q={} default={:#x}{queue}", init.u32(4)?, init.u32(8)?))
}

/// struct tc_netem_qopt {latency, limit, loss, gap, duplicate, jitter}, then attributes: TCA_NETEM_REORDER and _CORRUPT
/// {probability, correlation}, _RATE {rate, ...}, _RATE64, _LATENCY64 and _JITTER64 (ns). Probabilities are of 2^32.
fn netem(of: &Reader<'_>) -> Option<String> {
    let mut delay = u64::from(of.u32(0)?).saturating_mul(TICK_NS);
    let mut jitter = u64::from(of.u32(20)?).saturating_mul(TICK_NS);
    let (mut rate, mut reorder, mut corrupt) = (0u64, 0u32, 0u32);
    for (number, value) in of.attributes(24) {
        match number {
            3 => reorder = value.u32(0)?,
            4 => corrupt = value.u32(0)?,
            6 => rate = rate.max(u64::from(value.u32(0)?)),
            8 => rate = value.u64(0)?,
            10 => delay = value.u64(0)?,
            11 => jitter = value.u64(0)?,
            _ => {}
        }
    }
    let mut out = format!("limit={}p delay={}us", of.u32(4)?, delay / 1_000);
    if jitter > 0 {
        out += &format!(" jitter={}us", jitter / 1_000);
    }
    for (name, part) in [
        ("loss", of.u32(8)?),
        ("duplicate", of.u32(16)?),
        ("reorder", reorder),
        ("corrupt", corrupt),
    ] {
        if part > 0 {
            out += &format!(" {name}={:.3}%", f64::from(part) / f64::from(u32::MAX) * 100.0);
        }
    }
    if rate > 0 {
        out += &format!(" rate={}", bits(rate));
    }
    Some(out)
}
