//! From facts to a report: one self-contained HTML file, PNG files, a verdict for the terminal.
//!
//! ```text
//! facts --sections--> Document --html()-------> one file: CSS, SVG and one script inside, no reference to anything outside
//!                              --write_pngs()-> every figure as a PNG, the same drawing
//!                              --markdown()---> the verdict and the stages, for a ticket
//!                              --text()-------> the verdict lines for a terminal
//! ```
//! Sections turn facts into blocks and compute nothing; writers turn blocks into bytes and know no section. No font, no file and no
//! setting of the analyzing machine is read: the same facts give the same bytes everywhere.

pub mod batch;
pub mod chart;
mod clauses;
pub mod clean;
mod commands;
pub mod diff;
pub mod document;
pub mod format;
mod html;
mod markdown;
mod png;
pub mod sections;
mod text;

pub use commands::quoted;
pub use document::Document;
pub use html::html;
pub use markdown::markdown;
pub use png::{encode_png, write_pngs};
pub use text::{Colors, text, wrote};

#[cfg(test)]
extern crate self as netmortem_reports; // the gallery below is shared with an example
#[cfg(test)]
mod large;
#[cfg(test)]
#[path = "../examples/gallery/layout/mod.rs"]
mod layout;
#[cfg(test)]
mod tests;
