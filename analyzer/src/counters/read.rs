//! One reader for each kind of text. A line that does not look as it should is passed over: it has no counter.

use std::collections::BTreeMap;
use std::ops::Range;

use netmortem_formats::Capture;

use crate::snapshots::{field, number, of_netns, words};

/// Names longer than this are cut: the kernel's have at most 32 characters, a driver's own 32.
const LONGEST_NAME: usize = 64;

/// What tells one counter from all others; as in the view `counters`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    /// Which text.
    pub source: &'static str,
    /// Network namespace (inode), when it is of one and known.
    pub netns: Option<u64>,
    /// Device, CPU or qdisc; empty when it is of the whole namespace.
    pub of: String,
    /// Its name.
    pub name: String,
}

/// What the recorded host calls its namespaces and devices.
#[derive(Debug, Default)]
pub struct Names {
    /// The recorder's own namespace.
    pub own: Option<u64>,
    devices: BTreeMap<(u64, u64), String>,
}

impl Names {
    /// From the snapshots `namespaces` and `links`.
    pub fn of(capture: &Capture) -> Names {
        let mut names = Names::default();
        for s in &capture.snapshots {
            let text = String::from_utf8_lossy(&s.text);
            for line in text.lines() {
                match s.what.as_str() {
                    "namespaces" if field(line, "own") == Some("yes") => {
                        names.own = number(line, "netns").or(names.own)
                    }
                    "links" => {
                        if let (Some(n), Some(i), Some(d)) =
                            (number(line, "netns"), number(line, "ifindex"), field(line, "name"))
                        {
                            names.devices.insert((n, i), short(d));
                        }
                    }
                    _ => {}
                }
            }
        }
        names
    }
}

fn short(name: &str) -> String {
    name.chars().take(LONGEST_NAME).collect()
}

/// Reads the text of a snapshot, if it has counters.
pub fn text(what: &str, text: &str, names: &Names, put: &mut dyn FnMut(Key, u64)) {
    let (netns, what) = of_netns(what);
    let netns = netns.map_or(names.own, |inode| inode.parse().ok());
    let mut of = |source, netns, of: &str, name: &str, value| {
        let key = Key {
            source,
            netns,
            of: short(of),
            name: short(name),
        };
        put(key, value);
    };
    match what {
        "net/snmp" => two_lines(text, &mut |name, value| of("snmp", netns, "", name, value)),
        "net/netstat" => two_lines(text, &mut |name, value| of("netstat", netns, "", name, value)),
        "net/snmp6" => {
            let pairs = text.lines().filter_map(|l| name_and_value(l.split_ascii_whitespace()));
            for (name, value) in pairs.filter(|(n, _)| n.bytes().all(|b| b.is_ascii_alphanumeric())) {
                of("snmp6", netns, "", name, value);
            }
        }
        "net/sockstat" | "net/sockstat6" => sockstat(text, &mut |name, value| of("sockstat", netns, "", name, value)),
        "net/softnet_stat" => softnet(text, &mut |cpu, name, value| of("softnet", None, cpu, name, value)),
        "net/stat/nf_conntrack" => of_cpus(text, &mut |name, value| of("nf_conntrack", netns, "", name, value)),
        // Those are of the kernel, not of a namespace.
        "net/stat/arp_cache" => of_cpus(text, &mut |name, value| of("arp_cache", None, "", name, value)),
        "net/stat/ndisc_cache" => of_cpus(text, &mut |name, value| of("ndisc_cache", None, "", name, value)),
        "net/dev" => dev(text, &mut |dev, name, value| of("dev", netns, dev, name, value)),
        "stat" => cpu_times(text, &mut |cpu, name, value| of("stat", None, cpu, name, value)),
        "qdiscs" | "classes" => {
            let class = what == "classes";
            for line in text.lines() {
                let netns = number(line, "netns");
                let dev = netns.zip(number(line, "ifindex")).and_then(|k| names.devices.get(&k));
                let (Some(dev), Some(kind)) = (dev, field(line, "kind")) else {
                    continue;
                };
                // The root's counters hold those of the qdiscs below it.
                let root = !class && field(line, "parent") == Some("0xffffffff");
                let place = if root {
                    "root".to_owned()
                } else {
                    field(line, "handle").unwrap_or("").to_owned()
                };
                for (name, value) in QDISC.iter().filter_map(|k| Some((k, number(line, k)?))) {
                    let source = if class { "class" } else { "qdisc" };
                    of(source, netns, &format!("{dev} {kind} {place}"), name, value);
                }
                for (name, digits) in FQ.iter().filter(|_| !class && kind == "fq") {
                    if let Some(value) = of_fq(line, digits.clone()) {
                        of("qdisc", netns, &format!("{dev} {kind} {place}"), name, value);
                    }
                }
            }
        }
        "nics" => {
            for line in text.lines().filter(|l| field(l, "group") == Some("stats")) {
                let Some(dev) = field(line, "dev") else { continue };
                for (name, value) in
                    words(line).filter(|(k, _)| !k.ends_with("ifindex") && !["netns", "dev", "group"].contains(k))
                {
                    if let Ok(value) = value.parse() {
                        of("nic", number(line, "netns"), dev, name, value);
                    }
                }
            }
        }
        _ => {}
    }
}

