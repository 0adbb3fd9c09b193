//! Connections whose FIN waited for another process, and such that the kernel reset by itself.

use crate::analyses::opens::inherited::inherited;
use crate::analyses::opens::orphans::orphans;
use crate::analyses::opens::{Inherited, Orphans};
use crate::counters::tables::CounterRow;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::opens::tables::{ResetRow, Sender};
use crate::reconstruct::receive::tables::RxRow;
use crate::reconstruct::tcp::states::{CLOSE_WAIT, FIN_WAIT1, LAST_ACK, SYN_RECV, SYN_SENT};
use crate::reconstruct::transmit::tables::TxRow;
use crate::testing::tcp::{born, connection, state};

const MS: i64 = 1_000_000;
const SERVER: i32 = 70;

/// Five connections of a server, each answered at 100 ms by its thread; `by` closes them `held` ms later; their clients close `behind` ms after the FIN.
fn served(by: (i32, &str), held: i64, behind: i64) -> Facts {
    let mut f = Facts::empty();
    f.capture.start_ns = Some(0);
    for n in 0..5u32 {
        let (server, client) = (2 * n, 2 * n + 1);
        let mut row = connection(server);
        (row.sport, row.dport, row.task, row.pid) = (8000, 40_000 + n as u16, Name::new(b"python3"), SERVER);
        row.peer = Some(ConnectionId(client));
        born(&mut f, row, SYN_RECV);
        let mut row = connection(client);
        (row.sport, row.dport, row.peer) = (40_000 + n as u16, 8000, Some(ConnectionId(server)));
        born(&mut f, row, SYN_SENT);
        f.rx.push(RxRow {
            connection: Some(ConnectionId(server)),
            bytes: Some(40),
            start_ns: 99 * MS,
            pid: SERVER,
            ..RxRow::default()
        });
        f.tx.push(TxRow {
            connection: Some(ConnectionId(server)),
            start_ns: 100 * MS,
            pid: SERVER,
            ..crate::testing::sent()
        });
        let closed = 100 * MS + held * MS;
        let mut close = state(server, FIN_WAIT1, closed);
        // Each by a process of its own, but the server's.
        let pid = if by.0 == SERVER { SERVER } else { by.0 + n as i32 };
        (close.pid, close.task) = (pid, Name::new(by.1.as_bytes()));
        f.tcp_states.push(close);
        f.tcp_states.push(state(client, CLOSE_WAIT, closed + 1_000));
        f.tcp_states.push(state(client, LAST_ACK, closed + behind * MS));
    }
    f
}

#[test]
fn a_copy_of_a_descriptor_keeps_a_connection_open() {
    let expect = Inherited {
        at: "10.0.0.1:8000".into(),
        task: "python3".into(),
        by: "archiver".into(),
        connections: 5,
        held_ns: 2_500 * MS,
        longest_ns: 2_500 * MS,
        waited: 5,
        clients: 5,
    };
    assert_eq!(inherited(&served((99, "archiver"), 2_500, 1)), Some(expect));
    let none = |f: Facts| assert_eq!(inherited(&f), None);
    // By its own thread, or another of its name; at once; by clients that did not wait.
    none(served((SERVER, "python3"), 2_500, 1));
    none(served((99, "python3"), 2_500, 1));
    none(served((99, "archiver"), 20, 1));
    none(served((99, "archiver"), 2_500, 900));
    // By a thread of the server's process, which closes what is idle.
    let mut own = served((99, "reaper"), 2_500, 1);
    for pid in 99..104 {
        own.processes.insert(pid, (SERVER, Name::new(b"python3")));
    }
    none(own);
    // One stranger alone, at several moments; clients of which nothing is known; events were lost.
    let mut one = served((99, "reaper"), 2_500, 1);
    for s in one.tcp_states.iter_mut().filter(|s| s.pid > 0) {
        (s.pid, s.time_ns) = (99, s.time_ns + i64::from(s.connection.0) * MS);
    }
    none(one);
    let mut outside = served((99, "archiver"), 2_500, 1);
    for c in &mut outside.connections {
        c.peer = None;
    }
    none(outside);
    let mut lossy = served((99, "archiver"), 2_500, 1);
    lossy.gaps.push(crate::testing::gap(1, 2));
    none(lossy);
    // A question came after the last answer.
    let mut asked = served((99, "archiver"), 2_500, 1);
    for r in &mut asked.rx {
        r.start_ns = 200 * MS;
    }
    none(asked);
}

