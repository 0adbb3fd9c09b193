use super::*;
use crate::chart::{Plot, TimeSeries, Tone};
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

fn plot(section: &Section) -> &TimeSeries {
    let Some(Block::Figure(figure)) = section.blocks.first() else {
        panic!("no picture first")
    };
    let Plot::TimeSeries(plot) = &figure.chart.plot else {
        panic!("not over time")
    };
    plot
}

#[test]
fn no_line_of_the_sawtooth_spans_the_gap_or_the_silence() {
    let section = built();
    let plot = plot(&section);
    assert_eq!(
        plot.gaps.iter().map(|gap| (gap.from_ns, gap.to_ns)).collect::<Vec<_>>(),
        [(4_000_000_000, 4_500_000_000)]
    );
    for line in plot.panels.iter().flat_map(|panel| &panel.lines) {
        assert!(!line.segments.is_empty(), "{}", line.name);
        for segment in &line.segments {
            let (from, to) = (segment.first().unwrap().0, segment.last().unwrap().0);
            assert!(
                to <= 4_000_000_000 || from >= 4_500_000_000,
                "{}: {from}..{to} spans the gap",
                line.name
            );
            assert!(
                to <= 7_000_000_000 || from >= 8_000_000_000,
                "{}: {from}..{to} spans the silence",
                line.name
            );
        }
    }
    let cwnd = &plot.panels[0].lines[0];
    assert_eq!((cwnd.name.as_str(), cwnd.segments.len()), ("cwnd", 3));
}

#[test]
fn retransmits_states_and_host_drops_have_their_lanes() {
    let section = built();
    let lanes = &plot(&section).lanes;
    let lane = |name: &str| lanes.iter().find(|lane| lane.label.as_str() == name).unwrap();
    assert_eq!(lane("rtx fast").points, [2_505_000_000, 5_004_000_000]);
    assert_eq!(lane("rtx rto").points, [9_001_000_000]);
    assert_eq!(
        lane("host drops").points,
        [2_490_000_000, 4_990_000_000],
        "only the lost ones"
    );
    let states: Vec<(i64, i64, Tone)> = lane("state")
        .spans
        .iter()
        .map(|span| (span.from_ns, span.to_ns, span.tone))
        .collect();
    assert_eq!(
        states,
        [
            (2_500_000_000, 2_620_000_000, Tone::Brown),
            (5_000_000_000, 5_130_000_000, Tone::Brown),
            (9_000_000_000, 9_990_000_000, Tone::Red)
        ]
    );
}

#[test]
fn a_state_is_not_drawn_into_a_gap() {
    let mut facts = fixture::facts();
    facts.tcp_states.iter_mut().for_each(|row| row.time_ns += 1_450_000_000); // Recovery from 3.95 s to 4.07 s; the gap starts at 4 s
    let answers = fixture::answers(&facts);
    let section = section(&Input {
        facts: &facts,
        answers: &answers,
    });
    let state = &plot(&section).lanes[0];
    assert_eq!(
        (state.spans[0].from_ns, state.spans[0].to_ns),
        (3_950_000_000, 4_000_000_000)
    );
}

#[test]
fn every_connection_is_in_the_table_with_its_classes() {
    let section = built();
    let table = tables(&section)
        .into_iter()
        .find(|table| table.caption.as_str() == "All connections")
        .unwrap();
    let row = &table.rows[0];
    assert_eq!(row[1], Cell::Code("10.0.0.1:5201 > 10.0.0.2:41022".into()));
    assert_eq!(
        [&row[5], &row[6], &row[7], &row[8]],
        [
            &Cell::Count(5),
            &Cell::Count(3),
            &Cell::Count(0),
            &Cell::Text("2 fast, 1 rto".into())
        ]
    );
    assert_eq!(row[9], Cell::Ns(20_000_000), "smallest srtt");
    assert_eq!(
        section.lead.as_str(),
        "1 socket; 5 TCP segments were retransmitted by 3 calls (calls: 2 fast, 1 rto); the class of 3 of these calls is certain or strong."
    );
}

#[test]
fn every_retransmit_has_its_id() {
    let section = built();
    let table = tables(&section)
        .into_iter()
        .find(|table| table.caption.as_str() == "Calls that sent segments again")
        .unwrap();
    let rows: Vec<(&Cell, &Cell, &Cell)> = table.rows.iter().map(|row| (&row[0], &row[1], &row[3])).collect();
    assert_eq!(
        rows,
        [
            (
                &Cell::Id("retransmit:0".into()),
                &Cell::At(2_505_000_000),
                &Cell::Text("fast".into())
            ),
            (
                &Cell::Id("retransmit:1".into()),
                &Cell::At(5_004_000_000),
                &Cell::Text("fast".into())
            ),
            (
                &Cell::Id("retransmit:2".into()),
                &Cell::At(9_001_000_000),
                &Cell::Text("rto".into())
            ),
        ]
    );
    assert_eq!(table.rows[0][2], Cell::Id("conn:0".into()));
    let sent: Vec<(&Cell, &Cell)> = table.rows.iter().map(|row| (&row[4], &row[5])).collect();
    let frame = Cell::Bytes(1_514);
    assert_eq!(
        sent,
        [
            (&Cell::Count(3), &frame),
            (&Cell::Count(1), &frame),
            (&Cell::Count(1), &frame)
        ]
    );
}
