//! Made-up receive path, lifetimes, NAPI and drops.

use super::*;

pub fn receive_path() -> Section {
    let total: f64 = STAGES
        .iter()
        .map(|(_, median, sigma)| median * (sigma * sigma / 2.0).exp())
        .sum();
    let samples: Vec<Vec<i64>> = (1..)
        .zip(STAGES)
        .map(|(seed, (_, median, sigma))| sample(seed, 12_345, median, sigma))
        .collect();
    let stages = STAGES
        .iter()
        .zip(&samples)
        .enumerate()
        .map(|(n, ((name, median, sigma), sorted))| Stage {
            name: (*name).into(),
            n: 12_345,
            share: Some(median * (sigma * sigma / 2.0).exp() / total),
            p50_ns: Some(at(sorted, 0.5)),
            p90_ns: Some(at(sorted, 0.9)),
            p99_ns: Some(at(sorted, 0.99)),
            max_ns: Some(at(sorted, 1.0)),
            tone: if *name == "unattributed" {
                Tone::Grey
            } else {
                Tone::nth(n)
            },
        });
    let mut stages: Vec<Stage> = stages.collect();
    stages.insert(
        3,
        Stage {
            name: "RPS hand-over".into(),
            n: 0,
            share: None,
            p50_ns: None,
            p90_ns: None,
            p99_ns: None,
            max_ns: None,
            tone: Tone::Brown,
        },
    );
    let table_rows = STAGES.iter().zip(&samples).map(|((name, _, _), s)| {
        vec![
            Cell::Text((*name).into()),
            Cell::Count(12_345),
            Cell::Ns(at(s, 0.5)),
            Cell::Ns(at(s, 0.9)),
            Cell::Ns(at(s, 0.99)),
            Cell::Ns(at(s, 1.0)),
        ]
    });
    let mut rows: Vec<Vec<Cell>> = table_rows.collect();
    rows.push(vec![
        Cell::Text("RPS hand-over".into()),
        Cell::Count(0),
        Cell::Unknown,
        Cell::Unknown,
        Cell::Unknown,
        Cell::Unknown,
    ]);
    let curves = STAGES
        .iter()
        .zip(&samples)
        .enumerate()
        .take(6)
        .map(|(n, ((name, _, _), s))| EcdfCurve {
            name: (*name).into(),
            tone: Tone::nth(n),
            points: ecdf(s),
        });
    let each = STAGES
        .iter()
        .zip(&samples)
        .enumerate()
        .map(|(n, ((name, _, _), s))| distribution(&format!("stage-{n}"), name, s, Size::Half, Tone::nth(n)));
    Section {
        id: "receive-path",
        title: "Receive path".into(),
        lead: "From the interrupt to the return of recvmsg: 98.2 µs at the median, 3.32 ms at p99 (n = 12 345).".into(),
        blocks: vec![
            Block::Figure(Box::new(figure(
                "waterfall",
                "Where received packets spend their time",
                Some("12 345 delivered units, confidence certain or strong"),
                Size::Full,
                Plot::Waterfall(Waterfall {
                    share_label: "share of all time".into(),
                    unit_label: "time per delivered unit".into(),
                    stages,
                }),
                "Left: every stage's share of the summed time; the shares add up to all of it. Right: the bar spans p50 to p99.",
            ))),
            Block::Table(Table {
                caption: "Stages".into(),
                columns: vec![
                    Column::text("stage"),
                    Column::number("n"),
                    Column::time("p50"),
                    Column::time("p90"),
                    Column::time("p99"),
                    Column::time("max"),
                ],
                rows,
                note: None,
            }),
            Block::Figure(Box::new(figure(
                "ecdf",
                "Stages compared",
                None,
                Size::Full,
                Plot::Ecdf(EcdfPlot {
                    label: "time per delivered unit".into(),
                    unit: Unit::Nanoseconds,
                    division: Division::Log,
                    curves: curves.collect(),
                }),
                "A curve further right is a slower stage.",
            ))),
            Block::Details {
                summary: "Each stage".into(),
                blocks: vec![Block::Figures(each.collect())],
            },
        ],
    }
}

