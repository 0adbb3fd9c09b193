//! The rules, as data: first that fits decides.

use crate::confidence::Confidence;

/// What a rule looks at and what it says.
struct Rule {
    /// Reason name without `SKB_DROP_REASON_`, or its beginning when it ends in `*`; empty: any.
    reason: &'static str,
    /// Beginning of the freeing function's name; empty: any.
    location: &'static str,
    /// Answer.
    expected: Option<bool>,
    /// Sentence.
    why: &'static str,
}

const fn rule(reason: &'static str, location: &'static str, expected: Option<bool>, why: &'static str) -> Rule {
    Rule {
        reason,
        location,
        expected,
        why,
    }
}

const RULES: &[Rule] = &[
    rule("CONSUMED", "", Some(true), "the kernel says consumed, not dropped"),
    rule("NOT_DROPPED_YET", "", Some(true), "the kernel says not dropped"),
    rule(
        "NO_SOCKET",
        "ping_rcv",
        Some(true),
        "ping reply: the raw socket got a clone, the original is freed here",
    ),
    rule(
        "NO_SOCKET",
        "icmp",
        Some(true),
        "ICMP message handled, no ping socket wanted a copy",
    ),
    rule(
        "NOT_SPECIFIED",
        "ip6_mc_input",
        Some(true),
        "IPv6 multicast that nobody here joined",
    ),
    rule(
        "NOT_SPECIFIED",
        "ip6_mc",
        Some(true),
        "IPv6 multicast that nobody here joined",
    ),
    rule(
        "NOT_SPECIFIED",
        "skb_release_data",
        Some(true),
        "member of a freed packet's fragment list (GRO); old kernels call that a drop",
    ),
    rule(
        "TCP_OLD_DATA",
        "",
        Some(true),
        "TCP duplicate: the data was already there (retransmit or probe of the peer)",
    ),
    rule(
        "TCP_OLD_SEQUENCE",
        "",
        Some(true),
        "TCP segment before the window: keepalive, zero-window probe or duplicate",
    ),
    rule(
        "TCP_OLD_ACK",
        "",
        Some(true),
        "TCP acknowledgment older than what is known",
    ),
    rule("TCP_OFOMERGE", "", Some(true), "TCP out-of-order data already held"),
    rule("TCP_RESET", "", Some(true), "RST segment, freed after it was obeyed"),
    rule("TCP_FASTOPEN", "", Some(true), "TCP Fast Open handshake"),
    rule(
        "OTHERHOST",
        "",
        None,
        "frame for another host; who sent it is not known",
    ),
    rule("DUP_FRAG", "", Some(true), "duplicate IP fragment"),
    rule("SOCKET_CLOSE", "", Some(true), "left in the socket when it closed"),
    rule("QUEUE_PURGE", "", Some(true), "queue emptied, as at close"),
    rule("SKB_CONSUMED", "", Some(true), "the kernel says consumed, not dropped"),
    rule("QDISC_*", "", Some(false), "queueing discipline full or dropping"),
    rule("FQ_*", "", Some(false), "queueing discipline fq full or dropping"),
    rule("CAKE_*", "", Some(false), "queueing discipline cake full or dropping"),
    rule(
        "DUALPI2_*",
        "",
        Some(false),
        "queueing discipline dualpi2 full or dropping",
    ),
    rule(
        "CPU_BACKLOG",
        "",
        Some(false),
        "per-CPU backlog full (netdev_max_backlog)",
    ),
    rule("SOCKET_RCVBUFF", "", Some(false), "socket receive buffer full"),
    rule(
        "SOCKET_BACKLOG",
        "",
        Some(false),
        "socket backlog full while its owner held the lock",
    ),
    rule("PROTO_MEM", "", Some(false), "protocol memory limit"),
    rule("NOMEM", "", Some(false), "out of memory"),
    rule("FULL_RING", "", Some(false), "device ring full"),
    rule("DEV_READY", "", Some(false), "device not ready"),
    rule("TCP_ZEROWINDOW", "", Some(false), "data beyond a closed receive window"),
    rule("TCP_OVERWINDOW", "", Some(false), "data beyond the receive window"),
    rule("TCP_OFO_*", "", Some(false), "out-of-order queue pruned for memory"),
    rule("TCP_LISTEN_OVERFLOW", "", Some(false), "accept queue full"),
    rule("TCP_REQQFULLDROP", "", Some(false), "SYN queue full"),
    rule("TCP_CSUM", "", Some(false), "bad checksum"),
    rule("UDP_CSUM", "", Some(false), "bad checksum"),
    rule("IP_CSUM", "", Some(false), "bad checksum"),
    rule("ICMP_CSUM", "", Some(false), "bad checksum"),
    rule("SKB_CSUM", "", Some(false), "bad checksum"),
    rule("IP_OUTNOROUTES", "", Some(false), "no route"),
    rule("IP_INNOROUTES", "", Some(false), "no route"),
    rule("NEIGH_*", "", Some(false), "neighbour not resolved"),
    rule("NETFILTER_DROP", "", Some(false), "a netfilter rule dropped it"),
    rule("SOCKET_FILTER", "", Some(false), "a socket filter dropped it"),
    rule("TC_*", "", Some(false), "a tc rule dropped it"),
    rule("XDP", "", Some(false), "an XDP program dropped it"),
    rule("BPF_*", "", Some(false), "a BPF program dropped it"),
    rule(
        "PKT_TOO_BIG",
        "",
        Some(false),
        "larger than the MTU of its next link: path MTU discovery if its ICMP message came back (class pmtu in retransmits), else a black hole",
    ),
    rule("PKT_TOO_*", "", Some(false), "malformed packet"),
    rule(
        "NO_SOCKET",
        "",
        None,
        "no socket for it: closed port, or a peer that speaks after the close",
    ),
    rule("UNHANDLED_PROTO", "", None, "no handler for this protocol"),
    rule("TCP_CLOSE", "", None, "the TCP socket was already closed"),
    rule("NOT_SPECIFIED", "", None, "this code path gives no reason"),
];

