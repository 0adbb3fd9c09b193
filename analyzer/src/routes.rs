//! What routes and links tell of a host, from the lists that the recorder read before and after: routes that refuse, the first congestion window
//! that a route asks for, whose an address is, links that went down and up meanwhile.
//!
//! The longest prefix counts, in all tables of a namespace together: rules (`ip rule`) are not recorded, so a route of another table may not be the one that
//! a packet takes. `type` as in include/uapi/linux/rtnetlink.h.

use std::net::IpAddr;

use netmortem_formats::Capture;
use netmortem_formats::capture::SnapshotWhen;

use crate::links::Links;
use crate::snapshots::{field, lines, number};

/// RTN_UNICAST, RT_TABLE_LOCAL.
const UNICAST: u64 = 1;
const LOCAL: &str = "255";

/// A route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Network namespace (inode).
    pub netns: u64,
    /// Destinations that it is for: an address and how many of its bits; `None`: all of its family.
    pub to: Option<(IpAddr, u8)>,
    /// IPv6.
    pub v6: bool,
    /// `RTN_*`.
    pub kind: u64,
    /// First congestion window of connections over it, segments.
    pub initcwnd: Option<u64>,
    /// Congestion window of them, segments: the most, where that metric is locked.
    pub cwnd: Option<u64>,
    /// Gateway.
    pub via: Option<IpAddr>,
}

/// A link that lost or got its carrier during the recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flap {
    /// Network namespace (inode).
    pub netns: u64,
    /// Device.
    pub dev: String,
    /// Times that its carrier came or went.
    pub changes: u64,
    /// Of a bridge's port: `BR_STATE_*` at the end.
    pub port_state: Option<u64>,
}

/// What the lists tell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Routes {
    routes: Vec<Route>,
    addresses: Vec<(u64, IpAddr)>,
    /// What neighbour tables hold: address, MAC address.
    macs: Vec<(IpAddr, String)>,
    /// Addresses that a namespace had before, and has no more after.
    gone: Vec<(u64, IpAddr)>,
    /// Links that were not up all the time.
    pub flaps: Vec<Flap>,
    /// Links by their names.
    pub links: Links,
}

fn bits(address: IpAddr) -> (u128, u8) {
    match address {
        IpAddr::V4(a) => (u128::from(u32::from(a)) << 96, 32),
        IpAddr::V6(a) => (u128::from(a), 128),
    }
}

impl Route {
    /// Of a line of the list.
    pub(crate) fn read(line: &str) -> Option<Route> {
        let to = match field(line, "to")? {
            "default" => None,
            prefix => {
                let (address, length) = prefix.split_once('/').unwrap_or((prefix, ""));
                let address: IpAddr = address.parse().ok()?;
                Some((address, length.parse().unwrap_or(bits(address).1)))
            }
        };
        Some(Route {
            netns: number(line, "netns")?,
            to,
            v6: number(line, "family")? == 10,
            kind: number(line, "type")?,
            initcwnd: number(line, "initcwnd"),
            cwnd: number(line, "cwnd"),
            via: field(line, "via").and_then(|v| v.parse().ok()),
        })
    }
    /// Length of its prefix, where it is for that address.
    pub(crate) fn length(&self, address: IpAddr) -> Option<u8> {
        let Some((to, length)) = self.to else {
            return (self.v6 == address.is_ipv6()).then_some(0);
        };
        let ((to, all), (of, _)) = (bits(to), bits(address));
        let mask = u128::MAX.checked_shl(128 - u32::from(length.min(all))).unwrap_or(0);
        (to_family(self) == address.is_ipv6() && (to ^ of) & mask == 0).then_some(length)
    }
    /// Of a line of the list, where it is one by which packets go on.
    pub(crate) fn onward(line: &str) -> Option<Route> {
        let local = field(line, "table") == Some(LOCAL);
        Route::read(line).filter(|r| r.kind == UNICAST && !local)
    }
    /// `prohibit 10.9.2.128/25`, where it refuses.
    pub fn refuses(&self) -> Option<String> {
        let kind = match self.kind {
            6 => "blackhole",
            7 => "unreachable",
            8 => "prohibit",
            _ => return None,
        };
        Some(format!("{kind} {}", self.prefix()))
    }
    /// `default via 10.0.0.1`.
    pub fn told(&self) -> String {
        let via = self.via.map_or_else(String::new, |a| format!(" via {a}"));
        format!("{}{via}", self.prefix())
    }
    /// Its destinations, as `ip route` prints them.
    pub fn prefix(&self) -> String {
        self.to.map_or_else(|| "default".into(), |(a, n)| format!("{a}/{n}"))
    }
}

