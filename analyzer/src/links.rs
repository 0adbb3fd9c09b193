//! What lists of links say of devices by their names, which is all that events tell of a device.
//!
//! Namespaces give one name to several devices: then it is said only what all of that name are.

use std::collections::{BTreeMap, BTreeSet};

use netmortem_formats::Capture;

use crate::snapshots::{field, lines, number};

/// Kinds of links (IFLA_INFO_KIND) that take packets out of others, and put them in.
pub(crate) const TUNNELS: [&str; 20] = [
    "amt",
    "bareudp",
    "erspan",
    "geneve",
    "gre",
    "gretap",
    "gtp",
    "ip6erspan",
    "ip6gre",
    "ip6gretap",
    "ip6tnl",
    "ipip",
    "macsec",
    "ovpn",
    "sit",
    "vti",
    "vti6",
    "vxlan",
    "wireguard",
    "xfrm",
];

/// Devices of one name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Named {
    netns: BTreeSet<u64>,
    kinds: BTreeSet<String>,
    mtus: BTreeSet<u64>,
    /// Whether each is a port of a bridge.
    ports: BTreeSet<bool>,
}

/// Kinds of devices whose ports see a packet, and then the device itself; of a bond or team only the port does.
const SWITCHES: [&str; 2] = ["bridge", "openvswitch"];

/// What the lists of both times tell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Links(BTreeMap<String, Named>);

/// The only one.
fn only<T: Ord>(of: &BTreeSet<T>) -> Option<&T> {
    of.first().filter(|_| of.len() == 1)
}

impl Links {
    pub(crate) fn of(capture: &Capture) -> Links {
        let mut all = Links::default();
        let key = |line: &str, name| Some((number(line, "netns")?, number(line, name)?));
        let switch = |l: &&str| field(l, "kind").is_some_and(|kind| SWITCHES.contains(&kind));
        let switches: BTreeSet<(u64, u64)> = lines(capture, "links", |_| true)
            .filter(switch)
            .filter_map(|l| key(l, "ifindex"))
            .collect();
        for line in lines(capture, "links", |_| true) {
            if let Some(name) = field(line, "name") {
                let of = all.0.entry(name.to_owned()).or_default();
                of.kinds.insert(field(line, "kind").unwrap_or_default().to_owned());
                of.netns.extend(number(line, "netns"));
                of.mtus.extend(number(line, "mtu"));
                of.ports
                    .insert(key(line, "master").is_some_and(|m| switches.contains(&m)));
            }
        }
        all
    }
    /// Whether devices of several namespaces have that name.
    pub fn shared(&self, dev: &str) -> bool {
        self.0.get(dev).is_some_and(|of| of.netns.len() > 1)
    }
    /// The kind of a tunnel.
    pub fn tunnel(&self, dev: &str) -> Option<&str> {
        let kind = only(&self.0.get(dev)?.kinds)?.as_str();
        TUNNELS.contains(&kind).then_some(kind)
    }
    /// Whether devices of that name are tunnels; `None`: some are.
    pub(crate) fn is_tunnel(&self, dev: &str) -> Option<bool> {
        let mut is =
            (self.0.get(dev).into_iter()).flat_map(|of| of.kinds.iter().map(|k| TUNNELS.contains(&k.as_str())));
        let first = is.next().unwrap_or(false);
        is.all(|k| k == first).then_some(first)
    }
    /// Whether a namespace has a device of that name; `None`: no list has one.
    pub(crate) fn has(&self, netns: u64, dev: &str) -> Option<bool> {
        let of = self.0.get(dev)?;
        (!of.netns.is_empty()).then(|| of.netns.contains(&netns))
    }
    /// In how many namespaces devices of both names are; 0: no list has both.
    pub(crate) fn with_both(&self, dev: &str, other: &str) -> u64 {
        let of = self.0.get(dev).zip(self.0.get(other));
        of.map_or(0, |(a, b)| a.netns.intersection(&b.netns).count() as u64)
    }
    /// How many namespaces have a device of that name.
    pub(crate) fn namespaces(&self, dev: &str) -> u64 {
        self.0.get(dev).map_or(0, |of| of.netns.len() as u64)
    }
    /// Whether namespaces have several devices of that name.
    pub(crate) fn several(&self, dev: &str) -> bool {
        self.0.get(dev).is_some_and(|of| of.netns.len() > 1)
    }
    /// Whether devices of that name are ports of bridges, which take nothing off a TTL; `None`: some are, or no list has one.
    pub(crate) fn is_port(&self, dev: &str) -> Option<bool> {
        only(&self.0.get(dev)?.ports).copied()
    }
    /// Whether any device of the lists is a port of a bridge.
    pub(crate) fn has_ports(&self) -> bool {
        self.0.values().any(|of| only(&of.ports) == Some(&true))
    }
    /// Whether a namespace has a bridge, or may have one: another device of that name is one.
    pub(crate) fn may_switch(&self, netns: u64) -> bool {
        let switch = |of: &&Named| of.kinds.iter().any(|kind| SWITCHES.contains(&kind.as_str()));
        self.0.values().filter(switch).any(|of| of.netns.contains(&netns))
    }
    /// The MTU that a device had all the time.
    pub fn mtu(&self, dev: &str) -> Option<u64> {
        only(&self.0.get(dev)?.mtus).copied()
    }
    /// Whether any device of the lists is a tunnel.
    pub fn has_tunnels(&self) -> bool {
        self.0.keys().any(|dev| self.tunnel(dev).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netmortem_formats::capture::{Snapshot, SnapshotWhen};

    #[test]
    fn what_one_name_is_in_two_namespaces_is_said_where_both_are() {
        let links = "netns=1 name=vx0 mtu=1450 kind=vxlan\nnetns=2 name=vx0 mtu=1400 kind=vxlan\nnetns=1 name=eth0 mtu=1500\n\
            netns=2 name=eth0 mtu=1500 kind=vxlan\n";
        let mut capture = crate::testing::Script::new("6.18.44", &[]).capture();
        capture.snapshots = vec![Snapshot {
            what: "links".into(),
            when: SnapshotWhen::Start,
            text: links.as_bytes().to_vec(),
        }];
        let links = Links::of(&capture);
        assert_eq!((links.tunnel("vx0"), links.mtu("vx0")), (Some("vxlan"), None));
        assert_eq!((links.tunnel("eth0"), links.mtu("eth0")), (None, Some(1500)));
        assert_eq!((links.tunnel("lo"), links.mtu("lo")), (None, None));
        assert_eq!((links.several("eth0"), links.several("lo")), (true, false));
        assert_eq!(
            ["vx0", "eth0", "lo"].map(|dev| links.is_tunnel(dev)),
            [Some(true), None, Some(false)]
        );
    }
}
