//! Settings that were changed while the recording ran: what the snapshot before it says, and what the one after it.
//!
//! In: the snapshots `sysctl` and `net/snmp` of both times, of each network namespace; `addresses`, for whose it is. Recorders that read sysctls at the start only tell of two of them in
//! `net/snmp` (`Ip: Forwarding DefaultTTL`, net/ipv4/proc.c `snmp_seq_show_ipstats`: 1 forwards, 2 does not). Between the two a setting may have been changed and changed back: that is not seen.

use std::collections::{BTreeMap, BTreeSet};

use netmortem_formats::Capture;
use netmortem_formats::capture::SnapshotWhen;

use super::MOVING_SYSCTLS;
use crate::snapshots::{field, lines, of_netns};

/// Changes kept, and addresses of each.
const MOST: usize = 100;
const ADDRESSES: usize = 3;
/// Whether a host forwards.
pub const FORWARD: &str = "net.ipv4.ip_forward";
const TTL: &str = "net.ipv4.ip_default_ttl";
/// Sysctls that the kernel itself moves.
const BY_ITSELF: [&str; 3] = [
    "net.ipv4.tcp_fastopen_key",
    "net.core.netdev_rss_key",
    "net.netfilter.nf_log.",
];
/// What the kernel sets itself when [`FORWARD`] is written (net/ipv4/devinet.c `inet_forward_change`).
const WITH_FORWARD: [&str; 4] = [
    "net.ipv4.conf.all.forwarding",
    "net.ipv4.conf.default.forwarding",
    "net.ipv4.conf.all.accept_redirects",
    "net.ipv4.conf.default.accept_redirects",
];
/// First word of a text that says what differs from the recorder's own namespace.
const BESIDE: char = '#';

/// One setting of one network namespace.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Change {
    /// Inode of the namespace; `None`: the recorder's own.
    pub netns: Option<u64>,
    /// Some of its addresses.
    pub addresses: Vec<String>,
    /// As `sysctl` names it.
    pub name: String,
    /// At the start.
    pub before: String,
    /// At the end.
    pub after: String,
}

pub(crate) type Values = BTreeMap<String, String>;

/// `net.ipv4.ip_forward = 1` lines.
fn sysctls(text: &[u8]) -> Values {
    let mut all = Values::new();
    for (name, value) in String::from_utf8_lossy(text)
        .lines()
        .filter_map(|l| l.split_once(" = "))
    {
        let moving = MOVING_SYSCTLS.iter().any(|end| name.ends_with(end));
        if !moving && !name.starts_with(BESIDE) && !BY_ITSELF.iter().any(|of| name.starts_with(of)) {
            // Of several lines all.
            all.entry(name.to_owned())
                .and_modify(|v: &mut String| {
                    v.push(' ');
                    v.push_str(value.trim());
                })
                .or_insert_with(|| value.trim().to_owned());
        }
    }
    all
}

/// The two that `Ip:` of `net/snmp` has.
fn of_snmp(text: &[u8]) -> Values {
    let text = String::from_utf8_lossy(text);
    let mut ip = text.lines().filter_map(|l| l.strip_prefix("Ip: "));
    let (Some(names), Some(values)) = (ip.next(), ip.next()) else {
        return Values::new();
    };
    let of = names.split(' ').zip(values.split(' '));
    let of = of.filter_map(|(name, value)| match (name, value) {
        ("Forwarding", "1") => Some((FORWARD, "1")),
        ("Forwarding", "2") => Some((FORWARD, "0")),
        ("DefaultTTL", ttl) => Some((TTL, ttl)),
        _ => None,
    });
    of.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// What is known of each namespace at a time, and what its own texts tell of that.
pub(crate) fn known(capture: &Capture, at: SnapshotWhen) -> BTreeMap<Option<u64>, (Values, BTreeSet<String>)> {
    let of = |file: &'static str| {
        let all = capture.snapshots.iter().filter(move |s| s.when == at);
        all.filter_map(move |s| match of_netns(&s.what) {
            (netns, what) if what == file => Some((netns.map(str::parse).transpose().ok()?, s.text.as_slice())),
            _ => None,
        })
    };
    let mut all: BTreeMap<Option<u64>, (Values, BTreeSet<String>)> = BTreeMap::new();
    for (netns, text) in of("net/snmp") {
        let to = all.entry(netns).or_default();
        let values = of_snmp(text);
        to.1.extend(values.keys().cloned());
        to.0.extend(values);
    }
    let own = of("sysctl")
        .find(|(netns, _)| netns.is_none())
        .map(|(_, text)| sysctls(text));
    for (netns, text) in of("sysctl") {
        let to = all.entry(netns).or_default();
        // Of another one only what differs is told.
        to.0.extend(own.clone().filter(|_| netns.is_some()).unwrap_or_default());
        let values = sysctls(text);
        to.1.extend(values.keys().cloned());
        to.0.extend(values);
    }
    all
}

/// All of them, the recorder's own namespace first.
pub fn changed(capture: &Capture) -> Vec<Change> {
    let (before, after) = (known(capture, SnapshotWhen::Start), known(capture, SnapshotWhen::End));
    let mut found: Vec<Change> = vec![];
    for (netns, (was, told)) in &before {
        let Some((is, told_after)) = after.get(netns) else {
            continue;
        };
        let forward = is.get(FORWARD) != was.get(FORWARD);
        for (name, was) in was {
            // Most settings of the whole host are in no other namespace at all.
            let of_all = netns.is_some() && !told.contains(name) && !told_after.contains(name);
            let by_forward = forward && WITH_FORWARD.contains(&name.as_str());
            let now = is.get(name).filter(|is| *is != was && !of_all && !by_forward);
            if let Some(now) = now.filter(|_| found.len() < MOST) {
                found.push(Change {
                    netns: *netns,
                    addresses: vec![],
                    name: name.clone(),
                    before: was.clone(),
                    after: now.clone(),
                });
            }
        }
    }
    if !found.is_empty() {
        let addresses = addresses(capture);
        for c in &mut found {
            let of = c.netns.and_then(|n| addresses.get(&n)).into_iter().flatten();
            c.addresses = of.take(ADDRESSES).cloned().collect();
        }
    }
    found
}

/// Which network namespaces forward at the end, where that is known.
pub fn forwards(capture: &Capture) -> BTreeMap<u64, bool> {
    let all = known(capture, SnapshotWhen::End).into_iter();
    all.filter_map(|(netns, (values, _))| Some((netns?, values.get(FORWARD)? == "1")))
        .collect()
}

/// Of each namespace, but loopback's and those of links.
fn addresses(capture: &Capture) -> BTreeMap<u64, BTreeSet<String>> {
    let mut all: BTreeMap<u64, BTreeSet<String>> = BTreeMap::new();
    for l in lines(capture, "addresses", |at| at == SnapshotWhen::Start) {
        let netns = field(l, "netns").and_then(|n| n.parse().ok());
        let address = field(l, "address").and_then(|a| a.split('/').next());
        let local = |a: &str| a.starts_with("127.") || a == "::1" || a.starts_with("fe80:");
        if let Some((netns, address)) = netns.zip(address.filter(|a| !local(a))) {
            all.entry(netns).or_default().insert(address.to_owned());
        }
    }
    all
}

#[cfg(test)]
mod tests;