/// What fq dropped at its limit for one flow.
pub const FLOWS_PLIMIT: &str = "flows_plimit";
/// What fq dropped because its transmit time lay further ahead than its horizon.
pub const HORIZON_DROPS: &str = "horizon_drops";
/// Hex digits of fq's own statistics (include/uapi/linux/pkt_sched.h `tc_fq_qd_stats`): the fifth number, and since 5.6 the one behind `ce_mark`.
const FQ: [(&str, Range<usize>); 2] = [(FLOWS_PLIMIT, 64..80), (HORIZON_DROPS, 176..192)];

/// A number of them, no more than it dropped in all: of a big-endian host, whose bytes these are, it would be.
fn of_fq(line: &str, digits: Range<usize>) -> Option<u64> {
    let digits = field(line, "xstats")?.get(digits)?;
    let number = u64::from_str_radix(digits, 16).ok()?.swap_bytes();
    (number <= self::number(line, "drops")?).then_some(number)
}

const QDISC: [&str; 7] = [
    "bytes",
    "packets",
    "drops",
    "overlimits",
    "requeues",
    "qlen",
    "backlog_bytes",
];

fn name_and_value<'l>(mut words: impl Iterator<Item = &'l str>) -> Option<(&'l str, u64)> {
    Some((words.next()?, words.next()?.parse().ok()?))
}

/// `Tcp: RtoAlgorithm …` above `Tcp: 1 …`. Negative values are settings (TcpMaxConn), and no counters.
fn two_lines(text: &str, put: &mut dyn FnMut(&str, u64)) {
    let mut lines = text.lines();
    while let (Some(names), Some(values)) = (lines.next(), lines.next()) {
        let (Some((group, names)), Some((same, values))) = (names.split_once(": "), values.split_once(": ")) else {
            continue;
        };
        if group != same {
            continue;
        }
        for (name, value) in names.split(' ').zip(values.split(' ')) {
            let setting = group == "Tcp" && name.starts_with("Rto")
                || group == "Ip" && matches!(name, "Forwarding" | "DefaultTTL");
            if let Some(value) = value.parse().ok().filter(|_| !setting) {
                put(&format!("{group}{name}"), value);
            }
        }
    }
}

/// `TCP: inuse 5 orphan 0 …`.
fn sockstat(text: &str, put: &mut dyn FnMut(&str, u64)) {
    for line in text.lines() {
        let Some((group, rest)) = line.split_once(": ") else {
            continue;
        };
        let mut words = rest.split_ascii_whitespace();
        while let (Some(name), Some(value)) = (words.next(), words.next()) {
            if let Ok(value) = value.parse() {
                put(&format!("{group} {name}"), value);
            }
        }
    }
}

/// Columns that count, in all kernels that have them; the others are states, or always 0.
const SOFTNET: [(usize, &str); 5] = [
    (0, "processed"),
    (1, "dropped"),
    (2, "time_squeeze"),
    (9, "received_rps"),
    (10, "flow_limit_count"),
];
/// Column of the CPU's number, since 5.14.
const SOFTNET_CPU: usize = 12;

