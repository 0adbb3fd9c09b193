//! plotters' bitmap backend with two things done otherwise: thick lines are drawn segment by segment (plotters turns a whole polyline into
//! one polygon, which breaks where a zigzag crosses itself), and text sits where the SVG backend puts it.

use plotters::backend::{BitMapBackend, RGBPixel};
use plotters::style::text_anchor::HPos;
use plotters_backend::{BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind};

use crate::chart::ChartError;

type Inner<'a> = BitMapBackend<'a, RGBPixel>;
type Fault<'a> = DrawingErrorKind<<Inner<'a> as DrawingBackend>::ErrorType>;

/// How far below its centre line a text's base line lies, in units of plotters' font size: half the height of an x.
const HALF_X: f64 = 0.235;

pub struct Smooth<'a>(Inner<'a>);

impl<'a> Smooth<'a> {
    pub fn new(buffer: &'a mut [u8], size: (u32, u32)) -> Result<Self, ChartError> {
        let inner = Inner::with_buffer_and_format(buffer, size);
        inner.map(Self).map_err(|error| ChartError::new(error.to_string()))
    }

    /// A straight line of any width as a filled rectangle or a quadrangle.
    fn segment(
        &mut self,
        from: BackendCoord,
        to: BackendCoord,
        color: BackendColor,
        width: u32,
    ) -> Result<(), Fault<'a>> {
        let (before, after) = ((width / 2) as i32, (width.div_ceil(2)) as i32);
        if from.0 == to.0 || from.1 == to.1 {
            let (x0, x1) = (from.0.min(to.0), from.0.max(to.0));
            let (y0, y1) = (from.1.min(to.1), from.1.max(to.1));
            // Ends reach half a width further: corners of a staircase are closed.
            return self
                .0
                .draw_rect((x0 - before, y0 - before), (x1 + after, y1 + after), &color, true);
        }
        let (dx, dy) = (f64::from(to.0 - from.0), f64::from(to.1 - from.1));
        let half = f64::from(width) / 2.0 / dx.hypot(dy);
        let (nx, ny) = ((-dy * half).round() as i32, (dx * half).round() as i32);
        let corners = [
            (from.0 + nx, from.1 + ny),
            (to.0 + nx, to.1 + ny),
            (to.0 - nx, to.1 - ny),
            (from.0 - nx, from.1 - ny),
        ];
        self.0.fill_polygon(corners, &color)
    }
}

impl<'a> DrawingBackend for Smooth<'a> {
    type ErrorType = <Inner<'a> as DrawingBackend>::ErrorType;

    fn get_size(&self) -> (u32, u32) {
        self.0.get_size()
    }

    fn ensure_prepared(&mut self) -> Result<(), DrawingErrorKind<Self::ErrorType>> {
        self.0.ensure_prepared()
    }

    fn present(&mut self) -> Result<(), DrawingErrorKind<Self::ErrorType>> {
        self.0.present()
    }

    fn draw_pixel(&mut self, at: BackendCoord, color: BackendColor) -> Result<(), DrawingErrorKind<Self::ErrorType>> {
        self.0.draw_pixel(at, color)
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        from: BackendCoord,
        to: BackendCoord,
        style: &S,
        fill: bool,
    ) -> Result<(), DrawingErrorKind<Self::ErrorType>> {
        self.0.draw_rect(from, to, style, fill)
    }

    fn draw_line<S: BackendStyle>(
        &mut self,
        from: BackendCoord,
        to: BackendCoord,
        style: &S,
    ) -> Result<(), DrawingErrorKind<Self::ErrorType>> {
        self.segment(from, to, style.color(), style.stroke_width())
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Result<(), DrawingErrorKind<Self::ErrorType>> {
        let mut before = None;
        for at in path {
            if let Some(from) = before {
                self.segment(from, at, style.color(), style.stroke_width())?;
                if style.stroke_width() > 3 {
                    self.0.draw_circle(at, style.stroke_width() / 2, &style.color(), true)?;
                }
            }
            before = Some(at);
        }
        Ok(())
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        corners: I,
        style: &S,
    ) -> Result<(), DrawingErrorKind<Self::ErrorType>> {
        self.0.fill_polygon(corners, style)
    }

    fn draw_circle<S: BackendStyle>(
        &mut self,
        center: BackendCoord,
        radius: u32,
        style: &S,
        fill: bool,
    ) -> Result<(), DrawingErrorKind<Self::ErrorType>> {
        self.0.draw_circle(center, radius, style, fill)
    }

    fn draw_text<S: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &S,
        at: BackendCoord,
    ) -> Result<(), DrawingErrorKind<Self::ErrorType>> {
        let font_error = |error: S::FontError| DrawingErrorKind::FontError(Box::new(error));
        let ((left, _), (right, _)) = style.layout_box(text).map_err(font_error)?;
        let dx = match style.anchor().h_pos {
            HPos::Left => 0,
            HPos::Right => left - right,
            HPos::Center => (left - right) / 2,
        };
        // plotters draws with the base line half a size below the origin.
        let dy = ((HALF_X - 0.5) * style.size()).round() as i32;
        let inner = &mut self.0;
        style
            .draw(text, (at.0 + dx, at.1 + dy), |x, y, color| {
                inner.draw_pixel((x, y), color)
            })
            .map_err(font_error)?
    }
}

/// The mean of every 2x2 block of RGB pixels of a picture `width` wide (both sides even).
pub fn halve(rgb: &[u8], width: usize) -> Vec<u8> {
    const WHITE: [u8; 6] = [255; 6];
    let mut out = vec![255; rgb.len() / 4];
    let row_bytes = width * 3;
    for (rows, row_out) in rgb.chunks_exact(row_bytes * 2).zip(out.chunks_exact_mut(row_bytes / 2)) {
        let (upper, lower) = rows.split_at(row_bytes);
        let pairs = upper.chunks_exact(6).zip(lower.chunks_exact(6));
        for ((a, b), pixel) in pairs.zip(row_out.chunks_exact_mut(3)) {
            // Most of a chart is its ground.
            if a == WHITE && b == WHITE {
                continue;
            }
            if let ([r0, g0, b0, r1, g1, b1], [r2, g2, b2, r3, g3, b3]) = (a, b) {
                let mean =
                    |four: [&u8; 4]| ((four.into_iter().map(|value| u16::from(*value)).sum::<u16>() + 2) / 4) as u8;
                pixel.copy_from_slice(&[mean([r0, r1, r2, r3]), mean([g0, g1, g2, g3]), mean([b0, b1, b2, b3])]);
            }
        }
    }
    out
}
