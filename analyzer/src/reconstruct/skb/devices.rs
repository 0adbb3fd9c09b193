//! What the bundle's lists of links say of devices, as far as lives ask: which of them packets leave out of an outer packet
//! (tunnels), which hand frames to their own host (bridges), which hand on later what they were given, and whose names several network namespaces have.
//!
//! Events name a device by its name alone, and namespaces give one name to devices of several kinds: then `some` of them do it, not
//! `all`. What a life must show besides (lengths, times, an address that no event freed) is asked by who asks here.

use netmortem_formats::Capture;
use rustc_hash::FxHashMap;

use super::refused::TELL;
use crate::links::TUNNELS;
use crate::name::Name;
use crate::reconstruct::xmits::NOQUEUE;
use crate::snapshots::{field, lines};

/// Those of them that encrypt in a worker or by a callback: what they were given is queued again later.
const WORKERS: [&str; 2] = ["macsec", "wireguard"];
/// `type` (ARPHRD_*) of devices whose frames have no link-layer header: TUNNEL, TUNNEL6, SIT, RAWIP, NONE (tun, WireGuard).
const BARE: [&str; 5] = ["768", "769", "776", "519", "65534"];
/// Kinds that hand a frame as it is to their own host.
const BRIDGES: [&str; 2] = ["bridge", "openvswitch"];

/// Whether the devices of a name do something.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Does {
    /// One of them does.
    pub some: bool,
    /// One of them, of another namespace, does not.
    pub not: bool,
}

impl Does {
    fn note(&mut self, does: bool) {
        self.some |= does;
        self.not |= !does;
    }
    /// None of them does, as far as it is known of any.
    pub fn none(self) -> bool {
        self.not && !self.some
    }
    /// Every one of them does.
    pub fn all(self) -> bool {
        self.some && !self.not
    }
}

/// What a device does with packets of others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Kind {
    /// Takes packets out of others.
    pub tunnel: Does,
    /// A tunnel that works later than its `ndo_start_xmit`.
    pub worker: Does,
    /// Hands frames as they are to its host.
    pub bridge: Does,
    /// Intermediate functional block: queues again, later, what it was given.
    pub ifb: Does,
    /// A program gives and takes its packets (tun, tap).
    pub user: Does,
    /// Its frames have no link-layer header.
    bare: Does,
    /// Its queues tell the sender of what they drop.
    pub tells: Does,
    /// It has no queue.
    pub queueless: Does,
    /// Devices of several namespaces have the name.
    pub shared: bool,
}

/// What is known of devices, by name.
#[derive(Debug, Default)]
pub(super) struct Devices(FxHashMap<Name, Kind>);

impl Devices {
    /// Reads the lists of both times.
    pub fn read(capture: &Capture) -> Devices {
        let mut devices = Devices::default();
        let mut spaces: FxHashMap<Name, &str> = FxHashMap::default();
        let mut names: FxHashMap<(&str, &str), Name> = FxHashMap::default();
        for line in lines(capture, "links", |_| true) {
            let Some(name) = field(line, "name").map(|n| Name::new(n.as_bytes())) else {
                continue;
            };
            let kind = field(line, "kind").unwrap_or("");
            let netns = field(line, "netns").unwrap_or("");
            let of = devices.0.entry(name).or_default();
            of.tunnel.note(TUNNELS.contains(&kind));
            of.worker.note(WORKERS.contains(&kind));
            of.bridge.note(BRIDGES.contains(&kind));
            of.ifb.note(kind == "ifb");
            of.user.note(kind == "tun");
            of.bare.note(field(line, "type").is_some_and(|t| BARE.contains(&t)));
            if let Some(qdisc) = field(line, "qdisc") {
                of.tells.note(TELL.contains(&qdisc));
                of.queueless.note(qdisc == NOQUEUE);
            }
            of.shared |= *spaces.entry(name).or_insert(netns) != netns;
            if let Some(ifindex) = field(line, "ifindex") {
                names.insert((netns, ifindex), name);
            }
        }
        for line in lines(capture, "qdiscs", |_| true) {
            let of = field(line, "netns").zip(field(line, "ifindex"));
            let of = of.and_then(|of| devices.0.get_mut(names.get(&of)?));
            if let Some((of, kind)) = of.zip(field(line, "kind")) {
                of.tells.note(TELL.contains(&kind));
            }
        }
        devices
    }
    /// Whether a program gives and takes the packets of all devices of that name.
    pub fn of_a_program(&self, dev: Name) -> bool {
        self.0.get(&dev).is_some_and(|k| k.user.all())
    }
    /// Whether no frame of the devices of that name has a link-layer header.
    pub fn is_bare(&self, dev: Name) -> bool {
        self.0.get(&dev).is_some_and(|k| k.bare.all())
    }
    /// What a device is; `None`: no list names it.
    pub fn kind(&self, dev: Name) -> Option<Kind> {
        self.0.get(&dev).copied()
    }
}
