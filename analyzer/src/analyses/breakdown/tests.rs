use super::*;
use crate::Confidence;
use crate::facts::{ConnectionId, SkbId};
use crate::reconstruct::receive::tables::{RxEnd, RxRow, Stage};
use crate::reconstruct::skb::tables::HopRow;

fn answer(facts: &Facts) -> Breakdown {
    super::answer(facts, &Ledgers::of(facts))
}

fn unit(n: u32, cpu: u16, task: &str, copy_ns: i64) -> RxRow {
    let mut row = RxRow {
        skb_id: SkbId(n),
        end: RxEnd::Read,
        cpu,
        task: Name::new(task.as_bytes()),
        connection: n.is_multiple_of(2).then_some(ConnectionId(7)),
        total_ns: copy_ns + 10,
        unattributed_ns: 10,
        confidence: Confidence::Certain,
        ..RxRow::default()
    };
    row.stages.set(Stage::Copy, Some(copy_ns));
    row
}

fn of<'b>(kinds: &'b [Kind], by: &str) -> &'b Kind {
    kinds.iter().find(|k| k.by == by).unwrap()
}

#[test]
fn groups_are_ordered_by_their_time_and_their_shares_add_up() {
    let mut f = Facts::empty();
    f.rx = vec![
        unit(0, 1, "a", 90),
        unit(1, 1, "a", 190),
        unit(2, 0, "b", 590),
        unit(3, 0, "c", 90),
    ];
    f.rx.push(RxRow {
        confidence: Confidence::Weak,
        ..unit(4, 3, "weak", 5_000)
    });
    let b = answer(&f);
    let cpus: Vec<(&str, u64, Option<i64>, f64)> = of(&b.receive, "CPU")
        .groups
        .iter()
        .map(|g| (g.name.as_str(), g.n, g.p50_ns, g.share))
        .collect();
    assert_eq!(cpus, [("0", 2, Some(100), 0.7), ("1", 2, Some(100), 0.3)]);
    let tasks: Vec<&str> = of(&b.receive, "process")
        .groups
        .iter()
        .map(|g| g.name.as_str())
        .collect();
    assert_eq!(tasks, ["b", "a", "c"]);
    let connections = &of(&b.receive, "connection").groups;
    assert_eq!((connections[0].name.as_str(), connections[0].n), ("conn:7", 2));
    assert_eq!((connections[1].name.as_str(), connections[1].n), ("", 2));
    assert_eq!(connections[0].top.unwrap().0, "copy");
}

#[test]
fn groups_beyond_the_limit_are_counted() {
    let mut f = Facts::empty();
    f.rx = (0..30).map(|n| unit(n, n as u16, "t", i64::from(n))).collect();
    let b = answer(&f);
    let cpus = of(&b.receive, "CPU");
    assert_eq!((cpus.groups.len(), cpus.others), (GROUPS, 10));
    assert_eq!(cpus.groups[0].name, "29");
}

#[test]
fn steps_of_one_skb_are_joined_in_order() {
    let hop = |skb, time_ns, cpu, kind, dev: &str| HopRow {
        skb_id: SkbId(skb),
        time_ns,
        cpu,
        kind,
        dev: Name::new(dev.as_bytes()),
        bytes: None,
        confidence: Confidence::Certain,
    };
    let mut f = Facts::empty();
    f.hops = vec![
        hop(1, 100, 0, "queue", "va"),
        hop(2, 105, 0, "queue", "va"),
        hop(1, 110, 0, "xmit", "va"),
        hop(1, 150, 1, "rx", "vb"),
        hop(2, 125, 0, "xmit", "va"),
    ];
    let ways: Vec<(String, u16, String, u16, u64, Option<i64>)> = answer(&f)
        .ways
        .into_iter()
        .map(|w| (w.from, w.from_cpu, w.to, w.to_cpu, w.packets, w.p50_ns))
        .collect();
    let way = |from: &str, a, to: &str, b, n, ns| (from.to_owned(), a, to.to_owned(), b, n, Some(ns));
    assert_eq!(
        ways,
        [
            way("queue va", 0, "xmit va", 0, 2, 10),
            way("xmit va", 0, "rx vb", 1, 1, 40)
        ]
    );
}
