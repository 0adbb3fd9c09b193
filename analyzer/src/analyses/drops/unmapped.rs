//! Datagrams for a host itself that its rules drop, while others of their sender are passed on by it: a NAT that does not know them (any more) takes them for its own.
//!
//! ```text
//! server ─ 10.0.0.1:5061 ─┬ its entry is there: translated, queued on the next device   (passed on)
//!                         └ it ended after a silence (nf_conntrack_udp_timeout): INPUT, dropped by a rule
//! ```
//! Needs `drops` with the look-ups of their routes, `udp_turns`, packets passed on. A packet for an own address that goes on was translated. Source: net/netfilter/nf_conntrack_proto_udp.c.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use rustc_hash::FxHashSet;

use super::reasons::RULES;
use crate::facts::{Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::whose::Carries;
use crate::settings::OTHERS;

/// Fewest that were passed on.
const PASSED: usize = 10;
/// How long an entry of UDP lives without a packet, s: of one that was answered, and of another.
const TIMEOUTS: [&str; 2] = [
    "net.netfilter.nf_conntrack_udp_timeout_stream",
    "net.netfilter.nf_conntrack_udp_timeout",
];

/// Whose, to which address of the host, and by which device they came.
type Key = (i32, IpAddr, Name);

/// What that is a sign of, where half of a group or more were such.
pub(super) fn unmapped(facts: &Facts, reason: &str, rows: &[&DropRow]) -> Option<String> {
    if reason != RULES {
        return None;
    }
    // Of the very host that dropped it: that has the device, which no other has.
    let links = &facts.routes.links;
    let own = |to: IpAddr, dev: &str| {
        let netns = facts.spaces.of_address(to).filter(|_| !to.is_multicast());
        netns.is_some_and(|netns| links.has(netns, dev) == Some(true)) && !links.several(dev)
    };
    let key = |r: &&DropRow| -> Option<Key> {
        let owner = r.owner.filter(|o| o.carries == Carries::Datagram && o.pid > 0)?;
        Some((owner.pid, r.way?.to.to_canonical(), r.dev)).filter(|(_, to, dev)| own(*to, &dev.text()))
    };
    let mut by: BTreeMap<Key, usize> = BTreeMap::new();
    for key in rows.iter().filter_map(key) {
        *by.entry(key).or_default() += 1;
    }
    let ((pid, to, dev), n) = by.into_iter().max_by_key(|(key, n)| (*n, std::cmp::Reverse(*key)))?;
    if n.saturating_mul(2) < rows.len() {
        return None;
    }
    // Of each run of sends there the first datagram.
    let there = |a: SocketAddr| a.ip().to_canonical() == to;
    let sent = facts
        .udp_turns
        .iter()
        .filter(|t| t.pid == pid && t.to.is_some_and(there));
    let sent: FxHashSet<SkbId> = sent.filter_map(|t| t.skb_id).collect();
    let on = |f: &&crate::reconstruct::skb::Forwarded| f.from == dev && sent.contains(&f.skb);
    let passed: FxHashSet<SkbId> = facts.forwarded.iter().filter(on).map(|f| f.skb).collect();
    if passed.len() < PASSED.max(n) {
        return None;
    }
    Some(format!(
        "they were for {to} itself, while {} others that their sender sent there were passed on from {}: an address translation (NAT) did not know these, as where its entry ended after a silence ({}; inferred)",
        passed.len(),
        dev.text(),
        timeouts(facts)
    ))
}

/// `net.netfilter.nf_conntrack_udp_timeout_stream = 3 s`, of whichever namespace has the shortest.
fn timeouts(facts: &Facts) -> String {
    let least = |name: &str| {
        let texts = [name.to_owned(), format!("{name}{OTHERS}")];
        let texts = texts.iter().filter_map(|n| facts.settings.0.get(n));
        let values = texts.flat_map(|t| t.split(|c: char| !c.is_ascii_digit()));
        values.filter_map(|v| v.parse::<u32>().ok()).min()
    };
    let told = TIMEOUTS
        .iter()
        .filter_map(|name| Some(format!("{name} = {} s", least(name)?)));
    let told: Vec<String> = told.collect();
    match told.is_empty() {
        true => "net.netfilter.nf_conntrack_udp_timeout*".to_owned(),
        false => told.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use netmortem_formats::capture::SnapshotWhen;

    use super::*;
    use crate::Confidence;
    use crate::analyses::drops::tests::drop_row;
    use crate::reconstruct::datagrams::tables::TurnRow;
    use crate::reconstruct::drops::Way;
    use crate::reconstruct::skb::Forwarded;
    use crate::reconstruct::whose::Owner;
    use crate::routes::Routes;
    use crate::snapshots::spaces::Spaces;

    /// Nine datagrams of thread 70 to this address are dropped; `passed` and one others of it there, and 29 of thread 71 or for others, are passed on by the same device.
    fn said(to: [u8; 4], passed: u32) -> Option<String> {
        let mut f = Facts::empty();
        let addresses = "netns=2 ifindex=3 address=10.77.20.1/24\nnetns=3 ifindex=3 address=10.77.20.7/24\n";
        let links = "netns=2 ifindex=3 name=gww\nnetns=2 ifindex=4 name=gwl\nnetns=3 ifindex=3 name=eth0\n";
        let lists = [
            ("addresses", SnapshotWhen::Start, addresses),
            ("links", SnapshotWhen::Start, links),
        ];
        let capture = crate::testing::listed(&lists);
        (f.spaces, f.routes) = (Spaces::of(&capture), Routes::of(&capture));
        let name = format!("{}{OTHERS}", TIMEOUTS[0]);
        f.settings.0.insert(name, "3, 120".into());
        for n in 0..passed + 30 {
            // The last 15 are of its own, too, for a host beyond.
            let (pid, host) = match n.saturating_sub(passed) {
                0 => (70, 1),
                1..15 => (71, 1),
                _ => (70, 200),
            };
            f.udp_turns.push(TurnRow {
                to: Some((Ipv4Addr::new(10, 77, 20, host), 5064).into()),
                skb_id: Some(SkbId(n)),
                ..TurnRow::begin(0, pid, n.into())
            });
            f.forwarded.push(Forwarded {
                skb: SkbId(n),
                cpu: 0,
                from: Name::new(b"gww"),
                to: Name::new(b"gwl"),
                at_ns: n.into(),
                ns: 1,
            });
        }
        for n in 0..9 {
            let mut row = drop_row(n, 3, 0x10, Some(false));
            row.dev = Name::new(b"gww");
            row.way = Some(Way {
                from: Ipv4Addr::new(10, 77, 20, 5).into(),
                to: Ipv4Addr::from(to).into(),
                passed: None,
            });
            row.owner = Some(Owner {
                connection: None,
                carries: Carries::Datagram,
                task: Name::default(),
                pid: 70,
                confidence: Confidence::Certain,
            });
            f.drops.push(row);
        }
        let rows: Vec<&DropRow> = f.drops.iter().collect();
        assert_eq!(unmapped(&f, "NO_SOCKET", &rows), None);
        unmapped(&f, RULES, &rows)
    }

    #[test]
    fn what_a_nat_does_not_know_comes_to_the_host_itself() {
        let says = "they were for 10.77.20.1 itself, while 54 others that their sender sent there were passed on from gww: an address translation (NAT) did not know these, as where its entry ended after a silence (net.netfilter.nf_conntrack_udp_timeout_stream = 3 s; inferred)";
        assert_eq!(said([10, 77, 20, 1], 53).as_deref(), Some(says));
        // Another host's address, that this one only passes on to; nobody's here; too few others of it, however many of another.
        assert_eq!(said([10, 77, 20, 7], 54), None);
        assert_eq!(said([10, 77, 20, 9], 54), None);
        assert_eq!(said([10, 77, 20, 1], 8), None);
    }
}
