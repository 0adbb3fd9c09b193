//! Whole times by device, CPU, process and connection, of either path: a table; the ECDF and the histogram of each of the groups with most
//! units and of all others together; and which stages their time went to. In: `Answers::breakdown`.

use netmortem_analyzer::analyses::breakdown::{CURVES, Curve, Group, Kind};
use netmortem_analyzer::analyses::tcp::Connection;

use super::shared::{bins, figure, id_cell, name_cell, words};
use crate::chart::{
    BarRow, Bars, ChartSpec, Division, EcdfCurve, EcdfPlot, HistogramRow, Histograms, Plot, Size, Tone, Unit,
};
use crate::clean::Text;
use crate::document::{Block, Cell, Column, Figure, Table};
use crate::format;

/// Stages below this share of the time of each group are drawn together.
const DRAWN_SHARE: f64 = 0.02;

/// Tables and pictures of whole times by what units have in common; those with one group only say nothing and are left out.
/// `connections` are those whose ends pictures name.
pub fn blocks(kinds: &[Kind], rows: &str, command: &str, connections: &[Connection]) -> Vec<Block> {
    let several = kinds.iter().filter(|kind| kind.groups.len() > 1);
    let tables: Vec<Block> = several
        .flat_map(|kind| {
            std::iter::once(Block::Table(group_table(kind, rows, command))).chain(pictures(kind, rows, connections))
        })
        .collect();
    let single: Vec<String> = kinds
        .iter()
        .filter_map(|kind| match kind.groups.as_slice() {
            [only] if !only.name.is_empty() => Some(format!("{} {}", kind.by, Text::name(&only.name))),
            _ => None,
        })
        .collect();
    let said = match single.is_empty() {
        true => None,
        false => Some(Block::Paragraph(Text::from(format!(
            "All {rows} belong to {}.",
            single.join(", ")
        )))),
    };
    said.into_iter().chain(tables).collect()
}

fn group_table(kind: &Kind, rows: &str, command: &str) -> Table {
    let time = |ns| Cell::known(ns, Cell::Ns);
    let row = |group: &Group| {
        vec![
            match (group.name.is_empty(), kind.by) {
                (true, _) => Cell::Unknown,
                (false, "connection") => Cell::Id((&group.name).into()),
                (false, _) => name_cell(&group.name),
            },
            Cell::Count(group.n),
            Cell::Fraction(group.share),
            time(group.p50_ns),
            time(group.p99_ns),
            time(group.max_ns),
            id_cell(group.worst),
            Cell::known(group.top, |(stage, _)| Cell::Text(words(stage).into())),
            Cell::known(group.top, |(_, share)| Cell::Fraction(share)),
        ]
    };
    Table {
        caption: Text::from(format!("Whole time by {}", kind.by)),
        columns: vec![
            Column::text(kind.by),
            Column::number("n"),
            Column::number("share of all time"),
            Column::time("p50"),
            Column::time("p99"),
            Column::time("max"),
            Column::text("the longest"),
            Column::text("most of it"),
            Column::number("its share"),
        ],
        rows: kind.groups.iter().map(row).collect(),
        note: (kind.others > 0).then(|| {
            Text::from(format!(
                "Most summed time of {rows} first; {} more are left out: netmortem show {command} INPUT",
                format::count(kind.others)
            ))
        }),
    }
}

/// ECDFs over one another, histograms below one another, and the stages of each group's time.
fn pictures(kind: &Kind, rows: &str, connections: &[Connection]) -> Vec<Block> {
    if kind.curves.len() < 2 {
        return Vec::new();
    }
    let rule = match kind.curves.iter().find(|curve| curve.others > 0) {
        None => "Every group is drawn.".to_owned(),
        Some(of) => format!(
            "The {CURVES} groups with most {rows}; the other {} are together, in grey.",
            format::count(of.others)
        ),
    };
    let of = Pictures {
        kind,
        rows,
        rule,
        connections,
    };
    vec![
        Block::Figures(vec![of.ecdfs(), of.histograms()]),
        Block::Figure(Box::new(of.stages())),
    ]
}

struct Pictures<'a> {
    kind: &'a Kind,
    rows: &'a str,
    rule: String,
    connections: &'a [Connection],
}

