use super::tables::icmp_words;
use super::too_big::MESSAGE;
use super::{in_words, judge, ran_out};
use crate::Confidence;
use crate::facts::Facts;
use crate::testing::{Ctx, N, S, Script};

/// Of raw sockets it is the filter that a program attached: the kernel's own of ICMP types is asked before there is a copy.
#[test]
fn a_raw_sockets_filter_is_one_of_bpf() {
    for (at, protocol) in [("raw_rcv", 0x0800), ("rawv6_rcv", 0x86dd)] {
        let (expected, why, _) = judge(Some("SOCKET_FILTER"), Some(at), protocol, true);
        assert_eq!(expected, Some(true));
        assert!(why.contains("SO_ATTACH_FILTER") && !why.contains("ICMP"), "{why}");
    }
}

/// The whole pitfall 3i-6 as data: (reason, place, protocol, has a life, expected).
const CASES: &[(&str, &str, u16, bool, Option<bool>)] = &[
    // False drops.
    ("NO_SOCKET", "ping_rcv", 0x0800, true, Some(true)),
    ("NO_SOCKET", "icmp_rcv", 0x0800, true, Some(true)),
    ("NOT_SPECIFIED", "ip6_mc_input", 0x86dd, true, Some(true)),
    ("TCP_OLD_DATA", "tcp_data_queue", 0x0800, true, Some(true)),
    ("TCP_OLD_SEQUENCE", "tcp_validate_incoming", 0x0800, true, Some(true)),
    ("TCP_OLD_ACK", "tcp_ack", 0x0800, true, Some(true)),
    ("TCP_OFOMERGE", "tcp_data_queue_ofo", 0x0800, true, Some(true)),
    ("OTHERHOST", "ip_rcv_core", 0x0800, true, None),
    ("SOCKET_CLOSE", "inet_csk_destroy_sock", 0x0800, true, Some(true)),
    ("QUEUE_PURGE", "skb_queue_purge_reason", 0x0800, true, Some(true)),
    ("NOT_SPECIFIED", "skb_release_data", 0x0800, true, Some(true)),
    ("CONSUMED", "anything", 0x0800, true, Some(true)),
    ("NOT_SPECIFIED", "unix_stream_read_generic", 0, false, Some(true)),
    ("NOT_SPECIFIED", "netlink_recvmsg", 0, false, Some(true)),
    ("NOT_SPECIFIED", "virtio_transport_recv_pkt", 0, false, Some(true)),
    // Lost packets.
    ("IP_OUTNOROUTES", "__ip_queue_xmit", 0, false, Some(false)),
    ("IP_OUTNOROUTES", "a_place", 0, false, Some(false)),
    ("NEIGH_FAILED", "a_place", 0, false, Some(false)),
    ("NEIGH_CREATEFAIL", "ip_finish_output2", 0x0800, false, Some(false)),
    ("QDISC_DROP", "__dev_queue_xmit", 0x0800, true, Some(false)),
    ("QDISC_OVERLIMIT", "__dev_queue_xmit", 0x0800, true, Some(false)),
    ("FQ_FLOW_LIMIT", "__dev_queue_xmit", 0x0800, true, Some(false)),
    ("CAKE_FLOOD", "__dev_queue_xmit", 0x0800, true, Some(false)),
    ("DUALPI2_STEP_DROP", "__dev_queue_xmit", 0x0800, true, Some(false)),
    ("CPU_BACKLOG", "enqueue_to_backlog", 0x0800, true, Some(false)),
    (
        "SOCKET_RCVBUFF",
        "__udp_enqueue_schedule_skb",
        0x0800,
        true,
        Some(false),
    ),
    ("SOCKET_BACKLOG", "tcp_v4_rcv", 0x0800, true, Some(false)),
    ("PROTO_MEM", "tcp_data_queue", 0x0800, true, Some(false)),
    ("TCP_ZEROWINDOW", "tcp_data_queue", 0x0800, true, Some(false)),
    ("TCP_OVERWINDOW", "tcp_data_queue", 0x0800, true, Some(false)),
    ("TCP_OFO_QUEUE_PRUNE", "tcp_prune_ofo_queue", 0x0800, true, Some(false)),
    ("TCP_OFO_DROP", "tcp_data_queue_ofo", 0x0800, true, Some(false)),
    ("TCP_LISTEN_OVERFLOW", "tcp_v4_syn_recv_sock", 0x0800, true, Some(false)),
    ("NEIGH_FAILED", "arp_error_report", 0x0800, true, Some(false)),
    ("NETFILTER_DROP", "nf_hook_slow", 0x0800, true, Some(false)),
    ("TC_INGRESS", "sch_handle_ingress", 0x0800, true, Some(false)),
    ("XDP", "do_xdp_generic", 0x0800, true, Some(false)),
    ("UDP_CSUM", "udp_queue_rcv_one_skb", 0x0800, true, Some(false)),
    ("NOT_SPECIFIED", "ip_error", 0x0800, true, Some(false)),
    ("NOT_SPECIFIED", "ip6_pkt_drop", 0x86dd, true, Some(false)),
    ("IP_INHDR", "ip_forward", 0x0800, true, Some(false)),
    ("IP_INHDR", "ip_rcv_core", 0x0800, true, Some(false)),
    ("NOT_SPECIFIED", "udp_destruct_common", 0x0800, true, Some(true)),
    // Nothing tells.
    ("NOT_SPECIFIED", "__ip_queue_xmit", 0, false, None),
    ("NOT_SPECIFIED", "inet6_csk_xmit", 0, false, None),
    ("NOT_SPECIFIED", "tcp_v4_send_ack", 0, false, None),
    ("NOT_SPECIFIED", "udp_send_skb", 0, false, None),
    ("NO_SOCKET", "tcp_v4_rcv", 0x0800, true, None),
    ("NO_SOCKET", "__udp4_lib_rcv", 0x0800, true, None),
    ("NOT_SPECIFIED", "mlx5e_poll_tx_cq", 0x0800, true, None),
    ("NOT_SPECIFIED", "kfree_skb_list_reason", 0x0800, true, None),
    ("A_REASON_OF_2031", "f", 0x0800, true, None),
];

