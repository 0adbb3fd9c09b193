//! Connections that a program turned away, and addresses for which another was taken.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::script;
use crate::Confidence;
use crate::analyses::verdict::{Line, Tone};
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::neighbours::tables::{Held, LinkAddr, NeighbourRow};
use crate::reconstruct::opens::tables::{OpenEnd, OpenRow, ResetRow, Sender};
use crate::testing::tcp::{SOCK, Sock};
use crate::testing::{Ctx, Script};

const MS: u64 = 1_000_000;

fn line(f: &Facts) -> Line {
    let answers = crate::analyses::answer(f);
    answers.verdict.into_iter().find(|l| l.subject == "opens").unwrap()
}
fn sock(n: u64) -> Sock {
    Sock {
        sk: SOCK.sk + n * 0x10000,
        cookie: 100 + n,
        sport: 80,
        dport: 50_000 + n as u16,
    }
}

/// `n` connections come to 10.0.0.1:80; each socket goes through these states, `(old, new, ms since it stood)`, and a RST is sent for what
/// came and was not read.
fn served(n: u64, states: &[(u64, u64, u64)], wrote: bool) -> Line {
    let mut s: Script = script();
    for k in 0..n {
        for (old, new, after) in states {
            sock(k).state(&mut s, (100 * k + 10 + after) * MS, 0, Ctx::Soft(1), *old, *new);
        }
    }
    let mut f = s.facts();
    f.capture.start_ns = Some(0);
    let of = |k: u64| {
        let port = 50_000 + k as u16;
        let row = f.connections.iter().find(|c| c.dport == port)?;
        Some(ResetRow {
            time_ns: ((100 * k + 12) * MS) as i64,
            received: false,
            connection: Some(row.connection),
            from: Some((row.saddr?, 80)),
            to: Some((row.daddr?, port)),
            reason: "TCP_ABORT_ON_DATA".into(),
            sender: Sender::Here,
            confidence: Confidence::Certain,
        })
    };
    let sent: Vec<ResetRow> = (0..n).filter_map(of).collect();
    assert_eq!(sent.len() as u64, n);
    // At the client, which knows the server by another address.
    let came = sent.iter().take(1).map(|r| ResetRow {
        time_ns: r.time_ns + 9_000,
        received: true,
        connection: None,
        from: r.to,
        to: Some((IpAddr::V4(Ipv4Addr::new(198, 18, 5, 1)), 80)),
        sender: Sender::Unknown,
        ..r.clone()
    });
    f.resets = sent.iter().cloned().chain(came.collect::<Vec<_>>()).collect();
    if wrote {
        for c in &mut f.connections {
            c.bytes_written = Some(500);
        }
    }
    line(&f)
}

/// X-6 of the container host in small: accepted and closed at once, unread, by the program. Not so: one that answered first, one that the
/// peer closed (a health check), one that was opened here, two only.
#[test]
fn what_its_program_closed_at_once_is_the_programs() {
    let at_once = [(3, 1, 0), (1, 4, 1)];
    let l = served(4, &at_once, false);
    let expect = "4 of 4 connections to 10.0.0.1:80 were closed by the program there within 1.00 ms without an answer, their requests unread, \
                  from 0.010 s to 0.310 s: its own limit or refusal, not the network";
    assert_eq!((l.tone, l.headline.as_str()), (Tone::Bad, expect));
    assert!(!l.sentence.contains("RST"), "{}", l.sentence);
    let other = |l: Line| {
        assert!(
            !l.sentence.contains("refusal") && l.sentence.contains("RST"),
            "{}",
            l.sentence
        )
    };
    other(served(4, &at_once, true));
    other(served(4, &[(3, 1, 0), (1, 8, 1), (8, 9, 1)], false));
    other(served(4, &[(7, 2, 0), (2, 1, 0), (1, 4, 1)], false));
    other(served(4, &[(3, 1, 0), (1, 4, 90)], false));
    other(served(2, &at_once, false));
}

fn attempt(pid: i32, to: IpAddr, (start, end): (u64, u64), how: OpenEnd) -> OpenRow {
    OpenRow {
        connection: Some(ConnectionId(pid as u32)),
        from: None,
        to: Some((to, 8080)),
        pid,
        task: Name::new(b"curl"),
        start_ns: (start * MS) as i64,
        end_ns: (end * MS) as i64,
        end: how,
        error: None,
        message: false,
        syns_again: Some(0),
        confidence: Confidence::Certain,
    }
}

/// X-12 in small: attempts to an IPv6 address that no neighbour answers for, each given up when IPv4, tried 200 ms later, stood.
#[test]
fn an_address_for_which_another_was_taken_is_told_once() {
    let six = IpAddr::V6(Ipv6Addr::new(0xfd20, 0, 0, 0, 0, 0, 0, 0x11));
    let four = IpAddr::V4(Ipv4Addr::new(172, 20, 0, 11));
    let facts = |after: u64| {
        let mut f = script().facts();
        for k in 0..3u64 {
            let (at, pid) = (k * 600, 10 + k as i32);
            let end = if k == 2 { OpenEnd::Unreachable } else { OpenEnd::GivenUp };
            f.opens.push(attempt(pid, six, (at, at + after), end));
            f.opens
                .push(attempt(pid, four, (at + after, at + after + 1), OpenEnd::Established));
        }
        let asked = NeighbourRow {
            time_ns: 1,
            cpu: 0,
            event: "create",
            dev: Name::new(b"eth0"),
            address: six,
            before: None,
            after: None,
            err: None,
            netlink: 0,
            task: Name::default(),
            pid: 0,
            confidence: Confidence::Certain,
        };
        f.neighbours = vec![asked];
        f
    };
    let l = line(&facts(200));
    let expect = "3 attempts to connect to [fd20::11]:8080 by curl failed (2 had no answer, 1 found no route), neighbour discovery on eth0 never \
                  resolved it, and after p50 200.00 ms each thread took 172.20.0.11:8080 instead (inferred), which connected within 1.00 ms";
    assert_eq!((l.tone, l.headline.as_str()), (Tone::Notice, expect));
    assert!(l.sentence.matches("no answer").count() == 1, "{}", l.sentence);
    // Its address was known: what is wrong is not there.
    let mut known = facts(200);
    known.neighbours[0].after = Some(Held {
        lladdr: Some(LinkAddr::default()),
        state: 2,
    });
    assert!(!line(&known).headline.contains("neighbour"));
    // Both tried at once, as usual.
    assert!(!line(&facts(5)).headline.contains("instead"));
}
