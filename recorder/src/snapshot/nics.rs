//! Network cards: driver, rings, coalescing, channels, offloads, statistics (include/uapi/linux/ethtool.h,
//! net/ethtool/ioctl.c). What `ethtool -i -g -c -l -k -S` show; a line per group that the driver has.
//!
//! ```text
//! netns=4026531840 ifindex=2 dev=eth0 group=ring rx_max_pending=256 rx_mini_max_pending=0 ... tx_pending=256
//! netns=4026531840 ifindex=2 dev=eth0 group=features rx-checksumming=on tx-scatter-gather=on rx-lro=off:fixed ...
//! ```

use std::fmt::Write;
use std::io;

use super::ethtool::Ethtool;
use super::links::Link;
use super::netlink::{text, u32_at};

const GDRVINFO: u32 = 0x03;
const GCOALESCE: u32 = 0x0e;
const GRINGPARAM: u32 = 0x10;
const GSTRINGS: u32 = 0x1b;
const GSTATS: u32 = 0x1d;
const GSSET_INFO: u32 = 0x37;
const GFEATURES: u32 = 0x3a;
const GCHANNELS: u32 = 0x3c;

const SS_STATS: u32 = 1;
const SS_FEATURES: u32 = 4;
const STRING_BYTES: usize = 32;
/// More statistics than any card has; a count above it is not believed.
const MAX_STRINGS: usize = 64 << 10;

/// struct ethtool_ringparam after its command.
const RING: &[&str] = &[
    "rx_max_pending",
    "rx_mini_max_pending",
    "rx_jumbo_max_pending",
    "tx_max_pending",
    "rx_pending",
    "rx_mini_pending",
    "rx_jumbo_pending",
    "tx_pending",
];
/// struct ethtool_channels.
const CHANNELS: &[&str] = &[
    "max_rx",
    "max_tx",
    "max_other",
    "max_combined",
    "rx_count",
    "tx_count",
    "other_count",
    "combined_count",
];
/// struct ethtool_coalesce.
const COALESCE: &[&str] = &[
    "rx_coalesce_usecs",
    "rx_max_coalesced_frames",
    "rx_coalesce_usecs_irq",
    "rx_max_coalesced_frames_irq",
    "tx_coalesce_usecs",
    "tx_max_coalesced_frames",
    "tx_coalesce_usecs_irq",
    "tx_max_coalesced_frames_irq",
    "stats_block_coalesce_usecs",
    "use_adaptive_rx_coalesce",
    "use_adaptive_tx_coalesce",
    "pkt_rate_low",
    "rx_coalesce_usecs_low",
    "rx_max_coalesced_frames_low",
    "tx_coalesce_usecs_low",
    "tx_max_coalesced_frames_low",
    "pkt_rate_high",
    "rx_coalesce_usecs_high",
    "rx_max_coalesced_frames_high",
    "tx_coalesce_usecs_high",
    "tx_max_coalesced_frames_high",
    "rate_sample_interval",
];

/// Lines of all these interfaces; settings only when asked (they are needed once), statistics always.
pub fn nics(netns: u64, links: &[Link], settings: bool, out: &mut String) -> io::Result<()> {
    let ethtool = Ethtool::new()?;
    for (ifindex, dev) in links {
        let mut group = |name: &str, values: io::Result<String>| {
            // A driver that lacks a group says so (EOPNOTSUPP); an interface may also vanish meanwhile.
            if let Ok(v) = values
                && !v.is_empty()
            {
                _ = writeln!(out, "netns={netns} ifindex={ifindex} dev={dev} group={name}{v}");
            }
        };
        if settings {
            group("driver", driver(&ethtool, dev));
            group("ring", numbers(&ethtool, dev, GRINGPARAM, RING));
            group("channels", numbers(&ethtool, dev, GCHANNELS, CHANNELS));
            group("coalesce", numbers(&ethtool, dev, GCOALESCE, COALESCE));
            group("features", features(&ethtool, dev));
        }
        group("stats", stats(&ethtool, dev));
    }
    Ok(())
}

