//! What a chart shows, as data.

use crate::chart::theme::Tone;
use crate::clean::Text;

/// A chart.
#[derive(Clone, Debug)]
pub struct ChartSpec {
    /// What is shown, in a few words.
    pub title: Text,
    /// A second, smaller line: n, what was left out.
    pub note: Option<Text>,
    /// How wide.
    pub size: Size,
    /// The data.
    pub plot: Plot,
}

/// Width of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// The whole column: 800 logical pixels.
    Full,
    /// Two fit beside each other: 480 logical pixels.
    Half,
}

impl Size {
    /// Width in logical pixels.
    #[must_use]
    pub const fn width(self) -> u32 {
        match self {
            Self::Full => 800,
            Self::Half => 480,
        }
    }
}

/// The data of a chart.
#[derive(Clone, Debug)]
pub enum Plot {
    /// One distribution: histogram, and below it the ECDF on the same axis.
    Distribution(Distribution),
    /// Several distributions as ECDFs.
    Ecdf(EcdfPlot),
    /// Stages of a path: share of the whole and percentiles of each.
    Waterfall(Waterfall),
    /// Values over time.
    TimeSeries(TimeSeries),
    /// One bar per row.
    Bars(Bars),
    /// Counts over time and value.
    Heat(Heat),
    /// Histograms below one another.
    Histograms(Histograms),
    /// Where packets went.
    HopMap(HopMap),
}

/// What an axis counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds, written in the unit that fits.
    Nanoseconds,
    /// Bytes.
    Bytes,
    /// Plain numbers.
    Count,
    /// 1.0 = all.
    Fraction,
}

impl Unit {
    /// As the page's script knows it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Bytes => "B",
            Self::Count => "n",
            Self::Fraction => "%",
        }
    }
}

/// How an axis is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Division {
    /// Equal steps.
    Linear,
    /// Equal factors.
    Log,
}

/// A half-open bin of a histogram, in the unit of its axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    /// Smallest value in it. At or below 0 on a log axis: drawn as a bin of its own at the left end.
    pub lo: i64,
    /// First value not in it.
    pub hi: i64,
    /// How many.
    pub count: u64,
}

/// A value worth a line in the picture.
#[derive(Clone, Debug)]
pub struct Mark {
    /// As `p99`.
    pub label: &'static str,
    /// In the unit of the axis.
    pub value: i64,
}

/// A histogram with its ECDF.
#[derive(Clone, Debug)]
pub struct Distribution {
    /// What the values are, without the unit.
    pub label: Text,
    /// Their unit.
    pub unit: Unit,
    /// How the value axis is divided.
    pub division: Division,
    /// What is counted: `packets`, `polls`.
    pub counted: Text,
    /// Ascending, not overlapping.
    pub bins: Vec<Bin>,
    /// Ascending value and fraction at or below it; empty: no second panel.
    pub ecdf: Vec<(i64, f64)>,
    /// Vertical lines.
    pub marks: Vec<Mark>,
    /// Colour of the bars.
    pub tone: Tone,
}

/// ECDFs over one another.
#[derive(Clone, Debug)]
pub struct EcdfPlot {
    /// What the values are, without the unit.
    pub label: Text,
    /// Their unit.
    pub unit: Unit,
    /// How the value axis is divided.
    pub division: Division,
    /// The curves.
    pub curves: Vec<EcdfCurve>,
}

/// One ECDF.
#[derive(Clone, Debug)]
pub struct EcdfCurve {
    /// Name in the legend.
    pub name: Text,
    /// Colour.
    pub tone: Tone,
    /// Ascending value and fraction at or below it.
    pub points: Vec<(i64, f64)>,
}

/// Stages of a path.
#[derive(Clone, Debug)]
pub struct Waterfall {
    /// What the shares are shares of, as `share of all time`.
    pub share_label: Text,
    /// What one percentile belongs to, as `per packet`.
    pub unit_label: Text,
    /// In path order.
    pub stages: Vec<Stage>,
}

/// One stage: times in ns, `None` where unknown.
#[derive(Clone, Debug)]
pub struct Stage {
    /// Name.
    pub name: Text,
    /// How many were measured.
    pub n: u64,
    /// Its part of the whole, 1.0 = all.
    pub share: Option<f64>,
    /// Median.
    pub p50_ns: Option<i64>,
    /// 90th percentile.
    pub p90_ns: Option<i64>,
    /// 99th percentile.
    pub p99_ns: Option<i64>,
    /// Largest.
    pub max_ns: Option<i64>,
    /// Colour.
    pub tone: Tone,
}

/// Values over time: panels and lanes over one another on one time axis.
#[derive(Clone, Debug)]
pub struct TimeSeries {
    /// Left end of the axis, ns since the start of the recording.
    pub start_ns: i64,
    /// Right end.
    pub end_ns: i64,
    /// Value panels, top to bottom.
    pub panels: Vec<Panel>,
    /// Event lanes below them.
    pub lanes: Vec<Lane>,
    /// Where the recording has a hole: shaded over all panels and lanes.
    pub gaps: Vec<Span>,
}

