//! A server whose threads wait for requests that only they could answer.

use super::{MS, turnaround};
use crate::analyses::application::{WaitsForItself, answer};
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::application::tables::TurnaroundRow;
use crate::reconstruct::tcp::states::{ESTABLISHED, FIN_WAIT1};
use crate::reconstruct::tcp::tables::ConnectionRow;
use crate::testing::tcp::{connection, state};

const PROXY: i32 = 50;

/// Readable, read, answered, ms.
fn row(c: u32, pid: i32, (ready, read, sent): (i64, i64, i64)) -> TurnaroundRow {
    TurnaroundRow {
        connection: ConnectionId(c),
        pid,
        sender_pid: pid,
        task: Name::new(b"gunicorn"),
        ready_ns: Some(ready * MS),
        read_ns: read * MS,
        send_ns: sent * MS,
        ..turnaround(0, ((sent - read) * MS).max(20_000), "poll")
    }
}

/// Threads 20 and 21 answer at 10.0.0.1:8000. From 5 s to 8 s, and on to 11 s, each waits for 10.0.0.5:80, where process 50 serves, which asks 10.0.0.1:8000; three requests lie unread meanwhile.
fn facts() -> Facts {
    let mut f = Facts::empty();
    (f.capture.start_ns, f.capture.end_ns, f.capture.duration_ns) = (Some(0), Some(15_000 * MS), 15_000 * MS);
    let end = |last: u8| Some([10, 0, 0, last].into());
    let mut add = |n: u32, (from, sport): (u8, u16), (to, dport): (u8, u16), born: i32, pid: i32| {
        f.connections.push(ConnectionRow {
            saddr: end(from),
            daddr: end(to),
            sport,
            dport,
            born: Some(born),
            pid,
            ..connection(n)
        });
    };
    for n in 0..10 {
        add(n, (1, 8000), (9, 40_000 + n as u16), 3, 20);
    }
    for n in 10..14 {
        add(n, (1, 50_000 + n as u16), (5, 80), 2, 20 + n as i32 % 2);
    }
    add(14, (5, 80), (9, 41_000), 3, PROXY);
    add(15, (5, 51_000), (1, 8000), 2, PROXY);
    for n in 0..4u32 {
        let begin = 5_000 + i64::from(n / 2) * 3_000;
        let own = 10 + n;
        f.turnarounds
            .push(row(n, 20 + n as i32 % 2, (begin, begin, begin + 2_990)));
        f.tcp_states.push(state(own, ESTABLISHED, (begin + 5) * MS));
        f.tcp_states.push(state(own, FIN_WAIT1, (begin + 2_985) * MS));
    }
    for n in 4..7u32 {
        f.turnarounds
            .push(row(n, 20, (5_100, 11_100 + i64::from(n), 11_102 + i64::from(n))));
    }
    f.turnarounds.push(row(14, PROXY, (100, 100, 101)));
    f.turnarounds.sort_by_key(|t| (t.connection, t.send_ns));
    f
}

fn found(f: &Facts) -> Option<WaitsForItself> {
    answer(f).findings().and_then(|a| a.waits_for_itself.clone())
}

#[test]
fn threads_that_wait_for_themselves_are_told() {
    let expect = WaitsForItself {
        server: "10.0.0.1:8000".into(),
        task: "gunicorn".into(),
        by: "10.0.0.5:80".into(),
        threads: 2,
        n: 4,
        p50_ns: 2_990 * MS,
        within_ns: (5_000 * MS, 10_990 * MS),
        unread: 3,
    };
    assert_eq!(found(&facts()), Some(expect));
    let line = crate::analyses::answer(&facts()).verdict;
    let line = line.into_iter().find(|l| l.subject == "application").unwrap();
    let says = "10.0.0.1:8000 waits for itself: from 5.000 s to 10.990 s all 2 threads of gunicorn that answer there asked 10.0.0.5:80 for 4 of their answers (p50 2.990 s) and had none, while its program asks 10.0.0.1:8000 in turn, where 3 requests lay unread meanwhile";
    assert!(line.headline.contains(says), "{}", line.headline);
}

#[test]
fn where_one_is_free_or_nobody_asks_back_it_is_another_wait() {
    let none = |change: &dyn Fn(&mut Facts)| {
        let mut f = facts();
        change(&mut f);
        assert_eq!(found(&f), None);
    };
    // A third thread answers; the proxy asks somebody else; it answered at once; nothing lay unread.
    none(&|f| f.turnarounds.push(row(8, 22, (6_000, 6_000, 6_001))));
    none(&|f| f.connections[15].dport = 8001);
    none(&|f| {
        for n in 10..14 {
            let mut r = super::answered_after(n, 5_010 * MS, MS);
            if n > 11 {
                r = super::answered_after(n, 8_010 * MS, MS);
            }
            f.responses.push(r);
        }
    });
    none(&|f| f.turnarounds.retain(|t| !(4..7).contains(&t.connection.0)));
    none(&|f| f.gaps.push(crate::testing::gap(1, 2)));
}
