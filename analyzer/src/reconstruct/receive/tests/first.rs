//! Data in the segment that completes a handshake.

use super::*;
use crate::Confidence;
use crate::facts::Facts;
use crate::reconstruct::receive::tables::RxEnd;
use crate::testing::tcp::Sock;

const CHILD: Sock = Sock {
    sk: 0xffff_8880_1000_9000,
    cookie: 99,
    sport: 80,
    dport: 50_000,
};
const B: u64 = A + 0x10_0000;

/// Another socket's segment shows how long headers are; then, unless `without`, `payloads` arrive in one batch and a handshake completes; a thread
/// reads 65 bytes of the first 900 ns later.
fn facts(payloads: &[u64], learnt: bool) -> Facts {
    let mut s = script();
    soft(&mut s, 50, 0, "entry");
    if learnt {
        arrive(&mut s, 60, A, 100);
    }
    soft(&mut s, 90, 0, "exit");
    soft(&mut s, 100, 0, "entry");
    for (n, payload) in payloads.iter().enumerate() {
        recv(&mut s, 110 + n as u64, B + n as u64 * 0x1000, *payload);
    }
    CHILD.cong(&mut s, T + 130, 0, SOFT, 0);
    CHILD.state(&mut s, T + 140, 0, SOFT, 3, 1);
    CHILD.ready(&mut s, T + 150, 0, SOFT);
    soft(&mut s, 160, 0, "exit");
    let v = [("skbaddr", N(B)), ("len", N(65))];
    s.ev(T + 1050, 1, TASK, "skb:skb_copy_datagram_iovec", &v);
    CHILD.recv_length(&mut s, T + 1055, 1, PID, 65, 0);
    exit(&mut s, 1060, "recvfrom", 65);
    s.facts()
}

fn row(f: &Facts) -> Option<&RxRow> {
    let c = f.connections.iter().find(|c| c.sport == 80).unwrap().connection;
    f.rx.iter().find(|r| r.connection == Some(c))
}

#[test]
fn it_is_the_sockets_and_waits_for_its_reader() {
    let f = facts(&[65], true);
    let r = row(&f).unwrap();
    assert_eq!(
        (r.end, r.bytes, r.confidence),
        (RxEnd::Read, Some(65), Confidence::Strong)
    );
    assert_eq!((r.start_ns, r.rcvq_ns), ((T + 110) as i64, Some(900)));
    assert_eq!(r.stages.sum() + r.unattributed_ns, r.total_ns);
    let child = f.connections.iter().find(|c| c.sport == 80).unwrap();
    assert_eq!((child.bytes_in, child.bytes_read), (65, Some(65)));
    assert!(f.balances.iter().all(|b| b.unexplained_bytes == 0), "{:?}", f.balances);
}

#[test]
fn an_ack_without_data_brings_none() {
    // A handshake as most are; data behind the ACK in one batch; headers that nobody has seen.
    for (payloads, learnt) in [(&[0][..], true), (&[0, 65], true), (&[65], false)] {
        let f = facts(payloads, learnt);
        assert_eq!(row(&f).map(|r| r.bytes), None, "{payloads:?} {learnt}");
    }
    // Two that bring data: which of them is a guess. An ACK with 20 bytes of options more than others have.
    for payloads in [&[65, 300][..], &[20]] {
        let f = facts(payloads, true);
        assert_eq!(row(&f).map(|r| r.bytes), None, "{payloads:?}");
    }
}
