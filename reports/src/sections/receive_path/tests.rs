use super::*;
use crate::sections::fixture;
use crate::sections::tests::tables;

fn built() -> (Section, Receive) {
    let facts = fixture::facts();
    let answers = fixture::answers(&facts);
    let receive = answers.receive.findings().unwrap().clone();
    (
        section(&Input {
            facts: &facts,
            answers: &answers,
        }),
        receive,
    )
}

#[test]
fn the_waterfall_has_every_stage_in_path_order_and_the_rest() {
    let (_, receive) = built();
    let Plot::Waterfall(plot) = waterfall(&receive).chart.plot else {
        panic!("not a waterfall")
    };
    let names: Vec<&str> = plot.stages.iter().map(|stage| stage.name.as_str()).collect();
    assert_eq!(names.first(), Some(&"irq"));
    assert_eq!(names.last(), Some(&"unattributed"));
    assert_eq!(names.len(), receive.stages.len() + 1);
    let shares: f64 = plot.stages.iter().filter_map(|stage| stage.share).sum();
    assert!((shares - 1.0).abs() < 1e-9, "the shares add up to all: {shares}");
    let irq = plot.stages.first().unwrap();
    assert_eq!((irq.n, irq.p50_ns), (0, None), "a stage that was not seen has no time");
}

#[test]
fn the_table_gives_solid_percentiles_and_n_of_all_beside() {
    let (section, receive) = built();
    let stages = tables(&section)
        .into_iter()
        .find(|table| table.caption.as_str() == "Stages")
        .unwrap();
    let row = |name: &str| {
        stages
            .rows
            .iter()
            .find(|row| row[0] == Cell::Text(name.into()))
            .unwrap()
    };
    let asleep = receive
        .stages
        .iter()
        .find(|stage| stage.stage == "reader_asleep")
        .unwrap();
    assert_eq!(row("reader asleep")[1], Cell::Count(asleep.solid.n));
    assert_eq!(row("reader asleep")[4], Cell::Ns(asleep.solid.p99_ns.unwrap()));
    assert_eq!(row("reader asleep")[7], Cell::Count(392), "400 units less 8 not read");
    assert_eq!(
        row("irq")[1..6],
        [
            Cell::Count(0),
            Cell::Unknown,
            Cell::Unknown,
            Cell::Unknown,
            Cell::Unknown
        ]
    );
}

#[test]
fn every_stage_that_was_seen_has_a_histogram_with_ecdf() {
    let facts = fixture::facts();
    let answers = fixture::answers(&facts);
    let document = crate::sections::document(&facts, &answers);
    let drawn: Vec<String> = document
        .figures()
        .iter()
        .filter(|(section, _)| *section == ID)
        .map(|(_, figure)| figure.id.clone())
        .collect();
    for stage in [
        "total",
        "rcvq",
        "softirq_wait",
        "gro",
        "protocol",
        "ready",
        "reader_asleep",
        "run_queue",
        "copy",
        "unattributed",
    ] {
        assert!(drawn.contains(&format!("stage-{stage}")), "{stage}: {drawn:?}");
    }
    assert!(!drawn.contains(&"stage-irq".to_owned()));
    for (_, figure) in document
        .figures()
        .iter()
        .filter(|(section, figure)| *section == ID && figure.id.starts_with("stage-"))
    {
        let Plot::Distribution(plot) = &figure.chart.plot else {
            panic!("{}", figure.id)
        };
        let counted: u64 = plot.bins.iter().map(|bin| bin.count).sum();
        let note = figure.chart.note.as_ref().unwrap().as_str().to_owned();
        assert!(
            note.starts_with(&format!("n = {}", format::count(counted))),
            "{}: {note} but {counted} in the bins",
            figure.id
        );
        assert_eq!(plot.ecdf.last().map(|point| point.1), Some(1.0), "{}", figure.id);
        let labels: Vec<&str> = plot.marks.iter().map(|mark| mark.label).collect();
        assert_eq!(labels, ["p50", "p90", "p99", "max"], "{}", figure.id);
    }
}

#[test]
fn the_slowest_units_are_placed_since_the_start_of_the_recording() {
    let (section, receive) = built();
    let worst = tables(&section)
        .into_iter()
        .find(|table| table.caption.as_str() == "The slowest units")
        .unwrap();
    let first = &receive.worst[0];
    assert_eq!(worst.rows[0][0], Cell::Count(u64::from(first.skb_id)));
    assert_eq!(worst.rows[0][1], Cell::At(first.start_ns - fixture::START));
    assert_eq!(worst.rows[0][2], Cell::Ns(first.total_ns));
    assert_eq!(worst.rows[0][3], Cell::Text("reader asleep".into()));
}
