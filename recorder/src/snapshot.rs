//! Texts of /proc and /sys at the start and the end, as they are: counters whose difference is a cross-check of the
//! events, and settings that explain them. They are of the recorder's own network namespace.

use std::fs;
use std::io;
use std::path::Path;

use netmortem_formats::SnapshotWhen;
use netmortem_formats::bundle::{TASKS, snapshot_name};

use crate::tracefs::read_file;

/// Counters: both times. Paths below /proc.
const COUNTERS: [&str; 17] = [
    "net/snmp",
    "net/netstat",
    "net/snmp6",
    "net/softnet_stat",
    "net/dev",
    "net/sockstat",
    "net/sockstat6",
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

/// Settings: at the start only. Paths below /proc. Not `cmdline`: people put secrets there.
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

/// Reads what exists and hands it to `append(member name, text)`. What a kernel does not have is left out.
pub fn take(when: SnapshotWhen, append: &mut dyn FnMut(&str, &[u8]) -> io::Result<()>) -> io::Result<()> {
    let settings: &[&str] = if when == SnapshotWhen::Start { &SETTINGS } else { &[] };
    for what in COUNTERS.iter().chain(settings) {
        if let Ok(text) = read_file(&Path::new("/proc").join(what)) {
            append(&snapshot_name(what, when), &text)?;
        }
    }
    append(&snapshot_name("interfaces", when), interfaces().as_bytes())?;
    append(&snapshot_name(TASKS, when), &tasks())
}

/// `ifindex name mtu tx_queue_len operstate` of every interface, by ifindex: qdisc events carry only the index.
fn interfaces() -> String {
    let root = Path::new("/sys/class/net");
    let names = crate::tracefs::list(root);
    let mut lines: Vec<(u32, String)> = Vec::new();
    for name in names {
        let value = |f: &str| {
            fs::read_to_string(root.join(&name).join(f))
                .unwrap_or_default()
                .trim()
                .to_owned()
        };
        let Ok(index) = value("ifindex").parse() else { continue };
        let (mtu, queue, state) = (value("mtu"), value("tx_queue_len"), value("operstate"));
        lines.push((index, format!("{index} {name} {mtu} {queue} {state}\n")));
    }
    lines.sort();
    lines.into_iter().map(|(_, l)| l).collect()
}

/// `tid tgid comm` of every thread: saved_cmdlines of the kernel keeps only a few and forgets.
fn tasks() -> Vec<u8> {
    let numbers = |p: &Path| -> Vec<u32> {
        let mut n: Vec<u32> = crate::tracefs::list(p).iter().filter_map(|n| n.parse().ok()).collect();
        n.sort_unstable();
        n
    };
    let proc = Path::new("/proc");
    let mut out = Vec::new();
    for pid in numbers(proc) {
        let threads = proc.join(pid.to_string()).join("task");
        for tid in numbers(&threads) {
            let Ok(comm) = fs::read(threads.join(tid.to_string()).join("comm")) else {
                continue;
            };
            let comm = comm.strip_suffix(b"\n").unwrap_or(&comm);
            out.extend_from_slice(format!("{tid} {pid} ").as_bytes());
            out.extend(comm.iter().map(|b| if *b == b'\n' { b'?' } else { *b }));
            out.push(b'\n');
        }
    }
    out
}
