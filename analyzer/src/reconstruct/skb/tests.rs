mod again;
mod calls;
mod forwarded;
mod lengths;
mod programs;
mod refused;
mod resent;
mod told;
mod verdicts;

use super::tables::{BirthKind, DeathKind, SkbClass};
use crate::Confidence;
use crate::testing::{Ctx, FCLONE, N, S, Script};

fn script() -> Script {
    let mut s = Script::new("6.18.44", &[]);
    s.symbol(0xffff_ffff_8100_0000, "validate_xmit_skb");
    s.symbol(0xffff_ffff_8200_0000, "netlink_recvmsg");
    s.symbol(0xffff_ffff_8300_0000, "tcp_data_queue");
    s.symbol(0xffff_ffff_8400_0000, "__dev_queue_xmit");
    // Something early, so that later first sights are not near the start.
    s.ev(1, 0, Ctx::Task(1), "napi:napi_poll", &[]);
    s
}
const A: u64 = 0xffff_8881_0000_0000;
const T: u64 = 1_000_000_000;

fn rx(s: &mut Script, ts: u64, addr: u64, len: u64) {
    let v = [("skbaddr", N(addr)), ("len", N(len)), ("name", S("lo"))];
    s.ev(ts, 0, Ctx::Soft(1), "net:netif_rx_entry", &v);
    s.ev(ts + 100, 0, Ctx::Soft(1), "net:netif_receive_skb", &v);
}
fn probe(s: &mut Script, ts: u64, addr: u64, data: u64) {
    s.ev(
        ts,
        0,
        Ctx::Soft(1),
        "tcp:tcp_probe",
        &[("skbaddr", N(addr)), ("data_len", N(data))],
    );
}

/// Pitfalls 1 and 2: a pure ACK dies silently, its address carries another packet 629 ms later, and that one is freed.
#[test]
fn a_silent_death_and_a_later_free_are_two_lives() {
    let mut s = script();
    rx(&mut s, T, A, 52);
    probe(&mut s, T + 500, A, 0);
    rx(&mut s, T + 629_000_000, A, 100);
    s.ev(
        T + 629_001_000,
        0,
        Ctx::Soft(1),
        "skb:consume_skb",
        &[("skbaddr", N(A))],
    );
    let f = s.facts();
    assert_eq!(f.skbs.len(), 2);
    assert_eq!(
        (f.skbs[0].death_kind, f.skbs[0].life_ns()),
        (DeathKind::InferredProtocol, Some(500))
    );
    assert_eq!(
        (f.skbs[1].death_kind, f.skbs[1].life_ns()),
        (DeathKind::Consumed, Some(1000))
    );
}

/// The free of a netlink message at the address of a silently freed ACK must not end that ACK 629 ms late.
#[test]
fn the_free_of_an_untracked_reuse_ends_no_packet() {
    for event in ["skb:consume_skb", "skb:kfree_skb"] {
        let mut s = script();
        rx(&mut s, T, A, 52);
        probe(&mut s, T + 500, A, 0);
        let at = [("skbaddr", N(A)), ("location", N(0xffff_ffff_8200_0010))];
        s.ev(T + 629_000_000, 0, Ctx::Task(9), event, &at);
        let f = s.facts();
        assert_eq!(f.skbs[0].life_ns(), Some(500), "{event}");
        assert_eq!(f.stats.iter().find(|s| s.name == "untracked_frees").unwrap().value, 1);
    }
}

/// A segment built and dropped inside a qdisc at the address of coalesced TCP data (seen on a real tbf link: 1.47 s).
#[test]
fn a_qdisc_drop_does_not_end_received_data() {
    let mut s = script();
    rx(&mut s, T, A, 1500);
    probe(&mut s, T + 500, A, 1448);
    let at = [
        ("skbaddr", N(A)),
        ("location", N(0xffff_ffff_8400_0010)),
        ("protocol", N(0x0800)),
        ("reason", N(70)),
    ];
    s.ev(T + 1_475_000_000, 0, Ctx::Soft(1), "skb:kfree_skb", &at);
    let f = s.facts();
    assert_eq!((f.skbs[0].death_kind, f.skbs[0].life_ns()), (DeathKind::Unseen, None));
    assert_eq!(f.drops[0].skb_id, None);
}

