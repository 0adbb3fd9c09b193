//! New connections that connection tracking could not enter, since what they would be translated to was taken by another one.
//!
//! Needs `counters` (nf_conntrack; of a slice `counters_over_time`), `connections`, lists of sockets where there are any. Source: net/netfilter/nf_conntrack_core.c `__nf_conntrack_confirm`: a clash is counted as `insert_failed` and as `drop`.
//! Of SYNs that is a NAT without a free port for their destination (net/netfilter/nf_nat_core.c `get_unique_tuple` leaves one that is taken), which is said where their server
//! saw no port but those of one whole range; or two connections that were given the same at once. Of datagrams also two of one new flow, as questions for A and AAAA.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use super::Full;
use super::counted::Counted;
use super::full::MOSTLY;
use crate::facts::Facts;
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::opens::tables::End;
use crate::reconstruct::whose::Carries;
use crate::snapshots::field;

/// What counts them.
const SOURCE: &str = "nf_conntrack";
/// Ports of one address from which it is said how many there were.
const PORTS: usize = 8;
/// Part of the group that must be of one kind, and SYNs to one end for its ports to be told.
const NEARLY: f64 = 0.9;
/// Bytes of a SYN with its IPv4 or IPv6 header: with the options that systems send; questions of a resolver have any length.
const SYN: [u32; 9] = [44, 48, 52, 56, 60, 64, 72, 80, 84];
/// Fewest that tell by their lengths.
const FEWEST: usize = 8;
/// Part of the group of which it must be known whose they were.
const MOSTLY_OWNED: f64 = 0.75;

/// Of drops at a netfilter hook.
pub(super) fn clashes(facts: &Facts, rows: &[&DropRow]) -> Option<Full> {
    let beside = Counted::of(facts, rows, SOURCE);
    let (rise, rows) = (|counter: &str| beside.rise(SOURCE, counter), beside.rows.as_slice());
    let (clashes, dropped) = (rise("insert_failed"), rise("drop"));
    // A chain that is too long, or an entry that dies, is counted as the one and not as the other.
    if !beside.is_of_most() || clashes == 0 || dropped < clashes || rise("chaintoolong") > 0 {
        return None;
    }
    let owned = || rows.iter().filter_map(|d| d.owner);
    // Of those of which something is known, where that is most.
    let n = owned().count() as f64;
    let counted = format!("nf_conntrack counted {clashes} more insert_failed{}", beside.when());
    if n < MOSTLY_OWNED * rows.len() as f64 {
        let syns = owned().all(|o| o.carries == Carries::Syn);
        let these = match beside.when().is_empty() {
            true => "as many as these",
            false => "as many as of these then",
        };
        return strangers(facts, rows, clashes, &format!("{counted}, {these}")).filter(|_| syns);
    }
    let of = |carries: Carries| owned().filter(|o| o.carries == carries).count() as f64;
    let (syns, datagrams) = (of(Carries::Syn), of(Carries::Datagram));
    // As many as the kernel counted, in whatever namespace, or what clashed were others.
    let alike = |kind: f64| kind >= NEARLY * n && clashes as f64 >= MOSTLY * kind && clashes as f64 * MOSTLY <= kind;
    let says = match () {
        () if alike(syns) => {
            let ports = owned().filter_map(|o| {
                let row = facts.connections.get(o.connection?.0 as usize)?;
                Some((row.daddr?, row.dport))
            });
            match used_up(facts, ports, n) {
                Some(ports) => format!(
                    "the address translation (NAT) had no free port for them: {ports}, which are all that it may use, and {counted} (inferred)"
                ),
                None => format!(
                    "what their address translation (NAT) gave them was taken: {counted}, as where no port is free for their destination, or none of those that it tries, or two new connections are given the same one at once (which --random-fully avoids; inferred)"
                ),
            }
        }
        () if alike(datagrams) => format!(
            "what connection tracking would translate them to was taken: {counted}, as of two datagrams of one new flow at once (questions for A and AAAA), or where a NAT has no free port (inferred)"
        ),
        () => return None,
    };
    Some(Full { says, counted: true })
}

/// On a host that forwards no socket tells what they were: their number does, and that all have lengths that SYNs have.
fn strangers(facts: &Facts, rows: &[&DropRow], clashes: u64, counted: &str) -> Option<Full> {
    let n = rows.len() as f64;
    if rows.len() < FEWEST || (clashes as f64) < NEARLY * n || clashes as f64 * NEARLY > n {
        return None;
    }
    let syn = |d: &&DropRow| {
        let life = d.skb_id.and_then(|skb| facts.skbs.get(skb.0 as usize));
        let bytes = life.and_then(|l| l.bytes);
        bytes.is_some_and(|n| SYN.contains(&n))
    };
    let says = format!(
        "what their address translation (NAT) gave these new connections was taken: {counted}, all of which are as long as SYNs, as where no port is free for their destination, or none of those that it tries (inferred)"
    );
    rows.iter().all(syn).then_some(Full { says, counted: true })
}

/// `198.51.100.20:443 saw 128 ports of 203.0.113.10, 40000 to 40127, and no other`
fn used_up(facts: &Facts, to: impl Iterator<Item = End>, n: f64) -> Option<String> {
    let mut by: BTreeMap<End, usize> = BTreeMap::new();
    to.for_each(|end| *by.entry(end).or_default() += 1);
    let (end, most) = by.into_iter().max_by_key(|(_, n)| *n)?;
    if (most as f64) < NEARLY * n {
        return None;
    }
    let mut ports: BTreeMap<IpAddr, BTreeSet<u16>> = BTreeMap::new();
    for c in facts
        .connections
        .iter()
        .filter(|c| (c.saddr, c.sport) == (Some(end.0), end.1))
    {
        if let Some(from) = c.daddr {
            ports.entry(from.to_canonical()).or_default().insert(c.dport);
        }
    }
    // Of sockets that were silent all the time only lists tell.
    let at = |line: &str, name: &str| -> Option<End> {
        let of = field(line, name)?.parse::<SocketAddr>().ok()?;
        Some((of.ip().to_canonical(), of.port()))
    };
    let own = (end.0.to_canonical(), end.1);
    let lists = facts
        .snapshots
        .iter()
        .filter(|r| r.what == "sockets" && field(&r.line, "proto") == Some("tcp"));
    for r in lists.filter(|r| at(&r.line, "src") == Some(own)) {
        if let Some((address, port)) = at(&r.line, "dst").filter(|d| d.1 != 0) {
            ports.entry(address).or_default().insert(port);
        }
    }
    // Those of clients that are not translated lie anywhere.
    let (address, ports) = ports.into_iter().max_by_key(|(_, ports)| ports.len())?;
    let (first, last) = (*ports.first()?, *ports.last()?);
    let all = ports.len() >= PORTS && usize::from(last - first) + 1 == ports.len();
    let at = SocketAddr::new(end.0, end.1);
    all.then(|| {
        format!(
            "{at} saw {} ports of {address}, {first} to {last}, and no other",
            ports.len()
        )
    })
}
