//! What a drop reason (and the place of the free) means, as data: first that fits decides. The words are said on the first page
//! behind the reason, so that a lost packet's have no pause (`;`, `. `) in them. Sources: the comments of
//! include/net/dropreason-core.h, and the functions that free.

use super::rules::{Rule, rule};

/// A packet that had passed as many routers as its sender allowed.
pub(super) const TTL: &str = "its TTL had run out";

/// What was in a socket when it was destroyed, and in a queue that is emptied.
pub(super) const LEFT: &str = "left in the socket when it closed";
pub(super) const PURGED: &str = "queue emptied, as at close";

/// Of a free by which most probably nothing was lost.
pub const OBEYED: &str =
    "this code path gives no reason: mostly the last FIN or ACK for a socket in TIME_WAIT, obeyed and freed";

/// What is said of a packet for others that came to a host that does not forward.
pub const NOT_FORWARDED: &str = "not addressed to this host, which does not forward";
/// Of what came: offload leaves checksums open on the way to a device only.
pub const CHECKSUM: &str = "a wrong checksum: damaged on the way";

/// ICMP_FILTER and ICMP6_FILTER are asked before a copy is made for the socket, and free nothing (net/ipv4/raw.c `raw_v4_input`, net/ipv6/raw.c `ipv6_raw_deliver`).
const RAW_FILTER: &str = "a raw socket's own BPF filter (SO_ATTACH_FILTER, as ping sets one) did not want its copy";

