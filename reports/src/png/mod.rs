//! The figures as PNG files: the drawing of the page, on plotters' bitmap backend.
//!
//! ```text
//! ChartSpec --draw at 4 (Full) or 6 (Half) pixels per logical pixel--> RGB --mean of 2x2--> 1600 or 1440 pixels wide --> NAME.png
//!           --draw at 2 --> RGB --mean of 2x2--> 800 or 480 pixels wide --> NAME-small.png, for a mail or a ticket
//! ```
//! plotters does not smooth the edges of lines and polygons, so the drawing is made at twice the resolution and averaged (`raster.rs`).
//! It must not read a font of the system (the embedded one is registered) and must not draw anything the page does not show.

mod raster;

use std::io;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use crate::chart::{self, Canvas, ChartError, ChartSpec, Size};
use crate::document::Document;
use raster::Smooth;

/// Backend pixels averaged into one, each way.
const OVERSAMPLING: u32 = 2;

/// PNG pixels per logical pixel.
const fn scale(size: Size) -> u32 {
    match size {
        Size::Full => 2,
        Size::Half => 3,
    }
}

/// PNG pixels per logical pixel of the small picture.
const SMALL: u32 = 1;

/// Writes every figure as `<section>-<figure>.png`, and half that size or less as `<section>-<figure>-small.png`, into `dir` (made when
/// absent) and returns the paths in reading order.
///
/// # Errors
/// When the directory or a file cannot be written, or a figure cannot be drawn; the message names the file.
pub fn write_pngs(document: &Document, dir: &Path) -> io::Result<Vec<PathBuf>> {
    std::fs::create_dir_all(dir).map_err(|error| named(dir, &error))?;
    let figures = document.figures();
    let pictures: Vec<(String, &ChartSpec, u32)> = figures
        .iter()
        .flat_map(|(section, figure)| {
            let large = scale(figure.chart.size);
            [("", large), ("-small", SMALL)]
                .map(|(suffix, scale)| (file_name(section, &figure.id, suffix), &figure.chart, scale))
        })
        .collect();
    pictures
        .par_iter()
        .map(|(name, chart, scale)| {
            let path = dir.join(name);
            let bytes = encode(chart, *scale).map_err(|error| named(&path, &error))?;
            std::fs::write(&path, bytes).map_err(|error| named(&path, &error))?;
            Ok(path)
        })
        .collect()
}

/// Lower case letters, digits and hyphens, whatever the id holds: it becomes a path.
fn file_name(section: &str, figure: &str, suffix: &str) -> String {
    let safe = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            '-'
        }
    };
    let name: String = format!("{section}-{figure}").chars().take(80).map(safe).collect();
    format!("{name}{suffix}.png")
}

fn named(path: &Path, error: &dyn std::fmt::Display) -> io::Error {
    io::Error::other(format!("{}: {error}", path.display()))
}

/// One chart as the bytes of a PNG file (8-bit RGB, white ground).
///
/// # Errors
/// When it cannot be drawn or encoded.
pub fn encode_png(spec: &ChartSpec) -> Result<Vec<u8>, ChartError> {
    encode(spec, scale(spec.size))
}

fn encode(spec: &ChartSpec, scale: u32) -> Result<Vec<u8>, ChartError> {
    let (width, height, rgb) = pixels(spec, scale)?;
    let mut out = Vec::with_capacity(64 * 1024);
    let mut encoder = ::png::Encoder::new(&mut out, width, height);
    encoder.set_color(::png::ColorType::Rgb);
    encoder.set_depth(::png::BitDepth::Eight);
    encoder.set_compression(::png::Compression::Fast);
    encoder.set_filter(::png::FilterType::Up);
    let mut writer = encoder
        .write_header()
        .map_err(|error| ChartError::new(error.to_string()))?;
    writer
        .write_image_data(&rgb)
        .map_err(|error| ChartError::new(error.to_string()))?;
    writer.finish().map_err(|error| ChartError::new(error.to_string()))?;
    Ok(out)
}

/// Width, height and RGB bytes of the finished picture.
fn pixels(spec: &ChartSpec, scale: u32) -> Result<(u32, u32, Vec<u8>), ChartError> {
    let (width, height) = (spec.size.width() * scale, chart::height(spec) * scale);
    let (wide, high) = (width * OVERSAMPLING, height * OVERSAMPLING);
    let mut buffer = vec![255_u8; wide as usize * high as usize * 3];
    {
        let mut backend = Smooth::new(&mut buffer, (wide, high))?;
        let mut canvas = Canvas::new(&mut backend, scale * OVERSAMPLING)?;
        chart::draw(spec, &mut canvas)?;
    }
    Ok((width, height, raster::halve(&buffer, wide as usize)))
}

#[cfg(test)]
mod tests;