#[test]
fn every_class_of_the_false_drop_catalogue() {
    for (reason, place, protocol, life, expected) in CASES {
        for name in [reason.to_string(), format!("SKB_DROP_REASON_{reason}")] {
            let (got, why, sure) = judge(Some(&name), Some(place), *protocol, *life);
            assert_eq!(got, *expected, "{name} at {place}: {why}");
            assert_eq!(sure.is_solid(), expected.is_some(), "{name}");
            assert!(!why.is_empty());
        }
    }
}

/// What the first page says behind a reason: one clause, of the place where it is known.
#[test]
fn a_lost_packets_words_are_one_clause() {
    for (reason, place, protocol, life, expected) in CASES {
        let (_, why, _) = judge(Some(reason), Some(place), *protocol, *life);
        let words = in_words(reason, place, why);
        assert!(
            !words.is_empty() && !words.contains(';') && !words.contains(". "),
            "{words}"
        );
        assert_eq!(
            ran_out(why),
            (*reason, *place) == ("IP_INHDR", "ip_forward"),
            "{expected:?}"
        );
    }
    let of = |reason, place| in_words(reason, place, judge(Some(reason), Some(place), 0x0800, true).1);
    assert_eq!(of("IP_INHDR", "ip_forward"), "its TTL had run out");
    assert_eq!(of("TCP_CSUM", "tcp_v4_rcv"), "a wrong checksum: damaged on the way");
    assert_eq!(of("NETFILTER_DROP", "nft_do_chain"), "an nftables rule or policy");
    assert_eq!(of("PKT_TOO_BIG", "ip_forward"), "larger than the MTU of its next link");
    // Who dropped a message that a packet was too big is told with what it was.
    assert_eq!(
        in_words("NETFILTER_DROP", "nft_do_chain", MESSAGE),
        "an nftables rule or policy, the ICMP packet-too-big messages"
    );
}

/// The ICMP message that its CPU made for a packet just before it freed it is the packet's; no other's is.
#[test]
fn what_the_host_answered_is_of_the_packet_freed_next() {
    // (CPU, packet of the message, how long before, type) and what the row says.
    for (cpu, of, before, kind, expect) in [
        (0, A, 50, 3, Some((3, 13))),
        (1, A, 50, 3, None),
        (0, A + 512, 50, 3, None),
        (0, A, 10_000_000, 3, None),
    ] {
        let mut s = script("6.18.44");
        let says = [("skbaddr", N(of)), ("type", N(kind)), ("code", N(13))];
        s.ev(T, cpu, Ctx::Soft(1), "icmp:icmp_send", &says);
        free(&mut s, before, A, PING, 0x0800, 2);
        let f = s.facts();
        assert_eq!(f.drops[0].icmp, expect, "{cpu} {before}");
    }
    assert_eq!(icmp_words((3, 13)), "communication administratively prohibited");
    assert_eq!(icmp_words((11, 0)), "time exceeded");
}

