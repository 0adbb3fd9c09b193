//! Packets that came back to the host that had sent them, which drops them for their source: an address translation gave a service's address to who asks.
//!
//! Needs `hops`. A device that received a packet and then sent it out again gives it back to whoever is behind it; behind one end of a veth that is its sender. A packet of another
//! host that has the same address goes another way.

use rustc_hash::FxHashMap;

use crate::facts::{Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::drops::tables::DropRow;

/// Reason of the kernel for a packet whose source is an address of the host that it came to (Linux 6.14).
const LOCAL_SOURCE: &str = "IP_LOCAL_SOURCE";

/// Where most of them turned round, and what that is a sign of.
pub(super) fn came_back(facts: &Facts, reason: &str, rows: &[&DropRow]) -> Option<String> {
    if reason != LOCAL_SOURCE {
        return None;
    }
    let mut way: FxHashMap<SkbId, Vec<Name>> = rows.iter().filter_map(|r| Some((r.skb_id?, vec![]))).collect();
    let mut turned: FxHashMap<SkbId, Name> = FxHashMap::default();
    for hop in &facts.hops {
        let Some(came) = way.get_mut(&hop.skb_id) else {
            continue;
        };
        match hop.kind {
            "rx" => came.push(hop.dev),
            "xmit" if came.last() == Some(&hop.dev) => _ = turned.insert(hop.skb_id, hop.dev),
            _ => {}
        }
    }
    let mut by: FxHashMap<Name, usize> = FxHashMap::default();
    turned.into_values().for_each(|dev| *by.entry(dev).or_default() += 1);
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

    #[test]
    fn a_device_that_sends_out_what_it_received_gives_it_back() {
        let said = |way: &[(&'static str, &str)], reason| {
            let mut f = Facts::empty();
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
    }
}