impl Pictures<'_> {
    fn figure(&self, id: &str, title: &str, size: Size, plot: Plot, caption: &str) -> Figure {
        let by = self.kind.by.to_lowercase();
        let chart = ChartSpec {
            title: Text::from(format!("{title} by {}", self.kind.by)),
            note: None,
            size,
            plot,
        };
        figure(format!("by-{by}{id}"), chart, caption)
    }

    fn named(&self) -> impl Iterator<Item = (Text, Tone, &Curve)> {
        self.kind
            .curves
            .iter()
            .enumerate()
            .map(|(nth, curve)| match curve.others {
                0 if curve.name.is_empty() => ("not known".into(), Tone::nth(nth), curve),
                // A number alone is no name.
                0 if self.kind.by == "CPU" => (Text::from(format!("CPU {}", curve.name)), Tone::nth(nth), curve),
                0 if self.kind.by == "connection" => (self.with_peer(&curve.name), Tone::nth(nth), curve),
                0 => (Text::name(&curve.name), Tone::nth(nth), curve),
                others => (
                    Text::from(format!("the other {}", format::count(others))),
                    Tone::Grey,
                    curve,
                ),
            })
    }

    /// `conn:3 10.0.0.1:443`: the id, which tables have, and the other end. It alone, where that is not known.
    fn with_peer(&self, id: &str) -> Text {
        let number = id.strip_prefix("conn:").and_then(|n| n.parse().ok());
        let of = number.and_then(|n: u32| self.connections.iter().find(|c| c.connection == n));
        match of.and_then(|c| c.label.split_once(" > ")) {
            Some((_, peer)) => Text::name(&format!("{id} {peer}")),
            None => Text::name(id),
        }
    }

    fn ecdfs(&self) -> Figure {
        let curve = |(name, tone, curve): (Text, Tone, &Curve)| EcdfCurve {
            name,
            tone,
            points: curve.times.ecdf.clone(),
        };
        let plot = EcdfPlot {
            label: "whole time, log scale".into(),
            unit: Unit::Nanoseconds,
            division: Division::Log,
            curves: self.named().map(curve).collect(),
        };
        let caption = format!(
            "The share of {} (up) that needed at most that time (right). {}",
            self.rows, self.rule
        );
        self.figure("", "Whole time", Size::Half, Plot::Ecdf(plot), &caption)
    }

    fn histograms(&self) -> Figure {
        let row = |(name, tone, curve): (Text, Tone, &Curve)| HistogramRow {
            name,
            tone,
            n: curve.times.n,
            bins: bins(&curve.times),
        };
        let plot = Histograms {
            label: "whole time, log scale".into(),
            unit: Unit::Nanoseconds,
            rows: self.named().map(row).collect(),
        };
        let caption = format!(
            "Four bins an octave; each row is scaled to its own fullest bin, the number behind it is how many {} it counts. {}",
            self.rows, self.rule
        );
        self.figure(
            "-histograms",
            "Histograms",
            Size::Half,
            Plot::Histograms(plot),
            &caption,
        )
    }

    fn stages(&self) -> Figure {
        let share = |curve: &Curve, stage: &str| {
            let of = curve.stages.iter().find(|of| of.stage == stage);
            of.map_or(0, |of| of.ns).max(0) as f64 / curve.times.sum_ns.max(1) as f64
        };
        // Stages lie in the order of the path in each group; some groups lack some.
        let mut order: Vec<&str> = Vec::new();
        for curve in &self.kind.curves {
            let mut at = 0;
            for of in &curve.stages {
                match order.iter().position(|stage| *stage == of.stage) {
                    Some(known) => at = known + 1,
                    None => {
                        order.insert(at.min(order.len()), of.stage);
                        at += 1;
                    }
                }
            }
        }
        order.retain(|stage| self.kind.curves.iter().any(|curve| share(curve, stage) >= DRAWN_SHARE));
        let row = |(name, _, curve): (Text, Tone, &Curve)| {
            let mut values: Vec<f64> = order.iter().map(|stage| share(curve, stage)).collect();
            values.push((1.0 - values.iter().sum::<f64>()).max(0.0));
            let mean = curve
                .times
                .sum_ns
                .checked_div(i64::try_from(curve.times.n).unwrap_or(i64::MAX));
            BarRow {
                label: name,
                values,
                shown: Some(format::or_unknown(mean, format::duration).into()),
            }
        };
        let mut parts: Vec<(Text, Tone)> = order
            .iter()
            .enumerate()
            .map(|(nth, stage)| (Text::from(words(stage)), Tone::nth(nth)))
            .collect();
        parts.push(("the rest".into(), Tone::Grey));
        let plot = Bars {
            label: "part of the group's summed time, in the order of the path".into(),
            unit: Unit::Fraction,
            parts,
            rows: self.named().map(row).collect(),
        };
        let caption = format!(
            "Behind each bar the mean whole time of one of its {}. {}",
            self.rows, self.rule
        );
        self.figure("-stages", "Stages of the time", Size::Full, Plot::Bars(plot), &caption)
    }
}

#[cfg(test)]
#[path = "groups_tests.rs"] // folders here are sections
mod tests;