/// The ping and multicast exceptions are of their places only; without symbols they are not claimed.
#[test]
fn exceptions_by_place_need_the_place() {
    assert_eq!(judge(Some("NO_SOCKET"), None, 0x0800, true).0, None);
    assert_eq!(judge(Some("NOT_SPECIFIED"), None, 0x0800, true).0, None);
    assert_eq!(judge(Some("NOT_SPECIFIED"), Some("ip6_rcv"), 0x86dd, true).0, None);
    assert_eq!(judge(Some("NOT_SPECIFIED"), None, 0, false).0, None);
}

/// Before 5.17 no reason is recorded: no judgement, whatever the place.
#[test]
fn without_a_reason_nothing_is_claimed() {
    let (expected, _, sure) = judge(None, Some("ping_rcv"), 0x0800, true);
    assert_eq!((expected, sure), (None, Confidence::Unknown));
}

const T: u64 = 1_000_000_000;
const A: u64 = 0xffff_8881_0000_0000;
const PING: u64 = 0xffff_ffff_8100_0000;
const XMIT: u64 = 0xffff_ffff_8200_0000;
const NEIGH_SEND: u64 = 0xffff_ffff_8300_0000;

fn script(release: &str) -> Script {
    let mut s = Script::new(release, &[]);
    s.symbol(PING, "ping_rcv");
    s.symbol(XMIT, "__dev_queue_xmit");
    s.symbol(NEIGH_SEND, "__neigh_event_send");
    s.ev(1, 0, Ctx::Task(1), "napi:napi_poll", &[]);
    s
}
fn free(s: &mut Script, t: u64, addr: u64, place: u64, protocol: u64, reason: u64) {
    let v = [
        ("skbaddr", N(addr)),
        ("location", N(place + 0x10)),
        ("protocol", N(protocol)),
        ("reason", N(reason)),
    ];
    s.ev(T + t, 0, Ctx::Soft(1), "skb:kfree_skb", &v);
}
/// (reason cell, location cell, device, expected) as users see them.
fn shown(f: &Facts) -> Vec<(String, String, String, Option<bool>)> {
    let text = |c: crate::table::Cell<'_>| match c {
        crate::table::Cell::Str(s) => s.into_owned(),
        _ => String::new(),
    };
    f.drops
        .iter()
        .map(|d| {
            (
                text(f.names.drop_reason(d.reason)),
                text(f.names.location(d.location)),
                d.dev.text().into_owned(),
                d.expected,
            )
        })
        .collect()
}

/// Pitfall 27: reason numbers change with nearly every release; only the recording's own table names them.
#[test]
fn the_same_number_means_what_its_recording_says() {
    for (release, name, expected) in [("6.18.44", "NOT_SPECIFIED", None), ("6.1.192", "NO_SOCKET", Some(true))] {
        let mut s = script(release);
        free(&mut s, 0, A, PING, 0x0800, 2);
        let got = &shown(&s.facts())[0];
        assert_eq!(
            (got.0.as_str(), got.1.as_str(), got.3),
            (name, "ping_rcv", expected),
            "{release}"
        );
    }
}

/// The device is that of the life that ended.
#[test]
fn a_drop_has_the_device_of_its_life() {
    let mut s = script("6.18.44");
    let v = [("skbaddr", N(A)), ("len", N(84)), ("name", S("wg0"))];
    s.ev(T, 0, Ctx::Soft(1), "net:netif_receive_skb", &v);
    free(&mut s, 100, A, PING, 0x0800, 3);
    let f = s.facts();
    assert_eq!(f.drops[0].skb_id, Some(f.skbs[0].skb_id));
    assert_eq!(shown(&f)[0].2, "wg0");
}

/// A segment that a qdisc built and dropped has no life: its device is that of the packet just queued on the CPU.
#[test]
fn a_qdisc_drop_without_a_life_takes_the_queued_device() {
    let mut s = script("6.18.44");
    let v = [("skbaddr", N(A)), ("len", N(4410)), ("name", S("tbf0"))];
    s.ev(T, 0, Ctx::Task(1), "net:net_dev_queue", &v);
    free(&mut s, 100, A + 4096, XMIT, 0x0800, 64);
    let got = &shown(&s.facts())[0];
    let expect = (
        "QDISC_DROP".to_string(),
        "__dev_queue_xmit".to_string(),
        "tbf0".to_string(),
        Some(false),
    );
    assert_eq!(got, &expect);
}

