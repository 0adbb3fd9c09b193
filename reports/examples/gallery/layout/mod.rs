//! MADE-UP numbers in the shape of real ones: every block and every chart, for looking at the layout and for the tests of the writers.
//! Nothing here is a measurement.

mod places;
mod rx;
mod tcp;

use netmortem_reports::chart::{
    BarRow, Bars, Bin, ChartSpec, Distribution, Division, EcdfCurve, EcdfPlot, HistogramRow, Histograms, Lane, Line,
    Mark, Panel, Plot, Shape, Size, Span, Stage, Stroke, TimeSeries, Tone, Unit, Waterfall,
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
            rx::receive_path(),
            rx::skb_lifetimes(),
            rx::napi(),
            rx::drops(),
            places::map(),
            tcp::tcp(),
            tcp::hostile(),
        ],
        footer: "netmortem 0.1.0 · layout gallery, not a measurement".into(),
        input: None,
        one_recording: true,
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
