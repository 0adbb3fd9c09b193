//! What address translation did to connections.

use std::net::{IpAddr, Ipv4Addr};

use crate::analyses::verdict::{Line, Tone};
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::opens::tables::{OpenEnd, OpenRow, ResetRow, Sender};
use crate::reconstruct::tcp::tables::ConnectionRow;

pub(super) const MS: i64 = 1_000_000;

pub(super) fn end(last: u8, port: u16) -> Option<(IpAddr, u16)> {
    Some((Ipv4Addr::new(10, 0, 0, last).into(), port))
}
pub(super) fn line(f: &Facts) -> Line {
    let answers = crate::analyses::answer(f);
    answers.verdict.iter().find(|l| l.subject == "opens").unwrap().clone()
}
pub(super) fn rst(
    time_ns: i64,
    received: bool,
    connection: Option<u32>,
    from: Option<(IpAddr, u16)>,
    to: Option<(IpAddr, u16)>,
) -> ResetRow {
    ResetRow {
        time_ns,
        received,
        connection: connection.map(ConnectionId),
        from,
        to,
        reason: if received { "" } else { "NO_SOCKET" }.into(),
        sender: if received { Sender::Unknown } else { Sender::Here },
        confidence: crate::Confidence::Certain,
    }
}
pub(super) fn recorded() -> Facts {
    let mut f = Facts::empty();
    for key in ["sock:inet_sock_set_state", "tcp:tcp_receive_reset"] {
        f.capture.events.insert(key.into(), 1);
    }
    f.capture.duration_ns = 10_000 * MS;
    f
}

/// Four attempts at the service 10.0.0.9:80, three of which 10.0.0.5:80 answers in its own name.
fn answered_by(port: u16, at: i64, used_again: bool) -> Line {
    let mut f = recorded();
    for n in 0..4u16 {
        let start = i64::from(n) * 2_000 * MS;
        f.opens.push(OpenRow {
            connection: Some(ConnectionId(u32::from(n))),
            from: end(1, 40_000 + n),
            to: end(9, 80),
            pid: 7,
            task: Name::new(b"front"),
            start_ns: start,
            end_ns: start + 1_500 * MS,
            end: OpenEnd::GivenUp,
            error: None,
            message: false,
            syns_again: Some(1),
            confidence: crate::Confidence::Certain,
        });
        if n < 3 {
            f.resets
                .push(rst(start + at, false, None, end(1, 40_000 + n), end(5, port)));
        }
    }
    if used_again {
        f.connections.extend((0..4u16).map(|n| ConnectionRow {
            saddr: end(1, 40_000).map(|e| e.0),
            sport: 40_000 + n,
            daddr: end(5, port).map(|e| e.0),
            dport: port,
            ..crate::testing::tcp::connection(n.into())
        }));
    }
    line(&f)
}

#[test]
fn an_answer_that_was_not_translated_back_is_told() {
    let l = answered_by(80, MS, false);
    assert_eq!(l.tone, Tone::Bad);
    let said = "4 attempts to connect to 10.0.0.9:80 by front/7 had no answer and were given up after 1.500 s at most, 3 of them answered \
                from 10.0.0.5:80, which no socket here had asked, so that this host itself refused the answer by a RST: an address translation \
                (NAT) that was not undone on the way back (inferred)";
    assert_eq!(l.headline, said);
    // Of another port, or behind the attempt's end, it is another's; of a connection of its own with that server, too.
    for other in [
        answered_by(81, MS, false),
        answered_by(80, 1_600 * MS, false),
        answered_by(80, MS, true),
    ] {
        assert!(!other.sentence.contains("NAT"), "{}", other.sentence);
    }
}

/// Three connections of 10.0.0.1 to the service 10.0.0.9:80 with 10.0.0.5:80 behind it: the port, the client's, the server's.
pub(super) fn behind_a_service(f: &mut Facts) -> [(u16, u32, u32); 3] {
    [0, 1, 2].map(|n| {
        let (port, client, server) = (40_000 + n as u16, 2 * n, 2 * n + 1);
        for (own, (from, to), peer) in [
            (client, (end(1, port), end(9, 80)), server),
            (server, (end(5, 80), end(1, port)), client),
        ] {
            let ((saddr, sport), (daddr, dport)) = (from.unwrap(), to.unwrap());
            f.connections.push(ConnectionRow {
                saddr: Some(saddr),
                sport,
                daddr: Some(daddr),
                dport,
                peer: Some(ConnectionId(peer)),
                ..crate::testing::tcp::connection(own)
            });
        }
        (port, client, server)
    })
}

/// Each is reset, and a listener on port 80 had sent a RST just before.
fn elsewhere(change: impl Fn(&mut Facts)) -> Line {
    let mut f = recorded();
    for (n, (port, client, _)) in behind_a_service(&mut f).into_iter().enumerate() {
        let at = (1 + n as i64) * 3_000 * MS;
        f.resets.push(rst(at, false, None, end(0, 80), None));
        f.resets
            .push(rst(at + 50_000, true, Some(client), end(1, port), end(9, 80)));
    }
    change(&mut f);
    line(&f)
}

#[test]
fn segments_that_went_to_another_server_are_told() {
    let l = elsewhere(|_| {});
    assert_eq!(l.tone, Tone::Bad, "{}", l.sentence);
    let said = "3 connections (first 10.0.0.1:40000 > 10.0.0.9:80) were reset, not by the peer, which is in this recording and sent none, but by \
                another listener of its port, that did not know them, at 3.000 s, 6.000 s and 9.000 s: what they sent went to another server from then \
                on, so the address translation (NAT, a service's) of established connections changed or was lost (inferred)";
    assert_eq!(l.headline, said);
    let other = |change: &dyn Fn(&mut Facts)| {
        let l = elsewhere(change);
        assert!(!l.sentence.contains("NAT"), "{}", l.sentence);
    };
    // The server's own; a server that was gone; no listener's just before; no translation between them.
    other(&|f| {
        for n in 0..3 {
            f.resets
                .push(rst(MS, false, Some(2 * n + 1), end(5, 80), end(1, 40_000 + n as u16)));
        }
    });
    other(&|f| {
        f.tcp_states
            .extend((0..3).map(|n| crate::testing::tcp::state(2 * n + 1, 7, MS)));
    });
    other(&|f| {
        f.resets
            .iter_mut()
            .filter(|r| !r.received)
            .for_each(|r| r.time_ns -= 2 * MS)
    });
    // A closed port's, which tells who it is for; several, so that which one is not known.
    other(&|f| (f.resets.iter_mut().filter(|r| !r.received)).for_each(|r| r.to = end(3, 50_000)));
    other(&|f| {
        let mut more: Vec<ResetRow> = f.resets.iter().filter(|r| !r.received).cloned().collect();
        more.iter_mut().for_each(|r| r.time_ns -= 1_000);
        f.resets.extend(more);
    });
    other(&|f| {
        for c in &mut f.connections {
            if c.daddr == end(9, 80).map(|e| e.0) {
                c.daddr = end(5, 80).map(|e| e.0);
            }
        }
    });
}
