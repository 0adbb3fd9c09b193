//! What is said of addresses that hosts were without for a time.

use super::sentences::{counted, duration, moment, times};
use crate::analyses::changes::{Away, InTurns, Lease, Spell};

/// Times without one that are named.
const NAMED: usize = 3;
/// Fewest times from which it is said though nothing tells why.
const SEVERAL: usize = 2;

fn at(host: &str) -> &str {
    if host.is_empty() {
        "the recorder's own namespace"
    } else {
        host
    }
}

fn in_turns(t: &InTurns) -> String {
    let hosts: Vec<String> = (t.hosts.iter().take(NAMED))
        .map(|(host, n)| format!("{} ({})", at(host), times(*n)))
        .collect();
    let more = match t.hosts.len().saturating_sub(NAMED) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    let by = match t.program.as_str() {
        "" => String::new(),
        program => format!(", set by {program}"),
    };
    format!(
        "{} hosts of this recording lose the address {} and have it back{by}: {}{more}; one address for several hosts, as where VPN clients share one certificate or key and each that connects ends the other's session, or a failover goes to and fro (inferred)",
        t.hosts.len(),
        t.address,
        hosts.join(", ")
    )
}

fn lease(l: &Lease) -> String {
    let to = match l.to.as_str() {
        "" => String::new(),
        to => format!(" to {to}"),
    };
    let dropped = match &l.dropped {
        None => String::new(),
        Some((n, place)) => format!(
            ", {} dropped by this host for {place}",
            counted(
                *n,
                &format!("packet of {} was", l.task),
                &format!("packets of {} were", l.task)
            )
        ),
    };
    format!(
        "before that {} of {}{to} (DHCP) had no answer{dropped}, so that leases were not renewed and ran out (inferred)",
        counted(l.unanswered, "request", "requests"),
        l.task
    )
}

/// `addresses were taken from their hosts and came back within 1.161 s: 10.0.0.4/24 of cam at 5.898 s, ...; meanwhile ...`
fn spells(all: &[Spell], more: u64) -> String {
    let named: Vec<String> = (all.iter().take(NAMED))
        .map(|s| format!("{} of {} at {}", s.address, at(&s.host), moment(s.from_ns)))
        .collect();
    let more = match more.saturating_add(all.len().saturating_sub(NAMED) as u64) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    let longest = all.iter().map(|s| s.to_ns.saturating_sub(s.from_ns)).max().unwrap_or(0);
    let which = match all.len() {
        1 => "an address was taken from its host and came back",
        _ => "addresses were taken from their hosts and came back",
    };
    format!(
        "{which} within {}: {}{more}; meanwhile such a host reaches nobody by it",
        duration(longest),
        named.join(", ")
    )
}

/// Nothing where one alone came back and nothing tells why: it is among the changes.
pub(super) fn words(a: &Away) -> Option<String> {
    if let Some(t) = &a.in_turns {
        return Some(in_turns(t));
    }
    let told = a.spells.len() >= SEVERAL || a.lease.is_some();
    told.then(|| match &a.lease {
        None => spells(&a.spells, a.more),
        Some(l) => format!("{}; {}", spells(&a.spells, a.more), lease(l)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    fn spell(host: &str, from: i64) -> Spell {
        Spell {
            address: "10.0.0.4/24".into(),
            host: host.into(),
            from_ns: from * S,
            to_ns: from * S + 1_500_000_000,
        }
    }

    #[test]
    fn one_alone_is_no_news_and_a_lease_is() {
        let one = Away {
            spells: vec![spell("cam", 3)],
            ..Away::default()
        };
        assert_eq!(words(&one), None);
        let lease = Away {
            lease: Some(Lease {
                task: "dhclient".into(),
                to: "10.0.0.1:67".into(),
                unanswered: 9,
                dropped: Some((14, "NETFILTER_DROP at nft_do_chain on lan".into())),
            }),
            ..one
        };
        let says = "an address was taken from its host and came back within 1.500 s: 10.0.0.4/24 of cam at 3.000 s; meanwhile such a host reaches nobody by it; \
                    before that 9 requests of dhclient to 10.0.0.1:67 (DHCP) had no answer, 14 packets of dhclient were dropped by this host for NETFILTER_DROP at \
                    nft_do_chain on lan, so that leases were not renewed and ran out (inferred)";
        assert_eq!(words(&lease).unwrap(), says);
        let two = Away {
            spells: vec![spell("cam", 3), spell("", 7)],
            ..Away::default()
        };
        let says = "addresses were taken from their hosts and came back within 1.500 s: 10.0.0.4/24 of cam at 3.000 s, 10.0.0.4/24 of the recorder's own namespace at 7.000 s";
        assert!(words(&two).unwrap().starts_with(says));
    }
}
