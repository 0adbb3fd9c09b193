use netmortem_analyzer::analyses::exemplars::StageNs;
use netmortem_analyzer::stat::Distribution;

use super::*;
use crate::chart::svg;

fn curve(name: &str, others: u64, times: &[i64]) -> Curve {
    Curve {
        name: name.into(),
        others,
        times: Distribution::of(times.to_vec(), 0),
        stages: vec![
            StageNs {
                stage: "poll_wait",
                ns: times.iter().sum::<i64>() / 4,
            },
            StageNs {
                stage: "copy",
                ns: times.iter().sum::<i64>() / 2,
            },
        ],
    }
}

fn kind(curves: Vec<Curve>) -> Kind {
    let group = |curve: &Curve| Group {
        name: curve.name.clone(),
        n: curve.times.n,
        p50_ns: curve.times.p50_ns,
        p99_ns: curve.times.p99_ns,
        max_ns: curve.times.max_ns,
        worst: Some("rx:7".parse().unwrap()),
        share: 0.5,
        top: Some(("copy", 0.5)),
    };
    Kind {
        by: "CPU",
        groups: curves.iter().map(group).collect(),
        others: 0,
        curves,
    }
}

fn figures(blocks: &[Block]) -> Vec<&Figure> {
    blocks
        .iter()
        .flat_map(|block| match block {
            Block::Figure(figure) => vec![&**figure],
            Block::Figures(figures) => figures.iter().collect(),
            _ => vec![],
        })
        .collect()
}

#[test]
fn groups_have_a_table_with_their_worst_unit_and_three_pictures() {
    let two = kind(vec![curve("0", 0, &[1_000, 2_000, 40_000]), curve("", 3, &[9_000_000])]);
    let blocks = blocks(&[two], "units", "rx", &[]);
    let Some(Block::Table(table)) = blocks.first() else {
        panic!("no table")
    };
    assert!(table.rows.iter().all(|row| row.contains(&Cell::Id("rx:7".into()))));
    let figures = figures(&blocks);
    let ids: Vec<&str> = figures.iter().map(|figure| figure.id.as_str()).collect();
    assert_eq!(ids, ["by-cpu", "by-cpu-histograms", "by-cpu-stages"]);
    for figure in figures {
        let svg = svg(&figure.chart, &figure.alt).unwrap();
        assert!(svg.contains("the other 3"), "{}", figure.id);
        assert!(
            figure.caption.as_str().contains("the other 3 are together"),
            "{}",
            figure.caption
        );
    }
    let svg_of = |figure: &Figure| svg(&figure.chart, &figure.alt).unwrap();
    assert!(
        self::figures(&blocks)
            .iter()
            .all(|figure| svg_of(figure).contains("CPU 0"))
    );
    // Parts of the whole: a quarter, a half, and what is no stage.
    let Some(Block::Figure(stages)) = blocks.last() else {
        panic!("no stages")
    };
    let Plot::Bars(bars) = &stages.chart.plot else {
        panic!("no bars")
    };
    let parts: Vec<&str> = bars.parts.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(parts, ["poll wait", "copy", "the rest"]);
    for row in &bars.rows {
        assert!((row.values.iter().sum::<f64>() - 1.0).abs() < 1e-9 && (row.values[1] - 0.5).abs() < 1e-3);
    }
    // The mean whole time of the group, not of one of its parts.
    assert_eq!(bars.rows[0].shown.as_ref().unwrap().as_str(), format::duration(14_333));
}

#[test]
fn one_group_alone_is_said_and_not_drawn() {
    let mut one = kind(vec![curve("eth0", 0, &[5_000])]);
    one.curves.clear();
    let blocks = blocks(&[one], "units", "rx", &[]);
    assert!(matches!(blocks.as_slice(), [Block::Paragraph(text)] if text.as_str() == "All units belong to CPU eth0."));
}

#[test]
fn hostile_names_of_groups_stay_text() {
    let hostile = "<script>alert(1)</script>";
    let two = kind(vec![
        curve(hostile, 0, &[1_000]),
        curve("\"><img onerror=1>", 0, &[2_000]),
    ]);
    for figure in figures(&blocks(&[two], "units", "rx", &[])) {
        let svg = svg(&figure.chart, &figure.alt).unwrap();
        assert!(!svg.contains("<script") && !svg.contains("<img"), "{}", figure.id);
        roxmltree::Document::parse(&svg).unwrap();
    }
}

/// An id alone tells nobody which connection it is.
#[test]
fn pictures_name_the_other_end_of_a_connection() {
    let mut two = kind(vec![curve("conn:3", 0, &[1_000]), curve("conn:4", 0, &[2_000])]);
    two.by = "connection";
    let facts = super::super::fixture::facts();
    let mut known = super::super::fixture::answers(&facts)
        .tcp
        .findings()
        .unwrap()
        .connections
        .clone();
    known.truncate(1);
    known[0].connection = 3;
    known[0].label = "10.0.0.7:40000 > [2001:db8::1]:443".into();
    for figure in figures(&blocks(&[two], "units", "rx", &known)) {
        let svg = svg(&figure.chart, &figure.alt).unwrap();
        assert!(
            svg.contains("conn:3 [2001:db8") && svg.contains("conn:4"),
            "{}",
            figure.id
        );
    }
}
