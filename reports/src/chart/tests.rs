//! What a drawing must hold: well-formed, nothing clipped, nothing overlapping, no line across a gap.

mod samples;

use super::axis::Axis;
use super::canvas::TextBox;
use super::decimate::decimate;
use super::*;
use crate::clean::Text;
use crate::layout;

fn drawn() -> Vec<(String, ChartSpec, String, Vec<TextBox>)> {
    let document = layout::document();
    let figures = document.figures();
    let render = |(section, figure): &(&str, &crate::document::Figure)| {
        let (svg, texts) = svg::render(&figure.chart, &figure.alt).unwrap();
        (format!("{section}-{}", figure.id), figure.chart.clone(), svg, texts)
    };
    figures.iter().map(render).collect()
}

#[test]
fn every_chart_is_well_formed_xml_with_role_and_label() {
    for (name, spec, svg, _) in drawn() {
        let tree = roxmltree::Document::parse(&svg).unwrap_or_else(|error| panic!("{name}: {error}"));
        let root = tree.root_element();
        let scale = if matches!(spec.plot, Plot::TimeSeries(_)) { 8 } else { 2 };
        let view_box = format!("0 0 {} {}", spec.size.width() * scale, height(&spec) * scale);
        assert_eq!(root.attribute("viewBox"), Some(view_box.as_str()), "{name}");
        assert_eq!(root.attribute("role"), Some("img"), "{name}");
        assert!(
            root.attribute("aria-label").is_some_and(|label| !label.is_empty()),
            "{name}"
        );
        let allowed = ["svg", "g", "text", "rect", "line", "polyline", "polygon", "circle"];
        for node in tree.descendants().filter(roxmltree::Node::is_element) {
            assert!(
                allowed.contains(&node.tag_name().name()),
                "{name}: <{}>",
                node.tag_name().name()
            );
        }
    }
}

#[test]
fn no_text_is_clipped() {
    for (name, spec, _, texts) in drawn() {
        let (width, height) = (f64::from(spec.size.width()), f64::from(height(&spec)));
        assert!(!texts.is_empty(), "{name}");
        for TextBox {
            text,
            edges: (left, top, right, bottom),
        } in texts
        {
            let inside = left >= 0.0 && top >= 0.0 && right <= width && bottom <= height;
            assert!(
                inside,
                "{name}: {text:?} at {left:.0},{top:.0}..{right:.0},{bottom:.0} of {width}x{height}"
            );
        }
    }
}

#[test]
fn no_two_texts_overlap() {
    for (name, _, _, texts) in drawn() {
        for (at, a) in texts.iter().enumerate() {
            for b in texts.iter().skip(at + 1) {
                let ((al, at, ar, ab), (bl, bt, br, bb)) = (a.edges, b.edges);
                let apart = ar <= bl || br <= al || ab <= bt + 0.5 || bb <= at + 0.5;
                assert!(apart, "{name}: {:?} over {:?}", a.text, b.text);
            }
        }
    }
}

#[test]
fn hostile_names_stay_text_in_svg() {
    let (_, _, svg, _) = drawn().into_iter().find(|(name, ..)| name == "hostile-names").unwrap();
    assert!(
        !svg.contains("<script") && !svg.contains("<img"),
        "a name became an element"
    );
    let tree = roxmltree::Document::parse(&svg).unwrap();
    let texts: Vec<&str> = tree
        .descendants()
        .filter_map(|node| node.text())
        .map(str::trim)
        .collect();
    assert!(texts.contains(&layout::HOSTILE[0]), "{texts:?}");
    assert!(texts.iter().any(|text| text.starts_with("eth0\\x1b[31m")), "{texts:?}");
}

fn two_runs(gap: (i64, i64), shape: Shape) -> ChartSpec {
    let line = Line {
        name: "cwnd".into(),
        tone: Tone::Blue,
        shape,
        stroke: Stroke::Plain,
        segments: vec![
            vec![(0, 10.0), (gap.0, 80.0)],
            vec![(gap.1, 20.0), (1_000, 60.0)],
            vec![(500, 7.0)],
        ],
    };
    ChartSpec {
        title: "two runs".into(),
        note: None,
        size: Size::Full,
        plot: Plot::TimeSeries(TimeSeries {
            start_ns: 0,
            end_ns: 1_000,
            panels: vec![Panel {
                label: "cwnd".into(),
                unit: Unit::Count,
                lines: vec![line],
            }],
            lanes: Vec::new(),
            gaps: vec![Span {
                from_ns: gap.0,
                to_ns: gap.1,
                tone: Tone::Grey,
                label: "events lost".into(),
            }],
        }),
    }
}

