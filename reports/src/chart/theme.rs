//! Colours. Dark mode swaps them by CSS attribute selectors (`html/style.css`), so a colour used here must be listed there:
//! a test compares.

use plotters_backend::BackendColor;

/// Text.
pub const INK: BackendColor = rgb(0x1B, 0x1F, 0x24);
/// Axis labels and notes.
pub const MUTED: BackendColor = rgb(0x57, 0x60, 0x6A);
/// Grid lines.
pub const GRID: BackendColor = rgb(0xE2, 0xE6, 0xEA);
/// Axis lines and ticks.
pub const AXIS: BackendColor = rgb(0x8A, 0x94, 0x9E);
/// Ground of a panel or a lane.
pub const GROUND: BackendColor = rgb(0xF5, 0xF7, 0xF9);
/// Letters on a dark tone, and on a light one.
const LIGHT_LETTERS: BackendColor = rgb(0xFF, 0xFF, 0xFF);
const DARK_LETTERS: BackendColor = rgb(0, 0, 0);

const fn rgb(r: u8, g: u8, b: u8) -> BackendColor {
    BackendColor {
        alpha: 1.0,
        rgb: (r, g, b),
    }
}

/// Colours of data: told apart with the common colour-vision deficiencies, at least 3:1 against white and against the dark card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// First choice.
    Blue,
    /// Second choice.
    Orange,
    /// Third choice.
    Green,
    /// Fourth choice.
    Purple,
    /// Fifth choice.
    Teal,
    /// Loss and drops.
    Red,
    /// Sixth choice.
    Brown,
    /// What is known but not important; gaps.
    Grey,
}

impl Tone {
    /// Every tone but red (kept for loss) and grey (kept for gaps), in order of choice.
    pub const SERIES: [Self; 6] = [
        Self::Blue,
        Self::Orange,
        Self::Green,
        Self::Purple,
        Self::Teal,
        Self::Brown,
    ];
    /// Every tone.
    pub const ALL: [Self; 8] = [
        Self::Blue,
        Self::Orange,
        Self::Green,
        Self::Purple,
        Self::Teal,
        Self::Red,
        Self::Brown,
        Self::Grey,
    ];

    /// The tone of the n-th series.
    #[must_use]
    pub fn nth(n: usize) -> Self {
        Self::SERIES.get(n % Self::SERIES.len()).copied().unwrap_or(Self::Grey)
    }

    /// Letters on it that can be read (4.5:1); the dark page's tones are all lighter, and have dark ones.
    #[must_use]
    pub const fn letters(self) -> BackendColor {
        match self {
            Self::Blue | Self::Purple | Self::Red | Self::Brown => LIGHT_LETTERS,
            Self::Orange | Self::Green | Self::Teal | Self::Grey => DARK_LETTERS,
        }
    }

    /// Its colour on white.
    #[must_use]
    pub const fn color(self) -> BackendColor {
        match self {
            Self::Blue => rgb(0x2A, 0x6F, 0xDB),
            Self::Orange => rgb(0xD9, 0x73, 0x0D),
            Self::Green => rgb(0x1E, 0x8E, 0x5A),
            Self::Purple => rgb(0x8A, 0x55, 0xC8),
            Self::Teal => rgb(0x12, 0x8C, 0xA3),
            Self::Red => rgb(0xD0, 0x33, 0x3A),
            Self::Brown => rgb(0x9A, 0x67, 0x3A),
            Self::Grey => rgb(0x7D, 0x87, 0x91),
        }
    }
}
