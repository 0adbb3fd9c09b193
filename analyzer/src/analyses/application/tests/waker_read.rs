//! What came to who woke late answers, right before.

use super::{MS, turnaround};
use crate::analyses::application::parts::{Part, Parts};
use crate::analyses::application::waker_read::{WakerRead, WakerReads};
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::application::tables::TurnaroundRow;
use crate::reconstruct::receive::tables::RxRow;

/// Six answers of connections 1 to 6, in two spells of a second, ended by thread 9 at 2000 and 4000 ms.
fn late() -> Vec<TurnaroundRow> {
    let row = |n: u32| {
        let end = if n <= 3 { 2_000 } else { 4_000 };
        let begin = end - 900 + i64::from(n);
        TurnaroundRow {
            connection: ConnectionId(n),
            ready_ns: Some(begin * MS),
            send_ns: (end + 1) * MS,
            woken_by: Name::new(b"walsender"),
            woken_by_pid: 9,
            woken_by_ns: (end - begin) * MS,
            woken_at_ns: end * MS,
            ..turnaround(0, (end + 1 - begin) * MS, "epoll_wait")
        }
    };
    (1..=6).map(row).collect()
}

/// Thread 9 has connection 0, whose other end is connection 7 of walreceiver/31; it reads there at these times, ms.
fn facts(reads: &[i64]) -> Facts {
    let mut f = Facts::empty();
    for n in 0..8u32 {
        let mut c = crate::testing::tcp::connection(n);
        (c.pid, c.task) = (30 + n as i32 - 6, Name::new(b"walreceiver"));
        f.connections.push(c);
    }
    f.connections[0].peer = Some(ConnectionId(7));
    f.connections[0].daddr = Some([10, 0, 0, 3].into());
    f.connections[0].dport = 40_000;
    let read = |at: &i64| RxRow {
        connection: Some(ConnectionId(0)),
        pid: 9,
        start_ns: at * MS - 100_000,
        total_ns: 100_000,
        ..RxRow::default()
    };
    f.rx = reads.iter().map(read).collect();
    f
}

fn named(f: &Facts, rows: &[TurnaroundRow]) -> Option<WakerRead> {
    let rows: Vec<&TurnaroundRow> = rows.iter().collect();
    let mut sums = Parts::default();
    rows.iter().for_each(|r| sums.add(r));
    let mut parts: Vec<Part> = sums.largest();
    let mut f = f.clone();
    f.turnarounds = rows.iter().map(|r| (*r).clone()).collect();
    WakerReads::of(&f).name(&mut parts, &rows);
    parts[0].waker_read.clone()
}

#[test]
fn what_the_waker_had_just_read_is_told() {
    let read = WakerRead {
        from: "10.0.0.3:40000".into(),
        by: "walreceiver/31".into(),
        n: 6,
        of: 6,
    };
    assert_eq!(named(&facts(&[2_000, 2_500, 4_000]), &late()), Some(read.clone()));
    // It read more on another connection of a seventh answer that somebody else woke.
    let mut more = late();
    more.push(TurnaroundRow {
        connection: ConnectionId(0),
        woken_by_pid: 8,
        ..more[0].clone()
    });
    assert_eq!(named(&facts(&[2_000, 2_500, 4_000]), &more), Some(read));
}

#[test]
fn a_read_by_chance_is_none() {
    // At one of the two times alone; once for all; all the time.
    assert_eq!(named(&facts(&[2_000, 2_500]), &late()), None);
    assert_eq!(named(&facts(&[2_000]), &late()[..3]), None);
    let always: Vec<i64> = (1_000..4_100).step_by(20).collect();
    assert_eq!(named(&facts(&always), &late()), None);
    // Behind the wake-up, though before the answer.
    let behind: Vec<TurnaroundRow> = late()
        .into_iter()
        .map(|r| TurnaroundRow {
            woken_at_ns: r.woken_at_ns - MS,
            ..r
        })
        .collect();
    assert_eq!(named(&facts(&[2_000, 2_500, 4_000]), &behind), None);
    // The connection of one of these answers itself: who asks it is not who lets it go.
    let mut own = late();
    own[0].connection = ConnectionId(0);
    assert_eq!(named(&facts(&[2_000, 2_500, 4_000]), &own), None);
}
