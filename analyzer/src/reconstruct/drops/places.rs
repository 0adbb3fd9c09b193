//! Which drop reason a free stands for on kernels that record none (before Linux 5.17): by the function that freed it.
//!
//! In: the function's name, whether the packet is the one that was queued last on that CPU, how long it was, what was said of it by ICMP, what the kernel counted.
//! Out: a reason by the name that later kernels give the same place, or none. Only places with one cause, or with one that others are rare beside, are in the
//! list; of two that are shared something else tells (`ip_forward`: the message or the size; `ip_rcv_finish_core`: the counter), and what nothing tells
//! (`tcp_v4_rcv`) stays unclear. Inferred; a kernel that records reasons is never asked. TCP's own drops have no event there: `tcp_drop` freed silently.
//!
//! Sources: net/ of Linux 5.15, where each of these calls `kfree_skb`, and the commits that gave these calls their reasons.

use netmortem_formats::event_format::{ValueTable, ValueTableKind};

use super::tables::DropRow;
use crate::counters::tables::CounterRow;
use crate::ingest::Schema;

/// Where qdisc drops are freed one after the other: as fragments of a packet are, too.
const LIST: &str = "kfree_skb_list";
const QUEUE: &str = "QDISC_DROP";

/// Beginnings of functions, and the reason.
const PLACES: [(&str, &str); 27] = [
    // net/netfilter/core.c: a verdict of any hook, nftables' and iptables' among them.
    ("nf_hook_slow", "NETFILTER_DROP"),
    ("nft_do_chain", "NETFILTER_DROP"),
    // net/core/dev.c: what a queue refused; no transmit queue, a device that is down, a loop.
    ("__dev_queue_xmit", QUEUE),
    ("__dev_xmit_skb", QUEUE),
    ("enqueue_to_backlog", "CPU_BACKLOG"),
    // net/ipv4/ip_output.c, net/ipv6/ip6_output.c.
    ("__ip_queue_xmit", "IP_OUTNOROUTES"),
    ("ip_finish_output2", "NEIGH_CREATEFAIL"),
    ("ip6_finish_output2", "NEIGH_CREATEFAIL"),
    // net/ipv4/arp.c, net/ipv6/ndisc.c: what waited for a neighbour that did not answer.
    ("arp_error_report", "NEIGH_FAILED"),
    ("ndisc_error_report", "NEIGH_FAILED"),
    // net/core/neighbour.c: the rest of these.
    ("neigh_invalidate", "NEIGH_FAILED"),
    // net/ipv4/ip_input.c, net/ipv6/ip6_input.c: a malformed header or a wrong checksum ends there, too, but is rare.
    ("ip_rcv_core", "OTHERHOST"),
    ("ip6_rcv_core", "OTHERHOST"),
    // net/ipv4/udp.c, net/ipv6/udp.c: a wrong checksum ends there, too, but is rare.
    ("__udp4_lib_rcv", "NO_SOCKET"),
    ("__udp6_lib_rcv", "NO_SOCKET"),
    // net/ipv4/icmp.c, net/ipv4/ping.c: handled.
    ("ping_rcv", "NO_SOCKET"),
    ("icmp_rcv", "NO_SOCKET"),
    ("icmpv6_rcv", "NO_SOCKET"),
    // net/ipv4/ip_fragment.c, net/ipv6/reassembly.c.
    ("ip_expire", "FRAG_REASM_TIMEOUT"),
    ("ip6frag_expire", "FRAG_REASM_TIMEOUT"),
    ("ip6_frag_expire", "FRAG_REASM_TIMEOUT"),
    // What a socket had when it closed.
    ("skb_queue_purge", "QUEUE_PURGE"),
    ("inet_sock_destruct", "SOCKET_CLOSE"),
    ("inet_csk_destroy_sock", "SOCKET_CLOSE"),
    ("sk_stream_kill_queues", "SOCKET_CLOSE"),
    ("netlink_sock_destruct", "SOCKET_CLOSE"),
    // net/sched: codel's own drops.
    ("drop_func", QUEUE),
];

/// Where UDP frees a datagram for which its socket had no room: only `udp_fail_queue_rcv_skb` beside it tells that from a wrong checksum.
const AT_SOCKET: [&str; 4] = [
    "udp_queue_rcv_one_skb",
    "__udp_queue_rcv_skb",
    "udpv6_queue_rcv_one_skb",
    "__udpv6_queue_rcv_skb",
];
/// ENOMEM: the receive buffer is full; another: the memory of all UDP sockets.
const ENOMEM: i32 = -12;
const NO_ROOM: &str = "SOCKET_RCVBUFF";
const NO_MEMORY: &str = "PROTO_MEM";

/// Where packets are freed that were to be forwarded (net/ipv4/ip_forward.c, net/ipv6/ip6_output.c): of both causes.
const FORWARDS: [&str; 2] = ["ip_forward", "ip6_forward"];
const RAN_OUT: &str = "IP_INHDR";
const TOO_BIG: &str = "PKT_TOO_BIG";
/// ICMP_TIME_EXCEEDED; ICMP_DEST_UNREACH with ICMP_FRAG_NEEDED.
const TIME_EXCEEDED: i32 = 11;
const FRAG_NEEDED: (i32, i32) = (3, 4);
/// The least MTU of IPv6; links of IPv4 have hardly less. What is shorter is not too big.
const LEAST_MTU: u32 = 1280;

