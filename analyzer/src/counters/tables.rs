//! Rows of the view `counters`.

use std::collections::BTreeMap;

use crate::table::{Cell, TableDef, col};

/// A counter of the kernel, before and after the recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CounterRow {
    /// Which text: `snmp`, `netstat`, `snmp6`, `sockstat`, `softnet`, `nf_conntrack`, `arp_cache`, `ndisc_cache`, `dev`, `stat`, `qdisc`, `nic`.
    pub source: &'static str,
    /// Network namespace (inode), when it is of one and known.
    pub netns: Option<u64>,
    /// Device, CPU or qdisc; empty when it is of the whole namespace.
    pub of: String,
    /// As `nstat`, `ip -s link`, `tc -s qdisc`, proc_stat(5) or `ethtool -S` name it.
    pub name: String,
    /// Before the recording.
    pub start: Option<u64>,
    /// After it.
    pub end: Option<u64>,
}

/// What holds a state and not a sum: these go up and down.
pub(super) fn is_gauge(source: &str, name: &str) -> bool {
    source == "sockstat" || matches!(name, "TcpCurrEstab" | "qlen" | "backlog_bytes" | "entries")
}

/// Whether a counter began anew at 2^32: softnet_stat prints 32 bits of its counters.
pub(super) fn wrapped(source: &str, of: &str, start: u64, end: u64) -> bool {
    source == "softnet" && of.starts_with("CPU ") && end < start && start <= u64::from(u32::MAX)
}

impl CounterRow {
    /// Whether it holds a sum that only grows.
    pub fn is_counter(&self) -> bool {
        !is_gauge(self.source, &self.name)
    }

    /// By how much it rose. `None` for what is no counter, is in one snapshot only, or fell (set back with its device).
    pub fn rise(&self) -> Option<u64> {
        let (start, end) = self.start.zip(self.end).filter(|_| self.is_counter())?;
        match wrapped(self.source, &self.of, start, end) {
            true => end.checked_add(1 << 32)?.checked_sub(start),
            false => end.checked_sub(start),
        }
    }
}

/// Whether the counters of TCP were read at both ends in every namespace that there was. A counter that is 0 has no row, so a
/// namespace is known by its others: one of which nothing was read at both ends (it came or went meanwhile) may have counted anything.
pub fn read_everywhere(all: &[CounterRow]) -> bool {
    let mut whole: BTreeMap<Option<u64>, bool> = BTreeMap::new();
    for c in all.iter().filter(|c| c.source == "netstat") {
        *whole.entry(c.netns).or_default() |= c.start.is_some() && c.end.is_some();
    }
    !whole.is_empty() && whole.values().all(|read| *read)
}

/// By how much a counter of `snmp` or `netstat` rose in all namespaces; `None`: one ended meanwhile, or this counter was read there at one end only (as flights do) and not
/// as 0: that has no row.
pub fn risen(all: &[CounterRow], name: &str) -> Option<u64> {
    rose(all.iter(), name)
}

/// The same of one namespace.
pub fn risen_in(all: &[CounterRow], netns: u64, name: &str) -> Option<u64> {
    rose(all.iter().filter(|c| c.netns == Some(netns)), name)
}

fn rose<'c>(of: impl Iterator<Item = &'c CounterRow> + Clone, name: &str) -> Option<u64> {
    let of = of.filter(|c| ["snmp", "netstat"].contains(&c.source));
    let mut ended: BTreeMap<(Option<u64>, &str), bool> = BTreeMap::new();
    for c in of.clone() {
        *ended.entry((c.netns, c.source)).or_insert(true) &= c.end.is_none();
    }
    if ended.is_empty() || ended.values().any(|ended| *ended) {
        return None;
    }
    let mut rises = of.filter(|c| c.name == name).map(CounterRow::rise);
    rises.try_fold(0u64, |sum, n| Some(sum.saturating_add(n?)))
}

/// How much these rose together in the namespaces that were read before and after, which may not be all; `None`: none tells.
pub fn risen_at_least(all: &[CounterRow], names: &[&str]) -> Option<u64> {
    let of = all.iter().filter(|c| c.source == "netstat");
    let of: Vec<u64> = of
        .filter_map(|c| c.rise().filter(|_| names.contains(&c.name.as_str())))
        .collect();
    let told = !of.is_empty() || read_everywhere(all);
    told.then(|| of.into_iter().fold(0, u64::saturating_add))
}

/// By how much counters of these sources and names rose together: of one packet several may count.
pub fn refused(all: &[CounterRow], counts: impl Fn(&str, &str) -> bool) -> u64 {
    let of = all.iter().filter(|c| counts(c.source, &c.name));
    of.filter_map(CounterRow::rise).fold(0, u64::saturating_add)
}

/// The view.
pub static COUNTERS: TableDef<CounterRow> = TableDef {
    name: "counters",
    meaning: "one row per counter of the kernel that is not 0, from the snapshots before and after the recording; they enclose it, so a rise may \
              be larger than what the events show",
    columns: &[
        col!(
            "source",
            "",
            Str,
            "text it is from: snmp, netstat, snmp6, sockstat, softnet, nf_conntrack, arp_cache, ndisc_cache, dev, stat, qdisc, nic",
            |r, _| { Cell::str(r.source) }
        ),
        col!(
            "netns",
            "id",
            U64,
            "network namespace (inode); empty when it is of the whole host or not known",
            |r, _| { r.netns.into() }
        ),
        col!(
            "of",
            "",
            Str,
            "device, CPU or qdisc; empty when it is of the whole namespace",
            |r, _| Cell::str(r.of.as_str())
        ),
        col!(
            "name",
            "",
            Str,
            "as nstat, ip -s link, tc -s qdisc, proc_stat(5) (a CPU's time, in ticks of 10 ms) or ethtool -S name it",
            |r, _| Cell::str(r.name.as_str())
        ),
        col!(
            "start",
            "count",
            U64,
            "before the recording; empty when it was not there",
            |r, _| r.start.into()
        ),
        col!(
            "end",
            "count",
            U64,
            "after the recording; empty when it was not there",
            |r, _| r.end.into()
        ),
        col!(
            "rise",
            "count",
            U64,
            "end - start; empty for a state (sockets in use), for what is in one snapshot only, and for what fell",
            |r, _| { r.rise().into() }
        ),
    ],
};
