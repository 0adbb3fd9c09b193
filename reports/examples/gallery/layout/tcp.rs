//! Made-up TCP connections, and names that want to be more than text.

use super::*;

/// cwnd with a multiplicative decrease every few seconds and a hole in the recording.
pub fn tcp() -> Section {
    let (mut cwnd, mut wmax, mut since) = (10.0_f64, 10.0_f64, 0.0_f64);
    let (mut runs, mut run, mut thresholds, mut rtts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut retransmits, mut recoveries) = (Vec::new(), Vec::new());
    let mut rolls = Rolls(99);
    for n in 0..20_000_i64 {
        let now = n * 1_500_000;
        if (12_400_000_000..13_900_000_000).contains(&now) {
            if !run.is_empty() {
                runs.push(std::mem::take(&mut run));
            }
            continue;
        }
        since += 0.0015;
        let k = (wmax * 0.3 / 0.4).cbrt();
        cwnd = if runs.is_empty() && n < 600 {
            (cwnd + 0.2).min(120.0)
        } else {
            0.4 * (since - k).powi(3) + wmax
        };
        if cwnd > 110.0 + 30.0 * rolls.uniform() {
            (wmax, since) = (cwnd, 0.0);
            cwnd *= 0.7;
            retransmits.extend((0..8).map(|i| now + i * 9_000_000));
            recoveries.push(Span {
                from_ns: now,
                to_ns: now + 160_000_000,
                tone: Tone::Orange,
                label: "Recovery".into(),
            });
        }
        run.push((now, cwnd.floor()));
        thresholds.push((now, (wmax * 0.7).floor()));
        rtts.push((now, 2.0e7 + cwnd * 3.0e5 + 2.0e6 * rolls.uniform()));
    }
    runs.push(run);
    let split = |points: Vec<(i64, f64)>| -> Vec<Vec<(i64, f64)>> {
        let (before, after): (Vec<_>, Vec<_>) = points.into_iter().partition(|(t, _)| *t < 12_400_000_000);
        vec![before, after]
    };
    let line = |name: &str, tone, shape, stroke, segments| Line {
        name: name.into(),
        tone,
        shape,
        stroke,
        segments,
    };
    let gap = Span {
        from_ns: 12_400_000_000,
        to_ns: 13_900_000_000,
        tone: Tone::Grey,
        label: "events lost".into(),
    };
    let plot = TimeSeries {
        start_ns: 0,
        end_ns: 30_000_000_000,
        panels: vec![
            Panel {
                label: "window, packets".into(),
                unit: Unit::Count,
                lines: vec![
                    line("cwnd", Tone::Blue, Shape::Step, Stroke::Plain, runs),
                    line("ssthresh", Tone::Green, Shape::Step, Stroke::Dashed, split(thresholds)),
                ],
            },
            Panel {
                label: "smoothed RTT".into(),
                unit: Unit::Nanoseconds,
                lines: vec![line("srtt", Tone::Purple, Shape::Step, Stroke::Plain, split(rtts))],
            },
        ],
        lanes: vec![
            Lane {
                label: "state".into(),
                tone: Tone::Grey,
                points: Vec::new(),
                spans: recoveries,
            },
            Lane {
                label: "retransmits".into(),
                tone: Tone::Red,
                points: retransmits.clone(),
                spans: Vec::new(),
            },
            Lane {
                label: "qdisc drops".into(),
                tone: Tone::Brown,
                points: retransmits.iter().map(|t| t - 30_000_000).collect(),
                spans: Vec::new(),
            },
        ],
        gaps: vec![gap],
    };
    let row = |n: u16, task: &str, out: u64, rtx: u64| {
        vec![
            Cell::Code(Text::from(format!("10.0.0.1:5201 → 10.0.0.2:{n}"))),
            Cell::Code(Text::name(task)),
            Cell::Bytes(out / 900),
            Cell::Bytes(out),
            Cell::Count(rtx),
            Cell::Ns(21_400_000),
            Cell::Badge(
                if rtx > 10 { Severity::Notice } else { Severity::Good },
                if rtx > 10 { "loss".into() } else { "clean".into() },
            ),
        ]
    };
    Section {
        id: "tcp",
        title: "TCP connections".into(),
        lead: "3 connections; the busiest lost 0.4 % of its segments to the tbf qdisc.".into(),
        blocks: vec![
            Block::Figure(Box::new(figure(
                "sawtooth",
                "10.0.0.1:5201 → 10.0.0.2:41022",
                Some("cubic · 181 MB sent · 31 retransmits"),
                Size::Full,
                Plot::TimeSeries(plot),
                "A line ends where samples end; shaded: events lost.",
            ))),
            Block::Table(Table {
                caption: "All connections".into(),
                columns: vec![
                    Column::text("connection"),
                    Column::text("task"),
                    Column::number("in"),
                    Column::number("out"),
                    Column::number("retransmits"),
                    Column::time("srtt p50"),
                    Column::text(""),
                ],
                rows: vec![
                    row(41_022, "iperf3", 181_000_000, 31),
                    row(41_020, "iperf3", 4_100, 0),
                    row(39_998, HOSTILE[0], 71_000, 2),
                ],
                note: Some("3 of 3 shown.".into()),
            }),
            Block::Code(vec!["netmortem show tcp_samples incident.nmb --format csv".into()]),
        ],
    }
}

