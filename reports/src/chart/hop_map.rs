//! Where packets went: steps from top to bottom in the order of the way, CPUs side by side, a box where a step was on a CPU, and between
//! boxes a line as thick as packets went from one to the other. On one CPU what goes down by more than one step bends to the right, what goes
//! back up to the left.

use std::cmp::Ordering;

use plotters_backend::DrawingBackend;

use crate::chart::canvas::{Canvas, ChartError, LINE};
use crate::chart::frame::{self, Frame};
use crate::chart::legend::Swatch;
use crate::chart::letters::{Align, Letters};
use crate::chart::spec::{HopEdge, HopMap};
use crate::chart::theme::{self, Tone};
use crate::format;

const ROW: f64 = 36.0;
const BOX: f64 = 18.0;
const HEAD: f64 = 58.0;
const BELOW: f64 = 10.0;
/// Widest box.
const WIDEST: f64 = 76.0;
/// The thickest line.
const THICKEST: f64 = 6.0;
/// Points of a bent line.
const POINTS: i32 = 20;

pub fn height(plot: &HopMap) -> u32 {
    (HEAD + ROW * plot.rows.len().max(1) as f64 + BELOW) as u32
}

/// Where things are.
struct Grid {
    left: f64,
    top: f64,
    column: f64,
    half: f64,
}

impl Grid {
    fn x(&self, column: usize) -> f64 {
        self.left + self.column * (column as f64 + 0.5)
    }
    fn y(&self, row: usize) -> f64 {
        self.top + ROW * (row as f64 + 0.5)
    }
}

pub fn draw<DB: DrawingBackend>(plot: &HopMap, canvas: &mut Canvas<DB>) -> Result<(), ChartError> {
    let ways = [
        (
            "on the same CPU",
            Tone::Blue,
            plot.edges.iter().any(|e| e.tone == Tone::Blue),
        ),
        (
            "to another CPU",
            Tone::Orange,
            plot.edges.iter().any(|e| e.tone == Tone::Orange),
        ),
        (
            "to another NUMA node",
            Tone::Purple,
            plot.edges.iter().any(|e| e.tone == Tone::Purple),
        ),
    ];
    let legend: Vec<_> = ways
        .into_iter()
        .filter(|(_, _, there)| *there)
        .map(|(name, tone, _)| (name.into(), Swatch::Bold(tone.color())))
        .collect();
    canvas.legend(8.0, canvas.top(), &legend)?;
    let names = plot.rows.iter().map(|r| canvas.text_width(r.as_str(), Letters::NORMAL));
    let name_width = names.fold(30.0, f64::max).min(canvas.width() * 0.32);
    let left = 8.0 + name_width + 12.0;
    let top = canvas.top() + HEAD;
    let panel = Frame {
        left,
        top,
        right: canvas.width() - 14.0,
        bottom: top + ROW * plot.rows.len().max(1) as f64,
    };
    frame::ground(canvas, panel)?;
    if plot.rows.is_empty() || plot.columns.is_empty() {
        return frame::nothing(canvas, panel, "nothing was seen");
    }
    let column = panel.width() / plot.columns.len() as f64;
    let grid = Grid {
        left,
        top,
        column,
        half: (column * 0.44).min(WIDEST / 2.0),
    };
    columns(plot, canvas, &grid, panel)?;
    for (nth, name) in plot.rows.iter().enumerate() {
        let name = canvas.fit(name.as_str(), Letters::NORMAL, name_width);
        canvas.text(left - 10.0, grid.y(nth), Align::End, Letters::NORMAL, &name)?;
    }
    let most = plot.edges.iter().map(|e| e.count).max().unwrap_or(1).max(1) as f64;
    // Thin ones last: they would be hidden.
    for edge in &plot.edges {
        canvas.open("h", &[("t", &told(plot, edge))])?;
        let width = 1.0 + (THICKEST - 1.0) * (edge.count as f64 / most).sqrt();
        canvas.line(&path(&grid, edge), edge.tone.color(), width)?;
        canvas.close()?;
    }
    for place in &plot.places {
        let (x, y) = (grid.x(place.at.1), grid.y(place.at.0));
        let Some(name) = name(plot, place.at) else {
            continue;
        };
        let count = format::count(place.count);
        canvas.open("h", &[("t", &format!("{name}{LINE}{count} {}", place.counted))])?;
        let (from, to) = ((x - grid.half, y - BOX / 2.0), (x + grid.half, y + BOX / 2.0));
        canvas.rect(from, to, theme::GRID)?;
        let frame = [from, (to.0, from.1), to, (from.0, to.1), from];
        canvas.line(&frame, theme::AXIS, 1.0)?;
        let letters = Letters::NOTE.colored(theme::INK);
        let room = grid.half * 2.0;
        let shown = match canvas.text_width(&count, letters) <= room {
            true => count,
            false => canvas.fit(&short(place.count), letters, room),
        };
        canvas.text(x, y, Align::Middle, letters, &shown)?;
        canvas.close()?;
    }
    Ok(())
}

