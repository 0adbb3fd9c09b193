//! Data of which nothing was acknowledged.

use super::*;
use crate::reconstruct::tcp::states::{CLOSE_WAIT, FIN_WAIT1};
use crate::testing::tcp::{born, connection, sent_again};

const S: i64 = 1_000_000_000;

/// Connection 0 sends at 1 s, and its timer twice again; of connection 1 the same was acknowledged.
fn recorded() -> Facts {
    let mut f = Facts::empty();
    for event in [ACKS, STATES] {
        f.capture.events.insert(event.into(), 1);
    }
    f.capture.start_ns = Some(S);
    for c in 0..2u32 {
        born(&mut f, connection(c), 3);
        f.tx.push(TxRow {
            skb_id: crate::facts::SkbId(c),
            connection: Some(ConnectionId(c)),
            start_ns: 2 * S - 7,
            t_sched_ns: 2 * S,
            at_least_ns: (c == 0).then_some(3 * S / 2 + 7),
            censored: (c == 0).then_some(Censored::End),
            end: if c == 0 { TxEnd::Open } else { TxEnd::Acked },
            retransmits: 2,
            ..crate::testing::sent()
        });
        for at in [5, 9] {
            f.retransmits
                .push(sent_again(c, RetransmitClass::Rto, 2 * S + at * S / 10));
        }
    }
    f
}

#[test]
fn two_timeouts_in_vain_are_told_from_the_first_sending_to_where_it_is_known() {
    let u = unacked(&recorded()).unwrap();
    assert_eq!((u.connection, u.timeouts, u.others.len()), (0, 2, 0));
    assert_eq!((u.from_ns, u.to_ns), (S, 5 * S / 2));
    assert_eq!(u.first.map(|id| id.to_string()).as_deref(), Some("tx:0"));
}

#[test]
fn what_may_only_be_late_or_is_not_known_is_not_told() {
    let without = |change: &dyn Fn(&mut Facts)| {
        let mut f = recorded();
        change(&mut f);
        unacked(&f)
    };
    // One timeout; a loss that was seen by its duplicates.
    assert_eq!(without(&|f| _ = f.retransmits.remove(0)), None);
    assert_eq!(without(&|f| f.retransmits[0].class = RetransmitClass::Fast), None);
    // Its peer had closed its side, or its own program, before the second: no ACK is told since.
    for state in [CLOSE_WAIT, FIN_WAIT1] {
        let closed = |f: &mut Facts| {
            f.tcp_states
                .push(crate::testing::tcp::state(0, state, 2 * S + 6 * S / 10))
        };
        assert_eq!(without(&closed), None);
    }
    // More was sent by it, and that was acknowledged.
    let other = |f: &mut Facts| f.tx[1].connection = Some(ConnectionId(0));
    assert_eq!(without(&other), None);
    // Under way when the recording began, or while events were lost; nothing tells of ACKs.
    assert_eq!(without(&|f| f.tx[0].censored = Some(Censored::Start)), None);
    assert_eq!(without(&|f| f.tx[0].censored = Some(Censored::Loss)), None);
    assert_eq!(without(&|f| _ = f.capture.events.remove(ACKS)), None);
    // Two such: the one that waited longer.
    let both = |f: &mut Facts| {
        f.tx[1].end = TxEnd::Open;
        f.tx[1].at_least_ns = Some(4 * S);
    };
    let u = without(&both).unwrap();
    assert_eq!((u.connection, u.others), (1, vec![0]));
}