/// GRO: ret 1 frees the merged head at once, and entry/exit nest (the delivery of the batch runs inside the last entry).
#[test]
fn gro_exit_belongs_to_its_own_entry() {
    let mut s = script();
    let e = |a: u64| [("skbaddr", N(a)), ("len", N(1500)), ("name", S("eth0"))];
    s.ev(T, 0, Ctx::Soft(1), "net:napi_gro_receive_entry", &e(A));
    s.ev(T + 10, 0, Ctx::Soft(1), "net:napi_gro_receive_exit", &[("ret", N(2))]);
    s.ev(T + 20, 0, Ctx::Soft(1), "net:napi_gro_receive_entry", &e(A + 256));
    s.ev(
        T + 25,
        0,
        Ctx::Soft(1),
        "net:netif_receive_skb",
        &[("skbaddr", N(A)), ("len", N(2948)), ("name", S("eth0"))],
    );
    s.ev(T + 90, 0, Ctx::Soft(1), "net:napi_gro_receive_exit", &[("ret", N(1))]);
    let f = s.facts();
    assert_eq!(f.skbs.len(), 2);
    assert_eq!(f.skbs[0].death_kind, DeathKind::CensoredEnd);
    assert_eq!(
        (f.skbs[1].skbaddr, f.skbs[1].death_kind, f.skbs[1].life_ns()),
        (A + 256, DeathKind::GroMerged, Some(70))
    );
}

/// veth and loopback: the same skb goes on as a received one, nested in its own start_xmit.
#[test]
fn a_veth_crossing_is_one_life() {
    let mut s = script();
    let v = |len: u64, dev: &'static str| [("skbaddr", N(A)), ("len", N(len)), ("name", S(dev))];
    s.ev(T, 0, Ctx::Task(1), "net:net_dev_queue", &v(1514, "va"));
    s.ev(T + 100, 0, Ctx::Task(1), "net:net_dev_start_xmit", &v(1514, "va"));
    s.ev(T + 200, 0, Ctx::Task(1), "net:netif_rx_entry", &v(1500, "vb"));
    s.ev(T + 300, 0, Ctx::Task(1), "net:net_dev_xmit", &v(1514, "va"));
    s.ev(T + 350, 1, Ctx::Soft(2), "irq:softirq_entry", &[("vec", N(3))]);
    s.ev(T + 400, 1, Ctx::Soft(2), "net:netif_receive_skb", &v(1500, "vb"));
    s.ev(T + 500, 1, Ctx::Soft(2), "net:net_dev_queue", &v(1514, "vc"));
    s.ev(T + 600, 1, Ctx::Soft(2), "skb:consume_skb", &[("skbaddr", N(A))]);
    let f = s.facts();
    assert_eq!(f.skbs.len(), 1);
    assert_eq!(
        (f.skbs[0].life_ns(), f.skbs[0].confidence),
        (Some(600), Confidence::Certain)
    );
    let hops: Vec<(&str, String)> = f.hops.iter().map(|h| (h.kind, h.dev.text().into_owned())).collect();
    let expect = [("queue", "va"), ("xmit", "va"), ("rx", "vb"), ("queue", "vc")].map(|(k, d)| (k, d.to_string()));
    assert_eq!(hops, expect);
}

/// A token bucket cut the packet, freed it without an event here, and a segment took its address. A VLAN tag is put in in the queue.
#[test]
fn what_leaves_a_queue_with_another_length_is_another_packet() {
    for (left, lives) in [(2962, 2), (14_546, 1), (14_550, 1)] {
        let mut s = script();
        let v = |len: u64| [("skbaddr", N(A)), ("len", N(len)), ("name", S("wan0"))];
        s.ev(T, 0, Ctx::Soft(1), "net:net_dev_queue", &v(14_546));
        s.ev(T + 90_000_000, 0, Ctx::Soft(1), "net:net_dev_start_xmit", &v(left));
        let f = s.facts();
        let classes: Vec<SkbClass> = f.skbs.iter().map(|l| l.class).collect();
        assert_eq!(classes.len(), lives, "{left}");
        if lives == 2 {
            assert_eq!(
                (f.skbs[0].death_kind, classes[1]),
                (DeathKind::Unseen, SkbClass::TxSegment)
            );
        }
    }
}

/// Pitfall 2: the address of a received segment carries an outgoing ACK microseconds later. Not a forward.
#[test]
fn an_ack_at_a_received_address_is_not_a_forward() {
    let mut s = script();
    rx(&mut s, T, A, 1500);
    probe(&mut s, T + 200, A, 1448);
    s.ev(
        T + 24_000,
        0,
        Ctx::Soft(1),
        "net:net_dev_queue",
        &[("skbaddr", N(A)), ("len", N(66)), ("name", S("lo"))],
    );
    let f = s.facts();
    assert_eq!(f.skbs.len(), 2);
    assert_eq!((f.skbs[0].death_kind, f.skbs[0].life_ns()), (DeathKind::Unseen, None));
}

