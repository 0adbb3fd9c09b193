use super::*;
use crate::chart::Plot;
use crate::sections::fixture;
use crate::sections::tests::tables;

fn built() -> Section {
    let facts = fixture::facts();
    let answers = fixture::answers(&facts);
    section(&Input {
        facts: &facts,
        answers: &answers,
    })
}

#[test]
fn lives_without_a_known_end_are_counted_but_not_drawn() {
    let section = built();
    assert_eq!(
        section.lead.as_str().replace('\u{202f}', " "),
        "400 lives on 4 addresses; 320 have both ends (80.0 %)."
    );
    let lives = tables(&section)
        .into_iter()
        .find(|table| table.caption.as_str() == "Lives by kind and device")
        .unwrap();
    let received = lives
        .rows
        .iter()
        .find(|row| row[0] == Cell::Text("received".into()))
        .unwrap();
    assert_eq!(
        (&received[1], &received[2], &received[8]),
        (&Cell::Code("eth0".into()), &Cell::Count(160), &Cell::Count(40))
    );
    let Some(Block::Figures(figures)) = section.blocks.iter().find(|block| matches!(block, Block::Figures(_))) else {
        panic!()
    };
    assert_eq!(figures.len(), 2);
    for figure in figures {
        let Plot::Distribution(plot) = &figure.chart.plot else {
            panic!()
        };
        assert_eq!(plot.bins.iter().map(|bin| bin.count).sum::<u64>(), 160);
        assert!(
            figure
                .chart
                .note
                .as_ref()
                .unwrap()
                .as_str()
                .contains("40 more of unknown length")
        );
    }
}

#[test]
fn how_they_ended_adds_up() {
    let section = built();
    let deaths = tables(&section)
        .into_iter()
        .find(|table| table.columns.iter().any(|column| column.title.as_str() == "unseen"))
        .unwrap();
    let counted: u64 = deaths
        .rows
        .iter()
        .flatten()
        .map(|cell| if let Cell::Count(n) = cell { *n } else { 0 })
        .sum();
    assert_eq!(counted, 400);
}

#[test]
fn every_class_is_said_in_words() {
    use netmortem_analyzer::reconstruct::skb::tables::SkbClass;
    let all = [
        SkbClass::Rx,
        SkbClass::TxSegment,
        SkbClass::Tx,
        SkbClass::TxOriginal,
        SkbClass::TxClone,
        SkbClass::TxOther,
    ];
    for class in all {
        assert_ne!(kind(class.word()), words(class.word()), "{}", class.word());
        assert_ne!(tone(class.word()), Tone::Brown, "{}", class.word());
    }
}
