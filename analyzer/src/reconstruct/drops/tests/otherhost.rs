//! Frames for another host, in the order of events of real recordings: a neighbour entry made wrong between two namespaces (6.18), a
//! bridge that floods to three (6.18).

use netmortem_formats::capture::{Snapshot, SnapshotWhen};

use super::{A, T};
use crate::Confidence;
use crate::facts::Facts;
use crate::testing::tcp::SOCK;
use crate::testing::{Ctx, FCLONE, N, S, Script};

const RCV: u64 = 0xffff_ffff_8100_0000;
const SOFT: Ctx = Ctx::Soft(7);
const LINKS: &str = "netns=1 ifindex=2 name=br0 kind=bridge\nnetns=1 ifindex=3 name=p1 master=2\nnetns=1 ifindex=4 name=p2 master=2\nnetns=1 ifindex=5 name=q1\n";
/// The clone that a bridge makes: of the head cache, not of an fclone pair.
const COPY: u64 = 0xffff_8882_0000_0100;

fn script() -> Script {
    let mut s = Script::new("6.18.44", &[]);
    s.symbol(RCV, "ip_rcv_core");
    s.ev(1, 0, Ctx::Task(1), "napi:napi_poll", &[]);
    // Originals and their companions, so that the distance is known.
    for k in 1..5u64 {
        let (o, v) = (A + k * 0x10000, [("len", N(366)), ("name", S("s0"))]);
        s.ev(k * 10, 0, Ctx::Task(1), "tcp:tcp_sendmsg_locked", &[("skb_addr", N(o))]);
        s.ev(
            k * 10 + 1,
            0,
            Ctx::Task(1),
            "net:net_dev_queue",
            &[("skbaddr", N(o + FCLONE)), v[0].clone(), v[1].clone()],
        );
    }
    let written = [("skb_addr", N(A)), ("skb_len", N(300)), ("size_goal", N(1448))];
    s.ev(T - 9, 0, Ctx::Task(1), "tcp:tcp_sendmsg_locked", &written);
    s
}
/// Over a pair of devices that hand over the skb itself (veth).
fn over(s: &mut Script, t: u64, addr: u64, len: u64, from: &'static str, to: &'static str) {
    let frame = |name| [("skbaddr", N(addr)), ("len", N(len)), ("name", S(name))];
    let packet = [("skbaddr", N(addr)), ("len", N(len - 14)), ("name", S(to))];
    s.ev(T + t, 0, SOFT, "net:net_dev_queue", &frame(from));
    s.ev(T + t + 1, 0, SOFT, "net:net_dev_start_xmit", &frame(from));
    s.ev(T + t + 2, 0, SOFT, "net:netif_rx_entry", &packet);
    s.ev(T + t + 3, 0, SOFT, "net:netif_rx", &packet);
    s.ev(T + t + 4, 0, SOFT, "net:net_dev_xmit", &frame(from));
    s.ev(T + t + 5, 0, SOFT, "net:netif_receive_skb", &packet);
}
fn free(s: &mut Script, t: u64, addr: u64) {
    let v = [
        ("skbaddr", N(addr)),
        ("location", N(RCV)),
        ("protocol", N(0x0800)),
        ("reason", N(13)),
    ];
    s.ev(T + t, 0, SOFT, "skb:kfree_skb", &v);
}
fn told(f: &Facts) -> Vec<(Option<bool>, Confidence, &'static str)> {
    f.drops.iter().map(|d| (d.expected, d.confidence, d.why)).collect()
}

/// A segment came to a device that it was not addressed to, was sent again, and came there again; nobody can say what an ACK
/// seen there would have told.
#[test]
fn a_segment_for_a_wrong_address_is_lost_when_it_is_sent_again() {
    let mut s = script();
    over(&mut s, 0, A + FCLONE, 366, "s0", "rs");
    free(&mut s, 10, A + FCLONE);
    over(&mut s, 200_000_000, A + FCLONE, 366, "s0", "rs");
    SOCK.retransmit(&mut s, T + 200_000_006, 0, SOFT, A, &[]);
    free(&mut s, 200_000_010, A + FCLONE);
    over(&mut s, 300_000_000, COPY, 66, "s0", "rs");
    free(&mut s, 300_000_010, COPY);
    let f = s.facts();
    let of = told(&f);
    assert_eq!((of[0].0, of[0].1), (Some(false), Confidence::Strong), "{}", of[0].2);
    assert!(of[0].2.ends_with("its segment was sent again later"));
    // The last time it was sent: neither acknowledged nor sent again.
    assert_eq!((of[1].0, of[1].1), (None, Confidence::Unknown), "{}", of[1].2);
    assert_eq!(of[2].0, None, "{}", of[2].2);
}

