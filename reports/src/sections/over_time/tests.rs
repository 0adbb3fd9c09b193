use super::*;
use crate::sections::fixture;

fn built() -> Section {
    let facts = fixture::facts();
    let answers = fixture::answers(&facts);
    section(&Input {
        facts: &facts,
        answers: &answers,
    })
}

fn figures(section: &Section) -> Vec<&Figure> {
    let figure = |block: &'_ Block| matches!(block, Block::Figure(_));
    assert!(section.blocks.iter().all(figure));
    section
        .blocks
        .iter()
        .filter_map(|block| match block {
            Block::Figure(figure) => Some(figure.as_ref()),
            _ => None,
        })
        .collect()
}

#[test]
fn every_read_unit_and_acknowledged_segment_is_in_its_heat_map() {
    let section = built();
    let counts: Vec<u64> = figures(&section)
        .iter()
        .filter_map(|figure| match &figure.chart.plot {
            Plot::Heat(heat) => Some(heat.cells.iter().map(|cell| cell.count).sum()),
            _ => None,
        })
        .collect();
    // 400 units, of which 8 were not read; 250 segments acknowledged.
    assert_eq!(counts, [392, 250]);
}

#[test]
fn lines_stop_where_events_were_lost() {
    let section = built();
    let lanes = figures(&section)
        .into_iter()
        .find(|figure| figure.id == "lanes")
        .unwrap();
    let Plot::TimeSeries(plot) = &lanes.chart.plot else {
        panic!()
    };
    let names: Vec<&str> = plot.lanes.iter().map(|lane| lane.label.as_str()).collect();
    assert_eq!(
        names,
        [
            "CPU 0 TX",
            "CPU 0 RX",
            "CPU 1 RX",
            "poll eth0",
            "full polls",
            "retransmits",
            "host drops"
        ]
    );
    let share = &plot.panels[0];
    assert_eq!(share.lines.len(), 2);
    for segment in share.lines.iter().flat_map(|line| &line.segments) {
        let inside = |ns: i64| (4_000_000_000..4_500_000_000).contains(&ns);
        assert!(!segment.iter().any(|(at, _)| inside(*at) && inside(at + 1)));
    }
    assert_eq!(
        share.lines[0].segments.len(),
        2,
        "before and after the gap of 4.0 to 4.5 s"
    );
    assert!(
        share
            .lines
            .iter()
            .flat_map(|l| &l.segments)
            .flatten()
            .all(|(_, v)| (0.0..=1.0).contains(v))
    );
}

#[test]
fn an_empty_recording_has_nothing_over_time() {
    let facts = netmortem_analyzer::Facts::empty();
    let answers = fixture::answers(&facts);
    let section = section(&Input {
        facts: &facts,
        answers: &answers,
    });
    assert!(section.blocks.is_empty() && section.lead.as_str().starts_with("Nothing"));
}

#[test]
fn counters_that_rose_have_a_panel_each_on_the_same_axis() {
    use netmortem_analyzer::counters::Key;
    use netmortem_analyzer::counters::over_time::tables::RiseRow;
    let mut facts = fixture::facts();
    let start = facts.capture.start_ns.unwrap();
    let readings = (1..9).map(|s| start + s * 1_000_000_000);
    facts.counters_over_time.readings = readings.collect();
    let row = |name: &str, at: usize, rise| RiseRow {
        from_ns: Some(facts.counters_over_time.readings[at]),
        to_ns: Some(facts.counters_over_time.readings[at + 1]),
        counter: std::sync::Arc::new(Key {
            source: "snmp",
            netns: None,
            of: String::new(),
            name: name.into(),
        }),
        rise: Some(rise),
        whole: true,
    };
    let rows = vec![
        row("TcpRetransSegs", 2, 4),
        row("UdpRcvbufErrors", 5, 900),
        row("TcpOutSegs", 5, 12_000),
    ];
    facts.counters_over_time.rows = rows;
    let answers = fixture::answers(&facts);
    let section = section(&Input {
        facts: &facts,
        answers: &answers,
    });
    let figures = figures(&section);
    let counted = figures.iter().find(|figure| figure.id == "counted").unwrap();
    let (Plot::TimeSeries(plot), Plot::TimeSeries(lanes)) = (
        &counted.chart.plot,
        &figures.iter().find(|figure| figure.id == "lanes").unwrap().chart.plot,
    ) else {
        panic!()
    };
    assert_eq!((plot.start_ns, plot.end_ns), (lanes.start_ns, lanes.end_ns));
    let labels: Vec<&str> = plot.panels.iter().map(|panel| panel.label.as_str()).collect();
    assert_eq!(
        labels,
        [
            "TcpRetransSegs per second, 4 in all",
            "UdpRcvbufErrors per second, 900 in all"
        ]
    );
    // Up in the third second, and down again.
    let line = &plot.panels[0].lines[0].segments[0];
    let up: Vec<i64> = line.iter().filter(|(_, v)| *v > 3.9).map(|(ns, _)| *ns).collect();
    assert_eq!(up, [3_000_000_000, 4_000_000_000]);
    assert!(line.iter().all(|(ns, _)| (plot.start_ns..=plot.end_ns).contains(ns)));
}

#[test]
fn queues_of_devices_have_a_panel_that_names_them() {
    let facts = fixture::facts();
    let mut answers = fixture::answers(&facts);
    let lay = |dev: &str, ifindex, most: u64| Lay {
        dev: dev.into(),
        ifindex,
        qdisc: "tbf".into(),
        packets: (0..BINS as u64).map(|n| n % (most + 1)).collect(),
    };
    let mut label_and_names = |queues: Vec<Lay>| {
        answers.over_time.device_queues = queues;
        let section = super::section(&Input {
            facts: &facts,
            answers: &answers,
        });
        let figures = figures(&section);
        let lanes = figures.iter().find(|figure| figure.id == "lanes").unwrap();
        let Plot::TimeSeries(plot) = &lanes.chart.plot else {
            panic!("no time series")
        };
        let panel = plot
            .panels
            .iter()
            .find(|panel| panel.label.as_str().contains("most packets"));
        let panel = panel.unwrap();
        let names: Vec<String> = panel.lines.iter().map(|line| line.name.to_string()).collect();
        let most = panel.lines[0]
            .segments
            .iter()
            .flatten()
            .map(|point| point.1)
            .fold(0.0, f64::max);
        (panel.label.to_string(), names, most)
    };
    let (label, _, most) = label_and_names(vec![lay("eth0", Some(2), 9)]);
    assert_eq!((label.as_str(), most), ("most packets in the queue of eth0 tbf", 9.0));
    // Two namespaces with a device of the same name.
    let (_, names, _) = label_and_names(vec![
        lay("eth0", Some(2), 9),
        lay("eth0", Some(5), 3),
        lay("va", None, 1),
    ]);
    assert_eq!(names, ["eth0 (index 2) tbf", "eth0 (index 5) tbf", "va tbf"]);
}