#[test]
fn nothing_is_drawn_across_a_gap() {
    for shape in [Shape::Step, Shape::Straight] {
        let (svg, _) = svg::render(&two_runs((400, 600), shape), &"runs".into()).unwrap();
        let tree = roxmltree::Document::parse(&svg).unwrap();
        let number = |node: &roxmltree::Node, name: &str| node.attribute(name).and_then(|v| v.parse::<f64>().ok());
        // The shaded gap tells where 400..600 ns lie.
        let shaded = tree
            .descendants()
            .find(|node| node.attribute("opacity") == Some("0.28") && number(node, "height") > Some(100.0));
        let shaded = shaded.unwrap();
        let (from, to) = (
            number(&shaded, "x").unwrap(),
            number(&shaded, "x").unwrap() + number(&shaded, "width").unwrap(),
        );
        assert!(to - from > 200.0);

        let blue = |node: &roxmltree::Node| node.attribute("stroke") == Some("#2A6FDB");
        let mut runs = 0;
        for node in tree.descendants().filter(blue) {
            let xs: Vec<f64> = match node.attribute("points") {
                Some(points) => points
                    .split_whitespace()
                    .map(|p| p.split(',').next().unwrap().parse().unwrap())
                    .collect(),
                None => vec![number(&node, "x1").unwrap(), number(&node, "x2").unwrap()],
            };
            let crosses = xs.iter().any(|x| *x <= from + 1.0) && xs.iter().any(|x| *x >= to - 1.0);
            assert!(!crosses, "{shape:?}: a line from {xs:?} crosses {from}..{to}");
            runs += 1;
        }
        assert_eq!(runs, 2, "{shape:?}: both runs are drawn");
        let dots = tree
            .descendants()
            .filter(|n| n.has_tag_name("circle") && n.attribute("fill") == Some("#2A6FDB"))
            .count();
        assert_eq!(dots, 1, "{shape:?}: a run of one sample is a dot");
    }
}

#[test]
fn dark_mode_knows_every_colour() {
    let style = include_str!("../html/style.css");
    for (name, _, svg, _) in drawn() {
        let tree = roxmltree::Document::parse(&svg).unwrap();
        for node in tree.descendants() {
            for attribute in ["fill", "stroke"] {
                let Some(color) = node.attribute(attribute).filter(|color| color.starts_with('#')) else {
                    continue;
                };
                let known = style.contains(&format!("[{attribute}=\"{color}\"]")) || color == "#000000";
                assert!(known, "{name}: {attribute} {color} has no rule in style.css");
            }
        }
    }
    for tone in Tone::ALL {
        let (r, g, b) = tone.color().rgb;
        for attribute in ["fill", "stroke"] {
            let rule = format!("[{attribute}=\"#{r:02X}{g:02X}{b:02X}\"]");
            assert!(style.contains(&rule), "{tone:?}: {rule}");
        }
    }
}

#[test]
fn odd_data_is_drawn_or_refused_but_never_panics() {
    let odd_bins = vec![
        Bin {
            lo: i64::MIN,
            hi: 0,
            count: u64::MAX,
        },
        Bin { lo: 5, hi: 5, count: 1 },
        Bin {
            lo: 7,
            hi: i64::MAX,
            count: 3,
        },
    ];
    for division in [Division::Linear, Division::Log] {
        for bins in [Vec::new(), odd_bins.clone(), vec![Bin { lo: 0, hi: 1, count: 9 }]] {
            let plot = Distribution {
                label: "t".into(),
                unit: Unit::Nanoseconds,
                division,
                counted: "n".into(),
                bins,
                ecdf: vec![(i64::MIN, f64::NAN), (i64::MAX, 2.0)],
                marks: vec![
                    Mark {
                        label: "p50",
                        value: i64::MIN,
                    },
                    Mark {
                        label: "max",
                        value: i64::MAX,
                    },
                ],
                tone: Tone::Blue,
            };
            let spec = ChartSpec {
                title: Text::default(),
                note: None,
                size: Size::Half,
                plot: Plot::Distribution(plot),
            };
            let (svg, _) = svg::render(&spec, &Text::default()).unwrap();
            roxmltree::Document::parse(&svg).unwrap();
        }
    }
    let empty = [
        Plot::Bars(Bars {
            label: Text::default(),
            unit: Unit::Count,
            parts: Vec::new(),
            rows: Vec::new(),
        }),
        Plot::Ecdf(EcdfPlot {
            label: Text::default(),
            unit: Unit::Bytes,
            division: Division::Log,
            curves: Vec::new(),
        }),
        Plot::Waterfall(Waterfall {
            share_label: Text::default(),
            unit_label: Text::default(),
            stages: Vec::new(),
        }),
        Plot::TimeSeries(TimeSeries {
            start_ns: 9,
            end_ns: 0,
            panels: Vec::new(),
            lanes: Vec::new(),
            gaps: Vec::new(),
        }),
        Plot::HopMap(HopMap {
            rows: Vec::new(),
            columns: Vec::new(),
            places: Vec::new(),
            edges: Vec::new(),
        }),
        // Places that are not there.
        Plot::HopMap(HopMap {
            rows: vec!["rx".into()],
            columns: vec![(0, None)],
            places: vec![HopPlace {
                at: (7, 7),
                count: u64::MAX,
                counted: "skbs",
            }],
            edges: vec![HopEdge {
                from: (9, 9),
                to: (0, 3),
                count: u64::MAX,
                counted: "skbs",
                tone: Tone::Blue,
            }],
        }),
    ];
    for plot in empty {
        let spec = ChartSpec {
            title: "empty".into(),
            note: None,
            size: Size::Full,
            plot,
        };
        svg::render(&spec, &Text::default()).unwrap();
    }
}

