//! MADE-UP numbers in the shape of real ones: every block and every chart, for looking at the layout and for the tests of the writers.
//! Nothing here is a measurement.

use netmortem_reports::chart::{
    BarRow, Bars, Bin, ChartSpec, Distribution, Division, EcdfCurve, EcdfPlot, Lane, Line, Mark, Panel, Plot, Shape,
    Size, Span, Stage, Stroke, TimeSeries, Tone, Unit, Waterfall,
};
use netmortem_reports::clean::Text;
use netmortem_reports::document::{Block, Cell, Column, Document, Figure, Section, Severity, Strip, Table};

/// Names an attacker would choose.
pub const HOSTILE: [&str; 5] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "eth0\u{1b}[31m\u{7}\u{0}",
    "name\u{202e}gpj.exe & 'quotes'",
    "a-very-long-name-that-goes-on-and-on-and-on-and-on-and-on-and-on-and-on-and-on-and-on-and-on-and-on-for-ever",
];

const STAGES: [(&str, f64, f64); 9] = [
    ("irq → softirq", 2_300.0, 0.9),
    ("softirq → poll", 700.0, 0.4),
    ("poll → GRO", 1_900.0, 0.7),
    ("GRO hold", 5_200.0, 1.2),
    ("protocol", 3_100.0, 0.5),
    ("receive queue", 61_000.0, 1.7),
    ("wake → run", 14_000.0, 1.3),
    ("copy", 2_400.0, 0.8),
    ("unattributed", 350.0, 1.0),
];

/// A generator that gives the same numbers everywhere.
struct Rolls(u64);

