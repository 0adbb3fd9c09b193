use super::*;
use crate::document::Severity;
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

fn figures(section: &Section) -> &[Figure] {
    let found = section.blocks.iter().find_map(|block| {
        if let Block::Figures(figures) = block {
            Some(figures)
        } else {
            None
        }
    });
    found.map_or(&[], Vec::as_slice)
}

#[test]
fn polls_that_used_their_budget_are_told_in_the_lead() {
    // 10 of 200 polls: n = 0, 20, 40, …, 180.
    let lead = built().lead.as_str().replace('\u{202f}', " ");
    assert!(
        lead == "200 polls on 1 device; 10 (5.00 %) used their whole budget.",
        "{lead}"
    );
}

#[test]
fn the_work_histogram_holds_every_poll_at_its_work() {
    let section = built();
    let work = figures(&section).iter().find(|figure| figure.id == "work-0").unwrap();
    let Plot::Distribution(plot) = &work.chart.plot else {
        panic!()
    };
    assert_eq!(plot.bins.iter().map(|bin| bin.count).sum::<u64>(), 200);
    let full = plot.bins.iter().find(|bin| bin.lo == 64).unwrap();
    assert_eq!((full.hi, full.count), (65, 10));
}

#[test]
fn softirq_time_is_a_bar_per_cpu_of_rx_and_tx() {
    let facts = fixture::facts();
    let section = built();
    let softirq = figures(&section).iter().find(|figure| figure.id == "softirq").unwrap();
    let Plot::Bars(plot) = &softirq.chart.plot else {
        panic!()
    };
    let time = |cpu: u16, vec: u32| {
        let runs = facts.softirqs.iter().filter(|run| run.cpu == cpu && run.vec == vec);
        let ran = runs.filter_map(|run| {
            let away = run.preempted.as_ref().map_or(0, |p| p.ns);
            Some(run.end_ns? - run.start_ns - away)
        });
        ran.sum::<i64>() as f64
    };
    let values: Vec<&[f64]> = plot.rows.iter().map(|row| row.values.as_slice()).collect();
    assert_eq!(values, [[time(0, 3), time(0, 2)], [time(1, 3), 0.0]]);
    let ids: Vec<&str> = figures(&section).iter().map(|figure| figure.id.as_str()).collect();
    assert_eq!(ids, ["work-0", "softirq", "delay", "run", "waited-for"]);
}

#[test]
fn each_cpu_and_vector_has_run_time_delay_and_who_ran_it() {
    let section = built();
    let table = tables(&section)
        .into_iter()
        .find(|table| table.caption.as_str() == "Network softirqs per CPU")
        .unwrap();
    let names: Vec<(Cell, Cell)> = table.rows.iter().map(|row| (row[0].clone(), row[1].clone())).collect();
    let text = |name: &str| Cell::Text(name.into());
    assert_eq!(
        names,
        [
            (Cell::Count(0), text("NET_TX")),
            (Cell::Count(0), text("NET_RX")),
            (Cell::Count(1), text("NET_RX"))
        ]
    );
    assert!(matches!(&table.rows[2][11], Cell::Text(run_by) if run_by.as_str().contains("ksoftirqd")));
}

#[test]
fn what_delayed_net_rx_is_a_bar_per_cpu_that_sums_to_the_delays() {
    let facts = fixture::facts();
    let section = built();
    let figure = figures(&section)
        .iter()
        .find(|figure| figure.id == "waited-for")
        .unwrap();
    let Plot::Bars(plot) = &figure.chart.plot else { panic!() };
    let parts: Vec<&str> = plot.parts.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        parts,
        ["irq", "bh off"],
        "parts that did not occur have no place in the legend"
    );
    for row in &plot.rows {
        let cpu: u16 = row.label.as_str().trim_start_matches("CPU ").parse().unwrap();
        let of = facts.softirqs.iter().filter(|run| run.cpu == cpu && run.vec == 3);
        let delay: i64 = of.filter_map(|run| Some(run.start_ns - run.raise_ns?)).sum();
        assert_eq!(row.values.iter().sum::<f64>(), delay as f64, "CPU {cpu}");
    }
    assert_eq!(plot.rows.len(), 2);
}

#[test]
fn time_squeezes_are_told_with_the_kernels_count_beside() {
    let strip = |facts: &netmortem_analyzer::Facts| {
        let answers = fixture::answers(facts);
        let section = section(&Input {
            facts,
            answers: &answers,
        });
        match section.blocks.into_iter().next() {
            Some(Block::Strip(strip)) => (strip.severity, strip.sentence.as_str().to_owned()),
            other => panic!("{other:?}"),
        }
    };
    let mut facts = fixture::facts();
    let (severity, said) = strip(&facts);
    assert_eq!(severity, Severity::Info);
    assert!(said.starts_with("Time squeezes: 0 of 180 NET_RX runs"), "{said}");
    assert!(said.contains("the kernel's count was not recorded"), "{said}");
    facts.softnet.squeezed = Some(4);
    let (severity, said) = strip(&facts);
    assert_eq!(severity, Severity::Notice, "the kernel saw what was not inferred");
    assert!(said.contains("the kernel counted 4"), "{said}");
}

/// Without anything forwarded there is no such table.
#[test]
fn what_forwarding_took_is_a_table() {
    use netmortem_analyzer::analyses::forwarding::{Forwarding, Pair};
    use netmortem_analyzer::stat::Distribution;
    assert!(forwarding::table(&Forwarding::default()).is_none());
    let pair = Pair {
        from: "wan0".into(),
        to: "dmz0".into(),
        namespaces: 1,
        time: Distribution::of(vec![580_000, 590_000, 600_000], 0),
        share: 0.5,
        step: None,
    };
    let of = Forwarding {
        pairs: vec![pair],
        ..Forwarding::default()
    };
    let Some(Block::Table(table)) = forwarding::table(&of) else {
        panic!()
    };
    assert_eq!(
        table.rows[0][2..],
        [
            Cell::Count(3),
            Cell::Ns(590_000),
            Cell::Ns(600_000),
            Cell::Ns(600_000),
            Cell::Fraction(0.5)
        ]
    );
}