fn to_family(r: &Route) -> bool {
    r.to.is_some_and(|(a, _)| a.is_ipv6())
}

impl Routes {
    pub(crate) fn of(capture: &Capture) -> Routes {
        let at = |when: SnapshotWhen| move |w: SnapshotWhen| w == when;
        let mut routes: Vec<Route> = lines(capture, "routes", |_| true).filter_map(Route::read).collect();
        routes.sort_by_key(|r| (r.netns, r.to, r.kind, r.initcwnd, r.v6, r.via));
        routes.dedup();
        let address = |l: &str| {
            let address = field(l, "address")?.split('/').next()?.parse().ok()?;
            Some((number(l, "netns")?, address))
        };
        let mut addresses: Vec<(u64, IpAddr)> = lines(capture, "addresses", |_| true).filter_map(address).collect();
        addresses.sort_unstable();
        addresses.dedup();
        let listed =
            |when| -> Vec<(u64, IpAddr)> { lines(capture, "addresses", at(when)).filter_map(address).collect() };
        let after: std::collections::BTreeSet<(u64, IpAddr)> = listed(SnapshotWhen::End).into_iter().collect();
        let left: std::collections::BTreeSet<u64> = after.iter().map(|of| of.0).collect();
        // Of a namespace that is gone all are.
        let mut gone = listed(SnapshotWhen::Start);
        gone.retain(|of| left.contains(&of.0) && !after.contains(of));
        let mut macs: Vec<(IpAddr, String)> = lines(capture, "neighbours", |_| true)
            .filter_map(|l| Some((field(l, "to")?.parse().ok()?, field(l, "lladdr")?.to_owned())))
            .filter(|(to, mac): &(IpAddr, String)| !to.is_multicast() && mac.chars().any(|c| !"0:".contains(c)))
            .collect();
        macs.sort_unstable();
        macs.dedup();
        let carrier = |l: &str| {
            let key = (number(l, "netns")?, number(l, "ifindex")?, field(l, "name")?.to_owned());
            Some((key, number(l, "carrier_changes")?))
        };
        let before: std::collections::BTreeMap<_, u64> = lines(capture, "links", at(SnapshotWhen::Start))
            .filter_map(carrier)
            .collect();
        let flap = |line: &str| {
            let ((netns, index, dev), after) = carrier(line)?;
            let changes = after.checked_sub(*before.get(&(netns, index, dev.clone()))?)?;
            (changes > 0).then_some(Flap {
                netns,
                dev,
                changes,
                port_state: number(line, "port_state"),
            })
        };
        let flaps = lines(capture, "links", at(SnapshotWhen::End))
            .filter_map(flap)
            .collect();
        Routes {
            routes,
            addresses,
            macs,
            gone,
            flaps,
            links: Links::of(capture),
        }
    }
    /// Routes that refuse an address, each of another namespace.
    pub fn refusing(&self, address: IpAddr) -> Vec<&Route> {
        let mut namespaces: Vec<u64> = self.routes.iter().map(|r| r.netns).collect();
        namespaces.dedup();
        let of = |netns: &u64| self.best(*netns, address).filter(|r| r.refuses().is_some());
        namespaces.iter().filter_map(of).collect()
    }
    /// The route that a namespace has for an address.
    pub fn best(&self, netns: u64, address: IpAddr) -> Option<&Route> {
        let address = address.to_canonical();
        let of = self.routes.iter().filter(|r| r.netns == netns);
        let all = of.filter_map(|r| Some((r.length(address)?, r)));
        all.max_by_key(|(length, _)| *length).map(|(_, r)| r)
    }
    /// What the neighbour tables hold, of all namespaces: address, MAC address.
    pub fn macs(&self) -> impl Iterator<Item = (IpAddr, &str)> {
        self.macs.iter().map(|(a, mac)| (*a, mac.as_str()))
    }
    /// Namespaces and addresses that were taken from them in the recording.
    pub fn gone(&self) -> &[(u64, IpAddr)] {
        &self.gone
    }
    /// How many namespaces have an address, by the lists; 0 where it is in none.
    pub fn holders(&self, address: IpAddr) -> usize {
        let address = address.to_canonical();
        let mut of: Vec<u64> = self
            .addresses
            .iter()
            .filter(|(_, a)| *a == address)
            .map(|a| a.0)
            .collect();
        of.dedup();
        of.len()
    }
    /// The namespace that has an address; `None`: none, or several.
    pub fn namespace(&self, address: IpAddr) -> Option<u64> {
        let address = address.to_canonical();
        let mut of = self.addresses.iter().filter(|(_, a)| *a == address).map(|(n, _)| *n);
        let first = of.next()?;
        of.all(|n| n == first).then_some(first)
    }
    /// The first congestion window that the route from one address to another asks for, and that route.
    pub fn initcwnd(&self, from: IpAddr, to: IpAddr) -> Option<(u64, &Route)> {
        let route = self.best(self.namespace(from)?, to)?;
        Some((route.initcwnd?, route))
    }
    /// The congestion window that the route from one address to another has among its metrics, and that route.
    pub fn cwnd(&self, from: IpAddr, to: IpAddr) -> Option<(u64, &Route)> {
        let route = self.best(self.namespace(from)?, to)?;
        Some((route.cwnd?, route))
    }
    /// Whether the carrier of a device of that name changed; in any namespace.
    pub fn flap(&self, dev: &str) -> Option<&Flap> {
        self.flaps.iter().find(|f| f.dev == dev)
    }
}

