//! What came of listening sockets that were closed.

use super::{TASK, line, script};
use crate::analyses::opens::{TakenOver, ToItself, Unheard};
use crate::analyses::verdict::Tone;
use crate::name::Name;
use crate::reconstruct::opens::tables::{ListenRow, OpenEnd, ResetRow, Sender};
use crate::testing::N;
use crate::{Confidence, Facts};

const MS: i64 = 1_000_000;

fn found(f: &Facts) -> crate::analyses::opens::Opens {
    crate::analyses::answer(f).opens.findings().unwrap().clone()
}

fn at(port: u16) -> (std::net::IpAddr, u16) {
    ("10.0.0.9".parse().unwrap(), port)
}

fn listens(f: &mut Facts, of: &[(i64, u64, bool)]) {
    f.listens = of
        .iter()
        .map(|(ms, sk, opened)| ListenRow {
            time_ns: ms * MS,
            sk: *sk,
            at: at(80),
            opened: *opened,
            pid: *sk as i32,
            task: Name::new(b"haproxy"),
        })
        .collect();
}

/// 10.0.0.9 is an address of this recording.
fn own(f: &mut Facts) {
    let row = crate::testing::tcp::connection(9);
    f.connections.push(crate::reconstruct::tcp::tables::ConnectionRow {
        saddr: Some(at(80).0),
        ..row
    });
}

/// Lists of the kernel: `netns=...` lines of addresses and of sockets.
fn spaces(addresses: &str, sockets: &str) -> crate::snapshots::spaces::Spaces {
    use netmortem_formats::capture::{Snapshot, SnapshotWhen};
    let mut capture = script().capture();
    let of = [("addresses", addresses), ("sockets", sockets)];
    capture.snapshots.extend(of.map(|(what, text)| Snapshot {
        what: what.into(),
        when: SnapshotWhen::Start,
        text: text.as_bytes().to_vec(),
    }));
    crate::snapshots::spaces::Spaces::of(&capture)
}

/// Pods that all listen at 0.0.0.0:80: one's close and another's RST are not of one another.
#[test]
fn sockets_of_several_namespaces_share_an_end() {
    let mut f = Facts::empty();
    f.capture.events.insert("sock:inet_sock_set_state".into(), 1);
    listens(&mut f, &[(100, 1, false)]);
    f.listens[0].at.0 = "0.0.0.0".parse().unwrap();
    f.resets = vec![reset(700, false, None)];
    let told = |f: &Facts| found(f).taken_over.map(|t| (t.resets, t.within_ns, t.doubt.is_some()));
    // Without lists it may be.
    assert_eq!(told(&f), Some((1, 600 * MS, true)));
    let [one, two] = [1, 2].map(|netns| format!("netns={netns} proto=tcp state=listen src=0.0.0.0:80\n"));
    f.spaces = spaces("", &one);
    assert_eq!(told(&f), Some((1, 600 * MS, false)));
    f.spaces = spaces("", &format!("{one}{two}"));
    assert_eq!(told(&f), None, "a stray segment of one more pod");
    f.resets.push(reset(701, false, None));
    assert_eq!(told(&f), Some((2, 601 * MS, true)));
}

fn reset(ms: i64, received: bool, connection: Option<u32>) -> ResetRow {
    ResetRow {
        time_ns: ms * MS,
        received,
        connection: connection.map(crate::facts::ConnectionId),
        from: Some(if received { at(40_000 + ms as u16) } else { at(80) }),
        to: received.then(|| at(80)),
        reason: if received { "" } else { "TCP_FLAGS" }.into(),
        sender: if received { Sender::Between } else { Sender::Here },
        confidence: Confidence::Certain,
    }
}

