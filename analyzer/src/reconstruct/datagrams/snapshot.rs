//! UDP sockets of the `sockets` snapshots.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use netmortem_formats::Capture;
use netmortem_formats::capture::SnapshotWhen;
use rustc_hash::FxHashMap;

use crate::snapshots::{field, lines, number};

/// A UDP socket when the recording ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    /// `address:port`.
    pub(super) local: String,
    /// Bound to any address of its namespace, which has one only that others reach: that one, with the port.
    pub(super) only: Option<String>,
    /// As `local`, of its peer; empty: it has none.
    pub(super) remote: String,
    /// Bytes of memory that its receive queue held, and by how much that grew since the recording began.
    pub(super) grown: u64,
    /// Its receive buffer, bytes.
    pub(super) rcvbuf: Option<u64>,
    /// Processes that hold it.
    pub(super) pids: Vec<i32>,
}

impl Line {
    pub(super) fn port(&self) -> Option<u16> {
        self.local.rsplit(':').next()?.parse().ok()
    }
}

/// Addresses by namespace that other hosts reach it by.
fn addresses(capture: &Capture) -> FxHashMap<&str, BTreeSet<IpAddr>> {
    let mut by: FxHashMap<&str, BTreeSet<IpAddr>> = FxHashMap::default();
    for l in lines(capture, "addresses", |_| true) {
        let address = field(l, "address").and_then(|a| a.split('/').next()?.parse::<IpAddr>().ok());
        let (Some(netns), Some(address)) = (field(l, "netns"), address) else {
            continue;
        };
        let near = match address {
            IpAddr::V4(a) => a.is_link_local(),
            IpAddr::V6(a) => a.is_unicast_link_local(),
        };
        if !near && !address.is_loopback() {
            by.entry(netns).or_default().insert(address);
        }
    }
    by
}

/// The one address of these that a socket bound to any address has.
fn only(local: &str, of: &BTreeSet<IpAddr>) -> Option<String> {
    let any: SocketAddr = local.parse().ok()?;
    // Who is bound to [::] takes IPv4, too.
    let mut fitting = of.iter().filter(|a| any.is_ipv6() || a.is_ipv4());
    match (any.ip().is_unspecified(), fitting.next(), fitting.next()) {
        (true, Some(one), None) => Some(SocketAddr::new(*one, any.port()).to_string()),
        _ => None,
    }
}

/// All of them.
pub(super) fn sockets(capture: &Capture) -> Vec<Line> {
    let udp = |when| lines(capture, "sockets", move |w| w == when).filter(|l| field(l, "proto") == Some("udp"));
    let queued = |l: &str| number(l, "rqueue").unwrap_or(0);
    let before: FxHashMap<&str, u64> = udp(SnapshotWhen::Start)
        .filter_map(|l| Some((field(l, "cookie")?, queued(l))))
        .collect();
    let addresses = addresses(capture);
    let line = |l: &str| {
        let (local, remote) = (field(l, "src")?, field(l, "dst")?);
        let here = field(l, "netns").and_then(|n| addresses.get(n));
        let was = field(l, "cookie").and_then(|c| before.get(c)).copied().unwrap_or(0);
        Some(Line {
            local: local.to_owned(),
            only: here.and_then(|of| only(local, of)),
            remote: if remote.ends_with(":0") {
                String::new()
            } else {
                remote.to_owned()
            },
            grown: queued(l).saturating_sub(was),
            rcvbuf: number(l, "mem.rcvbuf"),
            pids: (field(l, "pids").unwrap_or("").split(','))
                .filter_map(|p| p.parse().ok())
                .collect(),
        })
    };
    udp(SnapshotWhen::End).filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bound_to_any_address_it_has_the_only_one_of_its_namespace() {
        let of = |all: &[&str]| -> BTreeSet<IpAddr> { all.iter().map(|a| a.parse().unwrap()).collect() };
        let (one, both, two) = (
            of(&["10.9.3.2"]),
            of(&["10.9.3.2", "fd00::2"]),
            of(&["10.9.3.2", "10.9.4.2"]),
        );
        let told = |local: &str, of: &BTreeSet<IpAddr>| only(local, of);
        assert_eq!(told("0.0.0.0:53", &one).as_deref(), Some("10.9.3.2:53"));
        assert_eq!(told("0.0.0.0:53", &both).as_deref(), Some("10.9.3.2:53"));
        assert_eq!(told("[::]:53", &one).as_deref(), Some("10.9.3.2:53"));
        assert_eq!(told("[::]:53", &of(&["fd00::2"])).as_deref(), Some("[fd00::2]:53"));
        for (local, of) in [("[::]:53", &both), ("0.0.0.0:53", &two), ("10.9.9.9:53", &one)] {
            assert_eq!(told(local, of), None, "{local}");
        }
        assert_eq!(told("0.0.0.0:53", &of(&[])), None);
        assert_eq!(told("any:53", &one), None);
    }
}
