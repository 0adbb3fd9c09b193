//! Drawing in logical pixels on any plotters backend. `scale` backend pixels make one logical pixel, so the same drawing gives an SVG
//! with half-pixel precision and a bitmap of any resolution.

use std::fmt;

use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontDesc, FontFamily, FontStyle, FontTransform, TextStyle};
use plotters_backend::{BackendColor, BackendStyle, DrawingBackend, DrawingErrorKind};

use crate::chart::letters::{Align, Letters};
use crate::chart::spec::ChartSpec;
use crate::chart::{font, theme};

/// Why a chart could not be drawn.
#[derive(Debug)]
pub struct ChartError(String);

impl ChartError {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

impl fmt::Display for ChartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ChartError {}

impl<E: std::error::Error + Send + Sync> From<DrawingErrorKind<E>> for ChartError {
    fn from(error: DrawingErrorKind<E>) -> Self {
        Self(error.to_string())
    }
}

/// First character of a mark that begins or ends a group.
pub const GROUP: char = '\u{1}';
/// Between the parts of such a mark.
pub const FIELD: char = '\u{2}';

/// Between the lines of what the script shows at the pointer.
pub const LINE: &str = " | ";

/// Where a text was placed, logical pixels: for the tests that nothing is clipped and nothing overlaps.
#[derive(Clone, Debug)]
pub struct TextBox {
    /// The words.
    pub text: String,
    /// Left, top, right, bottom.
    pub edges: (f64, f64, f64, f64),
}

struct Stroke {
    color: BackendColor,
    width: u32,
}

impl BackendStyle for Stroke {
    fn color(&self) -> BackendColor {
        self.color
    }

    fn stroke_width(&self) -> u32 {
        self.width
    }
}

/// See the module.
pub struct Canvas<'a, DB: DrawingBackend> {
    backend: &'a mut DB,
    scale: f64,
    width: f64,
    height: f64,
    top: f64,
    texts: Vec<TextBox>,
    grouped: bool,
}

/// Height of title and note.
pub fn header_height(spec: &ChartSpec) -> u32 {
    if spec.note.is_some() { 48 } else { 30 }
}

impl<'a, DB: DrawingBackend> Canvas<'a, DB> {
    /// A canvas over a backend that has `scale` pixels for each logical one.
    ///
    /// # Errors
    /// When the embedded font cannot be read.
    pub fn new(backend: &'a mut DB, scale: u32) -> Result<Self, ChartError> {
        font::register()?;
        let (w, h) = backend.get_size();
        let scale = f64::from(scale.max(1));
        Ok(Self {
            width: f64::from(w) / scale,
            height: f64::from(h) / scale,
            backend,
            scale,
            top: 0.0,
            texts: Vec::new(),
            grouped: false,
        })
    }

    /// The same canvas for a backend whose writer understands groups (`svg.rs`).
    pub fn with_groups(self) -> Self {
        Self { grouped: true, ..self }
    }

    /// Begins a group of shapes that the page's script finds again; nothing on a bitmap. `fields` are what the script knows it by.
    pub fn open(&mut self, class: &str, fields: &[(&str, &str)]) -> Result<(), ChartError> {
        let mut mark = format!("{GROUP}{class}");
        for (name, value) in fields {
            mark.push_str(&format!("{FIELD}{name}{FIELD}{value}"));
        }
        self.mark(&mark)
    }

    /// Ends the group begun last.
    pub fn close(&mut self) -> Result<(), ChartError> {
        self.mark(&GROUP.to_string())
    }

    /// A text nobody sees: `svg.rs` makes a tag of it. Names from a recording hold no control byte, so none of them can be one.
    fn mark(&mut self, mark: &str) -> Result<(), ChartError> {
        if !self.grouped {
            return Ok(());
        }
        let style = TextStyle {
            font: self.font(Letters::NOTE),
            color: theme::INK,
            pos: Pos::new(HPos::Left, VPos::Center),
        };
        Ok(self.backend.draw_text(mark, &style, (0, 0))?)
    }

    /// Backend pixels per logical one.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// Logical width.
    pub fn width(&self) -> f64 {
        self.width
    }

    /// Logical height.
    pub fn height(&self) -> f64 {
        self.height
    }

    /// First free y below title and note.
    pub fn top(&self) -> f64 {
        self.top
    }

    /// All texts placed so far.
    pub fn texts(&self) -> &[TextBox] {
        &self.texts
    }

    pub(crate) fn header(&mut self, spec: &ChartSpec) -> Result<(), ChartError> {
        let room = self.width - 16.0;
        let title = self.fit(spec.title.as_str(), Letters::TITLE, room);
        self.text(8.0, 14.0, Align::Start, Letters::TITLE, &title)?;
        if let Some(note) = &spec.note {
            let note = self.fit(note.as_str(), Letters::NOTE, room);
            self.text(8.0, 34.0, Align::Start, Letters::NOTE, &note)?;
        }
        self.top = f64::from(header_height(spec));
        Ok(())
    }

    fn px(&self, value: f64) -> i32 {
        (value * self.scale).round() as i32
    }

    fn at(&self, (x, y): (f64, f64)) -> (i32, i32) {
        (self.px(x), self.px(y))
    }