pub fn skb_lifetimes() -> Section {
    let (rx, tx) = (sample(21, 9_000, 42_000.0, 1.4), sample(22, 9_500, 310_000.0, 1.9));
    let with_zero = Distribution {
        label: "life".into(),
        unit: Unit::Nanoseconds,
        division: Division::Log,
        counted: "skbs per bin".into(),
        bins: std::iter::once(Bin {
            lo: 0,
            hi: 1,
            count: 300,
        })
        .chain(bins(&rx, 10))
        .collect(),
        ecdf: ecdf(&rx),
        marks: marks(&rx),
        tone: Tone::Teal,
    };
    Section {
        id: "skb-lifetimes",
        title: "skb lifetimes".into(),
        lead: "Received skbs live 42.0 µs (p50), sent ones 310 µs.".into(),
        blocks: vec![
            Block::Figure(Box::new(distribution(
                "tx",
                "Sent, eth1",
                &tx,
                Size::Full,
                Tone::Orange,
            ))),
            Block::Figures(vec![
                distribution("rx", "Received, eth0", &rx, Size::Half, Tone::Blue),
                figure(
                    "rx-zero",
                    "Received, lo",
                    Some("n = 9 300; 300 with no measurable life"),
                    Size::Half,
                    Plot::Distribution(with_zero),
                    "",
                ),
                distribution("none", "Received, eth2", &[], Size::Half, Tone::Green),
            ]),
        ],
    }
}

pub fn napi() -> Section {
    let work = (0..64).map(|n| Bin {
        lo: n,
        hi: n + 1,
        count: (4_000.0 / (1.0 + n as f64).powf(1.2)) as u64 + if n == 63 { 900 } else { 0 },
    });
    let cpus = (0..8).map(|cpu: u32| BarRow {
        label: Text::from(format!("CPU {cpu}")),
        values: vec![f64::from(900_000_000 >> cpu), f64::from(120_000_000 >> (7 - cpu))],
        shown: None,
    });
    Section {
        id: "napi",
        title: "NAPI and softirq".into(),
        lead: "43 120 polls; 900 (2.09 %) used their whole budget of 64.".into(),
        blocks: vec![Block::Figures(vec![
            figure(
                "work",
                "Work per poll",
                Some("43 120 polls, budget 64"),
                Size::Half,
                Plot::Distribution(Distribution {
                    label: "packets per poll".into(),
                    unit: Unit::Count,
                    division: Division::Linear,
                    counted: "polls".into(),
                    bins: work.collect(),
                    ecdf: Vec::new(),
                    marks: Vec::new(),
                    tone: Tone::Purple,
                }),
                "",
            ),
            figure(
                "softirq",
                "Softirq time per CPU",
                None,
                Size::Half,
                Plot::Bars(Bars {
                    label: "time in softirq".into(),
                    unit: Unit::Nanoseconds,
                    parts: vec![("NET_RX".into(), Tone::Blue), ("NET_TX".into(), Tone::Orange)],
                    rows: cpus.collect(),
                }),
                "",
            ),
        ])],
    }
}

pub fn drops() -> Section {
    let rows = [
        ("QDISC_DROP", 31.0),
        ("TCP_OLD_DATA", 12.0),
        ("NO_SOCKET", 4.0),
        ("NOT_SPECIFIED", 1.0),
    ];
    Section {
        id: "drops",
        title: "Drops".into(),
        lead: "48 packets were dropped; 2 113 frees are expected ones.".into(),
        blocks: vec![Block::Figure(Box::new(figure(
            "reasons",
            "Drops by reason",
            None,
            Size::Full,
            Plot::Bars(Bars {
                label: "packets".into(),
                unit: Unit::Count,
                parts: vec![("dropped".into(), Tone::Red)],
                rows: rows
                    .iter()
                    .map(|(name, n)| BarRow {
                        label: (*name).into(),
                        values: vec![*n],
                        shown: None,
                    })
                    .collect(),
            }),
            "",
        )))],
    }
}
