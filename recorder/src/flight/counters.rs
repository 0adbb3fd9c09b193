//! Counters by name from the texts that are read every second, and how much they grew.
//!
//! Names: `Tcp.RetransSegs`, `TcpExt.TCPTimeouts` (net/snmp, net/netstat), `Udp6RcvbufErrors` (net/snmp6),
//! `softnet.dropped`, `softnet.time_squeeze` (net/softnet_stat, all CPUs), `dev.eth0.rx_drop` (net/dev),
//! `qdisc.2.drops` (the root qdisc of interface number 2; it counts those below it). Those of another network namespace have
//! its name, or its inode, behind them: `Tcp.RetransSegs in netns:web`.

use std::collections::BTreeMap;

use netmortem_formats::bundle::Second;

use super::spec::Rate;

/// What counts as a drop: each where the packet is refused. Errors that repeat another layer's drop (UDP SndbufErrors for
/// a full qdisc, UDP InErrors for a full buffer) are not in it.
const DROPS: [&str; 16] = [
    "Udp.RcvbufErrors",
    "Udp.MemErrors",
    "Udp6RcvbufErrors",
    "Udp6MemErrors",
    "Ip.InDiscards",
    "Ip6InDiscards",
    "TcpExt.ListenDrops",
    "TcpExt.TCPBacklogDrop",
    "TcpExt.TCPRcvQDrop",
    "TcpExt.TCPZeroWindowDrop",
    "TcpExt.TCPOFODrop",
    "TcpExt.TCPReqQFullDrop",
    "TcpExt.PFMemallocDrop",
    "TcpExt.TCPDeferAcceptDrop",
    "TcpExt.LockDroppedIcmps",
    "softnet.dropped",
];

/// Before the name of a namespace; no counter and no device has a space in its name.
const IN: &str = " in ";

/// Counters of one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counters {
    /// CLOCK_MONOTONIC, ns.
    pub at_ns: i64,
    values: BTreeMap<String, u64>,
}

impl Counters {
    /// None yet.
    pub fn at(at_ns: i64) -> Counters {
        Counters {
            at_ns,
            ..Counters::default()
        }
    }

    /// Those of texts read together. What does not parse is not there.
    pub fn of(second: &Second) -> Counters {
        let mut values = BTreeMap::new();
        for (what, text) in &second.texts {
            parse(what, &String::from_utf8_lossy(text), &mut values);
        }
        Counters {
            at_ns: second.clock.monotonic_ns,
            values,
        }
    }

    /// Adds the text `what` of another network namespace, which is called so.
    pub fn add(&mut self, what: &str, text: &[u8], space: &str) {
        let mut values = BTreeMap::new();
        parse(what, &String::from_utf8_lossy(text), &mut values);
        let named = values.into_iter().map(|(name, v)| (format!("{name}{IN}{space}"), v));
        self.values.extend(named);
    }

    /// Whether a rate has anything to count here.
    pub fn knows(&self, rate: &Rate) -> bool {
        self.values.keys().any(|name| counts(rate, name))
    }

    /// By how much each counter of the rate grew since `before`; those that did not are left out. One that went back or
    /// is new (an interface or qdisc that was replaced) counts nothing.
    pub fn growth(&self, before: &Counters, rate: &Rate) -> Vec<(&str, u64)> {
        let of = |(name, now): (&'_ String, &u64)| {
            let grew = now.saturating_sub(*before.values.get(name)?);
            (grew > 0).then_some(grew)
        };
        let mine = self.values.iter().filter(|(name, _)| counts(rate, name));
        mine.filter_map(|kv| Some((kv.0.as_str(), of(kv)?))).collect()
    }
}

fn counts(rate: &Rate, name: &str) -> bool {
    let name = name.split_once(IN).map_or(name, |(name, _)| name);
    match rate {
        Rate::Retransmits => name == "Tcp.RetransSegs",
        Rate::Rto => name == "TcpExt.TCPTimeouts",
        Rate::ZeroWindow => matches!(name, "TcpExt.TCPToZeroWindowAdv" | "TcpExt.TCPWinProbe"),
        Rate::TimeSqueeze => name == "softnet.time_squeeze",
        Rate::Counter(wanted) => name == wanted || name.split_once('.').is_some_and(|(_, short)| short == wanted),
        Rate::Drops => {
            DROPS.contains(&name)
                || (name.starts_with("dev.") && (name.ends_with(".rx_drop") || name.ends_with(".tx_drop")))
                || (name.starts_with("qdisc.") && name.ends_with(".drops"))
        }
    }
}

fn parse(what: &str, text: &str, values: &mut BTreeMap<String, u64>) {
    match what {
        "net/snmp" | "net/netstat" => paired(text, values),
        "net/snmp6" => values.extend(text.lines().filter_map(|l| {
            let (name, value) = l.split_once(char::is_whitespace)?;
            Some((name.to_owned(), value.trim().parse().ok()?))
        })),
        "net/softnet_stat" => softnet(text, values),
        "net/dev" => devices(text, values),
        "qdiscs" => values.extend(text.lines().filter_map(root_drops)),
        _ => {}
    }
}

/// Two lines for each protocol: names, then values.
fn paired(text: &str, out: &mut BTreeMap<String, u64>) {
    let mut lines = text.lines();
    while let (Some(names), Some(values)) = (lines.next(), lines.next()) {
        let (Some((protocol, names)), Some((same, values))) = (names.split_once(':'), values.split_once(':')) else {
            return;
        };
        if protocol != same {
            return;
        }
        for (name, value) in names.split_ascii_whitespace().zip(values.split_ascii_whitespace()) {
            // A few are -1 for "none": not a counter.
            if let Ok(v) = value.parse() {
                out.insert(format!("{protocol}.{name}"), v);
            }
        }
    }
}

/// Hexadecimal columns, a line for each CPU (`softnet_seq_show` in net/core/net-procfs.c).
fn softnet(text: &str, out: &mut BTreeMap<String, u64>) {
    for line in text.lines() {
        let columns = ["processed", "dropped", "time_squeeze"]
            .iter()
            .zip(line.split_ascii_whitespace());
        for (name, value) in columns {
            let sum = out.entry(format!("softnet.{name}")).or_insert(0);
            *sum = sum.saturating_add(u64::from_str_radix(value, 16).unwrap_or(0));
        }
    }
}

fn devices(text: &str, out: &mut BTreeMap<String, u64>) {
    for line in text.lines() {
        let Some((name, values)) = line.split_once(':') else {
            continue;
        };
        let values: Vec<u64> = values.split_ascii_whitespace().filter_map(|v| v.parse().ok()).collect();
        for (key, column) in [("rx_errs", 2), ("rx_drop", 3), ("tx_errs", 10), ("tx_drop", 11)] {
            if let Some(v) = values.get(column) {
                out.insert(format!("dev.{}.{key}", name.trim()), *v);
            }
        }
    }
}

/// A classful qdisc counts the drops of those below it: only the root of an interface is taken.
fn root_drops(line: &str) -> Option<(String, u64)> {
    let value = |key: &str| line.split(' ').find_map(|w| w.strip_prefix(key)?.strip_prefix('='));
    let root = value("parent")? == "0xffffffff";
    let name = format!("qdisc.{}.drops", value("ifindex")?);
    root.then_some((name, value("drops")?.parse().ok()?))
}