/// Of ten frames that a device saw which are another's nine arrived as another copy: where the tenth was lost is not known.
#[test]
fn a_device_that_only_listens_loses_nothing() {
    let rows = |arrived: usize, lost: usize| {
        let one = |why| crate::reconstruct::drops::tables::DropRow {
            expected: Some(why == super::super::otherhost::ARRIVED),
            why,
            ..crate::testing::drop_at(0)
        };
        let mut all = vec![one(super::super::otherhost::ARRIVED); arrived];
        all.extend(vec![one(super::super::otherhost::LOST); lost]);
        let places: Vec<usize> = (0..all.len()).collect();
        super::super::otherhost::tapped(&mut all, &places, &|_| None);
        all.iter().filter(|r| r.expected == Some(false)).count()
    };
    assert_eq!((rows(9, 1), rows(8, 2), rows(7, 2), rows(0, 3)), (0, 0, 2, 3));
}

/// A bridge sends a clone to one port and the frame itself to the other; either may be the one nobody wants, though a tail loss
/// probe sends the segment again.
#[test]
fn what_a_bridge_floods_is_a_copy() {
    for clone_is_freed in [true, false] {
        let mut s = script();
        over(&mut s, 0, A + FCLONE, 366, "vA", "pA");
        over(&mut s, 10, COPY, 366, "pC", "vC");
        if clone_is_freed {
            free(&mut s, 17, COPY);
        }
        over(&mut s, 20, A + FCLONE, 366, "pB", "vB");
        if !clone_is_freed {
            free(&mut s, 30, A + FCLONE);
        }
        SOCK.retransmit(&mut s, T + 9_000_000, 0, SOFT, A, &[]);
        let of = told(&s.facts());
        let expect = "copy of a frame for another host, made by a bridge; another copy went on";
        assert_eq!(of, [(Some(true), Confidence::Strong, expect)]);
    }
}

/// When nobody wants any of them, the frame is lost as without a bridge.
#[test]
fn what_a_bridge_floods_to_nobody_is_lost() {
    let mut s = script();
    over(&mut s, 0, A + FCLONE, 366, "vA", "pA");
    over(&mut s, 10, COPY, 366, "pC", "vC");
    free(&mut s, 17, COPY);
    over(&mut s, 20, A + FCLONE, 366, "pB", "vB");
    free(&mut s, 30, A + FCLONE);
    over(&mut s, 9_000_000, A + FCLONE, 366, "vA", "pA");
    SOCK.retransmit(&mut s, T + 9_000_010, 0, SOFT, A, &[]);
    let of = told(&s.facts());
    assert_eq!((of[0].0, of[1].0), (None, Some(false)), "{of:?}");
}

/// Two packets of one length in the queue of one device are no copies of each other.
#[test]
fn a_queue_is_no_bridge() {
    let mut s = script();
    let frame = |addr, name| [("skbaddr", N(addr)), ("len", N(366)), ("name", S(name))];
    s.ev(T, 0, SOFT, "net:net_dev_queue", &frame(A + FCLONE, "s0"));
    s.ev(T + 5, 0, SOFT, "net:net_dev_queue", &frame(COPY, "s1"));
    s.ev(T + 10, 0, SOFT, "net:net_dev_start_xmit", &frame(A + FCLONE, "s0"));
    s.ev(
        T + 11,
        0,
        SOFT,
        "net:netif_rx",
        &[("skbaddr", N(A + FCLONE)), ("len", N(352)), ("name", S("rs"))],
    );
    free(&mut s, 20, A + FCLONE);
    s.ev(T + 999, 0, SOFT, "net:net_dev_queue", &frame(A + FCLONE, "s0"));
    SOCK.retransmit(&mut s, T + 1_000, 0, SOFT, A, &[]);
    let of = told(&s.facts());
    assert_eq!(of[0].0, Some(false), "{of:?}");
}

/// Another segment of its length came over the same two devices just before: that is no copy of it, and no bridge is there.
#[test]
fn the_segment_before_is_no_copy() {
    for (before, freed, expected) in [(COPY, A + FCLONE, Some(false)), (A + FCLONE, COPY, None)] {
        let mut s = script();
        over(&mut s, 0, before, 366, "s0", "rs");
        over(&mut s, 10, freed, 366, "s0", "rs");
        free(&mut s, 20, freed);
        over(&mut s, 9_000_000, A + FCLONE, 366, "s0", "rs");
        SOCK.retransmit(&mut s, T + 9_000_010, 0, SOFT, A, &[]);
        let of = told(&s.facts());
        assert_eq!(of[0].0, expected, "{of:?}");
    }
}

