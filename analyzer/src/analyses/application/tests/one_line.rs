//! Requests behind answers to others on their own connection.

use super::{MS, response};
use crate::analyses::application::{OneLine, answer};
use crate::facts::{ConnectionId, Facts};
use crate::ingest::GapRow;
use crate::reconstruct::receive::tables::RxRow;
use crate::reconstruct::transmit::tables::TxKind;

/// A client (0) that asks a server (1) each 10 ms and has its answer of `small` bytes 1 ms later. At each of `large` (ms) the server writes 60 units of 8 kB at once,
/// which arrive over 90 ms; 10, 20, ... ms behind that the client sends `behind` requests of `bytes`.
fn found(large: &[i64], behind: (i64, u32), small: u32) -> Option<OneLine> {
    found_with(large, behind, small, vec![])
}

fn found_with(large: &[i64], (behind, bytes): (i64, u32), small: u32, gaps: Vec<GapRow>) -> Option<OneLine> {
    let mut f = Facts::empty();
    f.gaps = gaps;
    for n in 0..2u32 {
        let mut c = crate::testing::tcp::connection(n);
        (c.sport, c.dport) = if n == 0 { (1000, 6379) } else { (6379, 1000) };
        c.peer = Some(ConnectionId(1 - n));
        crate::testing::tcp::born(&mut f, c, if n == 0 { super::SYN_SENT } else { 3 });
    }
    let sent = |c: u32, at: i64, bytes: u32| {
        let mut t = crate::testing::rows::sent();
        (t.connection, t.kind, t.start_ns, t.bytes) = (Some(ConnectionId(c)), TxKind::Tcp, at, Some(bytes));
        t
    };
    let came = |at: i64, bytes: u32| RxRow {
        connection: Some(ConnectionId(0)),
        bytes: Some(bytes),
        start_ns: at,
        ..RxRow::default()
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
        f.tx.push(sent(0, at, 30 + (n % 3) as u32));
        f.tx.push(sent(1, at + MS / 2, small));
        f.rx.push(came(at + MS, small));
    }
    for at in large {
        for n in 0..60 {
            f.rx.push(came((at + 1) * MS + n * 3 * MS / 2, 8_192));
        }
        f.tx.push(sent(1, at * MS, 60 * 8_192));
        f.tx.extend((0..behind).map(|n| sent(0, (at + 10 + n * 10) * MS, bytes)));
    }
    f.tx.sort_by_key(|t| t.start_ns);
    answer(&f).findings().unwrap().one_line.clone()
}

#[test]
fn requests_behind_large_answers_wait_for_all_of_these() {
    let o = found(&[200, 600], (4, 31), 300).unwrap();
    assert_eq!((o.requests, o.spells, o.of), (8, 2, 88));
    // Sent 10, 20, 30 and 40 ms after the write, of which the last comes after 89.5 ms; 7, 13, 20 and 27 of the 60 units had come.
    assert_eq!((o.wait_ns, o.wait_max_ns), (59 * MS + MS / 2, 79 * MS + MS / 2));
    assert_eq!(o.left_bytes, 40 * 8_192);
    assert_eq!((o.usual_ns, o.others_ns), (MS, None));
    assert!((o.mbit_per_s - 44.0).abs() < 2.0, "{o:?}");
}

#[test]
fn what_else_is_sent_meanwhile_is_no_request() {
    // Window updates have a size of their own.
    assert_eq!(found(&[200, 600], (4, 13), 300), None);
    // One large answer may be chance, as a few requests are.
    assert_eq!(found(&[200], (8, 31), 300), None);
    assert_eq!(found(&[200, 600], (2, 31), 300), None);
    assert_eq!(found(&[], (0, 31), 300), None);
}

/// What is lost of one end alone seems to be on its way for ever.
#[test]
fn where_events_were_lost_nothing_is_said() {
    let gap = crate::testing::rows::gap(150 * MS, 160 * MS);
    assert_eq!(found_with(&[200, 600], (4, 31), 300, vec![gap]), None);
}

/// Large answers to requests that were sent one after the other: nothing is on its way when the next is sent.
#[test]
fn one_after_the_other_waits_for_nobody() {
    assert_eq!(found(&[], (0, 31), 200_000), None);
    assert_eq!(found(&[200, 600], (0, 31), 200_000), None);
}
