//! Which drop reason a free stands for on kernels that record none (before Linux 5.17): by the function that freed it.
//!
//! In: the function's name, and whether the packet is the one that was queued last on that CPU. Out: a reason by the name that later kernels give the same
//! place, or none. Only places with one cause, or with one that others are rare beside, are here: what several causes share (`ip_rcv_finish_core`,
//! `tcp_v4_rcv`) stays unclear. Inferred; a kernel that records reasons is never asked. TCP's own drops have no event there: `tcp_drop` freed silently.
//!
//! Sources: net/ of Linux 5.15, where each of these calls `kfree_skb`, and the commits that gave these calls their reasons.

use netmortem_formats::event_format::{ValueTable, ValueTableKind};

/// Where qdisc drops are freed one after the other: as fragments of a packet are, too.
const LIST: &str = "kfree_skb_list";
const QUEUE: &str = "QDISC_DROP";

/// Beginnings of functions, and the reason.
const PLACES: [(&str, &str); 24] = [
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

/// The names, numbered in their order.
fn names() -> impl Iterator<Item = &'static str> {
    let mut seen: Vec<&'static str> = vec![];
    let all = PLACES.iter().map(|p| p.1).chain([NO_ROOM, NO_MEMORY]);
    all.filter(move |name| {
        let new = !seen.contains(name);
        seen.push(name);
        new
    })
}

fn number(name: &str) -> Option<u32> {
    (0u32..).zip(names()).find(|n| n.1 == name).map(|n| n.0)
}

/// Their table, as a recording's own.
pub fn table() -> ValueTable {
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
