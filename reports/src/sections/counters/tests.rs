use netmortem_analyzer::counters::tables::CounterRow;

use super::*;
use crate::sections::fixture;
use crate::sections::tests::tables;

fn row(source: &'static str, of: &str, name: &str, rise: u64) -> CounterRow {
    CounterRow {
        source,
        netns: Some(4_026_531_833),
        of: of.into(),
        name: name.into(),
        start: Some(5),
        end: Some(5 + rise),
    }
}

fn built(counters: Vec<CounterRow>) -> Section {
    let mut facts = netmortem_analyzer::Facts {
        counters,
        ..fixture::facts()
    };
    facts
        .capture
        .events
        .insert("tcp:tcp_retransmit_skb".into(), facts.retransmits.len() as u64);
    let answers = fixture::answers(&facts);
    section(&Input {
        facts: &facts,
        answers: &answers,
    })
}

#[test]
fn what_rose_is_named_worst_first_and_compared_with_the_events() {
    let section = built(vec![
        row("snmp", "", "TcpOutSegs", 100),
        row("snmp", "", "TcpRetransSegs", 3),
        row("dev", "<b>eth0", "rx_fifo_errors", 2),
    ]);
    assert!(
        section
            .lead
            .as_str()
            .starts_with("Of 3 counters read before and after the recording 3 rose, 2 of them"),
        "{}",
        section.lead
    );
    let tables = tables(&section);
    let first: Vec<&Cell> = tables[0].rows.iter().map(|row| &row[0]).collect();
    assert_eq!(
        first,
        [
            &Cell::Badge(Severity::Bad, "lost, no event".into()),
            &Cell::Badge(Severity::Info, "sign".into())
        ]
    );
    assert_eq!(tables[0].rows[1][4], Cell::Count(3));
    // The made-up facts have their own retransmissions.
    let seen: u32 = fixture::facts().retransmits.iter().filter_map(|r| r.segments).sum();
    assert_eq!(
        (&tables[1].rows[0][1], &tables[1].rows[0][3]),
        (&Cell::Count(3), &Cell::Count(seen.into()))
    );
}

#[test]
fn nothing_that_rose_is_good_and_nothing_recorded_is_no_answer() {
    let calm = built(vec![row("snmp", "", "TcpOutSegs", 100)]);
    assert!(matches!(&calm.blocks[0], Block::Strip(s) if s.severity == Severity::Good));
    let none = built(vec![]);
    assert!(
        matches!(&none.blocks[0], Block::Strip(s) if s.severity == Severity::Unknown && s.sentence.as_str().contains("only a bundle has"))
    );
}
