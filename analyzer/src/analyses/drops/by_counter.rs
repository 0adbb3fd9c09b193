//! What the kernel's counters say of drops on kernels that record no reasons (before Linux 5.17): which one tells the reason, and what the senders were told.
//!
//! Needs `counters`. That a message was for these packets is inferred: a route that prohibits is the one thing that was refused here and is answered so
//! (net/ipv4/route.c `ip_error`: EACCES, ICMP_PKT_FILTERED, as many a second as icmp_ratelimit allows).

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::reasons::RULES;
use super::{Group, REFUSED};
use crate::counters::tables::refused;
use crate::facts::Facts;
use crate::reconstruct::drops::by_count;
use crate::reconstruct::drops::in_words;
use crate::reconstruct::drops::tables::{DropRow, icmp_words};

/// ICMP_DEST_UNREACH, ICMP_PKT_FILTERED.
const PROHIBITED: (i32, i32) = (3, 13);
const UNREACHABLES: &str = "IcmpOutDestUnreachs";
const REDIRECTS: &str = "IcmpInRedirects";
/// The event of messages (Linux 6.10).
const MESSAGES: &str = "icmp:icmp_send";
/// Counters of what else is answered by such messages.
const ANSWERED_TOO: [&str; 3] = ["UdpNoPorts", "IpFragFails", "IpExtInNoRoutes"];

/// `inferred from a counter of the kernel: TcpExtTCPMD5Failure rose by 14`
pub(super) fn by_counter(facts: &Facts, g: &Group, rows: &[&DropRow]) -> Option<String> {
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
    if g.reason == RULES {
        return redirects(facts, rows);
    }
    let prohibits = g.refused_by.as_ref().is_some_and(|r| r.starts_with("prohibit"))
        && in_words(&g.reason, &g.location, g.why).starts_with(REFUSED);
    let alone = ANSWERED_TOO.iter().all(|name| rise(name) == 0);
    let told = rise(UNREACHABLES);
    let inferred = prohibits && alone && told > 0 && told <= g.count;
    inferred.then(|| {
        let of = if told < g.count { format!(" for {told} of them") } else { String::new() };
        format!(
            "its sender was told by ICMP{of}: {} (inferred from a counter of the kernel: {UNREACHABLES} rose by {told})",
            icmp_words(PROHIBITED)
        )
    })
}

/// `the host of their sender, 10.9.1.2, got ICMP redirects (...)`: of most of them, where they have one sender.
fn redirects(facts: &Facts, rows: &[&DropRow]) -> Option<String> {
    let mut by: BTreeMap<IpAddr, usize> = BTreeMap::new();
    for r in rows {
        let row = r.owner.and_then(|o| facts.connections.get(o.connection?.0 as usize));
        if let Some(from) = row.and_then(|row| row.saddr) {
            *by.entry(from.to_canonical()).or_default() += 1;
        }
    }
    let (from, n) = by.into_iter().max_by_key(|(_, n)| *n)?;
    let netns = facts.spaces.of_address(from).filter(|_| n * 2 > rows.len())?;
    let came = facts
        .counters
        .iter()
        .find(|c| c.netns == Some(netns) && c.name == REDIRECTS)?;
    let came = came.rise().filter(|n| *n > 0)?;
    Some(format!(
        "a router told {from}, which sent most of them, by ICMP redirect to send by another one what is for some address: from then on it goes that way (inferred from a counter of the kernel: {REDIRECTS} rose by {came} there)"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyses::drops::tests::causes::{connection, lose};
    use crate::counters::tables::CounterRow;
    use crate::reconstruct::whose::Carries;
    use crate::snapshots::spaces::Spaces;
    use crate::testing::listed;
    use netmortem_formats::capture::SnapshotWhen;

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
        assert_eq!(by_counter(&f, &g, &[]), None, "a kernel that records reasons");
        f.names.reasons_by_place = true;
        let said = by_counter(&f, &g, &[]).unwrap();
        assert_eq!(
            said,
            "inferred from a counter of the kernel: TcpExtTCPMD5Failure rose by 14"
        );
        g.reason = "NETFILTER_DROP".into();
        assert_eq!(by_counter(&f, &g, &[]), None);
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
        let said = by_counter(&f, &g, &[]).unwrap();
        assert!(
            said.starts_with("its sender was told by ICMP for 2 of them: communication administratively prohibited"),
            "{said}"
        );
        // Another message.
        f.counters.push(counted("UdpNoPorts", 1));
        assert_eq!(by_counter(&f, &g, &[]), None);
        f.counters.pop();
        g.refused_by = Some("unreachable 10.9.2.128/25".into());
        assert_eq!(by_counter(&f, &g, &[]), None);
    }

    /// What `nstat` of the client's namespace shows in the scene `redirected`.
    #[test]
    fn redirects_that_came_to_the_sender_are_told() {
        let of = |sender: u32, came: u64| {
            let mut f = Facts::empty();
            f.names.reasons_by_place = true;
            f.connections = vec![connection(0, (1, 40_000), (2, 80)), connection(1, (3, 40_000), (2, 80))];
            let addresses = "netns=1 ifindex=2 address=10.0.0.1/24\nnetns=3 ifindex=2 address=10.0.0.3/24\n";
            f.spaces = Spaces::of(&listed(&[("addresses", SnapshotWhen::Start, addresses)]));
            f.counters = vec![counted("IcmpInRedirects", came)];
            (0..30).for_each(|n| lose(&mut f, n, sender, Carries::Fin));
            let g = Group {
                reason: "NETFILTER_DROP".into(),
                count: 30,
                ..Group::default()
            };
            by_counter(&f, &g, &f.drops.iter().collect::<Vec<_>>())
        };
        let said = of(0, 2).unwrap();
        assert!(
            said.starts_with("a router told 10.0.0.1, which sent most of them, by ICMP redirect"),
            "{said}"
        );
        assert!(said.ends_with("IcmpInRedirects rose by 2 there)"), "{said}");
        // None came; another host's.
        assert_eq!((of(0, 0), of(1, 2)), (None, None));
    }
}
