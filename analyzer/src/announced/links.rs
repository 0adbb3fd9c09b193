//! Links: made, removed, set up and down, their carrier, MTU, bridge.
//!
//! IFF_* of include/uapi/linux/if.h.

use std::collections::{BTreeMap, BTreeSet};

use super::state::Said;
use crate::snapshots::{field, hex, number};

const UP: u64 = 0x1;
const LOWER_UP: u64 = 0x1_0000;
/// Words of which the change is told as it is.
const PLAIN: [(&str, &str); 6] = [
    ("mtu", "MTU"),
    ("txqlen", "length of the transmit queue"),
    ("lladdr", "link-layer address"),
    ("gso_max_size", "gso_max_size"),
    ("gro_max_size", "gro_max_size"),
    ("gso_max_segs", "gso_max_segs"),
];
/// BR_STATE_*.
const PORT_STATES: [&str; 5] = ["disabled", "listening", "learning", "forwarding", "blocking"];

/// Their last lines.
#[derive(Default)]
pub struct Links {
    known: BTreeMap<(u64, u64), String>,
    /// Of those of which nothing but that is known.
    names: BTreeMap<(u64, u64), String>,
    /// Those that came in the recording.
    came: BTreeSet<(u64, u64)>,
}

impl Links {
    /// Of the list.
    pub fn of<'c>(lines: impl Iterator<Item = &'c str>) -> Links {
        let key = |l: &str| Some((number(l, "netns")?, number(l, "ifindex")?));
        Links {
            known: lines.filter_map(|l| Some((key(l)?, l.to_owned()))).collect(),
            came: BTreeSet::new(),
            names: BTreeMap::new(),
        }
    }

    /// With nothing known but the names.
    pub fn only_named(self) -> Links {
        let name = |l: &String| field(l, "name").map(str::to_owned);
        Links {
            names: self
                .known
                .iter()
                .filter_map(|(key, l)| Some((*key, name(l)?)))
                .collect(),
            ..Links::default()
        }
    }

    /// The name of one.
    pub fn name(&self, netns: u64, ifindex: u64) -> String {
        let key = (netns, ifindex);
        let name = self.known.get(&key).and_then(|l| field(l, "name"));
        let name = name.or_else(|| self.names.get(&key).map(String::as_str));
        name.map_or_else(|| format!("device {ifindex}"), str::to_owned)
    }

    /// Whether one was not there at the start.
    pub fn came(&self, netns: u64, ifindex: u64) -> bool {
        self.came.contains(&(netns, ifindex))
    }

    /// What a notice changes.
    pub fn take(&mut self, netns: u64, gone: bool, line: &str) -> Option<Said> {
        let key = (netns, number(line, "ifindex")?);
        let name = field(line, "name")?.to_owned();
        if gone {
            let new_device = self.came.remove(&key);
            let (known, named) = (self.known.remove(&key), self.names.remove(&key));
            if known.is_none() && named.is_none() {
                return None;
            }
            return Some(Said {
                says: format!("{name} was removed"),
                of: name,
                new_device,
            });
        }
        let Some(before) = self.known.insert(key, line.to_owned()) else {
            if self.names.contains_key(&key) {
                let flags = hex(line, "flags").unwrap_or(0);
                let up = if flags & UP != 0 { "up" } else { "down" };
                let carrier = if flags & LOWER_UP != 0 { "with" } else { "without" };
                let mtu = field(line, "mtu").map_or(String::new(), |mtu| format!(", MTU {mtu}"));
                return Some(Said {
                    says: format!("{name} was changed (what it was before is not known): {up}, {carrier} carrier{mtu}"),
                    of: name,
                    new_device: false,
                });
            }
            self.came.insert(key);
            let kind = field(line, "kind").map_or(String::new(), |k| format!(" ({k})"));
            return Some(Said {
                says: format!("{name}{kind} came"),
                of: name,
                new_device: true,
            });
        };
        let says = self.changed(netns, (&before, line), &name);
        (!says.is_empty()).then(|| Said {
            says: says.join(", "),
            of: name,
            new_device: self.came.contains(&key),
        })
    }

    /// Each with the name of it, as sentences.
    fn changed(&self, netns: u64, (before, now): (&str, &str), name: &str) -> Vec<String> {
        let mut says = vec![];
        let (old, new) = (hex(before, "flags").unwrap_or(0), hex(now, "flags").unwrap_or(0));
        let turned = |bit: u64| (old ^ new) & bit != 0;
        if field(before, "name") != field(now, "name") {
            says.push(format!("{} was named {name}", field(before, "name").unwrap_or("?")));
        }
        let mut did = |what: &str| says.push(format!("{name} {what}"));
        if turned(UP) {
            did(if new & UP != 0 { "was set up" } else { "was set down" });
        } else if turned(LOWER_UP) {
            did(if new & LOWER_UP != 0 {
                "got its carrier"
            } else {
                "lost its carrier"
            });
        }
        for (key, word) in PLAIN {
            // A short message has not all of them.
            if let (Some(old), Some(new)) = (field(before, key), field(now, key))
                && old != new
            {
                says.push(format!("{word} of {name} from {old} to {new}"));
            }
        }
        let (old, new) = (number(before, "master"), number(now, "master"));
        if old != new && field(now, "mtu").is_some() {
            let of = |n| self.name(netns, n);
            says.extend(old.map(|n| format!("{name} was taken out of {}", of(n))));
            says.extend(new.map(|n| format!("{name} was put into {}", of(n))));
        }
        let state = |l: &str| {
            let n = number(l, "port_state").and_then(|n| usize::try_from(n).ok())?;
            PORT_STATES.get(n).copied()
        };
        if let (Some(old), Some(new)) = (state(before), state(now))
            && old != new
        {
            says.push(format!("bridge port {name} from {old} to {new}"));
        }
        says
    }
}
