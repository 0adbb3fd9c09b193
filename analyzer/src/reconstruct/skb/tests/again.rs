//! Packets that go on under their address through bridges, tunnels and IFBs: the event sequences are those of real recordings
//! (6.18, a flannel-like overlay: veth, bridge, vxlan, veth).

use netmortem_formats::capture::{Snapshot, SnapshotWhen};

use super::{A, T, script};
use crate::Confidence;
use crate::facts::Facts;
use crate::testing::{Ctx, N, S, Script};

const LINKS: &str = "netns=1 ifindex=2 name=eth0 kind=veth
netns=2 ifindex=2 name=vethb kind=veth
netns=2 ifindex=3 name=cni0 kind=bridge
netns=2 ifindex=4 name=eth0 kind=veth
netns=2 ifindex=5 name=flannel.1 kind=vxlan
netns=2 ifindex=6 name=wg0 kind=wireguard
netns=2 ifindex=7 name=ifb0 kind=ifb
netns=3 ifindex=2 name=eth1
";

fn told(s: &Script, links: &str) -> Facts {
    let mut capture = s.capture();
    capture.snapshots.push(Snapshot {
        what: "links".into(),
        when: SnapshotWhen::Start,
        text: links.as_bytes().to_vec(),
    });
    crate::analyze(&capture, &Default::default())
}

fn ev(s: &mut Script, ts: u64, event: &str, dev: &'static str, len: u64) {
    let v = [
        ("skbaddr", N(A)),
        ("len", N(len)),
        ("name", S(dev)),
        ("network_offset", N(14)),
    ];
    s.ev(ts, 0, Ctx::Soft(1), &format!("net:{event}"), &v);
}

/// Lives that have hops: devices of each, and its confidence.
fn ways(f: &Facts) -> Vec<(String, Confidence)> {
    let of = |skb: &crate::reconstruct::skb::tables::SkbRow| {
        let hops = f.hops.iter().filter(|h| h.skb_id == skb.skb_id);
        let devs: Vec<_> = hops.map(|h| format!("{} {}", h.kind, h.dev.text())).collect();
        (devs.join(", "), skb.confidence)
    };
    f.skbs.iter().map(of).collect()
}

/// A pod's frame comes in by the bridge's port, and is the host's by the bridge (`br_pass_frame_up`): one life. It was two, in
/// every recording of a host with a bridge, so that nothing that happened behind it was the sender's.
#[test]
fn a_bridge_hands_a_frame_to_its_own_host() {
    let mut s = script();
    s.ev(T - 10, 0, Ctx::Soft(1), "irq:softirq_entry", &[("vec", N(3))]);
    ev(&mut s, T, "netif_receive_skb", "vethb", 223);
    ev(&mut s, T + 10, "netif_receive_skb_entry", "cni0", 223);
    ev(&mut s, T + 20, "netif_receive_skb", "cni0", 223);
    ev(&mut s, T + 30, "net_dev_queue", "eth1", 237);
    let f = told(&s, LINKS);
    assert_eq!(ways(&f).len(), 1);
    assert_eq!(ways(&f)[0].0, "rx vethb, rx cni0, queue eth1");
    assert_eq!(ways(&f)[0].1, Confidence::Certain);
    // Where another namespace has a device of that name which is no bridge, the name does not say which of them it was.
    for (kind, label) in [("bridge", Confidence::Certain), ("dummy", Confidence::Strong)] {
        let f = told(&s, &format!("{LINKS}netns=3 ifindex=9 name=cni0 kind={kind}\n"));
        assert_eq!(
            ways(&f),
            [("rx vethb, rx cni0, queue eth1".to_string(), label)],
            "{kind}"
        );
    }
    // In another softirq run, or with another length, it is another packet.
    for (run, len) in [(true, 223), (false, 200)] {
        let mut s = script();
        s.ev(T - 10, 0, Ctx::Soft(1), "irq:softirq_entry", &[("vec", N(3))]);
        ev(&mut s, T, "netif_receive_skb", "vethb", 223);
        if run {
            s.ev(T + 5, 0, Ctx::Soft(1), "irq:softirq_entry", &[("vec", N(3))]);
        }
        ev(&mut s, T + 10, "netif_receive_skb_entry", "cni0", len);
        assert_eq!(ways(&told(&s, LINKS)).len(), 2, "{len}");
    }
}

