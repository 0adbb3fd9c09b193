//! What came of connections that stood while nobody could accept.

use crate::analyses::opens::FailedAccepts;
use crate::analyses::opens::accepts::failed;
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::opens::tables::NotAccepted;
use crate::reconstruct::receive::tables::{RxEnd, RxRow};
use crate::reconstruct::tcp::states::{CLOSE_WAIT, ESTABLISHED};
use crate::testing::tcp::{born, connection, state};

const S: i64 = 1_000_000_000;

/// Accepts of port 80 failed at 1 and at 9 s. Connection 0 was established at 2 s, and something came to it that nobody read; connection 1 at 3 s, and was read at once;
/// connection 2 was closed by its client at 1.5 s, and its program had used it; connection 3, too, and nobody had accepted it.
fn facts() -> Facts {
    let mut f = Facts::empty();
    (f.capture.start_ns, f.capture.end_ns) = (Some(0), Some(10 * S));
    for n in 0..4 {
        let mut c = connection(n);
        (c.sport, c.dport) = (80, 40_000 + n as u16);
        born(&mut f, c, ESTABLISHED);
    }
    f.connections[2].bytes_written = Some(100);
    f.tcp_states.clear();
    f.tcp_states = vec![
        state(2, CLOSE_WAIT, 1_500_000_000),
        state(3, CLOSE_WAIT, 1_500_000_000),
        state(0, ESTABLISHED, 2 * S),
        state(1, ESTABLISHED, 3 * S),
    ];
    let unit = |n: u32, end| RxRow {
        skb_id: SkbId(n),
        connection: Some(ConnectionId(n)),
        start_ns: 4 * S,
        total_ns: 1_000,
        end,
        ..RxRow::default()
    };
    f.rx = vec![unit(0, RxEnd::Queued), unit(1, RxEnd::Read)];
    f.not_accepted.push(NotAccepted {
        pid: 7,
        task: Name::new(b"brokerd"),
        error: 24,
        times: 2,
        first_ns: S,
        last_ns: 9 * S,
        port: Some(80),
    });
    f
}

fn told(f: &Facts) -> FailedAccepts {
    failed(f).remove(0)
}

#[test]
fn what_was_served_did_not_wait_for_an_accept() {
    let of = told(&facts());
    assert_eq!((of.stood, of.unread, of.closed_unread), (1, Some(1), 0));
    // Two were read.
    let mut f = facts();
    f.rx[0].end = RxEnd::Read;
    let of = told(&f);
    assert_eq!((of.stood, of.unread), (0, Some(0)));
}

#[test]
fn what_nobody_accepted_has_no_descriptor() {
    assert_eq!(told(&facts()).close_wait, 1);
    // Closed a moment before the recording ended.
    let mut f = facts();
    f.tcp_states.push(state(2, CLOSE_WAIT, 9_900_000_000));
    assert_eq!(told(&f).close_wait, 0);
    // Sockets of several namespaces listen at it: of none is told.
    let mut f = facts();
    f.listeners.insert(81, 1);
    let of = told(&f);
    assert_eq!((of.stood, of.close_wait), (0, 0));
}