#[test]
fn what_the_kernel_resets_for_want_of_orphans_is_told() {
    let mut f = served((SERVER, "nginx"), 0, 1);
    let reset = |c: u32, reason: &str| {
        let row = &f.connections[c as usize];
        ResetRow {
            time_ns: 1,
            received: false,
            connection: Some(ConnectionId(c)),
            from: row.saddr.map(|a| (a, row.sport)),
            to: row.daddr.map(|a| (a, row.dport)),
            reason: reason.into(),
            sender: Sender::Here,
            confidence: crate::Confidence::Certain,
        }
    };
    // Two of the server, three of clients' own ends, and one for another reason.
    let rows = [0, 2, 1, 3, 5].map(|c| reset(c, "TCP_ABORT_ON_MEMORY"));
    let other = reset(4, "TCP_ABORT_ON_CLOSE");
    f.resets.extend(rows);
    f.resets.push(other);
    f.settings.0.insert("net.ipv4.tcp_max_orphans".into(), "2".into());
    let expect = Orphans {
        at: "10.0.0.1:8000".into(),
        task: "python3".into(),
        connections: 2,
        all: 5,
        setting: "net.ipv4.tcp_max_orphans = 2".into(),
        short_of_memory: false,
        roomy: false,
        first_ns: 1,
    };
    assert_eq!(orphans(&f), Some(expect.clone()));
    // Far more are allowed than there are sockets.
    f.settings.0.insert("net.ipv4.tcp_max_orphans".into(), "131072".into());
    assert!(orphans(&f).unwrap().roomy);
    f.settings.0.insert("net.ipv4.tcp_max_orphans".into(), "2".into());
    f.counters = vec![CounterRow {
        source: "netstat",
        netns: Some(1),
        of: String::new(),
        name: "TcpExtTCPMemoryPressures".into(),
        start: Some(1),
        end: Some(3),
    }];
    let short = Orphans {
        short_of_memory: true,
        ..expect
    };
    assert_eq!(orphans(&f), Some(short));
    f.resets.retain(|r| r.reason == "TCP_ABORT_ON_CLOSE");
    assert_eq!(orphans(&f), None);
}

/// Ten RSTs that neither end sent, `apart` before the drop of a packet of theirs.
#[test]
fn a_rule_that_rejects_is_told() {
    use crate::analyses::opens::rejected::rejected;
    use crate::reconstruct::whose::{Carries, Owner};
    let of = |apart: i64, reason: &str| {
        let mut f = Facts::empty();
        f.names.drop_reasons = Some(netmortem_formats::event_format::ValueTable {
            entries: vec![(8, reason.into())],
            kind: netmortem_formats::event_format::ValueTableKind::Symbolic,
        });
        f.names.locations.insert(0x10, "nft_do_chain".into());
        let mut resets = vec![];
        for c in 0..10u32 {
            f.connections.push(connection(c));
            let at = i64::from(c) * 1_000 * MS;
            let mut row = crate::testing::drop_at(at);
            (row.reason, row.location, row.expected) = (Some(8), 0x10, Some(false));
            row.owner = Some(Owner {
                connection: Some(ConnectionId(c)),
                carries: Carries::Data,
                task: Name::default(),
                pid: 0,
                confidence: crate::Confidence::Strong,
            });
            f.drops.push(row);
            resets.push((ConnectionId(c), at - apart));
        }
        rejected(&f, &resets)
    };
    let found = of(3_000, "NETFILTER_DROP").unwrap();
    assert_eq!(found.count, 10);
    assert!(found.place.starts_with("NETFILTER_DROP at nft_do_chain"), "{found:?}");
    // Long before or after; dropped for another reason.
    assert_eq!(of(5 * MS, "NETFILTER_DROP"), None);
    assert_eq!(of(-5 * MS, "NETFILTER_DROP"), None);
    assert_eq!(of(3_000, "NO_SOCKET"), None);
}