/// The first frame that a device without link-layer headers sends, as a route by it comes: that it has none the list of links tells, where all of its name have none.
#[test]
fn what_links_tell_of_headers_holds_for_the_first_frame() {
    let mut s = script();
    s.ev(T - 10, 0, Ctx::Soft(1), "irq:softirq_entry", &[("vec", N(3))]);
    ev(&mut s, T, "netif_receive_skb", "eth1", 268);
    ev(&mut s, T + 10, "net_dev_queue", "tun1", 268);
    let tun = "netns=2 ifindex=9 name=tun1 type=65534 kind=tun\n";
    for (more, label) in [
        ("", Confidence::Certain),
        ("netns=3 ifindex=9 name=tun1 type=1 kind=tun\n", Confidence::Weak),
    ] {
        let f = told(&s, &format!("{LINKS}{tun}{more}"));
        assert_eq!(ways(&f), [("rx eth1, queue tun1".to_string(), label)], "{more}");
    }
    assert_eq!(ways(&told(&s, LINKS))[0].1, Confidence::Weak);
}

fn decapsulated(s: &mut Script, len: u64) {
    ev(s, T, "netif_receive_skb", "eth1", 273);
    // Its NAPI runs behind the one that received it, on 6.1 in a softirq run of its own.
    s.ev(T + 5, 0, Ctx::Soft(1), "irq:softirq_entry", &[("vec", N(3))]);
    ev(s, T + 10, "napi_gro_receive_entry", "flannel.1", len);
    s.ev(T + 12, 0, Ctx::Soft(1), "net:napi_gro_receive_exit", &[("ret", N(3))]);
    ev(s, T + 14, "netif_receive_skb", "flannel.1", len);
}

/// vxlan_rcv takes 50 bytes off and hands the same skb in again.
#[test]
fn what_a_tunnel_carried_is_the_packet_that_carried_it() {
    let mut s = script();
    decapsulated(&mut s, 223);
    let f = told(&s, LINKS);
    assert_eq!(ways(&f), [("rx eth1, rx flannel.1".to_string(), Confidence::Strong)]);
    // So it is where two nodes have a tunnel of that name; not where a container has a device of another kind of it.
    for (kind, lives) in [("vxlan", 1), ("veth", 2)] {
        let mut s = script();
        decapsulated(&mut s, 223);
        let links = format!("{LINKS}netns=3 ifindex=9 name=flannel.1 kind={kind}\n");
        assert_eq!(ways(&told(&s, &links)).len(), lives, "{kind}");
    }
    // A card of that name is no tunnel; nor is what grew, or lost less than an IP header.
    let mut s = script();
    decapsulated(&mut s, 223);
    let f = told(&s, "netns=2 ifindex=5 name=flannel.1\n");
    assert_eq!(ways(&f).len(), 2);
    for len in [300, 260] {
        let mut s = script();
        decapsulated(&mut s, len);
        assert_eq!(ways(&told(&s, LINKS)).len(), 2, "{len}");
    }
}

/// Without a list of links (trace.dat, perf.data) the same softirq run must tell; across runs it is not claimed.
#[test]
fn without_links_only_one_softirq_run_tells_a_tunnel() {
    let mut s = script();
    decapsulated(&mut s, 223);
    assert_eq!(ways(&s.facts()).len(), 2);
    let mut s = script();
    s.ev(T - 10, 0, Ctx::Soft(1), "irq:softirq_entry", &[("vec", N(3))]);
    ev(&mut s, T, "netif_receive_skb", "eth1", 273);
    ev(&mut s, T + 10, "napi_gro_receive_entry", "flannel.1", 223);
    assert_eq!(
        ways(&s.facts()),
        [("rx eth1, rx flannel.1".to_string(), Confidence::Weak)]
    );
}

