use netmortem_analyzer::Facts;
use netmortem_analyzer::reconstruct::transmit::Stage;
use netmortem_analyzer::reconstruct::transmit::tables::{TxEnd, TxKind};

use super::*;
use crate::chart::Plot;
use crate::sections::fixture;
use crate::sections::tests::tables;

fn built(facts: &Facts) -> Section {
    let answers = fixture::answers(facts);
    section(&Input {
        facts,
        answers: &answers,
    })
}

fn answer(facts: &Facts) -> Transmit {
    fixture::answers(facts).transmit.findings().unwrap().clone()
}

fn table<'a>(section: &'a Section, caption: &str) -> Option<&'a Table> {
    tables(section)
        .into_iter()
        .find(|table| table.caption.as_str() == caption)
}

fn said(section: &Section) -> Vec<String> {
    let text = |block: &Block| match block {
        Block::Paragraph(text) => Some(text.as_str().replace('\u{202f}', " ")),
        _ => None,
    };
    section.blocks.iter().filter_map(text).collect()
}

fn picture(section: &Section, id: &str) -> Option<Plot> {
    section.blocks.iter().find_map(|block| match block {
        Block::Figure(figure) if figure.id == id => Some(figure.chart.plot.clone()),
        _ => None,
    })
}

#[test]
fn the_chart_and_the_table_have_every_stage_in_path_order() {
    let facts = fixture::facts();
    let (section, transmit) = (built(&facts), answer(&facts));
    let Some(Plot::Waterfall(plot)) = picture(&section, "waterfall") else {
        panic!("no waterfall")
    };
    let drawn: Vec<&str> = plot.stages.iter().map(|stage| stage.name.as_str()).collect();
    let path = Stage::ALL.iter().map(|stage| words(stage.name()));
    let expected: Vec<String> = path
        .chain(["unattributed".to_owned()])
        .map(|name| if name == "driver" { "driver *".to_owned() } else { name })
        .collect();
    assert_eq!(drawn, expected);
    let shares: f64 = plot.stages.iter().filter_map(|stage| stage.share).sum();
    assert!((shares - 1.0).abs() < 1e-9, "the shares add up to all: {shares}");
    let stages = table(&section, "Stages").unwrap();
    let cwnd = stages
        .rows
        .iter()
        .find(|row| row[0] == Cell::Text("cwnd".into()))
        .unwrap();
    let times = transmit.stages.iter().find(|stage| stage.stage == "cwnd").unwrap();
    assert_eq!((&cwnd[1], &cwnd[9]), (&Cell::Count(240), &Cell::Count(250)));
    assert_eq!(cwnd[4], Cell::Ns(times.solid.p99_ns.unwrap()));
    assert_eq!(cwnd[12], Cell::Ns(times.all.max_ns.unwrap()));
    assert_eq!(stages.rows.len(), Stage::ALL.len() + 2, "and the rest, and the whole");
}

#[test]
fn what_is_in_no_percentile_is_counted_with_its_reason() {
    let said = said(&built(&fixture::facts()));
    assert_eq!(
        said[0],
        "280 TCP segments with payload were sent (before GSO; retransmissions belong to the first transmission). Confidence: 12 weak, 268 strong. Other packets end at the device and are in no figure here: 20 TCP without payload."
    );
    assert_eq!(
        said[1],
        "Left out of every percentile and share, because their whole time is not known: 25 not acknowledged when the recording ended, 5 dropped by this host and not acknowledged. 10 more have weak or unknown links: only in what is said “of all”."
    );
}