/// One value axis with its lines.
#[derive(Clone, Debug)]
pub struct Panel {
    /// What the values are, without the unit for times and bytes.
    pub label: Text,
    /// Their unit.
    pub unit: Unit,
    /// The lines.
    pub lines: Vec<Line>,
}

/// How a line goes from one sample to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// The value holds until the next sample.
    Step,
    /// Straight.
    Straight,
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stroke {
    /// An ordinary line.
    Plain,
    /// Thick: for a line of short runs, which would be lost otherwise.
    Bold,
    /// Dashed.
    Dashed,
}

/// One line of a panel.
#[derive(Clone, Debug)]
pub struct Line {
    /// Name in the legend.
    pub name: Text,
    /// Colour.
    pub tone: Tone,
    /// How samples are joined.
    pub shape: Shape,
    /// How it is drawn.
    pub stroke: Stroke,
    /// Runs of samples (ns since the start of the recording, value); runs are never joined to one another.
    pub segments: Vec<Vec<(i64, f64)>>,
}

/// Events of one kind.
#[derive(Clone, Debug)]
pub struct Lane {
    /// Name at the left.
    pub label: Text,
    /// Colour of points.
    pub tone: Tone,
    /// Moments, ns since the start of the recording.
    pub points: Vec<i64>,
    /// Intervals.
    pub spans: Vec<Span>,
}

/// An interval of time.
#[derive(Clone, Debug)]
pub struct Span {
    /// ns since the start of the recording.
    pub from_ns: i64,
    /// ns since the start of the recording.
    pub to_ns: i64,
    /// Colour.
    pub tone: Tone,
    /// Written into it where it fits.
    pub label: Text,
}

/// One bar per row, made of parts.
#[derive(Clone, Debug)]
pub struct Bars {
    /// What is measured, without the unit.
    pub label: Text,
    /// Its unit.
    pub unit: Unit,
    /// Names and colours of the parts; a legend is drawn when there are several.
    pub parts: Vec<(Text, Tone)>,
    /// Top to bottom.
    pub rows: Vec<BarRow>,
}

/// One row.
#[derive(Clone, Debug)]
pub struct BarRow {
    /// Name at the left.
    pub label: Text,
    /// One value per part.
    pub values: Vec<f64>,
    /// Written behind the bar instead of the sum.
    pub shown: Option<Text>,
}

/// Histograms of groups on one logarithmic axis, each scaled to its own fullest bin.
#[derive(Clone, Debug)]
pub struct Histograms {
    /// What the values are, without the unit.
    pub label: Text,
    /// Their unit.
    pub unit: Unit,
    /// Top to bottom.
    pub rows: Vec<HistogramRow>,
}

/// The histogram of one group.
#[derive(Clone, Debug)]
pub struct HistogramRow {
    /// Name at the left.
    pub name: Text,
    /// Colour.
    pub tone: Tone,
    /// Written behind it: how many.
    pub n: u64,
    /// Ascending, not overlapping.
    pub bins: Vec<Bin>,
}

/// Counts over time and value.
#[derive(Clone, Debug)]
pub struct Heat {
    /// What the values are.
    pub label: Text,
    /// What is counted: `units`.
    pub counted: Text,
    /// Left end of the axis, ns since the start of the recording.
    pub start_ns: i64,
    /// Right end.
    pub end_ns: i64,
    /// Length of a cell in time, ns.
    pub bin_ns: i64,
    /// Cells that hold something.
    pub cells: Vec<HeatCell>,
}

/// One cell.
#[derive(Clone, Copy, Debug)]
pub struct HeatCell {
    /// Which bin of time, from 0.
    pub bin: u32,
    /// Smallest value in it, ns.
    pub lo: i64,
    /// First value not in it, ns.
    pub hi: i64,
    /// How many.
    pub count: u64,
}

/// Steps, the CPUs they were on, and what went from where to where.
#[derive(Clone, Debug)]
pub struct HopMap {
    /// Steps, top to bottom.
    pub rows: Vec<Text>,
    /// CPUs, left to right: number, and the node where there are several.
    pub columns: Vec<(u16, Option<u32>)>,
    /// What was where.
    pub places: Vec<HopPlace>,
    /// From one place to the next; those behind others are drawn over them.
    pub edges: Vec<HopEdge>,
}

/// A step on a CPU.
#[derive(Clone, Copy, Debug)]
pub struct HopPlace {
    /// Row and column, from 0.
    pub at: (usize, usize),
    /// How many were there.
    pub count: u64,
    /// What is counted: `skbs`.
    pub counted: &'static str,
}

/// From a place to the next.
#[derive(Clone, Copy, Debug)]
pub struct HopEdge {
    /// Row and column, from 0.
    pub from: (usize, usize),
    /// Row and column, from 0.
    pub to: (usize, usize),
    /// How many.
    pub count: u64,
    /// What is counted: `skbs`.
    pub counted: &'static str,
    /// Blue: the same CPU; orange: another; purple: of another node.
    pub tone: Tone,
}
