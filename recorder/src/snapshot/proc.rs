//! Texts of /proc, as they are.

use std::io;
use std::path::Path;

use netmortem_formats::SnapshotWhen;
use netmortem_formats::bundle::PROC_COUNTERS;

use crate::tracefs::read_file;

/// Settings: at the start only. Paths below /proc. Not `cmdline`: people put secrets there. `sysctl` has these and many
/// more; as members of their own they are what a reader of format version 1 knows.
const SETTINGS: [&str; 21] = [
    "modules",
    "sys/net/core/netdev_budget",
    "sys/net/core/netdev_budget_usecs",
    "sys/net/core/netdev_max_backlog",
    "sys/net/core/dev_weight",
    "sys/net/core/gro_normal_batch",
    "sys/net/core/default_qdisc",
    "sys/net/core/rmem_max",
    "sys/net/core/wmem_max",
    "sys/net/core/rps_sock_flow_entries",
    "sys/net/core/busy_poll",
    "sys/net/core/busy_read",
    "sys/net/core/netdev_tstamp_prequeue",
    "sys/net/ipv4/tcp_congestion_control",
    "sys/net/ipv4/tcp_rmem",
    "sys/net/ipv4/tcp_wmem",
    "sys/net/ipv4/tcp_mem",
    "sys/net/ipv4/tcp_autocorking",
    "sys/net/ipv4/tcp_early_retrans",
    "sys/net/ipv4/tcp_limit_output_bytes",
    "sys/net/ipv4/tcp_no_metrics_save",
];

/// Counters that every network namespace has of its own.
const OF_NAMESPACE: [&str; 7] = [
    "snmp",
    "netstat",
    "snmp6",
    "dev",
    "sockstat",
    "sockstat6",
    "stat/nf_conntrack",
];

/// Hands over what exists.
pub fn take(when: SnapshotWhen, put: &mut dyn FnMut(&str, &[u8]) -> io::Result<()>) -> io::Result<()> {
    let settings: &[&str] = if when == SnapshotWhen::Start { &SETTINGS } else { &[] };
    for what in PROC_COUNTERS.iter().chain(settings) {
        if let Ok(text) = read_file(&Path::new("/proc").join(what)) {
            put(what, &text)?;
        }
    }
    Ok(())
}

/// Counters of the network namespace that the calling thread is in, as `netns/<inode>/net/<file>`.
pub fn of_namespace(inode: u64) -> Vec<(String, Vec<u8>)> {
    let read = |file: &&str| {
        let text = read_file(&Path::new("/proc/thread-self/net").join(file)).ok()?;
        Some((format!("netns/{inode}/net/{file}"), text))
    };
    OF_NAMESPACE.iter().filter_map(read).collect()
}