pub(super) const RULES: &[Rule] = &[
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
    // `ip6_mc_input`.
    rule(
        "NOT_SPECIFIED",
        "ip6_mc",
        Some(true),
        "IPv6 multicast that nobody here joined",
    ),
    rule("NOT_SPECIFIED", "tcp_v4_rcv", None, OBEYED),
    rule("NOT_SPECIFIED", "tcp_v6_rcv", None, OBEYED),
    rule(
        "NOT_SPECIFIED",
        "ip_defrag",
        Some(false),
        "a fragment that reassembly did not take: mostly for want of memory, full of incomplete datagrams (net.ipv4.ipfrag_high_thresh), else a malformed one",
    ),
    rule(
        "NOT_SPECIFIED",
        "skb_rbtree_purge",
        Some(true),
        "left in the out-of-order queue when the socket closed",
    ),
    rule(
        "NOT_SPECIFIED",
        "skb_release_data",
        Some(true),
        "member of a freed packet's fragment list (GRO); old kernels call that a drop",
    ),
    // net/netfilter/nfnetlink_queue.c `nfqnl_enqueue_packet` frees both.
    rule(
        "NOT_SPECIFIED",
        "nfqnl_enqueue_packet",
        None,
        "a packet that was cut up for a queue of netfilter (NFQUEUE), or a segment of it that found the queue full",
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
    rule("SOCKET_CLOSE", "", Some(true), LEFT),
    // It gives no reason (net/ipv4/udp.c `udp_destruct_common`).
    rule("NOT_SPECIFIED", "udp_destruct_", Some(true), LEFT),
    rule("QUEUE_PURGE", "", Some(true), PURGED),
    rule("SKB_CONSUMED", "", Some(true), "the kernel says consumed, not dropped"),
    // Input of a route that refuses; without a route, or with forwarding off, it gives a reason (net/ipv4/route.c `ip_error`: frees
    // whatever the route's error is, EACCES of `prohibit`, EHOSTUNREACH of `unreachable`, EINVAL of `blackhole`).
    rule(
        "NOT_SPECIFIED",
        "ip_error",
        Some(false),
        "refused by a route of this host: prohibit, unreachable or blackhole",
    ),
    // The same of IPv6, which gives a reason since about 6.4 (net/ipv6/route.c `ip6_pkt_drop`, of `ip6_pkt_discard` and `ip6_pkt_prohibit`).
    rule(
        "NOT_SPECIFIED",
        "ip6_pkt_drop",
        Some(false),
        "refused by a route of this host: prohibit or unreachable, or there is none",
    ),
    // The only place of this reason in them (net/ipv4/ip_forward.c `too_many_hops`, net/ipv6/ip6_output.c `ip6_forward`).
    rule("IP_INHDR", "ip_forward", Some(false), TTL),
    rule("IP_INHDR", "ip6_forward", Some(false), TTL),
    // net/netfilter/core.c; since Linux 6.7 nf_tables_core.c frees itself.
    rule(
        "NETFILTER_DROP",
        "nft_do_chain",
        Some(false),
        "an nftables rule or policy",
    ),
    rule(
        "NETFILTER_DROP",
        "nf_hook_slow",
        Some(false),
        "a netfilter hook: connection tracking, such as a full table, iptables-legacy or another, before Linux 6.7 an nftables rule or policy too",
    ),
    rule("QDISC_DROP", "", Some(false), "queue full, or packet refused"),
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
    rule("TCP_CSUM", "", Some(false), CHECKSUM),
    rule("UDP_CSUM", "", Some(false), CHECKSUM),
    rule("IP_CSUM", "", Some(false), CHECKSUM),
    rule("ICMP_CSUM", "", Some(false), CHECKSUM),
    rule("SKB_CSUM", "", Some(false), CHECKSUM),
    rule("IP_OUTNOROUTES", "", Some(false), "no route to its destination"),
    rule("IP_INNOROUTES", "", Some(false), "no route to its destination"),
    rule(
        "NEIGH_CREATEFAIL",
        "",
        Some(false),
        "no neighbour entry could be made, as when the neighbour table is full: gc_thresh3",
    ),
    rule("NEIGH_*", "", Some(false), "neighbour not resolved"),
    rule("NETFILTER_DROP", "", Some(false), "a netfilter rule dropped it"),
    rule("SOCKET_FILTER", "raw_rcv", Some(true), RAW_FILTER),
    rule("SOCKET_FILTER", "rawv6_rcv", Some(true), RAW_FILTER),
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
    // `cookie_v4_check`: the child of a valid cookie could not be made, `tcp_get_cookie_sock`.
    rule(
        "NO_SOCKET",
        "cookie_v",
        None,
        "the last ACK of a handshake with a SYN cookie, for whose connection there was no room: mostly a full accept queue",
    ),
    rule(
        "NO_SOCKET",
        "",
        None,
        "no socket for it: closed port, or a peer that speaks after the close",
    ),
    rule(
        "IP_RPFILTER",
        "",
        Some(false),
        "rp_filter, reverse path filter: the route back to its source leads elsewhere",
    ),
    rule("IP_INADDRERRORS", "", Some(false), NOT_FORWARDED),
    rule(
        "IP_LOCAL_SOURCE",
        "",
        Some(false),
        "its source is an address of this host (martian)",
    ),
    rule(
        "IP_INVALID_SOURCE",
        "",
        Some(false),
        "its source is no address of a host (martian)",
    ),
    rule(
        "IP_LOCALNET",
        "",
        Some(false),
        "a loopback address on a device that is not loopback (martian)",
    ),
    rule(
        "IP_INVALID_DEST",
        "",
        Some(false),
        "its destination is no address of a host (martian)",
    ),
    rule("IP_INHDR", "", Some(false), "malformed IP header"),
    rule("IP_NOPROTO", "", Some(false), "nobody here handles its IP protocol"),
    rule("XFRM_POLICY", "", Some(false), "an IPsec policy forbids it"),
    rule("SECURITY_HOOK", "", Some(false), "a security module dropped it"),
    rule(
        "TCP_MD5FAILURE",
        "",
        Some(false),
        "its TCP MD5 signature was made with another key than this host has for its sender: the passwords of both ends differ, as of two BGP neighbours",
    ),
    rule(
        "TCP_MD5NOTFOUND",
        "",
        Some(false),
        "it has no TCP MD5 signature where this host has a key for its sender: a password is set at this end alone",
    ),
    rule(
        "TCP_MD5UNEXPECTED",
        "",
        Some(false),
        "it has a TCP MD5 signature where this host has no key for its sender: a password is set at the other end alone",
    ),
    rule(
        "TCP_AOFAILURE",
        "",
        Some(false),
        "its TCP-AO signature was made with another key than this host has for its sender: the keys of both ends differ",
    ),
    rule(
        "TCP_AONOTFOUND",
        "",
        Some(false),
        "it has no TCP-AO signature where this host has a key for its sender: a key is set at this end alone",
    ),
    rule(
        "TCP_AOUNEXPECTED",
        "",
        Some(false),
        "it has a TCP-AO signature where this host has no key for its sender: a key is set at the other end alone",
    ),
    rule("TCP_MD5*", "", Some(false), "its TCP MD5 signature is refused"),
    rule("TCP_AO*", "", Some(false), "its TCP-AO signature is refused"),
    rule("TCP_AUTH_HDR", "", Some(false), "its TCP authentication is malformed"),
    rule(
        "TCP_MINTTL",
        "",
        Some(false),
        "below the socket's least TTL (IP_MINTTL)",
    ),
    rule(
        "TCP_RFC7323_TW_PAWS",
        "",
        None,
        "segment for a TIME_WAIT socket, its timestamp older than what that saw: an old duplicate, or a new SYN that is lost",
    ),
    rule(
        "TCP_RFC7323_PAWS_ACK",
        "",
        Some(true),
        "TCP acknowledgment older than what is known (PAWS)",
    ),
    rule(
        "TCP_TOO_OLD_ACK",
        "",
        Some(true),
        "TCP acknowledgment older than what is known",
    ),
    rule(
        "TCP_RFC7323_*",
        "",
        None,
        "TCP timestamp out of order: an old duplicate, or a wrong clock of the peer",
    ),
    rule(
        "TCP_INVALID_*",
        "",
        None,
        "TCP sequence number outside the window: a duplicate, or a stranger's",
    ),
    rule("TCP_ACK_UNSENT_DATA", "", None, "acknowledges what was never sent"),
    rule("TCP_FLAGS", "", None, "its TCP flags do not fit the socket's state"),
    rule(
        "TCP_ABORT_ON_DATA",
        "",
        None,
        "data for a socket that its program had closed: answered with a RST",
    ),
    rule(
        "FRAG_*",
        "",
        Some(false),
        "an IP fragment that was missing, or came too late",
    ),
    rule("DEV_HDR", "", Some(false), "its link-layer header could not be made"),
    rule("HDR_TRUNC", "", Some(false), "malformed packet"),
    rule("SKB_GSO_SEG", "", Some(false), "it could not be segmented"),
    rule(
        "SKB_UCOPY_FAULT",
        "",
        Some(false),
        "it could not be copied from or to its program",
    ),
    rule("PFMEMALLOC", "", Some(false), "out of memory"),
    rule("TAP_*", "", Some(false), "a filter of the tun or tap device dropped it"),
    rule("VXLAN_INVALID_HDR", "", Some(false), "malformed VXLAN header"),
    rule(
        "VXLAN_VNI_NOT_FOUND",
        "",
        Some(false),
        "no VXLAN device has its network identifier",
    ),
    rule("NO_TX_TARGET", "", Some(false), "no device to send it by"),
    rule(
        "IP_TUNNEL_ECN",
        "",
        Some(false),
        "its tunnel's ECN marks contradict its own",
    ),
    rule(
        "BRIDGE_INGRESS_STP_STATE",
        "",
        Some(false),
        "the bridge port does not forward (spanning tree: a new port forwards only after twice the forward delay of its bridge)",
    ),
    rule(
        "RECURSION_LIMIT",
        "",
        Some(false),
        "too many devices stacked, or a loop",
    ),
    rule("IPV6DISABLED", "", None, "IPv6 is off on this device"),
    rule(
        "IPV6_NDISC_NS_OTHERHOST",
        "",
        Some(true),
        "neighbour solicitation for another host",
    ),
    rule("IPV6_BAD_EXTHDR", "", Some(false), "malformed IPv6 header"),
    rule(
        "MAC_IEEE_MAC_CONTROL",
        "",
        Some(true),
        "a frame of the link itself (pause, bridge)",
    ),
    rule("UNIX_*", "", Some(true), "not a packet of a device (unix socket)"),
    rule("UNHANDLED_PROTO", "", None, "no handler for this protocol"),
    rule("TCP_CLOSE", "", None, "the TCP socket was already closed"),
    rule("NOT_SPECIFIED", "", None, "this code path gives no reason"),
];
