//! Network or peer, where both ends are in the recording.

use super::{answer, segment};
use crate::Confidence::Certain;
use crate::analyses::Outcome;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::application::tables::TurnaroundRow;
use crate::reconstruct::tcp::tables::ConnectionRow;
use crate::reconstruct::thread::Split;
use crate::reconstruct::transmit::Stage;
use crate::reconstruct::transmit::tables::{TxEnd, TxRow};

/// Between the device and the ACK the peer's application had the data: of segments whose peer is here, by its turnarounds, each moment once.
#[test]
fn the_peers_part_is_told_by_its_own_turnarounds() {
    let socket = |n: u32, sport, dport| ConnectionRow {
        born: None,
        listens: None,
        connection: ConnectionId(n),
        saddr: Some("10.0.0.1".parse().unwrap()),
        sport,
        daddr: Some("10.0.0.1".parse().unwrap()),
        dport,
        skaddr: 0,
        cookie: None,
        task: Name::default(),
        pid: 0,
        first_ns: 0,
        last_ns: 0,
        bytes_in: 0,
        bytes_out: 0,
        bytes_read: None,
        bytes_written: None,
        retransmits: None,
        retransmit_segments: None,
        retransmits_refused: None,
        samples: 1,
        peer: None,
        confidence: Certain,
    };
    let turned = |ready, send| TurnaroundRow {
        connection: ConnectionId(1),
        pid: 7,
        task: Name::default(),
        sender_pid: 7,
        sender: Name::default(),
        ready_ns: Some(ready),
        read_ns: ready,
        send_ns: send,
        reads: 1,
        split: Split::default(),
        asleep_in: Name::default(),
        asleep_in_ns: 0,
        held_ns: 0,
        woken_by: Name::default(),
        woken_by_pid: 0,
        woken_by_ns: 0,
        woken_at_ns: 0,
        ran_meanwhile: crate::name::Name::default(),
        ran_meanwhile_pid: 0,
        ran_meanwhile_ns: 0,
        asleep_on: None,
        run_queue_task: Name::default(),
        overlap: false,
        confidence: Certain,
    };
    let sent = |n, connection, acked, network| TxRow {
        connection: Some(ConnectionId(connection)),
        t_ack_ns: Some(acked),
        ..segment(n, TxEnd::Acked, &[(Stage::Network, network)], Certain)
    };
    let mut f = Facts::empty();
    f.connections = vec![socket(0, 40_000, 80), socket(1, 80, 40_000), socket(2, 40_001, 80)];
    f.connections[0].peer = Some(ConnectionId(1));
    f.connections[1].peer = Some(ConnectionId(0));
    // From 100 to 300, of which the peer had it from 110 to 290; then from 400 to 410, unanswered till 500; socket 2 has no peer here.
    f.tx = vec![sent(0, 0, 300, 200), sent(1, 0, 410, 10), sent(2, 2, 900, 800)];
    f.turnarounds = vec![turned(110, 290), turned(200, 280), turned(404, 500)];
    let part = |f: &Facts| {
        let Outcome::Findings(t) = answer(f) else { panic!() };
        t.peer.map(|p| (p.segments, p.network_ns, p.application_ns))
    };
    assert_eq!(part(&f), Some((2, 210, 180 + 6)));
    let verdict = crate::analyses::answer(&f).verdict;
    let line = verdict.iter().find(|l| l.subject == "transmit").unwrap();
    let said = "(89 % of it, of 2 segments whose peers are in this recording, while the peer's application had data and had not answered)";
    assert!(line.sentence.contains(said), "{}", line.sentence);
    // Which socket it was is not known.
    f.connections[0].peer = None;
    assert_eq!(part(&f), None);
}
