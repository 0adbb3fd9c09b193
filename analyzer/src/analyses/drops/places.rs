//! On which host's device packets were seen last: events name a device by its name alone, and many hosts (network namespaces) of a recording have one of that name.
//!
//! Needs `hops` and, of the snapshots, `links` and `addresses`. The two ends of a veth tell each other's index, and indices repeat in other namespaces: where a device may
//! be the peer of several, those are left out whose own packets are seen at another one. Must not guess: a device that may be of several namespaces is of none.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::net::IpAddr;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::facts::{Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::ETH_P_IPV6;
use crate::reconstruct::drops::tables::DropRow;
use crate::snapshots::devices::From;
use crate::snapshots::field;

/// A step of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    /// `queue`, `xmit`, `rx`.
    pub(super) kind: &'static str,
    /// Device.
    pub(super) dev: Name,
    /// When.
    pub(super) at: i64,
}

/// A device of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// Device.
    pub(super) dev: Name,
    /// Its network namespace; empty: not known.
    pub(super) netns: Option<u64>,
}

/// Steps of some packets, in their order.
pub(super) struct Places {
    steps: FxHashMap<SkbId, Vec<Step>>,
    /// By namespace and device: devices on which its own packets were received next.
    ports: OnceCell<FxHashMap<(u64, Name), BTreeSet<Name>>>,
}

/// Where the packets of sockets came to first from the device that they were sent by.
fn ports(facts: &Facts) -> FxHashMap<(u64, Name), BTreeSet<Name>> {
    let netns = |c: u32| facts.spaces.of_address(facts.connections.get(c as usize)?.saddr?);
    let own = facts
        .tx
        .iter()
        .filter_map(|t| Some((t.skb_id, netns(t.connection?.0)?)));
    let own: FxHashMap<SkbId, u64> = own.collect();
    let mut left: FxHashMap<SkbId, Name> = FxHashMap::default();
    let mut seen: FxHashSet<SkbId> = FxHashSet::default();
    let mut ports: FxHashMap<(u64, Name), BTreeSet<Name>> = FxHashMap::default();
    for h in &facts.hops {
        let Some(netns) = own.get(&h.skb_id).filter(|_| !seen.contains(&h.skb_id)) else {
            continue;
        };
        match (h.kind, left.get(&h.skb_id)) {
            ("rx", Some(dev)) => {
                ports.entry((*netns, *dev)).or_default().insert(h.dev);
                seen.insert(h.skb_id);
            }
            // What came from elsewhere, or is sent on.
            ("rx", None) => _ = seen.insert(h.skb_id),
            _ => _ = left.insert(h.skb_id, h.dev),
        }
    }
    ports
}

impl Places {
    pub(super) fn of(facts: &Facts, of: impl Iterator<Item = SkbId>) -> Places {
        let of: FxHashSet<SkbId> = of.collect();
        let mut steps: FxHashMap<SkbId, Vec<Step>> = FxHashMap::default();
        for h in facts.hops.iter().filter(|h| of.contains(&h.skb_id)) {
            let (kind, dev, at) = (h.kind, h.dev, h.time_ns);
            steps.entry(h.skb_id).or_default().push(Step { kind, dev, at });
        }
        // Ports are looked for where a device may be the peer of several.
        Places {
            steps,
            ports: OnceCell::new(),
        }
    }

    /// Steps of one.
    pub(super) fn steps(&self, of: SkbId) -> &[Step] {
        self.steps.get(&of).map_or(&[], Vec::as_slice)
    }

    /// Where one was received last, if it did not go on from there.
    pub(super) fn last(&self, facts: &Facts, of: SkbId) -> Option<Place> {
        self.received(facts, of, self.steps(of).len().checked_sub(1)?)
    }

    /// The place at which one was received by that step.
    pub(super) fn received(&self, facts: &Facts, of: SkbId, nth: usize) -> Option<Place> {
        let steps = self.steps(of);
        let step = steps.get(nth).filter(|s| s.kind == "rx")?;
        let before = nth.checked_sub(1).and_then(|n| steps.get(n));
        let (dev, devices) = (step.dev.text(), &facts.multicast.devices);
        let name = before.map(|b| b.dev.text());
        let netns = match (before, &name) {
            (Some(b), Some(name)) if b.kind == "rx" => devices.netns(&dev, From::Received(name)),
            (Some(b), Some(name)) => devices
                .netns(&dev, From::Sent(name))
                .or_else(|| self.peer(facts, devices.peers(&dev, name), (step.dev, b.dev))),
            _ => devices.netns(&dev, From::Outside),
        };
        Some(Place { dev: step.dev, netns })
    }

    /// The one of these namespaces whose packets are not seen at another port.
    fn peer(&self, facts: &Facts, of: BTreeSet<u64>, (dev, port): (Name, Name)) -> Option<u64> {
        if of.is_empty() {
            return None;
        }
        let ports = self.ports.get_or_init(|| ports(facts));
        let elsewhere = |netns: &u64| {
            let seen = ports.get(&(*netns, dev));
            seen.is_some_and(|ports| !ports.contains(&port))
        };
        let mut left = of.into_iter().filter(|netns| !elsewhere(netns));
        left.next().filter(|_| left.next().is_none())
    }
}

/// The first address of a place, of that family if it has one, that is no link-local one.
pub(super) fn address(facts: &Facts, place: Place, v6: Option<bool>) -> Option<IpAddr> {
    let netns = place.netns?;
    let dev = place.dev.text();
    let of = |line: &str| {
        let index = field(line, "ifindex")?.parse().ok()?;
        let here = facts.multicast.devices.name(netns, index) == Some(dev.as_ref());
        let address: IpAddr = field(line, "address")
            .filter(|_| here)?
            .split('/')
            .next()?
            .parse()
            .ok()?;
        let global = !matches!(address, IpAddr::V6(a) if a.is_unicast_link_local());
        global.then_some(address)
    };
    let lines = facts
        .snapshots
        .iter()
        .filter(|r| r.what == "addresses" && r.netns == Some(netns));
    let all: Vec<IpAddr> = lines.filter_map(|r| of(&r.line)).collect();
    let same = all.iter().find(|a| v6.is_none_or(|v6| a.is_ipv6() == v6));
    same.or(all.first()).copied()
}

/// An address of the host that dropped all of these on its device of that name, where devices of several hosts have it.
pub(super) fn host(facts: &Facts, dev: &str, rows: &[&DropRow]) -> Option<String> {
    let shared = facts.routes.links.shared(dev);
    let of = rows.iter().filter_map(|r| r.skb_id).filter(|_| shared);
    let places = Places::of(facts, of);
    let mut at = rows.iter().map(|r| places.last(facts, r.skb_id?));
    let first = at.next()??;
    let one = first.dev.text() == dev && at.all(|p| p == Some(first));
    let v6 = rows.first().map(|r| r.protocol == ETH_P_IPV6);
    address(facts, first, v6).filter(|_| one).map(|a| a.to_string())
}
