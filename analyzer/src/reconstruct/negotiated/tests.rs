//! Lists of sockets as the recorder writes them, against sockets written by hand.

use netmortem_formats::capture::{Snapshot, SnapshotWhen};

use super::{Negotiated, Sizes, negotiated};
use crate::counters::over_time::sockets::{self as over_time, SocketRow};
use crate::testing::tcp::SOCK;
use crate::testing::{Ctx, Script};

fn line(state: &str, (src, dst): (&str, &str), options: u32) -> String {
    format!(
        "netns=1 proto=tcp family=inet state={state} src={src} dst={dst} if=0 cookie=0x4d inode=9 tcp.options={options} tcp.snd_mss=188 tcp.pmtu=1500 tcp.advmss=1448 cong=cubic\n"
    )
}

/// What is told of the one socket of a recording with these lists.
fn of(texts: &[&str]) -> Option<Negotiated> {
    let mut s = Script::new("6.18.44", &[]);
    SOCK.probe(&mut s, 1_000, 0, Ctx::Soft(7), &[]);
    let mut capture = s.capture();
    for text in texts {
        capture.snapshots.push(Snapshot {
            what: "sockets".into(),
            when: SnapshotWhen::End,
            text: text.as_bytes().to_vec(),
        });
    }
    let facts = crate::analyze(&capture, &crate::ingest::Options::default());
    assert_eq!(facts.connections.len(), 1);
    let via = negotiated(&capture, &facts.connections, &[]);
    assert_eq!(via, facts.negotiated);
    via.into_values().next()
}

/// The ends of the scripted socket, as a list has them.
fn ends() -> (String, String) {
    let mut s = Script::new("6.18.44", &[]);
    SOCK.probe(&mut s, 1_000, 0, Ctx::Soft(7), &[]);
    let c = s.facts().connections.remove(0);
    let end = |a: Option<std::net::IpAddr>, port| std::net::SocketAddr::new(a.unwrap(), port).to_string();
    (end(c.saddr, c.sport), end(c.daddr, c.dport))
}

#[test]
fn an_own_line_tells_options_and_sizes() {
    let (src, dst) = ends();
    let (src, dst) = (src.as_str(), dst.as_str());
    let sizes = Some(Sizes {
        snd_mss: 188,
        advmss: 1448,
        pmtu: 1500,
    });
    let told = |window_scaling| {
        Some(Negotiated {
            window_scaling,
            congestion: Some(crate::name::Name::new(b"cubic")),
            delivered_ce: None,
            sizes,
            ends: None,
        })
    };
    assert_eq!(of(&[&line("established", (src, dst), 7)]), told(true));
    // Timestamps and SACK, no window scaling.
    assert_eq!(of(&[&line("close_wait", (src, dst), 3)]), told(false));
    // Of a socket of both families.
    let mapped = |end: &str| {
        let (a, port) = end.rsplit_once(':').unwrap();
        format!("[::ffff:{a}]:{port}")
    };
    assert_eq!(
        of(&[&line("established", (&mapped(src), &mapped(dst)), 3)]),
        told(false)
    );
}

#[test]
fn the_other_ends_line_tells_options_only() {
    let (src, dst) = ends();
    let told = of(&[&line("close_wait", (&dst, &src), 3)]);
    let expect = Negotiated {
        window_scaling: false,
        congestion: None,
        delivered_ce: None,
        sizes: None,
        ends: None,
    };
    assert_eq!(told, Some(expect));
}

#[test]
fn what_two_lists_tell_otherwise_or_none_tells_is_not_known() {
    let (src, dst) = ends();
    let ends = (src.as_str(), dst.as_str());
    let (one, other) = (line("established", ends, 7), line("established", ends, 3));
    assert_eq!(of(&[&one, &other]), None);
    assert!(of(&[&one, &one]).is_some());
    // An embryo, one in TIME_WAIT, a listener; another socket; a text that was cut.
    for state in ["syn_sent", "time_wait", "listen"] {
        assert_eq!(of(&[&line(state, ends, 3)]), None);
    }
    assert_eq!(of(&[&line("established", ("10.9.9.9:1", "10.9.9.8:2"), 3)]), None);
    assert_eq!(of(&[&one[..60]]), None);
    assert_eq!(of(&[]), None);
}

