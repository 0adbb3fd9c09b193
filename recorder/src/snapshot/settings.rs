//! Settings from sysfs and /proc that steer packets to CPUs, and all of `net.*` as sysctl prints it.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use super::netlink::word;
use crate::tracefs::{self, list, read_sysctl};

/// Folders of /proc/sys/net whose files are taken; below `conf` and `neigh` only what holds for all interfaces, because
/// a host of many containers has thousands of the others.
const SYSCTL: [&str; 15] = [
    "bridge",
    "core",
    "ipv4",
    "ipv4/conf/all",
    "ipv4/conf/default",
    "ipv4/neigh/default",
    "ipv4/route",
    "ipv6",
    "ipv6/conf/all",
    "ipv6/conf/default",
    "ipv6/neigh/default",
    "ipv6/route",
    "mptcp",
    "netfilter",
    "unix",
];
/// Secrets: whoever has them can forge cookies or steer flows.
const SECRETS: [&str; 3] = ["tcp_fastopen_key", "netdev_rss_key", "stable_secret"];

/// Whether a setting is one, by its whole name.
pub fn is_secret(name: &str) -> bool {
    SECRETS.contains(&name.rsplit('.').next().unwrap_or(name))
}

/// `net.core.netdev_budget = 300` lines, as `sysctl -a` writes them. Secrets are left out.
pub fn sysctl() -> String {
    let root = Path::new("/proc/sys/net");
    let mut out = String::new();
    for folder in SYSCTL {
        let path = root.join(folder);
        let Ok(opened) = tracefs::folder(&path) else { continue };
        for name in list(&path) {
            if SECRETS.contains(&name.as_str()) {
                continue;
            }
            // Folders; and some can only be written (`flush`).
            let Ok(text) = read_sysctl(&opened, &name) else {
                continue;
            };
            let key = folder.replace('/', ".");
            for line in String::from_utf8_lossy(&text).lines() {
                _ = writeln!(out, "net.{key}.{name} = {line}");
            }
        }
    }
    out
}

/// First line of the settings of another namespace: they were read, and those that are not there are the same.
const BESIDE: &str = "# what differs from the recorder's own namespace";

/// Lines of another namespace that the recorder's own does not have: all others are the same in both. The kernel gives every namespace its own copy of most of
/// `net.ipv4`, and pods set them.
pub fn sysctl_beside(own: &str) -> String {
    let own: std::collections::HashSet<&str> = own.lines().collect();
    let all = sysctl();
    let other = all.lines().filter(|line| !own.contains(line));
    other.fold(format!("{BESIDE}\n"), |mut out, line| {
        _ = writeln!(out, "{line}");
        out
    })
}

/// Folders of /proc/sys/net with one for each device. `neigh` has a `default` in the first namespace only: in others it is
/// not told.
const OF_DEVICES: [&str; 4] = ["ipv4/conf", "ipv4/neigh", "ipv6/conf", "ipv6/neigh"];
/// As the interface has it; `links` says it.
const KNOWN_OF_DEVICES: [&str; 1] = ["mtu"];

/// `net.ipv4.conf.eth0.rp_filter = 2` lines of this namespace: of each device what is not as `default` has it (a dot in a
/// name is a slash, as `sysctl` writes it). Devices with hardware first; no more than `room`, which is counted down.
pub fn sysctl_devices(room: &mut usize) -> String {
    let root = Path::new("/proc/sys/net");
    let mut devices = list(&root.join("ipv4/conf"));
    devices.retain(|d| d != "all" && d != "default");
    devices.sort_by_key(|d| !Path::new("/sys/class/net").join(d).join("device").exists());
    let taken = devices.len().min(*room);
    *room -= taken;
    let mut out = format!("# what differs from default, of {taken} of {} devices\n", devices.len());
    for folder in OF_DEVICES {
        let default = root.join(folder).join("default");
        let Ok(opened) = tracefs::folder(&default) else {
            continue;
        };
        let names: Vec<(String, Vec<u8>)> = list(&default)
            .into_iter()
            .filter(|n| !SECRETS.contains(&n.as_str()) && !KNOWN_OF_DEVICES.contains(&n.as_str()))
            .filter_map(|n| Some((n.clone(), read_sysctl(&opened, &n).ok()?)))
            .collect();
        let key = folder.replace('/', ".");
        for device in devices.iter().take(taken) {
            let Ok(opened) = tracefs::folder(&root.join(folder).join(device)) else {
                continue;
            };
            for (name, default) in &names {
                let Some(own) = read_sysctl(&opened, name).ok().filter(|v| v != default) else {
                    continue;
                };
                let device = device.replace('.', "/");
                for line in String::from_utf8_lossy(&own).lines() {
                    _ = writeln!(out, "net.{key}.{device}.{name} = {line}");
                }
            }
        }
    }
    out
}

