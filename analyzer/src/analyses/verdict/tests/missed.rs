//! The line on drops where a part of them is nobody's.

use super::super::Tone;
use super::drops::{group, said};
use crate::analyses::drops::{Group, Lost};

/// What nobody misses is told behind what may be missed, with its number, and is no part of the figures before it.
#[test]
fn noise_stands_behind_what_may_be_missed() {
    let timed = |reason: &str, count: u64, at: i64| Group {
        times: vec![at; count as usize],
        ..group(Some(false), reason, count)
    };
    // IPv6 packets of nobody known that have no route are nothing.
    let noise = Group {
        location: "ip6_forward".into(),
        ..timed("IP_OUTNOROUTES", 40, 500_000_000)
    };
    let (tone, s) = said(vec![noise.clone(), timed("A", 7, 600_000_000)]);
    assert_eq!(tone, Tone::Bad);
    let first = "7 packets that may be missed were dropped by this host for A at f on rs, all at 0.600 s (from drop:9)";
    assert!(s.starts_with(first), "{s}");
    let more = "; nobody is known to miss 40 more: 40 for IP_OUTNOROUTES at ip6_forward on rs.";
    assert!(s.contains(more), "{s}");
    // Alone it is no alarm; and of a group a part may be noise.
    assert_eq!(said(vec![noise.clone()]).0, Tone::Notice);
    let part = Group {
        missed: Some(Box::new(timed("A", 3, 600_000_000))),
        ..timed("A", 30, 500_000_000)
    };
    let (tone, s) = said(vec![part]);
    assert!(
        tone == Tone::Bad && s.starts_with("3 packets that may be missed were"),
        "{s}"
    );
    assert!(
        s.contains("nobody is known to miss 27 more: 27 for A at f on rs"),
        "{s}"
    );
}

/// What a full socket refused of senders that go on: its reader lacks that, and it is no part of what nobody misses.
#[test]
fn what_a_reader_lacks_is_told_apart() {
    let refused = Group {
        location: "udp_queue_rcv_one_skb".into(),
        times: vec![500_000_000; 300],
        one_way: 300,
        ..group(Some(false), "SOCKET_RCVBUFF", 300)
    };
    let other = Group {
        times: vec![600_000_000; 7],
        ..group(Some(false), "A", 7)
    };
    let (tone, s) = said(vec![refused, other]);
    assert!(
        tone == Tone::Bad && s.starts_with("7 packets that may be missed were"),
        "{s}"
    );
    let more = "; who reads there lacks, though nobody is known to have waited, 300 more: 300 for SOCKET_RCVBUFF at udp_queue_rcv_one_skb on rs.";
    assert!(s.contains(more) && !s.contains("known to miss"), "{s}");
}

/// A tenth of what came to a socket, and more, is wrong whoever waits.
#[test]
fn much_that_a_reader_lacks_is_wrong() {
    let of = |count, came| {
        let refused = Group {
            times: vec![500_000_000; count as usize],
            one_way: count,
            of: vec![Lost {
                carries: "datagram",
                count,
                came,
                ..Lost::default()
            }],
            ..group(Some(false), "SOCKET_RCVBUFF", count)
        };
        said(vec![refused]).0
    };
    assert_eq!(of(300, Some(3_000)), Tone::Bad);
    assert_eq!(of(300, Some(3_001)), Tone::Notice);
    assert_eq!(of(99, Some(99)), Tone::Notice);
    assert_eq!(of(300, None), Tone::Notice);
}

/// A new port of a bridge drops what is nobody's; a neighbour that is asked for in vain, an IPv4 packet (DHCP) or another's data may be missed.
#[test]
fn a_new_port_is_no_loss_until_somebody_waits() {
    let port = Group {
        times: vec![500_000_000; 10],
        ..group(Some(false), "BRIDGE_INGRESS_STP_STATE", 10)
    };
    let tone = |change: &dyn Fn(&mut Group)| {
        let mut g = port.clone();
        change(&mut g);
        said(vec![g]).0
    };
    assert_eq!(tone(&|_| ()), Tone::Notice);
    assert_eq!(tone(&|g| g.ipv4 = 1), Tone::Bad);
    assert_eq!(tone(&|g| g.owned = 1), Tone::Bad);
    assert_eq!(tone(&|g| g.meanwhile = Some("its carrier came back".into())), Tone::Bad);
    assert_eq!(tone(&|g| g.count = 100), Tone::Bad);
}
