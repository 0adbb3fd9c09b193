//! Which drop reason a free stands for on kernels that record none (before Linux 5.17): by the function that freed it.
//!
//! In: the function's name, whether the packet is the one that was queued last on that CPU, what was said of it by ICMP, what the kernel counted. Out: a reason by
//! the name that later kernels give the same place, or none. Only places with one cause, or with one that others are rare beside, are in the list; of those that are
//! shared something else must tell (`ip_forward`: the message, or counters; `ip_rcv_finish_core`: a counter; `ip_rcv_core`: that others were not counted; `tcp_v4_rcv`, `ip_error`:
//! `by_count` beside this), and what nothing tells stays unclear. Inferred; a kernel that records reasons is never asked. TCP's own drops have no event there: `tcp_drop` freed silently.
//!
//! Sources: net/ of Linux 5.15, where each of these calls `kfree_skb`, and the commits that gave these calls their reasons.

use netmortem_formats::event_format::{ValueTable, ValueTableKind};

use rustc_hash::FxHashMap;

use super::tables::DropRow;
use crate::counters::tables::{CounterRow, risen};
use crate::ingest::Schema;

/// Where qdisc drops are freed one after the other, as fragments of a packet are, too; and where a compiler has that inlined. What classifiers of egress drop
/// is freed in the latter before it is queued.
const LISTS: [&str; 3] = ["kfree_skb_list", "__dev_queue_xmit", "__dev_xmit_skb"];
/// A queue refused it.
pub const QUEUE: &str = "QDISC_DROP";
const OTHERHOST: &str = "OTHERHOST";

/// Beginnings of functions, and the reason.
const PLACES: [(&str, &str); 23] = [
    // net/netfilter/core.c: a verdict of any hook, nftables' and iptables' among them.
    ("nf_hook_slow", "NETFILTER_DROP"),
    ("nft_do_chain", "NETFILTER_DROP"),
    // net/core/dev.c.
    ("enqueue_to_backlog", "CPU_BACKLOG"),
    // net/ipv4/ip_output.c, net/ipv6/ip6_output.c.
    ("__ip_queue_xmit", "IP_OUTNOROUTES"),
    ("ip_finish_output2", "NEIGH_CREATEFAIL"),
    ("ip6_finish_output2", "NEIGH_CREATEFAIL"),
    // net/ipv4/arp.c, net/ipv6/ndisc.c, net/core/neighbour.c: what waited for a neighbour that did not answer.
    ("arp_error_report", "NEIGH_FAILED"),
    ("ndisc_error_report", "NEIGH_FAILED"),
    ("neigh_invalidate", "NEIGH_FAILED"),
    // net/ipv4/ip_input.c (IPv6 drops there what it is switched off for).
    ("ip_rcv_core", OTHERHOST),
    // net/ipv4/udp.c, net/ipv6/udp.c: a wrong checksum ends there, too, but is rare.
    ("__udp4_lib_rcv", "NO_SOCKET"),
    ("__udp6_lib_rcv", "NO_SOCKET"),
    // net/ipv4/icmp.c, net/ipv4/ping.c: handled.
    ("ping_rcv", "NO_SOCKET"),
    ("icmp_rcv", "NO_SOCKET"),
    // net/ipv4/ip_fragment.c, net/ipv6/reassembly.c.
    ("ip_expire", "FRAG_REASM_TIMEOUT"),
    ("ip6frag_expire", "FRAG_REASM_TIMEOUT"),
    ("ip6_frag_expire", "FRAG_REASM_TIMEOUT"),
    // What a socket had when it closed.
    ("skb_queue_purge", "QUEUE_PURGE"),
    ("inet_sock_destruct", "SOCKET_CLOSE"),
    ("udp_destruct_", "SOCKET_CLOSE"),
    ("inet_csk_destroy_sock", "SOCKET_CLOSE"),
    ("sk_stream_kill_queues", "SOCKET_CLOSE"),
    // net/sched: codel's own drops.
    ("drop_func", QUEUE),
];

