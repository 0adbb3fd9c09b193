//! Packets that nobody is known to miss: refused by sockets that never answer, or meant for addresses that answer nobody.

use super::drop_row;
use crate::analyses::drops::answer;
use crate::analyses::verdict::Tone;
use crate::facts::Facts;
use crate::name::Name;
use crate::reconstruct::datagrams::sockets::SocketRow;
use crate::reconstruct::datagrams::tables::{Awaited, TurnEnd, TurnRow};
use crate::reconstruct::whose::{Carries, Owner};

const MS: i64 = 1_000_000;

/// Forty datagrams of threads 7 and 8 that were dropped for this reason, 100 ms apart; those of 8 are for the socket 0xabc.
fn facts(reason: &str) -> Facts {
    let mut f = Facts::empty();
    (f.capture.start_ns, f.capture.end_ns, f.capture.duration_ns) = (Some(0), Some(9_000 * MS), 9_000 * MS);
    f.names.drop_reasons = Some(netmortem_formats::event_format::ValueTable {
        entries: vec![(12, reason.into())],
        kind: netmortem_formats::event_format::ValueTableKind::Symbolic,
    });
    for n in 0..40i64 {
        let mut row = drop_row(n * 100 * MS + 10, 12, 0x10, Some(false));
        row.owner = Some(Owner {
            connection: None,
            carries: Carries::Datagram,
            task: Name::new(b"agent"),
            pid: 7,
            confidence: crate::Confidence::Strong,
        });
        row.sk = 0xabc;
        f.drops.push(row);
    }
    f
}

fn told(f: &Facts) -> (u64, u64, Tone, bool) {
    let line = crate::analyses::answer(f)
        .verdict
        .into_iter()
        .find(|l| l.subject == "drops")
        .unwrap();
    let g = answer(f).findings().unwrap().groups[0].clone();
    (g.one_way, g.aside, line.tone, line.names_cause)
}

#[test]
fn what_a_socket_refuses_that_never_answers_is_lacked_and_nobody_waits() {
    let with = |sent: u64, last: i64| {
        let mut f = facts("SOCKET_RCVBUFF");
        let mut s = SocketRow::begin(0xabc, 0);
        (s.arrived, s.sent, s.last_ns) = (90, sent, last * MS);
        f.udp_sockets.push(s);
        told(&f)
    };
    // It stands before what else is worth a look.
    assert_eq!(with(0, 4_000), (40, 0, Tone::Notice, true));
    // Who asked waited for an answer, of another socket perhaps.
    let mut f = facts("SOCKET_RCVBUFF");
    let mut s = SocketRow::begin(0xabc, 0);
    (s.arrived, s.last_ns) = (90, 4_000 * MS);
    f.udp_sockets.push(s);
    let mut t = TurnRow::begin(0, 7, 0);
    (t.awaited, t.end_ns) = (Awaited::Poll, 9_000 * MS);
    f.udp_turns.push(t);
    assert_eq!(told(&f), (0, 0, Tone::Bad, false));
    // Who answers may be waited for; the socket of before is another one.
    assert_eq!(with(3, 4_000), (0, 0, Tone::Bad, false));
    assert_eq!(with(0, 100), (11, 0, Tone::Bad, false));
}

#[test]
fn questions_to_an_address_that_answers_nobody_are_missed_by_nobody() {
    let with = |change: &dyn Fn(&mut Facts)| {
        let mut f = facts("NEIGH_FAILED");
        f.udp_sockets.push(SocketRow::begin(1, 0));
        f.udp_sockets[0].remote = "10.0.0.9:123".into();
        for n in 0..40i64 {
            let mut t = TurnRow::begin(0, 7, n * 100 * MS);
            (t.sends, t.end, t.end_ns) = (1, TurnEnd::AskedAgain, (n + 1) * 100 * MS);
            f.udp_turns.push(t);
        }
        change(&mut f);
        let (_, aside, tone, _) = told(&f);
        (aside, tone)
    };
    assert_eq!(with(&|_| {}), (40, Tone::Notice));
    // Its thread waits for each, and has nobody else to ask; or it has.
    let waits = |f: &mut Facts| f.udp_turns.iter_mut().for_each(|t| t.awaited = Awaited::Poll);
    assert_eq!(with(&waits), (0, Tone::Bad));
    let has_another = |f: &mut Facts| {
        waits(f);
        f.udp_sockets.push(SocketRow::begin(2, 0));
        f.udp_sockets[1].remote = "10.0.0.8:123".into();
        let mut t = TurnRow::begin(1, 7, 8_000 * MS);
        (t.sends, t.end, t.ready_ns) = (1, TurnEnd::Answered, Some(8_001 * MS));
        f.udp_turns.push(t);
    };
    assert_eq!(with(&has_another), (40, Tone::Notice));
    // It answered once; what was asked again went to one that answers.
    assert_eq!(with(&|f| f.udp_turns[3].ready_ns = Some(350 * MS)), (0, Tone::Bad));
    let again = |f: &mut Facts| {
        f.udp_sockets.push(SocketRow::begin(2, 0));
        f.udp_sockets[1].remote = "10.0.0.8:123".into();
        let mut t = TurnRow::begin(1, 7, 8_000 * MS);
        (t.sends, t.end, t.ready_ns) = (1, TurnEnd::Answered, Some(8_001 * MS));
        f.udp_turns.push(t);
        f.udp_turns[..40].iter_mut().for_each(|t| t.again = Some(40));
    };
    assert_eq!(with(&again), (0, Tone::Bad));
}
