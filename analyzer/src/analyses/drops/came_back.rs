//! Packets that came back to the host that had sent them, which drops them for their source: an address translation gave a service's address to who asks.
//!
//! Needs `hops` and, of the snapshots, `links`. A device that received a packet and then sent it out again gives it back to whoever is behind it; behind one end of a veth that is its
//! sender. A packet of another host that has the same address goes another way, and comes to another device, which may have the same name.

use rustc_hash::FxHashMap;

use crate::facts::{Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::drops::by_count;
use crate::reconstruct::drops::tables::DropRow;

/// Reason of the kernel for a packet whose source is an address of the host that it came to (Linux 6.14).
const LOCAL_SOURCE: &str = "IP_LOCAL_SOURCE";

/// Where most of them turned round, and what that is a sign of.
pub(super) fn came_back(facts: &Facts, reason: &str, rows: &[&DropRow]) -> Option<String> {
    if reason != LOCAL_SOURCE {
        return None;
    }
    let mut way: FxHashMap<SkbId, Vec<(&str, Name)>> = rows.iter().filter_map(|r| Some((r.skb_id?, vec![]))).collect();
    for hop in facts.hops.iter().filter(|h| h.kind != "queue") {
        if let Some(of) = way.get_mut(&hop.skb_id) {
            of.push((hop.kind, hop.dev));
        }
    }
    // Without a list of devices their names are all there is: then it has to be the same one that took it first and gave it back.
    let by_name = |steps: &[(&str, Name)]| matches!(steps, [_, (_, next), .., (_, before), _] if next == before);
    let back = |steps: &Vec<(&str, Name)>| {
        by_count::to_its_sender(steps, &facts.multicast.devices).unwrap_or_else(|| by_name(steps))
    };
    let turned = way.values().filter(|steps| back(steps)).filter_map(|steps| {
        let mut pairs = steps.windows(2).rev();
        pairs.find_map(|w| match w {
            [("rx", a), ("xmit", b)] if a == b => Some(*a),
            _ => None,
        })
    });
    let mut by: FxHashMap<Name, usize> = FxHashMap::default();
    turned.for_each(|dev| *by.entry(dev).or_default() += 1);
    let (dev, n) = by.into_iter().max_by_key(|(dev, n)| (*n, std::cmp::Reverse(*dev)))?;
    (n.saturating_mul(2) > rows.len()).then(|| {
        format!(
            "they came back to the host that had sent them: {} received them and sent them out again, as an address translation does that gives a service's address to who asks for it, without masquerading (hairpin NAT; inferred)",
            dev.text()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyses::drops::tests::drop_row;
    use crate::reconstruct::skb::tables::HopRow;
    use crate::snapshots::devices::Devices;

    #[test]
    fn a_device_that_sends_out_what_it_received_gives_it_back() {
        let listed = |way: &[(&'static str, &str)], reason, links: &str| {
            let mut f = Facts::empty();
            let lists = [("links", netmortem_formats::capture::SnapshotWhen::Start, links)];
            f.multicast.devices = Devices::of(&crate::testing::listed(&lists));
            f.hops = (way.iter().enumerate())
                .map(|(at, (kind, dev))| HopRow {
                    skb_id: SkbId(1),
                    time_ns: at as i64,
                    kind,
                    dev: Name::new(dev.as_bytes()),
                    cpu: 0,
                    bytes: Some(74),
                    confidence: crate::Confidence::Certain,
                })
                .collect();
            let mut row = drop_row(9, 1, 0x10, Some(false));
            row.skb_id = Some(SkbId(1));
            came_back(&f, reason, &[&row])
        };
        let said = |way: &[(&'static str, &str)], reason| listed(way, reason, "");
        let back = [("xmit", "eth0"), ("rx", "cali1"), ("xmit", "cali1"), ("rx", "eth0")];
        let of = said(&back, LOCAL_SOURCE).unwrap();
        assert!(
            of.starts_with("they came back to the host that had sent them: cali1 received them"),
            "{of}"
        );
        assert_eq!(said(&back, "IP_RPFILTER"), None);
        // To another host, which has the same address.
        let on = [("xmit", "eth0"), ("rx", "cali1"), ("xmit", "cali2"), ("rx", "eth0")];
        assert_eq!(said(&on, LOCAL_SOURCE), None);
        // By a router with one device, whose name is theirs, too.
        let by = |last| {
            let there = [("xmit", "eth0"), ("rx", "p-a"), ("xmit", "p-r"), ("rx", "eth0")];
            [
                &there[..],
                &[("xmit", "eth0"), ("rx", "p-r"), ("xmit", last), ("rx", "eth0")],
            ]
            .concat()
        };
        let links = "netns=1 ifindex=2 name=eth0 kind=veth link=10\nnetns=2 ifindex=2 name=eth0 kind=veth link=11\nnetns=3 ifindex=2 name=eth0 kind=veth link=12\n\
            netns=9 ifindex=10 name=p-a kind=veth link=2\nnetns=9 ifindex=11 name=p-r kind=veth link=2\nnetns=9 ifindex=12 name=p-b kind=veth link=2\n";
        assert!(listed(&by("p-a"), LOCAL_SOURCE, links).is_some() && said(&by("p-a"), LOCAL_SOURCE).is_some());
        assert_eq!(
            (listed(&by("p-b"), LOCAL_SOURCE, links), said(&by("p-b"), LOCAL_SOURCE)),
            (None, None)
        );
    }
}
