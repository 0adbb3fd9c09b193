//! Judges a free by its reason and place alone.

use super::places;
use super::reasons::{RULES, TTL};
use super::too_big::{TOO_BIG, black_hole};
use crate::confidence::Confidence;
use crate::reconstruct::ETH_P_IP;

/// What a rule looks at and what it says.
pub(super) struct Rule {
    /// Reason name without `SKB_DROP_REASON_`, or its beginning when it ends in `*`; empty: any.
    pub(super) reason: &'static str,
    /// Beginning of the freeing function's name; empty: any.
    pub(super) location: &'static str,
    /// Answer.
    pub(super) expected: Option<bool>,
    /// Sentence.
    pub(super) why: &'static str,
}

/// One of them.
pub(super) const fn rule(
    reason: &'static str,
    location: &'static str,
    expected: Option<bool>,
    why: &'static str,
) -> Rule {
    Rule {
        reason,
        location,
        expected,
        why,
    }
}

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
/// What a place says that gives no reason.
const NONE: &str = "NOT_SPECIFIED";
/// Where a route's error is what becomes of a packet: on kernels without reasons that there is none, too (net/ipv4/route.c `ip_error`).
const ROUTE: &str = "ip_error";
const NO_ROUTE_OR_REFUSED: &str =
    "refused by a route of this host: prohibit, unreachable or blackhole, or there is none";
/// Where kernels without reasons free each message, handled or not (net/ipv6/icmp.c, net/ipv4/igmp.c).
const HANDLED: [&str; 2] = ["icmpv6_rcv", "igmp_rcv"];
/// Where a clone of what waits for a neighbour is freed that was only to tell whom to ask (net/core/neighbour.c; `consume_skb` since).
const ASKED: &str = "neigh_probe";
const FOR_ASKING: &str = "clone of a packet that waits for its neighbour, freed when that was asked for";
const WAS_HANDLED: &str = "ICMPv6 or IGMP message, freed there when it was handled";
/// Of a packet that was to be forwarded, where nothing tells more.
const NOT_FORWARDED: &str = "not forwarded: its TTL had run out or it was larger than the MTU of its next link";
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

/// Whether where else its frame went must be known to judge it (`flooded`).
pub fn is_for_no_address_here(reason: Option<&str>) -> bool {
    reason.is_some_and(|r| plain(r) == "IP_INADDRERRORS")
}

/// Whether who sent it must be known to judge it (`unrouted`).
pub fn has_no_route(reason: Option<&str>) -> bool {
    reason.is_some_and(|r| ["IP_OUTNOROUTES", "IP_INNOROUTES"].contains(&plain(r)))
}

/// Whether it found no device, or one that did not take it: the kernel sends some for itself on every device (`unrouted`).
pub fn has_no_device(reason: Option<&str>) -> bool {
    reason.is_some_and(|r| ["NO_TX_TARGET", "QDISC_DROP"].contains(&plain(r)))
}

/// Whether what became of its segment must be known to judge it (`too_big`).
pub fn is_too_big(reason: Option<&str>) -> bool {
    reason.is_some_and(|r| plain(r) == "PKT_TOO_BIG")
}

/// Of a packet for whose port UDP had no socket (net/ipv4/udp.c `__udp4_lib_rcv`, net/ipv6/udp.c `__udp6_lib_rcv`).
pub fn is_for_no_udp_socket(reason: Option<&str>, location: Option<&str>) -> bool {
    let by_udp = |at: &str| at.starts_with("__udp4_lib_rcv") || at.starts_with("__udp6_lib_rcv");
    reason.is_some_and(|r| plain(r) == "NO_SOCKET") && location.is_some_and(by_udp)
}

/// Whether these words are of a packet whose TTL had run out.
pub fn ran_out(why: &str) -> bool {
    why == TTL
}

/// What is said of a lost packet in few words, behind its reason: up to the first pause, which would end the sentence.
pub fn in_words(reason: &str, location: &str, why: &'static str) -> String {
    match black_hole(why) {
        Some(words) if is_too_big(Some(reason)) => words.to_owned(),
        // It was a message: who dropped it is told too.
        Some(words) => match judge(Some(reason), Some(location), ETH_P_IP, true).1 {
            "" => words.to_owned(),
            rule => format!("{rule}, {words}"),
        },
        None if why.starts_with(TOO_BIG) => TOO_BIG.to_owned(),
        None => why.split(';').next().unwrap_or(why).to_owned(),
    }
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
    let told = reason.is_some();
    // Without reasons a place has what it has where it gives none.
    let reason = plain(reason.unwrap_or(NONE));
    let fits = |r: &&Rule| {
        let by_reason = match r.reason.strip_suffix('*') {
            Some(start) => reason.starts_with(start),
            None => r.reason == reason,
        };
        let place = told || !r.location.is_empty();
        by_reason && place && (r.location.is_empty() || location.is_some_and(|l| l.starts_with(r.location)))
    };
    match RULES.iter().find(fits) {
        // Reasons came to it before this.
        Some(r) if !told && r.location == ROUTE => (r.expected, NO_ROUTE_OR_REFUSED, Confidence::Strong),
        Some(r) => {
            let sure = if r.expected.is_some() {
                Confidence::Strong
            } else {
                Confidence::Unknown
            };
            (r.expected, r.why, sure)
        }
        None if !told && location.is_some_and(|l| l.starts_with(ASKED)) => (Some(true), FOR_ASKING, Confidence::Strong),
        None if !told && location.is_some_and(|l| HANDLED.iter().any(|p| l.starts_with(p))) => {
            (Some(true), WAS_HANDLED, Confidence::Strong)
        }
        None if !told && places::forwards(location) => (Some(false), NOT_FORWARDED, Confidence::Strong),
        None if !told => (None, "this kernel records no drop reason", Confidence::Unknown),
        None => (None, "no rule for this reason", Confidence::Unknown),
    }
}