/// Where UDP frees a datagram for which its socket had no room: only `udp_fail_queue_rcv_skb` beside it tells that from a wrong checksum.
const AT_SOCKET: [&str; 6] = [
    "udp_queue_rcv_one_skb",
    "udpv6_queue_rcv_one_skb",
    // Before Linux 5.0.
    "udp_queue_rcv_skb",
    "udpv6_queue_rcv_skb",
    "__udp_queue_rcv_skb",
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
/// What the kernel counts of either (as `nstat` names it).
const COUNTED_TOO_BIG: [&str; 2] = ["IpFragFails", "Ip6InTooBigErrors"];
const COUNTED_RAN_OUT: [&str; 2] = ["IpInHdrErrors", "Ip6InHdrErrors"];

/// Messages to senders that a packet could not be delivered, too big ones among them: of IPv4 alone too big and others.
const COUNTED_TOLD: [&str; 2] = ["IcmpOutDestUnreachs", "Icmp6OutPktTooBigs"];

/// What else ends where a frame for another host does.
const COUNTED_AT_INPUT: [&str; 3] = ["IpInHdrErrors", "IpExtInCsumErrors", "IpExtInTruncatedPkts"];

/// Where a route of input is looked up: of several refusals only one has a counter of its own.
const LOOKS_UP: [&str; 2] = ["ip_rcv_finish_core", "ip_rcv_finish"];
const REVERSE_PATH: &str = "IP_RPFILTER";
const COUNTED_REVERSE_PATH: [&str; 1] = ["TcpExtIPReversePathFilter"];

/// The names, numbered in their order.
fn names() -> impl Iterator<Item = &'static str> {
    let mut seen: Vec<&'static str> = vec![];
    let others = [QUEUE, NO_ROOM, NO_MEMORY, RAN_OUT, TOO_BIG, REVERSE_PATH];
    let all = PLACES.iter().map(|p| p.1).chain(others).chain(super::by_count::REASONS);
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
    if LISTS.iter().any(|p| location.starts_with(p)) {
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

/// The reason of one that was not forwarded, by what ICMP error sent back.
pub fn not_forwarded(icmp: Option<(i32, i32)>) -> Option<u32> {
    match icmp {
        Some((TIME_EXCEEDED, _)) => number(RAN_OUT),
        Some(FRAG_NEEDED) => number(TOO_BIG),
        _ => None,
    }
}

/// Whether a route of input is looked up there.
pub fn looks_up(location: Option<&str>) -> bool {
    location.is_some_and(|l| LOOKS_UP.contains(&l.split('.').next().unwrap_or(l)))
}

/// By how much these counters rose together, in all namespaces; `None`: as [`risen`] says of one of them.
fn rise(counters: &[CounterRow], names: &[&str]) -> Option<u64> {
    names
        .iter()
        .try_fold(0u64, |sum, name| Some(sum.saturating_add(risen(counters, name)?)))
}

/// Whether the kernel counted, in each namespace, a message to the sender for each packet that was too big.
pub fn each_was_told(counters: &[CounterRow]) -> bool {
    let by_netns = |names: &[&str]| {
        let mut out: FxHashMap<Option<u64>, u64> = FxHashMap::default();
        for c in counters.iter().filter(|c| names.contains(&c.name.as_str())) {
            let of = out.entry(c.netns).or_default();
            *of = of.saturating_add(c.rise().unwrap_or(0));
        }
        out
    };
    let (big, told) = (by_netns(&COUNTED_TOO_BIG), by_netns(&COUNTED_TOLD));
    big.iter().all(|(netns, n)| told.get(netns).copied().unwrap_or(0) >= *n)
}

pub(super) fn name(rows: &mut [DropRow], at: &[usize], reason: &str, location: Option<&str>) {
    for row in at.iter().copied() {
        if let Some(row) = rows.get_mut(row) {
            row.reason = number(reason);
            (row.expected, row.why, row.confidence) = super::judge(Some(reason), location, row.protocol, true);
        }
    }
}

/// Names what was refused where a route of input is looked up, where the kernel counted just as many that came by another way than they would be answered by.
pub fn by_counter(rows: &mut [DropRow], at: &[usize], counters: &[CounterRow]) {
    if !at.is_empty() && rise(counters, &COUNTED_REVERSE_PATH) == Some(at.len() as u64) {
        name(rows, at, REVERSE_PATH, None);
    }
}

/// Names what was not forwarded and of which no ICMP message tells, where beside what a message told only one of both causes was counted, as often or up to twice as often. Returns whether that
/// was the size.
pub fn forwarded(rows: &mut [DropRow], at: &[usize], counters: &[CounterRow]) -> bool {
    let n = at.len() as u64;
    // The readings enclose the recording.
    let alike = |counted: u64| n > 0 && (n..=n.saturating_mul(2)).contains(&counted);
    let told = |reason| rows.iter().filter(|r| r.reason == number(reason)).count() as u64;
    let rest = |names, reason| rise(counters, names)?.checked_sub(told(reason));
    let of = match (rest(&COUNTED_TOO_BIG, TOO_BIG), rest(&COUNTED_RAN_OUT, RAN_OUT)) {
        (Some(big), Some(0)) if alike(big) => TOO_BIG,
        (Some(0), Some(ran_out)) if alike(ran_out) => RAN_OUT,
        _ => return false,
    };
    name(rows, at, of, FORWARDS.first().copied());
    of == TOO_BIG
}

/// Takes back that frames were for another host, where others are counted that end at the same place: these rows are not to be judged as such.
pub fn others_at_input(rows: &mut [DropRow], at: &mut Vec<usize>, counters: &[CounterRow]) {
    if rise(counters, &COUNTED_AT_INPUT) == Some(0) {
        return;
    }
    for row in at.drain(..) {
        if let Some(row) = rows.get_mut(row) {
            row.reason = None;
            (row.expected, row.why, row.confidence) = super::judge(None, None, row.protocol, true);
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
        // Fragments are freed in the one as well, what a classifier drops in the other.
        for place in ["kfree_skb_list", "__dev_queue_xmit"] {
            assert_eq!(of(place, false), None);
            assert_eq!(of(place, true).as_deref(), Some("QDISC_DROP"));
        }
        // By the message; without one counters tell.
        let forwarded = |icmp| name(not_forwarded(icmp));
        assert_eq!(forwarded(Some((11, 0))).as_deref(), Some("IP_INHDR"));
        assert_eq!(forwarded(Some((3, 4))).as_deref(), Some("PKT_TOO_BIG"));
        assert_eq!((forwarded(Some((3, 1))), forwarded(None)), (None, None));
        // Several causes.
        let several = [
            "ip_rcv_finish_core",
            "tcp_v4_rcv",
            "ip_forward",
            "udp_queue_rcv_one_skb",
            "ip6_rcv_core",
        ];
        for place in several {
            assert_eq!(of(place, true), None, "{place}");
        }
        assert_eq!(name(at_socket(-12)).as_deref(), Some("SOCKET_RCVBUFF"));
        assert_eq!(name(at_socket(-105)).as_deref(), Some("PROTO_MEM"));
        assert!(is_at_socket(Some("udp_queue_rcv_one_skb.part.0")));
        let different = names().collect::<std::collections::BTreeSet<_>>();
        assert_eq!(table.entries.len(), different.len());
    }

    fn counted(name: &str, rose: u64) -> CounterRow {
        CounterRow {
            source: "netstat",
            netns: Some(1),
            of: String::new(),
            name: name.into(),
            start: Some(5),
            end: Some(5 + rose),
        }
    }

    /// Two rows, with what counters make of them.
    fn rows(then: impl FnOnce(&mut [DropRow])) -> Vec<(String, Option<bool>)> {
        let mut rows = vec![crate::testing::drop_at(1), crate::testing::drop_at(2)];
        then(&mut rows);
        let table = table();
        let reason = |r: &DropRow| r.reason.and_then(|n| table.name(u64::from(n))).unwrap_or_default();
        rows.iter().map(|r| (reason(r), r.expected)).collect()
    }

    #[test]
    fn counters_tell_where_they_leave_one_cause() {
        let refused = |n| rows(|r| by_counter(r, &[0, 1], &[counted("TcpExtIPReversePathFilter", n)]));
        assert_eq!(refused(2)[0], ("IP_RPFILTER".to_owned(), Some(false)));
        // Others among them, or elsewhere: which is not known.
        assert_eq!((refused(1)[0].0.as_str(), refused(3)[0].0.as_str()), ("", ""));
        let of = |big, out| {
            let counters = [counted("IpFragFails", big), counted("IpInHdrErrors", out)];
            let mut too_big = false;
            let rows = rows(|r| too_big = forwarded(r, &[0, 1], &counters));
            (rows[0].0.clone(), too_big)
        };
        assert_eq!(of(2, 0), ("PKT_TOO_BIG".to_owned(), true));
        assert_eq!(of(0, 2), ("IP_INHDR".to_owned(), false));
        for unclear in [of(1, 0), of(2, 2), of(0, 0), of(0, 5)] {
            assert_eq!(unclear, (String::new(), false));
        }
        // One that was not read counts nothing.
        let unread = [CounterRow {
            end: None,
            ..counted("IpFragFails", 2)
        }];
        assert!(
            rows(|r| assert!(!forwarded(r, &[0, 1], &unread)))
                .iter()
                .all(|r| r.0.is_empty())
        );
        // A message tells of one of them: that leaves one of the two that were counted.
        let told = rows(|r| {
            r[0].reason = number(RAN_OUT);
            forwarded(r, &[1], &[counted("IpFragFails", 0), counted("IpInHdrErrors", 2)]);
        });
        assert_eq!(told[1].0, "IP_INHDR");
        let input = |n| {
            rows(|r| {
                r[0].reason = number(OTHERHOST);
                others_at_input(r, &mut vec![0], &[counted("IpExtInCsumErrors", n)]);
            })
        };
        assert_eq!(input(0)[0].0, OTHERHOST);
        assert_eq!(input(1)[0], (String::new(), None));
    }
}
