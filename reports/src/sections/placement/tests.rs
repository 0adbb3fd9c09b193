use netmortem_analyzer::analyses::breakdown::{Breakdown, Queue, Way};

use super::*;
use crate::sections::{fixture, tests::tables};

#[test]
fn shares_are_of_the_direction_and_crossings_are_counted() {
    let facts = fixture::facts();
    let mut answers = fixture::answers(&facts);
    let queue = |direction, dev: &str, cpu, packets| Queue {
        direction,
        dev: dev.to_owned(),
        queue: Some(0),
        cpu,
        packets,
    };
    let way = |to_cpu, packets| Way {
        from: "xmit eth0".into(),
        from_cpu: 0,
        to: "rx <b>1".into(),
        to_cpu,
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
        ways: vec![way(1, 30), way(0, 10)],
        ..Breakdown::default()
    };
    let section = section(&Input {
        facts: &facts,
        answers: &answers,
    });
    assert_eq!(
        section.lead.as_str().replace('\u{202f}', " "),
        "Of 40 steps from one place to the next, 30 (75.0 %) went to another CPU."
    );
    let tables = tables(&section);
    let share = |row: usize| tables[0].rows[row][5].clone();
    assert_eq!(
        [share(0), share(1), share(2)],
        [Cell::Fraction(0.75), Cell::Fraction(1.0), Cell::Fraction(0.25)]
    );
    assert_eq!(tables[1].rows[0][6], Cell::Unknown);
}