#[test]
fn both_ends_are_told_where_both_are_listed_by_their_cookies() {
    let own = "netns=1 proto=tcp state=established src=10.0.0.1:1 dst=10.0.0.2:2 cookie=0x4d mem.rcvbuf=131072 tcp.options=7 tcp.snd_wscale=0 tcp.rcv_wscale=7\n";
    let other = "netns=2 proto=tcp state=close_wait src=10.0.0.2:2 dst=10.0.0.1:1 cookie=0x4e mem.rcvbuf=65536 tcp.options=6 tcp.snd_wscale=7 tcp.rcv_wscale=9\n";
    let with = |lists: &[&str], seconds: &[SocketRow], cookies: [Option<u64>; 2]| {
        let lists: Vec<_> = lists.iter().map(|l| ("sockets", SnapshotWhen::End, *l)).collect();
        let capture = crate::testing::listed(&lists);
        let (mut a, mut b) = (crate::testing::tcp::connection(0), crate::testing::tcp::connection(1));
        (b.saddr, b.sport, b.daddr, b.dport) = (a.daddr, a.dport, a.saddr, a.sport);
        (a.cookie, b.cookie) = (cookies[0], cookies[1]);
        (a.peer, b.peer) = (Some(b.connection), Some(a.connection));
        let told = negotiated(&capture, &[a.clone(), b], seconds);
        told.get(&a.connection).and_then(|n| n.ends)
    };
    let ends = |lists: &[&str], cookies| with(lists, &[], cookies);
    let cookies = [Some(0x4d), Some(0x4e)];
    let told = ends(&[own, other], cookies).unwrap();
    assert_eq!((told.own.snd_wscale, told.own.rcv_wscale), (0, 7));
    assert_eq!((told.peer.snd_wscale, told.peer.rcv_wscale), (7, 9));
    assert_eq!((told.own.timestamps, told.peer.timestamps), (true, false));
    assert!(told.own.sack && told.peer.sack && told.peer.window_scaling);
    assert_eq!(told.peer_rcvbuf, Some(65_536));
    // Another socket at the same ends, one of them in no list, not known which, two things told of one.
    assert_eq!(ends(&[own, other], [Some(0x4d), Some(0x4f)]), None);
    assert_eq!(ends(&[own], cookies), None);
    assert_eq!(ends(&[own, other], [Some(0x4d), None]), None);
    assert_eq!(
        ends(&[own, other, &other.replace("rcv_wscale=9", "rcv_wscale=8")], cookies),
        None
    );
    // A reading of a second tells of one that ended before the last list.
    let row = SocketRow {
        at_ns: 1,
        ends: std::sync::Arc::new(over_time::Ends {
            netns: 2,
            proto: "tcp".into(),
            cookie: 0x4e,
            src: "10.0.0.2:2".into(),
            dst: "10.0.0.1:1".into(),
        }),
        state: "established".into(),
        gone: false,
        numbers: over_time::NUMBERS.map(|word| (word == "mem.rcvbuf").then_some(70_000)),
        agreed: [Some(7), Some(7), Some(8)],
    };
    let told = with(&[own], std::slice::from_ref(&row), cookies).unwrap();
    assert_eq!((told.peer.rcv_wscale, told.peer_rcvbuf), (8, Some(70_000)));
    // A list says more; one that opens has agreed on nothing yet; what is not told is not 0.
    assert_eq!(
        with(&[own, other], std::slice::from_ref(&row), cookies)
            .unwrap()
            .peer
            .rcv_wscale,
        9
    );
    let opening = SocketRow {
        state: "syn_sent".into(),
        ..row.clone()
    };
    assert_eq!(with(&[own], &[opening], cookies), None);
    let untold = SocketRow {
        agreed: [None; 3],
        ..row
    };
    assert_eq!(with(&[own], &[untold], cookies), None);
}

/// The first list says for how many ms nothing was sent or came.
#[test]
fn the_first_list_tells_when_a_socket_was_used_last() {
    let (src, dst) = ends();
    let line = |sent: u32, came: u32| {
        let of = line("established", (&src, &dst), 7);
        of.replace(
            " cong=",
            &format!(" tcp.last_data_sent={sent} tcp.last_data_recv={came} tcp.last_ack_recv=90000 cong="),
        )
    };
    let of = |when, texts: &[String]| {
        let mut s = Script::new("6.18.44", &[]);
        SOCK.probe(&mut s, 1_000, 0, Ctx::Soft(7), &[]);
        let mut capture = s.capture();
        capture.snapshots.push(Snapshot {
            what: "sockets".into(),
            when,
            text: texts.concat().into_bytes(),
        });
        let facts = crate::analyze(&capture, &crate::ingest::Options::default());
        let start = facts.capture.start_ns.unwrap();
        facts.quiet.into_values().map(|at| start - at).collect::<Vec<i64>>()
    };
    assert_eq!(of(SnapshotWhen::Start, &[line(26_104, 26_000)]), [26_000_000_000]);
    assert_eq!(of(SnapshotWhen::End, &[line(26_104, 26_000)]), [0i64; 0]);
    // A keepalive was answered since.
    let alive = line(26_104, 26_000).replace("=90000", "=700");
    assert_eq!(of(SnapshotWhen::Start, &[alive]), [700_000_000]);
    assert_eq!(
        of(SnapshotWhen::Start, &[line(1, 2), line(3, 4)]),
        [0i64; 0],
        "two namespaces"
    );
    let other = line(1, 2).replace("state=established", "state=time_wait");
    assert_eq!(of(SnapshotWhen::Start, &[other]), [0i64; 0]);
}