/// Files of /sys/class/net/<dev>.
const DEVICE: [&str; 7] = [
    "threaded",
    "gro_flush_timeout",
    "napi_defer_hard_irqs",
    "speed",
    "duplex",
    "carrier_changes",
    "device/numa_node",
];
const RX: [&str; 2] = ["rps_cpus", "rps_flow_cnt"];
const TX: [&str; 9] = [
    "xps_cpus",
    "xps_rxqs",
    "tx_timeout",
    "traffic_class",
    "byte_queue_limits/limit",
    "byte_queue_limits/limit_min",
    "byte_queue_limits/limit_max",
    "byte_queue_limits/inflight",
    "byte_queue_limits/hold_time",
];

/// `dev=eth0 queue=rx-0 rps_cpus=3 rps_flow_cnt=0` lines; `queue=-` is the interface itself. Of the network namespace
/// that /sys is mounted for.
pub fn queues() -> String {
    let root = Path::new("/sys/class/net");
    let mut out = String::new();
    for dev in list(root) {
        let folder = root.join(&dev);
        let mut line = |queue: &str, folder: &Path, files: &[&str]| {
            let values = values(folder, files);
            if !values.is_empty() {
                _ = writeln!(out, "dev={dev} queue={queue}{values}");
            }
        };
        line("-", &folder, &DEVICE);
        let queues = folder.join("queues");
        for queue in list(&queues) {
            let files: &[&str] = if queue.starts_with("rx-") { &RX } else { &TX };
            line(&queue, &queues.join(&queue), files);
        }
    }
    out
}

/// `irq=24 smp_affinity_list=0-1 effective_affinity_list=0` lines. Which card an irq is of says `interrupts`.
pub fn irq_affinity() -> String {
    let root = Path::new("/proc/irq");
    let mut out = String::new();
    for irq in super::tasks::numbers(root) {
        let values = values(
            &root.join(irq.to_string()),
            &["smp_affinity_list", "effective_affinity_list", "node"],
        );
        _ = writeln!(out, "irq={irq}{values}");
    }
    out
}

/// `cpu=0 online=1 physical_package_id=0 core_id=0 thread_siblings_list=0-1 numa_node=0 scaling_governor=performance` lines.
pub fn cpu_topology() -> String {
    let root = Path::new("/sys/devices/system/cpu");
    let mut out = String::new();
    let mut cpus: Vec<u32> = list(root)
        .iter()
        .filter_map(|n| n.strip_prefix("cpu")?.parse().ok())
        .collect();
    cpus.sort_unstable();
    for cpu in cpus {
        let folder = root.join(format!("cpu{cpu}"));
        let mut values = values(&folder, &TOPOLOGY);
        // A link to its memory node, by name.
        if let Some(node) = list(&folder)
            .iter()
            .find_map(|n| n.strip_prefix("node")?.parse::<u32>().ok())
        {
            _ = write!(values, " numa_node={node}");
        }
        _ = writeln!(out, "cpu={cpu}{values}");
    }
    out
}

/// Files below /sys/devices/system/cpu/cpuN. CPU 0 often has no `online`: it cannot be taken away.
const TOPOLOGY: [&str; 8] = [
    "online",
    "topology/physical_package_id",
    "topology/die_id",
    "topology/core_id",
    "topology/thread_siblings_list",
    "topology/package_cpus_list",
    "cpufreq/scaling_governor",
    "cpufreq/scaling_max_freq",
];

/// Files that exist and can be read, as ` name=value`.
fn values(folder: &Path, files: &[&str]) -> String {
    let mut out = String::new();
    for file in files {
        let Ok(value) = fs::read_to_string(folder.join(file)) else {
            continue;
        };
        let key = match file.strip_prefix("byte_queue_limits/") {
            Some(limit) => format!("bql_{limit}"),
            None => file.rsplit('/').next().unwrap_or(file).to_owned(),
        };
        _ = write!(out, " {key}={}", word(value.trim()));
    }
    out
}
