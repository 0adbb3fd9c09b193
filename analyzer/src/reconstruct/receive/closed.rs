//! What lay unread in TCP sockets that their program closed: no reader will come, and the end of the recording cuts nothing off.
//!
//! In: rows that were queued at the end, states of sockets. net/ipv4/tcp.c `__tcp_close` frees what the receive queue holds, and sets the state to CLOSE at once where that was
//! unread. Must not take for one: a socket that the peer's RST or a timer brought to CLOSE, whose queue its program may read yet.

use rustc_hash::FxHashMap;

use super::tables::{Censored, RxEnd, RxRow};
use crate::facts::ConnectionId;
use crate::reconstruct::tcp::states::CLOSE;
use crate::reconstruct::tcp::tables::StateRow;

/// Ends those rows.
pub fn closed(rows: &mut [RxRow], states: &[StateRow]) {
    let mut last: FxHashMap<ConnectionId, &StateRow> = FxHashMap::default();
    for s in states.iter().filter(|s| s.kind == "sock") {
        last.insert(s.connection, s);
    }
    let queued = |r: &&mut RxRow| r.end == RxEnd::Queued && r.censored == Some(Censored::End);
    for row in rows.iter_mut().filter(queued) {
        let of = row.connection.and_then(|c| last.get(&c));
        if of.is_some_and(|s| s.state == CLOSE && s.in_task && s.time_ns >= row.start_ns) {
            row.end = RxEnd::Closed;
            (row.censored, row.at_least_ns) = (None, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::SkbId;
    use crate::testing::tcp::state;

    #[test]
    fn what_a_closed_socket_held_is_not_waiting_for_a_reader() {
        let row = |n: u32, end, censored| RxRow {
            skb_id: SkbId(n),
            connection: Some(ConnectionId(n)),
            end,
            censored,
            start_ns: 100,
            at_least_ns: Some(900),
            ..RxRow::default()
        };
        let mut rows = [
            row(0, RxEnd::Queued, Some(Censored::End)),
            row(1, RxEnd::Queued, Some(Censored::End)),
            row(2, RxEnd::Queued, Some(Censored::Loss)),
            row(3, RxEnd::Read, None),
            row(4, RxEnd::Queued, Some(Censored::End)),
        ];
        // The second is open yet; what was lost of the third may have been a read of it; to the fifth came a RST.
        let states = [
            state(0, 1, 50),
            state(0, CLOSE, 500),
            state(1, 8, 500),
            state(2, CLOSE, 500),
            StateRow {
                in_task: false,
                pid: 0,
                task: crate::name::Name::default(),
                ..state(4, CLOSE, 500)
            },
        ];
        closed(&mut rows, &states);
        let ends: Vec<_> = rows.iter().map(|r| (r.end, r.censored, r.at_least_ns)).collect();
        assert_eq!(
            ends,
            [
                (RxEnd::Closed, None, None),
                (RxEnd::Queued, Some(Censored::End), Some(900)),
                (RxEnd::Queued, Some(Censored::Loss), Some(900)),
                (RxEnd::Read, None, Some(900)),
                (RxEnd::Queued, Some(Censored::End), Some(900)),
            ]
        );
    }
}