/// From outside: expected where what this host sends is recorded, else nobody knows who sent it.
#[test]
fn from_outside_it_is_expected() {
    for (without, expected) in [(&[][..], Some(true)), (&["net:net_dev_queue"][..], None)] {
        let mut s = Script::new("6.18.44", without);
        s.symbol(RCV, "ip_rcv_core");
        s.ev(1, 0, Ctx::Task(1), "napi:napi_poll", &[]);
        s.ev(
            T - 1,
            0,
            SOFT,
            "net:net_dev_queue",
            &[("skbaddr", N(COPY)), ("len", N(66)), ("name", S("eth0"))],
        );
        let packet = [("skbaddr", N(A)), ("len", N(84)), ("name", S("eth0"))];
        s.ev(T, 0, SOFT, "net:napi_gro_receive_entry", &packet);
        s.ev(T + 1, 0, SOFT, "net:netif_receive_skb", &packet);
        free(&mut s, 10, A);
        assert_eq!(told(&s.facts())[0].0, expected);
    }
}

/// Frames of this length are queued at these ports, each of which came by another device before or not; then a packet of 352 bytes comes to the bridge, by a device that is
/// seen or not, and is freed.
fn flood(ports: &[&'static str], reason: u64, len: u64, before: &'static str, by: Option<&'static str>) -> Facts {
    let mut s = script();
    over(&mut s, 0, A + FCLONE, 366, "vA", "pA");
    let own = COPY + 0x1000;
    let packet = |name| [("skbaddr", N(own)), ("len", N(352)), ("name", S(name))];
    if let Some(by) = by {
        s.ev(T + 6, 0, SOFT, "net:netif_receive_skb", &packet(by));
    }
    for (n, dev) in ports.iter().enumerate() {
        let (t, addr) = (T + 7 + 2 * n as u64, COPY + n as u64 * 0x100);
        let frame = |len, name| [("skbaddr", N(addr)), ("len", N(len)), ("name", S(name))];
        if !before.is_empty() {
            s.ev(t, 0, SOFT, "net:netif_receive_skb", &frame(len - 14, before));
        }
        s.ev(t + 1, 0, SOFT, "net:net_dev_queue", &frame(len, dev));
    }
    s.ev(T + 15, 0, SOFT, "net:netif_receive_skb", &packet("br0"));
    let v = [
        ("skbaddr", N(own)),
        ("location", N(RCV)),
        ("protocol", N(0x0800)),
        ("reason", N(reason)),
    ];
    s.ev(T + 20, 0, SOFT, "skb:kfree_skb", &v);
    let mut capture = s.capture();
    capture.snapshots.push(Snapshot {
        what: "links".into(),
        when: SnapshotWhen::Start,
        text: LINKS.as_bytes().to_vec(),
    });
    crate::analyze(&capture, &crate::ingest::Options::default())
}

/// A packet for an address that is none of the host's: in a frame that a bridge floods it is one of many copies, to one port it is meant for that host.
#[test]
fn what_a_bridge_floods_is_no_strangers_packet() {
    let with = |ports: &[&'static str], reason: u64| flood(ports, reason, 366, "", None);
    let named = |f: &Facts| f.names.drop_reason(f.drops[0].reason) == crate::table::Cell::str("IP_INADDRERRORS");
    let reason = (2..130).find(|n| named(&with(&["p1"], *n))).unwrap();
    for (ports, expected) in [(&["p1", "p2"][..], Some(true)), (&["p1", "q1", "q2"], Some(false))] {
        let f = with(ports, reason);
        assert_eq!(told(&f)[0].0, expected, "{ports:?}: {:?}", told(&f));
    }
    // Others of its length: that came from elsewhere, as long as the packet without a header, or to the port by which the frame came.
    let both = ["p1", "p2"];
    for (len, before, by, expected) in [
        (366, "", Some("q1"), Some(true)),
        (366, "q1", None, Some(false)),
        (352, "", None, Some(false)),
        (366, "", Some("p1"), Some(false)),
    ] {
        let f = flood(&both, reason, len, before, by);
        assert_eq!(told(&f)[0].0, expected, "{len} {before} {by:?}: {:?}", told(&f));
    }
}
