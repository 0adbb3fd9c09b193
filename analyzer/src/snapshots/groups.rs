//! Multicast groups of IPv4 that devices of each network namespace were in when the recording began and when it ended, and what may limit them.
//!
//! In: the snapshots `groups`, `links`, `addresses`, `namespaces`, `sysctl`. Older recorders have no `groups`: then nothing is known of any.
//! 224.0.0.1 is every host's, and left out.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

use netmortem_formats::Capture;
use netmortem_formats::capture::SnapshotWhen;

use super::devices::Devices;
use super::{field, lines, number, of_netns};

/// A device of a namespace.
pub type Place = (u64, String);

/// Groups by device; one that is in none but that of all hosts has an entry, too.
type Members = BTreeMap<Place, BTreeSet<Ipv4Addr>>;

/// What the lists tell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Multicast {
    start: Members,
    end: Members,
    /// Where a device is that an event names.
    pub devices: Devices,
    /// The first address of each device, of IPv4 where it has one.
    addresses: BTreeMap<Place, IpAddr>,
    /// Names of namespaces.
    names: BTreeMap<u64, String>,
    /// The recorder's own namespace.
    own: Option<u64>,
    /// How many groups a socket may join: of the recorder's own namespace (`None`), and of those that differ.
    limits: BTreeMap<Option<u64>, u64>,
}

/// Name of the setting.
pub const LIMIT: &str = "net.ipv4.igmp_max_memberships";

fn members(capture: &Capture, at: SnapshotWhen) -> Members {
    let mut all = Members::new();
    for l in lines(capture, "groups", move |when| when == at) {
        let place = number(l, "netns").zip(field(l, "dev").map(str::to_owned));
        let group = field(l, "group").and_then(|g| g.parse::<Ipv4Addr>().ok());
        if let Some((place, group)) = place.zip(group) {
            let of = all.entry(place).or_default();
            // Those of the link itself (224.0.0.0/24) are joined by every host, and by what looks for printers.
            if group.is_multicast() && group.octets()[..3] != [224, 0, 0] {
                of.insert(group);
            }
        }
    }
    all
}

fn limits(capture: &Capture) -> BTreeMap<Option<u64>, u64> {
    let mut all = BTreeMap::new();
    for s in capture.snapshots.iter().filter(|s| s.when == SnapshotWhen::Start) {
        let netns = match of_netns(&s.what) {
            (None, "sysctl") => None,
            (Some(netns), "sysctl") => match netns.parse() {
                Ok(netns) => Some(netns),
                Err(_) => continue,
            },
            _ => continue,
        };
        let text = s
            .text
            .split(|b| *b == b'\n')
            .filter_map(|l| std::str::from_utf8(l).ok());
        let set = text.filter_map(|l| l.split_once(" = ")).find(|(key, _)| *key == LIMIT);
        if let Some(n) = set.and_then(|(_, n)| n.trim().parse().ok()) {
            all.insert(netns, n);
        }
    }
    all
}

impl Multicast {
    /// Of a capture.
    pub fn of(capture: &Capture) -> Multicast {
        let mut all = Multicast {
            start: members(capture, SnapshotWhen::Start),
            end: members(capture, SnapshotWhen::End),
            devices: Devices::of(capture),
            limits: limits(capture),
            ..Multicast::default()
        };
        for l in lines(capture, "addresses", |_| true) {
            let place = number(l, "netns").zip(number(l, "ifindex"));
            let place = place.and_then(|(n, i)| Some((n, all.devices.name(n, i)?.to_owned())));
            let address = field(l, "address").and_then(|a| a.split('/').next()?.parse::<IpAddr>().ok());
            if let Some((place, address)) = place.zip(address) {
                let of = all.addresses.entry(place).or_insert(address);
                if of.is_ipv6() && address.is_ipv4() {
                    *of = address;
                }
            }
        }
        for l in lines(capture, "namespaces", |_| true) {
            let Some(netns) = number(l, "netns") else { continue };
            if field(l, "own") == Some("yes") {
                all.own = Some(netns);
            }
            if let Some(name) = field(l, "name") {
                all.names.entry(netns).or_insert_with(|| name.to_owned());
            }
        }
        all
    }

    /// Whether lists of both times are there.
    pub fn known(&self) -> bool {
        !self.start.is_empty() && !self.end.is_empty()
    }

    /// Devices that are there at both times.
    pub fn places(&self) -> impl Iterator<Item = &Place> {
        self.start.keys().filter(|p| self.end.contains_key(*p))
    }

    /// Groups that a device was in before, and is in no more; of one that is gone none.
    pub fn left(&self, place: &Place) -> BTreeSet<Ipv4Addr> {
        match (self.start.get(place), self.end.get(place)) {
            (Some(before), Some(after)) => before.difference(after).copied().collect(),
            _ => BTreeSet::new(),
        }
    }

