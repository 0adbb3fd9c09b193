use netmortem_analyzer::Facts;

use super::*;
use crate::chart::{Lane, Plot, Tone};
use crate::sections::fixture;
use crate::sections::tests::tables;

fn built(facts: &Facts) -> Section {
    let answers = fixture::answers(facts);
    section(&Input {
        facts,
        answers: &answers,
    })
}

#[test]
fn losses_are_first_with_their_number_and_place() {
    let facts = fixture::facts();
    let section = built(&facts);
    let plain = section.lead.as_str().replace('\u{202f}', " ");
    assert_eq!(
        plain,
        "1 000 000 events from 2 CPUs over 10.0 s; 1 204 were lost (0.12 %)."
    );
    assert!(matches!(section.blocks.first(), Some(Block::Strip(strip)) if strip.severity == Severity::Notice));
    let gaps = tables(&section)
        .into_iter()
        .find(|table| table.caption.as_str() == "Gaps")
        .unwrap();
    let expected = vec![
        Cell::Count(1),
        Cell::At(4_000_000_000),
        Cell::At(4_500_000_000),
        Cell::Ns(500_000_000),
        Cell::Count(1_204),
        Cell::Text("overrun".into()),
    ];
    assert_eq!(gaps.rows, [expected]);
}

#[test]
fn a_loss_of_unknown_size_is_unknown_not_zero() {
    let mut facts = fixture::facts();
    facts.capture.lost_events = 0;
    facts.capture.losses_of_unknown_size = 2;
    facts.capture.gaps[0].lost_events = None;
    facts.gaps[0].lost_events = None;
    let section = built(&facts);
    assert!(
        section.lead.as_str().ends_with("2 losses of unknown size."),
        "{}",
        section.lead
    );
    let gaps = tables(&section)
        .into_iter()
        .find(|table| table.caption.as_str() == "Gaps")
        .unwrap();
    assert_eq!(gaps.rows[0][4], Cell::Unknown);
}

#[test]
fn whether_a_slice_lost_events_is_not_known() {
    let mut facts = fixture::facts();
    facts.capture.lost_events = 0;
    assert!(built(&facts).lead.as_str().ends_with("none was lost."));
    facts.capture.lost_at_unknown_time = 5_000;
    let section = built(&facts);
    let lead = section.lead.as_str();
    assert!(lead.ends_with("whether some were lost is not known."), "{lead}");
}

#[test]
fn the_gap_is_red_on_its_cpu_in_the_picture() {
    let facts = fixture::facts();
    let section = built(&facts);
    let figure = section.blocks.iter().find_map(|block| match block {
        Block::Figure(figure) => Some(figure),
        _ => None,
    });
    let Plot::TimeSeries(plot) = &figure.unwrap().chart.plot else {
        panic!("coverage is a time series")
    };
    let red = |lane: &Lane| {
        lane.spans
            .iter()
            .filter(|span| span.tone == Tone::Red)
            .map(|span| (span.from_ns, span.to_ns))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        plot.lanes.iter().map(red).collect::<Vec<_>>(),
        [vec![], vec![(4_000_000_000, 4_500_000_000)]]
    );
}

#[test]
fn a_complete_recording_has_no_picture_of_gaps_and_is_good() {
    let mut facts = fixture::facts();
    facts.capture.lost_events = 0;
    for stream in &mut facts.capture.streams {
        (stream.lost_events, stream.losses_of_unknown_size) = (0, 0);
    }
    facts.capture.gaps.clear();
    facts.gaps.clear();
    // Every event is there, and a hundredth of the bytes that were received is unexplained: that is not good.
    let strip = |section: &Section| match section.blocks.first() {
        Some(Block::Strip(strip)) => (strip.severity, strip.sentence.as_str().to_owned()),
        _ => panic!("no strip"),
    };
    let (severity, says) = strip(&built(&facts));
    assert_eq!(severity, Severity::Notice);
    let unexplained =
        "10000 of 1000000 bytes (1.00 %) do not add up in: what TCP received = read + waiting (coalesce_fifo)";
    assert!(says.contains(unexplained), "{says}");
    facts.balances.clear();
    let section = built(&facts);
    assert!(section.lead.as_str().ends_with("; none was lost."));
    assert!(matches!(section.blocks.first(), Some(Block::Strip(strip)) if strip.severity == Severity::Good));
    assert!(!section.blocks.iter().any(|block| matches!(block, Block::Figure(_))));
}

#[test]
fn what_was_not_recorded_about_the_recording_is_a_dash() {
    let facts = Facts::empty();
    let origin = origin(&facts.capture);
    assert!(
        origin
            .iter()
            .filter(|(key, _)| key.as_str() != "Ring-buffer data")
            .all(|(_, value)| value.as_str() == "–"),
        "{origin:?}"
    );
}