/// S is learned, clones are told from control packets, and an original's address is a new skb once it was sent.
#[test]
fn originals_and_clones() {
    let mut s = script();
    for k in 0..4u64 {
        let (o, t) = (A + k * 512, T + k * 10_000);
        s.ev(t, 0, Ctx::Task(7), "tcp:tcp_sendmsg_locked", &[("skb_addr", N(o))]);
        s.ev(
            t + 100,
            0,
            Ctx::Task(7),
            "net:net_dev_queue",
            &[("skbaddr", N(o + FCLONE)), ("len", N(1514)), ("name", S("e"))],
        );
    }
    s.ev(
        T + 90_000,
        0,
        Ctx::Task(7),
        "tcp:tcp_sendmsg_locked",
        &[("skb_addr", N(A))],
    );
    s.ev(
        T + 91_000,
        0,
        Ctx::Task(7),
        "net:net_dev_queue",
        &[("skbaddr", N(A + 8192)), ("len", N(66)), ("name", S("e"))],
    );
    let f = s.facts();
    let count = |c| f.skbs.iter().filter(|s| s.class == c).count();
    assert_eq!(
        (
            count(SkbClass::TxOriginal),
            count(SkbClass::TxClone),
            count(SkbClass::TxOther)
        ),
        (5, 4, 1)
    );
    assert!(
        f.skbs
            .iter()
            .filter(|s| s.class == SkbClass::TxOriginal)
            .all(|s| s.birth_kind == BirthKind::Inferred)
    );
}

/// Pitfall 5: `qdisc_enqueue` after in-qdisc segmentation names a freed skb and opens nothing.
#[test]
fn a_stale_qdisc_pointer_opens_no_life() {
    let mut s = script();
    s.ev(
        T,
        0,
        Ctx::Task(1),
        "net:net_dev_queue",
        &[("skbaddr", N(A)), ("len", N(4410)), ("name", S("e"))],
    );
    let at = [("skbaddr", N(A)), ("location", N(0xffff_ffff_8100_0010))];
    s.ev(T + 100, 0, Ctx::Task(1), "skb:consume_skb", &at);
    s.ev(T + 200, 0, Ctx::Task(1), "qdisc:qdisc_enqueue", &[("skbaddr", N(A))]);
    let f = s.facts();
    assert_eq!(f.skbs.len(), 1);
    assert_eq!(
        (f.skbs[0].death_kind, f.skbs[0].death_ns),
        (DeathKind::Segmented, Some((T + 100) as i64))
    );
}

/// Lost events: what was alive across the loss is no longer claimed.
#[test]
fn a_loss_ends_claims() {
    let mut s = script();
    rx(&mut s, T, A, 1500);
    s.lost(0, Some(17));
    rx(&mut s, T + 50_000_000, A + 256, 52);
    s.ev(T + 60_000_000, 0, Ctx::Soft(1), "skb:consume_skb", &[("skbaddr", N(A))]);
    let f = s.facts();
    assert_eq!(f.capture.lost_events, 17);
    assert!(f.skbs[0].confidence <= Confidence::Weak, "{:?}", f.skbs[0]);
    assert_eq!(f.gaps.len(), 1);
    assert_eq!(
        (f.gaps[0].start_ns, f.gaps[0].end_ns),
        (Some((T + 100) as i64), Some((T + 50_000_000) as i64))
    );
}

/// A segment freed silently, and its address with another segment of the same length long after (6.1, where tcp_probe names
/// no skb: 610 ms on a real netem link): two lives. In the softirq that received it, it is a forward.
#[test]
fn a_forward_happens_in_the_softirq_that_received() {
    let v = |len: u64, dev: &'static str| [("skbaddr", N(A)), ("len", N(len)), ("name", S(dev))];
    for (later, lives) in [(500, 1), (610_000_000, 2)] {
        let mut s = Script::new("6.1.192", &[]);
        s.ev(T, 0, Ctx::Soft(0), "irq:softirq_entry", &[("vec", N(3))]);
        s.ev(T + 100, 0, Ctx::Soft(0), "net:netif_rx", &v(2948, "vb"));
        s.ev(T + 200, 0, Ctx::Soft(0), "net:netif_receive_skb", &v(2948, "vb"));
        if lives == 2 {
            s.ev(T + later, 0, Ctx::Soft(0), "irq:softirq_entry", &[("vec", N(3))]);
        }
        s.ev(T + later + 10, 0, Ctx::Soft(0), "net:net_dev_queue", &v(2962, "va"));
        assert_eq!(s.facts().skbs.len(), lives);
    }
}

