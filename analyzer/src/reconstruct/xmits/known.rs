//! What the bundle says of qdiscs, interfaces and byte queue limits: texts of the recorded host, in all its network
//! namespaces. Events name a qdisc by its numbers, which repeat in other namespaces: what is not unanimous is not used.

use netmortem_formats::Capture;
use rustc_hash::{FxHashMap, FxHashSet};

use super::queues::{Qdisc, Txq};
use crate::name::Name;

/// What the kernel calls the qdisc of a device that has none.
pub const NOQUEUE: &str = "noqueue";

/// Kinds by what names them; `None`: several.
type Kinds<K> = FxHashMap<K, Option<Name>>;

/// The texts, read.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// By device name, ifindex, handle and parent.
    qdiscs: Kinds<(Name, i32, u32, u32)>,
    /// Root qdisc of a device name.
    devices: Kinds<Name>,
    /// Whether the driver of a device name gives packets to receivers of this host, and completes none; `None`: it is neither one of
    /// these nor hardware's or a program's, or several have the name.
    gives: FxHashMap<Name, Option<bool>>,
    /// Whether a queue's byte queue limits were in use at the end; names that only one namespace has.
    bql: FxHashMap<(Name, u16), bool>,
}

fn value<'l>(line: &'l str, key: &str) -> Option<&'l str> {
    line.split(' ').find_map(|w| w.strip_prefix(key)?.strip_prefix('='))
}
fn hex(v: &str) -> Option<u32> {
    u32::from_str_radix(v.strip_prefix("0x")?, 16).ok()
}
fn vote<K: std::hash::Hash + Eq>(of: &mut Kinds<K>, key: K, kind: Name) {
    let known = of.entry(key).or_insert(Some(kind));
    *known = known.filter(|k| *k == kind);
}

impl Known {
    /// Reads the snapshots of both times.
    pub fn read(capture: &Capture) -> Known {
        let texts = |what: &'static str| {
            let of = capture.snapshots.iter().filter(move |s| s.what == what);
            of.filter_map(|s| Some((s.when, std::str::from_utf8(&s.text).ok()?)))
        };
        let mut known = Known::default();
        let mut names = FxHashMap::default();
        let mut spaces: FxHashMap<Name, FxHashSet<&str>> = FxHashMap::default();
        for line in texts("links").flat_map(|t| t.1.lines()) {
            let (Some(netns), Some(ifindex), Some(name)) =
                (value(line, "netns"), value(line, "ifindex"), value(line, "name"))
            else {
                continue;
            };
            let name = Name::new(name.as_bytes());
            names.insert((netns, ifindex), name);
            spaces.entry(name).or_default().insert(netns);
            let gives = match (value(line, "kind").unwrap_or(""), value(line, "name")) {
                ("veth" | "netkit", _) | (_, Some("lo")) => Some(true),
                // A program takes what a tun or tap device is given.
                ("" | "tun", _) => Some(false),
                _ => None,
            };
            let all = known.gives.entry(name).or_insert(gives);
            *all = all.filter(|one| gives == Some(*one));
            if let Some(kind) = value(line, "qdisc") {
                vote(&mut known.devices, name, Name::new(kind.as_bytes()));
            }
        }
        for line in texts("qdiscs").flat_map(|t| t.1.lines()) {
            let of = |k| value(line, k);
            let numbers = (|| Some((of("ifindex")?.parse().ok()?, hex(of("handle")?)?, hex(of("parent")?)?)))();
            let name = of("netns").zip(of("ifindex")).and_then(|k| names.get(&k));
            if let (Some((ifindex, handle, parent)), Some(name), Some(kind)) = (numbers, name, of("kind")) {
                let key = (*name, ifindex, handle, parent);
                vote(&mut known.qdiscs, key, Name::new(kind.as_bytes()));
            }
        }
        let end = texts("queues").filter(|t| t.0 == netmortem_formats::SnapshotWhen::End);
        for line in end.flat_map(|t| t.1.lines()) {
            let number = value(line, "queue").and_then(|q| q.strip_prefix("tx-")?.parse().ok());
            let (Some(dev), Some(queue), Some(limit)) = (value(line, "dev"), number, value(line, "bql_limit")) else {
                continue;
            };
            let dev = Name::new(dev.as_bytes());
            if spaces.get(&dev).is_some_and(|s| s.len() == 1) {
                known.bql.insert((dev, queue), limit != "0");
            }
        }
        known
    }
    /// Kind of a qdisc on a device.
    pub fn qdisc(&self, dev: Name, q: &Qdisc) -> Option<Name> {
        *self.qdiscs.get(&(dev, q.ifindex, q.handle, q.parent))?
    }
    /// Kind of the root qdisc of a device, where every namespace that has the name has that kind.
    pub fn device(&self, dev: Name) -> Option<Name> {
        *self.devices.get(&dev)?
    }
    /// Whether the driver hands packets on to receivers of this host, so that it completes none.
    pub fn hands_on(&self, dev: Name) -> Option<bool> {
        *self.gives.get(&dev)?
    }
    /// Whether byte queue limits are in use on a transmit queue: a driver without them leaves the limit at 0.
    pub fn bql(&self, t: &Txq) -> Option<bool> {
        self.bql.get(&(t.dev, t.queue?)).copied()
    }
}
