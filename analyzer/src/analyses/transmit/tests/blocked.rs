//! A receiver that does not read keeps others waiting.

use crate::analyses::transmit::blocked::{Blocked, blocked};
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::transmit::Stage;
use crate::reconstruct::transmit::tables::{TxRow, TxStart};

const MS: i64 = 1_000_000;

fn sent(c: u32, at: i64, slept: i64) -> TxRow {
    let mut row = TxRow {
        connection: Some(ConnectionId(c)),
        task: Name::new(b"broker"),
        pid: 7,
        start_ns: at * MS,
        t_sched_ns: (at + slept) * MS,
        start: TxStart::Sendmsg,
        ..crate::testing::sent()
    };
    row.stages.set(Stage::Sndbuf, (slept > 0).then_some(slept * MS));
    row
}

/// Each 20 ms one thread sends to four, one after the other; at 1 s it sleeps 600 ms in the send to the third.
fn facts(pids: [i32; 4]) -> Facts {
    let mut f = Facts::empty();
    f.connections = (0..4).map(crate::testing::tcp::connection).collect();
    for n in (0..100).filter(|n| !(51..81).contains(n)) {
        for c in 0..4u32 {
            let slept = if n == 50 && c == 2 { 600 } else { 0 };
            let late = if n == 50 && c == 3 { 600 } else { 0 };
            let mut row = sent(c, n * 20 + i64::from(c) + late, slept);
            row.pid = pids[c as usize];
            f.tx.push(row);
        }
    }
    f
}

#[test]
fn who_sleeps_in_a_send_to_one_sends_nothing_to_others() {
    let expect = Blocked {
        task: "broker/7".into(),
        connection: 2,
        label: crate::analyses::tcp::label(&crate::testing::tcp::connection(2)),
        times: 1,
        longest_ns: 600 * MS,
        sum_ns: 600 * MS,
        others: 3,
        window: false,
        first_ns: 1_002 * MS,
    };
    assert_eq!(blocked(&facts([7; 4])), Some(expect));
    // A thread for each.
    assert_eq!(blocked(&facts([1, 2, 7, 4])), None);
    // What was lost then may have been a send.
    let mut f = facts([7; 4]);
    f.gaps.push(crate::testing::gap(1_200 * MS, 1_210 * MS));
    assert_eq!(blocked(&f), None);
    // In bursts of three, 400 ms apart: the sleep is no three times as long.
    let mut f = facts([7; 4]);
    f.tx.retain(|r| r.connection == Some(ConnectionId(2)) || (r.start_ns / (20 * MS)) % 20 < 3);
    assert_eq!(blocked(&f), None);
    // What it sends to others comes rarely anyway.
    let mut f = facts([7; 4]);
    f.tx.retain(|r| r.connection == Some(ConnectionId(2)) || (r.start_ns / (20 * MS)) % 19 == 0);
    assert_eq!(blocked(&f), None);
}
