//! Metrics as tables and charts: the changed ones with their ECDFs over one another, the ledgers by stage, and all.

use netmortem_analyzer::diff::{Breakdown, Diff, Metric, Outcome, Shift};

use super::badge;
use crate::chart::{self, ChartSpec, Division, EcdfCurve, EcdfPlot, Plot, Size, Tone};
use crate::clean::Text;
use crate::document::{Block, Cell, Column, Figure, Section, Table};
use crate::format;
use crate::sections::shared;

/// Charts at most.
const CHARTS: usize = 12;

fn value(v: i64) -> Cell {
    Cell::Text(format::duration(v).into())
}

fn row(m: &Metric, s: &Shift) -> Vec<Cell> {
    vec![
        Cell::Code(Text::name(&m.metric)),
        Cell::Text(format!("p{}", s.percent).into()),
        value(s.before),
        value(s.after),
        value(s.shift),
        Cell::Text(
            format!(
                "{} to {}",
                format::duration(s.interval.0),
                format::duration(s.interval.1)
            )
            .into(),
        ),
        s.minimum_detectable.map_or(Cell::Unknown, value),
        Cell::Number(s.p_adjusted),
        Cell::Number(m.cliffs_delta),
        badge(s.outcome, s.word(), s.minimum_detectable.is_some()),
    ]
}

fn table(caption: &str, rows: Vec<Vec<Cell>>) -> Table {
    Table {
        caption: caption.into(),
        columns: vec![
            Column::text("metric"),
            Column::text("of"),
            Column::number("before"),
            Column::number("after"),
            Column::number("shift"),
            Column::number("95 % interval of the shift"),
            Column::number("would be seen from"),
            Column::number("adjusted p"),
            Column::number("Cliff's delta"),
            Column::text("verdict"),
        ],
        rows,
        note: None,
    }
}

/// What changed; `None` when nothing did.
pub(super) fn changes(diff: &Diff) -> Option<Section> {
    let changed: Vec<&Metric> = diff.metrics.iter().filter(|m| m.outcome != Outcome::Same).collect();
    if changed.is_empty() {
        return None;
    }
    let shifts = changed.iter().flat_map(|m| {
        let of = m.shifts.iter().filter(|s| s.outcome != Outcome::Same);
        of.map(|s| row(m, s))
    });
    let mut blocks = vec![Block::Table(table("Quantiles that changed", shifts.collect()))];
    blocks.push(Block::Figures(changed.iter().take(CHARTS).map(|m| ecdfs(m)).collect()));
    if changed.len() > CHARTS {
        blocks.push(Block::Paragraph(Text::from(format!("The first {CHARTS} are drawn."))));
    }
    Some(Section {
        id: "changes",
        title: "What changed".into(),
        lead: Text::from(format!(
            "{} of {} durations.",
            format::count(changed.len() as u64),
            format::count(diff.metrics.len() as u64)
        )),
        blocks,
    })
}

fn ecdfs(m: &Metric) -> Figure {
    let curve = |name: &str, tone: Tone, d: &netmortem_analyzer::stat::Distribution| EcdfCurve {
        name: name.into(),
        tone,
        points: d.ecdf.clone(),
    };
    let plot = EcdfPlot {
        label: "time, log scale".into(),
        unit: chart::Unit::Nanoseconds,
        division: Division::Log,
        curves: vec![
            curve("before", Tone::Blue, &m.before),
            curve("after", Tone::Orange, &m.after),
        ],
    };
    let spec = ChartSpec {
        title: Text::name(&m.metric),
        note: Some(Text::from(format!(
            "n = {} before, {} after",
            format::count(m.before.n),
            format::count(m.after.n)
        ))),
        size: Size::Half,
        plot: Plot::Ecdf(plot),
    };
    let caption = match m.meaning.is_empty() {
        true => "The curve further right is the larger one.".to_owned(),
        false => format!("{}. The curve further right is the larger one.", m.meaning),
    };
    shared::figure(m.metric.clone(), spec, &caption)
}

/// Mean per unit by stage; `None` without a ledger.
pub(super) fn breakdowns(diff: &Diff) -> Option<Section> {
    let tables: Vec<Block> = diff.breakdowns.iter().map(breakdown).collect();
    if tables.is_empty() {
        return None;
    }
    Some(Section {
        id: "where",
        title: "Where the time is".into(),
        lead: "The stages of a unit sum to its total, so what they add sums to the change of the mean. Means are moved by single long units: \
               the quantiles judge, this table says where."
            .into(),
        blocks: tables,
    })
}

fn breakdown(b: &Breakdown) -> Block {
    let line = |name: Cell, before: f64, after: f64| {
        vec![
            name,
            Cell::Ns(before as i64),
            Cell::Ns(after as i64),
            Cell::Ns((after - before) as i64),
        ]
    };
    let met = b.parts.iter().filter(|p| p.before_ns != 0.0 || p.after_ns != 0.0);
    let mut rows: Vec<Vec<Cell>> = met
        .map(|p| line(Cell::Text(shared::words(p.stage).into()), p.before_ns, p.after_ns))
        .collect();
    rows.push(line(Cell::Text("all".into()), b.before_ns, b.after_ns));
    Block::Table(Table {
        caption: Text::from(format!(
            "{}: mean per unit, {} before, {} after",
            b.ledger,
            shared::counted(b.units.0, "unit"),
            shared::counted(b.units.1, "unit")
        )),
        columns: vec![
            Column::text("stage"),
            Column::time("before"),
            Column::time("after"),
            Column::time("added"),
        ],
        rows,
        note: None,
    })
}

/// Every metric.
pub(super) fn all(diff: &Diff) -> Section {
    let rows: Vec<Vec<Cell>> = diff
        .metrics
        .iter()
        .flat_map(|m| m.shifts.iter().map(|s| row(m, s)))
        .collect();
    let lead = match rows.is_empty() {
        true => "None has enough values on both sides.".to_owned(),
        false => format!("{} quantiles of {} metrics.", rows.len(), diff.metrics.len()),
    };
    let blocks = match rows.is_empty() {
        true => vec![],
        false => vec![Block::Details {
            summary: "All quantiles compared".into(),
            blocks: vec![Block::Table(table("All quantiles compared", rows))],
        }],
    };
    Section {
        id: "all",
        title: "Everything compared".into(),
        lead: lead.into(),
        blocks,
    }
}