    /// Devices that are in a group at both times; `None`: not known, or one left it or joined it.
    pub fn kept(&self, group: Ipv4Addr) -> Option<Vec<&Place>> {
        let of = |m: &'_ Members| -> BTreeSet<Place> {
            let all = m.iter().filter(|(_, of)| of.contains(&group));
            all.map(|(place, _)| place.clone()).collect()
        };
        let same = self.known() && of(&self.start) == of(&self.end);
        let all = self.end.iter().filter(|(_, of)| of.contains(&group));
        same.then(|| all.map(|(place, _)| place).collect())
    }

    /// How many groups a device was in, before and after.
    pub fn joined(&self, place: &Place) -> (u64, u64) {
        let count = |of: &Members| of.get(place).map_or(0, |g| g.len() as u64);
        (count(&self.start), count(&self.end))
    }

    /// Other devices that are in any of these groups at the end, with how many of them, those in most first.
    pub fn still(&self, groups: &BTreeSet<Ipv4Addr>, but: &Place) -> Vec<(&Place, u64)> {
        let others = self.end.iter().filter(|(place, _)| *place != but);
        let mut all: Vec<(&Place, u64)> = others
            .map(|(place, of)| (place, of.intersection(groups).count() as u64))
            .filter(|(_, n)| *n > 0)
            .collect();
        all.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
        all
    }

    /// How many groups a socket of that namespace may join, where the settings tell.
    pub fn limit(&self, netns: u64) -> Option<u64> {
        let own = || self.limits.get(&None);
        let differs = self.limits.get(&Some(netns)).filter(|_| self.own != Some(netns));
        differs.or_else(own).copied()
    }

    /// What a namespace is called.
    pub fn name(&self, netns: u64) -> Option<&str> {
        self.names.get(&netns).map(String::as_str)
    }

    /// What a device's host is called: its address there, else the namespace's name or number.
    pub fn host(&self, place: &Place) -> String {
        let name = || match self.names.get(&place.0) {
            Some(name) => name.clone(),
            None => format!("network namespace {}", place.0),
        };
        self.addresses.get(place).map_or_else(name, ToString::to_string)
    }
}

/// Of such lists.
#[cfg(test)]
pub(crate) fn multicast(texts: &[(&str, SnapshotWhen, &str)]) -> Multicast {
    Multicast::of(&crate::testing::listed(texts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use SnapshotWhen::{End, Start};

    const BEFORE: &str = "netns=1 ifindex=2 dev=eth0 group=239.1.0.1 users=1\nnetns=1 ifindex=2 dev=eth0 group=239.1.0.2 users=1\n\
        netns=1 ifindex=2 dev=eth0 group=224.0.0.1 users=1\nnetns=1 ifindex=2 dev=eth0 group=ff02::1 users=1\nnetns=2 ifindex=3 dev=eth0 group=239.1.0.2 users=1\n\
        netns=3 ifindex=3 dev=gone group=239.1.0.2 users=1\nnetns=x dev=eth0 group=239.1.0.9\nnetns=1 group=239.1.0.9\nnetns=1 dev=eth0 group=10.0.0.1\n";
    const AFTER: &str = "netns=1 ifindex=2 dev=eth0 group=239.1.0.1 users=1\nnetns=1 ifindex=2 dev=eth0 group=239.1.0.7 users=1\n\
        netns=2 ifindex=3 dev=eth0 group=239.1.0.2 users=1\n";

    #[test]
    fn what_was_left_and_who_is_still_in_it() {
        let m = multicast(&[
            ("groups", Start, BEFORE),
            ("groups", End, AFTER),
            (
                "links",
                Start,
                "netns=1 ifindex=2 name=eth0\nnetns=2 ifindex=3 name=eth0\n",
            ),
            (
                "addresses",
                Start,
                "netns=1 ifindex=2 address=fe80::1/64\nnetns=1 ifindex=2 address=10.0.0.1/24\n",
            ),
            (
                "namespaces",
                Start,
                "netns=9 own=yes\nnetns=2 own=no name=web\nnetns=1 own=no name=db\n",
            ),
            (
                "sysctl",
                Start,
                "net.ipv4.igmp_max_msf = 10\nnet.ipv4.igmp_max_memberships = 20\n",
            ),
            ("netns/2/sysctl", Start, "net.ipv4.igmp_max_memberships = 3\n"),
        ]);
        let (a, b) = ((1, "eth0".to_owned()), (2, "eth0".to_owned()));
        let left = m.left(&a);
        assert_eq!(left, BTreeSet::from([Ipv4Addr::new(239, 1, 0, 2)]));
        assert!(m.left(&b).is_empty() && m.left(&(3, "gone".into())).is_empty());
        assert_eq!((m.joined(&a), m.joined(&b)), ((2, 2), (1, 1)));
        assert_eq!(m.still(&left, &a), [(&b, 1)]);
        assert_eq!(m.kept(Ipv4Addr::new(239, 1, 0, 1)), Some(vec![&a]));
        assert_eq!(m.kept(Ipv4Addr::new(239, 1, 0, 2)), None);
        assert_eq!((m.limit(1), m.limit(2)), (Some(20), Some(3)));
        assert_eq!((m.host(&a), m.host(&b)), ("10.0.0.1".into(), "web".into()));
        assert_eq!(m.host(&(7, "x".into())), "network namespace 7");
        assert_eq!((m.name(1), m.name(7)), (Some("db"), None));
        assert!(m.known());
    }

    #[test]
    fn without_lists_nothing_is_known() {
        let none = multicast(&[]);
        assert!(!none.known() && none.limit(1).is_none() && none.places().next().is_none());
        let half = multicast(&[
            ("groups", Start, BEFORE),
            ("sysctl", Start, "net.ipv4.igmp_max_memberships = x\n"),
        ]);
        assert!(!half.known() && half.limit(1).is_none() && half.left(&(1, "eth0".into())).is_empty());
    }
}
