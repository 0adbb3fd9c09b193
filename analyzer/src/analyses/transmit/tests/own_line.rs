//! Small messages behind a large one of the same connection.

use super::answer;
use crate::analyses::Outcome;
use crate::analyses::transmit::OwnLine;
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::transmit::tables::TxRow;

const MS: i64 = 1_000_000;

/// A message of 100 segments that leave within so many ms, each second, and a small one each 50 ms, which leaves behind it, or at once.
fn feed(drain_ms: i64, behind: bool) -> Option<OwnLine> {
    let mut f = Facts::empty();
    f.connections.push(crate::testing::tcp::connection(0));
    let mut put = |start: i64, left: i64, bytes: u32| {
        let skb_id = SkbId(f.tx.len() as u32);
        f.tx.push(TxRow {
            skb_id,
            connection: Some(ConnectionId(0)),
            task: Name::new(b"feedd"),
            pid: 7,
            bytes: Some(bytes),
            start_ns: start,
            t_sched_ns: left,
            ..crate::testing::sent()
        });
    };
    for n in 0..4 {
        let at = n * 1000 * MS;
        for k in 0..100 {
            put(at, at + drain_ms * MS * k / 99, 1448);
        }
        for k in 1..20 {
            let tick = at + k * 50 * MS;
            put(tick, if behind { tick.max(at + drain_ms * MS + 1) } else { tick }, 90);
        }
    }
    let Outcome::Findings(t) = answer(&f) else { panic!() };
    t.own_line
}

#[test]
fn what_is_written_meanwhile_waits_for_all_of_it() {
    let line = feed(440, true).unwrap();
    // Of each second's the ticks at 50 to 300 ms waited 100 ms or more.
    assert_eq!((line.wait.n, line.large, line.large_bytes), (24, 4, 144_800));
    assert_eq!((line.wait.max_ns, line.large_ns), (Some(390 * MS + 1), 440 * MS));
    assert_eq!(
        (line.label.as_str(), line.task.as_str()),
        ("10.0.0.1:1 > 10.0.0.2:2", "feedd")
    );
    // It left soon; the small ones had another way.
    assert_eq!(feed(90, true), None);
    assert_eq!(feed(440, false), None);
}
