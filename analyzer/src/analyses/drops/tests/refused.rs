//! What a queue refuses although it has room.

use super::meanwhile::facts;
use crate::analyses::drops::answer;
use crate::counters::tables::CounterRow;
use crate::facts::{Facts, SkbId};
use crate::testing::hop;

/// The five packets of `facts` and seven more are dropped, with these bytes; `passed` go on.
fn queue(dropped: &[u32], passed: &[u32], setting: &str) -> Facts {
    let mut f = facts("QDISC_DROP", "eth0", ["", "", "", ""]);
    let row = f.drops[0].clone();
    f.drops.clear();
    f.settings.0.insert("eth0 qdisc".into(), setting.into());
    for (n, bytes) in (0u32..).zip(dropped.iter().chain(passed)) {
        let mut step = hop(n, n.into(), "queue", "eth0");
        step.bytes = Some(*bytes);
        f.hops.push(step);
        if (n as usize) < dropped.len() {
            let mut row = row.clone();
            (row.skb_id, row.time_ns) = (Some(SkbId(n)), n.into());
            f.drops.push(row);
        }
    }
    f
}

fn says(f: &Facts) -> Option<String> {
    let full = answer(f).findings().unwrap().groups[0].full.clone()?;
    full.counted.then_some(full.says)
}

#[test]
fn a_queue_that_refuses_by_length_is_told() {
    let (long, short) = ([1514, 2962].repeat(6), [66, 766].repeat(6));
    let tbf = "tbf rate=50000000bit/s burst=1500B limit=314000B";
    let text = "by their size, not for want of room: tbf there refused all that had 1514 bytes or more, and none of the 12 with 766 or fewer";
    let burst = format!("{text}, its burst is 1500 bytes");
    assert_eq!(says(&queue(&long, &short, tbf)), Some(burst));
    // A burst that they fit into, or that what passed did not; a queue without one: not that.
    assert_eq!(says(&queue(&long, &short, "tbf rate=1bit/s burst=1600B")), None);
    assert_eq!(says(&queue(&long, &short, "tbf rate=1bit/s burst=700B")), None);
    assert_eq!(says(&queue(&long, &short, "htb r2q=10")), None);
    // A long one passed; too few.
    let mixed: Vec<u32> = short.iter().copied().chain([1514]).collect();
    assert_eq!(says(&queue(&long, &mixed, tbf)), None);
    assert_eq!(says(&queue(&long[..9], &short, tbf)), None);
    assert_eq!(says(&queue(&long, &short[..9], tbf)), None);
}

#[test]
fn a_transmit_time_beyond_the_horizon_is_told() {
    let of = |rose: u64, at: &str| {
        let mut f = facts("QDISC_DROP", "eth0", ["", "", "", ""]);
        f.counters = vec![CounterRow {
            source: "qdisc",
            netns: Some(7),
            of: at.into(),
            name: "horizon_drops".into(),
            start: Some(0),
            end: Some(rose),
        }];
        says(&f)
    };
    let told = of(5, "eth0 fq root").unwrap();
    assert!(told.ends_with("it counted 5 more horizon_drops"), "{told}");
    assert_eq!(of(4, "eth0 fq root"), None);
    assert_eq!(of(5, "eth1 fq root"), None);
}
