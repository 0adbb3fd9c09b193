use netmortem_analyzer::analyses::Outcome;

use super::*;
use crate::document::Severity;
use crate::sections::{fixture, tests::tables};

fn distribution(values: &[i64]) -> netmortem_analyzer::stat::Distribution {
    netmortem_analyzer::stat::Distribution::of(values.to_vec(), 0)
}

fn connection(role: Role, in_turns: bool) -> Connection {
    Connection {
        connection: 3,
        label: "<b>10.0.0.1:1 > 10.0.0.2:2".to_owned(),
        role,
        role_by: RoleBy::Ports,
        in_turns,
        turns: 6,
        overlaps: 0,
        task: fixture::HOSTILE_TASK.to_owned(),
        turnaround: distribution(&[1_000, 150_000_000]),
        parts: vec![Part {
            state: "asleep_in",
            call: Some("clock_nanosleep".to_owned()),
            woken_by: None,
            ns: 149_000_000,
            share: 0.993,
        }],
        response: distribution(&[2_000, 151_000_000]),
        paired: 2,
        peer_share: Some(0.99),
    }
}

fn found() -> Application {
    Application {
        connections: vec![connection(Role::Client, true), connection(Role::Server, false)],
        both_ways: 1,
        one_way: 4,
        slow_responses: vec![SlowResponse {
            connection: 3,
            start_ns: fixture::START + 7,
            task: "client/8".to_owned(),
            response_ns: 151_000_000,
            there_ns: Some(600_000),
            peer_ns: Some(150_000_000),
            back_ns: None,
            confidence: "strong",
        }],
        ..Application::default()
    }
}

#[test]
fn who_waited_for_whom_and_what_is_not_known() {
    let facts = fixture::facts();
    let mut answers = fixture::answers(&facts);
    answers.application = Outcome::Findings(found());
    let section = section(&Input {
        facts: &facts,
        answers: &answers,
    });
    assert_eq!(
        section.lead.as_str(),
        "1 TCP socket spoke in requests and answers; 1 sent and received at once, 4 never took turns."
    );
    let tables = tables(&section);
    let row = |nth: usize| &tables[0].rows[nth];
    assert_eq!(row(0)[2], Cell::Text("client (by its port)".into()));
    assert_eq!(row(1)[2], Cell::Text("both at once".into()));
    assert_eq!(row(0)[8], Cell::Fraction(0.99));
    let Cell::Text(spent) = &row(0)[13] else { panic!() };
    assert_eq!(
        spent.as_str().replace('\u{202f}', " "),
        "asleep in clock_nanosleep 99.3 %"
    );
    assert_eq!(tables[1].columns[1].unit, Some("s"));
    let slow = &tables[1].rows[0];
    assert_eq!(
        (&slow[1], &slow[5], &slow[6]),
        (&Cell::At(7), &Cell::Ns(150_000_000), &Cell::Unknown)
    );
}

#[test]
fn without_reads_and_sends_there_is_no_answer() {
    let facts = netmortem_analyzer::Facts::empty();
    let section = section(&Input {
        facts: &facts,
        answers: &fixture::answers(&facts),
    });
    assert!(matches!(&section.blocks[..], [Block::Strip(s)] if s.severity == Severity::Unknown));
}
