//! The map of hops: its order, what is on it, and that no step is lost.

use std::collections::BTreeMap;

use super::*;
use crate::analyses::breakdown::map::{CPUS, STEPS};
use crate::testing::hop;

/// By name and number of CPU: from, to, skbs.
fn edges(map: &Map) -> Vec<(String, u16, String, u16, u64)> {
    let place = |at: At| (map.steps[at.step].clone(), at.cpu);
    let edge = |e: &Edge| {
        let (from, to) = (place(e.from), place(e.to));
        (from.0, from.1, to.0, to.1, e.packets)
    };
    map.edges.iter().map(edge).collect()
}

/// A ping through a router and its answer: two ways over the same devices, which no order has without going back once.
#[test]
fn steps_are_in_the_order_of_the_way() {
    let way = [
        ("queue", "va"),
        ("xmit", "va"),
        ("rx", "ra"),
        ("queue", "rb"),
        ("xmit", "rb"),
        ("rx", "vb"),
    ];
    let back = [
        ("queue", "vb"),
        ("xmit", "vb"),
        ("rx", "rb"),
        ("queue", "ra"),
        ("xmit", "ra"),
        ("rx", "va"),
    ];
    let mut f = Facts::empty();
    f.hops = (0..9)
        .flat_map(|skb| {
            let steps = if skb % 3 == 0 { back } else { way };
            steps
                .into_iter()
                .zip(0..)
                .map(move |((kind, dev), at)| hop(skb, at, kind, dev))
        })
        .collect();
    let map = answer(&f).map;
    let names = |of: [(&str, &str); 6]| of.map(|(kind, dev)| format!("{kind} {dev}"));
    // Neither leads to the other: each is whole.
    let mut steps = map.steps.clone();
    let at = steps.iter().position(|s| s == "queue va").unwrap();
    let one: Vec<String> = steps.drain(at..at + 6).collect();
    assert_eq!((one, steps), (names(way).to_vec(), names(back).to_vec()));
    assert_eq!((map.all, map.shown, map.edges.len()), (45, 45, 10));
    assert!(map.edges.iter().all(|e| e.to.step == e.from.step + 1), "{map:?}");

    // A tunnel: what was handed to it is given to the card, and what came by the card is received again by it.
    let out = [("queue", "vx"), ("xmit", "vx"), ("queue", "eth0"), ("xmit", "eth0")];
    f.hops = (out.into_iter().zip(0..).map(|((kind, dev), at)| hop(1, at, kind, dev))).collect();
    assert_eq!(answer(&f).map.steps, ["queue vx", "xmit vx", "queue eth0", "xmit eth0"]);
}

/// A step back where there is no other way is one, not many.
#[test]
fn of_a_ring_the_weakest_step_goes_back() {
    let mut f = Facts::empty();
    let ring = [("rx", "a"), ("queue", "b"), ("xmit", "c")];
    f.hops = (0..10)
        .flat_map(|skb| {
            // One of ten goes round once more.
            let n = if skb == 0 { 6 } else { 3 };
            (0..n).map(move |at| hop(skb, at as i64, ring[at % 3].0, ring[at % 3].1))
        })
        .collect();
    let map = answer(&f).map;
    assert_eq!(map.steps, ["rx a", "queue b", "xmit c"]);
    let back: Vec<u64> = map
        .edges
        .iter()
        .filter(|e| e.to.step < e.from.step)
        .map(|e| e.packets)
        .collect();
    assert_eq!(back, [1]);
}

/// More than the map has room for: those with most are there, the others counted.
#[test]
fn what_has_no_place_is_counted() {
    let mut f = Facts::empty();
    f.hops = (0..40u32)
        .flat_map(|dev| {
            (0..=dev).flat_map(move |n| {
                let name = format!("d{dev}");
                let cpu = (dev % 20) as u16;
                ["queue", "xmit"].map(|kind| HopRow {
                    cpu,
                    ..hop(dev * 100 + n, if kind == "queue" { 1 } else { 2 }, kind, &name)
                })
            })
        })
        .collect();
    let map = answer(&f).map;
    assert_eq!((map.steps.len(), map.cpus.len()), (STEPS, CPUS));
    // Twelve devices, d28 to d39, on CPUs 8 to 19, which are of those with most.
    assert_eq!(map.all, (1..=40).sum::<u64>());
    assert_eq!(map.shown, (29..=40).sum::<u64>());
    assert!(
        map.steps
            .iter()
            .all(|s| s.split_once(" d").unwrap().1.parse::<u32>().unwrap() >= 28)
    );
}

/// cpu.nmb: every step and every read is an edge, and readers are where they were pinned (truth.csv: server on CPU 0, client on CPU 1).
#[test]
fn of_a_recording_every_step_and_read_is_on_it() {
    let c = crate::tests::sample("cpu/cpu.nmb");
    let facts = crate::analyze(&c, &Default::default());
    let map = answer(&facts).map;
    let mut last: BTreeMap<u32, (String, u16)> = BTreeMap::new();
    let mut want: BTreeMap<(String, u16, String, u16), u64> = BTreeMap::new();
    for h in &facts.hops {
        let here = (format!("{} {}", h.kind, h.dev.text()), h.cpu);
        if let Some(from) = last.insert(h.skb_id.0, here.clone()) {
            *want.entry((from.0, from.1, here.0, here.1)).or_default() += 1;
        }
    }
    let mut read: BTreeMap<(u16, u16), u64> = BTreeMap::new();
    for row in facts.rx.iter().filter(|r| r.end == RxEnd::Read) {
        let cpu = row.read_cpu.unwrap();
        let from = format!("rx {}", row.dev.text());
        *want.entry((from, row.cpu, "read".into(), cpu)).or_default() += 1;
        let socket = facts.connections.iter().find(|s| Some(s.connection) == row.connection);
        if let Some(s) = socket.filter(|s| s.sport == 7000 || s.dport == 7000) {
            *read.entry((s.sport, cpu)).or_default() += 1;
        }
    }
    assert_eq!(map.all, want.values().sum::<u64>());
    assert_eq!(map.all, answer(&facts).steps + map.reads);
    let to_read = |crossed: bool| {
        let of = want
            .iter()
            .filter(move |(k, _)| k.2 == "read" && (!crossed || k.1 != k.3));
        of.map(|(_, n)| n).sum::<u64>()
    };
    assert_eq!((map.reads, map.reads_crossed), (to_read(false), to_read(true)));
    let found = edges(&map)
        .into_iter()
        .map(|(a, b, c, d, n)| ((a, b, c, d), n))
        .collect();
    assert_eq!(want, found);
    assert!(
        read.iter().all(|((port, cpu), _)| *cpu == u16::from(*port != 7000)),
        "{read:?}"
    );
    let reads = map.places.iter().filter(|p| map.steps[p.at.step] == "read");
    let reads: Vec<(u16, u64)> = reads.map(|p| (p.at.cpu, p.packets)).collect();
    let by = |cpu: u16| read.iter().filter(|((_, c), _)| *c == cpu).map(|(_, n)| n).sum::<u64>();
    assert_eq!(reads, [(0, by(0)), (1, by(1))]);
}
