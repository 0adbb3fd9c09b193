//! Which network namespace a device is in that an event names: events tell its name alone, and namespaces give one name to many.
//!
//! In: the snapshot `links`. A veth hands what it sends to its peer, so the device that a packet was at before tells which of that name it came to. Must not guess:
//! what may be of several is of none.

use std::collections::{BTreeMap, BTreeSet};

use netmortem_formats::Capture;

use super::{field, lines, number};

/// A device of a namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Device {
    netns: u64,
    index: u64,
    veth: bool,
    /// Index of its peer, or of the device below it.
    link: Option<u64>,
    bridge: bool,
    /// Index of what it is a port of.
    master: Option<u64>,
}

/// Devices of both times.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Devices {
    by_name: BTreeMap<String, BTreeSet<Device>>,
    /// Names by namespace and index; `None`: it had several.
    names: BTreeMap<(u64, u64), Option<String>>,
}

/// The step before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum From<'a> {
    /// None: it was received there first.
    Outside,
    /// Sent on this one.
    Sent(&'a str),
    /// Received on this one.
    Received(&'a str),
}

/// The only one.
fn only<T: PartialEq>(mut of: impl Iterator<Item = T>) -> Option<T> {
    let first = of.next()?;
    of.all(|o| o == first).then_some(first)
}

impl Devices {
    /// Of a capture.
    pub fn of(capture: &Capture) -> Devices {
        let mut all = Devices::default();
        for l in lines(capture, "links", |_| true) {
            let device = || {
                Some(Device {
                    netns: number(l, "netns")?,
                    index: number(l, "ifindex")?,
                    veth: field(l, "kind") == Some("veth"),
                    link: number(l, "link"),
                    bridge: field(l, "kind") == Some("bridge"),
                    master: number(l, "master"),
                })
            };
            if let Some((name, device)) = field(l, "name").zip(device()) {
                let known = all.names.entry((device.netns, device.index));
                let one = known.or_insert_with(|| Some(name.to_owned()));
                if one.as_deref() != Some(name) {
                    *one = None;
                }
                all.by_name.entry(name.to_owned()).or_default().insert(device);
            }
        }
        all
    }

    fn named(&self, name: &str) -> impl Iterator<Item = &Device> + Clone {
        self.by_name.get(name).into_iter().flatten()
    }

    /// The bridge, with its namespace, that all devices of that name are ports of.
    pub fn bridge(&self, port: &str) -> Option<(u64, &str)> {
        let of = self.named(port).map(|d| {
            let name = self.name(d.netns, d.master?)?;
            let is = |b: &Device| b.bridge && b.netns == d.netns && Some(b.index) == d.master;
            self.named(name).any(is).then_some((d.netns, name))
        });
        only(of)?
    }

    /// What the device with that index is called.
    pub fn name(&self, netns: u64, index: u64) -> Option<&str> {
        self.names.get(&(netns, index))?.as_deref()
    }

    /// The namespace of all devices of that name.
    pub fn only_in(&self, name: &str) -> Option<u64> {
        only(self.named(name).map(|d| d.netns))
    }

    /// Whether a packet that a device of that name sent came, at last, to that very device. `next` received it from there, `before` sent it there; `None`: no list has the name.
    /// Of several that have it, it is the one where both are the same end of a veth, whose other end is one device.
    pub fn came_back(&self, name: &str, next: &str, before: &str) -> Option<bool> {
        self.named(name).next()?;
        let veth = self.only_in(next).is_some() && self.named(next).all(|d| d.veth);
        let one = || veth || self.peers(name, next).len() == 1;
        Some(self.only_in(name).is_some() || next == before && one())
    }

    /// The namespace in which a packet was received on a device of that name.
    pub fn netns(&self, name: &str, from: From<'_>) -> Option<u64> {
        let of = self.named(name);
        if let Some(netns) = self.only_in(name) {
            return Some(netns);
        }
        match from {
            From::Outside => only(of.filter(|d| !d.veth).map(|d| d.netns)),
            From::Received(before) => {
                let there = only(self.named(before).map(|d| d.netns))?;
                of.clone().any(|d| d.netns == there).then_some(there)
            }
            From::Sent(before) => only(self.peers(name, before).into_iter()),
        }
    }

    /// Namespaces of devices of that name which may be the other end of one of the other name: its number is the index that the other tells, and that of
    /// another pair may be the same.
    pub fn peers(&self, name: &str, before: &str) -> BTreeSet<u64> {
        let sides = self.named(before).filter(|d| d.veth);
        let peers = sides.flat_map(|a| {
            let peer =
                move |b: &&Device| b.veth && b.link == Some(a.index) && a.link == Some(b.index) && b.netns != a.netns;
            self.named(name).filter(peer)
        });
        peers.map(|d| d.netns).collect()
    }
}

#[cfg(test)]
mod tests {
    use netmortem_formats::capture::{Snapshot, SnapshotWhen};

    use super::*;

    fn devices(text: &str) -> Devices {
        let mut capture = crate::testing::Script::new("6.18.44", &[]).capture();
        capture.snapshots = vec![Snapshot {
            what: "links".into(),
            when: SnapshotWhen::Start,
            text: text.as_bytes().to_vec(),
        }];
        Devices::of(&capture)
    }

    #[test]
    fn a_veth_tells_where_its_packets_come() {
        let d = devices(
            "netns=1 ifindex=4 name=eth0\nnetns=2 ifindex=40 name=p-a kind=veth link=41\nnetns=2 ifindex=42 name=p-b kind=veth link=2\n\
            netns=2 ifindex=2 name=br0 kind=bridge\nnetns=2 ifindex=9 name=p-c kind=veth link=8\n\
            netns=3 ifindex=41 name=eth0 kind=veth link=40\nnetns=4 ifindex=2 name=eth0 kind=veth link=42\nnetns=x name=eth0\n",
        );
        let at = |from| d.netns("eth0", from);
        assert_eq!([at(From::Sent("p-a")), at(From::Sent("p-b"))], [Some(3), Some(4)]);
        assert_eq!([at(From::Sent("p-c")), at(From::Sent("none"))], [None, None]);
        assert_eq!([at(From::Outside), at(From::Received("br0"))], [Some(1), None]);
        assert_eq!(d.netns("br0", From::Sent("eth0")), Some(2));
        assert_eq!((d.name(3, 41), d.name(3, 1)), (Some("eth0"), None));
        // Back to the one behind that end, or on to another of its name.
        let back = |next, before| d.came_back("eth0", next, before);
        assert_eq!([back("p-a", "p-a"), back("p-a", "p-b")], [Some(true), Some(false)]);
        assert_eq!(
            [d.came_back("br0", "p-a", "p-b"), d.came_back("none", "p-a", "p-a")],
            [Some(true), None]
        );
        // Ends that have one name as well: whose they are no index tells.
        let ends = devices(
            "netns=1 ifindex=4 name=veth0 kind=veth link=2\nnetns=2 ifindex=4 name=veth0 kind=veth link=2\n\
            netns=3 ifindex=2 name=eth0 kind=veth link=4\nnetns=4 ifindex=2 name=eth0 kind=veth link=4\n",
        );
        assert_eq!(ends.came_back("eth0", "veth0", "veth0"), Some(false));
        // A port of a bridge; of what is none; two of one name.
        let ports = devices(
            "netns=2 ifindex=2 name=br0 kind=bridge\nnetns=2 ifindex=3 name=a kind=veth master=2\nnetns=2 ifindex=4 name=c master=3\n\
            netns=2 ifindex=5 name=b master=2\nnetns=3 ifindex=5 name=b\n",
        );
        assert_eq!([ports.bridge("a"), ports.bridge("c")], [Some((2, "br0")), None]);
        assert_eq!([ports.bridge("b"), ports.bridge("none")], [None, None]);
        // A peer that two may be.
        let two = devices(
            "netns=1 ifindex=40 name=v kind=veth link=2\nnetns=2 ifindex=2 name=eth0 kind=veth link=40\nnetns=3 ifindex=2 name=eth0 kind=veth link=40\n",
        );
        assert_eq!(two.netns("eth0", From::Sent("v")), None);
        assert_eq!(two.peers("eth0", "v"), BTreeSet::from([2, 3]));
        assert_eq!(devices("").netns("eth0", From::Outside), None);
    }
}