/// At 100 ms 2 listens, and 1 is closed; two clients are reset 30 ms later. A RST long after belongs to nothing.
#[test]
fn who_was_with_the_socket_that_was_closed_is_reset_by_the_other() {
    let mut f = Facts::empty();
    f.capture.events.insert("sock:inet_sock_set_state".into(), 1);
    listens(
        &mut f,
        &[(99, 2, true), (100, 1, false), (5_000, 3, true), (5_001, 2, false)],
    );
    f.resets = vec![
        reset(130, false, None),
        reset(131, true, Some(7)),
        reset(132, false, None),
        reset(133, true, Some(8)),
        reset(4_000, false, None),
        reset(4_001, true, Some(9)),
    ];
    let expected = TakenOver {
        at: "10.0.0.9:80".into(),
        by: "haproxy".into(),
        taken_by: "haproxy".into(),
        closed_ns: vec![100 * MS],
        times: 1,
        resets: 2,
        clients: 2,
        within_ns: 32 * MS,
        doubt: None,
    };
    assert_eq!(found(&f).taken_over, Some(expected));
    let verdict = crate::analyses::answer(&f).verdict;
    let opens = verdict.iter().find(|l| l.subject == "opens").unwrap();
    let said = "2 connections to 10.0.0.9:80 were reset within 32.00 ms after haproxy closed a listening socket there at 0.100 s while another one (haproxy) listened already: ";
    assert!(
        opens.headline.starts_with(said) && opens.names_cause,
        "{}",
        opens.headline
    );
    assert_eq!(opens.tone, Tone::Bad);
    // Crashed and begun again: nobody was beside it, and who was accepted is reset by the new one.
    let mut crashed = Facts::empty();
    crashed.capture.events.insert("sock:inet_sock_set_state".into(), 1);
    crashed.resets = f.resets.clone();
    listens(&mut crashed, &[(100, 1, false), (120, 2, true)]);
    assert_eq!(found(&crashed).taken_over, None);
    // One that began before the recording is not seen, and must have been there: none began since.
    listens(&mut crashed, &[(100, 1, false), (900, 2, true)]);
    assert_eq!(
        found(&crashed).taken_over.map(|t| (t.taken_by, t.clients)),
        Some((String::new(), 2))
    );
    // The reason of another story.
    crashed.resets.iter_mut().for_each(|r| r.reason = "NO_SOCKET".into());
    assert_eq!(found(&crashed).taken_over, None);
    // Of one that takes any address its clients tell which they asked for.
    let any = |f: &mut Facts| f.listens.iter_mut().for_each(|l| l.at.0 = "0.0.0.0".parse().unwrap());
    any(&mut f);
    let taken = |f: &Facts| found(f).taken_over.map(|t| (t.at, t.clients));
    assert_eq!(
        taken(&f),
        Some(("port 80".into(), 0)),
        "whose that address is, is not known"
    );
    own(&mut f);
    assert_eq!(taken(&f), Some(("10.0.0.9:80".into(), 2)));
    // What comes from port 80 of another host is nobody's here, and each RST is one client's.
    for n in 0..12 {
        let mut r = reset(131, true, Some(20 + n));
        r.to = Some(("203.0.113.9".parse().unwrap(), 80));
        f.resets.extend([r, reset(134, true, Some(40 + n))]);
    }
    f.resets.sort_by_key(|r| r.time_ns);
    assert_eq!(taken(&f), Some(("10.0.0.9:80".into(), 2)));
    let clients: Vec<ResetRow> = f.resets.extract_if(.., |r| r.received).collect();
    assert_eq!(taken(&f), Some(("port 80".into(), 0)));
    f.resets.extend(clients);
    // By a socket of its own, or at another port, it is another story.
    for r in &mut f.resets {
        r.from = r.from.map(|f| (f.0, f.1 + 1));
    }
    assert_eq!(found(&f).taken_over, None);
}

/// One attempt that was refused at an address of this recording, and who listened, ms from when it began.
fn refused(of: &[(i64, u64, bool)]) -> Facts {
    let mut s = script();
    super::attempts(&mut s, 1, -111);
    let mut f = s.facts();
    f.opens[0].end = OpenEnd::Refused;
    let began = f.opens[0].start_ns / MS;
    let of: Vec<_> = of.iter().map(|(ms, sk, opened)| (ms + began, *sk, *opened)).collect();
    listens(&mut f, &of);
    f.listens
        .iter_mut()
        .for_each(|l| l.at = ("0.0.0.0".parse().unwrap(), 443));
    // At an address of another host it would say nothing.
    assert_eq!(found(&f).failed[0].unheard, None);
    let to = f.opens[0].to.unwrap().0;
    let own = crate::testing::tcp::connection(9);
    f.connections
        .push(crate::reconstruct::tcp::tables::ConnectionRow { saddr: Some(to), ..own });
    f
}

