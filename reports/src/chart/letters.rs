//! How letters look and where they stand.

use plotters_backend::BackendColor;

use crate::chart::theme;

/// Ordinary letters, logical pixels per em (more exactly: per line, as plotters counts).
pub const FONT: f64 = 13.5;
/// Axis labels and notes.
pub const SMALL: f64 = 12.5;
const TITLE: f64 = 16.0;

/// Horizontal alignment to the given x.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Starts there.
    Start,
    /// Is centred there.
    Middle,
    /// Ends there.
    End,
}

/// Size, weight and colour of letters.
#[derive(Clone, Copy)]
pub struct Letters {
    /// Logical pixels.
    pub size: f64,
    /// Heavier.
    pub bold: bool,
    /// Colour.
    pub color: BackendColor,
}

impl Letters {
    /// Ordinary text.
    pub const NORMAL: Self = Self {
        size: FONT,
        bold: false,
        color: theme::INK,
    };
    /// Axis labels and notes.
    pub const NOTE: Self = Self {
        size: SMALL,
        bold: false,
        color: theme::MUTED,
    };
    /// The title of a chart.
    pub const TITLE: Self = Self {
        size: TITLE,
        bold: true,
        color: theme::INK,
    };

    /// The same in another colour.
    pub const fn colored(self, color: BackendColor) -> Self {
        Self { color, ..self }
    }
}