/// A socket's backlog takes in and frees an ACK that came over a bridge, in silence; its address is the next one's in the same poll,
/// on the port, of the same length or (data) a little shorter: another packet, with a list of links and without.
#[test]
fn the_next_frame_of_a_bridges_port_is_another_packet() {
    for entry in ["napi_gro_receive_entry", "netif_rx_entry", "netif_receive_skb_entry"] {
        for (first, second) in [(52, 52), (1500, 1400)] {
            for links in [LINKS, ""] {
                let mut s = script();
                s.ev(T - 10, 0, Ctx::Soft(1), "irq:softirq_entry", &[("vec", N(3))]);
                ev(&mut s, T, entry, "vethb", first);
                ev(&mut s, T + 1, "netif_receive_skb", "vethb", first);
                ev(&mut s, T + 2, "netif_receive_skb_entry", "cni0", first);
                ev(&mut s, T + 3, "netif_receive_skb", "cni0", first);
                ev(&mut s, T + 10, entry, "vethb", second);
                ev(&mut s, T + 11, "netif_receive_skb", "vethb", second);
                ev(&mut s, T + 12, "netif_receive_skb_entry", "cni0", second);
                ev(&mut s, T + 13, "netif_receive_skb", "cni0", second);
                let ways = ways(&told(&s, links));
                assert_eq!(ways.len(), 2, "{entry} {second}: {ways:?}");
                assert!(ways.iter().all(|w| w.0 == "rx vethb, rx cni0"), "{ways:?}");
            }
        }
    }
}

/// Before 6.9 tcp_probe names no skb: the one packet of that payload, which came by a port and by its bridge, is not two.
#[test]
fn a_packet_by_port_and_bridge_is_one_candidate() {
    for twice in [false, true] {
        let mut s = script();
        s.drop_field("tcp:tcp_probe", "skbaddr");
        s.ev(T - 10, 0, Ctx::Soft(1), "irq:softirq_entry", &[("vec", N(3))]);
        ev(&mut s, T, "netif_rx_entry", "vethb", 223);
        ev(&mut s, T + 1, "netif_receive_skb", "vethb", 223);
        ev(&mut s, T + 2, "netif_receive_skb_entry", "cni0", 223);
        ev(&mut s, T + 3, "netif_receive_skb", "cni0", 223);
        if twice {
            let v = [("skbaddr", N(A + 0x1000)), ("len", N(223)), ("name", S("vethb"))];
            s.ev(T + 4, 0, Ctx::Soft(1), "net:netif_receive_skb", &v);
        }
        s.ev(T + 5, 0, Ctx::Soft(1), "tcp:tcp_probe", &[("data_len", N(171))]);
        let first = ways(&told(&s, LINKS)).remove(0);
        let label = if twice { Confidence::Weak } else { Confidence::Strong };
        assert_eq!(first, ("rx vethb, rx cni0".to_string(), label));
    }
}

/// Without softirq events no run ends: a datagram of ms ago, which no event ended, is not what TCP takes now.
#[test]
fn what_was_delivered_long_ago_is_not_what_tcp_takes() {
    for (before, labels) in [
        (3_000_000, [Confidence::Certain, Confidence::Strong]),
        (3_000, [Confidence::Weak, Confidence::Certain]),
    ] {
        let mut s = script();
        s.drop_field("tcp:tcp_probe", "skbaddr");
        for (ts, addr) in [(T, A), (T + before, A + 0x1000)] {
            let v = [("skbaddr", N(addr)), ("len", N(223)), ("name", S("eth1"))];
            s.ev(ts, 0, Ctx::Soft(1), "net:netif_receive_skb", &v);
        }
        s.ev(
            T + before + 10,
            0,
            Ctx::Soft(1),
            "tcp:tcp_probe",
            &[("data_len", N(171))],
        );
        let ways = ways(&told(&s, LINKS));
        assert_eq!([ways[0].1, ways[1].1], labels, "{before}");
    }
}

