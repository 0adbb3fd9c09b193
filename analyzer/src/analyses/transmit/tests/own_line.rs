//! Small messages behind a large one of the same connection.

use super::answer;
use crate::analyses::Outcome;
use crate::analyses::transmit::OwnLine;
use crate::confidence::Confidence;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::transmit::BehindRow;

const MS: i64 = 1_000_000;

/// A message of 144,800 bytes that leaves within so many ms, each second, and a small one each 50 ms, which leaves behind it.
fn feed(drain_ms: i64, confidence: Confidence) -> Facts {
    let mut f = Facts::empty();
    f.connections.push(crate::testing::tcp::connection(0));
    f.tx.push(crate::testing::sent());
    for n in 0..4 {
        let at = n * 1000 * MS;
        let ticks = (1..20)
            .map(|k| at + k * 50 * MS)
            .filter(|tick| *tick < at + drain_ms * MS);
        f.behind.extend(ticks.map(|tick| BehindRow {
            connection: ConnectionId(0),
            pid: 7,
            task: Name::new(b"feedd"),
            at_ns: tick,
            left_ns: at + drain_ms * MS,
            large_at_ns: at,
            large_bytes: 144_800,
            large_left_ns: at + drain_ms * MS,
            confidence,
        }));
    }
    f
}
fn found(f: &Facts) -> Option<OwnLine> {
    let Outcome::Findings(t) = answer(f) else { panic!() };
    t.own_line
}

#[test]
fn what_is_written_meanwhile_waits_for_all_of_it() {
    let line = found(&feed(440, Confidence::Strong)).unwrap();
    // Of each second's the ticks at 50 to 300 ms waited 100 ms or more.
    assert_eq!((line.wait.n, line.large, line.large_bytes), (24, 4, 144_800));
    assert_eq!(
        (line.wait.max_ns, line.large_ns, line.unsure),
        (Some(390 * MS), 440 * MS, 0)
    );
    assert_eq!(
        (line.label.as_str(), line.task.as_str()),
        ("10.0.0.1:1 > 10.0.0.2:2", "feedd")
    );
    assert_eq!(found(&feed(440, Confidence::Weak)).unwrap().unsure, 24);
    let mut lost = feed(440, Confidence::Strong);
    lost.gaps.push(crate::testing::gap(1, 2));
    assert_eq!(found(&lost), None);
    // It left soon.
    assert_eq!(found(&feed(90, Confidence::Strong)), None);
}
