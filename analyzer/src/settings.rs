//! How the recorded host was set up: kernel, sysctls, devices, queues, offloads, qdiscs, as the snapshots of a bundle say.
//!
//! In: the texts that the recorder saved before it began. Out: name -> value, sorted; only what people or drivers set, nothing
//! that counts. Devices of the same name in several namespaces share a name, and so do sysctls of other namespaces: their values stand side by side.

use std::collections::{BTreeMap, BTreeSet};

use netmortem_formats::capture::{Snapshot, SnapshotWhen};
use netmortem_formats::event_format::ValueTable;
use netmortem_formats::{Capture, Endian};

use crate::snapshots::{field, of_netns, words};

pub mod cgroups;
pub mod changed;
pub mod classes;
pub mod devices;
mod qdisc;

pub(crate) use qdisc::options as qdisc_options;
#[cfg(test)]
mod tests;

/// Name and value of every setting known; empty for captures without snapshots.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Settings(pub BTreeMap<String, String>);

/// Keys of `key=value` lines that count or change by themselves.
const MOVING: [&str; 12] = [
    "carrier_changes",
    "bql_limit",
    "bql_inflight",
    "tx_timeout",
    "refcnt",
    "operstate",
    "promiscuity",
    "ifindex",
    "netns",
    "handle",
    "parent",
    "flags",
];
/// Ends of sysctl names that count or change by themselves.
const MOVING_SYSCTLS: [&str; 5] = [
    "_count",
    "_entries_used",
    "fastopen_key",
    "fastopen_key_last",
    ".random",
];
/// How the names of sysctls of other namespaces end than the recorder's own; where they differ from its own.
pub const OTHERS: &str = "@netns";
/// Which ports clients are given.
const RANGE: &str = "net.ipv4.ip_local_port_range";
/// Most settings kept: a hostile file may hold any number.
const MOST: usize = 100_000;

impl Settings {
    /// Of a capture.
    pub fn of(capture: &Capture) -> Settings {
        let mut of = Collected::default();
        let h = &capture.host;
        of.put("kernel release", &h.kernel_release);
        of.put("kernel version", &h.kernel_version);
        of.put("machine", &h.machine);
        if h.cpus > 0 {
            of.put("CPUs", &h.cpus.to_string());
        }
        let manifest = |at: &str| capture.manifest.as_ref().and_then(|m| m.pointer(at));
        if let Some(model) = manifest("/machine/cpu_model").and_then(|v| v.as_str()) {
            of.put("CPU model", model);
        }
        if let Some(hz) = manifest("/machine/hz").and_then(serde_json::Value::as_u64) {
            of.put("timer frequency", &hz.to_string());
        }
        drop_reasons(capture, &mut of);
        let names = device_names(capture);
        let start = capture.snapshots.iter().filter(|s| s.when == SnapshotWhen::Start);
        let start: Vec<&Snapshot> = start.collect();
        for s in &start {
            snapshot(s, &names, capture.endian, &mut of);
        }
        devices::put(&start, &names, &mut of);
        cgroups::put(capture, &mut of);
        classes::put(capture, &mut of);
        of.complete();
        Settings(of.0.into_iter().map(|(k, v)| (k, join(&v))).collect())
    }

    /// First and last port that clients are given, of all network namespaces that are known; `None`: of none.
    pub fn client_ports(&self) -> Option<(u16, u16)> {
        let of = [RANGE.to_owned(), format!("{RANGE}{OTHERS}")];
        let values = of.iter().filter_map(|name| self.0.get(name)).flat_map(|v| v.split('|'));
        let ends = values.filter_map(|v| {
            let mut ends = v.split_ascii_whitespace().map(str::parse::<u16>);
            Some((ends.next()?.ok()?, ends.next()?.ok()?))
        });
        ends.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }
}

fn join(values: &BTreeSet<String>) -> String {
    values.iter().map(String::as_str).collect::<Vec<_>>().join(" | ")
}

/// Values by name; of how many other namespaces sysctls were read, and of how many each name differs.
#[derive(Default)]
struct Collected(BTreeMap<String, BTreeSet<String>>, usize, BTreeMap<String, usize>);

impl Collected {
    fn put(&mut self, name: &str, value: &str) {
        let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
        if !value.is_empty() && (self.0.len() < MOST || self.0.contains_key(name)) {
            self.0.entry(name.to_owned()).or_default().insert(value);
        }
    }

    /// Other namespaces that have no line of a sysctl have it as the recorder's own.
    fn complete(&mut self) {
        for (name, lines) in &self.2 {
            let own = name.strip_suffix(OTHERS).filter(|_| *lines < self.1);
            let own = own.and_then(|own| self.0.get(own)).cloned();
            if let Some(values) = self.0.get_mut(name) {
                values.extend(own.into_iter().flatten());
            }
        }
    }
}