/// Until one listens again, attempts are refused because nobody does.
#[test]
fn since_when_nobody_listens_is_told_of_those_who_were_refused() {
    let said = |of: &[(i64, u64, bool)]| found(&refused(of)).failed[0].unheard.clone();
    let by = |u: Option<Unheard>| u.map(|u| (u.by, u.until_ns.is_some()));
    assert_eq!(by(said(&[(-1, 5, false)])), Some(("haproxy/5".into(), false)));
    assert_eq!(
        by(said(&[(-1, 5, false), (9, 6, true)])),
        Some(("haproxy/5".into(), true))
    );
    assert_eq!(by(said(&[(-2, 5, false), (-1, 6, true)])), None);
    // One of two is still there.
    assert_eq!(by(said(&[(-2, 6, true), (-1, 5, false)])), None);
    assert_eq!(by(said(&[])), None);
}

/// A pod closes its own 0.0.0.0:443; nobody ever listened at the other pod's address.
#[test]
fn nobody_listens_since_is_of_one_namespace() {
    let mut f = refused(&[(-1, 5, false)]);
    let to = f.opens[0].to.unwrap().0;
    let doubt = |f: &Facts| found(f).failed[0].unheard.as_ref().map(|u| u.doubt);
    assert!(doubt(&f).unwrap().unwrap().contains("namespace"));
    let address = |netns| format!("netns={netns} address={to}/24\nnetns=1 address=192.0.2.1/24\n");
    let socket = "netns=1 proto=tcp state=listen src=0.0.0.0:443 pids=5\n";
    f.spaces = spaces(&address(1), socket);
    assert_eq!(doubt(&f), Some(None));
    f.spaces = spaces(&address(2), socket);
    assert_eq!(doubt(&f), None, "of another pod");
    f.spaces = spaces(&address(2), "");
    assert_eq!(doubt(&f), None, "which pod's it was is not known");
    // Who listened again may be among what was lost.
    f.spaces = spaces(&address(1), socket);
    let at = Some(f.opens[0].start_ns);
    f.gaps.push(crate::ingest::GapRow {
        cpu: 0,
        start_ns: at,
        end_ns: at,
        lost_events: Some(3),
        cause: "overrun",
    });
    assert!(doubt(&f).unwrap().unwrap().contains("lost"));
    let verdict = crate::analyses::answer(&f).verdict;
    let opens = verdict.iter().find(|l| l.subject == "opens").unwrap();
    assert!(
        opens.headline.contains("(inferred: events were lost meanwhile)"),
        "{}",
        opens.headline
    );
}

/// Both ends are one: it is told as what it is, not as a connection that was opened.
#[test]
fn a_socket_that_connects_to_itself_is_named() {
    let mut s = script();
    super::attempts(&mut s, 2, 0);
    let mut f = s.facts();
    assert_eq!(found(&f).to_itself, None);
    f.opens[1].from = f.opens[1].to;
    let got = found(&f).to_itself.unwrap();
    let ToItself { at, sockets, .. } = &got;
    assert_eq!((at.as_str(), *sockets), ("10.0.0.2:443", 1));
    let verdict = crate::analyses::answer(&f).verdict;
    let opens = verdict.iter().find(|l| l.subject == "opens").unwrap();
    assert!(opens.headline.contains(" connected to itself at ") && opens.names_cause);
    assert_eq!(opens.tone, Tone::Bad);
}

/// One that waits when the recording ends, for no longer than others took, has not failed; one that waits for longer may have.
#[test]
fn what_is_being_opened_at_the_end_has_not_failed() {
    let said = |waits_ns: u64| {
        let mut s = script();
        super::attempts(&mut s, 2, 0);
        let t = 1_000_000;
        let sock = crate::testing::tcp::Sock {
            sk: 0xffff_8880_0000_9900,
            sport: 40_001,
            ..crate::testing::tcp::SOCK
        };
        sock.state(&mut s, t, 0, TASK, 7, 2);
        s.ev(t + waits_ns, 0, TASK, "syscalls:sys_enter_connect", &[("fd", N(4))]);
        (found(&s.facts()).under_way, line(&s).0)
    };
    assert_eq!(said(3_000), (1, Tone::Ok));
    assert_eq!(said(30_000_000), (0, Tone::Notice));
}