#[test]
fn a_sender_has_its_top_wait_its_limiters_and_its_round_trip() {
    let facts = fixture::facts();
    let (section, transmit) = (built(&facts), answer(&facts));
    let row = &table(&section, "Senders").unwrap().rows[0];
    let sender = &transmit.connections[0];
    assert_eq!(row[1], Cell::Code("10.0.0.1:5201 > 10.0.0.2:41022".into()));
    assert_eq!((&row[2], &row[3]), (&Cell::Count(280), &Cell::Count(2)));
    let (Cell::Text(top), Cell::Text(held)) = (&row[4], &row[5]) else {
        panic!()
    };
    assert!(
        top.as_str().starts_with("cwnd ") && top.as_str().ends_with('%'),
        "{top}"
    );
    assert!(held.as_str().starts_with("cwnd "), "{held}");
    // 250 acknowledged, less 10 weak ones, less the two sent again.
    assert_eq!((&row[6], sender.rtt.n), (&Cell::Count(238), 238));
    let Some(Plot::Bars(plot)) = picture(&section, "limiters") else {
        panic!("no limiters")
    };
    let names: Vec<&str> = plot.parts.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["cwnd", "pacing", "send"]);
    let sum: f64 = plot.rows[0].values.iter().sum();
    assert!((sum - 1.0).abs() < 1e-9, "{sum}");
}

#[test]
fn limiters_without_a_colour_of_their_own_share_grey() {
    let mut transmit = answer(&fixture::facts());
    transmit.connections[0].limiters = vec![
        ("cwnd", 0.5),
        ("rwnd", 0.2),
        ("pacing", 0.1),
        ("send", 0.08),
        ("tsq", 0.06),
        ("nagle", 0.04),
        ("sndbuf", 0.015),
        ("neighbour", 0.005),
    ];
    let blocks = senders::blocks(&transmit);
    let Some(Block::Figure(figure)) = blocks.first() else {
        panic!("no picture")
    };
    let Plot::Bars(plot) = &figure.chart.plot else { panic!() };
    let (name, tone) = plot.parts.last().unwrap();
    assert_eq!((name.as_str(), *tone), ("other waits", crate::chart::Tone::Grey));
    let others = plot.rows[0].values.last().unwrap();
    assert!((others - 0.02).abs() < 1e-9, "{others}");
}

#[test]
fn recovery_is_a_row_per_class_or_a_sentence() {
    let mut facts = fixture::facts();
    let section = built(&facts);
    let caption = "Recovery: first transmission to the last retransmission";
    let rows = &table(&section, caption).unwrap().rows;
    assert_eq!(rows.len(), 1);
    assert_eq!(
        rows[0][..3],
        [Cell::Text("rto".into()), Cell::Count(2), Cell::Ns(200_000_010)]
    );
    for row in &mut facts.tx {
        row.stages.set(Stage::Recovery, None);
    }
    let section = built(&facts);
    assert!(table(&section, caption).is_none(), "no empty table");
    assert!(said(&section).contains(&"No acknowledged segment was sent more than once.".to_owned()));
}

#[test]
fn without_acks_there_is_a_reason_and_no_empty_picture() {
    let mut facts = fixture::facts();
    facts.unknown.push(Reason {
        subject: "tx",
        because: "tcp:tcp_probe was not recorded".to_owned(),
    });
    for row in facts.tx.iter_mut().filter(|row| row.kind == TxKind::Tcp) {
        row.end = TxEnd::Open;
    }
    let section = built(&facts);
    assert!(
        section
            .lead
            .as_str()
            .starts_with("No TCP segment with payload was seen"),
        "{}",
        section.lead
    );
    let unknown = section.blocks.iter().find_map(|block| match block {
        Block::Strip(strip) => Some((strip.severity, strip.sentence.as_str())),
        _ => None,
    });
    let expected = "When segments were acknowledged is not known, because tcp:tcp_probe was not recorded.";
    assert_eq!(unknown, Some((Severity::Unknown, expected)));
    assert!(picture(&section, "waterfall").is_none() && table(&section, "Stages").is_none());
    assert!(tables(&section).iter().all(|table| !table.rows.is_empty()));
}

#[test]
fn a_recording_without_sent_packets_is_unknown_with_its_reason() {
    let mut facts = fixture::facts();
    facts.tx.clear();
    facts.unknown.push(Reason {
        subject: "tx",
        because: "net:net_dev_queue was not recorded".to_owned(),
    });
    let section = built(&facts);
    let [Block::Strip(strip)] = section.blocks.as_slice() else {
        panic!("{:?}", section.blocks)
    };
    assert_eq!(strip.severity, Severity::Unknown);
    assert_eq!(
        strip.sentence.as_str(),
        "No answer, because net:net_dev_queue was not recorded."
    );
}

