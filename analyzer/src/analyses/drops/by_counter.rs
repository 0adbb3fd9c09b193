//! What the kernel's counters say of drops on kernels that record no reasons (before Linux 5.17): which one tells the reason, and what the senders were told.
//!
//! Needs `counters`, `drops`. That a message was for these packets is inferred: a route that prohibits is the one thing that was refused here and is answered so
//! (net/ipv4/route.c `ip_error`: EACCES, ICMP_PKT_FILTERED, as many a second as icmp_ratelimit allows).

use super::{Group, REFUSED};
use crate::counters::tables::{refused, risen_in_all};
use crate::facts::Facts;
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

/// Nothing else that was dropped may have been answered by a message that a host or a port cannot be reached.
fn alone(facts: &Facts, g: &Group) -> bool {
    let too = |reason| match facts.names.drop_reason(reason) {
        Cell::Str(name) => DROPPED_TOO.contains(&name.as_ref()),
        _ => false,
    };
    let refused = facts.drops.iter().filter(|d| d.why.starts_with(REFUSED)).count() as u64;
    facts.gaps.is_empty()
        && refused <= g.count
        && !facts.drops.iter().any(|d| too(d.reason))
        && ANSWERED_TOO
            .iter()
            .all(|name| risen_in_all(&facts.counters, name) == Some(0))
}

/// `inferred from a counter of the kernel: TcpExtTCPMD5Failure rose by 14`
pub(super) fn by_counter(facts: &Facts, g: &Group) -> Option<String> {
    if !facts.names.reasons_by_place {
        return None;
    }
    let rise = |name: &str| refused(&facts.counters, |_, n| n == name);
    if let Some(name) = by_count::counter_of(&g.reason) {
        // Before that the place told it.
        return Some(rise(name))
            .filter(|n| *n > 0)
            .map(|n| format!("inferred from a counter of the kernel: {name} rose by {n}"));
    }
    if facts.capture.recorded(MESSAGES) {
        return None;
    }
    let prohibits = g.refused_by.as_ref().is_some_and(|r| r.starts_with("prohibit"))
        && in_words(&g.reason, &g.location, g.why).starts_with(REFUSED);
    let told = rise(UNREACHABLES);
    let inferred = prohibits && told > 0 && told <= g.count && alone(facts, g);
    inferred.then(|| {
        let of = if told < g.count { format!(" for {told} of them") } else { String::new() };
        format!(
            "its sender was told by ICMP{of}: {} (inferred from a counter of the kernel: {UNREACHABLES} rose by {told})",
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
    use crate::testing::drop_at;

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
            said.starts_with("its sender was told by ICMP for 2 of them: communication administratively prohibited"),
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
}