fn softnet(text: &str, put: &mut dyn FnMut(&str, &str, u64)) {
    for line in text.lines() {
        // Nine columns of eight hexadecimal digits at least, since 2.6.
        let columns: Vec<&str> = line.split_ascii_whitespace().take(32).collect();
        if columns.len() < 9 || columns.iter().any(|c| c.len() != 8) {
            continue;
        }
        let column = |n: usize| u64::from_str_radix(columns.get(n)?, 16).ok();
        // Without its number a line may be any CPU's, as those that are offline have none: only the sum says something.
        let of = column(SOFTNET_CPU).map_or_else(|| "all CPUs".to_owned(), |cpu| format!("CPU {cpu}"));
        for (name, value) in SOFTNET.iter().filter_map(|(n, name)| Some((name, column(*n)?))) {
            put(&of, name, value);
        }
    }
}

/// Kinds of a CPU's time in /proc/stat, in the order of its columns; what a CPU gives to guests is in `user` and `nice`.
const CPU_TIMES: [&str; 8] = [
    "user_ticks",
    "nice_ticks",
    "system_ticks",
    "idle_ticks",
    "iowait_ticks",
    "irq_ticks",
    "softirq_ticks",
    "steal_ticks",
];

/// `cpu0 238247 2990 …`, ticks of 10 ms (USER_HZ). The line of all CPUs is the sum of these.
fn cpu_times(text: &str, put: &mut dyn FnMut(&str, &str, u64)) {
    for line in text.lines().take_while(|l| l.starts_with("cpu")) {
        let mut words = line.split_ascii_whitespace();
        let cpu = words.next().and_then(|w| w.strip_prefix("cpu")?.parse::<u32>().ok());
        let Some(cpu) = cpu else { continue };
        for (name, value) in CPU_TIMES.iter().zip(words) {
            if let Ok(value) = value.parse() {
                put(&format!("CPU {cpu}"), name, value);
            }
        }
    }
}

/// Names above a line of hexadecimal numbers for each CPU, which add up; `entries` is that of all, in each line.
fn of_cpus(text: &str, put: &mut dyn FnMut(&str, u64)) {
    const COLUMNS: usize = 64;
    let mut lines = text.lines();
    let names: Vec<&str> = lines
        .next()
        .unwrap_or("")
        .split_ascii_whitespace()
        .take(COLUMNS)
        .collect();
    for (nth, line) in lines.enumerate() {
        let values: Vec<&str> = line.split_ascii_whitespace().take(COLUMNS + 1).collect();
        // At least eight digits; of an unsigned long more.
        if values.len() != names.len() || values.iter().any(|v| !(8..=16).contains(&v.len())) {
            continue;
        }
        for (name, value) in names
            .iter()
            .zip(values)
            .filter(|(name, _)| nth == 0 || **name != "entries")
        {
            if let Ok(value) = u64::from_str_radix(value, 16) {
                put(name, value);
            }
        }
    }
}

/// Columns of /proc/net/dev, as `ip -s link` would name them.
const DEV: [&str; 16] = [
    "rx_bytes",
    "rx_packets",
    "rx_errors",
    "rx_dropped",
    "rx_fifo_errors",
    "rx_frame_errors",
    "rx_compressed",
    "rx_multicast",
    "tx_bytes",
    "tx_packets",
    "tx_errors",
    "tx_dropped",
    "tx_fifo_errors",
    "tx_collisions",
    "tx_carrier_errors",
    "tx_compressed",
];

fn dev(text: &str, put: &mut dyn FnMut(&str, &str, u64)) {
    // Two lines of headings.
    for line in text.lines().skip(2) {
        let Some((dev, values)) = line.rsplit_once(':') else {
            continue;
        };
        for (name, value) in DEV.iter().zip(values.split_ascii_whitespace()) {
            if let Ok(value) = value.parse() {
                put(dev.trim(), name, value);
            }
        }
    }
}
