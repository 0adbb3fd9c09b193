//! Sysctls of devices: the recorder tells of each device what is not as `default` of its namespace (docs/bundle.md, `sysctl_devices`).
//!
//! In: the snapshots `sysctl_devices`, `netns/<inode>/sysctl_devices`, and what `sysctl` says of `default`. Out: `net.ipv4.conf.eth0.rp_filter` with
//! its value, of other namespaces with [`OTHERS`] behind it. It must not fill in what was not read: of how many devices is a value of [`MARKER`].

use std::collections::{BTreeMap, BTreeSet};

use netmortem_formats::capture::{Snapshot, SnapshotWhen};

use super::{Collected, MOVING_SYSCTLS, OTHERS};
use crate::snapshots::of_netns;

/// A setting of ours: there where the recorder read them; [`ALL`], or [`SOME`] where devices were too many.
pub const MARKER: &str = "sysctl_devices";
/// Of all devices.
pub const ALL: &str = "read";
/// Of a part of them.
pub const SOME: &str = "of some devices";

/// A sysctl of one device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OfDevice<'n> {
    /// `net.ipv4.conf`, `net.ipv6.neigh`, ...
    pub folder: &'n str,
    /// As in the name: a dot of the device is a slash.
    pub device: &'n str,
    /// Its last word, with [`OTHERS`] where it has that.
    pub rest: &'n str,
}

impl<'n> OfDevice<'n> {
    /// Of the name of a sysctl; `None`: it is of no one device.
    pub fn of(name: &'n str) -> Option<OfDevice<'n>> {
        let (at, folder) = ["net.ipv4.conf", "net.ipv4.neigh", "net.ipv6.conf", "net.ipv6.neigh"]
            .iter()
            .find_map(|f| Some((name.strip_prefix(f)?.strip_prefix('.')?, *f)))?;
        let (device, rest) = at.split_once('.')?;
        (!matches!(device, "all" | "default")).then_some(OfDevice { folder, device, rest })
    }

    /// The name under which its namespace has what holds where nothing is set.
    pub fn default(&self) -> String {
        format!("{}.default.{}", self.folder, self.rest)
    }

    /// The device as `links` names it.
    pub fn link(&self) -> String {
        self.device.replace('/', ".")
    }
}

/// Namespace (`None`: the recorder's own) and name -> value.
type Lines = BTreeMap<(Option<String>, String), String>;

/// Puts those of all namespaces; of a device of that name in several, what each has.
pub(super) fn put(snapshots: &[&Snapshot], links: &BTreeMap<(String, String), String>, into: &mut Collected) {
    let (mut set, mut defaults, mut read) = (Lines::new(), Lines::new(), BTreeSet::new());
    for s in snapshots.iter().filter(|s| s.when == SnapshotWhen::Start) {
        let (netns, what) = of_netns(&s.what);
        let netns = netns.map(str::to_owned);
        let of = match what {
            "sysctl_devices" => &mut set,
            "sysctl" => &mut defaults,
            _ => continue,
        };
        let text = String::from_utf8_lossy(&s.text);
        if what == "sysctl_devices" {
            into.put(MARKER, if whole(&text) { ALL } else { SOME });
            read.insert(netns.clone());
        }
        for (name, value) in text.lines().filter_map(|l| l.split_once(" = ")) {
            let wanted = OfDevice::of(name).is_some() == (what == "sysctl_devices");
            if wanted && !MOVING_SYSCTLS.iter().any(|m| name.ends_with(m)) {
                // Values of more than one line are not of devices.
                of.insert((netns.clone(), name.to_owned()), value.to_owned());
            }
        }
    }
    for ((netns, name), value) in &set {
        let others = if netns.is_some() { OTHERS } else { "" };
        into.put(&format!("{name}{others}"), value);
    }
    // Where another namespace has this device, and nothing set on it, it is as the default there.
    let of_others: BTreeSet<&String> = set.keys().filter(|(n, _)| n.is_some()).map(|(_, name)| name).collect();
    for (name, of) in of_others.iter().filter_map(|n| Some((n, OfDevice::of(n)?))) {
        let link = of.link();
        for (netns, _) in links.iter().filter(|(_, dev)| **dev == link).map(|(at, _)| at) {
            let here = Some(netns.clone());
            if !read.contains(&here) || set.contains_key(&(here.clone(), (*name).clone())) {
                continue;
            }
            let default = of.default();
            let value = defaults
                .get(&(here, default.clone()))
                .or_else(|| defaults.get(&(None, default)));
            if let Some(value) = value {
                into.put(&format!("{name}{OTHERS}"), value);
            }
        }
    }
}

/// `# what differs from default, of 3 of 3 devices`: whether the two numbers are one.
fn whole(text: &str) -> bool {
    let numbers = text.lines().next().and_then(|l| l.split_once(", of "));
    let numbers = numbers.and_then(|(_, l)| l.strip_suffix(" devices")?.split_once(" of "));
    numbers.is_some_and(|(read, all)| read == all)
}