#[test]
fn gaps_of_unused_ring_buffers_are_counted_but_not_drawn() {
    let mut facts = fixture::facts();
    facts.gaps.clear(); // the capture still has its gap: it is of a stream that is not used
    let section = built(&facts);
    assert!(!section.blocks.iter().any(|block| matches!(block, Block::Figure(_))));
    let said = |block: &Block| matches!(block, Block::Paragraph(text) if text.as_str().starts_with("1 gap more in ring buffers"));
    assert!(section.blocks.iter().any(said));
}

#[test]
fn the_error_bar_of_the_clocks_and_the_cost_of_recording_are_told() {
    let told = |facts: &Facts| {
        let section = built(facts);
        let strip = section.blocks.iter().find_map(|block| match block {
            Block::Strip(strip) => Some(strip.sentence.as_str().to_owned()),
            _ => None,
        });
        let values = section.blocks.iter().find_map(|block| match block {
            Block::KeyValues(pairs) => Some(pairs.clone()),
            _ => None,
        });
        let values = values.unwrap();
        let value = |key: &str| {
            let found = values.iter().find(|(name, _)| name.as_str() == key);
            found.unwrap().1.as_str().replace('\u{202f}', " ")
        };
        (strip.unwrap(), value("Clocks"), value("Cost of recording"))
    };
    let mut facts = fixture::facts();
    let (strip, clocks, cost) = told(&facts);
    assert!(strip.contains("error bar 120 ns"), "{strip}");
    assert!(clocks.ends_with("error bar 120 ns"), "{clocks}");
    assert_eq!(
        cost,
        "about 180 ns per event, estimated; over 20 % of these stages: receive path gro (35.0 %), transmit path driver (35.0 %)"
    );
    (facts.clock_skew, facts.event_cost_ns) = (vec![], None);
    let (strip, clocks, cost) = told(&facts);
    assert!(strip.contains("is not known"), "{strip}");
    assert!(clocks.contains("not known"), "{clocks}");
    assert_eq!(cost, "–");
    facts.capture.cpus = 1;
    assert_eq!(told(&facts).1, "one CPU: no error between CPUs");
}

#[test]
fn what_adds_up_is_folded_away_under_its_sum() {
    let mut facts = fixture::facts();
    facts.balances.retain(|row| row.unexplained_bytes == 0);
    let section = built(&facts);
    let summary = section.blocks.iter().find_map(|block| match block {
        Block::Details { summary, .. } if summary.as_str().starts_with("Bytes") => Some(summary),
        _ => None,
    });
    let summary = summary.unwrap().as_str().replace('\u{202f}', " ");
    let expected = "Bytes add up: 0 B of 977 KiB unexplained; 35 of 40 links between packets are certain or strong";
    assert_eq!(summary, expected);
    let table = tables(&section)
        .into_iter()
        .find(|table| table.caption.as_str() == "Do the bytes add up?")
        .unwrap();
    assert_eq!(table.columns.len(), 8, "no column of reasons without a reason");
    (facts.balances, facts.lineage) = (vec![], vec![]);
    let section = built(&facts);
    assert!(tables(&section).iter().all(|table| !table.rows.is_empty()));
}

#[test]
fn bytes_that_do_not_add_up_are_marked_where_the_comparison_can_be_trusted() {
    let section = built(&fixture::facts());
    let find = |caption: &str| {
        let tables = tables(&section).into_iter();
        tables
            .into_iter()
            .find(|table| table.caption.as_str() == caption)
            .unwrap()
    };
    let rows = &find("Do the bytes add up?").rows;
    let of: Vec<(&Cell, &Cell, &Cell)> = rows.iter().map(|row| (&row[1], &row[6], &row[7])).collect();
    let text = |word: &str| Cell::Text(word.into());
    assert_eq!(
        of,
        [
            (&text("certain"), &Cell::Bytes(0), &Cell::Fraction(0.0)),
            (
                &text("strong"),
                &Cell::Bytes(10_000),
                &Cell::Badge(Severity::Notice, format::percent(0.01).into())
            ),
            (&text("unknown"), &Cell::Bytes(600_000), &Cell::Fraction(0.6)),
        ]
    );
    assert_eq!(
        (&rows[0][8], &rows[1][8]),
        (&Cell::Unknown, &text("more arrived than was read"))
    );
    let links = &find("Links between lives of packets").rows;
    let counts = |row: &[Cell]| row.iter().skip(1).cloned().collect::<Vec<_>>();
    assert_eq!(counts(&links[0]), [30, 0, 25, 5, 0, 5, 0].map(Cell::Count));
    assert_eq!(counts(&links[1]), [10, 0, 10, 0, 0, 0, 0].map(Cell::Count));
}
