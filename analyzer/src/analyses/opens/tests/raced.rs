//! Requests that met a socket which its server had just closed.

use crate::analyses::opens::Raced;
use crate::analyses::opens::raced::raced;
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::opens::tables::{ResetRow, Sender};
use crate::reconstruct::receive::tables::RxRow;
use crate::reconstruct::skb::tables::SkbRow;
use crate::reconstruct::tcp::states::{FIN_WAIT1, SYN_RECV};
use crate::reconstruct::transmit::tables::TxRow;
use crate::testing::tcp::{born, connection, state};

const MS: i64 = 1_000_000;

/// Six connections of a server: each has a request at 100 ms, is closed after `idle(n)` ms, and its next request comes `behind` ms later.
fn facts(idle: impl Fn(i64) -> i64, behind: i64) -> Facts {
    let mut f = Facts::empty();
    f.capture.start_ns = Some(0);
    f.names.drop_reasons = Some(netmortem_formats::event_format::ValueTable {
        entries: vec![(77, "TCP_ABORT_ON_DATA".into())],
        kind: netmortem_formats::event_format::ValueTableKind::Symbolic,
    });
    for n in 0..6u32 {
        let mut row = connection(n);
        (row.sport, row.dport, row.task) = (8443, 40_000 + n as u16, Name::new(b"device-api"));
        born(&mut f, row, SYN_RECV);
        let close = 100 + idle(n.into());
        f.rx.push(RxRow {
            connection: Some(ConnectionId(n)),
            bytes: Some(200),
            start_ns: 99 * MS,
            ..RxRow::default()
        });
        f.tx.push(TxRow {
            connection: Some(ConnectionId(n)),
            start_ns: 100 * MS,
            ..crate::testing::sent()
        });
        f.tcp_states.push(state(n, FIN_WAIT1, close * MS));
        f.skbs.push(SkbRow {
            bytes: Some(266),
            ..crate::testing::life(n)
        });
        f.drops.push(DropRow {
            time_ns: (close + behind) * MS + 10_000,
            cpu: 0,
            reason: Some(77),
            location: 0,
            dev: Name::default(),
            skb_id: Some(SkbId(n)),
            protocol: 0x0800,
            expected: None,
            background: false,
            why: "",
            confidence: crate::Confidence::Strong,
            owner: None,
            icmp: None,
            cut_from: None,
            sk: 0,
            to: None,
            way: None,
            repair: None,
        });
        f.resets.push(ResetRow {
            time_ns: (close + behind) * MS,
            received: false,
            connection: Some(ConnectionId(n)),
            from: Some(("10.0.0.1".parse().unwrap(), 8443)),
            to: Some(("10.0.0.2".parse().unwrap(), 40_000 + n as u16)),
            reason: "TCP_ABORT_ON_DATA".into(),
            sender: Sender::Here,
            confidence: crate::Confidence::Certain,
        });
    }
    f
}

#[test]
fn silences_that_are_alike_are_a_time_out() {
    let f = facts(|n| 1_000 + n, 2);
    let told = raced(&f).unwrap();
    let expect = Raced {
        at: "10.0.0.1:8443".into(),
        by: "device-api".into(),
        connections: 6,
        idle_ns: 1_002 * MS,
        behind_ns: 2 * MS,
    };
    assert_eq!(told, expect);
    // Closed behind an answer; at any time, as one that is stopped; long before what came.
    assert_eq!(raced(&facts(|_| 20, 2)), None);
    assert_eq!(raced(&facts(|n| 300 + 150 * n, 2)), None);
    assert_eq!(raced(&facts(|n| 1_000 + n, 80)), None);
    // Who connected, and closed, is no server.
    let mut f = facts(|n| 1_000 + n, 2);
    f.connections
        .iter_mut()
        .for_each(|c| c.born = Some(crate::reconstruct::tcp::states::SYN_SENT));
    assert_eq!(raced(&f), None);
    // A farewell of TLS is no request; a request that had no answer is no idle connection.
    let mut f = facts(|n| 1_000 + n, 2);
    f.skbs.iter_mut().for_each(|s| s.bytes = Some(97));
    assert_eq!(raced(&f), None);
    let mut f = facts(|n| 1_000 + n, 2);
    f.rx.iter_mut().for_each(|r| r.start_ns = 101 * MS);
    assert_eq!(raced(&f), None);
    // Since when two of three were silent is not known.
    let mut f = facts(|n| 1_000 + n, 2);
    f.tx.truncate(2);
    f.rx.truncate(2);
    assert_eq!(raced(&f), None);
}

/// A client of the recording whose kernel had the FIN 20 ms before it sent did not look; one that had it 1 ms before had looked by then.
#[test]
fn who_does_not_look_races_nothing() {
    use crate::reconstruct::tcp::states::{CLOSE_WAIT, SYN_SENT};
    let clients = |had: i64, handed_on: Option<i64>| {
        let mut f = facts(|n| 1_000 + n, 30);
        for n in 0..6u32 {
            let client = n + 6;
            born(&mut f, connection(client), SYN_SENT);
            f.connections[n as usize].peer = Some(ConnectionId(client));
            let sent = (100 + 1_000 + i64::from(n) + 29) * MS;
            f.tcp_states.push(state(client, CLOSE_WAIT, sent - had * MS));
            f.tx.push(TxRow {
                connection: Some(ConnectionId(client)),
                start_ns: sent,
                pid: 55 + n as i32,
                ..crate::testing::sent()
            });
            // What came to the same thread on another connection so long before, and was read just now.
            f.rx.extend(handed_on.map(|before| RxRow {
                connection: Some(ConnectionId(50)),
                pid: 55 + n as i32,
                bytes: Some(200),
                start_ns: sent - before * MS,
                total_ns: before * MS - 100_000,
                ..RxRow::default()
            }));
        }
        f
    };
    let with_clients = |had, handed_on| raced(&clients(had, handed_on)).map(|r| r.connections);
    let closes_on = |had: i64| {
        let mut f = clients(had, None);
        let fins: Vec<i64> = f
            .tcp_states
            .iter()
            .filter(|s| s.state == CLOSE_WAIT)
            .map(|s| s.time_ns)
            .collect();
        for (n, at) in (0i32..).zip(fins) {
            let mut row = state(50, FIN_WAIT1, at + 200_000);
            row.pid = 55 + n;
            f.tcp_states.push(row);
        }
        raced(&f).map(|r| r.connections)
    };
    assert_eq!((with_clients(20, None), with_clients(1, None)), (None, Some(6)));
    // A proxy hands on the close, and then what its own client sent meanwhile, be that in a view or not; not what it had before the FIN.
    assert_eq!(closes_on(20), Some(6));
    assert_eq!((with_clients(20, Some(2)), with_clients(20, Some(25))), (Some(6), None));
}

#[test]
fn it_is_the_cause_of_the_line() {
    let mut f = facts(|n| 1_000 + n, 2);
    f.capture.events.insert("sock:inet_sock_set_state".into(), 1);
    let answers = crate::analyses::answer(&f);
    let line = answers.verdict.iter().find(|l| l.subject == "opens").unwrap();
    let says = "10.0.0.1:8443 (device-api) closed 6 connections after 1.002 s without a request";
    assert!(line.headline.starts_with(says) && line.names_cause, "{}", line.headline);
    assert!(line.sentence.contains(says), "{}", line.sentence);
}
