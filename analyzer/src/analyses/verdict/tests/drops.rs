//! The line on drops.

use super::super::Tone;
use crate::analyses::drops::{Drops, Group, Lost};

fn group(expected: Option<bool>, reason: &str, count: u64) -> Group {
    Group {
        reason: reason.into(),
        location: "f".into(),
        dev: "rs".into(),
        expected,
        background: false,
        why: "",
        qdisc: None,
        first_drop: 9,
        count,
        first_ns: 0,
        last_ns: 0,
        of: vec![],
    }
}
fn drops(groups: Vec<Group>) -> Drops {
    let of = |e, b| {
        let all = groups.iter().filter(|g: &&Group| (g.expected, g.background) == (e, b));
        all.map(|g| g.count).sum()
    };
    Drops {
        recorded: true,
        total: groups.iter().map(|g| g.count).sum(),
        lost: of(Some(false), false),
        background: of(Some(false), true),
        expected: of(Some(true), false),
        unclear: of(None, false),
        lost_within_ns: Some((410_000_000, 691_000_000)),
        duration_ns: 4_000_000_000,
        groups,
    }
}
fn said(groups: Vec<Group>) -> (Tone, String) {
    super::super::drops::drops(&drops(groups))
}

/// What, where, of which queue, when, and the id of the first.
#[test]
fn a_loss_is_named_with_its_place_and_time() {
    let by_queue = Group {
        qdisc: Some("tbf".into()),
        ..group(Some(false), "QDISC_DROP", 214)
    };
    let expect = "214 packets were dropped in this host for QDISC_DROP at f on rs (its qdisc: tbf), \
                  all from 0.410 s to 0.691 s of 4.000 s (from drop:9); 3 frees were normal, 0 unclear.";
    assert_eq!(
        said(vec![by_queue, group(Some(true), "X", 3)]),
        (Tone::Bad, expect.into())
    );
    // All over the recording.
    let spread = Drops {
        lost_within_ns: Some((0, 3_000_000_000)),
        ..drops(vec![group(Some(false), "A", 2)])
    };
    let (_, s) = super::super::drops::drops(&spread);
    assert!(
        s.starts_with("2 packets were dropped in this host for A at f on rs (from drop:9)"),
        "{s}"
    );
}

/// One of two is not most; nor are three of seven.
#[test]
fn most_is_more_than_half() {
    let lost = |reason, n| group(Some(false), reason, n);
    let (_, s) = said(vec![lost("A", 1), lost("B", 1)]);
    assert!(
        s.contains("2 packets were dropped in this host: 1 for A at f on rs, 1 for B at f on rs,"),
        "{s}"
    );
    let (_, s) = said(vec![lost("A", 3), lost("B", 2), lost("C", 1), lost("D", 1)]);
    let expect = ": 3 for A at f on rs, 2 for B at f on rs, 1 for C at f on rs, 1 for others,";
    assert!(s.contains(expect), "{s}");
    let (_, s) = said(vec![lost("A", 5), lost("B", 2), lost("C", 1)]);
    assert!(s.contains(", most for A at f on rs (5),"), "{s}");
}

/// The kernel's own packets are counted and named, and are not why something is wrong; unclear frees forbid "no packet was
/// dropped".
#[test]
fn what_no_program_missed_is_no_alarm() {
    let own = Group {
        background: true,
        ..group(Some(false), "IP_INNOROUTES", 1)
    };
    let (tone, s) = said(vec![own.clone(), group(Some(true), "X", 3)]);
    let expect = "No packet of a program is known to be lost in this host; 1 packet of the kernel's own traffic was \
                  dropped for IP_INNOROUTES at f on rs (from drop:9); 3 frees were normal, 0 unclear.";
    assert_eq!((tone, s.as_str()), (Tone::Notice, expect));
    let (tone, s) = said(vec![group(Some(false), "A", 1), own]);
    assert!(
        tone == Tone::Bad && s.starts_with("1 packet was dropped in this host for A"),
        "{s}"
    );
    let (tone, s) = said(vec![group(None, "A", 2)]);
    assert!(
        tone == Tone::Notice && s.starts_with("No packet of a program is known to be lost"),
        "{s}"
    );
    assert_eq!(said(vec![group(Some(true), "A", 2)]).0, Tone::Ok);
}

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
    };
    let of = |count, of: Vec<Lost>| {
        let group = Group {
            location: "nft_do_chain".into(),
            of,
            ..group(Some(false), "NETFILTER_DROP", count)
        };
        let said = said(vec![group]).1;
        let (_, rest) = said
            .split_once("nft_do_chain (a rule or policy of nftables) on rs")
            .unwrap();
        rest.split_once(", all from").unwrap().0.to_owned()
    };
    let syns = lost("syn", "to 10.9.2.2:7105", 11, Some(33), Some(3), None);
    assert_eq!(
        of(11, vec![syns]),
        ": SYNs to 10.9.2.2:7105, 11 of the 33 that came there, one in 3 exactly"
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
        ": TCP data of 10.0.0.1:5 > 10.0.0.2:80, 42 of these, 166 such came there, while 6.5 Mbit/s of them went on";
    assert_eq!(of(46, vec![data.clone()]), part);
    let udp = lost("datagram", "of named/7", 4, Some(4), None, None);
    assert_eq!(
        of(4, vec![udp]),
        ": UDP packets of named/7, all of the 4 that came there"
    );
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
