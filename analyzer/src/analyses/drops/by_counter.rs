//! What the kernel's counters say of drops on kernels that record no reasons (before Linux 5.17): which one tells the reason, and what the senders were told.
//!
//! Needs `counters`, `drops`. That a message was for these packets is inferred: a route that prohibits is the one thing that was refused here and is answered so
//! (net/ipv4/route.c `ip_error`: EACCES, ICMP_PKT_FILTERED, as many a second as icmp_ratelimit allows).

use super::{Group, REFUSED};
use crate::counters::tables::{refused, risen, risen_in};
use crate::facts::Facts;
use crate::name::Name;
use crate::reconstruct::drops::by_count;
use crate::reconstruct::drops::in_words;
use crate::reconstruct::drops::tables::icmp_words;
use crate::table::Cell;

/// ICMP_DEST_UNREACH, ICMP_PKT_FILTERED.
const PROHIBITED: (i32, i32) = (3, 13);
const UNREACHABLES: &str = "IcmpOutDestUnreachs";
/// The event of messages (Linux 6.10).
const MESSAGES: &str = "icmp:icmp_send";
/// Counters of what else is answered by such messages.
const ANSWERED_TOO: [&str; 4] = ["UdpNoPorts", "IpFragFails", "IpExtInNoRoutes", "IpInUnknownProtos"];
/// Reasons of drops that may be answered so and have no such counter: a rule that rejects, a neighbour that does not answer.
const DROPPED_TOO: [&str; 2] = ["NETFILTER_DROP", "NEIGH_FAILED"];

/// By how much a counter rose: in the namespace whose route refused them, where that is known; what others count there says nothing of these.
fn rose(facts: &Facts, g: &Group, name: &str) -> Option<u64> {
    match g.refused_in {
        Some(netns) => risen_in(&facts.counters, netns, name),
        None => risen(&facts.counters, name),
    }
}

/// Nothing else that was dropped may have been answered by a message that a host or a port cannot be reached.
fn alone(facts: &Facts, g: &Group) -> bool {
    let too = |reason| match facts.names.drop_reason(reason) {
        Cell::Str(name) => DROPPED_TOO.contains(&name.as_ref()),
        _ => false,
    };
    let elsewhere = |dev: Name| {
        let there = g.refused_in.zip(facts.multicast.devices.only_in(&dev.text()));
        there.is_some_and(|(here, there)| here != there)
    };
    let refused = facts.drops.iter().filter(|d| d.why.starts_with(REFUSED)).count() as u64;
    facts.gaps.is_empty()
        && refused <= g.count
        && !facts.drops.iter().any(|d| too(d.reason) && !elsewhere(d.dev))
        && ANSWERED_TOO.iter().all(|name| rose(facts, g, name) == Some(0))
}

/// `inferred from a counter of the kernel: TcpExtTCPMD5Failure rose by 14`
pub(super) fn by_counter(facts: &Facts, g: &Group) -> Option<String> {
    if !facts.names.reasons_by_place {
        return None;
    }
    if let Some(name) = by_count::counter_of(&g.reason) {
        // Before that the place told it.
        return Some(refused(&facts.counters, |_, n| n == name))
            .filter(|n| *n > 0)
            .map(|n| format!("inferred from a counter of the kernel: {name} rose by {n}"));
    }
    if facts.capture.recorded(MESSAGES) {
        return None;
    }
    let prohibits = g.refused_by.as_ref().is_some_and(|r| r.starts_with("prohibit"))
        && in_words(&g.reason, &g.location, g.why).starts_with(REFUSED);
    let told = rose(facts, g, UNREACHABLES)?;
    let inferred = prohibits && told > 0 && told <= g.count && alone(facts, g);
    inferred.then(|| {
        let there = if g.refused_in.is_some() { " in the namespace of that route" } else { "" };
        let of = if told < g.count { format!(" for {told} of them") } else { String::new() };
        format!(
            "ICMP error sent back{of}: {} (inferred from a counter of the kernel: {UNREACHABLES} rose by {told}{there})",
            icmp_words(PROHIBITED)
        )
    })
}

#[cfg(test)]
mod tests {
    use netmortem_formats::event_format::{ValueTable, ValueTableKind};

    use super::*;
    use crate::counters::tables::CounterRow;
    use crate::reconstruct::drops::tables::DropRow;
    use crate::snapshots::devices::Devices;
    use crate::testing::{drop_at, listed};

    fn counted(name: &str, rose: u64) -> CounterRow {
        CounterRow {
            source: "snmp",
            netns: Some(1),
            of: String::new(),
            name: name.into(),
            start: Some(0),
            end: Some(rose),
        }
    }

    #[test]
    fn what_a_counter_tells_is_said_with_its_number() {
        let mut f = Facts::empty();
        f.counters = vec![counted("TcpExtTCPMD5Failure", 14)];
        let mut g = Group {
            reason: "TCP_MD5FAILURE".into(),
            ..Group::default()
        };
        assert_eq!(by_counter(&f, &g), None, "a kernel that records reasons");
        f.names.reasons_by_place = true;
        let said = by_counter(&f, &g).unwrap();
        assert_eq!(
            said,
            "inferred from a counter of the kernel: TcpExtTCPMD5Failure rose by 14"
        );
        g.reason = "NETFILTER_DROP".into();
        assert_eq!(by_counter(&f, &g), None);
    }

