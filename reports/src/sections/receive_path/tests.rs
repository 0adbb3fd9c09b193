use super::*;
use crate::chart::Plot;
use crate::document::Severity;
use crate::sections::fixture;
use crate::sections::tests::tables;

fn picture(section: &Section, id: &str) -> crate::chart::Plot {
    let found = section.blocks.iter().find_map(|block| match block {
        Block::Figure(figure) if figure.id == id => Some(figure.chart.plot.clone()),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("no {id}"))
}

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
    let (section, receive) = built();
    let Plot::Waterfall(plot) = picture(&section, "waterfall") else {
        panic!("not a waterfall")
    };
    let names: Vec<&str> = plot.stages.iter().map(|stage| stage.name.as_str()).collect();
    use netmortem_analyzer::reconstruct::receive::tables::Stage;
    let path = Stage::ALL.iter().map(|stage| words(stage.name()));
    let expected: Vec<String> = path
        .chain(["unattributed".to_owned()])
        .map(|name| if name == "gro" { "gro *".to_owned() } else { name })
        .collect();
    assert_eq!(names, expected, "the recording's own cost is 35 % of gro: a star");
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
    assert_eq!(row("reader asleep")[9], Cell::Count(392), "400 units less 8 not read");
    assert_eq!(
        row("gro *")[8],
        Cell::Badge(Severity::Notice, format::percent(0.35).into())
    );
    assert_eq!(row("protocol")[8], Cell::Fraction(0.04));
    assert_eq!(row("copy")[8], Cell::Unknown, "what was not estimated is not 0");
    assert_eq!(stages.rows.len(), 18 + 2, "every stage, the rest and the whole");
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
    assert_eq!(worst.rows[0][0], Cell::Id(format!("rx:{}", first.skb_id).into()));
    assert_eq!(worst.rows[0][1], Cell::At(first.start_ns - fixture::START));
    assert_eq!(worst.rows[0][2], Cell::Ns(first.total_ns));
    assert_eq!(worst.rows[0][3], Cell::Text("reader asleep".into()));
}

#[test]
fn who_had_the_cpu_is_named_with_its_part_of_the_stage() {
    let (section, receive) = built();
    let table = tables(&section)
        .into_iter()
        .find(|table| table.caption.as_str() == "What units waited for")
        .unwrap();
    let row = |stage: &str, who: &Cell| {
        let found = table
            .rows
            .iter()
            .find(|row| row[0] == Cell::Text(stage.into()) && row[2] == *who);
        found.unwrap_or_else(|| panic!("{stage}"))
    };
    let hostile = Cell::Code(fixture::HOSTILE_TASK.into());
    let softirq = row("softirq wait", &hostile);
    assert_eq!(
        (&softirq[1], &softirq[6]),
        (&Cell::Text("a task with softirqs off".into()), &Cell::Fraction(1.0))
    );
    let wait = receive
        .stages
        .iter()
        .find(|stage| stage.stage == "softirq_wait")
        .unwrap();
    assert_eq!(
        (&softirq[4], &softirq[5]),
        (&Cell::Count(wait.all.n), &Cell::Ns(wait.all.sum_ns))
    );
    // Of odd units nobody is known to have run instead of the reader: no name is made up.
    let unknown = row("run queue", &Cell::Unknown);
    assert_eq!(unknown[1], Cell::Text("not told by the recording".into()));
    // Who waited is told where that is a reader.
    assert_eq!(softirq[3], Cell::Text(Text::default()));
    assert!(matches!(unknown[3], Cell::Code(_)), "{unknown:?}");
    // Of each reader by itself; all of them are the stage.
    let waited = table.rows.iter().filter(|row| row[0] == Cell::Text("run queue".into()));
    let parts: Vec<f64> = waited
        .map(|row| match row[6] {
            Cell::Fraction(share) => share,
            _ => panic!("{row:?}"),
        })
        .collect();
    assert!(
        parts.len() > 2 && (parts.iter().sum::<f64>() - 1.0).abs() < 1e-9,
        "{parts:?}"
    );
}

#[test]
fn who_is_left_out_of_the_percentiles_is_said() {
    let (section, _) = built();
    let said: Vec<String> = section
        .blocks
        .iter()
        .filter_map(|block| match block {
            Block::Paragraph(text) => Some(text.as_str().replace('\u{202f}', " ")),
            _ => None,
        })
        .collect();
    let expected = "Left out of every percentile, because their whole time is not known: 8 not read by its end. 40 more have weak or unknown links: only in what is said “of all”.";
    assert_eq!(said[1], expected);
}

/// Who was busy, for how long, and at what, with the name of the rows.
#[test]
fn a_reader_busy_elsewhere_is_named_with_what_it_was_at() {
    let mut facts = fixture::facts();
    use netmortem_analyzer::ConnectionId;
    use netmortem_analyzer::reconstruct::receive::tables::{RxEnd, Stage};
    for r in facts.rx.iter_mut().filter(|r| r.end == RxEnd::Read) {
        r.stages.set(Stage::ReaderRunning, Some(10_000));
        (r.busy_ns, r.busy_on, r.busy_on_ns) = (8_000, Some(ConnectionId(0)), 6_000);
    }
    let answers = fixture::answers(&facts);
    let section = section(&Input {
        facts: &facts,
        answers: &answers,
    });
    let says = section.blocks.iter().find_map(|block| match block {
        Block::Paragraph(text) => Some(text.as_str()).filter(|t| t.contains("busy elsewhere")),
        _ => None,
    });
    let says = says.unwrap().replace(['\u{202f}', '\u{a0}'], " ");
    assert!(
        says.contains("(80.0 % of the time for which they ran)") && says.contains("busy_on"),
        "{says}"
    );
    let (built, _) = built();
    let none = |block: &Block| !matches!(block, Block::Paragraph(t) if t.as_str().contains("busy elsewhere"));
    assert!(built.blocks.iter().all(none));
}

/// Of none there is no table of nothing.
#[test]
fn no_unit_has_no_stages() {
    let facts = fixture::facts();
    let mut answers = fixture::answers(&facts);
    if let Outcome::Findings(receive) = &mut answers.receive {
        let none = |times: &mut netmortem_analyzer::analyses::waits::StageTimes| {
            (times.all, times.solid, times.share) = (Default::default(), Default::default(), 0.0);
        };
        receive.stages.iter_mut().for_each(none);
        none(&mut receive.total);
        none(&mut receive.unattributed);
        receive.read = 0;
    }
    let section = section(&Input {
        facts: &facts,
        answers: &answers,
    });
    assert!(
        section
            .lead
            .as_str()
            .starts_with("No packet was seen from its first event")
    );
    assert!(tables(&section).iter().all(|t| t.caption.as_str() != "Stages"));
    assert!(
        section
            .blocks
            .iter()
            .all(|b| !matches!(b, Block::Figure(f) if f.id == "waterfall"))
    );
}
