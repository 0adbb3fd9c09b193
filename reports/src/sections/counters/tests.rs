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

/// Readings at 1 to 4 s: of 7 segments sent again 5 are of the recorder's own namespace.
#[test]
fn when_a_counter_rose_is_told_where_readings_know() {
    use netmortem_analyzer::counters::Key;
    use netmortem_analyzer::counters::over_time::tables::RiseRow;
    let mut facts = netmortem_analyzer::Facts {
        counters: vec![
            row("snmp", "", "TcpRetransSegs", 7),
            row("snmp", "", "UdpRcvbufErrors", 3),
        ],
        ..fixture::facts()
    };
    let start = facts.capture.start_ns.unwrap();
    let at = |s: i64| Some(start + s * 1_000_000_000);
    facts.counters_over_time.readings = (1..5).filter_map(at).collect();
    let rise = |from, to, rise| RiseRow {
        from_ns: from,
        to_ns: to,
        counter: std::sync::Arc::new(Key {
            source: "snmp",
            netns: Some(4_026_531_833),
            of: String::new(),
            name: "TcpRetransSegs".into(),
        }),
        rise: Some(rise),
        whole: true,
    };
    facts.counters_over_time.rows = vec![rise(at(1), at(2), 4), rise(at(4), None, 1)];
    let answers = fixture::answers(&facts);
    let section = section(&Input {
        facts: &facts,
        answers: &answers,
    });
    let tables = tables(&section);
    let when = |nth: usize| &tables[0].rows[nth][5];
    let name = |nth: usize| &tables[0].rows[nth][1];
    let again = (0..2).find(|nth| *name(*nth) == name_cell("TcpRetransSegs")).unwrap();
    assert_eq!(
        *when(again),
        Cell::Text("1.00\u{202f}s – end, in 2 of 5; 5 of 7".into())
    );
    assert_eq!(*when(1 - again), Cell::Unknown);
    assert!(tables[0].note.as_ref().unwrap().as_str().starts_with("When: "));
}

#[test]
fn cgroups_with_a_limit_have_a_table_with_their_processes() {
    let mut facts = netmortem_analyzer::Facts {
        counters: vec![row("snmp", "", "TcpOutSegs", 100)],
        ..fixture::facts()
    };
    facts.cpu_limits.rows = vec![CgroupRow {
        path: "/kubepods/<b>web".into(),
        setting: "cpu.max",
        quota_us: 20_000,
        period_us: 100_000,
        periods: Some(100),
        throttled: Some(87),
        throttled_share: Some(0.87),
        throttled_ns: Some(4_350_000_000),
        processes: ["web/1", "web/2", "web/3", "web/4"].map(String::from).into(),
        processes_more: 6,
    }];
    let answers = fixture::answers(&facts);
    let section = section(&Input {
        facts: &facts,
        answers: &answers,
    });
    let table = *(tables(&section).iter())
        .find(|t| t.caption.as_str() == "Cgroups with a limit of CPU time")
        .unwrap();
    let expected = [
        name_cell("/kubepods/<b>web"),
        name_cell("web/1, web/2, web/3 and 7 more"),
        Cell::Text("20.0\u{202f}ms per 100\u{202f}ms".into()),
        Cell::Count(100),
        Cell::Count(87),
        Cell::Fraction(0.87),
        Cell::Ns(4_350_000_000),
    ];
    assert_eq!(table.rows, [expected]);
}
