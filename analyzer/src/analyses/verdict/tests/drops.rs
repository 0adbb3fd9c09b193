//! The line on drops.

use super::super::Tone;
use crate::analyses::drops::{Answered, Drops, Group, Lost, Passes};

pub(super) fn group(expected: Option<bool>, reason: &str, count: u64) -> Group {
    Group {
        reason: reason.into(),
        location: "f".into(),
        dev: "rs".into(),
        expected,
        first_drop: 9,
        count,
        ..Group::default()
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
        unmissed: None,
        unjoined: vec![],
        untold: vec![],
        hurt: Default::default(),
    }
}
pub(super) fn said(groups: Vec<Group>) -> (Tone, String) {
    super::super::drops::drops(&drops(groups))
}

/// Functions of which the same is said are one group; a few of many have no pattern of their own.
#[test]
fn one_reason_at_two_functions_is_said_once() {
    let at = |location: &str, count: u64| Group {
        location: location.into(),
        dev: "eth0".into(),
        why: "a wrong checksum: damaged on the way",
        times: vec![410_000_000; count as usize],
        ..group(Some(false), "TCP_CSUM", count)
    };
    let d = Drops {
        lost_within_ns: Some((0, 3_900_000_000)),
        ..drops(vec![at("tcp_v4_do_rcv", 237), at("tcp_v4_rcv", 3)])
    };
    let says = "240 packets were dropped by this host for TCP_CSUM at tcp_v4_do_rcv and tcp_v4_rcv (a wrong checksum: damaged on the way) on eth0";
    let (_, s) = super::super::drops::drops(&d);
    assert!(s.starts_with(says), "{s}");
    // Of functions that mean something else, or nothing known, not.
    let other = Group {
        reason: "QDISC_DROP".into(),
        why: "",
        ..at("elsewhere", 3)
    };
    // A queue refuses a few now and then; where the reason is inferred that is said.
    let tone = |n: u64, told: bool| {
        let group = Group {
            times: (0..n as i64).filter(|_| told).collect(),
            ..group(Some(false), "QDISC_DROP", n)
        };
        super::super::drops::drops(&drops(vec![group])).0
    };
    assert_eq!((tone(5, true), tone(6, true)), (Tone::Notice, Tone::Bad));
    // Where events were lost there may be more.
    assert_eq!(tone(5, false), Tone::Bad);
    // A rule may be there for what it drops, where nothing tells whose that was.
    let ruled = |of: Vec<Lost>| {
        let group = Group {
            why: "an nftables rule or policy",
            of,
            times: (0..70).collect(),
            ..group(Some(false), "NETFILTER_DROP", 70)
        };
        super::super::drops::drops(&drops(vec![group]))
    };
    let (tone, s) = ruled(vec![]);
    assert!(s.contains("and nothing tells whose they were (from drop:"), "{s}");
    let theirs = Lost {
        carries: "syn",
        whose: "to 10.0.0.2:80".into(),
        count: 70,
        ..Lost::default()
    };
    assert_eq!((tone, ruled(vec![theirs]).0), (Tone::Notice, Tone::Bad));
    let inferred = Group {
        reason_inferred: true,
        ..group(Some(false), "NETFILTER_DROP", 7)
    };
    let (_, s) = super::super::drops::drops(&drops(vec![inferred]));
    assert!(
        s.contains("7 packets were dropped by this host for NETFILTER_DROP (inferred) at f on rs"),
        "{s}"
    );
    let (_, s) = super::super::drops::drops(&drops(vec![group(Some(false), "", 7)]));
    assert!(
        s.contains("7 packets were dropped by this host for no recorded reason at f on rs"),
        "{s}"
    );
    let d = Drops {
        lost_within_ns: Some((0, 3_900_000_000)),
        ..drops(vec![at("tcp_v4_do_rcv", 237), other])
    };
    let (_, s) = super::super::drops::drops(&d);
    assert!(s.contains(", 3 for QDISC_DROP at elsewhere on eth0 (from"), "{s}");
}

