//! The embedded font: registered once with plotters, so that no system font is looked for.

use std::sync::OnceLock;

use plotters::style::{FontStyle, register_font};

use crate::chart::ChartError;

/// The family name charts ask plotters for.
pub const FAMILY: &str = "netmortem";

static REGULAR: &[u8] = include_bytes!("../../assets/DejaVuSans-subset.ttf");
static BOLD: &[u8] = include_bytes!("../../assets/DejaVuSans-Bold-subset.ttf");

/// Makes the fonts known to plotters; cheap after the first call.
///
/// # Errors
/// When the embedded files are not fonts, which a test excludes.
pub fn register() -> Result<(), ChartError> {
    static DONE: OnceLock<bool> = OnceLock::new();
    let ready = DONE.get_or_init(|| {
        register_font(FAMILY, FontStyle::Normal, REGULAR).is_ok()
            && register_font(FAMILY, FontStyle::Bold, BOLD).is_ok()
    });
    if *ready {
        Ok(())
    } else {
        Err(ChartError::new("the embedded font cannot be read"))
    }
}