/// A device of layer 3 (tun) gives a forwarded packet no link-layer header: one life (as two, the copy was taken for a second
/// segment of the socket whose ACK the softirq had processed). On a device with headers the same length is another packet.
#[test]
fn a_forward_to_a_device_of_layer_3_gains_no_header() {
    let v = |addr: u64, len: u64, dev: &'static str| [("skbaddr", N(addr)), ("len", N(len)), ("name", S(dev))];
    for (network, lives) in [(0, 1), (14, 2)] {
        let mut s = script();
        // What the device sent before tells.
        s.ev(T - 500, 0, Ctx::Task(7), "net:net_dev_queue", &v(A + 8192, 90, "tun0"));
        let mut told = v(A + 8192, 90, "tun0").to_vec();
        told.push(("network_offset", N(network)));
        s.ev(T - 400, 0, Ctx::Task(7), "net:net_dev_start_xmit", &told);
        s.ev(T, 0, Ctx::Soft(0), "irq:softirq_entry", &[("vec", N(3))]);
        s.ev(T + 100, 0, Ctx::Soft(0), "net:netif_rx", &v(A, 2948, "rc"));
        s.ev(T + 200, 0, Ctx::Soft(0), "net:netif_receive_skb", &v(A, 2948, "rc"));
        s.ev(T + 300, 0, Ctx::Soft(0), "net:net_dev_queue", &v(A, 2948, "tun0"));
        let f = s.facts();
        let of: Vec<_> = f.skbs.iter().filter(|r| r.skbaddr == A).collect();
        assert_eq!(of.len(), lives);
        assert!(lives == 2 || of[0].confidence == Confidence::Certain);
    }
}

/// A unix or netlink reader's copy at the re-used address of silently coalesced data is not that data's read.
#[test]
fn a_copy_for_another_family_is_of_another_skb() {
    for (family, kind, life) in [
        (2, DeathKind::InferredRead, Some(5_000)),
        (1, DeathKind::Unseen, None),
        (16, DeathKind::Unseen, None),
    ] {
        let mut s = script();
        rx(&mut s, T, A, 1500);
        probe(&mut s, T + 500, A, 1448);
        let v = [("skbaddr", N(A)), ("len", N(40))];
        s.ev(T + 5_000, 0, Ctx::Task(9), "skb:skb_copy_datagram_iovec", &v);
        let v = [("sk", N(1)), ("family", N(family)), ("ret", N(40))];
        s.ev(T + 5_100, 0, Ctx::Task(9), "sock:sock_recv_length", &v);
        rx(&mut s, T + 9_000, A, 60);
        let f = s.facts();
        assert_eq!(
            (f.skbs[0].death_kind, f.skbs[0].life_ns()),
            (kind, life),
            "family {family}"
        );
        assert_eq!(f.skbs[0].last_ns, if family == 2 { T + 5_000 } else { T + 500 } as i64);
    }
}

/// First seen at netif_receive_skb right after a loss: its GRO or netif_rx entry may be among what was lost.
#[test]
fn a_first_sight_after_a_loss_may_be_older() {
    let mut s = script();
    s.lost(0, Some(5));
    let v = [("skbaddr", N(A)), ("len", N(1500)), ("name", S("lo"))];
    s.ev(T, 0, Ctx::Soft(1), "net:netif_receive_skb", &v);
    s.ev(T + 100, 0, Ctx::Soft(1), "skb:consume_skb", &[("skbaddr", N(A))]);
    let f = s.facts();
    assert_eq!(
        (f.skbs[0].birth_kind, f.skbs[0].life_ns()),
        (BirthKind::CensoredStart, None)
    );
}

/// One CPU's stream ends in a loss: what the others saw afterwards is no longer certain.
#[test]
fn a_loss_that_never_ends_weakens_the_rest() {
    let mut s = script();
    s.ev(T, 1, Ctx::Task(1), "napi:napi_poll", &[]);
    s.lost(1, Some(5));
    rx(&mut s, T + 1_000, A, 1500);
    s.ev(T + 2_000, 0, Ctx::Soft(1), "skb:consume_skb", &[("skbaddr", N(A))]);
    let f = s.facts();
    assert!(f.skbs[0].confidence <= Confidence::Weak, "{:?}", f.skbs[0]);
}

/// A unix reader copies and frees before its sock_recv_length comes (1.08 s of false life on a real recording).
#[test]
fn a_copy_freed_by_a_unix_reader_is_of_another_skb() {
    let mut s = script();
    s.symbol(0xffff_ffff_8500_0000, "unix_stream_read_generic");
    rx(&mut s, T, A, 67);
    s.ev(
        T + 1_084_000_000,
        0,
        Ctx::Task(9),
        "skb:skb_copy_datagram_iovec",
        &[("skbaddr", N(A)), ("len", N(112))],
    );
    let at = [("skbaddr", N(A)), ("location", N(0xffff_ffff_8500_0b70))];
    s.ev(T + 1_084_000_500, 0, Ctx::Task(9), "skb:consume_skb", &at);
    s.ev(
        T + 1_084_001_000,
        0,
        Ctx::Task(9),
        "sock:sock_recv_length",
        &[("family", N(1)), ("ret", N(112))],
    );
    let f = s.facts();
    assert_eq!((f.skbs[0].death_kind, f.skbs[0].life_ns()), (DeathKind::Unseen, None));
    assert_eq!(f.skbs[0].last_ns, (T + 100) as i64);
}
