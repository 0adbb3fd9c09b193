//! From inputs to one merged, time-ordered sequence of undecoded events.
mod info;
pub use info::{CaptureInfo, GAPS, GapRow, STATS, Severity, StatRow, StreamInfo};