#[test]
fn a_chart_with_a_million_points_stays_small() {
    let points: Vec<(i64, f64)> = (0..1_000_000).map(|n: i64| (n, ((n * 7_919) % 997) as f64)).collect();
    let mut spec = two_runs((400, 600), Shape::Step);
    if let Plot::TimeSeries(plot) = &mut spec.plot {
        plot.end_ns = 1_000_000;
        plot.panels[0].lines[0].segments = vec![points];
    }
    let (svg, _) = svg::render(&spec, &Text::default()).unwrap();
    assert!(svg.len() < 150_000, "{} bytes", svg.len());
}

#[test]
fn decimation_keeps_ends_and_extremes_of_every_column() {
    let points: Vec<(f64, f64)> = (0..10_000)
        .map(|n| (f64::from(n) / 1_000.0, f64::from((n * 37) % 1_000)))
        .collect();
    let kept = decimate(&points, 1.0);
    assert!(kept.len() <= 40, "{}", kept.len());
    for column in 0..10 {
        let here = |p: &&(f64, f64)| p.0 >= f64::from(column) && p.0 < f64::from(column + 1);
        let extremes = |points: &[(f64, f64)]| {
            let ys = || points.iter().filter(here).map(|p| p.1);
            (ys().fold(f64::MAX, f64::min), ys().fold(f64::MIN, f64::max))
        };
        assert_eq!(extremes(&points), extremes(&kept), "column {column}");
    }
    assert_eq!((kept.first(), kept.last()), (points.first(), points.last()));
}

#[test]
fn axes_have_round_ticks() {
    let labels = |axis: &Axis, unit, room| -> Vec<String> {
        axis.ticks(unit, room)
            .into_iter()
            .filter_map(|tick| tick.label)
            .map(|l| l.replace('\u{202f}', " "))
            .collect()
    };
    let linear = Axis::new(Division::Linear, 0.0, 30e9, 0.0, 700.0);
    assert_eq!(
        labels(&linear, Unit::Nanoseconds, 7),
        ["0 s", "5 s", "10 s", "15 s", "20 s", "25 s", "30 s"]
    );
    let log = Axis::new(Division::Log, 500.0, 2e7, 0.0, 700.0);
    assert_eq!(
        labels(&log, Unit::Nanoseconds, 8),
        ["1 µs", "10 µs", "100 µs", "1 ms", "10 ms"]
    );
    let short = Axis::new(Division::Log, 900.0, 6_000.0, 0.0, 700.0);
    assert_eq!(labels(&short, Unit::Nanoseconds, 9), ["1 µs", "2 µs", "5 µs"]);
    let counts = Axis::new(Division::Linear, 0.0, 3.0, 0.0, 100.0);
    assert_eq!(labels(&counts, Unit::Count, 6), ["0", "1", "2", "3"]);
    assert!((log.px(500.0), log.px(2e7), log.px(-1.0)) == (0.0, 700.0, 0.0));
}

#[test]
fn lanes_and_gaps_of_a_million_events_stay_small_and_inside() {
    let mut spec = two_runs((400, 600), Shape::Step);
    let Plot::TimeSeries(plot) = &mut spec.plot else {
        panic!()
    };
    let span = |n: i64| Span {
        from_ns: n,
        to_ns: n + 1,
        tone: Tone::ALL[n as usize % 8],
        label: "state".into(),
    };
    plot.start_ns = 200_000;
    plot.end_ns = 800_000;
    plot.panels[0].lines[0].segments = (0..100_000).map(|n| vec![(n * 10, (n % 90) as f64)]).collect();
    plot.gaps = (0..100_000).map(|n| span(n * 10)).collect();
    plot.lanes = (0..6)
        .map(|n| Lane {
            label: format!("lane {n}").into(),
            tone: Tone::Red,
            points: (0..200_000).map(|n| n * 5).collect(),
            spans: (0..20_000).map(|n| span(n * 50)).collect(),
        })
        .collect();
    let (svg, texts) = svg::render(&spec, &Text::default()).unwrap();
    assert!(svg.len() < svg::MAX_SVG_BYTES, "{} bytes", svg.len());
    assert!(texts.len() < 60, "{} texts", texts.len());
}

#[test]
fn a_gap_outside_of_the_picture_is_not_drawn_at_its_edge() {
    let mut spec = two_runs((400, 600), Shape::Step);
    let Plot::TimeSeries(plot) = &mut spec.plot else {
        panic!()
    };
    plot.start_ns = 700;
    let (svg, _) = svg::render(&spec, &Text::default()).unwrap();
    let tree = roxmltree::Document::parse(&svg).unwrap();
    let shaded = tree
        .descendants()
        .filter(|node| node.attribute("opacity") == Some("0.28"));
    assert_eq!(shaded.count(), 1, "only the legend's box");
}