/// Without a neighbour entry a packet is dropped in its send call, before any event saw it: its task is the call's.
#[test]
fn a_packet_dropped_in_its_send_call_has_the_calls_task() {
    use crate::reconstruct::whose::Carries;
    let owner_at = |ctx: Ctx, name: &str, at: u64| {
        let of = |reason: u64| {
            let mut s = script("6.18.44");
            let v = [
                ("skbaddr", N(A)),
                ("location", N(at + 0x10)),
                ("protocol", N(0x0800)),
                ("reason", N(reason)),
            ];
            s.ev(T, 0, ctx, "skb:kfree_skb", &v);
            s.facts()
        };
        let found = (2..120).map(of).find(|f| shown(f)[0].0 == name).unwrap();
        found.drops[0].owner.map(|o| (o.carries, o.pid))
    };
    let owner = |ctx: Ctx, name: &str| owner_at(ctx, name, XMIT);
    // `ip neigh del`, and a full queue, which drops the oldest in it: not the caller's.
    assert_eq!(owner(Ctx::Task(7), "NEIGH_FAILED"), None);
    assert_eq!(owner_at(Ctx::Task(7), "NEIGH_QUEUEFULL", NEIGH_SEND), None);
    assert_eq!(
        owner_at(Ctx::Task(7), "NEIGH_FAILED", NEIGH_SEND),
        Some((Carries::Sent, 7))
    );
    assert_eq!(owner(Ctx::Task(7), "NEIGH_CREATEFAIL"), Some((Carries::Sent, 7)));
    assert_eq!(owner(Ctx::Soft(7), "NEIGH_CREATEFAIL"), None);
    assert_eq!(owner(Ctx::Task(7), "NETFILTER_DROP"), None);
}

/// Protocol 0 at the address of a packet's life: another skb; it neither ends the life nor takes its device.
#[test]
fn protocol_zero_at_a_packets_address_is_another_skb() {
    let mut s = script("6.18.44");
    let v = [("skbaddr", N(A)), ("len", N(84)), ("name", S("lo"))];
    s.ev(T, 0, Ctx::Soft(1), "net:netif_receive_skb", &v);
    free(&mut s, 100, A, PING, 0, 2);
    let f = s.facts();
    assert_eq!((f.drops[0].skb_id, f.drops[0].expected), (None, Some(true)));
    assert_eq!(shown(&f)[0].2, "");
}

/// consume_skb is no drop (pitfall 4 the other way round).
#[test]
fn consume_is_no_drop() {
    let mut s = script("6.18.44");
    s.ev(T, 0, Ctx::Soft(1), "skb:consume_skb", &[("skbaddr", N(A))]);
    assert!(s.facts().drops.is_empty());
}

/// A kernel before 5.17: what a place stands for, and no claim where it stands for several.
#[test]
fn an_old_kernel_without_reasons() {
    let mut s = script("6.1.192");
    s.drop_field("skb:kfree_skb", "reason");
    free(&mut s, 0, A, PING, 0x0800, 0);
    free(&mut s, 10, A + 8, 0xdead, 0x0800, 0);
    let f = s.facts();
    let name = |d: &super::tables::DropRow| match f.names.drop_reason(d.reason) {
        crate::table::Cell::Str(s) => s.into_owned(),
        _ => String::new(),
    };
    assert!(f.names.reasons_by_place);
    assert_eq!(
        (name(&f.drops[0]).as_str(), f.drops[0].expected),
        ("NO_SOCKET", Some(true))
    );
    assert_eq!((name(&f.drops[1]).as_str(), f.drops[1].expected), ("", None));
}

/// net_dev_queue is only a help: without it drops are still answered, and no reason against them is given.
#[test]
fn drops_need_only_kfree_skb() {
    let mut s = Script::new("6.18.44", &["net:net_dev_queue"]);
    free(&mut s, 0, A, PING, 0x0800, 3);
    assert!(!s.facts().unknown.iter().any(|r| r.subject == "drops"));
    let mut s = Script::new("6.18.44", &["skb:kfree_skb"]);
    s.ev(1, 0, Ctx::Task(1), "napi:napi_poll", &[]);
    assert!(s.facts().unknown.iter().any(|r| r.subject == "drops"));
}

mod otherhost;
mod repair;
mod too_big;
mod unjoined;
mod unrouted;