/// Beginnings of names of functions that send IP packets: they free segments that have no protocol yet, and no life.
const SENDS_IP: [&str; 16] = [
    "ip_",
    "__ip_",
    "ip6_",
    "__ip6_",
    "ipv6_",
    "inet_csk",
    "inet6_csk",
    "inet_sk",
    "inet6_sk",
    "tcp_",
    "__tcp_",
    "mptcp_",
    "__mptcp_",
    "udp",
    "__udp",
    "icmp",
];
/// Beginnings of reasons that only packets of IP have.
const OF_IP: [&str; 5] = ["IP_", "IPV6", "TCP_", "UDP_", "NEIGH_"];

/// Whether what was freed is proven to be no IP packet by having no protocol and no life. A segment that finds no route has
/// neither as well (`__ip_queue_xmit`, IP_OUTNOROUTES), so that the place must be known, and be none that sends IP.
pub fn is_no_packet(reason: Option<&str>, location: Option<&str>, protocol: u16, has_life: bool) -> bool {
    let begins = |text: &str, with: &[&str]| with.iter().any(|w| text.starts_with(w));
    let of_ip = reason.is_some_and(|r| begins(plain(r), &OF_IP));
    protocol == 0 && !has_life && !of_ip && location.is_some_and(|l| !begins(l, &SENDS_IP))
}

/// Whether what became of the frame later must be known to judge it (`otherhost`).
pub fn is_for_another_host(reason: Option<&str>) -> bool {
    reason.is_some_and(|r| plain(r) == "OTHERHOST")
}

/// Whether who sent it must be known to judge it (`unrouted`).
pub fn has_no_route(reason: Option<&str>) -> bool {
    reason.is_some_and(|r| ["IP_OUTNOROUTES", "IP_INNOROUTES"].contains(&plain(r)))
}

/// Whether what became of its segment must be known to judge it (`too_big`).
pub fn is_too_big(reason: Option<&str>) -> bool {
    reason.is_some_and(|r| plain(r) == "PKT_TOO_BIG")
}

/// Without what all names begin with.
fn plain(reason: &str) -> &str {
    reason.strip_prefix("SKB_DROP_REASON_").unwrap_or(reason)
}

/// Whether a free is expected, why, and how sure that is. `reason` as the recording's table names it.
pub fn judge(
    reason: Option<&str>,
    location: Option<&str>,
    protocol: u16,
    has_life: bool,
) -> (Option<bool>, &'static str, Confidence) {
    if is_no_packet(reason, location, protocol, has_life) {
        return (
            Some(true),
            "not a packet of a device (unix, netlink, vsock)",
            Confidence::Strong,
        );
    }
    let Some(reason) = reason else {
        return (None, "this kernel records no drop reason", Confidence::Unknown);
    };
    let reason = plain(reason);
    let fits = |r: &&Rule| {
        let by_reason = match r.reason.strip_suffix('*') {
            Some(start) => reason.starts_with(start),
            None => r.reason == reason,
        };
        by_reason && (r.location.is_empty() || location.is_some_and(|l| l.starts_with(r.location)))
    };
    match RULES.iter().find(fits) {
        Some(r) => {
            let sure = if r.expected.is_some() {
                Confidence::Strong
            } else {
                Confidence::Unknown
            };
            (r.expected, r.why, sure)
        }
        None => (None, "no rule for this reason", Confidence::Unknown),
    }
}
