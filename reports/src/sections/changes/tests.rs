//! The table, and what is said where there is none.

use netmortem_analyzer::analyses::answer;
use netmortem_analyzer::announced::tables::ChangeRow;

use super::*;
use crate::sections::fixture::{START, facts};

fn built(rows: Vec<ChangeRow>, heard: bool) -> Section {
    let mut f = facts();
    f.announced.rows = rows;
    f.announced.heard = heard;
    let answers = answer(&f);
    section(&Input {
        facts: &f,
        answers: &answers,
    })
}

fn row(at_ns: i64, says: &str) -> ChangeRow {
    ChangeRow {
        at_ns: START + at_ns,
        what: "qdisc",
        says: says.into(),
        program: Some("tc".into()),
        ..ChangeRow::default()
    }
}

#[test]
fn changes_are_listed_with_their_time_and_whose_they_are() {
    let rows = vec![
        row(2_000_000_000, "<b>"),
        ChangeRow {
            comes_and_goes: true,
            ..row(3_000_000_000, "veth1 came")
        },
    ];
    let section = built(rows, true);
    assert!(
        section.lead.to_string().starts_with("1 change of links"),
        "{}",
        section.lead
    );
    let Some(Block::Table(table)) = section.blocks.first() else {
        panic!("{:?}", section.blocks);
    };
    assert_eq!(table.rows.len(), 1);
    assert_eq!(table.rows[0][0], Cell::At(2_000_000_000));
    assert_eq!(table.rows[0][1], Cell::Text("<b> (by tc)".into()));
    let passing = "1 change of devices and network namespaces that came in the recording, as with a container, is not among these.";
    assert!(matches!(&section.blocks[1], Block::Paragraph(t) if t.to_string() == passing));
}

#[test]
fn none_is_said_only_where_somebody_listened() {
    let said = |heard, complete| {
        let mut f = facts();
        (f.announced.heard, f.capture.complete) = (heard, complete);
        lead(&answer(&f).changes, complete).to_string()
    };
    assert!(said(true, true).starts_with("Nothing was changed of links"));
    assert!(said(false, true).starts_with("Not known: the recording has nothing of"));
    // What a cut file lacks may be a change.
    let cut = said(true, false);
    assert!(
        cut.starts_with("Nothing is known to have been changed") && cut.ends_with("may be missing."),
        "{cut}"
    );
}

/// Whole milliseconds inside of what was compared; only where something was worse and both parts last a second.
#[test]
fn a_harmful_change_has_the_command_that_compares_in_full() {
    let cluster = |before, after, worse| Cluster {
        from_ns: 0,
        to_ns: 0,
        says: vec![],
        more: 0,
        compared_ns: None,
        parts_ns: Some([before, after]),
        effects: vec![netmortem_analyzer::analyses::changes::Effect {
            says: "x".into(),
            worse,
            late: false,
        }],
        settings: vec![],
        of_one_host: false,
        kinds: vec![],
    };
    let said = |b, a, worse| in_full(&cluster(b, a, worse)).map(|t| t.to_string());
    let (b, a) = ((1, 2_000_000_999), (2_000_000_001, 9_000_500_000));
    let command = "netmortem diff INPUT INPUT --before-time 1ms..2000ms --after-time 2001ms..9000ms";
    assert_eq!(said(b, a, true).as_deref(), Some(command));
    assert_eq!(said(b, a, false), None);
    assert_eq!(said((0, 999_999_999), a, true), None);
    assert_eq!(said(b, (0, 999_999_999), true), None);
}
