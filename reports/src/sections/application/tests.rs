use netmortem_analyzer::analyses::Outcome;
use netmortem_analyzer::analyses::application::{Apart, Asker, ByItself, HalfOpen, Server, Serving, Slow};
use netmortem_analyzer::explain::{Id, Kind};

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
        stream: false,
        turns: 6,
        overlaps: 0,
        task: fixture::HOSTILE_TASK.to_owned(),
        turnaround: distribution(&[1_000, 150_000_000]),
        parts: vec![Part {
            state: "asleep_in",
            call: Some("clock_nanosleep".to_owned()),
            woken_by: None,
            ran_meanwhile: None,
            waker_held: None,
            waker_read: None,
            waker_in_state_d: None,
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
            id: Some(Id::new(Kind::Response, 9)),
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
        "1 TCP socket had a request-response pattern; 1 sent and received at once, 4 never took turns."
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
    assert_eq!(tables[0].rows[0][0], Cell::Id("conn:3".into()));
    assert_eq!(tables[1].columns[2].unit, Some("s"));
    let slow = &tables[1].rows[0];
    assert_eq!(slow[..2], [Cell::Id("response:9".into()), Cell::Id("conn:3".into())]);
    assert_eq!(
        (&slow[2], &slow[6], &slow[7]),
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

#[test]
fn servers_and_threads_have_tables() {
    let facts = fixture::facts();
    let mut answers = fixture::answers(&facts);
    let slow = Slow {
        at: "server",
        n: 54,
        p50_ns: 90_460_000,
        min_ns: 90_000_000,
        max_ns: 91_000_000,
        over_ns: 54 * 90_000_000,
        sum_ns: 0,
        share: 0.999,
        parts: connection(Role::Server, true).parts,
        task: Default::default(),
        ..Slow::default()
    };
    answers.application = Outcome::Findings(Application {
        servers: vec![Server {
            worst: Some(Id::new(Kind::Response, 3)),
            whole: None,
            stood: vec![],
            nature: vec![],
            apart: vec![Apart {
                client: "10.9.9.1".into(),
                n: 79,
                p50_ns: 92_760_000,
                max_ns: 109_680_000,
                server: 0.999,
                there: 0.0,
                back: 0.0,
                rtt_ns: Some(150_000),
                parts: vec![],
                task: Default::default(),
            }],
            server: "10.9.2.2:7316".into(),
            connections: 2,
            threads: 2,
            response: distribution(&[200_000, 90_460_000]),
            paired: 2,
            busy: 0.9,
            over_ns: 90_260_000,
            slowest_over_ns: 90_260_000,
            slow: vec![slow],
        }],
        serving: vec![Serving {
            worst: None,
            task: "python3/7".into(),
            server: "10.9.2.2:7301".into(),
            connections: 10,
            of: 10,
            listeners: Some(4),
            requests: 100,
            turnaround_ns: 2_000_000_000,
            behind_ns: 1_700_000_000,
            mostly: None,
        }],
        askers: vec![Asker {
            worst: None,
            task: "client/8".into(),
            turns: 5,
            between_ns: 7,
            awaiting_ns: 9,
            held_off_ns: 0,
            parts: vec![],
        }],
        by_itself: Some(ByItself {
            task: "haproxy".into(),
            server: "10.9.2.2:80".into(),
            n: 60,
            of: 400,
            p50_ns: Some(90_000),
            spells: vec![(2_000_000_000, 5_000_000_000)],
            all: 3,
        }),
        half_open: Some(HalfOpen {
            server: "10.9.2.3:5432".into(),
            connections: 6,
            task: "<b>worker".into(),
            of_task: 5,
            since_ns: 4_000_000_000,
            anew: 2,
            anew_ns: 7_000_000_000,
        }),
        ..Application::default()
    });
    let section = section(&Input {
        facts: &facts,
        answers: &answers,
    });
    let tables = tables(&section);
    let captions: Vec<&str> = tables.iter().map(|t| t.caption.as_str()).collect();
    assert_eq!(
        captions,
        [
            "Servers, as their clients saw them",
            "Clients all of whose answers take long, alike",
            "Threads that served several connections",
            "Threads that asked",
            "When haproxy at 10.9.2.2:80 answered by itself",
            "Requests on connections whose peer has gone (inferred)"
        ]
    );
    for t in &tables {
        assert!(t.rows.iter().all(|r| r.len() == t.columns.len()), "{}", t.caption);
    }
    assert_eq!(tables[0].rows[0][6], Cell::Id("response:3".into()));
    let Cell::Text(where_) = &tables[0].rows[0][9] else {
        panic!()
    };
    assert_eq!(
        where_.as_str().replace('\u{202f}', " "),
        "54 in the server (p50 90.5 ms)"
    );
    assert_eq!(
        tables[1].rows[0][..6],
        [
            Cell::Code("10.9.9.1".into()),
            Cell::Code("10.9.2.2:7316".into()),
            Cell::Count(79),
            Cell::Ns(92_760_000),
            Cell::Ns(109_680_000),
            Cell::Ns(200_000)
        ]
    );
    assert_eq!(
        (&tables[1].rows[0][6], &tables[1].rows[0][9]),
        (&Cell::Fraction(0.999), &Cell::Ns(150_000))
    );
    assert_eq!(tables[2].rows[0][6..8], [Cell::Ns(20_000_000), Cell::Ns(17_000_000)]);
    assert_eq!(tables[3].rows[0][2..4], [Cell::Ns(9), Cell::Ns(7)]);
    assert_eq!(
        tables[4].rows,
        [[
            Cell::At(2_000_000_000),
            Cell::At(5_000_000_000),
            Cell::Ns(3_000_000_000)
        ]]
    );
    let note = tables[4].note.as_ref().unwrap().as_str();
    assert!(
        note.contains("60 of its 400 answers. 2 spells more are not shown"),
        "{note}"
    );
    assert_eq!(
        tables[5].rows[0][1..4],
        [Cell::Count(6), name_cell("<b>worker"), Cell::Count(5)]
    );
    assert_eq!(tables[5].rows[0][6], Cell::At(7_000_000_000));
}