/// An edge's figures, a line each.
fn told(plot: &HopMap, edge: &HopEdge) -> String {
    let place = |at| name(plot, at).unwrap_or_default();
    let count = format::count(edge.count);
    format!(
        "{} \u{2192} {}{LINE}{count} {}",
        place(edge.from),
        place(edge.to),
        edge.counted
    )
}

/// A place in words.
fn name(plot: &HopMap, (row, column): (usize, usize)) -> Option<String> {
    let (row, (cpu, node)) = plot.rows.get(row).zip(plot.columns.get(column))?;
    let node = node.map_or(String::new(), |node| format!(" (node {node})"));
    Some(format!("{row}, CPU {cpu}{node}"))
}

/// To two or three digits, for where there is little room.
fn short(count: u64) -> String {
    let (mut n, mut unit) = (count as f64, "");
    for next in ["k", "M", "G", "T"] {
        if n < 999.5 {
            break;
        }
        (n, unit) = (n / 1000.0, next);
    }
    match n < 9.95 && !unit.is_empty() {
        true => format!("{n:.1}{unit}"),
        false => format!("{n:.0}{unit}"),
    }
}

/// The CPUs' numbers, and over them their nodes.
fn columns<DB: DrawingBackend>(
    plot: &HopMap,
    canvas: &mut Canvas<DB>,
    grid: &Grid,
    panel: Frame,
) -> Result<(), ChartError> {
    let y = panel.top - 10.0;
    canvas.text(panel.left - 10.0, y, Align::End, Letters::NOTE, "CPU")?;
    for (nth, (cpu, _)) in plot.columns.iter().enumerate() {
        canvas.text(grid.x(nth), y, Align::Middle, Letters::NOTE, &cpu.to_string())?;
    }
    let mut first = 0;
    for group in plot.columns.chunk_by(|a, b| a.1 == b.1) {
        let (from, to) = (
            panel.left + grid.column * first as f64,
            panel.left + grid.column * (first + group.len()) as f64,
        );
        if let Some(node) = group.first().and_then(|(_, node)| *node) {
            let name = canvas.fit(&format!("node {node}"), Letters::NOTE, to - from - 4.0);
            canvas.text((from + to) / 2.0, y - 16.0, Align::Middle, Letters::NOTE, &name)?;
        }
        if first > 0 {
            canvas.dashes(&[(from, panel.top), (from, panel.bottom)], theme::AXIS, 1.0)?;
        }
        first += group.len();
    }
    Ok(())
}

/// From the lower edge of a box to the upper edge of another.
fn path(grid: &Grid, edge: &HopEdge) -> Vec<(f64, f64)> {
    let (from, to) = (edge.from, edge.to);
    let down = to.0 > from.0;
    let side = if down { BOX / 2.0 } else { -BOX / 2.0 };
    let begin = (grid.x(from.1), grid.y(from.0) + side);
    let end = (grid.x(to.1), grid.y(to.0) - side);
    if to.0 == from.0 {
        // Along a row: under the boxes, or a ring at one.
        let (a, b) = (grid.x(from.1), grid.x(to.1));
        let y = grid.y(from.0) + BOX / 2.0;
        let dip = y + (ROW - BOX) * 0.45;
        return match from.1 == to.1 {
            true => vec![
                (a - grid.half * 0.6, y),
                (a - grid.half * 0.6, dip),
                (a + grid.half * 0.6, dip),
                (a + grid.half * 0.6, y),
            ],
            false => vec![(a, y), (a, dip), (b, dip), (b, y)],
        };
    }
    let far = from.0.abs_diff(to.0);
    if down && far == 1 {
        return vec![begin, end];
    }
    // A curve past the boxes between: out to the side and back.
    let out = grid.half + 3.0 + (grid.column / 2.0 - grid.half - 8.0).max(0.0) * (far as f64 / 12.0).min(1.0);
    // To another CPU: towards it, and in from where it came.
    let (a, b) = match (to.1.cmp(&from.1), down) {
        (Ordering::Equal, true) => (out, out),
        (Ordering::Equal, false) => (-out, -out),
        (Ordering::Greater, _) => (out, -out),
        (Ordering::Less, _) => (-out, out),
    };
    let (c1, c2) = (begin.0 + a * 1.33, end.0 + b * 1.33);
    (0..=POINTS)
        .map(|n| {
            let t = f64::from(n) / f64::from(POINTS);
            let u = 1.0 - t;
            let (b0, b1, b2, b3) = (u * u * u, 3.0 * u * u * t, 3.0 * u * t * t, t * t * t);
            let bend = (end.1 - begin.1) * 0.15;
            (
                b0 * begin.0 + b1 * c1 + b2 * c2 + b3 * end.0,
                b0 * begin.1 + b1 * (begin.1 + bend) + b2 * (end.1 - bend) + b3 * end.1,
            )
        })
        .collect()
}
