//! Whose the dropped packets were, in words.

use super::super::Tone;
use super::drops::{group, said};
use crate::analyses::drops::{Fragments, Group, Inside, Lost, NextLink, Receiver, Unresolved};

/// Whose, of how many, in which pattern, and what went on; a pause would cut it off the head of the page.
#[test]
fn whose_they_were_is_said() {
    let lost = |carries, whose: &str, count, came, every, passed_bit_s| Lost {
        carries,
        whose: whose.into(),
        count,
        came,
        every,
        passed_bit_s,
        stopped_ns: vec![],
        fragments: None,
        made_by: None,
        sent_to: None,
        others: vec![],
        passed_packets_s: None,
    };
    let of = |count, of: Vec<Lost>| {
        let group = Group {
            location: "nft_do_chain".into(),
            why: "an nftables rule or policy",
            of,
            ..group(Some(false), "NETFILTER_DROP", count)
        };
        let said = said(vec![group]).1;
        let (_, rest) = said
            .split_once("nft_do_chain (an nftables rule or policy) on rs")
            .unwrap();
        rest.split_once(", all from").unwrap().0.to_owned()
    };
    let syns = lost("syn", "to 10.9.2.2:7105", 11, Some(33), Some(3), None);
    assert_eq!(
        of(11, vec![syns]),
        ": SYNs to 10.9.2.2:7105, 11 of the 33 seen there, exactly one in 3"
    );
    let data = lost(
        "data",
        "10.0.0.1:5 > 10.0.0.2:80",
        42,
        Some(166),
        None,
        Some(6_480_000.0),
    );
    let part =
        ": TCP data of 10.0.0.1:5 > 10.0.0.2:80, 42 of these, of 166 seen there, while 6.5 Mbit/s of them got through";
    assert_eq!(of(46, vec![data.clone()]), part);
    let udp = lost("datagram", "of named/7", 4, Some(4), None, None);
    assert_eq!(of(4, vec![udp]), ": UDP packets of named/7, all of the 4 seen there");
    let received = lost("received", "10.0.0.2:443", 2, None, None, None);
    assert_eq!(of(2, vec![received]), ": for the socket 10.0.0.2:443");
    assert_eq!(of(2, vec![]), "");
    // Of one or two of nobody, without a route, it is not said that something is wrong.
    let torn = |n| {
        said(vec![Group {
            dev: String::new(),
            ..group(Some(false), "IP_OUTNOROUTES", n)
        }])
    };
    assert_eq!((torn(2).0, torn(3).0), (Tone::Notice, Tone::Bad));
}

/// A route that went, a device that was down, the fragments behind the first: what is known of them is said.
#[test]
fn what_stopped_and_what_was_a_fragment_is_said() {
    let lost = |stopped_ns, fragments| Lost {
        carries: "datagram",
        whose: "of named/7".into(),
        count: 5,
        came: Some(30),
        every: Some(6),
        passed_bit_s: Some(1e6),
        stopped_ns,
        fragments,
        made_by: None,
        sent_to: None,
        others: vec![],
        passed_packets_s: None,
    };
    let of = |reason, lost| {
        said(vec![Group {
            of: vec![lost],
            ..group(Some(false), reason, 5)
        }])
        .1
    };
    let gone = lost(vec![(416_000_000, 855_000_000)], None);
    assert!(
        of("IP_INNOROUTES", gone.clone())
            .contains("exactly one in 6, the route was gone once, for 0.416 to 0.855 s, all")
    );
    assert!(of("A", gone).contains(", and for 0.416 to 0.855 s none of them got through, all"));
    let fragments = Fragments {
        datagrams: 5,
        fragmented: 5,
        bytes: Some(2600),
        nth: Some(2),
        ..Fragments::default()
    };
    let s = of("A", lost(vec![], Some(fragments)));
    let expect =
        "UDP packets of named/7, the second fragments of 5 datagrams of 2600 bytes, all that were fragmented, while";
    assert!(s.contains(expect), "{s}");
    let (_, s) = said(vec![Group {
        qdisc: Some("noqueue".into()),
        ..group(Some(false), "QDISC_DROP", 2)
    }]);
    assert!(
        s.contains("(it has no queue, so the device was down or had no carrier) on rs"),
        "{s}"
    );
}

/// What is around them: the tunnel, the socket, the neighbour, the next link.
#[test]
fn what_was_around_them_is_said() {
    let group = |reason: &str, change: &dyn Fn(&mut Group)| {
        let mut g = group(Some(false), reason, 3);
        change(&mut g);
        said(vec![g]).1
    };
    let inside = |count| {
        group("A", &|g| {
            g.inside = Some(Inside {
                dev: "vx0".into(),
                kind: "vxlan".into(),
                count,
            });
        })
    };
    assert!(
        inside(3).contains(" for A at f on rs: all inside the vxlan tunnel vx0"),
        "{}",
        inside(3)
    );
    assert!(
        inside(2).contains(" for A at f on rs: 2 inside the vxlan tunnel vx0"),
        "{}",
        inside(2)
    );
    let refused = group("SOCKET_RCVBUFF", &|g| {
        g.receiver = Some(Receiver {
            to: "10.0.0.2:53".into(),
            task: "named/7".into(),
            count: g.count,
            rcvbuf: Some(8192),
        });
    });
    let socket = ": for the socket at 10.0.0.2:53 of named/7 (receive buffer 8192 bytes)";
    assert!(refused.contains(socket), "{refused}");
    let failed = group("NEIGH_FAILED", &|g| {
        g.why = "neighbour not resolved";
        g.unresolved = Some(Unresolved {
            address: "10.9.2.9".into(),
            dev: "eth1".into(),
            count: 3,
            others: 2,
        });
    });
    assert!(
        failed.contains("(neighbour 10.9.2.9 on eth1 and 2 others not resolved)") && !failed.contains(" rs"),
        "where it came from is not where it would leave: {failed}"
    );
    let unknown = group("NEIGH_FAILED", &|g| g.why = "neighbour not resolved");
    assert!(
        unknown.contains("(neighbour not resolved), last seen on rs"),
        "{unknown}"
    );
    let large = group("PKT_TOO_BIG", &|g| {
        g.next_link = Some(NextLink {
            dev: "vx0".into(),
            mtu: Some(1450),
        });
    });
    assert!(large.contains("its next link is vx0, MTU 1450"), "{large}");
}
