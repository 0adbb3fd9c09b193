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