    /// A filled rectangle; at least one backend pixel wide and high, so that what is there can be seen.
    pub fn rect(&mut self, from: (f64, f64), to: (f64, f64), color: BackendColor) -> Result<(), ChartError> {
        let (a, b) = (self.at(from), self.at(to));
        let (left, right) = (a.0.min(b.0), a.0.max(b.0).max(a.0.min(b.0).saturating_add(1)));
        let (top, bottom) = (a.1.min(b.1), a.1.max(b.1).max(a.1.min(b.1).saturating_add(1)));
        Ok(self
            .backend
            .draw_rect((left, top), (right, bottom), &Stroke { color, width: 1 }, true)?)
    }

    /// A polyline.
    pub fn line(&mut self, points: &[(f64, f64)], color: BackendColor, width: f64) -> Result<(), ChartError> {
        let style = Stroke {
            color,
            width: (self.px(width).max(1)) as u32,
        };
        let mut path: Vec<(i32, i32)> = points.iter().map(|point| self.at(*point)).collect();
        path.dedup();
        match path.as_slice() {
            [] | [_] => Ok(()),
            [from, to] => Ok(self.backend.draw_line(*from, *to, &style)?),
            _ => Ok(self.backend.draw_path(path, &style)?),
        }
    }

    /// A dashed polyline; the dashes go on around corners.
    pub fn dashes(&mut self, points: &[(f64, f64)], color: BackendColor, width: f64) -> Result<(), ChartError> {
        const ON: f64 = 4.0;
        const PERIOD: f64 = 7.0;
        let mut phase = 0.0; // how far into the current period
        for pair in points.windows(2) {
            let [from, to] = pair else { continue };
            let (dx, dy) = (to.0 - from.0, to.1 - from.1);
            let length = dx.hypot(dy);
            if !length.is_finite() || length <= 0.0 {
                continue;
            }
            let mut start = -phase;
            while start < length {
                let (s, e) = (start.max(0.0) / length, (start + ON).min(length) / length);
                if e > s {
                    self.line(
                        &[(from.0 + dx * s, from.1 + dy * s), (from.0 + dx * e, from.1 + dy * e)],
                        color,
                        width,
                    )?;
                }
                start += PERIOD;
            }
            phase = (phase + length) % PERIOD;
        }
        Ok(())
    }

    /// A filled polygon.
    pub fn polygon(&mut self, points: &[(f64, f64)], color: BackendColor) -> Result<(), ChartError> {
        let path: Vec<(i32, i32)> = points.iter().map(|point| self.at(*point)).collect();
        Ok(self.backend.fill_polygon(path, &color)?)
    }

    /// A filled circle.
    pub fn dot(&mut self, center: (f64, f64), radius: f64, color: BackendColor) -> Result<(), ChartError> {
        let (center, radius) = (self.at(center), self.px(radius).max(1) as u32);
        Ok(self.backend.draw_circle(center, radius, &color, true)?)
    }

    /// A line of text, centred vertically on `y`.
    pub fn text(&mut self, x: f64, y: f64, align: Align, letters: Letters, text: &str) -> Result<(), ChartError> {
        if text.is_empty() {
            return Ok(());
        }
        let h_pos = match align {
            Align::Start => HPos::Left,
            Align::Middle => HPos::Center,
            Align::End => HPos::Right,
        };
        let style = TextStyle {
            font: self.font(letters),
            color: letters.color,
            pos: Pos::new(h_pos, VPos::Center),
        };
        let at = self.at((x, y));
        self.backend.draw_text(text, &style, at)?;

        let width = self.text_width(text, letters);
        let left = match align {
            Align::Start => x,
            Align::Middle => x - width / 2.0,
            Align::End => x - width,
        };
        let half = letters.size * 0.45;
        self.texts.push(TextBox {
            text: text.to_owned(),
            edges: (left, y - half, left + width, y + half),
        });
        Ok(())
    }

    fn font(&self, letters: Letters) -> FontDesc<'static> {
        let style = if letters.bold {
            FontStyle::Bold
        } else {
            FontStyle::Normal
        };
        FontDesc::new(FontFamily::Name(font::FAMILY), letters.size * self.scale, style).transform(FontTransform::None)
    }

    /// Width in logical pixels.
    pub fn text_width(&self, text: &str, letters: Letters) -> f64 {
        self.font(letters)
            .layout_box(text)
            .map_or(0.0, |((x0, _), (x1, _))| f64::from(x1 - x0 + 1) / self.scale)
    }

    /// The text, shortened with `…` to fit.
    pub fn fit(&self, text: &str, letters: Letters, room: f64) -> String {
        if self.text_width(text, letters) <= room {
            return text.to_owned();
        }
        let chars: Vec<char> = text.chars().collect();
        let (mut fits, mut too_long) = (0, chars.len());
        while fits + 1 < too_long {
            let middle = usize::midpoint(fits, too_long);
            let candidate: String = chars.iter().take(middle).chain(['…'].iter()).collect();
            if self.text_width(&candidate, letters) <= room {
                fits = middle
            } else {
                too_long = middle
            }
        }
        let kept: String = chars.iter().take(fits).collect();
        format!("{}…", kept.trim_end())
    }
}
