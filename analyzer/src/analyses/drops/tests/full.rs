//! What was full, by the kernel's own counters.

use super::meanwhile::facts;
use crate::analyses::drops::answer;
use crate::counters::tables::CounterRow;

/// Five packets that a queue refused, and what fq counted at its limit for one flow.
#[test]
fn a_queue_with_room_for_other_flows_is_told() {
    let of = |dev: &str, rose: u64, at: &str| {
        let mut f = facts("QDISC_DROP", dev, ["", "", "", ""]);
        f.counters = vec![CounterRow {
            source: "qdisc",
            netns: Some(7),
            of: at.into(),
            name: "flows_plimit".into(),
            start: Some(500),
            end: Some(500 + rose),
        }];
        answer(&f).findings().unwrap().groups[0].full.clone()
    };
    let full = of("uplink0", 6, "uplink0 fq 0x00100000").unwrap();
    assert!(
        full.counted && full.says.ends_with(": it counted 6 more flows_plimit"),
        "{full:?}"
    );
    // Of another device; far fewer, or far more, than were dropped here.
    assert_eq!(of("uplink", 6, "uplink0 fq 0x00100000"), None);
    assert_eq!(of("uplink0", 2, "uplink0 fq 0x00100000"), None);
    assert_eq!(of("uplink0", 60, "uplink0 fq 0x00100000"), None);
}