/// Of one segment it is the slowest, the p99 and the median: it is listed once, and so is its command.
#[test]
fn a_segment_to_look_at_is_listed_once() {
    let mut facts = fixture::facts();
    let one = |row: &&netmortem_analyzer::reconstruct::transmit::tables::TxRow| {
        row.kind == TxKind::Tcp && row.end == TxEnd::Acked && row.confidence.is_solid()
    };
    facts.tx = facts.tx.iter().filter(one).take(1).cloned().collect();
    let id = format!("tx:{}", facts.tx[0].skb_id.0);
    let section = built(&facts);
    let table = table(
        &section,
        "Segments to look at: the slowest, the 99th percentile and the median",
    )
    .unwrap();
    let rows: Vec<(&Cell, &Cell)> = table.rows.iter().map(|row| (&row[0], &row[2])).collect();
    assert_eq!(
        rows,
        [(
            &Cell::Id(Text::from(id.as_str())),
            &Cell::Text("worst, p99, median".into())
        )]
    );
    let command = Text::from(format!("netmortem explain INPUT {id}"));
    let commands = section.blocks.iter().filter_map(|block| match block {
        Block::Code(lines) => Some(lines.iter().filter(|line| **line == command).count()),
        _ => None,
    });
    assert_eq!(commands.sum::<usize>(), 1);
}

/// A host whose handshakes rose, in words; hostile names are shown as names, and what was left out is told.
#[test]
fn round_trips_by_remote_host_are_rows() {
    use netmortem_analyzer::analyses::paths::{Change, Evidence, Host, Kind, Own, Paths, Sides, Times};
    let facts = fixture::facts();
    let mut answers = fixture::answers(&facts);
    let change = Change {
        kind: Kind::Rose,
        from_ns: fixture::START + 2_480_000_000,
        to_ns: None,
        low_ns: 2_600_000,
        high_ns: 42_900_000,
        handshakes: Some(Sides {
            other_n: 13,
            other_ns: 3_200_000,
            in_n: 10,
            in_ns: 43_100_000,
        }),
        acks: None,
        answers: None,
        in_flight: Some((208, 416)),
        received_per_s: (0, 0),
        own_ns: None,
        evidence: Evidence::Handshakes,
        own: Own::Nothing,
        also: vec![],
        not: vec!["10.20.3.2".into()],
    };
    let times = |n| Times {
        n,
        min_ns: Some(2_500_000),
        p50_ns: None,
    };
    let host = |host: &str, change| Host {
        worst: None,
        host: host.into(),
        recorded: false,
        handshakes: times(23),
        acks: times(340),
        answers: times(0),
        windows: vec![],
        change,
    };
    answers.paths = Paths {
        hosts: vec![host("10.20.2.2", Some(change)), host("<b>", None)],
        filled: None,
        others: 7,
        start_ns: fixture::START,
    };
    let section = section(&Input {
        facts: &facts,
        answers: &answers,
    });
    let table = table(&section, "Round trips by remote host: handshakes, ACKs and answers").unwrap();
    let (rose, none) = (&table.rows[0], &table.rows[1]);
    assert_eq!(
        (&rose[2], &rose[3], &rose[4]),
        (&Cell::Count(23), &Cell::Ns(2_500_000), &Cell::Unknown)
    );
    let Some(Cell::Text(said)) = rose.last() else { panic!() };
    let said = said.as_str().replace('\u{202f}', " ");
    assert!(
        said.contains("(n 13)") && said.contains("(n 10)") && said.ends_with("not its program; not so 10.20.3.2"),
        "{said}"
    );
    assert_eq!(
        (&none[0], none.last()),
        (&Cell::Code(Text::name("<b>")), Some(&Cell::Text("none found".into())))
    );
    assert!(table.note.as_ref().unwrap().as_str().contains("7 others are left out"));
}

/// Words of the tables are for SQL.
#[test]
fn kinds_of_packets_are_told_in_words() {
    for of in ["tcp_control", "tcp_unknown", "udp", "other"] {
        assert!(!kind(of).contains('_') && kind(of) != of, "{of}");
    }
}
