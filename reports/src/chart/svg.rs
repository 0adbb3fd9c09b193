//! A chart as SVG text for the page: plotters' output without what CSS says better, with a role and a label.

use plotters::backend::SVGBackend;
use plotters_backend::DrawingBackend;

use crate::chart::canvas::{Canvas, ChartError, FIELD, GROUP, TextBox};
use crate::chart::spec::{ChartSpec, Plot};
use crate::chart::{draw, height};
use crate::clean::Text;

/// SVG units per logical pixel: coordinates are whole numbers, so this is the precision. What can be zoomed has more.
const fn scale(plot: &Plot) -> u32 {
    match plot {
        Plot::TimeSeries(_) => 8,
        _ => 2,
    }
}

/// Largest SVG text of one chart; a chart whose data makes more is an error of its section.
pub const MAX_SVG_BYTES: usize = 2_000_000;

/// The chart as an `<svg>` element.
///
/// # Errors
/// When it cannot be drawn, or is larger than [`MAX_SVG_BYTES`].
pub fn svg(spec: &ChartSpec, alt: &Text) -> Result<String, ChartError> {
    render(spec, alt).map(|(text, _)| text)
}

pub(crate) fn render(spec: &ChartSpec, alt: &Text) -> Result<(String, Vec<TextBox>), ChartError> {
    let scale = scale(&spec.plot);
    let (width, height) = (spec.size.width() * scale, height(spec) * scale);
    let mut raw = String::with_capacity(64 * 1024);
    let texts = {
        let mut backend = SVGBackend::with_string(&mut raw, (width, height));
        let mut canvas = Canvas::new(&mut backend, scale)?.with_groups();
        draw(spec, &mut canvas)?;
        let texts = canvas.texts().to_vec();
        backend.present()?;
        texts
    };
    let inside = raw.find(">\n").and_then(|end| raw.get(end + 2..)).unwrap_or_default();
    let mut out = String::with_capacity(raw.len());
    out.push_str(&format!(
        "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\""
    ));
    escape(alt.as_str(), &mut out);
    out.push_str("\">\n");
    shorten(inside, &mut out);
    if out.len() > MAX_SVG_BYTES {
        return Err(ChartError::new(format!(
            "the figure needs {} bytes, more than {MAX_SVG_BYTES}",
            out.len()
        )));
    }
    Ok((out, texts))
}

fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
}

/// Attributes that say the default, or what the page's style sheet says. Names from a recording cannot match: quotes in them are escaped.
const NOISE: [&str; 5] = [
    " opacity=\"1\"",
    " stroke=\"none\"",
    " fill=\"none\"",
    " font-family=\"netmortem\"",
    " text-anchor=\"start\"",
];

fn shorten(raw: &str, out: &mut String) {
    let mut lines = raw.lines().peekable();
    while let Some(line) = lines.next() {
        if line.starts_with("<text") && lines.peek().is_some_and(|next| next.starts_with(GROUP)) {
            tag(lines.next().unwrap_or_default(), out);
            lines.next(); // </text>
            continue;
        }
        match line.starts_with('<') {
            true => without_noise(line, out),
            false => out.push_str(line),
        }
        out.push('\n');
    }
}

fn without_noise(line: &str, out: &mut String) {
    // `fill="none"` goes only from polylines: the style sheet has it for them.
    let polyline = line.starts_with("<polyline");
    let mut rest = line;
    // Every attribute begins with a space.
    while let Some(at) = rest.find(' ') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let noise = NOISE
            .iter()
            .find(|n| from.starts_with(**n) && (polyline || **n != " fill=\"none\""));
        rest = match noise.and_then(|n| from.strip_prefix(n)) {
            Some(after) => after,
            None => {
                out.push(' ');
                from.strip_prefix(' ').unwrap_or_default()
            }
        };
    }
    out.push_str(rest);
}

/// A mark of [`Canvas::open`] or [`Canvas::close`] as a tag; the backend has escaped what is in it.
fn tag(mark: &str, out: &mut String) {
    let mut parts = mark.trim_start_matches(GROUP).split(FIELD);
    match parts.next().unwrap_or_default() {
        "" => out.push_str("</g>\n"),
        class => {
            out.push_str(&format!("<g class=\"{class}\""));
            while let (Some(name), Some(value)) = (parts.next(), parts.next()) {
                out.push_str(&format!(" data-{name}=\"{value}\""));
            }
            out.push_str(">\n");
        }
    }
}