/// Where a route of input is looked up: of several refusals only one has a counter of its own.
const LOOKS_UP: [&str; 2] = ["ip_rcv_finish_core", "ip_rcv_finish"];
const REVERSE_PATH: &str = "IP_RPFILTER";
const COUNTED: &str = "TcpExtIPReversePathFilter";

/// The names, numbered in their order.
fn names() -> impl Iterator<Item = &'static str> {
    let mut seen: Vec<&'static str> = vec![];
    let others = [NO_ROOM, NO_MEMORY, RAN_OUT, TOO_BIG, REVERSE_PATH];
    let all = PLACES.iter().map(|p| p.1).chain(others);
    all.filter(move |name| {
        let new = !seen.contains(name);
        seen.push(name);
        new
    })
}

fn number(name: &str) -> Option<u32> {
    (0u32..).zip(names()).find(|n| n.1 == name).map(|n| n.0)
}

/// The reasons of a recording, and whether places stand for them as it has none.
pub fn reasons(schema: &Schema) -> (Option<ValueTable>, bool) {
    match schema.format("skb", "kfree_skb") {
        Some(f) if f.field("reason").is_none() => (Some(table()), true),
        of => (of.and_then(|f| ValueTable::of(f, "reason")), false),
    }
}

/// Their table, as a recording's own.
fn table() -> ValueTable {
    ValueTable {
        kind: ValueTableKind::Symbolic,
        entries: (0u64..).zip(names().map(str::to_owned)).collect(),
    }
}

/// The reason that a place stands for. `queued`: the packet is the one that was queued last on this CPU.
pub fn reason(location: Option<&str>, queued: bool) -> Option<u32> {
    let location = location?;
    if location.starts_with(LIST) {
        return queued.then(|| number(QUEUE)).flatten();
    }
    let place = PLACES.iter().find(|p| location.starts_with(p.0));
    place.and_then(|p| number(p.1))
}

/// Whether UDP frees there what a socket had no room for.
pub fn is_at_socket(location: Option<&str>) -> bool {
    location.is_some_and(|l| AT_SOCKET.iter().any(|p| l.starts_with(p)))
}

/// The reason by the error that `udp_fail_queue_rcv_skb` tells.
pub fn at_socket(rc: i32) -> Option<u32> {
    number(if rc == ENOMEM { NO_ROOM } else { NO_MEMORY })
}

/// Whether packets are freed there that were to be forwarded.
pub fn forwards(location: Option<&str>) -> bool {
    location.is_some_and(|l| FORWARDS.iter().any(|p| l.starts_with(p)))
}

/// The reason of one that was not forwarded: by what its sender was told by ICMP, else by its size.
pub fn not_forwarded(icmp: Option<(i32, i32)>, bytes: Option<u32>) -> Option<u32> {
    match (icmp, bytes) {
        (Some((TIME_EXCEEDED, _)), _) => number(RAN_OUT),
        (Some(FRAG_NEEDED), _) => number(TOO_BIG),
        (None, Some(n)) if n > LEAST_MTU => number(TOO_BIG),
        (None, Some(_)) => number(RAN_OUT),
        _ => None,
    }
}

/// Whether a route of input was refused there.
pub fn looks_up(location: Option<&str>) -> bool {
    location.is_some_and(|l| LOOKS_UP.contains(&l.split('.').next().unwrap_or(l)))
}

/// Names those at these rows where the kernel counted as many, or more, that came by another way than they would be answered by.
pub fn by_counter(rows: &mut [DropRow], at: &[usize], counters: &[CounterRow]) {
    let rises = counters.iter().filter(|c| c.name == COUNTED);
    let rise: u64 = rises
        .filter_map(|c| c.end?.checked_sub(c.start?))
        .fold(0, u64::saturating_add);
    if at.is_empty() || rise < at.len() as u64 {
        return;
    }
    for row in at.iter().copied() {
        if let Some(row) = rows.get_mut(row) {
            row.reason = number(REVERSE_PATH);
            (row.expected, row.why, row.confidence) = super::judge(Some(REVERSE_PATH), None, row.protocol, true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_have_the_reasons_that_later_kernels_give_them() {
        let table = table();
        let name = |r: Option<u32>| r.and_then(|n| table.name(u64::from(n)));
        let of = |location, queued| name(reason(Some(location), queued));
        assert_eq!(of("nf_hook_slow", false).as_deref(), Some("NETFILTER_DROP"));
        assert_eq!(of("arp_error_report", false).as_deref(), Some("NEIGH_FAILED"));
        // Fragments are freed there as well.
        assert_eq!(of("kfree_skb_list", false), None);
        assert_eq!(of("kfree_skb_list", true).as_deref(), Some("QDISC_DROP"));
        // Several causes.
        for several in [
            "ip_rcv_finish_core",
            "tcp_v4_rcv",
            "ip_forward",
            "udp_queue_rcv_one_skb",
        ] {
            assert_eq!(of(several, true), None, "{several}");
        }
        assert_eq!(name(at_socket(-12)).as_deref(), Some("SOCKET_RCVBUFF"));
        assert_eq!(name(at_socket(-105)).as_deref(), Some("PROTO_MEM"));
        assert!(is_at_socket(Some("udp_queue_rcv_one_skb.part.0")));
        assert_eq!(
            table.entries.len(),
            names().collect::<std::collections::BTreeSet<_>>().len()
        );
    }
}