/// struct ethtool_drvinfo: five texts of 32 bytes after the command.
fn driver(ethtool: &Ethtool, dev: &str) -> io::Result<String> {
    let info = ethtool.ask(dev, &[GDRVINFO], 196)?;
    let mut out = String::new();
    for (n, key) in ["driver", "version", "firmware", "bus"].iter().enumerate() {
        let at = 4 + n * STRING_BYTES;
        let value = text(info.get(at..at + STRING_BYTES).unwrap_or_default());
        if !value.is_empty() {
            _ = write!(out, " {key}={value}");
        }
    }
    Ok(out)
}

fn numbers(ethtool: &Ethtool, dev: &str, command: u32, names: &[&str]) -> io::Result<String> {
    let values = ethtool.ask(dev, &[command], 4 + 4 * names.len())?;
    let mut out = String::new();
    for (n, key) in names.iter().enumerate() {
        _ = write!(out, " {key}={}", u32_at(&values, n + 1).unwrap_or(0));
    }
    Ok(out)
}

/// The names of a string set.
fn strings(ethtool: &Ethtool, dev: &str, set: u32) -> io::Result<Vec<String>> {
    // struct ethtool_sset_info: command, reserved, u64 mask of sets, then a count per set asked for.
    let mask = 1u64 << set;
    let halves = [mask as u32, (mask >> 32) as u32];
    let [first, second] = if cfg!(target_endian = "big") {
        [halves[1], halves[0]]
    } else {
        halves
    };
    let info = ethtool.ask(dev, &[GSSET_INFO, 0, first, second], 20)?;
    let has = info.get(8..16).is_some_and(|m| m.iter().any(|b| *b != 0));
    let count = if has { u32_at(&info, 4).unwrap_or(0) as usize } else { 0 };
    if count == 0 || count > MAX_STRINGS {
        return Ok(Vec::new());
    }
    // struct ethtool_gstrings: command, set, count, texts.
    let all = ethtool.ask(dev, &[GSTRINGS, set, count as u32], 12 + count * STRING_BYTES)?;
    let got = u32_at(&all, 2).unwrap_or(0) as usize;
    let texts = all.get(12..).unwrap_or_default().chunks_exact(STRING_BYTES);
    Ok(texts.take(got).map(|s| text(s).replace('=', "?")).collect())
}

/// `name=on`, `off`; `:fixed` when nobody can change it, `:requested` when the other state was asked for.
fn features(ethtool: &Ethtool, dev: &str) -> io::Result<String> {
    let names = strings(ethtool, dev, SS_FEATURES)?;
    // struct ethtool_gfeatures: command, blocks, and per block: available, requested, active, never_changed.
    let blocks = names.len().div_ceil(32);
    let all = ethtool.ask(dev, &[GFEATURES, blocks as u32], 8 + 16 * blocks)?;
    let mut out = String::new();
    for (n, name) in names.iter().enumerate().filter(|(_, n)| !n.is_empty()) {
        let bit = |word: usize| u32_at(&all, 2 + 4 * (n / 32) + word).unwrap_or(0) >> (n % 32) & 1 == 1;
        let (available, requested, active, never_changed) = (bit(0), bit(1), bit(2), bit(3));
        let state = if active { "on" } else { "off" };
        let fixed = if never_changed || !available {
            ":fixed"
        } else if requested != active {
            ":requested"
        } else {
            ""
        };
        _ = write!(out, " {name}={state}{fixed}");
    }
    Ok(out)
}

/// The driver's own counters.
fn stats(ethtool: &Ethtool, dev: &str) -> io::Result<String> {
    let names = strings(ethtool, dev, SS_STATS)?;
    if names.is_empty() {
        return Ok(String::new());
    }
    // struct ethtool_stats: command, count, u64 values.
    let all = ethtool.ask(dev, &[GSTATS, names.len() as u32], 8 + 8 * names.len())?;
    let values = all.get(8..).unwrap_or_default().chunks_exact(8);
    let mut out = String::new();
    for (name, value) in names.iter().zip(values) {
        let value = value.first_chunk().map_or(0, |v| u64::from_ne_bytes(*v));
        _ = write!(out, " {name}={value}");
    }
    Ok(out)
}