pub fn hostile() -> Section {
    let bars = HOSTILE.iter().map(|name| BarRow {
        label: Text::name(name),
        values: vec![7.0],
        shown: Some(Text::name(name)),
    });
    let rows = HOSTILE.iter().map(|name| {
        vec![
            Cell::Text(Text::name(name)),
            Cell::Code(Text::name(name)),
            Cell::Count(1),
        ]
    });
    Section {
        id: "hostile",
        title: "Hostile names".into(),
        lead: Text::from(HOSTILE[1]),
        blocks: vec![
            Block::Paragraph(Text::from(HOSTILE[0])),
            Block::List(HOSTILE.iter().map(|name| Text::from(*name)).collect()),
            strip(Severity::Info, HOSTILE[3], Some(HOSTILE[4])),
            Block::Table(Table {
                caption: HOSTILE[0].into(),
                columns: vec![Column::text("name"), Column::text(HOSTILE[1]), Column::number("n")],
                rows: rows.collect(),
                note: Some(HOSTILE[2].into()),
            }),
            Block::Figure(Box::new(figure(
                "names",
                HOSTILE[0],
                Some(HOSTILE[4]),
                Size::Full,
                Plot::Bars(Bars {
                    label: HOSTILE[3].into(),
                    unit: Unit::Count,
                    parts: vec![
                        (Text::name(HOSTILE[1]), Tone::Blue),
                        (Text::name(HOSTILE[4]), Tone::Red),
                    ],
                    rows: bars.collect(),
                }),
                HOSTILE[1],
            ))),
            Block::Figure(Box::new(figure(
                "histograms",
                HOSTILE[1],
                None,
                Size::Half,
                Plot::Histograms(Histograms {
                    label: HOSTILE[3].into(),
                    unit: Unit::Nanoseconds,
                    rows: histograms(),
                }),
                "",
            ))),
        ],
    }
}

/// Groups of hostile names, one of a single value below what a log axis can show, one of none.
fn histograms() -> Vec<HistogramRow> {
    let bins = |of: &[(i64, i64, u64)]| {
        of.iter()
            .map(|(lo, hi, count)| Bin {
                lo: *lo,
                hi: *hi,
                count: *count,
            })
            .collect()
    };
    let row = |at: usize, n, of: &[(i64, i64, u64)]| HistogramRow {
        name: Text::name(HOSTILE[at]),
        tone: Tone::nth(at),
        n,
        bins: bins(of),
    };
    vec![
        row(
            0,
            1_000_001,
            &[(1_000, 1_250, 1_000_000), (2_000_000_000, 2_500_000_000, 1)],
        ),
        row(1, 1, &[(i64::MIN, 1, 1)]),
        row(4, 0, &[]),
    ]
}