impl Rolls {
    fn uniform(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    fn lognormal(&mut self, median: f64, sigma: f64) -> i64 {
        let normal = (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos();
        (median * (sigma * normal).exp()) as i64
    }
}

fn sample(seed: u64, n: usize, median: f64, sigma: f64) -> Vec<i64> {
    let mut rolls = Rolls(seed);
    let mut values: Vec<i64> = (0..n).map(|_| rolls.lognormal(median, sigma)).collect();
    values.sort_unstable();
    values
}

fn at(sorted: &[i64], fraction: f64) -> i64 {
    sorted
        .get((fraction * (sorted.len().max(1) - 1) as f64) as usize)
        .copied()
        .unwrap_or(0)
}

fn bins(sorted: &[i64], per_decade: i32) -> Vec<Bin> {
    let edge = |n: i32| 10_f64.powf(f64::from(n) / f64::from(per_decade)).round() as i64;
    let mut out = Vec::new();
    for n in 0..(10 * per_decade) {
        let (lo, hi) = (edge(n), edge(n + 1));
        let count = sorted.iter().filter(|value| **value >= lo && **value < hi).count() as u64;
        if hi > lo {
            out.push(Bin { lo, hi, count });
        }
    }
    out
}

fn ecdf(sorted: &[i64]) -> Vec<(i64, f64)> {
    (1..=200)
        .map(|n| (at(sorted, f64::from(n) / 200.0), f64::from(n) / 200.0))
        .collect()
}

fn marks(sorted: &[i64]) -> Vec<Mark> {
    vec![
        Mark {
            label: "p50",
            value: at(sorted, 0.5),
        },
        Mark {
            label: "p90",
            value: at(sorted, 0.9),
        },
        Mark {
            label: "p99",
            value: at(sorted, 0.99),
        },
        Mark {
            label: "max",
            value: at(sorted, 1.0),
        },
    ]
}

fn figure(id: &str, title: &str, note: Option<&str>, size: Size, plot: Plot, caption: &str) -> Figure {
    Figure {
        id: id.to_owned(),
        chart: ChartSpec {
            title: title.into(),
            note: note.map(Text::from),
            size,
            plot,
        },
        caption: caption.into(),
        alt: Text::from(format!("{title}. {caption}")),
    }
}

fn distribution(id: &str, title: &str, sorted: &[i64], size: Size, tone: Tone) -> Figure {
    let plot = Distribution {
        label: "time".into(),
        unit: Unit::Nanoseconds,
        division: Division::Log,
        counted: "packets per bin".into(),
        bins: bins(sorted, 12),
        ecdf: ecdf(sorted),
        marks: marks(sorted),
        tone,
    };
    figure(
        id,
        title,
        Some("n = 12 345, all ends seen"),
        size,
        Plot::Distribution(plot),
        "",
    )
}

/// The gallery.
pub fn document() -> Document {
    Document {
        title: "netmortem: layout gallery".into(),
        subtitle: "made-up numbers · host db-17 · Linux 6.18.5 x86_64 · 2 CPUs · 30.0 s from 2026-11-20 14:03:22 UTC"
            .into(),
        sections: vec![
            quality(),
            verdict(),
            receive_path(),
            skb_lifetimes(),
            napi(),
            drops(),
            tcp(),
            hostile(),
        ],
        footer: "netmortem 0.1.0 · layout gallery, not a measurement".into(),
    }
}

fn strip(severity: Severity, sentence: &str, detail: Option<&str>) -> Block {
    Block::Strip(Strip {
        severity,
        sentence: sentence.into(),
        detail: detail.map(Text::from),
        see: None,
    })
}

fn quality() -> Section {
    let row = |name: &str, events: u64, lost: Option<u64>, coverage: f64| {
        vec![
            Cell::Code(name.into()),
            Cell::Count(events),
            Cell::known(lost, Cell::Count),
            Cell::Fraction(coverage),
        ]
    };
    Section {
        id: "quality",
        title: "Data quality".into(),
        lead: "1 604 812 events from 2 CPUs over 30.0 s; 1 204 were lost in one place.".into(),
        blocks: vec![
            strip(
                Severity::Notice,
                "1 204 events (0.08 %) were lost on CPU 1 between 12.40 s and 12.43 s; nothing is concluded across that gap.",
                Some("Record with larger buffers: --buffer-size 16M."),
            ),
            strip(
                Severity::Good,
                "One clock (mono) on both CPUs; no negative interval among 48 112 cross-CPU pairs.",
                None,
            ),
            Block::KeyValues(vec![
                ("Duration".into(), "30.000 s".into()),
                ("Clock".into(), "mono".into()),
                ("Recorder".into(), "netmortem-record 0.1.0, profile full".into()),
            ]),
            Block::Table(Table {
                caption: "Streams".into(),
                columns: vec![
                    Column::text("stream"),
                    Column::number("events"),
                    Column::number("lost"),
                    Column::number("coverage"),
                ],
                rows: vec![
                    row("trace/cpu0", 812_004, Some(0), 1.0),
                    row("trace/cpu1", 792_808, Some(1_204), 0.999_12),
                    row("trace/cpu2", 0, None, 0.0),
                ],
                note: Some("A loss whose size the kernel did not store is shown as –.".into()),
            }),
        ],
    }
}

fn verdict() -> Section {
    Section {
        id: "verdict",
        title: "Verdict".into(),
        lead: "The readers were late, not the network.".into(),
        blocks: vec![
            strip(
                Severity::Bad,
                "Packets wait 61.0 µs (p50) and 3.10 ms (p99) in the receive queue before the reader takes them: 62 % of all receive time.",
                Some("Look at what db-worker does before recv(); n = 12 345, confidence certain or strong for 99.2 %."),
            ),
            strip(
                Severity::Notice,
                "31 packets were dropped by the qdisc tbf on eth1; all were retransmitted.",
                None,
            ),
            strip(
                Severity::Good,
                "NAPI never used up its budget; softirq delay p99 is 12.3 µs.",
                None,
            ),
            strip(
                Severity::Info,
                "The busiest connection is 10.0.0.1:5201 → 10.0.0.2:41022, cubic, 48.2 Mbit/s.",
                None,
            ),
            strip(
                Severity::Unknown,
                "Transmit waits are not judged: qdisc events were not recorded.",
                None,
            ),
        ],
    }
}

fn receive_path() -> Section {
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

fn skb_lifetimes() -> Section {
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

fn napi() -> Section {
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

fn drops() -> Section {
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

/// cwnd with a multiplicative decrease every few seconds and a hole in the recording.
fn tcp() -> Section {
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

fn hostile() -> Section {
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
        ],
    }
}