/// Of such lists at the start and the end.
#[cfg(test)]
pub(crate) fn routes(texts: &[(&str, SnapshotWhen, &str)]) -> Routes {
    Routes::of(&crate::testing::listed(texts))
}

/// Of such lists at the start.
#[cfg(test)]
pub(crate) fn of_lines(lists: &[(&str, &str)]) -> Routes {
    let at_start: Vec<_> = lists
        .iter()
        .map(|(what, text)| (*what, SnapshotWhen::Start, *text))
        .collect();
    routes(&at_start)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines as the recorder wrote them in namespaces with these routes.
    const ROUTES: &str = "netns=1 family=2 to=default initcwnd=1 via=10.9.2.1 ifindex=2 table=254 type=1\n\
        netns=1 family=2 to=10.9.2.0/24 src=10.9.2.2 ifindex=2 table=254 type=1\n\
        netns=2 family=2 to=default via=10.9.1.1 table=254 type=1\n\
        netns=2 family=2 to=10.9.2.128/25 table=254 type=8\n\
        netns=2 family=2 to=10.9.2.131/32 table=254 type=1\n\
        netns=2 family=10 to=fd00::/16 table=254 type=7\n\
        netns=2 family=10 to=default type=6\nnetns=x to=y\n";

    fn all() -> Routes {
        routes(&[
            ("routes", SnapshotWhen::Start, ROUTES),
            (
                "addresses",
                SnapshotWhen::Start,
                "netns=1 ifindex=2 address=10.9.2.2/24\nnetns=1 address=127.0.0.1/8\nnetns=2 address=127.0.0.1/8\n",
            ),
            (
                "links",
                SnapshotWhen::Start,
                "netns=2 ifindex=3 name=rs carrier_changes=2\nnetns=1 ifindex=2 name=s0 carrier_changes=2\n",
            ),
            (
                "links",
                SnapshotWhen::End,
                "netns=2 ifindex=3 name=rs carrier_changes=6\nnetns=1 ifindex=2 name=s0 carrier_changes=2\nnetns=1 ifindex=9 name=new carrier_changes=1\n",
            ),
        ])
    }

    #[test]
    fn the_longest_prefix_counts() {
        let r = all();
        let refused = |a: &str| -> Vec<String> {
            r.refusing(a.parse().unwrap())
                .iter()
                .filter_map(|r| r.refuses())
                .collect()
        };
        assert_eq!(refused("10.9.2.130"), ["prohibit 10.9.2.128/25"]);
        assert_eq!(refused("::ffff:10.9.2.130"), ["prohibit 10.9.2.128/25"]);
        assert_eq!(refused("10.9.2.131"), [""; 0]);
        assert_eq!(refused("10.9.2.2"), [""; 0]);
        assert_eq!(refused("fd00::1"), ["unreachable fd00::/16"]);
        assert_eq!(refused("2001::1"), ["blackhole default"]);
    }

    #[test]
    fn the_first_window_is_of_the_senders_own_route() {
        let r = all();
        let from = |a: &str, b: &str| {
            r.initcwnd(a.parse().unwrap(), b.parse().unwrap())
                .map(|(n, route)| (n, route.prefix()))
        };
        assert_eq!(from("10.9.2.2", "10.9.1.2"), Some((1, "default".into())));
        // On its own link another route counts; of an address that two have nothing is known.
        assert_eq!(from("10.9.2.2", "10.9.2.9"), None);
        assert_eq!(from("127.0.0.1", "10.9.1.2"), None);
    }

    #[test]
    fn links_that_flapped_are_told() {
        let r = all();
        let told: Vec<_> = r.flaps.iter().map(|f| (f.netns, f.dev.as_str(), f.changes)).collect();
        assert_eq!(told, [(2, "rs", 4)]);
        assert!(r.flap("rs").is_some() && r.flap("s0").is_none());
    }
}
