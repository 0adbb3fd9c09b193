//! Names of the members, written and read in one place. Names of a file being read are labels, never paths.

use crate::capture::SnapshotWhen;

/// First member.
pub const MANIFEST: &str = "manifest.json";
/// Last member.
pub const END: &str = "end.json";
/// `events/header_page` of tracefs.
pub const HEADER_PAGE: &str = "header_page";
/// `events/header_event` of tracefs (only for tools that want it).
pub const HEADER_EVENT: &str = "header_event";
/// `saved_cmdlines` of tracefs, at the end.
pub const SAVED_CMDLINES: &str = "saved_cmdlines";
/// `printk_formats` of tracefs.
pub const PRINTK_FORMATS: &str = "printk_formats";
/// Text symbols of /proc/kallsyms, one zstd frame of [`crate::kallsyms::Deltas`].
pub const SYMBOLS: &str = "symbols.zst";
/// The same with whole addresses, one zstd frame: of bundles made from other formats, and of older recorders.
pub const KALLSYMS: &str = "kallsyms.zst";

/// Counters of a cgroup's `cpu.stat` that the snapshot `cgroups` has, of both versions.
pub const CPU_STAT_COUNTERS: [&str; 8] = [
    "nr_periods",
    "nr_throttled",
    "throttled_usec",
    "throttled_time",
    "usage_usec",
    "nr_bursts",
    "burst_usec",
    "burst_time",
];

/// Counters of the host that are read at the start and at the end: snapshots of this name, paths below /proc.
pub const PROC_COUNTERS: [&str; 20] = [
    "net/snmp",
    "net/netstat",
    "net/snmp6",
    "net/softnet_stat",
    "net/dev",
    "net/sockstat",
    "net/sockstat6",
    "net/stat/nf_conntrack",
    "net/stat/arp_cache",
    "net/stat/ndisc_cache",
    "net/protocols",
    "net/ptype",
    "net/route",
    "net/arp",
    "interrupts",
    "softirqs",
    "stat",
    "loadavg",
    "meminfo",
    "schedstat",
];

/// Snapshot of all threads that existed: `tid tgid comm` lines.
pub const TASKS: &str = "tasks";

/// CPU and sequence number (from 1) of a `trace/cpuN/NNNNNN.pages.zst` member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PagesName {
    /// CPU number.
    pub cpu: u32,
    /// Place among the members of that CPU, from 1, without holes.
    pub sequence: u64,
}

/// `trace/cpu0/000001.pages.zst`.
pub fn pages_name(n: PagesName) -> String {
    format!("trace/cpu{}/{:06}.pages.zst", n.cpu, n.sequence)
}

/// The inverse of [`pages_name`].
pub fn parse_pages_name(name: &str) -> Option<PagesName> {
    let (cpu, file) = name.strip_prefix("trace/cpu")?.split_once('/')?;
    let sequence = file.strip_suffix(".pages.zst")?;
    Some(PagesName {
        cpu: digits(cpu)?.try_into().ok()?,
        sequence: digits(sequence)?,
    })
}

/// `perf/cpu0/000001.records.zst`.
pub fn records_name(n: PagesName) -> String {
    format!("perf/cpu{}/{:06}.records.zst", n.cpu, n.sequence)
}

/// The inverse of [`records_name`].
pub fn parse_records_name(name: &str) -> Option<PagesName> {
    let (cpu, file) = name.strip_prefix("perf/cpu")?.split_once('/')?;
    Some(PagesName {
        cpu: digits(cpu)?.try_into().ok()?,
        sequence: digits(file.strip_suffix(".records.zst")?)?,
    })
}

/// Tap (place in the manifest's `plan.packets`) and sequence number (from 1) of a `packets/N/NNNNNN.pcapng.zst` member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketsName {
    /// Place in the manifest's list, from 0.
    pub tap: u32,
    /// Place among the members of that tap, from 1, without holes.
    pub sequence: u64,
}

/// `packets/0/000001.pcapng.zst`.
pub fn packets_name(n: PacketsName) -> String {
    format!("packets/{}/{:06}.pcapng.zst", n.tap, n.sequence)
}

/// The inverse of [`packets_name`].
pub fn parse_packets_name(name: &str) -> Option<PacketsName> {
    let (tap, file) = name.strip_prefix("packets/")?.split_once('/')?;
    Some(PacketsName {
        tap: digits(tap)?.try_into().ok()?,
        sequence: digits(file.strip_suffix(".pcapng.zst")?)?,
    })
}

/// `events/net/net_dev_queue/format`.
pub fn event_format_name(system: &str, event: &str) -> String {
    format!("events/{system}/{event}/format")
}

/// The system of an `events/<system>/<name>/format` member.
pub fn parse_event_format_name(name: &str) -> Option<&str> {
    let (system, event) = name.strip_prefix("events/")?.strip_suffix("/format")?.split_once('/')?;
    (!event.is_empty() && !event.contains('/')).then_some(system)
}

/// `snapshots/net/netstat/start`.
pub fn snapshot_name(what: &str, when: SnapshotWhen) -> String {
    let when = match when {
        SnapshotWhen::Start => "start",
        SnapshotWhen::End => "end",
    };
    format!("snapshots/{what}/{when}")
}

/// The inverse of [`snapshot_name`], with or without `.zst` (then the flag is true).
pub fn parse_snapshot_name(name: &str) -> Option<(&str, SnapshotWhen, bool)> {
    let (what, file) = name.strip_prefix("snapshots/")?.rsplit_once('/')?;
    let (when, coded) = file.strip_suffix(".zst").map_or((file, false), |w| (w, true));
    match when {
        "start" => Some((what, SnapshotWhen::Start, coded)),
        "end" => Some((what, SnapshotWhen::End, coded)),
        _ => None,
    }
}

/// `seconds/000001.zst`.
pub fn seconds_name(sequence: u64) -> String {
    format!("seconds/{sequence:06}.zst")
}

/// Whether the member holds texts read while the recording ran.
pub fn is_seconds_name(name: &str) -> bool {
    let number = name.strip_prefix("seconds/").and_then(|n| n.strip_suffix(".zst"));
    number.and_then(digits).is_some()
}

/// Section of a second with what the kernel announced.
pub const NOTICES: &str = "notices";

/// `clocks/000001.json`.
pub fn clocks_name(sequence: u64) -> String {
    format!("clocks/{sequence:06}.json")
}

/// Whether the member holds a clock pair.
pub fn is_clocks_name(name: &str) -> bool {
    name.strip_prefix("clocks/")
        .and_then(|n| n.strip_suffix(".json"))
        .and_then(digits)
        .is_some()
}

fn digits(s: &str) -> Option<u64> {
    (!s.is_empty() && s.bytes().all(|b| b.is_ascii_digit()))
        .then(|| s.parse().ok())
        .flatten()
}
