//! What the bundle's lists of links say of devices, as far as lives ask: which of them packets leave out of an outer packet
//! (tunnels), which hand on later what they were given, and whose names several network namespaces have.
//!
//! Events name a device by its name alone. A name that is a tunnel in one namespace counts as one in all: what a life must
//! show besides (lengths, an address that no event freed) is asked by who asks here.

use netmortem_formats::Capture;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::name::Name;
use crate::snapshots::{field, lines};

/// Kinds of links (IFLA_INFO_KIND) that take packets out of others, and put them in.
const TUNNELS: [&str; 18] = [
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
    "sit",
    "vti",
    "vti6",
    "vxlan",
    "wireguard",
    "xfrm",
];

/// What is known of devices, by name.
#[derive(Debug, Default)]
pub(super) struct Devices {
    /// Every name, and whether a tunnel has it.
    tunnels: FxHashMap<Name, bool>,
    /// Intermediate functional blocks (`ifb`), which queue a packet again that they were given.
    ifbs: FxHashSet<Name>,
    /// Names that devices of several namespaces have.
    shared: FxHashSet<Name>,
}

impl Devices {
    /// Reads the lists of both times.
    pub fn read(capture: &Capture) -> Devices {
        let mut devices = Devices::default();
        let mut spaces: FxHashMap<Name, String> = FxHashMap::default();
        for line in lines(capture, "links", |_| true) {
            let Some(name) = field(line, "name").map(|n| Name::new(n.as_bytes())) else {
                continue;
            };
            let kind = field(line, "kind").unwrap_or("");
            *devices.tunnels.entry(name).or_default() |= TUNNELS.contains(&kind);
            if kind == "ifb" {
                devices.ifbs.insert(name);
            }
            let netns = field(line, "netns").unwrap_or("");
            let first = spaces.entry(name).or_insert_with(|| netns.to_string());
            if first != netns {
                devices.shared.insert(name);
            }
        }
        devices
    }
    /// Whether packets come out of others there; `None`: no list names the device.
    pub fn tunnel(&self, dev: Name) -> Option<bool> {
        self.tunnels.get(&dev).copied()
    }
    /// Whether a device queues again, later, what it was given.
    pub fn ifb(&self, dev: Name) -> bool {
        self.ifbs.contains(&dev)
    }
    /// Whether devices of several namespaces have the name.
    pub fn shared(&self, dev: Name) -> bool {
        self.shared.contains(&dev)
    }
}
