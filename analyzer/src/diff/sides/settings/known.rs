//! Whether both sides can say what a setting is: recorders read more from version to version, and what one of them did not read is no
//! difference.

use super::Side;
use crate::settings::OTHERS;
use crate::settings::cgroups;
use crate::settings::classes;
use crate::settings::devices::{MARKER, OfDevice, SOME};

/// Sysctls that the first recorders read, one by one: who has another one of a tree reads the whole tree.
const ONE_BY_ONE: [&str; 20] = [
    "net.core.netdev_budget",
    "net.core.netdev_budget_usecs",
    "net.core.netdev_max_backlog",
    "net.core.dev_weight",
    "net.core.gro_normal_batch",
    "net.core.default_qdisc",
    "net.core.rmem_max",
    "net.core.wmem_max",
    "net.core.rps_sock_flow_entries",
    "net.core.busy_poll",
    "net.core.busy_read",
    "net.core.netdev_tstamp_prequeue",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
    "net.ipv4.tcp_mem",
    "net.ipv4.tcp_autocorking",
    "net.ipv4.tcp_early_retrans",
    "net.ipv4.tcp_limit_output_bytes",
    "net.ipv4.tcp_no_metrics_save",
];
/// What only some devices have: told of none, where links were read, it is there of none.
const OF_SOME: [&str; 3] = ["kind", "link", "master"];
/// First words of names that are no device's.
const HOST: [&str; 6] = ["kernel", "CPU", "timer", "drop", "irq", "route"];

/// What says that something was read; no setting.
pub(super) fn is_marker(name: &str) -> bool {
    let namespaces = name.strip_suffix(OTHERS) == Some("sysctls");
    namespaces || [MARKER, cgroups::MARKER, cgroups::COUNTED, classes::MARKER].contains(&name)
}

/// What a setting is of: the device of `eth0 mtu`, nothing of a sysctl.
pub(super) fn device(name: &str) -> Option<&str> {
    let of = name.split_once(' ').map(|(device, _)| device);
    of.filter(|d| !HOST.contains(d))
}

/// Whether the recorder of a side would have read it: a sysctl, what belongs to a device, or to the host.
fn reads(side: &Side, name: &str) -> bool {
    let any = |first: &str| begins(side, first).next().is_some();
    let own = name.strip_suffix(OTHERS).unwrap_or(name);
    if side.contains_key(name) {
        return true;
    }
    if let Some(dev) = device(name) {
        return reads_of_device(side, name, dev);
    }
    match own.split_once(' ') {
        // A reason that the other kernel does not list.
        Some(("drop", _)) => any("drop reason "),
        Some(("irq", _)) => any("irq "),
        // There for those that have one alone.
        Some(("route", _)) => any("route ") || side.keys().any(|n| device(n).is_some()),
        Some(_) => false,
        None => match own.match_indices('.').nth(1) {
            Some((end, _)) => {
                let tree = own.get(..=end).unwrap_or(own);
                begins(side, tree).any(|n| !n.ends_with(OTHERS) && !ONE_BY_ONE.contains(&n.as_str()))
            }
            // Of no tree.
            None => false,
        },
    }
}

fn begins<'s>(side: &'s Side, first: &str) -> impl Iterator<Item = &'s String> {
    let first = first.to_owned();
    side.range(first.clone()..)
        .map(|(n, _)| n)
        .take_while(move |n| n.starts_with(&first))
}

/// Of a device that is there: whether any device has this property. Of one that is not: whether devices were read at all.
fn reads_of_device(side: &Side, name: &str, dev: &str) -> bool {
    if !has_device(side, dev) {
        return side.contains_key(MARKER) || side.keys().any(|n| device(n).is_some());
    }
    let has = |asked: Option<(&str, &str)>| side.keys().any(|n| property(n) == asked);
    let asked = property(name);
    let of_some = matches!(asked, Some(("", key)) if OF_SOME.contains(&key));
    has(asked) || of_some && has(Some(("", "mtu")))
}

/// `features tx-udp` of `eth0 features tx-udp`, `rx- rps_cpus` of `eth0 rx-0 rps_cpus`: queues of one kind have the same.
fn property(name: &str) -> Option<(&str, &str)> {
    let (_, rest) = device(name).and_then(|_| name.split_once(' '))?;
    let (place, key) = rest.rsplit_once(' ').unwrap_or(("", rest));
    let place = place.trim_end_matches(|c: char| c.is_ascii_digit());
    // Which offloads there are is the kernel's word, and which qdiscs the administrator's: who reads one reads all.
    Some(match place {
        _ if rest.starts_with("qdisc") => ("qdisc", ""),
        "features" => (place, ""),
        _ => (place, key),
    })
}

/// Whether both sides can say what a setting is: older recorders did not read those of other namespaces, nor those of devices.
pub(super) fn known(name: &str, sides: [&Side; 2]) -> bool {
    let both = |marker: &str| sides.iter().all(|s| s.contains_key(marker));
    if is_marker(name) {
        return false;
    }
    if name.starts_with(cgroups::MAX) || name.starts_with(cgroups::STAT) {
        return both(cgroups::MARKER) && (both(cgroups::COUNTED) || !name.starts_with(cgroups::STAT));
    }
    if name.ends_with(classes::CLASSES) {
        return both(classes::MARKER);
    }
    let read = format!("sysctls{OTHERS}");
    let others = !name.ends_with(OTHERS) || sides.iter().all(|s| s.contains_key(&read));
    let Some(of) = OfDevice::of(name) else {
        return others && (both(name) || sides.iter().all(|s| reads(s, name)));
    };
    // Where devices were too many, one of which nothing is told was perhaps not read. A device of one side alone is told as such.
    let (first, link) = (format!("{}.{}.", of.folder, of.device), of.link());
    let told = |side: &Side| match side.get(MARKER) {
        None => false,
        Some(m) if m.iter().any(|m| m.contains(SOME)) => side
            .range(first.clone()..)
            .next()
            .is_some_and(|(n, _)| n.starts_with(&first)),
        Some(_) => true,
    };
    let there = sides.map(|s| has_device(s, &link));
    others && sides.iter().all(|s| told(s)) && there[0] == there[1]
}

/// Whether anything but sysctls is told of a device.
fn has_device(side: &Side, dev: &str) -> bool {
    let first = format!("{dev} ");
    side.range(first.clone()..)
        .next()
        .is_some_and(|(n, _)| n.starts_with(&first))
}
