//! Last messages that ask for nothing.

use super::MS;
use crate::analyses::application::answer;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::tcp::states::{CLOSE_WAIT, FIN_WAIT1};
use crate::reconstruct::transmit::tables::{TxKind, TxRow};

/// Two requests that are answered, and a last message of so many bytes that is not; sends of these bytes before it. That socket's state so many ms behind it.
fn ended(before: u32, last: u32, (state, ms): (i32, i64)) -> usize {
    let mut f = Facts::empty();
    (f.capture.start_ns, f.capture.end_ns) = (Some(0), Some(10_000 * MS));
    let mut c = crate::testing::tcp::connection(0);
    (c.sport, c.dport, c.born) = (40_000, 443, Some(2));
    f.connections.push(c);
    for (ms, bytes) in [(1_000, before), (2_000, before), (3_000, last)] {
        f.tx.push(TxRow {
            connection: Some(ConnectionId(0)),
            kind: TxKind::Tcp,
            bytes: Some(bytes),
            start_ns: ms * MS,
            t_sched_ns: ms * MS,
            ..crate::testing::sent()
        });
        if ms < 3_000 {
            let mut r = super::response(1, 0, 1);
            (r.connection, r.send_ns, r.read_ns) = (ConnectionId(0), ms * MS, (ms + 1) * MS);
            (r.ready_ns, r.complete_ns, r.peer) = (Some((ms + 1) * MS), Some((ms + 1) * MS), None);
            f.responses.push(r);
        }
    }
    f.tcp_states
        .push(crate::testing::tcp::state(0, state, (3_000 + ms) * MS));
    answer(&f).findings().unwrap().unanswered.len()
}

/// The peer closes 300 ms later.
fn unanswered(before: u32, last: u32) -> usize {
    ended(before, last, (CLOSE_WAIT, 300))
}

#[test]
fn an_alert_of_tls_behind_longer_messages_is_no_request() {
    assert_eq!(unanswered(146, 31), 0);
    assert_eq!(unanswered(517, 24), 0);
    // Of another length; of a protocol whose messages are all as short.
    assert_eq!(unanswered(146, 40), 1);
    assert_eq!(unanswered(31, 31), 1);
    // Its program closes at once, or after it has waited; the peer so late that it gave up.
    assert_eq!(ended(146, 31, (FIN_WAIT1, 1)), 0);
    assert_eq!(ended(146, 31, (FIN_WAIT1, 300)), 1);
    assert_eq!(ended(146, 31, (CLOSE_WAIT, 2_100)), 1);
}
