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
/// First word of a text that says what differs from the recorder's own namespace.
const BESIDE: char = '#';

/// One setting of one network namespace.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Change {
    /// Inode of the namespace; `None`: the recorder's own, whose inode is not known.
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

type Values = BTreeMap<String, String>;

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

/// What is known of each namespace at a time.
fn known(capture: &Capture, at: SnapshotWhen) -> BTreeMap<Option<u64>, Values> {
    let of = |file: &'static str| {
        let all = capture.snapshots.iter().filter(move |s| s.when == at);
        all.filter_map(move |s| match of_netns(&s.what) {
            (netns, what) if what == file => Some((netns.map(str::parse).transpose().ok()?, s.text.as_slice())),
            _ => None,
        })
    };
    let mut all: BTreeMap<Option<u64>, Values> = BTreeMap::new();
    for (netns, text) in of("net/snmp") {
        all.entry(netns).or_default().extend(of_snmp(text));
    }
    let own = of("sysctl")
        .find(|(netns, _)| netns.is_none())
        .map(|(_, text)| sysctls(text));
    for (netns, text) in of("sysctl") {
        let to = all.entry(netns).or_default();
        // Of another one only what differs is told.
        to.extend(own.clone().filter(|_| netns.is_some()).unwrap_or_default());
        to.extend(sysctls(text));
    }
    all
}

/// All of them, the recorder's own namespace first.
pub fn changed(capture: &Capture) -> Vec<Change> {
    let (before, after) = (known(capture, SnapshotWhen::Start), known(capture, SnapshotWhen::End));
    let mut found = vec![];
    for (netns, was) in &before {
        let Some(is) = after.get(netns) else { continue };
        for (name, was) in was {
            let now = is.get(name).filter(|is| *is != was);
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
mod tests {
    use super::*;
    use netmortem_formats::capture::Snapshot;

    fn capture(texts: &[(&str, SnapshotWhen, &str)]) -> Capture {
        let mut c = crate::testing::Script::new("6.18.44", &[]).capture();
        let of = |(what, when, text): &(&str, SnapshotWhen, &str)| Snapshot {
            what: (*what).to_owned(),
            when: *when,
            text: text.as_bytes().to_vec(),
        };
        c.snapshots = texts.iter().map(of).collect();
        c
    }

    fn said(c: &Capture) -> Vec<String> {
        let all = changed(c).into_iter();
        all.map(|c| format!("{:?} {:?} {} {} {}", c.netns, c.addresses, c.name, c.before, c.after))
            .collect()
    }

    use SnapshotWhen::{End, Start};

    #[test]
    fn what_another_namespace_sets_meanwhile_is_its_own() {
        let own = "net.ipv4.ip_forward = 0\nnet.ipv4.tcp_sack = 1\nnet.netfilter.nf_conntrack_count = 4\n";
        let own_end = own.replace("count = 4", "count = 9");
        let of = capture(&[
            (
                "addresses",
                Start,
                "netns=7 ifindex=2 address=10.0.0.1/24\nnetns=7 ifindex=1 address=127.0.0.1/8\n",
            ),
            ("sysctl", Start, own),
            ("sysctl", End, &own_end),
            ("netns/7/sysctl", Start, "# what differs\nnet.ipv4.ip_forward = 1\n"),
            // It has it as the recorder's own now.
            ("netns/7/sysctl", End, "# what differs\nnet.ipv4.tcp_sack = 0\n"),
        ]);
        let seven = |name: &str, v: &str| format!("Some(7) [\"10.0.0.1\"] {name} {v}");
        assert_eq!(
            said(&of),
            [seven("net.ipv4.ip_forward", "1 0"), seven("net.ipv4.tcp_sack", "1 0")]
        );
    }

    #[test]
    fn forwarding_is_known_by_its_counters_text_where_no_sysctl_was_read_at_the_end() {
        let snmp = |n: u8| format!("Ip: Forwarding DefaultTTL InReceives\nIp: {n} 64 5\n");
        let (on, off) = (snmp(1), snmp(2));
        let of = capture(&[
            ("sysctl", Start, "net.ipv4.ip_forward = 0\n"),
            ("netns/7/sysctl", Start, "# what differs\nnet.ipv4.ip_forward = 1\n"),
            ("netns/7/net/snmp", Start, &on),
            ("netns/7/net/snmp", End, &off),
            ("netns/8/net/snmp", Start, &on),
            ("netns/8/net/snmp", End, &on),
        ]);
        assert_eq!(said(&of), ["Some(7) [] net.ipv4.ip_forward 1 0"]);
        // A namespace of one time alone tells nothing.
        let gone = capture(&[("netns/7/net/snmp", Start, &on), ("net/snmp", End, &off)]);
        assert_eq!(said(&gone), Vec::<String>::new());
    }
}