/// wireguard encrypts in a worker, IFB redirects in a tasklet, a tunnel's outer packet waits for its neighbour: queued again when their
/// `ndo_start_xmit` is over. A card is done
/// with a frame instead, and its address is the next one's.
#[test]
fn what_a_device_keeps_a_while_is_queued_again() {
    for (dev, first, then, one) in [
        ("wg0", 100, 190, true),
        ("wg0", 100, 100, false),
        ("flannel.1", 100, 150, true),
        ("flannel.1", 100, 100, false),
        ("ifb0", 100, 100, true),
        ("ifb0", 100, 190, false),
        ("eth1", 100, 190, false),
        ("eth1", 100, 100, false),
    ] {
        let mut s = script();
        ev(&mut s, T, "net_dev_queue", dev, first);
        ev(&mut s, T + 10, "net_dev_start_xmit", dev, first);
        ev(&mut s, T + 20, "net_dev_xmit", dev, first);
        // Some free is seen, so frees are recorded.
        for free in ["skb:consume_skb", "skb:kfree_skb"] {
            s.ev(
                T + 25,
                0,
                Ctx::Soft(1),
                free,
                &[("skbaddr", N(A + 0x1000)), ("protocol", N(8))],
            );
        }
        ev(&mut s, T + 30, "net_dev_queue", "eth0", then);
        let whole = |links: &str| {
            let ways = ways(&told(&s, links));
            let mut of = ways.iter().filter(|w| w.0.contains(dev) && w.0.contains("queue eth0"));
            of.next().map(|w| w.1)
        };
        let label = one.then_some(Confidence::Strong);
        assert_eq!(whole(LINKS), label, "{dev} {first} {then}");
        // A name that a card has elsewhere says less.
        let shared = format!("{LINKS}netns=3 ifindex=9 name={dev}\n");
        let label = one.then_some(Confidence::Weak);
        assert_eq!(whole(&shared), label, "{dev} {first} {then}");
    }
}

/// A router waits for the pod's neighbour (6.1, emulated): the SYN goes on in the softirq of the answer, under its address. Without an answer
/// of that device, or where the length is another, it is another packet.
#[test]
fn a_packet_that_waited_for_its_neighbour_is_sent_on() {
    for (of, len, one) in [("cni0", 74, true), ("eth0", 74, false), ("cni0", 90, false)] {
        let mut s = script();
        let softirq = |s: &mut Script, ts: u64| {
            s.ev(ts, 0, Ctx::Soft(1), "irq:softirq_entry", &[("vec", N(3))]);
        };
        softirq(&mut s, T - 10);
        ev(&mut s, T, "netif_receive_skb", "flannel.1", 60);
        // Some free is seen, so frees are recorded.
        for free in ["skb:consume_skb", "skb:kfree_skb"] {
            let v = [("skbaddr", N(A + 0x1000)), ("protocol", N(8))];
            s.ev(T + 5, 0, Ctx::Soft(1), free, &v);
        }
        softirq(&mut s, T + 1_000_000);
        s.ev(T + 1_000_010, 0, Ctx::Soft(1), "neigh:neigh_update", &[("dev", S(of))]);
        ev(&mut s, T + 1_000_020, "net_dev_queue", "cni0", len);
        s.ev(
            T + 1_000_030,
            0,
            Ctx::Soft(1),
            "neigh:neigh_update_done",
            &[("dev", S(of))],
        );
        let ways = ways(&told(&s, LINKS));
        let whole = ways.iter().find(|w| w.0 == "rx flannel.1, queue cni0").map(|w| w.1);
        assert_eq!(whole, one.then_some(Confidence::Strong), "{of} {len}");
    }
}

/// A pod's eth0 and its node's: the frame leaves by a device of the name that sent it. Where another packet came in meanwhile it may be
/// the next ACK at the address of one that a backlog took in silently, as on a name that one namespace has.
#[test]
fn a_frame_may_leave_by_a_namesake_of_the_device_that_sent_it() {
    let sent = |links: &str, other: bool| {
        let mut s = script();
        ev(&mut s, T, "net_dev_queue", "eth0", 66);
        ev(&mut s, T + 1, "net_dev_start_xmit", "eth0", 66);
        ev(&mut s, T + 2, "netif_rx_entry", "vethb", 52);
        ev(&mut s, T + 3, "net_dev_xmit", "eth0", 66);
        s.ev(T + 4, 0, Ctx::Soft(1), "irq:softirq_entry", &[("vec", N(3))]);
        ev(&mut s, T + 5, "netif_receive_skb", "vethb", 52);
        if other {
            let v = [("skbaddr", N(A + 0x1000)), ("len", N(1500)), ("name", S("vethb"))];
            s.ev(T + 6, 0, Ctx::Soft(1), "net:netif_receive_skb", &v);
        }
        ev(&mut s, T + 7, "net_dev_queue", "eth0", 66);
        let f = told(&s, links);
        ways(&f)
            .iter()
            .any(|w| w.0 == "queue eth0, xmit eth0, rx vethb, queue eth0")
    };
    assert!(sent(LINKS, false));
    assert!(!sent(LINKS, true));
    assert!(!sent("netns=1 ifindex=2 name=eth0 kind=veth\n", false));
}
