use netmortem_analyzer::analyses::breakdown::{Breakdown, Node, Nodes, Queue, ReadWay, Way};

use super::*;
use crate::document::Severity;
use crate::sections::{fixture, tests::tables};

#[test]
fn shares_are_of_the_direction_and_crossings_are_counted() {
    let facts = fixture::facts();
    let mut answers = fixture::answers(&facts);
    let queue = |direction, dev: &str, cpu, packets| Queue {
        worst: None,
        direction,
        dev: dev.to_owned(),
        queue: Some(0),
        cpu,
        dev_node: None,
        cpu_node: None,
        packets,
    };
    let way = |to_cpu, packets| Way {
        worst: None,
        from: "xmit eth0".into(),
        from_cpu: 0,
        from_node: None,
        to: "rx <b>1".into(),
        to_cpu,
        to_node: None,
        packets,
        p50_ns: Some(1_500),
        p99_ns: None,
    };
    answers.breakdown = Breakdown {
        queues: vec![
            queue("transmit", "eth0", 0, 30),
            queue("receive", "", 1, 40),
            queue("transmit", "eth0", 1, 10),
        ],
        // More queues than are kept.
        handed_over: 80,
        polled: 40,
        ways: vec![way(1, 30), way(0, 10)],
        // More ways than are kept.
        steps: 50,
        steps_crossed: 35,
        ..Breakdown::default()
    };
    let section = section(&Input {
        facts: &facts,
        answers: &answers,
    });
    assert_eq!(
        section.lead.as_str().replace('\u{202f}', " "),
        "Of 50 steps from one place to the next, 35 (70.0 %) went to another CPU."
    );
    let tables = tables(&section);
    let share = |row: usize| tables[0].rows[row][5].clone();
    assert_eq!(
        [share(0), share(1), share(2)],
        [Cell::Fraction(0.375), Cell::Fraction(1.0), Cell::Fraction(0.125)]
    );
    assert_eq!(tables[1].rows[0][7], Cell::Unknown);
    let said = |section: &Section| match &section.blocks[0] {
        Block::Paragraph(text) => text.as_str().to_owned(),
        other => panic!("{other:?}"),
    };
    assert!(said(&section).starts_with("The recording does not say of which NUMA node"));
    let node = |node, cpus: &[u16]| Node {
        node,
        cpus: cpus.to_vec(),
        devices: vec![],
    };
    answers.breakdown.numa.nodes = vec![node(0, &[0, 1])];
    let one = super::section(&Input {
        facts: &facts,
        answers: &answers,
    });
    assert_eq!(
        said(&one),
        "One NUMA node (0) has all 2 CPUs: nothing here crosses nodes."
    );
    assert_eq!(tables_of(&one), [7, 8]);
}

/// Columns of each table.
fn tables_of(section: &Section) -> Vec<usize> {
    tables(section).iter().map(|table| table.columns.len()).collect()
}

#[test]
fn what_crosses_nodes_is_marked_where_there_are_two() {
    let facts = fixture::facts();
    let mut answers = fixture::answers(&facts);
    let node = |node, cpus: &[u16], devices: &[&str]| Node {
        node,
        cpus: cpus.to_vec(),
        devices: devices.iter().map(|dev| (*dev).to_owned()).collect(),
    };
    answers.breakdown = Breakdown {
        queues: vec![Queue {
            worst: None,
            direction: "receive",
            dev: "eth0".to_owned(),
            queue: Some(0),
            cpu: 0,
            dev_node: Some(1),
            cpu_node: Some(0),
            packets: 40,
        }],
        ways: vec![Way {
            worst: None,
            from: "queue eth0".into(),
            from_cpu: 0,
            from_node: Some(0),
            to: "xmit eth0".into(),
            to_cpu: 1,
            to_node: Some(0),
            packets: 10,
            p50_ns: None,
            p99_ns: None,
        }],
        steps: 10,
        steps_crossed: 10,
        numa: Nodes {
            nodes: vec![node(0, &[0, 1, 2, 5], &[]), node(1, &[3, 4], &["<b>eth0"])],
            steps: 10,
            steps_crossed: 0,
            reads: 8,
            reads_crossed: 2,
            read_ways: vec![ReadWay {
                cpu: 0,
                node: 0,
                read_cpu: 3,
                read_node: 1,
                units: 2,
            }],
        },
        ..Breakdown::default()
    };
    let section = section(&Input {
        facts: &facts,
        answers: &answers,
    });
    assert!(
        section
            .lead
            .as_str()
            .replace('\u{202f}', " ")
            .ends_with("10 (100 %) went to another CPU. 0 (0 %) went to another NUMA node. Of 8 units read, 2 (25.0 %) were read on another node than they were received on."),
        "{}",
        section.lead
    );
    answers.breakdown.steps = 30;
    let some = super::section(&Input {
        facts: &facts,
        answers: &answers,
    });
    assert!(
        some.lead
            .as_str()
            .replace('\u{202f}', " ")
            .contains("Of 10 on CPUs whose node is known, 0 (0 %) went to another NUMA node."),
        "{}",
        some.lead
    );
    let tables = tables(&section);
    assert_eq!(tables[0].rows[0][1], Cell::Text("0-2, 5".into()));
    let crossed = Cell::Badge(Severity::Notice, "1 → 0".into());
    assert_eq!(tables[1].rows[0].last(), Some(&crossed));
    assert_eq!(tables[2].rows[0].last(), Some(&Cell::Text("0".into())));
    assert_eq!(
        tables[3].rows[0].last(),
        Some(&Cell::Badge(Severity::Notice, "0 → 1".into()))
    );
}
