//! Requests behind a large answer on their own connection.

use super::{MS, response};
use crate::analyses::application::{OneLine, answer};
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::receive::tables::RxRow;
use crate::reconstruct::transmit::tables::TxKind;

/// A client that asks each 10 ms and has its answer 1 ms later; `large` answers of 90 ms (at, ms) of 60 units of 8 kB, with `behind` requests of `bytes` while each comes.
fn found(large: &[i64], behind: i64, bytes: u32) -> Option<OneLine> {
    let mut f = Facts::empty();
    let mut c = crate::testing::tcp::connection(0);
    (c.sport, c.dport) = (1000, 6379);
    crate::testing::tcp::born(&mut f, c, super::SYN_SENT);
    let sent = |at: i64, bytes: u32| {
        let mut t = crate::testing::rows::sent();
        (t.connection, t.kind, t.start_ns, t.bytes) = (Some(ConnectionId(0)), TxKind::Tcp, at, Some(bytes));
        t
    };
    for n in 0..100i64 {
        let at = n * 10 * MS;
        if large.iter().any(|l| (*l..l + 100).contains(&(n * 10))) {
            continue;
        }
        let mut r = response(0, 0, 1);
        r.connection = ConnectionId(0);
        (r.send_ns, r.ready_ns, r.read_ns) = (at, Some(at + MS), at + MS);
        (r.complete_ns, r.peer) = (Some(at + MS), None);
        f.responses.push(r);
        f.tx.push(sent(at, 30 + (n % 3) as u32));
    }
    for at in large {
        for n in 0..60 {
            f.rx.push(RxRow {
                connection: Some(ConnectionId(0)),
                bytes: Some(8_192),
                start_ns: (at + 1) * MS + n * 3 * MS / 2,
                ..RxRow::default()
            });
        }
        f.tx.extend((0..behind).map(|n| sent((at + 10 + n * 10) * MS, bytes)));
    }
    f.tx.sort_by_key(|t| t.start_ns);
    answer(&f).findings().unwrap().one_line.clone()
}

#[test]
fn requests_behind_large_answers_wait_for_all_of_these() {
    let o = found(&[200, 600], 4, 31).unwrap();
    assert_eq!((o.answers, o.answer_bytes, o.requests), (2, 60 * 8_192, 8));
    // Sent 10, 20, 30 and 40 ms after an answer began that ends after 89.5 ms.
    assert_eq!((o.wait_ns, o.wait_max_ns), (59 * MS + MS / 2, 79 * MS + MS / 2));
    assert_eq!((o.usual_ns, o.answer_ns, o.others_ns), (MS, 88 * MS + MS / 2, None));
}

#[test]
fn what_else_is_sent_meanwhile_is_no_request() {
    // Window updates have a size of their own.
    assert_eq!(found(&[200, 600], 4, 13), None);
    // One large answer may be chance, as a few requests are.
    assert_eq!(found(&[200], 8, 31), None);
    assert_eq!(found(&[200, 600], 2, 31), None);
    assert_eq!(found(&[], 0, 31), None);
}