    #[test]
    fn a_route_that_prohibits_is_answered_so() {
        let mut f = Facts::empty();
        f.names.reasons_by_place = true;
        f.counters = vec![counted("IcmpOutDestUnreachs", 2)];
        let mut g = Group {
            location: "ip_error".into(),
            why: "refused by a route of this host: prohibit, unreachable or blackhole, or there is none",
            refused_by: Some("prohibit 10.9.2.128/25".into()),
            count: 14,
            ..Group::default()
        };
        let said = by_counter(&f, &g).unwrap();
        assert!(
            said.starts_with("ICMP error sent back for 2 of them: communication administratively prohibited"),
            "{said}"
        );
        // Another message.
        f.counters.push(counted("UdpNoPorts", 1));
        assert_eq!(by_counter(&f, &g), None);
        f.counters.pop();
        f.counters.push(counted("IpInUnknownProtos", 1));
        assert_eq!(by_counter(&f, &g), None);
        f.counters.pop();
        // A namespace that ended meanwhile.
        f.counters.push(CounterRow {
            netns: Some(2),
            end: None,
            ..counted("IpInReceives", 1)
        });
        assert_eq!(by_counter(&f, &g), None);
        f.counters.pop();
        assert!(by_counter(&f, &g).is_some());
        // A rule that rejects; a neighbour that did not answer; more that a route refused.
        for (reason, why) in [("NETFILTER_DROP", ""), ("NEIGH_FAILED", ""), ("IP_INHDR", g.why)] {
            let table = vec![(3, reason.to_owned())];
            f.names.drop_reasons = Some(ValueTable {
                kind: ValueTableKind::Symbolic,
                entries: table,
            });
            let row = |n| DropRow {
                reason: Some(3),
                why,
                ..drop_at(n)
            };
            f.drops = (0..15).map(row).collect();
            assert_eq!(by_counter(&f, &g), None, "{reason}");
            f.drops.clear();
        }
        assert!(by_counter(&f, &g).is_some());
        g.refused_by = Some("unreachable 10.9.2.128/25".into());
        assert_eq!(by_counter(&f, &g), None);
    }

    /// What other tests of the same machine do beside it: datagrams to closed ports, a rule that rejects, namespaces that come and go.
    #[test]
    fn other_namespaces_say_nothing_of_it() {
        let mut f = Facts::empty();
        f.names.reasons_by_place = true;
        let of = |netns, counter: CounterRow| CounterRow {
            netns: Some(netns),
            ..counter
        };
        f.counters = vec![
            counted("IcmpOutDestUnreachs", 2),
            of(2, counted("IcmpOutDestUnreachs", 40)),
            of(2, counted("UdpNoPorts", 40)),
            CounterRow {
                end: None,
                ..of(3, counted("IpInReceives", 1))
            },
        ];
        let links = "netns=1 ifindex=2 name=rs\nnetns=2 ifindex=2 name=other0\nnetns=1 ifindex=3 name=eth0\nnetns=2 ifindex=3 name=eth0\n";
        f.multicast.devices = Devices::of(&listed(&[(
            "links",
            netmortem_formats::capture::SnapshotWhen::Start,
            links,
        )]));
        f.names.drop_reasons = Some(ValueTable {
            kind: ValueTableKind::Symbolic,
            entries: vec![(3, "NETFILTER_DROP".to_owned())],
        });
        let mut g = Group {
            location: "ip_error".into(),
            why: "refused by a route of this host: prohibit, unreachable or blackhole, or there is none",
            refused_by: Some("prohibit 10.9.2.128/25".into()),
            refused_in: Some(1),
            count: 14,
            ..Group::default()
        };
        let mut with = |dev: &str, counters: &[CounterRow], refused_in| {
            let rejected = DropRow {
                reason: Some(3),
                dev: Name::new(dev.as_bytes()),
                ..drop_at(1)
            };
            let n = f.counters.len();
            (f.drops, g.refused_in) = (vec![rejected], refused_in);
            f.counters.extend(counters.iter().cloned());
            let said = by_counter(&f, &g);
            f.counters.truncate(n);
            said
        };
        let said = with("other0", &[], Some(1)).unwrap();
        assert_eq!(
            said,
            "ICMP error sent back for 2 of them: communication administratively prohibited (inferred from a counter of the kernel: IcmpOutDestUnreachs rose by 2 in the namespace of that route)"
        );
        // Rejected there, or it may have been; counted there; a namespace that is not known, or was not read at the end.
        let unclear = [
            with("rs", &[], Some(1)),
            with("eth0", &[], Some(1)),
            with("", &[], Some(1)),
            with("other0", &[counted("UdpNoPorts", 1)], Some(1)),
            with("other0", &[], None),
            with("other0", &[], Some(3)),
        ];
        assert_eq!(unclear, [const { None }; 6]);
    }
}
