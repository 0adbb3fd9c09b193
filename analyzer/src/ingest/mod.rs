//! From a capture to one merged, time-ordered sequence of undecoded events, with its losses.
//!
//! In: a `Capture` of formats. Out: a [`Trace`] (merged records, schema, gaps) or, for `check`, only a [`CaptureInfo`].
//! Knows no network word; decodes no field but the event id.
//!
//! ```text
//! Capture.streams -> decode (chunks in parallel) -> check (counts, gaps, which instances) -> merge -> Trace.events()
//! ```
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

mod check;
mod clock;
mod decode;
mod info;
mod merge;
mod payloads;
mod schema;
mod short;
mod spans;
#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)]
mod tests;
mod trace;

pub use check::check;
pub use clock::TraceClock;
pub use decode::Rec;
pub(crate) use decode::allowed;
pub use info::{CaptureInfo, GAPS, GapRow, STATS, Severity, StatRow, StreamInfo, TapInfo};
pub use merge::Merged;
pub use payloads::Payloads;
pub use schema::Schema;
pub use short::{ShortRing, short_rings};
pub use spans::{ChunkSpan, Spans, spans};
pub use trace::{Event, Stretch, Trace};

/// How to read.
pub struct Options<'p> {
    /// Called from many threads with the number of coded bytes just read.
    pub progress: &'p (dyn Fn(u64) + Sync),
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options { progress: &|_| {} }
    }
}
