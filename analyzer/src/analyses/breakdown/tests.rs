mod map;

use super::*;
use crate::Confidence;
use crate::facts::{ConnectionId, SkbId};
use crate::reconstruct::context::RunBy;
use crate::reconstruct::napi::tables::PollRow;
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

fn poll(napi: u64, work: i32) -> PollRow {
    PollRow {
        napi,
        work: Some(work),
        budget: None,
        nth: None,
        run_by: RunBy::Unknown,
        ..crate::testing::poll(b"eth0", None, 0)
    }
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

/// Of more ways than are kept all steps are counted, in both populations.
#[test]
fn steps_of_ways_that_are_left_out_are_counted() {
    let hop = |skb, time_ns, cpu| HopRow {
        skb_id: SkbId(skb),
        time_ns,
        cpu,
        kind: "queue",
        dev: Name::new(b"va"),
        bytes: None,
        confidence: Confidence::Certain,
    };
    let mut f = Facts::empty();
    let most = WAYS as u32;
    // As many of one CPU twice as are kept, and forty from one CPU to another once.
    f.hops = (0..most)
        .flat_map(|n| [0, 1, 2].map(|ns| hop(n, ns, n as u16)))
        .chain((most..most + 40).flat_map(|n| [hop(n, 3, n as u16), hop(n, 4, 0)]))
        .collect();
    let b = answer(&f);
    assert_eq!((b.ways.len(), b.steps, b.steps_crossed), (WAYS, 160, 40));
    assert!(b.ways.iter().all(|way| way.from_cpu == way.to_cpu));
}

/// Of more queues than are kept all packets are counted, by direction.
#[test]
fn packets_of_queues_that_are_left_out_are_counted() {
    let mut f = Facts::empty();
    f.polls = (0..200).map(|n| poll(n, 7)).collect();
    let b = answer(&f);
    assert_eq!((b.queues.len(), b.handed_over, b.polled), (WAYS, 0, 1400));
}

/// A hostile recording may have an instance in every poll; they are numbered by address, each device's from 0.
#[test]
fn many_instances_are_numbered_in_no_time() {
    let mut f = Facts::empty();
    let few = |n: u64| PollRow {
        dev: Name::new(b"zz"),
        ..poll(n, 9)
    };
    f.polls = (0..200_000).map(|n| poll(n, 1)).chain([few(4), few(2)]).collect();
    let took = |f: &Facts| {
        let started = std::time::Instant::now();
        (answer(f), started.elapsed())
    };
    let (b, whole) = took(&f);
    // A tenth of them: where each were compared with each, a hundredth of the time.
    f.polls.truncate(20_000);
    let tenth = (0..3).map(|_| took(&f).1).max().unwrap_or_default();
    assert!(whole < tenth * 50, "{whole:?}, a tenth {tenth:?}");
    let most: Vec<(&str, Option<u32>)> = b.queues.iter().map(|q| (q.dev.as_str(), q.queue)).take(3).collect();
    assert_eq!(most, [("zz", Some(0)), ("zz", Some(1)), ("eth0", Some(0))]);
}

/// cpu.nmb, whose server was pinned to CPU 0 and its client to CPU 1 (truth.csv), as if these were of two nodes and a card at the second.
#[test]
fn what_crosses_nodes_is_counted_and_each_cpu_and_device_has_its_own() {
    let mut c = crate::tests::sample("cpu/cpu.nmb");
    let with = |text: &mut Vec<u8>, from: &str, to: &str| {
        let said = String::from_utf8(text.clone()).unwrap();
        assert!(said.contains(from), "{from} in {said}");
        *text = said.replace(from, to).into_bytes();
    };
    let one = answer(&crate::analyze(&c, &Default::default())).numa;
    assert_eq!((one.nodes.len(), one.nodes[0].cpus.as_slice()), (1, &[0, 1][..]));
    assert!(
        one.steps > 500 && one.reads > 200 && one.steps_crossed + one.reads_crossed == 0,
        "{one:?}"
    );
    for s in &mut c.snapshots {
        match s.what.as_str() {
            "cpu_topology" => {
                let at = s.text.windows(5).position(|w| w == b"cpu=1").unwrap();
                let mut second = s.text.split_off(at);
                with(&mut second, "numa_node=0", "numa_node=1");
                s.text.append(&mut second);
            }
            "queues" => {
                with(&mut s.text, "dev=eth0 queue=- ", "dev=eth0 queue=- numa_node=1 ");
                with(&mut s.text, "dev=lo queue=- ", "dev=lo queue=- numa_node=-1 ");
            }
            _ => {}
        }
    }
    let facts = crate::analyze(&c, &Default::default());
    let Breakdown {
        numa,
        ways,
        queues,
        steps: all,
        steps_crossed,
        ..
    } = answer(&facts);
    let nodes: Vec<(u32, &[u16])> = numa.nodes.iter().map(|n| (n.node, n.cpus.as_slice())).collect();
    assert_eq!(nodes, [(0, &[0][..]), (1, &[1][..])]);
    // The name of the host's card is that of no other namespace's device here.
    assert_eq!(
        (numa.nodes[0].devices.len(), numa.nodes[1].devices.as_slice()),
        (0, &["eth0".to_owned()][..])
    );
    // Counted anew: a step on another CPU than the one before it of the same skb.
    let mut last: std::collections::BTreeMap<u32, u16> = Default::default();
    let (mut steps, mut crossed) = (0, 0);
    for hop in &facts.hops {
        if let Some(cpu) = last.insert(hop.skb_id.0, hop.cpu) {
            steps += 1;
            crossed += u64::from(cpu != hop.cpu);
        }
    }
    assert_eq!((numa.steps, numa.steps_crossed), (steps, crossed));
    assert_eq!((all, steps_crossed), (steps, crossed));
    assert!(
        ways.iter()
            .all(|w| w.from_node == Some(w.from_cpu.into()) && w.to_node == Some(w.to_cpu.into()))
    );
    assert!(
        queues
            .iter()
            .all(|q| q.cpu_node == Some(q.cpu.into()) && q.dev_node == (q.dev == "eth0").then_some(1))
    );
    // Readers are where they were pinned.
    let mut read = [0u64; 2];
    for row in facts.rx.iter().filter(|r| r.end == RxEnd::Read) {
        let socket = facts.connections.iter().find(|s| Some(s.connection) == row.connection);
        let Some(socket) = socket.filter(|s| s.sport == 7000 || s.dport == 7000) else {
            continue;
        };
        let pinned = if socket.sport == 7000 { 0 } else { 1 };
        assert_eq!(row.read_cpu, Some(pinned), "{row:?}");
        read[usize::from(pinned)] += 1;
    }
    assert!(read[0] > 100 && read[1] > 100, "{read:?}");
    let of_ways: u64 = numa.read_ways.iter().map(|w| w.units).sum();
    let other: u64 = numa
        .read_ways
        .iter()
        .filter(|w| w.cpu != w.read_cpu)
        .map(|w| w.units)
        .sum();
    assert_eq!((numa.reads, numa.reads_crossed), (of_ways, other));
}

#[test]
fn without_a_topology_no_node_is_known_and_a_name_of_two_namespaces_has_none() {
    use crate::snapshots::tables::SnapshotRow;
    let line = |what: &str, netns, line: &str| SnapshotRow {
        what: what.into(),
        netns,
        start: true,
        end: true,
        line: line.into(),
    };
    let mut f = Facts::empty();
    f.snapshots = vec![line("queues", None, "dev=eth0 queue=- numa_node=1")];
    assert_eq!(answer(&f).numa, Nodes::default());
    f.snapshots.extend([
        line("cpu_topology", None, "cpu=0 numa_node=0"),
        line("cpu_topology", None, "cpu=99999999 numa_node=0"),
        line("cpu_topology", None, "cpu=1 numa_node=-1"),
        line("links", Some(1), "netns=1 ifindex=2 name=eth0"),
        line("links", Some(1), "netns=1 ifindex=2 name=eth0 operstate=2"),
    ]);
    let of = |f: &Facts| {
        answer(f)
            .numa
            .nodes
            .into_iter()
            .map(|n| (n.node, n.cpus, n.devices.len()))
            .collect::<Vec<_>>()
    };
    assert_eq!(of(&f), [(0, vec![0], 0), (1, vec![], 1)]);
    f.snapshots.push(line("links", Some(2), "netns=2 ifindex=2 name=eth0"));
    assert_eq!(of(&f), [(0, vec![0], 0)]);
}

#[test]
fn curves_are_of_the_groups_with_most_units_and_of_the_others_together() {
    let mut f = Facts::empty();
    // CPU n has n + 1 units of 10 ns and more; CPU 0, with one, has most time.
    let mut id = 0;
    for cpu in 0..9u16 {
        for _ in 0..=cpu {
            let ns = if cpu == 0 { 1_000_000 } else { i64::from(id) };
            f.rx.push(unit(id, cpu, "t", ns));
            id += 1;
        }
    }
    let b = answer(&f);
    let cpus = of(&b.receive, "CPU");
    assert_eq!(cpus.groups[0].name, "0");
    let told: Vec<(&str, u64, u64)> = cpus
        .curves
        .iter()
        .map(|c| (c.name.as_str(), c.others, c.times.n))
        .collect();
    assert_eq!(
        told,
        [
            ("8", 0, 9),
            ("7", 0, 8),
            ("6", 0, 7),
            ("5", 0, 6),
            ("4", 0, 5),
            ("3", 0, 4),
            ("", 3, 6)
        ]
    );
    assert_eq!(cpus.curves.len(), CURVES + 1);
    // One group alone is what the whole is.
    assert!(of(&b.receive, "process").curves.is_empty());
}

/// Each figure of a real recording's groups against its rows, read anew.
#[test]
fn groups_and_curves_of_real_recordings_are_those_of_their_rows() {
    let (mut groups, mut curves) = (0, 0);
    for path in ["rpc/rpc.nmb", "cpu/cpu.nmb", "neighbour/neighbour.nmb"] {
        let file = format!("{}/../sample-data/{path}", env!("CARGO_MANIFEST_DIR"));
        let capture = netmortem_formats::open_path(file.as_ref()).unwrap().unwrap();
        let facts = crate::analyze(&capture, &Default::default());
        let b = answer(&facts);
        let name = |by: &str, r: &RxRow| match by {
            "device" => r.dev.text().into_owned(),
            "CPU" => r.cpu.to_string(),
            "process" => r.task.text().into_owned(),
            _ => r.connection.map_or_else(String::new, |c| format!("conn:{}", c.0)),
        };
        let read = || {
            let rows = facts.rx.iter().filter(|r| r.end == RxEnd::Read && r.censored.is_none());
            rows.filter(|r| matches!(r.confidence, Confidence::Certain | Confidence::Strong))
        };
        for kind in &b.receive {
            for g in &kind.groups {
                let rows = || read().filter(|r| name(kind.by, r) == g.name);
                let most = rows().map(|r| r.total_ns).max();
                assert_eq!(
                    (rows().count() as u64, most),
                    (g.n, g.max_ns),
                    "{path} {} {}",
                    kind.by,
                    g.name
                );
                let first = rows()
                    .find(|r| Some(r.total_ns) == most)
                    .map(|r| format!("rx:{}", r.skb_id.0));
                assert_eq!(g.worst.map(|id| id.to_string()), first, "{path} {} {}", kind.by, g.name);
                groups += 1;
            }
            let n: u64 = kind.curves.iter().map(|c| c.times.n).sum();
            assert!(
                kind.curves.is_empty() || n == read().count() as u64,
                "{path} {}: {n}",
                kind.by
            );
            for c in &kind.curves {
                let sum: i64 = c.stages.iter().map(|s| s.ns).sum();
                assert_eq!(
                    sum, c.times.sum_ns,
                    "{path} {} {}: stages sum to the whole",
                    kind.by, c.name
                );
                let of_name = read().filter(|r| name(kind.by, r) == c.name).count() as u64;
                assert!(c.others > 0 || of_name == c.times.n, "{path} {} {}", kind.by, c.name);
                curves += 1;
            }
        }
    }
    assert!(groups >= 15 && curves >= 10, "{groups} groups, {curves} curves");
}
