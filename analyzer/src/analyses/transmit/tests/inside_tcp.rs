//! A tunnel of a program that goes through one TCP connection.

use super::answer;
use crate::analyses::Outcome;
use crate::analyses::transmit::{Inside, InsideTcp};
use crate::analyses::verdict::causes_of_sent;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::skb::{ByProgram, Traffic};
use crate::reconstruct::transmit::{Halt, Stage};

/// openvpn/7 gave 20 packets to tun0 and took 30 from it; its connection 0 carries them, and had 5 segments sent again. Inside are 1, which sent 2
/// again, and 2. Connection 3 is another program's.
fn facts() -> Facts {
    let mut f = Facts::empty();
    for n in 0..4u32 {
        let mut c = crate::testing::tcp::connection(n);
        (c.pid, c.task) = (100 + n as i32, Name::new(b"curl"));
        (c.bytes_written, c.bytes_read) = (Some(500), Some(5_000));
        (c.sport, c.dport) = (40_000 + n as u16, 1194);
        (c.retransmits, c.retransmit_segments) = (Some(0), Some(0));
        f.connections.push(c);
        let mut sent = crate::testing::sent();
        sent.connection = Some(ConnectionId(n));
        sent.dev = Name::new(if n == 1 || n == 2 { b"tun0" } else { b"eth0" });
        f.tx.push(sent);
    }
    let outer = &mut f.connections[0];
    (outer.pid, outer.task) = (7, Name::new(b"openvpn"));
    (outer.bytes_written, outer.bytes_read) = (Some(3_500), Some(2_400));
    outer.retransmit_segments = Some(5);
    f.connections[1].retransmit_segments = Some(2);
    let lost = Halt {
        by: Stage::Recovery,
        from: 1_000_000,
        to: 201_000_000,
    };
    f.halts.insert(ConnectionId(0), vec![lost]);
    f.by_program.push(ByProgram {
        dev: Name::new(b"tun0"),
        pid: 7,
        gave: Traffic {
            packets: 20,
            bytes: 2_000,
        },
        took: Traffic {
            packets: 30,
            bytes: 3_000,
        },
    });
    f
}

fn found(f: &Facts) -> Option<InsideTcp> {
    let Outcome::Findings(t) = answer(f) else { panic!() };
    t.inside_tcp
}

#[test]
fn what_is_lost_of_the_outer_one_holds_up_all_inside() {
    let f = facts();
    let of = found(&f).unwrap();
    let inside = Inside {
        connections: 2,
        sent_again: 1,
        segments: 2,
    };
    assert_eq!((of.again, of.packets, of.inside), (5, 50, Some(inside)));
    let Outcome::Findings(t) = answer(&f) else { panic!() };
    assert_eq!(
        causes_of_sent(&t)[0],
        "packets of tun0 go through one TCP connection of openvpn (10.0.0.1:40000 > 10.0.0.2:1194), of which 5 segments were retransmitted: all connections inside wait for each of them (head-of-line blocking, TCP in TCP where they are TCP); a tunnel over UDP would hold up only the one whose packet was lost (inferred); 1 of 2 TCP connections inside sent 2 segments again as well"
    );
}

/// Both ends in the recording are one tunnel; another thread of the process is it, too.
#[test]
fn both_ends_are_one() {
    let mut f = facts();
    let mut end = f.connections[0].clone();
    (end.connection, end.peer, end.pid) = (ConnectionId(4), Some(ConnectionId(0)), 9);
    (end.sport, end.dport) = (end.dport, end.sport);
    (end.bytes_written, end.bytes_read) = (end.bytes_read, end.bytes_written);
    f.connections[0].peer = Some(ConnectionId(4));
    f.connections.push(end);
    let there = ByProgram {
        pid: 8,
        gave: f.by_program[0].took,
        took: f.by_program[0].gave,
        ..f.by_program[0]
    };
    f.by_program.push(there);
    f.processes.insert(9, (8, Name::new(b"openvpn")));
    let of = found(&f).unwrap();
    assert_eq!((of.again, of.packets), (10, 100));
    assert!(of.inside.is_some());
    // Of a namesake whose packets go elsewhere those inside are not told from those of this one.
    f.by_program.push(ByProgram {
        pid: 66,
        ..f.by_program[0]
    });
    assert_eq!(found(&f).unwrap().inside, None);
}

#[test]
fn what_is_not_in_one_connection_is_none() {
    let none = |change: &dyn Fn(&mut Facts)| {
        let mut f = facts();
        change(&mut f);
        assert_eq!(found(&f), None);
    };
    // Nothing was sent again, or it is not known.
    none(&|f| f.connections[0].retransmit_segments = Some(0));
    none(&|f| (f.connections[0].retransmit_segments, f.connections[0].retransmits) = (None, None));
    // A tunnel over UDP: its process has no connection, or one for its control alone.
    none(&|f| f.connections[0].pid = 55);
    none(&|f| f.connections[0].bytes_written = Some(2_900));
    none(&|f| f.connections[0].bytes_read = Some(1_900));
    // Few packets, one way alone.
    none(&|f| f.by_program[0].took.packets = 9);
    // Another connection of the process has as many bytes.
    none(&|f| {
        (f.connections[3].pid, f.connections[3].bytes_read) = (7, Some(6_000));
    });
    none(&|f| f.gaps.push(crate::testing::gap(0, 1)));
    // A disk on the network: far more bytes than those of the packets.
    none(&|f| f.connections[0].bytes_read = Some(10_000_000));
    // Probes of a tail that had arrived, or losses of another connection.
    none(&|f| f.halts.clear());
    none(&|f| f.halts.values_mut().flatten().for_each(|h| h.by = Stage::Rwnd));
}
