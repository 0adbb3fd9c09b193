use netmortem_analyzer::analyses::opens::{AcceptQueue, Failed, FullQueue, Lookups, Opens, Reset};
use netmortem_analyzer::analyses::{Answers, Outcome};
use netmortem_analyzer::explain::{Id, Kind};

use super::{local, name_cell, section};
use crate::document::{Block, Cell, Severity};
use crate::sections::{Input, fixture};

/// Attempts and resets are rows; hostile names are shown as names.
#[test]
fn each_group_is_a_row() {
    let facts = fixture::facts();
    let mut answers: Answers = fixture::answers(&facts);
    answers.opens = Outcome::Findings(Opens {
        attempts: 4,
        failed: vec![Failed {
            first: Some(Id::new(Kind::Open, 7)),
            after_udp: 0,
            answered_by: None,
            unheard: None,
            check_ns: None,
            aside: None,
            listens: false,
            shut: None,
            twice: None,
            before: None,
            source: None,
            nobody: false,
            times: vec![],
            duration_ns: 0,
            back: None,
            end: "no_port",
            error: Some("EADDRNOTAVAIL"),
            to: "10.0.0.2:443".into(),
            task: "<b>cli/42".into(),
            attempts: 4,
            message: false,
            syns_again: 0,
            first_ns: fixture::START + 1_000,
            longest_ns: 25,
            sure: true,
        }],
        resets: vec![Reset {
            first: Some(Id::new(Kind::Reset, 2)),
            received: true,
            sender: "between",
            label: "10.0.0.1:40000 > 10.0.0.2:443".into(),
            reason: String::new(),
            resets: 1,
            first_ns: fixture::START + 2_000,
            sure: true,
            twin: false,
            listens: false,
            moved: vec![],
            flapped: 0,
            elsewhere: false,
            untranslated: String::new(),
            times: vec![],
            duration_ns: 0,
            aborted: None,
            rejected: None,
            complete: false,
            by: String::new(),
        }],
        ..Opens::default()
    });
    let section = section(&Input {
        facts: &facts,
        answers: &answers,
    });
    let tables: Vec<_> = section
        .blocks
        .iter()
        .filter_map(|b| match b {
            Block::Table(t) => Some(t),
            _ => None,
        })
        .collect();
    assert_eq!(tables.len(), 2);
    assert_eq!(tables[0].rows[0][0], Cell::Badge(Severity::Bad, "no port".into()));
    assert_eq!(tables[0].rows[0][3], Cell::Code(crate::clean::Text::name("<b>cli/42")));
    assert_eq!(tables[0].rows[0][4], Cell::Count(4));
    assert_eq!(tables[0].rows[0][8], Cell::Id("open:7".into()));
    assert_eq!(tables[1].rows[0][5], Cell::Id("reset:2".into()));
    assert_eq!(
        tables[1].rows[0][0],
        Cell::Badge(Severity::Bad, "received, not sent by the peer's socket".into())
    );
}

/// What the probes told has its tables behind those of the attempts; without them there are none.
#[test]
fn queues_and_lookups_have_tables_where_they_were_recorded() {
    let facts = fixture::facts();
    let mut answers: Answers = fixture::answers(&facts);
    let captions = |answers: &Answers| -> Vec<String> {
        let input = Input { facts: &facts, answers };
        let of = section(&input);
        crate::sections::tests::tables(&of)
            .iter()
            .map(|t| t.caption.as_str().to_owned())
            .collect()
    };
    answers.opens = Outcome::Findings(Opens::default());
    assert_eq!(captions(&answers), Vec::<String>::new());
    answers.opens = Outcome::Findings(Opens {
        accept_queues: vec![AcceptQueue {
            at: "10.0.0.1:80".into(),
            sockets: 1,
            joined: 8,
            most: 7,
            limit: 9,
            most_ns: fixture::START + 5_000,
            full: 0,
        }],
        name_lookups: vec![Lookups {
            task: "<b>app".into(),
            took: netmortem_analyzer::stat::Distribution::of(vec![2_000, 4_000], 1),
            slowest_ns: Some(fixture::START + 7_000),
            slow: 0,
        }],
        ..Opens::default()
    });
    assert_eq!(
        captions(&answers),
        [
            "Connections that waited to be accepted",
            "Names resolved (getaddrinfo of the host's libc)"
        ]
    );
    let built = section(&Input {
        facts: &facts,
        answers: &answers,
    });
    let tables = crate::sections::tests::tables(&built);
    assert_eq!(
        tables[0].rows[0],
        [
            Cell::Code("10.0.0.1:80".into()),
            Cell::Count(1),
            Cell::Count(8),
            Cell::Count(7),
            Cell::Count(9),
            Cell::At(5_000),
            Cell::Count(0)
        ]
    );
    let lookups = &tables[1].rows[0];
    assert_eq!(lookups[0], Cell::Code(crate::clean::Text::name("<b>app")));
    assert_eq!((&lookups[1], &lookups[5]), (&Cell::Count(2), &Cell::Ns(4_000)));
    assert_eq!((&lookups[6], &lookups[7]), (&Cell::At(7_000), &Cell::Count(1)));
}

/// A program that found the queue of a socket file full has a row; where nothing failed there is no table.
#[test]
fn connects_to_socket_files_have_a_table() {
    let row = FullQueue {
        by: "<b>nginx/9".into(),
        threads: 1,
        calls: 80,
        full: 77,
        times: vec![],
        duration_ns: 0,
        within_ns: Some((1_000, 9_000)),
        refused: 0,
        denied: 2,
        waited: 1,
        longest_ns: 150_000_000,
    };
    assert!(local::block(&[]).is_none());
    let Some(Block::Table(table)) = local::block(&[row]) else {
        panic!()
    };
    let expect = vec![
        name_cell("<b>nginx/9"),
        Cell::Count(80),
        Cell::Count(77),
        Cell::At(1_000),
        Cell::At(9_000),
        Cell::Count(0),
        Cell::Count(2),
        Cell::Count(1),
        Cell::Ns(150_000_000),
    ];
    assert_eq!(table.rows, [expect]);
    assert_eq!(table.columns.len(), 9);
}