/// What, where, of which queue, when, and the id of the first.
#[test]
fn a_loss_is_named_with_its_place_and_time() {
    let by_queue = Group {
        qdisc: Some("tbf".into()),
        ..group(Some(false), "QDISC_DROP", 214)
    };
    let expect = "214 packets were dropped by this host for QDISC_DROP at f on rs (qdisc tbf), \
                  all from 0.410 s to 0.691 s (from drop:9); 3 frees were normal, 0 unclear.";
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
        s.starts_with("2 packets were dropped by this host for A at f on rs (from drop:9)"),
        "{s}"
    );
}

/// One of two is not most; nor are three of seven.
#[test]
fn most_is_more_than_half() {
    let lost = |reason, n| group(Some(false), reason, n);
    let (_, s) = said(vec![lost("A", 1), lost("B", 1)]);
    assert!(
        s.contains("2 packets were dropped by this host: 1 for A at f on rs, 1 for B at f on rs,"),
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
    let expect = "No packet of a program is known to be lost on this host; 1 packet of the kernel's own traffic was \
                  dropped for IP_INNOROUTES at f on rs (from drop:9); 3 frees were normal, 0 unclear.";
    assert_eq!((tone, s.as_str()), (Tone::Notice, expect));
    let (tone, s) = said(vec![group(Some(false), "A", 3), own.clone()]);
    assert!(
        tone == Tone::Bad && s.starts_with("3 packets were dropped by this host for A"),
        "{s}"
    );
    // One is told, and is no alarm.
    assert_eq!(said(vec![group(Some(false), "A", 1), own]).0, Tone::Notice);
    assert_eq!(said(vec![group(Some(false), "A", 2)]).0, Tone::Bad);
    // Of a socket in TIME_WAIT.
    let obeyed = Group {
        location: "tcp_v4_rcv".into(),
        why: crate::reconstruct::drops::OBEYED,
        ..group(None, "NOT_SPECIFIED", 3)
    };
    let (tone, s) = said(vec![obeyed.clone()]);
    assert!(tone == Tone::Ok && s.contains("obeyed and freed"), "{s}");
    assert_eq!(said(vec![obeyed, group(None, "NOT_SPECIFIED", 1)]).0, Tone::Notice);
    let (tone, s) = said(vec![group(None, "A", 2)]);
    assert!(
        tone == Tone::Notice && s.starts_with("No packet of a program is known to be lost"),
        "{s}"
    );
    assert_eq!(said(vec![group(Some(true), "A", 2)]).0, Tone::Ok);
    // What is unclear is named, up to its first pause.
    let port = Group {
        why: "no socket for it: closed port; or another",
        ..group(None, "NO_SOCKET", 30)
    };
    let (_, s) = said(vec![port, group(None, "B", 2)]);
    assert!(
        s.ends_with("32 unclear (30 for NO_SOCKET at f: no socket for it: closed port)."),
        "{s}"
    );
}

fn ttl(looped: u64, missed: bool) -> Group {
    Group {
        location: "ip_forward".into(),
        why: "its TTL had run out",
        of: vec![Lost {
            carries: "syn",
            whose: "to 10.9.8.8:7304".into(),
            count: 12,
            came: None,
            every: None,
            passed_bit_s: None,
            stopped_ns: vec![],
            fragments: None,
            made_by: None,
            sent_to: None,
            others: vec![],
            passed_packets_s: None,
        }],
        answered: vec![Answered {
            says: "time exceeded",
            count: 9,
        }],
        passes: Some(Passes {
            looped,
            most: if looped > 0 { 31 } else { 0 },
            dev: "rs".into(),
            once: looped == 0,
            missed,
            ttl: None,
            set_by: None,
        }),
        ..group(Some(false), "IP_INHDR", 12)
    }
}

/// A loop is called one; packets that nobody missed and that went round in none are no alarm.
#[test]
fn a_ttl_that_ran_out_is_a_loop_or_none() {
    let (tone, s) = said(vec![ttl(12, true)]);
    let expect = "A routing loop: 12 packets (SYNs to 10.9.8.8:7304) passed rs up to 31 times before their TTL ran out \
                  (dropped for IP_INHDR at ip_forward), the senders of 9 were told by ICMP, all from 0.410 s";
    assert!(tone == Tone::Bad && s.starts_with(expect), "{s}");
    let (tone, s) = said(vec![ttl(0, false)]);
    let expect = "12 packets were dropped by this host for IP_INHDR at ip_forward (its TTL had run out, none of them came to a device \
                  twice: no loop, ICMP error sent back for 9 of them: time exceeded) on rs";
    assert!(tone == Tone::Notice && s.starts_with(expect), "{s}");
    assert_eq!(said(vec![ttl(0, true)]).0, Tone::Bad);
    assert_eq!(said(vec![ttl(0, false), group(Some(false), "A", 3)]).0, Tone::Bad);
    // One alone is nothing that is wrong, whatever else nobody misses.
    assert_eq!(said(vec![ttl(0, false), group(Some(false), "A", 1)]).0, Tone::Notice);
    let (_, s) = said(vec![ttl(3, true)]);
    assert!(s.contains("a routing loop: 3 of them passed rs up to 31 times"), "{s}");
}

/// Which route refused is what the ICMP message says.
#[test]
fn the_route_that_refused_is_named_by_its_message() {
    let refused = |says| {
        let answered = Some(says).filter(|s: &&str| !s.is_empty());
        let group = Group {
            location: "ip_error".into(),
            why: "refused by a route of this host: prohibit, unreachable or blackhole",
            answered: answered.map(|says| Answered { says, count: 2 }).into_iter().collect(),
            ..group(Some(false), "NOT_SPECIFIED", 12)
        };
        said(vec![group]).1
    };
    let s = refused("communication administratively prohibited");
    let expect = "at ip_error (refused by a `prohibit` route of this host, ICMP error sent back for 2 of them: communication \
                  administratively prohibited) on rs";
    assert!(s.contains(expect), "{s}");
    assert!(refused("host unreachable").contains("an `unreachable` route"));
    let known = Group {
        location: "ip_error".into(),
        why: "refused by a route of this host: prohibit, unreachable or blackhole",
        refused_by: Some("prohibit 10.9.2.128/25".into()),
        ..group(Some(false), "NOT_SPECIFIED", 12)
    };
    assert!(
        said(vec![known])
            .1
            .contains("(refused by a route of this host, `prohibit 10.9.2.128/25`) on rs")
    );
    assert!(refused("").contains("(refused by a route of this host: prohibit, unreachable or blackhole) on rs"));
}

/// Each kind has its times, where they lie together or in a few bursts; groups that differ in their device alone are one.
#[test]
fn each_kind_says_when() {
    let s = 1_000_000_000;
    let of = |reason, dev: &str, times: &[i64]| Group {
        dev: dev.into(),
        times: times.iter().map(|t| t * s / 10).collect(),
        ..group(Some(false), reason, times.len() as u64)
    };
    let told = |groups: Vec<Group>| {
        let spread = Drops {
            lost_within_ns: Some((0, 9 * s)),
            duration_ns: 10 * s,
            ..drops(groups)
        };
        super::super::drops::drops(&spread).1
    };
    let a = [of("A", "rs", &[20, 21, 22]), of("A", "rc", &[19, 30])];
    let both = a.iter().cloned().chain([of("B", "rs", &[5, 6, 50, 51, 52])]).collect();
    let expect = ": 5 (all from 1.900 s to 3.000 s) for A at f on rs and rc, 5 (in 2 bursts, 0.500 to 0.600 s and 5.000 to 5.200 s) \
                  for B at f on rs (from drop:9)";
    assert!(told(both).contains(expect), "{}", told(a.to_vec()));
    let unknown = vec![of("A", "", &[20, 21, 22]), of("A", "rc", &[19, 30])];
    assert!(told(unknown).contains("5 packets were dropped by this host for A at f on rc (as far as known), all"));
    assert!(told(vec![of("A", "", &[20, 21])]).contains(" for A at f, all"));
    assert!(told(vec![of("A", "rs", &[7, 80])]).contains(" on rs, at 0.700 s and 8.000 s (from"));
    assert!(told(vec![of("A", "rs", &[10, 20, 30, 40, 50, 60])]).contains(" on rs (from"));
    let late: Vec<i64> = (0..12).map(|n| 30 + n * 5).collect();
    assert!(told(vec![of("A", "rs", &late)]).contains(", all from 3.000 s on, the last at 8.500 s (from"));
}

/// X-8 of the container host: what a tunnel made of TCP data is no TCP data, and goes back to whose it was.
#[test]
fn messages_that_a_tunnel_made_are_called_so() {
    let lost = |count| Lost {
        carries: "too_big",
        whose: "from 172.20.0.90:8080".into(),
        count,
        came: Some(count),
        every: None,
        passed_bit_s: None,
        stopped_ns: vec![],
        fragments: None,
        made_by: Some("vxlan42".into()),
        others: vec![],
        passed_packets_s: None,
        sent_to: None,
    };
    let of = |count| Group {
        location: "nft_do_chain".into(),
        why: "a tunnel made it of a segment too large for it, to tell the sender: a path MTU black hole, the sender only sent it again as it was",
        of: vec![lost(count)],
        ..group(Some(false), "NETFILTER_DROP", 29)
    };
    let (tone, s) = said(vec![of(29)]);
    let expect = "29 packets were dropped by this host for NETFILTER_DROP at nft_do_chain (an nftables rule or policy, a path MTU black \
                  hole: the sender never sent smaller) on rs: the ICMP messages \"too big\" that vxlan42 made of TCP segments from \
                  172.20.0.90:8080, which are too large for it, all from";
    assert!(tone == Tone::Bad && s.starts_with(expect), "{s}");
    assert!(!s.contains("TCP data"), "{s}");
    assert!(said(vec![of(20)]).1.contains("172.20.0.90:8080 (20 of these), which"));
}

/// Probes of a way let the TTL run out at each router, some a second; a loop by routers elsewhere loses far more, and one router alone asks for no way.
#[test]
fn probes_of_ways_are_no_alarm_and_many_packets_are() {
    let at = |dev: &str, count| Group {
        dev: dev.into(),
        of: vec![],
        count,
        ..ttl(0, false)
    };
    let (tone, s) = said(vec![at("lan0", 132), at("eth0", 66)]);
    let probes = "as traceroute and mtr make them";
    assert!(tone == Tone::Ok && s.contains(probes), "{s}");
    let (tone, s) = said(vec![at("lan0", 132), at("eth0", 69)]);
    assert!(tone == Tone::Notice && !s.contains(probes), "{s}");
    let (tone, s) = said(vec![at("lan0", 132)]);
    assert!(tone == Tone::Notice && !s.contains(probes), "{s}");
    let owned = Group {
        of: ttl(0, false).of,
        ..at("eth0", 66)
    };
    assert!(!said(vec![at("lan0", 132), owned]).1.contains(probes));
}

/// A cause that counters tell of one segment is not the cause of all that was lost.
#[test]
fn a_few_that_no_event_tells_do_not_name_the_cause() {
    use super::super::drops::names_cause;
    let of = |rose, groups: Vec<Group>| {
        let untold = crate::analyses::drops::Untold {
            counter: "TcpExtTCPRcvQDrop",
            rose,
            says: "the memory was short".into(),
            told: true,
            damaged: None,
        };
        names_cause(&Drops {
            untold: vec![untold],
            ..drops(groups)
        })
    };
    let others = || vec![group(Some(false), "NETFILTER_DROP", 5_000)];
    assert!(of(1, vec![]) && of(5_000, others()));
    assert!(!of(1, others()));
}
