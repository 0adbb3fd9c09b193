//! The line on TCP: what was sent again, by how many calls.

use super::*;

#[test]
fn the_tcp_line() {
    let tcp = |n: u64| Tcp {
        left_behind: 0,
        lossy_hosts: None,
        retransmits_left_behind: 0,
        needless: None,
        reordered: 0,
        synacks: 0,
        retransmits_recorded: true,
        connections: vec![],
        retransmits: BTreeMap::from([("rto", n)]),
        retransmit_segments: 2 * n,
        retransmits_unsized: 0,
        retransmits_refused: Some(0),
        retransmits_solid: n,
        timeouts_counted: Some(n),
        sawtooths: vec![],
        backlogs: vec![],
    };
    assert_eq!(sentences::tcp(&tcp(0)).0, Tone::Ok);
    let (tone, s) = sentences::tcp(&tcp(3));
    let expect = "6 TCP segments were retransmitted by 3 calls on 0 of 0 sockets (calls: 3 rto).";
    assert_eq!((tone, s.as_str()), (Tone::Notice, expect));
    // Of some calls it is not known how many segments they sent: then the sum is not given as all.
    let some = Tcp {
        retransmits_unsized: 1,
        ..tcp(3)
    };
    let (_, s) = sentences::tcp(&some);
    assert!(
        s.starts_with("6 TCP segments were retransmitted by 2 calls, and by 1 more an unknown number on"),
        "{s}"
    );
    let none = Tcp {
        retransmits_unsized: 3,
        ..tcp(3)
    };
    let (_, s) = sentences::tcp(&none);
    assert!(s.contains("by 3 calls, how many segments is not known on 0"), "{s}");
    // SYN-ACKs are of listening sockets: no socket sent these again.
    let listening = Tcp {
        synacks: 3,
        retransmits: BTreeMap::from([("syn", 3)]),
        retransmit_segments: 3,
        ..tcp(0)
    };
    let (tone, s) = sentences::tcp(&listening);
    let expect = "3 SYN-ACKs were retransmitted by listening sockets; no TCP segment was retransmitted by this host on 0 sockets.";
    assert_eq!((tone, s.as_str()), (Tone::Notice, expect));
    let both = Tcp {
        synacks: 3,
        retransmits: BTreeMap::from([("syn", 4), ("rto", 1)]),
        retransmit_segments: 5,
        ..tcp(0)
    };
    let (_, s) = sentences::tcp(&both);
    assert!(
        s.starts_with("2 TCP segments were retransmitted by 2 calls on 0 of 0 sockets (calls: 1 rto, 1 syn"),
        "{s}"
    );
    assert!(
        s.contains("; 3 SYN-ACKs were retransmitted by listening sockets"),
        "{s}"
    );
    // Too long for a link of the way: no loss, and no black hole.
    let pmtu = |rto| Tcp {
        retransmits: BTreeMap::from([("pmtu", 2), ("rto", rto)]),
        retransmits_solid: 3,
        ..tcp(3)
    };
    let (_, s) = sentences::tcp(&pmtu(0));
    assert!(
        s.contains("(calls: 2 pmtu), because incoming ICMP messages lowered the path MTU (no black hole)"),
        "{s}"
    );
    let (_, s) = sentences::tcp(&pmtu(1));
    assert!(
        s.contains(", 2 calls because incoming ICMP messages lowered the path MTU.") && !s.contains("black hole"),
        "{s}"
    );
    // The message was not seen: it may have been a probe.
    let guessed = Tcp {
        retransmits_solid: 0,
        ..pmtu(0)
    };
    let (_, s) = sentences::tcp(&guessed);
    assert!(
        s.contains("lowered, by ICMP messages or after a probe (tcp_mtu_probing)") && !s.contains("black hole"),
        "{s}"
    );
    // What is guessed, and what the kernel's own count refutes, is said.
    let weak = Tcp {
        retransmits_solid: 1,
        timeouts_counted: Some(0),
        ..tcp(3)
    };
    let (_, s) = sentences::tcp(&weak);
    let expect =
        "(calls: 3 rto; of these 2 guessed); the kernel counted 0 timeouts, so not all 3 of class rto were one.";
    assert!(s.ends_with(expect), "{s}");
    // What the peers had already was no loss.
    let twice = |n| Tcp {
        needless: Some(n),
        ..tcp(3)
    };
    let (_, s) = sentences::tcp(&twice(5));
    assert!(
        s.starts_with(
            "6 TCP segments were retransmitted by 3 calls, 5 of them needlessly (the peers had them already, by DSACK"
        ),
        "{s}"
    );
    assert!(!sentences::tcp(&twice(3)).1.contains("needlessly"));
    // What a queue of this host refused was never sent: no retransmission, and not the network's loss.
    let refused = Tcp {
        retransmits_refused: Some(2),
        ..tcp(0)
    };
    let (tone, s) = sentences::tcp(&refused);
    assert_eq!(tone, Tone::Notice);
    let expect = "No TCP segment was retransmitted by this host on 0 sockets; 2 calls more were refused by a queue of this host, \
                  which is no loss of the network's.";
    assert_eq!(s, expect);
}