/// The reasons the kernel knows, as far as the format text of `kfree_skb` lists them.
fn drop_reasons(capture: &Capture, of: &mut Collected) {
    let format = capture.event_formats.iter().find(|f| f.key() == "skb:kfree_skb");
    let Some(table) = format.and_then(|f| ValueTable::of(f, "reason")) else {
        return;
    };
    of.put("drop reasons", &format!("{} known", table.entries.len()));
    for (number, name) in &table.entries {
        of.put(&format!("drop reason {name}"), &number.to_string());
    }
}

/// (namespace, index) -> device, from the snapshot `links`.
fn device_names(capture: &Capture) -> BTreeMap<(String, String), String> {
    let links = capture
        .snapshots
        .iter()
        .filter(|s| s.what == "links" && s.when == SnapshotWhen::Start);
    let mut out = BTreeMap::new();
    for s in links {
        for line in String::from_utf8_lossy(&s.text).lines() {
            if let (Some(n), Some(i), Some(d)) = (field(line, "netns"), field(line, "ifindex"), field(line, "name")) {
                out.insert((n.to_owned(), i.to_owned()), d.to_owned());
            }
        }
    }
    out
}

fn snapshot(s: &Snapshot, names: &BTreeMap<(String, String), String>, endian: Endian, of: &mut Collected) {
    let text = String::from_utf8_lossy(&s.text);
    if let Some(path) = s.what.strip_prefix("sys/") {
        // The recorder saves a few of them one by one too.
        of.put(&path.replace('/', "."), &text);
        return;
    }
    // Of other namespaces only what differs from the recorder's own, under names of their own.
    let (netns, what) = of_netns(&s.what);
    let others = if netns.is_some() { OTHERS } else { "" };
    if what == "sysctl" && netns.is_some() {
        of.put(&format!("sysctls{OTHERS}"), "read");
        of.1 += 1;
    }
    for line in text.lines() {
        match what {
            "sysctl" => {
                if let Some((k, v)) = line.split_once('=') {
                    let k = k.trim();
                    if !MOVING_SYSCTLS.iter().any(|m| k.ends_with(m)) {
                        let name = format!("{k}{others}");
                        of.put(&name, v);
                        if netns.is_some() && of.0.contains_key(&name) {
                            *of.2.entry(name).or_default() += 1;
                        }
                    }
                }
            }
            "queues" => {
                let queue = field(line, "queue").filter(|q| *q != "-").unwrap_or("");
                device(line, field(line, "dev"), queue, &["dev", "queue"], of);
            }
            "links" => device(line, field(line, "name"), "", &["name"], of),
            "routes" => {
                if let Some((to, window)) = field(line, "to").zip(field(line, "initcwnd")) {
                    let via = field(line, "via").map_or(String::new(), |v| format!(" via {v}"));
                    of.put(&format!("route {to}{via} initcwnd"), window);
                }
            }
            "qdiscs" => {
                let key = (field(line, "netns"), field(line, "ifindex"));
                let dev = key.0.zip(key.1).map(|(n, i)| (n.to_owned(), i.to_owned()));
                let Some(dev) = dev.and_then(|k| names.get(&k)) else {
                    continue;
                };
                let root = field(line, "parent") == Some("0xffffffff");
                if let Some(kind) = field(line, "kind") {
                    let place = if root { "qdisc" } else { "qdisc below the root" };
                    let options = field(line, "options").map_or(String::new(), |o| qdisc::options(kind, o, endian));
                    of.put(&format!("{dev} {place}"), &format!("{kind} {options}"));
                }
            }
            "nics" => {
                let group = field(line, "group").unwrap_or("");
                if group != "stats" && group != "statistics" {
                    device(line, field(line, "dev"), group, &["dev", "group"], of);
                }
            }
            "irq_affinity" => {
                if let (Some(irq), Some(cpus)) = (field(line, "irq"), field(line, "smp_affinity_list")) {
                    of.put(&format!("irq {irq} smp_affinity_list"), cpus);
                }
            }
            _ => {}
        }
    }
}

/// Every `key=value` of a line as `DEV WHERE key`.
fn device(line: &str, dev: Option<&str>, place: &str, keys: &[&str], of: &mut Collected) {
    let Some(dev) = dev else { return };
    let space = if place.is_empty() { "" } else { " " };
    for (k, v) in words(line).filter(|(k, _)| !keys.contains(k) && !MOVING.contains(k)) {
        of.put(&format!("{dev}{space}{place} {k}"), v);
    }
}
